"""What a reader gives of a file: blocks and tables in reading order, and a count of what it did not read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from docmind.records.documents import Loss, LossKind

TextKind = Literal[
    "heading",
    "paragraph",
    "item",
    "code",
    "equation",
    "figure",
    "caption",
    "footnote",
    "comment",
    "note",
    "field",
    "quoted",
    "header",
    "footer",
]
"""The kinds of blocks that have a text."""

IMPORTS = "import "
"""How the symbol of a part of code begins that has nothing but imports; what they import follows."""

BlockKind = Literal[TextKind, "page_break"]
CellType = Literal[
    "text", "number", "amount", "percent", "date", "time", "duration", "bool", "error", "empty"
]  # fmt: skip
MOST_CELLS = 2_000_000
"""Cells of the tables of one file, for all readers, without empty ones at the ends of rows; further ones are left out.

It is 100,000 rows of 20 columns, and as much as 5,000 pages show.
"""
MOST_CHARACTERS = 500_000
"""Characters of the text of one page, as of a hundred dense ones in print; further ones are left out."""
MOST_COLUMNS = 16_384
"""Columns of a table, as many as a sheet of Excel has; further ones are left out."""
Symbols = tuple[tuple[int, tuple[str, ...]], ...]
"""The parts of code: the line of each, counted from 0, and its symbols, outermost first ("class Desk", "def ask").

A part that has nothing but imports names what they import: "import os, requests".
"""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a file that can be decoded: its width and height in pixels, and its bytes as they lie in the file.

    `key` is the same for equal bytes. `is_photo` tells that it is stored as cameras and scanners do.
    """

    width: int
    height: int
    data: bytes = field(repr=False)
    key: str
    is_photo: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of text, without the marks of its format.

    `text` is as a reader of the document sees it: accents composed, soft hyphens and invisible characters removed.
    `level` counts from 1 for a heading, and from 0 for an item within items; a line of a plain text has 1 behind a
    blank line. What a mail quotes from earlier ones is `quoted`, its level how deep; the line that says whose words
    follow has 0. A line of the header of a mail is a `field`, its name the marker. `marker` is what stands before it
    as shown: the number of a heading ("2.1"), of a list item ("4.", "a)", "•", "☒") or of a footnote, or what tells
    notes apart ("Notes:"). `language` is that of code, and `symbols` its parts. `latex` is an equation's, whose
    `text` has the plain words. `anchor` is the text that a footnote or comment belongs to, and `author` who wrote a
    comment. `is_verbatim` keeps lines and spaces; code always does. A figure may have its `picture`, whose text then
    is what it shows in words, or "".
    """

    kind: BlockKind
    text: str = ""
    level: int = 0
    marker: str = ""
    language: str = ""
    symbols: Symbols = ()
    latex: str = ""
    anchor: str = ""
    author: str = ""
    is_verbatim: bool = False
    picture: Picture | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    `shown` is what the document displays, `raw` the value without its format where that differs, as 0.125 for 12.5%.
    `columns` and `rows` are its span. A cell that a span covers is filled in with the same text, and `is_filled`.
    """

    shown: str
    raw: str = ""
    type: CellType = "text"
    format: str = ""
    formula: str = ""
    columns: int = 1
    rows: int = 1
    is_filled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: one grid for all formats. A row has a cell for every column, also for empty and covered ones.

    A row may leave out empty cells at its end; those of all rows are left out where pages are laid out. A plain string
    is a cell of text. `rows` may be an iterator, read once. The first `header_rows` rows name the
    columns, the first `header_columns` columns the rows. `sheet` is the name of its sheet in a workbook.
    """

    rows: Iterable[Sequence[Cell | str]]
    header_rows: int = 0
    header_columns: int = 0
    caption: str = ""
    sheet: str = ""
    is_hidden: bool = False


def shown_in(cell: Cell | str) -> str:
    """Return what the document displays in a cell."""
    return cell if isinstance(cell, str) else cell.shown


Blocks = Iterable[Block | Table]
"""What a reader yields, in reading order."""


class Losses:
    """A count of what a reader saw in a file and did not read, by kind and place."""

    def __init__(self) -> None:
        self._counts: dict[tuple[LossKind, str], int] = {}

    def note(self, kind: LossKind, place: str = "", count: int = 1) -> None:
        """Count parts of a kind that were not read; `place` is a page, sheet or part, in a few words."""
        if count > 0:
            key = kind, " ".join(place.split())[:100]
            self._counts[key] = self._counts.get(key, 0) + count

    def found(self) -> tuple[Loss, ...]:
        """Return what was counted, in the order in which it was first seen."""
        return tuple(Loss(kind, count, place) for (kind, place), count in self._counts.items())
