"""What is printed: grey pixels to ink, its letters' height, and how its lines lie."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

_FLOOR = 24.0  # grey levels: fainter contrast is paper
_THRESHOLD = 0.4
_FEW = 8  # components
_GLANCE = 400  # pixels that suffice to see how lines lie
_COARSE, _FINE = 3.0, 0.5  # degrees
_CLEAR = 2.5  # times more alternation along one axis than along the other: the lines lie along it


def ink_of(grey: np.ndarray) -> np.ndarray:
    """How much each pixel differs from what is around it: uint8 `(h, w)` to float32 `(h, w)` in 0..1.

    Dark on light and light on dark look the same; shadows and noise of the paper are taken away.
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
    """Ink that can be letters as a uint8 mask, and the usual height of a letter in pixels; 0.0 where there are none.

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
    # Letters that have run together are one component: it counts for as many as it is wide.
    order = np.argsort(height[usual])
    weights = np.cumsum(np.minimum(width[usual] / height[usual], 3.0)[order])
    letter = float(height[usual][order][np.searchsorted(weights, weights[-1] / 2)])
    is_letter = (height <= 5 * letter) & (width <= 25 * letter) & (area >= 3)
    is_letter &= ~((height < 0.25 * letter) & (width > 2 * letter))
    is_letter[0] = False
    return is_letter.astype(np.uint8)[np.asarray(labels, np.intp)], letter


def turns_of(mask: np.ndarray) -> list[float]:
    """Degrees, counter-clockwise in (-45, 135], by which to turn a picture so that its lines lie level.

    Two where the lines could lie along either axis. Upside down is not told apart.
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
    """The picture turned counter-clockwise, whole, and the 2x3 matrix from its pixels to the turned ones."""
    height, width = grey.shape
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0)
    cos, sin = abs(matrix[0, 0]), abs(matrix[0, 1])
    size = round(height * sin + width * cos), round(height * cos + width * sin)
    matrix[:, 2] += size[0] / 2 - width / 2, size[1] / 2 - height / 2
    return cv2.warpAffine(grey, matrix, size, borderValue=float(np.median(grey[::8, ::8]))), matrix
