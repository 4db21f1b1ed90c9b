"""The largest or smallest of statements of one form: "Harrow Hill is 412 metres high." among others like it."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from docmind.answers.kinds import content_words, is_of_smallest
from docmind.answers.values import Value, values
from docmind.embedding import words
from docmind.language import lowered_alike

FEWEST = 3  # statements of one form that are compared
NEAR = 24  # characters between a word of the question and the number that is of it
_WORD = re.compile(r"[^\W\d_]{3,}")
_UNIT = re.compile(r"\s*([^\W\d_]+|[%€$£])")
_ENDS = re.compile(r"[.;:!?]\s")
_MEASURE = re.compile(r"\s*([^\W\d_]+(?:\s+[^\W\d_]+)?|[%€$£])")  # what stands behind a number


def most_extreme(question: str, passages: Sequence[str], worth: Sequence[float]) -> int | None:
    """Return the passage with the largest number, or the smallest where the question asks for it, by its index.

    Compared are passages with one number and the same words behind it, else those with a number right behind the same
    word of the question ("saves about 600 kWh"); of several such forms that in which a passage has the most `worth`.
    None where no form has `FEWEST` of them, or two are equal.
    """
    asked = {key for word in content_words(question) if not word.isdigit() for key in words(word)}
    for measured_by in (_measured, lambda passage: _measured_behind(asked, passage)):
        forms: dict[str, list[tuple[float, int]]] = {}
        for at, passage in enumerate(passages):
            measured = measured_by(passage)
            if measured is not None:
                forms.setdefault(measured[0], []).append((measured[1], at))
        alike = [found for found in forms.values() if len(found) >= FEWEST]
        if alike:
            best = max(alike, key=lambda found: max(worth[at] for _number, at in found))
            best.sort(reverse=not is_of_smallest(question))
            return best[0][1] if best[0][0] != best[1][0] else None
    return None


def _measured(passage: str) -> tuple[str, float] | None:
    """Return the words behind the only number of a passage, and the number; None where it has none, or several."""
    found = [one for one in values(passage) if one.kind in ("number", "year", "date")]
    places = {(one.start, one.end) for one in found}
    if len(places) != 1 or found[0].kind != "number":
        return None
    measure = _MEASURE.match(lowered_alike(passage), found[0].end)
    number = _number(found[0])
    return (measure[1], number) if measure is not None and number is not None else None


def _measured_behind(asked: Set[str], passage: str) -> tuple[str, float] | None:
    """Return a word of the question with the unit of the number close behind it, and that number.

    None where there is no such word, or several: then the passage is a list of what is compared.
    """
    lowered = lowered_alike(passage)
    numbers = [one for one in values(passage) if one.kind == "number"]
    found: list[tuple[str, float]] = []
    for word in _WORD.finditer(lowered):
        if asked.isdisjoint(words(word.group())):
            continue
        behind = next((one for one in numbers if 0 < one.start - word.end() <= NEAR), None)
        if behind is None or _ENDS.search(lowered, word.end(), behind.start):
            continue
        unit, number = _UNIT.match(lowered, behind.end), _number(behind)
        if number is not None:
            found.append((f"{word.group()} {unit[1] if unit is not None else ''}", number))
    return found[0] if len(found) == 1 else None


def _number(value: Value) -> float | None:
    """Return the number of a value; the larger one where it may be read in two ways: 1,038 is a thousand."""
    try:
        return max(float(one.removeprefix("n:")) for one in value.readings if one.startswith("n:"))
    except ValueError:
        return None
