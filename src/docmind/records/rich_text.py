"""Frozen records of formatted text: paragraphs, lists, tables, code, and the runs of words in them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    """Words of the same formatting on one line."""

    text: str
    strong: bool = False
    em: bool = False
    code: bool = False


@dataclass(frozen=True, slots=True)
class Break:
    """A line break within a paragraph."""


@dataclass(frozen=True, slots=True)
class SentenceEnd:
    """The end of the sentence of this index."""

    index: int


Inline = tuple[Run | Break | SentenceEnd, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    inline: Inline
    heading: int = 0
    """1 to 6 where it is a heading."""


@dataclass(frozen=True, slots=True)
class Code:
    """A code block, verbatim; `language` is one of a few known ones, or empty."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Items:
    """A list: numbered from `start` on, or with bullets where that is None."""

    items: tuple[tuple[Block, ...], ...]
    start: int | None = None
    is_tight: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with the same number of cells, the head first.

    `sides` are `left`, `right`, `center` or empty.
    """

    rows: tuple[tuple[Inline, ...], ...]
    sides: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal rule."""


Block = Paragraph | Code | Quote | Items | Table | Rule
