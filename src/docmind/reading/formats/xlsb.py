"""Binary Excel workbooks (.xlsb): the package of an Excel workbook whose parts hold records in place of XML.

A record is a number of one byte or two, a size of up to four bytes, seven bits of each counting, and its data. Numbers
and layouts are those of [MS-XLSB].
"""

from __future__ import annotations

import math
import struct
import zipfile
from collections.abc import Iterable, Iterator
from typing import IO

from docmind.blocks import Losses
from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules, facts_of, open_archive
from docmind.reading.formats.number_format import BUILT_IN, GENERAL
from docmind.reading.formats.ooxml import Link, Package
from docmind.reading.formats.sheet_blocks import blocks_of
from docmind.reading.formats.sheet_cells import (
    ERRORS,
    LAST_COLUMN,
    LAST_ROW,
    MOST_MERGES,
    ErrorValue,
    Font,
    Note,
    Range,
    RawCell,
    Sheet,
    SheetTable,
    Style,
    Value,
    in_runs,
    name_of,
)
from docmind.reading.formats.typeset import LaidOut, printable
from docmind.reading.formats.xlsx import PartsWorkbook, broken_text
from docmind.reading.formats.xlsx_notes import threads_of
from docmind.reading.formats.xlsx_parts import Book, SheetEntry, left_as, read_facts
from docmind.reading.main_part import UNREADABLE
from docmind.records.documents import Upload

_LARGEST = 1 << 20  # bytes of a record; a cell has up to 64 KB
_CHUNK = 1 << 18
_BOLD, _STRUCK = 700, 8

_PROPERTIES, _SHEET = 153, 156
_FORMAT, _FONT, _XF, _XFS, _END_XFS = 44, 43, 47, 617, 618
_STRING = 19
_ROW, _RK, _ERROR, _BOOL, _REAL, _TEXT, _SHARED, _RICH = 0, 2, 3, 4, 5, 6, 7, 62
_RESULTS = {8: _TEXT, 9: _REAL, 10: _BOOL, 11: _ERROR}  # cells of formulas begin with their result
_CELLS = (_RK, _ERROR, _BOOL, _REAL, _TEXT, _SHARED, _RICH, *_RESULTS)
_MERGE, _PANE, _FILTER, _LINK, _MARGINS, _OBJECT, _CONTROL = 176, 151, 161, 494, 479, 639, 645
_AUTHOR, _NOTE, _NOTE_TEXT, _TABLE = 632, 635, 637, 343


