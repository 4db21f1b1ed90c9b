"""The text of a document as it is compared: tokens, and units of them (sentences, headings, rows).

White space, line breaks, hyphenation at the end of a line, ligatures and the shapes of quotes and dashes are no part of
a token's key. What repeats on pages (running heads, page numbers, the header of a long table) counts once, and the
numbers of list items not at all: an inserted item would change all that follow.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from docmind.blocks import PageBlock
from docmind.documents.catalog import PageRecord
from docmind.documents.words import Words
from docmind.records.comparison import ChangePlace, ChangeSide
from docmind.rich_text import clip

_JOINT = r"(?:[-\u2010\u2011\u00ad](?:[ \t]*\n[ \t]*)?|[’'.,:/@·])"
_TOKEN = re.compile(rf"[^\W_]+(?:{_JOINT}[^\W_]+)*|[^\w\s]|_")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010\u2011](?=[^\W\d_])")
_SPACES = re.compile(r"\s+")
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad][^\S\n]*+\n\s*+(?=[^\W\d_])")
_ALIKE = str.maketrans(
    {
        **dict.fromkeys("“”„«»‟", '"'),
        **dict.fromkeys("‘’‚‛´`", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\ufeff", ""),
    }
)
_MARKER = re.compile(r"(?:[-*•‣▪●–☐☒]|\(?[0-9A-Za-z]{1,4}[.)])\s+")
_NUMBER = re.compile(r"[\d.,:/]+|\b[ivxlc]+\b", re.IGNORECASE)
_PAGE_NUMBER = re.compile(
    r"\W*(?:(?:page|p[áa]g(?:ina|\.)?|seite|p\.)\s*)?\d{1,5}(?:\s*(?:of|de|von|/)\s*\d{1,5})?\W*", re.I
)
_TITLE = 0.6  # of the longest line of a page: a shorter one that ends no sentence may be a title
_OPEN = frozenset(".!?,;-\u2010\u00ad")  # what ends a line that is no title
_ENDS = frozenset(".!?")
_EDGE = 3  # lines at either end of a page that may be running heads
_SENTENCE = 6  # tokens from which on a line without a full stop is no title
_LONGEST = 400  # tokens of a unit
_SHOWN = 300  # characters of a statement
_APART = ("row", "header_row", "heading", "code", "caption", "footnote", "comment", "note", "field", "header", "footer")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or mark: its key, and `text[start:end]` of a page.

    Between two tokens of one `stretch` nothing was left out.
    """

    key: str
    page: int
    start: int
    end: int
    stretch: int


@dataclass(frozen=True, slots=True)
class Unit:
    """Tokens `first` to `last` (not included) that stand together: a sentence, a heading, a row.

    `part` is the number of the paragraph, `kind` that of its block; `key` the keys of its tokens.
    """

    first: int
    last: int
    part: int
    kind: str
    key: tuple[str, ...]


