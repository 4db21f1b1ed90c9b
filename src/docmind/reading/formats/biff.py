"""The records of an Excel workbook of before 2007 that `xlrd` leaves: margins, formulas, drawings, charts.

A workbook is one stream of records, each a number, a size and its data: first what all sheets share, then each sheet
at the place that its entry names. Numbers and layouts are those of [MS-XLS].
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from docmind.reading.formats.typeset import printable

_BOUNDSHEET, _BOF, _EOF, _HEADER, _FOOTER, _FORMULA = 0x85, 0x809, 0x0A, 0x14, 0x15, 0x06
_OBJ, _TXO, _CONTINUE, _SERIESTEXT, _OBJECTLINK, _AUTOFILTER = 0x5D, 0x1B6, 0x3C, 0x100D, 0x1027, 0x9D
_DRAWING_GROUP, _DRAWING = 0xEB, 0xEC
_CHART, _TEXT_BOX, _PICTURE, _DROP_DOWN, _COMMENT = 5, 6, 8, 0x14, 0x19
_CONTROLS = (7, 0x0B, 0x0C, 0x0D, 0x10, 0x11, 0x12)
_FORMULA_OF_OBJECT = b"\x09\x00"  # the part of a picture that shows an embedded object
_NO_TEXT = 3  # the type of a result that is an empty text
_MOST_FORMULAS = 200_000
_TEXTS_MAX = 10_000

WORKSHEET, MACRO_SHEET, CHART_SHEET, MODULE = 0, 1, 2, 6


@dataclass(frozen=True, slots=True)
class Bound:
    """A sheet as the workbook lists it: where its records begin, whether it is hidden, its type and its name."""

    start: int
    is_hidden: bool
    type: int
    name: str


@dataclass(slots=True)
class Beside:
    """What stands in the records of a sheet beside its cells."""

    margins: list[tuple[str, str]] = field(default_factory=list)
    formulas: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """The parsed formulas by row and column from 0."""
    is_uncalculated: bool = True
    """No formula has a result but zero or an empty text: a program wrote them that computes nothing."""
    texts: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    """Of charts."""
    charts: int = 0
    pictures: int = 0
    drawing: bytearray = field(default_factory=bytearray)
    """The records of what is drawn (`office_art`)."""
    ends: list[int] = field(default_factory=list)
    """Where the shape of each picture ends in them."""
    controls: int = 0
    objects: int = 0


def bounds_of(data: bytes, *, is_biff8: bool, encoding: str) -> list[Bound]:
    """Return the entries of all sheets, those of charts, macros and modules too."""
    found = list[Bound]()
    for number, body in _records(data, 0):
        if number == _EOF:
            break
        if number == _BOUNDSHEET and len(body) > 7:
            start, state, kind = struct.unpack_from("<IBB", body)
            found.append(Bound(start, bool(state & 3), kind, _text(body[6:], 1, encoding, is_biff8=is_biff8)))
    return found


def drawing_group(data: bytes) -> bytes:
    """Return the records of the pictures that all sheets share; b"" where there are none."""
    found, is_of_group = bytearray(), False
    for number, body in _records(data, 0):
        if number == _EOF:
            break
        is_of_group = number == _DRAWING_GROUP or (is_of_group and number == _CONTINUE)
        if is_of_group:
            found += body
    return bytes(found)


def beside_cells(data: bytes, start: int, *, is_biff8: bool, encoding: str) -> Beside:
    """Return what one sheet has beside its cells; of records that break off, what came before."""
    reader = _SheetRecords(is_biff8=is_biff8, encoding=encoding)
    for number, body in _records(data, start):
        if not reader.take(number, body):
            break
    return reader.finish()


class _SheetRecords:
    def __init__(self, *, is_biff8: bool, encoding: str) -> None:
        self._found = Beside()
        self._is_biff8, self._encoding = is_biff8, encoding
        self._depth = 0
        self._object = 0
        self._text_left, self._text = 0, ""
        self._title = ""
        self._drop_downs = 0
        self._is_filtered = False
        self._is_drawing = False

    def finish(self) -> Beside:
        self._found.controls += 0 if self._is_filtered else self._drop_downs
        return self._found

    def take(self, number: int, body: bytes) -> bool:
        """Take one record; return whether the sheet goes on."""
        if number == _BOF:
            self._depth += 1
        elif number == _EOF:
            self._depth -= 1
            return self._depth > 0
        elif self._depth > 1:
            self._of_chart(number, body)
        elif number == _DRAWING or (number == _CONTINUE and self._is_drawing):
            self._found.drawing += body
        else:
            self._of_sheet(number, body)
        self._is_drawing = number == _DRAWING or (number == _CONTINUE and self._is_drawing)
        return True

    def _of_sheet(self, number: int, body: bytes) -> None:
        if number in (_HEADER, _FOOTER):
            where = "header" if number == _HEADER else "footer"
            text = self._string(body, 2 if self._is_biff8 else 1)
            self._found.margins += [(where, text)] if text else []
        elif number == _FORMULA and len(body) >= 22 and len(self._found.formulas) < _MOST_FORMULAS:
            row, column = struct.unpack_from("<HH", body)
            size = struct.unpack_from("<H", body, 20)[0]
            self._found.formulas[row, column] = body[22 : 22 + size]
            has_result = any(body[6:14]) and not (body[6] == _NO_TEXT and body[12:14] == b"\xff\xff")
            self._found.is_uncalculated &= not has_result
        elif number == _OBJ and len(body) >= 6:
            self._of_object(struct.unpack_from("<H", body, 4)[0], body)
        elif number == _AUTOFILTER:
            self._is_filtered = True
        elif number == _TXO and len(body) >= 12:
            self._text, self._text_left = "", 0 if self._object == _COMMENT else struct.unpack_from("<H", body, 10)[0]
        elif number == _CONTINUE and self._text_left:
            self._of_text(body)

    def _of_chart(self, number: int, body: bytes) -> None:
        if number == _SERIESTEXT and len(body) > 3:
            self._title = self._string(body[2:], 1)
        elif number == _OBJECTLINK and len(body) >= 2:
            if struct.unpack_from("<H", body)[0] == 1 and self._title.strip():  # of the chart, not of an axis
                self._found.titles.append(self._title)
            self._title = ""

    def _of_object(self, kind: int, body: bytes) -> None:
        self._object = kind
        if kind == _CHART:
            self._found.charts += 1
        elif kind == _PICTURE:
            is_object = _FORMULA_OF_OBJECT in body[22:]
            self._found.objects += is_object
            self._found.pictures += not is_object
            self._found.ends += [] if is_object else [len(self._found.drawing)]
        elif kind in _CONTROLS:
            self._found.controls += 1
        elif kind == _DROP_DOWN:
            self._drop_downs += 1

    def _of_text(self, body: bytes) -> None:
        """Take a part of a text: each of its records says whether its characters have one byte or two."""
        text = body[1:].decode("utf-16-le", "replace") if body[:1] == b"\1" else body[1:].decode("latin-1")
        text = text[: self._text_left]
        self._text_left -= len(text)
        self._text += text
        if not self._text_left:
            if len(self._found.texts) < _TEXTS_MAX:
                self._found.texts += [line for line in map(printable, self._text.splitlines()) if line.strip()]
            self._text = ""

    def _string(self, body: bytes, size: int) -> str:
        return _text(body, size, self._encoding, is_biff8=self._is_biff8)


def _records(data: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    while start + 4 <= len(data):
        number, size = struct.unpack_from("<HH", data, start)
        if start + 4 + size > len(data):
            return
        yield number, data[start + 4 : start + 4 + size]
        start += 4 + size


def _text(body: bytes, size: int, encoding: str, *, is_biff8: bool) -> str:
    """Return a text that begins with its length, of one byte or two."""
    if len(body) < size:
        return ""
    length = int.from_bytes(body[:size], "little")
    if not is_biff8:
        return printable(body[size : size + length].decode(encoding, "replace"))
    is_wide, start = body[size : size + 1] == b"\1", size + 1
    raw = body[start : start + length * (1 + is_wide)]
    return printable(raw.decode("utf-16-le" if is_wide else "latin-1", "replace"))
