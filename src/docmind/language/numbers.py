"""The numbers of a text as values that can be compared, however they are written.

`1,234.5` and `1.234,5`, `$3.2 billion` and `3,200 million`, `twelve` and `12`, `20%` and `twenty percent`, `(1,234)`,
`5º`, `March` and the 03 of `15/03/2022`: in the languages of questions. Numbers in words, such as `twenty-one`,
`cento e vinte`, `doscientos mil` and `siebzehn`, are read from lower case without accents; German compounds above
twenty (`einundzwanzig`) and Italian ones above thirty (`trentadue`) are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from docmind.language.calendar import CAPITAL_MONTHS, MONTHS_IN_PROSE, SHORT_MONTHS
from docmind.language.folding import fold, lowered_alike
from docmind.language.forms import LANGUAGES
from docmind.language.lexicon import table

_TABLE = table("numbers")
_PROSE = ("en", "pt", "es")  # whose words for numbers are read in a text of any language


def _listed(key: str, languages: Iterable[str] = LANGUAGES) -> dict[str, int]:
    """Return the words of some languages in lower case without accents, with their values."""
    pairs = (pair.split(":") for language in languages for pair in _TABLE[language][key].split())
    return {fold(name).replace("_", " "): int(value) for name, value in pairs}


_OTHER = {key: frozenset(words.split()) for key, words in _TABLE["other"].items()}


def _anywhere(key: str) -> dict[str, int]:
    """Return the words of all languages with their values, without those that are other words in other languages."""
    return {word: value for word, value in _listed(key).items() if word not in _OTHER["own"]}


_NUMBERS = {language: _listed("numbers", (language,)) for language in LANGUAGES}
NUMBER_WORDS: Mapping[str, int] = _anywhere("numbers")
"""Words for numbers in all languages, with their values; without those that are other words elsewhere."""
_COMMON = {word: value for word, value in _listed("numbers", _PROSE).items() if word not in _OTHER["numbers"]}
NUMBERS_IN_PROSE = frozenset({*_COMMON, *_NUMBERS["es"], "hundred", "mil", "thousand", "dozen"})
"""Words with which a number begins in a text of any language."""
SCALES: Mapping[str, float] = {word: 10.0**power for word, power in _listed("scales").items()}
"""Words that multiply the number before them, with what they multiply it by."""
ORDINALS: Mapping[str, int] = _anywhere("ordinals")
ORDINALS_IN_PROSE: Mapping[str, int] = {
    word: value
    for word, value in (_listed("ordinals", _PROSE) | _listed("parts", _PROSE)).items()
    if value > 2 and word.isalpha() and word not in _OTHER["ordinals"]
}
"""Ordinals from the third on, and parts, as they are told in English, Portuguese and Spanish."""
_AND = frozenset({"and", "e", "y", "und", "et"})


def number_names(language: str) -> tuple[str, ...]:
    """Return the words for numbers from two on in a language, as they are written."""
    pairs = (pair.split(":") for pair in _TABLE[language]["numbers"].split())
    return tuple(name for name, value in pairs if int(value) > 1)


def numeral(words: Sequence[str], language: str = "") -> tuple[float, int]:
    """Return the number that the first words form, and how many words it takes; (0, 0) where they form none."""
    known = {**_COMMON, **_NUMBERS.get(language, {})}
    total = current = 0.0
    used = at = 0
    last = 1e18  # two adjacent numbers (`five ten`) are not added
    while at < len(words):
        word = words[at]
        if word in known and known[word] < last:
            current += known[word]
            last = _room(known[word])
        elif word == "hundred":
            current, last = max(1.0, current) * 100, 100
        elif word == "dozen":
            current, last = max(1.0, current) * 12, 0
        elif word in SCALES and (current or word in ("mil", "thousand")):
            total, current, last = total + max(1.0, current) * SCALES[word], 0.0, 1e18
        elif word in _AND and used == at and used:
            at += 1
            continue
        else:
            break
        at += 1
        used = at
    return (total + current, used) if used else (0.0, 0)


def _room(value: int) -> int:
    """Return what may still be added: ones after tens, tens after hundreds."""
    return 100 if value >= 100 else 10 if value >= 20 else 0


Value = float | str
"""A number, or its digits as text where a float cannot hold them exactly."""

NOTE_MARK = re.compile(r"(?<=[^\s\[(])\[\d{1,3}\]")
"""The mark of a note as readers write it, `45,000[2]`: it stands at a word, and is no number of the text."""
_EXACT = 15  # digits; longer numbers are compared as text
_DIGITS = re.compile(r"\d+(?:[.,'’\u00a0\u202f\u2009]\d+)*")
_SEPARATOR = re.compile(r"\D")
_CURRENCY = r"(?:US\$|R\$|[$€£¥]|\b(?:EUR|USD|GBP|CHF)\b)"
_BEFORE = re.compile(rf"({_CURRENCY})\s?\(?$")
_MINUS = re.compile(r"(?:^|\(|[^\d\s)%]\s)[-−–](?:US\$|R\$|[$€£¥])?$")
_DATED_BEFORE, _DATED_AFTER = re.compile(r"\d[/-]$"), re.compile(r"[/-]\d")
_OPEN = re.compile(r"\(\s?(?:US\$|R\$|[$€£¥])?\s?$")
_CLOSE = re.compile(r"\s?%?\s?\)")
_SCALE = re.compile(r"[\s\u00a0-]{0,2}(mil (?:millones|milhoes)|[a-z]+)\b")
_SIGN_BEHIND = re.compile(r"[\s\u00a0\u202f]?([€$£])")
_LETTER_SCALE = re.compile(r"\s?(K|M|B|k|bn|mn|BN|MN)\b")
_PERCENT = re.compile(
    r"\s{0,2}(?:%|-?per ?cent\b|percentage points?\b|pontos? percentua|puntos? porcentual|por ci?ento\b|prozent\b|"
    r"pour ?cents?\b|per cento\b)"
)
_AFTER = re.compile(
    r"(?:\s?\(\s?[\w ]{1,30}\s?\))?[\s\u00a0-]{0,2}\)?\s?"
    r"(?:(?:calendar|business|working|consecutive|fiscal|full|additional|more)\s+)?([a-z]+)"
)
_PARTS: dict[str, tuple[str, float]] = {
    "week": ("day", 7), "year": ("month", 12), "hour": ("minute", 60), "kg": ("g", 1000), "km": ("m", 1000),
    "l": ("ml", 1000),
}  # fmt: skip
"""Units by the smaller one that they are a whole number of."""
_UNIT_OF = {word: unit for unit, words in _TABLE["units"].items() for word in words.split()}
UNIT_WORDS = (
    frozenset({*_UNIT_OF, *SCALES, *MONTHS_IN_PROSE, "percent", "cent", "cento", "ciento", "prozent"}) - _OTHER["units"]
)
"""Words that belong to a number and are compared with it."""
_SIGNS = {
    "US$": "$",
    "$": "$",
    "R$": "R$",
    "€": "€",
    "£": "£",
    "¥": "¥",
    "EUR": "€",
    "USD": "$",
    "GBP": "£",
    "CHF": "CHF",
}
_WORD = re.compile(r"[^\W\d_]+")
_DAY_BEFORE = re.compile(r"(?<![\d.,])\d\d?(?:st|nd|rd|th|er|[.°])?\s(?:de\s)?$")
_YEAR_BEHIND = re.compile(r"\.?\s(?:del?\s)?(?:19|20)\d\d(?!\d)")
_HEDGE = re.compile(
    r"(?:about|around|approximately|roughly|nearly|almost|over|~|≈|some|cerca de|aproximadamente|quase|casi|"
    r"alrededor de|unos|unas|more than|mais de|mas de|circa|quasi|oltre|piu di)\s+(?:US\$|R\$|[$€£¥])?\s?$"
)
_TABLE_SCALE = re.compile(
    r"(?:\b(?:in|em|en|r\$)\s+(?:us\$\s+|r\$\s+|[$€£]\s*|eur\s+)?|[$€£]\s?|\beur\s)((?:[a-z]+\s?){1,3})"
)


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
    """Return all numbers of a text in reading order. `language` decides words such as `dos` (two, or `of the`)."""
    lowered = lowered_alike(text)
    notes = {note.start() + 1 for note in NOTE_MARK.finditer(text)}
    numbers = (match for match in _DIGITS.finditer(text) if match.start() not in notes)
    found = [figure for match in numbers for figure in _of_digits(text, lowered, match, language)]
    taken = [(figure.start, figure.end) for figure in found if figure.is_scaled]
    found += [word for word in _of_words(text, lowered, language) if not any(a <= word.start < b for a, b in taken)]
    return sorted(found, key=lambda figure: figure.start)


def table_scales(text: str) -> tuple[float, ...]:
    """Return the scales of the numbers in a page's tables, where stated: `(in millions)` gives 1,000,000."""
    said = (word for words in _TABLE_SCALE.findall(lowered_alike(text)) for word in words.split())
    return tuple({SCALES[word] for word in said if word in SCALES})


