"""Whole lists of a document: bullets, numbers, checkboxes, rows of a table, `label: value` lines, short lines, and
enumerations in a sentence.

A question names a list by words of what announces it: the heading or line above it, the caption, sheet or column names
of a table, then the document's name. Its other words filter: each must stand in the item, or say whether a checkbox is
ticked. A word that nothing accounts for means that the question asks for something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, NamedTuple

from docmind.answers.list_questions import table, word_list
from docmind.answers.list_words import met_in, starts_of, words_in, words_of_list
from docmind.answers.sentences import units
from docmind.blocks import PageBlock
from docmind.language import is_form, lowered_alike

_BULLET = re.compile(r"\s*(?:[•*\-–—☐☒☑✓✔✗✘▪●‣◦○■□·]|\[[ xX]?\]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s+")
_BOX = re.compile(r"\s*(?:[•*-]\s+)?(?:(?P<open>☐|□|\[ ?\])|(?P<done>☒|☑|✓|✔|\[[xX]\]))\s*")
_LABEL = re.compile(r"((?:[^\n:.?!]|(?<=\d)[:.](?=\d)){1,50}?)\s?:\s+(?=\S)")
_PAGE_NUMBER = re.compile(
    r"(?:page|página|pagina|seite)?\s*\d{1,4}(?:\s*(?:/|of|de|von|sur)\s*\d{1,4})?", re.IGNORECASE
)
_ENDS = (".", "!", "?", ";")
_SHORT = 80  # characters of a line of a list without marks, and of a heading
_OPENING, _OPENING_CHARS = 2, 300  # lines that may name a document
_FEW = 8  # words of a heading
_SET = 50  # characters of a full line
_LABELLED = 600  # characters of a line with a label
_WORD = re.compile(r"[^\W_]+")
ENUMERATED, _PART = 3, 90  # parts of an enumeration in a sentence, and characters of a part
_STOP = re.compile(r"(?<=\w{4}[.!?])\s+(?=[^\W\da-z])")  # no abbreviation has as many letters
_COPULA = re.compile(r"\s(?:is|are|was|were|is|sind|waren|sont|são|estão|son|están)\s")
_FULL_NAME = re.compile(r"[^\W\d_a-z][\w'’.-]*(?: (?:[a-z]{1,3} )?[^\W\d_a-z][\w'’.-]+){1,3}(?=$|[ ,;:(–-])")
_SHORT_PART = 40  # characters of a part of an enumeration that only a word of the question announces
_SEPARATOR = re.compile("[,;]")
_ANNOUNCES = re.compile(
    r":\s+(?=\S)|\b(?:by|are|were|is|to|for|on|includes?|including|from|with|such as|attended|present|por|para|com|são|"
    r"foram|inclui|incluem|presentes|participaram|compareceram|son|fueron|con|incluyen?|asistieron|sind|waren|von|durch|an|für|mit|"
    r"anwesend|sont|étaient|par|pour|avec|présents|comprend|comprennent)\s+",
    re.IGNORECASE,
)
_TOTALS = frozenset(["total", "totals", "subtotal", "totais", "totales", "gesamt", "summe", "gesamtsumme", "totaux"])
Kind = Literal["head", "lead", "item", "label", "short", "row", "prose", "inline"]


class Item(NamedTuple):
    """An item: its page, the span of its words there, whether it is ticked (None without a checkbox), and its words.

    `cells` has the words of each cell of a row; `level` counts from 0 for an item within items.
    """

    page_no: int
    start: int
    end: int
    is_done: bool | None
    words: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...] = ()
    level: int = 0


@dataclass(slots=True)
class ItemList:
    """Items that belong together, and the texts that announce them: those right above, and those further out.

    `has_people` tells that a column of a table is one of people, or that each item begins as a name does;
    `has_full_names` that each has two words or more with capitals, `has_organisations` that they have legal forms.
    `is_of_sentence` tells of parts of a sentence that nothing but a word of the question announces. `around` are the
    words of the pages that it is on, `header` the names of the columns of a table, `opening` the words that the
    document opens with.
    """

    near: tuple[str, ...]
    far: tuple[str, ...]
    kind: Kind
    has_people: bool = False
    has_full_names: bool = False
    has_organisations: bool = False
    is_of_sentence: bool = False
    around: set[str] = field(default_factory=set[str])
    items: list[Item] = field(default_factory=list[Item])
    header: tuple[str, ...] = ()
    opening: str = ""


class _Line(NamedTuple):
    kind: Kind
    start: int
    end: int
    block: PageBlock | None = None
    is_apart: bool = False
    is_section: bool = False


def opening_of(text: str, structure: Sequence[PageBlock]) -> str:
    """Return the first lines of a page, which may name its document; rows of a table name none."""
    rows = [block.start for block in structure if block.kind in ("row", "header_row")]
    lines = [line for line in text[: min(rows, default=len(text))].split("\n") if line.strip()]
    return " ".join(lines[:_OPENING])[:_OPENING_CHARS]


class ListReader:
    """Collects the lists of one document from its pages, given in order."""

    def __init__(self, label: str, asked: Sequence[str]) -> None:
        """Set up; `label` is the document's name, `asked` are the folded words of the question."""
        self._label, self._asked, self._starts = label, asked, starts_of(asked)
        self._current: ItemList | None = None
        self._lead = self._heading = self._opening = self._title = ""
        self._page = set[str]()
        self._mark = self._last = ""
        self._tables: dict[int, ItemList] = {}
        self._headers = self._is_section = self._is_unmarked = False

    def read(self, page_no: int, text: str, structure: Sequence[PageBlock]) -> Iterator[ItemList]:
        """Yield the lists that end on a page; `close` yields those that are open."""
        if not self._opening:
            self._opening = opening_of(text, structure)
            self._title = next((line for line in text.split("\n") if line.strip()), "")[:_OPENING_CHARS]
        self._page = {word for word in _WORD.findall(lowered_alike(text)) if word in self._asked}
        for line in _sectioned(list(_lines(text, structure)), text):
            if line.kind in ("prose", "label", "item"):
                yield from self._enumerated(page_no, text, line)
            if line.kind == "row":
                yield from self._end()
                self._row(page_no, text, line)
            elif line.kind in ("item", "label", "short"):
                yield from self._listed(page_no, text, line)
            elif line.kind == "prose" and self._is_title(self._lead or self._heading):
                yield from self._prose(page_no, text, line)
            else:
                yield from self._end()
                self._announced(text[line.start : line.end].strip(), line)

    def close(self) -> Iterator[ItemList]:
        """Yield the lists that are open at the end of the document."""
        yield from self._end()
        for held in self._tables.values():
            yield self._headed(held)
        self._tables = {}

    def _headed(self, held: ItemList) -> ItemList:
        """Return a table whose first row is its header where a cell there has nothing but a word of the question."""
        first = held.items[0] if held.items else None
        if self._headers or first is None or len(held.items) < 3 or len(first.cells) < 2:
            return held
        if any(len(cell) == 1 and any(is_form(word, cell[0]) for word in self._asked) for cell in first.cells):
            near = (*held.near, " ".join(first.words))
            header = tuple(" ".join(cell) for cell in first.cells)
            return replace(held, near=near, items=held.items[1:], header=header)
        return held

    def _end(self) -> Iterator[ItemList]:
        current, self._current = self._current, None
        if current is not None and current.kind == "item" and self._is_numbered_head(current):
            self._heading = self._lead = self._last
            current = None
        if current is not None and len(current.items) >= (2 if current.kind in ("short", "label") else 1):
            yield current
            yield from _nested(current)

    def _announced(self, said: str, line: _Line) -> None:
        """Keep a heading, or a line that announces what follows."""
        if line.kind == "head":
            self._heading, self._lead, self._is_unmarked = said, "", False
        elif line.kind == "lead":
            self._lead = said
            is_over = self._is_unmarked and line.is_apart  # the section of a heading that only blank lines show
            self._heading = said if line.is_section else "" if is_over else self._heading
            self._is_unmarked = line.is_section
        else:
            self._lead = ""
        self._is_section = line.is_section

    def _listed(self, page_no: int, text: str, line: _Line) -> Iterator[ItemList]:
        said = text[line.start : line.end].strip()
        label = _LABEL.match(said) if line.kind == "label" else None
        if label is not None and self._is_title(label[1]):
            yield from self._end()
            start = text.index(said, line.start) + label.end()
            yield from self._inline(page_no, text, label[1], start, line)
            return
        if line.kind == "short":
            is_listed = self._current is not None and self._current.kind == "short"
            is_announced = self._is_section or self._lead.endswith(":") or self._is_title(self._lead)
            is_below = self._current is None and bool(self._lead) and is_announced
            if self._is_title(said) or not (is_listed or is_below):
                yield from self._end()
                self._lead = self._heading = said
                return
        mark = _mark_of(said) if line.kind == "item" else ""
        if self._current is None or self._current.kind != line.kind or mark != self._mark:
            if self._current is not None:
                lead, self._lead = self._lead, ""
                yield from self._end()
                self._lead = self._lead or (lead if lead.endswith(":") and line.kind == "item" else "")
            self._current, self._mark = self._new(line), mark
        item = _item_of(page_no, text, line)
        self._last = text[item.start : item.end].strip()
        is_first, is_name = not self._current.items, self._last[:1].isupper()
        self._current.has_people = is_name and (is_first or self._current.has_people)
        is_full = _FULL_NAME.match(self._last) is not None
        self._current.has_full_names = is_full and (is_first or self._current.has_full_names)
        self._current.items += [item] if item.start < item.end else []
        self._current.around |= self._page

    def _is_numbered_head(self, current: ItemList) -> bool:
        """Return whether one numbered line alone is a heading: `2. Duties`."""
        is_alone = len(current.items) == 1 and self._mark == "number"
        return is_alone and len(self._last.split()) <= _FEW and not self._last.endswith(_ENDS)

    def _prose(self, page_no: int, text: str, line: _Line) -> Iterator[ItemList]:
        """Take the sentences below a heading that is asked for, until the next heading or list."""
        if self._current is None or self._current.kind != "prose":
            yield from self._end()
            self._current, self._mark = self._new(line), ""
        self._current.items += [
            _item(page_no, text, line.start + a, line.start + b) for a, b in units(text[line.start : line.end])
        ]
        self._current.around |= self._page

    def _is_title(self, said: str) -> bool:
        """Return whether the question has all words of a line."""
        words = words_of_list(said)
        return bool(words) and all(any(is_form(one, word) for one in self._asked) for word in words)

    def _inline(self, page_no: int, text: str, label: str, start: int, line: _Line) -> Iterator[ItemList]:
        """Yield the parts of `Present: Ana Reis, Rui Melo and Eva Sá`; one part alone is no list."""
        parts = [_item(page_no, text, start + a, start + b) for a, b in _parts(text[start : line.end])]
        far, are_names = (self._heading, self._lead, self._label), all(text[one.start].isupper() for one in parts)
        if len(parts) > 1:
            yield ItemList(
                (label,), far, "inline", are_names, around=self._page, items=parts, opening=self._opening,
                has_full_names=_are_full_names(text, parts),
            )  # fmt: skip

    def _enumerated(self, page_no: int, text: str, line: _Line) -> Iterator[ItemList]:
        """Yield the parts of sentences such as `Attended by Ana Reis, Rui Melo and Eva Sá`."""
        said = text[line.start : line.end]
        lowered = lowered_alike(said) if _SEPARATOR.search(said) else ""
        if not any(start in lowered for start in self._starts):
            return
        for a, b in pairwise((0, *(one.end() for one in _STOP.finditer(said)), len(said))):
            first = _SEPARATOR.search(said, a, b)
            found = list(_ANNOUNCES.finditer(said, a, first.start())) if first is not None else []
            match = next((one for one in found if ":" in one.group()), found[-1] if found else None)
            behind = match.end() if match is not None else a
            is_announced = self._has_asked(said[a:behind])
            if not is_announced:
                behind = self._behind_asked(said, a, first.start()) if first is not None else a
                if behind == a:
                    continue
            ended = _COPULA.search(said, first.start(), b) if first is not None and not is_announced else None
            value = said[behind : ended.start() if ended is not None else b].rstrip(" .;\n")
            spans = _parts(value)
            longest = _PART if is_announced else _SHORT_PART
            if len(spans) < ENUMERATED or any(d - c > longest for c, d in spans):
                continue
            if not is_announced and any(c >= d for c, d in spans):
                continue
            at = line.start + behind
            parts = [_item(page_no, text, at + c, at + d) for c, d in spans if c < d]
            near = (said[a:behind], *([said[ended.start() : b]] if ended is not None else []))
            far, are_names = (self._heading, self._lead, self._label), all(text[one.start].isupper() for one in parts)
            yield ItemList(
                near, far, "inline", are_names, around=self._page, items=parts, opening=self._title,
                has_full_names=_are_full_names(text, parts), has_organisations=_are_organisations(text, parts),
                is_of_sentence=not is_announced,
            )  # fmt: skip

    def _has_asked(self, said: str) -> bool:
        held = words_in((said,))
        return any(met_in(word, held) for word in self._asked)

    def _behind_asked(self, said: str, start: int, end: int) -> int:
        """Return where the text behind the last word of the question begins; `start` where there is none."""
        met = [one.end() for one in _WORD.finditer(said, start, end) if self._has_asked(one.group())]
        return met[-1] + 1 if met and met[-1] < end else start

    def _new(self, line: _Line) -> ItemList:
        path = line.block.path if line.block is not None and line.block.path else ()
        heading = path[-1] if path else self._heading
        near = tuple(filter(None, (self._lead, heading)))
        return ItemList(near, (*path[:-1], self._label), line.kind, opening=self._opening)

    def _row(self, page_no: int, text: str, line: _Line) -> None:
        block = line.block
        assert block is not None
        assert block.table is not None
        about = block.table
        self._headers = self._headers or any(about.header)
        cells = tuple(tuple(_WORD.findall(lowered_alike(text[a:b]))) for a, b in block.cells)
        if next(iter(cells), ())[:1] and cells[0][0] in _TOTALS and not set(self._asked) & _TOTALS:
            return
        held = self._tables.get(about.number)
        if held is None:
            near = tuple(filter(None, (about.caption, about.sheet, *about.header, *block.path[-1:], self._lead)))
            people = word_list("labels", "people")
            has_people = any(word in people for name in about.header for word in words_in((name,)))
            far = (*block.path[:-1], self._label)
            held = ItemList(near, far, "row", has_people, header=about.header, opening=self._opening)
            self._tables[about.number] = held
        held.around |= self._page
        held.items.append(_item(page_no, text, line.start, line.end)._replace(cells=cells))


