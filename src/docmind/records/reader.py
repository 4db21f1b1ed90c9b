"""Frozen records of a page as it is read on screen: words with their joints, lines as they were read, places found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from docmind.records.documents import Box, PageView, TextSource
from docmind.records.search import Quad
from docmind.wording import N_

Joint = Literal["", " ", "-", "\n"]
"""What joins a word to the next where text is copied: nothing, a space, nothing and without the hyphen that ends the
word, or a new line."""


@dataclass(frozen=True, slots=True)
class PageWord:
    text: str
    box: Box
    joint: Joint


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page, the title of its document, and its words with the joints between them."""

    page: PageView
    title: str
    words: tuple[PageWord, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class PlaceFound:
    """One place where a text stands: a page, and a shape for each line it covers there."""

    page_no: int
    quads: tuple[Quad, ...]


@dataclass(frozen=True, slots=True)
class PlacesFound:
    """Places in reading order; `is_cut` where there are more than are given."""

    places: tuple[PlaceFound, ...]
    is_cut: bool = False


LineSource = Literal["layer", "ocr", "hand"]
"""Where the text of a line comes from: the file, OCR, or a person who corrected it."""

Grade = Literal["good", "doubtful", "bad"]
"""How sure OCR is of a line; lines of another source are good."""

LINE_SOURCES: dict[LineSource, str] = {
    "layer": N_("text from the file"),
    "ocr": N_("text by OCR"),
    "hand": N_("corrected by hand"),
}
"""The sources of a line in words."""

GRADES: dict[Grade, str] = {"good": N_("good"), "doubtful": N_("doubtful"), "bad": N_("bad")}
"""The grades of a line in words."""


@dataclass(frozen=True, slots=True)
class PageLine:
    """One line of a page, as it is searched and quoted now.

    `n` counts the lines of the page as it was read, from 1, and does not change with a correction. `box` is None where
    the place of the text is not known. `confidence` is 0..1: the least certainty of OCR among its words; 1 for other
    sources. `read` is the text that was read, empty where that is `text`. `table` is the number of the table in which
    the line is a row, `is_header` tells whether that row names its columns, and `is_header_set` whether a person said
    so.
    """

    n: int
    text: str
    box: Box | None
    source: LineSource
    confidence: float
    grade: Grade
    read: str = ""
    table: int | None = None
    is_header: bool = False
    is_header_set: bool = False

    @property
    def is_corrected(self) -> bool:
        """Whether a person changed its text."""
        return self.source == "hand"


@dataclass(frozen=True, slots=True)
class UnfitCorrection:
    """A correction by hand whose line is not on its page any more: the text that was read, and the text by hand."""

    page_no: int
    read: str
    text: str


@dataclass(frozen=True, slots=True)
class PageLines:
    """What was read on a page, line by line in reading order. Boxes are pixels of the image, `width` by `height`."""

    doc_id: str
    document: str
    page_no: int
    pages: int
    width: int
    height: int
    text_source: TextSource
    confidence: float
    lines: tuple[PageLine, ...]
    unfit: tuple[UnfitCorrection, ...] = ()


@dataclass(frozen=True, slots=True)
class PageCoverage:
    """What is to be looked at on a page: how many of its `lines` are `doubtful`, `bad` and corrected by hand.

    `unfit` counts corrections that fit no line of it. A page without text has no lines. `is_lost` tells that it is in
    letters that OCR does not know, and `unread` is the share of its print that is in none of its lines, 0 where that is
    little.
    """

    page_no: int
    lines: int
    doubtful: int = 0
    bad: int = 0
    by_hand: int = 0
    unfit: int = 0
    is_lost: bool = False
    unread: float = 0.0


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was read of a document of so many `pages`, and the pages to look at in their order.

    `empty` are ranges of pages without text, first and last.
    """

    doc_id: str
    pages: int
    empty: tuple[tuple[int, int], ...] = ()
    noted: tuple[PageCoverage, ...] = ()
