"""The author and the day of a document, from metadata, front pages and names of files."""

from __future__ import annotations

import pytest

from docmind.documents.facts import author_of, day_in_name, day_of, day_on_page
from each import each_of


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Lisbon, 3 March 2024\nDue on 01.02.2023", "2024-03-03"), ("March 3rd, 2024", "2024-03-03"),
        ("Lisboa, 3 de março de 2024", "2024-03-03"), ("1º de enero del 2021", "2021-01-01"),
        ("31/12/2024", "2024-12-31"), ("12/31/2024", "2024-12-31"), ("03.04.2024", "2024-04-03"),
        ("03/04/2024", ""), ("2024-02-30", ""), ("30 February 2024 and 2024-03-01", "2024-03-01"), ("May 2024", ""),
        ("IBAN 20240301123456", ""), ("", ""),
    ],
)  # fmt: skip
def test_the_first_day_of_a_front_page(text: str, day: str) -> None:
    assert day_on_page(text) == day


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2024-03-01 Invoice.pdf", "2024-03-01"), ("scan_20240301_1.pdf", "2024-03-01"),
        ("Report 31.12.2023.docx", "2023-12-31"), ("IMG-1234567890.png", ""), ("a2024.pdf", ""),
    ],
)  # fmt: skip
def test_the_day_in_a_name(name: str, day: str) -> None:
    assert day_in_name(name) == day


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