class ComparedText:
    """The tokens and units of pages, and where they stand."""

    def __init__(self, pages: Iterable[PageRecord]) -> None:
        """Read pages in their order. Raises `DamagedError` for one that is damaged."""
        self._pages = list(pages)
        self.tokens: list[Token] = []
        self.units: list[Unit] = []
        self._repeated = _Repeated(self._pages)
        self._headers: set[tuple[int, str]] = set()
        self._part, self._begun, self._stretch, self._kind = 0, 0, 0, ""
        self._words: dict[int, Words] = {}
        self._keys: dict[str, str] = {}  # with this text alone: what is erased leaves no word behind
        for at, page in enumerate(self._pages):
            self._read(at, page)
        self._end()

    def side(self, first: int, last: int, unit: Unit | None) -> ChangeSide:
        """Return tokens `first` to `last` as one side of a change, within a unit where there is one."""
        if first == last:
            beside = self.tokens[min(first, len(self.tokens) - 1)] if self.tokens else None
            page_no = self._pages[beside.page].page_no if beside is not None else 1
            around = self._text(unit.first, unit.last) if unit is not None else ""
            return ChangeSide("", clip(around, _SHOWN), (ChangePlace(page_no),))
        text = self._text(first, last)
        around = self._text(min(unit.first, first), max(unit.last, last)) if unit is not None else text
        places = [
            ChangePlace(self._pages[page].page_no, self._words_of(page).boxes_of(start, end), start, end)
            for page, start, end in self._spans(first, last)
        ]
        return ChangeSide(text, clip(around, _SHOWN), tuple(places))

    def _text(self, first: int, last: int) -> str:
        parts = (self._pages[page].text[start:end] for page, start, end in self._spans(first, last))
        return " ".join(_BROKEN.sub("", "\n".join(parts)).split())

    def _spans(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Yield the place in `_pages` and the span of the text of tokens, for each of their stretches."""
        while first < last:
            begun = end = self.tokens[first]
            while first < last and self.tokens[first].stretch == begun.stretch:
                end = self.tokens[first]
                first += 1
            yield begun.page, begun.start, end.end

    def _words_of(self, page: int) -> Words:
        if page not in self._words:
            self._words[page] = Words.unpack(self._pages[page].words)
        return self._words[page]

    # reading

    def _read(self, at: int, page: PageRecord) -> None:
        place = 0
        self._stretch += 1
        for block in page.structure():
            if page.text[place : block.start].strip():
                self._loose(at, page.text, place, block.start)
            self._block(at, page.text, block)
            place = block.end
        self._loose(at, page.text, place, len(page.text))

    def _loose(self, at: int, text: str, start: int, end: int) -> None:
        """Read text that no block has: lines, with an empty one between paragraphs."""
        begun: int | None = None  # the first of lines that are read as one
        full, short = max(map(len, text.split("\n"))), False
        for line in re.finditer(r"[^\n]+|\n[ \t]*\n", text[start:end]):
            first, last = start + line.start(), start + line.end()
            is_said = bool(line[0].strip())
            is_again = is_said and self._repeated.is_again(at, line[0])
            is_head = is_said and self._repeated.is_running(line[0])
            if begun is not None and (is_again or is_head or not is_said):
                self._add(at, text, begun, first)
                begun = None
            if is_again:
                self._stretch += 1
                continue
            if short and begun is not None and line[0].lstrip()[:1].isupper():  # a title stood before
                self._add(at, text, begun, first)
                begun = None
                self._end()
            short = len(line[0]) < _TITLE * full and line[0].rstrip()[-1:] not in _OPEN
            if self._kind or is_head or not is_said:
                self._end()
            if is_head:
                self._add(at, text, first, last)
                self._end()
            elif is_said:
                begun = first if begun is None else begun
        if begun is not None:
            self._add(at, text, begun, end)

    def _block(self, at: int, text: str, block: PageBlock) -> None:
        said = text[block.start : block.end]
        if block.kind in ("header", "footer") and self._repeated.is_again(at, said):
            self._stretch += 1
            return
        if block.kind == "header_row" and block.table is not None:
            key = (block.table.number, said)
            if key in self._headers:
                self._stretch += 1
                return
            self._headers.add(key)
        goes_on = block.kind == self._kind and block.kind not in _APART and self._is_open(at, said)
        if not goes_on:
            self._end()
        self._kind = block.kind
        if block.cells:
            for start, end in block.cells:
                self._add(at, text, start, end, is_cell=True)
            self._end()
            return
        start = block.start
        if block.kind == "item" and (marker := _MARKER.match(said)) is not None:
            start += marker.end()
        self._add(at, text, start, block.end)

    def _is_open(self, at: int, said: str) -> bool:
        """Return whether the sentence before a block goes on in it: it was cut by the end of a line or page."""
        if len(self.tokens) == self._begun or self.tokens[-1].key in _ENDS:
            return False
        is_long = len(self.tokens) - self._begun >= _SENTENCE
        return said[:1].islower() or is_long or self.tokens[-1].page != at

    def _add(self, at: int, text: str, start: int, end: int, *, is_cell: bool = False) -> None:
        for found in _TOKEN.finditer(text, start, end):
            key = self._keys.get(found[0]) or self._keys.setdefault(found[0], _key(found[0]))
            self.tokens.append(Token(key, at, found.start(), found.end(), self._stretch))
            after = text[found.end() : found.end() + 1]
            is_end = found[0] in _ENDS and (not after or after.isspace()) and not is_cell
            if is_end or len(self.tokens) - self._begun >= _LONGEST:
                self._close()

    def _close(self) -> None:
        """End a unit."""
        if len(self.tokens) > self._begun:
            keys = tuple(token.key for token in self.tokens[self._begun :])
            self.units.append(Unit(self._begun, len(self.tokens), self._part, self._kind or "paragraph", keys))
            self._begun = len(self.tokens)

    def _end(self) -> None:
        """End a paragraph."""
        self._close()
        self._part += 1
        self._kind = ""


class _Repeated:
    """Lines at the edges of pages that stand on several of them, alike or with the number of the page."""

    def __init__(self, pages: list[PageRecord]) -> None:
        self._lines = [[line.strip() for line in page.text.split("\n") if line.strip()] for page in pages]
        found: dict[str, dict[int, str]] = {}
        for at, lines in enumerate(self._lines):
            for line in _edges(lines):
                if masked := _masked(line):
                    found.setdefault(masked, {})[at] = line
        self._running: set[str] = set()
        self._unread: set[str] = set()  # alike on all pages, and not read yet: each is read once
        for lines_of in found.values():
            if len(lines_of) >= max(2, len(pages) // 3) and _is_running(lines_of):
                self._running.update(lines_of.values())
                self._unread.update([*lines_of.values()][:1] if len(set(lines_of.values())) == 1 else ())

    def is_running(self, line: str) -> bool:
        """Return whether a line stands on several pages."""
        return line.strip() in self._running

    def is_again(self, at: int, text: str) -> bool:
        """Return whether a line, head or foot was read on a page before, or is the number of its page."""
        line = " ".join(text.split())
        lines = self._lines[at]
        if len(lines) > 1 and line in (lines[0], lines[-1]) and _PAGE_NUMBER.fullmatch(line) is not None:
            return True
        parts = {part.strip() for part in text.split("\n")} & self._running
        is_first = not parts or bool(parts & self._unread)
        self._unread -= parts
        return not is_first


def _is_running(lines: dict[int, str]) -> bool:
    """Return whether each number of the lines is the same on all pages, or counts them."""
    numbers = {at: [int(one) for one in re.findall(r"\d{1,9}", line)] for at, line in lines.items()}
    if len({len(found) for found in numbers.values()}) > 1:
        return False
    columns = zip(*numbers.values(), strict=True)
    return all(
        len(set(column)) == 1 or len({number - at for at, number in zip(numbers, column, strict=True)}) == 1
        for column in columns
    )


def _edges(lines: list[str]) -> list[str]:
    return lines if len(lines) <= 2 * _EDGE else lines[:_EDGE] + lines[-_EDGE:]


def _masked(line: str) -> str:
    return " ".join(_NUMBER.sub("", line).split())


def _key(token: str) -> str:
    """Return what a token is compared by."""
    plain = unicodedata.normalize("NFKC", _SPACES.sub("", token)).translate(_ALIKE)
    return _HYPHEN.sub("", plain) or token
