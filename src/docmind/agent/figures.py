"""The numbers of a text as values that can be compared, however they are written.

`1,234.5` and `1.234,5`, `$3.2 billion` and `3,200 million`, `twelve` and `12`, `20%` and `twenty percent`, `(1,234)`,
`5º`, `March` and the 03 of `15/03/2022`: in English, Portuguese and Spanish.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from docmind.agent.numerals import MONTHS, ORDINALS, SCALES, SMALL, numeral
from docmind.embed.bm25 import fold

Value = float | str
"""A number, or the digits themselves where they are more than a number holds."""

_EXACT = 15  # digits; longer ones are compared as they stand
_DIGITS = re.compile(r"\d+(?:[.,'’\u00a0\u202f\u2009]\d+)*")
_SEPARATOR = re.compile(r"\D")
_BEFORE = re.compile(r"(US\$|R\$|[$€£¥])\s?\(?$")
_MINUS = re.compile(r"(?:^|\(|[^\d\s)%]\s)[-−–](?:US\$|R\$|[$€£¥])?$")
_DATED_BEFORE, _DATED_AFTER = re.compile(r"\d[/-]$"), re.compile(r"[/-]\d")
_OPEN = re.compile(r"\(\s?(?:US\$|R\$|[$€£¥])?\s?$")
_CLOSE = re.compile(r"\s?%?\s?\)")
_SCALE = re.compile(r"[\s\u00a0-]{0,2}(mil (?:millones|milhoes)|[a-z]+)\b")
_LETTER_SCALE = re.compile(r"\s?(K|M|B|k|bn|mn|BN|MN)\b")
_PERCENT = re.compile(
    r"\s{0,2}(?:%|-?per ?cent\b|percentage points?\b|pontos? percentua|puntos? porcentual|por ci?ento\b)"
)
_AFTER = re.compile(
    r"(?:\s?\(\s?[\w ]{1,30}\s?\))?[\s\u00a0-]{0,2}\)?\s?"
    r"(?:(?:calendar|business|working|consecutive|fiscal|full|additional|more)\s+)?([a-z]+)"
)
_UNITS = {
    "day": "day days dia dias",
    "week": "week weeks semana semanas",
    "month": "month months mes meses",
    "year": "year years ano anos",
    "hour": "hour hours hora horas",
    "minute": "minute minutes minuto minutos",
    "$": "dollar dollars dolar dolares",
    "€": "euro euros",
    "R$": "real reais",
    "km": "km kilometer kilometers kilometre kilometres quilometro quilometros kilometro kilometros",
    "kg": "kg kilogram kilograms quilo quilos kilo kilos",
    "°": "degree degrees grau graus grado grados",
}
_UNIT_OF = {word: unit for unit, words in _UNITS.items() for word in words.split()}
UNIT_WORDS = frozenset({*_UNIT_OF, *SCALES, *MONTHS, "percent", "cent", "cento", "ciento"}) - {"mar", "dec", "real"}
"""Words that belong to a number: it is compared with them."""
_SIGNS = {"US$": "$", "$": "$", "R$": "R$", "€": "€", "£": "£", "¥": "¥"}
_WORD = re.compile(r"[^\W\d_]+")
_HEDGE = re.compile(
    r"(?:about|around|approximately|roughly|nearly|almost|over|~|≈|some|cerca de|aproximadamente|quase|casi|"
    r"alrededor de|unos|unas|more than|mais de|mas de)\s+(?:US\$|R\$|[$€£¥])?\s?$"
)
_TABLE_SCALE = re.compile(r"\b(?:in|em|en|r\$)\s+(?:us\$\s+|r\$\s+|\$\s*)?(?:[a-z]+ of )?([a-z]+)\b")


@dataclass(frozen=True, slots=True)
class Figure:
    """One number: `values` are its possible readings (`1.234` may be 1234), `step` is one unit of its last digit.

    `is_scaled`: a word such as million belongs to it. `may_round`: as written, it may stand for a more exact number.
    `is_minus`: it has a sign; `is_negative`: a sign or parentheses. `is_year`: four digits alone, 1900 to 2100.
    `is_dated`: it is part of a date such as 15/03/2022.
    """

    start: int
    end: int
    values: frozenset[Value]
    unit: str = ""
    step: float = 0.0
    is_scaled: bool = False
    may_round: bool = False
    is_negative: bool = False
    is_minus: bool = False
    is_year: bool = False
    is_dated: bool = False
    is_month: bool = False
    is_required: bool = True


def figures(text: str, language: str = "") -> list[Figure]:
    """All numbers of a text in reading order. `language` decides words such as `dos` (two, or `of the`)."""
    lowered = _lowered(text)
    found = [figure for match in _DIGITS.finditer(text) for figure in _of_digits(text, lowered, match, language)]
    taken = [(figure.start, figure.end) for figure in found if figure.is_scaled]
    found += [word for word in _of_words(text, lowered, language) if not any(a <= word.start < b for a, b in taken)]
    return sorted(found, key=lambda figure: figure.start)


def table_scales(text: str) -> tuple[float, ...]:
    """What the numbers of a page's tables are counted in, where it says so: `(in millions)` gives 1,000,000."""
    return tuple({SCALES[word] for word in _TABLE_SCALE.findall(_lowered(text)) if word in SCALES})


