"""What every model offers that looks at pages: pictures in, arrays out, and its facts before its weights.

Two kinds: an image model gives one vector a page (SigLIP), a late model one a patch of it (the ColPali family).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np


class PagePatches(NamedTuple):
    """A page as a late model sees it: `vectors` `(tokens, dim)` float32, each of length 1, over a `rows` x `cols` grid.

    `patches` `(tokens,)` int32 says which cell a token looks at, `row * cols + col`; -1 where it is a word of the
    model's own prompt, or looks at the page as a whole. Each cell has exactly one token.
    """

    vectors: np.ndarray
    rows: int
    cols: int
    patches: np.ndarray


class QueryPatches(NamedTuple):
    """A question for late interaction: `vectors` `(n, dim)` float32, each of length 1, and what each one stands for.

    `tokens` are for people; empty where a vector stands for no part of the question's words.
    """

    vectors: np.ndarray
    tokens: tuple[str, ...]


class VisualModel(Protocol):
    """What both kinds share. Safe from any thread; `dim` and `fingerprint` are known without reading weights.

    Every call may raise `VisualModelError` (files gone or broken, a crash, no memory, too slow), `ConfigError` (it
    cannot run as the settings want) and `ExtraMissingError`; the next call tries again.
    """

    @property
    def name(self) -> str: ...

    @property
    def dim(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """What must be equal for two vectors to be comparable."""
        ...

    @property
    def device(self) -> str:
        """Where it runs: `cpu`, `cuda` or `mps`; empty before it was first loaded."""
        ...

    @property
    def precision(self) -> str:
        """`float32` or `bfloat16`; empty before it was first loaded."""
        ...

    def warm(self) -> None:
        """Load what the first call would load."""
        ...

    def close(self) -> None:
        """Give back memory and processes; a call that is under way is given up."""
        ...


class ImageModel(VisualModel, Protocol):
    """A model that puts pictures and texts into one space: a cosine says how well they fit."""

    def embed_images(self, images: Sequence[bytes]) -> np.ndarray:
        """`(n, dim)` float32, each row of length 1, of encoded pictures (WebP, PNG, JPEG)."""
        ...

    def embed_text(self, text: str) -> np.ndarray:
        """`(dim,)` float32 of length 1."""
        ...


class LateModel(VisualModel, Protocol):
    """A model that gives a vector a patch and a token: the sum of each token's best patch says how well they fit."""

    def embed_images(self, images: Sequence[bytes]) -> list[PagePatches]:
        """The patches of encoded pictures (WebP, PNG, JPEG)."""
        ...

    def embed_query(self, text: str) -> QueryPatches: ...
