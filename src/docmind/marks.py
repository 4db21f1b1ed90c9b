"""Highlighter strokes on a page image, drawn on the server, so that the evidence looks the same in every theme."""

from __future__ import annotations

import io
from collections.abc import Sequence

from PIL import Image, ImageChops, ImageDraw

from docmind.schema import Box

INK = (255, 222, 77)
EDGE = (214, 132, 0)
RIM = (205, 201, 192)
_READING = 0.64  # of a page image's pixels: print of 10 points is 12 to 13 pixels high then
_PAD = 0.12  # of a box's height, on every side: strokes reach a little beyond the letters


def marked(image: bytes, boxes: Sequence[Box], page_size: tuple[int, int], *, width: int = 0) -> bytes:
    """The page as JPEG with `boxes` (pixels of an image of `page_size`) highlighted; scaled down to `width`."""
    picture = _picture(image)
    if 0 < width < picture.width:
        picture = picture.resize(
            (width, max(1, round(picture.height * width / picture.width))), Image.Resampling.LANCZOS
        )
    picture = _mark(picture, _scaled(boxes, page_size, picture))
    return _jpeg(picture, _thumbnail_rim(picture) if width else 1)


def framed(image: bytes) -> bytes:
    """A thumbnail as JPEG, with an edge that parts it from a white ground."""
    picture = _picture(image)
    return _jpeg(picture, _thumbnail_rim(picture))


def _thumbnail_rim(picture: Image.Image) -> int:
    return max(1, picture.width // 120)  # thumbnails are shown at a fraction of their pixels


def strip(image: bytes, boxes: Sequence[Box], page_size: tuple[int, int]) -> bytes | None:
    """The part of the page that holds the boxes, with a little room around them; None without any."""
    picture = _picture(image)
    scaled = _scaled(boxes, page_size, picture)
    if not scaled:
        return None
    height = max(bottom - top for _, top, _, bottom in scaled)
    top = max(0, min(box[1] for box in scaled) - 1.6 * height)
    bottom = min(picture.height, max(box[3] for box in scaled) + 1.6 * height)
    bottom = min(bottom, top + 0.5 * picture.width)
    left = max(0, min(box[0] for box in scaled) - 2 * height)
    right = min(picture.width, max(box[2] for box in scaled) + 2 * height)
    if right - left < 0.5 * picture.width:  # short quotes keep their surroundings, and letters their size
        middle, half = (left + right) / 2, 0.25 * picture.width
        left = min(max(0, middle - half), picture.width - 2 * half)
        right = left + 2 * half
    picture = _mark(picture, scaled)
    return _jpeg(picture.crop((round(left), round(top), round(right), max(round(top) + 1, round(bottom)))))


def reading_width(image: bytes) -> int:
    """Pixels across at which the letters of a strip have the size of the text around it, whatever its length."""
    return round(_READING * Image.open(io.BytesIO(image)).width)


def _picture(image: bytes) -> Image.Image:
    return Image.open(io.BytesIO(image)).convert("RGB")


def _scaled(
    boxes: Sequence[Box], page_size: tuple[int, int], picture: Image.Image
) -> list[tuple[float, float, float, float]]:
    """Corners (left, top, right, bottom) in pixels of `picture`, padded and kept inside."""
    across, down = picture.width / max(1, page_size[0]), picture.height / max(1, page_size[1])
    corners = []
    for x, y, w, h in boxes:
        pad = _PAD * h * down
        left, right = max(0.0, x * across - pad), min(picture.width - 1.0, (x + w) * across + pad)
        top, bottom = max(0.0, y * down - pad), min(picture.height - 1.0, (y + h) * down + pad)
        if right > left and bottom > top:
            corners.append((left, top, right, bottom))
    return corners


def _mark(picture: Image.Image, corners: Sequence[tuple[float, float, float, float]]) -> Image.Image:
    if not corners:
        return picture
    ink = Image.new("RGB", picture.size, (255, 255, 255))
    brush = ImageDraw.Draw(ink)
    radius = max(1, picture.width // 400)
    for corner in corners:
        brush.rounded_rectangle(corner, radius, fill=INK)
    picture = ImageChops.multiply(picture, ink)  # like a marker pen: letters stay black
    brush = ImageDraw.Draw(picture)
    for corner in corners:
        brush.rounded_rectangle(corner, radius, outline=EDGE, width=max(1, picture.width // 700))
    return picture


def _jpeg(picture: Image.Image, rim: int = 1) -> bytes:
    corner = (0, 0, picture.width - 1, picture.height - 1)
    ImageDraw.Draw(picture).rectangle(corner, outline=RIM, width=rim)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=88)
    return out.getvalue()
