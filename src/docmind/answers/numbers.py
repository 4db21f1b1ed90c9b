"""The numbers of a text as values that can be compared, however they are written.

`1,234.5` and `1.234,5`, `$3.2 billion` and `3,200 million`, `twelve` and `12`, `20%` and `twenty percent`, `(1,234)`,
`5º`, `March` and the 03 of `15/03/2022`: in English, German, Spanish, French and Portuguese. Numbers in words, such as
`twenty-one`, `cento e vinte`, `doscientos mil` and `siebzehn`, are read from lower case without accents; German
compounds above twenty (`einundzwanzig`) are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from docmind.language import CAPITAL_MONTHS, MONTHS_IN_PROSE, SHORT_MONTHS, lowered_alike
from docmind.records.documents import NOTE_MARK


def _table(pairs: str) -> dict[str, int]:
    """Parse `two:2 three:3` to a dict."""
    return {name: int(value) for name, value in (pair.split(":") for pair in pairs.split())}


SCALES: dict[str, float] = {
    **dict.fromkeys(["thousand", "thousands", "mil", "miles", "milhares"], 1e3),
    **dict.fromkeys(["million", "millions", "milhao", "milhoes", "millon", "millones", "mn"], 1e6),
    **dict.fromkeys(["billion", "billions", "bilhao", "bilhoes", "bn"], 1e9),
    **dict.fromkeys(("mil millones", "mil milhoes"), 1e9),
    **dict.fromkeys(["tausend", "mille", "milliers"], 1e3),
    **dict.fromkeys(["millionen", "mio"], 1e6),
    **dict.fromkeys(["milliarde", "milliarden", "mrd", "milliard", "milliards"], 1e9),
    **dict.fromkeys(["trillion", "trillions", "trilhao", "trilhoes"], 1e12),
}
_TABLES = {
    "": """one:1 two:2 three:3 four:4 five:5 six:6 seven:7 eight:8 nine:9 ten:10 eleven:11 twelve:12 thirteen:13
        fourteen:14 fifteen:15 sixteen:16 seventeen:17 eighteen:18 nineteen:19 twenty:20 thirty:30 forty:40 fifty:50
        sixty:60 seventy:70 eighty:80 ninety:90
        dois:2 duas:2 tres:3 quatro:4 cuatro:4 cinco:5 seis:6 sete:7 siete:7 oito:8 ocho:8 nove:9 nueve:9 dez:10
        diez:10 onze:11 doze:12 doce:12 treze:13 trece:13 quatorze:14 catorze:14 catorce:14 quinze:15 quince:15
        dezesseis:16 dieciseis:16 dezessete:17 diecisiete:17 dezoito:18 dieciocho:18 dezenove:19 diecinueve:19
        vinte:20 veinte:20 veintiuno:21 veintidos:22 veintitres:23 veinticuatro:24 veinticinco:25
        veintiseis:26 veintisiete:27 veintiocho:28 veintinueve:29 dezasseis:16 dezassete:17 dezanove:19
        trinta:30 treinta:30
        quarenta:40 cuarenta:40 cinquenta:50 cincuenta:50 sessenta:60 sesenta:60 setenta:70 oitenta:80 ochenta:80
        noventa:90 cem:100 cien:100 cento:100 ciento:100 duzentos:200 duzentas:200 doscientos:200 doscientas:200
        trezentos:300 trezentas:300 trescientos:300 trescientas:300 quatrocentos:400 quatrocentas:400
        cuatrocientos:400 cuatrocientas:400 quinhentos:500 quinhentas:500 quinientos:500 quinientas:500
        seiscentos:600 seiscientos:600 setecentos:700 setecientos:700 oitocentos:800 ochocientos:800 novecentos:900
        novecientos:900""",
    "es": "dos:2 once:11",
    "de": """zwei:2 drei:3 vier:4 funf:5 sechs:6 sieben:7 acht:8 neun:9 zehn:10 elf:11 zwolf:12 dreizehn:13 vierzehn:14
        funfzehn:15 sechzehn:16 siebzehn:17 achtzehn:18 neunzehn:19 zwanzig:20 dreisig:30 vierzig:40 funfzig:50
        sechzig:60 siebzig:70 achtzig:80 neunzig:90 hundert:100""",
    "fr": """deux:2 trois:3 quatre:4 cinq:5 six:6 sept:7 huit:8 neuf:9 dix:10 onze:11 douze:12 treize:13 quatorze:14
        quinze:15 seize:16 vingt:20 trente:30 quarante:40 cinquante:50 soixante:60 cent:100 cents:100""",
}
_BY_LANGUAGE = {language: _table(text) for language, text in _TABLES.items()}
_COMMON = _BY_LANGUAGE[""]
SMALL = frozenset(_COMMON) | frozenset(_BY_LANGUAGE["es"]) | {"hundred", "mil", "thousand", "dozen"}
_AND = frozenset({"and", "e", "y", "und", "et"})

_ORDINALS = """third:3 fourth:4 fifth:5 sixth:6 seventh:7 eighth:8 ninth:9 tenth:10 eleventh:11 twelfth:12
terceiro:3 terceira:3 tercero:3 tercera:3 tercer:3 quinto:5 quinta:5 sexto:6 sexta:6 setimo:7 setima:7 septimo:7
septima:7 oitavo:8 oitava:8 octavo:8 octava:8 nono:9 nona:9 noveno:9 novena:9 decimo:10 decima:10
thirds:3 fifths:5 tenths:10 terco:3 tercos:3 tercio:3 tercios:3 quintos:5 quintas:5 decimos:10"""
ORDINALS = _table(_ORDINALS)


def numeral(words: Sequence[str], language: str = "") -> tuple[float, int]:
    """Return the number that the first words form, and how many words it takes; (0, 0) where they form none."""
    table = {**_COMMON, **_BY_LANGUAGE.get(language, {})}
    total = current = 0.0
    used = at = 0
    last = 1e18  # two adjacent numbers (`five ten`) are not added
    while at < len(words):
        word = words[at]
        if word in table and table[word] < last:
            current += table[word]
            last = _room(table[word])
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
    r"pour ?cents?\b)"
)
_AFTER = re.compile(
    r"(?:\s?\(\s?[\w ]{1,30}\s?\))?[\s\u00a0-]{0,2}\)?\s?"
    r"(?:(?:calendar|business|working|consecutive|fiscal|full|additional|more)\s+)?([a-z]+)"
)
_UNITS = {
    "day": "day days dia dias tag tage tagen jour jours",
    "week": "week weeks semana semanas woche wochen semaine semaines",
    "month": "month months mes meses monat monate monaten mois",
    "year": "year years ano anos jahr jahre jahren an ans annee annees",
    "hour": "hour hours hora horas stunde stunden heure heures",
    "minute": "minute minutes minuto minutos minuten",
    "$": "dollar dollars dolar dolares usd",
    "€": "euro euros eur",
    "R$": "real reais",
    "km": "km kilometer kilometers kilometre kilometres quilometro quilometros kilometro kilometros",
    "kg": "kg kilogram kilograms quilo quilos kilo kilos",
    "°": "degree degrees grau graus grado grados",
    "£": "pound pounds libra libras gbp",
    "CHF": "chf franken",
    "g": "g gram grams gramme grammes grama gramas gramo gramos",
    "m": "metre metres meter meters metro metros",
    "cm": "cm centimetre centimetres centimeter centimeters centimetro centimetros",
    "mm": "mm millimetre millimetres millimeter millimeters milimetro milimetros",
    "l": "litre litres liter liters litro litros",
    "ml": "ml millilitre millilitres milliliter milliliters mililitro mililitros",
}
_PARTS: dict[str, tuple[str, float]] = {
    "week": ("day", 7), "year": ("month", 12), "hour": ("minute", 60), "kg": ("g", 1000), "km": ("m", 1000),
    "l": ("ml", 1000),
}  # fmt: skip
"""Units by the smaller one that they are a whole number of."""
_UNIT_OF = {word: unit for unit, words in _UNITS.items() for word in words.split()}
UNIT_WORDS = frozenset({*_UNIT_OF, *SCALES, *MONTHS_IN_PROSE, "percent", "cent", "cento", "ciento", "prozent"}) - {
    "mar",
    "dec",
    "real",
    "an",
}
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
_DAY_BEFORE = re.compile(r"(?<![\d.,])\d\d?(?:st|nd|rd|th|er|\.)?\s(?:de\s)?$")
_YEAR_BEHIND = re.compile(r"\.?\s(?:del?\s)?(?:19|20)\d\d(?!\d)")
_HEDGE = re.compile(
    r"(?:about|around|approximately|roughly|nearly|almost|over|~|≈|some|cerca de|aproximadamente|quase|casi|"
    r"alrededor de|unos|unas|more than|mais de|mas de)\s+(?:US\$|R\$|[$€£¥])?\s?$"
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
        if (language, marks[0]) in (("en", ","), ("pt", "."), ("es", "."), ("de", ".")):
            return {float(digits)}, 0
        return (
            ({decimal}, 3)
            if (language, marks[0]) in (("en", "."), ("pt", ","), ("de", ","), ("fr", ","))
            else ({float(digits), decimal}, 0)
        )
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
        elif word in ORDINALS and not (word == "quarto" and language == "es"):
            yield Figure(start, end, frozenset({float(ORDINALS[word])}), step=1.0)
        elif (word in SMALL or word in _BY_LANGUAGE.get(language, ())) and not (
            word in ("cento", "ciento") and at and words[at - 1][0] == "por"
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
