"""Extraction of the marks of one picture, from its pixels alone.

Grey pixels become ink, with the height of letters and the direction of lines. The ink around a run, a spot or a whole
sheet becomes 64 numbers, whose signs form a code.
"""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

from docmind.image_match import marks as codes
from docmind.image_match.marks import BITS, RUN, SELECTED, SHEET, SPOT, Marks
from docmind.image_match.word_ngrams import runs_of, words_of

WIDE, HIGH = 40, 8  # samples along a run and across it
_ASPECT = 5.0  # width to height of a run's sample: its line, and a little of the lines above and below
UPSIDE_DOWN = np.array([(-1.0) ** (across + along) for across, along in SELECTED], np.float32)
"""Factors of a run's numbers when the page is rotated by 180 degrees; its ends are exchanged as well."""


def _cosines(count: int, samples: int) -> np.ndarray:
    at = (np.arange(samples) + 0.5) * np.pi / samples
    rows = np.cos(np.arange(count)[:, None] * at) * np.sqrt(2.0 / samples)
    rows[0] /= np.sqrt(2.0)
    return rows.astype(np.float32)


_ALONG = _cosines(24, WIDE)
_ACROSS = _cosines(4, HIGH) * np.sqrt(np.hanning(HIGH + 2)[1:-1]).astype(np.float32)
_SHEET = 32
_SHEET_PAIRS = [(u, whole - u) for whole in range(1, 11) for u in range(whole + 1)][:BITS]
SHEET_UPSIDE_DOWN = np.array([(-1.0) ** sum(pair) for pair in _SHEET_PAIRS], np.float32)
_SHEET_COSINES = _cosines(11, _SHEET)


def _mixing() -> np.ndarray:
    """Return half of a 128x128 Hadamard matrix with fixed signs: each bit depends on the whole descriptor."""
    matrix = np.ones((1, 1), np.float32)
    while len(matrix) < 2 * BITS:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    signs = np.array([1 if (index * 0x9E37_79B1 >> 7) & 1 else -1 for index in range(2 * BITS)], np.float32)
    return (matrix[1 : BITS + 1] * signs).T


_MIXING = _mixing()


