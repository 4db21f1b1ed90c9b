"""The pictures of OfficeArt records, in which Office programs of before 2007 keep what is drawn ([MS-ODRAW]).

A record is its kind, its size and its data; records of the version 15 hold others. The pictures of a file lie in one
store, and a shape names the one that it shows by its number there.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from docmind.blocks import Picture
from docmind.reading.formats.figures import picture_in
from docmind.reading.formats.metafile import bitmap_file
from docmind.reading.formats.typeset import printable

_ENTRY, _SHAPE, _OPTIONS = 0xF007, 0xF004, 0xF00B
_ENTRY_HEAD, _NAME_LENGTH = 36, 33  # bytes of an entry before its name, and where the length of that stands
_METAFILES, _DIB, _BITMAPS = (0xF01A, 0xF01B), 0xF01F, (0xF01D, 0xF01E, 0xF029, 0xF02A)
_METAFILE_HEAD, _PACKED_AT = 34, 32
_PICTURE, _DESCRIPTION, _NUMBER, _COMPLEX = 0x104, 0x381, 0x3FFF, 0x8000
_DEEPEST, _MOST = 32, 100_000
_LARGEST = 64 << 20  # bytes of one unpacked metafile
_MOST_UNPACKED = 256 << 20  # bytes of all of them


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape that shows a picture: where it begins in its records, the picture's number from 1, and what it says."""

    start: int
    picture: int
    said: str


class PictureStore:
    """The pictures of a file by number, each looked at once."""

    def __init__(self, data: bytes) -> None:
        """Set up from the records of the drawing group."""
        self._entries = [
            (kind, instance, body) for kind, instance, body, _at in _records(data) if kind == _ENTRY or _is_blip(kind)
        ][:_MOST]
        self._found: dict[int, Picture | None] = {}
        self._unpacked = 0

    def picture(self, number: int) -> Picture | None:
        """Return a picture; None where there is none of this number, and for one that is not decoded."""
        if number not in self._found:
            is_there = 1 <= number <= len(self._entries)
            self._found[number] = self._read(*self._entries[number - 1]) if is_there else None
        return self._found[number]

    def _read(self, kind: int, instance: int, body: bytes) -> Picture | None:
        if kind == _ENTRY:
            if len(body) < _ENTRY_HEAD + 8:
                return None
            inner = next(_records(body[_ENTRY_HEAD + body[_NAME_LENGTH] :]), None)
            if inner is None or not _is_blip(inner[0]):
                return None
            kind, instance, body, _at = inner
        start = 32 if instance & 1 else 16  # one or two digests come first
        if kind in _METAFILES:
            head = body[start : start + _METAFILE_HEAD]
            data = body[start + _METAFILE_HEAD :]
            if len(head) < _METAFILE_HEAD:
                return None
            return picture_in(self._inflated(data) if head[_PACKED_AT] == 0 else data)
        data = body[start + 1 :]
        return picture_in(bitmap_file(data) if kind == _DIB else data)

    def _inflated(self, data: bytes) -> bytes:
        if self._unpacked >= _MOST_UNPACKED:
            return b""
        try:
            plain = zlib.decompressobj().decompress(data, _LARGEST)
        except zlib.error:
            return b""
        self._unpacked += len(plain)
        return plain


def shapes_in(data: bytes) -> list[Shape]:
    """Return the shapes of a sheet's records that show a picture, in their order."""
    found = list[Shape]()
    for kind, _instance, body, at in _records(data, inner=False):
        if kind == _SHAPE:
            number, said = 0, ""
            for inner, count, options, _at in _records(body):
                if inner == _OPTIONS:
                    number, said = _options(options, count)
            if number:
                found.append(Shape(at, number, said))
    return found


def _options(data: bytes, count: int) -> tuple[int, str]:
    """Return the number of the picture among the properties of a shape, 0 without one, and its description."""
    number, said = 0, ""
    at = count * 6  # the values of long properties stand behind the table
    for place in range(count):
        if place * 6 + 6 > len(data):
            break
        key, value = struct.unpack_from("<HI", data, place * 6)
        if key & _NUMBER == _PICTURE and not key & _COMPLEX:
            number = value
        if key & _COMPLEX:
            if key & _NUMBER == _DESCRIPTION:
                said = printable(data[at : at + min(value, 4_000)].decode("utf-16-le", "replace").rstrip("\0"))
            at += value
    return number, said


def _is_blip(kind: int) -> bool:
    return kind in _METAFILES or kind == _DIB or kind in _BITMAPS


def _records(data: bytes, *, inner: bool = True) -> Iterator[tuple[int, int, bytes, int]]:
    """Yield kind, instance, data and place of each record, of those in others too; shapes whole unless `inner`."""
    ends = [len(data)]
    at = 0
    for _unused in range(_MOST):
        while ends and at + 8 > ends[-1]:
            at = max(at, ends.pop())
        if not ends:
            return
        head, kind, size = struct.unpack_from("<HHI", data, at)
        end = min(at + 8 + size, len(data))
        is_whole = kind == _SHAPE and not inner
        if head & 0xF == 0xF and not is_whole:
            if len(ends) > _DEEPEST:
                return
            ends.append(end)
            at += 8
            continue
        yield kind, head >> 4, data[at + 8 : end], at
        at = end
