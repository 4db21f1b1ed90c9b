"""`docmind sync`: folders are followed, looked at, decided about and left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from desks import environment_of
from docmind.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in environment_of(tmp_path).items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "papers"
    folder.mkdir()
    for name in ("heron", "owl", "stork"):
        (folder / f"{name}.txt").write_text(f"The {name} flies.")
    return folder


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["sync", *arguments])
    assert result.exit_code == code, result.output
    return result.output if code else result.stdout


@pytest.mark.slow
def test_a_folder_is_followed_from_the_command_line(folder: Path) -> None:
    assert "3 added" in run("add", str(folder))
    (folder / "owl.txt").write_text("The owl sleeps.")
    (folder / "heron.txt").unlink()
    (folder / "stork.txt").rename(folder / "white stork.txt")
    told = json.loads(run("run", "--json"))
    counts = told["folders"][0]
    assert (counts["changed"], counts["gone"], counts["renamed"], counts["added"]) == (1, 1, 1, 0)
    assert [file["document"] for file in told["files"]] == ["owl.txt"]
    listed = run("list")
    assert str(folder) in listed
    assert "gone" in listed
    assert "kept" in run("gone", "heron.txt", "--keep")
    assert "No file is gone" in run("gone")
    assert "its documents stay" in run("remove", "1")
    assert "No folder is followed" in run("list")


@pytest.mark.slow
def test_what_is_gone_can_be_deleted(folder: Path) -> None:
    run("add", str(folder), "--no-watch", "--include", "heron*")
    (folder / "heron.txt").rename(folder / "other.txt")
    (folder / "heron 2.txt").write_text("Another heron.")
    run("run", str(folder))
    assert "deleted" in run("gone", "--delete")
    listed = CliRunner().invoke(main, ["list", "--json"]).stdout
    assert [info["document"] for info in json.loads(listed)["documents"]] == ["heron 2.txt"]


@pytest.mark.slow
def test_a_folder_that_is_not_there_is_one_sentence(folder: Path) -> None:
    run("add", str(folder / "missing"), code=6)
    run("add", str(folder / "owl.txt"), code=6)
    run("run", "7", code=4)
    run("add", str(folder))
    folder.rename(folder.with_name("elsewhere"))
    assert "is not there" in run("run", code=6)
