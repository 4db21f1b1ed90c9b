"""Slips of the finger in a question, mended by the words of the pages that were found for it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rapidfuzz.distance import OSA

from docmind.answers.kinds import is_function_word
from docmind.embedding import TextEmbedder, fold, prefix, words

FEWEST, LONG = 4, 8  # letters of a word that is mended, and of one that may have two slips
SHORT = 5  # letters; in a shorter word one may be missing, added or swapped: a wrong one makes another word
MENDED = 4  # words of a question that are mended at most

_TOKEN = re.compile(r"[^\W\d_]+")


def spelled(question: str, pages: Iterable[str], embedder: TextEmbedder) -> str:
    """Return the question with mistyped words replaced by words of the pages.

    `pages` are those in the question's language. A word is taken for mistyped where no page has it or its first
    letters, it is no name, and the text model does not know it as one word. It is replaced by the most frequent word
    that begins alike and differs by one slip: a letter wrong, missing, added or swapped with the next; by two from
    `LONG` letters.
    """
    tokens = [match for match in _TOKEN.finditer(question) if len(match.group()) >= FEWEST]
    tokens = [match for match in tokens if match.group().islower() or not match.start()]
    if not tokens:
        return question
    counts: dict[str, int] = {}
    for page in pages:
        for match in _TOKEN.finditer(page):
            counts[match.group()] = counts.get(match.group(), 0) + 1
    held = {fold(word.lower()): word for word in sorted(counts, key=counts.__getitem__)}
    starts = {prefix(word) for word in held}
    mended = 0
    for match in reversed(tokens):
        word = fold(match.group().lower())
        start = prefix(word)
        if (
            not words(word)
            or is_function_word(word)
            or word in held
            or (start is not None and start in starts and _is_form(word, held))
        ):
            continue
        near = _nearest(word, held, counts)
        if near and mended < MENDED and len(embedder.pieces(word)) > 1:
            question = question[: match.start()] + near + question[match.end() :]
            mended += 1
    return question


def _is_form(word: str, held: Iterable[str]) -> bool:
    """Return whether a page has a form of the word, with another ending."""
    start = prefix(word)
    return any(
        prefix(other) == start and (word.startswith(other[:-2]) or other.startswith(word[:-2])) for other in held
    )


def _nearest(word: str, held: dict[str, str], counts: dict[str, int]) -> str:
    """Return the word of the pages, as it stands there, that was probably meant; empty where there is none."""
    most = 2 if len(word) >= LONG else 1
    near = [
        (distance, -counts[written], written)
        for other, written in held.items()
        if other[0] == word[0] and abs(len(other) - len(word)) <= most and len(other) >= FEWEST
        and (len(word) >= SHORT or len(other) != len(word) or sorted(other) == sorted(word))
        and (distance := OSA.distance(word, other, score_cutoff=most)) <= most
    ]  # fmt: skip
    return min(near)[2] if near else ""
