"""The patches of a page as a grid: which token looks at which cell, maps over them, means of rows and columns."""

from __future__ import annotations

import zlib

import numpy as np

from docmind.embed.visual import PagePatches
from docmind.errors import VisualModelError

_SIDE = 4_096  # cells: far more than any model has


def packed(patches: PagePatches) -> bytes:
    """The cells of the tokens as a few bytes. Raises `VisualModelError` where they do not fit the vectors or the grid.

    Neighbours in a row follow one another, so that differences are nearly all one.
    """
    cells = np.asarray(patches.patches, np.int32)
    rows, cols = int(patches.rows), int(patches.cols)
    fits = 0 < rows <= _SIDE and 0 < cols <= _SIDE and cells.shape == (len(patches.vectors),)
    if not fits or (len(cells) and not -1 <= cells.min() <= cells.max() < rows * cols):
        raise VisualModelError("A model gave patches that do not fit its grid.")
    return zlib.compress(np.diff(cells, prepend=0).astype("<i4").tobytes())


def unpacked(data: bytes) -> np.ndarray:
    """`(tokens,)` int32: the cell of each token, -1 where it looks at none."""
    return np.cumsum(np.frombuffer(zlib.decompress(data), "<i4"), dtype=np.int32)


def over(values: np.ndarray, cells: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """`(n, tokens)` laid over the grid: `(n, rows, cols)` float32.

    A cell without a token has the least value that there is.
    """
    seen = cells >= 0
    found = np.full((len(values), rows * cols), values.min(initial=0.0), np.float32)
    found[:, cells[seen]] = values[:, seen]
    return found.reshape(len(values), rows, cols)


def means(vectors: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    """Mean of the `(tokens, dim)` vectors of each group: `(count, dim)` float32; zeros where a group has none.

    `groups` `(tokens,)` gives the number of a token's group, -1 for none.
    """
    member = (groups == np.arange(count)[:, None]).astype(np.float32)
    return member @ vectors / np.maximum(member.sum(axis=1, keepdims=True), 1.0)
