"""Documents: add files, watch them being read, look at their pages, take them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.ui import embedding, jobs, library, state
from docmind.ui.frame import frame
from docmind.ui.wording import count

if TYPE_CHECKING:
    from docmind.application import DocMind


def documents_page(mind: DocMind) -> None:
    documents = mind.documents()
    library.draw_deletion(mind, documents)
    embedding.draw_question(mind)
    opened = st.session_state.get(state.OPEN_DOCUMENT)
    if opened in {info.doc_id for info in documents}:
        library.draw_document(mind, opened)
        return
    st.title("Documents", anchor=False)
    library.draw_receipt()
    jobs.uploader(mind)
    jobs.progress(mind)
    embedding.progress(mind)
    if documents:
        pages = sum(info.pages_done for info in documents)
        st.caption(f"{count(len(documents), 'document')}, {count(pages, 'page')}, all sealed on this machine")
        embedding.offer(mind)
        library.draw_list(documents)
    elif not jobs.is_reading(mind):
        nothing_yet()


def nothing_yet() -> None:
    with st.container(border=True):
        st.subheader("Nothing here yet", anchor=False)
        st.markdown(
            "1. Drop files above, as many as you like. They are read on this machine; nothing is sent anywhere.\n"
            "2. Every page is sealed as it is read. Scans are read with OCR, which takes some seconds a page.\n"
            "3. Ask in your own words. Each answer is a quote, highlighted where it stands on its page."
        )
        st.caption("Locked files ask for their password here; it is used once and not kept.")


frame(documents_page)
