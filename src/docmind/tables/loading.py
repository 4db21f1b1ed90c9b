"""Tables of documents, as the catalog stores them: rows with the places of their cells, and typed columns."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import NamedTuple

from docmind.blocks import MOST_CELLS, PageBlock, PageTable, Raws, may_have_tables, unpack
from docmind.documents import Catalog
from docmind.embedding import name_of
from docmind.errors import DamagedError, NotFoundError
from docmind.language import fold
from docmind.records.documents import DocumentInfo
from docmind.tables.values import Column, Sql, as_stored, typed
from docmind.tables.wordlists import ALL, MEANS, TOTALS

ROWS = 100_000  # of one table; a longer one is partial
PAGES = 4_000  # pages read for the tables of one document; a longer one has partial tables
_DOCUMENTS = 512  # documents whose tables are kept in memory
_LOOKED = 12  # first rows by which it is told whether one names the columns
_FEWEST = 3  # of such rows
_LINES_ABOVE, _LONGEST_LINE = 3, 80  # lines above a table on its page that are its titles, and their characters
_LONGEST_NAME = 40  # characters
_HEADINGS = 3  # innermost headings above a table that name it


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its page, its span there, what its cells show, and numbers that they show rounded.

    `shown` has a text for each column of the table. `places` has start and end of each cell in turn, without those of
    empty cells at the end: as plain numbers, because a file may have millions of cells.
    """

    page_no: int
    span: tuple[int, int]
    places: Sequence[int]
    shown: tuple[str, ...]
    text: str
    raws: Raws = ()
    beside: Beside | None = None

    def place(self, column: int) -> tuple[int, int]:
        """Return the span of a cell on its page."""
        if 2 * column >= len(self.places):
            return self.span[1], self.span[1]
        return self.places[2 * column], self.places[2 * column + 1]


class _Part(NamedTuple):
    """A row as it stands on a page: the page and its text, the block without its cells, and the places of these."""

    page_no: int
    page: str
    block: PageBlock
    places: array[int]

    @property
    def size(self) -> int:
        return len(self.places) // 2

    def cells(self) -> Iterator[str]:
        """Yield what each cell shows."""
        for start, end in zip(self.places[::2], self.places[1::2], strict=True):
            yield " ".join(self.page[start:end].split())


@dataclass(frozen=True, slots=True)
class Beside:
    """The row of another table that a row names: its columns `kept` stand from the column `start` on."""

    table: Table
    row: Row
    start: int
    kept: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a document, whose title stands in answers, and whose label has the words by which it is meant.

    `values` has a value for each column, row by row. Rows that add up the others are left out. `is_partial` tells that
    a part of it was not read: a row that runs over two pages has no cells, a damaged page no rows. `join` has the name
    of another table whose cells stand in its rows, and the name of the column that both have.
    """

    doc_id: str
    document: str
    title: str
    label: str
    about: PageTable
    path: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    values: tuple[tuple[Sql, ...], ...]
    is_partial: bool = False
    join: tuple[str, str] = ("", "")

    @property
    def titles(self) -> tuple[str, ...]:
        """The texts that name it: the document, the sheet, the caption, and the headings above."""
        return _titles_of(self.label, self.about, self.path)


class Unread:
    """A table as it stands on pages. Its rows are read, and its columns typed, where a question may be about it."""

    def __init__(
        self,
        info: DocumentInfo,
        parts: Sequence[_Part],
        above: tuple[str, ...] = (),
        *,
        is_whole: bool,
    ) -> None:
        """Set up; `parts` are its rows in their order."""
        self._info, self._parts, self._is_whole = info, parts, is_whole
        about = parts[0].block.table
        assert about is not None
        self.about, self.path = about, parts[0].block.path or above
        self.header, self._has_own_head = about.header, False
        if not any(about.header) and (head := _head_of(parts, is_english=info.language in ("", "en"))):
            self.header, self._has_own_head = head, True
        self.doc_id, self.label = info.doc_id, name_of(info.document, info.title)
        self.size = sum(part.size for part in parts)

    @property
    def titles(self) -> tuple[str, ...]:
        """The texts that name it: the document, the sheet, the caption, and the headings above."""
        return _titles_of(self.label, self.about, self.path)

    @cached_property
    def folded(self) -> str:
        """All that it says, with the names of it, folded: what a word of a question may stand for."""
        titles = " ".join((*self.header, *self.titles))
        spans = (part.page[part.block.start : part.block.end] for part in self._parts)
        return fold("\n".join((titles, *spans)).lower())

    @cached_property
    def read(self) -> Table | None:
        """The table with its rows and typed columns; None where no row has cells."""
        parts = [part for part in self._parts if part.places][1:] if self._has_own_head else self._parts
        return _joined(self._info, parts, self.header, self.path, is_whole=self._is_whole)


class Tables:
    """The tables of documents, kept in memory until the document changes. Thread-safe."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[Unread, ...]] = {}
        self._epoch = -1

    def drop(self) -> None:
        """Drop what is kept in memory, because a document is erased."""
        with self._lock:
            self._kept.clear()
            self._epoch = -1

    def of(self, info: DocumentInfo) -> tuple[Unread, ...]:
        """Return the tables of a document, in their order; none where it was erased meanwhile."""
        self._forget_changed()
        with self._lock:
            kept, epoch = self._kept.get(info.doc_id), self._epoch
        if kept is not None:
            return kept
        try:
            found = _tables_of(info, self._catalog)
        except NotFoundError:
            return ()
        with self._lock:
            if self._epoch == epoch:  # else it was dropped or changed while it was read
                self._make_room(found)
                self._kept[info.doc_id] = found
        return found

    def is_kept(self, doc_id: str) -> bool:
        """Return whether the tables of a document need not be read."""
        with self._lock:
            return doc_id in self._kept

    def _make_room(self, coming: Sequence[Unread]) -> None:
        sizes = [sum(one.size for one in tables) for tables in self._kept.values()]
        held = sum(sizes) + sum(one.size for one in coming)
        for doc_id, size in list(zip(self._kept, sizes, strict=True)):  # the oldest first
            if held <= MOST_CELLS and len(self._kept) < _DOCUMENTS:
                return
            del self._kept[doc_id]
            held -= size

    def _forget_changed(self) -> None:
        epoch = self._catalog.epoch()
        with self._lock:
            if self._epoch == epoch:
                return
            before, self._epoch = self._epoch, epoch
        changed = self._catalog.changes_since(before) if before >= 0 else {}
        with self._lock:
            for doc_id in changed:
                self._kept.pop(doc_id, None)


