"""Tables of documents, as the catalog stores them: rows with the places of their cells, and typed columns."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from docmind.blocks import PageBlock, PageTable, Raws, may_have_tables, unpack
from docmind.documents import Catalog
from docmind.embedding import fold, name_of
from docmind.errors import DamagedError, NotFoundError
from docmind.records.documents import DocumentInfo
from docmind.tables.values import Column, Sql, as_stored, typed
from docmind.tables.wordlists import MEANS, TOTALS

ROWS = 100_000  # of one table; a longer one is partial
PAGES = 4_000  # pages read for the tables of one document; a longer one has partial tables
_DOCUMENTS = 512  # documents whose tables are kept in memory
_CELLS = 2_000_000  # cells that are kept in memory over all documents
_HEADINGS = 3  # innermost headings above a table that name it


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its page, its span there, the spans of its cells, what they show, and numbers that they show rounded."""

    page_no: int
    span: tuple[int, int]
    cells: tuple[tuple[int, int], ...]
    shown: tuple[str, ...]
    text: str
    raws: Raws = ()
    beside: Beside | None = None


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

    def __init__(self, info: DocumentInfo, parts: Sequence[tuple[int, str, PageBlock]], *, is_whole: bool) -> None:
        """Set up; `parts` are its rows in their order, each with its page and the text of that."""
        self._info, self._parts, self._is_whole = info, parts, is_whole
        about = parts[0][2].table
        assert about is not None
        self.about, self.path = about, parts[0][2].path
        self.doc_id, self.label = info.doc_id, name_of(info.document, info.title)
        self.size = sum(len(block.cells) for _page_no, _text, block in parts)

    @cached_property
    def folded(self) -> str:
        """All that it says, with the names of it, folded: what a word of a question may stand for."""
        titles = " ".join((*self.about.header, *_titles_of(self.label, self.about, self.path)))
        spans = ((text[block.start : block.end]) for _page_no, text, block in self._parts)
        return fold("\n".join((titles, *spans)).lower())

    @cached_property
    def read(self) -> Table | None:
        """The table with its rows and typed columns; None where no row has cells."""
        return _joined(self._info, self._parts, is_whole=self._is_whole)


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
            if held <= _CELLS and len(self._kept) < _DOCUMENTS:
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
    parts: dict[int, list[tuple[int, str, PageBlock]]] = {}
    for page_no, text, packed in islice(pages, PAGES):
        if not may_have_tables(packed):
            continue
        try:
            structure = unpack(packed, len(text))
        except DamagedError:
            catalog.note_damage(info.doc_id, page_no)
            is_whole = False
            continue
        for block in structure:
            if block.kind == "row" and block.table is not None:
                parts.setdefault(block.table.number, []).append((page_no, text, block))
    return tuple(Unread(info, rows, is_whole=is_whole) for rows in parts.values())


def _joined(info: DocumentInfo, parts: Sequence[tuple[int, str, PageBlock]], *, is_whole: bool) -> Table | None:
    """Return rows of one table as a table; None where none of them has cells."""
    first = parts[0][2]
    assert first.table is not None
    held = [one for one in islice(parts, ROWS) if one[2].cells]
    wide = max((len(block.cells) for _page_no, _text, block in held), default=0)
    if not wide:
        return None
    rows = [_row(page_no, text, block, wide) for page_no, text, block in held]
    names = (*first.table.header[:wide], *("" for _ in range(wide - len(first.table.header))))
    counted = [row for row in rows if not _adds_up(row.shown)]
    is_english = info.language in ("", "en")
    columns: list[Column] = []
    by_column: list[list[Sql]] = []
    for at, name in enumerate(names):
        column, values = typed(name, [row.shown[at] for row in counted], is_english=is_english)
        if column.type == "number":
            values = [
                as_stored(value, dict(row.raws).get(at), column) for value, row in zip(values, counted, strict=True)
            ]
        columns.append(column)
        by_column.append(values)
    return Table(
        info.doc_id,
        info.document,
        info.label,
        name_of(info.document, info.title),
        first.table,
        first.path,
        tuple(columns),
        tuple(counted),
        tuple(zip(*by_column, strict=True)),
        is_partial=not is_whole or len(held) < len(parts),
    )


def _titles_of(label: str, about: PageTable, path: Sequence[str]) -> tuple[str, ...]:
    return tuple(filter(None, (label, about.sheet, about.caption, *path[-_HEADINGS:])))


def _row(page_no: int, text: str, block: PageBlock, wide: int) -> Row:
    cells = (*block.cells, *((block.end, block.end) for _ in range(wide - len(block.cells))))
    shown = tuple(" ".join(text[start:end].split()) for start, end in cells)
    return Row(page_no, (block.start, block.end), cells, shown, text[block.start : block.end], block.raws)


def _adds_up(shown: Sequence[str]) -> bool:
    """Return whether a row holds the total or the mean of others: such a word, beside numbers only."""
    filled = [cell for cell in shown if cell]
    if len(shown) < 2 or not filled:
        return False
    said = fold(filled[0].lower()).replace("grand ", "").split()
    is_word = 0 < len(said) <= 4 and said[0].strip(":") in TOTALS | MEANS
    return is_word and len(filled) > 1 and all(any(map(str.isdigit, cell)) for cell in filled[1:])
