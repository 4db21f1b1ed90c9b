"""The order in which the shapes of a slide are read."""

from __future__ import annotations

from collections.abc import Sequence

from docmind.reading.formats.pptx.styles import Box

_MOST = 150  # shapes; more are a drawing, and keep the order in which they were drawn
_OVERLAP = 0.15  # share of the smaller one by which two shapes may overlap and still stand apart
_DEEPEST = 40


def reading_order(boxes: Sequence[Box | None]) -> list[int]:
    """Return the numbers of shapes in the order of reading.

    `boxes` are in the order in which the shapes were drawn, which is the order of reading for most slides and screen
    readers. Shapes that stand clearly apart are read from top to bottom, by rows or by columns, whichever is nearer to
    the drawing; those that overlap stay in its order.
    """
    drawn = list(range(len(boxes)))
    placed = [box for box in boxes if box is not None]
    if len(placed) < len(boxes) or not 1 < len(boxes) <= _MOST:
        return drawn
    tried = [_cut(drawn, placed, (first, 1 - first), 0) for first in (1, 0)]
    return min(tried, key=_inversions)


def _cut(group: list[int], boxes: Sequence[Box], axes: tuple[int, int], depth: int) -> list[int]:
    """Order shapes by the gaps between them, along the first of two axes (0 for x, 1 for y) where it has one."""
    if len(group) == 1 or depth > _DEEPEST:
        return group
    for axis in axes:
        parts = _parts(group, boxes, axis)
        if len(parts) > 1:
            return [each for part in parts for each in _cut(part, boxes, axes, depth + 1)]
    return group


def _parts(group: list[int], boxes: Sequence[Box], axis: int) -> list[list[int]]:
    """Return shapes in groups between which no shape stands on an axis, each group in the order of drawing."""
    parts = list[list[int]]()
    end = 0.0
    for each in sorted(group, key=lambda at: (boxes[at][axis], at)):
        start, size = boxes[each][axis], max(boxes[each][axis + 2], 0.0)
        room = _OVERLAP * min(size, max((boxes[at][axis + 2] for at in parts[-1]), default=0.0)) if parts else 0.0
        if parts and start < end - room:
            parts[-1].append(each)
            end = max(end, start + size)
        else:
            parts.append([each])
            end = start + size
    return [sorted(part) for part in parts]


def _inversions(order: Sequence[int]) -> int:
    """Return how many pairs stand in another order than they were drawn in."""
    return sum(before > after for at, before in enumerate(order) for after in order[at + 1 :])