def _tables_of(info: DocumentInfo, catalog: Catalog) -> tuple[Unread, ...]:
    """Return the tables of a document, those of a number joined over its pages. Raises `NotFoundError`."""
    pages = catalog.structures_of(info.doc_id)
    is_whole = info.pages <= len(pages) <= PAGES
    parts: dict[int, list[_Part]] = {}
    above: dict[int, tuple[str, ...]] = {}
    room = MOST_CELLS  # a library that an earlier version has filled may hold more
    for page_no, text, packed in islice(pages, PAGES):
        if room < 0:
            break
        if not may_have_tables(packed):
            continue
        try:
            structure = unpack(packed, len(text))
        except DamagedError:
            catalog.note_damage(info.doc_id, page_no)
            is_whole = False
            continue
        for block in structure:
            if block.table is not None and block.table.number not in above:
                above[block.table.number] = _lines_above(text, block)
            if block.kind == "row" and block.table is not None:
                room -= len(block.cells)
                if room < 0:
                    is_whole = False
                    break
                places = array("I", chain.from_iterable(block.cells))
                part = _Part(page_no, text, replace(block, cells=()), places)
                parts.setdefault(block.table.number, []).append(part)
    return tuple(Unread(info, rows, above[number], is_whole=is_whole) for number, rows in parts.items())


def _lines_above(text: str, first: PageBlock) -> tuple[str, ...]:
    """Return the titles of a table that nothing marks: the first lines of its page, where the table follows them."""
    lines = [line.strip() for line in text[: first.start].splitlines() if line.strip()]
    is_marked = bool(first.path) or first.table is None or bool(first.table.caption)
    if is_marked or not 0 < len(lines) <= _LINES_ABOVE or any(len(line) > _LONGEST_LINE for line in lines):
        return ()
    return tuple(line for line in lines if not line.endswith((".", ":", ";", ",")))


def _head_of(parts: Sequence[_Part], *, is_english: bool) -> tuple[str, ...]:
    """Return the cells of a first row that names the columns though nothing marks it; none where it names none.

    Such names are short, without digits, and all different, and a column has dates, numbers, or yes and no below it.
    """
    held = [tuple(part.cells()) for part in parts[:_LOOKED] if part.places]
    if len(held) < _FEWEST or len(held[0]) < max(map(len, held)):
        return ()
    head, below = held[0], [(*row, *[""] * (len(held[0]) - len(row))) for row in held[1:]]
    is_plain = all(cell and len(cell) <= _LONGEST_NAME and not any(map(str.isdigit, cell)) for cell in head)
    if len(head) < 2 or not is_plain or len({fold(cell.lower()) for cell in head}) < len(head) or head[0].endswith(":"):
        return ()
    for at, name in enumerate(head):
        column, _values = typed(name, [row[at] for row in below], is_english=is_english)
        if column.type not in ("text", "empty") and typed(name, [name], is_english=is_english)[0].type == "text":
            return head
    return ()


