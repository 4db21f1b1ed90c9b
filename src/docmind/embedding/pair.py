"""MiniLM and multilingual-e5-small as one text model: a vector of both, whose cosine is a mean of their cosines.

Each finds pages that the other misses: MiniLM reads English paraphrases better, E5 a hundred languages. A vector of the
pair is the two unit vectors, each times a weight, in one row of 768 numbers of length 1: the index, its files and the
answers need no second list. E5's cosines are already on the scale of MiniLM's (see `e5`). Token vectors are E5's.

A passage has the weights 1/2 and sqrt(3)/2. A question in English has them the other way round, so its product with a
passage is sqrt(3)/2 times the mean of both cosines; one in another language has 0 and 1, and the product is sqrt(3)/2
times E5's cosine: MiniLM does not know that language, and both products have one scale. See ADR 0049 and 0058.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from docmind.embedding.base import QueryTokens, TextEmbedder, TokenEmbedder
from docmind.embedding.bm25 import reads_as_english

SHORT, LONG = 0.5, sqrt(3) / 2  # weights of both models in a passage; reversed in an English question


class Pair:
    """Two text models as one: word pieces are the first one's, token vectors the second one's. Thread-safe."""

    is_multilingual = True
    is_measured = True

    def __init__(self, first: TextEmbedder, second: TokenEmbedder) -> None:
        self._first, self._second = first, second

    @property
    def name(self) -> str:
        return f"{self._first.name} + {self._second.name}"

    @property
    def dim(self) -> int:
        return self._first.dim + self._second.dim

    @property
    def fingerprint(self) -> str:
        return f"pair{SHORT:g}:{self._first.fingerprint}+{self._second.fingerprint}"

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """Return `(n, 768)` float32, each row of length 1. Each model truncates texts as it does alone."""
        return _joined(self._first.embed_documents(texts), self._second.embed_documents(texts), SHORT, LONG)

    def embed_query(self, text: str) -> np.ndarray:
        """Return `(768,)` float32 of length 1. The first model is not asked about a question that is not English."""
        return self._asked(text, self._second.embed_query(text))

    def pieces(self, text: str) -> np.ndarray:
        """Return the spans `(n, 2)` int64 of the first model's word pieces, not truncated."""
        return self._first.pieces(text)

    def warm(self) -> None:
        """Load both models."""
        self._first.warm()
        self._second.warm()

    def of_many_languages(self, vectors: np.ndarray) -> np.ndarray:
        """Return the second model's part of vectors `(n, dim)`."""
        return vectors[..., self._first.dim :]

    @property
    def token_fingerprint(self) -> str:
        """That of the second model, with the pair's: token vectors are stored beside the vectors of the pair."""
        return f"{self.fingerprint}:{self._second.token_fingerprint}"

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the vectors of `embed_documents`, and per text the token vectors of the second model."""
        vectors, tokens = self._second.embed_with_tokens(texts)
        return _joined(self._first.embed_documents(texts), vectors, SHORT, LONG), tokens

    def embed_query_with_tokens(self, text: str) -> tuple[np.ndarray, QueryTokens]:
        """Return the vector of `embed_query`, and the question's token vectors of the second model."""
        vector, tokens = self._second.embed_query_with_tokens(text)
        return self._asked(text, vector), tokens

    def token_spans(self, text: str) -> np.ndarray:
        """Return the offsets `(tokens, 2)` int64 of the tokens that have a vector."""
        return self._second.token_spans(text)

    def _asked(self, text: str, second: np.ndarray) -> np.ndarray:
        """Return the vector of a question from that of the second model, `(dim,)`."""
        if reads_as_english(text):
            return _joined(self._first.embed_query(text), second, LONG, SHORT)
        return _joined(np.zeros(self._first.dim, np.float32), second, 0.0, 1.0)


def _joined(first: np.ndarray, second: np.ndarray, of_first: float, of_second: float) -> np.ndarray:
    joined = np.concatenate([first * of_first, second * of_second], axis=-1)
    return joined.astype(np.float32)
