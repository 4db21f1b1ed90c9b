"""BM25 as sparse vectors: page vectors carry the tf saturation, the engine multiplies by IDF.

Tokens do not depend on a language: each word counts once as it is and once by its first letters, which replaces
stemming, tolerates OCR errors at the end of words and matches cognates across languages
(proteção / protección / protection). Scripts without blanks between words are cut into pairs of characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from docmind.language import STOP_WORDS, fold, stop_words

K1, B = 1.2, 0.75
AVERAGE_WORDS = 300  # content words a page; fixed, so that a vector never depends on the corpus
PREFIX = 5  # letters
LABEL_WEIGHT = 1.0  # weight that a word of the document's label adds on each of its pages

_SHORT = 64  # longest word or term, in letters, that is cached between pages
_WORD = re.compile(r"\w+")
_RUN = re.compile(r"\d+|[^\W\d_]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")  # Thai, Lao, kana, Chinese characters

_ENGLISH = stop_words("en")
_FOREIGN = stop_words("pt", "es", "de", "fr", "it")


class Terms(NamedTuple):
    """A sparse vector before blinding: `indices` (n,) uint32, each once; `values` (n,) float32."""

    indices: np.ndarray
    values: np.ndarray


def words(text: str) -> list[str]:
    """Return lower-case folded words in reading order, without stop words.

    A word that mixes letters and digits is followed by its runs: `FY2022` -> fy2022, fy, 2022.
    """
    return [word for token in _tokens(text) for word in _words_of(token)]


def _tokens(text: str) -> list[str]:
    return _WORD.findall(fold(text.lower()))


def _words_of(token: str) -> tuple[str, ...]:
    """Return the words in one run of letters, digits and underscores. Short runs are cached, because words repeat."""
    return _short_words(token) if len(token) <= _SHORT else tuple(_split(token))


@lru_cache(maxsize=1 << 16)
def _short_words(token: str) -> tuple[str, ...]:
    return tuple(_split(token))


def _split(token: str) -> Iterator[str]:
    for part in token.split("_"):
        at = 0
        for unspaced in _UNSPACED.finditer(part):
            yield from _spaced(part[at : unspaced.start()])
            run = unspaced.group()
            yield from (run[start : start + 2] for start in range(max(1, len(run) - 1)))
            at = unspaced.end()
        yield from _spaced(part[at:])


def _spaced(part: str) -> Iterator[str]:
    """Yield a word of a script with blanks between words, and its runs where it mixes letters and digits."""
    if part and part not in STOP_WORDS:
        yield part
        runs = _RUN.findall(part)
        if len(runs) > 1:
            yield from (run for run in runs if len(run) > 1 and run not in STOP_WORDS)


def prefix(word: str) -> str | None:
    """Return the first letters of a long enough word; None for short ones and numbers."""
    return word[:PREFIX] if len(word) >= PREFIX and not word[0].isdigit() else None


def terms(tokens: Iterable[str]) -> list[str]:
    """Return the index terms of words: `w:` the word, `p:` its first letters."""
    found: list[str] = []
    for word in tokens:
        found.append("w:" + word)
        if start := prefix(word):
            found.append("p:" + start)
    return found


def term_id(term: str) -> int:
    """Return a stable 32-bit id of a term; at 10^5 terms about one in 10^5 shares its id with another."""
    return _short_id(term) if len(term) <= _SHORT else _hashed(term)


def _hashed(term: str) -> int:
    return int.from_bytes(blake2b(term.encode(), digest_size=4).digest(), "little")


_short_id = lru_cache(maxsize=1 << 16)(_hashed)


def page_terms(text: str, label: str) -> Terms:
    """Return the sparse vector of one page, without the IDF that the engine applies.

    BM25's saturation with fixed average length (Robertson & Zaragoza 2009, k1 and b as above); the words
    of the document's label are added on every page, so that each page also matches the name of its document.
    """
    counts: dict[str, int] = {}
    length = 0
    for token, times in Counter(_tokens(text)).items():
        found = _words_of(token)
        length += times * len(found)
        for term in terms(found):
            counts[term] = counts.get(term, 0) + times
    room = K1 * (1 - B + B * length / AVERAGE_WORDS)
    weights = {term: n * (K1 + 1) / (n + room) for term, n in counts.items()}
    for term in set(terms(words(label))):
        weights[term] = weights.get(term, 0.0) + LABEL_WEIGHT
    return _by_id(weights)


def query_terms(question: str, besides: str = "", weight: float = 1.0) -> Terms:
    """Return the sparse vector of a question: weight 1 for each distinct term.

    `besides` has further words to search for, with `weight` for each term that the question lacks.
    """
    return _by_id({**dict.fromkeys(terms(words(besides)), weight), **dict.fromkeys(terms(words(question)), 1.0)})


def reads_as_english(question: str) -> bool:
    """Return whether the function words are English; True where there are none. Decides how far MiniLM is trusted."""
    tokens = _WORD.findall(fold(question.lower()))
    foreign = sum(t in _FOREIGN and t not in _ENGLISH for t in tokens)
    return foreign <= sum(t in _ENGLISH and t not in _FOREIGN for t in tokens)


def _by_id(weights: dict[str, float]) -> Terms:
    merged: dict[int, float] = {}
    for term, weight in weights.items():
        key = term_id(term)
        merged[key] = merged.get(key, 0.0) + weight
    return Terms(np.fromiter(merged, np.uint32, len(merged)), np.fromiter(merged.values(), np.float32, len(merged)))
