"""Conditions on dates and numbers that a question sets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from docmind.language import ORDINAL_WEEKDAYS, WEEKDAYS, fold
from docmind.tables.asking import (
    COMPARED,
    TIMED,
)
from docmind.tables.periods import (
    JOINS,
    date_spans,
    end_of,
    span_at,
)
from docmind.tables.query import (
    Filter,
)
from docmind.tables.reading import (
    Reading,
    month_of,
)
from docmind.tables.role_words import OFTEN
from docmind.tables.wordlists import (
    BETWEEN,
    MEASURES,
    MONEY,
    NUMBER_WORDS,
    SINCE,
    THROUGH,
)
from docmind.tables.words import words_of


def find_spans(r: Reading) -> None:
    """Take quarters, halves of a year, and months from one to another for a condition on dates or months."""
    at = 0
    while at < len(r.words):
        span = span_at(r.words, at) if not r.by[at] or r.by[at] == "negation?" else None
        if span is None or any(r.by[span[0] : span[1]]) or _is_header(r, at):
            at += 1
            continue
        start, end, first, last, year = span
        at = end
        dates, months = r.date_column(), r.month_column()
        if dates is not None:
            if year:
                one = Filter(dates, "between", (f"{year}-{first:02}", f"{year}-{last:02}-31"))
            else:
                one = Filter(dates, "months", (f"{first:02}", f"{last:02}"))
                r.is_sure = r.is_sure and _is_one_year(r, dates)
            _date_filter(r, dates, one, start, end)
        elif months is not None and not year:
            held = {
                value
                for roots, values in r.names.whole[months].items()
                if first <= month_of(roots) <= last
                for value in values
            }
            if held:
                r.filters.append(Filter(months, "in", tuple(sorted(held, key=lambda one: month_of(_roots(str(one)))))))
                r.by[start:end] = ["date"] * (end - start)
                r.score += 3
        elif not year and (column := _quarter_named(r, first, last)) is not None:
            r.mentioned.setdefault(column, []).extend(range(start, end))
            r.by[start:end] = ["column"] * (end - start)


def _quarter_named(r: Reading, first: int, last: int) -> int | None:
    """Return the column that is named `Q2` or `H1` where the months are those of the second quarter or first half."""
    size = last - first + 1
    names = {3: ("q", "t"), 6: ("h", "s")}.get(size, ())
    wanted = {f"{letter}{last // size}" for letter in names} | {f"{last // size}{letter}" for letter in names}
    found = [at for at in r.measures() if len(r.names.headers[at]) == 1 and r.names.headers[at][0].text in wanted]
    return found[0] if len(found) == 1 and last % size == 0 else None


def _roots(value: str) -> tuple[str, ...]:
    return tuple(word.root for word in words_of(value))


def _is_header(r: Reading, at: int) -> bool:
    """Return whether a word is the whole name of a column."""
    return any([word.root for word in header] == [r.words[at].root] for header in r.names.headers)


def _is_one_year(r: Reading, column: int) -> bool:
    years = {str(row[column])[:4] for table in r.tables for row in table.values if row[column] is not None}
    return len(years) < 2


def find_weekdays(r: Reading) -> None:
    """Take days of the week for a condition on the column of dates."""
    column = r.date_column()
    if column is None:
        return
    for at, word in enumerate(r.words):
        day = WEEKDAYS.get(word.text, WEEKDAYS.get(word.root, 0))
        if day and word.text not in ORDINAL_WEEKDAYS and not r.by[at]:
            _date_filter(r, column, Filter(column, "weekday", (str(day % 7),)), at, at + 1)  # SQLite: 0 is Sunday


def find_clocks(r: Reading) -> None:
    """Take a time of the day for a condition on the column of times that is named, or the only one."""
    clocks = r.clocks()
    named = [column for column in clocks if r.is_named(column)]
    column = named[0] if len(named) == 1 else clocks[0] if len(clocks) == 1 else None
    for at, text in enumerate(r.texts):
        match = re.fullmatch(r"(\d{1,2}):(\d\d)", text)
        if match is None or r.by[at] or column is None:
            continue
        sign, start = _sign_before(r, at)
        if not sign:
            how, start = _how_timed(r, at)
            sign = {"after": ">", "before": "<"}.get(how, "=")
        r.filters.append(Filter(column, sign, (int(match[1]) * 60.0 + int(match[2]),)))  # type: ignore[arg-type]
        _claim_number(r, start, at)


def _find_between(r: Reading) -> None:
    """Take `between 10 and 40` for a condition on the column of numbers that is meant."""
    for at in range(len(r.words) - 3):
        lower, upper = r.words[at + 1], r.words[at + 3]
        is_span = r.texts[at] in BETWEEN and r.texts[at + 2] in JOINS
        if not is_span or any(r.by[at : at + 4]) or not (_is_number(lower.root) and _is_number(upper.root)):
            continue
        column = _number_column(r, at + 3)
        if column is not None:
            r.filters.append(Filter(column, "between", (float(lower.root), float(upper.root))))
            _claim_number(r, at, at + 3)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(?:\.\d+)?", text) is not None


def find_dates(r: Reading) -> None:
    spans = list(date_spans(r.words, r.by))
    if not spans:
        return
    column = r.date_column()
    if column is None:
        dates = [at for at, one in enumerate(r.columns) if one.type == "date"]
        if not dates:
            return
        column, r.is_sure = dates[0], False
    spans = [one for one in (_with_year(r, column, span) for span in spans) if one is not None]
    for first, second in pairwise(spans):
        joined = r.texts[first[1] : second[0]]
        opens = first[0] > 0 and r.texts[first[0] - 1] in BETWEEN
        if opens and len(joined) == 1 and "month" not in (first[2], second[2]):
            _date_filter(r, column, Filter(column, "between", (first[3], end_of(second[3]))), first[0] - 1, second[1])
            spans = [span for span in spans if span not in (first, second)]
            break
    if not r.has("difference"):
        spans = _joined(r, column, spans)
    for start, end, kind, value in spans:
        how, begin = _how_timed(r, start)
        if kind == "month":
            r.is_sure = r.is_sure and _is_one_year(r, column)
            if how != "in" or (start and r.texts[start - 1] == "by"):
                begin = begin if how != "in" else start - 1
                _date_filter(r, column, Filter(column, "months", _months(r.texts[begin], how, int(value))), begin, end)
                continue
            r.times.append(Filter(column, "month", (value,)))
            _date_filter(r, column, r.times[-1], begin, end)
        elif how == "in":
            r.times.append(Filter(column, "between", (value, end_of(value))))
            _date_filter(r, column, r.times[-1], begin, end)
        else:
            word = r.texts[begin]
            is_inclusive = word in {one.split("_")[0] for one in (SINCE if how == "after" else THROUGH)}
            if how == "after":
                one = Filter(column, ">=", (value,)) if is_inclusive else Filter(column, ">", (end_of(value),))
            else:
                one = Filter(column, "<=", (end_of(value),)) if is_inclusive else Filter(column, "<", (value,))
            _date_filter(r, column, one, begin, end)


def _months(word: str, how: str, month: int) -> tuple[str, str]:
    """Return the first and last month of a year that is limited by one of its months."""
    if how == "after":
        first = month if word in {one.split("_")[0] for one in SINCE} else min(month + 1, 12)
        return f"{first:02}", "12"
    last = month if word == "by" or word in {one.split("_")[0] for one in THROUGH} else max(month - 1, 1)
    return "01", f"{last:02}"


def _with_year(r: Reading, column: int, span: tuple[int, int, str, str]) -> tuple[int, int, str, str] | None:
    """Return a day without its year as one of the only year that has it, else of the last; None where none has it."""
    start, end, kind, value = span
    if kind != "day of month":
        return span
    held = [str(row[column]) for table in r.tables for row in table.values if row[column] is not None]
    years = sorted({day[:4] for day in held if day[5:] == value} or {day[:4] for day in held})
    if not years:
        return None
    r.is_sure = r.is_sure and len(years) == 1
    return start, end, "day", f"{years[-1]}-{value}"


def _joined(r: Reading, column: int, spans: Sequence[tuple[int, int, str, str]]) -> list[tuple[int, int, str, str]]:
    """Take several months for one condition; return what is left. Several other times are not understood."""
    named = [span for span in spans if _how_timed(r, span[0])[0] == "in"]
    if len(named) > 1 and all(span[2] == "month" for span in named):
        r.is_sure = r.is_sure and _is_one_year(r, column)
        values = tuple(sorted({span[3] for span in named}))
        for start, end, _kind, _value in named:
            _date_filter(r, column, Filter(column, "month", values), start, end)
        r.filters = [*dict.fromkeys(r.filters)]
        return [span for span in spans if span not in named]
    if len(named) > 1:
        r.is_sure = False
    return list(spans)


def _date_filter(r: Reading, column: int, one: Filter, start: int, end: int) -> None:
    r.filters.append(one)
    if r.columns[column].is_unsure:
        r.is_sure = False
    for at in range(start, end):
        r.by[at] = r.by[at] or "date"
    r.score += 3


def _how_timed(r: Reading, start: int) -> tuple[str, int]:
    """Return how a date limits, and the first word that says so; an article may stand between."""
    if start > 1 and r.texts[start - 1] in (*_ARTICLES, "dem", "den", "o", "el", "le") and r.texts[start - 2] in _FIRM:
        return TIMED[(r.texts[start - 2],)], start - 2
    for size in (3, 2, 1):
        key = tuple(r.texts[max(0, start - size) : start])
        if len(key) == size and key in TIMED:
            return TIMED[key], start - size
    return "in", start


def find_numbers(r: Reading) -> None:
    _find_between(r)
    for at, word in enumerate(r.words):
        is_spelled = word.text in NUMBER_WORDS
        if r.by[at] or not (word.text[0].isdigit() or is_spelled):
            continue
        try:
            value = float(NUMBER_WORDS[word.text] if is_spelled else word.root)
        except ValueError:
            continue
        sign, start = _sign_before(r, at)
        named = [column for column in r.measures() if r.is_named(column)]
        if not sign and r.texts[at + 1 : at + 2] and r.texts[at + 1] in OFTEN and len(named) == 1:
            r.filters.append(Filter(named[0], "=", (value,)))  # `drew three times` of a column `Drawn`
            _claim_number(r, at, at + 1)
            continue
        if is_spelled and not sign:
            continue
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


_FIRM = {key[0] for key in TIMED if len(key) == 1} - {"from", "a", "ab", "de"}
_ARTICLES = ("the", "los", "las", "os", "as", "les", "die", "de")  # between a comparison and its number


def _sign_before(r: Reading, at: int) -> tuple[str, int]:
    between = at and r.texts[at - 1] in ("€", "$", "£", *_ARTICLES)
    for end in (at, at - 1) if between else (at,):
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
    ages = [column for column in numeric if any(word.text in MEASURES["oldest"] for word in r.names.headers[column])]
    if len(ages) == 1 and any(text in ("is", "are", "aged") for text in r.texts[max(0, at - 3) : at]):
        return ages[0]
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
    money = r.money()
    after = r.texts[at + 1] if at + 1 < len(r.texts) else ""
    if money in held and (
        after in ("euros", "euro", "eur", "€", "dollars", "pounds") or r.texts[at - 1] in ("€", "$", "£")
    ):
        return money
    keys = [column for column in held if r.is_key(column)]
    return keys[0] if len(keys) == 1 else None
