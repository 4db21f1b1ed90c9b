"""A second reading of a page image of which an engine is unsure, and which of the two is kept.

A page of which a tenth of the text is in lines below `UNSURE` is read again, sharpened, and enlarged where it has few
pixels: on own pages of 500 pixels the share of wrong characters fell from 0.96 to 0.40, at 640 from 0.55 to 0.16. Other
contrast mended nothing, and what a median filter and Tesseract mended no score told (ADR 0119).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from PIL import Image, ImageFilter

from docmind.reading.ocr.reading_order import Spot
from docmind.reading.ocr.unread import weighed

UNSURE = 0.8
"""A line of which an engine is less sure may be wrong."""
_SIDE, _LARGER = 1_600, 2.0  # a small image is enlarged to so many pixels, at most so many times: three times is worse
_SMALL = 1_200  # pixels of an image's longer side that is worth it
_SHARPEN = ImageFilter.UnsharpMask(radius=3, percent=150, threshold=2)


class Engine(Protocol):
    """An engine that finds rows of text on an image, and may turn it counter-clockwise, in degrees.

    A line without text is one that it found, and in which it read nothing.
    """

    def rows(self, image: Image.Image, language: str) -> tuple[list[list[Spot]], int]: ...


@dataclass(frozen=True, slots=True)
class Look:
    """One reading of an image: its rows, with corners in pixels of the image turned by `turn`.

    `lost` is the share of the ink of its lines that is in lines of which half or more was not read, 0 to 1, and `ink`
    how long that of all lines is, in heights of a line.
    """

    engine: str
    rows: Sequence[Sequence[Spot]]
    turn: int
    lost: float = 0.0
    ink: float = 0.0

    @property
    def doubt(self) -> float:
        """The share of the text in lines that may be wrong, 0 to 1; 1 where nothing was read."""
        letters = sum(len(spot.text) for row in self.rows for spot in row)
        unsure = sum(len(spot.text) for row in self.rows for spot in row if spot.score < UNSURE)
        return unsure / letters if letters else 1.0

    @property
    def weight(self) -> float:
        """How much was read, in characters: those of a line count more the surer it is, and not below one half."""
        return sum(len(spot.text) * max(0.0, 2 * spot.score - 1) for row in self.rows for spot in row)


def look(engine: Engine, name: str, image: Image.Image, language: str) -> Look:
    """Read an image once."""
    rows, turn = engine.rows(image, language)
    seen = weighed(rows, np.asarray(image.rotate(turn, expand=True).convert("L")))
    return Look(name, seen.rows, turn, seen.lost / seen.ink if seen.ink else 0.0, seen.ink)


def look_again(seen: Look, engine: Engine, image: Image.Image, language: str) -> Look:
    """Read an image sharpened, and enlarged where it is small; return that reading, or `seen` where it has more."""
    side = max(image.size)
    scale = min(_LARGER, _SIDE / side) if side < _SMALL else 1.0
    size = round(image.width * scale), round(image.height * scale)
    clear = image.resize(size, Image.Resampling.BICUBIC).filter(_SHARPEN)
    found = look(engine, seen.engine, clear, language)
    if found.weight <= seen.weight:
        return seen
    return replace(found, rows=[[_scaled(spot, 1 / scale) for spot in row] for row in found.rows])


def _scaled(spot: Spot, scale: float) -> Spot:
    corners = tuple((x * scale, y * scale) for x, y in spot.corners)
    words = tuple((x * scale, y * scale, w * scale, h * scale) for x, y, w, h in spot.words)
    return replace(spot, corners=corners, words=words)
