"""`docmind compare`: two documents, for people, as JSON and as Markdown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docmind.records.documents import Upload
from libraries import Library
from shells import Shell, assert_inert, stocked_shell

pytestmark = pytest.mark.slow
LEASE = "The rent of the mill house is {rent} crowns a month. It is due on the third day. {more}"
LIBRARY = Library(
    "two leases",
    [
        Upload("lease.txt", LEASE.format(rent=900, more="Beeps \x1b[31m ring twice.").encode()),
        Upload("lease v2.txt", LEASE.format(rent=950, more="").encode()),
    ],
)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return stocked_shell(tmp_path_factory.mktemp("compare"), LIBRARY)


def test_changes_are_told_in_words_with_their_pages(shell: Shell) -> None:
    told = shell.run("compare", "lease.txt", "lease v2.txt")
    assert "~ Changed (page 1 → page 1)" in told.stdout
    assert "    - 900   (The rent of the mill house is 900 crowns a month.)" in told.stdout
    assert "    + 950   (The rent of the mill house is 950 crowns a month.)" in told.stdout
    assert "- Removed (page 1 → –)" in told.stdout
    assert "Changed: 1" in told.stderr
    assert_inert(told.stdout)


def test_versions_are_listed_and_said(tmp_path: Path) -> None:
    shell = stocked_shell(tmp_path, LIBRARY)
    assert [line.split("  ")[-1] for line in shell.run("versions", "lease.txt").stdout.splitlines()] == [
        "lease v2.txt", "lease.txt",
    ]  # fmt: skip
    assert "lease.txt has no other versions." in shell.run("versions", "lease.txt", "--not").stdout
    told = json.loads(shell.run("versions", "lease v2.txt", "--of", "lease.txt", "--json").stdout)
    assert [one["document"] for one in told["versions"]] == ["lease v2.txt", "lease.txt"]
    shell.run("versions", "lease.txt", "--of", "lease v2.txt", "--not", code=2)


def test_json_has_boxes_on_both_pages(shell: Shell) -> None:
    told = json.loads(shell.run("compare", "lease.txt", "lease v2.txt", "--json").stdout)
    assert (told["before"]["document"], told["after"]["document"]) == ("lease.txt", "lease v2.txt")
    change = told["changes"][0]
    assert (change["n"], change["kind"], change["before"]["text"], change["after"]["text"]) == (
        1,
        "changed",
        "900",
        "950",
    )
    assert [len(change[side]["places"][0]["boxes"][0]) for side in ("before", "after")] == [4, 4]


def test_markdown_is_inert(shell: Shell) -> None:
    told = shell.run("compare", "lease.txt", "lease v2.txt", "--markdown").stdout
    assert told.startswith("# lease.txt → lease v2.txt\n\n2 changes\n")
    assert "## 1. Changed" in told
    assert "After, page 1: “950” (The rent of the mill house is 950 crowns a month.)" in told
    assert_inert(told)


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("lease.txt", "none.txt"), 4, "none.txt"),
        (("lease.txt", "lease.txt"), 2, "can't be compared with itself"),
        (("lease.txt", "lease v2.txt", "--json", "--markdown"), 2, "exclude each other"),
    ],
)
def test_what_cannot_be_compared_is_refused(shell: Shell, words: tuple[str, ...], code: int, sentence: str) -> None:
    assert sentence in shell.run("compare", *words, code=code).stderr


def test_adding_names_the_option_that_replaces_and_replacing_moves_to_the_bin(tmp_path: Path) -> None:
    shell = stocked_shell(tmp_path, LIBRARY)
    newer = shell.file("lease v3.txt", LEASE.format(rent=975, more="").encode())
    assert "docmind add --replace" in shell.run("add", newer).stderr
    told = shell.run("add", newer, "--replace").stdout
    assert "lease v2.txt is in the bin. Undo: docmind bin restore" in told
    listed = json.loads(shell.run("list", "--json").stdout)["documents"]
    assert [info["document"] for info in listed] == ["lease v3.txt"]
