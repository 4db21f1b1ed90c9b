"""Which pages of a PDF have a content stream that is missing or breaks off.

PDFium shows what it can decode of such a page and tells nothing, so the streams are looked at beside it: those that are
packed with Deflate, as nearly all are, and of files that are not encrypted. The reader of their structure is no more
than that asks for; where it does not find the pages that PDFium found, it says nothing.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator

_OBJECT = re.compile(rb"(?<!\d)(\d{1,8})[\0\t\n\f\r ]+\d{1,5}[\0\t\n\f\r ]+obj\b")
_STREAM = re.compile(rb"stream\r?\n")
_REFERENCE = re.compile(rb"(\d{1,8})\s+\d{1,5}\s+R\b")
_ROOT = re.compile(rb"/Root\s+(\d{1,8})\s+\d{1,5}\s+R\b")
_PAGES = re.compile(rb"/Pages\s+(\d{1,8})\s+\d{1,5}\s+R\b")
_KIDS = re.compile(rb"/Kids\s*(?:\[([^\[\]]*)\]|(\d{1,8})\s+\d{1,5}\s+R\b)")
_CONTENTS = re.compile(rb"/Contents\s*(?:\[([^\[\]]*)\]|(\d{1,8})\s+\d{1,5}\s+R\b)")
_FILTER = re.compile(rb"/Filter\s*(?:\[([^\[\]]*)\]|(/\w+))")
_FILTERS = {(b"FlateDecode",): False, (b"Fl",): False, (b"ASCII85Decode", b"FlateDecode"): True, (b"A85", b"Fl"): True}
_PACKED = re.compile(rb"/Type\s*/ObjStm\b")
_FIRST, _COUNT = re.compile(rb"/First\s+(\d{1,9})\b"), re.compile(rb"/N\s+(\d{1,7})\b")
_LONGEST = 1 << 20  # bytes of a dictionary
_LARGEST = 64 << 20  # bytes of one stream, unpacked; what a longer one holds behind them is not looked at
_CHUNK = 1 << 20
_MOST_NODES = 200_000  # of the tree of pages
_HEADER = 2  # bytes of zlib before its data


def damaged_pages(data: bytes, count: int) -> frozenset[int]:
    """Return the numbers of the pages, from 1, of which a content stream is missing or breaks off.

    `count` is the number of pages that PDFium found.
    """
    if b"/Encrypt" in data:
        return frozenset()
    file = _File(data)
    pages = list(file.pages())
    if len(pages) != count:
        return frozenset()
    return frozenset(number for number, page in enumerate(pages, start=1) if file.is_damaged(page))


class _File:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._places = {int(match[1]): match.end() for match in _OBJECT.finditer(data)}
        self._packed: dict[int, bytes] = {}
        for place in list(self._places.values()) if b"/ObjStm" in data else ():
            said = self._dictionary(place)
            if _PACKED.search(said):
                self._packed.update(self._unpacked(place, said))

    def pages(self) -> Iterator[bytes]:
        """Yield the dictionaries of the pages in their order; an empty one where it is missing."""
        roots = _ROOT.findall(self._data)
        top = _PAGES.search(self._said(int(roots[-1]))) if roots else None
        waiting = [int(top[1])] if top is not None else []
        seen: set[int] = set()
        while waiting and len(seen) < _MOST_NODES:
            number = waiting.pop()
            said = self._said(number)
            if number in seen:
                continue
            seen.add(number)
            kids = _KIDS.search(said)
            if kids is None:
                yield said
                continue
            listed = kids[1] if kids[1] is not None else self._said(int(kids[2]))
            waiting += [int(kid) for kid in reversed(_REFERENCE.findall(listed))]

    def is_damaged(self, page: bytes) -> bool:
        """Return whether a content stream of a page is missing or breaks off."""
        contents = _CONTENTS.search(page)
        if contents is None:
            return not page
        numbers = _REFERENCE.findall(contents[1]) if contents[1] is not None else [contents[2]]
        if contents[2] is not None and self._is_list(int(contents[2])):
            numbers = _REFERENCE.findall(self._said(int(contents[2])))
        return any(self._breaks_off(int(number)) for number in numbers)

    def _is_list(self, number: int) -> bool:
        return self._said(number).lstrip()[:1] == b"["

    def _breaks_off(self, number: int) -> bool:
        place = self._places.get(number)
        if place is None:
            return True
        said = self._dictionary(place)
        packed = self._stream(place, said)
        if packed is None:
            return True
        found = _FILTER.search(said)
        names = tuple(re.findall(rb"/(\w+)", found[0])[1:]) if found is not None else ()
        if names not in _FILTERS:
            return False
        if _FILTERS[names]:
            try:
                packed = base64.a85decode(packed.partition(b"~>")[0].strip())
            except ValueError:
                return True
        return not _is_whole(packed)

    def _said(self, number: int) -> bytes:
        if number in self._packed:
            return self._packed[number]
        place = self._places.get(number)
        return self._dictionary(place) if place is not None else b""

    def _dictionary(self, place: int) -> bytes:
        """Return the text of an object up to its stream or its end."""
        end = self._data.find(b"endobj", place, place + _LONGEST)
        said = self._data[place : end if end >= 0 else place + _LONGEST]
        stream = _STREAM.search(said)
        return said[: stream.start()] if stream is not None else said

    def _stream(self, place: int, said: bytes) -> bytes | None:
        match = _STREAM.match(self._data, place + len(said))
        if match is None:
            return None
        end = self._data.find(b"endstream", match.end())
        return self._data[match.end() : end if end >= 0 else len(self._data)]

    def _unpacked(self, place: int, said: bytes) -> dict[int, bytes]:
        """Return the objects of a stream of objects by their numbers."""
        first, count, packed = _FIRST.search(said), _COUNT.search(said), self._stream(place, said)
        if first is None or count is None or packed is None:
            return {}
        try:
            text = zlib.decompressobj().decompress(packed, _LARGEST)
        except zlib.error:
            return {}
        heads = [int(number) for number in text[: int(first[1])].split()[: 2 * int(count[1])] if number.isdigit()]
        starts = [int(first[1]) + start for start in heads[1::2]]
        ends = [*starts[1:], len(text)]
        return {number: text[start:end] for number, start, end in zip(heads[::2], starts, ends, strict=False)}


def _is_whole(packed: bytes) -> bool:
    """Return whether packed data are all there and are what was packed, as far as a checksum tells that."""
    reader, waiting, left, total = zlib.decompressobj(-zlib.MAX_WBITS), packed[_HEADER:], _LARGEST, 1
    try:
        while not reader.eof and waiting and left > 0:
            part = reader.decompress(waiting, _CHUNK)
            left, total = left - len(part), zlib.adler32(part, total)
            waiting = reader.unconsumed_tail
    except zlib.error:
        return False
    checksum = reader.unused_data[:4]  # cut off by some programs
    return left <= 0 or (reader.eof and (len(checksum) < 4 or int.from_bytes(checksum, "big") == total))
