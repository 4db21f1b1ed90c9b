"""Passages of a page that can be quoted whole: sentences, list items, table rows.

A sentence or heading that announces a list comes with it, a list item with what announces it, a row with the header of
its table, a question with its answer. Headings, running heads, page numbers and tables of contents are no passages.
Every part of a passage is a span of the unchanged page text.

Above 500 lines: what a line is depends on the kinds of the lines beside it, and so does what comes along with it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Literal

from docmind.answers.sentences import BULLET, SHORT_LINE, dangles, is_row, leans, sentences
from docmind.blocks import PageBlock, PageKind
from docmind.documents import Catalog, PageRecord
from docmind.embedding import STOP_WORDS, sentence_ends
from docmind.errors import DamagedError

LONGEST = 900  # characters of one sentence; longer ones are cut at a semicolon, a comma or a space
LONGEST_LIST, MOST_ITEMS = 900, 16  # a sentence with the list that it announces
LONGEST_CODE = 600  # characters of lines of code without an empty line
LONGEST_LEAD = 300  # a sentence that is repeated before each item that it announces
EDGE = 4  # lines at either end of a page that may be running heads
GAP = "\n…\n"  # between two parts of a passage that are not beside each other

_BLOCK = 160  # characters of fragments that are joined
_FEWEST_COLUMNS = 3  # of a header that is not quoted alone
_HEADER_ROWS = 40  # lines above a row of numbers in which its header is looked for
_TITLE_WORDS, _TITLE = 12, 90
_HEADING_LINES = 4
_FEW_SENTENCES = 3  # paragraphs with an end, from which on a page is one of sentences
_SUBTITLES = 2  # lines below the title of a page that may be titles too
_LONG_TITLE = 5  # words of a first line that may have numbers: `Minutes of meetings 2023`
_FEW_WORDS = 3  # `None.` says something below its heading only

_TERMINATED = re.compile(r"[.!?…;。！？][\"”’»)\]*_]{0,6}$")
_ENDED = re.compile(r"[.?!…:。！？][\"”’»)\]*_\s]{0,6}$")
_ENDS = re.compile(r"[.?!;]$")
_ANNOUNCES = re.compile(r"[:：]\s*(?:\([^()\n]{0,120}\))?$")
_ASKS = re.compile(r"\?[\"”’»)\]*_]{0,6}$")
_UNSETTLED = (
    r"(?:open|pending|unresolved|tb[cd]|em aberto|aberta|pendente|abierta|pendiente|sin resolver|offene?|ungeklärt|"
    r"ouverte|en suspens)"
)
_ISSUE = r"(?:questions?|points?|issues?|quest(?:ão|ões)|ponto|pregunta|cuesti[óo]n|punto|fragen?|punkte?)"
_OPEN_QUESTION = re.compile(  # `Open: who orders the tiles?` What follows is no answer to it.
    rf"\W*(?:{_UNSETTLED}(?:\s{_ISSUE})?|{_ISSUE}\s{_UNSETTLED})\s?:[^\n]*\?", re.IGNORECASE
)
_KEYED = re.compile(r"[^\s:|](?:(?!\.\s)[^:|\n]){0,40}[^\s:|]:\s+\S")
_LEADERS = re.compile(r"\.{4,}|(?:\.\s){4,}|…{2,}|_{5,}")
_NUMBERS = re.compile(r"[$€£(+-]{0,3}\d[\d.,%()$€£]*(?:\s++[$€£(+—–-]{0,3}\d?[\d.,%()$€£]*){1,12}")  # no words
_AMOUNT = r"(?:[$€£(+–-]{0,3}\d(?:[\d.,]*\d)?[%)€]{0,3}|[—–-])"
_AMOUNTS = re.compile(rf"[^\W\d_].*?(?:\s(?:[$€£]\s)?{_AMOUNT}){{2,12}}")  # words and at their end two amounts
_LAST_AMOUNT = re.compile(rf"[^\W\d_][^.!?;:]{{0,80}}\s{_AMOUNT}")
_ENTRY = re.compile(rf"[^\W\d_][^.!?;:|\d]{{0,30}}\s(?:[$€£]\s?)?({_AMOUNT})")  # `Hot water 760`
_FEWEST_ENTRIES = 3
_WIDE, _FULL = 45, 0.7  # characters of a full line, and its share of the usual length of a line
_AROUND = 8  # lines before and after a line in which a narrow column is looked for
_INITIAL = re.compile(r"[A-Z]\.\s[A-Z]")
_PAIRS = (("(", ")"), ("“", "”"), ("«", "»"))
_NARROWEST = 20  # characters of a line of a column
_FEWEST_BROKEN, _BROKEN = 3, 0.05  # lines that go on in small letters and show the width, and their share of all
_RAGGED = 0.85  # share of the middle length of such lines that others have at least
_FILLED, _NARROW_SHEET = 0.75, 40  # share of the widest line that a drawn line fills, and its least characters
_PRICE = re.compile(r"[€£$]\s?\d|\d\s?[€£$]")
_DASHED = re.compile(r"^[^\W\d_][^.!?:]{0,40}\s[-–—]\s")  # `The Dolphin - lent to Ann`
_DECIMAL = re.compile(r"\d[.,]\d|%")
_NUMBERED_END = re.compile(r"^\d{1,4}\b|\b\d{1,4}\W{0,3}$")
_SECTION = re.compile(r"\d{1,2}(?:\.\d{1,3}){1,4}\.?\s+[\"“¿¡]?[A-ZÀ-Þ]")  # `14.1 Can I sell it?`
_PART = re.compile(r"(?:Item|Note|Nota|Chapter|Cap[íi]tulo|Annex|Anexo)\s+(?:\d{1,2}[A-Z]?|[IVXLC]{1,6})\.?\s+[^\W\d_]")
_GOES_ON = frozenset("°º%),;:.’”»=+<>≤≥/&")  # what no line begins with that says something of its own
_COMPANY = re.compile(r"\b(?:Inc|Ltd|Limited|Corp|Corporation|Company|Co|LLC|PLC|Lda|S\.\s?[AL]|N\.\s?V)\.{0,2}$")
_ADDRESSEE = re.compile(r"(?:To (?:the|our)|Dear|Aos?|A l[ao]s|Estimad[ao]s?|Exm[ao]s?\.?)\s[^.!?]{2,80}[.,:]{0,2}$")
_PAGE_NUMBER = re.compile(
    r"[-–—\s\[(]*(?:(?:page|p[áa]gina|p[áa]g\.?|p\.)\s*)?(?:\d{1,4}|[ivxlc]{1,7})"
    r"(?:\s*(?:of|de|/|\|)\s*\d{1,4})?[-–—\s\])]*",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\b(?:page|p[áa]gina|p[áa]g\.?)\s*\d{1,4}(?:\s*(?:of|de|/)\s*\d{1,4})?$", re.IGNORECASE)
_ADDRESSED = re.compile(r"(?<!\S)(?>\S*?(?:https?://|www\.))\S++(?:\s+\d{1,4}\s*/\s*\d{1,4})?$")
_YEARS = re.compile(r"\b(?:(?:FY)?\s?(?:19|20)\d\d|FY\s?\d\d|Q[1-4])\b")
_NUMBERED = re.compile(r"(?:\(?(?:(?:\d{1,2}(?:\.\d{1,3}){0,4}|[IVXLC]{2,6})[.)]?|[A-Z][.)])\s+)")
_NAMED_PART = re.compile(
    r"(?:chapter|section|part|title|annex|appendix|article|table|figure|se[çc][ãa]o|cap[íi]tulo|t[íi]tulo|anexo|parte|"
    r"art[íi]culo|secci[óo]n|p[áa]rrafo|contents)\b[\s\w.:–—-]{0,12}$",
    re.IGNORECASE,
)

_MARKERS = {  # what two items of one list have in common
    "section": re.compile(r"(?:§|art)", re.IGNORECASE),
    "roman": re.compile(r"\(?[IVXLC]+\b"),
    "number": re.compile(r"\(?\d"),
    "letter": re.compile(r"\(?[a-zA-Z][.)]"),
}
_POINT = re.compile(r"[•·▪●‣*–—-]\s+[^\W\d_]")
_ROMAN = re.compile(r"\b[ivxlc]+\b")
_VERB = re.compile(  # makes a statement of a short line
    r"\b(?:is|are|was|were|has|have|had|will|can|may|must|needs|costs|closes|opens|begins|starts|ends|é|são|está|estão|foi|"
    r"era|tem|têm|há|fica|custa|deve|pode|abre|fecha|es|son|están|fue|hay|tiene|tienen|cuesta|debe|puede|cierra|queda)\b",
    re.IGNORECASE,
)
_NOTE_WORDS = STOP_WORDS | {
    "see",
    "cf",
    "id",
    "ver",
    "vid",
    "der",
    "die",
    "das",
    "le",
    "les",
    "il",
    "we",
    "he",
    "she",
    "all",
}
_NOTE = re.compile(r"\d{1,3}[.)]?\s+([A-ZÀ-Þ][a-zà-ÿ]*)\s+\S")  # `4 The party does not argue`
_BEFORE_NUMBERS = re.compile(
    r"\b(?:page|no|nos|art|article|section|chapter|table|figure|note|clause|item|of|and|to|p)\.?$", re.IGNORECASE
)
_FEW_LINES = 6  # on a page with no more lines, none is a running head or cut off by the end of the page

Span = tuple[int, int]
Kind = Literal["prose", "item", "row", "keyed", "heading"]
_KNOWN: dict[PageKind, Kind] = {
    "heading": "heading",
    "item": "item",
    "row": "row",
    "header_row": "row",
    "code": "keyed",
    "equation": "keyed",
    "header": "keyed",
    "footer": "keyed",
    "figure": "prose",
    "caption": "prose",
    "footnote": "prose",
    "comment": "prose",
    "note": "prose",
    "field": "keyed",
    "quoted": "prose",
}
"""How blocks are quoted whose kind the file says; a paragraph may be a title or a fragment for all that."""
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
        if _LEADERS.search(said) or _is_header(text, units, at) or (_COMPANY.search(said) and _ADDRESSEE.match(said)):
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
        if not unit.is_quoted and (_ASKS.search(said) or _ANNOUNCES.search(said)):
            last = _announced(text, units, at) if not _OPEN_QUESTION.match(said) else None
            if last is not None and _ANNOUNCES.search(text[last.start : last.end]):  # an answer that announces a list
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
    lines = [masked for line in text.split("\n") if (masked := _masked(line))]
    return {*lines[:EDGE], *lines[-EDGE:]}


def nearest_heading(text: str, at: int) -> str:
    """Return the nearest line above a place that reads as a title; empty where the page has none above it.

    It takes microseconds where `headed_passages` takes milliseconds, and knows nothing of lists and running heads.
    """
    lines = (" ".join(line.split()) for line in reversed(text[:at].splitlines()))
    return next((line for line in lines if is_heading(line) and not _PAGE_NUMBER.fullmatch(line)), "")


def has_verb(text: str) -> bool:
    """Return whether a text has a verb that makes a statement of a short line, in English, Portuguese or Spanish."""
    return _VERB.search(text) is not None


def is_heading(line: str) -> bool:
    """Return whether a line reads as a title: short, without a full stop, in capitals or capitalised words."""
    line = " ".join(line.split())
    if not line or len(line) > _TITLE or " | " in line:
        return False
    if _NAMED_PART.match(line):
        return True
    if _PART.match(line) and len(line.split()) <= _TITLE_WORDS and not _ENDS.search(line):
        return True
    if (cut := line.rstrip("…. ")) != line and cut.isupper() and (len(cut.split()) > 1 or len(cut) > 4):
        return True
    if _COMPANY.search(line) and (_is_capitalised(line) or _ADDRESSEE.match(line)):
        return True
    if _TERMINATED.search(line) or _KEYED.match(line):
        return False
    numbered = _NUMBERED.match(line)
    words = re.findall(r"[^\W\d_][\w'’-]*", line[numbered.end() :] if numbered else line)
    if not words or len(words) > _TITLE_WORDS or (not numbered and any(char.isdigit() for char in line)):
        return False
    if line.upper() == line:
        return True
    content = [word for word in words if word.lower() not in STOP_WORDS]
    capitals = sum(word[0].isupper() for word in content)
    if "," in line or "=" in line or "(" in line:
        return False
    return capitals == len(content) > 1 or (
        bool(numbered) and words[0][0].isupper() and (len(words) <= 8 or bool(_SECTION.match(line)))
    )


def _is_capitalised(line: str) -> bool:
    return all(word[0].isupper() for word in re.findall(r"[^\W\d_]\w*", line) if word.lower() not in STOP_WORDS)


def _heads(text: str, block: Span, following: tuple[Kind, int, int]) -> bool:
    """Return whether a short line stands over a list, or apart over what follows."""
    line = text[slice(*block)]
    if "\n" in line or len(line) > SHORT_LINE or any(char.isdigit() for char in line):
        return False
    if _TERMINATED.search(line) or _ANNOUNCES.search(line) or "," in line or "=" in line:
        return False
    kind, start, _ = following
    count = len(line.split())
    return count <= 6 if kind in ("item", "keyed") else count <= 3 and text.count("\n", block[1], start) > 1


def _is_title(text: str, block: Span, following: tuple[Kind, int, int]) -> bool:
    """Return whether the first line of a page, apart from what follows, names it and says nothing.

    A line without a verb does where a whole sentence, a list or a table follows, and not another such line.
    """
    line, (kind, start, end) = text[slice(*block)], following
    if "\n" in line or text.count("\n", block[1], start) < 2 or len(line) > _TITLE or len(line.split()) > _TITLE_WORDS:
        return False
    if _TERMINATED.search(line) or _ANNOUNCES.search(line) or "=" in line or _VERB.search(line):
        return False
    return kind in ("item", "row") or (kind == "prose" and bool(_TERMINATED.search(text[start:end])))


def _is_caption(text: str, block: Span, following: tuple[Kind, int, int]) -> bool:
    """Return whether a line of words above rows names their table."""
    line = text[slice(*block)]
    return following[0] == "row" and "\n" not in line and not any(map(str.isdigit, line)) and _says_nothing(line)


def _is_numbered_title(text: str, block: Span, following: tuple[Kind, int, int]) -> bool:
    """Return whether a numbered line is the title of the paragraph below it, and no item of a list."""
    line, (kind, start, end) = text[slice(*block)], following
    return kind == "prose" and is_heading(line) and "\n" not in line and bool(_TERMINATED.search(text[start:end]))


def _says_nothing(said: str) -> bool:
    """Return whether a few short lines have neither an end nor a verb."""
    lines = said.split("\n")
    if len(lines) > _HEADING_LINES or any(len(line) > _TITLE or _DASHED.search(line) for line in lines) or "=" in said:
        return False
    return not (_TERMINATED.search(said) or _ANNOUNCES.search(said) or _KEYED.match(said) or _VERB.search(said))


def _units(text: str, running: Collection[str], structure: Sequence[PageBlock]) -> list[_Unit]:
    units: list[_Unit] = []
    known = {block.start: block for block in map(partial(_bare, text), structure) if block.kind in _KNOWN}
    lines = [match.span() for match in re.finditer(r"[^\s](?:[^\n]*[^\s])?", text)]
    full = _full(text, lines)
    if len(lines) <= _FEW_LINES:  # pages that are made of a few lines may have them in common
        ends = (text[slice(*line)] for line in (*lines[:1], *lines[-1:]) if len(lines) > 1)
        running = {_masked(line) for line in ends if _NUMBERED_END.search(line)}.intersection(running)
    blocks = list(_blocks(text, lines, full, running, known, _drawn(text, structure)))
    # Where most of a page is sentences, lists and rows, lines that are neither are titles and fragments.
    stated = sum(kind != "prose" or bool(_TERMINATED.search(text[start:end])) for kind, start, end in blocks)
    ended = sum(kind == "prose" and bool(_TERMINATED.search(text[start:end])) for kind, start, end in blocks)
    has_sentences = 2 * stated >= len(blocks) or ended >= _FEW_SENTENCES
    for number, (kind, start, end) in enumerate(blocks):
        if start in known:
            pieces = sentences(text, start, end, LONGEST) if kind in ("prose", "item") else [(start, end)]
            units += [_Unit(a, b, kind, number, a == start, known=known[start]) for a, b in pieces if b > a]
            continue
        if kind == "prose" and (
            all(is_heading(line) for line in text[start:end].split("\n") if line.strip())
            or (number + 1 < len(blocks) and _heads(text, (start, end), blocks[number + 1]))
            or (number + 1 < len(blocks) and _is_caption(text, (start, end), blocks[number + 1]))
            or (number == 0 and len(blocks) > 1 and _is_title(text, (start, end), blocks[1]))
        ):
            kind = "heading"
        if kind == "item" and number + 1 < len(blocks) and _is_numbered_title(text, (start, end), blocks[number + 1]):
            kind = "heading"
        is_fragment = kind == "prose" and has_sentences and len(blocks) > 1 and _says_nothing(text[start:end])
        is_first = number == 0 and len(blocks) > _HEADING_LINES and _says_nothing(text[start:end])
        is_long = len(text[start:end].split()) >= _LONG_TITLE
        has_digits = any(map(str.isdigit, text[start:end]))
        is_below = 0 < number <= _SUBTITLES and units[-1:] != [] and units[-1].kind == "heading"
        if kind == "prose" and (
            (is_fragment and not has_digits)
            or (is_first and is_long)
            or (is_below and not has_digits and "\n" not in text[start:end] and _says_nothing(text[start:end]))
        ):
            kind = "heading"
        pieces = sentences(text, start, end, LONGEST) if kind in ("prose", "item") else [(start, end)]
        units += [_Unit(a, b, kind, number, a == start) for a, b in pieces if b > a]
        if units and kind in ("prose", "item") and len(lines) > _FEW_LINES:
            line = text[max(text.rfind("\n", 0, end) + 1, start) : end]
            width = full[bisect_right(lines, (end - 1, end)) - 1]
            units[-1].is_cut = len(line) >= width and not (_TERMINATED.search(line) or _ANNOUNCES.search(line))
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


def _full(text: str, lines: Sequence[Span]) -> list[int]:
    """Return for each line the length from which on it may have ended because the next word had no room.

    It is a share of the usual length of lines on the page, and less where lines nearby that go on in small letters are
    shorter, as in a narrow column.
    """
    lengths = [end - start for start, end in lines]
    goes_on = [
        length >= _NARROWEST and text[before[1] - 1].isalpha() and text[after[0]].islower()
        for before, after, length in zip(lines, lines[1:], lengths, strict=False)
    ]

    def full(lines: slice, wide: int) -> int:
        broken = sorted(length for length, is_broken in zip(lengths[lines], goes_on[lines], strict=False) if is_broken)
        is_known = len(broken) >= max(_FEWEST_BROKEN, _BROKEN * len(lengths[lines]))
        return min(wide, int(_RAGGED * broken[len(broken) // 2])) if is_known else wide

    usual = sorted(lengths)[int(0.8 * (len(lengths) - 1))] if lengths else 0
    page = full(slice(None), max(_WIDE, int(_FULL * usual)))
    return [full(slice(max(0, at - _AROUND), at + _AROUND + 1), page) for at in range(len(lines))]


def _drawn(text: str, structure: Sequence[PageBlock]) -> dict[int, bool]:
    """Return where lines of known paragraphs begin, with whether they go on the one above: DocMind broke it there.

    Lines that are kept as they are have no such breaks, and a break that the file has stays one, which is not told.
    """
    paragraphs = [
        [(block.start + line.start(), line.group()) for line in re.finditer(r"[^\n]+", said)]
        for block in structure
        if block.kind == "paragraph"
        and "  " not in (said := text[block.start : block.end].rstrip()).lstrip()
        and "\n\n" not in said
    ]
    widest = max((len(line) for lines in paragraphs for _at, line in lines), default=0)
    begun = {lines[0][0]: False for lines in paragraphs}
    return begun | {
        at: True
        for lines in paragraphs
        for (_above, line), (at, following) in pairwise(lines)
        if len(line) + 1 + len(following.split(" ", 1)[0]) >= _FILLED * max(widest, _NARROW_SHEET)
    }


def _blocks(
    text: str,
    lines: Sequence[Span],
    full: Sequence[int],
    running: Collection[str],
    known: Mapping[int, PageBlock],
    drawn: Mapping[int, bool],
) -> Iterator[tuple[Kind, int, int]]:
    """Yield the kind and the span of every paragraph, list item, row and key with its value.

    What belongs to the page and not to its text is left out. `known` are blocks whose kind the file says, by start;
    `drawn` tells where a line begins a paragraph or goes on the one above, `full` from which length on it is full.
    """
    block: tuple[Kind, int, int] | None = None
    last: Span | None = None
    given: PageBlock | None = None
    entries = _entries(text, lines)
    for at, line in enumerate(lines):
        given = known.get(line[0], given)
        if given is not None and given.start <= line[0] < given.end:
            if given.start == line[0]:
                if block is not None:
                    yield block
                is_edge = given.kind in ("header", "footer")
                if not (is_edge and _is_furniture(text[given.start : given.end], running, is_edge=True)):
                    yield _KNOWN[given.kind], given.start, given.end
            block = last = None
            continue
        if drawn.get(line[0]) and block is not None:
            is_one = block[0] in ("prose", "item") or " | " in text[slice(*last or line)]
            block = (block[0] if is_one else "prose", block[1], line[1])
            last = line
            continue
        is_edge = at < EDGE or at >= len(lines) - EDGE
        if _is_furniture(text[slice(*line)], running, is_edge=is_edge):
            if block is not None:
                yield block
            block = last = None
            continue
        kind = "row" if line[0] in entries else _kind(text[slice(*line)], block[0] if block is not None else None)
        is_apart = line[0] in drawn or (last is not None and text.count("\n", last[1], line[0]) > 1)
        if (
            block is not None
            and last is not None
            and _continues(text, block, last, line, kind, full[at - 1], is_apart=is_apart)
        ):
            block = (block[0], block[1], line[1])
        else:
            if block is not None:
                yield block
            block = (kind, *line)
        last = line
    if block is not None:
        yield block


def _entries(text: str, lines: Sequence[Span]) -> set[int]:
    """Return where lines of a label and one amount begin that follow each other, as the text of a chart has them.

    Amounts that only grow are the page numbers of a list of contents.
    """
    found: set[int] = set()
    run: list[tuple[int, str]] = []
    end = 0
    for start, stop in [*lines, (len(text), len(text))]:
        entry = _ENTRY.fullmatch(text, start, stop)
        if entry is None or (run and text.count("\n", end, start) > 1):
            amounts = [amount for _start, amount in run]
            if len(run) >= _FEWEST_ENTRIES and not _only_grow(amounts):
                found.update(at for at, _amount in run)
            run = []
        if entry is not None:
            run.append((start, entry[1]))
        end = stop
    return found


def _only_grow(amounts: Sequence[str]) -> bool:
    return all(one.isdigit() for one in amounts) and all(int(a) <= int(b) for a, b in pairwise(amounts))


def _kind(line: str, before: Kind | None) -> Kind:
    """Return the kind of a line; below a row, words with one amount are a row too."""
    is_amounts = _NUMBERS.fullmatch(line) or (_AMOUNTS.fullmatch(line) and len(line) <= _TITLE)
    is_sentence = line.endswith(".") and _VERB.search(line)
    if " | " in line or ((is_row(line) or is_amounts) and not _POINT.match(line) and not is_sentence):
        return "row"
    if before == "row" and _LAST_AMOUNT.fullmatch(line) and not BULLET.match(line):
        return "row"
    if BULLET.match(line):
        return "item"
    return "keyed" if _KEYED.match(line) and len(line) <= _TITLE else "prose"


def _is_furniture(line: str, running: Collection[str], *, is_edge: bool) -> bool:
    if not is_edge:
        return bool(_PAGE_NUMBER.fullmatch(line)) and not line.isalpha() and len(line) <= 3
    if _PAGE_NUMBER.fullmatch(line) or _COUNTED.search(line) or _ADDRESSED.search(line):
        return True
    return _masked(line) in running and not _TERMINATED.search(line)  # a sentence is no running head


def _masked(line: str) -> str:
    return " ".join(_ROMAN.sub("", re.sub(r"[\d.,:/]+", "", line)).split())


def _continues(
    text: str, block: tuple[Kind, int, int], last: Span, line: Span, kind: Kind, full: int, *, is_apart: bool
) -> bool:
    first, second = text[slice(*last)], text[slice(*line)]
    is_open = not _TERMINATED.search(first) and not _ANNOUNCES.search(first)
    if " | " in first or " | " in second:
        return False
    if first.endswith(".") and not is_apart and block[0] in ("prose", "item"):  # or is it `on the 3rd of` in digits?
        is_open = last[1] not in sentence_ends(text, last[0], line[1], typed=True)
    is_broken = is_open and not is_apart and block[0] in ("prose", "keyed") and not _is_note(first, second)
    is_full = len(first) >= full
    if kind == "item" and BULLET.match(second):  # `of John` and `I. Miller` go on; so do `in the` and `I. part`
        return is_broken and (dangles(first) or (is_full and _INITIAL.match(second) is not None))
    if is_open and not is_apart and (second[0] in _GOES_ON or _closes(text, block, last, second)):
        return True
    if is_broken and dangles(first) and (is_full or _TERMINATED.search(second)):
        return True  # "…for the house in" and "Overton on 5 March 2025.", which looks like a row
    if is_broken and _LEADERS.search(second):
        return True  # an entry of a table of contents
    if is_broken and first.isupper() and second.isupper():
        word = second.partition(" ")[0]
        if len(word) > 1 and word.lower() in STOP_WORDS:
            return True  # "UNDER SECTION 13" and "OF THE ACT"
    if is_open and _is_note(first, second):
        return False
    if is_broken and second[0] == "(" and _TERMINATED.search(second):
        return len(first) >= _NARROWEST and not is_heading(first)
    if first.endswith(";") and second[0].islower() and (block[0], kind) == ("prose", "prose") and not is_apart:
        return True
    if second.startswith("//"):  # an address that was broken after `https:`
        return True
    if _SECTION.match(second) or _PART.match(second) or _NAMED_PART.fullmatch(first):
        return False
    if (
        block[0] == "prose"
        and second[0].isupper()
        and _KEYED.match(second)
        and (kind == "keyed" or _says_nothing(first))
    ):
        return False
    if _SECTION.match(first) and is_open and "?" in second and not is_apart:
        return True
    if second[0].islower() and is_open and (block[0] in ("prose", "item") or (block[0] == "keyed" and kind == "prose")):
        return not (first.isupper() and len(first.split()) <= _TITLE_WORDS)
    if second[0].isupper() and (is_apart or (is_open and _are_alike(first, second))):
        return False
    if second[0].isdigit() and kind == "row" and block[0] == "prose" and is_open and is_full and not is_apart:
        return not _AMOUNTS.fullmatch(first)  # a paragraph of which a line begins with a number
    if kind == "row" and is_open and not is_apart and block[0] in ("prose", "item") and _TERMINATED.search(second):
        return is_full and not _AMOUNTS.fullmatch(first)
    if is_apart or kind == "row" or block[0] == "row":
        # A line of a paragraph may be made of numbers: it follows a full line that has not ended.
        return not is_apart and block[0] in ("prose", "item") and is_open and is_full and len(second) >= full
    if not is_open and (first.endswith((";", ":")) or _ANNOUNCES.search(first)):
        return False
    if is_full and (is_open or len(second) >= full):
        return not (is_open and is_heading(first) and second[0].isupper())
    if kind == "keyed" or block[0] == "keyed" or is_heading(first) != is_heading(second):
        return False
    return is_open and max(len(first), len(second)) <= SHORT_LINE and line[1] - block[1] <= _BLOCK


def _closes(text: str, block: tuple[Kind, int, int], last: Span, second: str) -> bool:
    """Return whether a line closes a bracket or quotation that a paragraph or item has opened."""
    if block[0] not in ("prose", "item"):
        return False
    before = text[max(block[1], last[1] - _BLOCK) : last[1]]
    return any(
        before.rfind(opening) > before.rfind(closing)
        and 0 <= second.find(closing) < (second.find(opening) if opening in second else len(second))
        for opening, closing in _PAIRS
    )


def _is_note(first: str, second: str) -> bool:
    """Return whether a line begins a footnote below text that has not ended: a number, and a sentence's first word."""
    note = _NOTE.match(second)
    return note is not None and note[1].lower() in _NOTE_WORDS and not _BEFORE_NUMBERS.search(first)


