"""Further readings of a page image of which an engine is unsure, and which of them is kept.

The mean certainty of a page says little: RapidOCR gives 0.93 to 0.97 to pages of which it reads a tenth of the
characters wrong. The share of the text in lines below `UNSURE` does (ADR 0119).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from PIL import Image, ImageFilter

from docmind.reading.ocr.reading_order import Spot

UNSURE = 0.8
"""A line of which an engine is less sure may be wrong."""
_SIDE = 1_600  # pixels to which a small image is enlarged: what a page image has otherwise
_SMALL = 1_200  # pixels of an image's longer side that is worth it
_SHARPEN = ImageFilter.UnsharpMask(radius=3, percent=150, threshold=2)


class Engine(Protocol):
    """An engine that finds rows of text on an image, and may turn it counter-clockwise, in degrees."""

    def rows(self, image: Image.Image, language: str) -> tuple[list[list[Spot]], int]: ...


@dataclass(frozen=True, slots=True)
class Look:
    """One reading of an image: its rows, with corners in pixels of the image turned by `turn`."""

    engine: str
    rows: Sequence[Sequence[Spot]]
    turn: int

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


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done with a page: from which `doubt` on it is read again, at most so many times, by which engines."""

    doubt: float
    tries: int
    others: Sequence[str] = ()


def look(engine: Engine, name: str, image: Image.Image, language: str) -> Look:
    """Read an image once."""
    return Look(name, *engine.rows(image, language))


def look_again(
    seen: Look, image: Image.Image, engine_of: Callable[[str], Engine], plan: Plan, language: str
) -> tuple[Look, int]:
    """Return the best reading of an image, and how many there were; `seen` is the first."""
    best, tries = seen, 1
    if seen.doubt >= plan.doubt:
        for way in _ways(seen, image, engine_of, plan, language):
            if tries > plan.tries:
                break
            found, tries = way(), tries + 1
            if found.weight > best.weight:
                best = found
    return best, tries


def _ways(
    seen: Look, image: Image.Image, engine_of: Callable[[str], Engine], plan: Plan, language: str
) -> Iterator[Callable[[], Look]]:
    if max(image.size) < _SMALL:
        yield lambda: _enlarged(engine_of(seen.engine), seen.engine, image, language)


def _enlarged(engine: Engine, name: str, image: Image.Image, language: str) -> Look:
    """Read an image of few pixels enlarged and sharpened: lines are found that are too low otherwise."""
    scale = _SIDE / max(image.size)
    size = round(image.width * scale), round(image.height * scale)
    found = look(engine, name, image.resize(size, Image.Resampling.BICUBIC).filter(_SHARPEN), language)
    return replace(found, rows=[[_scaled(spot, 1 / scale) for spot in row] for row in found.rows])


def _scaled(spot: Spot, scale: float) -> Spot:
    corners = tuple((x * scale, y * scale) for x, y in spot.corners)
    words = tuple((x * scale, y * scale, w * scale, h * scale) for x, y, w, h in spot.words)
    return replace(spot, corners=corners, words=words)
