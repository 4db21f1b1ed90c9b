"""What a comparison of two documents returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from docmind.records.documents import Box
from docmind.wording import N_

ChangeKind = Literal["added", "removed", "changed", "moved"]
"""Only the later text has it; only the earlier one; both have another wording; both have it in another order."""

CHANGES_IN_WORDS: dict[ChangeKind, str] = {
    "added": N_("Added"),
    "removed": N_("Removed"),
    "changed": N_("Changed"),
    "moved": N_("Moved"),
}
"""The words for each kind of change, wherever a comparison is shown."""


@dataclass(frozen=True, slots=True)
class ChangePlace:
    """`text[start:end]` of a page and its boxes, in pixels of the image; empty where only the other document has it."""

    page_no: int
    boxes: tuple[Box, ...] = ()
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class ChangeSide:
    """A change in one of the two documents.

    `text` is what stands there, empty where nothing does; `statement` the sentence or row around it. Both are on one
    line. `places` has a place for each page of the text in order; where there is no text, the page where it would be.
    """

    text: str
    statement: str
    places: tuple[ChangePlace, ...]

    @property
    def page_no(self) -> int:
        """The first page."""
        return self.places[0].page_no


@dataclass(frozen=True, slots=True)
class Change:
    """One difference; `n` counts from 1 in the order of the later document."""

    n: int
    kind: ChangeKind
    before: ChangeSide
    after: ChangeSide


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """One of the two documents; `dated` is the day that it is about, empty where none is known."""

    doc_id: str
    document: str
    pages: int
    dated: str
    added_at_ms: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two documents and their differences. White space, line breaks, hyphenation and ligatures are none."""

    before: ComparedDocument
    after: ComparedDocument
    changes: tuple[Change, ...]

    def count(self, kind: ChangeKind) -> int:
        """Return how many changes are of a kind."""
        return sum(one.kind == kind for one in self.changes)
