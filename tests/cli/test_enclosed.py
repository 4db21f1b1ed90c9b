"""Files inside files on the command line: added below their archive, listed there, shown and deleted with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from archives import packed
from docmind.errors import CancelledError
from shells import Shell

FILES = {"2025/lease.txt": "The deposit of the flat in Lisbon is 1,800 euros.", "tool.exe": b"MZ\0\0"}


@pytest.mark.slow
def test_an_archive_is_added_listed_shown_and_erased_with_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(tmp_path)
    added = shell.run("add", shell.file("rent.zip", packed(FILES))).output
    assert "Added rent.zip: 1 page" in added
    assert "\n  Added lease.txt: 1 page" in added
    assert "\n  tool.exe could not be read: it is a program, which DocMind does not read." in added
    listed = shell.run("list").stdout.splitlines()
    assert len(listed) == 2
    assert listed[0].endswith("ready     rent.zip")
    assert listed[1].endswith("ready       lease.txt")
    shown = shell.run("show", "rent.zip").stdout
    assert "2025/lease.txt" in shown
    assert "tool.exe is a program, which DocMind does not read." in shown
    assert shell.run("show", "lease.txt").stdout.startswith("in rent.zip")
    document = shell.json("show", "lease.txt")["document"]
    assert document["parent"]["document"] == "rent.zip"
    with monkeypatch.context() as asking:
        asking.setattr("docmind.cli.context.is_asking", lambda: True)
        asked = shell.run("purge", "rent.zip", "--now", typed="n\n", code=CancelledError.exit_code).output
        assert "Erase rent.zip and 1 file inside for good?" in asked
        asked = shell.run("delete", "rent.zip", "--permanently", typed="n\n", code=CancelledError.exit_code).output
        assert "Delete rent.zip and 1 file inside permanently?" in asked
    (receipt, inside) = (told := shell.json("purge", "rent.zip", "--now", "--yes"))["receipt"], told["inside"]
    assert [receipt["document"], *(one["document"] for one in inside)] == ["rent.zip", "lease.txt"]
    assert shell.json("list")["documents"] == []


@pytest.mark.slow
def test_the_outcomes_of_files_inside_are_told_to_programs(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    (told,) = shell.json("add", shell.file("rent.zip", packed(FILES)))["files"]
    assert [(one["document"], one["status"]) for one in told["enclosed"]] == [
        ("lease.txt", "added"),
        ("tool.exe", "refused"),
    ]
    assert shell.json("queue", "list")["files"] == []
