"""Highlights and outlines on page images, drawn on the server so that they look the same in every theme."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence

from PIL import Image, ImageChops, ImageDraw, ImageFont

from docmind.records.documents import Box
from docmind.records.search import Quad

INK = (255, 222, 77)
RIM = (205, 201, 192)
LINE = (13, 122, 122)
_SHADE = (224, 228, 229)  # what lies outside of an outline is darkened by this factor
_COMPARED = 1_000  # pixels: the least width of a page on which changes are marked
_TALLEST = 6_000  # pixels: to which a page is made larger for that, however slim it is
_FINE = 2  # an outline is drawn this many times larger, which smooths slanted lines
_FAR = 1e6  # pixels: no photograph extends this far beyond its page
_QUALITY = 88  # of a JPEG
_SLIM = 1.5  # pixels: a clipped outline thinner than this is not visible

_Point = tuple[float, float]
_CHANGES = {
    "added": ((190, 235, 190), (24, 110, 48), "+"),
    "removed": ((250, 200, 200), (170, 28, 36), "-"),
    "changed": ((255, 226, 160), (140, 84, 0), "~"),
    "moved": ((200, 220, 250), (28, 78, 160), ">"),
}
"""The tint of the text, the colour of its lines, and the sign of each kind of change."""

_READING = 0.64  # of a page image's pixels: print of 10 points is 12 to 13 pixels high then
_PAD = 0.12  # of a line's height, at its ends: strokes extend a little beyond the letters, and not into other lines


def marked(image: bytes, boxes: Sequence[Box | Quad], page_size: tuple[int, int], *, width: int = 0) -> bytes:
    """Return the page as JPEG with `boxes` highlighted, scaled down to `width` (0: not scaled).

    `boxes`, or the four corners of lines that are not level, are in pixels of an image of `page_size`.
    """
    picture = _sized(_picture(image), width)
    picture = _mark(picture, _scaled(boxes, page_size, picture))
    return _jpeg(picture, _thumbnail_rim(picture) if width else 1)


def outlined(image: bytes, quad: Quad, page_size: tuple[int, int], *, width: int = 0) -> bytes:
    """Return the page as JPEG with `quad` outlined, scaled down to `width` (0: not scaled).

    `quad` is in pixels of an image of `page_size`. Parts of the outline beyond the page are clipped, as for a
    photograph that also shows the table below the page.
    """
    picture = _sized(_picture(image), width)
    rim = _thumbnail_rim(picture) if width else 1
    thick = max(2.5, picture.width / (150 if width else 220))
    across, down = picture.width / max(1, page_size[0]), picture.height / max(1, page_size[1])
    corners = [(x * across, y * down) for x, y in quad]
    inset = rim + thick / 2
    corners = _clipped(corners, (inset, inset, picture.width - 1 - inset, picture.height - 1 - inset))
    return _jpeg(_outline(picture, corners, thick) if corners else picture, rim)


def compared(image: bytes, marks: Sequence[tuple[str, int, bool, Sequence[Box]]], page_size: tuple[int, int]) -> bytes:
    """Return the page as JPEG with changes marked: (kind, number, whether it stands out, boxes) of each.

    A kind has a colour, and a sign that stands with the number in the margin: + added, - removed, ~ changed, > moved.
    What stands out is framed; the others are underlined. Boxes are in pixels of an image of `page_size`.
    """
    picture = _picture(image)
    larger = min(_COMPARED / picture.width, _TALLEST / picture.height)
    if larger > 1:  # labels need room
        size = round(picture.width * larger), round(picture.height * larger)
        picture = picture.resize(size, Image.Resampling.BICUBIC)
    ink = Image.new("RGB", picture.size, (255, 255, 255))
    brush = ImageDraw.Draw(ink)
    scaled = [_scaled(boxes, page_size, picture) for _kind, _number, _is_shown, boxes in marks]
    for (kind, _number, is_shown, _boxes), corners in zip(marks, scaled, strict=True):
        tint = _CHANGES[kind][0]
        for polygon in corners:
            brush.polygon(polygon, fill=tint if is_shown else _paler(tint))
    picture = ImageChops.multiply(picture, ink)
    brush = ImageDraw.Draw(picture)
    thick, font = max(2, picture.width // 400), ImageFont.load_default(max(12, picture.width // 42))
    labels: list[tuple[float, float, float, float]] = []
    for (kind, number, is_shown, _boxes), corners in zip(marks, scaled, strict=True):
        _tint, line, sign = _CHANGES[kind]
        for one in corners:
            brush.line([*one, one[0]] if is_shown else [one[3], one[2]], fill=line, width=thick)
        if corners:
            labels.append(_label(brush, f"{sign}{number}", corners[0][0][1], font, line, labels))
    return _jpeg(picture)


def _paler(tint: tuple[int, int, int]) -> tuple[int, int, int]:
    red, green, blue = ((one + 255) // 2 for one in tint)
    return red, green, blue


def _label(
    brush: ImageDraw.ImageDraw,
    text: str,
    y: float,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    colour: tuple[int, int, int],
    others: Sequence[tuple[float, float, float, float]],
) -> tuple[float, float, float, float]:
    """Write a label at the left edge of a line, after those that stand there, and return its rectangle."""
    left, top, right, bottom = brush.textbbox((0, 0), text, font=font)
    wide, high = right - left + 6, bottom - top + 6
    x = 2.0
    for first, above, last, below in others:
        if above < y + high and y < below and first < x + wide and x < last:
            x = last + 2
    brush.rectangle((x, y, x + wide, y + high), fill=colour)
    brush.text((x + 3 - left, y + 3 - top), text, fill=(255, 255, 255), font=font)
    return x, y, x + wide, y + high


def reduced(image: bytes, side: int) -> tuple[bytes, tuple[int, int]]:
    """Return the page as JPEG, `side` pixels or less on its longer side, and its width and height in pixels.

    Nothing is drawn on it, and it holds no metadata.
    """
    picture = _picture(image)
    longer = max(picture.size)
    if longer > side:
        width, height = (max(1, round(length * side / longer)) for length in picture.size)
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue(), picture.size


def framed(image: bytes) -> bytes:
    """Return a thumbnail as JPEG, with a border that separates it from a white background."""
    picture = _picture(image)
    return _jpeg(picture, _thumbnail_rim(picture))


def _thumbnail_rim(picture: Image.Image) -> int:
    return max(1, picture.width // 120)  # thumbnails are shown at a fraction of their pixels


def strip(image: bytes, boxes: Sequence[Box | Quad], page_size: tuple[int, int]) -> bytes | None:
    """Return the part of the page that holds the boxes as JPEG, with a small margin.

    Returns None without boxes.
    """
    picture = _picture(image)
    scaled = _scaled(boxes, page_size, picture)
    if not scaled:
        return None
    height = max(math.dist(corners[0], corners[3]) for corners in scaled)
    xs, ys = ([corner[axis] for corners in scaled for corner in corners] for axis in (0, 1))
    top = max(0, min(ys) - 1.6 * height)
    bottom = min(picture.height, max(ys) + 1.6 * height)
    bottom = min(bottom, top + 0.5 * picture.width)
    left = max(0, min(xs) - 2 * height)
    right = min(picture.width, max(xs) + 2 * height)
    if right - left < 0.5 * picture.width:  # short quotes keep their surroundings, and letters their size
        middle, half = (left + right) / 2, 0.25 * picture.width
        left = min(max(0, middle - half), picture.width - 2 * half)
        right = left + 2 * half
    picture = _mark(picture, scaled)
    return _jpeg(picture.crop((round(left), round(top), round(right), max(round(top) + 1, round(bottom)))))


def reading_width(image: bytes) -> int:
    """Return the width in pixels at which a strip's letters have the size of the surrounding text."""
    return round(_READING * Image.open(io.BytesIO(image)).width)


