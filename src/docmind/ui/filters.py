"""Where to look: some documents, some languages, or all of them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from docmind.escape import shorten
from docmind.schema import DocumentInfo, Filters
from docmind.ui import state
from docmind.ui.wording import count, language


def choose_filters(documents: Sequence[DocumentInfo]) -> None:
    """A popover that tells what is chosen; nothing chosen means everywhere."""
    names = {info.doc_id: info.document for info in documents}
    languages = sorted({info.language for info in documents if info.language}, key=language)
    for key, known in ((state.FILTER_DOCUMENTS, names), (state.FILTER_LANGUAGES, languages)):
        st.session_state[key] = [value for value in st.session_state.get(key, []) if value in known]
    with st.popover(_told(), icon=":material/filter_alt:", key="filters", type="tertiary"):
        st.multiselect(
            "Documents",
            list(names),
            format_func=lambda doc_id: shorten(names[doc_id], 48),
            key=state.FILTER_DOCUMENTS,
            placeholder="All documents",
        )
        if len(languages) > 1:
            st.pills("Languages", languages, selection_mode="multi", format_func=language, key=state.FILTER_LANGUAGES)


def chosen_filters() -> Filters:
    """What is chosen in this tab."""
    return Filters(
        doc_ids=tuple(st.session_state.get(state.FILTER_DOCUMENTS, ())),
        languages=tuple(st.session_state.get(state.FILTER_LANGUAGES, ())),
    )


def _told() -> str:
    parts = []
    if chosen := st.session_state[state.FILTER_DOCUMENTS]:
        parts.append(count(len(chosen), "document"))
    parts += [language(code) for code in st.session_state[state.FILTER_LANGUAGES]]
    return "In " + ", ".join(parts) if parts else "All documents"
