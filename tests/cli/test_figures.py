"""The figures of a document on the command line: listed, and written as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from docmind.errors import ConfigError
from figured import ALT, CAPTION, handbook
from shells import Shell


@pytest.mark.slow
def test_figures_are_listed_and_written_once(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.run("add", shell.file("handbook.docx", handbook().data))
    assert shell.run("figures", "handbook.docx").stdout.splitlines() == [
        f"page 1, 1  640 × 400  {CAPTION}",
        f"page 2, 1  640 × 400  {ALT}",
    ]
    folder = tmp_path / "pictures"
    told = shell.json("figures", "handbook.docx", "--save", str(folder))
    assert [one["caption"] for one in told["figures"]] == [CAPTION, ""]
    assert sorted(told["files"]) == sorted(map(str, folder.iterdir()))
    assert [file.name for file in sorted(folder.iterdir())] == [
        "page-0001-figure-01.webp",
        "page-0002-figure-01.webp",
    ]
    assert all(file.read_bytes()[8:12] == b"WEBP" for file in folder.iterdir())
    again = shell.run("figures", "handbook.docx", "--save", str(folder), code=ConfigError.exit_code)
    assert "exists already" in again.output
    shell.run("figures", "handbook.docx", "--save", str(folder), "--force")
    assert "no figures" in shell.run("figures", _plain(shell)).stdout


def _plain(shell: Shell) -> str:
    shell.run("add", shell.file("plain.txt", b"No picture is in it."))
    return "plain.txt"
