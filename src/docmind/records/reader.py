"""Frozen records of a page as it is read on screen: words with their joints, and places found in a document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from docmind.records.documents import Box, PageView
from docmind.records.search import Quad

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
