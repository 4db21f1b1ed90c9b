"""A workbook as its tables are found in it, for every format: values and formulas, styles, and what a sheet says."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from docmind.blocks import MOST_CELLS, Block, Cell, Losses
from docmind.reading.formats.characters import struck, subscript, superscript
from docmind.reading.formats.number_format import GENERAL
from docmind.records.documents import LossKind

LAST_ROW, LAST_COLUMN = 1_048_576, 16_384
MOST_MERGES = 200_000
ERRORS = {
    0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?", 0x24: "#NUM!", 0x2A: "#N/A",
    0x2B: "#GETTING_DATA",
}  # fmt: skip
"""The errors of cells by their codes in binary workbooks."""

_SCRIPTS = {1: superscript, 2: subscript}
_CELL = re.compile(r"\$?([A-Za-z]{1,3})\$?(\d{1,7})")

Range = tuple[int, int, int, int]
"""First row, first column, last row, last column, from 1."""


class ErrorValue(str):
    """An error value of a cell, such as #DIV/0!."""

    __slots__ = ()


class ShownNumber(float):
    """A number whose file has the text that its cell shows."""

    __slots__ = ("cell",)

    def __new__(cls, value: float, cell: Cell) -> ShownNumber:
        """Make a number; `cell` is what is shown."""
        made = super().__new__(cls, value)
        made.cell = cell
        return made


class IsoMoment(str):
    """A date or time of a Strict workbook, as ISO 8601 text."""

    __slots__ = ()

    def serial(self, *, is_1904: bool) -> float | None:
        """Return the serial number; None where the text is no date or time."""
        try:
            if "-" not in self:
                time = dt.time.fromisoformat(self.removeprefix("T"))
                return (time.hour * 3_600 + time.minute * 60 + time.second + time.microsecond / 1e6) / 86_400
            since = dt.datetime.fromisoformat(self).replace(tzinfo=None)
        except ValueError:
            return None
        return (since - dt.datetime.fromisoformat("1904-01-01" if is_1904 else "1899-12-30")) / dt.timedelta(days=1)


Value = float | bool | str | ErrorValue | None
RawCell = tuple[Value, int, str]
"""Value, number of its style, and formula without its equals sign. None with a formula is one without a result."""

Rows = dict[int, dict[int, RawCell]]


@dataclass(frozen=True, slots=True)
class Style:
    """How the cells of a style are shown."""

    code: str = GENERAL
    is_bold: bool = False


@dataclass(frozen=True, slots=True)
class Font:
    """What a font of a binary workbook says of the text in it."""

    is_bold: bool = False
    is_struck: bool = False
    script: int = 0
    """1 for raised, 2 for lowered text."""


def in_runs(text: str, runs: Sequence[tuple[int, int]], fonts: Sequence[Font]) -> str:
    """Return a text whose raised, lowered and struck-out runs are told apart; each is its start and its font."""
    found = [text[: runs[0][0]]] if runs else [text]
    ends = [start for start, _font in runs[1:]] + [len(text)]
    for (start, number), end in zip(runs, ends, strict=True) if runs else ():
        font = fonts[number] if 0 <= number < len(fonts) else Font()
        said = text[start:end]
        if said and font.script in _SCRIPTS:
            said = _SCRIPTS[font.script](said, found[-1])
        found.append(struck(said) if font.is_struck else said)
    return "".join(found)


@dataclass(frozen=True, slots=True)
class Entry:
    """A sheet as the workbook lists it."""

    name: str
    is_hidden: bool = False
    left: LossKind | None = None
    """As what a sheet without cells is counted, such as a chart."""


@dataclass(slots=True)
class Sheet:
    """The cells of a sheet, and what its part says of tables."""

    rows: Rows = field(default_factory=dict)
    merges: list[Range] = field(default_factory=list)
    frozen_rows: int = 0
    frozen_columns: int = 0
    filters: list[Range] = field(default_factory=list)
    """Ranges whose first row names the columns."""
    links: list[tuple[Range, str]] = field(default_factory=list)
    margins: list[tuple[str, str]] = field(default_factory=list)
    """Headers and footers: "header" or "footer", and the code."""
    needs_result: list[tuple[int, int]] = field(default_factory=list)
    left_out: int = 0
    """Cells that are not kept, because one file has at most `MOST_CELLS`."""
    _kept: int = 0

    def has_room(self, cells: int = 1) -> bool:
        """Return whether so many more cells are kept, and count them."""
        if self._kept + cells > MOST_CELLS:
            self.left_out += cells
            return False
        self._kept += cells
        return True


@dataclass(frozen=True, slots=True)
class SheetTable:
    """A range that the workbook itself calls a table, with the names it has and those of its columns."""

    area: Range
    header_rows: int = 1
    names: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    has_totals: bool = False


Note = tuple[str, str, str]
"""A comment: the cell, such as B7, the author, and the text."""


class Workbook(Protocol):
    """An open workbook: its sheets by number from 0, and what all of them share."""

    losses: Losses

    @property
    def is_1904(self) -> bool: ...

    @property
    def names(self) -> Mapping[tuple[str, str], str]:
        """The formulas of defined names, by sheet ("" for all) and name, both in small letters."""
        ...

    @property
    def entries(self) -> Sequence[Entry]: ...

    def style(self, number: int) -> Style:
        """Return a style by the number that a cell has."""
        ...

    def read(self, number: int) -> Sheet:
        """Return the cells of a sheet; one that breaks off is kept as far as it goes, and counted."""
        ...

    def notes(self, number: int) -> Iterable[Note]:
        """Return the comments of a sheet."""
        ...

    def tables(self, number: int, losses: Losses) -> Iterable[SheetTable]:
        """Return the tables that the workbook names in a sheet; those that are broken are counted."""
        ...

    def shapes(self, number: int) -> Iterable[Block]:
        """Return the texts of the drawings of a sheet; pictures and charts are counted."""
        ...


def cell_at(ref: str) -> tuple[int, int] | None:
    """Return row and column of a reference such as B7 or $B$7; None where it is none of a sheet."""
    found = _CELL.fullmatch(ref)
    if found is None:
        return None
    column = 0
    for letter in found.group(1).upper():
        column = column * 26 + ord(letter) - 64
    row = int(found.group(2))
    return (row, column) if 1 <= row <= LAST_ROW and column <= LAST_COLUMN else None


def range_at(ref: str) -> Range | None:
    """Return a range such as A1:B7, or of one cell."""
    first, _colon, last = ref.partition(":")
    start, end = cell_at(first), cell_at(last or first)
    if start is None or end is None:
        return None
    return min(start[0], end[0]), min(start[1], end[1]), max(start[0], end[0]), max(start[1], end[1])


def name_of(row: int, column: int) -> str:
    """Return the reference of a cell, such as B7."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row}"
