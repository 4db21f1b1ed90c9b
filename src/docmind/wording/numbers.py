"""Numbers and dates as each language of the interface and of answers writes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from docmind.wording.catalogues import language


@dataclass(frozen=True, slots=True)
class _Ways:
    """How a language writes numbers and dates.

    `grouped_from` is the smallest number that is written in groups of three digits.
    """

    decimal: str
    group: str
    grouped_from: int
    date: str
    months: tuple[str, ...]


_WAYS = {
    "en": _Ways(
        ".", ",", 1_000, "{day} {month} {year}",
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    ),
    "pt": _Ways(
        ",", "\N{NO-BREAK SPACE}", 10_000, "{day} de {month} de {year}",
        ("jan.", "fev.", "mar.", "abr.", "mai.", "jun.", "jul.", "ago.", "set.", "out.", "nov.", "dez."),
    ),
    "de": _Ways(
        ",", ".", 1_000, "{day}. {month} {year}",
        ("Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez."),
    ),
    "fr": _Ways(
        ",", "\N{NO-BREAK SPACE}", 1_000, "{day} {month} {year}",
        ("janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."),
    ),
    "it": _Ways(
        ",", ".", 1_000, "{day} {month} {year}",
        ("gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"),
    ),
    "es": _Ways(
        ",", "\N{NO-BREAK SPACE}", 10_000, "{day} {month} {year}",
        ("ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sept", "oct", "nov", "dic"),
    ),
}  # fmt: skip
"""English as in the project's texts; the others after CLDR 44, Portuguese as that of Portugal, with the thin space of
ISO 80000 as a no-break space, which every font has."""


def number_text(value: float, digits: int = 0, code: str = "") -> str:
    """Format a number with this many digits after the decimal sign: `12,345.6` in English, `12 345,6` in Portuguese.

    It is in the language in use, or in another one of answers.
    """
    ways = _WAYS[code or language()]
    text = f"{value:,.{digits}f}" if abs(value) >= ways.grouped_from else f"{value:.{digits}f}"
    return text.translate({ord(","): ways.group, ord("."): ways.decimal})


def day_and_month(moment: datetime) -> str:
    """Format a date without its year: `3 May`."""
    return _date(moment, _WAYS[language()].date.split(" {year}")[0].removesuffix(" de"), language())


def date(moment: datetime, code: str = "") -> str:
    """Format a date in the language in use, or in another one of answers: `3 May 2026`, `3 de mai. de 2026`."""
    return _date(moment, _WAYS[code or language()].date, code or language())


def month_and_year(moment: datetime) -> str:
    """Format a month: `May 2026`, `mai. de 2026`."""
    return _date(moment, _WAYS[language()].date.split(" ", 1)[1].removeprefix("de "), language())


def _date(moment: datetime, pattern: str, code: str) -> str:
    return pattern.format(day=moment.day, month=_WAYS[code].months[moment.month - 1], year=moment.year)
