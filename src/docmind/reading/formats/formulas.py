"""Results of simple formulas of a workbook, for those that were written without one.

    formula = comparison of terms with + - & * / ^ %, references, names, columns of tables, and functions

Everything else has no result, and is shown as the formula it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from docmind.reading.formats.formula_functions import (
    OF_DATES,
    Area,
    Argument,
    Key,
    NoResultError,
    as_number,
    as_text,
    called,
    compared,
    key_of,
    single,
)
from docmind.reading.formats.sheet_cells import LAST_COLUMN, LAST_ROW, ErrorValue, Range, Rows, Value, range_at

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d++(?:\.\d*+)?(?:[eE][+-]?\d++)?|\.\d+)(?![\w:!])|(?P<text>"(?:[^"]|"")*")
    |(?P<sheet>'(?:[^']|'')*'!|[^\W\d][\w.]*!)
    |(?P<range>\$?[A-Za-z]{1,3}\$?\d{1,7}(?::\$?[A-Za-z]{1,3}\$?\d{1,7})?|\$?[A-Za-z]{1,3}:\$?[A-Za-z]{1,3})(?![\w(!.])
    |(?P<table>(?:[^\W\d][\w.]*)?\[(?:[^\[\]']|'.|\[(?:[^\[\]']|'.)*\])*\])
    |(?P<name>[^\W\d][\w.]*)|(?P<sign><=|>=|<>|[-+*/^&=<>%(),]))""",
    re.VERBOSE,
)
# Within the brackets behind a table's name: @Net, @[Net], [#This Row],[Net], Net.
_COLUMN = re.compile(
    r"(?P<here>@)?(?:\[(?P<part>#[^\[\]]+)\]\s*,\s*)?"
    r"(?:\[(?P<column>(?:[^\[\]']|'.)+)\]|(?P<bare>(?:[^\[\]'@#]|'.)+))"
)
_DEEPEST = 60  # formulas that wait for each other and brackets within each other, of ten calls each
_VISITS = 5_000_000  # cells that are looked at for one workbook
_LONGEST = 8_192  # characters of a formula in Excel


Sheets = Callable[[str], Rows | None]
_Token = tuple[str, str]


def moved(formula: str, start: tuple[int, int], place: tuple[int, int]) -> str:
    """Return a formula that is shared from one cell, as it stands in another: its relative references move."""
    down, right = place[0] - start[0], place[1] - start[1]
    parts = re.split(r'("(?:[^"]|"")*"|\'(?:[^\']|\'\'){0,400}+\'!)', formula)
    for number in range(0, len(parts), 2):
        parts[number] = _REFERENCE.sub(lambda found: _moved_reference(found, down, right), parts[number])
    return "".join(parts)


_REFERENCE = re.compile(r"(?<![\w.$])(\$?)([A-Za-z]{1,3})(\$?)(\d{1,7})(?![\w(.!])")


def _moved_reference(found: re.Match[str], down: int, right: int) -> str:
    fixed_column, letters, fixed_row, digits = found.groups()
    if not fixed_column:
        number = 0
        for letter in letters.upper():
            number = number * 26 + ord(letter) - 64
        number, letters = number + right, ""
        if not 1 <= number <= LAST_COLUMN:
            return "#REF!"
        while number:
            number, rest = divmod(number - 1, 26)
            letters = chr(65 + rest) + letters
    row = int(digits) + (0 if fixed_row else down)
    return f"{fixed_column}{letters}{fixed_row}{row}" if 1 <= row <= LAST_ROW else "#REF!"


@dataclass(frozen=True, slots=True)
class TableRange:
    """An Excel table: its sheet, the range of its rows without names and totals, and the names of its columns."""

    sheet: str
    range: Range
    columns: tuple[str, ...]
    has_totals: bool = False


