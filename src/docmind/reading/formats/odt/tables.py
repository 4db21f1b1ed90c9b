"""Tables of an OpenDocument text: the cells of each row where they stand, with their spans."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from docmind.blocks import MOST_CELLS, MOST_COLUMNS, Block, Losses, Table
from docmind.reading.formats.cells import CellRead, Placed, gridded
from docmind.reading.formats.odf import TABLE, Element, count_of

_MOST_REPEATED = 1_000  # rows or cells that one stands for
_MOST_COPIED = 100_000  # cells of rows that only repeat one: a few bytes of a file make them
_GROUPS = frozenset(f"{TABLE}{name}" for name in ("table-rows", "table-row-group", "table-header-rows"))


def read_table(table: Element, read: Callable[[Element], CellRead], losses: Losses, place: str) -> list[Block | Table]:
    """Return a table, followed by what does not belong in a cell. A table that is layout gives its cells as blocks."""
    rows: list[list[Placed]] = []
    spans: dict[int, tuple[int, int]] = {}  # by first column: columns, and rows below that are still covered
    named = count = copied = 0
    for row, is_named in _rows(table, is_named=False):
        placed = _row(row, read, spans)
        for time in range(_times(row, "rows")):
            copied += len(placed) if time else 0
            if count + len(placed) > MOST_CELLS or (time and copied > _MOST_COPIED):
                losses.note("cell", place, len(placed))
                continue
            count += len(placed)
            named += is_named and named == len(rows)
            rows.append(placed if not time else [_again(cell) for cell in placed])
    return gridded(rows, named, named_columns=_named_columns(table)) if rows else []


def _rows(container: Element, *, is_named: bool) -> Iterator[tuple[Element, bool]]:
    for child in container:
        if child.tag == f"{TABLE}table-row":
            yield child, is_named
        elif child.tag in _GROUPS:
            yield from _rows(child, is_named=is_named or child.tag == f"{TABLE}table-header-rows")


def _row(row: Element, read: Callable[[Element], CellRead], spans: dict[int, tuple[int, int]]) -> list[Placed]:
    placed: list[Placed] = []
    at = covered_to = 0
    for cell in row:
        is_covered = cell.tag == f"{TABLE}covered-table-cell"
        if cell.tag != f"{TABLE}table-cell" and not is_covered:
            continue
        contents = CellRead() if is_covered else read(cell)
        for time in range(_times(cell, "columns")):
            if at >= MOST_COLUMNS:
                return placed
            if is_covered and at in spans:
                wide, left = spans.pop(at)
                placed.append(Placed(at, wide, "continue", CellRead()))
                covered_to = at + wide
                if left > 1:
                    spans[at] = wide, left - 1
            elif is_covered and at >= covered_to:  # nothing covers it
                placed.append(Placed(at, 1, "", CellRead()))
            elif not is_covered:
                wide = max(1, count_of(cell.get(f"{TABLE}number-columns-spanned"), MOST_COLUMNS))
                deep = max(1, count_of(cell.get(f"{TABLE}number-rows-spanned"), 65_536))
                made = Placed(at, wide, "restart" if deep > 1 else "", contents)
                placed.append(_again(made) if time else made)
                covered_to = at + wide
                spans.pop(at, None)
                if deep > 1:
                    spans[at] = wide, deep - 1
            at += 1
    return placed


def _times(element: Element, what: str) -> int:
    """Return how many rows or cells one stands for; one with a table inside would multiply with what that repeats."""
    times = count_of(element.get(f"{TABLE}number-{what}-repeated"), _MOST_REPEATED)
    return times if times > 1 and next(element.iter(f"{TABLE}table"), None) is None else 1


def _again(cell: Placed) -> Placed:
    return Placed(cell.first, cell.columns, cell.merge, CellRead(cell.read.text, list(cell.read.blocks)))


def _named_columns(table: Element) -> int:
    """Return how many columns at the left name the rows."""
    count = 0
    for child in table:
        if child.tag == f"{TABLE}table-header-columns":
            for column in child.iterfind(f"{TABLE}table-column"):
                count += max(1, count_of(column.get(f"{TABLE}number-columns-repeated"), 10))
        elif child.tag in (f"{TABLE}table-column", f"{TABLE}table-columns"):
            break
    return min(count, 10)
