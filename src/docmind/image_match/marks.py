"""The marks of one picture: codes, each with a place, a size and a direction.

A code is made from 64 numbers, and is found under several keys.
"""

from __future__ import annotations

import struct
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


def packed(numbers: np.ndarray) -> np.ndarray:
    """Return the signs as uint64 `(n,)`."""
    return np.ascontiguousarray(np.packbits(numbers > 0, axis=1, bitorder="little")).view("<u8").ravel()


def keys_of(codes: np.ndarray) -> np.ndarray:
    """Return the 16 bits of each code that vary least between two pictures of one place, as int64 `(n,)`."""
    keys = np.zeros(len(codes), np.uint64)
    for place, bit in enumerate(_KEY):  # bit by bit: an array of all bits of millions of codes would be too large
        keys |= ((codes >> np.uint64(bit)) & np.uint64(1)) << np.uint64(place)
    return keys.astype(np.int64)


def probes_of(numbers: np.ndarray, flips: int = 4) -> np.ndarray:
    """Return keys to look up, int64 `(n, 2**flips)`: the code's own, and those with the least certain bits flipped."""
    keys = keys_of(packed(numbers))
    doubt = np.abs(numbers[:, _KEY])
    if len(numbers) > _FEW:
        doubt /= np.maximum(np.sqrt((doubt**2).mean(axis=0)), 1e-6)
    weak = np.int64(1) << np.argsort(doubt, axis=1)[:, :flips]
    chosen = (np.arange(2**flips)[:, None] >> np.arange(flips)) & 1
    return keys[:, None] ^ (weak[:, None, :] * chosen[None]).sum(axis=2)


VERSION = 1
RUN, SPOT, SHEET = 0, 1, 2
KINDS = 3
_SCALE = 8.0  # places are stored as eighths of a pixel
_HEAD = struct.Struct("<BHHH")


@dataclass(frozen=True, slots=True)
class Marks:
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
    def unpack(cls, data: bytes) -> Marks:
        """Read the form that `pack` writes. Raises `DamagedError`."""
        try:
            version, *counts = _HEAD.unpack_from(data)
            count = sum(counts)
            if version != VERSION or len(data) != _HEAD.size + 16 * count:
                raise ValueError
        except (struct.error, ValueError) as error:
            raise DamagedError("The marks of a page cannot be read.") from error
        found = np.frombuffer(data, "<u8", count, _HEAD.size)
        places = np.frombuffer(data, "<u2", 4 * count, _HEAD.size + 8 * count).reshape(-1, 4)
        kinds = np.repeat(np.array([RUN, SPOT, SHEET], np.uint8), counts)
        return cls(found, places.astype(np.float32) / np.float32(_SCALE), kinds)
