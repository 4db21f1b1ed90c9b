"""Results of simple formulas of a workbook, for those that were written without one.

    formula = comparison of terms with + - & * / ^ %, references, and the functions of `_FUNCTIONS`

Everything else has no result, and is shown as the formula it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from docmind.reading.formats.number_format import general
from docmind.reading.formats.xlsx_parts import LAST_COLUMN, LAST_ROW, ErrorValue, Range, Rows, Value, range_at

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)(?![\w:!])|(?P<text>"(?:[^"]|"")*")
    |(?P<sheet>'(?:[^']|'')*'!|[^\W\d][\w.]*!)
    |(?P<range>\$?[A-Za-z]{1,3}\$?\d{1,7}(?::\$?[A-Za-z]{1,3}\$?\d{1,7})?|\$?[A-Za-z]{1,3}:\$?[A-Za-z]{1,3})(?![\w(!.])
    |(?P<name>[^\W\d][\w.]*)|(?P<sign><=|>=|<>|[-+*/^&=<>%(),]))""",
    re.VERBOSE,
)
_DEEPEST = 60  # formulas that wait for each other and brackets within each other, of ten calls each
_VISITS = 5_000_000  # cells that are looked at for one workbook
_LONGEST = 8_192  # characters of a formula in Excel


class NoResultError(Exception):
    """A formula that is not simple, waits for itself, or is too much work."""


Sheets = Callable[[str], Rows | None]
Block = list[Value]
_Token = tuple[str, str]


def moved(formula: str, start: tuple[int, int], place: tuple[int, int]) -> str:
    """Return a formula that is shared from one cell, as it stands in another: its relative references move."""
    down, right = place[0] - start[0], place[1] - start[1]
    parts = re.split(r'("(?:[^"]|"")*"|\'(?:[^\']|\'\')*\'!)', formula)
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


class Results:
    """Computes formulas of one workbook, each once. Used by one reader."""

    def __init__(self, sheets: Sheets) -> None:
        """`sheets` returns the cells of a sheet by its name, None for an unknown one."""
        self._sheets = sheets
        self._known: dict[tuple[str, int, int], Value] = {}
        self._open: set[tuple[str, int, int]] = set()
        self._visits = 0
        self.depth = 0

    def of(self, sheet: str, row: int, column: int) -> Value:
        """Return the value of a cell. Raises `NoResultError`."""
        self._visits += 1
        if self._visits > _VISITS:
            raise NoResultError
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
            value = _Formula(self, sheet, formula).value()
        finally:
            self._open.discard(key)
        self._known[key] = value
        return value

    def block(self, sheet: str, area: Range) -> Iterator[Value]:
        """Yield the values of the cells of a range that are there, row by row."""
        rows = self._sheets(sheet)
        if rows is None:
            raise NoResultError
        top, left, bottom, right = area
        self._visits += min(bottom - top + 1, len(rows))
        numbers = range(top, bottom + 1) if bottom - top < len(rows) else sorted(n for n in rows if top <= n <= bottom)
        for number in numbers:
            cells = rows.get(number)
            if cells:
                for column in range(left, right + 1) if right - left < len(cells) else sorted(cells):
                    if left <= column <= right and column in cells:
                        yield self.of(sheet, number, column)


