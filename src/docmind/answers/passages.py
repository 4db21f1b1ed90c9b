"""Passages of a page that can be quoted whole: sentences, list items, table rows.

A sentence or heading that announces a list comes with it, a list item with what announces it, a row with the header of
its table, a question with its answer. Headings, running heads, page numbers and tables of contents are no passages.
Every part of a passage is a span of the unchanged page text.

Above 500 lines: what a line is depends on the kinds of the lines beside it, and so does what comes along with it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from docmind.answers.page_lines import (
    ADDRESSEE,
    ANNOUNCES,
    COMPANY,
    HEADING_LINES,
    LEADERS,
    NUMBER_OF_PAGE,
    NUMBERS,
    TERMINATED,
    TITLE,
    VERB,
    WITH_PRICE,
    is_heading,
    says_nothing,
)
from docmind.answers.paragraphs import (
    BLOCK,
    EDGE,
    KNOWN,
    Kind,
    Span,
    blocks_of,
    full_lengths,
    heads,
    is_caption,
    is_numbered_title,
    is_title,
    known_lines,
    masked,
)
from docmind.answers.sentences import BULLET, leans, sentences
from docmind.blocks import PageBlock
from docmind.documents import Catalog, PageRecord
from docmind.errors import DamagedError
from docmind.language import STOP_WORDS

LONGEST = 900  # characters of one sentence; longer ones are cut at a semicolon, a comma or a space

LONGEST_LIST, MOST_ITEMS = 900, 16  # a sentence with the list that it announces

LONGEST_CODE = 600  # characters of lines of code without an empty line

LONGEST_LEAD = 300  # a sentence that is repeated before each item that it announces

GAP = "\n…\n"  # between two parts of a passage that are not beside each other

_FEWEST_COLUMNS = 3  # of a header that is not quoted alone

_HEADER_ROWS = 40  # lines above a row of numbers in which its header is looked for

_FEW_SENTENCES = 3  # paragraphs with an end, from which on a page is one of sentences

_SUBTITLES = 2  # lines below the title of a page that may be titles too

_LONG_TITLE = 5  # words of a first line that may have numbers: `Minutes of meetings 2023`

_FEW_WORDS = 3  # `None.` says something below its heading only

_ENDED = re.compile(r"[.?!…:。！？][\"”’»)\]*_\s]{0,6}$")

_ASKS = re.compile(r"\?[\"”’»)\]*_]{0,6}$")

_UNSETTLED = (
    r"(?:open|pending|unresolved|tb[cd]|em aberto|aberta|pendente|abierta|pendiente|sin resolver|offene?|ungeklärt|"
    r"ouverte|en suspens)"
)

_ISSUE = r"(?:questions?|points?|issues?|quest(?:ão|ões)|ponto|pregunta|cuesti[óo]n|punto|fragen?|punkte?)"

_OPEN_QUESTION = re.compile(  # `Open: who orders the tiles?` What follows is no answer to it.
    rf"\W*(?:{_UNSETTLED}(?:\s{_ISSUE})?|{_ISSUE}\s{_UNSETTLED})\s?:[^\n]*\?", re.IGNORECASE
)

_DECIMAL = re.compile(r"\d[.,]\d|%")

_NUMBERED_END = re.compile(r"^\d{1,4}\b|\b\d{1,4}\W{0,3}$")

_YEARS = re.compile(r"\b(?:(?:FY)?\s?(?:19|20)\d\d|FY\s?\d\d|Q[1-4])\b")

_MARKERS = {  # what two items of one list have in common
    "section": re.compile(r"(?:§|art)", re.IGNORECASE),
    "roman": re.compile(r"\(?[IVXLC]+\b"),
    "number": re.compile(r"\(?\d"),
    "letter": re.compile(r"\(?[a-zA-Z][.)]"),
}

_FEW_LINES = 6  # on a page with no more lines, none is a running head or cut off by the end of the page

_ASIDE = frozenset({"header", "footer", "caption"})  # a note may state what is asked


@dataclass(frozen=True, slots=True)
class Passage:
    """What can be quoted: its own span, and the span that it needs to be understood, if that is elsewhere.

    `is_whole` tells that it neither begins nor ends in mid-sentence, `is_row` that it is a row, whose lead is a header,
    `is_aside` that the file calls it a caption, header or footer, `is_quoted` that a mail has it from an earlier one.
    `field` is the name of a line of the header of a mail, or of an invitation. `leans` tells that it begins with a word
    such as "it", and that its lead is the sentence before it.
    """

    start: int
    end: int
    lead: Span | None = None
    is_whole: bool = True
    is_row: bool = False
    is_aside: bool = False
    is_quoted: bool = False
    field: str = ""
    leans: bool = False

    @property
    def is_own(self) -> bool:
        """Whether it is the document's own statement: not beside its text, and not quoted from an earlier mail."""
        return not (self.is_aside or self.is_quoted or self.field)

    def text(self, page: str) -> str:
        """Return the quote; an ellipsis on a line of its own stands for what is left out."""
        own = page[self.start : self.end]
        if self.lead is None:
            return own
        between = page[self.lead[1] : self.start]
        glue = GAP if between.strip() else between if self.leans else "\n"
        return f"{page[slice(*self.lead)]}{glue}{own}"

    def spans(self) -> tuple[Span, ...]:
        return ((self.start, self.end),) if self.lead is None else (self.lead, (self.start, self.end))


