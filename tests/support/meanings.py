"""A text model for tests of meanings: words of one row of a list are alike, all others are not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ALIKE = (
    ("swam", "swimming", "bathers"), ("food", "groceries"), ("atoms", "nuclear energy"), ("manages", "operator"),
    ("girls", "f"),
)  # fmt: skip
SIZE = 64


class Toy:
    """Vectors `(n, 64)`: a text is the sum of what its words are alike to; other words have their own directions."""

    name, dim, fingerprint = "toy", SIZE, "toy"
    is_measured = is_multilingual = True

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([self.embed_query(text) for text in texts], np.float32)

    def embed_query(self, text: str) -> np.ndarray:
        made = np.zeros(SIZE, np.float32)
        folded = text.lower()
        for at, words in enumerate(ALIKE):
            made[at] += any(word in folded.split() or word == folded for word in words)
        for word in folded.split():
            if not any(word in words or any(word in one.split() for one in words) for words in ALIKE):
                made[len(ALIKE) + sum(map(ord, word)) % (SIZE - len(ALIKE))] += 1.0
        return made / max(float(np.linalg.norm(made)), 1e-6)

    def pieces(self, text: str) -> np.ndarray:
        raise NotImplementedError

    def warm(self) -> None:
        """There is nothing to load."""
