"""Which token of a page looks at which cell of it: read off the tokens and the sizes that a model was really given."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from docmind.errors import VisualModelError

_TILE = re.compile(r"<row_(\d+)_col_(\d+)>")

Grid = tuple[int, int, np.ndarray]
"""Rows, columns, and `(tokens,)` int32: the token's cell `row * cols + col`, or -1 where it has none."""


def square(is_image: np.ndarray) -> Grid:
    """A page that is squeezed into a square: as many rows as columns, row by row (ColPali).

    >>> square(np.array([True, True, True, True, False]))
    (2, 2, array([ 0,  1,  2,  3, -1], dtype=int32))
    """
    side = math.isqrt(int(is_image.sum()))
    return _filled(is_image, side, side)


def oblong(is_image: np.ndarray, patches: tuple[int, int], merge: int) -> Grid:
    """A page of its own shape, `patches` high and wide, of which `merge` x `merge` become one token (ColQwen2)."""
    return _filled(is_image, patches[0] // merge, patches[1] // merge)


def tiled(ids: Sequence[int], image_id: int, decode: Callable[[Sequence[int]], str]) -> Grid:
    """A page in tiles and once more as a whole (ColModernVBERT, ColIdefics3).

    Before each run of image tokens stands its name, `<row_2_col_1>` or that of the whole page. The tiles make one grid;
    the tokens of the whole page have no cell there, unless it was not cut at all.
    """
    is_image = np.asarray(ids) == image_id
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_image, [False]])))
    runs = [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]
    tiles: dict[tuple[int, int], int] = {}
    before = 0
    for start, end in runs:
        named = _TILE.findall(decode(ids[before:start]))
        if named:
            row, col = named[-1]
            tiles[int(row) - 1, int(col) - 1] = start
        before = end
    sizes = {end - start for start, end in runs}
    side = math.isqrt(min(sizes, default=0))
    if not tiles and len(runs) == 1:
        return square(is_image)
    rows, cols = (max(numbers) + 1 for numbers in zip(*tiles, strict=True)) if tiles else (0, 0)
    if len(sizes) != 1 or side * side not in sizes or set(tiles) != {(r, c) for r in range(rows) for c in range(cols)}:
        raise _strange()
    patches = np.full(len(ids), -1, np.int32)
    inside_row, inside_col = np.divmod(np.arange(side * side), side)
    for (row, col), start in tiles.items():
        cells = (row * side + inside_row) * cols * side + col * side + inside_col
        patches[start : start + side * side] = cells
    return rows * side, cols * side, patches


def _filled(is_image: np.ndarray, rows: int, cols: int) -> Grid:
    if rows * cols == 0 or rows * cols != int(is_image.sum()):
        raise _strange()
    patches = np.full(len(is_image), -1, np.int32)
    patches[is_image] = np.arange(rows * cols)
    return rows, cols, patches


def _strange() -> VisualModelError:
    return VisualModelError(
        "The model cut a page into patches that make no grid.",
        hint="Its processor files do not fit its weights: fetch it again, or choose another model.",
    )