@dataclass(slots=True)
class _Unit:
    start: int
    end: int
    kind: Kind
    block: int
    is_first: bool  # of its block
    is_cut: bool = False  # its last line is as long as lines are, and has no end
    lead: Span | None = None
    known: PageBlock | None = None  # what the file says that it is
    leans: bool = False  # on the sentence before it, which is its lead

    @property
    def is_names(self) -> bool:
        """Whether it names the columns of a table."""
        return self.known is not None and self.known.kind == "header_row"

    @property
    def is_field(self) -> bool:
        """Whether it is a line of the header of a mail, or of an invitation."""
        return self.known is not None and self.known.kind == "field"

    @property
    def is_quoted(self) -> bool:
        """Whether a mail has it from an earlier one."""
        return self.known is not None and self.known.kind == "quoted"


def passages(text: str, running: Collection[str] = (), structure: Sequence[PageBlock] = ()) -> list[Passage]:
    """Return the passages of a page in reading order; those with a list overlap its items.

    `running` are the lines, as `edges` returns them, that the pages beside it have too. `structure` is what the file
    says that parts of the text are; what the other parts are is seen from their lines.
    """
    return [passage for _, passage in headed_passages(text, running, structure)]


def stored_passages(catalog: Catalog, page: PageRecord) -> list[Passage]:
    """Return the passages of a stored page; none where its blocks are damaged, which the catalogue notes."""
    try:
        return passages(page.text, (), page.structure())
    except DamagedError:
        catalog.note_damage(page.doc_id, page.page_no)
        return []


def headed_passages(
    text: str, running: Collection[str] = (), structure: Sequence[PageBlock] = ()
) -> list[tuple[str, Passage]]:
    """Return the passages of a page, each with the nearest heading above it on one line; empty where there is none."""
    units = _units(text, running, structure)
    if all(unit.kind == "heading" or unit.is_names for unit in units):  # the page has nothing else
        guessed = [unit for unit in units if unit.known is None] or units
        units = [replace(unit, kind="keyed", known=None) if unit in guessed else unit for unit in units]
    found: list[tuple[str, Passage]] = []
    heading = structure[0].path[-1] if structure and structure[0].path else ""
    for at, unit in enumerate(units):
        said = text[unit.start : unit.end]
        if len(units) > _FEW_LINES and not any(map(str.isalpha, said)):
            continue
        if LEADERS.search(said) or _is_header(text, units, at) or (COMPANY.search(said) and ADDRESSEE.match(said)):
            continue
        if unit.kind == "heading":
            heading = " ".join(said.split())
            # Articles and sections are no items of their heading.
            below = units[at + 1] if at + 1 < len(units) else unit
            is_list = below.kind in ("item", "keyed") and _marker(text[below.start : below.end]) != "section"
            is_list = is_list and not below.is_field
            last = _announced(text, units, at) if is_list else None
            if last is not None:
                found.append((heading, Passage(unit.start, last.end, is_whole=not last.is_cut)))
            continue
        if not unit.is_quoted and (_ASKS.search(said) or ANNOUNCES.search(said)):
            last = _announced(text, units, at) if not _OPEN_QUESTION.match(said) else None
            if last is not None and ANNOUNCES.search(text[last.start : last.end]):  # an answer that announces a list
                last = _announced(text, units, units.index(last, at))
            if last is None:
                continue
            whole = _begins_whole(text, units, at) and not last.is_cut
            found.append((heading, Passage(unit.start, last.end, unit.lead, whole)))
            continue
        is_first_row = unit.kind == "row" and unit.lead is None and " | " in said and not any(map(str.isdigit, said))
        whole = (
            _begins_whole(text, units, at)
            and not unit.is_cut
            and not is_first_row
            and said.count("(") <= said.count(")")
        )
        is_aside = unit.known is not None and unit.known.kind in _ASIDE
        is_row = unit.kind == "row"
        field = said.partition(":")[0] if unit.is_field else ""
        found.append(
            (
                heading,
                Passage(unit.start, unit.end, unit.lead, whole, is_row, is_aside, unit.is_quoted, field, unit.leans),
            )
        )
    return found


