"""Tables as one grid: cells that span columns or rows are filled in, and the rows that name the columns are told."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from docmind.blocks import Block, Cell, CellType, Table
from docmind.reading.formats.docx.inline import GONE, chosen_of
from docmind.reading.formats.docx.package import MC, Element, W, is_on, number, value
from docmind.reading.formats.docx.styles import Styles
from docmind.reading.formats.sheet_tables import header_rows, typed

_FILLED_MAX = 200  # characters: a longer text is not repeated in the cells that its span covers
_GRID_MAX = 200_000  # cells of a grid that may be many times those that are there
_LONG = 1_800  # characters of a cell: a table of such cells is layout, and its cells are read as text
_SAMPLE = 50  # rows that tell whether the first one names the columns
_NAME_MAX = 80  # characters of a column's name
_WRAPPERS = frozenset(f"{W}{name}" for name in ("customXml", "ins", "moveTo", "smartTag"))


@dataclass(slots=True)
class CellRead:
    """The contents of a cell: its blocks, their text in one line, and whether all of it is bold."""

    text: str = ""
    blocks: list[Block | Table] = field(default_factory=list)
    aside: list[Block | Table] = field(default_factory=list)
    is_bold: bool = False


@dataclass(slots=True)
class _Placed:
    """A cell where it stands: first column, and the columns and rows of its span."""

    first: int
    columns: int
    merge: Literal["", "restart", "continue"]
    read: CellRead
    rows: int = 1
    origin: _Placed | None = None


def members(container: Element) -> Iterator[Element]:
    """Yield what stands in a container, without what is wrapped around it; tracked deletions are left out."""
    for child in container:
        tag = child.tag
        if tag == f"{W}sdt":
            content = child.find(f"{W}sdtContent")
            if content is not None:
                yield from members(content)
        elif tag in _WRAPPERS:
            yield from members(child)
        elif tag == f"{MC}AlternateContent":
            chosen = chosen_of(child)
            if chosen is not None:
                yield from members(chosen)
        elif tag not in GONE:
            yield child


def read_table(table: Element, read: Callable[[Element], CellRead], styles: Styles) -> list[Block | Table]:
    """Return a table, followed by what does not belong in a cell. A table that is layout gives its cells as blocks."""
    rows: list[list[_Placed]] = []
    named = 0
    for row in (each for each in members(table) if each.tag == f"{W}tr"):
        properties = row.find(f"{W}trPr")
        if properties is not None and properties.find(f"{W}del") is not None:
            continue
        if named == len(rows) and is_on(properties, "tblHeader"):
            named += 1
        rows.append(_row(row, properties, read))
    cells = [cell for row in rows for cell in row]
    if len(cells) == 1 or any(len(cell.read.text) > _LONG for cell in cells):
        return [block for cell in cells for block in (*cell.read.blocks, *cell.read.aside)]
    _merge(rows)
    grid = _grid(rows)
    if not any(cell.shown for row in grid for cell in row):
        return [block for cell in cells for block in cell.read.aside]
    if named == len(rows):  # a table of which all rows are said to be names
        named = 0
    names = named or _named(table, rows, grid, styles)
    columns = _named_columns(rows, names)
    made = Table(rows=grid, header_rows=min(names, len(grid)), header_columns=columns)
    return [made, *(block for cell in cells for block in cell.read.aside)]


def _row(row: Element, properties: Element | None, read: Callable[[Element], CellRead]) -> list[_Placed]:
    before = _span(value(properties, "gridBefore")) if properties is not None else 0
    placed = [_Placed(0, before, "", CellRead())] if before else []
    column = before
    for cell in (each for each in members(row) if each.tag == f"{W}tc"):
        said = cell.find(f"{W}tcPr")
        span = max(1, _span(value(said, "gridSpan"))) if said is not None else 1
        is_gone = said is not None and said.find(f"{W}cellDel") is not None
        contents = CellRead() if is_gone else read(cell)
        if said is not None and value(said, "hMerge") == "continue" and placed:
            placed[-1].columns += span
            _add(placed[-1].read, contents)
        else:
            placed.append(_Placed(column, span, _merge_of(said), contents))
        column += span
    after = _span(value(properties, "gridAfter")) if properties is not None else 0
    return [*placed, _Placed(column, after, "", CellRead())] if after else placed


def _merge_of(said: Element | None) -> Literal["", "restart", "continue"]:
    merge = said.find(f"{W}vMerge") if said is not None else None
    if merge is None:
        return ""
    return "restart" if merge.get(f"{W}val") == "restart" else "continue"


def _span(text: str | None) -> int:
    return max(number(text), 0)


def _add(to: CellRead, more: CellRead) -> None:
    if len(to.text) <= _LONG:  # a text that grows with each of many rows would be copied as often
        to.text = f"{to.text} {more.text}".strip()
    to.blocks += more.blocks
    to.aside += more.aside


def _merge(rows: list[list[_Placed]]) -> None:
    """Join cells that go on from the row above with the cell in which they began."""
    above: dict[int, _Placed] = {}
    for row in rows:
        here: dict[int, _Placed] = {}
        for cell in row:
            origin = above.get(cell.first) if cell.merge == "continue" else None
            if origin is not None:
                origin.rows += 1
                cell.origin = origin
                _add(origin.read, CellRead(cell.read.text, cell.read.blocks))
            if origin is not None or cell.merge == "restart":
                here[cell.first] = origin or cell
        above = here


def _grid(rows: list[list[_Placed]]) -> list[list[Cell]]:
    """Return a row of cells for each row. Columns in which no cell begins are no columns of their own."""
    starts = sorted({cell.first for row in rows for cell in row})
    at = {start: column for column, start in enumerate(starts)}
    is_wide = len(starts) * len(rows) > max(_GRID_MAX, 8 * sum(map(len, rows)))
    grid: list[list[Cell]] = []
    for row in rows:
        cells: list[Cell] = []
        for number_in_row, cell in enumerate(row):
            following = row[number_in_row + 1].first if number_in_row + 1 < len(row) else cell.first + cell.columns
            wide = 1 if is_wide else max(1, bisect_left(starts, following) - at[cell.first])
            cells += _filled(cell, wide)
        if not is_wide:
            cells += [Cell("", type="empty")] * (len(starts) - len(cells))
        grid.append(cells)
    return grid


def _filled(cell: _Placed, wide: int) -> Iterator[Cell]:
    source = cell.origin or cell
    text = source.read.text
    repeated = text if len(text) <= _FILLED_MAX else ""
    kind: Literal["text", "empty"] = "text" if text else "empty"
    if cell.origin is None:
        yield Cell(text, type=kind, columns=wide, rows=cell.rows)
    else:
        yield Cell(repeated, type=kind, is_filled=True)
    for _column in range(wide - 1):
        yield Cell(repeated, type=kind, is_filled=True)


def _named(table: Element, rows: list[list[_Placed]], grid: list[list[Cell]], styles: Styles) -> int:
    """Return how many rows name the columns though nothing says so."""
    if len(rows) < 2 or len(grid[0]) < 2:
        return 0
    names = [cell.shown for cell in grid[0]]
    if any(len(name) > _NAME_MAX for name in names) or sum(map(bool, names)) < (len(names) + 1) // 2:
        return 0
    sample = [[replace(cell, type=typed(cell.shown).type) for cell in grid[0]]]
    sample += [[replace(cell, type=_type_below(cell.shown)) for cell in row] for row in grid[1:_SAMPLE]]
    # Names above groups of names, beside names of both rows.
    has_groups = any(cell.rows > 1 for cell in rows[0]) and any(cell.columns > 1 for cell in grid[0])
    return header_rows(sample, is_bold=has_groups or _is_set_apart(table, rows, styles), is_sheet=False)


def _type_below(text: str) -> CellType:
    """Return the type of a value: one with a unit is a number too, though a name such as Q1 is none."""
    kind = typed(text).type
    letters = sum(char.isalpha() for char in text)
    return "number" if kind == "text" and letters <= 3 and any(map(str.isdecimal, text)) else kind


def _is_set_apart(table: Element, rows: list[list[_Placed]], styles: Styles) -> bool:
    """Return whether the first row is bold and the second is not, or the style of the table sets it apart."""
    first = [cell.read for cell in rows[0] if cell.read.text]
    later = [cell.read for cell in rows[1] if cell.read.text]
    if all(cell.is_bold for cell in first) and not (later and all(cell.is_bold for cell in later)):
        return True
    properties = table.find(f"{W}tblPr")
    style = value(properties, "tblStyle") if properties is not None else None
    return bool(style) and styles.look(style).has_header_row and _looks_at_first_row(properties)


def _looks_at_first_row(properties: Element) -> bool:
    look = properties.find(f"{W}tblLook")
    if look is None:
        return False
    said = look.get(f"{W}firstRow")
    if said is not None:
        return said.lower() in ("1", "true", "on")
    try:
        return bool(int(look.get(f"{W}val") or "0", 16) & 0x20)
    except ValueError:
        return False


def _named_columns(rows: list[list[_Placed]], names: int) -> int:
    """Return 1 where the first cell of each row is bold, and not the others."""
    below = [row for row in rows[names:] if len(row) > 1 and row[0].first == 0]
    if not below or not all(row[0].read.is_bold or not row[0].read.text for row in below):
        return 0
    is_said = any(row[0].read.text for row in below)
    return int(is_said and not any(cell.read.is_bold for row in below for cell in row[1:]))
