"""`docmind accept`, and the command line over a vault that lacks acknowledged changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from docmind.errors import BehindError
from shells import Shell, sentence_of


@pytest.fixture
def older(tmp_path: Path) -> Shell:
    """Return a vault with its vault.db restored from before the second document."""
    shell = Shell(tmp_path)
    database = tmp_path / "data" / "vault.db"
    shell.run("add", shell.file("herons.txt", b"Herons wait in shallow water for fish. " * 3))
    shutil.copy(database, tmp_path / "before.db")
    shell.run("add", shell.file("storks.txt", b"Storks nest on chimneys and clatter. " * 3))
    shutil.copy(tmp_path / "before.db", database)
    return shell


def test_nothing_is_missing_from_a_whole_vault(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    assert shell.json("accept") == {"accepted": False, "set_aside": 0}
    assert "Nothing is missing" in shell.run("accept").stdout


@pytest.mark.slow
def test_every_command_says_what_is_missing_until_it_is_accepted(older: Shell) -> None:
    for words in (("list",), ("search", "fish"), ("add", older.files / "storks.txt"), ("status",)):
        result = older.run(*words, code=BehindError.exit_code)
        assert "1 document" in sentence_of(result)
        assert "storks.txt" in result.stderr
        assert "docmind accept" in result.stderr
    looked = older.run("list", DOCMIND_STORAGE__READ_ONLY="1")
    assert "herons.txt" in looked.stdout
    assert "storks.txt" not in looked.stdout
    refused = older.run("add", older.files / "storks.txt", code=10, DOCMIND_STORAGE__READ_ONLY="1")
    assert "open for reading only" in refused.stderr

    refused = older.run("accept", code=130)
    assert "Nothing was changed" in refused.stderr
    assert older.json("accept", "--yes") == {"accepted": True, "set_aside": 2}
    assert len(list((older.folder / "data" / "aside").glob("*.enc"))) == 2
    assert "herons.txt" in older.run("list").stdout
    older.run("add", older.files / "storks.txt")  # this brings back what was set aside
    assert not list((older.folder / "data" / "aside").glob("*.enc"))