def agree(claim: Figure, page: Figure, scales: tuple[float, ...] = ()) -> bool:
    """Return whether a number of a claim equals a number of a page."""
    if claim.is_minus and not page.is_negative:
        return False
    if claim.unit and page.unit and claim.unit != page.unit:
        return _is_same_amount(claim, page)
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


def _is_same_amount(one: Figure, other: Figure) -> bool:
    """Return whether two numbers are one amount in two units: two years and 24 months."""
    (unit, times), (other_unit, other_times) = (_PARTS.get(figure.unit, (figure.unit, 1)) for figure in (one, other))
    amounts = ({v * by for v in of.values if not isinstance(v, str)} for of, by in ((one, times), (other, other_times)))
    return unit == other_unit and not set.isdisjoint(*amounts)


def _of_digits(text: str, lowered: str, match: re.Match[str], language: str) -> Iterator[Figure]:
    start, end = match.span()
    written = match.group()
    note = NOTE_MARK.match(text, end)
    behind = note.end() if note else end
    head, tail = text[max(0, start - 24) : start], lowered[behind : behind + 48]
    is_dated = bool(_DATED_BEFORE.search(head) or _DATED_AFTER.match(tail))
    sign = _BEFORE.search(head)
    unit = _SIGNS[sign[1]] if sign else ""
    found, decimals = readings_of_number(written, language)
    if found is None:  # a date, a section number, a list: each part separately
        at = start
        for part in re.split(r"\D", written):
            yield Figure(at, at + len(part), _exactly(part), step=1.0, is_year=_is_year(part), is_dated=True)
            at += len(part) + 1
        return
    scale, scaled_to = 1.0, behind
    if (word := _SCALE.match(tail)) and (word[1] in SCALES):
        scale, scaled_to = SCALES[word[1]], behind + word.end()
    elif sign and (letter := _LETTER_SCALE.match(text, behind)):
        scale, scaled_to = {"k": 1e3, "m": 1e6, "b": 1e9}[letter[1][0].lower()], letter.end()
    if _PERCENT.match(lowered, scaled_to):
        unit = "%"
    elif (after := _AFTER.match(lowered, scaled_to)) and after[1] in _UNIT_OF:
        unit = unit or _UNIT_OF[after[1]]
    elif behind_sign := _SIGN_BEHIND.match(text, scaled_to):
        unit = unit or _SIGNS[behind_sign[1]]
    if scale != 1.0:
        found = {round(v * scale, 6) if isinstance(v, float) else v for v in found}
    if head[-2:].upper() == "FY" and len(written) == 2:
        found = found | {2000.0 + float(written)}
    opened = _OPEN.search(head) and _CLOSE.match(tail)
    is_minus = bool(_MINUS.search(head))
    hedged = bool(_HEDGE.search(lowered[max(0, start - 24) : start]))
    several = len(written.strip("0.,")) >= 2
    yield Figure(
        start,
        scaled_to if scale != 1.0 else end,
        frozenset(found),
        unit,
        step=scale * 10.0 ** (_zeros(written) if hedged and not decimals else -decimals),
        is_scaled=scale != 1.0,
        may_round=(scale > 1.0 or hedged) and several and len(found) == 1,
        is_negative=is_minus or bool(opened),
        is_minus=is_minus,
        is_year=_is_year(written) and not unit and scale == 1.0,
        is_dated=is_dated,
    )


