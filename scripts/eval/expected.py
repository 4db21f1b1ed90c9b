"""Whether an answer shows what its question expects, and in which form.

These rules stand apart from `kinds.py`, which asks the questions, so that they are tested without a library.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from docmind.records.answers import Answer

Given = Literal["table", "list", "quote"]
"""The form of the best answer: computed from a table, a complete list, or a quote."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_DIGITS = re.compile(r"\d[\d.,’' \u202f\u00a0]*")
_MARKS = re.compile(r"[’' \u202f\u00a0]")  # of thousands; points and commas may be those of decimals
_HYPHENATION = re.compile(r"[-\u00ad\u2010]\s*\n\s*")


@dataclass(frozen=True, slots=True)
class Expected:
    """What the answer to a question of one kind should be.

    `given` is the form of the best answer, `shown` all that must be shown, and `never` what a list must not show.
    """

    kind: str
    given: Given
    shown: Sequence[str]
    never: Sequence[str] = ()


def form(answer: Answer) -> str:
    """Return `table`, `list` or `quote`, or the outcome of an answer that is none of these."""
    if answer.computed is not None:
        return "table"
    if answer.listing is not None or answer.outcome == "list":
        return "list"
    return "quote" if answer.outcome in ("answer", "maybe") else answer.outcome


def is_sure(answer: Answer) -> bool:
    """Return whether an answer is told as one, or is a list; what only may answer is not sure."""
    return answer.outcome in ("answer", "list")


def is_right(answer: Answer, expected: Expected) -> bool:
    """Return whether an answer shows all that is expected.

    All sources of a list, a comparison and whatever has another form count, and of quotes the first one alone. Where a
    table is the best answer, a table says it in its own words, without its sources. A list is wrong where it shows what
    it must never show; of a comparison the list may show more.
    """
    shown = form(answer)
    if expected.kind == "comparison":
        return has_all(expected.shown, _text(answer))
    if shown == "list":
        text = _text(answer)
        return has_all(expected.shown, text) and not any(has(one, text) for one in expected.never)
    if shown == "table" and expected.given == "table":
        return has_all(expected.shown, answer.answer)
    return has_all(expected.shown, _text(answer, most=1 if shown == "quote" else None))


def has_all(expected: Sequence[str], text: str) -> bool:
    """Return whether a text has each of these numbers and words."""
    return all(has(one, text) for one in expected)


def has(expected: str, text: str) -> bool:
    """Return whether a text has a number, in any notation and with either sign, or else these words one after another.

    Case, punctuation and the ends of lines do not count. A number is expected with a decimal point, and without marks
    of thousands.
    """
    if _NUMBER.fullmatch(expected) and round(float(expected.lstrip("-")), 2) in numbers(text):
        return True
    return f" {_words(expected)} " in f" {_words(text)} "


def numbers(text: str) -> set[float]:
    """Return what the numbers of a text may be, to two decimals, without their signs.

    Spaces and apostrophes between digits are marks of thousands. Each point and comma is read both ways, as a mark of
    thousands and as that of decimals: `1.234` may be 1234 and 1.23.
    """
    found: set[float] = set()
    for match in _DIGITS.findall(text):
        digits = _MARKS.sub("", match).strip(".,")
        for one in (digits, digits.replace(",", ""), digits.replace(".", "").replace(",", ".")):
            try:
                found.add(round(float(one), 2))
            except ValueError:  # as `1.234.567`, which has one reading alone
                continue
    return found


def _words(text: str) -> str:
    joined = _HYPHENATION.sub("", unicodedata.normalize("NFKC", text))
    return re.sub(r"[^\w]+", " ", joined.casefold()).strip()


def _text(answer: Answer, most: int | None = None) -> str:
    """Return an answer and the quotes of its first `most` sources, or of all."""
    return "\n".join([answer.answer, *(source.quote for source in answer.sources[:most])])
