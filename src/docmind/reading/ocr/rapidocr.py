"""RapidOCR: the PP-OCR models of its wheel, in onnxruntime, one thread per process.

Its own classifier of upside-down lines is off: it reverses good lines and causes 5 to 13% errors. We detect rotated and
upside-down pages ourselves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from docmind.reading.ocr.reading_order import Rect, Spot, certainty, rows
from docmind.runtime import quiet

_SURE = 0.8  # a mean certainty below this may mean that the page is upside down
_DETECT_SIDE = 960  # finding lines needs fewer pixels than reading them: a third less time at the same errors
_FINE_SIDE = 1_600  # for small print
_SMALL = 15  # pixels of a line's box in the reduced image, below which lines are missed or cut
_PARAMETERS = {
    "Global.use_cls": False,
    "Global.log_level": "critical",
    "Global.text_score": 0.4,
    "Global.return_word_box": True,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "Det.limit_type": "max",
    "Det.limit_side_len": _DETECT_SIDE,
}


class Rapid:
    """The loaded models. Not thread-safe."""

    def __init__(self) -> None:
        quiet.import_onnxruntime()
        from rapidocr import RapidOCR

        self._engine: Any = RapidOCR(params=dict(_PARAMETERS))
        self._engine.text_det = _Detector(self._engine._load_det_model())

    def rows(self, image: Image.Image, language: str) -> tuple[list[list[Spot]], int]:
        """Turn an image upright.

        Return its rows of text and that turn, counter-clockwise in degrees. Lines that were found, and in which nothing
        was read, follow as rows without text.
        """
        (best, blank), turned = self._read(image), 0
        if best and _lies(best):
            turns = (90, 270)
        elif best and certainty(best) < _SURE:
            turns = (180,)
        else:
            turns = ()
        for turn in turns:
            found, unread = self._read(image.rotate(turn, expand=True))
            if found and not _lies(found) and (_lies(best) or certainty(found) > certainty(best)):
                best, blank, turned = found, unread, turn
                if certainty(found) > _SURE:
                    break
        return [*rows(best), *([spot] for spot in blank)], turned

    def _read(self, image: Image.Image) -> tuple[list[Spot], list[Spot]]:
        """Return the lines that were read, and those that were found and in which nothing was read."""
        found: _Detector = self._engine.text_det
        found.forget()
        result = self._engine(np.ascontiguousarray(np.asarray(image)[:, :, ::-1]))
        read = self._spots(result) if result.boxes is not None and result.txts is not None else []
        if found.boxes is None or found.size != image.size:  # the engine looked at the image in another size
            return read, []
        corners = (tuple((float(x), float(y)) for x, y in box) for box in found.boxes)
        blank = [Spot("", each, 0.0) for each in corners]
        return read, [spot for spot in blank if not any(_is_at(spot, one) for one in read)]

    def _spots(self, result: Any) -> list[Spot]:
        # Where one line gives no word positions, the library gives none for the whole page.
        words = result.word_results if len(result.word_results) == len(result.txts) else [()] * len(result.txts)
        out = []
        for seen, box, score, pieces in zip(result.txts, result.boxes, result.scores, words, strict=True):
            text = spaced(seen.strip())
            if text:
                corners = tuple((float(x), float(y)) for x, y in box)
                out.append(Spot(text, corners, float(score), _words(text.split(), pieces)))
        return out


class _Detector:
    """The detector of lines, which looks again in more pixels where the lines that it finds are small.

    On a page of 1,600 words 93% of them come out instead of 85%, for 4 seconds more than 11. Pages of usual print are
    looked at once, and so are small images, which `second_look` enlarges where they are read in doubt.
    """

    boxes: np.ndarray | None = None
    """The corners (n, 4, 2) of the lines that were found last; None where none were."""
    size = (0, 0)
    """Width and height of the image in which they lie."""

    def __init__(self, detector: Any) -> None:
        self._detector = detector

    def forget(self) -> None:
        """Forget the lines that were found last."""
        self.boxes = None

    def __call__(self, image: np.ndarray) -> Any:
        found = self._found(image)
        self.boxes, self.size = found.boxes, (image.shape[1], image.shape[0])
        return found

    def _found(self, image: np.ndarray) -> Any:
        found = self._detector(image)
        side = max(image.shape[:2])
        if found.boxes is None or side <= _DETECT_SIDE or _height(found.boxes) * _DETECT_SIDE / side >= _SMALL:
            return found
        self._detector.limit_side_len = _FINE_SIDE
        try:
            finer = self._detector(image)
        finally:
            self._detector.limit_side_len = _DETECT_SIDE
        return found if finer.boxes is None else finer


def _height(boxes: np.ndarray) -> float:
    """Return the median height of boxes of four corners, in pixels: the shorter side, for a page may lie."""
    sides = np.linalg.norm(boxes - np.roll(boxes, -1, axis=1), axis=2)
    return float(np.median(sides.min(axis=1)))


_NUMBER_WITHIN = re.compile(r"(?<!\S)([a-z]{3,})?(\d{1,4})([a-z]{4,})(?=[.,;:]?(?!\S))")


def spaced(text: str) -> str:
    """Set spaces around a number between two words of small letters: the engine loses narrow ones."""
    return _NUMBER_WITHIN.sub(lambda found: " ".join(filter(None, found.groups())), text)


def _is_at(spot: Spot, other: Spot) -> bool:
    """Return whether two lines are one: the middle of each lies in the other."""
    (x, y), (left, top) = (((one.left + one.right) / 2, one.middle) for one in (spot, other))
    return (
        spot.left <= left <= spot.right
        and spot.top <= top <= spot.bottom
        and (other.left <= x <= other.right and other.top <= y <= other.bottom)
    )


def _lies(spots: list[Spot]) -> bool:
    """Return whether most lines are vertical on the image."""
    upright = sum(len(s.text) for s in spots if s.bottom - s.top > 1.5 * (s.right - s.left))
    return 2 * upright > sum(len(s.text) for s in spots)


def _words(words: list[str], pieces: Sequence[tuple[str, float, Any]]) -> tuple[Rect, ...]:
    """Return a box per word from the engine's pieces, which may be parts of words.

    Returns nothing where they do not match.
    """
    boxes: list[Rect] = []
    left = iter(pieces)
    for word in words:
        text, points = "", []
        while len(text) < len(word) and (piece := next(left, None)) is not None and piece[2] is not None:
            text += piece[0]
            points += [(float(x), float(y)) for x, y in piece[2]]
        if text != word:
            return ()
        xs, ys = [x for x, _ in points], [y for _, y in points]
        boxes.append((min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)))
    return tuple(boxes)
