"""A text model without weights: deterministic, instant, and good enough to find words again. For tests and demos."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

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
            seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
            total += np.random.default_rng(seed).standard_normal(self._dim).astype(np.float32)
        return total / np.linalg.norm(total)

    def pieces(self, text: str) -> np.ndarray:
        """`(n, 2)` int64 character offsets: here, the words."""
        return np.array([match.span() for match in _WORD.finditer(text)], np.int64).reshape(-1, 2)

    def warm(self) -> None:
        """Nothing to load."""