def open_xlsb(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a workbook. Raises `TooLargeError`, `CorruptFileError` or `EmptyFileError`."""
    losses = Losses()
    broken = broken_text(upload.name)
    with open_archive(upload, rules) as archive:
        try:
            book, fonts = _opened(archive, losses)
        except UNREADABLE as error:
            raise CorruptFileError(broken) from error
        facts = facts_of(upload.name, title=book.title, author=book.author)
        return LaidOut(blocks_of(_Workbook(book, fonts), broken), facts, upload.name, rules, losses)


def _opened(archive: zipfile.ZipFile, losses: Losses) -> tuple[Book, list[Font]]:
    package = Package(archive)
    root = package.links("")
    part = next((one.target for one in root.values() if one.type == "officeDocument"), "xl/workbook.bin")
    book = Book(package, part, losses)
    related = package.links(part)
    for number, body in _records(package, part):
        if number == _PROPERTIES and body:
            book.is_1904 = bool(body[0] & 1)
        elif number == _SHEET:
            state = struct.unpack_from("<I", body)[0]
            key, at = _text(body, 8)
            target = related.get(key, Link("", "", is_external=False))
            book.entries.append(SheetEntry(_text(body, at)[0], state != 0, left_as(package, target), target.target))
    if not book.entries:
        raise ValueError("a workbook without sheets")
    fonts = list[Font]()
    for kind, read in (("styles", _styles), ("sharedStrings", _strings)):
        for one in (link for link in related.values() if link.type == kind):
            try:
                read(book, one.target, fonts)
            except UNREADABLE:
                losses.note("part", one.target)
    if any(one.type == "vbaProject" for one in related.values()):
        losses.note("macro")
    read_facts(book, root)
    return book, fonts


def _styles(book: Book, part: str, fonts: list[Font]) -> None:
    codes = dict(BUILT_IN)
    is_of_cells = False
    for number, body in _records(book.package, part):
        if number == _FORMAT:
            codes[struct.unpack_from("<H", body)[0]] = _text(body, 2)[0] or GENERAL
        elif number == _FONT:
            flags, weight, script = struct.unpack_from("<HHH", body, 2)
            fonts.append(Font(weight >= _BOLD, bool(flags & _STRUCK), script))
        elif number in (_XFS, _END_XFS):
            is_of_cells = number == _XFS
        elif number == _XF and is_of_cells:
            code, font = struct.unpack_from("<HH", body, 2)
            book.styles.append(Style(codes.get(code, GENERAL), font < len(fonts) and fonts[font].is_bold))


def _strings(book: Book, part: str, fonts: list[Font]) -> None:
    book.strings.extend(_rich(body, fonts) for number, body in _records(book.package, part) if number == _STRING)


class _Workbook(PartsWorkbook):
    """A workbook whose sheets, comments and tables are parts of records; its drawings are XML."""

    def __init__(self, book: Book, fonts: list[Font]) -> None:
        super().__init__(book)
        self._fonts = fonts

    def read(self, number: int) -> Sheet:
        sheet = Sheet()
        entry = self.book.entries[number]
        try:
            reader = _SheetReader(self.book, entry, sheet, self._fonts)
            for kind, body in _records(self.book.package, entry.part):
                reader.take(kind, body)
        except UNREADABLE:
            self.losses.note("part", entry.name)
        return sheet

    def notes(self, number: int) -> Iterable[Note]:
        """Yield the comments of a sheet. Threads are XML, and take the place of the notes that repeat them."""
        threads = list(threads_of(self.book, self.entries[number]))
        yield from threads
        cells = {ref for ref, _author, _text in threads}
        for part in self._parts(number, "comments", self.losses):
            try:
                yield from (note for note in self._notes(part) if note[0] not in cells)
            except UNREADABLE:
                self.losses.note("comment", part)

    def _notes(self, part: str) -> Iterator[Note]:
        authors = list[str]()
        author, ref = "", ""
        for number, body in _records(self.book.package, part):
            if number == _AUTHOR:
                authors.append(_text(body, 0)[0].strip())
            elif number == _NOTE:
                who, row, _last, column = struct.unpack_from("<4I", body)
                author, ref = authors[who] if who < len(authors) else "", name_of(row + 1, column + 1)
            elif number == _NOTE_TEXT:
                text = _rich(body, self._fonts).strip()
                text = text.removeprefix(f"{author}:").strip() if author else text
                if text:
                    yield ref, author, text

    def tables(self, number: int, losses: Losses) -> Iterator[SheetTable]:
        """Yield the Excel tables of a sheet; those that are broken are counted."""
        for part in self._parts(number, "table", losses):
            try:
                for kind, body in _records(self.book.package, part):
                    if kind == _TABLE and (area := _range(body)):
                        header, totals = struct.unpack_from("<II", body, 24)
                        yield SheetTable(area, header_rows=int(header > 0), has_totals=totals > 0)
            except UNREADABLE:
                losses.note("part", part)

    def _parts(self, number: int, kind: str, losses: Losses) -> list[str]:
        try:
            related = self.book.package.links(self.entries[number].part).values()
        except UNREADABLE:
            losses.note("part", self.entries[number].name)
            return []
        return [one.target for one in related if one.type == kind]


class _SheetReader:
    def __init__(self, book: Book, entry: SheetEntry, sheet: Sheet, fonts: list[Font]) -> None:
        self._book, self._entry, self._sheet, self._fonts = book, entry, sheet, fonts
        self._related = book.package.links(entry.part)
        self._row = 0
        self._cells: dict[int, RawCell] = {}

    def take(self, number: int, body: bytes) -> None:
        """Take one record. Raises one of `UNREADABLE` for one that is too short."""
        if number == _ROW:
            self._row = struct.unpack_from("<I", body)[0] + 1
            self._cells = self._sheet.rows.get(self._row, {})
        elif number in _CELLS:
            self._cell(number, body)
        elif number == _MERGE:
            area = _range(body)
            if area and area[:2] != area[2:] and len(self._sheet.merges) < MOST_MERGES:
                self._sheet.merges.append(area)
        elif number == _PANE:
            right, down = struct.unpack_from("<dd", body)
            if body[28] & 3 and 0 <= right <= LAST_COLUMN and 0 <= down <= LAST_ROW:
                self._sheet.frozen_rows, self._sheet.frozen_columns = int(down), int(right)
        elif number == _FILTER:
            area = _range(body)
            self._sheet.filters += [area] if area else []
        elif number == _LINK:
            area, target = _range(body), self._related.get(_text(body, 16)[0])
            if area and target and target.is_external:
                self._sheet.links.append((area, printable(target.target)))
        elif number == _MARGINS:
            header, at = _text(body, 2)
            footer, _at = _text(body, at)
            self._sheet.margins += [pair for pair in (("header", header), ("footer", footer)) if pair[1]]
        elif number in (_OBJECT, _CONTROL):
            self._book.losses.note("embedded_object" if number == _OBJECT else "form_field", self._entry.name)

    def _cell(self, number: int, body: bytes) -> None:
        column, style = struct.unpack_from("<II", body)
        value = self._value(_RESULTS.get(number, number), body)
        if value is None or column >= LAST_COLUMN or not 1 <= self._row <= LAST_ROW:
            return
        if not self._sheet.has_room():
            return
        if not self._cells:
            self._sheet.rows[self._row] = self._cells
        self._cells[column + 1] = value, style & 0xFFFFFF, ""

    def _value(self, number: int, body: bytes) -> Value:
        if number == _RK:
            return _packed(struct.unpack_from("<I", body, 8)[0])
        if number == _REAL:
            real = struct.unpack_from("<d", body, 8)[0]
            return real if math.isfinite(real) else None
        if number == _SHARED:
            at = struct.unpack_from("<I", body, 8)[0]
            if at < len(self._book.strings):
                return self._book.strings[at] or None
            self._book.losses.note("part", self._entry.name)
            return None
        if number == _BOOL:
            return bool(body[8])
        if number == _ERROR:
            return ErrorValue(ERRORS.get(body[8], "#N/A"))
        return (_rich(body[8:], self._fonts) if number == _RICH else _text(body, 8)[0]) or None


def _records(package: Package, part: str) -> Iterator[tuple[int, bytes]]:
    """Yield the records of a part. Raises one of `UNREADABLE` where it breaks off or is no such part."""
    with package.open(part) as stream:
        data, at = b"", 0
        while True:
            if len(data) - at < _LARGEST:
                data, at = data[at:] + _read(stream), 0
            if at >= len(data):
                return
            number, at = _number(data, at, 2)
            size, at = _number(data, at, 4)
            if size > _LARGEST or at + size > len(data):
                raise ValueError("a record that is cut off")
            yield number, data[at : at + size]
            at += size


def _read(stream: IO[bytes]) -> bytes:
    """Return the next bytes of a part, a few records of the largest size."""
    parts = list[bytes]()
    while len(parts) * _CHUNK < 8 * _LARGEST and (more := stream.read(_CHUNK)):
        parts.append(more)
    return b"".join(parts)


def _number(data: bytes, at: int, most: int) -> tuple[int, int]:
    """Return a number of up to `most` bytes, and where it ends."""
    found = 0
    for place in range(most):
        if at >= len(data):
            raise ValueError("a record that is cut off")
        byte = data[at]
        at += 1
        found |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            break
    return found, at


def _text(body: bytes, at: int) -> tuple[str, int]:
    """Return a text that begins with the number of its characters, "" for none, and where it ends."""
    size = struct.unpack_from("<I", body, at)[0]
    if size == 0xFFFFFFFF:
        return "", at + 4
    end = at + 4 + 2 * size
    if end > len(body):
        raise ValueError("a text that is cut off")
    return printable(body[at + 4 : end].decode("utf-16-le", "replace")), end


def _rich(body: bytes, fonts: list[Font]) -> str:
    size = struct.unpack_from("<I", body, 1)[0]
    end = 5 + 2 * size
    if end > len(body):
        raise ValueError("a text that is cut off")
    text = body[5:end].decode("utf-16-le", "replace")
    if not body[0] & 1 or len(body) < end + 4:
        return printable(text)
    count = min(struct.unpack_from("<I", body, end)[0], (len(body) - end - 4) // 4)
    runs = [struct.unpack_from("<HH", body, end + 4 + 4 * number) for number in range(count)]
    return printable(in_runs(text, [(start, font) for start, font in runs], fonts))


def _range(body: bytes) -> Range | None:
    top, bottom, left, right = struct.unpack_from("<4I", body)
    if not (top <= bottom < LAST_ROW and left <= right < LAST_COLUMN):
        return None
    return top + 1, left + 1, bottom + 1, right + 1


def _packed(raw: int) -> float:
    """Return a number that was packed into 30 bits, with a bit for a hundredth and one for a whole number."""
    if raw & 2:
        number = float((raw >> 2) - (1 << 30 if raw & 0x80000000 else 0))
    else:
        number = struct.unpack("<d", struct.pack("<Q", (raw & 0xFFFFFFFC) << 32))[0]
    number = number / 100 if raw & 1 else number
    return number if math.isfinite(number) else 0.0
