"""Values of cells: what a shown text is, and the type of a column by what most of its cells are."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import Literal

from docmind.language import MONTH_OF_YEAR, NOTE_MARK, fold, month_of, named_days
from docmind.tables.wordlists import NO, NOTHING, YES

ColumnType = Literal["text", "number", "date", "duration", "bool", "empty"]
Sql = float | str | None
"""What a cell is in a query: a number (of a duration, minutes), a text, a date as YYYY-MM-DD, or nothing."""

LONGEST = 200  # characters of a cell that are read as a value
_MOST = 0.6  # of the cells that are not empty: what makes the type of a column
_IDENTIFIER = re.compile(r"0\d+|\+\d[\d ]{5}.*")  # a leading zero and a telephone number are no quantity
_SPACES = "\u00a0\u202f\u2009 "
_NUMBER = re.compile(
    rf"(?P<open>\()?(?P<sign>[-−+–]?)\s?(?P<before>[€$£¥₹]|[A-Z]{{3}}|R\$|US\$)?\s?(?P<sign2>[-−]?)"
    rf"(?P<digits>\d[\d.,'’{_SPACES}]*)\s?(?P<unit>%|[€$£¥₹]|[^\W\d_]{{1,12}}[²³]?(?:/[^\W\d_]{{1,6}}[²³]?)?|°[CF]?)?"
    r"(?(open)\))",
)
_DIGIT = re.compile(r"\d")
_MARKS = re.compile(r"(?<=\d)[.,](?=\d)")
_TAIL = re.compile(r"([.,])(\d+)\D*$")
_GROUPED = re.compile(rf"\d{{1,3}}(?:[.,'’{_SPACES}]\d{{3}})+")
_ISO = re.compile(
    r"(\d{4})([-/])(\d{1,2})(?:\2(\d{1,2}))?(?:[T ]\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
)
_PARTS = re.compile(r"(\d{1,2})[./-](\d{1,2})[./-](\d{4})(?:\s+\d{1,2}:\d\d(?::\d\d)?)?")
_CODED = re.compile(
    r"\b(?:invoice|order|ticket|case|job|ref|reference|number|no|nr|rechnung|bestellung|auftrag|factura|pedido|fatura|"
    r"encomenda|facture|commande)\b"
)
_CLOCK = re.compile(r"(\d{1,5}):([0-5]\d)(?::([0-5]\d))?")
_SPOKEN = re.compile(r"(?:(\d{1,4})\s?(?:h|hours?|hrs?|std)\.?)?\s?(?:(\d{1,4})\s?(?:min|mins|minutes?|m)\.?)?")


@dataclass(frozen=True, slots=True)
class Column:
    """A typed column.

    `is_day_first` tells how its dates are read, `is_unsure` that nothing in it tells that. `wrong` counts cells of
    another type, `unit` is the unit or currency of its numbers, `places` their most decimals.
    """

    name: str
    type: ColumnType = "text"
    unit: str = ""
    wrong: int = 0
    filled: int = 0
    places: int = 0
    is_day_first: bool = True
    is_unsure: bool = False


def typed(name: str, cells: Sequence[str], *, is_english: bool) -> tuple[Column, list[Sql]]:
    """Return a column and its cells as values: those of another type than the column have none.

    A text column keeps every cell. `is_english` decides what `1,234` and `03/04/2025` are where no cell tells.
    """
    plain = {cell: _plain(cell) for cell in set(cells)}
    shown = [plain[cell] for cell in cells]
    counts = Counter(filter(None, shown))  # cells repeat, and each text is read once
    total = counts.total()
    if not total:
        return Column(name, "empty"), [None] * len(cells)
    most_wrong = total - math.ceil(_MOST * total)
    kinds: list[tuple[ColumnType, Callable[[str], Sql]]] = [("bool", _yes_or_no)]
    is_day_first, is_unsure = True, False
    has_digits = sum(n for cell, n in counts.items() if any(map(str.isdigit, cell))) >= total - most_wrong
    if has_digits:
        is_day_first, is_unsure = _order(counts, is_english=is_english)
        kinds += [("date", partial(as_date, is_day_first=is_day_first)), ("duration", _minutes)]
    for kind, read in kinds:
        known, wrong = _read(counts, read, most_wrong)
        if wrong > most_wrong:
            continue
        if (
            kind == "date"
            and _CODED.search(fold(name.lower()))
            and all(len(str(value)) == 7 for value in known.values() if value)
        ):
            continue  # `2025-03` of a column of invoices is a number
        column = Column(
            name, kind, wrong=wrong, filled=total, is_day_first=is_day_first, is_unsure=is_unsure and kind == "date"
        )
        return column, [known.get(cell) for cell in shown]
    if has_digits and (found := _numbers(name, counts, most_wrong, is_english=is_english)) is not None:
        column, known = found
        return replace(column, is_day_first=is_day_first), [known.get(cell) for cell in shown]
    return Column(name, "text", filled=total), [cell or None for cell in shown]


def _read(counts: Mapping[str, int], read: Callable[[str], Sql], most_wrong: int) -> tuple[dict[str, Sql], int]:
    """Return what texts are as values, and how many cells are none; it ends once those are more than `most_wrong`."""
    known: dict[str, Sql] = {}
    wrong = 0
    for cell, count in counts.items():
        known[cell] = value = read(cell)
        wrong += count if value is None else 0
        if wrong > most_wrong:
            break
    return known, wrong


def _numbers(
    name: str, counts: Mapping[str, int], most_wrong: int, *, is_english: bool
) -> tuple[Column, dict[str, Sql]] | None:
    """Return a column of numbers and the number of each text; None where too few of its cells are numbers."""
    comma = _is_comma(counts, is_english=is_english)
    numbers: dict[str, tuple[float, str, int]] = {}
    units = Counter[str]()
    wrong = places = 0
    for cell, count in counts.items():
        number = _number(cell, comma=comma)
        if number is not None:
            numbers[cell] = number
            units[number[1]] += count
            places = max(places, number[2])
        elif (wrong := wrong + count) > most_wrong:
            return None
    unit = max(units, key=lambda one: (units[one], one), default="")
    if len(units) > 1 and all(len(one) == 1 and one.isalpha() for one in units):
        return None  # `1A` and `2B` are codes
    known: dict[str, Sql] = {cell: value for cell, (value, own, _n) in numbers.items() if own in (unit, "") or not unit}
    total = sum(counts.values())
    wrong = total - sum(counts[cell] for cell in known)
    return (Column(name, "number", unit, wrong, total, places), known) if wrong <= most_wrong else None


def as_stored(shown: Sql, raw: float | None, column: Column) -> Sql:
    """Return the number of a cell as it is stored, in the unit of the column; as shown where the two do not agree.

    A percentage is stored as its hundredth, and a format may show thousands or millions.
    """
    if raw is None or not isinstance(shown, float):
        return shown
    half = 0.5 * 10.0**-column.places + 1e-9 * abs(shown)
    fitting = (raw * scale for scale in (1.0, 100.0, 1e-3, 1e-6))
    return next((value for value in fitting if abs(value - shown) <= half), shown)


def _plain(cell: str) -> str:
    line = NOTE_MARK.sub("", " ".join(cell.split())[:LONGEST])
    return "" if fold(line.lower()) in NOTHING else line


def _number(cell: str, *, comma: bool) -> tuple[float, str, int] | None:
    """Return number, unit and decimals of a cell; None where it is no quantity."""
    match = _NUMBER.fullmatch(cell) if len(cell) <= 48 else None
    if match is None or _IDENTIFIER.fullmatch(cell):
        return None
    digits = match["digits"].rstrip(_SPACES)
    mark = "," if comma else "."
    whole, _mark, part = digits.rpartition(mark) if digits.count(mark) == 1 else (digits, "", "")
    whole = whole if _mark else digits
    if not (whole.isdigit() or _GROUPED.fullmatch(whole)) or (part and not part.isdigit()):
        return None
    value = float("".join(filter(str.isdigit, whole)) + "." + (part or "0"))
    is_negative = match["open"] or match["sign"] in ("-", "−", "–") or match["sign2"]
    unit = match["unit"] or match["before"] or ""
    return (-value if is_negative else value), unit, len(part)


def _is_comma(counts: Mapping[str, int], *, is_english: bool) -> bool:
    """Return whether the comma parts the decimals in these cells; each text has the count of its cells."""
    votes = 0
    for cell, count in counts.items():
        if "." not in cell and "," not in cell:
            continue
        marks = _MARKS.findall(cell)
        tail = _TAIL.search(cell)
        if not marks or tail is None or len(set(marks)) == 1 != len(marks):
            votes += count * {",": -1, ".": 1}.get(marks[0] if len(marks) > 1 else "", 0)
        elif len(set(marks)) > 1 or len(tail[2]) != 3 or cell.startswith("0"):
            votes += count if tail[1] == "," else -count
    return votes > 0 or (votes == 0 and not is_english)


def _order(cells: Iterable[str], *, is_english: bool) -> tuple[bool, bool]:
    """Return whether the day comes first in dates such as 3/4/2025, and whether nothing tells that."""
    found = [match for cell in cells if (match := _PARTS.fullmatch(cell))]
    if any(int(match[1]) > 12 for match in found) or any("." in match[0] for match in found):
        return True, False
    if any(int(match[2]) > 12 for match in found):
        return False, False
    return True, bool(found) and is_english


def as_date(cell: str, *, is_day_first: bool = True) -> str | None:
    """Return a date as YYYY-MM-DD, a month as YYYY-MM; None for what is neither."""
    if len(cell) > 40 or not _DIGIT.search(cell):
        return None
    if (match := _ISO.fullmatch(cell)) and (match[2] == "-" or match[4]):  # `2023/24` is no month
        return _made(match[1], match[3], match[4])
    if match := _PARTS.fullmatch(cell):
        return _made(match[3], match[2], match[1]) if is_day_first else _made(match[3], match[1], match[2])
    if match := MONTH_OF_YEAR.fullmatch(cell):
        return _made(match["year"], str(month_of(match["month"])), None)
    return next((one.day for one in named_days(cell) if (one.start, one.end) == (0, len(cell))), None)


def _made(year: str, month: str, day: str | None) -> str | None:
    try:
        made = date(int(year), int(month), int(day or 1)).isoformat()
    except ValueError:
        return None
    return made if day else made[:7]


def _minutes(cell: str) -> float | None:
    if match := _CLOCK.fullmatch(cell):
        return int(match[1]) * 60 + int(match[2]) + int(match[3] or 0) / 60
    match = _SPOKEN.fullmatch(cell.lower()) if len(cell) <= 20 else None
    if match is None or not (match[1] or match[2]) or not (match[1] or "min" in cell.lower()):
        return None
    return int(match[1] or 0) * 60.0 + int(match[2] or 0)


def _yes_or_no(cell: str) -> float | None:
    said = fold(cell.lower())
    return 1.0 if said in YES else 0.0 if said in NO else None


def is_year(value: float) -> bool:
    """Return whether a number may be a year."""
    return value == int(value) and 1500 <= value <= 2200
