"""Blocks of a chapter that are found again on its sheets."""

from __future__ import annotations

from docmind.blocks import Block, PageBlock, Table
from docmind.reading.chromium.paragraphs import beside, parts_of, placed

CHAPTER = [
    Block(kind="heading", text="Rent", level=1),
    Block(kind="paragraph", text="The rent is due on the third working day of each month: 900 €"),
    Table(rows=[["Flat", "900 euros"]]),
    Block(kind="item", text="It is paid to the bank.", marker="1."),
]
SHEETS = [
    "Rent\nThe rent is due on the\nthird working",
    "day of each month: 900 €\nFlat 900 euros\n1. It is paid to the\nbank.",
]


def shown(sheets: list[str]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [
        (block.kind, text[block.start : block.end], block.path)
        for text, parts in zip(sheets, parts_of(CHAPTER, sheets), strict=True)
        for block in placed(parts, text)
    ]


def test_a_block_has_a_part_on_each_sheet_that_it_reaches() -> None:
    assert shown(SHEETS) == [
        ("heading", "Rent", ()),
        ("paragraph", "The rent is due on the\nthird working", ("Rent",)),
        ("paragraph", "day of each month: 900 €", ("Rent",)),
        ("item", "1. It is paid to the\nbank.", ("Rent",)),
    ]


def test_words_that_the_sheets_lack_have_no_part() -> None:
    assert [kind for kind, _text, _path in shown(["Rent", "1. It is paid to the bank."])] == ["heading", "item"]


def test_a_text_that_has_become_shorter_has_no_parts() -> None:
    (first, _second) = parts_of(CHAPTER, SHEETS)
    assert placed(first, "Rent") == []


def test_what_the_sheet_itself_tells_stays_where_nothing_overlaps_it() -> None:
    own = [PageBlock("heading", 0, 4), PageBlock("paragraph", 5, 20)]
    row, foot = PageBlock("row", 12, 30), PageBlock("footer", 21, 30)
    assert beside(own, [row, foot]) == (*own, foot)