def _are_alike(first: str, second: str) -> bool:
    """Return whether two lines are entries of one list: both with a price, or with a dash after their key."""
    return any(form.search(first) and form.search(second) for form in (_PRICE, _DASHED))


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
        if unit.kind == "heading" or (_ANNOUNCES.search(said) and len(said) <= LONGEST_LEAD):
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
            is_line = len(said) <= _BLOCK and not _TERMINATED.search(said) and not unit.is_cut
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
    if _NUMBERS.fullmatch(said):
        return True
    lead = units[at + 1].lead if at + 1 < len(units) and units[at + 1].kind == "row" else None
    if lead is None or lead[0] < unit.start or lead[1] != unit.end or _TERMINATED.search(said):
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
    if above.kind not in ("prose", "heading", "keyed") or len(line) > _TITLE or _VERB.search(line):
        return None
    if _PRICE.search(line) or _DECIMAL.search(line):
        return None
    return None if _TERMINATED.search(line) or above.is_cut or " " not in line else (start, end)


def _years_above(text: str, units: Sequence[_Unit], at: int) -> Span | None:
    """Return the line of years or quarters above a row of numbers."""
    for unit in reversed(units[max(0, at - _HEADER_ROWS) : at]):
        for start, end in _lines(text, unit):
            line = text[start:end]
            others = [word for word in re.findall(r"[^\W\d_]+", line) if word.lower() not in STOP_WORDS]
            is_sentence = _TERMINATED.search(line) and others
            if len(_YEARS.findall(line)) >= 2 and len(others) <= 8 and len(line) <= _TITLE and not is_sentence:
                return start, end
        if unit.kind == "prose" and unit.end - unit.start > _BLOCK:
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
        if unit.kind == "heading" or _LEADERS.search(said) or unit.end - units[at].start > longest:
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
        return bool(_TERMINATED.search(text[units[at - 1].start : units[at - 1].end]))
    return text[: unit.start].rstrip().endswith((":", ";")) or len(units) <= _FEW_LINES
