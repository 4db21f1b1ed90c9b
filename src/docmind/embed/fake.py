"""A text model without weights: deterministic, instant, and good enough to find words again. For tests and demos."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from docmind.embed.contract import QueryTokens

TOKEN_DIM = 32
_WORD = re.compile(r"\w+")


class FakeEmbedder:
    """Each word is a fixed random direction; a text is the sum of its words. Equal words, equal directions."""

    name = "fake"

    def __init__(self, dim: int = 384) -> None:
        self._dim = dim

    @property
    def dim(self) -> int:
        return self._dim

    @property
    def fingerprint(self) -> str:
        return f"fake:{self._dim}"

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """`(n, dim)` float32, each row of length 1."""
        return np.stack([self.embed_query(text) for text in texts]) if texts else np.zeros((0, self._dim), np.float32)

    def embed_query(self, text: str) -> np.ndarray:
        """`(dim,)` float32 of length 1."""
        total = np.full(self._dim, 1e-3, np.float32)
        for word in _WORD.findall(text.lower()):
            total += _direction(word, self._dim)
        return total / np.linalg.norm(total)

    @property
    def token_fingerprint(self) -> str:
        return f"{self.fingerprint}:words"

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        """`(n, dim)` float32, and of each text its words' directions `(words, 32)` int8, unit length times 127."""
        return self.embed_documents(texts), [self._tokens(text) for text in texts]

    def embed_query_with_tokens(self, text: str) -> tuple[np.ndarray, QueryTokens]:
        """`(dim,)` float32, and the question's words, each of weight 1."""
        tokens = self._tokens(text)
        return self.embed_query(text), QueryTokens(tokens, np.ones(len(tokens), np.float32))

    def token_spans(self, text: str) -> np.ndarray:
        """`(words, 2)` int64 character offsets."""
        return self.pieces(text)

    def _tokens(self, text: str) -> np.ndarray:
        found = [_direction(word, TOKEN_DIM) for word in _WORD.findall(text.lower())]
        rows = np.array(found, np.float32).reshape(-1, TOKEN_DIM)
        return np.rint(rows / np.linalg.norm(rows, axis=1, keepdims=True) * 127).astype(np.int8)

    def pieces(self, text: str) -> np.ndarray:
        """`(n, 2)` int64 character offsets: here, the words."""
        return np.array([match.span() for match in _WORD.finditer(text)], np.int64).reshape(-1, 2)

    def warm(self) -> None:
        """Nothing to load."""


def _direction(word: str, dim: int) -> np.ndarray:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(dim).astype(np.float32)