def of_runs(ink: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """Return the numbers of runs, float32 `(n, 64)`; `runs` is `(n, 4)` in pixels of `ink`."""
    start, along = runs[:, :2], runs[:, 2:] - runs[:, :2]
    across = np.stack([-along[:, 1], along[:, 0]], axis=1) / _ASPECT
    u = ((np.arange(WIDE) + 0.5) / WIDE)[None, None, :]
    v = ((np.arange(HIGH) + 0.5) / HIGH - 0.5)[None, :, None]
    x, y = (
        start[:, axis, None, None] + along[:, axis, None, None] * u + across[:, axis, None, None] * v for axis in (0, 1)
    )
    # Sampled from ink that is blurred by about the distance between samples.
    level = np.clip(np.rint(np.log2(np.maximum(np.hypot(*along.T) / WIDE, 1.0)) * 2), 0, 10).astype(int)
    numbers = np.zeros((len(runs), BITS), np.float32)
    for one in np.unique(level):
        members = np.nonzero(level == one)[0]
        blurred = cv2.GaussianBlur(ink, (0, 0), 0.5 * 2 ** (one / 2))
        for part in np.array_split(members, len(members) // 4000 + 1):  # remap takes at most 32,767 rows
            over, down = (axis[part].reshape(-1, WIDE).astype(np.float32) for axis in (x, y))
            patches = cv2.remap(blurred, over, down, cv2.INTER_LINEAR).reshape(len(part), HIGH, WIDE)
            transform = _ACROSS @ patches @ _ALONG.T
            numbers[part] = np.stack([transform[:, u, v] for u, v in SELECTED], axis=1)
    return numbers


def of_spots(descriptors: np.ndarray) -> np.ndarray:
    """Return the numbers of SIFT descriptors `(n, 128)`: their square roots, mixed; float32 `(n, 64)`."""
    root = np.sqrt(descriptors / np.maximum(descriptors.sum(axis=1, keepdims=True), 1e-6))
    return (root - root.mean(axis=1, keepdims=True)) @ _MIXING


def of_sheet(ink: np.ndarray) -> np.ndarray:
    """Return the numbers of the whole picture, float32 `(1, 64)`: a coarse distribution of its ink."""
    small = cv2.resize(ink, (_SHEET, _SHEET), interpolation=cv2.INTER_AREA)
    transform = _SHEET_COSINES @ cv2.GaussianBlur(small, (0, 0), 1.0) @ _SHEET_COSINES.T
    return np.array([[transform[pair] for pair in _SHEET_PAIRS]], np.float32)


_FLOOR = 24.0  # grey levels: fainter contrast counts as paper
_THRESHOLD = 0.4
_FEW = 8  # components
_GLANCE = 400  # pixels that suffice to find the direction of lines
_COARSE, _FINE = 3.0, 0.5  # degrees
_CLEAR = 2.5  # times more alternation along one axis than along the other: the lines have that direction


def ink_of(grey: np.ndarray) -> np.ndarray:
    """Return how much each pixel differs from its surroundings: uint8 `(h, w)` to float32 `(h, w)` in 0..1.

    Dark on light and light on dark give the same result; shadows and paper noise are removed.
    """
    height, width = grey.shape
    quarter = max(8, width // 4), max(8, height // 4)
    small = cv2.resize(grey, quarter, interpolation=cv2.INTER_AREA)
    kernel = np.ones((11, 11), np.uint8)
    light = cv2.blur(cv2.morphologyEx(small, cv2.MORPH_CLOSE, kernel), (5, 5)).astype(np.float32)
    dark = cv2.blur(cv2.morphologyEx(small, cv2.MORPH_OPEN, kernel), (5, 5)).astype(np.float32)
    around = np.where(cv2.blur(small, (31, 31)) * 2.0 > light + dark, light, dark)
    difference = cv2.absdiff(grey.astype(np.float32), cv2.resize(around, (width, height)))
    noise = min(_FLOOR, 3.0 * float(np.median(difference[::4, ::4])))
    difference = np.maximum(difference - noise, 0.0)
    contrast = cv2.dilate(cv2.resize(difference, quarter, interpolation=cv2.INTER_AREA), np.ones((9, 9), np.uint8))
    contrast = cv2.resize(cv2.blur(contrast, (9, 9)), (width, height))
    return np.minimum(difference / np.maximum(contrast * 1.4, _FLOOR), 1.0)


def letters(ink: np.ndarray) -> tuple[np.ndarray, float]:
    """Return ink that can be letters as a uint8 mask, and the usual letter height in pixels; 0.0 where there are none.

    Frames, rules and the edge of the table under a photographed sheet are left out.
    """
    mask = (ink > _THRESHOLD).astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    width, height, area = (stats[:, column].astype(np.float32) for column in (2, 3, 4))
    usual = (height >= 3) & (width >= 2) & (width < 15 * height) & (height < mask.shape[0] / 8)
    usual &= area > 0.15 * width * height
    usual[0] = False
    if usual.sum() < _FEW:
        return np.zeros_like(mask), 0.0
    # Joined letters are one component: it counts for as many letters as its width suggests.
    order = np.argsort(height[usual])
    weights = np.cumsum(np.minimum(width[usual] / height[usual], 3.0)[order])
    letter = float(height[usual][order][np.searchsorted(weights, weights[-1] / 2)])
    is_letter = (height <= 5 * letter) & (width <= 25 * letter) & (area >= 3)
    is_letter &= ~((height < 0.25 * letter) & (width > 2 * letter))
    is_letter[0] = False
    return is_letter.astype(np.uint8)[np.asarray(labels, np.intp)], letter


def turns_of(mask: np.ndarray) -> list[float]:
    """Return the degrees, counter-clockwise in (-45, 135], by which to rotate a picture so that its lines are level.

    Two values where the lines could have either direction. Upside down is not detected.
    """
    height, width = mask.shape
    scale = min(1.0, _GLANCE / max(height, width))
    small = cv2.resize(mask.astype(np.float32), None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    side = int(np.hypot(*small.shape)) + 2
    sheet = np.zeros((side, side), np.float32)
    top, left = (side - small.shape[0]) // 2, (side - small.shape[1]) // 2
    sheet[top : top + small.shape[0], left : left + small.shape[1]] = small

    def alternation(degrees: float) -> tuple[float, float]:
        turn = cv2.getRotationMatrix2D((side / 2, side / 2), degrees, 1.0)
        turned = cv2.warpAffine(sheet, turn, (side, side))
        level, upright = np.diff(turned.sum(axis=1)), np.diff(turned.sum(axis=0))
        return float(level @ level), float(upright @ upright)

    coarse = np.arange(-45.0, 45.0, _COARSE)
    seen = np.array([alternation(degrees) for degrees in coarse])
    best = [_finest(alternation, axis, coarse[int(seen[:, axis].argmax())]) for axis in (0, 1)]
    (level, level_at), (upright, upright_at) = best
    if level > _CLEAR * upright:
        return [level_at]
    if upright > _CLEAR * level:
        return [upright_at + 90.0]
    return [level_at, upright_at + 90.0]


def _finest(alternation: Callable[[float], tuple[float, float]], axis: int, near: float) -> tuple[float, float]:
    steps = np.arange(near - _COARSE, near + _COARSE + 0.01, _FINE)
    seen = [alternation(degrees)[axis] for degrees in steps]
    best = int(np.argmax(seen))
    return seen[best], float(steps[best])


def turned(grey: np.ndarray, degrees: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the whole picture rotated counter-clockwise, and the 2x3 matrix from its pixels to the rotated ones."""
    height, width = grey.shape
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0)
    cos, sin = abs(matrix[0, 0]), abs(matrix[0, 1])
    size = round(height * sin + width * cos), round(height * cos + width * sin)
    matrix[:, 2] += size[0] / 2 - width / 2, size[1] / 2 - height / 2
    return cv2.warpAffine(grey, matrix, size, borderValue=float(np.median(grey[::8, ::8]))), matrix


MOST_RUNS, MOST_SPOTS = 450, 128  # stored per page: 16 bytes each
_QUERY_SPOTS = 400
_MOST_WORDS = 4_000
_SMALL, _USUAL, _LARGE = 9.0, 11.0, 22.0  # height of a letter in pixels: outside this range, the picture is resized
_LONGEST = 2_400  # pixels of a side
_SPOTS_SIDE = 640
_LEVEL = 1.0  # degrees below which the picture is not rotated


def marks_of_page(grey: np.ndarray) -> Marks:
    """Return the marks to store of a page image, uint8 `(h, w)`: at most 579."""
    found = _marks(grey, MOST_SPOTS)
    is_run = found.kinds == RUN
    runs = np.nonzero(is_run)[0]
    if len(runs) > MOST_RUNS:
        # Any selection will do that is reproducible and covers all parts of the page.
        mixed = found.codes[runs] * np.uint64(0x9E37_79B9_7F4A_7C15)
        runs = np.sort(runs[np.argsort(mixed, kind="stable")[:MOST_RUNS]])
    kept = np.concatenate([runs, np.nonzero(~is_run)[0]])
    return Marks(found.codes[kept], found.places[kept], found.kinds[kept])


def marks_of_query(grey: np.ndarray) -> Marks:
    """Return all marks of a query picture, and those it has upside down."""
    found = _marks(grey, _QUERY_SPOTS)
    assert found.numbers is not None
    runs = found.kinds != SPOT
    signs = np.where(found.kinds[runs, None] == RUN, UPSIDE_DOWN, SHEET_UPSIDE_DOWN)
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
        parts.append((SHEET, sheet, of_sheet(ink)))
    numbers = np.concatenate([part[2] for part in parts])
    kinds = np.concatenate([np.full(len(part[1]), part[0], np.uint8) for part in parts])
    return Marks(codes.packed(numbers), np.concatenate([part[1] for part in parts]), kinds, numbers)


def _runs(grey: np.ndarray, ink: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return places and numbers of runs, once for each possible direction of the lines."""
    mask, letter = letters(ink)
    if not letter and max(grey.shape) <= _LONGEST / 2:  # perhaps too small to separate letters
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
        found.append((ends.reshape(-1, 4).astype(np.float32), of_runs(ink, runs)))
    return found


def _enlarged(grey: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    scale = 1.01 * _LONGEST / 2 / max(grey.shape)
    larger = cv2.resize(grey, None, fx=max(scale, 2.0), fy=max(scale, 2.0), interpolation=cv2.INTER_CUBIC)
    return [(places / max(scale, 2.0), numbers) for places, numbers in _runs(larger, ink_of(larger))]


def _spots(grey: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return corners and blobs, the largest first: blur changes them least. A place is a spot and its radius."""
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
    # The far end must be inside the picture to be stored: coordinates outside it would be clipped.
    low, high = places.min(axis=1), (places.reshape(-1, 2, 2) / np.array(grey.shape[::-1])).max(axis=(1, 2))
    inside = (low >= 0) & (high <= 1)
    return places[inside].astype(np.float32), of_spots(descriptors[chosen])[inside]