class Results:
    """Computes formulas of one workbook, each once. Used by one reader."""

    def __init__(
        self,
        sheets: Sheets,
        names: Mapping[tuple[str, str], str] | None = None,
        tables: Callable[[], Mapping[str, TableRange]] = dict,
        *,
        is_1904: bool = False,
    ) -> None:
        """`sheets` returns the cells of a sheet by its name, None for an unknown one.

        `names` are the formulas of names, by sheet ("" for all) and name; `tables` returns tables by name. Both in
        small letters.
        """
        self._sheets = sheets
        self._names = names or {}
        self._find_tables = tables
        self.is_1904 = is_1904
        self._meant: dict[tuple[str, str], Argument] = {}
        self._indexes: dict[tuple[str, Range], dict[Key, int]] = {}
        self._known: dict[tuple[str, int, int], Value] = {}
        self._open: set[tuple[str, int, int]] = set()
        self._visits = 0
        self.depth = 0

    def of(self, sheet: str, row: int, column: int) -> Value:
        """Return the value of a cell. Raises `NoResultError`."""
        self._visit(1)
        rows = self._sheets(sheet)
        if rows is None:
            raise NoResultError
        cell = rows.get(row, {}).get(column)
        if cell is None:
            return None
        value, _style, formula = cell
        if value is not None or not formula:
            return value
        key = sheet.casefold(), row, column
        if key in self._known:
            return self._known[key]
        if key in self._open:
            raise NoResultError
        self._open.add(key)
        try:
            if formula.startswith("\0"):
                _empty, start, text = formula.split("\0", 2)
                origin = range_at(start)
                if origin is None:
                    raise NoResultError
                formula = moved(text, origin[:2], (row, column))
            value = _Formula(self, sheet, formula, (row, column)).value()
        finally:
            self._open.discard(key)
        self._known[key] = value
        return value

    @cached_property
    def tables(self) -> Mapping[str, TableRange]:
        """The tables of the workbook by name, in small letters."""
        return self._find_tables()

    def meant(self, sheet: str, name: str) -> Argument:
        """Return what a name stands for. Raises `NoResultError`."""
        name = name.casefold()
        key = next((key for key in ((sheet.casefold(), name), ("", name)) if key in self._names), None)
        if key is None:
            raise NoResultError
        place = f"\0{key[0]}\0{name}", 0, 0
        if key not in self._meant:
            if place in self._open:
                raise NoResultError
            self._open.add(place)
            try:
                self._meant[key] = _Formula(self, sheet, self._names[key].removeprefix("="), None).argument()
            finally:
                self._open.discard(place)
        return self._meant[key]

    def rows_of(self, sheet: str, area: Range) -> list[int]:
        """Return the numbers of the rows of a range that have cells."""
        rows = self._sheets(sheet)
        if rows is None:
            raise NoResultError
        top, _left, bottom, _right = area
        self._visit(min(bottom - top + 1, len(rows)))
        if bottom - top < len(rows):
            return [number for number in range(top, bottom + 1) if number in rows]
        return sorted(number for number in rows if top <= number <= bottom)

    def block(self, sheet: str, area: Range) -> Iterator[Value]:
        """Yield the values of the cells of a range that are there, row by row."""
        rows = self._sheets(sheet)
        _top, left, _bottom, right = area
        for number in self.rows_of(sheet, area):
            cells = rows.get(number) if rows is not None else None
            if cells:
                for column in range(left, right + 1) if right - left < len(cells) else sorted(cells):
                    if left <= column <= right and column in cells:
                        yield self.of(sheet, number, column)

    def index(self, sheet: str, area: Range) -> dict[Key, int]:
        """Return the first row of each value of a range of one column; it is made once."""
        key = sheet.casefold(), area
        if key not in self._indexes:
            found = dict[Key, int]()
            for row in self.rows_of(sheet, area):
                value = self.of(sheet, row, area[1])
                if value is not None and not isinstance(value, ErrorValue):
                    found.setdefault(key_of(value), row)
            self._indexes[key] = found
        return self._indexes[key]

    def _visit(self, count: int) -> None:
        self._visits += count
        if self._visits > _VISITS:
            raise NoResultError


@dataclass(frozen=True, slots=True)
class _SheetCells:
    """The cells of a sheet as functions see them."""

    results: Results
    sheet: str

    def of(self, row: int, column: int) -> Value:
        return self.results.of(self.sheet, row, column)

    def block(self, area: Range) -> Iterator[Value]:
        return self.results.block(self.sheet, area)

    def rows(self, area: Range) -> list[int]:
        return self.results.rows_of(self.sheet, area)

    def index(self, area: Range) -> dict[Key, int]:
        return self.results.index(self.sheet, area)


