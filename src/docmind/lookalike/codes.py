"""64 numbers to one 64-bit code, and the keys it is found under."""

from __future__ import annotations

import numpy as np

BITS = 64
KEY_BITS = 16
_FEW = 8  # fewer do not tell how much a number varies
# Rows (across) and columns (along) of the cosine transform of a run that make its code; and those that make its key.
SELECTED = [
    *((0, along) for along in range(1, 23)),
    *((1, along) for along in range(18)),
    *((2, along) for along in range(14)),
    *((3, along) for along in range(10)),
]
_KEYED = [*((0, along) for along in range(2, 11)), *((1, along) for along in range(1, 8))]
_KEY = np.array([SELECTED.index(one) for one in _KEYED])


def packed(numbers: np.ndarray) -> np.ndarray:
    """The signs as uint64 `(n,)`."""
    return np.ascontiguousarray(np.packbits(numbers > 0, axis=1, bitorder="little")).view("<u8").ravel()


def keys_of(codes: np.ndarray) -> np.ndarray:
    """The 16 bits of each code that vary least between two pictures of one place, as int64 `(n,)`."""
    keys = np.zeros(len(codes), np.uint64)
    for place, bit in enumerate(_KEY):  # bit by bit: of millions, an array of all bits would not fit
        keys |= ((codes >> np.uint64(bit)) & np.uint64(1)) << np.uint64(place)
    return keys.astype(np.int64)


def probes_of(numbers: np.ndarray, flips: int = 4) -> np.ndarray:
    """Keys to look under, int64 `(n, 2**flips)`: the own one, and with the least certain bits turned over."""
    keys = keys_of(packed(numbers))
    doubt = np.abs(numbers[:, _KEY])
    if len(numbers) > _FEW:
        doubt /= np.maximum(np.sqrt((doubt**2).mean(axis=0)), 1e-6)
    weak = np.int64(1) << np.argsort(doubt, axis=1)[:, :flips]
    chosen = (np.arange(2**flips)[:, None] >> np.arange(flips)) & 1
    return keys[:, None] ^ (weak[:, None, :] * chosen[None]).sum(axis=2)
