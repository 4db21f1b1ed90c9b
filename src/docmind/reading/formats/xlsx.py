"""Excel workbooks: the parts of each sheet, from which `sheet_blocks` makes blocks."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence

from docmind.blocks import Block, Losses, Table
from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules, facts_of, open_archive, sheet_blocks
from docmind.reading.formats.sheet_cells import Note, Sheet, SheetTable, Style, range_at
from docmind.reading.formats.typeset import LaidOut, printable
from docmind.reading.formats.xlsx_notes import notes_of, shapes_of
from docmind.reading.formats.xlsx_parts import PART_MAX, Book, SheetEntry, named, open_book, read_sheet
from docmind.reading.main_part import UNREADABLE
from docmind.records.documents import Upload
from docmind.wording import _


def open_xlsx(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a workbook. Raises `TooLargeError`, `CorruptFileError` or `EmptyFileError`."""
    losses = Losses()
    with open_archive(upload, rules) as archive:
        book = _opened(archive, upload.name, losses)
        facts = facts_of(upload.name, title=book.title, author=book.author)
        blocks = sheet_blocks.blocks_of(PartsWorkbook(book), broken_text(upload.name))
        return LaidOut(blocks, facts, upload.name, rules, losses)


def blocks_of(upload: Upload, rules: Rules, losses: Losses) -> Iterator[Block | Table]:
    """Yield the blocks of a workbook. Raises `TooLargeError` or `CorruptFileError`."""
    with open_archive(upload, rules) as archive:
        book = _opened(archive, upload.name, losses)
        yield from sheet_blocks.blocks_of(PartsWorkbook(book), broken_text(upload.name))


def _opened(archive: zipfile.ZipFile, name: str, losses: Losses) -> Book:
    try:
        return open_book(archive, losses)
    except UNREADABLE as error:
        raise CorruptFileError(broken_text(name)) from error


def broken_text(name: str) -> str:
    """Return the sentence for a workbook that is broken."""
    return _("{name} is an Excel workbook that is broken.").format(name=name)


class PartsWorkbook:
    """A workbook whose sheets, comments, tables and drawings are parts of XML."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.losses = book.losses

    @property
    def is_1904(self) -> bool:
        return self.book.is_1904

    @property
    def names(self) -> Mapping[tuple[str, str], str]:
        return self.book.names

    @property
    def entries(self) -> Sequence[SheetEntry]:
        return self.book.entries

    def style(self, number: int) -> Style:
        return self.book.style(number)

    def read(self, number: int) -> Sheet:
        """Return a sheet; one that breaks off is kept as far as it goes, and counted."""
        return read_sheet(self.book, self.entries[number])

    def notes(self, number: int) -> Iterable[Note]:
        """Return the comments of a sheet."""
        return notes_of(self.book, self.entries[number])

    def tables(self, number: int, losses: Losses) -> Iterator[SheetTable]:
        """Yield the Excel tables of a sheet; those that are broken are counted."""
        package, part = self.book.package, self.entries[number].part
        try:
            related = [one.target for one in package.links(part).values() if one.type == "table"]
        except UNREADABLE:
            losses.note("part", self.entries[number].name)
            return
        for target in related:
            try:
                tree = package.xml(target, PART_MAX)
            except UNREADABLE:
                losses.note("part", target)
                continue
            area = range_at(tree.get("ref") or "")
            if area is not None:
                yield SheetTable(
                    area,
                    header_rows=int(tree.get("headerRowCount") != "0"),
                    names=tuple(tree.get(name) or "" for name in ("name", "displayName")),
                    columns=tuple(printable(one.get("name") or "") for one in named(tree, "tableColumn")),
                    has_totals=(tree.get("totalsRowCount") or "0") != "0",
                )

    def shapes(self, number: int) -> Iterable[Block]:
        return shapes_of(self.book, self.entries[number])
