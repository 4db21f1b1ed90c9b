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
    "marks_of_page",
    "marks_of_query",
    "packed",
    "probes_of",
]
