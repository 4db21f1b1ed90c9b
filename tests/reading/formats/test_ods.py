"""Spreadsheets of OpenDocument, at the level of the text of pages."""

from __future__ import annotations

import time

import pytest

from docmind.blocks import unpack
from docmind.errors import CorruptFileError, UnsupportedFileError
from docmind.reading.file_type import identify
from docmind.reading.formats import Opened, Rules, reader
from docmind.records.documents import Loss, Upload
from each import each_of
from sheet_files import NAMESPACES, fods, ods, ods_cell, ods_row, ods_table

EMPTY = "<table:table-cell/>"
BOLD = (
    '<style:style style:name="b" style:family="table-cell"><style:text-properties fo:font-weight="bold"/></style:style>'
)


def opened(data: bytes, name: str = "a.ods") -> Opened:
    kind, upload = identify(Upload(name, data))
    assert kind == "ods"
    return reader(kind)(upload, kind, Rules())


def text_of(*rows: str, looks: str = "", after: str = "") -> str:
    return opened(ods(ods_table("S", *rows) + after, looks=looks)).page(1).text.removeprefix("S\n\n").strip()


def formula(text: str) -> str:
    return f'<table:table-cell table:formula="of:={text}"/>'


def names_in(data: bytes) -> int:
    """Return the number of rows that name columns."""
    page = opened(data).page(1)
    return sum(block.kind == "header_row" for block in unpack(page.blocks, len(page.text)))


def test_cells_show_the_text_that_the_file_has() -> None:
    read = text_of(
        ods_row("Item", "Net", "Share", "On", "Done", "Took"),
        ods_row(
            "rent<text:s text:c=\"2\"/>due",
            ods_cell("1.234,50 €", "1234.5", "currency"),
            ods_cell("33,5 %", "0.335", "percentage"),
            ods_cell("01.04.24", "2024-04-01", "date"),
            ods_cell("WAHR", "true", "boolean"),
            ods_cell("36:15", "PT36H15M00S", "time"),
        ),
    )  # fmt: skip
    assert read == "Item | Net | Share | On | Done | Took\nrent due | 1.234,50 € | 33,5 % | 01.04.24 | WAHR | 36:15"


@each_of(
    "kind, value, shown",
    [
        ("float", "7.25", "7.25"),
        ("percentage", "0.5", "50%"),
        ("date", "2024-02-03", "2024-02-03"),
        ("time", "PT1H30M", "1:30:00"),
        ("boolean", "false", "FALSE"),
    ],
)
def test_a_value_without_a_text_is_shown_plainly(kind: str, value: str, shown: str) -> None:
    assert text_of(ods_row("a", ods_cell(None, value, kind))) == f"a | {shown}"


def test_values_of_cells_are_there_for_sums() -> None:
    rows = [ods_row(f"i{at}", ods_cell(f"1.00{at},50 €", f"100{at}.5", "currency")) for at in range(3)]
    page = opened(ods(ods_table("S", ods_row("Item", "Net"), *rows))).page(1)
    found = [raw for block in unpack(page.blocks, len(page.text)) for raw in block.raws]
    assert found == [(1, 1000.5), (1, 1001.5), (1, 1002.5)]


def test_repeated_and_covered_cells() -> None:
    read = text_of(
        ods_row(ods_cell("Title", more='table:number-columns-spanned="2"'), "<table:covered-table-cell/>"),
        ods_row(EMPTY, more='table:number-rows-repeated="3"'),
        ods_row("a", "b", '<table:table-cell table:number-columns-repeated="16382"/>'),
        ods_row("x", ods_cell("5", "5", "float"), more='table:number-rows-repeated="2"'),
        ods_row(EMPTY, more='table:number-rows-repeated="1048569"'),
    )  # fmt: skip
    assert read == "Title\n\na | b\nx | 5\nx | 5"


def test_empty_rows_cost_nothing_and_full_ones_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.reading.formats.sheet_cells.MOST_CELLS", 40_000)
    start = time.monotonic()
    empty = '<table:table-cell table:number-columns-repeated="16384" table:style-name="b"/>'
    rows = [ods_row(empty, more='table:number-rows-repeated="20000"')] * 50
    assert text_of(ods_row("first"), *rows, ods_row("last")) == "first\n\nlast"
    full = ods_cell("5", "5", "float", more='table:number-columns-repeated="16384"')
    read = opened(ods(ods_table("S", ods_row(full, more='table:number-rows-repeated="1000"'))))
    assert read.losses == (Loss("cell", 998 * 16_384, "S"),)
    assert time.monotonic() - start < 5


