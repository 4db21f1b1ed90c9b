"""A complete list as CSV and as Markdown."""

from __future__ import annotations

import csv
import io
from itertools import groupby

from docmind.records.listed import Listed
from docmind.records.listings import LISTABLES
from docmind.rich_text import escape, lean, one_line
from docmind.wording import _, number_text

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def listing_csv(found: Listed) -> str:
    """Return a row for each item; a cell that a spreadsheet would take for a formula begins with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["document", "page", "text", "times", "doc_id", "place"])
    for item in found.items:
        source = item.source
        told = _cell(source.document), source.page_no, _cell(item.text), item.times, source.doc_id, _cell(source.place)
        writer.writerow(told)
    return out.getvalue()


def _cell(text: str) -> str:
    line = one_line(text)
    return f"'{line}" if line.startswith(_FORMULA) else line


def listing_markdown(found: Listed) -> str:
    """Return the items below the names of their documents, with how many there are and what was not read."""
    listing = found.listing
    words = f": {escape(one_line(listing.words))}" if listing.words else ""
    parts = [f"# {_(LISTABLES[listing.what])}{words}", escape(listing_counts(found))]
    parts += [f"*{escape(reason)}*" for reason in listing.unread]
    counts = {one.doc_id: one.count for one in listing.documents}
    for doc_id, items in groupby(found.items, key=lambda item: item.source.doc_id):
        held = list(items)
        parts.append(f"## {escape(one_line(held[0].source.placed))} ({number_text(counts.get(doc_id, len(held)))})")
        parts.append(
            "\n".join(f"- {escape(one.text)} ({_('page {n}').format(n=one.source.page_no)})" for one in held)
        )  # fmt: skip
    return lean("\n\n".join(parts)) + "\n"


def listing_counts(found: Listed) -> str:
    """Return how many items there are, in how many documents, and how many pages were read."""
    listing = found.listing
    told = _("Items: {items}. Documents: {documents}. Pages read: {pages}.").format(
        items=number_text(listing.total),
        documents=number_text(len(listing.documents)),
        pages=number_text(listing.pages_read),
    )
    return told if listing.is_complete else f"{told} {_('This list is not complete.')}"
