"""Layout of text without pages onto sheets, which are drawn as pages.

The input is blocks, the output sheets of placed lines. Every word gets a box, so that it can be shown and cited.

Drawing, encoding and marking a page take 0.1 s, and placing its lines a fortieth of that. So the sheet itself is stored
in place of a picture, and drawn when somebody looks at it (`docmind.reading.drawing`).

It is one module of more than 500 lines because placing, drawing and storing a sheet share its measures and fonts.
"""

from __future__ import annotations

import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Any, Literal

from PIL import Image, ImageDraw, ImageFont

from docmind.blocks import (
    MOST_CELLS,
    MOST_COLUMNS,
    Block,
    Blocks,
    Cell,
    Losses,
    PageBlock,
    PageKind,
    PageTable,
    Picture,
    Raws,
    Table,
    pack,
    shown_in,
)
from docmind.documents import Words
from docmind.errors import CorruptFileError, EmptyFileError, TooLargeError
from docmind.reading.figures import LONGEST_SIDE, MOST_OF_PAGE, digest_of
from docmind.reading.formats import Rules
from docmind.reading.formats.captions import is_of_figure
from docmind.reading.formats.figures import encoded
from docmind.reading.sheets import SHEET
from docmind.records.documents import Facts, Loss, PageFigure, ParsedPage
from docmind.wording import _, number_text

Face = Literal["body", "bold", "small", "mono", "h1", "h2", "h3"]

LINE = "\u2028"
"""A line end within a block that stays one: the lines of an address. Any other white space is as a space."""

WIDTH, HEIGHT, MARGIN = 1_131, 1_600, 110  # A4 at the usual size of a page image
MOST_PIXELS = 10_000_000_000
"""Pixels of the pictures of one document that are decoded, which takes some minutes at most."""
TALLEST = 4 * HEIGHT
"""The height to which a page grows that is a page of the document itself, such as a slide."""
_FONTS = Path(__file__).parents[2] / "fonts"
_FACES: dict[Face, tuple[str, int]] = {
    "body": ("DejaVuSans.ttf", 22),
    "bold": ("DejaVuSans-Bold.ttf", 22),
    "small": ("DejaVuSans.ttf", 18),
    "mono": ("DejaVuSansMono.ttf", 18),
    "h1": ("DejaVuSans-Bold.ttf", 36),
    "h2": ("DejaVuSans-Bold.ttf", 29),
    "h3": ("DejaVuSans-Bold.ttf", 25),
}
_FACE_OF: dict[str, Face] = {face: face for face in _FACES}  # what a stored sheet may name
_COLUMN_GAP, _NARROWEST = 18, 60
_BREAKABLE = 130  # pixels that a column has at least whose long words are broken
_WHOLE_LINES = 12
"""Lines of a paragraph that is not divided between two sheets, so that its sentences can be quoted whole.

They are a quarter of a sheet, which is the most that is left empty at its end."""
CELL_MAX = 2_000  # characters of a cell that are placed
_NAMES_MAX = 20_000  # characters of the names of columns kept with each page; rows of more fill several sheets by far
_TALLEST_NAMES = HEIGHT // 3  # pixels of the names of columns that are repeated on each sheet
_SAMPLE = 100  # rows that settle the widths of a table's columns
_HEADINGS: tuple[Face, ...] = ("h1", "h2", "h3", "h3", "bold")  # by level
_INSET, _DEEPEST = 30, 8  # pixels for each level of an item, and the most of them
_BESIDE = frozenset(("header", "footer", "footnote", "comment", "note", "quoted"))  # what stands beside the text itself
_BETWEEN = frozenset(("footnote", "comment"))  # what may stand between a picture and its caption
_MOST_USES = 3  # of one picture in a document; one that stands at each heading is an ornament
_PIXELS = WIDTH / 794  # pixels of the layout for one of a picture: 794 are the width of A4 at 96 dots an inch
_TITLE_MAX = 300  # characters of a title that goes with what stands below it

Edges = list[tuple[float, float]]
"""Left edge and width of each column of a table, in pixels."""
Box = tuple[float, float, float, float]
"""Left, top, width and height in the layout."""
Wrapped = list[list[tuple[str, str]]]
"""The lines of each cell of a row, with what parts each from the one before."""


@dataclass(frozen=True, slots=True)
class Line:
    """One run of text at a place: `start` in the sheet's text, `x`, `y` of its top left corner."""

    text: str
    start: int
    x: float
    y: float
    face: Face


