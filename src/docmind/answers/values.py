"""The numbers, dates, identifiers and clause numbers of a text as values that are equal however they are written.

`1,234.56`, `1.234,56`, `1 234,56`, `1'234.56` and `1234.56` are one value, and so are `3 March 2025`, `2025-03-03`,
`03.03.2025`, `March 3, 2025` and `3/3/2025`. Telephone numbers and other identifiers match whatever separates their
groups. Where a form may be read in two ways (`03/04/2025`, `1.234`) it has both values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Literal

from docmind.language import MONTHS_IN_PROSE, lowered_alike, named_days, pattern_of, readings_of_number

ValueKind = Literal["number", "year", "date", "identifier", "clause"]

_MONTH = pattern_of(MONTHS_IN_PROSE)
_ISO = re.compile(r"(?<![\d-])((?:1[5-9]|2[01])\d\d)([-/])(\d{1,2})\2(\d{1,2})(?!\d)")
_SLASHED = re.compile(r"(?<![\d./-])(\d{1,2})([./-])\s?(\d{1,2})\2\s?((?:1[5-9]|2[01])?\d\d)(?![\d/-])")
_DAY_FIRST = re.compile(rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th|er|o|\.)?[ \u00a0]?\s?(?:of\s|de\s)?({_MONTH})\b\.?")
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\.?\s(\d{{1,2}})(?:st|nd|rd|th)?(?!\d)")
# What is counted in these three has a bound, so that a page made of digits takes no longer than one of words.
_PHONE = re.compile(r"\+?\(?\d[\d()]{0,30}(?:[ .\-/\u00a0]\(?\d[\d()]{0,30}){1,8}")
_CODE = re.compile(
    r"(?<!\w)(?=[\w./-]{0,200}\d)(?=[\w./-]{0,200}[a-z])[a-z0-9]+(?:[-./ ]?\d[a-z0-9]*)*(?:[-./][a-z0-9]+)*"
)
_NUMBER = re.compile(r"\d+(?:[.,'’\u00a0\u202f\u2009]\d+)*")
_SPACED = re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u202f\u2009]\d{3}){1,12}(?:[.,]\d{1,2})?(?![\d]| \d)")
_SECTION = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{1,3}){1,4}(?![\d,])")
_FEWEST_DIGITS = 7  # of an identifier made of digits
_OF_YEAR = re.compile(r"[a-z]{1,4}((?:19|20)\d\d)")
_YEAR = re.compile(r"(?:19|20)\d\d|2100")


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a text: its span, and its possible readings; two values are one where they share a reading."""

    start: int
    end: int
    kind: ValueKind
    readings: frozenset[str]


def values(text: str) -> list[Value]:
    """Return all values of a text in reading order; one place may have several, such as a number and a clause."""
    lowered = lowered_alike(text)
    found = list(_dates(lowered))
    taken = _Taken(lowered, found)
    found += [one for one in _identifiers(lowered) if one.start not in taken]
    spaced = [
        Value(match.start(), match.end(), "number", frozenset(of_number(match.group())))
        for match in _SPACED.finditer(lowered)
    ]
    found += [one for one in spaced if one.start not in taken]
    taken.add(spaced)
    for match in _NUMBER.finditer(lowered):
        one = _number(match)
        if one.start not in taken:
            found.append(one)
    found += [_clause(match) for match in _SECTION.finditer(lowered) if match.start() not in taken]
    return sorted(found, key=lambda one: (one.start, one.end))


def met_spans(asked: str, text: str) -> list[tuple[int, int]]:
    """Return the spans of the values of a question that a text has too, in any of their forms."""
    wanted = list(_distinct(values(asked)))
    held = readings_of(text) if wanted else set()
    return [(one.start, one.end) for one in wanted if not held.isdisjoint(one.readings)]


def readings_of(text: str) -> set[str]:
    """Return the readings of all values of a text."""
    return {reading for one in values(text) for reading in one.readings}


def years_of(text: str) -> set[int]:
    """Return the years that a text names, alone or in dates."""
    found = {int(r[2:]) for one in values(text) if one.kind == "year" for r in one.readings if r.startswith("y:")}
    return found | {int(r[2:6]) for one in values(text) if one.kind == "date" for r in one.readings if r[:2] == "d:"}


def clause(number: str) -> str:
    """Return the reading of a clause number such as `2.1`."""
    return "c:" + number.strip(".").lower()


