"""What every text model offers: the same verb, the same shape, and its facts before its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np


class TextEmbedder(Protocol):
    """A model that turns text into unit vectors. Safe from any thread.

    `dim` and `fingerprint` are known without reading weights; vectors of different fingerprints never mix.
    """

    @property
    def name(self) -> str: ...

    @property
    def dim(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """`(n, dim)` float32, each row of length 1."""
        ...

    def embed_query(self, text: str) -> np.ndarray:
        """`(dim,)` float32 of length 1."""
        ...

    def pieces(self, text: str) -> np.ndarray:
        """Where the model's word pieces stand in `text`: `(n, 2)` int64 character offsets, in order, not cut short."""
        ...

    def warm(self) -> None:
        """Load what the first call would load."""
        ...
