"""The marks of one picture: codes, each with a place, a size and a direction."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from docmind.errors import DamagedError

VERSION = 1
RUN, SPOT, SHEET = 0, 1, 2
KINDS = 3
_SCALE = 8.0  # places are kept as eighths of a pixel
_HEAD = struct.Struct("<BHHH")


@dataclass(frozen=True, slots=True)
class Marks:
    """`places` float32 `(n, 4)`: x and y of both ends in pixels of the picture; `kinds` uint8 `(n,)`.

    `numbers` float32 `(n, 64)` are what the codes are the signs of: known for a query, not kept of a page.
    """

    codes: np.ndarray
    places: np.ndarray
    kinds: np.ndarray
    numbers: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def pack(self) -> bytes:
        """As stored: codes, then places, ordered by kind. Places are exact to an eighth of a pixel."""
        order = np.argsort(self.kinds, kind="stable")
        counts = np.bincount(self.kinds, minlength=KINDS)
        places = np.clip(np.rint(self.places[order] * _SCALE), 0, 65_535).astype("<u2")
        return _HEAD.pack(VERSION, *counts) + self.codes[order].astype("<u8").tobytes() + places.tobytes()

    @classmethod
    def unpack(cls, data: bytes) -> Marks:
        """The opposite of `pack`. Raises `DamagedError`."""
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
