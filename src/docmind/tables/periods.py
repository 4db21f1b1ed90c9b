"""Dates and spans of time that a question names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from docmind.language import MONTHS, SHORT_MONTHS
from docmind.tables.values import (
    Sql,
)
from docmind.tables.wordlists import (
    BETWEEN,
    HALVES,
    ORDINALS,
    QUARTERS,
    TIME_BEFORE,
    YEAR_UNIT,
)
from docmind.tables.words import (
    Word,
)

_SKIPPED = frozenset(["of", "the", "de", "del", "do", "des", "der", "year", "ano", "an", "jahres", "in"])
JOINS = frozenset(["and", "to", "through", "until", "till", "bis", "und", "a", "e", "y", "et", "au", "hasta", "ate"])
"""Words between the first and the last month of a span."""


def end_of(value: Sql) -> str:
    """Return the last day of a year or month as a text that no date of it exceeds."""
    text = str(value)
    return {4: f"{text}-12-31", 7: f"{text}-31"}.get(len(text), text)


def date_spans(words: Sequence[Word], by: Sequence[str]) -> Iterable[tuple[int, int, str, str]]:
    """Yield the dates of a question: first word, end, kind (day, month of a year, year, or month), value."""
    at = 0
    while at < len(words):
        if by[at] and by[at] != "value":
            at += 1
            continue
        span = date_at(words, at)
        if span is not None and not any(one == "value" for one in by[at : span[1]]):
            yield span
            at = span[1]
        else:
            at += 1


def span_at(words: Sequence[Word], at: int) -> tuple[int, int, int, int, str] | None:
    """Return the quarter, half of a year or months from one to another at a word: first word, end, months, year."""
    texts = [word.text for word in words]
    first, last, end = 0, 0, at
    if match := re.fullmatch(r"q([1-4])", texts[at]):
        first, last, end = int(match[1]) * 3 - 2, int(match[1]) * 3, at + 1
    elif texts[at] in ORDINALS and at + 1 < len(texts) and texts[at + 1] in QUARTERS | HALVES:
        size = 3 if texts[at + 1] in QUARTERS else 6
        last = ORDINALS[texts[at]] * size
        first, end = last - size + 1, at + 2
    elif texts[at] in BETWEEN | {"von"} and (one := _month_at(words, at + 1)) is not None:
        other = _month_at(words, one[0] + 1) if one[0] < len(texts) and texts[one[0]] in JOINS else None
        if other is not None and (not one[2] or one[2] == other[2]):
            return at, other[0], one[1], other[1], other[2]
    if not 0 < last <= 12:
        return None
    year = next((n for n in range(end, min(end + 4, len(texts))) if texts[n] not in _SKIPPED), None)
    if year is not None and re.fullmatch(r"(?:19|20)\d\d", texts[year]):
        return at, year + 1, first, last, texts[year]
    while end < len(texts) and texts[end] in _SKIPPED and any(one in YEAR_UNIT for one in texts[end : end + 3]):
        end += 1
    return at, end, first, last, ""


def _month_at(words: Sequence[Word], at: int) -> tuple[int, int, str] | None:
    """Return the end of a month that stands at a word, its number, and its year."""
    if at >= len(words) or words[at].text not in MONTHS:
        return None
    found = date_at(words, at)
    if found is not None and found[2] == "month of year":
        return found[1], int(found[3][5:7]), found[3][:4]
    return at + 1, MONTHS[words[at].text], ""


def date_at(words: Sequence[Word], at: int) -> tuple[int, int, str, str] | None:
    texts = [word.text for word in words]
    text = texts[at]
    if re.fullmatch(r"\d{4}-\d\d(?:-\d\d)?", text):
        return at, at + 1, "day" if len(text) == 10 else "month of year", text
    if re.fullmatch(r"(?:19|20)\d\d", text):
        return at, at + 1, "year", text
    skipped = [
        n for n in range(at, min(at + 5, len(texts))) if texts[n] not in ("de", "of", "del", "st", "nd", "rd", "th")
    ]
    heads = [texts[n] for n in skipped]
    day_first = len(heads) > 1 and re.fullmatch(r"[0-3]?\d", heads[0]) and heads[1] in MONTHS
    if day_first and len(heads) > 2 and re.fullmatch(r"(?:19|20)\d\d", heads[2]):
        return at, skipped[2] + 1, "day", f"{heads[2]}-{MONTHS[heads[1]]:02}-{int(heads[0]):02}"
    if day_first and (len(heads) < 3 or not re.fullmatch(r"(?:19|20)\d\d", heads[2])):
        return at, skipped[1] + 1, "day of month", f"{MONTHS[heads[1]]:02}-{int(heads[0]):02}"
    if text in MONTHS:
        if len(heads) > 1 and re.fullmatch(r"[0-3]?\d", heads[1]) and text not in SHORT_MONTHS - {"may", "mai"}:
            is_dated = len(heads) > 2 and re.fullmatch(r"(?:19|20)\d\d", heads[2])
            if not is_dated:
                return at, skipped[1] + 1, "day of month", f"{MONTHS[text]:02}-{int(heads[1]):02}"
        if len(heads) > 2 and re.fullmatch(r"[0-3]?\d", heads[1]) and re.fullmatch(r"(?:19|20)\d\d", heads[2]):
            return at, skipped[2] + 1, "day", f"{heads[2]}-{MONTHS[text]:02}-{int(heads[1]):02}"
        if len(heads) > 1 and re.fullmatch(r"(?:19|20)\d\d", heads[1]):
            return at, skipped[1] + 1, "month of year", f"{heads[1]}-{MONTHS[text]:02}"
        if text not in SHORT_MONTHS or (at and texts[at - 1] in TIME_BEFORE):
            return at, at + 1, "month", f"{MONTHS[text]:02}"
    return None
