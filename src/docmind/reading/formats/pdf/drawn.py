"""What is drawn on a page of a PDF beside its text: pictures, and the lines and areas of charts and drawings."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pypdfium2.raw as pdfium

from docmind.reading.formats.pdf.native import native

_MOST = 20_000  # objects of a page that are looked at
_DEEPEST = 6  # forms within each other
_MOST_PICTURES = 400
_MOST_POINTS = 200  # of the path that a picture is clipped to
_WHOLE = 0.6  # of the page's area: a form that is the page rather than a drawing on it
_DRAWN = (pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_SHADING)

_count = native("FPDFPage_CountObjects", ctypes.c_int, ctypes.c_void_p)
_get = native("FPDFPage_GetObject", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
_count_inside = native("FPDFFormObj_CountObjects", ctypes.c_int, ctypes.c_void_p)
_get_inside = native("FPDFFormObj_GetObject", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulong)
_type = native("FPDFPageObj_GetType", ctypes.c_int, ctypes.c_void_p)
_bounds = native("FPDFPageObj_GetBounds", ctypes.c_int, ctypes.c_void_p, *[ctypes.c_void_p] * 4)
_length = native("FPDFImageObj_GetImageDataRaw", ctypes.c_ulong, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulong)
_matrix = native("FPDFPageObj_GetMatrix", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_draw_mode = native("FPDFPath_GetDrawMode", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_clip_of = native("FPDFPageObj_GetClipPath", ctypes.c_void_p, ctypes.c_void_p)
_clip_paths = native("FPDFClipPath_CountPaths", ctypes.c_int, ctypes.c_void_p)
_clip_points = native("FPDFClipPath_CountPathSegments", ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_clip_point = native("FPDFClipPath_GetPathSegment", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
_point = native("FPDFPathSegment_GetPoint", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_content_id = native("FPDFPageObj_GetMarkedContentID", ctypes.c_int, ctypes.c_void_p)
_filters = native("FPDFImageObj_GetImageFilterCount", ctypes.c_int, ctypes.c_void_p)
_filter = native(
    "FPDFImageObj_GetImageFilter", ctypes.c_ulong, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong
)
_pixels = native("FPDFImageObj_GetImagePixelSize", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


_Matrix = list[list[float]]
"""(3, 2), from the space of a page or form to pixels."""


class Area(NamedTuple):
    """A rectangle in pixels of the page image."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def size(self) -> float:
        return max(0.0, self.width) * max(0.0, self.height)

    def shared(self, other: Area) -> float:
        """Return how many pixels both have in common."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, wide) * max(0.0, high)

    def touches(self, other: Area, gap: float) -> bool:
        """Return whether two areas overlap, or are at most `gap` apart."""
        return (
            self.left <= other.right + gap
            and other.left <= self.right + gap
            and self.top <= other.bottom + gap
            and other.top <= self.bottom + gap
        )


def around(areas: Iterable[Area]) -> Area:
    """Return the smallest area that holds all of them, of which there is at least one."""
    lefts, tops, rights, bottoms = zip(*areas, strict=True)
    return Area(min(lefts), min(tops), max(rights), max(bottoms))


@dataclass(frozen=True, slots=True)
class DrawnPicture:
    """A picture: where it is seen, its own width and height in pixels, and the numbers of its marked content.

    `length` is that of its data in the file: with the pixels it tells pictures apart, without a look at them.
    `is_photo` tells that it is stored as JPEG, or as JPEG 2000.
    """

    area: Area
    pixels: tuple[int, int]
    length: int
    content: frozenset[int]
    is_photo: bool = False


@dataclass(slots=True)
class Drawn:
    """The pictures of a page, and the places of what else is drawn, where those were asked for."""

    pictures: list[DrawnPicture] = field(default_factory=list)
    shapes: list[Area] = field(default_factory=list)
    content: list[tuple[Area, int]] = field(default_factory=list)  # of shapes that have a number


def drawn_on(page: object, to_pixels: np.ndarray, size: tuple[int, int], *, with_shapes: bool) -> Drawn:
    """Return what is drawn on a page of this size in pixels; `to_pixels` (3, 2) is the matrix from its own space."""
    handle = ctypes.cast(page, ctypes.c_void_p).value  # pyright: ignore[reportArgumentType]
    found = Drawn()
    seen = _Walk(found, Area(0, 0, *size), with_shapes)
    seen.take(((_get(handle, at)) for at in range(min(_MOST, _count(handle)))), to_pixels.tolist(), 0)
    return found


class _Walk:
    def __init__(self, found: Drawn, sheet: Area, with_shapes: bool) -> None:
        self._found, self._sheet, self._with_shapes = found, sheet, with_shapes
        self._left = _MOST
        self._numbers = np.zeros(6, dtype=np.float32)
        self._at = [self._numbers.ctypes.data + 4 * place for place in range(6)]

    def take(self, items: Iterator[int], to_pixels: _Matrix, depth: int) -> None:
        """Take the objects of a page or form, whose matrix to pixels is (3, 2)."""
        for item in items:
            self._left -= 1
            if self._left < 0:
                return
            kind = _type(item)
            if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
                self._picture(item, to_pixels)
            elif kind == pdfium.FPDF_PAGEOBJ_FORM:
                self._form(item, to_pixels, depth)
            elif self._with_shapes and kind in _DRAWN:
                self._shape(item, kind, to_pixels)

    def _picture(self, item: int, to_pixels: _Matrix) -> None:
        area = self._area(item, to_pixels)
        if area is None or len(self._found.pictures) >= _MOST_PICTURES:
            return
        clip = self._clip(item, to_pixels)
        if clip is not None:
            area = _common(area, clip)
        area = _common(area, self._sheet)
        if area.width < 1 or area.height < 1:
            return
        sides = np.zeros(2, dtype=np.uint32)
        _pixels(item, sides.ctypes.data, sides.ctypes.data + 4)
        number = _content_id(item)
        content = frozenset((number,)) if number >= 0 else frozenset[int]()
        length = _length(item, None, 0)
        picture = DrawnPicture(area, (int(sides[0]), int(sides[1])), length, content, _is_photo(item))
        self._found.pictures.append(picture)

    def _form(self, item: int, to_pixels: _Matrix, depth: int) -> None:
        area = self._area(item, to_pixels)
        before = len(self._found.pictures)
        if depth < _DEEPEST and _matrix(item, self._at[0]):
            a, b, c, d, e, f = self._numbers.tolist()
            own = np.array([[a, b, 0.0], [c, d, 0.0], [e, f, 1.0]])
            inside = (_get_inside(item, at) for at in range(max(0, min(self._left, _count_inside(item)))))
            self.take(inside, (own @ np.asarray(to_pixels)).tolist(), depth + 1)
        number = _content_id(item)
        if area is not None and number >= 0:
            area = _common(area, self._sheet)
            self._found.content.append((area, number))
            inner = self._found.pictures[before:]
            self._found.pictures[before:] = [replace(each, content=each.content | {number}) for each in inner]

    def _shape(self, item: int, kind: int, to_pixels: _Matrix) -> None:
        if kind == pdfium.FPDF_PAGEOBJ_PATH:
            modes = np.zeros(2, dtype=np.int32)
            if _draw_mode(item, modes.ctypes.data, modes.ctypes.data + 4) and not modes.any():
                return  # a path that only clips
        area = self._area(item, to_pixels)
        if area is None:
            return
        area = _common(area, self._sheet)
        if area.width >= 0 and area.height >= 0 and area.size < _WHOLE * self._sheet.size:
            self._found.shapes.append(area)

    def _area(self, item: int, to_pixels: _Matrix) -> Area | None:
        if not _bounds(item, *self._at[:4]):
            return None
        left, bottom, right, top = self._numbers[:4].tolist()
        return _placed(((left, bottom), (right, top), (left, top), (right, bottom)), to_pixels)

    def _clip(self, item: int, to_pixels: _Matrix) -> Area | None:
        """Return the area to which an object is clipped; None where it is not."""
        clip = _clip_of(item)
        found: Area | None = None
        for number in range(min(20, max(0, _clip_paths(clip)))) if clip else ():
            points: list[tuple[float, float]] = []
            for at in range(min(_MOST_POINTS, max(0, _clip_points(clip, number)))):
                segment = _clip_point(clip, number, at)
                if segment and _point(segment, self._at[0], self._at[1]):
                    points.append((float(self._numbers[0]), float(self._numbers[1])))
            if points:
                area = _placed(points, to_pixels)
                found = area if found is None else _common(found, area)
        return found


def _placed(points: Sequence[tuple[float, float]], to_pixels: _Matrix) -> Area:
    (a, b), (c, d), (e, f) = to_pixels
    across = [a * x + c * y + e for x, y in points]
    down = [b * x + d * y + f for x, y in points]
    return Area(min(across), min(down), max(across), max(down))


def _common(one: Area, other: Area) -> Area:
    return Area(
        max(one.left, other.left),
        max(one.top, other.top),
        min(one.right, other.right),
        min(one.bottom, other.bottom),
    )


def _is_photo(item: int) -> bool:
    """Return whether the data of a picture are packed as JPEG or JPEG 2000."""
    count = _filters(item)
    name = ctypes.create_string_buffer(32)
    if count <= 0 or _filter(item, count - 1, ctypes.addressof(name), len(name)) > len(name):
        return False
    return name.value in (b"DCTDecode", b"JPXDecode", b"DCT")
