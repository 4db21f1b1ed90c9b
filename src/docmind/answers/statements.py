"""The statements of a page: each label with its value, each row of a table, and each clause of a sentence.

A sentence of a page may say several things: "Tomás is away in July, Wen in August". A claim about one of them must not
take the time of the other. So a page is read as statements, each with the words, numbers, dates and names that stand in
it, and apart from them the words that it is said under: of the clauses before it in its sentence, of the heads of its
table, and of the title and heading above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise

from docmind.answers.kinds import is_function_word
from docmind.answers.names import Name, compact, named
from docmind.embedding import words
from docmind.language import (
    MONTHS_IN_PROSE,
    ORDINAL_WEEKDAYS,
    ORDINALS_IN_PROSE,
    UNIT_WORDS,
    WEEKDAYS,
    Figure,
    figures,
    fold,
)

_CUTS = re.compile(  # of the clauses of a sentence
    r"[;:,](?=\s)|\s[–—-]\s|\s(?:and|but|while|whereas|und|aber|sondern|während|y|pero|mientras|e|mas|enquanto|et|mais|"
    r"tandis que)(?=\s)",
    re.IGNORECASE,
)
_MARKER = re.compile(  # of an item, a clause, a heading
    r"\s*(?:§+\s?\d[\d.]*|\d{1,3}(?:\.\d{1,2})*[.)]|\d{1,2}(?:\.\d{1,2})+)\s+(?=([^\W\d_]{2,}))"
)
_LABEL = re.compile(r"(?<![^\s|])([A-ZÀ-ÞŒ][\w'’/&().-]*(?:\s(?!\d)[a-zà-ÿœ(][\w'’/&().-]*){0,5})\s?:(?=\s)")
_ARTICLE = re.compile(
    r"\s*(?:the|an?|der|die|das|den|dem|eine?|le|las?|les|l['’]|une?|el|los|una?|[oa]s?|uma?)\s*\w", re.IGNORECASE
)
_ENDS = re.compile(r"[.!?…][\"'”’»)\]*_]{0,6}$")
_CELL = re.compile(r"\t\s*+(?:\|\s*+)?|\|\s*+")  # between two cells
_JOINED = 3  # characters between the words of one name, or between a day and its month
_DAY_TO_DAY = re.compile(
    r"[\s.]*+(?:to|until|till|and|bis|und|al?|hasta|y|e|até|à|au|et|[-–—])\s*+(?:the|zum|el|o|le)?\s*+"
)
_DATED = re.compile(r"[\s.,/-]*+(?:st|nd|rd|th|er|º|of|de|del)?[\s.,/-]*+")
_FEIRA = re.compile(r"-feiras?\b", re.IGNORECASE)  # of Portuguese weekdays
_CODE = re.compile(r"\d{1,3}[a-z]")  # of a class, a flat, a clause
_TITLE, _HEADING = 160, 80  # characters of the first unit, and of a line that may be a heading
_MOST_TOTAL = 400  # statements of one page


@dataclass(frozen=True, slots=True)
class Point:
    """What a claim must have from the page as it is: a number, a date or a name. `kind` says what may replace it."""

    kind: str
    figures: tuple[Figure, ...] = ()
    keys: tuple[str, ...] = ()
    spans: tuple[str, ...] = ()
    start: int = 0


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: a span of the page's text; its own words, points, and the words that it is said under.

    A row of a table has the words above each of its cells, and the points in it. `is_whole` marks a sentence whose
    clauses are statements too, `is_title` the beginning of the page, which stands above all of it, `is_field` a label
    with its value, a row, or what else is no part of a sentence,
    `is_elliptic` a later clause of a sentence, which may leave out the unit of a number.
    """

    start: int
    end: int
    text: str
    own: frozenset[str]
    under: frozenset[str]
    points: tuple[Point, ...]
    names: frozenset[str]
    is_whole: bool = False
    is_title: bool = False
    is_field: bool = False
    is_elliptic: bool = False
    heads: tuple[frozenset[str], ...] = field(default=())
    cells: tuple[tuple[Point, ...], ...] = field(default=())


def keys_of(text: str) -> list[str]:
    """Return the words of a text that say what it is about: no function words, numbers or units."""
    return [
        word
        for word in words(_FEIRA.sub("", text))
        if (not word[0].isdigit() or _CODE.fullmatch(word))
        and word not in UNIT_WORDS
        and not is_function_word(word)
        and len(word) > 1
    ]


