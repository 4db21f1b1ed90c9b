"""Lines of a page, joined to paragraphs, list items, rows, and keys with their values.

What the file says of its blocks counts; where it says nothing, the lines beside each other decide.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from docmind.answers.page_lines import (
    ANNOUNCES,
    KEYED,
    LEADERS,
    NAMED_PART,
    NUMBER_OF_PAGE,
    NUMBERED_SECTION,
    NUMBERS,
    PART,
    TERMINATED,
    TITLE,
    TITLE_WORDS,
    VERB,
    WITH_DASH,
    WITH_PRICE,
    is_heading,
    says_nothing,
)
from docmind.answers.sentences import BULLET, SHORT_LINE, dangles, is_row
from docmind.blocks import PageBlock, PageKind
from docmind.embedding import sentence_ends
from docmind.language import STOP_WORDS

EDGE = 4  # lines at either end of a page that may be running heads

BLOCK = 160  # characters of fragments that are joined

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

_GOES_ON = frozenset("°º%),;:.’”»=+<>≤≥/&")  # what no line begins with that says something of its own

_COUNTED = re.compile(r"\b(?:page|p[áa]gina|p[áa]g\.?)\s*\d{1,4}(?:\s*(?:of|de|/)\s*\d{1,4})?$", re.IGNORECASE)

_ADDRESSED = re.compile(r"(?<!\S)(?>\S*?(?:https?://|www\.))\S++(?:\s+\d{1,4}\s*/\s*\d{1,4})?$")

_POINT = re.compile(r"[•·▪●‣*–—-]\s+[^\W\d_]")

_ROMAN = re.compile(r"\b[ivxlc]+\b")

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

Span = tuple[int, int]

Kind = Literal["prose", "item", "row", "keyed", "heading"]

KNOWN: dict[PageKind, Kind] = {
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


def heads(text: str, block: Span, following: tuple[Kind, int, int]) -> bool:
    """Return whether a short line stands over a list, or apart over what follows."""
    line = text[slice(*block)]
    if "\n" in line or len(line) > SHORT_LINE or any(char.isdigit() for char in line):
        return False
    if TERMINATED.search(line) or ANNOUNCES.search(line) or "," in line or "=" in line:
        return False
    kind, start, _ = following
    count = len(line.split())
    return count <= 6 if kind in ("item", "keyed") else count <= 3 and text.count("\n", block[1], start) > 1


def is_title(text: str, block: Span, following: tuple[Kind, int, int]) -> bool:
    """Return whether the first line of a page, apart from what follows, names it and says nothing.

    A line without a verb does where a whole sentence, a list or a table follows, and not another such line.
    """
    line, (kind, start, end) = text[slice(*block)], following
    if "\n" in line or text.count("\n", block[1], start) < 2 or len(line) > TITLE or len(line.split()) > TITLE_WORDS:
        return False
    if TERMINATED.search(line) or ANNOUNCES.search(line) or "=" in line or VERB.search(line):
        return False
    return kind in ("item", "row") or (kind == "prose" and bool(TERMINATED.search(text[start:end])))


def is_caption(text: str, block: Span, following: tuple[Kind, int, int]) -> bool:
    """Return whether a line of words above rows names their table."""
    line = text[slice(*block)]
    return following[0] == "row" and "\n" not in line and not any(map(str.isdigit, line)) and says_nothing(line)


def is_numbered_title(text: str, block: Span, following: tuple[Kind, int, int]) -> bool:
    """Return whether a numbered line is the title of the paragraph below it, and no item of a list."""
    line, (kind, start, end) = text[slice(*block)], following
    return kind == "prose" and is_heading(line) and "\n" not in line and bool(TERMINATED.search(text[start:end]))


def full_lengths(text: str, lines: Sequence[Span]) -> list[int]:
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


def known_lines(text: str, structure: Sequence[PageBlock]) -> dict[int, bool]:
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


def blocks_of(
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
                    yield KNOWN[given.kind], given.start, given.end
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
    is_amounts = NUMBERS.fullmatch(line) or (_AMOUNTS.fullmatch(line) and len(line) <= TITLE)
    is_sentence = line.endswith(".") and VERB.search(line)
    if " | " in line or ((is_row(line) or is_amounts) and not _POINT.match(line) and not is_sentence):
        return "row"
    if before == "row" and _LAST_AMOUNT.fullmatch(line) and not BULLET.match(line):
        return "row"
    if BULLET.match(line):
        return "item"
    return "keyed" if KEYED.match(line) and len(line) <= TITLE else "prose"


def _is_furniture(line: str, running: Collection[str], *, is_edge: bool) -> bool:
    if not is_edge:
        return bool(NUMBER_OF_PAGE.fullmatch(line)) and not line.isalpha() and len(line) <= 3
    if NUMBER_OF_PAGE.fullmatch(line) or _COUNTED.search(line) or _ADDRESSED.search(line):
        return True
    return masked(line) in running and not TERMINATED.search(line)  # a sentence is no running head


def masked(line: str) -> str:
    return " ".join(_ROMAN.sub("", re.sub(r"[\d.,:/]+", "", line)).split())


def _continues(
    text: str, block: tuple[Kind, int, int], last: Span, line: Span, kind: Kind, full: int, *, is_apart: bool
) -> bool:
    first, second = text[slice(*last)], text[slice(*line)]
    is_open = not TERMINATED.search(first) and not ANNOUNCES.search(first)
    if " | " in first or " | " in second:
        return False
    if first.endswith(".") and not is_apart and block[0] in ("prose", "item"):  # or is it `on the 3rd of` in digits?
        is_open = last[1] not in sentence_ends(text, last[0], line[1], typed=True)
    is_broken = is_open and not is_apart and block[0] in ("prose", "keyed") and not _is_note(first, second)
    is_full = len(first) >= full
    if kind == "item" and BULLET.match(second):  # `of John` and `I. Miller` go on; so do `in the` and `I. part`
        return is_broken and (dangles(first) or (is_full and _INITIAL.match(second) is not None))
    if not is_apart and (is_open or first.endswith(";")) and _is_within(text, block, last, second, is_full=is_full):
        return True
    if is_open and not is_apart and second[0] in _GOES_ON:
        return True
    if is_broken and dangles(first) and (is_full or TERMINATED.search(second)):
        return True  # "…for the house in" and "Overton on 5 March 2025.", which looks like a row
    if is_broken and LEADERS.search(second):
        return True  # an entry of a table of contents
    if is_broken and first.isupper() and second.isupper():
        word = second.partition(" ")[0]
        if len(word) > 1 and word.lower() in STOP_WORDS:
            return True  # "UNDER NUMBERED_SECTION 13" and "OF THE ACT"
    if is_open and _is_note(first, second):
        return False
    if is_broken and second[0] == "(" and TERMINATED.search(second):
        return len(first) >= _NARROWEST and not is_heading(first)
    if first.endswith(";") and second[0].islower() and (block[0], kind) == ("prose", "prose") and not is_apart:
        return True
    if second.startswith("//"):  # an address that was broken after `https:`
        return True
    if NUMBERED_SECTION.match(second) or PART.match(second) or NAMED_PART.fullmatch(first):
        return False
    is_running = is_full and is_open and block[1] < last[0]  # a paragraph of two lines or more
    is_key = second[0].isupper() and KEYED.match(second) is not None
    if block[0] == "prose" and is_key and not is_running and (kind == "keyed" or says_nothing(first)):
        return False
    if NUMBERED_SECTION.match(first) and is_open and "?" in second and not is_apart:
        return True
    if second[0].islower() and is_open and (block[0] in ("prose", "item") or (block[0] == "keyed" and kind == "prose")):
        return not (first.isupper() and len(first.split()) <= TITLE_WORDS)
    if second[0].isupper() and (is_apart or (is_open and _are_alike(first, second))):
        return False
    if second[0].isdigit() and kind == "row" and block[0] == "prose" and is_open and is_full and not is_apart:
        return not _AMOUNTS.fullmatch(first)  # a paragraph of which a line begins with a number
    if kind == "row" and is_open and not is_apart and block[0] in ("prose", "item") and TERMINATED.search(second):
        return is_full and not _AMOUNTS.fullmatch(first)
    if is_apart or kind == "row" or block[0] == "row":
        # A line of a paragraph may be made of numbers: it follows a full line that has not ended.
        return not is_apart and block[0] in ("prose", "item") and is_open and is_full and len(second) >= full
    if not is_open and (first.endswith((";", ":")) or ANNOUNCES.search(first)):
        return False
    if is_full and (is_open or len(second) >= full):
        return not (is_open and is_heading(first) and second[0].isupper())
    if kind == "keyed" or block[0] == "keyed" or is_heading(first) != is_heading(second):
        return False
    return is_open and max(len(first), len(second)) <= SHORT_LINE and line[1] - block[1] <= BLOCK


def _is_within(text: str, block: tuple[Kind, int, int], last: Span, second: str, *, is_full: bool) -> bool:
    """Return whether an opened bracket or quotation goes on: the next line closes it, or this one is full."""
    if block[0] not in ("prose", "item"):
        return False
    before = text[max(block[1], last[1] - BLOCK) : last[1]]
    return any(
        before.rfind(opening) > before.rfind(closing)
        and (is_full or 0 <= second.find(closing) < (second.find(opening) if opening in second else len(second)))
        for opening, closing in _PAIRS
    )


def _is_note(first: str, second: str) -> bool:
    """Return whether a line begins a footnote below text that has not ended: a number, and a sentence's first word."""
    note = _NOTE.match(second)
    return note is not None and note[1].lower() in _NOTE_WORDS and not _BEFORE_NUMBERS.search(first)


def _are_alike(first: str, second: str) -> bool:
    """Return whether two lines are entries of one list: both with a price, or with a dash after their key."""
    return any(form.search(first) and form.search(second) for form in (WITH_PRICE, WITH_DASH))
