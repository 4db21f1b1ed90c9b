"""A complete list as an answer: its first items, the rest folded, counts by document, and files that have all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import streamlit as st

from docmind.conversations import listing_csv, listing_markdown
from docmind.records.answers import Answer, Source
from docmind.records.listed import Listed
from docmind.records.listings import Listing
from docmind.records.search import Filters
from docmind.rich_text import escape, one_line
from docmind.ui.app.chat_message import answer_markdown, quote_markdown
from docmind.ui.app.names import called
from docmind.ui.app.page_links import cited_in
from docmind.wording import _, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind

_OPEN = 20  # items that are not folded


def draw_listing(docmind: DocMind, answer: Answer, listing: Listing, filters: Filters, key: str) -> None:
    """Draw a list; `filters` are those of its question, with which the files are made again, and whole."""
    lead, *others = answer_markdown(answer).split("\n\n")
    st.markdown(f"**{lead}**")
    if not answer.sources:
        st.markdown("\n\n".join(others))
    counts = {one.doc_id: one.count for one in listing.documents}
    st.markdown(_items(answer, answer.sources[:_OPEN], counts))
    if folded := answer.sources[_OPEN:]:
        rest = listing.total - _OPEN
        label = _("{n} more, the first {shown} here").format(n=number_text(rest), shown=number_text(len(folded)))
        label = _("{n} more").format(n=number_text(rest)) if rest == len(folded) else label
        with st.expander(label, icon=":material/unfold_more:", key=f"{key}-more"):
            st.markdown(_items(answer, folded, counts))
    if not listing.is_complete:
        st.warning(" ".join(map(escape, listing.unread)), icon=":material/warning:")
    if len(listing.documents) > 1:
        with st.expander(_("Counts by document"), icon=":material/format_list_numbered:", key=f"{key}-counts"):
            names = [one_line(docmind.documents.label(one.doc_id, one.document)) for one in listing.documents]
            counts = [one.count for one in listing.documents]
            st.dataframe({_("Document"): names, _("Items"): counts}, hide_index=True, key=f"{key}-table")
    if not listing.total:
        return
    with st.container(horizontal=True, key=f"{key}-files"):
        for label, name, kind in (("CSV", "list.csv", "text/csv"), ("Markdown", "list.md", "text/markdown")):
            st.download_button(
                _("Save as {format}").format(format=label),
                _Export(docmind, listing, filters, is_csv=label == "CSV"),
                name,
                kind,
                key=f"{key}-{label}",
                icon=":material/download:",
                on_click="ignore",
                help=_("All {n} items").format(n=number_text(listing.total)),
            )


def _items(answer: Answer, cited: Sequence[Source], counts: Mapping[str, int]) -> str:
    """Return items with their pages, below the names of their documents where there are several."""
    lines = list[str]()
    for doc_id, held in groupby(cited, key=lambda source: source.doc_id):
        sources = list(held)
        if len(counts) > 1:
            lines += ["", f"**{escape(called(sources[0]), limit=72)}** ({number_text(counts.get(doc_id, 0))})", ""]
        for source in sources:
            quote = quote_markdown(replace(source, quote=one_line(source.quote)), cited_in(answer, source.n))
            lines.append(f"- {quote} · {_('page {n}').format(n=source.page_no)}")
    return "\n".join(lines)


class _Export:
    """Makes the file of a list when it is asked for: the answer itself has only its first items."""

    def __init__(self, docmind: DocMind, listing: Listing, filters: Filters, *, is_csv: bool) -> None:
        self._docmind, self._listing, self._filters, self._is_csv = docmind, listing, filters, is_csv

    def __call__(self) -> bytes:
        doc_ids = self._listing.doc_ids or self._filters.doc_ids
        found: Listed = self._docmind.find(
            self._listing.words, self._listing.what, replace(self._filters, doc_ids=doc_ids)
        )
        return (listing_csv(found) if self._is_csv else listing_markdown(found)).encode()
