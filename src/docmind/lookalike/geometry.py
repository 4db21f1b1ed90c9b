"""Where a picture lies on a page: from matching places to a 3x3 matrix and four corners."""

from __future__ import annotations

import cv2
import numpy as np

from docmind.lookalike.sighting import Quad

_FEW = 8  # pairs: with fewer, only size, turn and place can be told
_TOLERANCE = 0.02  # of the length of a mark on the page
_LEAST_TOLERANCE = 3.0  # pixels
_SKEWED = 2.0  # opposite sides of a picture that was photographed aslant differ less


def placed(pairs: np.ndarray) -> tuple[np.ndarray | None, int]:
    """The matrix from picture to page that most pairs agree with, and how many do; None where there is none.

    `pairs` float32 `(n, 8)`: x and y of both ends in the picture, then on the page.
    """
    here, there = pairs[:, :4].reshape(-1, 2), pairs[:, 4:].reshape(-1, 2)
    if len(here) < 2:
        return None, 0
    length = float(np.hypot(*(pairs[:, 6:8] - pairs[:, 4:6]).T).mean())
    tolerance = max(_LEAST_TOLERANCE, _TOLERANCE * length)
    if len(pairs) >= _FEW:
        matrix, kept = cv2.findHomography(here, there, cv2.USAC_MAGSAC, tolerance, maxIters=2_000, confidence=0.999)
        if matrix is not None and is_sane(matrix, here):
            return matrix, _count(kept)
    similar, kept = cv2.estimateAffinePartial2D(
        here, there, method=cv2.RANSAC, ransacReprojThreshold=1.5 * tolerance, maxIters=2_000
    )
    if similar is None or not np.isfinite(similar).all():
        return None, 0
    return np.vstack([similar, [0.0, 0.0, 1.0]]), _count(kept)


def refined(here: np.ndarray, there: np.ndarray, tolerance: float) -> np.ndarray | None:
    """The matrix through points found anew, `(n, 2)` each, that lie all over the picture; None where they disagree."""
    if len(here) < _FEW:
        return None
    matrix, kept = cv2.findHomography(here, there, cv2.USAC_MAGSAC, tolerance, maxIters=2_000, confidence=0.999)
    if matrix is None or int(kept.sum()) < _FEW or not is_sane(matrix, here):
        return None
    return matrix


def is_sane(matrix: np.ndarray, points: np.ndarray) -> bool:
    """Whether the matrix shows the box around `points` as a sheet seen from in front: convex, not mirrored."""
    (left, top), (right, bottom) = points.min(axis=0), points.max(axis=0)
    box = np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float64)
    corners = moved(matrix, box)
    if not np.isfinite(corners).all():
        return False
    side = np.roll(corners, -1, axis=0) - corners
    following = np.roll(side, -1, axis=0)
    length = np.hypot(*side.T)
    is_convex = bool((side[:, 0] * following[:, 1] - side[:, 1] * following[:, 0] > 0).all())
    return is_convex and all(length[one] < _SKEWED * length[other] for one, other in ((0, 2), (2, 0), (1, 3), (3, 1)))


def moved(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points `(n, 2)` by a 3x3 matrix; what goes beyond the horizon is not finite."""
    homogeneous = np.column_stack([points, np.ones(len(points))]) @ matrix.T
    with np.errstate(divide="ignore", invalid="ignore"):
        result = homogeneous[:, :2] / homogeneous[:, 2:]
    result[homogeneous[:, 2] <= 0] = np.nan
    return result


def quad_of(matrix: np.ndarray, width: int, height: int) -> Quad:
    """The picture's corners on the page, clockwise from its top left."""
    corners = moved(matrix, np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float64))
    return tuple((round(float(x), 1), round(float(y), 1)) for x, y in corners)


def _count(kept: np.ndarray) -> int:
    """Pairs of which both ends agree."""
    return int(kept.reshape(-1, 2).all(axis=1).sum())
