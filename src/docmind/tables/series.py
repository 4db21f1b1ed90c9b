"""Columns that hold one measure for one time each, such as `Q1` to `Q4`, months, or years; added up in each row."""

from __future__ import annotations

import re
from itertools import pairwise

from docmind.tables.reading import Reading
from docmind.tables.wordlists import MONTHS, THROUGH
from docmind.tables.words import Word, is_light

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
