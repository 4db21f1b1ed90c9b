"""Quantization of vectors to int8: one scale per page, and one per token of a question.

Integers are exact: sums of their products are the same in any order, on any processor. The best match of a token within
a page does not depend on the page's scale, nor on the token's.

A page uses all of -127..127. A question uses only -63..63: processors without VNNI add two adjacent products in 16
bits, with the page's bytes made unsigned, and 2 x 255 x 63 is the largest sum that fits.
"""

from __future__ import annotations

import numpy as np

from docmind.errors import VisualModelError

PAGE_LIMIT, QUERY_LIMIT = 127, 63
DIM_LIMIT = 2_048  # 127 x 63 x dim stays below 2^24, which float32 holds exactly


def page_int8(vectors: np.ndarray) -> tuple[np.ndarray, float]:
    """Quantize `(tokens, dim)` float32 to int8; return it with the value of one step. Raises `VisualModelError`."""
    array = finite(vectors)
    step = float(np.abs(array).max(initial=0.0)) / PAGE_LIMIT
    return np.rint(array / (step or 1.0)).astype(np.int8), step


def query_int8(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantize `(n, dim)` float32 to int8; return it with `(n,)` float64, the value of one step of each row."""
    array = finite(vectors)
    steps = np.abs(array).max(axis=1, initial=0.0).astype(np.float64) / QUERY_LIMIT
    return np.rint(array / np.where(steps, steps, 1.0)[:, None]).astype(np.int8), steps


def finite(vectors: np.ndarray) -> np.ndarray:
    """Return a float32 matrix. Raises `VisualModelError` where the shape is wrong or a value is not finite."""
    array = np.asarray(vectors, dtype=np.float32)
    if array.ndim != 2 or not 0 < array.shape[1] <= DIM_LIMIT:
        raise VisualModelError(f"A model gave vectors of the shape {array.shape}.")
    if not np.isfinite(array).all():
        raise VisualModelError("A model gave vectors that hold something else than numbers.")
    return array
