from .codes import (
    BITS,
    KEY_BITS,
    KINDS,
    RUN,
    SHEET,
    SPOT,
    VERSION,
    PackedMarks,
    PictureMarks,
    keys_of,
    packed,
    probes_of,
)
from .features import ink_of, marks_of_page, marks_of_query
from .look_hash import look_hash

__all__ = [
    "BITS",
    "KEY_BITS",
    "KINDS",
    "RUN",
    "SHEET",
    "SPOT",
    "VERSION",
    "PackedMarks",
    "PictureMarks",
    "ink_of",
    "keys_of",
    "look_hash",
    "marks_of_page",
    "marks_of_query",
    "packed",
    "probes_of",
]
