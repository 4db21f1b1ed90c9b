"""The marks of one picture, found: a function of its pixels alone."""

from __future__ import annotations

import cv2
import numpy as np

from docmind.lookalike import codes, transforms
from docmind.lookalike.ink import ink_of, letters, turned, turns_of
from docmind.lookalike.marks import RUN, SHEET, SPOT, Marks
from docmind.lookalike.runs import runs_of, words_of

MOST_RUNS, MOST_SPOTS = 450, 128  # that are kept of a page: 16 bytes each
_QUERY_SPOTS = 400
_MOST_WORDS = 4_000
_SMALL, _USUAL, _LARGE = 9.0, 11.0, 22.0  # height of a letter in pixels: outside these, the picture is resized
_LONGEST = 2_400  # pixels of a side
_SPOTS_SIDE = 640
_LEVEL = 1.0  # degrees that need no turning


def marks_of_page(grey: np.ndarray) -> Marks:
    """What is kept of a page image, uint8 `(h, w)`: at most 579 marks."""
    found = _marks(grey, MOST_SPOTS)
    is_run = found.kinds == RUN
    runs = np.nonzero(is_run)[0]
    if len(runs) > MOST_RUNS:
        # Any choice will do that is the same each time and falls on all parts of the page.
        mixed = found.codes[runs] * np.uint64(0x9E37_79B9_7F4A_7C15)
        runs = np.sort(runs[np.argsort(mixed, kind="stable")[:MOST_RUNS]])
    kept = np.concatenate([runs, np.nonzero(~is_run)[0]])
    return Marks(found.codes[kept], found.places[kept], found.kinds[kept])


def marks_of_query(grey: np.ndarray) -> Marks:
    """All marks of a picture that is looked for, and those it has upside down."""
    found = _marks(grey, _QUERY_SPOTS)
    assert found.numbers is not None
    runs = found.kinds != SPOT
    signs = np.where(found.kinds[runs, None] == RUN, transforms.UPSIDE_DOWN, transforms.SHEET_UPSIDE_DOWN)
    numbers = np.concatenate([found.numbers, found.numbers[runs] * signs])
    return Marks(
        codes.packed(numbers),
        np.concatenate([found.places, found.places[runs][:, [2, 3, 0, 1]]]),
        np.concatenate([found.kinds, found.kinds[runs]]),
        numbers,
    )


def _marks(grey: np.ndarray, spots: int) -> Marks:
    ink = ink_of(grey)
    parts = [(RUN, *part) for part in _runs(grey, ink)]
    parts.append((SPOT, *_spots(grey, spots)))
    height, width = grey.shape
    sheet = np.array([[0, height / 2, width, height / 2]], np.float32)
    if ink.any():
        parts.append((SHEET, sheet, transforms.of_sheet(ink)))
    numbers = np.concatenate([part[2] for part in parts])
    kinds = np.concatenate([np.full(len(part[1]), part[0], np.uint8) for part in parts])
    return Marks(codes.packed(numbers), np.concatenate([part[1] for part in parts]), kinds, numbers)


def _runs(grey: np.ndarray, ink: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Places and numbers of runs, once for each way the lines may lie."""
    mask, letter = letters(ink)
    if not letter and max(grey.shape) <= _LONGEST / 2:  # too small to tell letters apart, perhaps
        return _enlarged(grey)
    if not letter:
        return [(np.zeros((0, 4), np.float32), np.zeros((0, codes.BITS), np.float32))]
    scale = _USUAL / letter if not _SMALL <= letter <= _LARGE else 1.0
    scale = min(scale, 2.5, _LONGEST / max(grey.shape)) if scale > 1 or max(grey.shape) > _LONGEST else scale
    if scale != 1.0:
        how = cv2.INTER_CUBIC if scale > 1 else cv2.INTER_AREA
        grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=how)
    found = []
    for degrees in turns_of(mask):
        level, matrix = (grey, np.eye(2, 3)) if abs(degrees) < _LEVEL else turned(grey, degrees)
        if level is not grey or scale != 1.0:
            ink = ink_of(level)
        mask, letter = letters(ink)
        words = words_of(ink, mask, letter)[:_MOST_WORDS] if letter else np.zeros((0, 5), np.float32)
        runs = runs_of(words, letter)
        back = cv2.invertAffineTransform(matrix) / scale
        ends = runs.reshape(-1, 2) @ back[:, :2].T + back[:, 2]
        found.append((ends.reshape(-1, 4).astype(np.float32), transforms.of_runs(ink, runs)))
    return found


def _enlarged(grey: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    scale = 1.01 * _LONGEST / 2 / max(grey.shape)
    larger = cv2.resize(grey, None, fx=max(scale, 2.0), fy=max(scale, 2.0), interpolation=cv2.INTER_CUBIC)
    return [(places / max(scale, 2.0), numbers) for places, numbers in _runs(larger, ink_of(larger))]


def _spots(grey: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Corners and blobs, the largest ones: they are the same in a blurred picture. A place is a spot and its radius."""
    scale = min(1.0, _SPOTS_SIDE / max(grey.shape))
    small = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else grey
    points, descriptors = cv2.SIFT.create(contrastThreshold=0.03).detectAndCompute(small, None)
    if not points:
        return np.zeros((0, 4), np.float32), np.zeros((0, codes.BITS), np.float32)
    chosen = np.argsort([-point.size for point in points], kind="stable")[:most]
    size = np.array([points[index].size for index in chosen], np.float32)[:, None]
    angle = np.radians([points[index].angle for index in chosen])[:, None]
    at = np.array([points[index].pt for index in chosen], np.float32)
    places = np.hstack([at, at + size * np.hstack([np.cos(angle), np.sin(angle)])]) / scale
    # The far end must lie on the sheet to be kept: one that does not would be bent by the edge.
    low, high = places.min(axis=1), (places.reshape(-1, 2, 2) / np.array(grey.shape[::-1])).max(axis=(1, 2))
    inside = (low >= 0) & (high <= 1)
    return places[inside].astype(np.float32), transforms.of_spots(descriptors[chosen])[inside]
