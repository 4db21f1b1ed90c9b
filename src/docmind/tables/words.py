"""Words of a question, of a cell and of a name: folded, and their forms."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from docmind.embedding import PREFIX
from docmind.language import MONTHS, SHORT_MONTHS, STOP_WORDS, folded_word
from docmind.tables.role_words import RELATED
from docmind.tables.word_forms import is_derived, is_irregular, stem
from docmind.tables.wordlists import (
    FUNCTION_WORDS,
    LIGHT,
    RELATIVE,
    UNITS,
)

PHRASE = 6  # words of a value in a question
WORDS = 40  # of a question
_COMPOUND = re.compile(
    r"([^\W\d_]{4,})(kosten|verbrauch|preise?|beträge?)|(zweit|dritt|viert)([^\W\d_]{4,}(?:ste|sten|ster|stes))",
    re.IGNORECASE,
)
_OF_VALUE = re.compile(r"([^\W\d_]{4,})(?:werte?|gehalte?)", re.IGNORECASE)  # `Nitratwert` is the nitrate
_WORD = re.compile(r"\d{4}-\d{2}(?:-\d{2})?|\d{1,2}:\d{2}|\d(?:[\d.,'’]*\d)?|[^\W_\d][^\W_]*|[%€$£]")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a question: folded, and as typed."""

    text: str
    raw: str
    root: str


def words_of(text: str) -> list[Word]:
    """Return the words of a question or a cell."""
    found = []
    for raw in _WORD.findall(text)[: 4 * WORDS]:
        for part in _parts(raw):
            folded = folded_word(part)
            found.append(Word(folded, part, root(folded)))
    return found


def _parts(raw: str) -> tuple[str, ...]:
    """Return a German compound of a word for a quantity, or of a place, as its words.

    That it is a value says nothing.
    """
    if match := _OF_VALUE.fullmatch(raw):
        return (match[1],)
    match = _COMPOUND.fullmatch(raw)
    return (match[1] or match[3], match[2] or match[4]) if match else (raw,)


@lru_cache(maxsize=1 << 14)
def root(word: str) -> str:
    """Return a word without the ending of a plural; a number without marks between its digits."""
    if word[:1].isdigit():
        return number_root(word)
    if word in MONTHS and word not in SHORT_MONTHS:
        return f"month {MONTHS[word]}"
    one = _singular(word)
    if len(one) > 5 and one.endswith(("ada", "ida")):
        one = one[:-1] + "o"  # participles: `pagada` is `pagado`
    elif len(one) > 4 and one.endswith("ee"):
        one = one[:-1]  # `payée` is `payé`
    return UNITS.get(one, one)


def _singular(word: str) -> str:
    if len(word) <= 3:
        return word
    for end, instead in (("ies", "y"), ("oes", "ao"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x")):
        if word.endswith(end) and len(word) > len(end) + 1:
            return word[: -len(end)] + instead
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def number_root(word: str) -> str:
    """Return a number without groups of thousands; its decimals follow a point."""
    match = re.fullmatch(r"(\d{1,3}(?:[.,'’]\d{3})+)(?:[.,](\d{1,2}))?|(\d+)(?:[.,](\d+))?", word)
    if match is None:
        return word
    whole = re.sub(r"\D", "", match[1] or match[3])
    part = (match[2] or match[4] or "").rstrip("0")
    return f"{whole}.{part}" if part else whole


def same(one: str, other: str) -> bool:
    """Return whether two folded words are forms of one: alike without endings, or by their first letters."""
    if root(one) == root(other):
        return True
    if one[:1].isdigit() or other[:1].isdigit():
        return False
    forms, others = _forms(one), _forms(other)
    if forms & others or is_irregular(one, other):
        return True
    return (
        len(one) >= PREFIX
        and len(other) >= PREFIX
        and one[:PREFIX] == other[:PREFIX]
        and abs(len(one) - len(other)) < 4
    )


def is_form(one: str, other: str) -> bool:
    """Return whether two folded words are one without their endings; not by their beginnings alone."""
    return root(one) == root(other) or bool(_forms(one) & _forms(other)) or is_irregular(one, other)


def is_made_of(one: str, other: str) -> bool:
    """Return whether two folded words are forms of one, or made of one verb: `inspected` and `inspection`."""
    if one.endswith("ing") and other == stem(one):
        return False  # `training` is no `train`
    return is_form(one, other) or is_derived(one, other)


def drop_words() -> None:
    """Drop the words of tables that are kept because they were compared, because a document is erased."""
    root.cache_clear()
    _forms.cache_clear()
    stem.cache_clear()


def akin(one: str, other: str) -> bool:
    """Return whether two folded words are forms of one, or have one meaning in a question and a header."""
    return same(one, other) or any(one in related and other in related for related in RELATED)


@lru_cache(maxsize=1 << 14)
def _forms(word: str) -> frozenset[str]:
    cut = {word}
    for end in ("s", "es", "n", "en", "e", "ed", "d", "ing", "er", "al", "als", "ung"):
        if word.endswith(end) and len(word) - len(end) >= 3:
            cut.add(word[: -len(end)])
    if word.startswith("ge") and len(word) >= 7 and word.endswith(("t", "en")):
        cut.add(word[2:-1].removesuffix("e"))  # a German participle: `geprüft` by a `Prüfer`
    return frozenset(cut)


def longest(phrases: Mapping[tuple[str, ...], object], texts: Sequence[str], at: int) -> tuple[str, ...]:
    """Return the longest phrase that begins at a word; empty where none does."""
    for size in range(4, 0, -1):
        key = tuple(texts[at : at + size])
        if len(key) == size and key in phrases:
            return key
    return ()


def is_function(text: str) -> bool:
    return text in STOP_WORDS or text in FUNCTION_WORDS


def is_light(text: str) -> bool:
    return text in LIGHT or is_function(text)


def is_name(word: Word, at: int) -> bool:
    return len(word.raw) > 1 and (word.raw.isupper() or (at > 0 and word.raw[0].isupper()))


def is_hard(words: Sequence[Word], at: int) -> bool:
    """Return whether a word that nothing accounts for is a number or a name: there is no answer without it."""
    is_letter = len(words[at].text) == 1
    return is_letter or words[at].text[0].isdigit() or is_name(words[at], at) or words[at].text in RELATIVE
