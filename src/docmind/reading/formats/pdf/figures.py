"""The figures of a page of a PDF: its pictures, and what is drawn above or below a caption.

A picture is one image or several that touch each other. A chart of lines and areas is known by its caption ("Figure
2: …"): what is drawn next to that, up to the next text of the page, is the figure, with the words that stand in it.
The figure that is kept is cut from the page image, which has been drawn anyway.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from docmind.blocks import Losses, PageBlock
from docmind.reading.figures import MOST_OF_PAGE
from docmind.reading.formats.figures import encode
from docmind.reading.formats.pdf.alternatives import alternatives
from docmind.reading.formats.pdf.drawn import Area, Drawn, DrawnPicture, around, drawn_on
from docmind.reading.formats.pdf.layer import Layer
from docmind.reading.formats.pdf.lines import Lines
from docmind.records.documents import FigureKind, PageFigure

_OF_FIGURE = re.compile(r"(?:fig|abb|chart|gráfico|plate|photo|foto)", re.IGNORECASE)
_SMALLEST, _SMALLEST_SHARE = 60, 0.01  # pixels of a side, and share of the page, of a picture without a caption
_SMALLEST_CAPTIONED = 40  # pixels of a side
_WHOLE = 0.85  # share of the page: a picture that is the page
_OF_SCAN = 0.25  # of a page whose text is on its pictures: a larger one is a part of the scan
_TILE_GAP = 3  # pixels between pictures that are one
_MOST_TILES = 150  # beyond which pictures are a page drawn in pieces
_PAGES = 2  # before: an ornament stands there too
_EDGE, _EDGE_SHARE = 0.1, 0.04  # of the page's height, and share of the page: a logo in its head or foot
_FIRST_GAP, _GAP = 0.06, 0.035  # of the page's height, from the caption to the figure, and within it
_RUNNING_LETTERS, _RUNNING_WIDTH = 25, 0.55  # of a line of running text: letters, and share of the usual width
_FILLED = 0.5  # of the width of such a line by its letters, each half as wide as the line is high: no row of labels
_BEHIND_WORDS = 0.4  # share of the words of a page that stand on a picture which is a background
_BESIDE = frozenset(("caption", "header", "footer", "footnote"))
_MOSTLY = 0.5  # of the area of a figure: with pictures on more of it, it is no drawing
_MARGIN = 5  # pixels around a figure that is cut out


@dataclass(frozen=True, slots=True)
class _Caption:
    area: Area
    text: str
    start: int
    end: int


@dataclass(slots=True)
class _Found:
    """A figure: its place, its own size where it is one picture, its caption, and the numbers of its content."""

    area: Area
    pixels: tuple[int, int] | None = None
    caption: _Caption | None = None
    content: frozenset[int] = frozenset()
    kind: FigureKind = "drawing"


class Figures:
    """The figures of the pages of a document, page by page in order: an ornament repeats that of the pages before."""

    def __init__(self) -> None:
        self._before: deque[set[tuple[int, ...]]] = deque(maxlen=_PAGES)

    def of(
        self, page: object, image: Image.Image, layer: Layer, lines: Lines, blocks: Sequence[PageBlock],
        to_pixels: np.ndarray, losses: Losses, place: str, *, is_scan: bool,
    ) -> tuple[PageFigure, ...]:  # fmt: skip
        """Return the figures of a loaded page that was drawn as `image`, from top to bottom.

        Of a page that `is_scan` the large pictures are what OCR reads, and no figures.
        """
        captions = list(_captions(layer, blocks))
        drawn = drawn_on(page, to_pixels, image.size, with_shapes=bool(captions))
        if not drawn.pictures and not captions:
            self._before.append(set())
            return ()
        sheet = Area(0, 0, *image.size)
        found = _captioned(drawn, lines, blocks, captions, sheet) if captions else []
        most = _OF_SCAN if is_scan else _WHOLE
        pictures = [each for each in drawn.pictures if each.area.size <= most * sheet.size]
        found += self._pictures(pictures, [each.area for each in found], captions, layer, sheet, most)
        found.sort(key=lambda each: (each.area.top, each.area.left))
        if len(found) > MOST_OF_PAGE:
            losses.note("picture", place, len(found) - MOST_OF_PAGE)
            del found[MOST_OF_PAGE:]
        said = alternatives(page) if found else []
        return tuple(_figure(each, image, _alternative(each, drawn, said, len(found)), layer.text) for each in found)

    def _pictures(
        self, pictures: list[DrawnPicture], taken: list[Area], captions: Sequence[_Caption], layer: Layer, sheet: Area,
        most: float,
    ) -> list[_Found]:  # fmt: skip
        """Return the pictures that are no part of a figure with a caption, and no ornament or background."""
        keys = {_key(each) for each in pictures}
        repeated = set[tuple[int, ...]]().union(*self._before) & keys
        self._before.append(keys)
        if len(pictures) > _MOST_TILES:
            return []
        used = {id(each) for each in captions if any(_is_beside(area, each, sheet) for area in taken)}
        alone = [each for each in pictures if _key(each) not in repeated]
        found: list[_Found] = []
        for tiles in _together(alone):
            area = around(each.area for each in tiles)
            if any(area.shared(other) > 0.3 * area.size for other in taken) or not _is_picture(
                area, layer, sheet, most
            ):
                continue
            free = [each for each in captions if id(each) not in used and _is_beside(area, each, sheet)]
            caption = min(free, key=lambda each: _distance(area, each.area), default=None)
            if caption is None and _is_at_edge(area, sheet):
                continue
            used |= {id(caption)} if caption is not None else set()
            content = frozenset[int]().union(*(each.content for each in tiles))
            pixels = tiles[0].pixels if len(tiles) == 1 else None
            found.append(_Found(area, pixels, caption, content, _kind(tiles)))
        return found


def _captions(layer: Layer, blocks: Sequence[PageBlock]) -> Iterator[_Caption]:
    words = layer.words
    for block in blocks:
        if block.kind != "caption" or not _OF_FIGURE.match(layer.text, block.start):
            continue
        inside = (words.starts >= block.start) & (words.ends <= block.end) & (words.boxes[:, 2] > 0)
        boxes = words.boxes[inside]
        if len(boxes):
            low, high = boxes[:, :2].min(axis=0), (boxes[:, :2] + boxes[:, 2:]).max(axis=0)
            area = Area(float(low[0]), float(low[1]), float(high[0]), float(high[1]))
            text = " ".join(layer.text[block.start : block.end].split())
            yield _Caption(area, text, block.start, block.end)


# Pictures


def _key(picture: DrawnPicture) -> tuple[int, ...]:
    """Return what is the same for one picture on several pages."""
    return (*picture.pixels, picture.length)


def _together(pictures: Sequence[DrawnPicture]) -> list[list[DrawnPicture]]:
    """Return pictures in groups of those that touch each other."""
    groups: list[list[DrawnPicture]] = []
    for picture in pictures:
        near = [group for group in groups if any(each.area.touches(picture.area, _TILE_GAP) for each in group)]
        groups = [group for group in groups if group not in near]
        groups.append([picture, *(each for group in near for each in group)])
    return groups


def _is_picture(area: Area, layer: Layer, sheet: Area, most: float) -> bool:
    share = area.size / sheet.size
    if min(area.width, area.height) < _SMALLEST or not _SMALLEST_SHARE <= share <= most:
        return False
    boxes = layer.words.boxes
    if share < _BEHIND_WORDS or len(boxes) < 20:
        return True
    middle = boxes[:, :2] + boxes[:, 2:] / 2
    inside = (middle >= (area.left, area.top)) & (middle <= (area.right, area.bottom))
    return float(inside.all(axis=1).mean()) < _BEHIND_WORDS


def _is_at_edge(area: Area, sheet: Area) -> bool:
    is_outer = area.bottom < _EDGE * sheet.height or area.top > (1 - _EDGE) * sheet.height
    return is_outer and area.size < _EDGE_SHARE * sheet.size


def _is_beside(area: Area, caption: _Caption, sheet: Area) -> bool:
    """Return whether a caption stands next to an area: below, above, or on its left or right."""
    across, down = _gaps(area, caption.area)
    gap = _FIRST_GAP * sheet.height
    return (across <= 0 and down <= gap) or (down <= 0 and across <= gap)


def _gaps(one: Area, other: Area) -> tuple[float, float]:
    return max(one.left, other.left) - min(one.right, other.right), max(one.top, other.top) - min(
        one.bottom, other.bottom
    )


def _distance(area: Area, caption: Area) -> float:
    """Return how far a caption is from a picture; one below is nearer than one above, and that than one beside."""
    across, down = _gaps(area, caption)
    rank = 0.0 if caption.top >= area.bottom - 2 else 10.0 if caption.bottom <= area.top + 2 else 20.0
    return max(across, 0.0) + max(down, 0.0) + rank


def _kind(pictures: Sequence[DrawnPicture]) -> FigureKind:
    return "photo" if all(each.is_photo for each in pictures) else "graphic"


# What is drawn beside a caption


def _captioned(
    drawn: Drawn, lines: Lines, blocks: Sequence[PageBlock], captions: Sequence[_Caption], sheet: Area
) -> list[_Found]:
    """Return the figures that are known by their captions."""
    shapes = [*drawn.shapes, *(each.area for each in drawn.pictures if each.area.size < _WHOLE * sheet.size)]
    text = _Text(lines, blocks, shapes, sheet)
    above = [text.figure(shapes, each, captions, is_above=True) for each in captions]
    below = [text.figure(shapes, each, captions, is_above=False) for each in captions]
    is_below = sum(each is not None for each in below) > sum(each is not None for each in above)
    found: list[_Found] = []
    for caption, *ways in zip(captions, above, below, strict=True):
        area = next((each for each in (ways[::-1] if is_below else ways) if each is not None), None)
        if area is None or any(area.shared(each.area) > 0.1 * area.size for each in found):
            continue
        inside = [each for each in drawn.pictures if each.area.shared(area) > 0.7 * each.area.size]
        content = frozenset[int]().union(*(each.content for each in inside))
        is_one = len(inside) == 1 and inside[0].area.size > 0.8 * area.size
        covered = sum(each.area.size for each in inside) > _MOSTLY * area.size
        kind = _kind(inside) if covered else "drawing"
        found.append(_Found(area, inside[0].pixels if is_one else None, caption, content, kind))
    return found


class _Text:
    """The lines of a page, told apart into running text, at which a figure ends, and words that may stand in one."""

    def __init__(self, lines: Lines, blocks: Sequence[PageBlock], shapes: Sequence[Area], sheet: Area) -> None:
        self._sheet = sheet
        every = [Area(*sides) for sides in zip(lines.lefts, lines.tops, lines.rights, lines.bottoms, strict=True)]
        self._columns = _columns(every, sheet)
        letters = [end - start for start, end in zip(lines.starts, lines.ends, strict=True)]
        beside = sorted((block.start, block.end) for block in blocks if block.kind in _BESIDE)
        self.running: list[Area] = []
        self.labels: list[Area] = []
        frames = [each for each in shapes if each.height > 20 and each.width > 40]
        are_long = [
            count >= _RUNNING_LETTERS and 0.5 * count * area.height >= _FILLED * area.width
            for area, count in zip(every, letters, strict=True)
        ]
        long = [area for area, is_long in zip(every, are_long, strict=True) if is_long]
        widths = dict[tuple[float, float], list[float]]()
        for area in long:
            widths.setdefault(self.column(area), []).append(area.width)
        usual = {column: sorted(those)[len(those) * 3 // 4] for column, those in widths.items()}
        for area, start, is_long in zip(every, lines.starts, are_long, strict=True):
            is_wide = is_long and area.width >= _RUNNING_WIDTH * usual[self.column(area)]
            at = bisect_right(beside, (start, sys.maxsize)) - 1
            is_text = at >= 0 and beside[at][0] <= start < beside[at][1]
            is_running = is_text or (is_wide and not any(area.shared(frame) > 0.9 * area.size for frame in frames))
            (self.running if is_running else self.labels).append(area)
        wide = [each for each in self.running if each.width > 0.2 * sheet.width]
        self._edges = (
            (min(each.left for each in wide), max(each.right for each in wide)) if wide else (0.0, sheet.right)
        )

    def column(self, area: Area) -> tuple[float, float]:
        """Return left and right of the column in which an area stands, of the page where it reaches over several."""
        inside = (each for each in self._columns if each[0] - 4 <= area.left and area.right <= each[1] + 4)
        return next(inside, (0.0, self._sheet.right))

    def _may_stand(self, label: Area, left: float, right: float) -> bool:
        """Return whether words may stand in a figure between two edges: not those on the margin of the page."""
        left, right = max(left, self._edges[0]) - 12, min(right, self._edges[1]) + 12
        return left < (label.left + label.right) / 2 < right and label.width <= 1.2 * (right - left)

    def figure(
        self, shapes: Sequence[Area], caption: _Caption, captions: Sequence[_Caption], *, is_above: bool
    ) -> Area | None:
        """Return the area of what is drawn right above or below a caption; None where nothing is."""
        left, right = self.column(caption.area)
        turn = _same if is_above else _upside_down
        start = turn(caption.area)
        stops = [turn(each) for each in self.running if each.right > left and each.left < right]
        stops += [turn(each.area) for each in captions if each is not caption]
        stops = [each for each in stops if each.bottom <= start.top + 4]
        here = [turn(each) for each in shapes if each.left >= left - 12 and each.right <= right + 12]
        labels = [turn(each) for each in self.labels if self._may_stand(each, left, right)]
        taken: list[Area] = []
        reached, gap = start.top, _FIRST_GAP * self._sheet.height
        pieces = sorted([(each, True) for each in here] + [(each, False) for each in labels], key=_from_below)
        for each, is_drawn in pieces:
            if each.bottom > start.top + 4:
                continue
            if reached - each.bottom > gap:
                break
            if any(stop.bottom > each.top + 2 for stop in stops):
                continue
            reached = min(reached, each.top)
            gap = _GAP * self._sheet.height
            if is_drawn:
                taken.append(each)
        if not taken:
            return None
        area = around(taken)
        area = around([area, *(each for each in labels if _is_in(each, area, start))])
        is_seen = min(area.width, area.height) >= _SMALLEST_CAPTIONED and area.size < _WHOLE * self._sheet.size
        return turn(area) if is_seen else None


def _from_below(piece: tuple[Area, bool]) -> float:
    return -piece[0].bottom


def _is_in(label: Area, figure: Area, caption: Area) -> bool:
    """Return whether a label belongs to a figure: beside it, between it and its caption, or right above it."""
    if label.bottom > caption.top + 4:
        return False
    is_beside = label.top < figure.bottom and label.bottom > figure.top
    is_between = figure.bottom <= label.bottom and label.bottom <= caption.top + 4
    is_right_above = 0 <= figure.top - label.bottom < 0.7 * label.height
    middle = (label.left + label.right) / 2
    return is_beside or ((is_between or is_right_above) and figure.left - 40 < middle < figure.right + 40)


def _same(area: Area) -> Area:
    return area


def _upside_down(area: Area) -> Area:
    return Area(area.left, -area.bottom, area.right, -area.top)


def _columns(lines: Sequence[Area], sheet: Area) -> list[tuple[float, float]]:
    """Return left and right of the two columns of a page, which meet between them; none where it has not two."""
    middle = sheet.width / 2
    wide = [each for each in lines if each.width > 0.25 * sheet.width]
    left = [each for each in wide if each.right < middle + 0.02 * sheet.width]
    right = [each for each in wide if each.left > middle - 0.02 * sheet.width]
    if min(len(left), len(right)) < 4 or len(wide) - len(left) - len(right) > len(left) + len(right):
        return []
    gutter = (max(each.right for each in left) + min(each.left for each in right)) / 2
    return [(0.0, gutter), (gutter, sheet.right)]


# What is kept


def _alternative(found: _Found, drawn: Drawn, said: Sequence[tuple[str, frozenset[int]]], count: int) -> str:
    """Return what is said of a figure in words, by the numbers of its content; of as many as are said, by order."""
    inside = {number for area, number in drawn.content if area.shared(found.area) > 0.7 * area.size > 0}
    mine = found.content | inside
    by_number = (text for text, numbers in said if numbers & mine)
    if (text := next(by_number, "")) or len(said) != 1 or count != 1 or said[0][1]:
        return text
    return said[0][0]


def _figure(found: _Found, image: Image.Image, said: str, text: str) -> PageFigure:
    left, top = (max(0, round(side) - _MARGIN) for side in found.area[:2])
    right, bottom = (min(most, round(side) + _MARGIN) for side, most in zip(found.area[2:], image.size, strict=True))
    box = (left, top, max(1, right - left), max(1, bottom - top))
    cut = image.crop((left, top, left + box[2], top + box[3])).convert("RGB")
    caption = found.caption
    return PageFigure(
        box=box,
        size=found.pixels if found.pixels is not None and min(found.pixels) > 0 else (box[2], box[3]),
        text=said,
        caption=caption.text if caption is not None else "",
        start=caption.start if caption is not None else 0,
        end=caption.end if caption is not None else 0,
        image=encode(cut),
        kind=found.kind,
    )
