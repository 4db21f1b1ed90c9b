"""Cells of a text's table as one grid: those that span columns or rows are filled in, and rows of names are told."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from docmind.blocks import Block, Cell, CellType, Table
from docmind.reading.formats.sheet_tables import header_rows, typed

LONG = 1_800
"""Characters of a cell: a table of longer cells is layout, and its cells are read as text."""
_FILLED_MAX = 200  # characters: a longer text is not repeated in the cells that its span covers
_GRID_MAX = 200_000  # cells of a grid that may be many times those that are there
_SAMPLE = 50  # rows that tell whether the first one names the columns
_NAME_MAX = 80  # characters of a column's name


@dataclass(slots=True)
class CellRead:
    """The contents of a cell: its blocks, their text in one line, and whether all of it is bold."""

    text: str = ""
    blocks: list[Block | Table] = field(default_factory=list)
    aside: list[Block | Table] = field(default_factory=list)
    is_bold: bool = False

    def add(self, more: CellRead) -> None:
        """Add what stands in a cell that is merged with this one."""
        if len(self.text) <= LONG:  # a text that grows with each of many rows would be copied as often
            self.text = f"{self.text} {more.text}".strip()
        self.blocks += more.blocks
        self.aside += more.aside


@dataclass(slots=True)
class Placed:
    """A cell where it stands: first column, and the columns and rows of its span."""

    first: int
    columns: int
    merge: Literal["", "restart", "continue"]
    read: CellRead
    rows: int = 1
    origin: Placed | None = None


def gridded(
    rows: list[list[Placed]], named: int, *, named_columns: int = 0, is_styled: bool = False
) -> list[Block | Table]:
    """Return a table, followed by what does not belong in a cell. A table that is layout gives its cells as blocks.

    `named` is how many of the first rows are marked as names, and `named_columns` how many columns. `is_styled` says
    that the style of the table sets the first row apart.
    """
    cells = [cell for row in rows for cell in row]
    if len(cells) == 1 or any(len(cell.read.text) > LONG for cell in cells):
        return [block for cell in cells for block in (*cell.read.blocks, *cell.read.aside)]
    _merge(rows)
    grid = _grid(rows)
    if not any(cell.shown for row in grid for cell in row):
        return [block for cell in cells for block in cell.read.aside]
    if named == len(rows):  # a table of which all rows are said to be names
        named = 0
    names = named or _named(rows, grid, is_styled=is_styled)
    columns = named_columns or _named_columns(rows, names)
    made = Table(rows=grid, header_rows=min(names, len(grid)), header_columns=columns)
    return [made, *(block for cell in cells for block in cell.read.aside)]


def _merge(rows: list[list[Placed]]) -> None:
    """Join cells that go on from the row above with the cell in which they began."""
    above: dict[int, Placed] = {}
    for row in rows:
        here: dict[int, Placed] = {}
        for cell in row:
            origin = above.get(cell.first) if cell.merge == "continue" else None
            if origin is not None:
                origin.rows += 1
                cell.origin = origin
                origin.read.add(CellRead(cell.read.text, cell.read.blocks))
            if origin is not None or cell.merge == "restart":
                here[cell.first] = origin or cell
        above = here


def _grid(rows: list[list[Placed]]) -> list[list[Cell]]:
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


def _filled(cell: Placed, wide: int) -> Iterator[Cell]:
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


def _named(rows: list[list[Placed]], grid: list[list[Cell]], *, is_styled: bool) -> int:
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
    return header_rows(sample, is_bold=has_groups or is_styled or _is_set_apart(rows), is_sheet=False)


def _type_below(text: str) -> CellType:
    """Return the type of a value: one with a unit is a number too, though a name such as Q1 is none."""
    kind = typed(text).type
    letters = sum(char.isalpha() for char in text)
    return "number" if kind == "text" and letters <= 3 and any(map(str.isdecimal, text)) else kind


def _is_set_apart(rows: list[list[Placed]]) -> bool:
    """Return whether the first row is bold and the second is not."""
    first = [cell.read for cell in rows[0] if cell.read.text]
    later = [cell.read for cell in rows[1] if cell.read.text]
    return all(cell.is_bold for cell in first) and not (later and all(cell.is_bold for cell in later))


def _named_columns(rows: list[list[Placed]], names: int) -> int:
    """Return 1 where the first cell of each row is bold, and not the others."""
    below = [row for row in rows[names:] if len(row) > 1 and row[0].first == 0]
    if not below or not all(row[0].read.is_bold or not row[0].read.text for row in below):
        return 0
    is_said = any(row[0].read.text for row in below)
    return int(is_said and not any(cell.read.is_bold for row in below for cell in row[1:]))
