"""Blocks on a page: packed and unpacked, laid out from what a reader gives, and checked."""

from __future__ import annotations

import json
import zlib

import pytest

from docmind.blocks import Block, Cell, Losses, PageBlock, PageTable, Table, may_have_tables, pack, unpack
from docmind.errors import DamagedError
from docmind.reading.formats.typeset import flow
from docmind.records.documents import Loss

NAMES = PageTable(("Kind", "Number"), "Stock", "Sheet1", 2)
BLOCKS = (
    PageBlock("heading", 0, 5, 1),
    PageBlock("header_row", 7, 20, 0, ("Stock",), NAMES, ((7, 11), (14, 20))),
    PageBlock("row", 21, 29, 0, ("Stock",), NAMES, ((21, 24), (27, 29)), raws=((1, 12.125),)),
    PageBlock("code", 31, 40, 0, ("Stock",), language="python"),
)


def test_blocks_come_back_as_they_were_packed() -> None:
    assert unpack(pack(BLOCKS), 40) == BLOCKS
    assert (pack(()), unpack(b"", 0)) == (b"", ())


def test_pages_without_a_table_are_known_before_they_are_unpacked() -> None:
    titled = PageBlock("heading", 0, 5, 1, ('"tables":[]',))
    assert [may_have_tables(pack(one)) for one in ((), BLOCKS[:1], (titled,), (titled, *BLOCKS[1:]))] == [
        False, False, False, True,
    ]  # fmt: skip
    assert may_have_tables(b"\x01rubbish")


@pytest.mark.parametrize(
    ("place", "value"), [(0, "secret"), (1, -1), (1, 41), (2, 41), (3, 101), (4, 9), (5, 9), (6, [1]), (6, [0, 99])]
)
def test_blocks_that_are_none_of_their_page_are_refused(place: int, value: object) -> None:
    plain = json.loads(zlib.decompress(pack(BLOCKS)[1:]))
    plain["blocks"][1][place] = value
    with pytest.raises(DamagedError):
        unpack(b"\x01" + zlib.compress(json.dumps(plain).encode()), 40)


@pytest.mark.parametrize("raws", [[2, 1.0], [0, "x"], [0], [-1, 1.0], [0, float("inf")], 7])
def test_stored_numbers_of_other_cells_are_refused(raws: object) -> None:
    plain = json.loads(zlib.decompress(pack(BLOCKS)[1:]))
    plain["blocks"][2][8] = raws
    with pytest.raises(DamagedError):
        unpack(b"\x01" + zlib.compress(json.dumps(plain).encode()), 40)


def test_damaged_and_swollen_blocks_are_refused() -> None:
    for data in (b"\x02" + pack(BLOCKS)[1:], b"\x01rubbish", b"\x01" + zlib.compress(b" " * (17 << 20))):
        with pytest.raises(DamagedError):
            unpack(data, 40)
    with pytest.raises(DamagedError):
        unpack(pack(reversed(BLOCKS)), 40)


def test_each_block_knows_the_headings_above_it() -> None:
    (sheet,) = flow(
        [
            Block(kind="heading", text="Rules", level=1, marker="1."),
            Block(kind="heading", text="Boats", level=2),
            Block(kind="item", text="Row.", marker="a)", level=1),
            Block(kind="comment", text="Really?", author="Ann", anchor="Row"),
            Block(kind="heading", text="Money", level=2),
            Block(kind="code", text="  pay()\n", language="python"),
        ],
        "a.docx",
        10,
    )
    shown = [(one.kind, sheet.text[one.start : one.end], one.path) for one in sheet.blocks]
    assert shown == [
        ("heading", "1. Rules", ()),
        ("heading", "Boats", ("1. Rules",)),
        ("item", "a) Row.", ("1. Rules", "Boats")),
        ("comment", "Comment by Ann on “Row”: Really?", ("1. Rules", "Boats")),
        ("heading", "Money", ("1. Rules",)),
        ("code", "  pay()", ("1. Rules", "Money")),
    ]


def test_cells_are_found_in_the_text_of_their_row_also_empty_ones() -> None:
    rows = [["", "Kind", "Number"], [Cell("South"), "", Cell("60", raw="60.0", type="number")], ["", "Wax", ""]]
    (sheet,) = flow([Table(rows=rows, header_rows=1, caption="Stock")], "a.csv", 10)
    assert sheet.text == "Stock\n\n| Kind | Number\nSouth | | 60\n| Wax"
    cells = [[sheet.text[start:end] for start, end in one.cells] for one in sheet.blocks[1:]]
    assert cells == [["", "Kind", "Number"], ["South", "", "60"], ["", "Wax"]]
    assert sheet.blocks[2].table == PageTable(("", "Kind", "Number"), "Stock", "", 0)


def test_cells_of_a_table_wider_than_a_sheet_are_found_too() -> None:
    row = ["" if number % 7 == 3 else f"value {number}" for number in range(59)]
    (sheet,) = flow([Table(rows=[row])], "a.csv", 10)
    (block,) = sheet.blocks
    assert [" ".join(sheet.text[start:end].split()) for start, end in block.cells] == row


def test_the_names_of_columns_are_repeated_on_each_sheet() -> None:
    rows = [["Key", "Value"], *([f"k{number}", f"v{number}"] for number in range(100))]
    sheets = flow([Table(rows=rows, header_rows=1)], "a.csv", 10)
    assert len(sheets) > 2
    assert all(sheet.text.startswith("Key | Value\nk") for sheet in sheets)
    assert all(sheet.blocks[0].kind == "header_row" for sheet in sheets)
    found = [sheet.text[one.start : one.end] for sheet in sheets for one in sheet.blocks if one.kind == "row"]
    assert found == [f"k{number} | v{number}" for number in range(100)]


def test_names_that_fill_a_sheet_are_not_repeated() -> None:
    rows = [["Key", "Value " * 350], *([f"k{number}", f"v{number}"] for number in range(100))]
    sheets = flow([Table(rows=rows, header_rows=1)], "a.csv", 6)
    assert sum(sheet.text.count("Key") for sheet in sheets) == 1


def test_a_page_break_ends_a_sheet_but_makes_no_empty_one() -> None:
    end = Block(kind="page_break")
    sheets = flow([end, Block(kind="paragraph", text="one"), end, end, Block(kind="paragraph", text="two")], "a", 10)
    assert [sheet.text for sheet in sheets] == ["one", "two"]


def test_losses_are_counted_by_kind_and_place() -> None:
    losses = Losses()
    losses.note("comment", "page 1")
    losses.note("comment", "page  1", 2)
    losses.note("chart", count=0)
    losses.note("macro")
    assert losses.found() == (Loss("comment", 3, "page 1"), Loss("macro", 1, ""))
