"""Number formats of workbooks: the text that a cell shows for its value.

A format code has up to four sections, for positive numbers, negative numbers, zero and text; a condition such as
`[>=100]` may take the place of the sign. Numbers are shown with a decimal point and thousands commas, and months in
English unless the code names another language. Two things differ from Excel on purpose, because a text has no column
that is too narrow: a large number in the General format keeps its digits, and what Excel fills with ##### is shown.
The formats that follow the date order of the computer (ids 14 and 22) are shown year first.

It is one module of more than 500 lines because parsing and showing share the kinds of tokens.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from docmind.blocks import CellType

GENERAL = "General"

BUILT_IN = {
    0: GENERAL, 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: '"$"#,##0_);("$"#,##0)',
    6: '"$"#,##0_);[Red]("$"#,##0)', 7: '"$"#,##0.00_);("$"#,##0.00)', 8: '"$"#,##0.00_);[Red]("$"#,##0.00)',
    9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm",
    17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm",
    37: "#,##0 ;(#,##0)", 38: "#,##0 ;[Red](#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;[Red](#,##0.00)",
    41: '_(* #,##0_);_(* \\(#,##0\\);_(* "-"_);_(@_)', 42: '_("$"* #,##0_);_("$"* \\(#,##0\\);_("$"* "-"_);_(@_)',
    43: '_(* #,##0.00_);_(* \\(#,##0.00\\);_(* "-"??_);_(@_)',
    44: '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)',
    45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@",
    **dict.fromkeys((*range(27, 32), 36, *range(50, 55), 57, 58), "yyyy-mm-dd"),
    **dict.fromkeys((32, 33, 34, 35, 55, 56), "h:mm:ss"),
}  # fmt: skip
"""The codes of the formats that a workbook uses without naming them, by id."""

_LAST_DAY = 2_958_466  # the first serial number after 31 December 9999
_LONGEST = 255  # characters of a format code in Excel; a longer one is not parsed
_EXACT = Context(prec=400)
_CODE_MAX = 1_000

_PIECE = re.compile(
    r'"([^"]*)"?|\\(.)|_(.)|\*(.)|\[([^\]]*)\]|(general)|(am/pm|a/p)|(e[+-])', re.IGNORECASE | re.DOTALL
)
_DATE_PIECE = re.compile(r"y+|m+|d+|h+|s+|e+|g+|b+|\.0+", re.IGNORECASE)
_ELAPSED = re.compile(r"h+|m+|s+", re.IGNORECASE)
_CONDITION = re.compile(r"\s*(<=|>=|<>|<|>|=)\s*(-?[\d.]+(?:E[+-]?\d+)?)\s*", re.IGNORECASE)
_PLAIN_NUMBER = re.compile(r"(\0*)((?:#[#,]*)?0+)(\.0+)?(\0*)")
_CURRENCY = re.compile(r"[$€£¥₹₽₩₺₴₫₱₪฿₦]|\b(?:kr|zł|Kč|Ft|lei|Fr|R\$|[A-Z]{3})\b")

_ENGLISH = (
    "January February March April May June July August September October November December",
    "Sunday Monday Tuesday Wednesday Thursday Friday Saturday",
)
_NAMES = {
    0x07: (
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "Sonntag Montag Dienstag Mittwoch Donnerstag Freitag Samstag",
    ),
    0x0A: (
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "domingo lunes martes miércoles jueves viernes sábado",
    ),
    0x0C: (
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "dimanche lundi mardi mercredi jeudi vendredi samedi",
    ),
    0x10: (
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "domenica lunedì martedì mercoledì giovedì venerdì sabato",
    ),
    0x13: (
        "januari februari maart april mei juni juli augustus september oktober november december",
        "zondag maandag dinsdag woensdag donderdag vrijdag zaterdag",
    ),
    0x16: (
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "domingo segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado",
    ),
}
"""Months and days by the language of a locale id, its lowest ten bits."""

Kind = Literal[
    "text", "digit", "point", "comma", "exponent", "slash", "percent", "general", "at", "date", "elapsed", "half"
]
Token = tuple[Kind, str]


@dataclass(frozen=True, slots=True)
class _Section:
    tokens: tuple[Token, ...]
    kind: Literal["empty", "text", "general", "date", "number", "fraction", "exponent"]
    condition: tuple[str, float] | None
    language: int
    percents: int
    plain: tuple[str, str, int, int, str] | None
    """Of most numbers: what stands before and behind, the least digits and decimals, and a comma for groups."""

    def holds(self, value: float) -> bool:
        if self.condition is None:
            return True
        sign, limit = self.condition
        return {
            "<": value < limit, "<=": value <= limit, ">": value > limit, ">=": value >= limit,
            "=": value == limit, "<>": value != limit,
        }[sign]  # fmt: skip

    @property
    def is_negative_only(self) -> bool:
        if self.condition is None:
            return False
        sign, limit = self.condition
        return (sign == "<" and limit <= 0) or (sign in ("<=", "=") and limit < 0)


@dataclass(frozen=True, slots=True)
class Format:
    """A format code, parsed. `type` is what its numbers are."""

    sections: tuple[_Section, ...]
    text: _Section | None
    type: CellType


@lru_cache(maxsize=4_096)
def parsed(code: str) -> Format:
    """Return a format code, parsed; one that nobody could have written in Excel counts as General."""
    if not code or len(code) > _CODE_MAX:
        code = GENERAL
    sections = [_section(raw) for raw in _split(code)][:4]
    text = None
    if len(sections) == 4 or sections[-1].kind == "text":
        text = sections.pop()
    return Format(tuple(sections), text, _type_of(sections[0]) if sections else "number")


def shown(value: float | str | bool, code: str, *, is_1904: bool = False) -> str:
    """Return what a cell of this value and format shows. Runs of spaces are one space, none at the ends."""
    form = parsed(code)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return value if form.text is None else "".join(value if t == "at" else lit for t, lit in form.text.tokens)
    if not math.isfinite(value):
        return str(value)
    return " ".join(_number(value, form, is_1904=is_1904).split())


def moment(value: float, *, is_1904: bool = False) -> dt.datetime | None:
    """Return the date and time of a serial number; None before 1 March 1900 and after 9999."""
    if not 0 <= value + 1_462 * is_1904 < _LAST_DAY or (value < 61 and not is_1904):
        return None
    start = dt.datetime.fromisoformat("1904-01-01" if is_1904 else "1899-12-30")
    try:
        return start + dt.timedelta(seconds=round(value * 86_400))
    except OverflowError:
        return None


def _number(value: float, form: Format, *, is_1904: bool) -> str:
    section, is_signed = _chosen(value, form.sections)
    if section is None or (section.kind == "general" and len(section.tokens) == 1):
        return general(value)
    if section.kind == "date":
        return _date(value, section, is_1904=is_1904)
    sign = "-" if value < 0 and is_signed else ""
    size = abs(value)
    if section.kind in ("empty", "text"):
        return sign * (section.kind == "empty") + _literal(section.tokens)
    if section.kind == "general":
        return sign + "".join(general(size) if kind == "general" else lit for kind, lit in section.tokens)
    exact = Decimal(f"{size:.15g}")
    if section.percents:
        exact = exact.scaleb(2 * section.percents, _EXACT)
    if section.plain is not None:
        before, behind, least, decimals, comma = section.plain
        digits = f"{_rounded(exact, decimals):{comma}f}"
        wide = least + (decimals + 1 if decimals else 0)
        return f"{sign}{before}{digits.rjust(wide, '0')}{behind}"
    how = {"number": _fixed, "fraction": _fraction, "exponent": _scientific}[section.kind]
    return sign + how(exact, section.tokens)


def _chosen(value: float, sections: Sequence[_Section]) -> tuple[_Section | None, bool]:
    """Return the section for a number, None for General, and whether a minus sign is put before it."""
    if not sections:
        return None, True
    first = sections[0]
    if first.condition is None and (len(sections) < 2 or sections[1].condition is None):
        if len(sections) == 1 or value > 0 or (value == 0 and len(sections) == 2):
            return first, True
        return (sections[1], False) if value < 0 else (sections[2], True)
    if first.condition is None:  # only the second has one: the first is for what is positive
        order = [sections[1], first, *sections[2:]] if value <= 0 else list(sections)
    else:
        order = list(sections)
    for number, section in enumerate(order):
        if section.holds(value):
            rest = number and section.condition is None and first.condition in ((">", 0.0), (">=", 0.0))
            return section, not (section.is_negative_only or rest)
    return None, True


def general(value: float) -> str:
    """Return a number in the General format: eleven characters, but all digits of a large number or of an amount."""
    if value != value or value in (math.inf, -math.inf):
        return str(value)
    size, sign = abs(value), "-" if value < 0 else ""
    if size < 1e15 and size == int(size):
        return f"{sign if size else ''}{int(size)}"
    exact = Decimal(f"{size:.15g}")
    if size >= 1e21 or size < 1e-9:
        return sign + _short_exponent(exact)
    plain = _trimmed(f"{exact:f}")
    decimals = len(plain.partition(".")[2])
    if decimals <= 2 or len(plain) <= 11:
        return sign + plain
    whole = len(plain.partition(".")[0])
    if size < 1e-4:
        return sign + _short_exponent(exact)
    return sign + _trimmed(f"{_rounded(exact, max(0, 10 - whole)):f}")


def _short_exponent(exact: Decimal) -> str:
    mantissa, _e, exponent = f"{_EXACT.create_decimal(exact):.5E}".partition("E")
    power = int(exponent)
    return f"{_trimmed(mantissa)}E{'-' if power < 0 else '+'}{abs(power):02d}"


def _trimmed(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _rounded(exact: Decimal, places: int) -> Decimal:
    return exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _EXACT)


# Parsing


def _split(code: str) -> list[str]:
    """Return the sections of a code, apart at semicolons outside of literals."""
    parts, start, at = [], 0, 0
    while at < len(code):
        if code[at] == ";":
            parts.append(code[start:at])
            start = at = at + 1
            continue
        found = _PIECE.match(code, at)
        at = found.end() if found and found.end() > at else at + 1
    return [*parts, code[start:]]


def _section(raw: str) -> _Section:
    condition: tuple[str, float] | None = None
    language = 0
    tokens = list[Token]()
    is_date = _is_date(raw)
    at = 0
    while at < len(raw):
        found = _PIECE.match(raw, at)
        if found is None:
            run = _DATE_PIECE.match(raw, at) if is_date else None
            piece = run.group() if run else raw[at]
            tokens.append(("date", piece.lower()) if run else _plain(piece))
            at += len(piece)
            continue
        at = found.end()
        quoted, escaped, space, fill, bracket, is_general, half, exponent = found.groups()
        if bracket is not None:
            limit = _CONDITION.fullmatch(bracket)
            if limit:
                condition = limit.group(1), _limit(limit.group(2))
            elif _ELAPSED.fullmatch(bracket):
                tokens.append(("elapsed", bracket.lower()))
            elif bracket.startswith("$"):
                symbol, _dash, locale = bracket[1:].partition("-")
                if symbol:
                    tokens.append(("text", symbol))
                language = int(locale[-4:], 16) & 0x3FF if re.fullmatch(r"[0-9A-Fa-f]{3,8}", locale) else language
        elif exponent is not None and not is_date:
            tokens.append(("exponent", exponent[1]))
        elif is_general:
            tokens.append(("general", ""))
        elif half is not None:
            tokens.append(("half", half))
        elif space is not None:
            tokens.append(("text", " "))
        elif fill is None:
            tokens.append(("text", quoted if quoted is not None else escaped or found.group()))
    kind = _kind_of(tokens, is_date=is_date)
    percents = sum(of == "percent" for of, _text in tokens)
    return _Section(tuple(tokens), kind, condition, language, percents, _plain_of(tokens) if kind == "number" else None)


def _plain_of(tokens: Sequence[Token]) -> tuple[str, str, int, int, str] | None:
    """Return the parts of a format whose digits stand together and need no filling but zeros."""
    marks = "".join(text if kind in ("digit", "point", "comma") else "\0" * len(text) for kind, text in tokens)
    said = "".join(text for _kind, text in tokens)
    found = _PLAIN_NUMBER.fullmatch(marks)
    if found is None:
        return None
    whole, decimals = found.group(2), found.group(3) or ""
    least = whole.count("0")
    if "," in whole and least > 1:
        return None
    return said[: found.end(1)], said[len(said) - len(found.group(4)) :], least, len(decimals[1:]), "," * ("," in whole)


def _limit(raw: str) -> float:
    try:
        return float(raw)
    except ValueError:  # such as 1.2.3
        return 0.0


def _plain(char: str) -> Token:
    kinds: dict[str, Kind] = {".": "point", ",": "comma", "/": "slash", "@": "at", "%": "percent"}
    return ("digit" if char in "0#?" else kinds.get(char, "text")), char


def _is_date(raw: str) -> bool:
    bare = _PIECE.sub(lambda found: "s" if _ELAPSED.fullmatch(found.group(5) or "") or found.group(7) else "", raw)
    return bool(re.search(r"[ymdhseb]", bare, re.IGNORECASE)) and not re.search(r"[#?]", bare)


def _kind_of(
    tokens: Sequence[Token], *, is_date: bool
) -> Literal["empty", "text", "general", "date", "number", "fraction", "exponent"]:
    kinds = [kind for kind, _text in tokens]
    if is_date:
        return "date"
    if "at" in kinds:
        return "text"
    if "general" in kinds:
        return "general"
    if "digit" not in kinds:
        return "empty"
    if "exponent" in kinds:
        return "exponent"
    slash = kinds.index("slash") if "slash" in kinds else 0
    if slash and kinds[slash - 1] == "digit":
        after = tokens[slash + 1] if slash + 1 < len(tokens) else ("text", "")
        return "fraction" if after[0] == "digit" or after[1].isdigit() else "number"
    return "number"


def _type_of(section: _Section) -> CellType:
    kinds = {kind for kind, _text in section.tokens}
    if section.kind == "date":
        if "elapsed" in kinds:
            return "duration"
        letters = "".join(text for kind, text in section.tokens if kind == "date")
        is_day = re.search(r"[yd]|mmm", letters) or ("m" in letters and not re.search(r"[hs]", letters))
        return "date" if is_day else "time"
    if section.kind in ("empty", "text"):
        return "number"
    if section.percents:
        return "percent"
    literal = "".join(text if kind == "text" else " " for kind, text in section.tokens)
    return "amount" if _CURRENCY.search(literal) else "number"


def _literal(tokens: Iterable[Token]) -> str:
    return "".join(text for kind, text in tokens if kind in ("text", "percent"))


# Numbers


def _fixed(exact: Decimal, tokens: Sequence[Token]) -> str:
    """Return a number with its digits put at their places, among the literals."""
    kinds = [kind for kind, _text in tokens]
    digits = [at for at, kind in enumerate(kinds) if kind == "digit"]
    point = kinds.index("point") if "point" in kinds else len(tokens)
    before = [at for at in digits if at < point]
    after = [at for at in digits if at > point]
    last = max(digits)
    scaling, at = 0, last + 1
    while at < len(tokens) and kinds[at] in ("comma", "point"):
        scaling += kinds[at] == "comma"
        at += 1
    if before and before[-1] < last:  # also "0,.0"
        scaling += sum(kind == "comma" for kind in kinds[before[-1] + 1 : point])
    groups = bool(before) and any(kind == "comma" for kind in kinds[before[0] : before[-1]])
    number = _rounded(exact.scaleb(-3 * scaling, _EXACT), len(after))
    whole, _dot, part = f"{number:f}".partition(".")
    whole = "" if whole == "0" else whole
    places = _integer_places(whole, [tokens[at][1] for at in before], groups=groups)
    filled = dict(zip(before, places, strict=True))
    filled |= dict(zip(after, _decimal_places(part, [tokens[at][1] for at in after]), strict=True))
    out = []
    for at, (kind, text) in enumerate(tokens):
        if kind == "digit":
            out.append(filled[at])
        elif kind == "point" and at == point:
            out.append(("" if before else whole) + ".")
        elif kind != "comma" or (digits[0] > at):
            out.append(text)
    return "".join(out)


def _integer_places(whole: str, marks: Sequence[str], *, groups: bool) -> list[str]:
    """Return what stands at each place for a digit before the point; the first takes all that are too many."""
    if not marks:
        return []
    room = len(marks)
    spill = len(whole) - room + 1
    digits = list(whole.rjust(room)) if spill < 1 else [whole[:spill], *whole[spill:]]
    pads = {"0": "0", "?": " ", "#": ""}
    shown_digits = [pads[mark] if digit == " " else digit for digit, mark in zip(digits, marks, strict=True)]
    if not groups:
        return shown_digits
    out = []
    right = sum(len(text) for text in shown_digits)
    for text in shown_digits:
        grouped = ""
        for char in text:
            right -= 1
            grouped += char + ("," if right and right % 3 == 0 and char != " " else "")
        out.append(grouped)
    return out


def _decimal_places(part: str, marks: Sequence[str]) -> list[str]:
    keep = len(part.rstrip("0"))
    pads = {"0": "0", "?": " ", "#": ""}
    return [digit if at < keep else pads[mark] for at, (digit, mark) in enumerate(zip(part, marks, strict=True))]


def _scientific(exact: Decimal, tokens: Sequence[Token]) -> str:
    mark = next(at for at, (kind, _text) in enumerate(tokens) if kind == "exponent")
    mantissa, rest = list(tokens[:mark]), tokens[mark + 1 :]
    point = next((at for at, (kind, _text) in enumerate(mantissa) if kind == "point"), len(mantissa))
    whole = max(1, sum(kind == "digit" for kind, _text in mantissa[:point]))
    places = sum(kind == "digit" for kind, _text in mantissa[point:])
    power = 0
    if exact:
        power = exact.adjusted() - exact.adjusted() % whole
        if _rounded(exact.scaleb(-power, _EXACT), places).adjusted() >= whole:
            power += whole
    if not any(kind == "digit" for kind, _text in mantissa):
        mantissa.append(("digit", "0"))
    digits = [text for kind, text in rest if kind == "digit"]
    shown_power = "".join(_integer_places(str(abs(power)) if power else "", digits, groups=False)) or str(abs(power))
    sign = "-" if power < 0 else "+" if tokens[mark][1] == "+" else ""
    suffix = _literal(rest)
    return f"{_fixed(exact.scaleb(-power, _EXACT), mantissa)}E{sign}{shown_power}{suffix}"


def _fraction(exact: Decimal, tokens: Sequence[Token]) -> str:
    slash = next(at for at, (kind, _text) in enumerate(tokens) if kind == "slash")
    top = slash
    while top and tokens[top - 1][0] == "digit":
        top -= 1
    end = slash + 1
    while end < len(tokens) and (tokens[end][0] == "digit" or tokens[end][1].isdigit()):
        end += 1
    below = "".join(text for _kind, text in tokens[slash + 1 : end])
    has_whole = any(kind == "digit" for kind, _text in tokens[:top])
    whole = int(exact.to_integral_value(ROUND_DOWN)) if has_whole else 0
    fixed = int(below) if below.isdigit() and int(below) else 0  # "?/8"; zeros alone are places
    if fixed:
        over, under = int((Fraction(exact) - whole) * fixed + Fraction(1, 2)), fixed
    else:
        over, under = _convergent(float(exact), 10 ** min(len(below), 7) - 1)
        over -= whole * under
    if has_whole and over == under:
        whole, over = whole + 1, 0
    before = _literal(tokens[:top])
    behind = _literal(tokens[end:])
    if not has_whole:
        return f"{before}{over}/{under}{behind}"
    literal = next((at for at, (kind, _text) in enumerate(tokens[:top]) if kind == "digit"), 0)
    lead = _literal(tokens[:literal])
    said = [str(whole)] if whole or not over or any(text == "0" for _k, text in tokens[literal:top]) else []
    said += [f"{over}/{under}"] if over else []
    return f"{lead}{' '.join(said)}{behind}"


def _convergent(value: float, most: int) -> tuple[int, int]:
    """Return the last convergent of the continued fraction whose denominator is at most `most`, as Excel does.

    A fraction that is nearer may exist: 12.3 with one digit is 12 1/3, not 12 2/7.
    """
    over, under, over_before, under_before = 1, 0, 0, 1
    rest = value
    while True:
        whole = math.floor(rest)
        next_over, next_under = whole * over + over_before, whole * under + under_before
        if next_under > most:
            return over, under
        over, under, over_before, under_before = next_over, next_under, over, under
        if rest - whole < 5e-8 or under >= most:
            return over, under
        rest = 1 / (rest - whole)


# Dates and times


def _date(value: float, section: _Section, *, is_1904: bool) -> str:
    elapsed = any(kind == "elapsed" for kind, _text in section.tokens)
    if (value < 0 and not elapsed) or abs(value) >= _LAST_DAY:
        return general(value)
    places = max((len(text) - 1 for kind, text in section.tokens if kind == "date" and text[0] == "."), default=0)
    unit = 10 ** min(places, 9)
    ticks = int((Decimal(f"{abs(value):.15g}") * 86_400 * unit).to_integral_value(ROUND_HALF_UP))
    total, part = divmod(ticks, unit)
    day, second = divmod(total, 86_400)
    clock = _Clock(*_calendar(day, is_1904=is_1904), total, second, str(part).rjust(places, "0"))
    half = any(kind == "half" for kind, _text in section.tokens)
    names = [name.split() for name in _NAMES.get(section.language, _ENGLISH)]
    out = list[str](["-"] if value < 0 else [])
    for at, (kind, text) in enumerate(section.tokens):
        if kind == "date":
            is_minute = text in ("m", "mm") and _is_minute(section.tokens, at)
            out.append(clock.shown("n" * len(text) if is_minute else text, names, half=half))
        elif kind == "elapsed":
            size = {"h": total // 3_600, "m": total // 60, "s": total}[text[0]]
            out.append(str(size).rjust(len(text), "0"))
        elif kind == "half":
            half_day = "PM" if second >= 43_200 else "AM"
            out.append(half_day if len(text) > 3 else half_day[0] if text[0] == "A" else half_day[0].lower())
        else:
            out.append(text)
    return "".join(out)


def _is_minute(tokens: Sequence[Token], at: int) -> bool:
    """Return whether an m is minutes: after hours or before seconds."""
    letters = [(number, text[0]) for number, (kind, text) in enumerate(tokens) if kind in ("date", "elapsed")]
    letters = [(number, letter) for number, letter in letters if letter != "."]
    place = next(place for place, (number, _letter) in enumerate(letters) if number == at)
    before = letters[place - 1][1] if place else ""
    behind = letters[place + 1][1] if place + 1 < len(letters) else ""
    return before == "h" or behind == "s"


def _calendar(day: int, *, is_1904: bool) -> tuple[int, int, int, int]:
    """Return year, month, day and day of the week from Sunday; Excel counts 29 February 1900, which never was."""
    week = (day + 5) % 7 if is_1904 else (day + 6) % 7
    if not is_1904 and day in (0, 60):
        return (1900, 1, 0, week) if day == 0 else (1900, 2, 29, week)
    start = dt.date(1904, 1, 1) if is_1904 else dt.date(1899, 12, 31 if day < 60 else 30)
    try:
        found = start + dt.timedelta(days=day)
    except OverflowError:  # a long duration has no day
        return 9999, 12, 31, week
    return found.year, found.month, found.day, week


@dataclass(frozen=True, slots=True)
class _Clock:
    year: int
    month: int
    day: int
    week: int
    total: int
    second: int
    part: str

    def shown(self, text: str, names: list[list[str]], *, half: bool) -> str:
        """Return what one run of letters shows; "n" stands for minutes."""
        letter, size = text[0], len(text)
        if letter == ".":
            return f".{self.part}"
        if letter in "ye":
            return f"{self.year % 100:02d}" if letter == "y" and size <= 2 else f"{self.year:04d}"
        if letter == "b":
            return f"{self.year + 543}"[-2 if size <= 2 else 0 :]
        if letter == "g":
            return ""
        if letter in "md" and size > 2:
            name = names[0][self.month - 1] if letter == "m" else names[1][self.week]
            return name[0] if size == 5 else name if size > 3 else name[:3]
        hour = self.second // 3_600
        number = {
            "m": self.month, "d": self.day, "h": (hour + 11) % 12 + 1 if half else hour,
            "n": self.second // 60 % 60, "s": self.second % 60,
        }[letter]  # fmt: skip
        return f"{number:02d}" if size > 1 else str(number)