def points_of(text: str, language: str, known: Set[str] = frozenset()) -> list[Point]:
    """Return the numbers, dates and names of a text in their order; the parts of one date or name are one point.

    A first word is a name where it is among `known`, the words that have a capital inside sentences of the pages.
    """
    found: list[Point] = []
    row = [one for one in figures(text, language) if one.is_required and not _is_no_value(text, one)]
    at = 0
    while at < len(row):
        group = [row[at]]
        while at + 1 < len(row) and _is_one_date(text, group, row[at + 1]):
            at += 1
            group.append(row[at])
        at += 1
        dated = len(group) > 1 or group[0].is_month or group[0].is_year or group[0].is_dated
        found.append(_point("date" if dated else _kind_of(group[0]), text, group))
    weekdays = [
        Point("weekday", keys=(f"weekday {WEEKDAYS[word]}",), spans=(match[0],), start=match.start())
        for match in re.finditer(r"[^\W\d_]+", text)
        if (word := fold(match[0].lower())) in WEEKDAYS and _is_weekday(text, match, word)
    ]
    taken = {point.start for point in weekdays}  # `sexta-feira` is no sixth
    found = [*(point for point in found if point.start not in taken), *weekdays]
    for group in _names(text, language, known):
        spans = tuple(text[name.start : name.end] for name in group)
        found.append(Point("name", keys=tuple(name.key for name in group), spans=spans, start=group[0].start))
    return sorted(found, key=lambda point: point.start)


def _is_no_value(text: str, figure: Figure) -> bool:
    """Return whether a number is an ordinal in words, a part of a code such as `E17`, or the marker of an item."""
    written = fold(text[figure.start : figure.end].lower())
    if written in ORDINALS_IN_PROSE or text[max(0, figure.start - 1) : figure.start].isalpha():
        return True
    behind = re.match(r"[^\W\d_]+", text[figure.end :])
    if behind is not None and len(behind[0]) == 1 and behind[0].lower() not in UNIT_WORDS | {"h"}:
        return True  # `8a`
    marker = _MARKER.match(text)
    if marker is None or figure.end > marker.end():
        return False
    return fold(marker[1].lower()) not in MONTHS_IN_PROSE and marker[1].lower() not in UNIT_WORDS


def _is_weekday(text: str, match: re.Match[str], word: str) -> bool:
    """Return whether a word is a weekday: `segunda` may be `second`, `mon` French for `my`."""
    return word not in ORDINAL_WEEKDAYS or text[match.end() : match.end() + 6].lower() == "-feira"


def _point(kind: str, text: str, group: Sequence[Figure]) -> Point:
    return Point(kind, tuple(group), spans=tuple(text[one.start : one.end] for one in group), start=group[0].start)


def without(text: str, points: Sequence[Point]) -> str:
    """Return a text with white space in place of points, as they are written."""
    for point in points:
        for written in point.spans:
            text = text.replace(written, " " * len(written))
    return text


def _kind_of(figure: Figure) -> str:
    if figure.unit in ("$", "€", "R$", "£", "¥", "CHF"):
        return "money"
    if figure.unit in ("day", "week", "month", "year", "hour", "minute"):
        return "time"
    return figure.unit or "number"


def _is_one_date(text: str, group: Sequence[Figure], other: Figure) -> bool:
    last = group[-1]
    gap = text[last.end : other.start]
    if len(gap) > 12 or not {last.unit, other.unit} <= {"", "month", "year"}:
        return False
    if last.is_dated and other.is_dated and len(gap) <= 1:
        return True
    is_dated = last.is_month or other.is_month or (other.is_year and any(one.is_month for one in group))
    if is_dated and _DATED.fullmatch(gap):
        return True
    is_day = not last.is_month and not last.is_year and all(v in range(1, 32) for v in last.values)
    return is_day and bool(_DAY_TO_DAY.fullmatch(gap)) and _leads_to_month(text, other)


def _leads_to_month(text: str, figure: Figure) -> bool:
    behind = text[figure.end : figure.end + 16]
    return any(one.is_month and _DATED.fullmatch(behind[: one.start]) for one in figures(behind))


def _names(text: str, language: str, known: Set[str]) -> Iterator[list[Name]]:
    found = [name for name in named(text) if _may_be_name(name, known)]
    groups: list[list[Name]] = []
    for name in found:
        last = groups[-1][-1] if groups else None
        gap = text[last.end : name.start] if last else ""
        is_code = last is not None and (last.is_code or name.is_code)
        if last and not is_code and len(gap) <= _JOINED and not gap.strip(" &.'’-"):
            groups[-1].append(name)
        else:
            groups.append([name])
    for group in groups:
        is_sure = any(name.is_sure or name.key in known for name in group) or len(group) > 1
        if language == "de":  # every noun has a capital
            if not text[: group[0].start].strip(' "“(¿¡*_') and group[0].key not in known:
                group = group[1:]  # the first word of a sentence
            is_sure = len(group) > 1 or any(one.is_code or text[one.start : one.end].isupper() for one in group)
        if is_sure:
            yield group


