"""Reading order: lines found on a picture, sorted as a person reads them and split into words."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from docmind.documents import Words

Rect = tuple[float, float, float, float]

_WIDE = 0.6  # of the region: such a line spans its columns
_TEXTLIKE = 0.25  # of the region: the usual line of a text column; the cells of a table are shorter
_LONG = 4.0  # times as wide as high: a line whose angle tells that of the page
_LEVEL = 0.009  # radians, half a degree: a line of a page's width sinks by less than its height
_NARROW, _BROAD = frozenset("ijl.,;:'!|()[]1IftrºªºJ°·"), frozenset("mwMW@%—ŒÆ")


@dataclass(frozen=True, slots=True)
class Spot:
    """A piece of text on a picture: corners from the top left clockwise, in pixels, and certainty, 0 to 1.

    `words` holds x, y, w, h of each word of the text, or nothing where the engine does not give them.
    """

    text: str
    corners: tuple[tuple[float, float], ...]
    score: float
    words: tuple[Rect, ...] = ()

    @property
    def left(self) -> float:
        return min(x for x, _ in self.corners)

    @property
    def right(self) -> float:
        return max(x for x, _ in self.corners)

    @property
    def top(self) -> float:
        return min(y for _, y in self.corners)

    @property
    def bottom(self) -> float:
        return max(y for _, y in self.corners)

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


def rows(spots: Sequence[Spot]) -> list[list[Spot]]:
    """Sort spots into rows from left to right, column by column where the page has columns of text.

    The lines of a page that lies a little askew are compared as if they were level: at four degrees the end of a line
    is beside the beginning of the next but one.
    """
    slant = _slant(spots)
    if abs(slant) < _LEVEL:
        return _sorted(spots)
    level = [replace(spot, corners=_turned(spot.corners, -slant)) for spot in spots]
    own = {id(turned): spot for turned, spot in zip(level, spots, strict=True)}
    return [[own[id(spot)] for spot in row] for row in _sorted(level)]


def _slant(spots: Sequence[Spot]) -> float:
    """Return the angle of most long lines, in radians; 0 where there are none."""
    angles = []
    for spot in spots:
        (ax, ay), (bx, by), _c, (dx, dy) = spot.corners
        wide, high = math.hypot(bx - ax, by - ay), math.hypot(dx - ax, dy - ay)
        if wide > _LONG * high and bx > ax:
            angles.append(math.atan2(by - ay, bx - ax))
    return statistics.median(angles) if angles else 0.0


def _turned(corners: Sequence[tuple[float, float]], angle: float) -> tuple[tuple[float, float], ...]:
    cos, sin = math.cos(angle), math.sin(angle)
    return tuple((x * cos - y * sin, x * sin + y * cos) for x, y in corners)


def _sorted(spots: Sequence[Spot]) -> list[list[Spot]]:
    if not spots:
        return []
    width = max(spot.right for spot in spots) - min(spot.left for spot in spots)
    out: list[list[Spot]] = []
    waiting: list[Spot] = []
    for spot in sorted(spots, key=lambda spot: spot.middle):
        # A line that spans the columns ends the block above it.
        if spot.right - spot.left > _WIDE * width:
            out += _columns(waiting, width)
            waiting = []
            if out and _same_row(out[-1][-1], spot):
                out[-1] = sorted([*out[-1], spot], key=lambda one: one.left)
            else:
                out.append([spot])
        elif out and not waiting and _same_row(out[-1][-1], spot):
            out[-1] = sorted([*out[-1], spot], key=lambda one: one.left)
        else:
            waiting.append(spot)
    return out + _columns(waiting, width)


def _columns(spots: list[Spot], width: float) -> list[list[Spot]]:
    cut = _gutter(spots, width)
    if cut is None:
        return _rows(spots)
    left, right = [s for s in spots if s.right <= cut], [s for s in spots if s.right > cut]
    return _columns(left, width) + _columns(right, width)


def _gutter(spots: list[Spot], width: float) -> float | None:
    """Return the x of an empty strip with at least three text-like lines on either side.

    Returns None where there is none.
    """
    if len(spots) < 6:
        return None
    ordered = sorted(spots, key=lambda spot: spot.left)
    reach = ordered[0].right
    for number, spot in enumerate(ordered[1:], start=1):
        sides = ordered[:number], ordered[number:]
        if spot.left > reach and all(_is_column(side, width) for side in sides):
            return reach
        reach = max(reach, spot.right)
    return None


def _is_column(spots: Sequence[Spot], width: float) -> bool:
    return len(spots) >= 3 and statistics.median(spot.right - spot.left for spot in spots) >= _TEXTLIKE * width


def _rows(spots: list[Spot]) -> list[list[Spot]]:
    out: list[list[Spot]] = []
    for spot in sorted(spots, key=lambda spot: spot.middle):
        if out and _same_row(out[-1][-1], spot):
            out[-1].append(spot)
        else:
            out.append([spot])
    return [sorted(row, key=lambda spot: spot.left) for row in out]


def _same_row(one: Spot, other: Spot) -> bool:
    overlap = min(one.bottom, other.bottom) - max(one.top, other.top)
    apart = other.left >= one.right - 2 or one.left >= other.right - 2
    return apart and overlap > 0.5 * min(one.bottom - one.top, other.bottom - other.top)


def page_of(rows: Sequence[Sequence[Spot]]) -> tuple[str, Words, float]:
    """Build a page from its rows in reading order: text, words with boxes and certainties, and mean certainty.

    A word that is broken at the end of a line is one word of the text, in two pieces with a box each.
    """
    parts: list[str] = []
    spans: list[tuple[int, int]] = []
    boxes: list[Rect] = []
    certainties: list[float] = []
    place = 0
    for number, row in enumerate(rows):
        joins = bool(number) and _is_broken(parts[-1] if parts else "", row[0].text)
        if joins:  # remove the hyphen from the text and from the previous piece
            parts[-1] = parts[-1][:-1]
            place -= 1
            spans[-1] = (spans[-1][0], place)
        elif number:
            parts.append("\n")
            place += 1
        for each, spot in enumerate(row):
            if each:
                parts.append(" ")
                place += 1
            for word, start, box in split(spot):
                spans.append((place + start, place + start + len(word)))
                boxes.append(box)
                certainties.append(spot.score)
            parts.append(spot.text)
            place += len(spot.text)
    return "".join(parts), Words.of(spans, boxes, certainties), certainty([spot for row in rows for spot in row])


def certainty(spots: Sequence[Spot]) -> float:
    """Return the mean certainty, weighted by length; 0 without spots."""
    return sum(spot.score * len(spot.text) for spot in spots) / max(1, sum(len(spot.text) for spot in spots))


def _is_broken(before: str, after: str) -> bool:
    return len(before) > 1 and before[-1] == "-" and before[-2].isalpha() and after[:1].islower()


def split(spot: Spot) -> list[tuple[str, int, Rect]]:
    """Split a line into words: text, place in the line, and x, y, w, h, estimated by letter widths where unknown."""
    ends = [0.0]
    for char in spot.text:
        ends.append(ends[-1] + letter_width(char))
    total = ends[-1] or 1.0
    out, at = [], 0
    words = spot.text.split()
    known = spot.words if len(spot.words) == len(words) else ()
    for number, word in enumerate(words):
        start = spot.text.index(word, at)
        at = start + len(word)
        box = known[number] if known else _strip(spot.corners, ends[start] / total, ends[at] / total)
        out.append((word, start, box))
    return out


def letter_width(char: str) -> float:
    """Return how wide a character is, in widths of a usual small letter."""
    if char in _NARROW:
        return 0.55
    if char in _BROAD:
        return 1.5
    if char.isspace():
        return 0.6
    return 1.25 if char.isupper() else 1.8 if char > "\u2e80" else 1.0


def _strip(corners: Sequence[tuple[float, float]], start: float, end: float) -> Rect:
    """Return the upright box around a part of a line that may be slanted."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = corners
    xs = [ax + (bx - ax) * at for at in (start, end)] + [dx + (cx - dx) * at for at in (start, end)]
    ys = [ay + (by - ay) * at for at in (start, end)] + [dy + (cy - dy) * at for at in (start, end)]
    return min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)
