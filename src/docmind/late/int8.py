"""Vectors as whole numbers of one byte: a scale for each page, and one for each token of a question.

Whole numbers are exact: sums of products of two of them are the same in any order, on any processor. The largest score
of a token within a page does not change with the page's scale, nor with the token's.

A page uses all of -127..127. A question uses -63..63 only: processors without VNNI add two neighbouring products in 16
bits, of the page's bytes made positive, and 2 x 255 x 63 is the most that fits there.
"""

from __future__ import annotations

import numpy as np

from docmind.errors import VisualModelError

PAGE_LIMIT, QUERY_LIMIT = 127, 63
DIM_LIMIT = 2_048  # 127 x 63 x dim stays below 2^24, which float32 holds exactly


def page_int8(vectors: np.ndarray) -> tuple[np.ndarray, float]:
    """`(tokens, dim)` float32 as int8 of the same shape, and what one step is worth. Raises `VisualModelError`."""
    array = finite(vectors)
    step = float(np.abs(array).max(initial=0.0)) / PAGE_LIMIT
    return np.rint(array / (step or 1.0)).astype(np.int8), step


def query_int8(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`(n, dim)` float32 as int8 of the same shape, and `(n,)` float64, what one step of each row is worth."""
    array = finite(vectors)
    steps = np.abs(array).max(axis=1, initial=0.0).astype(np.float64) / QUERY_LIMIT
    return np.rint(array / np.where(steps, steps, 1.0)[:, None]).astype(np.int8), steps


def finite(vectors: np.ndarray) -> np.ndarray:
    """The same as a float32 matrix. Raises `VisualModelError` where it is none, or holds what is no number."""
    array = np.asarray(vectors, dtype=np.float32)
    if array.ndim != 2 or not 0 < array.shape[1] <= DIM_LIMIT:
        raise VisualModelError(f"A model gave vectors of the shape {array.shape}.")
    if not np.isfinite(array).all():
        raise VisualModelError("A model gave vectors that hold something else than numbers.")
    return array