class _Formula:
    """A parser of one formula that computes while it reads."""

    def __init__(self, results: Results, sheet: str, text: str) -> None:
        if len(text) > _LONGEST:
            raise NoResultError
        self._results, self._sheet = results, sheet
        self._tokens = list(_tokens(text))
        self._at = 0

    def value(self) -> Value:
        found = _single(self._compared())
        if self._at < len(self._tokens):
            raise NoResultError
        return 0.0 if found is None else found

    def _peek(self) -> str:
        kind, text = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        return text if kind == "sign" else ""

    def _next(self) -> _Token:
        if self._at >= len(self._tokens):
            raise NoResultError
        self._at += 1
        return self._tokens[self._at - 1]

    def _compared(self) -> Value | Block:
        if self._results.depth >= _DEEPEST:
            raise NoResultError
        self._results.depth += 1
        try:
            left = self._joined()
            while self._peek() in ("=", "<>", "<", ">", "<=", ">="):
                sign = self._next()[1]
                left = _compare(sign, _single(left), _single(self._joined()))
            return left
        finally:
            self._results.depth -= 1

    def _joined(self) -> Value | Block:
        left = self._sum()
        while self._peek() == "&":
            self._next()
            left = _join(_single(left), _single(self._sum()))
        return left

    def _sum(self) -> Value | Block:
        left = self._product()
        while self._peek() in ("+", "-"):
            sign = self._next()[1]
            left = _calculate(sign, _single(left), _single(self._product()))
        return left

    def _product(self) -> Value | Block:
        left = self._power()
        while self._peek() in ("*", "/"):
            sign = self._next()[1]
            left = _calculate(sign, _single(left), _single(self._power()))
        return left

    def _power(self) -> Value | Block:
        left = self._signed()
        while self._peek() == "^":
            self._next()
            left = _calculate("^", _single(left), _single(self._signed()))
        return left

    def _signed(self) -> Value | Block:
        signs = 0
        is_signed = False
        while self._peek() in ("+", "-"):
            is_minus = self._next()[1] == "-"
            signs, is_signed = signs + is_minus, is_signed or is_minus
        found = self._atom()
        while self._peek() == "%":
            self._next()
            found = _calculate("/", _single(found), 100.0)
        return _calculate("*", _single(found), (-1.0) ** signs) if is_signed else found

    def _atom(self) -> Value | Block:
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
        if kind == "name":
            return self._call(text.upper())
        if text != "(":
            raise NoResultError
        found = self._compared()
        if self._next()[1] != ")":
            raise NoResultError
        return found

    def _area(self, sheet: str, text: str) -> Value | Block:
        plain = text.replace("$", "")
        first, colon, last = plain.partition(":")
        if colon and first.isalpha():
            plain = f"{first}1:{last}{LAST_ROW}"
        area = range_at(plain)
        if area is None:
            raise NoResultError
        if not colon:
            return self._results.of(sheet, area[0], area[1])
        return list(self._results.block(sheet, area))

    def _call(self, name: str) -> Value:
        function = _FUNCTIONS.get(name)
        if function is None or self._next()[1] != "(":
            raise NoResultError
        arguments = list[Value | Block]()
        while self._peek() != ")":
            arguments.append(self._compared())
            if self._peek() == ",":
                self._next()
            elif self._peek() != ")":
                raise NoResultError
        self._next()
        try:
            return function(arguments)
        except (IndexError, ValueError, OverflowError, ZeroDivisionError) as error:
            raise NoResultError from error


def _tokens(text: str) -> Iterator[_Token]:
    at, text = 0, text.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise NoResultError
        yield found.lastgroup, found.group(found.lastgroup)
        at = found.end()


def _single(value: Value | Block) -> Value:
    if isinstance(value, list):
        raise NoResultError
    return value


def _as_number(value: Value) -> float | ErrorValue:
    if isinstance(value, ErrorValue):
        return value
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return ErrorValue("#VALUE!")
    return float(value or 0)


def _calculate(sign: str, left: Value, right: Value) -> Value:
    one, two = _as_number(left), _as_number(right)
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
    joined = _as_text(left) + _as_text(right)
    if len(joined) > 32_767:  # characters in a cell
        return ErrorValue("#VALUE!")
    return joined