def _item_of(page_no: int, text: str, line: _Line) -> Item:
    """Return an item without its mark."""
    start, state = line.start, None
    mark = _BULLET.match(text, start, line.end) if line.kind == "item" else None
    for _ in range(2):  # a checkbox may stand behind a bullet
        box = _BOX.match(text, start, line.end) if line.kind == "item" else None
        if box is not None:
            start, state = box.end(), box["done"] is not None
            break
        if mark is not None:
            start = max(start, mark.end())
    level = line.block.level if line.block is not None and line.kind == "item" else 0
    return _item(page_no, text, start, line.end, state)._replace(level=level)


def _nested(held: ItemList) -> Iterator[ItemList]:
    """Yield the items below each item that has others, announced by it."""
    below: list[ItemList] = []  # one for each item that is open, the outermost first
    for item in held.items if any(item.level for item in held.items) else ():
        while len(below) > item.level:
            if (ended := below.pop()).items:
                yield ended
        if below:
            below[-1].items.append(item)
        near = (" ".join(item.words), *held.near)
        below.append(ItemList(near, held.far, "item", around=held.around, opening=held.opening))
    yield from (one for one in below if one.items)


def _sectioned(lines: list[_Line], text: str) -> list[_Line]:
    """Return the lines of a page, a short line as a lead where blank lines show that it announces the lines below.

    It stands alone above them, or is their first one where none stands alone but the title of the page.
    """
    groups = list[list[int]]()
    _head_runs(lines, text)
    for n, line in enumerate(lines):
        is_apart = line.is_apart or not n or line.kind in ("head", "row") or lines[n - 1].kind in ("head", "row")
        if is_apart:
            groups.append([])
        groups[-1].append(n)
    listed = [len(group) > 1 and all(lines[n].kind in ("short", "label") for n in group) for group in groups]
    alone = [len(group) == 1 and lines[group[0]].kind == "short" for group in groups]
    heads = [at for at in range(1, len(groups) - 1) if alone[at] and not alone[at + 1]]
    if not any(listed[at + 1] for at in heads):
        heads = [0] if sum(listed) == 1 and alone[0] and listed[1] else []
    leads = [groups[at][0] for at in heads] or [
        group[0]
        for at, group in enumerate(groups)
        if listed[at]
        and lines[group[0]].kind == "short"
        and (lines[group[0]].is_apart or not group[0])
        and not (at and lines[groups[at - 1][-1]].kind == "lead")
    ]
    for n in leads:
        lines[n] = lines[n]._replace(kind="lead", is_section=True)
    return lines