def _zeros(written: str) -> int:
    """Count the zeros at the end of a whole number: `about 17,600` may be 17,606."""
    digits = _SEPARATOR.sub("", written)
    return len(digits) - len(digits.rstrip("0"))


def _is_year(written: str) -> bool:
    return len(written) == 4 and written.isdecimal() and 1900 <= int(written) <= 2100


def readings_of_number(written: str, language: str) -> tuple[set[Value] | None, int]:
    """Return possible values and the digits after the decimal mark; None where it is not a single number."""
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
        own = _TABLE[language] if language in LANGUAGES else {"groups": "", "decimals": ""}
        if marks[0] == own["groups"]:
            return {float(digits)}, 0
        return ({decimal}, 3) if marks[0] == own["decimals"] else ({float(digits), decimal}, 0)
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
        if word in MONTHS_IN_PROSE and _reads_as_month(text, lowered, word, start, end):
            yield Figure(start, end, frozenset({float(MONTHS_IN_PROSE[word])}), is_month=True)
        elif word in ORDINALS_IN_PROSE:
            yield Figure(start, end, frozenset({float(ORDINALS_IN_PROSE[word])}), step=1.0)
        elif (word in NUMBERS_IN_PROSE or word in _NUMBERS.get(language, ())) and not (
            word in ("cento", "ciento") and at and words[at - 1][0] in ("por", "per")
        ):
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
    """Return whether a name of a month is one where it stands: `may`, `march` and `mars` are other words too."""
    if word not in SHORT_MONTHS | CAPITAL_MONTHS or _YEAR_BEHIND.match(lowered, end):
        return True
    if word != "may" and _DAY_BEFORE.search(lowered, max(0, start - 8), start):
        return True
    near = lowered[max(0, start - 8) : start] + " " + lowered[end : end + 9]
    return any(char.isdigit() for char in near) and (text[start].isupper() or " de " in near)