def code_passages(text: str, structure: Sequence[PageBlock] = ()) -> list[tuple[str, Passage]]:
    """Return the passages of source code on a page, each with the definition that it stands in; "" where in none.

    A short definition is one passage, with its comment; others are cut at empty lines, long ones between lines. What
    `structure` says to be no code has the passages of prose.
    """
    code = [block for block in structure if block.kind == "code"]
    if not code:
        return [("", passage) for passage in _code_paragraphs(text, 0, len(text))]
    found = [
        (" ".join(block.path[-1:]), passage)
        for block in code
        for passage in (
            [Passage(block.start, block.end)]
            if block.end - block.start <= LONGEST_CODE and block.path
            else _code_paragraphs(text, block.start, block.end)
        )
    ]
    if len(code) == len(structure):
        return found
    prose = headed_passages(text, (), structure)
    return found + [
        one for one in prose if not any(one[1].start < block.end and block.start < one[1].end for block in code)
    ]


def _code_paragraphs(text: str, begin: int, stop: int) -> list[Passage]:
    found: list[Passage] = []
    for match in re.compile(r"[^\s][^\n]*(?:\n[^\S\n]*[^\s][^\n]*)*").finditer(text, begin, stop):
        start = at = match.start()
        for line in re.finditer(r"[^\n]+", match.group()):
            end = match.start() + line.end()
            if end - start > LONGEST_CODE and at > start:
                found.append(Passage(start, at))
                start = match.start() + line.start()
            at = end
        found.append(Passage(start, at))
    return found


def edges(text: str) -> set[str]:
    """Return the first and the last lines of a page without their digits, to compare with the pages beside it."""
    lines = [said for line in text.split("\n") if (said := masked(line))]
    return {*lines[:EDGE], *lines[-EDGE:]}


def nearest_heading(text: str, at: int) -> str:
    """Return the nearest line above a place that reads as a title; empty where the page has none above it.

    It takes microseconds where `headed_passages` takes milliseconds, and knows nothing of lists and running heads.
    """
    lines = (" ".join(line.split()) for line in reversed(text[:at].splitlines()))
    return next((line for line in lines if is_heading(line) and not NUMBER_OF_PAGE.fullmatch(line)), "")


def has_verb(text: str) -> bool:
    """Return whether a text has a verb that makes a statement of a short line, in English, Portuguese or Spanish."""
    return VERB.search(text) is not None