@dataclass(slots=True)
class Figure:
    """A picture at a place of the layout. `text[start:end]` of its sheet is its caption, or else its text in words."""

    picture: Picture
    x: float
    y: float
    width: float
    height: float
    sheet: int
    text: str = ""
    caption: str = ""
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class Sheet:
    """One page: its text, the place of each line and picture, and the parts of the text that came from blocks."""

    text: str = ""
    lines: list[Line] = field(default_factory=list)
    blocks: list[PageBlock] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)


@cache
def font(face: Face) -> ImageFont.FreeTypeFont:
    """Return the bundled font of a face at its size."""
    name, size = _FACES[face]
    return ImageFont.truetype(_FONTS / name, size)


def line_height(face: Face) -> int:
    """Return the pixels from one line to the next."""
    return round(_FACES[face][1] * 1.4)


def shown(block: Block) -> str:
    """Return the text of a block with what is shown before it: its marker, or who wrote a comment about what."""
    if block.kind == "comment":
        by = " ".join(filter(None, ("Comment", f"by {block.author}" if block.author else "")))
        return f"{by} on “{block.anchor}”: {block.text}" if block.anchor else f"{by}: {block.text}"
    if block.kind in ("heading", "item", "footnote", "note", "field") and block.marker:
        return f"{block.marker} {block.text}"
    return block.text


def face_of(block: Block) -> Face:
    """Return the face in which a block is drawn."""
    if block.kind == "heading":
        return _HEADINGS[min(max(block.level, 1), len(_HEADINGS)) - 1]
    if block.kind in _BESIDE:
        return "small"
    return "bold" if block.kind == "caption" else "body"


def flow(
    blocks: Blocks, name: str, max_pages: int, losses: Losses | None = None, *, tallest: int | None = None
) -> list[Sheet]:
    """Return all sheets of a text; cells that are cut off are counted in `losses`.

    With `tallest` the text has pages of its own, divided by page breaks: each is a sheet, also an empty one, up to
    that height, and no heading reaches over its end.

    Raises `TooLargeError` above `max_pages`, and then returns no sheets.
    """
    flow = _Flow(name, max_pages, Losses() if losses is None else losses, tallest)
    for block in blocks:
        flow.add(block)
    return flow.finish()


