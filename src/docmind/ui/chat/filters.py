"""Filters of a question: some documents, some languages, or all of them; by words, by look, or by both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from docmind.records.documents import DocumentInfo
from docmind.records.search import Filters, ListName
from docmind.rich_text import escape, shorten
from docmind.ui.app import state
from docmind.ui.app.format import count, language

_WAYS: Mapping[str, tuple[ListName, ...]] = {"Words": ("text", "code"), "Look": ("image", "visual")}


def choose_filters(documents: Sequence[DocumentInfo], *, has_look: bool = False) -> None:
    """Draw a popover whose label shows the choice; nothing chosen means no filter.

    Where a model for page images is in use (`has_look`), words or the look of pages can be chosen alone.
    """
    names = {info.doc_id: info.document for info in documents}
    languages = sorted({info.language for info in documents if info.language}, key=language)
    for key, known in ((state.FILTER_DOCUMENTS, names), (state.FILTER_LANGUAGES, languages)):
        st.session_state[key] = [value for value in st.session_state.get(key, []) if value in known]
    told = _told(names)
    kind = "secondary" if told else "tertiary"
    with st.popover(told or "All documents", icon=":material/filter_alt:", key="filters", type=kind):
        st.multiselect(
            "Documents",
            list(names),
            format_func=lambda doc_id: shorten(names[doc_id], 48),
            key=state.FILTER_DOCUMENTS,
            placeholder="All documents",
        )
        if len(languages) > 1:
            st.pills("Languages", languages, selection_mode="multi", format_func=language, key=state.FILTER_LANGUAGES)
        if has_look:
            help_ = "Search pages by what they say, by what they look like, or by both."
            st.pills("Search by", list(_WAYS), selection_mode="multi", key=state.FILTER_LISTS, help=help_)
    if told:
        st.button("Clear filter", key="filters-none", icon=":material/close:", type="tertiary", on_click=look_in)


def look_in(*doc_ids: str) -> None:
    """Set the filter to these documents; none means all. For callbacks."""
    st.session_state[state.FILTER_DOCUMENTS] = list(doc_ids)
    st.session_state[state.FILTER_LANGUAGES] = []
    st.session_state[state.FILTER_LISTS] = []


def chosen_filters() -> Filters:
    """Return the filters that are chosen in this tab."""
    return Filters(
        doc_ids=tuple(st.session_state.get(state.FILTER_DOCUMENTS, ())),
        languages=tuple(st.session_state.get(state.FILTER_LANGUAGES, ())),
    )


def chosen_lists() -> tuple[ListName, ...] | None:
    """Return the lists to search that are chosen in this tab; None for the configured ones."""
    chosen = [way for way in _WAYS if way in st.session_state.get(state.FILTER_LISTS, ())]
    return tuple(name for way in chosen for name in _WAYS[way]) if len(chosen) == 1 else None


def _told(names: Mapping[str, str]) -> str:
    """Describe the choice, a single document by its name; empty where nothing is chosen."""
    parts = []
    if chosen := st.session_state[state.FILTER_DOCUMENTS]:
        parts.append(escape(names[chosen[0]], limit=36) if len(chosen) == 1 else count(len(chosen), "document"))
    parts += [language(code) for code in st.session_state[state.FILTER_LANGUAGES]]
    told = "In " + ", ".join(parts) if parts else ""
    ways = st.session_state.get(state.FILTER_LISTS, [])
    by = f"by {ways[0].lower()}" if len(ways) == 1 else ""
    return ", ".join(filter(None, (told, by))) if told else by.capitalize()
