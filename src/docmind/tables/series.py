"""Columns that hold one measure for one time each, such as `Q1` to `Q4`, months, or years; added up in each row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from docmind.language import MONTHS
from docmind.tables.query import Filter, TableQuery
from docmind.tables.reading import Reading
from docmind.tables.role_words import BOTH, EACH
from docmind.tables.wordlists import NUMBER_WORDS, THROUGH, WHICH, Task
from docmind.tables.words import Word, is_light, same

_QUARTER = re.compile(r"[qt][1-4]|[1-4][qt]|s[12]|h[12]")
_YEAR = re.compile(r"(?:19|20)\d\d")
_JOINS = THROUGH | frozenset({"to", "through", "a", "al", "ao", "au"})


def series_of(r: Reading) -> tuple[int, ...]:
    """Return the columns of numbers that differ by their time alone; none where there are not two, or two such groups.

    All have one unit and the same other words in their names.
    """
    found: dict[tuple[str, ...], list[int]] = {}
    for at in r.measures():
        header = [word for word in r.names.headers[at] if not is_light(word.text)]
        times = [word for word in header if _is_time(word)]
        if len(times) == 1:
            others = (*(word.root for word in header if word is not times[0]), r.columns[at].unit)
            found.setdefault(others, []).append(at)
    rows = [columns for columns in found.values() if len(columns) > 1]
    return tuple(rows[0]) if len(rows) == 1 else ()


def _is_time(word: Word) -> bool:
    return word.text in MONTHS or bool(_QUARTER.fullmatch(word.text) or _YEAR.fullmatch(word.text))


def asked_series(r: Reading, series: tuple[int, ...]) -> tuple[int, ...]:
    """Return those of a series that are added up: from one to another, the named ones, or all where none is named."""
    named = [at for at in series if any(_is_time(r.words[place]) for place in r.mentioned.get(at, ()))]
    if not named:
        others = [at for at in r.mentioned if at in r.measures() and at not in series]
        return () if others else series
    if len(named) < 2:
        return ()
    places = sorted(next(p for p in r.mentioned[at] if _is_time(r.words[p])) for at in named)
    between = [r.texts[first + 1 : second] for first, second in pairwise(places)]
    if len(named) == 2 and len(between[0]) == 1 and between[0][0] in _JOINS:
        return tuple(at for at in series if min(named) <= at <= max(named))
    return tuple(named)


def added(r: Reading, label: int | None, filters: tuple[Filter, ...]) -> TableQuery | None:
    """Return a sum over several columns of each row, one for each time; None where no such is asked."""
    is_whole = r.texts[0] in WHICH and bool(BOTH & set(r.texts))  # `what did it take in the whole year`
    asks = is_whole or r.has("sum") or r.asked.is_how_much or r.has("count") or r.has("largest") or r.has("smallest")
    if not asks or r.has("mean") or r.has("median") or r.has("difference") or r.has("share") or not r.series:
        return None
    columns = asked_series(r, r.series)
    if not columns or any(one.column in r.series for one in filters):
        return None
    unnamed = len(columns) == len(r.series)
    if (r.has("count") and not counts_measure(r)) or (r.rank, r.top) != (1, 1):
        return None
    if unnamed and not (r.is_money or r.role is not None or r.has("sum") or counts_measure(r) or r.subject or is_whole):
        return None
    task: Task = "largest" if r.has("largest") else "smallest" if r.has("smallest") else "sum"
    if task == "sum" and not (filters or r.subject or r.is_money):
        return None
    if unnamed and not (r.has("sum") or any(text in BOTH or text in NUMBER_WORDS for text in r.texts)):
        r.is_sure = r.is_sure and not _are_years(r, columns)  # of one of the years, or of all
    return TableQuery(task, filters, columns[0], label=label, rank=r.rank, top=r.top, plus=columns[1:])


def _are_years(r: Reading, columns: Sequence[int]) -> bool:
    return all(any(word.text[:2] in ("19", "20") for word in r.names.headers[at]) for at in columns)


def counts_measure(r: Reading) -> bool:
    """Return whether what is counted has a unit: hours, not rows."""
    end = next((end for task, _start, end in r.asked.tasks if task == "count"), 0)
    near = range(end, min(end + 3, len(r.texts)))
    is_unit = any(same(r.texts[at], one) for at in near for one in EACH)
    return is_unit or any(at in r.mentioned.get(column, ()) for at in near for column in r.series)
