"""The functions of formulas of a workbook that are computed, and the values that they take.

An argument is a value or an `Area`. What a function cannot tell for certain has no result: it raises `NoResultError`.

It is one module of more than 500 lines because the functions share how they take numbers, texts, criteria and areas.
"""

from __future__ import annotations

import calendar
import datetime as dt
import math
import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

from docmind.reading.formats.number_format import general, moment, shown
from docmind.reading.formats.sheet_cells import ErrorValue, Range, Value

_TEXT_MAX = 32_767  # characters in a cell
Key = tuple[int, float, str]
"""What orders and equals a value as Excel does."""
_NOT_THERE = ErrorValue("#N/A")


class NoResultError(Exception):
    """A formula that is not simple, waits for itself, or is too much work."""


class Cells(Protocol):
    """The cells of a sheet, as formulas see them."""

    def of(self, row: int, column: int) -> Value:
        """Return the value at a place."""
        ...

    def block(self, area: Range) -> Iterator[Value]:
        """Yield the values of the cells of a range that are there, row by row."""
        ...

    def rows(self, area: Range) -> list[int]:
        """Return the numbers of the rows of a range that have cells, in order."""
        ...

    def index(self, area: Range) -> dict[Key, int]:
        """Return the first row of each value of a range of one column."""
        ...


@dataclass(frozen=True, slots=True)
class Area:
    """A range of cells, as an argument."""

    cells: Cells
    range: Range

    @property
    def size(self) -> tuple[int, int]:
        """Return the number of rows and of columns."""
        top, left, bottom, right = self.range
        return bottom - top + 1, right - left + 1

    def at(self, down: int, right: int) -> Value:
        """Return the value at a place in the area, counted from 0. Raises `NoResultError` outside of it."""
        tall, wide = self.size
        if not (0 <= down < tall and 0 <= right < wide):
            raise NoResultError
        return self.cells.of(self.range[0] + down, self.range[1] + right)

    def rows(self) -> list[int]:
        """Return the rows that have cells, counted from 0."""
        return [row - self.range[0] for row in self.cells.rows(self.range)]

    def line(self) -> list[Value]:
        """Return the values of an area of one row or one column, up to the last row that has cells."""
        tall, wide = self.size
        if tall > 1 and wide > 1:
            raise NoResultError
        if tall == 1:
            return [self.at(0, right) for right in range(wide)]
        return [self.at(down, 0) for down in range(max(self.rows(), default=-1) + 1)]


Argument = Value | Area


def single(value: Argument) -> Value:
    """Return a value. Raises `NoResultError` for an area."""
    if isinstance(value, Area):
        raise NoResultError
    return value


def as_number(value: Value) -> float | ErrorValue:
    """Return a value as a number, or an error value."""
    if isinstance(value, ErrorValue):
        return value
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return ErrorValue("#VALUE!")
        return number if math.isfinite(number) else ErrorValue("#VALUE!")
    return float(value or 0)


def as_text(value: Value) -> str:
    """Return a value as it stands in a text."""
    if isinstance(value, bool):
        return str(value).upper()
    return general(value) if isinstance(value, float | int) else value or ""


def compared(sign: str, left: Value, right: Value) -> Value:
    """Return the result of a comparison."""
    for value in (left, right):
        if isinstance(value, ErrorValue):
            return value
    one, two = _ordered(left, right), _ordered(right, left)
    return {
        "=": one == two, "<>": one != two, "<": one < two, ">": one > two, "<=": one <= two, ">=": one >= two,
    }[sign]  # fmt: skip


def _ordered(value: Value, other: Value) -> Key:
    if value is None:
        value = "" if isinstance(other, str) else False if isinstance(other, bool) else 0.0
    return key_of(value)


def key_of(value: float | bool | str) -> Key:
    """Return what orders a value as Excel does: numbers, then texts, then truth values."""
    if isinstance(value, bool):
        return 2, float(value), ""
    return (1, 0.0, value.casefold()) if isinstance(value, str) else (0, value, "")


