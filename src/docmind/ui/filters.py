"""Where to look: some documents, some languages, or all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from docmind.escape import escape, shorten
from docmind.schema import DocumentInfo, Filters
from docmind.ui import state
from docmind.ui.wording import count, language


def choose_filters(documents: Sequence[DocumentInfo]) -> None:
    """A popover that tells what is chosen; nothing chosen means everywhere."""
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
    if told:
        st.button("Look in all", key="filters-none", icon=":material/close:", type="tertiary", on_click=look_in)


def look_in(*doc_ids: str) -> None:
    """Look in these documents from now on, in all without any. Made for callbacks."""
    st.session_state[state.FILTER_DOCUMENTS] = list(doc_ids)
    st.session_state[state.FILTER_LANGUAGES] = []


def chosen_filters() -> Filters:
    """What is chosen in this tab."""
    return Filters(
        doc_ids=tuple(st.session_state.get(state.FILTER_DOCUMENTS, ())),
        languages=tuple(st.session_state.get(state.FILTER_LANGUAGES, ())),
    )


def _told(names: Mapping[str, str]) -> str:
    """What is chosen, a single document by its name; empty where nothing is."""
    parts = []
    if chosen := st.session_state[state.FILTER_DOCUMENTS]:
        parts.append(escape(names[chosen[0]], limit=36) if len(chosen) == 1 else count(len(chosen), "document"))
    parts += [language(code) for code in st.session_state[state.FILTER_LANGUAGES]]
    return "In " + ", ".join(parts) if parts else ""
