"""What complete lists can be made of, how many items one has, and how much of the library was read for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from docmind.wording import N_

Listable = Literal[
    "mentions", "people", "organisations", "dates", "amounts", "percentages", "emails", "phones", "places",
    "addresses", "identifiers", "items", "imports",
]  # fmt: skip
"""Sentences that have given words; values of a kind; the items of lists and rows of tables that a question names; or
lines of source code that import something.
"""

LISTABLES: dict[Listable, str] = {
    "mentions": N_("Mentions"),
    "people": N_("People"),
    "organisations": N_("Organisations"),
    "dates": N_("Dates"),
    "amounts": N_("Amounts"),
    "percentages": N_("Percentages"),
    "emails": N_("E-mail addresses"),
    "phones": N_("Telephone numbers"),
    "places": N_("Places"),
    "addresses": N_("Addresses"),
    "identifiers": N_("Identifiers"),
    "items": N_("Items of lists"),
    "imports": N_("Imports"),
}
"""The words for what is listed, wherever a list is shown."""

assert tuple(LISTABLES) == get_args(Listable)

MOST_ITEMS = 10_000
"""Items that one list holds; further ones are counted."""


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document with the number of its items."""

    doc_id: str
    document: str
    count: int


@dataclass(frozen=True, slots=True)
class Listing:
    """What was listed, how many items there are, and in which documents.

    `words` are those that are mentioned or imported, or the question that names a list; empty for values of a kind.
    `doc_ids` are the documents that the question names, and empty where all were asked: with these two the list is made
    again.

    `is_complete` is True where everything was read and listed; else `unread` has a sentence for each reason.
    """

    what: Listable
    words: str
    total: int
    documents: tuple[ListedDocument, ...]
    pages_read: int
    is_complete: bool
    unread: tuple[str, ...] = ()
    doc_ids: tuple[str, ...] = ()
