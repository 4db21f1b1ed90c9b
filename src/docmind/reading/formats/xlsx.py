"""Excel workbooks: each sheet a heading and a table of what its cells show."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Iterator
from itertools import chain
from typing import Any
from xml.etree.ElementTree import ParseError

import openpyxl
from openpyxl.utils.exceptions import InvalidFileException

from docmind.blocks import Block, Table
from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules, facts_of, open_archive
from docmind.reading.formats.typeset import LaidOut, printable
from docmind.records.documents import Upload
from docmind.wording import _

_BROKEN = (KeyError, ValueError, TypeError, IndexError, AttributeError, zipfile.BadZipFile, ParseError, SyntaxError)


def open_xlsx(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a workbook. Raises `TooLargeError`, `CorruptFileError` or `EmptyFileError`."""
    open_archive(upload, rules).close()
    try:
        book = openpyxl.load_workbook(io.BytesIO(upload.data), read_only=True, data_only=True, keep_links=False)
        facts = facts_of(upload.name, title=book.properties.title, author=book.properties.creator)
        return LaidOut(_blocks(book), facts, upload.name, rules)
    except (*_BROKEN, InvalidFileException) as error:
        raise CorruptFileError(_("{name} is an Excel workbook that is broken.").format(name=upload.name)) from error


def _blocks(book: Any) -> Iterator[Block | Table]:
    for sheet in book.worksheets:
        rows = _rows(sheet)
        first = next(rows, None)
        if first is None:
            continue
        yield Block(kind="heading", text=printable(sheet.title), level=2)
        yield Table(rows=chain([first], rows), sheet=printable(sheet.title))


def _rows(sheet: Any) -> Iterator[list[str]]:
    """Yield non-empty rows, whatever range the sheet declares: a range of 17 thousand million cells is legal."""
    sheet.reset_dimensions()
    for row in sheet.iter_rows(values_only=True):
        cells = [_shown(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield cells


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat(" ", "minutes")
    return printable(str(value))
