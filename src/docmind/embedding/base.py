"""Protocols of text and visual models: `name`, `dim` and `fingerprint` are known before weights are read.

An image model gives one vector per page (SigLIP), a late interaction model one per patch (the ColPali family).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np


class PagePatches(NamedTuple):
    """A page's token vectors: `vectors` `(tokens, dim)` float32, each of length 1, over a `rows` x `cols` grid.

    `patches` `(tokens,)` int32 is the cell that a token covers, `row * cols + col`; -1 where it is a word of the
    model's own prompt, or covers the page as a whole. Each cell has exactly one token.
    """

    vectors: np.ndarray
    rows: int
    cols: int
    patches: np.ndarray


class QueryPatches(NamedTuple):
    """A question for late interaction: `vectors` `(n, dim)` float32, each of length 1, and the text of each one.

    `tokens` are for display; empty where a vector stands for no part of the question's words.
    """

    vectors: np.ndarray
    tokens: tuple[str, ...]


class VisualModel(Protocol):
    """The interface common to both kinds. Thread-safe; `dim` and `fingerprint` are known without reading weights.

    Every call may raise `VisualModelError` (files missing or broken, a crash, no memory, too slow), `ConfigError` (it
    cannot run as the settings demand) and `ExtraMissingError`; the next call tries again.
    """

    @property
    def name(self) -> str: ...

    @property
    def dim(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """The identity that must be equal for two vectors to be comparable."""
        ...

    @property
    def device(self) -> str:
        """The device it runs on: `cpu`, `cuda` or `mps`; empty before it was first loaded."""
        ...

    @property
    def precision(self) -> str:
        """`float32` or `bfloat16`; empty before it was first loaded."""
        ...

    def warm(self) -> None:
        """Load what the first call would load."""
        ...

    def close(self) -> None:
        """Release memory and processes; a running call is cancelled."""
        ...


class PassageReader(Protocol):
    """A model that reads a question and a passage together. Thread-safe."""

    @property
    def fingerprint(self) -> str:
        """The identity that must be equal for two scores to be comparable. Raises `DamagedError`."""
        ...

    def scores(self, question: str, passages: Sequence[str]) -> np.ndarray:
        """Return `(n,)` float32: how well each passage answers, as a logit.

        Raises `DamagedError`, `ConfigError`, `DiskFullError`.
        """
        ...

    def warm(self) -> None:
        """Load what the first call would load."""
        ...


class PassageReaders(NamedTuple):
    """The passage readers that are there, by the language of the questions that they read."""

    english: PassageReader | None = None
    others: PassageReader | None = None


class ImageModel(VisualModel, Protocol):
    """A model that embeds pictures and texts in one space, where the cosine is the similarity."""

    def embed_images(self, images: Sequence[bytes]) -> np.ndarray:
        """Return `(n, dim)` float32, each row of length 1, of encoded pictures (WebP, PNG, JPEG)."""
        ...

    def embed_text(self, text: str) -> np.ndarray:
        """Return `(dim,)` float32 of length 1."""
        ...


class LateModel(VisualModel, Protocol):
    """A model with a vector per patch and per query token; the score sums each token's best patch (MaxSim)."""

    def embed_images(self, images: Sequence[bytes]) -> list[PagePatches]:
        """Return the patches of encoded pictures (WebP, PNG, JPEG)."""
        ...

    def embed_query(self, text: str) -> QueryPatches: ...