def of_number(written: str) -> set[str]:
    """Return the readings of one number; none where it is no single number."""
    compact = re.sub(r"(?<=\d)[ \u00a0\u202f\u2009](?=\d)", "", written)
    found = readings_of_number(compact, "")[0]
    return {f"n:{value:g}" if isinstance(value, float) and value < 1e6 else f"n:{value}" for value in found or ()}


class _Taken:
    """Which characters of a text belong to values."""

    def __init__(self, text: str, found: Iterable[Value] = ()) -> None:
        self._marks = bytearray(len(text))
        self.add(found)

    def __contains__(self, at: int) -> bool:
        return bool(self._marks[at])

    def add(self, found: Iterable[Value]) -> None:
        for one in found:
            self._marks[one.start : one.end] = b"\1" * (one.end - one.start)

    def overlaps(self, start: int, end: int) -> bool:
        return 1 in self._marks[start:end]


def _distinct(found: Iterable[Value]) -> Iterator[Value]:
    """Yield the longest value at each place, with the readings of others of the same span."""
    last: Value | None = None
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if last is not None and one.start < last.end:
            if (one.start, one.end) == (last.start, last.end):
                last = Value(last.start, last.end, last.kind, last.readings | one.readings)
            continue
        if last is not None:
            yield last
        last = one
    if last is not None:
        yield last


def _dates(lowered: str) -> Iterator[Value]:
    named = [Value(one.start, one.end, "date", frozenset({f"d:{one.day}"})) for one in named_days(lowered)]
    yield from named
    seen = _Taken(lowered, named)
    for form in (_ISO, _SLASHED, _DAY_FIRST, _MONTH_FIRST):
        for match in form.finditer(lowered):
            if seen.overlaps(*match.span()):
                continue
            found = _read(form, match)
            if found:
                one = Value(*match.span(), "date", frozenset(found))
                seen.add((one,))
                yield one


def _read(form: re.Pattern[str], match: re.Match[str]) -> set[str]:
    """Return the readings of a date: `d:2025-03-03`, or `m:03-03` where it has no year."""
    if form is _ISO:
        return _day(int(match[1]), int(match[3]), int(match[4]))
    if form is _SLASHED:
        written = int(match[4])
        year = written if written > 99 else 2000 + written if written < 70 else 1900 + written
        return _day(year, int(match[3]), int(match[1])) | _day(year, int(match[1]), int(match[3]))
    day, month = (match[1], match[2]) if form is _DAY_FIRST else (match[2], match[1])
    return _day(0, MONTHS_IN_PROSE[month], int(day))


def _day(year: int, month: int, day: int) -> set[str]:
    try:
        date(year or 2000, month, day)
    except ValueError:
        return set()
    return {f"m:{month:02}-{day:02}"} if not year else {f"d:{year}-{month:02}-{day:02}"}


def _identifiers(lowered: str) -> Iterator[Value]:
    for match in _PHONE.finditer(lowered):
        digits = re.sub(r"\D", "", match.group())
        if len(digits) >= _FEWEST_DIGITS:
            yield Value(match.start(), match.end(), "identifier", _digits(digits))
    for match in _CODE.finditer(lowered):
        compact = re.sub(r"[^a-z0-9]", "", match.group())
        if sum(char.isdigit() for char in compact) >= 2:
            year = _OF_YEAR.fullmatch(compact)  # `FY2022`
            yield Value(
                match.start(),
                match.end(),
                "identifier",
                frozenset({"i:" + compact, *(["y:" + year[1]] if year else [])}),
            )


def _digits(digits: str) -> frozenset[str]:
    """Return the readings of a run of digits; a telephone number also without `+351` or a first 0."""
    return frozenset({"i:" + digits, "i:" + digits.lstrip("0")} | ({"i:" + digits[-9:]} if len(digits) > 9 else set()))


def _number(match: re.Match[str]) -> Value:
    written = match.group()
    if _YEAR.fullmatch(written):
        return Value(*match.span(), "year", frozenset({f"y:{written}", f"n:{int(written)}"}))
    found = of_number(written)
    if written.isdecimal() and len(written) >= _FEWEST_DIGITS:
        found |= _digits(written)
    return Value(*match.span(), "number", frozenset(found))


def _clause(match: re.Match[str]) -> Value:
    return Value(*match.span(), "clause", frozenset({clause(match.group())}))
