"""The blocks of a workbook, whatever its format: each sheet a heading, its tables, and what stands beside the cells.

A table is told from the title above it, from its notes and from other tables of its sheet by empty rows and columns;
tables that the workbook names, filters and frozen panes say where the names of columns are, else `sheet_tables` finds
them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from docmind.blocks import Block, Cell, Losses, Table
from docmind.errors import CorruptFileError
from docmind.reading.formats.formula_functions import NoResultError
from docmind.reading.formats.formulas import Results, TableRange, moved
from docmind.reading.formats.number_format import GENERAL, general, moment, parsed, shown
from docmind.reading.formats.sheet_cells import (
    ErrorValue,
    IsoMoment,
    Note,
    Range,
    RawCell,
    Rows,
    Sheet,
    ShownNumber,
    Style,
    Value,
    Workbook,
    cell_at,
)
from docmind.reading.formats.sheet_tables import header_rows, runs

_EMPTY = Cell("", type="empty")
_MOST_FILLED = 1_000_000  # cells of a sheet that are filled in for merged ones
_SAMPLE = 60  # rows that tell whether the first one names the columns
_HEADER_MAX = 10  # rows
_CAPTION_MAX = 150  # characters of a title that is the caption of the table below it
_GAP_MAX = 8  # empty columns within a table; wider gaps are left out
_FORMULA_MAX = 200  # characters of a formula that is shown
_LINK = re.compile(r'\s*HYPERLINK\(\s*"([^"]+)"', re.IGNORECASE)
_MARGIN_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-Fa-f]{6}|K\d\d[+-]\d{3}|\d{1,3}|&|.)', re.DOTALL)
_NUMBERED = re.compile(r"&[PNDT]")
_MARGIN_PART = re.compile(r"&[LCR]")


def blocks_of(book: Workbook, broken: str) -> Iterator[Block | Table]:
    """Yield the blocks of all sheets.

    Raises `CorruptFileError` with the sentence `broken` where no sheet can be read.
    """
    is_any = False
    reader = _BookReader(book)
    for number, entry in enumerate(book.entries):
        if entry.left is not None:
            book.losses.note(entry.left, entry.name)
            continue
        for block in reader.blocks(number):
            is_any = True
            yield block
    if not is_any and any(loss.kind == "part" for loss in book.losses.found()):
        raise CorruptFileError(broken)


class _BookReader:
    def __init__(self, book: Workbook) -> None:
        self._book = book
        self._sheets: dict[int, Sheet] = {}
        self._results = Results(self._rows_of, book.names, self._tables, is_1904=book.is_1904)
        self._margins = set[str]()

    def blocks(self, number: int) -> Iterator[Block | Table]:
        """Yield the blocks of a sheet."""
        entry = self._book.entries[number]
        sheet = self._sheets.pop(number, None) or self._book.read(number)
        if sheet.needs_result:  # else it is not kept beside the one that comes next
            self._sheets[number] = sheet
        title = f"{entry.name} (hidden)" if entry.is_hidden else entry.name
        is_titled = False
        for block in _SheetReader(self._book, number, sheet, self._results, self._margins).blocks():
            if not is_titled:
                yield Block(kind="heading", text=title, level=2)
                is_titled = True
            yield block

    def _tables(self) -> dict[str, TableRange]:
        """Return the tables of all sheets by name, for the formulas that name them."""
        found = dict[str, TableRange]()
        for number, entry in enumerate(self._book.entries):
            for table in self._book.tables(number, Losses()):  # counted with the sheet
                top, left, bottom, right = table.area
                rows = top + table.header_rows, left, bottom - table.has_totals, right
                for name in table.names:
                    found[name.casefold()] = TableRange(entry.name, rows, table.columns, table.has_totals)
        return found

    def _rows_of(self, name: str) -> Rows | None:
        key = name.casefold()
        number = next((at for at, one in enumerate(self._book.entries) if one.name.casefold() == key), None)
        if number is None or self._book.entries[number].left is not None:
            return None
        if number not in self._sheets:
            self._sheets[number] = self._book.read(number)
        return self._sheets[number].rows


@dataclass(slots=True)
class _Piece:
    """A table of a sheet before it is yielded: its rows and columns by number."""

    rows: list[int]
    columns: list[int]
    header: int
    caption: str = ""
    is_closed: bool = False
    """It is a table of the workbook: what follows below is not of it."""


@dataclass(slots=True)
class _Band:
    """Rows without an empty one among them, and the columns in which they have cells."""

    rows: list[int]
    columns: list[int]
    piece: _Piece | None = None
    """The table of the workbook that it is."""
    taken: list[Range] = field(default_factory=list)


class _SheetReader:
    """Reads one sheet into blocks."""

    def __init__(self, book: Workbook, number: int, sheet: Sheet, results: Results, margins: set[str]) -> None:
        self._book, self._number, self._sheet, self._results = book, number, sheet, results
        self._entry = book.entries[number]
        self._margins = margins
        self._shown: dict[tuple[float, int], Cell] = {}
        self._spans: dict[tuple[int, int], Range] = {}
        self._fills: dict[int, dict[int, tuple[int, int]]] = {}
        self._links = self._link_map()
        self._computed: dict[tuple[int, int], Value] = {}

    def blocks(self) -> Iterator[Block | Table]:
        self._compute()
        self._merge()
        self._book.losses.note("cell", self._entry.name, self._sheet.left_out)
        yield from self._margin("header")
        notes = list(self._book.notes(self._number))
        pending: _Piece | None = None
        for item in self._items():
            if isinstance(item, _Piece):
                if pending is not None and self._continues(pending, item):
                    pending.rows += item.rows
                    continue
                if pending is not None:
                    yield from self._table(pending, notes)
                pending = item
                continue
            if pending is not None:
                yield from self._table(pending, notes)
                pending = None
            yield item
        if pending is not None:
            yield from self._table(pending, notes)
        yield from (self._comment(*note) for note in notes)
        yield from self._book.shapes(self._number)
        yield from self._margin("footer")

    # Cells

    def _link_map(self) -> dict[tuple[int, int], str]:
        found = dict[tuple[int, int], str]()
        for (top, left, bottom, right), address in self._sheet.links:
            if (bottom - top + 1) * (right - left + 1) <= 1_000:
                found |= {(row, at): address for row in range(top, bottom + 1) for at in range(left, right + 1)}
        return found

    def _compute(self) -> None:
        """Compute the formulas without a result: a second time from the end, for long chains that lead upwards."""
        waiting = list(self._sheet.needs_result)
        for _pass in range(2):
            rest = list[tuple[int, int]]()
            for row, column in waiting:
                try:
                    self._computed[row, column] = self._results.of(self._entry.name, row, column)
                except NoResultError:
                    rest.append((row, column))
            waiting = rest[::-1]
        self._book.losses.note("formula", self._entry.name, len(waiting))

    def _merge(self) -> None:
        """Note which cells merged ones cover, in the rows that have cells of their own."""
        rows = sorted(self._sheet.rows)
        if not rows:
            return
        widest = max(max(cells) for cells in self._sheet.rows.values())
        filled = 0
        for top, left, bottom, right in self._sheet.merges:
            if left not in self._sheet.rows.get(top, {}):
                continue
            inside = rows[bisect_left(rows, top) : bisect_right(rows, bottom)]
            right = min(right, widest)
            filled += len(inside) * (right - left + 1)
            if filled > _MOST_FILLED:
                self._book.losses.note("part", self._entry.name)
                return
            self._spans[top, left] = top, left, inside[-1], right
            for row in inside:
                fills = self._fills.setdefault(row, {})
                fills |= {column: (top, left) for column in range(left, right + 1) if (row, column) != (top, left)}

    def _cells(self, row: int) -> dict[int, Cell]:
        """Return the cells of a row by column, with those that merged ones cover."""
        found = dict[int, Cell]()
        for column, raw in self._sheet.rows.get(row, {}).items():
            cell = self._cell(row, column, raw)
            span = self._spans.get((row, column)) if self._spans else None
            if span is not None:
                cell = replace(cell, columns=span[3] - column + 1, rows=span[2] - row + 1)
            found[column] = cell
        for column, (top, left) in self._fills.get(row, {}).items():
            origin = self._cell(top, left, self._sheet.rows[top][left])
            found[column] = replace(origin, is_filled=True)
        return found

    def _cell(self, row: int, column: int, raw: RawCell) -> Cell:
        value, number, formula = raw
        if value is None and formula:
            value = self._computed.get((row, column))
            if value is None:
                text = self._formula(row, column, formula)
                return Cell(text if len(text) <= _FORMULA_MAX else f"{text[:_FORMULA_MAX]}…", formula=text)
        style = self._book.style(number)
        if isinstance(value, ShownNumber):
            cell = value.cell
        elif isinstance(value, float):
            cell = self._shown.get((value, number))
            if cell is None:
                cell = _numeric(value, style, is_1904=self._book.is_1904)
                if len(self._shown) < 50_000:
                    self._shown[value, number] = cell
        else:
            cell = _worded(value, style, is_1904=self._book.is_1904)
        if formula and not formula.startswith("\0"):
            cell = replace(cell, formula=f"={formula}"[:1_000])
        return self._linked(row, column, cell, formula) if self._links or formula else cell

    def _formula(self, row: int, column: int, formula: str) -> str:
        if formula.startswith("\0"):
            _start, at, text = formula.split("\0", 2)
            formula = moved(text, cell_at(at) or (row, column), (row, column))
        return "=" + re.sub(r"\b_xl(?:fn|ws|udf)\.(?:_xlws\.)?", "", formula)

    def _linked(self, row: int, column: int, cell: Cell, formula: str) -> Cell:
        """Return a cell with the address it leads to, where the cell does not show the address."""
        in_formula = _LINK.match(formula)
        address = in_formula.group(1) if in_formula else self._links.get((row, column), "")
        bare = address.removeprefix("mailto:").removesuffix("/")
        if not bare or not cell.shown or bare in cell.shown:
            return cell
        return replace(cell, shown=f"{cell.shown} ({address.removeprefix('mailto:')})")

    # Tables

    def _occupied(self, row: int) -> list[int]:
        own = (
            column
            for column, (value, _style, formula) in self._sheet.rows.get(row, {}).items()
            if formula or (value is not None and (not isinstance(value, str) or value.strip()))
        )
        return sorted({*own, *self._fills.get(row, {})})

    def _bands(self) -> list[_Band]:
        """Return the tables that the workbook names in the sheet, and all else apart at empty rows, in their order."""
        bands = list(self._named_tables())
        taken = [(band.rows[0], band.columns[0], band.rows[-1], band.columns[-1]) for band in bands]
        rest = dict[int, list[int]]()
        for row in sorted(self._sheet.rows):
            columns = self._occupied(row)
            for top, left, bottom, right in taken:
                if top <= row <= bottom:
                    columns = [column for column in columns if not left <= column <= right]
            if columns:
                rest[row] = columns
        for rows in runs(rest):
            columns = sorted({column for row in rows for column in rest[row]})
            bands += [
                _Band([row for row in rows if part & set(rest[row])], sorted(part))
                for part in self._apart(rows, columns)
            ]
        return sorted(bands, key=lambda band: (band.rows[0], band.columns[0]))

    def _named_tables(self) -> Iterator[_Band]:
        for table in self._book.tables(self._number, self._book.losses):
            top, left, bottom, right = table.area
            inside = [row for row in sorted(self._sheet.rows) if top <= row <= bottom]
            columns = list(range(left, right + 1))
            if inside and any(set(columns) & set(self._sheet.rows[row]) for row in inside):
                yield _Band(inside, columns, _Piece(inside, columns, table.header_rows, is_closed=True))

    def _apart(self, rows: list[int], columns: list[int]) -> list[set[int]]:
        """Return the columns of the tables side by side in a band: each at least two wide, with names over values."""
        parts = runs(columns)
        if len(parts) > 1 and len(rows) > 2 and all(len(part) > 1 for part in parts):
            grids = [
                [row for row in self._grid(rows[:_SAMPLE], part) if any(cell.shown for cell in row)] for part in parts
            ]
            if all(len(grid) > 2 and header_rows(grid) for grid in grids):
                return [set(part) for part in parts]
        return [set(columns)]

    def _grid(self, rows: Sequence[int], columns: Sequence[int]) -> list[list[Cell]]:
        return [[cells.get(column, _EMPTY) for column in columns] for cells in map(self._cells, rows)]

    def _items(self) -> Iterator[_Piece | Block]:
        """Yield tables and paragraphs; a single line right above a table is its caption."""
        title = ""
        for band in self._bands():
            if band.piece is not None:
                yield replace(band.piece, caption=title)
                title = ""
                continue
            titles, body, notes = self._parts(band)
            lines = [line for row in titles for line in self._lines(row, band.columns)]
            if not body:
                yield from _paragraphs([title])
                title = lines[0] if len(lines) == 1 and len(lines[0]) <= _CAPTION_MAX else ""
                yield from _paragraphs(lines if not title else [])
                continue
            if lines and len(lines[-1]) <= _CAPTION_MAX:
                yield from _paragraphs([title, *lines[:-1]])
                title = lines[-1]
            elif lines:
                yield from _paragraphs([title, *lines])
                title = ""
            yield self._piece(body, band.columns, title)
            title = ""
            for row in notes:
                yield from _paragraphs(self._lines(row, band.columns))
        yield from _paragraphs([title])

    def _parts(self, band: _Band) -> tuple[list[int], list[int], list[int]]:
        """Return the rows of a band that are titles, those of its table, and the notes below it."""
        rows, columns = band.rows, band.columns
        if len(columns) == 1:
            cells = [self._cells(row).get(columns[0], _EMPTY) for row in rows]
            is_listed = any(cell.type != "text" for cell in cells) or self._declared(rows, columns)
            return ([], rows, []) if is_listed else (rows, [], [])
        start = 0
        while start < len(rows) and self._is_line(rows[start], columns):
            start += 1
        end = len(rows)
        while end > start and self._is_note(rows[end - 1], columns):
            end -= 1
        return rows[:start], rows[start:end], rows[end:]

    def _is_line(self, row: int, columns: Sequence[int]) -> bool:
        """Return whether a row is one text alone, be it merged over the others."""
        cells = self._cells(row)
        own = [cells[column] for column in columns if column in cells and cells[column].shown]
        alone = [cell for cell in own if not cell.is_filled]
        return len(alone) == 1 and alone[0].type == "text" and len(own) == alone[0].columns and alone[0].rows == 1

    def _is_note(self, row: int, columns: Sequence[int]) -> bool:
        if not self._is_line(row, columns):
            return False
        cells = [cell for cell in self._cells(row).values() if not cell.is_filled and cell.shown]
        return any(cell.columns >= len(columns) or len(cell.shown) > 60 for cell in cells)

    def _lines(self, row: int, columns: Sequence[int]) -> list[str]:
        cells = self._cells(row)
        texts = [cells[column].shown for column in columns if column in cells and not cells[column].is_filled]
        return [text for text in texts if text.strip()]

    def _piece(self, rows: list[int], columns: list[int], caption: str) -> _Piece:
        columns = [
            column for run in runs(columns, _GAP_MAX + 1) for column in range(run[0], run[-1] + 1)
        ]  # an empty column among others stays
        header = self._declared(rows, columns)
        if not header:
            sample = self._grid(rows[:_SAMPLE], columns)
            bold = [self._is_bold(row, columns) for row in rows[:2]]
            header = header_rows(sample, is_bold=bold == [True, False])
        return _Piece(rows, columns, header, caption)

    def _declared(self, rows: Sequence[int], columns: Sequence[int]) -> int:
        """Return the number of rows that a filter or a frozen pane says to be names."""
        header = 0
        for top, left, _bottom, right in self._sheet.filters:
            if top in rows[:_HEADER_MAX] and left <= columns[-1] and right >= columns[0]:
                header = max(header, rows.index(top) + 1)
        frozen = sum(row <= self._sheet.frozen_rows for row in rows[: _HEADER_MAX + 1])
        return max(header, frozen) if frozen <= _HEADER_MAX and frozen < len(rows) else header

    def _is_bold(self, row: int, columns: Sequence[int]) -> bool:
        cells = self._sheet.rows.get(row, {})
        styles = [self._book.style(cells[column][1]) for column in columns if column in cells]
        return bool(styles) and all(style.is_bold for style in styles)

    def _continues(self, before: _Piece, after: _Piece) -> bool:
        """Return whether a table goes on below an empty row: without a title and names of its own."""
        return (
            not (before.is_closed or after.is_closed or after.header or after.caption)
            and before.rows[-1] < after.rows[0]
            and before.columns[0] <= after.columns[0]
            and after.columns[-1] <= before.columns[-1]
        )

    def _table(self, piece: _Piece, notes: list[Note]) -> Iterator[Block | Table]:
        frozen = sum(column <= self._sheet.frozen_columns for column in piece.columns)
        yield Table(
            rows=self._rows(piece),
            header_rows=piece.header,
            header_columns=frozen if frozen < len(piece.columns) else 0,
            caption=piece.caption,
            sheet=self._entry.name,
            is_hidden=self._entry.is_hidden,
        )
        rows, columns = set(piece.rows), set(piece.columns)
        for note in list(notes):
            place = cell_at(note[0])
            if place and place[0] in rows and place[1] in columns:
                notes.remove(note)
                yield self._comment(*note)

    def _rows(self, piece: _Piece) -> Iterator[list[Cell]]:
        for row in piece.rows:
            cells = self._cells(row)
            end = bisect_right(piece.columns, max(cells, default=0))
            line = [cells.get(column, _EMPTY) for column in piece.columns[:end]]
            hidden = sum(cell.shown == "" and cell.raw not in ("", "0") for cell in line)
            self._book.losses.note("hidden_text", self._entry.name, hidden)
            yield line

    # Beside the cells

    def _comment(self, ref: str, author: str, text: str) -> Block:
        place = cell_at(ref)
        cell = self._cells(place[0]).get(place[1]) if place else None
        anchor = f"{ref}: {cell.shown}" if cell and cell.shown else ref
        return Block(kind="comment", text=text, author=author, anchor=" ".join(anchor.split())[:_CAPTION_MAX])

    def _margin(self, kind: str) -> Iterator[Block]:
        """Yield the header or footer of the printed sheet, once for all sheets that have the same."""
        for where, code in self._sheet.margins:
            text = " ".join(filter(None, map(_margin_part, _MARGIN_PART.split(code))))
            if where == kind and re.search(r"[^\W\d]", text) and text not in self._margins:
                self._margins.add(text)
                yield Block(kind="header" if kind == "header" else "footer", text=text)


def _margin_part(code: str) -> str:
    """Return the text of one part of a header; none of one that is a page number or a date with a word before it."""
    text = " ".join(_MARGIN_CODE.sub(_margin_text, code).split())
    return "" if _NUMBERED.search(code) and len(text.split()) <= 2 else text


def _margin_text(found: re.Match[str]) -> str:
    return "&" if found.group() == "&&" else ""


def _paragraphs(lines: Sequence[str]) -> Iterator[Block]:
    for line in lines:
        if line.strip():
            yield Block(kind="paragraph", text=line)


def _numeric(value: float, style: Style, *, is_1904: bool) -> Cell:
    text = shown(value, style.code, is_1904=is_1904)
    kind = parsed(style.code).type
    if kind != "date":
        raw = text if style.code == GENERAL else general(value)
    else:
        when = moment(value, is_1904=is_1904)
        raw = "" if when is None else when.isoformat() if value % 1 else when.date().isoformat()
    return Cell(text, raw="" if raw == text else raw, type=kind, format=style.code)


def _worded(value: Value, style: Style, *, is_1904: bool) -> Cell:
    if isinstance(value, bool):
        return Cell("TRUE" if value else "FALSE", type="bool")
    if isinstance(value, ErrorValue):
        return Cell(value, type="error")
    if isinstance(value, IsoMoment):
        number = value.serial(is_1904=is_1904)
        if number is not None and parsed(style.code).type in ("date", "time", "duration"):
            return _numeric(number, style, is_1904=is_1904)
        return Cell(str(value).replace("T", " "), raw=str(value), type="date")
    if not isinstance(value, str) or not value.strip():
        return _EMPTY
    text = shown(value, style.code)
    return Cell(text, raw=value if value != text else "", format="" if style.code == "General" else style.code)
