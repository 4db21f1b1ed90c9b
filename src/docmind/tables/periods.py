"""Dates and spans of time that a question names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from docmind.tables.values import (
    Sql,
)
from docmind.tables.wordlists import (
    MONTHS,
    SHORT_MONTHS,
    TIME_BEFORE,
)
from docmind.tables.words import (
    Word,
)


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
    if text in MONTHS:
        if len(heads) > 2 and re.fullmatch(r"[0-3]?\d", heads[1]) and re.fullmatch(r"(?:19|20)\d\d", heads[2]):
            return at, skipped[2] + 1, "day", f"{heads[2]}-{MONTHS[text]:02}-{int(heads[1]):02}"
        if len(heads) > 1 and re.fullmatch(r"(?:19|20)\d\d", heads[1]):
            return at, skipped[1] + 1, "month of year", f"{heads[1]}-{MONTHS[text]:02}"
        if text not in SHORT_MONTHS or (at and texts[at - 1] in TIME_BEFORE):
            return at, at + 1, "month", f"{MONTHS[text]:02}"
    return None
