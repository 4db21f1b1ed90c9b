"""Names of folders of the user's own, and the paths behind them, in the models folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from docmind.errors import ConfigError
from docmind.model_files.own import OwnFolders


@pytest.fixture
def own(tmp_path: Path) -> OwnFolders:
    return OwnFolders(tmp_path / "models" / "own", lambda name: name == "siglip")


def test_a_name_is_that_of_the_folder_and_stays(own: OwnFolders, tmp_path: Path) -> None:
    here = tmp_path / "my [late] modél"
    name = own.name_of(here)
    assert name == "my-late-modél"
    assert own.directory(name) is None  # it was not kept
    own.keep(name, here)
    other = OwnFolders(tmp_path / "models" / "own", lambda name: False)
    assert other.name_of(here) == name
    assert other.directory(name) == here
    kept = tmp_path / "models" / "own" / f"{name}.path"
    assert kept.read_bytes() == os.fsencode(here)
    if os.name == "posix":
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_no_two_models_have_one_name(own: OwnFolders, tmp_path: Path) -> None:
    for folder, name in (("a/m", "m"), ("b/m", "m-2"), ("b/M", "M-3"), ("siglip", "siglip-2"), ("auto", "auto-2")):
        assert own.name_of(tmp_path / folder) == name
        own.keep(name, tmp_path / folder)
    assert own.name_of(Path("/")) == "model"


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\\b", ".hidden", "nul\0", "x" * 99, "\ud800"])
def test_a_name_leads_out_of_no_folder(own: OwnFolders, tmp_path: Path, name: str) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "b.path").write_text("/etc")
    assert own.directory(name) is None


@pytest.mark.parametrize("data", [b"", b"relative/folder", b"\0", b"x" * 9_000])
def test_a_file_that_holds_no_path_is_no_name(own: OwnFolders, tmp_path: Path, data: bytes) -> None:
    place = tmp_path / "models" / "own" / "m.path"
    place.parent.mkdir(parents=True)
    place.write_bytes(data)
    assert own.directory("m") is None
    assert own.name_of(tmp_path / "m") == "m-2"  # what lies there is not replaced


def test_a_link_in_the_place_of_a_name_is_not_followed(own: OwnFolders, tmp_path: Path) -> None:
    (tmp_path / "models" / "own").mkdir(parents=True)
    (tmp_path / "elsewhere").write_text(str(tmp_path))
    (tmp_path / "models" / "own" / "m.path").symlink_to(tmp_path / "elsewhere")
    assert own.directory("m") is None


def test_a_folder_that_cannot_be_written_to_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    own = OwnFolders(tmp_path / "models" / "own", lambda name: False)
    with pytest.raises(ConfigError, match="cannot be remembered") as raised:
        own.keep("m", tmp_path / "m")
    assert "DOCMIND_VISUAL__MODELS_DIR" in raised.value.hint
    assert own.directory("m") == tmp_path / "m"  # in this process it serves
