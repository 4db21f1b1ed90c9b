"""The words of a question for a list, and how well what announces a list has one of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from docmind.answers.list_questions import table, word_list
from docmind.language import STOP_WORDS, fold, forget_words, is_form, lowered_alike

EXACT, FORM = 2.0, 1.5  # the scores of a word, and of another form of it
_STEM, _JOINED = 4, 6  # letters of a stem, and of a word that others are joined to, at least
_WORD = re.compile(r"[^\W_]+")


def words_of_list(text: str) -> list[str]:
    """Return the folded words of a question for a list, without function words."""
    found = _WORD.findall(lowered_alike(text))
    last = found[-1:] if len(found) > 1 and len(found[-1]) == 1 and found[-1].isalpha() else []  # `rated A`
    return last + [
        word
        for word in found[: len(found) - len(last)]
        if word not in word_list("items", "function") and word not in STOP_WORDS
    ]


def words_in(texts: Iterable[str]) -> list[str]:
    """Return the folded words of texts, in their order."""
    return [word for text in texts for word in _WORD.findall(fold(text.lower()))]


def met_in(word: str, held: Sequence[str]) -> float:
    """Return how well words have a word: `EXACT`, `FORM`, less for another word of its meaning or stem, 0 for none."""
    if word in held:
        return EXACT
    if any(is_form(word, one) for one in held):
        return FORM
    if any(word in group and not group.isdisjoint(held) for group in _same()):
        return 1.0
    if any(_is_derived(word, one) for one in held):
        return 0.8
    # German joins words: `Wanderung`, `Herbstwanderung`.
    return 0.6 if len(word) >= _JOINED and any(one.endswith(word) for one in held) else 0.0


def starts_of(words: Iterable[str]) -> frozenset[str]:
    """Return letters that every word begins with which `met_in` takes for one of some words."""
    known = [{word}.union(*(group for group in _same() if word in group)) for word in words]
    return frozenset(one[: _STEM - 1] for group in known for one in group)


@lru_cache(maxsize=1 << 14)
def _is_derived(one: str, other: str) -> bool:
    """Return whether two words have one stem, and endings that make one out of the other: `leads`, `leaders`."""
    shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    endings = word_list("", "derived") | {""}
    if shared == _STEM - 1:  # `owns`, `owner`
        return not {one[shared:], other[shared:]}.isdisjoint(("er", "ers")) and one[shared:] in endings
    return any(one[n:] in endings and other[n:] in endings for n in range(max(_STEM, shared - 2), shared + 1))


def drop_words() -> None:
    """Drop the words of pages that are kept because they were compared, because a document is erased."""
    forget_words()
    _is_derived.cache_clear()


@cache
def _same() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(group.split()) for group in table()["same"]["groups"])