def _title(text: str, unit: tuple[int, int], language: str) -> str:
    """Return what stands first on a page, where that is no sentence."""
    start, end = _fields(text, *unit, language)[0]
    start, end = clauses_of(text[start:end])[0] if text[start:end].strip() else (0, 0)
    return text[unit[0] + start : unit[0] + end][:_TITLE]


def _may_be_name(name: Name, known: Set[str]) -> bool:
    is_common = name.key in UNIT_WORDS or name.key in WEEKDAYS
    return not is_common and (name.is_sure or name.key in known or not is_function_word(name.key))


def statements_of(text: str, units: Sequence[tuple[int, int]], language: str, label: str) -> list[Statement]:
    """Return the statements of a page with these units; a sentence of several clauses is one as well."""
    rows = list(_tables(text))
    title = frozenset(keys_of(_title(text, units[0], language))) if units else frozenset()
    under = title | frozenset(keys_of(label))
    found: list[Statement] = []
    heading: frozenset[str] = frozenset()
    tabled = [(start, end) for table in rows for start, end in table]
    for table in rows:
        found += _rows(text, table, language, under)
    for start, end in units:
        for a, b in _outside(start, end, tabled):
            said = text[a:b]
            made = list(_said(text, a, b, language, under | heading))
            if a == units[0][0] and made and all(point.kind == "name" for point in made[0].points):
                made[0] = replace(made[0], is_title=True)
            found += made
            if b - a <= _HEADING and not _ENDS.search(said) and not any(char.isdigit() for char in said):
                heading = frozenset(keys_of(said))
    return sorted(found, key=lambda one: (one.start, one.end))[:_MOST_TOTAL]


def _tables(text: str) -> Iterator[list[tuple[int, int]]]:
    """Yield the lines of each table: lines of as many cells that follow each other."""
    table: list[tuple[int, int]] = []
    count = 0
    for match in re.finditer(r"[^\n]+", text):
        cells = len(_cells(match.group()))
        if cells >= 2 and (not table or (cells == count and match.start() <= table[-1][1] + 1)):
            table.append(match.span())
        else:
            if len(table) > 1:
                yield table
            table = [match.span()] if cells >= 2 else []
        count = cells
    if len(table) > 1:
        yield table


def _rows(text: str, table: Sequence[tuple[int, int]], language: str, under: frozenset[str]) -> Iterator[Statement]:
    first, *others = table
    heads = _cells(text[slice(*first)])
    is_headed = not any(map(_is_value, heads))
    above = text.rfind("\n", 0, max(0, first[0] - 2)) + 1
    stood = {*under, *keys_of(text[max(above, first[0] - _TITLE) : first[0]])}
    stood |= {key for cell in heads for key in keys_of(cell)} if is_headed else set()
    named = tuple(frozenset(keys_of(cell)) | _numbers(cell, language) for cell in heads) if is_headed else ()
    of_heads = [point for cell in heads for point in points_of(cell, language)] if is_headed else []
    for start, end in others if is_headed else table:
        line = text[start:end]
        cells = _cells(line)
        points = tuple(tuple(points_of(cell, language)) for cell in cells)
        shown = " ".join(f"{head} {cell}" for head, cell in zip(heads, cells, strict=True)) if is_headed else line
        held = (*(point for cell in points for point in cell), *of_heads)
        yield Statement(
            start, end, shown, frozenset(keys_of(line)), frozenset(stood), held, _name_words(shown),
            is_field=True, heads=named, cells=points,
        )  # fmt: skip


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _CELL.split(line.strip().strip("|"))]


def _is_value(cell: str) -> bool:
    return any(map(str.isdigit, cell)) and not keys_of(cell) and not re.fullmatch(r"\s*(?:19|20)\d\d\S*\s*", cell)


def _numbers(text: str, language: str) -> frozenset[str]:
    return frozenset(f"#{min(map(str, one.values))}" for one in figures(text, language))


