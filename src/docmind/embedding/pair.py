"""MiniLM and multilingual-e5-small as one text model: a vector of both, whose cosine is a mean of their cosines.

Each finds pages that the other misses: MiniLM reads English paraphrases better, E5 a hundred languages. A vector of the
pair is the two unit vectors, each times the square root of its weight, in one row of 768 numbers. It has length 1, and
the product of two of them is the weighted mean of both cosines: the index, its files and the answers need no second
list. E5's cosines are already on the scale of MiniLM's (see `e5`). Token vectors are MiniLM's. See ADR 0049.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from docmind.embedding.base import MultilingualEmbedder, QueryTokens, TokenEmbedder

SECOND = 0.8  # weight of the second model, against 0.2 of the first: from 0.65 to 1 little changes


class Pair:
    """Two text models as one. The first one's token vectors and word pieces are those of the pair. Thread-safe."""

    is_multilingual = True

    def __init__(self, first: TokenEmbedder, second: MultilingualEmbedder) -> None:
        self._first, self._second = first, second

    @property
    def name(self) -> str:
        return f"{self._first.name} + {self._second.name}"

    @property
    def dim(self) -> int:
        return self._first.dim + self._second.dim

    @property
    def fingerprint(self) -> str:
        return f"pair{SECOND:g}:{self._first.fingerprint}+{self._second.fingerprint}"

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """Return `(n, 768)` float32, each row of length 1. Each model truncates texts as it does alone."""
        return _joined(self._first.embed_documents(texts), self._second.embed_documents(texts))

    def embed_query(self, text: str) -> np.ndarray:
        """Return `(768,)` float32 of length 1."""
        return _joined(self._first.embed_query(text), self._second.embed_query(text))

    def pieces(self, text: str) -> np.ndarray:
        """Return the spans `(n, 2)` int64 of the first model's word pieces, not truncated."""
        return self._first.pieces(text)

    def warm(self) -> None:
        """Load both models."""
        self._first.warm()
        self._second.warm()

    @property
    def token_fingerprint(self) -> str:
        """That of the first model, with the pair's: token vectors are stored beside the vectors of the pair."""
        return f"{self.fingerprint}:{self._first.token_fingerprint}"

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the vectors of `embed_documents`, and per text the token vectors of the first model."""
        vectors, tokens = self._first.embed_with_tokens(texts)
        return _joined(vectors, self._second.embed_documents(texts)), tokens

    def embed_query_with_tokens(self, text: str) -> tuple[np.ndarray, QueryTokens]:
        """Return the vector of `embed_query`, and the question's token vectors of the first model."""
        vector, tokens = self._first.embed_query_with_tokens(text)
        return _joined(vector, self._second.embed_query(text)), tokens

    def token_spans(self, text: str) -> np.ndarray:
        """Return the offsets `(tokens, 2)` int64 of the tokens that have a vector."""
        return self._first.token_spans(text)


def _joined(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    joined = np.concatenate([first * np.sqrt(1 - SECOND), second * np.sqrt(SECOND)], axis=-1)
    return joined.astype(np.float32)
