"""Which part of a picture a page covers: two pages that cover different parts are both on it."""

from __future__ import annotations

import numpy as np

from docmind.seeing import Quad

Cover = tuple[float, float, float, float]
"""Left, top, right and bottom on the picture, 0..1 each way."""

_SHARED = 0.2  # of the smaller cover: pages that lie beside each other on a crooked photograph share a corner of boxes
_LEAST = 0.02  # of the picture; less of it is no page


def cover_of(quad: Quad, page_size: tuple[int, int]) -> Cover | None:
    """The box on the picture that the page covers; `quad` is the picture on the page. None where it covers nothing."""
    if len(quad) != 4:
        return None
    rows, sums = [], []
    for (u, v), (x, y) in zip(
        ((0, 0), (1, 0), (1, 1), (0, 1)), quad, strict=True
    ):  # the picture's corners, by its sides
        rows += [[u, v, 1, 0, 0, 0, -u * x, -v * x], [0, 0, 0, u, v, 1, -u * y, -v * y]]
        sums += [x, y]
    try:
        matrix = np.append(np.linalg.solve(np.array(rows, float), np.array(sums, float)), 1.0).reshape(3, 3)
        width, height = page_size
        page = np.array([[0, 0, 1], [width, 0, 1], [width, height, 1], [0, height, 1]], float)
        seen = page @ np.linalg.inv(matrix).T
    except np.linalg.LinAlgError:  # corners on one line
        return None
    if not np.isfinite(seen).all() or (np.sign(seen[:, 2]) != np.sign(seen[0, 2])).any() or not seen[:, 2].all():
        return None  # a page that reaches beyond the horizon
    corners = np.clip(seen[:, :2] / seen[:, 2:], 0.0, 1.0)
    (left, top), (right, bottom) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    return (left, top, right, bottom) if (right - left) * (bottom - top) >= _LEAST else None


def are_apart(one: Cover, other: Cover) -> bool:
    """Whether two covers share next to nothing of the picture."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    least = min((each[2] - each[0]) * (each[3] - each[1]) for each in (one, other))
    return max(across, 0.0) * max(down, 0.0) <= _SHARED * least
