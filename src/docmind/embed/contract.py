"""What every text model offers: the same verb, the same shape, and its facts before its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

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


class QueryTokens(NamedTuple):
    """A question for late interaction: `vectors` (n, token dim) int8, unit length times 127; `weights` (n,) float32.

    Weights are multiples of 1/16, so that sums of weighted products are exact in any order.
    """

    vectors: np.ndarray
    weights: np.ndarray


@runtime_checkable
class TokenEmbedder(TextEmbedder, Protocol):
    """A text model that also gives a small vector per token, for late interaction.

    Which tokens have one is the model's choice: punctuation has none.
    """

    @property
    def token_fingerprint(self) -> str:
        """What must be equal for two token vectors to be comparable; known without reading weights."""
        ...

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        """What `embed_documents` gives, and of each text `(tokens, token dim)` int8, unit length times 127."""
        ...

    def embed_query_with_tokens(self, text: str) -> tuple[np.ndarray, QueryTokens]:
        """What `embed_query` gives, and the question's token vectors with their weights."""
        ...

    def token_spans(self, text: str) -> np.ndarray:
        """Where the tokens that have a vector stand in `text`: `(tokens, 2)` int64 character offsets, in order."""
        ...


def token_embedder(embedder: TextEmbedder, rerank: str) -> TokenEmbedder | None:
    """The model as one that gives token vectors, where the setting `rerank` wants them and the model has them."""
    return embedder if rerank == "late" and isinstance(embedder, TokenEmbedder) else None