def _head_runs(lines: list[_Line], text: str) -> None:
    """Take for a lead each short line that only what stands around it shows as one, without blank lines.

    Two lines or more with labels or marks follow it, or the lines above it all begin in lower case and it does not.
    """
    begun = [text[line.start : line.end].strip()[:1] for line in lines]
    for n in range(1, len(lines) - 1):
        line, above, below = lines[n], lines[n - 1], lines[n + 1]
        if line.kind != "short" or line.is_apart or below.is_apart or above.kind not in ("short", "label", "item"):
            continue
        is_of_others = below.kind in ("label", "item") and n + 2 < len(lines) and lines[n + 2].kind == below.kind
        is_other_case = above.kind == "short" and begun[n - 1].islower() and n > 1 and begun[n - 2].islower()
        if is_of_others or (is_other_case and begun[n].isupper() and not begun[n + 1].islower()):
            lines[n] = line._replace(kind="lead", is_section=True)


def _mark_of(said: str) -> str:
    """Return what marks an item: a number, a letter, a box, or a bullet."""
    if _BOX.match(said):
        return "box"
    return "number" if re.match(r"\(?\d", said) else "letter" if re.match(r"\(?[a-zA-Z]", said) else "bullet"


def _parts(value: str) -> list[tuple[int, int]]:
    """Return the spans of the parts of an enumeration, between commas, semicolons, and the `and` of the last one."""
    found: list[tuple[int, int]] = []
    pieces = re.finditer(r"(?:[^,;]|,(?=\d))+", value)
    for piece in pieces:
        a, b = piece.span()
        if (last := re.match(r"\s*(?:and|e|y|und|et)\s", value[a:b])) is not None:
            a += last.end()
        elif ("," in value or ";" in value) and b == len(value.rstrip(" ")):
            split = re.search(r"\s(?:and|e|y|und|et)\s", value[a:b])
            if split is not None:
                found.append((a, a + split.start()))
                a += split.end()
        found.append((a, b))
    if len(found) == 1 and (split := re.search(r"\s(?:and|e|y|und|et)\s", value)) is not None:
        found = [(0, split.start()), (split.end(), len(value))]
    return [(a + len(value[a:b]) - len(value[a:b].lstrip()), a + len(value[a:b].rstrip(" .\n"))) for a, b in found]