def _joined(
    info: DocumentInfo,
    parts: Sequence[_Part],
    header: Sequence[str],
    path: tuple[str, ...],
    *,
    is_whole: bool,
) -> Table | None:
    """Return rows of one table as a table; None where none of them has cells."""
    first = parts[0].block
    assert first.table is not None
    held, wide = _within(part for part in islice(parts, ROWS) if part.places)
    if not held:
        return None
    wide = max(wide, min(len(header), MOST_CELLS // len(held)))
    alike: dict[str, str] = {}  # one text for all cells that show it
    names = (*header[:wide], *("" for _ in range(wide - len(header))))
    counted = [row for part in held if not _adds_up((row := _row(part, wide, alike)).shown)]
    is_english = info.language in ("", "en")
    counted = _without_sum(counted, is_english=is_english)
    stored: dict[int, dict[int, float]] = {}  # by column and row
    for n, row in enumerate(counted):
        for at, raw in row.raws:
            stored.setdefault(at, {})[n] = raw
    columns: list[Column] = []
    by_column: list[list[Sql]] = []
    for at, name in enumerate(names):
        column, values = typed(name, [row.shown[at] for row in counted], is_english=is_english)
        if column.type == "number":
            for n, raw in stored.get(at, {}).items():
                values[n] = as_stored(values[n], raw, column)
        columns.append(column)
        by_column.append(values)
    return Table(
        info.doc_id,
        info.document,
        info.label,
        name_of(info.document, info.title),
        first.table,
        path,
        tuple(columns),
        tuple(counted),
        tuple(zip(*by_column, strict=True)),
        is_partial=not is_whole or len(held) < len(parts),
    )


def _within(parts: Iterator[_Part]) -> tuple[list[_Part], int]:
    """Return the first rows of a table, and its columns, so many that rows times columns are within the bound.

    A table of long rows above short ones would else have many times the cells that its file has.
    """
    held: list[_Part] = []
    wide = 0
    for part in parts:
        wider = max(wide, part.size)
        if wider * (len(held) + 1) > MOST_CELLS:
            break
        held.append(part)
        wide = wider
    return held, wide


def _titles_of(label: str, about: PageTable, path: Sequence[str]) -> tuple[str, ...]:
    return tuple(filter(None, (label, about.sheet, about.caption, *path[-_HEADINGS:])))


def _row(part: _Part, wide: int, alike: dict[str, str]) -> Row:
    block = part.block
    shown = [alike.setdefault(cell, cell) for cell in part.cells()]
    shown += [""] * (wide - len(shown))
    text = part.page[block.start : block.end]
    return Row(part.page_no, (block.start, block.end), part.places, tuple(shown), text, block.raws)


def _without_sum(rows: list[Row], *, is_english: bool) -> list[Row]:
    """Return rows without the last one where its numbers are the sums of those above it.

    So are all of its numbers, in two columns or more, or in one where nothing or a word such as `All` stands beside it.
    """
    if len(rows) < _FEWEST:
        return rows
    *above, last = rows
    sums = 0
    for at, cell in enumerate(last.shown):
        if not any(map(str.isdigit, cell)):
            continue
        column, values = typed("", [row.shown[at] for row in rows], is_english=is_english)
        held = [value for value in values[:-1] if isinstance(value, float)]
        if column.type not in ("number", "duration") or len(held) < 2 or not isinstance(values[-1], float):
            return rows
        if abs(sum(held) - values[-1]) >= 0.5 * 10.0**-column.places or sum(map(bool, held)) < 2:
            return rows
        sums += 1
    said = fold(" ".join(cell for cell in last.shown if not any(map(str.isdigit, cell))).lower()).split()
    is_word = not said or said[0] in ALL
    return above if sums > 1 or (sums == 1 and is_word) else rows


def _adds_up(shown: Sequence[str]) -> bool:
    """Return whether a row holds the total or the mean of others: such a word, beside numbers only."""
    first = next(filter(None, shown), "")
    said = fold(first.lower()).replace("grand ", "").split()
    if not 0 < len(said) <= 4 or said[0].strip(":") not in TOTALS | MEANS:
        return False
    filled = [cell for cell in shown if cell]
    return len(filled) > 1 and all(any(map(str.isdigit, cell)) for cell in filled[1:])
