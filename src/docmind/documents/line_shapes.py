"""Shapes of lines of words: four corners that follow a line, also on a page that was scanned askew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from docmind.documents.words import Words
from docmind.records.documents import Box
from docmind.records.search import Quad

_LEVEL = 0.003  # a slope below this is that of a straight page
_STEEPEST = 0.4
_LONG, _MANY = 12.0, 5  # a line of this many heights and words has a slope of its own
_NEAR = 1.5  # pixels: stored boxes are rounded


def quads_at(words: Words, start: int, end: int) -> tuple[Quad, ...]:
    """Return a shape for each line of the words that touch `text[start:end]`."""
    touched = np.flatnonzero((words.starts < end) & (words.ends > start) & _is_visible(words))
    slope = page_slope(words)
    return _apart([_shape(words.boxes[line], slope) for line in _lines(words, touched)])


def quads_of(words: Words, boxes: Sequence[Box]) -> tuple[Quad, ...]:
    """Return a shape for each box of `Words.boxes_of`: that of the words it was made of.

    A box that no line of these words fills is returned as its own four corners.
    """
    slope = page_slope(words)
    return _apart([_fitted(words, box, slope) for box in boxes])


def page_slope(words: Words) -> float:
    """Return the slope of the lines of a page: the median over its long lines; 0 where it is straight."""
    lines = [words.boxes[line] for line in _lines(words, np.flatnonzero(_is_visible(words)))]
    slopes = [_slope(line) for line in lines if _is_long(line)]
    middle = float(np.median(slopes)) if slopes else 0.0
    return middle if _LEVEL < abs(middle) < _STEEPEST else 0.0


def _is_visible(words: Words) -> np.ndarray:
    return (words.boxes[:, 2] > 0) & (words.boxes[:, 3] > 0)


def _lines(words: Words, indices: np.ndarray) -> list[np.ndarray]:
    """Split word numbers, in reading order, where words are left out or a new line begins."""
    lines: list[list[int]] = []
    for index in map(int, indices):
        if lines and index == lines[-1][-1] + 1 and _follows(words.boxes[lines[-1][-1]], words.boxes[index]):
            lines[-1].append(index)
        else:
            lines.append([index])
    return [np.array(line) for line in lines]


def _follows(left: np.ndarray, right: np.ndarray) -> bool:
    overlap = min(left[1] + left[3], right[1] + right[3]) - max(left[1], right[1])
    gap = right[0] - (left[0] + left[2])
    lower, higher = min(left[3], right[3]), max(left[3], right[3])
    return bool(overlap > 0.4 * lower and -0.5 * lower <= gap <= 3.0 * higher)


def _is_long(line: np.ndarray) -> bool:
    across = line[-1, 0] + line[-1, 2] - line[0, 0]
    return len(line) >= _MANY and bool(across > _LONG * np.median(line[:, 3]))


def _slope(line: np.ndarray) -> float:
    """Return the slope of the line through the middles of the words, by least squares."""
    across, down = line[:, 0] + line[:, 2] / 2, line[:, 1] + line[:, 3] / 2
    across = across - across.mean()
    return float((across * (down - down.mean())).sum() / max(1e-9, (across * across).sum()))


def _shape(line: np.ndarray, slope: float) -> Quad:
    """Return the corners of a line of word boxes: as high as most of its words, along its slope."""
    if _is_long(line) and slope:
        own = _slope(line)
        slope = own if abs(own - slope) < 0.03 else slope
    left, right = float(line[:, 0].min()), float((line[:, 0] + line[:, 2]).max())
    middle = line[:, 0] + line[:, 2] / 2
    rise = np.minimum(line[:, 2] * abs(slope), 0.6 * line[:, 3]) / 2  # a box around a slanted word is higher than it
    tops = line[:, 1] + rise - slope * (middle - left)
    bottoms = line[:, 1] + line[:, 3] - rise - slope * (middle - left)
    top, bottom = float(np.percentile(tops, 25)), float(np.percentile(bottoms, 75))
    fall = slope * (right - left)
    return ((left, top), (right, top + fall), (right, bottom + fall), (left, bottom))


def _fitted(words: Words, box: Box, slope: float) -> Quad:
    x, y, w, h = box
    left, top = words.boxes[:, 0], words.boxes[:, 1]
    right, bottom = left + words.boxes[:, 2], top + words.boxes[:, 3]
    inside = (left >= x - _NEAR) & (top >= y - _NEAR) & (right <= x + w + _NEAR) & (bottom <= y + h + _NEAR)
    for line in _lines(words, np.flatnonzero(inside & _is_visible(words))):
        union = (left[line].min(), top[line].min(), right[line].max(), bottom[line].max())
        if np.allclose(union, (x, y, x + w, y + h), atol=_NEAR):
            return _shape(words.boxes[line], slope)
    return ((x, y), (x + w, y), (x + w, y + h), (x, y + h))


def _apart(quads: Iterable[Quad]) -> tuple[Quad, ...]:
    """Make lines that follow each other meet in the middle where their shapes overlap."""
    apart: list[Quad] = []
    for quad in quads:
        if apart and (met := _parted(apart[-1], quad)) is not None:
            apart[-1], quad = met
        apart.append(quad)
    return tuple(apart)


def _parted(upper: Quad, lower: Quad) -> tuple[Quad, Quad] | None:
    (left, upper_top), (right, _), _, (_, upper_bottom) = upper
    (from_, lower_top), (to, _), _, (_, lower_bottom) = lower
    if min(right, to) <= max(left, from_) or not upper_top < lower_top:
        return None
    slope = (upper[1][1] - upper_top) / max(1.0, right - left)
    at = lower_top - slope * (from_ - left)  # the lower line's top, below the upper line's left end
    if not upper_top < at < upper_bottom or lower_bottom - slope * (from_ - left) <= upper_bottom:
        return None
    by = (upper_bottom - at) / 2
    upper = (upper[0], upper[1], (upper[2][0], upper[2][1] - by), (upper[3][0], upper[3][1] - by))
    return upper, ((from_, lower_top + by), (to, lower[1][1] + by), lower[2], lower[3])
