"""Tables as they are read from stored pages: rows of any length, and the bounds of what is read."""

from __future__ import annotations

from typing import cast

import pytest

from docmind.blocks import Block, Losses, PageBlock, Table, pack, unpack
from docmind.documents import Catalog
from docmind.reading.formats.typeset import flow
from docmind.records.documents import DocumentInfo
from docmind.tables import loading, values
from docmind.tables.loading import Tables, Unread
from docmind.tables.values import Column, typed

INFO = DocumentInfo(
    doc_id="d", document="d.csv", title="", kind="csv", status="ready", pages=1, pages_done=1, ocr_pages=0,
    language="en", bytes=1, added_at_ms=0,
)  # fmt: skip


class Stored:
    """A catalog of one document that has these pages."""

    def __init__(self, *pages: tuple[str, bytes]) -> None:
        self._pages = [(n, text, packed) for n, (text, packed) in enumerate(pages, 1)]

    def epoch(self) -> int:
        return 1

    def changes_since(self, epoch: int) -> dict[str, int]:
        return {}

    def structures_of(self, doc_id: str) -> list[tuple[int, str, bytes]]:
        return self._pages


def tables_in(*pages: tuple[str, bytes]) -> tuple[Unread, ...]:
    return Tables(cast("Catalog", Stored(*pages))).of(INFO)


def page_of(rows: list[list[str]], header_rows: int = 1) -> tuple[str, list[PageBlock]]:
    (page,) = flow([Table(rows=rows, header_rows=header_rows)], "d.csv", 10, Losses())
    return page.text, page.blocks


PEOPLE = [["Name", "Amount", "Note"], ["Ada", "12"], ["", "", "late"], ["Bo", "7"]]


def test_rows_that_leave_out_empty_cells_are_read_as_those_that_have_them() -> None:
    text, blocks = page_of(PEOPLE)
    (short,) = tables_in((text, pack(blocks)))
    full = [
        PageBlock(
            one.kind, one.start, one.end, table=one.table,
            cells=(*one.cells, *((one.end, one.end) for _ in range(3 - len(one.cells)))),
        )
        for one in blocks
    ]  # fmt: skip
    (stored,) = tables_in((text, pack(full)))
    assert short.read is not None
    assert stored.read is not None
    assert short.read.columns == stored.read.columns
    assert short.read.values == stored.read.values == (("Ada", 12.0, None), (None, None, "late"), ("Bo", 7.0, None))
    assert [row.shown for row in short.read.rows] == [("Ada", "12", ""), ("", "", "late"), ("Bo", "7", "")]
    ada = short.read.rows[0]
    assert [text[slice(*ada.place(at))] for at in range(3)] == ["Ada", "12", ""]


def test_columns_in_which_no_row_has_a_cell_keep_their_names() -> None:
    text, blocks = page_of([["Name", "Amount", "Note"], ["Ada", "12"], ["Bo", "7"]])
    (table,) = tables_in((text, pack(blocks)))
    assert table.read is not None
    assert [(column.name, column.type) for column in table.read.columns] == [
        ("Name", "text"), ("Amount", "number"), ("Note", "empty"),
    ]  # fmt: skip


def test_names_that_nothing_marks_are_found_above_rows_that_leave_out_cells() -> None:
    text, blocks = page_of([["Name", "Amount", "Note"], ["Ada", "12", "late"], ["Bo", "7"], ["Cy", "9"]], 0)
    (table,) = tables_in((text, pack(blocks)))
    assert table.header == ("Name", "Amount", "Note")


def test_rows_times_columns_are_within_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[f"c{n}" for n in range(10)], *[["1", "2"]] * 20]
    text, blocks = page_of(rows, 0)
    monkeypatch.setattr(loading, "MOST_CELLS", 60)
    (table,) = tables_in((text, pack(blocks)))
    assert table.read is not None
    assert (len(table.read.columns), len(table.read.rows), table.read.is_partial) == (10, 6, True)


def test_the_cells_of_a_document_are_within_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    (page,) = flow([Table(rows=[["a", "1"]] * 5), Block(kind="paragraph", text="x"), Table(rows=[["b"]] * 5)], "d", 9)
    monkeypatch.setattr(loading, "MOST_CELLS", 11)
    first, second = tables_in((page.text, pack(page.blocks)))
    assert unpack(pack(page.blocks), len(page.text))
    assert first.read is not None
    assert second.read is not None
    assert (len(first.read.rows), len(second.read.rows)) == (5, 1)
    assert first.read.is_partial
    assert second.read.is_partial


def test_each_text_of_a_column_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    read = values._number

    def counted(cell: str, *, comma: bool) -> tuple[float, str, int] | None:
        seen.append(cell)
        return read(cell, comma=comma)

    monkeypatch.setattr(values, "_number", counted)
    column, found = typed("n", ["7", "8", "", "7"] * 500, is_english=True)
    assert column == Column("n", "number", filled=1_500)
    assert (found[:4], sorted(seen)) == ([7.0, 8.0, None, 7.0], ["7", "8"])


def test_a_column_of_texts_is_not_read_as_values_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(values, "_yes_or_no", lambda cell: seen.append(cell))
    typed("n", [f"word {n}" for n in range(100)], is_english=True)
    assert len(seen) == 41, "of a column of yes and no, two fifths may be others"
