"""Extraction of the marks of one picture, from its pixels alone.

Grey pixels become ink, with the height of letters and the direction of lines. The ink around a run, a spot or a whole
sheet becomes 64 numbers, whose signs form a code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import cv2
import numpy as np

from docmind.picture_marks import codes
from docmind.picture_marks.codes import BITS, RUN, SELECTED, SHEET, SPOT, PictureMarks
from docmind.picture_marks.word_ngrams import components, runs_of, words_of

# A page takes one core: several pages and other work are done at the same time.
cv2.setNumThreads(1)

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
_ROWS, _COLUMNS = (np.array(places) for places in zip(*SELECTED, strict=True))
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


_BLOCK = 12**-0.5  # the blur of a reduction, in pixels of the reduced picture
_MOST_ROWS = 4_000  # runs sampled at once: remap takes at most 32,767 rows


def of_runs(ink: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """Return the numbers of runs, float32 `(n, 64)`; `ink` is uint8, `runs` is `(n, 4)` in its pixels.

    The ink is sampled from a copy that is blurred by about the distance between samples. For distances of two pixels
    and more it is reduced first: a reduced copy takes a fraction of the time to blur.
    """
    start, along = runs[:, :2], runs[:, 2:] - runs[:, :2]
    across = np.stack([-along[:, 1], along[:, 0]], axis=1) / _ASPECT
    u = ((np.arange(WIDE, dtype=np.float32) + 0.5) / WIDE)[None, None, :]
    v = ((np.arange(HIGH, dtype=np.float32) + 0.5) / HIGH - 0.5)[None, :, None]
    level = np.clip(np.rint(np.log2(np.maximum(np.hypot(*along.T) / WIDE, 1.0)) * 2), 0, 10).astype(int)
    numbers = np.zeros((len(runs), BITS), np.float32)
    reduced: dict[int, np.ndarray] = {}
    for one in np.unique(level):
        octave = int(one) // 2
        if octave not in reduced:
            reduced[octave] = _reduced(ink, 1 << octave)
        sigma = 0.5 * 2 ** (one / 2 - octave)
        blurred = cv2.GaussianBlur(reduced[octave], (0, 0), (sigma**2 - (_BLOCK**2 if octave else 0.0)) ** 0.5)
        ratio = 1.0 / (1 << octave)
        members = np.nonzero(level == one)[0]
        for part in np.array_split(members, len(members) // _MOST_ROWS + 1):
            over, down = (
                (start[part, axis, None, None] + along[part, axis, None, None] * u + across[part, axis, None, None] * v)
                for axis in (0, 1)
            )
            over, down = (
                (axis.reshape(-1, WIDE) * ratio + (ratio - 1) / 2).astype(np.float32) for axis in (over, down)
            )
            patches = cv2.remap(blurred, over, down, cv2.INTER_LINEAR).reshape(len(part), HIGH, WIDE)
            transform = _ACROSS @ patches.astype(np.float32) @ _ALONG.T
            numbers[part] = transform[:, _ROWS, _COLUMNS]
    return numbers


def of_spots(descriptors: np.ndarray) -> np.ndarray:
    """Return the numbers of SIFT descriptors `(n, 128)`: their square roots, mixed; float32 `(n, 64)`."""
    root = np.sqrt(descriptors / np.maximum(descriptors.sum(axis=1, keepdims=True), 1e-6))
    return (root - root.mean(axis=1, keepdims=True)) @ _MIXING


def of_sheet(ink: np.ndarray) -> np.ndarray:
    """Return the numbers of the whole picture, float32 `(1, 64)`: a coarse distribution of its ink."""
    few = _reduced(ink, min(ink.shape) // (4 * _SHEET))
    small = cv2.resize(few, (_SHEET, _SHEET), interpolation=cv2.INTER_AREA).astype(np.float32)
    transform = _SHEET_COSINES @ cv2.GaussianBlur(small, (0, 0), 1.0) @ _SHEET_COSINES.T
    return np.array([[transform[pair] for pair in _SHEET_PAIRS]], np.float32)


_FLOOR = 24.0  # grey levels: fainter contrast counts as paper
_FULL = 1.4  # times the contrast of the surroundings: the difference that counts as full ink
_THRESHOLD = 102  # of 255
_FEW = 8  # components
_GLANCE, _FIRST_GLANCE = 400, 256  # pixels that suffice to find the direction of lines, and roughly
_COARSE, _MEDIUM, _FINE = 3.0, 1.0, 0.5  # degrees
_CLEAR = 2.5  # times more alternation along one axis than along the other: the lines have that direction
_OBVIOUS = 8.0  # times more at the first glance: the other axis is not looked at again


def ink_of(grey: np.ndarray) -> np.ndarray:
    """Return how much each pixel differs from its surroundings: uint8 `(h, w)` to uint8 `(h, w)`, 255 for full ink.

    Dark on light and light on dark give the same result; shadows and paper noise are removed.
    """
    height, width = grey.shape
    small = _reduced(grey, 4)
    kernel = np.ones((11, 11), np.uint8)
    light = cv2.blur(cv2.morphologyEx(small, cv2.MORPH_CLOSE, kernel), (5, 5))
    dark = cv2.blur(cv2.morphologyEx(small, cv2.MORPH_OPEN, kernel), (5, 5))
    is_light = cv2.blur(small, (31, 31)) > cv2.addWeighted(light, 0.5, dark, 0.5, 0.0)
    around = np.where(is_light, light, dark)
    difference = cv2.absdiff(grey, _enlarged_by_four(around, width, height))
    noise = round(min(_FLOOR, 3.0 * float(np.median(difference[::8, ::8]))))
    difference = cv2.subtract(difference, np.full_like(difference, noise))
    contrast = cv2.dilate(_reduced(difference, 4), np.ones((9, 9), np.uint8))
    contrast = np.maximum(cv2.blur(contrast, (9, 9)), np.uint8(round(_FLOOR / _FULL)))
    return cv2.divide(difference, _enlarged_by_four(contrast, width, height), scale=255.0 / _FULL, dtype=cv2.CV_8U)


def _reduced(grey: np.ndarray, by: int) -> np.ndarray:
    """Return the picture reduced by a whole number each way; its last row and column are repeated to fill a block.

    Reduction by a whole number takes a fraction of the time of another.
    """
    if by <= 1:
        return grey
    height, width = grey.shape
    filled = cv2.copyMakeBorder(grey, 0, -height % by, 0, -width % by, cv2.BORDER_REPLICATE)
    size = filled.shape[1] // by, filled.shape[0] // by
    return cv2.resize(filled, size, interpolation=cv2.INTER_AREA)


def _shrunk(grey: np.ndarray, side: int) -> tuple[np.ndarray, float]:
    """Return the picture with its longest side about `side` at most, and by how much it is smaller, 0..1."""
    by = max(1, max(grey.shape) // side)
    small, rest = _reduced(grey, by), min(1.0, side * by / max(grey.shape))
    if rest >= 0.99 or min(small.shape) < 2:  # the whole number is near enough, or a line of pixels would vanish
        return small, 1.0 / by
    return cv2.resize(small, None, fx=rest, fy=rest, interpolation=cv2.INTER_AREA), rest / by


def _enlarged_by_four(small: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return a picture of this size from one that was reduced by four."""
    return np.ascontiguousarray(cv2.resize(small, None, fx=4, fy=4)[:height, :width])


