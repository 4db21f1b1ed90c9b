"""Printed pages for tests of image matching, and photographs of them as people take them."""

from __future__ import annotations

import io
import random

import cv2
import numpy as np
from PIL import Image, ImageDraw

from docmind.reading.formats.typeset import font

SIZE = 1_131, 1_600
Corners = list[tuple[float, float]]


def sheet(seed: int, *, lines: int = 40, template: int | None = None) -> Image.Image:
    """Return a page of meaningless words; pages with the same `template` share their upper third."""
    image = Image.new("RGB", SIZE, "white")
    pen = ImageDraw.Draw(image)
    for number in range(lines):
        source = random.Random(template * 1_000 + number if template and number < lines // 3 else seed * 7_919 + number)
        words = " ".join(_word(source) for _ in range(source.randint(6, 12)))
        pen.text((100, 90 + number * 35), words[:80], fill="black", font=font("body"))
    return image


def figure(seed: int) -> Image.Image:
    """Return a page of shapes without words."""
    source = random.Random(seed)
    image = Image.new("RGB", SIZE, "white")
    pen = ImageDraw.Draw(image)
    for _ in range(60):
        x, y, side = source.randint(50, 1_000), source.randint(50, 1_450), source.randint(20, 120)
        shade = tuple(source.randint(0, 200) for _ in range(3))
        kind = source.choice((pen.ellipse, pen.rectangle))
        kind((x, y, x + side, y + source.randint(20, 120)), fill=shade)
    return image


def png(image: Image.Image) -> bytes:
    return _encoded(image, "PNG")


def jpeg(image: Image.Image, quality: int = 75, **options: object) -> bytes:
    return _encoded(image, "JPEG", quality=quality, **options)


def slanted(image: Image.Image, shift: float = 0.05) -> tuple[Image.Image, Corners]:
    """Return a page as photographed at an angle on a dark table, and the corners of that picture on the page."""
    width, height = image.size
    inset = 80
    there = np.array(
        [
            [inset + shift * width, inset],
            [width - inset, inset + shift * height],
            [width - inset - shift * width, height - inset],
            [inset, height - inset - shift * height],
        ],
        np.float32,
    )
    here = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    matrix = cv2.getPerspectiveTransform(here, there)
    seen = cv2.warpPerspective(np.asarray(image), matrix, image.size, borderValue=(70, 60, 50))
    corners = cv2.perspectiveTransform(here[None], np.linalg.inv(matrix))[0]
    return Image.fromarray(seen), [(float(x), float(y)) for x, y in corners]


def _word(source: random.Random) -> str:
    return "".join(source.choice("aeiouaeioubcdfghlmnprstvpqy") for _ in range(source.randint(2, 11)))


def _encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()