class _Flow:
    def __init__(self, name: str, max_pages: int, losses: Losses, tallest: int | None) -> None:
        self._name = name
        self._is_paged = tallest is not None
        self._bottom = (tallest or HEIGHT) - MARGIN
        self._losses = losses
        self._max_pages = max_pages
        self._sheets: list[Sheet] = []
        self._parts: list[str] = []
        self._length = 0
        self._lines: list[Line] = []
        self._y = float(MARGIN)
        self._blocks: list[PageBlock] = []
        self._placing: PageBlock | None = None  # the block that is being placed, without its span
        self._start: int | None = None  # where its part on this sheet begins; None before its first line
        self._headings: list[tuple[int, str]] = []  # level and text of the headings above
        self._path: tuple[str, ...] = ()
        self._tables = 0
        self._cells = 0  # of all tables
        self._is_in_fields = False
        self._figures: list[Figure] = []
        self._uses: Counter[str] = Counter()  # of each picture, in the document
        self._uncaptioned: list[Figure] = []  # those that were placed last, with nothing behind them
        self._caption_above: tuple[str, int, int, int] | None = None  # text, sheet and span of one that stands last

    def finish(self) -> list[Sheet]:
        if self._is_begun or self._is_paged:
            self._turn()
        return self._sheets

    @property
    def _is_begun(self) -> bool:
        return bool(self._lines or self._figures)

    def add(self, block: Block | Table) -> None:
        if isinstance(block, Block) and block.picture is not None:
            self._figure(block, block.picture)
            return
        self._place(block)
        if isinstance(block, Block) and is_of_figure(block):
            self._give_caption(block.text)
        elif isinstance(block, Table) or block.kind not in _BETWEEN:
            self._uncaptioned, self._caption_above = [], None

    def _place(self, block: Block | Table) -> None:
        if isinstance(block, Table):
            self._table(block)
        elif block.kind == "page_break":
            if self._is_begun or self._is_paged:
                self._turn()
            if self._is_paged:
                self._headings, self._path = [], ()
        elif block.kind == "heading":
            while self._headings and self._headings[-1][0] >= block.level:
                self._headings.pop()
            self._path = tuple(title for _level, title in self._headings)
            self._text(block, block.kind)
            title = " ".join(shown(block).split())[:_TITLE_MAX]
            self._headings += [(block.level, title)] if title else []
            self._path = tuple(title for _level, title in self._headings)
        else:
            self._text(block, block.kind)

    def _figure(self, block: Block, picture: Picture) -> None:
        """Place a picture with its text in words below it; one that is repeated further is an ornament."""
        self._uses[picture.key] += 1
        if self._uses[picture.key] > _MOST_USES:
            self._place(replace(block, picture=None))
            return
        room = WIDTH - 2 * MARGIN
        scale = min(_PIXELS, room / picture.width, HEIGHT / 2 / picture.height)
        width, height = max(1.0, picture.width * scale), max(1.0, picture.height * scale)
        self._room(height + 2 * line_height("body"))
        if len(self._figures) >= MOST_OF_PAGE:
            self._losses.note("picture")
            self._place(replace(block, picture=None))
            return
        figure = Figure(picture, MARGIN, self._y, width, height, len(self._sheets), block.text)
        self._figures.append(figure)
        self._y += height + line_height("body") // 2
        if block.text:
            figure.start, figure.end = self._span_of(block) or (0, 0)
        if self._caption_above is not None:
            self._caption(figure, *self._caption_above)
            self._caption_above = None
        else:
            self._uncaptioned.append(figure)

    def _span_of(self, block: Block) -> tuple[int, int] | None:
        """Place a text, and return its span on this sheet; None where it does not lie on it alone."""
        sheets, before = len(self._sheets), len(self._blocks)
        self._place(replace(block, picture=None))
        if len(self._sheets) != sheets or len(self._blocks) == before:
            return None
        return self._blocks[before].start, self._blocks[-1].end

    def _give_caption(self, text: str) -> None:
        """Give the caption that was placed last to the pictures above it, or keep it for the one below it."""
        said = text, len(self._sheets), self._blocks[-1].start if self._blocks else 0, self._length
        for figure in self._uncaptioned:
            self._caption(figure, *said)
        self._caption_above = None if self._uncaptioned else said
        self._uncaptioned = []

    @staticmethod
    def _caption(figure: Figure, text: str, sheet: int, start: int, end: int) -> None:
        figure.caption = text
        if sheet == figure.sheet:
            figure.start, figure.end = start, end

    def _text(self, block: Block, kind: PageKind) -> None:
        is_field = kind == "field"
        if self._is_in_fields and self._y > MARGIN:  # lines of a header stand close together
            self._y -= line_height("body") // 2 if is_field else -line_height("body") // 2
        self._is_in_fields = is_field
        with self._placed(PageBlock(kind, 0, 0, block.level, self._path, language=block.language)):
            if block.kind == "code" or block.is_verbatim:
                self._verbatim(shown(block), "mono", dict(block.symbols))
            else:
                inset = _INSET * min(block.level, _DEEPEST) if block.kind in ("item", "quoted") else 0
                self._paragraph(shown(block), face_of(block), inset)

    @contextmanager
    def _placed(self, block: PageBlock) -> Iterator[None]:
        """Note where the text lies that is put inside, on each sheet that it reaches."""
        self._placing, self._start = block, None
        yield
        self._note()
        self._placing = None

    def _note(self) -> None:
        if self._placing is not None and self._start is not None:
            self._blocks.append(replace(self._placing, start=self._start, end=self._length))
        self._start = None

    def _paragraph(self, text: str, face: Face, inset: int = 0) -> None:
        rows = [words for row in text.split(LINE) if (words := row.split())]
        if not rows:
            return
        step = line_height(face)
        if face in ("h1", "h2", "h3", "bold"):
            self._room(3 * step)  # a heading or caption is not left alone at the end of a sheet
        lines = [placed for words in rows for placed in wrap(words, face, WIDTH - 2 * MARGIN - inset)]
        if len(lines) <= _WHOLE_LINES and not self._is_paged:
            self._room(len(lines) * step)
        before = "\n\n"
        for line, glue in lines:
            self._room(step)
            self._put(line, before if before == "\n\n" else glue, MARGIN + inset, face)
            before = "\n"
            self._y += step
        self._y += step // 2

    def _verbatim(self, text: str, face: Face, symbols: Mapping[int, tuple[str, ...]]) -> None:
        """Place lines as they are; a part of code that begins at a line is a block with its symbols."""
        step, wide = line_height(face), font(face).getlength("0")
        columns = int((WIDTH - 2 * MARGIN) / wide)
        before = "\n\n"
        for number, raw in enumerate(text.expandtabs(8).splitlines()):
            line = raw.rstrip()
            if number in symbols and self._placing is not None:
                self._note()
                self._placing = replace(self._placing, path=(*self._path, *symbols[number]))
            indent = len(line) - len(line.lstrip())
            if not line:
                self._y += step
                before = "\n\n"
            inset = min(indent, columns // 2)
            for at in range(indent, len(line), columns - inset):
                self._room(step)
                before += " " * indent if at == indent else ""  # in the text too: in code they have a meaning
                self._put(line[at : at + columns - inset], before, MARGIN + inset * wide, face, indent)
                self._y += step
                before = ""
            before = before or "\n"
        self._y += step // 2

    def _table(self, table: Table) -> None:
        """Place a table; the rows that name its columns are repeated on each sheet that it reaches."""
        if table.caption:
            self.add(Block(kind="caption", text=table.caption))
        rows = ((self._texts(row, table.sheet), _raws(row)) for row in self._kept(table))
        sample = list(islice(rows, max(_SAMPLE, table.header_rows)))
        header = [row for row, _stored in sample[: table.header_rows] if any(row)]
        about = PageTable(_names_of(header), table.caption[:_TITLE_MAX], table.sheet[:_TITLE_MAX], self._tables)
        self._tables += 1
        edges = _columns([row for row, _stored in sample])
        names = [(row, _wrapped(row, edges, "bold")) for row in header]
        tall = sum(_tall(lines or [list(_running(row))], is_header=True) for row, lines in names)
        if tall > _TALLEST_NAMES:
            names = []  # each sheet would hold little but them
        before = "\n\n"
        for number, (row, raws) in enumerate(chain(sample, rows)):
            if not any(row):
                continue
            is_header = number < table.header_rows
            lines = _wrapped(row, edges, "bold" if is_header else "body")
            if self._y + _tall(lines, is_header=is_header) > self._bottom and self._is_begun:
                self._turn()
                for cells, placed in () if is_header else names:
                    self._row(cells, placed, edges, before, about, is_header=True)
            self._row(row, lines, edges, before, about, is_header=is_header, raws=raws)
            before = "\n"
        self._y += line_height("body") // 2

    def _kept(self, table: Table) -> Iterator[Sequence[Cell | str]]:
        """Yield the rows of a table without the empty cells at their ends; what is beyond the bounds is counted."""
        for row in table.rows:
            end = len(row)
            while end and not shown_in(row[end - 1]).strip():
                end -= 1
            kept = min(end, MOST_COLUMNS)
            if self._cells + kept > MOST_CELLS:
                kept = 0
            self._cells += kept
            self._losses.note("cell", table.sheet or table.caption, end - kept)
            yield row[:kept]

    def _texts(self, row: Sequence[Cell | str], place: str) -> list[str]:
        """Return the text of each cell; one that is cut off is counted, once where it spans several."""
        texts = [" ".join(shown_in(cell).split()) for cell in row]
        for at, text in enumerate(texts):
            if len(text) > CELL_MAX:
                texts[at] = text[:CELL_MAX]
                cell = row[at]
                self._losses.note("part", place, int(isinstance(cell, str) or not cell.is_filled))
        return texts

    def _row(
        self, cells: Sequence[str], lines: Wrapped, edges: Edges | None, before: str, table: PageTable,
        *, is_header: bool, raws: Raws = (),
    ) -> None:  # fmt: skip
        kind: PageKind = "header_row" if is_header else "row"
        sheets = len(self._sheets)
        self._placing, self._start = PageBlock(kind, 0, 0, 0, self._path, table), None
        if edges is None:
            spans = self._long_row(cells, before)
        else:
            spans = self._short_row(lines, edges, before, "bold" if is_header else "body")
        if len(self._sheets) == sheets and self._start is not None:
            place, end = min(self._start, *(start for start, _until in spans)), self._length
            cells_at = tuple([(min(max(a, place), end), min(max(b, place), end)) for a, b in spans])
            self._blocks.append(PageBlock(kind, place, end, 0, self._path, table, cells_at, raws=raws))
        else:  # a row that runs on over the next sheet has no cells
            self._note()
        self._placing = self._start = None

    def _long_row(self, cells: Sequence[str], before: str) -> list[tuple[int, int]]:
        """Place a row of a table that is wider than a sheet as running text, and return the spans of its cells."""
        step = line_height("body")
        start: int | None = None
        for line, glue in _running(cells):
            self._room(step)
            self._put(line, before or glue, MARGIN, "body")
            start = self._length - len(line) if start is None else start
            before = ""
            self._y += step
        spans, at = list[tuple[int, int]](), start or 0
        for cell in cells:
            spans.append((at, at + len(cell)))
            at += len(cell) + (3 if cell else 2)  # "a | | b": an empty cell has one space
        return spans

    def _short_row(self, wrapped: Wrapped, edges: Edges, before: str, face: Face) -> list[tuple[int, int]]:
        """Place cells side by side, and return their spans: in the text they follow each other, each complete."""
        step = line_height(face)
        top, tall = self._y, max(map(len, wrapped), default=1)
        spans = list[tuple[int, int]]()
        begin = self._length + (len(before) if self._parts else 0)  # with the bars of empty cells at the start
        last = max((number for number, lines in enumerate(wrapped) if lines), default=0)
        for column, (lines, (x, _wide)) in enumerate(zip(wrapped, edges, strict=False)):
            at: int | None = None
            for number, (line, glue) in enumerate(lines):
                if top + (number + 1) * step > self._bottom:  # a cell taller than a sheet runs on below the others
                    self._turn()
                    top = self._y - number * step
                self._y = top + number * step
                self._put(line, glue.replace("\n", " ") if number else before, x, face)
                at = self._length - len(line) if at is None else at
            if at is not None:
                spans.append((at, self._length))
            else:
                spans.append((max(begin, self._length), max(begin, self._length)))
            if lines:
                before = " | "
            elif column < last:
                before += "| "  # an empty cell is a cell
        self._y = max(self._y, top + (tall - 1) * step) + step
        return spans

    def _room(self, tall: float) -> None:
        if self._y + tall > self._bottom and self._is_begun:
            self._turn()

    def _put(self, text: str, before: str, x: float, face: Face, indent: int = 0) -> None:
        """Place a line; of what stands before it in the text, the spaces of its `indent` belong to its block."""
        before = before if self._parts else before.lstrip("\n")
        self._parts.append(before)
        self._length += len(before)
        self._parts.append(text)
        self._start = self._length - min(indent, len(before)) if self._start is None else self._start
        self._lines.append(Line(text, self._length, x, self._y, face))
        self._length += len(text)

    def _turn(self) -> None:
        if len(self._sheets) >= self._max_pages:
            raise TooLargeError(
                _("{name} fills more than {max_pages} pages.").format(
                    name=self._name, max_pages=number_text(self._max_pages)
                ),
                hint=_("Split the file, or raise DOCMIND_READING__MAX_PAGES."),
            )
        self._note()
        self._sheets.append(Sheet("".join(self._parts), self._lines, self._blocks, self._figures))
        self._figures = []
        self._parts, self._lines, self._blocks, self._length, self._y = [], [], [], 0, float(MARGIN)


def _wrapped(cells: Sequence[str], edges: Edges | None, face: Face) -> Wrapped:
    """Return the lines of each cell of a row; none where the row is placed as running text."""
    if edges is None:
        return []
    measure = _measure(face)
    found: Wrapped = []
    for cell, (_left, wide) in zip(cells, edges, strict=False):
        if cell and " " not in cell and measure(cell) <= wide:
            found.append([(cell, "\n")])
        else:
            found.append(list(wrap(cell.split(), face, wide)))
    return found


def _running(cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of a row that is placed as running text."""
    return wrap(" | ".join(cells).split(), "body", WIDTH - 2 * MARGIN)


def _tall(lines: Wrapped, *, is_header: bool) -> float:
    """Return the height of a row, at most that of a sheet."""
    return min(max(map(len, lines), default=1) * line_height("bold" if is_header else "body"), HEIGHT - 2 * MARGIN)


def _raws(row: Sequence[Cell | str]) -> Raws:
    """Return the numbers of a row that its cells show in another way."""
    found: list[tuple[int, float]] = []
    for at, cell in enumerate(row):
        if (
            not isinstance(cell, str)
            and cell.raw
            and cell.type in ("number", "amount", "percent")
            and not cell.is_filled
        ):
            with suppress(ValueError):
                found.append((at, float(cell.raw)))
    return tuple(found)


def _names_of(header: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the name of each column: what stands in the rows of the header, from top to bottom, each text once."""
    wide = max(map(len, header), default=0)
    columns = ([row[at] for row in header if at < len(row) and row[at]] for at in range(wide))
    names = [" ".join(dict.fromkeys(column))[:_TITLE_MAX] for column in columns]
    ends = accumulate(len(name) + 1 for name in names)
    return tuple(name for name, end in zip(names, ends, strict=True) if end <= _NAMES_MAX)


def wrap(words: Sequence[str], face: Face, wide: float) -> Iterator[tuple[str, str]]:
    """Yield lines at most `wide` pixels long, each with its separator: a line break, or "" inside a long word."""
    measure = _measure(face)
    space = measure(" ")
    line: list[str] = []
    used, glue = 0.0, "\n"
    for word in words:
        length = measure(word)
        if line and used + space + length > wide:
            yield " ".join(line), glue
            line, used, glue = [], 0.0, "\n"
        if length > wide:
            *whole, word = _break(word, measure, wide)
            for piece in whole:
                yield piece, glue
                glue = ""
            length = measure(word)
        used += length + (space if line else 0.0)
        line.append(word)
    if line:
        yield " ".join(line), glue


def _break(word: str, measure: Callable[[str], float], wide: float) -> list[str]:
    pieces, start, used = [], 0, 0.0
    for at, char in enumerate(word):
        length = measure(char)
        if used + length > wide and at > start:
            pieces.append(word[start:at])
            start, used = at, 0.0
        used += length
    return [*pieces, word[start:]]


@cache
def _measure(face: Face) -> Callable[[str], float]:
    """Return a function that measures words and caches the widths, because a text repeats the same words."""
    known: dict[str, float] = {}
    of = _length(face)

    def measure(word: str) -> float:
        length = known.get(word)
        if length is None:
            if len(known) > 200_000:
                known.clear()
            # Shaping a very long word at once is slow and useless: it will be broken.
            length = of(word) if len(word) < 400 else 1e9
            known[word] = length
        return length

    return measure


def _columns(rows: Sequence[Sequence[str]]) -> Edges | None:
    """Return left edge and width of each column; None where the columns do not fit on a sheet."""
    count = max(map(len, rows), default=0)
    room = WIDTH - 2 * MARGIN - _COLUMN_GAP * (count - 1)
    if count == 0 or room / count < _NARROWEST:
        return None
    measure = _measure("bold")
    widest, words = [float(_NARROWEST)] * count, [float(_NARROWEST)] * count
    for row in rows:
        for number, cell in enumerate(row):
            parts = cell.split()[:60]
            widest[number] = max(widest[number], min(measure(" ".join(parts)), 2.0 * room))
            words[number] = max(words[number], min(max(map(measure, parts), default=0.0), room / 3))
    if sum(words) > room:
        most = _narrowed(words, room)
        if most < _BREAKABLE:
            return None
        words = [min(word, most) for word in words]
    spare = room - sum(words)
    wants = [wide - word for wide, word in zip(widest, words, strict=True)]
    share = min(1.0, spare / max(sum(wants), 1.0))
    widths = [word + want * share for word, want in zip(words, wants, strict=True)]
    over = (room - sum(widths)) / count  # rows below may be wider than those of the sample
    edges, x = [], float(MARGIN)
    for wide in widths:
        wide += max(0.0, min(over, wide / 2))
        edges.append((x, wide + 1.0))
        x += wide + _COLUMN_GAP
    return edges


def _narrowed(words: Sequence[float], room: float) -> float:
    """Return the width to which the widest columns are to be cut so that all fit; 0 where even that does not help."""
    left = room
    for count, word in zip(range(len(words), 0, -1), sorted(words), strict=True):
        if word * count > left:
            return left / count
        left -= word
    return 0.0


@cache
def _length(face: Face) -> Callable[[str], float]:
    """Return a function that measures a word as the font does, most of them from their letters.

    Shaping a word takes 50 µs, and tables are full of words that occur once. The length of a word of ASCII is the sum
    of its letters' and of what pairs of letters move together, except for ligatures of three letters, such as ffi.
    """
    of = font(face).getlength
    letters: dict[str, float] = {}
    pairs: dict[tuple[str, str], float] = {}

    def length(word: str) -> float:
        if not word.isascii() or "ff" in word:
            return of(word)
        total = 0.0
        last = ""
        for letter in word:
            if letter not in letters:
                letters[letter] = of(letter)
            total += letters[letter]
            if last:
                pair = last, letter
                if pair not in pairs:
                    pairs[pair] = of(last + letter) - letters[last] - letters[letter]
                total += pairs[pair]
            last = letter
        return total

    return length


_WORD = re.compile(r"\S+")
# What no font draws and no reader wants; tabs and line ends are handled before.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u200b\ufeff\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """Remove control characters and other invisible marks."""
    return _CONTROL.sub("", text)


class LaidOut:
    """A document without pages of its own, on sheets.

    Raises `EmptyFileError` where no block holds text.
    """

    if_blank = EmptyFileError

    def __init__(
        self, blocks: Blocks, facts: Facts, name: str, rules: Rules, losses: Losses | None = None,
        *, is_paged: bool = False,
    ) -> None:  # fmt: skip
        """Lay out all blocks; `losses` is what the reader counts while it yields them.

        With `is_paged` the pages are those of the document, which grow with their text, up to four sheets.
        """
        losses = Losses() if losses is None else losses
        tallest = min(TALLEST, _LONGEST_SIDE * HEIGHT // rules.image_side_px) if is_paged else None
        self._sheets = flow(blocks, name, rules.max_pages, losses, tallest=tallest)
        self._is_paged = is_paged
        self._losses = losses
        self._pixels = 0  # of the pictures that were decoded
        self._rules = rules
        self.facts = facts
        self.pages = len(self._sheets)
        if not any(sheet.lines or sheet.figures for sheet in self._sheets):
            raise EmptyFileError(
                _("{name} holds no text.").format(name=name),
                hint=_("If it holds pictures only, save it as PDF and add that."),
            )

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What was seen and not read; pictures are decoded with the pages on which they stand."""
        return self._losses.found()

    def page(self, page_no: int) -> ParsedPage:
        """Return one page, with its sheet in place of a picture."""
        sheet = self._sheets[page_no - 1]
        tall = HEIGHT if self.pages > 1 and not self._is_paged else _height_of(sheet)
        scale = self._rules.image_side_px / HEIGHT
        width, height = _size(tall, scale)
        shown = [(figure, image) for figure in sheet.figures if (image := self._encoded(figure, page_no))]
        return ParsedPage(
            page_no=page_no,
            width=width,
            height=height,
            text=sheet.text,
            words=_words(sheet, scale).pack(),
            blocks=pack(sheet.blocks),
            image=_packed(sheet.lines, tall, (width, height), shown),
            thumbnail=b"",
            text_source="layer" if sheet.text or not shown else "none",
            confidence=1.0,
            needs_ocr=bool(shown) and not sheet.text,
            figures=tuple(_page_figure(figure, image, scale, (width, height)) for figure, image in shown),
        )

    def _encoded(self, figure: Figure, page_no: int) -> bytes:
        self._pixels += figure.picture.width * figure.picture.height
        image = encoded(figure.picture) if self._pixels <= MOST_PIXELS else b""
        if not image:
            self._losses.note("picture", f"page {page_no}")
        return image


def _page_figure(figure: Figure, image: bytes, scale: float, size: tuple[int, int]) -> PageFigure:
    left, top = (min(round(at * scale), side - 1) for at, side in zip((figure.x, figure.y), size, strict=True))
    wide, high = (max(1, round(at * scale)) for at in (figure.width, figure.height))
    return PageFigure(
        box=(left, top, min(wide, size[0] - left), min(high, size[1] - top)),
        size=(figure.picture.width, figure.picture.height),
        text=figure.text,
        caption=figure.caption,
        start=figure.start,
        end=figure.end,
        image=image,
        kind="photo" if figure.picture.is_photo else "graphic",
    )


def _size(tall: int, scale: float) -> tuple[int, int]:
    """Return width and height of the picture of a sheet of this height."""
    return round(WIDTH * scale), round(tall * scale)


def _height_of(sheet: Sheet) -> int:
    """Return the height of a sheet that ends with its text. A note of a few lines then costs half of what a page does.

    It is at least that of a sheet on its side.
    """
    bottom = max((line.y + line_height(line.face) for line in sheet.lines), default=0.0)
    bottom = max([bottom, *(figure.y + figure.height for figure in sheet.figures)])
    return min(TALLEST, max(round(bottom) + MARGIN, round(WIDTH / 2**0.5)))


def _words(sheet: Sheet, scale: float) -> Words:
    """Return the words of a sheet, with their boxes on its picture."""
    spans: list[tuple[int, int]] = []
    boxes: list[tuple[float, float, float, float]] = []
    for line in sheet.lines:
        tall = 0.9 * line_height(line.face) * scale
        for start, word, x, wide in _placed(line):
            spans.append((line.start + start, line.start + start + len(word)))
            boxes.append((x * scale, line.y * scale, wide * scale, tall))
    return Words.of(spans, boxes)


def _draw(
    lines: Iterable[Line], tall: int, size: tuple[int, int], pictures: Sequence[tuple[Box, Image.Image]]
) -> Image.Image:
    """Draw a sheet of this height at the size of the layout, then scale it to the requested size.

    It is grey where it has no pictures.
    """
    image = Image.new("RGB" if pictures else "L", (WIDTH, tall), "white")
    for (x, y, width, high), picture in pictures:
        image.paste(picture.resize((max(1, round(width)), max(1, round(high)))), (round(x), round(y)))
    pen = ImageDraw.Draw(image)
    for line in lines:
        face = font(line.face)
        for _start, word, x, _wide in _placed(line):
            pen.text((x, line.y), word, fill="black", font=face)
    return image if image.size == size else image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)


def _placed(line: Line) -> Iterator[tuple[int, str, float, float]]:
    """Yield start, text, left edge and width of each word of a line."""
    # A piece of a line is measured again and again in one text; very long ones are not cached.
    measure = _measure(line.face) if len(line.text) < 400 else font(line.face).getlength
    x, last = line.x, 0
    for match in _WORD.finditer(line.text):
        x += measure(line.text[last : match.start()])
        wide = measure(match.group())
        yield match.start(), match.group(), x, wide
        x, last = x + wide, match.end()


_LARGEST = 8 << 20  # bytes, unpacked
_LONGEST_SIDE = 16_383  # pixels, as of a WebP
_MOST_LINES = 20_000


def _packed(
    lines: Iterable[Line], tall: int, size: tuple[int, int], figures: Sequence[tuple[Figure, bytes]] = ()
) -> bytes:
    placed = [[line.face, line.x, line.y, line.text] for line in lines]
    told = {"width": size[0], "height": size[1], "tall": tall, "lines": placed}
    if figures:
        told["pictures"] = [[each.x, each.y, each.width, each.height, digest_of(image)] for each, image in figures]
    body = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return SHEET + zlib.compress(body, 1)


def draw_sheet(data: bytes, images: Iterable[bytes] = ()) -> Image.Image:
    """Return the picture of a stored sheet, in grey, or in RGB where `images` are drawn on it.

    `images` are those of the figures of its page, in any order; a place for which there is none stays empty. Raises
    `CorruptFileError`.

    The sheet may come from a process that a hostile file has taken over: it is checked, and drawn in a process that
    may be killed.
    """
    try:
        unpacker = zlib.decompressobj()
        told = json.loads(unpacker.decompress(data.removeprefix(SHEET), _LARGEST))
        width, height = told["width"], told["height"]
        tall = told.get("tall", HEIGHT)
        is_size = all(type(side) is int and 1 <= side <= _LONGEST_SIDE for side in (width, height))
        is_size = is_size and type(tall) is int and 1 <= tall <= TALLEST
        places = told.get("pictures", ())
        if unpacker.unconsumed_tail or not is_size or len(told["lines"]) > _MOST_LINES or len(places) > MOST_OF_PAGE:
            raise ValueError
        lines = [Line(str(text), 0, *_within(x, y), _FACE_OF[face]) for face, x, y, text in told["lines"]]
        by_digest = {digest_of(image): image for image in images} if places else {}
        pictures = [
            ((*_within(x, y), *_within(wide, high)), _opened(by_digest[digest]))
            for x, y, wide, high, digest in places
            if digest in by_digest
        ]
    except (OSError, zlib.error, ValueError, TypeError, KeyError, RecursionError) as error:
        raise CorruptFileError(_("The image of a page is damaged.")) from error
    return _draw(lines, tall, (width, height), pictures)


def _within(x: Any, y: Any) -> tuple[float, float]:
    return min(max(float(x), 0.0), WIDTH), min(max(float(y), 0.0), TALLEST)


def _opened(image: bytes) -> Image.Image:
    """Return the picture of a figure. Raises `OSError`, `ValueError`."""
    opened = Image.open(io.BytesIO(image), formats=["WEBP"])
    if max(opened.size) > LONGEST_SIDE:
        raise ValueError
    return opened.convert("RGB")
