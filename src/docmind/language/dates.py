"""Days that a text names: `3 March 2024`, `1er mars 2024`, `12/out/2024`, `2024-03-03`, `31.12.2024`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from docmind.language.calendar import WRITTEN_MONTHS, month_of

_EARLIEST, _LATEST = 1_000, 2_200  # years
_ISO = re.compile(r"(?<!\d)(\d{4})([-/._ ]?)(\d\d)\2(\d\d)(?!\d)")
_NUMBERS = re.compile(r"(?<![\d.,/-])(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?!\d)")
_DAY_FIRST = re.compile(
    rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.?[ºª°]|\.?o|er|ᵉʳ|\.)?(?:[\s/-]+|(?<=\.))(?:de\s+|of\s+)?"
    rf"(?P<month>{WRITTEN_MONTHS})\b[.,/-]{{0,2}}\s*(?:del?\s+)?(?P<year>\d{{4}})(?!\d)",
    re.IGNORECASE,
)
_MONTH_FIRST = re.compile(
    rf"\b(?P<month>{WRITTEN_MONTHS})\b\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})(?!\d)",
    re.IGNORECASE,
)
_MONTH_OF_YEAR = rf"\b(?P<month>{WRITTEN_MONTHS})\b\.?\s+(?:(?:del?|of)\s+)?(?P<year>\d{{4}})(?!\d)"
MONTH_OF_YEAR = re.compile(_MONTH_OF_YEAR, re.IGNORECASE)
"""A month of a year by its name, as "März 2026"."""
MONTH = re.compile(rf"{_MONTH_OF_YEAR}|(?<![\d./])(0?[1-9]|1[0-2])[/.](\d{{4}})(?!\d)", re.IGNORECASE)
"""A month of a year, as "März 2026" and "03/2026"."""


@dataclass(frozen=True, slots=True)
class NamedDay:
    """A day that a text names, as 2024-03-31, and its place in it."""

    start: int
    end: int
    day: str


def days(text: str, language: str = "") -> list[NamedDay]:
    """Return the days that a text names, in its order.

    One in numbers whose order cannot be told, such as 03/04/2024, is none, unless the text is in a language in which
    the day comes first.
    """
    found = [*named_days(text), *days_in_numbers(text, language)]
    return sorted(found, key=lambda one: one.start)


def named_days(text: str) -> Iterator[NamedDay]:
    """Yield the days with the name of a month and a year."""
    for form in (_DAY_FIRST, _MONTH_FIRST):
        for one in form.finditer(text):
            if day := day_text(int(one["year"]), month_of(one["month"]), int(one["day"])):
                yield NamedDay(*one.span(), day)


def days_in_numbers(text: str, language: str = "") -> Iterator[NamedDay]:
    """Yield the days in numbers alone."""
    for one in _ISO.finditer(text):
        if day := day_text(int(one[1]), int(one[3]), int(one[4])):
            yield NamedDay(*one.span(), day)
    for one in _NUMBERS.finditer(text):
        if day := _of_numbers(one, is_day_first=language not in ("", "en")):
            yield NamedDay(*one.span(), day)


def _of_numbers(found: re.Match[str], *, is_day_first: bool) -> str:
    first, second, year = int(found[1]), int(found[3]), int(found[4])
    if found[2] == "." or is_day_first or first > 12 or first == second:
        return day_text(year, second, first)
    return day_text(year, first, second) if second > 12 else ""


def day_text(year: int, month: int, day: int) -> str:
    """Return a day as 2024-03-31; "" for one that is in no calendar, or in no year of a document."""
    if not _EARLIEST <= year <= _LATEST:
        return ""
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""