def agree(claim: Figure, page: Figure, scales: tuple[float, ...] = ()) -> bool:
    """Whether a number of a claim is that number of a page."""
    if (claim.unit and page.unit and claim.unit != page.unit) or (claim.is_minus and not page.is_negative):
        return False
    if claim.is_month != page.is_month and not (claim.is_dated if page.is_month else page.is_dated):
        return False
    if claim.values & page.values:
        return True
    if page.is_month or claim.is_month:
        return False
    for value in page.values:
        if isinstance(value, str):
            continue
        readings = [value] if page.is_scaled or page.unit == "%" else [value, *(value * scale for scale in scales)]
        for wanted in claim.values:
            if isinstance(wanted, str):
                continue
            for reading in readings:
                if abs(wanted - reading) <= 1e-9 * max(1.0, abs(reading)):
                    return True
                if claim.may_round and page.step < claim.step and abs(wanted - reading) <= 0.5 * claim.step:
                    return True
    return False


def _lowered(text: str) -> str:
    """Lower case without accents, every character in its place."""
    lowered = "".join(fold(char)[:1] or " " if not char.isascii() else char for char in text.lower())
    return lowered if len(lowered) == len(text) else "".join(c.lower()[:1] for c in text)


def _of_digits(text: str, lowered: str, match: re.Match[str], language: str) -> Iterator[Figure]:
    start, end = match.span()
    written = match.group()
    head, tail = text[max(0, start - 24) : start], lowered[end : end + 48]
    is_dated = bool(_DATED_BEFORE.search(head) or _DATED_AFTER.match(tail))
    sign = _BEFORE.search(head)
    unit = _SIGNS[sign[1]] if sign else ""
    readings, decimals = _readings(written, language)
    if readings is None:  # a date, a section number, a list: each part by itself
        at = start
        for part in re.split(r"\D", written):
            yield Figure(at, at + len(part), _exactly(part), step=1.0, is_year=_is_year(part), is_dated=True)
            at += len(part) + 1
        return
    scale, scaled_to = 1.0, end
    if (word := _SCALE.match(tail)) and (word[1] in SCALES):
        scale, scaled_to = SCALES[word[1]], end + word.end()
    elif sign and (letter := _LETTER_SCALE.match(text, end)):
        scale, scaled_to = {"k": 1e3, "m": 1e6, "b": 1e9}[letter[1][0].lower()], letter.end()
    if _PERCENT.match(lowered, scaled_to):
        unit = "%"
    elif (after := _AFTER.match(lowered, scaled_to)) and after[1] in _UNIT_OF:
        unit = unit or _UNIT_OF[after[1]]
    if scale != 1.0:
        readings = {round(v * scale, 6) if isinstance(v, float) else v for v in readings}
    if head[-2:].upper() == "FY" and len(written) == 2:
        readings = readings | {2000.0 + float(written)}
    opened = _OPEN.search(head) and _CLOSE.match(tail)
    is_minus = bool(_MINUS.search(head))
    hedged = bool(_HEDGE.search(lowered[max(0, start - 24) : start]))
    several = len(written.strip("0.,")) >= 2
    yield Figure(
        start,
        scaled_to,
        frozenset(readings),
        unit,
        step=scale * 10.0 ** (_zeros(written) if hedged and not decimals else -decimals),
        is_scaled=scale != 1.0,
        may_round=(scale > 1.0 or hedged) and several and len(readings) == 1,
        is_negative=is_minus or bool(opened),
        is_minus=is_minus,
        is_year=_is_year(written) and not unit and scale == 1.0,
        is_dated=is_dated,
    )