def _are_full_names(text: str, parts: Sequence[Item]) -> bool:
    return bool(parts) and all(_FULL_NAME.match(text[one.start : one.end]) for one in parts)


def _are_organisations(text: str, parts: Sequence[Item]) -> bool:
    """Return whether items have a legal form at their end; one of three or more may have one that is not known."""
    ends = table()["organisations"]["ends"]
    known = sum(re.search(rf"(?i)\w\W+(?:{ends})\.?$", text[one.start : one.end]) is not None for one in parts)
    return known > 1 and known >= len(parts) - 1


def _item(page_no: int, text: str, start: int, end: int, is_done: bool | None = None) -> Item:
    return Item(page_no, start, end, is_done, tuple(_WORD.findall(lowered_alike(text[start:end]))))


def _lines(text: str, structure: Sequence[PageBlock]) -> Iterator[_Line]:
    """Yield the lines of a page, of blocks and of the text between them, each with what it may be."""
    at = 0
    for block in structure:
        yield from _bare(text, at, block.start)
        at = block.end
        said = text[block.start : block.end].strip()
        if not said or block.kind in ("header_row", "field", "quoted", "footer", "code"):  # lines of code are no items
            continue
        if block.kind == "row":
            if block.table is not None:
                yield _Line("row", block.start, block.end, block)
        elif block.kind == "heading":
            yield _Line("head", block.start, block.end, block)
        elif block.kind == "item":
            yield _Line("item", block.start, block.end, block)
        elif _has_own_lines(said):
            yield from _bare(text, block.start, block.end)
        else:
            yield _Line(_kind(said), block.start, block.end, block, is_apart=block.level > 0)
    yield from _bare(text, at, len(text))


