"""Pages that lie on their side or stand on their head: places found on the turned image, brought back.

The text is put in order while the page is upright; only the boxes go back to the image as it is stored.
"""

from __future__ import annotations

import numpy as np


def turn_back(boxes: np.ndarray, turn: int, width: int, height: int) -> np.ndarray:
    """Boxes x, y, w, h of shape (n, 4) on an image turned counter-clockwise by `turn`, on the image of that size."""
    x, y, w, h = boxes.reshape(-1, 4).T
    if turn == 90:  # the left edge of the turned image was the top edge
        return np.stack([width - y - h, x, h, w], axis=1)
    if turn == 180:
        return np.stack([width - x - w, height - y - h, w, h], axis=1)
    if turn == 270:
        return np.stack([y, height - x - w, h, w], axis=1)
    return boxes.reshape(-1, 4)
