"""Columns of prose that a program has drawn line by line across all of them.

PDFium gives text in the order in which it was drawn, which nearly always follows the columns. Where it jumps over the
same gap line after line, the words between two lines that cross the gap are put in order column by column. The cells of
a table are left as they are: few of their lines begin with a small letter as those of prose do, they fill their columns
less, or the lines of all columns begin at the same height.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_GAP = 0.8  # of a line's height: a wider space may lie between two columns
_LINES = 5  # on either side of a gap, and as many jumps over it
_FILLED = 0.55  # of a column's width, by a usual line of prose
_NARROWEST = 0.17  # of the width of all text
_WORDS = 2.5  # on a usual line
_SMALL = 0.35  # of the lines of a column begin with a small letter, or with one of a script without
_WHOLE = 1.3  # pieces on a line of one of the sides; lines that are spread to the margins have more
_EVEN = 0.5  # of the lines of the right column begin at the same place
_BAND = 2.2  # heights of a line: an empty strip of this height across the page ends a column
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Pieces of lines in the drawn order: boxes as left, top, right, bottom (n, 4), first words, words."""

    boxes: np.ndarray
    first: np.ndarray
    words: np.ndarray
    word: Callable[[int], str]


def column_order(boxes: np.ndarray, word: Callable[[int], str]) -> np.ndarray | None:
    """Return the order in which the words of a page are read, or None where it is that in which they were drawn.

    `boxes` (n, 4) as x, y, w, h in the drawn order; `word` returns a word by its number.
    """
    if len(boxes) < 4 * _LINES:
        return None
    x, y, w, h = boxes.T
    gaps, lower = x[1:] - (x + w)[:-1], (y + h)[:-1] - y[1:]
    # Nearly all pages end here: the pen seldom jumps to the right of what was just drawn.
    if ((gaps >= 0) & (lower > 0) & ((gaps > _GAP * h[1:]) | (lower <= 0.4 * h[1:]))).sum() < _LINES:
        return None
    pieces = _pieces(boxes, word)
    left, right = pieces.boxes[:, 0], pieces.boxes[:, 2]
    jumps = (left[1:] >= right[:-1]) & (pieces.boxes[1:, 1] < pieces.boxes[:-1, 3])
    backs = right[1:] <= left[:-1]
    if jumps.sum() < _LINES or backs.sum() < _LINES - 1:
        return None
    whole = float(right.max() - left.min())
    order = _sorted(np.arange(len(left)), pieces, whole, 0)
    if (order == np.arange(len(order))).all():
        return None
    starts = pieces.first.tolist()
    ends = [*starts[1:], len(boxes)]
    return np.asarray([word for number in order.tolist() for word in range(starts[number], ends[number])])


def _pieces(boxes: np.ndarray, word: Callable[[int], str]) -> _Pieces:
    x, y, w, h = boxes.T
    right, bottom = x + w, y + h
    low = np.minimum(h[1:], h[:-1])
    overlap = np.minimum(bottom[1:], bottom[:-1]) - np.maximum(y[1:], y[:-1])
    gap = x[1:] - right[:-1]
    goes_on = (overlap > 0.4 * low) & (gap <= _GAP * np.maximum(h[1:], h[:-1])) & (gap > -0.5 * h[1:])
    goes_on |= (w[1:] <= 0) | (w[:-1] <= 0)  # a word outside of the page stays with the one before it
    first = np.concatenate([[0], np.flatnonzero(~goes_on) + 1])
    edges = np.column_stack([x, y, right, bottom])
    empty = w <= 0
    edges[empty, :2], edges[empty, 2:] = np.inf, -np.inf
    low_edges = np.minimum.reduceat(edges[:, :2], first)
    high_edges = np.maximum.reduceat(edges[:, 2:], first)
    spans = np.nan_to_num(np.hstack([low_edges, high_edges]), posinf=0, neginf=0)
    words = np.diff(np.append(first, len(boxes)))
    return _Pieces(spans, first, words, word)


def _sorted(chosen: np.ndarray, pieces: _Pieces, whole: float, depth: int) -> np.ndarray:
    """Return the pieces `chosen`, in the drawn order, in reading order."""
    if depth >= _DEEPEST or len(chosen) < 2 * _LINES:
        return chosen
    cut = _cut(pieces.boxes[chosen])
    if cut is None:
        return chosen
    boxes = pieces.boxes[chosen]
    crossing = _of_crossing_lines(boxes, cut)
    order = chosen.copy()
    for band in _bands(boxes, crossing):
        if _is_interleaved(chosen[band], cut, pieces, whole):
            at = boxes[band, 0] >= cut
            sides = [_sorted(chosen[band][side], pieces, whole, depth + 1) for side in (~at, at)]
            order[np.sort(band)] = np.concatenate(sides)
    return order


