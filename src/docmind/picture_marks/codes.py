"""The marks of one picture: codes, each with a place, a size and a direction.

A code is made from 64 numbers, and is found under several keys.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from docmind.errors import DamagedError

BITS = 64
KEY_BITS = 16
_FEW = 8  # fewer do not show how much a number varies
# Rows (across) and columns (along) of a run's cosine transform that form its code; and those that form its key.
SELECTED = [
    *((0, along) for along in range(1, 23)),
    *((1, along) for along in range(18)),
    *((2, along) for along in range(14)),
    *((3, along) for along in range(10)),
]
_KEYED = [*((0, along) for along in range(2, 11)), *((1, along) for along in range(1, 8))]
_KEY = np.array([SELECTED.index(one) for one in _KEYED])
# The key's bits are two groups of neighbours of the code: from this bit, so many, to this bit of the key.
_GROUPS = ((1, 9, 0), (23, 7, 9))


def packed(numbers: np.ndarray) -> np.ndarray:
    """Return the signs as uint64 `(n,)`."""
    return np.ascontiguousarray(np.packbits(numbers > 0, axis=1, bitorder="little")).view("<u8").ravel()


def keys_of(codes: np.ndarray) -> np.ndarray:
    """Return the 16 bits of each code that vary least between two pictures of one place, as uint16 `(n,)`."""
    keys = np.zeros(len(codes), np.uint16)
    for start, count, place in _GROUPS:
        some = (codes >> np.uint64(start)).astype(np.uint16) & np.uint16((1 << count) - 1)
        keys |= some << np.uint16(place)
    return keys


def probes_of(numbers: np.ndarray, flips: int = 4) -> np.ndarray:
    """Return keys to look up, int64 `(n, 2**flips)`: the code's own, and those with the least certain bits flipped."""
    keys = keys_of(packed(numbers)).astype(np.int64)
    doubt = np.abs(numbers[:, _KEY])
    if len(numbers) > _FEW:
        doubt /= np.maximum(np.sqrt((doubt**2).mean(axis=0)), 1e-6)
    weak = np.int64(1) << np.argsort(doubt, axis=1)[:, :flips]
    chosen = (np.arange(2**flips)[:, None] >> np.arange(flips)) & 1
    return keys[:, None] ^ (weak[:, None, :] * chosen[None]).sum(axis=2)


VERSION = 2
RUN, SPOT, SHEET = 0, 1, 2
KINDS = 3
_SCALE = 8.0  # places are stored as eighths of a pixel
_HEAD = struct.Struct("<BHHH")


@dataclass(frozen=True, slots=True)
class PictureMarks:
    """Codes with `places` float32 `(n, 4)`: x and y of both ends in pixels of the picture; `kinds` uint8 `(n,)`.

    `numbers` float32 `(n, 64)` are the values whose signs form the codes: present for a query, not stored for a page.
    """

    codes: np.ndarray
    places: np.ndarray
    kinds: np.ndarray
    numbers: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def pack(self) -> bytes:
        """Return the stored form: codes, then places, ordered by kind. Places are exact to an eighth of a pixel."""
        order = np.argsort(self.kinds, kind="stable")
        counts = np.bincount(self.kinds, minlength=KINDS)
        places = np.clip(np.rint(self.places[order] * _SCALE), 0, 65_535).astype("<u2")
        return _HEAD.pack(VERSION, *counts) + self.codes[order].astype("<u8").tobytes() + places.tobytes()

    @classmethod
    def unpack(cls, data: bytes) -> PictureMarks:
        """Read the form that `pack` writes. Raises `DamagedError`."""
        page = PackedMarks.of([data])
        return cls(page.codes, page.places.astype(np.float32) / np.float32(_SCALE), page.kinds)


@dataclass(frozen=True, slots=True)
class PackedMarks:
    """Marks of several pages one after another, as stored: `places` uint16 `(n, 4)` in eighths of a pixel.

    `counts` int64 `(pages, 3)` has the number of marks of each page by kind.
    """

    codes: np.ndarray
    places: np.ndarray
    kinds: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, pages: Sequence[bytes]) -> PackedMarks:
        """Read the form that `Marks.pack` writes of each page. Raises `DamagedError`."""
        counts, found, places = np.zeros((len(pages), KINDS), np.int64), [], []
        for number, data in enumerate(pages):
            try:
                version, *each = _HEAD.unpack_from(data)
                count = sum(each)
                if version != VERSION or len(data) != _HEAD.size + 16 * count:
                    raise ValueError
            except (struct.error, ValueError) as error:
                raise DamagedError("The marks of a page cannot be read.") from error
            counts[number] = each
            found.append(memoryview(data)[_HEAD.size : _HEAD.size + 8 * count])
            places.append(memoryview(data)[_HEAD.size + 8 * count :])
        return cls(
            np.frombuffer(b"".join(found), "<u8"),
            np.frombuffer(b"".join(places), "<u2").reshape(-1, 4),
            np.repeat(np.tile(np.arange(KINDS, dtype=np.uint8), len(pages)), counts.ravel()),
            counts,
        )
