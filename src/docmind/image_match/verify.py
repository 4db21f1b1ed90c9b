"""Comparison of a picture with a page by the ink of blocks, which distinguishes pages of one template.

Matching places give the position of the picture on the page: a 3x3 matrix and four corners.
"""

from __future__ import annotations

import cv2
import numpy as np

from docmind.picture_marks import ink_of
from docmind.records.search import Comparison, Quad

_FEW = 8  # pairs: fewer only determine scale, rotation and position
_TOLERANCE = 0.02  # of the length of a mark on the page
_LEAST_TOLERANCE = 3.0  # pixels
_SKEWED = 2.0  # opposite sides of a picture photographed at an angle differ less


def placed(pairs: np.ndarray) -> tuple[np.ndarray | None, int]:
    """Return the matrix from picture to page that most pairs agree with, and their number; None if there is none.

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
    """Return the matrix through new points, `(n, 2)` each, from all over the picture; None where they disagree."""
    if len(here) < _FEW:
        return None
    matrix, kept = cv2.findHomography(here, there, cv2.USAC_MAGSAC, tolerance, maxIters=2_000, confidence=0.999)
    if matrix is None or int(kept.sum()) < _FEW or not is_sane(matrix, here):
        return None
    return matrix


def is_sane(matrix: np.ndarray, points: np.ndarray) -> bool:
    """Return whether the matrix shows the box around `points` as a sheet seen from the front: convex, not mirrored."""
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
    """Transform points `(n, 2)` by a 3x3 matrix; those beyond the horizon become NaN."""
    homogeneous = np.column_stack([points, np.ones(len(points))]) @ matrix.T
    with np.errstate(divide="ignore", invalid="ignore"):
        result = homogeneous[:, :2] / homogeneous[:, 2:]
    result[homogeneous[:, 2] <= 0] = np.nan
    return result


def quad_of(matrix: np.ndarray, width: int, height: int) -> Quad:
    """Return the picture's corners on the page, clockwise from its top left."""
    corners = moved(matrix, np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float64))
    return tuple((round(float(x), 1), round(float(y), 1)) for x, y in corners)


def _count(kept: np.ndarray) -> int:
    """Return the number of pairs of which both ends agree."""
    return int(kept.reshape(-1, 2).all(axis=1).sum())


_BLOCK = 40  # pixels
_WIDE, _NEAR = 10, 4  # pixels by which a block may be displaced: before and after the fit is refined
_BLURRED = 1.2
_PRINTED = 0.02  # of a block that must be ink
_AGREES = 0.5
_COVERED = 0.4  # of the ink of a picture that must be on the sheet
_LONGEST = 1_100  # pixels of the compared picture


