"""`docmind lines` and `docmind correct`: what was read on a page, and corrections by hand."""

from __future__ import annotations

import json
from unittest.mock import ANY

import pytest

from desks import text_pdf
from docmind.records.documents import Upload
from libraries import Library
from shells import Shell, assert_inert, stocked_shell

pytestmark = pytest.mark.slow
LIBRARY = Library("lines", [Upload("garage.pdf", text_pdf(["The rent is 9OO euros", "", ""]))])


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return stocked_shell(tmp_path_factory.mktemp("lines"), LIBRARY)


def test_a_line_is_shown_corrected_found_and_undone(shell: Shell) -> None:
    told = shell.run("lines", "garage.pdf", "1").stdout
    assert "garage.pdf, page 1 of 3 (text from the file)" in told
    assert "   1         The rent is 9OO euros" in told
    told = shell.run("correct", "garage.pdf", "1", "1", "The rent is 900 \x1b[31mZwanziger").stdout
    assert "The rent is 900" in told
    assert "(corrected by hand, read: The rent is 9OO euros)" in told
    assert_inert(told)
    assert "garage.pdf, page 1" in shell.run("search", "Zwanziger").stdout
    page = json.loads(shell.run("lines", "garage.pdf", "1", "--json").stdout)
    assert (page["lines"][0]["source"], page["lines"][0]["read"]) == ("hand", "The rent is 9OO euros")
    assert len(page["lines"][0]["box"]) == 4
    facts = shell.run("show", "garage.pdf").stdout
    assert "Page 1: 1 line corrected by hand" in facts
    assert "Pages 2 to 3 are empty" in facts
    assert json.loads(shell.run("show", "garage.pdf", "--json").stdout)["coverage"]["empty"] == [[2, 3]]
    assert shell.run("correct", "garage.pdf", "1", "1", "--undo").stdout.strip().endswith(" The rent is 9OO euros")
    assert "removed" in shell.run("correct", "garage.pdf", "1", "0", "--undo").stdout
    assert "Nothing was read on this page." in shell.run("lines", "garage.pdf", "2").stdout


def test_what_cannot_be_done_is_refused(shell: Shell) -> None:
    for arguments, why in (
        (("1", "7", "x"), "Page 1 has 1 line."),
        (("2", "1", "x"), "Nothing was read on page 2."),
        (("1", "1"), "Give one change"),
        (("1", "1", "x", "--undo"), "Give one change"),
        (("1", "1", "--header"), "Line 1 is no row of a table."),
        (("9", "1", "x"), "This document has 3 pages."),
    ):
        done = shell.run("correct", "garage.pdf", *arguments, code=ANY)
        assert done.exit_code != 0
        assert why in done.stderr
