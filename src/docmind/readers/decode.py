"""Bytes to text: a mark at the start, then UTF-8, then a guess."""

from __future__ import annotations

import codecs

from docmind.errors import TooLargeError
from docmind.readers import Rules
from docmind.readers.sheet import printable
from docmind.schema import Upload

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 256 * 1024
_SHORT = 1_000  # bytes; a guess on less is worse than the most common encoding of western Europe
_WESTERN = "cp1252"


def decode(upload: Upload, rules: Rules) -> str:
    """The text of a plain text file. Raises `TooLargeError` above `max_text_mb`."""
    if len(upload.data) > rules.max_text_mb * 1024 * 1024:
        size = len(upload.data) / 1024 / 1024
        raise TooLargeError(
            f"{upload.name} holds {size:,.0f} MB of text; the limit is {rules.max_text_mb} MB.",
            hint="Split the file, or raise DOCMIND_READING__MAX_TEXT_MB.",
        )
    return printable(upload.data.decode(encoding_of(upload.data), "replace"))


def encoding_of(data: bytes) -> str:
    """The name of the encoding of a text."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            return name
    sample = data[:_SAMPLE]
    if sample.count(0) > 0.2 * len(sample):
        return "utf-16-le" if sample[1::2].count(0) > sample[::2].count(0) else "utf-16-be"
    try:
        data.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError as error:
        # One torn character at the very end of a file that is UTF-8 otherwise was cut off, not encoded differently.
        if error.start >= len(data) - 3 and error.start > 0:
            return "utf-8"
    high = sum(byte > 0x7F for byte in sample) / len(sample)
    if len(data) < _SHORT and high < 0.2:
        return _WESTERN
    return _guess(sample)


def _guess(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(sample).best()
    return best.encoding if best is not None else _WESTERN