class Letters(NamedTuple):
    """Ink that can be letters: a uint8 mask, its pixels that are set, and the usual letter height in pixels.

    `pixels` are places in the flattened mask; `share` is that of letters in all ink. The height is 0.0 where there are
    no letters.
    """

    mask: np.ndarray
    pixels: np.ndarray
    height: float
    share: float


def letters(ink: np.ndarray) -> Letters:
    """Return ink that can be letters.

    Frames, rules and the edge of the table under a photographed sheet are left out.
    """
    mask = (ink > _THRESHOLD).view(np.uint8)
    labels, stats = components(mask)
    width, height, area = (stats[:, column].astype(np.float32) for column in (2, 3, 4))
    usual = (height >= 3) & (width >= 2) & (width < 15 * height) & (height < mask.shape[0] / 8)
    usual &= area > 0.15 * width * height
    usual[0] = False
    if usual.sum() < _FEW:
        return Letters(np.zeros_like(mask), np.zeros(0, np.int64), 0.0, 0.0)
    # Joined letters are one component: it counts for as many letters as its width suggests.
    order = np.argsort(height[usual])
    weights = np.cumsum(np.minimum(width[usual] / height[usual], 3.0)[order])
    letter = float(height[usual][order][np.searchsorted(weights, weights[-1] / 2)])
    is_letter = (height <= 5 * letter) & (width <= 25 * letter) & (area >= 3)
    is_letter &= ~((height < 0.25 * letter) & (width > 2 * letter))
    is_letter[0] = False
    pixels = np.flatnonzero(mask)
    kept = is_letter[labels.ravel()[pixels]]
    mask.ravel()[pixels[~kept]] = 0
    return Letters(mask, pixels[kept], letter, float(kept.mean()))