def _units(text: str, running: Collection[str], structure: Sequence[PageBlock]) -> list[_Unit]:
    units: list[_Unit] = []
    known = {block.start: block for block in map(partial(_bare, text), structure) if block.kind in KNOWN}
    lines = [match.span() for match in re.finditer(r"[^\s](?:[^\n]*[^\s])?", text)]
    full = full_lengths(text, lines)
    if len(lines) <= _FEW_LINES:  # pages that are made of a few lines may have them in common
        ends = (text[slice(*line)] for line in (*lines[:1], *lines[-1:]) if len(lines) > 1)
        running = {masked(line) for line in ends if _NUMBERED_END.search(line)}.intersection(running)
    blocks = list(blocks_of(text, lines, full, running, known, known_lines(text, structure)))
    # Where most of a page is sentences, lists and rows, lines that are neither are titles and fragments.
    stated = sum(kind != "prose" or bool(TERMINATED.search(text[start:end])) for kind, start, end in blocks)
    ended = sum(kind == "prose" and bool(TERMINATED.search(text[start:end])) for kind, start, end in blocks)
    has_sentences = 2 * stated >= len(blocks) or ended >= _FEW_SENTENCES
    for number, (kind, start, end) in enumerate(blocks):
        if start in known:
            pieces = sentences(text, start, end, LONGEST) if kind in ("prose", "item") else [(start, end)]
            units += [_Unit(a, b, kind, number, a == start, known=known[start]) for a, b in pieces if b > a]
            continue
        if kind == "prose" and (
            all(is_heading(line) for line in text[start:end].split("\n") if line.strip())
            or (number + 1 < len(blocks) and heads(text, (start, end), blocks[number + 1]))
            or (number + 1 < len(blocks) and is_caption(text, (start, end), blocks[number + 1]))
            or (number == 0 and len(blocks) > 1 and is_title(text, (start, end), blocks[1]))
        ):
            kind = "heading"
        if kind == "item" and number + 1 < len(blocks) and is_numbered_title(text, (start, end), blocks[number + 1]):
            kind = "heading"
        is_fragment = kind == "prose" and has_sentences and len(blocks) > 1 and says_nothing(text[start:end])
        is_first = number == 0 and len(blocks) > HEADING_LINES and says_nothing(text[start:end])
        is_long = len(text[start:end].split()) >= _LONG_TITLE
        has_digits = any(map(str.isdigit, text[start:end]))
        is_below = 0 < number <= _SUBTITLES and units[-1:] != [] and units[-1].kind == "heading"
        if kind == "prose" and (
            (is_fragment and not has_digits)
            or (is_first and is_long)
            or (is_below and not has_digits and "\n" not in text[start:end] and says_nothing(text[start:end]))
        ):
            kind = "heading"
        pieces = sentences(text, start, end, LONGEST) if kind in ("prose", "item") else [(start, end)]
        units += [_Unit(a, b, kind, number, a == start) for a, b in pieces if b > a]
        if units and kind in ("prose", "item") and len(lines) > _FEW_LINES:
            line = text[max(text.rfind("\n", 0, end) + 1, start) : end]
            width = full[bisect_right(lines, (end - 1, end)) - 1]
            units[-1].is_cut = len(line) >= width and not (TERMINATED.search(line) or ANNOUNCES.search(line))
        is_open = kind == "prose" and has_sentences and len(lines) > _FEW_LINES and not _ENDED.search(text[start:end])
        if is_fragment or is_open or (kind == "prose" and text[start:end].endswith((";", ","))):
            units[-1].is_cut = True
    _set_leads(text, units)
    for before, unit in pairwise(units):
        if before.block == unit.block and unit.lead is None and leans(text[unit.start : unit.end], text):
            first = before.lead[0] if before.leans and before.lead else before.start
            start = first if unit.end - first <= LONGEST else before.start
            unit.leans, unit.lead = True, (start, before.end)
    return units


def _bare(text: str, block: PageBlock) -> PageBlock:
    """Return a block without the spaces that it begins with, as lines are."""
    said = text[block.start : block.end]
    return replace(block, start=block.start + len(said) - len(said.lstrip()))


def _set_leads(text: str, units: Sequence[_Unit]) -> None:
    """Give each row the header of its table, and each item the sentence or heading that announces its list.

    What a mail quotes has the line that says whose words it is.
    """
    header: Span | None = None
    title: Span | None = None  # the subject of a mail
    opening: Span | None = None  # the line that says whose words follow
    whose: dict[int, Span | None] = {}  # the same for each depth of quoting
    announced: Span | None = None
    marker = ""
    for at, unit in enumerate(units):
        before = units[at - 1] if at else None
        said = text[unit.start : unit.end]
        if unit.known is not None and unit.known.kind == "quoted":
            announced = None
            if unit.known.level == 0:
                opening = (unit.known.start, unit.known.end)
                continue
            if opening is not None:
                whose[unit.known.level], opening = opening, None
            unit.lead = whose.get(unit.known.level)
            continue
        opening, whose = None, {}
        if unit.is_field:
            unit.lead = title
            continue
        title = (unit.start, unit.end) if unit.kind == "heading" else title
        if unit.kind == "row" and unit.known is not None:
            names = _names_of(units, at) if not unit.is_names else []
            unit.lead = (names[0].start, names[-1].end) if names else None
        elif unit.kind == "row":
            if " | " in said:
                is_first = before is None or before.kind != "row" or text.count("\n", before.end, unit.start) > 1
                header = (unit.start, unit.end) if is_first else header
                unit.lead = None if is_first else header
            else:
                unit.lead = _years_above(text, units, at) or _names_above(text, units, at)
        if unit.kind == "heading" or (ANNOUNCES.search(said) and len(said) <= LONGEST_LEAD):
            announced, marker = (unit.start, unit.end), ""
        elif unit.kind in ("item", "keyed") and announced is not None and unit.is_first:
            if not marker and _marker(said) == "section" and before is not None and before.kind == "heading":
                announced = None  # articles are no items of their heading
                continue
            marker = marker or _marker(said)
            if _marker(said) == marker:
                unit.lead = announced
            elif _marker(said) == "section":
                announced = None
        elif unit.kind == "prose":
            is_line = len(said) <= BLOCK and not TERMINATED.search(said) and not unit.is_cut
            is_line = is_line or len(said.split()) <= _FEW_WORDS
            unit.lead = announced if is_line and before is not None and before.kind == "heading" else None
            announced = None


