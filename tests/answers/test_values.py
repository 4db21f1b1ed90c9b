"""Numbers, dates and identifiers that are one value however they are written."""

from __future__ import annotations

from itertools import pairwise

import pytest

from docmind.answers.values import met_spans, readings_of, values, years_of


@pytest.mark.parametrize(
    "forms",
    [
        ("1,234.56", "1.234,56", "1 234,56", "1'234.56", "1234.56"),
        ("3 March 2025", "2025-03-03", "03.03.2025", "March 3, 2025", "3/3/2025", "3 de março de 2025", "3. März 2025",
         "3 mars 2025", "2025/03/03", "3-Mar-2025", "3/mar/2025"),
        ("12 October 2024", "12 out. 2024", "12.º de outubro de 2024"),
        ("+351 912 555 013", "912555013", "912-555-013"),
        ("NM-77 40 12", "nm-774012"),
        ("12.000", "12,000", "12 000", "12000"),
    ],
)  # fmt: skip
def test_forms_of_one_value(forms: tuple[str, ...]) -> None:
    for one, other in pairwise(forms):
        assert met_spans(one, f"It says {other} there."), (one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,234.56", "1,234.65"),
        ("3 March 2025", "4 March 2025"),
        ("2025-03-03", "2024-03-03"),
        ("912555013", "912 555 014"),
        ("2.1", "12.1"),
        ("section 2.1", "21"),
    ],
)
def test_other_values(one: str, other: str) -> None:
    assert not met_spans(one, f"It says {other} there.")


def test_a_date_that_may_be_read_in_two_ways_has_both() -> None:
    assert readings_of("03/04/2025") >= {"d:2025-03-04", "d:2025-04-03"}
    assert readings_of("25/04/2025") == {"d:2025-04-25"}


def test_years_alone_and_in_dates() -> None:
    assert years_of("In 2021, and on 3 May 2022; 1,999 members, 2023 euros") >= {2021, 2022}
    assert years_of("214 members") == set()


def test_an_invalid_date_is_none() -> None:
    assert not any(one.kind == "date" for one in values("31/31/2025 and 2025-13-40"))


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["1.11", "1", "1(", "a-", "1/", "12, 3/3/2025 "])
def test_a_long_page_of_digits_is_read_in_time(piece: str) -> None:
    """With the square of the length it would take longer than the limit of a test."""
    assert isinstance(values(piece * (300_000 // len(piece))), list)