def turns_of(mask: np.ndarray) -> list[float]:
    """Return the degrees, counter-clockwise in (-45, 135], by which to rotate a picture so that its lines are level.

    Two values where the lines could have either direction. Upside down is not detected.
    """
    second = _alternation_of(mask, _GLANCE)
    level, upright = second(0.0)
    if level > _OBVIOUS * upright and all(second(degrees)[0] <= level for degrees in (-_FINE, _FINE)):
        return [0.0]  # most pages
    first = _alternation_of(mask, _FIRST_GLANCE)
    coarse = np.arange(-45.0, 45.0, _COARSE)
    seen = np.array([first(degrees) for degrees in coarse])
    near = [float(coarse[int(seen[:, axis].argmax())]) for axis in (0, 1)]
    most, other = seen[:, 0].max(), seen[:, 1].max()
    if most > _OBVIOUS * other:
        return [_finest(second, 0, near[0])[1]]
    if other > _OBVIOUS * most:
        return [_finest(second, 1, near[1])[1] + 90.0]
    (level, level_at), (upright, upright_at) = (_finest(second, axis, near[axis]) for axis in (0, 1))
    if level > _CLEAR * upright:
        return [level_at]
    if upright > _CLEAR * level:
        return [upright_at + 90.0]
    return [level_at, upright_at + 90.0]


_Alternation = Callable[[float], tuple[float, float]]


def _alternation_of(mask: np.ndarray, side: int) -> _Alternation:
    """Return how much ink and paper alternate down and across a mask that is reduced to `side` and rotated."""
    small, _ = _shrunk(mask * np.uint8(255), side)
    whole = int(np.hypot(*small.shape)) + 2
    sheet = np.zeros((whole, whole), np.uint8)
    top, left = (whole - small.shape[0]) // 2, (whole - small.shape[1]) // 2
    sheet[top : top + small.shape[0], left : left + small.shape[1]] = small

    def alternation(degrees: float) -> tuple[float, float]:
        turned_sheet = cv2.warpAffine(sheet, cv2.getRotationMatrix2D((whole / 2, whole / 2), degrees, 1.0), sheet.shape)
        level = np.diff(cv2.reduce(turned_sheet, 1, cv2.REDUCE_SUM, dtype=cv2.CV_32F).ravel())
        upright = np.diff(cv2.reduce(turned_sheet, 0, cv2.REDUCE_SUM, dtype=cv2.CV_32F).ravel())
        return float(level @ level), float(upright @ upright)

    return alternation


def _finest(alternation: _Alternation, axis: int, near: float) -> tuple[float, float]:
    seen = {near + step: alternation(near + step)[axis] for step in np.arange(-_COARSE, _COARSE + 0.01, _MEDIUM)}
    best = max(seen, key=lambda degrees: seen[degrees])
    seen |= {best + step: alternation(best + step)[axis] for step in (-_FINE, _FINE)}
    best = max(seen, key=lambda degrees: seen[degrees])
    return seen[best], float(best)


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
_SPOTS_SIDE, _PRINT_SIDE = 640, 320  # pixels
_LEAST_SIDE = 4  # pixels: SIFT fails on a smaller picture
_PRINT = 0.5  # of the ink that is letters: the spots of such a page are looked for in a smaller picture
_LEVEL = 1.0  # degrees below which the picture is not rotated


def marks_of_page(grey: np.ndarray) -> PictureMarks:
    """Return the marks to store of a page image, uint8 `(h, w)`: at most 579."""
    return _marks(grey, MOST_RUNS, MOST_SPOTS, _PRINT_SIDE)


def marks_of_query(grey: np.ndarray) -> PictureMarks:
    """Return all marks of a query picture, and those it has upside down."""
    found = _marks(grey, None, _QUERY_SPOTS, _SPOTS_SIDE)
    assert found.numbers is not None
    runs = found.kinds != SPOT
    signs = np.where(found.kinds[runs, None] == RUN, UPSIDE_DOWN, SHEET_UPSIDE_DOWN)
    numbers = np.concatenate([found.numbers, found.numbers[runs] * signs])
    return PictureMarks(
        codes.packed(numbers),
        np.concatenate([found.places, found.places[runs][:, [2, 3, 0, 1]]]),
        np.concatenate([found.kinds, found.kinds[runs]]),
        numbers,
    )


