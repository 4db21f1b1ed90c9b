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
from docmind.tables.wordlists import ALL, MEANS, TOTALS

ROWS = 100_000  # of one table; a longer one is partial
PAGES = 4_000  # pages read for the tables of one document; a longer one has partial tables
_DOCUMENTS = 512  # documents whose tables are kept in memory
_CELLS = 2_000_000  # cells that are kept in memory over all documents
_LOOKED = 12  # first rows by which it is told whether one names the columns
_FEWEST = 3  # of such rows
_LINES_ABOVE, _LONGEST_LINE = 3, 80  # lines above a table on its page that are its titles, and their characters
_LONGEST_NAME = 40  # characters
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

    def __init__(
        self,
        info: DocumentInfo,
        parts: Sequence[tuple[int, str, PageBlock]],
        above: tuple[str, ...] = (),
        *,
        is_whole: bool,
    ) -> None:
        """Set up; `parts` are its rows in their order, each with its page and the text of that."""
        self._info, self._parts, self._is_whole = info, parts, is_whole
        about = parts[0][2].table
        assert about is not None
        self.about, self.path = about, parts[0][2].path or above
        self.header, self._has_own_head = about.header, False
        if not any(about.header) and (head := _head_of(parts, is_english=info.language in ("", "en"))):
            self.header, self._has_own_head = head, True
        self.doc_id, self.label = info.doc_id, name_of(info.document, info.title)
        self.size = sum(len(block.cells) for _page_no, _text, block in parts)

    @cached_property
    def folded(self) -> str:
        """All that it says, with the names of it, folded: what a word of a question may stand for."""
        titles = " ".join((*self.header, *_titles_of(self.label, self.about, self.path)))
        spans = ((text[block.start : block.end]) for _page_no, text, block in self._parts)
        return fold("\n".join((titles, *spans)).lower())

    @cached_property
    def read(self) -> Table | None:
        """The table with its rows and typed columns; None where no row has cells."""
        parts = [part for part in self._parts if part[2].cells][1:] if self._has_own_head else self._parts
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
    above: dict[int, tuple[str, ...]] = {}
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
            if block.table is not None and block.table.number not in above:
                above[block.table.number] = _lines_above(text, block)
            if block.kind == "row" and block.table is not None:
                parts.setdefault(block.table.number, []).append((page_no, text, block))
    return tuple(Unread(info, rows, above[number], is_whole=is_whole) for number, rows in parts.items())


def _lines_above(text: str, first: PageBlock) -> tuple[str, ...]:
    """Return the titles of a table that nothing marks: the first lines of its page, where the table follows them."""
    lines = [line.strip() for line in text[: first.start].splitlines() if line.strip()]
    is_marked = bool(first.path) or first.table is None or bool(first.table.caption)
    if is_marked or not 0 < len(lines) <= _LINES_ABOVE or any(len(line) > _LONGEST_LINE for line in lines):
        return ()
    return tuple(line for line in lines if not line.endswith((".", ":", ";", ",")))


def _head_of(parts: Sequence[tuple[int, str, PageBlock]], *, is_english: bool) -> tuple[str, ...]:
    """Return the cells of a first row that names the columns though nothing marks it; none where it names none.

    Such names are short, without digits, and all different, and a column has dates, numbers, or yes and no below it.
    """
    shown = [
        _row(page_no, text, block, len(block.cells)).shown for page_no, text, block in parts[:_LOOKED] if block.cells
    ]
    if len(shown) < _FEWEST or len({len(row) for row in shown}) > 1:
        return ()
    head, below = shown[0], shown[1:]
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
    parts: Sequence[tuple[int, str, PageBlock]],
    header: Sequence[str],
    path: tuple[str, ...],
    *,
    is_whole: bool,
) -> Table | None:
    """Return rows of one table as a table; None where none of them has cells."""
    first = parts[0][2]
    assert first.table is not None
    held = [one for one in islice(parts, ROWS) if one[2].cells]
    wide = max((len(block.cells) for _page_no, _text, block in held), default=0)
    if not wide:
        return None
    rows = [_row(page_no, text, block, wide) for page_no, text, block in held]
    names = (*header[:wide], *("" for _ in range(wide - len(header))))
    counted = [row for row in rows if not _adds_up(row.shown)]
    is_english = info.language in ("", "en")
    counted = _without_sum(counted, is_english=is_english)
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
        path,
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


def _without_sum(rows: list[Row], *, is_english: bool) -> list[Row]:
    """Return rows without the last one where its numbers are the sums of those above it.

    So are all of its numbers, in two columns or more, or in one where nothing or a word such as `All` stands beside it.
    """
    if len(rows) < _FEWEST:
        return rows
    *above, last = rows
    sums = others = 0
    for at, cell in enumerate(last.shown):
        if not any(map(str.isdigit, cell)):
            continue
        column, values = typed("", [row.shown[at] for row in rows], is_english=is_english)
        held = [value for value in values[:-1] if isinstance(value, float)]
        if column.type not in ("number", "duration") or len(held) < 2 or not isinstance(values[-1], float):
            others += 1
        elif abs(sum(held) - values[-1]) < 0.5 * 10.0**-column.places and sum(map(bool, held)) > 1:
            sums += 1
        else:
            others += 1
    said = fold(" ".join(cell for cell in last.shown if not any(map(str.isdigit, cell))).lower()).split()
    is_word = not said or said[0] in ALL
    return above if not others and (sums > 1 or (sums == 1 and is_word)) else rows


def _adds_up(shown: Sequence[str]) -> bool:
    """Return whether a row holds the total or the mean of others: such a word, beside numbers only."""
    filled = [cell for cell in shown if cell]
    if len(shown) < 2 or not filled:
        return False
    said = fold(filled[0].lower()).replace("grand ", "").split()
    is_word = 0 < len(said) <= 4 and said[0].strip(":") in TOTALS | MEANS
    return is_word and len(filled) > 1 and all(any(map(str.isdigit, cell)) for cell in filled[1:])
