"""The author and the day of a document, from metadata."""

from __future__ import annotations

from docmind.documents.facts import author_of, day_of
from each import each_of


def test_metadata() -> None:
    dates = ("D:20240301120000+01'00'", "2024-03-01T12:00", "2024-03-01", "20240301", "D:2024", "2024", "x", "")
    assert [day_of(raw) for raw in dates] == ["2024-03-01"] * 4 + [""] * 4
    assert author_of("Ada Lovelace") == "Ada Lovelace"
    assert [author_of(raw) for raw in ("Windows User", "openpyxl", "1")] == [""] * 3


@each_of("raw", ["(anonymous)", "[unknown]", "<none>", "Unknown 2", "n/a", "(openpyxl)", "[Administrator]"])
def test_what_a_program_writes_is_no_author(raw: str) -> None:
    assert author_of(raw) == ""


@each_of("raw", ["Anonymous Collective", "N. A. Default-Ruiz", "None Such Press"])
def test_a_name_that_holds_such_a_word_is_an_author(raw: str) -> None:
    assert author_of(raw) == raw