def test_formulas_without_a_result_are_computed() -> None:
    read = text_of(
        ods_row("n", "twice; or so"),
        ods_row(ods_cell("2", "2", "float"), formula("[.A2]*2")),
        ods_row(ods_cell("3", "3", "float"), formula("IF([S.B1]=&quot;twice; or so&quot;;6;0)")),
        ods_row(formula("SUM([.A2:.A3])"), formula("ODD.ONE([.A2])")),
    )  # fmt: skip
    assert read == "n | twice; or so\n2 | 4\n3 | 6\n5 | =ODD.ONE(A2)"


def test_comments_links_runs_and_errors() -> None:
    note = (
        "<office:annotation><dc:creator>Ana</dc:creator><text:p>Check</text:p><text:p>soon</text:p></office:annotation>"
    )
    looks = "".join(
        f'<style:style style:name="{name}" style:family="text"><style:text-properties {look}/></style:style>'
        for name, look in (("up", 'style:text-position="super 58%"'), ("no", 'style:text-line-through-style="solid"'))
    )
    read = text_of(
        ods_row("Item", "Is"),
        ods_row(ods_cell("rent", inside=note), ods_cell("#DIV/0!", more='table:formula="of:=1/0"')),
        ods_row('<table:table-cell office:value-type="string"><text:p><text:a xlink:href="https://heron.example">Web</text:a>'
                "</text:p></table:table-cell>", 'm<text:span text:style-name="up">2</text:span> '
                '<text:span text:style-name="no">old</text:span> new'),
        looks=looks,
    )  # fmt: skip
    assert "rent | #DIV/0!\nWeb (https://heron.example) | m² ~~old~~ new" in read
    assert "Comment by Ana on “A2: rent”: Check soon" in read


def test_what_the_file_says_of_names_of_columns() -> None:
    rows = [ods_row("ann", "bo"), ods_row("x", "y"), ods_row("ann", "z")]
    assert names_in(ods(ods_table("S", *rows))) == 0
    heads = f"<table:table-header-rows>{rows[0]}</table:table-header-rows>{rows[1]}{rows[2]}"
    ranges = (
        '<table:database-ranges><table:database-range table:name="d" table:target-range-address="S.A1:S.B3"/>'
        "</table:database-ranges>"
    )
    bold = ods_row(*(ods_cell(name, more='table:style-name="b"') for name in ("ann", "bo")))
    for data in (
        ods(ods_table("S", heads)),
        ods(ods_table("S", *rows) + ranges),
        ods(ods_table("S", bold, *rows[1:]), looks=BOLD),
    ):
        assert names_in(data) == 1


def test_hidden_sheets_drawings_and_margins() -> None:
    looks = (
        '<style:style style:name="h" style:family="table" style:master-page-name="m">'
        '<style:table-properties table:display="false"/></style:style>'
    )
    masters = (
        '<style:master-page style:name="m"><style:header><style:region-left><text:p>Club &amp; friends</text:p>'
        "</style:region-left><style:region-right><text:p>Page <text:page-number/></text:p></style:region-right>"
        "</style:header></style:master-page>"
    )
    shapes = (
        "<table:shapes><draw:frame><draw:text-box><text:p>In a frame</text:p></draw:text-box></draw:frame>"
        '<draw:frame><svg:desc>Boats at the pier</svg:desc><draw:image xlink:href="Pictures/a.png"/></draw:frame>'
        '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame><draw:control/></table:shapes>'
    )
    object_ = (
        f"<office:document-content {NAMESPACES}><office:body><office:chart><chart:chart><chart:title>"
        "<text:p>Visits a month</text:p></chart:title></chart:chart></office:chart></office:body>"
        "</office:document-content>"
    )
    sheet = ods_table("Club", shapes, ods_row("a", "b"), more='table:style-name="h"')
    read = opened(ods(sheet, looks=looks, masters=masters, more={"Object 1/content.xml": object_}))
    assert read.page(1).text.split("\n\n") == [
        "Club (hidden)", "Club & friends", "a | b", "In a frame", "Boats at the pier", "Visits a month",
    ]  # fmt: skip
    assert [(loss.kind, loss.count) for loss in read.losses] == [("picture", 1), ("chart", 1), ("form_field", 1)]


def test_a_flat_file_and_a_template_are_read_alike() -> None:
    sheet = ods_table("S", ods_row("a", "b"))
    assert opened(fods(sheet), "a.fods").page(1).text == opened(ods(sheet), "a.ots").page(1).text


def test_files_that_are_locked_or_broken_are_refused_with_a_sentence() -> None:
    manifest = (
        '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:file-entry>'
        "<m:encryption-data/></m:file-entry></m:manifest>"
    )
    with pytest.raises(UnsupportedFileError, match="locked with a password"):
        opened(ods("", more={"META-INF/manifest.xml": manifest}))
    with pytest.raises(CorruptFileError, match="is an OpenDocument file that is broken"):
        opened(ods("<table:table>"))
