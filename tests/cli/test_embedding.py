"""`docmind embed`: pages are shown to a model, once, and what happened is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from docmind.cli.embedding import spoken
from looking import album
from shells import Shell, assert_inert, sentence_of


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Two documents that share a page image; the model is the fake."""
    shell = Shell(tmp_path, DOCMIND_VISUAL__MODELS_DIR=str(tmp_path / "models"))
    for upload in (album("warm", "red", "blue"), album("cold", "blue")):
        shell.run("add", shell.file(upload.name, upload.data))
    return shell


def test_embedded_once_and_counted(shell: Shell) -> None:
    first = shell.run("embed", "--model", "fake-late", "warm.tiff")
    assert first.stdout.startswith("2 pages embedded, 0 skipped, in ")
    assert first.stderr.startswith("2 page images for fake-late: how long that takes here is not known yet.")
    told = shell.json("embed", "--model", "fake-late")
    assert set(told) == {"model", "pages_added", "pages_skipped", "pages_failed", "duration_ms"}
    assert (told["pages_added"], told["pages_skipped"], told["pages_failed"]) == (0, 3, 0)
    assert shell.json("embed", "--model", "fake-late", "--force")["pages_added"] == 3
    assert_inert(first.stdout + first.stderr)


def test_what_cannot_be_is_one_sentence(shell: Shell) -> None:
    assert "There is no model evil" in sentence_of(shell.run("embed", "--model", "evil\x1b[2J", code=2))
    assert "cannot be used" in sentence_of(shell.run("embed", "--model", "siglip", code=45))
    assert "There is no document" in sentence_of(shell.run("embed", "--model", "fake-image", "nobody", code=4))
    off = shell.having(DOCMIND_VISUAL__IMAGE_MODEL="off")
    assert "is set to off" in sentence_of(off.run("embed", "--model", "fake-image", code=2))
    shell.run("embed", code=2)


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.123, "0.12 s"), (8.04, "8 s"), (61.4, "61 s"), (180.0, "3 min"), (9_000.0, "2.5 h")]
)
def test_durations_are_for_people(seconds: float, told: str) -> None:
    assert spoken(seconds) == told
