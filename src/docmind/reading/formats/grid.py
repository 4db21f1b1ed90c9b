"""The grid of a table on a web page: its rows with the cells of the columns, spans filled in as browsers do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import lxml.html

from docmind.blocks import MOST_COLUMNS, Cell, shown_in
from docmind.reading.formats.math_text import local

_COLSPAN, _ROWSPAN = 1_000, 65_534  # the largest that browsers take
_FILLED = 200_000  # cells of a table that are filled in for a span; further ones are empty

Said = Callable[[lxml.html.HtmlElement], str]


class Grid:
    """Rows, header rows and header columns of one table, without those of tables inside it."""

    def __init__(self, table: lxml.html.HtmlElement, said: Said, is_hidden: Callable[[lxml.html.HtmlElement], bool]):
        """Read the cells of a table; `said` gives the text of one."""
        self.rows: list[list[Cell | str]] = []
        self._names: list[bytearray] = []  # for each cell, whether it names a row or column
        self._filled = 0
        self._in_head = 0
        for group, rows in _groups(table):
            kept = [row for row in rows if not is_hidden(row)]
            self._read(kept, said)
            if group == "thead":
                self._in_head = len(self.rows)

    @property
    def header_rows(self) -> int:
        """The rows at the top that name the columns: those of `thead`, else those that hold nothing but `th`."""
        if self._in_head:
            return min(self._in_head, len(self.rows))
        count = 0
        for row, names in zip(self.rows, self._names, strict=True):
            if not all(named or not shown_in(cell) for cell, named in zip(row, names, strict=True)) or not any(names):
                break
            count += 1
        return count if count < len(self.rows) else min(count, 1)

    @property
    def header_columns(self) -> int:
        """The columns at the left whose cells below the header rows are all `th`."""
        below = self._names[self.header_rows :]
        count = 0
        while below and all(count < len(names) and names[count] for names in below):
            count += 1
        return count

    def _read(self, rows: list[lxml.html.HtmlElement], said: Said) -> None:
        """Add one group of rows; a cell spans no rows of another group."""
        spanning: dict[int, tuple[int, Cell, bool]] = {}  # by column: rows that are still covered, and by what
        for number, element in enumerate(rows):
            row: list[Cell | str] = []
            names = bytearray()
            for cell in element:
                if local(cell) in ("td", "th"):
                    self._covered(spanning, row, names)
                    self._add(cell, said, len(rows) - number, spanning, row, names)
            self._covered(spanning, row, names)
            for column in sorted(column for column in spanning if column >= len(row)):  # behind a gap
                self._pad(column - len(row), row, names)
                self._covered(spanning, row, names)
            if any(map(shown_in, row)):
                self.rows.append(row)
                self._names.append(names)

    def _add(
        self,
        cell: lxml.html.HtmlElement,
        said: Said,
        left: int,
        spanning: dict[int, tuple[int, Cell, bool]],
        row: list[Cell | str],
        names: bytearray,
    ) -> None:
        columns = min(max(_number(cell.get("colspan"), 1), 1), _COLSPAN, max(1, MOST_COLUMNS - len(row)))
        asked = _number(cell.get("rowspan"), 1)
        deep = min(left if asked == 0 else max(asked, 1), _ROWSPAN, left)
        is_name = local(cell) == "th"
        text = said(cell)
        start = len(row)
        row.append(text if columns == deep == 1 else Cell(text, columns=columns, rows=deep))
        names.append(is_name)
        if columns == deep == 1:
            return
        filled = Cell(text, is_filled=True)
        for column in range(start + 1, start + columns):
            if column in spanning or not self._room():
                break
            row.append(filled)
            names.append(is_name)
        if deep > 1:
            for column in range(start, len(row)):
                spanning[column] = deep - 1, filled, is_name

    def _covered(self, spanning: dict[int, tuple[int, Cell, bool]], row: list[Cell | str], names: bytearray) -> None:
        """Fill in the cells from the rows above that cover the next columns."""
        while len(row) in spanning:
            left, cell, is_name = spanning.pop(len(row))
            if left > 1:
                spanning[len(row)] = left - 1, cell, is_name
            if not self._room():
                spanning.clear()  # no table that people read comes here
                return
            row.append(cell)
            names.append(is_name)

    def _pad(self, count: int, row: list[Cell | str], names: bytearray) -> None:
        row += [""] * count
        names += bytes(count)

    def _room(self) -> bool:
        self._filled += 1
        return self._filled <= _FILLED


def _groups(table: lxml.html.HtmlElement) -> Iterator[tuple[str, list[lxml.html.HtmlElement]]]:
    """Yield the rows of a table by group, as browsers show them: the head first and the foot last."""
    heads: list[tuple[str, list[lxml.html.HtmlElement]]] = []
    bodies: list[tuple[str, list[lxml.html.HtmlElement]]] = []
    feet: list[tuple[str, list[lxml.html.HtmlElement]]] = []
    loose: list[lxml.html.HtmlElement] = []
    for child in table:
        name = local(child)
        if name == "tr":
            if not loose:
                bodies.append(("tbody", loose))
            loose.append(child)
            continue
        loose = []
        rows = [row for row in child if local(row) == "tr"]
        if name in ("thead", "tbody", "tfoot") and rows:
            {"thead": heads, "tfoot": feet}.get(name, bodies).append((name, rows))
    yield from (*heads, *bodies, *feet)


def _number(text: str | None, default: int) -> int:
    text = (text or "").strip()[:9]
    return int(text) if text.isascii() and text.isdecimal() else default