def _outside(start: int, end: int, taken: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a span outside those that are taken."""
    for low, high in taken:
        if low < end and high > start:
            if low > start:
                yield start, low
            start = max(start, high)
    if end > start:
        yield start, end


def _said(text: str, start: int, end: int, language: str, under: frozenset[str]) -> Iterator[Statement]:
    """Yield the statements of a sentence or of a run of labels, and the whole where it has several."""
    said = text[start:end]
    if not any(map(str.isalnum, said)):
        return
    fields = _fields(text, start, end, language)
    if len(fields) > 1 or not _ENDS.search(said.rstrip()):
        for a, b in fields:
            yield from _clauses(text, a, b, language, under, is_field=True)
        return
    yield from _clauses(text, start, end, language, under, is_field=False)


def _fields(text: str, start: int, end: int, language: str) -> list[tuple[int, int]]:
    """Return the parts of a run of labels and values: each begins at a label, or behind an amount or a date.

    `Due date: 26 October 2025 Customer: Lowther School` has two, and so has `Net EUR 40.00 Total EUR 47.60`. A
    sentence is one.
    """
    said = text[start:end]
    cuts = {match.start() for match in _LABEL.finditer(said)}
    if not _ENDS.search(said.rstrip()):
        for point in points_of(said, language):
            last = point.figures[-1] if point.figures else None
            if last is None or (point.kind not in ("money", "%", "date") and last.step >= 1):
                continue
            behind = re.compile(r"\s?(?:[€$£%]|EUR|USD|GBP|CHF|[a-z]{1,6})?\s+(?!EUR|USD|GBP|CHF)(?=[A-ZÀ-Þ])").match(
                said, last.end
            )
            if behind and not (point.kind == "date" and not last.is_year):
                cuts.add(behind.end())
    cuts |= {match.end() for match in re.finditer(r"\n\n", said)}
    places = sorted({0, *cuts, len(said)})
    return [(start + a, start + b) for a, b in pairwise(places) if said[a:b].strip()]


def _clauses(
    text: str, start: int, end: int, language: str, under: frozenset[str], *, is_field: bool
) -> Iterator[Statement]:
    said = text[start:end]
    points = points_of(said, language)
    bounds = [(0, len(said))] if is_field and _LABEL.match(said.lstrip()) else clauses_of(said, points)
    before: frozenset[str] = frozenset()
    lead = ""
    made = []
    for a, b in bounds:
        part = said[a:b]
        own = keys_of(part)
        mine = tuple(point for point in points if a <= point.start < b)
        passed = before - {lead} if _ARTICLE.match(part) else before
        named_here = _name_words(part)
        if named_here & {key for point in mine if point.kind == "name" for key in point.keys}:
            passed = passed - {key for point in points if point.kind == "name" for key in point.keys}
        made.append(
            Statement(
                start + a,
                start + b,
                part,
                frozenset(own),
                under | passed,
                mine,
                named_here,
                is_field=is_field,
                is_elliptic=bool(before),
            )
        )
        if own and not lead:
            lead = own[0]
        before |= frozenset(own)
    if len(made) > 1:
        whole = frozenset(keys_of(said))
        made.append(Statement(start, end, said, whole, under, tuple(points), _name_words(said), is_whole=True))
    yield from made


def clauses_of(text: str, points: Sequence[Point] = ()) -> list[tuple[int, int]]:
    """Return the clauses of a sentence, without the commas and conjunctions between them.

    What has no words of its own belongs to the clause before it, as the second date of "on 3 May and 4 June" does; at
    the beginning, to the one behind it.
    """
    bounds: list[tuple[int, int]] = []
    at = 0
    dates = [(point.figures[0].start, point.figures[-1].end) for point in points if point.figures]
    for cut in _CUTS.finditer(text):
        is_within = any(start < cut.start() < end for start, end in dates)  # `August 23, 2017`
        if text[at : cut.start()].strip() and not is_within:
            bounds.append((at, cut.start()))
            at = cut.end()
    if text[at:].strip():
        bounds.append((at, len(text)))
    found: list[tuple[int, int]] = []
    for start, end in bounds:
        if found and (not _is_wordy(text[start:end]) or not _is_wordy(text[slice(*found[-1])])):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _is_wordy(text: str) -> bool:
    """Return whether a text has a word that is no number, month, weekday or function word."""
    return any(word not in WEEKDAYS for word in keys_of(text))


def _name_words(text: str) -> frozenset[str]:
    """Return every word that a name may be met by, compact and in lower case."""
    return frozenset(
        compact(part)
        for word in re.findall(r"[^\s|,;:()]+", text)
        for part in (word, *re.split(r"[.&'’-]", word))
        if part
    )
