"""A hash of how a picture looks, by which copies of it in other sizes are told from other pictures."""

from __future__ import annotations

import numpy as np

from docmind.picture_marks.codes import packed

_SIDE, _KEPT = 32, 8  # pixels of the picture that is looked at; rows and columns of its cosine transform


def look_hash(grey: np.ndarray) -> str:
    """Return the perceptual hash of a grey picture, uint8 `(h, w)`, as 16 hex digits.

    Its 64 bits tell which of the lowest frequencies of a 32 x 32 picture are above their median: of copies in another
    size or compression few differ, of unrelated pictures about half. (Zauner, Implementation and Benchmarking of
    Perceptual Image Hash Functions, 2010, section 3.2.)
    """
    rows, columns = (np.array_split(np.arange(side), min(side, _SIDE)) for side in grey.shape)
    small = np.add.reduceat(grey.astype(np.float32), [part[0] for part in rows], axis=0)
    small = np.add.reduceat(small, [part[0] for part in columns], axis=1)
    small /= np.outer([len(part) for part in rows], [len(part) for part in columns])
    waves = _waves(small.shape[0]) @ small @ _waves(small.shape[1]).T
    low = np.zeros((_KEPT, _KEPT), np.float32)
    low[: waves.shape[0], : waves.shape[1]] = waves
    flat = low.ravel()
    return f"{int(packed((flat - np.median(flat[1:]))[None])[0]):016x}"


def _waves(side: int) -> np.ndarray:
    """Return the lowest rows of the cosine transform of so many pixels, float32 `(at most 8, side)`."""
    at = np.arange(side)
    return np.cos(np.pi / side * (at + 0.5) * np.arange(min(_KEPT, side))[:, None]).astype(np.float32)
