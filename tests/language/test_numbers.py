"""Numbers in all spellings."""

from __future__ import annotations

import pytest

from docmind.language import agree, figures, numeral, table_scales
from each import each_of


def value(text: str, language: str = "en") -> tuple[list[float | str], str]:
    (one,) = figures(text, language)
    return sorted(one.values, key=str), one.unit


@each_of(
    "text, language, number, unit",
    [
        ("1,234.5", "en", 1234.5, ""),
        ("1.234,5", "pt", 1234.5, ""),
        ("1 234,5".replace(" ", "\u00a0"), "es", 1234.5, ""),
        ("17,606", "en", 17606.0, ""),
        ("17.606", "pt", 17606.0, ""),
        ("1.234", "en", 1.234, ""),
        ("$3.2 billion", "en", 3.2e9, "$"),
        ("US$ 3.2bn", "en", 3.2e9, "$"),
        ("2.340 euro", "it", 2340.0, "€"),
        ("venti per cento", "it", 20.0, "%"),
        ("sei mesi", "it", 6.0, "month"),
        ("due milioni", "it", 2e6, ""),
        ("R$ 50 milhões", "pt", 5e7, "R$"),
        ("5 mil millones de euros", "es", 5e9, ""),
        ("20 percent", "en", 20.0, "%"),
        ("20 %", "en", 20.0, "%"),
        ("vinte por cento", "pt", 20.0, "%"),
        ("twelve", "en", 12.0, ""),
        ("twenty-one days", "en", 21.0, "day"),
        ("cento e vinte dias", "pt", 120.0, "day"),
        ("dos años", "es", 2.0, "year"),
        ("seiscentas e vinte horas", "pt", 620.0, "hour"),
        ("dreißig Tage", "de", 30.0, "day"),
        ("two hundred and fifty thousand dollars", "en", 250_000.0, "$"),
        ("30 calendar months", "en", 30.0, "month"),
        ("art. 5º", "pt", 5.0, ""),
        ("the third quarter", "en", 3.0, ""),
        ("45,000[2] euros", "en", 45_000.0, "€"),  # a note between a number and its unit
        ("R$ 3,2[1] bilhões", "pt", 3.2e9, "R$"),
        ("12%[3]", "en", 12.0, "%"),
    ],
)
def test_a_number_is_its_value(text: str, language: str, number: float, unit: str) -> None:
    assert value(text, language) == ([number], unit)


def test_dos_is_a_number_in_spanish_only() -> None:
    assert not figures("dos deputados", "pt")


def test_dates_meet_however_they_are_written() -> None:
    said = figures("March 15, 2022", "en")
    stands = figures("15/03/2022", "pt")
    assert all(any(agree(one, other) for other in stands) for one in said)
    assert not any(agree(figures("April 15, 2022", "en")[0], other) for other in stands)
    assert not any(agree(said[0], other) for other in figures("3 pens", "en"))


@each_of(
    "said, stands, agrees",
    [
        ("$3,200 million", "$3.2 billion", True),
        ("$3.2 million", "$3.2 billion", False),
        ("30 days", "thirty days", True),
        ("30 days", "30 months", False),
        ("20%", "20", True),
        ("$5", "€5", False),
        ("about 17,600", "17,606", True),
        ("17,600", "17,606", False),
        ("-5%", "5%", False),
        ("1,234", "(1,234)", True),
        ("-1,234", "(1,234)", True),
        ("1 in 10", "1", True),
    ],
)
def test_what_agrees(said: str, stands: str, agrees: bool) -> None:
    assert agree(figures(said, "en")[0], figures(stands, "en")[0]) == agrees


def test_tables_say_what_they_count_in() -> None:
    assert table_scales("(Dollars in millions, except per share data)") == (1e6,)
    assert table_scales("Em milhares de reais") == (1e3,)
    row = figures("Total revenue 17,606", "en")[0]
    assert agree(figures("$17.6 billion", "en")[0], row, (1e6,))
    assert agree(figures("$17,606 million", "en")[0], row, (1e6,))
    assert not agree(figures("$17.7 billion", "en")[0], row, (1e6,))
    assert not agree(figures("$17.6 million", "en")[0], row, (1e6,))
    assert not agree(figures("$17.6 billion", "en")[0], row)


def test_very_long_numbers_are_compared_as_text() -> None:
    one, other = figures("1" * 5000)[0], figures("1" * 4999 + "2")[0]
    assert agree(one, one)
    assert not agree(one, other)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("five ten", (5.0, 1)),
        ("one hundred and five apples", (105.0, 4)),
        ("trezentos e quarenta e dois mil", (342_000.0, 6)),
        ("apples", (0.0, 0)),
    ],
)
def test_words_are_read_as_far_as_they_are_one_number(words: str, expected: tuple[float, int]) -> None:
    assert numeral(words.split()) == expected


@pytest.mark.parametrize(
    ("text", "language", "months"),
    [
        ("le 2 mars 2024", "fr", [3.0]),
        ("depuis le 6 mai", "fr", [5.0]),
        ("12 jan 2025", "en", [1.0]),
        ("5 ene a 4 mar", "es", [1.0, 3.0]),
        ("sept jours", "fr", []),
        ("12 sept 2024", "fr", [9.0]),
        ("section 2 may be changed", "en", []),
        ("10 out of 12", "en", []),
    ],
)
def test_a_month_is_told_from_other_words(text: str, language: str, months: list[float]) -> None:
    assert [value for one in figures(text, language) if one.is_month for value in one.values] == months
