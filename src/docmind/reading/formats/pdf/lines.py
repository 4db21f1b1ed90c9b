"""The lines of a page, from the places of its words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Places = list[float]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a page in the order of its text; places in pixels, `sizes` of their letters in points.

    `first` has the number of each line's first word among the words that are shown, and `lead_sizes` that word's size.
    """

    first: list[int]
    starts: list[int]
    ends: list[int]
    lefts: Places
    tops: Places
    rights: Places
    bottoms: Places
    sizes: Places
    lead_sizes: Places


def first_words(boxes: np.ndarray) -> np.ndarray:
    """Return the numbers of the words that begin a line; `boxes` (n, 4) as x, y, w, h, all of them shown.

    The ends of lines in the text are no help: PDFium also sets them between single figures of one row.
    """
    x, y, w, h = boxes.T
    low = np.minimum(h[1:], h[:-1])
    overlap = np.minimum(y[1:] + h[1:], y[:-1] + h[:-1]) - np.maximum(y[1:], y[:-1])
    gaps = x[1:] - (x[:-1] + w[:-1])
    breaks = (overlap < 0.2 * low) | (gaps < -np.maximum(h[1:], h[:-1]))
    return np.concatenate([[0], np.flatnonzero(breaks) + 1]) if len(boxes) else np.zeros(0, np.int64)


def lines_of(starts: np.ndarray, ends: np.ndarray, boxes: np.ndarray, sizes: np.ndarray) -> Lines:
    """Return the lines of words that are shown; `sizes` (n) are those of the letters of each word."""
    first = first_words(boxes)
    if not len(first):
        return Lines([], [], [], [], [], [], [], [], [])
    last = np.append(first[1:], len(boxes)) - 1
    low, high = boxes[:, :2], boxes[:, :2] + boxes[:, 2:]
    low, high = np.minimum.reduceat(low, first), np.maximum.reduceat(high, first)
    return Lines(
        first.tolist(),
        starts[first].tolist(),
        ends[last].tolist(),
        low[:, 0].tolist(),
        low[:, 1].tolist(),
        high[:, 0].tolist(),
        high[:, 1].tolist(),
        sizes[(first + last + 1) // 2].tolist(),
        sizes[first].tolist(),
    )
