"""All values of a kind on a page: people, organisations, dates, amounts and others, found by rules.

The rules go for precision. A person has a title, a known given name, or stands below a label, heading or column of
people; an organisation has a legal form, or a word such as `Bank of`; what no rule knows is not listed. The words are
in `listing.toml`. It is longer than other modules, because all kinds share the runs of capitals, labels and columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from docmind.answers.list_questions import table, word_list
from docmind.answers.values import values
from docmind.blocks import PageBlock
from docmind.language import MONTHS_IN_PROSE, fold, lowered_alike, pattern_of
from docmind.records.listings import Listable

_CAP = r"[^\W\d_a-zß-öø-ÿ][^\W\d_]*(?:['’.-][^\W\d_]+)*\.?"
_LINK = r"(?:[&]|de|da|do|dos|das|del|di|du|van|von|der|den|of|the|la|le|el|y|e|et|und|and)"
_RUN = re.compile(rf"{_CAP}(?:[ \u00a0]?\s?(?:{_LINK}\s){{0,3}}?{_CAP})*")
_NAME_WORD = re.compile(r"[^\W\d_]+(?:['’.-][^\W\d_]+)*\.?")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+(?<![.-])")
_CURRENCY = r"(?:€|£|\$|¥|₹|R\$|US\$|A\$|C\$|EUR|USD|GBP|CHF|BRL|JPY|SEK|NOK|DKK|PLN|CZK)"
_FIGURE = r"\d{1,3}(?:[.,'’ \u00a0\u202f\u2009]\d{3}){1,7}(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,]\d{1,2})?(?!\d)"
_SCALE = r"(?:\s?(?:million|billion|thousand|milhões|mil|millones|millions?|Millionen|Mio\.?|Mrd\.?|[mk]\b|bn\b))?"
_AMOUNT = re.compile(
    rf"(?<![\w])(?:{_CURRENCY})\s?-?(?:{_FIGURE}){_SCALE}|(?<![\w.,])-?(?:{_FIGURE}){_SCALE}\s?(?:{_CURRENCY}(?!\w)|(?:euros?|"
    r"dollars?|dólares|pounds?|libras|reais|francs?|Franken|pesos|cents?|cêntimos)\b)",
    re.IGNORECASE,
)
_PERCENT = re.compile(
    r"(?<![\w.,])-?\d+(?:[.,]\d+)?\s?(?:%|(?:per ?cent|percent|por cento|por ciento|Prozent|pour ?cent)\b)",
    re.IGNORECASE,
)
_MONTH = pattern_of(MONTHS_IN_PROSE)
_MONTH_YEAR = re.compile(rf"\b(?:{_MONTH})\.?(?:\s(?:de|del))?\s(?:19|20)\d\d\b")
_PHONE = re.compile(
    r"(?<![\w./-])(?:\+\d{1,3}[\s./-]?)?(?:\(\d{1,5}\)[\s./-]?)?\d{2,5}(?:[ \u00a0\n./-]\d{2,8}){0,5}(?![\w])"
)
_CALLS = re.compile(
    r"\b(?:tel(?:ephone|efone|efono|efon|éfono)?|phone|call|fax|mobile|cell|telem[oó]vel|m[oó]vil|handy|mobil|ligu?e|ligar|"
    r"llame|llamar|anruf\w*|portable|appele[rz]|rufnummer|whatsapp)\b[^\n]{0,25}$",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?<![\w@./-])(?=[A-Za-z0-9/.-]*\d)(?=[A-Z0-9/.-]*[A-Z])[A-Z0-9]+(?:[-/.][A-Z0-9]+)*(?![\w@])")
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?:\s?[A-Z0-9]{4}){2,7}(?:\s?[A-Z0-9]{1,3})?(?!\w)")
_NUMBERED = re.compile(
    r"(?:\b(?:no|nr|nº|n\.º|n°|num|number|número|numero|nummer|id|ref|reference|referência|referencia|policy|invoice|account)\b"
    r"[.:]?|#)\s?((?=[\w/-]*\d)[A-Z0-9][A-Z0-9/-]{2,})(?!\w)",
    re.IGNORECASE,
)
_STREET = re.compile(
    r"(?<!\w)\d{1,5}[a-zA-Z]?,?\s(?:[^\W\d_][\w'’.-]*\s){1,4}?(?:Street|St\.?|Road|Rd\.?|Avenue|Ave\.?|Lane|Drive|Square|Court|Way|Close|"
    r"Place|Terrace|Boulevard|Blvd\.?|Row|Hill|Gardens|Crescent)(?!\w)"
    r"|(?<!\w)(?:Rua|Avenida|Av\.|Travessa|Praça|Largo|Estrada|Calle|Plaza|Paseo|Camino)\s[^\W\d_][\w'’.ªº-]*(?:\s[^\W\d_][\w'’.ªº-]*){0,5}?(?:\s?,?\s?(?:n\.?º\s?)?\d{1,5}[a-zA-Z]?)(?!\w)"
    r"|(?<!\w)\d{1,4},?\s(?:bis\s)?(?:rue|avenue|boulevard|place|chemin|impasse|quai)\s[^\W\d_][\w'’.-]*(?:\s[^\W\d_][\w'’.-]*){0,4}\s?"
    r"|(?<!\w)[A-ZÄÖÜ][\w-]{0,60}(?:straße|strasse|str\.|weg|allee|platz|gasse|ring)\s\d{1,4}[a-z]?(?!\w)"
)
_VALUE = re.compile(r"(?:[^.;\n]|\.(?!\s)|(?<=\b[A-Z])\.|(?<=\b(?:Dr|Mr|Ms|Sr))\.|(?<=\bMrs|\bSra)\.)+")
_TO_STOP = re.compile(r"(?:[^.;\n]|\n(?!\n)|\.(?!\s)|(?<=\b[A-Z])\.|(?<=\b(?:Dr|Mr|Ms|Sr))\.|(?<=\bMrs|\bSra)\.)+")
_PIECE = re.compile(r"(?:(?!\s(?:and|e|y|und|et|&)\s)[^,;(/\n–—])+")
_WRAPPED = re.compile(r"(?:(?!\s(?:and|e|y|und|et|&)\s)[^,;(/–—])+")  # over the end of a line
_LONGEST = 600  # characters of an enumeration of people
_LABEL = re.compile(r"(?:^|(?<=[.;]\s))[\s•*\-–—☐☒☑✓▪●]*(?:\d{1,3}[.)]\s*)?([^\n:.;]{2,40}):\s+")  # of a line
_ABBREVIATED = 3  # letters of an abbreviation, at most
_BULLET = re.compile(r"^\s*(?:[•*\-–—☐☒☑✓▪●‣◦]|\d{1,3}[.)])\s+")
_ORDINAL = re.compile(
    r"\d+(?:ST|ND|RD|TH|H|X|AM|PM|KG|ML|CM|MM|KM|G|L|M|W|V|KW|MB|GB|TB|PX|K)|[A-Z]\d|\d[A-Z]|Q[1-4]|[A-Z]{1,2}\d{1,2}"
)
_ROLE = re.compile(r"\s?[(,]\s?(?:the\s|o\s|a\s|el\s|la\s|der\s|die\s|le\s)?([^\W\d_]+)")


class Found(NamedTuple):
    """A value on a page: its span, and a key that is equal for all forms of it."""

    start: int
    end: int
    key: str


def values_of(what: Listable, text: str, language: str, structure: Sequence[PageBlock] = ()) -> list[Found]:
    """Return the values of a kind on a page, in reading order. Raises `KeyError` for what is no kind of value."""
    found = sorted(_FINDERS[what](text, language, structure), key=lambda one: (one.start, -one.end))
    kept: list[Found] = []
    for one in found:
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _plain(text: str) -> str:
    return " ".join(fold(text.lower()).split())


def _of(pattern: re.Pattern[str], text: str) -> Iterator[Found]:
    for match in pattern.finditer(text):
        yield Found(match.start(), match.end(), _plain(match.group()))


def _dates(text: str, _language: str, _structure: Sequence[PageBlock]) -> Iterator[Found]:
    seen: list[tuple[int, int]] = []
    for one in values(text):
        if one.kind == "date":
            seen.append((one.start, one.end))
            yield Found(one.start, one.end, min(one.readings))
    lowered = lowered_alike(text)
    for match in _MONTH_YEAR.finditer(lowered):
        if not any(a < match.end() and match.start() < b for a, b in seen):
            yield Found(match.start(), match.end(), _plain(match.group()))


def _amounts(text: str, _language: str, structure: Sequence[PageBlock]) -> Iterator[Found]:
    for match in _AMOUNT.finditer(text):
        yield Found(match.start(), match.end(), re.sub(r"\s", "", match.group().lower()))
    for start, end in _cells_below("amounts", structure):
        if re.fullmatch(rf"-?(?:{_FIGURE})", text[start:end].strip()):
            yield Found(start, end, text[start:end].strip())


def _percentages(text: str, _language: str, _structure: Sequence[PageBlock]) -> Iterator[Found]:
    for match in _PERCENT.finditer(text):
        yield Found(match.start(), match.end(), "".join(re.findall(r"[-\d.,]", match.group())) + "%")


def _emails(text: str, _language: str, _structure: Sequence[PageBlock]) -> Iterator[Found]:
    return _of(_EMAIL, text)


def _phones(text: str, _language: str, structure: Sequence[PageBlock]) -> Iterator[Found]:
    taken = [(one.start, one.end) for one in values(text) if one.kind == "date"]
    taken += [match.span() for match in (*_AMOUNT.finditer(text), *_IBAN.finditer(text))]
    columns = list(_cells_below("phones", structure))
    for match in _PHONE.finditer(text):
        said, (start, end) = match.group(), match.span()
        digits = re.sub(r"\D", "", said)
        if not 7 <= len(digits) <= 15 or any(a < end and start < b for a, b in taken):
            continue
        line = text[max(0, start - 60) : start]
        label = _label_at(text, start)
        is_grouped = len(re.findall(r"\d+", said)) >= 2
        is_known = bool(_CALLS.search(line)) or _says(label, "phones") or any(a <= start < b for a, b in columns)
        if is_known or said.startswith("+") or (said[0] in "0(" and is_grouped):
            yield Found(start, end, digits[-9:])


def _identifiers(text: str, _language: str, _structure: Sequence[PageBlock]) -> Iterator[Found]:
    for match in _IBAN.finditer(text):
        yield Found(match.start(), match.end(), re.sub(r"\s", "", match.group()))
    for match in _CODE.finditer(text):
        said = match.group()
        if sum(char.isdigit() for char in said) >= 2 and not _ORDINAL.fullmatch(said):
            yield Found(match.start(), match.end(), said)
    for match in _NUMBERED.finditer(text):
        if not re.fullmatch(r"(?:19|20)\d\d", match[1]):
            yield Found(match.start(1), match.end(1), match[1].upper())


def _label_at(text: str, at: int) -> str:
    """Return the label before a place of its line, as `Tenant` in `Tenant: Ana Reis`; empty where there is none."""
    start = text.rfind("\n", 0, at) + 1
    found = _LABEL.match(text[start:at])
    return found[1] if found is not None else ""


def _says(label: str, kind: str) -> bool:
    """Return whether a label, heading or header names values of a kind, by any of its first words."""
    known = word_list("labels", kind)
    return any(word in known for word in re.findall(r"[a-z]+", lowered_alike(label))[:4])


def _cells_below(kind: str, structure: Sequence[PageBlock]) -> Iterator[tuple[int, int]]:
    """Yield the filled cells of columns whose header names values of a kind."""
    for block in structure:
        if block.kind != "row" or block.table is None:
            continue
        for name, (start, end) in zip(block.table.header, block.cells, strict=False):
            if end > start and _says(name, kind):
                yield start, end


def _lines_of(kind: str, text: str, structure: Sequence[PageBlock]) -> Iterator[tuple[int, int]]:
    """Yield the spans of items below a heading, and of values behind a label, that name values of a kind."""
    for block in structure:
        if block.kind == "item" and block.path and _says(block.path[-1], kind):
            yield block.start, block.end
    heading = ""
    for match in re.finditer(r"[^\n]+", text):
        line = match.group()
        if line.isspace():
            continue
        labels = [label for label in _LABEL.finditer(line) if _says(label[1], kind)]
        for label in labels:
            value = _VALUE.match(line, label.end())
            yield match.start() + label.end(), match.start() + (value.end() if value is not None else len(line))
        if labels:
            continue
        if _BULLET.match(line):
            if heading and _says(heading, kind):
                yield match.span()
        else:
            stripped = line.strip()
            is_short = len(stripped) <= 60 and len(stripped.split()) <= 4 and not stripped.endswith((".", ",", ";"))
            if heading.endswith(":") and _says(heading, kind) and is_short and not stripped.endswith(":"):
                yield match.span()
            else:
                heading = stripped if is_short else ""


# People


@cache
def _orgs() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    data = table()["organisations"]
    return (
        re.compile(rf"(?:{data['ends']})\.?", re.IGNORECASE),
        re.compile(rf"(?:{data['heads']})\b", re.IGNORECASE),
        re.compile(rf"(?:{data['tails']})", re.IGNORECASE),
    )


@cache
def _given() -> frozenset[str]:
    return word_list("people", "given")


def _people(text: str, language: str, structure: Sequence[PageBlock]) -> Iterator[Found]:
    told = [*_cells_below("people", structure), *_lines_of("people", text, structure)]
    organisations = [(one.start, one.end) for one in _organisations(text, language, structure)]
    for start, end in told:
        for one in _names_in(text, start, end):
            if not _overlaps(one, organisations):
                yield from _person(text, one)
    for start, end in _told_people(text):
        for one in _names_in(text, start, end, _WRAPPED):
            if not _overlaps(one, organisations):
                yield from _person(text, one)
    for run in _RUN.finditer(text):
        for part in _parts(text, *run.span()):
            person = _known_person(text, part, language)
            if person is not None and not _overlaps(person, organisations):
                yield from _person(text, person)


@cache
def _cues() -> re.Pattern[str]:
    """Return what stands before people: `attended by`, `the tenant is`."""
    roles = "|".join(sorted(word_list("labels", "people"), key=len, reverse=True))
    return re.compile(rf"{table()['people']['told_by']}|\b(?:{roles}) (?:is|was|are|e|era|es|ist|war|est)\s+(?=[a-z])")


def _told_people(text: str) -> Iterator[tuple[int, int]]:
    """Yield what stands behind words such as `attended by` or `the tenant is`, to the end of the sentence."""
    last = 0
    for cue in _cues().finditer(lowered_alike(text)):
        value = _TO_STOP.match(text, cue.end(), cue.end() + _LONGEST)
        if value is not None and value.start() >= last:
            last = value.end()
            yield value.span()


def _overlaps(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    return any(a < span[1] and span[0] < b for a, b in others)


def _person(text: str, span: tuple[int, int]) -> Iterator[Found]:
    start, end = span
    said = text[start:end].rstrip(" .,")
    end = start + len(said)
    words = [fold(word.lower()).strip(".") for word in _NAME_WORD.findall(said)]
    if words and len(said) > 1:
        yield Found(start, end, " ".join(words))


def _words_at(text: str, start: int, end: int) -> list[tuple[int, int, str]]:
    return [(m.start(), m.end(), fold(m.group().lower()).strip(".")) for m in _NAME_WORD.finditer(text, start, end)]


def _names_in(text: str, start: int, end: int, pattern: re.Pattern[str] = _PIECE) -> Iterator[tuple[int, int]]:
    """Yield the names in a text that is told to have people: each part between commas that is made of capitals."""
    said = text[start:end]
    bullet = _BULLET.match(said)
    at = start + (bullet.end() if bullet else 0)
    pieces = pattern.finditer(text[at:end])
    for piece in pieces:
        begin, stop = at + piece.start(), at + piece.end()
        words = _words_at(text, begin, stop)
        words = [word for word in words if word[2] not in ("and", "e", "y", "und", "et")]
        while words and words[0][2] in word_list("people", "titles"):
            words = words[1:]
        run: list[tuple[int, int, str]] = []
        for word in words:
            if text[word[0]].isupper() or (run and word[2] in word_list("people", "particles")):
                run.append(word)
            else:
                break
        is_cut = len(run) < len(words)
        while run and not text[run[-1][0]].isupper():
            run.pop()
        least = 2 if is_cut or not _is_given(run) else 1
        if least <= len(run) <= 6 and not _is_common(run):
            yield run[0][0], run[-1][1]


def _is_given(run: Sequence[tuple[int, int, str]]) -> bool:
    return bool(run) and run[0][2].split("-")[0] in _given()


def _is_common(run: Sequence[tuple[int, int, str]]) -> bool:
    """Return whether a run of words names something else: a label, a place, a month, a company."""
    known = word_list("places", "known")
    ends, _heads, tails = _orgs()
    return any(
        word in MONTHS_IN_PROSE or word in known or tails.fullmatch(word) or (len(word) > 2 and ends.fullmatch(word))
        or word in word_list("labels", "people") or word in word_list("labels", "organisations")
        for _start, _end, word in run[1:] or run
    )  # fmt: skip


def _parts(text: str, start: int, end: int) -> Iterator[list[tuple[int, int, str]]]:
    """Yield the runs of capitals of one name: they end at `and`, at a line of another kind, and before a title."""
    run: list[tuple[int, int, str]] = []
    for word in _words_at(text, start, end):
        gap = text[run[-1][1] : word[0]] if run else ""
        is_title = word[2] in word_list("people", "titles") and text[word[0]].isupper()
        is_over = "\n\n" in gap or "&" in gap or word[2] in ("and", "of", "the", "und", "et") or is_title
        is_over = is_over or (text[word[0] : word[1]].islower() and word[2] in ("e", "y"))
        if run and (is_over or (run[-1][2] not in word_list("people", "titles") and text[run[-1][1] - 1] == "."
                                and len(run[-1][2]) > 1)):  # fmt: skip
            yield run
            run = []
        if word[2] in ("and", "of", "the", "und", "et"):
            continue
        run.append(word)
    if run:
        yield run


def _known_person(text: str, run: list[tuple[int, int, str]], language: str) -> tuple[int, int] | None:
    """Return the span of a person in a run of capitals, without the title; None where no rule knows one."""
    titles = word_list("people", "titles")
    has_title = False
    while run and run[0][2] in titles and text[run[0][0]].isupper():
        has_title, run = True, run[1:]
    first = next((n for n, word in enumerate(run) if word[2].split("-")[0] in _given()), None)
    if has_title:
        first = 0
    if first is None or first > 1:
        return _by_role(text, run, language)
    run = run[first:]
    most = 4 + sum(word[2] in word_list("people", "particles") for word in run)
    run = run[: min(most, 6)]
    while run and not text[run[-1][0]].isupper():
        run = run[:-1]
    least = 1 if has_title else 2
    if len(run) < least or (not has_title and _is_common(run)):
        return None
    return run[0][0], run[-1][1]


def _by_role(text: str, run: list[tuple[int, int, str]], language: str) -> tuple[int, int] | None:
    """Return two or three capitals that a role in brackets follows: `Zoltan Farkas (the tenant)`."""
    if language == "de" or not 2 <= len(run) <= 3 or _is_common(run):
        return None
    role = _ROLE.match(text, run[-1][1])
    is_role = role is not None and fold(role[1].lower()) in word_list("labels", "people")
    rest = re.match(r"\s([^\W\d_]+)", text[run[-1][1] : run[-1][1] + 30])
    acts = rest is not None and fold(rest[1].lower()) in _verbs()
    is_begun = run[0][0] == 0 or text[run[0][0] - 2 : run[0][0]].strip(" ") in (".", "\n", "•", "")
    return (run[0][0], run[-1][1]) if is_role or (acts and not is_begun) else None


@cache
def _verbs() -> frozenset[str]:
    return word_list("people", "verbs") - {"will", "has", "is", "was", "left", "a"}


# Organisations and places


def _organisations(text: str, _language: str, structure: Sequence[PageBlock]) -> Iterator[Found]:
    ends, heads, tails = _orgs()
    for words in _sentences_of_runs(text, _row_ends(structure)):
        span = _organisation(text, words, ends, heads, tails)
        if span is not None:
            yield Found(*span, _plain(text[slice(*span)]).strip("."))
    for start, end in (
        *_cells_below("organisations", structure),
        *_lines_of("organisations", text, structure),
    ):
        said = _BULLET.sub("", text[start:end])
        begin = end - len(said)
        name = re.match(r"[^,;(|\n]+", said)
        if name is not None and name.group()[:1].isupper() and len(name.group().split()) <= 7:
            kept = name.group().rstrip(" .")
            yield Found(begin, begin + len(kept), _plain(kept))


def _row_ends(structure: Sequence[PageBlock]) -> frozenset[int]:
    """Return where rows end: no name goes on behind one."""
    return frozenset(block.end for block in structure if block.kind in ("row", "header_row"))


def _sentences_of_runs(text: str, row_ends: frozenset[int]) -> Iterator[list[tuple[int, int, str]]]:
    """Yield the words of each run of capitals, split where a sentence, a paragraph or a row ends."""
    for run in _RUN.finditer(text):
        held = list[tuple[int, int, str]]()
        for word in _words_at(text, *run.span()):
            gap = text[held[-1][1] : word[0]] if held else ""
            is_end = bool(held) and text[held[-1][1] - 1] == "." and len(held[-1][2]) > _ABBREVIATED
            is_end = is_end or (bool(held) and not row_ends.isdisjoint(range(held[-1][1], word[0])))
            if held and ("\n\n" in gap or is_end):
                yield held
                held = []
            held.append(word)
        if held:
            yield held


def _organisation(
    text: str,
    words: list[tuple[int, int, str]],
    ends: re.Pattern[str],
    heads: re.Pattern[str],
    tails: re.Pattern[str],
) -> tuple[int, int] | None:
    for at, (_start, end, word) in enumerate(words):
        is_form = ends.fullmatch(word) is not None and not text[_start:end].islower() and len(word) > 1
        if at and is_form:
            begin = at
            while begin and "\n\n" not in text[words[begin - 1][1] : words[begin][0]] and not (
                text[words[begin - 1][0] : words[begin - 1][1]].islower()
                and words[begin - 1][2] not in ("de", "da", "do", "of", "and", "und", "e", "et", "y", "the")
            ):  # fmt: skip
                begin -= 1
            while begin < at and (words[begin][2] in _BEFORE or text[words[begin][0]].islower()):
                begin += 1
            if begin < at:
                return words[begin][0], words[at][1]
    whole = text[words[0][0] : words[-1][1]] if words else ""
    folded = lowered_alike(whole)
    if (head := re.search(rf"\b{heads.pattern}", folded, re.IGNORECASE)) is not None and (
        len(words) >= 2 and all(word[2] in _BEFORE for word in words if word[1] <= words[0][0] + head.start())
    ):
        return words[0][0] + head.start(), words[-1][1]
    if len(words) >= 2 and tails.fullmatch(words[-1][2]) and "\n" not in whole and _is_inside(text, words):
        begin = 1 if words[0][2] in _BEFORE and len(words) > 2 else 0
        return words[begin][0], words[-1][1]
    return None


_BEFORE = frozenset(
    [
        "the",
        "a",
        "an",
        "der",
        "die",
        "das",
        "dem",
        "den",
        "o",
        "os",
        "as",
        "el",
        "la",
        "los",
        "las",
        "le",
        "les",
        "l",
        "between",
        "by",
        "from",
        "with",
        "order",
        "and",
    ]
)


def _is_inside(text: str, words: Sequence[tuple[int, int, str]]) -> bool:
    """Return whether words stand within a sentence: as a line of their own they may be a heading."""
    before = text[max(0, words[0][0] - 2) : words[0][0]]
    return bool(before.strip()) or before.startswith((" ", ",")) or bool(re.match(r"[^\S\n]\S", text[words[-1][1] :]))


def _places(text: str, _language: str, structure: Sequence[PageBlock]) -> Iterator[Found]:
    yield from _addresses(text, _language, structure)
    known, pairs = word_list("places", "known"), table()["places"]["pairs"]
    lowered = lowered_alike(text)
    for match in re.finditer(rf"\b(?:{pairs})\b", lowered):
        if text[match.start()].isupper():
            yield Found(match.start(), match.end(), match.group())
    for match in re.finditer(r"[^\W\d_]+", text):
        word = lowered[match.start() : match.end()]
        if match.group()[0].isupper() and word in known:
            yield Found(match.start(), match.end(), word)
    for start, end in (*_cells_below("places", structure), *_lines_of("places", text, structure)):
        said = text[start:end].strip()
        if said[:1].isupper() and len(said) <= 80 and "@" not in said:
            yield Found(end - len(text[start:end].lstrip()), end, _plain(said))


def _addresses(text: str, _language: str, structure: Sequence[PageBlock]) -> Iterator[Found]:
    yield from _of(_STREET, text)
    for start, end in (*_cells_below("addresses", structure), *_lines_of("addresses", text, structure)):
        said = text[start:end].strip()
        if any(char.isdigit() for char in said) and "@" not in said and "://" not in said:
            yield Found(end - len(text[start:end].lstrip()), end, _plain(said))


_Finder = Callable[[str, str, Sequence[PageBlock]], Iterator[Found]]
_FINDERS: dict[Listable, _Finder] = {
    "people": _people,
    "organisations": _organisations,
    "dates": _dates,
    "amounts": _amounts,
    "percentages": _percentages,
    "emails": _emails,
    "phones": _phones,
    "places": _places,
    "addresses": _addresses,
    "identifiers": _identifiers,
}