def _picture(image: bytes) -> Image.Image:
    return Image.open(io.BytesIO(image)).convert("RGB")


def _sized(picture: Image.Image, width: int) -> Image.Image:
    if not 0 < width < picture.width:
        return picture
    return picture.resize((width, max(1, round(picture.height * width / picture.width))), Image.Resampling.LANCZOS)


def _scaled(
    boxes: Sequence[Box | Quad], page_size: tuple[int, int], picture: Image.Image
) -> list[tuple[_Point, _Point, _Point, _Point]]:
    """Return the corners of lines in pixels of `picture`, clockwise from the top left, kept inside it."""
    across, down = picture.width / max(1, page_size[0]), picture.height / max(1, page_size[1])
    lines = []
    for box in boxes:
        points = [(x * across, y * down) for x, y in _corners(box)]
        wide, high = math.dist(points[0], points[1]), math.dist(points[0], points[3])
        if not (math.isfinite(wide * high) and wide * high > 0):
            continue
        (left, top), (right, fallen) = points[0], points[1]
        pad = (_PAD * high * (right - left) / wide, _PAD * high * (fallen - top) / wide)
        points = [(x + sign * pad[0], y + sign * pad[1]) for (x, y), sign in zip(points, (-1, 1, 1, -1), strict=True)]
        kept = [(min(max(0.0, x), picture.width - 1.0), min(max(0.0, y), picture.height - 1.0)) for x, y in points]
        if len({x for x, _ in kept}) > 1 and len({y for _, y in kept}) > 1:
            lines.append(tuple(kept))
    return lines