class TextEmbedder(Protocol):
    """A model that turns text into unit vectors. Thread-safe.

    `dim` and `fingerprint` are known without reading weights; vectors of different fingerprints are never mixed.
    """

    @property
    def name(self) -> str: ...

    @property
    def dim(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """Return `(n, dim)` float32, each row of length 1."""
        ...

    def embed_query(self, text: str) -> np.ndarray:
        """Return `(dim,)` float32 of length 1."""
        ...

    def pieces(self, text: str) -> np.ndarray:
        """Return the character spans of the word pieces of `text`: `(n, 2)` int64, in order, not truncated."""
        ...

    def warm(self) -> None:
        """Load what the first call would load."""
        ...


@runtime_checkable
class MultilingualEmbedder(TextEmbedder, Protocol):
    """A text model that says whether it was trained on many languages; one that says nothing was trained on English."""

    @property
    def is_multilingual(self) -> bool: ...


def is_multilingual(embedder: TextEmbedder) -> bool:
    """Return whether the model was trained on many languages. Decides how far its cosines are trusted."""
    return isinstance(embedder, MultilingualEmbedder) and embedder.is_multilingual


@runtime_checkable
class MeasuredEmbedder(TextEmbedder, Protocol):
    """A text model of which it is known how near a passage that answers is to its question."""

    @property
    def is_measured(self) -> bool: ...


def is_measured(embedder: TextEmbedder) -> bool:
    """Return whether the certainty of answers was fitted on the model's cosines; those of others have other scales."""
    return isinstance(embedder, MeasuredEmbedder) and embedder.is_measured


@runtime_checkable
class JoinedEmbedder(MultilingualEmbedder, Protocol):
    """A text model of which a part of each vector is that of a model of many languages."""

    def of_many_languages(self, vectors: np.ndarray) -> np.ndarray:
        """Return that part of vectors `(n, dim)`."""
        ...


def of_many_languages(embedder: TextEmbedder, vectors: np.ndarray) -> np.ndarray | None:
    """Return unit vectors of the multilingual model alone; None where no model in use knows many languages."""
    if not is_multilingual(embedder):
        return None
    part = embedder.of_many_languages(vectors) if isinstance(embedder, JoinedEmbedder) else vectors
    return part / np.maximum(np.linalg.norm(part, axis=-1, keepdims=True), 1e-9)


@runtime_checkable
class LimitedEmbedder(TextEmbedder, Protocol):
    """A text model that says how many tokens of a text it takes at once; one that says nothing takes 256 or more."""

    @property
    def max_tokens(self) -> int: ...


@runtime_checkable
class ClosableEmbedder(TextEmbedder, Protocol):
    """A text model that holds a process or connections until it is closed. Closing is idempotent."""

    def close(self) -> None: ...


def close_text_model(embedder: TextEmbedder) -> None:
    """Release what the model holds. Does nothing for a model that lives in this process."""
    if isinstance(embedder, ClosableEmbedder):
        embedder.close()


class QueryTokens(NamedTuple):
    """A question for late interaction: `vectors` (n, token dim) int8, unit length times 127; `weights` (n,) float32.

    Weights are multiples of 1/16, so that sums of weighted products are exact in any order.
    """

    vectors: np.ndarray
    weights: np.ndarray


@runtime_checkable
class TokenEmbedder(TextEmbedder, Protocol):
    """A text model that also gives a small vector per token, for late interaction.

    The model chooses which tokens have a vector; punctuation has none.
    """

    @property
    def token_fingerprint(self) -> str:
        """The identity that must be equal for two token vectors to be comparable; known without reading weights."""
        ...

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the vectors of `embed_documents`, and per text `(tokens, token dim)` int8, unit length times 127."""
        ...

    def embed_query_with_tokens(self, text: str) -> tuple[np.ndarray, QueryTokens]:
        """Return the vector of `embed_query`, and the question's token vectors with their weights."""
        ...

    def token_spans(self, text: str) -> np.ndarray:
        """Return the character offsets of the tokens that have a vector in `text`: `(tokens, 2)` int64, in order."""
        ...


def token_embedder(embedder: TextEmbedder, rerank: str) -> TokenEmbedder | None:
    """Return the model as a `TokenEmbedder` if the setting `rerank` is "late" and the model supports it, else None."""
    return embedder if rerank == "late" and isinstance(embedder, TokenEmbedder) else None