def _as_text(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    return general(value) if isinstance(value, float | int) else value or ""


def _compare(sign: str, left: Value, right: Value) -> Value:
    for value in (left, right):
        if isinstance(value, ErrorValue):
            return value
    one, two = _ordered(left, right), _ordered(right, left)
    return {
        "=": one == two, "<>": one != two, "<": one < two, ">": one > two, "<=": one <= two, ">=": one >= two,
    }[sign]  # fmt: skip


def _ordered(value: Value, other: Value) -> tuple[int, float, str]:
    """Return a value as Excel orders it: numbers, then texts, then truth values."""
    if value is None:
        value = "" if isinstance(other, str) else False if isinstance(other, bool) else 0.0
    if isinstance(value, bool):
        return 2, float(value), ""
    return (1, 0.0, value.casefold()) if isinstance(value, str) else (0, value, "")


def _numbers(arguments: list[Value | Block]) -> list[float]:
    """Return the numbers of arguments: of ranges only what is a number. Raises `_Error` for an error value."""
    found = list[float]()
    for argument in arguments:
        for value in argument if isinstance(argument, list) else (argument,):
            if isinstance(value, ErrorValue):
                raise _Error(value)
            if isinstance(value, float):
                found.append(value)
            elif not isinstance(argument, list) and isinstance(value, bool | str):
                number = _as_number(value)
                if isinstance(number, ErrorValue):
                    raise _Error(number)
                found.append(number)
    return found


class _Error(Exception):
    def __init__(self, value: ErrorValue) -> None:
        super().__init__(value)
        self.value = value


def _of_numbers(work: Callable[[list[float]], Value]) -> Callable[[list[Value | Block]], Value]:
    def function(arguments: list[Value | Block]) -> Value:
        try:
            return work(_numbers(arguments))
        except _Error as error:
            return error.value

    return function


def _average(numbers: list[float]) -> Value:
    return math.fsum(numbers) / len(numbers) if numbers else ErrorValue("#DIV/0!")


def _round(arguments: list[Value | Block]) -> Value:
    number = _as_number(_single(arguments[0]))
    places = _as_number(_single(arguments[1])) if len(arguments) > 1 else 0.0
    if isinstance(number, ErrorValue) or isinstance(places, ErrorValue) or abs(places) > 20:
        raise NoResultError
    scale = 10.0 ** int(places)
    return math.copysign(math.floor(float(f"{abs(number) * scale:.15g}") + 0.5), number) / scale


def _if(arguments: list[Value | Block]) -> Value:
    test = _single(arguments[0])
    if isinstance(test, ErrorValue):
        return test
    if isinstance(test, str):
        raise NoResultError
    branch = 1 if test else 2
    return _single(arguments[branch]) if branch < len(arguments) else bool(test)


def _subtotal(arguments: list[Value | Block]) -> Value:
    number = _as_number(_single(arguments[0]))
    name = {1: "AVERAGE", 2: "COUNT", 3: "COUNTA", 4: "MAX", 5: "MIN", 6: "PRODUCT", 9: "SUM"}.get(int(number) % 100)
    if name is None:
        raise NoResultError
    return _FUNCTIONS[name](arguments[1:])


def _count_all(arguments: list[Value | Block]) -> Value:
    values = [value for one in arguments for value in (one if isinstance(one, list) else (one,))]
    return float(sum(value is not None for value in values))


def _count(arguments: list[Value | Block]) -> Value:
    values = [value for one in arguments for value in (one if isinstance(one, list) else (one,))]
    return float(sum(isinstance(value, float) for value in values))


_FUNCTIONS: dict[str, Callable[[list[Value | Block]], Value]] = {
    "SUM": _of_numbers(math.fsum),
    "AVERAGE": _of_numbers(_average),
    "MIN": _of_numbers(lambda numbers: min(numbers, default=0.0)),
    "MAX": _of_numbers(lambda numbers: max(numbers, default=0.0)),
    "PRODUCT": _of_numbers(lambda numbers: math.prod(numbers) if numbers else 0.0),
    "ABS": _of_numbers(lambda numbers: abs(numbers[0])),
    "INT": _of_numbers(lambda numbers: float(math.floor(numbers[0]))),
    "COUNT": _count,
    "COUNTA": _count_all,
    "ROUND": _round,
    "IF": _if,
    "SUBTOTAL": _subtotal,
}