def _corners(box: Box | Quad) -> Sequence[_Point]:
    if not isinstance(box, Box):
        return box
    x, y, w, h = box
    return ((x, y), (x + w, y), (x + w, y + h), (x, y + h)) if w > 0 and h > 0 else ((0, 0),) * 4


def _mark(picture: Image.Image, lines: Sequence[tuple[_Point, _Point, _Point, _Point]]) -> Image.Image:
    if not lines:
        return picture
    ink = Image.new("RGB", picture.size, (255, 255, 255))
    brush = ImageDraw.Draw(ink)
    for corners in lines:
        brush.polygon(corners, fill=INK)
    return ImageChops.multiply(picture, ink)  # like a marker pen: letters stay black


def _clipped(corners: Sequence[_Point], frame: tuple[float, float, float, float]) -> list[_Point]:
    """Clip a polygon to the frame (Sutherland and Hodgman); empty where nothing visible remains."""
    polygon = [corner for corner in corners if all(abs(value) < _FAR for value in corner)]  # False for NaN
    if len(polygon) != len(corners):
        return []
    left, top, right, bottom = frame
    for axis, edge, side in ((0, left, 1), (1, top, 1), (0, right, -1), (1, bottom, -1)):
        kept: list[_Point] = []
        for here, there in zip(polygon, polygon[1:] + polygon[:1], strict=True):
            is_in, follows = side * (here[axis] - edge) >= 0, side * (there[axis] - edge) >= 0
            if is_in:
                kept.append(here)
            if is_in != follows:
                part = (edge - here[axis]) / (there[axis] - here[axis])
                kept.append((here[0] + part * (there[0] - here[0]), here[1] + part * (there[1] - here[1])))
        polygon = kept
    if not polygon:
        return []
    xs, ys = zip(*polygon, strict=True)
    return polygon if min(max(xs) - min(xs), max(ys) - min(ys)) >= _SLIM else []


def _outline(picture: Image.Image, corners: Sequence[_Point], thick: float) -> Image.Image:
    """Draw the outline in the app's colour with a white border, visible on dark pictures.

    The picture outside of it is shaded.
    """
    fine = [(x * _FINE, y * _FINE) for x, y in corners]
    inside = _mask(picture, lambda brush: brush.polygon(fine, fill=255))
    shaded = ImageChops.multiply(picture, Image.new("RGB", picture.size, _SHADE))
    picture = Image.composite(picture, shaded, inside)
    for colour, wide in (((255, 255, 255), 1.6 * thick), (LINE, thick)):
        across = max(1, round(wide * _FINE))
        stroke = _mask(picture, lambda brush, across=across: _stroke(brush, fine, across))
        picture.paste(colour, mask=stroke)
    return picture


def _stroke(brush: ImageDraw.ImageDraw, corners: Sequence[_Point], across: int) -> None:
    brush.line([*corners, corners[0], corners[1]], fill=255, width=across, joint="curve")


def _mask(picture: Image.Image, draw: Callable[[ImageDraw.ImageDraw], None]) -> Image.Image:
    mask = Image.new("L", (picture.width * _FINE, picture.height * _FINE))
    draw(ImageDraw.Draw(mask))
    return mask.reduce(_FINE)


def _jpeg(picture: Image.Image, rim: int = 1) -> bytes:
    corner = (0, 0, picture.width - 1, picture.height - 1)
    ImageDraw.Draw(picture).rectangle(corner, outline=RIM, width=rim)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()
