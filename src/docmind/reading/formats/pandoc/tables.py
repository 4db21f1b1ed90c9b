"""Tables of pandoc's tree as grids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from docmind.blocks import MOST_CELLS, Block, Losses, Table
from docmind.reading.formats.cells import CellRead, Placed, gridded

_COLSPAN = 1_000
_ROWSPAN = 65_534


def table_of(content: Any, read: Callable[[list[Any]], CellRead], losses: Losses) -> list[Block | Table]:
    """Return a table without its caption, followed by what does not belong in a cell; `read` reads a cell's blocks.

    Cells beyond those that a file may have are counted in `losses`.
    """
    _attributes, _caption, columns, (_head_attributes, head), bodies, (_foot_attributes, foot) = content
    rows = [(row, True) for row in head]
    names = 0
    for _body_attributes, row_heads, heads, body in bodies:
        names = max(names, int(row_heads))
        rows += [(row, False) for row in (*heads, *body)]
    rows += [(row, False) for row in foot]
    placed = _placed([row for row, _is_head in rows], max(1, len(columns)), read, losses)
    kept = [(row, is_head) for row, (_row, is_head) in zip(placed, rows, strict=True) if row]
    heads = sum(is_head and any(cell.read.text for cell in row) for row, is_head in kept)
    shown = [row for row, is_head in kept if not is_head or any(cell.read.text for cell in row)]
    return gridded(shown, heads, named_columns=names) if shown else []


def _placed(rows: list[Any], wide: int, read: Callable[[list[Any]], CellRead], losses: Losses) -> list[list[Placed]]:
    """Return the cells of each row where they stand; those that a cell from above covers are there too."""
    covered: dict[int, tuple[int, int]] = {}  # by first column: further rows that are covered, and columns
    placed: list[list[Placed]] = []
    total = 0
    for _attributes, cells in rows:
        row: list[Placed] = []
        begun: dict[int, tuple[int, int]] = {}
        at = 0
        for _cell_attributes, _align, deep, columns, blocks in cells:
            at = _over(covered, row, at)
            span = max(1, min(int(columns), _COLSPAN, wide - at))
            deep = max(1, min(int(deep), _ROWSPAN))
            row.append(Placed(at, span, "restart" if deep > 1 else "", read(blocks)))
            if deep > 1:
                begun[at] = deep - 1, span
            at += span
        for first in sorted(first for first in covered if first >= at):
            at = _over(covered, row, max(at, first))
        covered = {first: (left - 1, span) for first, (left, span) in covered.items() if left > 1} | begun
        total += len(row)
        if total > MOST_CELLS:
            losses.note("cell", "", len(cells))
            row = []
        placed.append(row)
    return placed


def _over(covered: dict[int, tuple[int, int]], row: list[Placed], at: int) -> int:
    """Add the cells from above that cover the next columns, and return the first column that none covers."""
    while at in covered:
        _left, span = covered[at]
        row.append(Placed(at, span, "continue", CellRead()))
        at += span
    return at