class _Error(Exception):
    def __init__(self, value: ErrorValue) -> None:
        super().__init__(value)
        self.value = value


def _numbers(arguments: Sequence[Argument]) -> list[float]:
    """Return the numbers of arguments: of areas only what is a number. Raises `_Error` for an error value."""
    found = list[float]()
    for argument in arguments:
        for value in _values(argument):
            if isinstance(value, ErrorValue):
                raise _Error(value)
            if isinstance(value, float):
                found.append(value)
            elif not isinstance(argument, Area) and isinstance(value, bool | str):
                found.append(_number(value))
    return found


def _values(argument: Argument) -> Iterator[Value]:
    if isinstance(argument, Area):
        yield from argument.cells.block(argument.range)
    else:
        yield argument


def _number(argument: Argument) -> float:
    found = as_number(single(argument))
    if isinstance(found, ErrorValue):
        raise _Error(found)
    return found


def _text(argument: Argument) -> str:
    value = single(argument)
    if isinstance(value, ErrorValue):
        raise _Error(value)
    return as_text(value)


def _truth(argument: Argument) -> bool:
    value = single(argument)
    if isinstance(value, ErrorValue):
        raise _Error(value)
    if isinstance(value, str):
        raise NoResultError
    return bool(value)


# Numbers


def _of_numbers(work: Callable[[list[float]], Value]) -> Callable[[Sequence[Argument]], Value]:
    return lambda arguments: work(_numbers(arguments))


def _average(numbers: Sequence[float]) -> Value:
    return math.fsum(numbers) / len(numbers) if numbers else ErrorValue("#DIV/0!")


def _rounded(how: Callable[[float], float]) -> Callable[[Sequence[Argument]], Value]:
    def function(arguments: Sequence[Argument]) -> Value:
        number = _number(arguments[0])
        places = _number(arguments[1]) if len(arguments) > 1 else 0.0
        if abs(places) > 20:
            raise NoResultError
        scale = 10.0 ** int(places)
        return math.copysign(how(float(f"{abs(number) * scale:.15g}")), number) / scale

    return function


def _mod(arguments: Sequence[Argument]) -> Value:
    number, by = _number(arguments[0]), _number(arguments[1])
    return number - by * math.floor(number / by) if by else ErrorValue("#DIV/0!")


def _ranked(arguments: Sequence[Argument], *, is_largest: bool) -> Value:
    numbers = sorted(_numbers(arguments[:1]), reverse=is_largest)
    at = math.ceil(_number(arguments[1]))
    return numbers[at - 1] if 1 <= at <= len(numbers) else ErrorValue("#NUM!")


def _products(arguments: Sequence[Argument]) -> Value:
    areas = [one for one in arguments if isinstance(one, Area)]
    if len(areas) < len(arguments) or len({area.size for area in areas}) > 1:
        raise NoResultError
    total = list[float]()
    for down in _lines(areas):
        for right in range(areas[0].size[1]):
            factors = [area.at(down, right) for area in areas]
            for factor in factors:
                if isinstance(factor, ErrorValue):
                    return factor
            total.append(math.prod(factor if isinstance(factor, float) else 0.0 for factor in factors))
    return math.fsum(total)


def _lines(areas: Sequence[Area]) -> list[int]:
    """Return the rows of areas of one size that have cells in any of them, counted from 0."""
    return sorted({row for area in areas for row in area.rows()})


def _subtotal(arguments: Sequence[Argument]) -> Value:
    names = {1: "AVERAGE", 2: "COUNT", 3: "COUNTA", 4: "MAX", 5: "MIN", 6: "PRODUCT", 9: "SUM"}
    name = names.get(int(_number(arguments[0])) % 100)
    if name is None:
        raise NoResultError
    return FUNCTIONS[name](arguments[1:])


def _count(arguments: Sequence[Argument]) -> Value:
    return float(sum(isinstance(value, float) for one in arguments for value in _values(one)))