def _of_crossing_lines(boxes: np.ndarray, cut: float) -> np.ndarray:
    """Return which pieces are on a line of which a piece lies over the cut."""
    crossing = (boxes[:, 0] < cut) & (boxes[:, 2] > cut)
    middle = (boxes[:, 1] + boxes[:, 3]) / 2
    across = boxes[crossing]
    on_line = (middle[:, None] > across[None, :, 1]) & (middle[:, None] < across[None, :, 3])
    return crossing | on_line.any(axis=1)


def _cut(boxes: np.ndarray) -> float | None:
    """Return the x that lies in most of the gaps over which the pen has jumped."""
    jumps = (boxes[1:, 0] >= boxes[:-1, 2]) & (boxes[1:, 1] < boxes[:-1, 3]) & (boxes[:-1, 1] < boxes[1:, 3])
    starts, ends = boxes[:-1, 2][jumps], boxes[1:, 0][jumps]
    if len(starts) < _LINES:
        return None
    inside = (starts[None, :] <= ends[:, None] - 0.5) & (ends[None, :] >= ends[:, None])
    best = int(inside.sum(axis=1).argmax())
    if inside[best].sum() < _LINES:
        return None
    return float(ends[best]) - 0.25


def _bands(boxes: np.ndarray, crossing: np.ndarray) -> list[np.ndarray]:
    """Return the pieces between lines that cross the gap, and between empty strips, each in the drawn order."""
    by_height = np.argsort((boxes[:, 1] + boxes[:, 3]) / 2, kind="stable")
    high = float(np.median(boxes[:, 3] - boxes[:, 1]))
    bands: list[list[int]] = [[]]
    reach = -np.inf
    for number in by_height.tolist():
        if crossing[number] or (bands[-1] and boxes[number, 1] - reach > _BAND * high):
            bands.append([])
        if not crossing[number]:
            bands[-1].append(number)
        reach = max(reach, float(boxes[number, 3]))
    return [np.sort(np.asarray(band)) for band in bands if len(band) >= 2 * _LINES]


def _is_interleaved(band: np.ndarray, cut: float, pieces: _Pieces, whole: float) -> bool:
    """Return whether the pieces of a band are two columns of prose between which the pen went back and forth."""
    boxes = pieces.boxes[band]
    at = boxes[:, 0] >= cut
    returns = int((at[:-1] & ~at[1:]).sum())
    if returns < _LINES - 1:
        return False
    left, right = boxes[~at], boxes[at]
    high = float(np.median(boxes[:, 3] - boxes[:, 1]))
    starts = right[:, 0]
    if starts.min() - left[:, 2].max() < _GAP * high or max(
        (np.abs(starts - one) < 0.5 * high).mean() for one in starts
    ) < _EVEN * len(_lines(right)) / len(right):
        return False
    lines = [_lines(left), _lines(right)]
    if min(len(left) / len(lines[0]), len(right) / len(lines[1])) > _WHOLE:
        return False
    if not all(_is_prose(band[side], of_side, pieces, whole) for side, of_side in zip((~at, at), lines, strict=True)):
        return False
    return returns >= 0.5 * min(map(len, lines)) - 1 and not _starts_together(*lines)


def _lines(boxes: np.ndarray) -> np.ndarray:
    """Return top and bottom (n, 2) of the lines of a column from the top."""
    out: list[list[float]] = []
    for top, bottom in boxes[np.argsort(boxes[:, 1])][:, [1, 3]].tolist():
        if out and top < (out[-1][0] + out[-1][1]) / 2:
            out[-1][1] = max(out[-1][1], bottom)
        else:
            out.append([top, bottom])
    return np.asarray(out)


def _is_prose(side: np.ndarray, lines: np.ndarray, pieces: _Pieces, whole: float) -> bool:
    if len(lines) < _LINES:
        return False
    boxes = pieces.boxes[side]
    wide = float(boxes[:, 2].max() - boxes[:, 0].min())
    words = int(pieces.words[side].sum())
    filled = float((boxes[:, 2] - boxes[:, 0]).sum()) / (wide * len(lines)) if wide else 0.0
    if wide < _NARROWEST * whole or filled < _FILLED or words < _WORDS * len(lines):
        return False
    outset = boxes[:, 0].min() + 0.25 * wide
    begins = [pieces.word(number)[:1] for number in pieces.first[side[boxes[:, 0] < outset]].tolist()]
    small = sum(one.isalpha() and not one.isupper() for one in begins)
    return small >= _SMALL * len(begins)


def _starts_together(left: np.ndarray, right: np.ndarray) -> bool:
    """Return whether wider spaces between lines lie at the same heights in both columns, as between rows of a table."""
    places = []
    for lines in (left, right):
        steps = np.diff(lines[:, 0])
        places.append(lines[1:, 0][steps > 1.25 * np.median(steps)])
    both = sum(bool((np.abs(places[1] - top) < 3).any()) for top in places[0])
    return both >= 2 and both >= 0.6 * min(map(len, places))