def _zeros(written: str) -> int:
    """How many zeros a whole number ends with: `about 17,600` may be 17,606."""
    digits = _SEPARATOR.sub("", written)
    return len(digits) - len(digits.rstrip("0"))


def _is_year(written: str) -> bool:
    return len(written) == 4 and written.isdecimal() and 1900 <= int(written) <= 2100


def _readings(written: str, language: str) -> tuple[set[Value] | None, int]:
    """Possible values and the digits after the decimal mark; None where it is no single number."""
    marks = _SEPARATOR.findall(written)
    digits = _SEPARATOR.sub("", written)
    if len(digits) > _EXACT:
        return {digits}, 0
    if not marks:
        return {float(written)}, 0
    parts = _SEPARATOR.split(written)
    grouped = len(parts[0]) <= 3 and parts[0] != "0" and all(len(part) == 3 for part in parts[1:])
    if len(set(marks)) == 1:
        if len(marks) > 1:
            return ({float(digits)}, 0) if grouped else (None, 0)
        if marks[0] not in ".,":
            return {float(digits)} if grouped else None, 0
        if len(parts[0]) > 3 and len(parts[1]) > 3:
            return None, 0
        decimal = float(f"{parts[0]}.{parts[1]}")
        if not grouped:
            return {decimal}, len(parts[1])
        if (language, marks[0]) in (("en", ","), ("pt", "."), ("es", ".")):
            return {float(digits)}, 0
        return ({decimal}, 3) if (language, marks[0]) in (("en", "."), ("pt", ",")) else ({float(digits), decimal}, 0)
    inner = len(parts[0]) <= 3 and all(len(part) == 3 for part in parts[1:-1])
    if marks[-1] in ".," and len(set(marks[:-1])) == 1 and inner:
        return {float("".join(parts[:-1]) + "." + parts[-1])}, len(parts[-1])
    return None, 0


def _exactly(part: str) -> frozenset[Value]:
    return frozenset({part if len(part) > _EXACT else float(part)})


def _of_words(text: str, lowered: str, language: str) -> Iterator[Figure]:
    words = [(match.group(), *match.span()) for match in _WORD.finditer(lowered)]
    at = 0
    while at < len(words):
        word, start, end = words[at]
        if word in MONTHS and _reads_as_month(text, lowered, word, start, end):
            yield Figure(start, end, frozenset({float(MONTHS[word])}), is_month=True)
        elif word in ORDINALS and not (word == "quarto" and language == "es"):
            yield Figure(start, end, frozenset({float(ORDINALS[word])}), step=1.0)
        elif word in SMALL and not (word in ("cento", "ciento") and at and words[at - 1][0] == "por"):
            value, used = numeral([w for w, *_ in words[at : at + 12]], language)
            if used:
                end = words[at + used - 1][2]
                unit = ""
                if _PERCENT.match(lowered, end):
                    unit = "%"
                elif (after := _AFTER.match(lowered, end)) and after[1] in _UNIT_OF:
                    unit = _UNIT_OF[after[1]]
                yield Figure(
                    start, end, frozenset({value}), unit, step=1.0, is_scaled=value >= 1e6, is_required=value > 1
                )
                at += used
                continue
        at += 1


def _reads_as_month(text: str, lowered: str, word: str, start: int, end: int) -> bool:
    if len(word) > 3 and word not in ("march", "marco", "abril"):
        return True
    near = lowered[max(0, start - 8) : start] + " " + lowered[end : end + 9]
    return any(char.isdigit() for char in near) and (text[start].isupper() or " de " in near)
