"""What a reader did not read of a file: told by `docmind add`, `docmind show`, and to programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from shells import Shell

PAGE = (
    "<html><body><h1>The mill</h1><p>The wheel turns at dawn.</p><img src='a.png'><img src='b.png'>"
    "<video src='c.mp4'></video></body></html>"
)


@pytest.mark.slow
def test_what_was_not_read_is_told_where_a_document_is(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    told = shell.json("add", shell.file("mill.html", PAGE.encode()))
    (file,) = told["files"]
    losses = [(loss["kind"], loss["count"]) for loss in file["losses"]]
    assert losses == [("picture", 2), ("media", 1)]
    shown = shell.run("show", file["doc_id"]).output
    assert "Not read: 2 pictures, 1 sound or film" in shown
    assert shell.json("show", file["doc_id"])["document"]["ingestion"]["losses"] == file["losses"]


def test_a_file_of_which_all_was_read_tells_nothing(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    (file,) = shell.json("add", shell.file("mill.txt", b"The wheel turns at dawn.\n"))["files"]
    assert file["losses"] == []
    assert "Not read" not in shell.run("show", file["doc_id"]).output