def _has_own_lines(said: str) -> bool:
    """Return whether the lines of a block are not those of a paragraph that was set: one ends early."""
    return any(len(line.strip()) < _SET for line in said.split("\n")[:-1])


def _bare(text: str, start: int, end: int) -> Iterator[_Line]:
    """Yield the lines of text without blocks; a line that goes on is part of the item or paragraph before it."""
    last: _Line | None = None
    for match in re.finditer(r"[^\n]+", text[start:end]):
        a, b = start + match.start(), start + match.end()
        said = match.group().strip()
        if not said or _PAGE_NUMBER.fullmatch(said):
            continue
        kind = _kind(said)
        is_going_on = said[:1].islower() and kind in ("short", "prose", "lead")
        if last is not None and is_going_on and last.kind in ("item", "prose", "label"):
            last = last._replace(end=b)
            continue
        is_apart = last is not None and text.count("\n", last.end, a) > 1
        if last is not None:
            yield last
        last = _Line(kind, a, b, is_apart=is_apart)
    if last is not None:
        yield last


def _kind(said: str) -> Kind:
    if _BOX.match(said) or _BULLET.match(said):
        return "item"
    if said.endswith(":") and len(said) <= 300:
        return "lead"
    if (label := _LABEL.match(said)) is not None and len(label[1].split()) <= 5 and len(said) <= _LABELLED:
        return "label"
    is_short = len(said) <= _SHORT and not said.endswith(_ENDS) and len(said.split()) <= _FEW + 2
    return "short" if is_short else "prose"