class Picture:
    """A query picture, prepared once for comparison with many pages."""

    def __init__(self, grey: np.ndarray) -> None:
        self.height, self.width = grey.shape
        self.scale = min(1.0, _LONGEST / max(grey.shape))
        if self.scale < 1.0:
            grey = cv2.resize(grey, None, fx=self.scale, fy=self.scale, interpolation=cv2.INTER_AREA)
        self.ink = cv2.GaussianBlur(_ink(grey), (0, 0), _BLURRED)

    def compare(self, page: np.ndarray, pairs: np.ndarray) -> Comparison:
        """Align it with `page`, uint8 `(h, w)`, by the matching marks; refine by the agreeing blocks, and score."""
        matrix, inliers = placed(pairs)
        nothing = Comparison(0.0, 0, 0, ())
        corners = np.array([[0, 0], [self.width, 0], [self.width, self.height], [0, self.height]], np.float64)
        if matrix is None or not is_sane(matrix, corners):
            return nothing
        matrix = matrix @ np.diag([1 / self.scale, 1 / self.scale, 1.0])
        # No finer than the picture: finer detail of the page could not agree, and costs time.
        shrunk = min(1.0, 1.0 / _step(matrix, *self.ink.shape[::-1]))
        if shrunk * min(page.shape) < _BLOCK:
            return nothing
        ink = _ink(cv2.resize(page, None, fx=shrunk, fy=shrunk, interpolation=cv2.INTER_AREA))
        matrix = np.diag([shrunk, shrunk, 1.0]) @ matrix
        weights, agreement, here, there = self._blocks(ink, matrix, _WIDE)
        good = agreement > _AGREES
        better = refined(here[good], there[good], 2.0)
        if better is not None:
            matrix = matrix @ better
            if not is_sane(matrix, corners * self.scale):
                return nothing
            weights, agreement, here, there = self._blocks(ink, matrix, _NEAR)
        if not len(weights):
            return nothing
        likeness = float((weights * agreement).sum() / weights.sum())
        # A picture that is mostly outside the sheet does not show it, however well one corner agrees.
        likeness *= min(1.0, float(weights.sum()) / max(_COVERED * float(self.ink.sum()), 1e-6))
        matrix = np.diag([1 / shrunk, 1 / shrunk, 1.0]) @ matrix @ np.diag([self.scale, self.scale, 1.0])
        return Comparison(round(likeness, 4), len(weights), inliers, quad_of(matrix, self.width, self.height))

    def _blocks(
        self, page: np.ndarray, matrix: np.ndarray, pad: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return for each block with ink: weight, best agreement, centre, and the place of best agreement.

        The place is in pixels of the picture, into which `matrix` draws the page.
        """
        height, width = self.ink.shape
        how = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        drawn = cv2.GaussianBlur(cv2.warpPerspective(page, matrix, (width, height), flags=how), (0, 0), _BLURRED)
        sheet = np.array([[0, 0], [page.shape[1], 0], [page.shape[1], page.shape[0]], [0, page.shape[0]]], np.float64)
        outline = moved(np.linalg.inv(matrix), sheet)
        found: list[tuple[float, ...]] = []
        for top in range(pad, height - _BLOCK - pad + 1, _BLOCK):
            for left in range(pad, width - _BLOCK - pad + 1, _BLOCK):
                if not _inside(outline, left, top):
                    continue
                mine = self.ink[top : top + _BLOCK, left : left + _BLOCK]
                around = drawn[top - pad : top + _BLOCK + pad, left - pad : left + _BLOCK + pad]
                weight = max(float(mine.sum()), float(around[pad:-pad, pad:-pad].sum()))
                if weight < _PRINTED * _BLOCK * _BLOCK:
                    continue
                agreement, x, y = 0.0, 0, 0
                if float(mine.std()) > 1e-3:
                    map_ = np.nan_to_num(cv2.matchTemplate(around, mine, cv2.TM_CCOEFF_NORMED), posinf=0.0, neginf=0.0)
                    _, agreement, _, (x, y) = cv2.minMaxLoc(map_)
                middle = left + _BLOCK / 2, top + _BLOCK / 2
                place = middle[0] + x - pad, middle[1] + y - pad
                found.append((weight, min(max(agreement, 0.0), 1.0), *middle, *place))
        table = np.array(found, np.float64).reshape(-1, 6)
        return table[:, 0], table[:, 1], table[:, 2:4], table[:, 4:6]


def _ink(grey: np.ndarray) -> np.ndarray:
    return ink_of(grey).astype(np.float32) / np.float32(255)


def _step(matrix: np.ndarray, width: int, height: int) -> float:
    """Return the pixels of the page per pixel of the picture, at its centre."""
    x, y = width / 2, height / 2
    at, right, below = moved(matrix, np.array([[x, y], [x + 1, y], [x, y + 1]]))
    (a, b), (c, d) = right - at, below - at
    return float(np.sqrt(abs(a * d - b * c)))


def _inside(outline: np.ndarray, left: int, top: int) -> bool:
    """Return whether a block is completely on the sheet."""
    if not np.isfinite(outline).all():
        return True
    contour = outline.astype(np.float32).reshape(-1, 1, 2)
    corners = ((left, top), (left + _BLOCK, top), (left, top + _BLOCK), (left + _BLOCK, top + _BLOCK))
    return all(cv2.pointPolygonTest(contour, (float(x), float(y)), False) >= 0 for x, y in corners)
