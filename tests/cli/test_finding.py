"""`docmind search --image`."""

from __future__ import annotations

from pathlib import Path

import pytest

from sheets import jpeg, png, sheet
from shells import Shell


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    shell = Shell(tmp_path_factory.mktemp("looking"), DOCMIND_READING__IMAGE_SIDE_PX="1600")
    for seed in (1, 2):
        shell.run("add", shell.file(f"page-{seed}.png", png(sheet(seed))))
    return shell


def test_a_picture_finds_its_page(shell: Shell) -> None:
    told = shell.json("search", "--image", shell.file("shot.jpg", jpeg(sheet(2).crop((80, 300, 800, 900)))))
    assert told["found"] is True
    assert set(told) == {"hits", "found", "degraded", "timings_ms"}
    best = told["hits"][0]
    assert (best["rank"], best["document"], best["page_no"], best["found"]) == (1, "page-2.png", 1, True)
    assert [[round(x, -2), round(y, -2)] for x, y in best["quad"]] == [[100, 300], [800, 300], [800, 900], [100, 900]]


def test_it_is_told_on_a_terminal(shell: Shell) -> None:
    found = shell.run("search", "--image", shell.file("shot.jpg", jpeg(sheet(1))))
    assert "1. page-1.png, page 1" in found.stdout
    nothing = shell.run("search", "--image", shell.file("other.jpg", jpeg(sheet(5))))
    assert "No page looks like this picture." in nothing.stdout


def test_either_a_question_or_a_picture(shell: Shell, tmp_path: Path) -> None:
    picture = shell.file("shot.jpg", jpeg(sheet(1)))
    for arguments in ((), ("words", "--image", picture)):
        assert "either QUESTION or --image" in shell.run("search", *arguments, code=2).stderr
    assert "is not a file" in shell.run("search", "--image", tmp_path / "missing.png", code=4).stderr
    assert "is not a picture" in shell.run("search", "--image", shell.file("a.txt", b"words"), code=23).stderr
