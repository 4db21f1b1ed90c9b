"""The mode of the index at rest: by the setting, by the choice in the app, by default."""

from __future__ import annotations

from pathlib import Path

import pytest

from desks import opened, report
from docmind.config import IndexSettings
from docmind.errors import ConfigError
from docmind.index.engines import DEFAULT


def kept(folder: Path) -> set[str]:
    return {path.name for path in (folder / "data" / "index").iterdir()}


@pytest.mark.slow
def test_a_choice_holds_from_the_next_opening_on(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        assert desk.index.choice.at_rest() == DEFAULT == "ephemeral"
        desk.add([report("crane", 2)])
        assert any(one.name == "index at rest" and "ephemeral" in one.detail for one in desk.status().capabilities)
        desk.index.choice.choose("blinded")
    assert kept(tmp_path) == {"index.sealed", "lock"}
    with opened(tmp_path) as desk:
        assert desk.search("herons").hits
        assert any(one.name == "index at rest" and "blinded" in one.detail for one in desk.status().capabilities)
        desk.index.choice.choose("ephemeral")
    assert kept(tmp_path) == {"current", "g000001", "lock"}, "the sealed copy is of no use to the other mode"
    with opened(tmp_path) as desk:
        assert desk.search("herons").hits
    assert kept(tmp_path) == {"index.sealed", "lock"}
    with opened(tmp_path) as desk:
        assert desk.search("herons").hits


def test_the_setting_decides(tmp_path: Path) -> None:
    with opened(tmp_path, index=IndexSettings(at_rest="blinded")) as desk:
        assert (desk.index.choice.is_fixed, desk.index.choice.at_rest()) == (True, "blinded")
        with pytest.raises(ConfigError, match="DOCMIND_INDEX__AT_REST"):
            desk.index.choice.choose("ephemeral")
    with opened(tmp_path) as desk, pytest.raises(ConfigError, match="not 'plain'"):
        desk.index.choice.choose("plain")  # type: ignore[arg-type]
