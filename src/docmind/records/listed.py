"""Complete lists with their items."""

from __future__ import annotations

from dataclasses import dataclass

from docmind.records.answers import Source
from docmind.records.listings import Listing


@dataclass(frozen=True, slots=True)
class ListedItem:
    """A sentence, value or item on one line, how often it stands in its document, and its first place there.

    The times of a sentence are those of the words in it.
    """

    text: str
    times: int
    source: Source


@dataclass(frozen=True, slots=True)
class Listed:
    """A list with its items, document by document, each in the order of the pages."""

    listing: Listing
    items: tuple[ListedItem, ...]
