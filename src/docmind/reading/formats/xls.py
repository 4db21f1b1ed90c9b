"""Excel workbooks of 1993 to 2003: cells and styles by `xlrd`, what it leaves by `biff`."""

from __future__ import annotations

import contextlib
import io
import re
import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import olefile
import xlrd
from xlrd.biffh import XL_CELL_BOOLEAN, XL_CELL_DATE, XL_CELL_ERROR, XL_CELL_NUMBER, XL_CELL_TEXT, XLRDError
from xlrd.formula import FMLA_TYPE_CELL, decompile_formula

from docmind.blocks import Block, Losses
from docmind.errors import CorruptFileError, UnsupportedFileError
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.biff import CHART_SHEET, WORKSHEET, Beside, Bound, beside_cells, bounds_of, drawing_group
from docmind.reading.formats.drawings import alternative, figures_of
from docmind.reading.formats.number_format import BUILT_IN, GENERAL
from docmind.reading.formats.office_art import PictureStore, shapes_in
from docmind.reading.formats.sheet_blocks import blocks_of
from docmind.reading.formats.sheet_cells import (
    ERRORS,
    MOST_MERGES,
    Entry,
    ErrorValue,
    Font,
    Note,
    RawCell,
    Sheet,
    SheetTable,
    Style,
    Value,
    in_runs,
    name_of,
)
from docmind.reading.formats.typeset import LaidOut, printable
from docmind.records.documents import Facts, LossKind, Upload
from docmind.wording import _

_FILTER, _BOLD = "_FilterDatabase", 700
_NAMES_MAX = 10_000
_SUMMARY, _PROPERTIES_MAX = "\5SummaryInformation", 100
_MACROS = "_VBA_PROJECT_CUR"  # the storage of a workbook's macros
_UNDECIPHERED = (
    XLRDError, AssertionError, AttributeError, IndexError, LookupError, RecursionError, TypeError, ValueError,
    struct.error,
)  # fmt: skip
_UNKNOWN = re.compile(r"[?]|#REF!")  # what xlrd writes for a part of a formula that it does not know
# Texts and names of sheets stay. xlrd writes a cell of another sheet as S!A1:A1, and 2 as 2.0.
_ODD = re.compile(r"""(?:"(?:[^"]|"")*"|'(?:[^']|'')*')|(\$?[A-Z]{1,3}\$?\d+):\1(?!\d)|(?<![\w.])(\d+)\.0(?!\d)""")

# xlrd fails at an area of another sheet whose columns or rows are relative: they are made absolute.
_AREA = re.compile(rb"([;\[{].{6})(.)([\x40\x80\xc0])(.)([\x40\x80\xc0])", re.DOTALL)


def _fixed(found: re.Match[bytes]) -> bytes:
    return found[1] + found[2] + b"\0" + found[4] + b"\0"


