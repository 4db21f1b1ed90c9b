"""Vectors of short texts, by which words of a question are compared with headers and cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from docmind.embedding.base import TextEmbedder, is_measured, is_multilingual, of_many_languages
from docmind.embedding.vector_cache import VectorCache

VECTORS = 12_000  # of short texts that are kept in memory, 1.5 KB each


class Meanings:
    """Vectors of short texts by the multilingual text model, the latest kept in memory. Thread-safe.

    They are there where the model is one whose cosines were measured: what they weigh was fitted to them.
    """

    def __init__(self, embedder: TextEmbedder) -> None:
        self._embedder = embedder
        self._kept = VectorCache(VECTORS, "meanings")
        self._drops = 0

    @property
    def are_there(self) -> bool:
        return is_measured(self._embedder) and is_multilingual(self._embedder)

    def of(self, texts: Sequence[str]) -> np.ndarray:
        """Return unit vectors `(n, d)`, float32. Raises what the model raises."""
        if not texts:
            return np.zeros((0, 1), np.float32)
        drops = self._drops
        found = self._kept.rows(self._embedder.fingerprint, texts, self._made)
        if drops != self._drops:  # a document was erased meanwhile, of which a text may be
            self._kept.drop()
        return found

    def drop(self) -> None:
        """Drop what is kept, because a document is erased."""
        self._drops += 1
        self._kept.drop()

    def _made(self, texts: Sequence[str]) -> np.ndarray:
        vectors = self._embedder.embed_documents(texts)
        many = of_many_languages(self._embedder, vectors)
        assert many is not None  # else they are not there
        return many
