"""The largest or smallest of statements of one form: "Harrow Hill is 412 metres high." among others like it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from docmind.answers.kinds import is_of_smallest
from docmind.answers.values import lowered_alike, values

FEWEST = 3  # statements of one form that are compared
_MEASURE = re.compile(r"\s*([^\W\d_]+(?:\s+[^\W\d_]+)?|[%€$£])")  # what stands behind a number


def most_extreme(question: str, passages: Sequence[str], worth: Sequence[float]) -> int | None:
    """Return the passage with the largest number, or the smallest where the question asks for it, by its index.

    Compared are passages with one number and the same words behind it; of several such forms that in which a passage
    has the most `worth`. None where no form has `FEWEST` of them, or two are equal.
    """
    forms: dict[str, list[tuple[float, int]]] = {}
    for at, passage in enumerate(passages):
        measured = _measured(passage)
        if measured is not None:
            forms.setdefault(measured[0], []).append((measured[1], at))
    alike = [found for found in forms.values() if len(found) >= FEWEST]
    if not alike:
        return None
    best = max(alike, key=lambda found: max(worth[at] for _number, at in found))
    best.sort(reverse=not is_of_smallest(question))
    return best[0][1] if best[0][0] != best[1][0] else None


def _measured(passage: str) -> tuple[str, float] | None:
    """Return the words behind the only number of a passage, and the number; None where it has none, or several."""
    found = [one for one in values(passage) if one.kind in ("number", "year", "date")]
    places = {(one.start, one.end) for one in found}
    if len(places) != 1 or found[0].kind != "number":
        return None
    words = _MEASURE.match(lowered_alike(passage), found[0].end)
    numbers = [reading.removeprefix("n:") for reading in found[0].readings if reading.startswith("n:")]
    try:
        return (words[1], max(map(float, numbers))) if words is not None and numbers else None  # 1,038 is a thousand
    except ValueError:
        return None
