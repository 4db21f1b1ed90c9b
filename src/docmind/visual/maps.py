"""Where on a page a question is answered: one grid a token, from 0 to 255."""

from __future__ import annotations

import numpy as np

from docmind.catalog import PageRecord
from docmind.errors import VisualModelError
from docmind.seeing import HeatMap


def heat_map(model: str, page: PageRecord, tokens: tuple[str, ...], likeness: np.ndarray) -> HeatMap:
    """From `(n, rows, cols)` float32 products of tokens and patches. Raises `VisualModelError` where they are none.

    Each token's grid is stretched from its least patch, 0, to its best one, 255: products of different tokens do not
    compare. A token that sees no difference between patches has a grid of 0.
    """
    if likeness.ndim != 3 or len(likeness) != len(tokens):
        raise VisualModelError(f"{model} gave no map of this page.", hint="Embed the document again.")
    count, rows, cols = likeness.shape
    flat = np.nan_to_num(likeness.reshape(count, rows * cols), nan=0.0, posinf=0.0, neginf=0.0)
    least, best = flat.min(axis=1, keepdims=True), flat.max(axis=1, keepdims=True)
    span = best - least
    scaled = np.divide(flat - least, span, out=np.zeros_like(flat), where=span > 1e-6)
    values = np.rint(scaled * 255).astype(np.uint8).tobytes()
    return HeatMap(model, page.page_id, tokens, rows, cols, values)