def _count_all(arguments: Sequence[Argument]) -> Value:
    return float(sum(value is not None for one in arguments for value in _values(one)))


# Conditions


def _if(arguments: Sequence[Argument]) -> Value:
    test = _truth(arguments[0])
    branch = 1 if test else 2
    return single(arguments[branch]) if branch < len(arguments) else test


def _ifs(arguments: Sequence[Argument]) -> Value:
    for at in range(0, len(arguments) - 1, 2):
        if _truth(arguments[at]):
            return single(arguments[at + 1])
    return _NOT_THERE


def _if_error(arguments: Sequence[Argument]) -> Value:
    value = single(arguments[0])
    return single(arguments[1]) if isinstance(value, ErrorValue) else value


def _if_missing(arguments: Sequence[Argument]) -> Value:
    value = single(arguments[0])
    return single(arguments[1]) if isinstance(value, ErrorValue) and value == _NOT_THERE else value


def _all_or_any(how: Callable[[Iterator[bool]], bool]) -> Callable[[Sequence[Argument]], Value]:
    def function(arguments: Sequence[Argument]) -> Value:
        values = [value for one in arguments for value in _values(one) if value is not None]
        return how(_truth(value) for value in values)

    return function


@lru_cache(maxsize=1_000)
def _pattern(text: str) -> re.Pattern[str] | None:
    """Return the pattern of a text with `*` and `?`, None where it has none."""
    if not re.search(r"[*?~]", text):
        return None
    if text.count("*") > 4:  # stars that are tried against each other
        raise NoResultError
    return re.compile(_expression(text), re.IGNORECASE | re.DOTALL)


def _expression(text: str) -> str:
    """Return the regular expression for a text with `*` and `?`; what is between two stars is looked for only once."""
    runs = [""]
    for part in re.findall(r"~[*?~]|.", text, re.DOTALL):
        if part == "*":
            runs.append("")
        else:
            runs[-1] += "." if part == "?" else re.escape(part[-1])
    first, *between = runs
    last = f".*{between.pop()}" if between else ""
    return first + "".join(f"(?>.*?{run})" for run in between) + last


def _criterion(raw: Value) -> Callable[[Value], bool]:
    """Return whether a value meets a criterion of SUMIF: a value, or a text such as ">=3", "<>x" and "a*"."""
    if isinstance(raw, ErrorValue) or raw is None:
        raise NoResultError
    sign, wanted = "=", raw
    if isinstance(raw, str):
        found = re.match(r"<=|>=|<>|<|>|=", raw)
        sign, wanted = (found.group(), raw[found.end() :]) if found else ("=", raw)
        number = as_number(wanted)
        if wanted and not isinstance(number, ErrorValue):
            wanted = number
    if isinstance(wanted, str):
        return _text_criterion(sign, wanted)
    is_bool = isinstance(wanted, bool)

    def meets(value: Value) -> bool:
        if not isinstance(value, bool if is_bool else float):
            return sign == "<>"
        return compared(sign, value, wanted) is True

    return meets


def _text_criterion(sign: str, wanted: str) -> Callable[[Value], bool]:
    if sign not in ("=", "<>"):
        raise NoResultError
    pattern = _pattern(wanted)

    def meets(value: Value) -> bool:
        if not wanted:
            is_met = value is None or value == ""
        elif not isinstance(value, str) or isinstance(value, ErrorValue):
            is_met = False
        else:
            is_met = bool(pattern.fullmatch(value)) if pattern else value.casefold() == wanted.casefold()
        return is_met == (sign == "=")

    return meets


