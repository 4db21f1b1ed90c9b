"""What a measure of accounting is made of, in English, Portuguese and Spanish.

A question asks for the gross margin or for capital expenditure, and the page that answers has neither word: it has the
lines of a statement, "cost of sales" or "purchases of property, plant and equipment". `measures.toml` names those
lines, so that they are searched as well. See ADR 0050.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

_TABLE = Path(__file__).with_name("measures.toml")


class Lines(NamedTuple):
    """Lines of statements as words to search for, in each language."""

    en: str
    pt: str
    es: str


class _Measure(NamedTuple):
    named: re.Pattern[str]
    lines: Lines


def lines_of(question: str) -> Lines | None:
    """Return the lines of all measures that a question names; None where it names none."""
    found = [measure.lines for measure in _measures() if measure.named.search(question)]
    return Lines(*(" ".join(lines) for lines in zip(*found, strict=True))) if found else None


@cache
def _measures() -> tuple[_Measure, ...]:
    table = tomllib.loads(_TABLE.read_text("utf-8"))["measure"]
    return tuple(
        _Measure(
            re.compile(rf"\b(?:{'|'.join(row['named'])})\b", re.IGNORECASE),
            Lines(*(" ".join(row[language]) for language in Lines._fields)),
        )
        for row in table
    )
