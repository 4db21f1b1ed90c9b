"""OpenDocument spreadsheets: cells as they are shown, which stands in the file beside their values."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from docmind.blocks import Block, Cell, CellType, Losses
from docmind.reading.formats import Rules
from docmind.reading.formats.number_format import general, shown
from docmind.reading.formats.odf import OFFICE, TABLE, TEXT, XLINK, Document, Element, count_of
from docmind.reading.formats.ods_parts import (
    Styles,
    frozen_of,
    margins_of,
    note_of,
    paragraphs_of,
    shapes_in,
)
from docmind.reading.formats.sheet_blocks import blocks_of
from docmind.reading.formats.sheet_cells import (
    LAST_COLUMN,
    LAST_ROW,
    MOST_MERGES,
    Entry,
    ErrorValue,
    IsoMoment,
    Note,
    Range,
    RawCell,
    Sheet,
    SheetTable,
    ShownNumber,
    Style,
    Value,
    name_of,
    range_at,
)
from docmind.reading.formats.typeset import LaidOut, printable
from docmind.records.documents import Upload
from docmind.wording import _

_CALCEXT = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}"
_TYPES: dict[str, CellType] = {
    "float": "number", "percentage": "percent", "currency": "amount", "date": "date", "time": "duration",
    "boolean": "bool",
}  # fmt: skip
_ERROR = re.compile(r"#(?:DIV/0!|N/A|NAME\?|NULL!|NUM!|REF!|VALUE!)|Err:\d{3}")
_DURATION = re.compile(r"(-?)P(?:(\d{1,9})D)?T?(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?")
_CLOCK = re.compile(r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?[AaPp]\.?[Mm]\.?)?")
_PIECE = re.compile(r"""("(?:[^"]|"")*")|(\[(?:'(?:[^']|'')*+'|[^\[\]']++){0,20}+\])|(;)""")
_PLACE = re.compile(r"(?:\$?('(?:[^']|''){0,255}+'|[^.:'\[\]]{1,255}))?\.(\$?[A-Za-z]{1,3}\$?\d{1,7})")
_ROWS = frozenset(f"{TABLE}{name}" for name in ("table-header-rows", "table-row-group", "table-rows"))
_COLUMNS = frozenset(f"{TABLE}{name}" for name in ("table-header-columns", "table-column-group", "table-columns"))
_NAMES_MAX = 10_000