def open_xls(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a workbook. Raises `TooLargeError`, `CorruptFileError`, `UnsupportedFileError` or `EmptyFileError`."""
    broken = _("{name} is an Excel workbook that is broken.").format(name=upload.name)
    losses = Losses()
    try:
        with olefile.OleFileIO(io.BytesIO(upload.data)) as ole:
            stream = "Workbook" if ole.exists("Workbook") else "Book"
            data = ole.openstream(stream).read()
            facts = _facts(upload.name, ole)
            if ole.exists(_MACROS):
                losses.note("macro")
        book = xlrd.open_workbook(
            file_contents=data, formatting_info=True, ragged_rows=True, on_demand=True, logfile=_Silence()
        )
        workbook = _Workbook(book, data, losses)
    except XLRDError as error:
        if "encrypted" not in str(error):
            raise CorruptFileError(broken) from error
        raise UnsupportedFileError(
            _("{name} is locked with a password in a way that DocMind cannot open.").format(name=upload.name),
            hint=_("Save it without a password, and add that."),
        ) from error
    except Exception as error:  # xlrd and olefile raise all kinds of errors for damaged files
        raise CorruptFileError(broken) from error
    return LaidOut(blocks_of(workbook, broken), facts, upload.name, rules, losses)


def _facts(name: str, ole: olefile.OleFileIO) -> Facts:
    """Return title and author, without olefile's reading of properties, which believes any number of them."""
    said = dict[int, bytes]()
    encoding = "cp1252"
    if ole.exists(_SUMMARY):
        data = ole.openstream(_SUMMARY).read()
        with contextlib.suppress(struct.error):
            start = struct.unpack_from("<I", data, 44)[0]
            for number in range(min(struct.unpack_from("<I", data, start + 4)[0], _PROPERTIES_MAX)):
                key, at = struct.unpack_from("<II", data, start + 8 + 8 * number)
                kind, size = struct.unpack_from("<II", data, start + at)
                if key == 1:  # the code page, of two bytes
                    encoding = f"cp{size & 0xFFFF}"
                elif kind == 0x1E:
                    said[key] = data[start + at + 8 : start + at + 8 + size]

    def text(number: int) -> str:
        try:
            return said.get(number, b"").decode(encoding.replace("cp65001", "utf-8"), "replace").strip("\0 ")
        except LookupError:
            return ""

    return facts_of(name, title=text(2), author=text(4))


class _Silence(io.TextIOBase):
    """Where xlrd writes what it finds odd."""

    def write(self, text: str, /) -> int:
        return len(text)


class _Workbook:
    """A workbook whose sheets are read by xlrd, one at a time."""

    def __init__(self, book: xlrd.Book, data: bytes, losses: Losses) -> None:
        self.losses = losses
        self._book, self._data = book, data
        self._is_biff8, self._encoding = book.biff_version >= 80, book.encoding or "cp1252"
        bounds = bounds_of(data, is_biff8=self._is_biff8, encoding=self._encoding)
        cells = [at for at, bound in enumerate(bounds) if bound.type == WORKSHEET]
        if len(cells) != book.nsheets:
            raise ValueError("another number of sheets than the workbook lists")
        self._bounds: list[Bound] = bounds
        left: dict[int, LossKind] = {CHART_SHEET: "chart"}
        self._entries = [
            Entry(one.name, one.is_hidden, None if one.type == WORKSHEET else left.get(one.type, "macro"))
            for one in bounds
        ]
        self._number = {at: number for number, at in enumerate(cells)}
        self._beside: dict[int, Beside] = {}
        self._notes: dict[int, list[Note]] = {}
        codes = BUILT_IN | {one.format_key: one.format_str for one in book.format_list}
        self._fonts = [
            Font(bool(one.bold) or one.weight >= _BOLD, bool(one.struck_out), one.escapement) for one in book.font_list
        ]
        self._styles = [
            Style(codes.get(one.format_key, GENERAL), self._is_bold(one.font_index)) for one in book.xf_list
        ]
        self._names = self._defined_names()
        self._pictures = PictureStore(drawing_group(data))

    @property
    def is_1904(self) -> bool:
        return self._book.datemode == 1

    @property
    def names(self) -> Mapping[tuple[str, str], str]:
        return self._names

    @property
    def entries(self) -> Sequence[Entry]:
        return [
            Entry(
                one.name, one.is_hidden, None if at in self._number else "chart" if one.type == CHART_SHEET else "macro"
            )
            for at, one in enumerate(self._bounds)
        ]

    def style(self, number: int) -> Style:
        return self._styles[number] if 0 <= number < len(self._styles) else Style()

    def read(self, number: int) -> Sheet:
        """Return the cells of a sheet; one that is broken has none, and is counted."""
        name = self._bounds[number].name
        at = self._number[number]
        sheet = Sheet()
        try:
            raw = self._book.sheet_by_index(at)
            beside = beside_cells(
                self._data, self._bounds[number].start, is_biff8=self._is_biff8, encoding=self._encoding
            )
            self._cells(raw, beside, sheet, name)
            self._layout(raw, at, sheet)
            self._notes[number] = list(_notes(raw))
            self._beside[number] = beside
            self._book.unload_sheet(at)
        except Exception:  # noqa: BLE001  as above
            self.losses.note("part", name)
        sheet.margins = self._beside[number].margins if number in self._beside else []
        return sheet

    def notes(self, number: int) -> Iterable[Note]:
        return self._notes.get(number, [])

    def tables(self, number: int, losses: Losses) -> Iterable[SheetTable]:
        """Return none: such workbooks know no tables by name."""
        return ()

    def shapes(self, number: int) -> Iterator[Block]:
        beside, name = self._beside.get(number, Beside()), self._bounds[number].name
        yield from (Block(kind="paragraph", text=text) for text in beside.texts)
        yield from (Block(kind="figure", text=title) for title in beside.titles)
        self.losses.note("chart", name, beside.charts)
        figures = list(self._figures(beside))
        yield from figures
        self.losses.note("picture", name, beside.pictures - sum(one.picture is not None for one in figures))
        self.losses.note("form_field", name, beside.controls)
        self.losses.note("embedded_object", name, beside.objects)

    def _figures(self, beside: Beside) -> Iterator[Block]:
        """Yield the pictures of a sheet, each with its alternative text."""
        shapes = shapes_in(bytes(beside.drawing)) if beside.ends else []
        starts = [shape.start for shape in shapes]
        for end in beside.ends:
            if place := bisect_left(starts, end):
                shape = shapes[place - 1]
                yield from figures_of(alternative([shape.said]), [self._pictures.picture(shape.picture)])

    def _is_bold(self, font: int) -> bool:
        return 0 <= font < len(self._fonts) and self._fonts[font].is_bold

    def _defined_names(self) -> dict[tuple[str, str], str]:
        found = dict[tuple[str, str], str]()
        for one in self._book.name_obj_list[:_NAMES_MAX]:
            text = one.result.text if one.result is not None else ""
            own = self._book.sheet_names()[one.scope] if 0 <= one.scope < self._book.nsheets else ""
            if text and not one.macro:
                found[own.casefold(), one.name.casefold()] = text
        return found

    def _cells(self, raw: Any, beside: Beside, sheet: Sheet, name: str) -> None:
        for row in range(raw.nrows):
            cells = dict[int, RawCell]()
            for column, kind in enumerate(raw.row_types(row)):
                if kind not in _KINDS:
                    continue
                value = self._value(raw, row, column, kind)
                parsed = beside.formulas.get((row, column), b"")
                formula = self._formula(row, column, parsed) if parsed else ""
                self.losses.note("formula", name, int(bool(parsed) and not formula and beside.is_uncalculated))
                is_open = bool(formula) and beside.is_uncalculated
                cells[column + 1] = None if is_open else value, raw.cell_xf_index(row, column), formula
                if is_open:
                    sheet.needs_result.append((row + 1, column + 1))
            if cells and sheet.has_room(len(cells)):
                sheet.rows[row + 1] = cells

    def _value(self, raw: Any, row: int, column: int, kind: int) -> Value:
        value = raw.cell_value(row, column)
        if kind in (XL_CELL_NUMBER, XL_CELL_DATE):
            return float(value)
        if kind == XL_CELL_BOOLEAN:
            return bool(value)
        if kind == XL_CELL_ERROR:
            return ErrorValue(ERRORS.get(value, "#N/A"))
        runs = raw.rich_text_runlist_map.get((row, column))
        return printable(in_runs(str(value), runs, self._fonts) if runs else str(value))

    def _formula(self, row: int, column: int, parsed: bytes) -> str:
        """Return a formula as text; "" for one that xlrd does not know."""
        for tokens in (parsed, _AREA.sub(_fixed, parsed)):
            with contextlib.suppress(*_UNDECIPHERED):
                text = decompile_formula(self._book, tokens, len(tokens), FMLA_TYPE_CELL, row, column) or ""
                return "" if _UNKNOWN.search(text) else _ODD.sub(lambda found: found[1] or found[2] or found[0], text)
        return ""

    def _layout(self, raw: Any, at: int, sheet: Sheet) -> None:
        sheet.merges = [
            (top + 1, left + 1, bottom, right)
            for top, bottom, left, right in raw.merged_cells[:MOST_MERGES]
            if (bottom - top, right - left) != (1, 1)
        ]
        if raw.panes_are_frozen:
            sheet.frozen_rows, sheet.frozen_columns = raw.horz_split_pos, raw.vert_split_pos
        for link in raw.hyperlink_list:
            if link.type == "url" and isinstance(link.url_or_path, str) and link.url_or_path:
                place = link.frowx + 1, link.fcolx + 1, link.lrowx + 1, link.lcolx + 1
                sheet.links.append((place, printable(link.url_or_path)))
        for one in self._book.name_obj_list[:_NAMES_MAX]:
            if one.name == _FILTER and one.scope == at and one.result is not None and one.result.kind == xlrd.oREF:
                area: Any = one.result.value
                top, bottom, left, right = area[0].coords[2:]
                sheet.filters.append((top + 1, left + 1, bottom, right))


_KINDS = (XL_CELL_TEXT, XL_CELL_NUMBER, XL_CELL_DATE, XL_CELL_BOOLEAN, XL_CELL_ERROR)


def _notes(raw: Any) -> Iterator[Note]:
    for (row, column), note in sorted(raw.cell_note_map.items()):
        author, text = printable(note.author).strip(), printable(note.text).strip()
        if author and text.startswith(f"{author}:"):
            text = text[len(author) + 1 :].strip()
        if text:
            yield name_of(row + 1, column + 1), author, text