def _met(pairs: Sequence[Argument]) -> Iterator[tuple[int, int]]:
    """Yield the places at which areas meet their criteria, both in turns."""
    areas = [one for one in pairs[::2] if isinstance(one, Area)]
    tests = [_criterion(single(one)) for one in pairs[1::2]]
    if not areas or not len(areas) == len(tests) == (len(pairs) + 1) // 2 or len({area.size for area in areas}) > 1:
        raise NoResultError
    tall, wide = areas[0].size
    lines = _lines(areas)
    if all(test(None) for test in tests) and len(lines) < tall:
        raise NoResultError  # rows without cells would count too
    for down in lines:
        for right in range(wide):
            if all(test(area.at(down, right)) for area, test in zip(areas, tests, strict=True)):
                yield down, right


def _chosen(of: Argument, pairs: Sequence[Argument]) -> list[float]:
    """Return the numbers of an area at the places at which others meet their criteria."""
    if not isinstance(of, Area):
        raise NoResultError
    top, left = of.range[:2]
    values = [of.cells.of(top + down, left + right) for down, right in _met(pairs)]
    for value in values:
        if isinstance(value, ErrorValue):
            raise _Error(value)
    return [value for value in values if isinstance(value, float)]


def _of_those(work: Callable[[list[float]], Value]) -> Callable[[Sequence[Argument]], Value]:
    """Return SUMIF or AVERAGEIF: area, criterion, and the area of the numbers where that is another."""
    return lambda arguments: work(_chosen(arguments[2] if len(arguments) > 2 else arguments[0], arguments[:2]))


def _of_those_all(work: Callable[[list[float]], Value]) -> Callable[[Sequence[Argument]], Value]:
    """Return SUMIFS and such: the area of the numbers, then areas and criteria."""
    return lambda arguments: work(_chosen(arguments[0], arguments[1:]))


# Looking up


def _place(wanted: Value, area: Area, *, is_exact: bool) -> int | None:
    """Return the place of a value in an area of one row or column, counted from 0; None where it is not there."""
    if isinstance(wanted, ErrorValue):
        raise _Error(wanted)
    wanted = 0.0 if wanted is None else wanted
    pattern = _pattern(wanted) if is_exact and isinstance(wanted, str) else None
    tall, wide = area.size
    if is_exact and pattern is None and wide == 1 and tall > 1:
        row = area.cells.index(area.range).get(key_of(wanted))
        return None if row is None else row - area.range[0]
    values = area.line()
    if pattern is not None:
        texts = ((at, value) for at, value in enumerate(values) if isinstance(value, str))
        return next((at for at, value in texts if pattern.fullmatch(value)), None)
    key = key_of(wanted)
    keys = [(at, key_of(value)) for at, value in enumerate(values) if value is not None]
    keys = [(at, one) for at, one in keys if one[0] == key[0]]
    if is_exact:
        return next((at for at, one in keys if one == key), None)
    if any(one > two for (_at, one), (_next, two) in pairwise(keys)):
        raise NoResultError  # Excel searches what is not sorted as if it was
    return max((at for at, one in keys if one <= key), default=None)


def _is_exact(arguments: Sequence[Argument], at: int) -> bool:
    return at < len(arguments) and not _truth(arguments[at])


def _looked_up(arguments: Sequence[Argument], *, is_down: bool) -> Value:
    area = arguments[1]
    if not isinstance(area, Area):
        raise NoResultError
    top, left, bottom, right = area.range
    first = replace(area, range=(top, left, bottom, left) if is_down else (top, left, top, right))
    at = _place(single(arguments[0]), first, is_exact=_is_exact(arguments, 3))
    number = int(_number(arguments[2])) - 1
    if at is None:
        return _NOT_THERE
    if not 0 <= number < area.size[1 if is_down else 0]:
        return ErrorValue("#REF!")
    return area.at(at, number) if is_down else area.at(number, at)


def _match(arguments: Sequence[Argument]) -> Value:
    area = arguments[1]
    kind = _number(arguments[2]) if len(arguments) > 2 else 1.0
    if not isinstance(area, Area) or kind < 0:
        raise NoResultError
    at = _place(single(arguments[0]), area, is_exact=kind == 0)
    return _NOT_THERE if at is None else float(at + 1)


