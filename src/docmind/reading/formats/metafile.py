"""The bitmap in a Windows metafile (EMF, WMF): what programs put into one that was pasted or scaled.

Records and numbers are those of [MS-EMF], [MS-EMFPLUS] and [MS-WMF]. A drawing of lines is not drawn.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

_PLACEABLE = b"\xd7\xcd\xc6\x9a"
_GZIP = b"\x1f\x8b\x08"
_LARGEST = 128 << 20  # bytes of an unpacked metafile
_MOST_RECORDS = 200_000
_COVERED = 0.5  # of the metafile's area that its bitmap must fill
_INFO_HEADER = 40  # bytes, the least that is read of a bitmap's header
_COMMENT, _OBJECT, _IMAGE, _BITMAP = 70, 0x4008, 5, 1
# Offset of the four numbers that place the header and the pixels of a bitmap within a record.
_EMF_BITMAPS = {76: 84, 77: 84, 80: 48, 81: 48, 114: 84}
# Offset of the bitmap within the data of a record; height and width of its place stand 8 bytes before.
_WMF_BITMAPS = {0x0F43: 22, 0x0B41: 20, 0x0940: 16}
_WINDOW = 0x020C
_STROKES = {*range(0x400A, 0x401A), 0x401C, 0x4036}  # records of EMF+ that draw lines, areas and words
_FEW = 3
_RAW_PIXELS = {0x0021808: (24, 3), 0x0022009: (32, 4), 0x026200A: (32, 4)}
"""Bits and bytes of a pixel by the formats of EMF+ that a BMP can hold."""


def is_metafile(data: bytes) -> bool:
    """Return whether these are the bytes of an EMF or WMF, also of a packed one."""
    head = _unpacked(data, 64) if data[:3] == _GZIP else data[:64]
    return _is_emf(head) or head[:4] == _PLACEABLE or head[:4] in (b"\x01\0\x09\0", b"\x02\0\x09\0")


def bitmap_in(data: bytes) -> bytes:
    """Return the largest bitmap in a metafile as the bytes of a picture; b"" where no one fills most of its area."""
    data = _unpacked(data, _LARGEST) if data[:3] == _GZIP else data
    try:
        return max(_in_emf(data) if _is_emf(data[:64]) else _in_wmf(data), key=len, default=b"")
    except (struct.error, ValueError):
        return b""


def _is_emf(head: bytes) -> bool:
    return head[:4] == b"\x01\0\0\0" and head[40:44] == b" EMF"


def _unpacked(data: bytes, most: int) -> bytes:
    try:
        return zlib.decompressobj(31).decompress(data, most)
    except zlib.error:
        return b""


def _in_emf(data: bytes) -> Iterator[bytes]:
    frame = _area(struct.unpack_from("<4i", data, 8))
    at, plus = 0, _Plus()
    for _unused in range(_MOST_RECORDS):
        if at + 8 > len(data):
            break
        kind, size = struct.unpack_from("<II", data, at)
        if size < 8 or at + size > len(data):
            break
        record = memoryview(data)[at : at + size]
        if kind in _EMF_BITMAPS and size > _EMF_BITMAPS[kind] + 16:
            header, long, bits, wide = struct.unpack_from("<4I", record, _EMF_BITMAPS[kind])
            place = _area(struct.unpack_from("<4i", record, 8))
            if long and (not place or place >= _COVERED * frame):  # some programs leave the place empty
                yield _bmp(bytes(record[header : header + long]), bytes(record[bits : bits + wide]))
        elif kind == _COMMENT and bytes(record[12:16]) == b"EMF+":
            plus.take(record[16:])
        at += size
    if plus.strokes <= _FEW:
        yield plus.image


class _Plus:
    """What the records of EMF+ hold: the largest image, and how much is drawn beside images."""

    def __init__(self) -> None:
        self.image, self.strokes = b"", 0
        self._parts: list[bytes] = []  # of an object that goes on in the next record

    def take(self, data: memoryview) -> None:
        """Take the records of a comment."""
        at = 0
        while at + 12 <= len(data):
            kind, flags, size, long = struct.unpack_from("<HHII", data, at)
            if size < 12 or at + size > len(data):
                return
            self.strokes += kind in _STROKES
            if kind == _OBJECT and flags >> 8 & 0x7F == _IMAGE:
                goes_on = bool(flags & 0x8000)  # then the size of the whole object comes first
                start = at + (16 if goes_on else 12)
                self._parts.append(bytes(data[start : min(start + long, at + size)]))
                if not goes_on:
                    self.image = max(self.image, _image(b"".join(self._parts)), key=len)
                    self._parts.clear()
            at += size


def _image(data: bytes) -> bytes:
    """Return the bitmap that an image of EMF+ is; b"" for a metafile, and for pixels in another form."""
    if len(data) < 28 or struct.unpack_from("<I", data, 4)[0] != _BITMAP:
        return b""
    width, height, stride, form, is_packed = struct.unpack_from("<iiiII", data, 8)
    if is_packed:
        return data[28:]
    if form not in _RAW_PIXELS or width <= 0 or height <= 0 or stride != -(-width * _RAW_PIXELS[form][1] // 4) * 4:
        return b""
    header = struct.pack("<IiiHHIIiiII", _INFO_HEADER, width, -height, 1, _RAW_PIXELS[form][0], 0, 0, 0, 0, 0, 0)
    return _bmp(header, data[28:])


def _in_wmf(data: bytes) -> Iterator[bytes]:
    at, frame = 18, 0
    if data[:4] == _PLACEABLE:
        at = 40
    for _unused in range(_MOST_RECORDS):
        if at + 6 > len(data):
            return
        words, kind = struct.unpack_from("<IH", data, at)
        size = words * 2
        if size < 6 or at + size > len(data):
            return
        if kind == _WINDOW and size >= 10:
            high, wide = struct.unpack_from("<hh", data, at + 6)
            frame = max(frame, abs(high * wide))
        elif kind in _WMF_BITMAPS and size > _WMF_BITMAPS[kind] + 6 + _INFO_HEADER:
            start = at + 6 + _WMF_BITMAPS[kind]
            high, wide = struct.unpack_from("<hh", data, start - 8)
            if abs(high * wide) >= _COVERED * frame:
                yield _of_packed(data[start : at + size])
        at += size


def bitmap_file(dib: bytes) -> bytes:
    """Return a bitmap whose pixels stand right behind its header and colours as a file; b"" for what is none."""
    try:
        return _of_packed(dib)
    except (struct.error, ValueError):
        return b""


def _of_packed(dib: bytes) -> bytes:
    header, bits, compression, used = _form(dib)
    colours = (used or (1 << bits if bits <= 8 else 0)) * 4 + (12 if compression == 3 and header == _INFO_HEADER else 0)
    return _bmp(dib[: header + colours], dib[header + colours :])


def _form(dib: bytes) -> tuple[int, int, int, int]:
    """Return size of the header, bits of a pixel, compression and number of colours. Raises `struct.error`."""
    header = struct.unpack_from("<I", dib)[0]
    bits, compression = struct.unpack_from("<HI", dib, 14)
    used = struct.unpack_from("<I", dib, 32)[0]
    if not _INFO_HEADER <= header <= 200 or used > 256:
        raise ValueError("not a bitmap")
    return header, bits, compression, used


def _bmp(header: bytes, pixels: bytes) -> bytes:
    """Return a bitmap as the file that it would be."""
    if len(header) < _INFO_HEADER:
        return b""
    start = 14 + len(header)
    return b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start) + header + pixels


def _area(sides: tuple[int, ...]) -> int:
    left, top, right, bottom = sides
    return max(0, right - left + 1) * max(0, bottom - top + 1)
