"""Where the tables of a sheet of cells are, and which of their rows name the columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from docmind.blocks import Cell, CellType

_NAME_MAX = 120  # characters of the name of a column
_YEAR = re.compile(r"(19|20)\d\d")
_PLAIN = ("text", "empty")
_NUMBER = re.compile(r"[-+(]?\d+([.,' ]\d{3})*([.,]\d+)?([eE][-+]?\d+)?\)?-?")
_DATE = re.compile(r"\d{4}-\d\d?(-\d\d?)?([T ]\d\d?:\d\d.*)?|\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d\d)( \d\d?:\d\d.*)?")
_TIME = re.compile(r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?[AaPp][Mm])?")
_CURRENCY = re.compile(r"[$€£¥₹]|R\$|\b(EUR|USD|GBP|CHF|BRL|SEK|NOK|DKK|PLN|CZK|JPY)\b")
_BOOL = ("true", "false")


def runs(numbers: Iterable[int], gap: int = 1) -> list[list[int]]:
    """Return sorted numbers in runs, apart where one is more than `gap` above the one before."""
    found = list[list[int]]()
    for number in numbers:
        if found and number - found[-1][-1] <= gap:
            found[-1].append(number)
        else:
            found.append([number])
    return found


def header_rows(rows: Sequence[Sequence[Cell]], *, is_bold: bool = False, is_sheet: bool = True) -> int:
    """Return how many of the first rows name the columns; `rows` is the beginning of a table.

    `is_bold` says that the first row is set in bold and the second is not. In a sheet, texts above texts are names
    where none of them comes again; a table within a text has such rows without any names.
    """
    if len(rows) < 2:
        return 0
    depth = 1
    for cell in rows[0]:
        if cell.rows > 1 and not cell.is_filled:
            depth = max(depth, min(cell.rows, 4))
        elif cell.columns > 1 and not cell.is_filled:
            depth = max(depth, 2)
    for deep in range(min(depth, len(rows) - 1), 0, -1):
        if all(_is_of_names(row) for row in rows[: deep - 1]) and _names(
            rows[deep - 1], rows[deep:], is_bold=is_bold, is_sheet=is_sheet
        ):
            return deep
    return 0


def _is_of_names(row: Sequence[Cell]) -> bool:
    return all(cell.type in _PLAIN or _is_period(cell) for cell in row)


def _is_period(cell: Cell) -> bool:
    return cell.type == "date" or (cell.type == "number" and bool(_YEAR.fullmatch(cell.shown)))


def _names(first: Sequence[Cell], below: Sequence[Sequence[Cell]], *, is_bold: bool, is_sheet: bool) -> bool:
    said = [cell for cell in first if cell.shown]
    if not said or (len(first) > 1 and len(said) < 2) or any(len(cell.shown) > _NAME_MAX for cell in said):
        return False
    if said[0].shown.endswith(":"):
        return False
    kinds = [_kind_of(column, below) for column in range(len(first))]
    typed = [(cell, kind) for cell, kind in zip(first, kinds, strict=True) if cell.type not in _PLAIN]
    if any(
        cell.type == kind and not _may_name(cell, column, first, below) for column, (cell, kind) in _at(first, kinds)
    ):
        return False
    if len(typed) == len(said) and not all(_is_period(cell) for cell, _kind in typed):
        return False
    if is_bold or any(kind not in _PLAIN and cell.type == "text" for cell, kind in zip(first, kinds, strict=True)):
        return True
    if typed:
        return all(_is_period(cell) for cell, _kind in typed)
    if not is_sheet:
        return False
    names = Counter(cell.shown.casefold() for cell in said if not cell.is_filled)
    if max(names.values(), default=1) > 1 or 2 * len(said) < len(first):
        return False
    return not any(
        cell.shown and column < len(row) and row[column].shown == cell.shown and not row[column].is_filled
        for column, cell in enumerate(first)
        for row in below
    )


def _at(first: Sequence[Cell], kinds: Sequence[str]) -> list[tuple[int, tuple[Cell, str]]]:
    return [
        (at, (cell, kind)) for at, (cell, kind) in enumerate(zip(first, kinds, strict=True)) if cell.type not in _PLAIN
    ]


def _may_name(cell: Cell, column: int, first: Sequence[Cell], below: Sequence[Sequence[Cell]]) -> bool:
    """Return whether a year or date may name a column of numbers: those below are no years or dates themselves."""
    if column == 0 or first[0].type not in _PLAIN or not _is_period(cell):
        return False
    values = [row[column] for row in below if column < len(row) and row[column].shown]
    return sum(map(_is_period, values)) * 2 < len(values)


def _kind_of(column: int, below: Sequence[Sequence[Cell]]) -> str:
    """Return the type of most cells of a column that are not empty."""
    kinds = Counter(row[column].type for row in below if column < len(row) and row[column].shown)
    if not kinds:
        return "empty"
    kind, count = kinds.most_common(1)[0]
    return kind if 2 * count > kinds.total() else "text"


def typed(text: str) -> Cell:
    """Return a cell with the type that its text has."""
    text = " ".join(text.split())
    return Cell(text, type=_type_of(text))


def _type_of(text: str) -> CellType:
    if not text:
        return "empty"
    if len(text) > 40:
        return "text"
    if text.casefold() in _BOOL:
        return "bool"
    if _NUMBER.fullmatch(text):
        return "date" if _DATE.fullmatch(text) else "number"
    if _DATE.fullmatch(text):
        return "date"
    if _TIME.fullmatch(text):
        return "time"
    if text.endswith("%") and _NUMBER.fullmatch(text[:-1].strip()):
        return "percent"
    bare = _CURRENCY.sub("", text).strip()
    return "amount" if bare != text and _NUMBER.fullmatch(bare) else "text"