def _index(arguments: Sequence[Argument]) -> Value:
    area = arguments[0]
    if not isinstance(area, Area):
        raise NoResultError
    numbers = [int(_number(one)) for one in arguments[1:3]]
    if len(numbers) == 1:
        numbers = [1, *numbers] if area.size[0] == 1 else [*numbers, 1]
        if 1 not in area.size:
            raise NoResultError
    down, right = numbers
    if down == 0 or right == 0:
        raise NoResultError
    return area.at(down - 1, right - 1)


def _found(arguments: Sequence[Argument]) -> Value:
    """Return the result of XLOOKUP with an exact match."""
    keys, values = arguments[1], arguments[2]
    if not isinstance(keys, Area) or not isinstance(values, Area) or len(arguments) > 4 or keys.size != values.size:
        raise NoResultError
    wanted = single(arguments[0])
    if isinstance(wanted, str) and _pattern(wanted) is not None:
        raise NoResultError
    at = _place(wanted, keys, is_exact=True)
    if at is None:
        return single(arguments[3]) if len(arguments) > 3 else _NOT_THERE
    return values.at(at, 0) if values.size[1] == 1 else values.at(0, at)


# Texts and dates


def _joined(arguments: Sequence[Argument]) -> Value:
    text = "".join(_text(value) for one in arguments for value in _values(one))
    return text if len(text) <= _TEXT_MAX else ErrorValue("#VALUE!")


def _length(arguments: Sequence[Argument], at: int) -> int:
    length = int(_number(arguments[at])) if len(arguments) > at else 1
    if length < 0:
        raise _Error(ErrorValue("#VALUE!"))
    return length


def _right(arguments: Sequence[Argument]) -> Value:
    text, length = _text(arguments[0]), _length(arguments, 1)
    return text[len(text) - min(length, len(text)) :]


def _middle(arguments: Sequence[Argument]) -> Value:
    start = _length(arguments, 1) - 1
    if start < 0:
        return ErrorValue("#VALUE!")
    return _text(arguments[0])[start : start + _length(arguments, 2)]


def _formatted(arguments: Sequence[Argument]) -> Value:
    value = single(arguments[0])
    if isinstance(value, ErrorValue):
        return value
    return shown(0.0 if value is None else value, _text(arguments[1]))


def _date(arguments: Sequence[Argument]) -> Value:
    year, month, day = (int(_number(one)) for one in arguments)
    if not (1900 <= year <= 9999 and abs(month) < 10_000 and abs(day) < 1_000_000):
        raise NoResultError
    years, month = divmod(month - 1, 12)
    return _serial(dt.date(year + years, month + 1, 1) + dt.timedelta(days=day - 1))


def _serial(date: dt.date) -> float:
    days = (date - dt.date(1899, 12, 30)).days
    if days < 61:
        raise NoResultError  # days before 1 March 1900, of which Excel counts one too many
    return float(days)


def _moment(argument: Argument) -> dt.datetime:
    when = moment(_number(argument))
    if when is None:
        raise NoResultError
    return when


def _months_on(arguments: Sequence[Argument], *, is_end: bool) -> Value:
    when = _moment(arguments[0])
    years, month = divmod(when.month - 1 + int(_number(arguments[1])), 12)
    last = calendar.monthrange(when.year + years, month + 1)[1]
    return _serial(dt.date(when.year + years, month + 1, last if is_end else min(when.day, last)))


