"""Limits of the figures that a reading process sends, which the owner checks, and the form of their pictures.

Only what both processes need is here: figures are found, decoded and encoded by `docmind.reading.formats`.
"""

from __future__ import annotations

import hashlib

MOST_OF_PAGE, MOST_OF_DOCUMENT = 64, 2_000
LARGEST = 2 << 20  # bytes of the encoded picture
LONGEST_SAID = 2_000  # characters of an alternative text or caption
LONGEST_SIDE = 1_600  # pixels of the encoded picture


def is_webp(data: bytes) -> bool:
    """Return whether these are the bytes of a WebP, by its header."""
    return data[:4] == b"RIFF" and data[8:12] == b"WEBP"


def digest_of(image: bytes) -> str:
    """Return by what a sheet names the picture of a figure that stands on it."""
    return hashlib.sha256(image).hexdigest()
