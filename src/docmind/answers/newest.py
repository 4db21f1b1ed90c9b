"""The newest of what answers a question equally well: a wish in its words ("the latest report"), or of the person.

What a passage is about in time is told by the date of its row, else by that of the heading above it, else by the day of
its document, else by a year in the name of that. A day is a text such as 2024-03-31, or a year alone; "" is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from docmind.answers.values import values
from docmind.language import lowered_alike

EQUALLY_WELL = 1.0  # below the best score, a logarithm of odds: passages from here on state the same
_HITS_ALIKE = 0.9  # of the best MaxSim: reports of three years on one matter have from .93 on, others at most .86
_LATEST = 2_100  # years
_WORDS_OF_DATED_HEADING = 5
_READING = re.compile(r"(?:d:(\d{4}-\d\d-\d\d)|y:(\d{4}))")
_WISH = re.compile(
    r"\b(?:newest|latest|most recent(?:ly)?|up[- ]to[- ]date|current(?:ly)?|aktuell\w*|neueste\w*|jungste\w*|derzeit\w*"
    r"|mais recentes?|mais novo?a?s?|atual(?:mente)?|atuais|mas recientes?|mas nuev[oa]s?|actual(?:mente)?|actuales"
    r"|ultim[oa]s?|dernier(?:e?s?)|plus recente?s?|actuel(?:le)?s?)\b"
)
_ONLY_WISH = re.compile(
    r"(?:newest|latest|most|recent(?:ly|es?|s)?|recientes?|aktuell\w*|neueste\w*|jungste\w*|derzeit\w*|mais|mas|plus)"
)
"""Words of a wish that a page that answers need not have; others, such as `last`, may be what is asked about."""


def wishes_newest(question: str) -> bool:
    """Return whether the words of a question ask for what is newest."""
    return _WISH.search(lowered_alike(question)) is not None


def without_wish(terms: Sequence[str]) -> list[str]:
    """Return the words of a question that a page may have; all where there are no others."""
    return [term for term in terms if not _ONLY_WISH.fullmatch(term)] or list(terms)


def day_in(text: str) -> str:
    """Return the latest day or year that a text names."""
    read = (_READING.fullmatch(reading) for one in values(text) for reading in one.readings)
    days = (found[1] or found[2] for found in read if found is not None)
    return max((day for day in days if int(day[:4]) <= _LATEST), default="")


def day_of_heading(heading: str) -> str:
    """Return the day or year of a section whose heading is little more than that, as "2.1, 3 May 2022" is."""
    return day_in(heading) if len(heading.split()) <= _WORDS_OF_DATED_HEADING else ""


def newest_hits(worth: Sequence[float | None], days: Sequence[str]) -> list[int]:
    """Return the places of hits, best first, so that of those that answer equally well the newest come first.

    `worth` is how well each has the words of the question (MaxSim), None where it was not compared: such a hit stays.
    """
    order: list[int] = []
    left = list(range(len(worth)))
    while left:
        first = worth[left[0]]
        alike = [
            at for at in left
            if at == left[0] or (first is not None and (worth[at] or 0.0) >= _HITS_ALIKE * first > 0)
        ]  # fmt: skip
        order += sorted(alike, key=lambda at: days[at], reverse=True)
        left = [at for at in left if at not in alike]
    return order