FUNCTIONS: dict[str, Callable[[Sequence[Argument]], Value]] = {
    "SUM": _of_numbers(math.fsum),
    "AVERAGE": _of_numbers(_average),
    "MIN": _of_numbers(lambda numbers: min(numbers, default=0.0)),
    "MAX": _of_numbers(lambda numbers: max(numbers, default=0.0)),
    "MEDIAN": _of_numbers(lambda numbers: statistics.median(numbers) if numbers else ErrorValue("#NUM!")),
    "PRODUCT": _of_numbers(lambda numbers: math.prod(numbers) if numbers else 0.0),
    "ABS": lambda arguments: abs(_number(arguments[0])),
    "INT": lambda arguments: float(math.floor(_number(arguments[0]))),
    "SIGN": lambda arguments: float(math.copysign(1, number)) if (number := _number(arguments[0])) else 0.0,
    "SQRT": lambda arguments: math.sqrt(n) if (n := _number(arguments[0])) >= 0 else ErrorValue("#NUM!"),
    "PI": lambda _arguments: math.pi,
    "MOD": _mod,
    "COUNT": _count,
    "COUNTA": _count_all,
    "ROUND": _rounded(lambda number: math.floor(number + 0.5)),
    "ROUNDUP": _rounded(math.ceil),
    "ROUNDDOWN": _rounded(math.floor),
    "TRUNC": _rounded(math.floor),
    "LARGE": lambda arguments: _ranked(arguments, is_largest=True),
    "SMALL": lambda arguments: _ranked(arguments, is_largest=False),
    "SUMPRODUCT": _products,
    "SUBTOTAL": _subtotal,
    "IF": _if,
    "IFS": _ifs,
    "IFERROR": _if_error,
    "IFNA": _if_missing,
    "AND": _all_or_any(all),
    "OR": _all_or_any(any),
    "NOT": lambda arguments: not _truth(arguments[0]),
    "TRUE": lambda _arguments: True,
    "FALSE": lambda _arguments: False,
    "SUMIF": _of_those(math.fsum),
    "AVERAGEIF": _of_those(_average),
    "COUNTIF": lambda arguments: float(sum(1 for _place in _met(arguments))),
    "SUMIFS": _of_those_all(math.fsum),
    "AVERAGEIFS": _of_those_all(_average),
    "MINIFS": _of_those_all(lambda numbers: min(numbers, default=0.0)),
    "MAXIFS": _of_those_all(lambda numbers: max(numbers, default=0.0)),
    "COUNTIFS": lambda arguments: float(sum(1 for _place in _met(arguments))),
    "VLOOKUP": lambda arguments: _looked_up(arguments, is_down=True),
    "HLOOKUP": lambda arguments: _looked_up(arguments, is_down=False),
    "XLOOKUP": _found,
    "MATCH": _match,
    "INDEX": _index,
    "CONCATENATE": _joined,
    "CONCAT": _joined,
    "LEN": lambda arguments: float(len(_text(arguments[0]))),
    "UPPER": lambda arguments: _text(arguments[0]).upper(),
    "LOWER": lambda arguments: _text(arguments[0]).lower(),
    "TRIM": lambda arguments: " ".join(filter(None, _text(arguments[0]).split(" "))),
    "LEFT": lambda arguments: _text(arguments[0])[: _length(arguments, 1)],
    "RIGHT": _right,
    "MID": _middle,
    "TEXT": _formatted,
    "VALUE": lambda arguments: _number(arguments[0]),
    "HYPERLINK": lambda arguments: single(arguments[-1]),
    "DATE": _date,
    "YEAR": lambda arguments: float(_moment(arguments[0]).year),
    "MONTH": lambda arguments: float(_moment(arguments[0]).month),
    "DAY": lambda arguments: float(_moment(arguments[0]).day),
    "EDATE": lambda arguments: _months_on(arguments, is_end=False),
    "EOMONTH": lambda arguments: _months_on(arguments, is_end=True),
}  # fmt: skip
OF_DATES = frozenset(("DATE", "YEAR", "MONTH", "DAY", "EDATE", "EOMONTH", "TEXT"))
"""The functions whose results depend on the day from which a workbook counts."""


def called(name: str, arguments: Sequence[Argument]) -> Value:
    """Return the result of a function. Raises `NoResultError` for one that is not known or not certain."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise NoResultError
    try:
        return function(arguments)
    except _Error as error:
        return error.value
    except (IndexError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise NoResultError from error