class _Formula:
    """A parser of one formula that computes while it reads."""

    def __init__(self, results: Results, sheet: str, text: str, place: tuple[int, int] | None) -> None:
        """`place` is the row and column of its cell, None for that of a name."""
        if len(text) > _LONGEST:
            raise NoResultError
        self._results, self._sheet, self._place = results, sheet, place
        self._tokens = list(_tokens(text))
        self._at = 0

    def value(self) -> Value:
        found = single(self.argument())
        return 0.0 if found is None else found

    def argument(self) -> Argument:
        found = self._compared()
        if self._at < len(self._tokens):
            raise NoResultError
        return found

    def _peek(self) -> str:
        kind, text = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        return text if kind == "sign" else ""

    def _next(self) -> _Token:
        if self._at >= len(self._tokens):
            raise NoResultError
        self._at += 1
        return self._tokens[self._at - 1]

    def _compared(self) -> Argument:
        if self._results.depth >= _DEEPEST:
            raise NoResultError
        self._results.depth += 1
        try:
            left = self._joined()
            while self._peek() in ("=", "<>", "<", ">", "<=", ">="):
                sign = self._next()[1]
                left = compared(sign, single(left), single(self._joined()))
            return left
        finally:
            self._results.depth -= 1

    def _joined(self) -> Argument:
        left = self._sum()
        while self._peek() == "&":
            self._next()
            left = _join(single(left), single(self._sum()))
        return left

    def _sum(self) -> Argument:
        left = self._product()
        while self._peek() in ("+", "-"):
            sign = self._next()[1]
            left = _calculate(sign, single(left), single(self._product()))
        return left

    def _product(self) -> Argument:
        left = self._power()
        while self._peek() in ("*", "/"):
            sign = self._next()[1]
            left = _calculate(sign, single(left), single(self._power()))
        return left

    def _power(self) -> Argument:
        left = self._signed()
        while self._peek() == "^":
            self._next()
            left = _calculate("^", single(left), single(self._signed()))
        return left

    def _signed(self) -> Argument:
        signs = 0
        is_signed = False
        while self._peek() in ("+", "-"):
            is_minus = self._next()[1] == "-"
            signs, is_signed = signs + is_minus, is_signed or is_minus
        found = self._atom()
        while self._peek() == "%":
            self._next()
            found = _calculate("/", single(found), 100.0)
        return _calculate("*", single(found), (-1.0) ** signs) if is_signed else found

    def _atom(self) -> Argument:
        kind, text = self._next()
        if kind == "number":
            return float(text)
        if kind == "text":
            return text[1:-1].replace('""', '"')
        if kind == "sheet":
            kind, area = self._next()
            if kind != "range":
                raise NoResultError
            return self._area(text[:-1].strip("'").replace("''", "'"), area)
        if kind == "range":
            return self._area(self._sheet, text)
        if kind == "name" and text.upper() in ("TRUE", "FALSE") and self._peek() != "(":
            return text.upper() == "TRUE"
        if kind == "table":
            return self._column(text)
        if kind == "name" and self._peek() != "(":
            return self._results.meant(self._sheet, text)
        if kind == "name":
            return self._call(text.upper())
        if text != "(":
            raise NoResultError
        found = self._compared()
        if self._next()[1] != ")":
            raise NoResultError
        return found

    def _area(self, sheet: str, text: str) -> Argument:
        plain = text.replace("$", "")
        first, colon, last = plain.partition(":")
        if colon and first.isalpha():
            plain = f"{first}1:{last}{LAST_ROW}"
        area = range_at(plain)
        if area is None:
            raise NoResultError
        if not colon:
            return self._results.of(sheet, area[0], area[1])
        return Area(_SheetCells(self._results, sheet), area)

    def _column(self, text: str) -> Argument:
        """Return a column of a table, or its cell in the row of the formula: T[Net], T[[#This Row],[Net]], [@Net]."""
        name, _bracket, inner = text.partition("[")
        found = _COLUMN.fullmatch(inner.removesuffix("]").strip())
        table = self._results.tables.get(name.casefold()) if name else self._own_table()
        if found is None or table is None:
            raise NoResultError
        part = (found["part"] or "").casefold()
        said = re.sub(r"'(.)", r"\1", (found["column"] or found["bare"]).strip()).casefold()
        at = next((at for at, column in enumerate(table.columns) if column.casefold() == said), None)
        top, left, bottom, _right = table.range
        if at is None:
            raise NoResultError
        column = left + at
        if part == "#totals":
            if not table.has_totals:
                raise NoResultError
            return self._results.of(table.sheet, bottom + 1, column)
        if part == "#this row" or found["here"]:
            if self._place is None or not top <= self._place[0] <= bottom:
                raise NoResultError
            return self._results.of(table.sheet, self._place[0], column)
        return Area(_SheetCells(self._results, table.sheet), (top, column, bottom, column))

    def _own_table(self) -> TableRange | None:
        for table in self._results.tables.values():
            top, left, bottom, right = table.range
            if self._place is not None and table.sheet.casefold() == self._sheet.casefold():
                row, column = self._place
                if top <= row <= bottom + 1 and left <= column <= right:
                    return table
        return None

    def _call(self, name: str) -> Value:
        name = name.removeprefix("_XLFN.")
        if self._next()[1] != "(" or (self._results.is_1904 and name in OF_DATES):
            raise NoResultError
        arguments = list[Argument]()
        while self._peek() != ")":
            arguments.append(self._compared())
            if self._peek() == ",":
                self._next()
            elif self._peek() != ")":
                raise NoResultError
        self._next()
        return called(name, arguments)


def _tokens(text: str) -> Iterator[_Token]:
    at, text = 0, text.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise NoResultError
        yield found.lastgroup, found.group(found.lastgroup)
        at = found.end()


def _calculate(sign: str, left: Value, right: Value) -> Value:
    one, two = as_number(left), as_number(right)
    if isinstance(one, ErrorValue):
        return one
    if isinstance(two, ErrorValue):
        return two
    try:
        if sign == "/":
            return one / two if two else ErrorValue("#DIV/0!")
        found = one + two if sign == "+" else one - two if sign == "-" else one * two if sign == "*" else one**two
    except (OverflowError, ZeroDivisionError):
        return ErrorValue("#NUM!")
    return float(found) if not isinstance(found, complex) and math.isfinite(found) else ErrorValue("#NUM!")


def _join(left: Value, right: Value) -> Value:
    for value in (left, right):
        if isinstance(value, ErrorValue):
            return value
    joined = as_text(left) + as_text(right)
    if len(joined) > 32_767:  # characters in a cell
        return ErrorValue("#VALUE!")
    return joined