def open_ods(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a spreadsheet. Raises `TooLargeError`, `UnsupportedFileError`, `CorruptFileError` or `EmptyFileError`."""
    losses = Losses()
    document = Document(upload, rules)
    try:
        book = _Workbook(document, losses)
        broken = _("{name} is an OpenDocument file that is broken.").format(name=upload.name)
        return LaidOut(blocks_of(book, broken), document.facts(), upload.name, rules, losses)
    finally:
        document.close()


class _Workbook:
    """A spreadsheet whose sheets are elements of its content."""

    def __init__(self, document: Document, losses: Losses) -> None:
        self.losses = losses
        self._document = document
        body = document.body("spreadsheet")
        self._sheets: list[Element] = list(body.iterchildren(f"{TABLE}table"))
        self._styles = Styles.of(document)
        self._frozen = frozen_of(document)
        self._found: dict[int, _SheetReader] = {}
        self._names = dict[tuple[str, str], str]()
        self._filters = dict[str, list[Range]]()
        self._declared(body, "")
        self._entries = list[Entry]()
        for one in self._sheets:
            name = _name(one)
            self._declared(one, name)
            look = self._styles.look("table", one.get(f"{TABLE}style-name") or "")
            self._entries.append(Entry(name, look.is_hidden))
        for part in document.broken:
            losses.note("part", part)

    @property
    def is_1904(self) -> bool:
        return False

    @property
    def names(self) -> Mapping[tuple[str, str], str]:
        return self._names

    @property
    def entries(self) -> Sequence[Entry]:
        return self._entries

    def style(self, number: int) -> Style:
        return self._styles.numbers[number]

    def read(self, number: int) -> Sheet:
        entry = self._entries[number]
        reader = _SheetReader(self._styles, entry.name)
        reader.read(self._sheets[number])
        if number not in self._found:
            self.losses.note("hidden_text", entry.name, reader.covered)
        self._found[number] = reader
        sheet = reader.sheet
        sheet.frozen_rows, sheet.frozen_columns = self._frozen.get(entry.name, (0, 0))
        sheet.filters += self._filters.get(entry.name.casefold(), [])
        look = self._styles.look("table", self._sheets[number].get(f"{TABLE}style-name") or "")
        master = self._styles.masters.get(look.master)
        sheet.margins = list(margins_of(master)) if master is not None else []
        return sheet

    def notes(self, number: int) -> Iterable[Note]:
        return self._found[number].notes if number in self._found else ()

    def tables(self, number: int, losses: Losses) -> Iterable[SheetTable]:
        """Return none: ranges that are databases only say which row has the names of columns."""
        return ()

    def shapes(self, number: int) -> Iterator[Block]:
        holders = [*self._sheets[number].iterchildren(f"{TABLE}shapes")]
        holders += self._found[number].drawn if number in self._found else []
        for holder in holders:
            yield from shapes_in(holder, self._document, self._styles, self.losses, self._entries[number].name)

    def _declared(self, element: Element, own: str) -> None:
        """Note the names that formulas may use, and the ranges whose first row names the columns."""
        for one in element.iterfind(f"{TABLE}named-expressions/*"):
            said = one.get(f"{TABLE}cell-range-address")
            text = _formula(f"=[{said}]") if said else _formula(one.get(f"{TABLE}expression") or "")
            if len(self._names) < _NAMES_MAX:
                self._names[own.casefold(), (one.get(f"{TABLE}name") or "").casefold()] = text
        for one in element.iterfind(f"{TABLE}database-ranges/{TABLE}database-range"):
            sheet, area = _area(one.get(f"{TABLE}target-range-address") or "")
            if area is not None and one.get(f"{TABLE}contains-header") != "false":
                self._filters.setdefault(sheet.casefold(), []).append(area)


@dataclass(slots=True)
class _SheetReader:
    styles: Styles
    name: str
    sheet: Sheet = field(default_factory=Sheet)
    notes: list[Note] = field(default_factory=list)
    drawn: list[Element] = field(default_factory=list)
    """The cells that hold drawings."""
    covered: int = 0
    """Texts of cells that others cover."""
    _row: int = 0
    _ends: list[int] = field(default_factory=list)
    _bold: list[bool] = field(default_factory=list)

    def read(self, table: Element) -> None:
        """Read a sheet."""
        self._columns(table, 0)
        self._rows(table)

    def _columns(self, element: Element, last: int) -> int:
        """Note the last column and the look of each run of columns."""
        for child in element:
            if child.tag in _COLUMNS:
                last = self._columns(child, last)
            elif child.tag == f"{TABLE}table-column":
                last += count_of(child.get(f"{TABLE}number-columns-repeated"), LAST_COLUMN)
                self._ends.append(last)
                self._bold.append(self._is_bold(child.get(f"{TABLE}default-cell-style-name")))
        return last

    def _rows(self, element: Element) -> None:
        for child in element:
            if child.tag in _ROWS:
                before = self._row
                self._rows(child)
                if child.tag == f"{TABLE}table-header-rows" and self._row > before:
                    self.sheet.filters.append((self._row, 1, self._row, LAST_COLUMN))
            elif child.tag == f"{TABLE}table-row":
                self._one(child)

    def _one(self, row: Element) -> None:
        repeated = count_of(row.get(f"{TABLE}number-rows-repeated"), LAST_ROW)
        cells = dict[int, RawCell]()
        self._row += 1
        last = min(self._row + repeated - 1, LAST_ROW)
        column, is_bold = 0, row.get(f"{TABLE}default-cell-style-name")
        for cell in row:
            if cell.tag not in (f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
                continue
            times = count_of(cell.get(f"{TABLE}number-columns-repeated"), LAST_COLUMN)
            first, column = column + 1, min(column + times, LAST_COLUMN)
            if not len(cell) and not cell.attrib.get(f"{OFFICE}value-type") and not cell.get(f"{TABLE}formula"):
                continue
            if cell.tag == f"{TABLE}covered-table-cell":
                self.covered += any(text.strip() for text in paragraphs_of(cell, self.styles))
                continue
            self._cell(cell, first, column, is_bold, cells)
        if cells and self._row <= LAST_ROW:
            rows = [row for row in range(self._row, last + 1) if self.sheet.has_room(len(cells))]
            self.sheet.rows |= dict.fromkeys(rows, cells)
            self.sheet.needs_result += [(row, at) for at, raw in cells.items() if raw[0] is None for row in rows]
        self._row = last

    def _cell(self, cell: Element, first: int, last: int, default: str | None, cells: dict[int, RawCell]) -> None:
        for child in cell:
            if child.tag == f"{OFFICE}annotation":
                author, text = note_of(child, self.styles)
                self.notes += [(name_of(self._row, first), author, text)] if text else []
            elif child.tag not in (f"{TEXT}p", f"{TEXT}h", f"{TEXT}list"):
                self.drawn.append(cell) if not self.drawn or self.drawn[-1] is not cell else None
        wide = count_of(cell.get(f"{TABLE}number-columns-spanned"), LAST_COLUMN)
        tall = count_of(cell.get(f"{TABLE}number-rows-spanned"), LAST_ROW)
        if (wide > 1 or tall > 1) and len(self.sheet.merges) < MOST_MERGES:
            self.sheet.merges.append((self._row, first, self._row + tall - 1, first + wide - 1))
        lines = list(paragraphs_of(cell, self.styles))
        formula = _formula(cell.get(f"{TABLE}formula") or "")
        value = _value(cell, lines, formula)
        if value is None and not formula:
            return
        for link in cell.iter(f"{TEXT}a"):
            address = printable(link.get(f"{XLINK}href") or "")
            if address and not address.startswith("#"):
                self.sheet.links.append(((self._row, first, self._row, last), address))
                break
        own = cell.get(f"{TABLE}style-name") or default
        for column in range(first, last + 1):
            bold = self._is_bold(own) if own else self._is_bold_column(column)
            cells[column] = value, int(bold), formula

    def _is_bold(self, style: str | None) -> bool:
        return bool(style) and self.styles.look("table-cell", style or "").is_bold

    def _is_bold_column(self, column: int) -> bool:
        at = bisect_left(self._ends, column)
        return at < len(self._bold) and self._bold[at]


def _value(cell: Element, lines: list[str], formula: str) -> Value:
    """Return the value of a cell with the text that it shows; None for an empty one or a formula without a result."""
    kind = cell.get(f"{OFFICE}value-type") or ""
    text = "\n".join(lines)
    if cell.get(f"{_CALCEXT}value-type") == "error" or (formula and _ERROR.fullmatch(text)):
        return ErrorValue(text or "#N/A")
    if kind == "string" or not kind:
        said = text if lines else printable(cell.get(f"{OFFICE}string-value") or "")
        return said if said or (kind and formula) else None
    number = _number(cell, kind)
    if number is None:
        return text or None
    raw = general(number)
    if kind == "date":
        raw = (cell.get(f"{OFFICE}date-value") or "").strip().removesuffix("T00:00:00")
    if not lines:  # a program wrote it that shows nothing
        text = _plainly(kind, number, raw)
    type_ = _TYPES[kind]
    if kind == "time" and _CLOCK.fullmatch(text) and 0 <= number < 1:
        type_ = "time"
    return ShownNumber(number, Cell(text, raw="" if raw == text or kind == "boolean" else raw, type=type_))


def _plainly(kind: str, number: float, raw: str) -> str:
    if kind == "boolean":
        return "TRUE" if number else "FALSE"
    if kind == "time":
        return shown(number, "[h]:mm:ss")
    return f"{general(round(100 * number, 10))}%" if kind == "percentage" else raw.replace("T", " ")


def _number(cell: Element, kind: str) -> float | None:
    if kind == "boolean":
        return float(cell.get(f"{OFFICE}boolean-value") == "true")
    if kind == "date":
        return IsoMoment((cell.get(f"{OFFICE}date-value") or "").strip()[:26]).serial(is_1904=False)
    if kind == "time":
        found = _DURATION.fullmatch((cell.get(f"{OFFICE}time-value") or "").strip())
        if found is None:
            return None
        days, hours, minutes, seconds = (float(part or 0) for part in found.groups()[1:])
        return (-1 if found.group(1) else 1) * (days + hours / 24 + minutes / 1_440 + seconds / 86_400)
    if kind not in _TYPES:
        return None
    try:
        number = float(cell.get(f"{OFFICE}value") or "")
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None


def _formula(text: str) -> str:
    """Return a formula as Excel writes it, without its equals sign; "" for one of another language."""
    prefix, equals, body = text.partition("=")
    if not equals or (prefix and prefix not in ("of:", "oooc:", "msoxl:")):
        return ""
    return body if prefix == "msoxl:" else printable(_PIECE.sub(_converted, body))


def _converted(found: re.Match[str]) -> str:
    text, place, _semicolon = found.groups()
    if text:
        return text
    if place is None:
        return ","
    parts = list(_PLACE.finditer(place))
    sheet = next((part.group(1) for part in parts if part.group(1)), "")
    return (f"{sheet}!" if sheet else "") + ":".join(part.group(2) for part in parts) if parts else "#REF!"


def _area(address: str) -> tuple[str, Range | None]:
    """Return sheet and range of an address such as Sheet1.A1:Sheet1.C10."""
    parts = list(_PLACE.finditer(address))
    if not parts:
        return "", None
    sheet = (parts[0].group(1) or "").strip("'").replace("''", "'")
    return sheet, range_at(":".join(part.group(2) for part in parts[:2]))


def _name(table: Element) -> str:
    return printable(table.get(f"{TABLE}name") or "")
