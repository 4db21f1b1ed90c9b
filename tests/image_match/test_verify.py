"""Matching places to a matrix and four corners; impossible views are refused."""

from __future__ import annotations

import numpy as np
import pytest

from docmind.image_match.verify import is_sane, moved, placed, quad_of

SIDE = np.array([[0, 0], [100, 0], [100, 60], [0, 60]], np.float64)


def pairs_by(matrix: np.ndarray, count: int, wrong: int = 0) -> np.ndarray:
    source = np.random.default_rng(1)
    here = source.uniform(0, 500, (2 * count, 2))
    there = moved(matrix, here)
    there[: 2 * wrong] += source.uniform(100, 300, (2 * wrong, 2))
    return np.hstack([here.reshape(count, 4), there.reshape(count, 4)]).astype(np.float32)


@pytest.mark.parametrize(("count", "wrong"), [(1, 0), (3, 1), (30, 12)])
def test_what_most_agree_on_is_where_it_lies(count: int, wrong: int) -> None:
    matrix = np.array([[0.0, -2.0, 700.0], [2.0, 0.0, 30.0], [0.0, 0.0, 1.0]])  # turned to its side, twice the size
    found, inliers = placed(pairs_by(matrix, count, wrong))
    assert found is not None
    assert inliers >= count - wrong
    assert np.abs(moved(found, SIDE) - moved(matrix, SIDE)).max() < 1.0


def test_a_slanted_view_is_told_from_many_places() -> None:
    matrix = np.array([[1.0, 0.1, 5.0], [0.05, 1.1, 9.0], [1e-4, 2e-4, 1.0]])
    found, _ = placed(pairs_by(matrix, 40, 10))
    assert found is not None
    assert np.abs(moved(found, SIDE) - moved(matrix, SIDE)).max() < 1.0


def test_nothing_lies_nowhere() -> None:
    assert placed(np.zeros((0, 8), np.float32)) == (None, 0)
    assert placed(np.zeros((20, 8), np.float32))[1] in range(21)  # all in one point: any answer, but one


@pytest.mark.parametrize(
    "matrix",
    [
        np.diag([-1.0, 1.0, 1.0]),
        np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-0.05, 0.0, 1.0]]),
        np.zeros((3, 3)),
        np.diag([1.0, 0.0, 1.0]),
    ],
    ids=["mirrored", "beyond the horizon", "nothing", "flat"],
)
def test_what_no_camera_sees_is_refused(matrix: np.ndarray) -> None:
    assert not is_sane(matrix, SIDE)


def test_corners_go_clockwise_from_the_top_left() -> None:
    assert quad_of(np.eye(3), 100, 60) == ((0.0, 0.0), (100.0, 0.0), (100.0, 60.0), (0.0, 60.0))
