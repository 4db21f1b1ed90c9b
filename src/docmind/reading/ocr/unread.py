"""What of a page image OCR did not read: letters of the lines that it found, and print beside all of them.

A recogniser that lacks a script drops its letters and is sure of the rest: lines of Cyrillic come out as their commas
and figures. Each letter takes some of its line's ink, so what was dropped is seen on the image.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from docmind.reading.ocr.reading_order import Spot, letter_width

_BAND = np.linspace(0.3, 0.7, 9)
"""Heights of a line, 0 at its top, at which its ink is looked for: rules, leaders and underlining lie below."""
_CONTRAST = 40  # grey levels between the ink of a line and its ground
_USUAL, _DROPPED = 0.5, 1.0
"""Heights of a line that the ink of a letter is long: at most in lines that are read, and where half or more is lost.

Lines of nine Latin languages, tables, formulas and code in two faces had 0.1 to 0.5, lines of Cyrillic 1.2 to 30.
"""


@dataclass(frozen=True, slots=True)
class Weighed:
    """Rows of lines with text, the certainty of each no more than the share of its ink that was read.

    `ink` is how long the ink of all lines is, in heights of a line, `lost` that of lines of which half or more was not
    read, those without text among them.
    """

    rows: list[list[Spot]]
    ink: float
    lost: float


def weighed(rows: Iterable[Sequence[Spot]], grey: np.ndarray) -> Weighed:
    """Return what of the ink of lines was read; a line without text is one in which nothing was.

    `grey` (h, w), 0 to 255, is the image in whose pixels the lines lie.
    """
    kept: list[list[Spot]] = []
    ink = lost = 0.0
    for row in rows:
        line: list[Spot] = []
        for spot in row:
            own, told = inked(grey, spot), taken(spot.text)
            ink += own
            if own > _DROPPED * told:
                lost += own
                spot = replace(spot, score=min(spot.score, _USUAL * told / own))
            if spot.text:
                line.append(spot)
        kept += [line] if line else []
    return Weighed(kept, ink, lost)


def inked(grey: np.ndarray, spot: Spot) -> float:
    """Return how long the ink of a line is, in heights of the line: the columns with ink between its letters' ends.

    `grey` (h, w) is the image, 0 to 255, in whose pixels the line lies.
    """
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = spot.corners
    length, high = np.hypot(bx - ax, by - ay), _high(spot)
    if length < 1 or high < 1:
        return 0.0
    along = np.linspace(0.0, 1.0, max(2, round(length)))
    down = _BAND[:, None]
    x = (ax + (bx - ax) * along) * (1 - down) + (dx + (cx - dx) * along) * down
    y = (ay + (by - ay) * along) * (1 - down) + (dy + (cy - dy) * along) * down
    seen = grey[np.clip(y.astype(int), 0, grey.shape[0] - 1), np.clip(x.astype(int), 0, grey.shape[1] - 1)]
    ink = _ink(seen)
    return float(ink.any(axis=0).sum() * length / len(along) / high)


def _high(spot: Spot) -> float:
    """Return the height of a line in pixels."""
    (ax, ay), _right, _far, (dx, dy) = spot.corners
    return float(np.hypot(dx - ax, dy - ay))


def _ink(seen: np.ndarray) -> np.ndarray:
    """Return which of the samples of a line are ink: the fewer of the dark and the light ones."""
    low, high = np.percentile(seen, (2, 98))
    if high - low < _CONTRAST:
        return np.zeros(seen.shape, bool)
    dark = seen < (low + high) / 2
    return dark if dark.mean() <= 0.5 else ~dark


def taken(text: str) -> float:
    """Return how long the ink of the letters of a text is, in widths of a usual small letter."""
    return sum(letter_width(char) for char in text if not char.isspace())


_SIZES = 0.004, 0.05  # of the longer side of an image: the height of a letter; 6 to 80 pixels of a page
_WIDEST = 8.0  # times as wide as high: letters that are joined, as in Arabic and handwriting
_ROW = 5  # letters side by side that are print, and no specks
_NEAR = 1.5  # heights of a letter between two letters of a row
_EVEN = 0.35  # of the mean height of a row's letters, their deviation: print has 0.02 to 0.33, photographs 0.36 to 1
_FEW = 20  # letters beside all lines that may be a stamp, or the texture of a photograph
_WINDOW, _DARKER = 51, 15  # pixels around each pixel whose mean it is compared with, and grey levels it is darker by
_MOST_MARKS = 20_000  # of an image; more are grain or a halftone
_EDGE = 0.25  # of a line's height: letters that stick out of it


def unread_share(grey: np.ndarray, lines: Sequence[Spot], pictures: Sequence[Sequence[float]] = ()) -> float:
    """Return the share of the print on an image, by the length of its letters, that lies outside of all lines, 0 to 1.

    `grey` (h, w), 0 to 255, is the image in whose pixels the lines lie, and the pictures as x, y, w, h, which are left
    out. Print is marks of the size of letters that stand in rows: rules, frames, stamps, photographs and drawings are
    none.
    """
    letters = letters_in(grey, pictures)
    middles = letters[:, :2] + letters[:, 2:] / 2
    is_beside = np.ones(len(letters), bool)
    read = 0.0  # of all lines, also of light print on a dark ground, and of print as large as a title page's
    for line in lines:
        is_beside &= ~_within(line, middles)
        read += inked(grey, line) * _high(line)
    beside = float(letters[is_beside, 2].sum())
    return beside / (beside + read) if is_beside.sum() > _FEW else 0.0


def letters_in(grey: np.ndarray, pictures: Sequence[Sequence[float]] = ()) -> np.ndarray:
    """Return the marks of an image that stand in rows as letters do: x, y, w, h in pixels (n, 4)."""
    import cv2

    dark = cv2.adaptiveThreshold(grey, 1, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, _WINDOW, _DARKER)
    for x, y, wide, high in pictures:
        dark[max(0, int(y)) : int(y + high) + 1, max(0, int(x)) : int(x + wide) + 1] = 0
    marks = cv2.connectedComponentsWithStats(dark, connectivity=8)[2][1:, :4]
    least, most = (share * max(grey.shape) for share in _SIZES)
    marks = marks[(marks[:, 3] >= least) & (marks[:, 3] <= most) & (marks[:, 2] <= _WIDEST * marks[:, 3])]
    if not 0 < len(marks) <= _MOST_MARKS:
        return np.zeros((0, 4))
    return marks[_in_rows(marks, grey.shape)].astype(float)


def _in_rows(marks: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return which marks (n, 4) stand in a row: the middles of marks that are near each other are joined."""
    import cv2

    joined = np.zeros(shape, np.uint8)
    for x, y, wide, high in marks.tolist():
        joined[y + int(0.3 * high) : y + int(0.7 * high) + 1, x : x + wide + int(_NEAR * high)] = 1
    count, labels = cv2.connectedComponents(joined, connectivity=8)
    row: np.ndarray = labels[marks[:, 1] + marks[:, 3] // 2, marks[:, 0]]
    tall = marks[:, 3].astype(float)
    letters = np.maximum(np.bincount(row, minlength=count), 1)
    mean, square = (np.bincount(row, weights=each, minlength=count) / letters for each in (tall, tall**2))
    is_row = (letters >= _ROW) & (square - mean**2 <= (_EVEN * mean) ** 2)
    return is_row[row.astype(np.intp)]


def _within(line: Spot, points: np.ndarray) -> np.ndarray:
    """Return which points (n, 2) lie in a line, or a little beside it."""
    origin, right, _far, down = np.asarray(line.corners, float)
    along, across = right - origin, down - origin
    length, high = np.hypot(*along), np.hypot(*across)
    if length < 1 or high < 1:
        return np.zeros(len(points), bool)
    edge = _EDGE * high
    at, depth = (points - origin) @ along / length, (points - origin) @ across / high
    return (at >= -edge) & (at <= length + edge) & (depth >= -edge) & (depth <= high + edge)
