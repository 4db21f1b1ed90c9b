"""Names of months and weekdays, and which of them are other words too: `lexicon/calendar.toml`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from docmind.language.folding import fold
from docmind.language.forms import LANGUAGES
from docmind.language.lexicon import table

_TABLE = table("calendar")


def _written(key: str) -> dict[str, int]:
    """Return the words of a key in all languages, as they are written, with their numbers from 1."""
    rows = [(number, words) for language in LANGUAGES for number, words in enumerate(_TABLE[language][key], 1)]
    return {word: number for number, words in rows for word in words.split()}


def _folded(words: Mapping[str, int]) -> dict[str, int]:
    return {fold(word): number for word, number in words.items()}


def _other(key: str) -> frozenset[str]:
    return frozenset(map(fold, _TABLE["other"][key].split()))


_WRITTEN = {**_written("months"), **_written("short")}
MONTHS: Mapping[str, int] = _folded(_WRITTEN)
"""Names and abbreviations of months in lower case without accents, with the number of the month."""
SHORT_MONTHS = frozenset(_folded(_written("short"))) | _other("months")
"""Those that are a month only beside a number or a word for a time: abbreviations, and names such as `may`."""
CAPITAL_MONTHS = _other("capitals")
"""Names that are other words of prose, such as `march`, or names of people, such as `Abril`."""
MONTHS_IN_PROSE: Mapping[str, int] = {word: number for word, number in MONTHS.items() if word not in _other("short")}
"""`MONTHS` without abbreviations that are ordinary words, such as `out`."""
WEEKDAYS: Mapping[str, int] = _folded(_written("weekdays"))
"""Names of weekdays in lower case without accents, from Monday, 1; `segunda` too."""
ORDINAL_WEEKDAYS = _other("weekdays")
"""Portuguese names of weekdays that are ordinals too."""


def month_of(name: str) -> int:
    """Return the number of a month by a name that `WRITTEN_MONTHS` matches, in any case.

    Where case is ignored, `i` matches the dotless `ı` too, which no folding makes an `i`.
    """
    return MONTHS[fold(name.lower()).replace("ı", "i")]


def month_names(language: str) -> tuple[str, ...]:
    """Return the names of months in a language as they are written in lower case, without abbreviations."""
    return tuple(" ".join(_TABLE[language]["months"]).split())


def weekday_names(language: str) -> tuple[str, ...]:
    """Return the names of weekdays in a language as they are written in lower case, their plurals too."""
    return tuple(" ".join(_TABLE[language]["weekdays"]).split())


def pattern_of(words: Iterable[str]) -> str:
    """Return a regular expression for any of these words, the longest first."""
    return "|".join(sorted(words, key=len, reverse=True))


WRITTEN_MONTHS = pattern_of({*_WRITTEN, *MONTHS})
"""A regular expression for any name or abbreviation of a month in lower case, with its accents or without them."""
