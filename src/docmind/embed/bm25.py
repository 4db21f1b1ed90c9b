"""BM25 as sparse vectors: the document's side holds saturated term weights, the engine adds the IDF.

Terms are stemmed by the language of their text and hashed to 32 bits; Robertson & Zaragoza 2009 for the weights.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import numpy as np

K1, B, AVERAGE_LENGTH = 1.5, 0.75, 120.0
_TERM = re.compile(r"\w+(?:[.,]\d+)*")
_STEMMERS = {"en": "english", "pt": "portuguese", "es": "spanish", "fr": "french", "de": "german", "it": "italian"}


class Terms(NamedTuple):
    """A sparse vector before blinding: `indices` (n,) uint32, each once; `values` (n,) float32."""

    indices: np.ndarray
    values: np.ndarray


class Bm25:
    """Text to sparse vectors. Safe from any thread."""

    def document(self, text: str, language: str) -> Terms:
        """Term weights `tf (k1 + 1) / (tf + k1 (1 - b + b length / average))`."""
        counts = Counter(self.terms(text, language))
        length = sum(counts.values())
        floor = K1 * (1 - B + B * length / AVERAGE_LENGTH)
        weights = {_hash(term): tf * (K1 + 1) / (tf + floor) for term, tf in counts.items()}
        return _sparse(weights)

    def query(self, text: str, languages: tuple[str, ...]) -> Terms:
        """Every term once, under the stemmer of each language."""
        weights: dict[int, float] = {}
        for language in languages or ("",):
            for term in self.terms(text, language):
                weights[_hash(term)] = 1.0
        return _sparse(weights)

    def terms(self, text: str, language: str) -> list[str]:
        words = [word.lower() for word in _TERM.findall(text)]
        name = _STEMMERS.get(language)
        return _stemmer(name).stemWords(words) if name else words


def _sparse(weights: dict[int, float]) -> Terms:
    indices = np.fromiter(weights, np.uint32, len(weights))
    values = np.fromiter(weights.values(), np.float32, len(weights))
    return Terms(indices, values)


def _hash(term: str) -> int:
    return zlib.crc32(term.encode())


@cache
def _stemmer(name: str) -> Any:
    import Stemmer

    return Stemmer.Stemmer(name)
