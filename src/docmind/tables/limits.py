"""Conditions on dates and numbers that a question sets."""

from __future__ import annotations

from itertools import pairwise

from docmind.embedding import fold
from docmind.tables.asking import (
    COMPARED,
    TIMED,
)
from docmind.tables.periods import (
    date_spans,
    end_of,
)
from docmind.tables.query import (
    Filter,
)
from docmind.tables.reading import (
    Reading,
)
from docmind.tables.wordlists import (
    BETWEEN,
    MONEY,
    SINCE,
    THROUGH,
)


def find_dates(r: Reading) -> None:
    spans = list(date_spans(r.words, r.by))
    if not spans:
        return
    column = r.date_column()
    if column is None:
        return
    for first, second in pairwise(spans):
        joined = r.texts[first[1] : second[0]]
        opens = first[0] > 0 and r.texts[first[0] - 1] in BETWEEN
        if opens and len(joined) == 1 and "month" not in (first[2], second[2]):
            _date_filter(r, column, Filter(column, "between", (first[3], end_of(second[3]))), first[0] - 1, second[1])
            spans = [span for span in spans if span not in (first, second)]
            break
    for start, end, kind, value in spans:
        how, begin = _how_timed(r, start)
        if kind == "month":
            if how != "in":
                return
            _date_filter(r, column, Filter(column, "month", (value,)), begin, end)
        elif how == "in":
            _date_filter(r, column, Filter(column, "between", (value, end_of(value))), begin, end)
        else:
            word = r.texts[begin]
            is_inclusive = word in {one.split("_")[0] for one in (SINCE if how == "after" else THROUGH)}
            if how == "after":
                one = Filter(column, ">=", (value,)) if is_inclusive else Filter(column, ">", (end_of(value),))
            else:
                one = Filter(column, "<=", (end_of(value),)) if is_inclusive else Filter(column, "<", (value,))
            _date_filter(r, column, one, begin, end)


def _date_filter(r: Reading, column: int, one: Filter, start: int, end: int) -> None:
    r.filters.append(one)
    if r.columns[column].is_unsure:
        r.is_sure = False
    for at in range(start, end):
        r.by[at] = r.by[at] or "date"
    r.score += 3


def _how_timed(r: Reading, start: int) -> tuple[str, int]:
    """Return how a date limits, and the first word that says so."""
    for size in (3, 2, 1):
        key = tuple(r.texts[max(0, start - size) : start])
        if len(key) == size and key in TIMED:
            return TIMED[key], start - size
    return "in", start


def find_numbers(r: Reading) -> None:
    for at, word in enumerate(r.words):
        if r.by[at] or not word.text[0].isdigit():
            continue
        try:
            value = float(word.root)
        except ValueError:
            continue
        sign, start = _sign_before(r, at)
        if sign:
            column = _number_column(r, at)
            if column is not None:
                r.filters.append(Filter(column, sign, (value,)))  # type: ignore[arg-type]
                _claim_number(r, start, at)
            continue
        column = _column_with(r, value, at)
        if column is not None:
            r.filters.append(Filter(column, "=", (value,)))
            _claim_number(r, at, at)
            r.has_value = True


def _claim_number(r: Reading, start: int, at: int) -> None:
    for place in range(start, at + 1):
        r.by[place] = "number"
    if (
        at + 1 < len(r.words) and (r.texts[at + 1] in ("%", "€", "$", "£", "euros", "euro", "dollars", "eur", "usd"))
    ) or (at + 1 < len(r.words) and any(r.texts[at + 1] == fold(column.unit.lower()) for column in r.columns)):
        r.by[at + 1] = "number"
    r.score += 3


def _sign_before(r: Reading, at: int) -> tuple[str, int]:
    end = at - 1 if at and r.texts[at - 1] in ("€", "$", "£") else at
    for size in (2, 1):
        key = tuple(r.texts[max(0, end - size) : end])
        if len(key) == size and key in COMPARED:
            return COMPARED[key], end - size
    return "", at


def _number_column(r: Reading, at: int) -> int | None:
    numeric = r.measures()
    named = [column for column in numeric if r.is_named(column)]
    if len(named) == 1 or len(numeric) == 1:
        return (named or numeric)[0]
    money = r.money()
    after = r.texts[at + 1] if at + 1 < len(r.words) else ""
    united = [column for column in numeric if after and after == fold(r.columns[column].unit.lower())]
    if len(united) == 1:
        return united[0]
    return money if any(text in MONEY for text in r.texts) or after in ("euros", "eur", "€", "dollars") else None


def _column_with(r: Reading, value: float, at: int) -> int | None:
    """Return the column of numbers in which a number of the question is a cell."""
    held = [column for column in range(len(r.columns)) if value in r.names.numbers[column]]
    near = [column for column in held if r.names_nearby(column, at)]
    if near:
        return near[0]
    keys = [column for column in held if r.is_key(column)]
    return keys[0] if len(keys) == 1 else None
