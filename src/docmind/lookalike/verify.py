"""A picture laid over a page: does the ink agree, block by block? Pages of one template differ in this."""

from __future__ import annotations

import cv2
import numpy as np

from docmind.lookalike.geometry import is_sane, moved, placed, quad_of, refined
from docmind.lookalike.ink import ink_of
from docmind.lookalike.sighting import Comparison

_BLOCK = 40  # pixels
_WIDE, _NEAR = 10, 4  # pixels by which a block may lie beside its place: before and after the fit is refined
_BLURRED = 1.2
_PRINTED = 0.02  # of a block that must be ink
_AGREES = 0.5
_COVERED = 0.4  # of the ink of a picture that must lie on the sheet
_LONGEST = 1_100  # pixels of the picture that is compared


class Picture:
    """A picture that is looked for, prepared once for many pages."""

    def __init__(self, grey: np.ndarray) -> None:
        self.height, self.width = grey.shape
        self.scale = min(1.0, _LONGEST / max(grey.shape))
        if self.scale < 1.0:
            grey = cv2.resize(grey, None, fx=self.scale, fy=self.scale, interpolation=cv2.INTER_AREA)
        self.ink = cv2.GaussianBlur(ink_of(grey), (0, 0), _BLURRED)

    def compare(self, page: np.ndarray, pairs: np.ndarray) -> Comparison:
        """Lay it over `page`, uint8 `(h, w)`, by the marks that match; refine by what agrees, and judge."""
        matrix, inliers = placed(pairs)
        nothing = Comparison(0.0, 0, 0, ())
        corners = np.array([[0, 0], [self.width, 0], [self.width, self.height], [0, self.height]], np.float64)
        if matrix is None or not is_sane(matrix, corners):
            return nothing
        matrix = matrix @ np.diag([1 / self.scale, 1 / self.scale, 1.0])
        # No finer than the picture: what is finer on the page could not agree, and costs time.
        shrunk = min(1.0, 1.0 / _step(matrix, *self.ink.shape[::-1]))
        if shrunk * min(page.shape) < _BLOCK:
            return nothing
        ink = ink_of(cv2.resize(page, None, fx=shrunk, fy=shrunk, interpolation=cv2.INTER_AREA))
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
        # A picture that lies beside the sheet for the most part is not of it, however well a corner agrees.
        likeness *= min(1.0, float(weights.sum()) / max(_COVERED * float(self.ink.sum()), 1e-6))
        matrix = np.diag([1 / shrunk, 1 / shrunk, 1.0]) @ matrix @ np.diag([self.scale, self.scale, 1.0])
        return Comparison(round(likeness, 4), len(weights), inliers, quad_of(matrix, self.width, self.height))

    def _blocks(
        self, page: np.ndarray, matrix: np.ndarray, pad: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """For each block with ink: its weight, how well it agrees at its best place, its middle, and where that is.

        Where it is, is told in pixels of the picture, as `matrix` draws the page into it.
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


def _step(matrix: np.ndarray, width: int, height: int) -> float:
    """Pixels of the page for one of the picture, in its middle."""
    x, y = width / 2, height / 2
    at, right, below = moved(matrix, np.array([[x, y], [x + 1, y], [x, y + 1]]))
    (a, b), (c, d) = right - at, below - at
    return float(np.sqrt(abs(a * d - b * c)))


def _inside(outline: np.ndarray, left: int, top: int) -> bool:
    """Whether a block lies on the sheet wholly."""
    if not np.isfinite(outline).all():
        return True
    contour = outline.astype(np.float32).reshape(-1, 1, 2)
    corners = ((left, top), (left + _BLOCK, top), (left, top + _BLOCK), (left + _BLOCK, top + _BLOCK))
    return all(cv2.pointPolygonTest(contour, (float(x), float(y)), False) >= 0 for x, y in corners)
