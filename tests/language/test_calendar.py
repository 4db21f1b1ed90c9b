"""Names of months and weekdays in five languages."""

from __future__ import annotations

import pytest

from docmind.language import (
    LANGUAGES,
    MONTHS,
    MONTHS_IN_PROSE,
    SHORT_MONTHS,
    WEEKDAYS,
    month_names,
)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_year_has_twelve_months(language: str) -> None:
    assert len(month_names(language)) >= 12


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, "january januar janner jaenner enero janvier janeiro jan ene janv"),
        (2, "february februar febrero fevrier fevereiro feb fev fevr"),
        (3, "march marz maerz marzo mars marco mar mrz"),
        (8, "august agosto aout aug ago"),
        (9, "september septiembre setiembre septembre setembro sep sept set"),
        (12, "december dezember diciembre decembre dezembro dec dez dic"),
    ],
)
def test_a_month_is_known_by_its_names_and_abbreviations(number: int, words: str) -> None:
    assert {MONTHS[word] for word in words.split()} == {number}


def test_words_that_are_no_month_are_told() -> None:
    assert {"may", "mars", "sept", "out"} <= SHORT_MONTHS
    assert "july" not in SHORT_MONTHS
    assert MONTHS.keys() - MONTHS_IN_PROSE.keys() == {"set", "out", "ago", "dez", "gen", "mag", "lug"}


def test_a_week_begins_on_monday() -> None:
    assert [WEEKDAYS[word] for word in ("montag", "mardi", "miercoles", "quinta", "friday", "sabados", "domingo")] == [
        *range(1, 8)
    ]