def _marks(grey: np.ndarray, runs: int | None, spots: int, print_side: int) -> PictureMarks:
    ink = ink_of(grey)
    found = letters(ink)
    parts = [(RUN, *part) for part in _runs(grey, ink, found, runs)]
    parts.append((SPOT, *_spots(grey, spots, print_side if found.share > _PRINT else _SPOTS_SIDE)))
    height, width = grey.shape
    sheet = np.array([[0, height / 2, width, height / 2]], np.float32)
    if ink.any():
        parts.append((SHEET, sheet, of_sheet(ink)))
    numbers = np.concatenate([part[2] for part in parts])
    kinds = np.concatenate([np.full(len(part[1]), part[0], np.uint8) for part in parts])
    return PictureMarks(codes.packed(numbers), np.concatenate([part[1] for part in parts]), kinds, numbers)


def _runs(grey: np.ndarray, ink: np.ndarray, found: Letters, most: int | None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return places and numbers of runs, once for each possible direction of the lines; `most` in all, where given."""
    letter = found.height
    if not letter and max(grey.shape) <= _LONGEST / 2:  # perhaps too small to separate letters
        return _enlarged(grey, most)
    if not letter:
        return [(np.zeros((0, 4), np.float32), np.zeros((0, codes.BITS), np.float32))]
    scale = _USUAL / letter if not _SMALL <= letter <= _LARGE else 1.0
    scale = min(scale, 2.5, _LONGEST / max(grey.shape)) if scale > 1 or max(grey.shape) > _LONGEST else scale
    if scale != 1.0:
        how = cv2.INTER_CUBIC if scale > 1 else cv2.INTER_AREA
        grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=how)
    parts = []
    turns = turns_of(found.mask)
    for degrees in turns:
        level, matrix = (grey, np.eye(2, 3)) if abs(degrees) < _LEVEL else turned(grey, degrees)
        if level is not grey or scale != 1.0:
            ink = ink_of(level)
            found = letters(ink)
        words = words_of(ink, *found[:3])[:_MOST_WORDS] if found.height else np.zeros((0, 5), np.float32)
        runs = runs_of(words, found.height)
        if most is not None and len(runs) * len(turns) > most:
            # Of all parts of the page and of runs of every length: they are in that order.
            runs = runs[np.linspace(0, len(runs) - 1, most // len(turns)).astype(int)]
        back = cv2.invertAffineTransform(matrix) / scale
        ends = runs.reshape(-1, 2) @ back[:, :2].T + back[:, 2]
        parts.append((ends.reshape(-1, 4).astype(np.float32), of_runs(ink, runs)))
    return parts


def _enlarged(grey: np.ndarray, most: int | None) -> list[tuple[np.ndarray, np.ndarray]]:
    scale = 1.01 * _LONGEST / 2 / max(grey.shape)
    larger = cv2.resize(grey, None, fx=max(scale, 2.0), fy=max(scale, 2.0), interpolation=cv2.INTER_CUBIC)
    ink = ink_of(larger)
    parts = _runs(larger, ink, letters(ink), most)
    return [(places / max(scale, 2.0), numbers) for places, numbers in parts]


def _spots(grey: np.ndarray, most: int, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return corners and blobs, the largest first: blur changes them least. A place is a spot and its radius."""
    small, scale = _shrunk(grey, side)
    if min(small.shape) < _LEAST_SIDE:
        return np.zeros((0, 4), np.float32), np.zeros((0, codes.BITS), np.float32)
    sift = cv2.SIFT.create(contrastThreshold=0.03)
    points = sorted(sift.detect(small), key=lambda point: -point.size)[:most]
    points, descriptors = sift.compute(small, points)
    if not points or descriptors is None:
        return np.zeros((0, 4), np.float32), np.zeros((0, codes.BITS), np.float32)
    size = np.array([point.size for point in points], np.float32)[:, None]
    angle = np.radians([point.angle for point in points])[:, None]
    at = np.array([point.pt for point in points], np.float32)
    places = np.hstack([at, at + size * np.hstack([np.cos(angle), np.sin(angle)])]) / scale
    # The far end must be inside the picture to be stored: coordinates outside it would be clipped.
    low, high = places.min(axis=1), (places.reshape(-1, 2, 2) / np.array(grey.shape[::-1])).max(axis=(1, 2))
    inside = (low >= 0) & (high <= 1)
    return places[inside].astype(np.float32), of_spots(descriptors)[inside]