def _names_of(units: Sequence[_Unit], at: int) -> list[_Unit]:
    """Return the rows above a row of a known table that name its columns and follow each other."""
    known = units[at].known
    table = known.table if known is not None else None
    names: list[_Unit] = []
    for unit in reversed(units[:at]):
        if unit.known is None or unit.known.table != table or (names and not unit.is_names):
            break
        if unit.is_names:
            names.insert(0, unit)
    return names


def _marker(item: str) -> str:
    return next(
        (name for name, form in _MARKERS.items() if form.match(item)), item[:1] if BULLET.match(item) else "key"
    )


def _is_header(text: str, units: Sequence[_Unit], at: int) -> bool:
    """Return whether a line only names the columns of the rows below it; numbers alone say nothing either.

    Two cells may be a key with its value.
    """
    unit = units[at]
    said = text[unit.start : unit.end]
    if unit.known is not None:
        return unit.is_names
    if NUMBERS.fullmatch(said):
        return True
    lead = units[at + 1].lead if at + 1 < len(units) and units[at + 1].kind == "row" else None
    if lead is None or lead[0] < unit.start or lead[1] != unit.end or TERMINATED.search(said):
        return False
    return " | " not in said or (said.count(" | ") >= _FEWEST_COLUMNS - 1 and not any(map(str.isdigit, said)))


def _names_above(text: str, units: Sequence[_Unit], at: int) -> Span | None:
    """Return the line of words directly above the rows around a row."""
    first = at
    while first and units[first - 1].kind == "row":
        first -= 1
    if not first or text.count("\n", units[first - 1].end, units[first].start) != 1:
        return None
    above = units[first - 1]
    *_, (start, end) = _lines(text, above)
    line = text[start:end]
    if above.kind not in ("prose", "heading", "keyed") or len(line) > TITLE or VERB.search(line):
        return None
    if WITH_PRICE.search(line) or _DECIMAL.search(line):
        return None
    return None if TERMINATED.search(line) or above.is_cut or " " not in line else (start, end)


def _years_above(text: str, units: Sequence[_Unit], at: int) -> Span | None:
    """Return the line of years or quarters above a row of numbers."""
    for unit in reversed(units[max(0, at - _HEADER_ROWS) : at]):
        for start, end in _lines(text, unit):
            line = text[start:end]
            others = [word for word in re.findall(r"[^\W\d_]+", line) if word.lower() not in STOP_WORDS]
            is_sentence = TERMINATED.search(line) and others
            if len(_YEARS.findall(line)) >= 2 and len(others) <= 8 and len(line) <= TITLE and not is_sentence:
                return start, end
        if unit.kind == "prose" and unit.end - unit.start > BLOCK:
            return None
    return None


def _lines(text: str, unit: _Unit) -> Iterator[Span]:
    for match in re.finditer(r"[^\s](?:[^\n]*[^\s])?", text[unit.start : unit.end]):
        yield unit.start + match.start(), unit.start + match.end()


def _announced(text: str, units: Sequence[_Unit], at: int) -> _Unit | None:
    """Return the last unit of the list, table, paragraph or answer that a unit announces; None where there is none."""
    last: _Unit | None = None
    kind, marker = "heading", ""
    for unit in units[at + 1 : at + 1 + MOST_ITEMS]:
        said = text[unit.start : unit.end]
        longest = LONGEST_LIST if last is not None else LONGEST_LIST + LONGEST
        if unit.kind == "heading" or LEADERS.search(said) or unit.end - units[at].start > longest:
            break
        if last is None and unit.kind == "prose" and _ASKS.search(said):
            continue  # two questions with one answer
        if last is None:
            kind, marker = unit.kind, _marker(said)
        elif unit.kind != kind or (unit.is_first and unit.kind == "item" and _marker(said) != marker):
            break
        last = unit
        if kind == "prose" and not said.endswith((";", ",")):
            break
    return last


def _begins_whole(text: str, units: Sequence[_Unit], at: int) -> bool:
    unit = units[at]
    said = text[unit.start : unit.end]
    first = said.lstrip('"“«‘([*_¿¡—–- ')[:1]
    is_prose = unit.kind in ("prose", "heading") or (unit.kind == "item" and not BULLET.match(said))
    if not is_prose or not first.islower():
        return True
    if not unit.is_first:
        return bool(TERMINATED.search(text[units[at - 1].start : units[at - 1].end]))
    return text[: unit.start].rstrip().endswith((":", ";")) or len(units) <= _FEW_LINES
