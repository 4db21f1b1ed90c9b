"""Ink around a run, a spot or a whole sheet to 64 numbers, whose signs make a code."""

from __future__ import annotations

import cv2
import numpy as np

from docmind.lookalike.codes import BITS, SELECTED

WIDE, HIGH = 40, 8  # samples along a run and across it
_ASPECT = 5.0  # a run is sampled this many times longer than high: its line, and a little of those above and below
UPSIDE_DOWN = np.array([(-1.0) ** (across + along) for across, along in SELECTED], np.float32)
"""What a run's numbers are multiplied by when the page is turned round: its ends change places as well."""


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
    """Half of a 128x128 Hadamard matrix with rows in a fixed disorder: each bit listens to the whole descriptor."""
    matrix = np.ones((1, 1), np.float32)
    while len(matrix) < 2 * BITS:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    signs = np.array([1 if (index * 0x9E37_79B1 >> 7) & 1 else -1 for index in range(2 * BITS)], np.float32)
    return (matrix[1 : BITS + 1] * signs).T


_MIXING = _mixing()


def of_runs(ink: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """Numbers of runs, float32 `(n, 64)`; `runs` is `(n, 4)` in pixels of `ink`."""
    start, along = runs[:, :2], runs[:, 2:] - runs[:, :2]
    across = np.stack([-along[:, 1], along[:, 0]], axis=1) / _ASPECT
    u = ((np.arange(WIDE) + 0.5) / WIDE)[None, None, :]
    v = ((np.arange(HIGH) + 0.5) / HIGH - 0.5)[None, :, None]
    x, y = (
        start[:, axis, None, None] + along[:, axis, None, None] * u + across[:, axis, None, None] * v for axis in (0, 1)
    )
    # Sampled from ink that is blurred as widely as the samples lie apart.
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
    """Numbers of SIFT descriptors `(n, 128)`: their square roots, mixed; float32 `(n, 64)`."""
    root = np.sqrt(descriptors / np.maximum(descriptors.sum(axis=1, keepdims=True), 1e-6))
    return (root - root.mean(axis=1, keepdims=True)) @ _MIXING


def of_sheet(ink: np.ndarray) -> np.ndarray:
    """Numbers of the whole picture, float32 `(1, 64)`: where on it there is how much ink, coarsely."""
    small = cv2.resize(ink, (_SHEET, _SHEET), interpolation=cv2.INTER_AREA)
    transform = _SHEET_COSINES @ cv2.GaussianBlur(small, (0, 0), 1.0) @ _SHEET_COSINES.T
    return np.array([[transform[pair] for pair in _SHEET_PAIRS]], np.float32)
