"""The Documents page: add files, follow their reading, view their pages, delete them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.ui.app import state
from docmind.ui.app.format import count
from docmind.ui.app.frame import frame
from docmind.ui.chat import threads
from docmind.ui.documents import embedding, library, upload

if TYPE_CHECKING:
    from docmind.application import DocMind


def documents_page(docmind: DocMind) -> None:
    threads.sidebar_elsewhere(docmind)
    documents = docmind.documents()
    library.draw_deletion(docmind, documents)
    embedding.draw_question(docmind)
    opened = st.session_state.get(state.OPEN_DOCUMENT)
    if opened in {info.doc_id for info in documents}:
        library.draw_document(docmind, opened)
        return
    st.title("Documents", anchor=False)
    library.draw_receipt()
    upload.uploader(docmind)
    upload.progress(docmind)
    embedding.progress(docmind)
    if documents:
        pages = sum(info.pages_done for info in documents)
        st.caption(f"{count(len(documents), 'document')}, {count(pages, 'page')}, all sealed on this machine")
        embedding.offer(docmind)
        library.draw_list(docmind, documents)
    elif upload.is_empty(docmind):
        nothing_yet()


def nothing_yet() -> None:
    with st.container(border=True):
        st.subheader("Nothing here yet", anchor=False)
        st.markdown(
            "1. Drop files above, as many as you like. They are read on this machine; nothing is sent anywhere.\n"
            "2. Every page is sealed as it is read. Scans are read with OCR, which takes some seconds a page.\n"
            "3. Ask in your own words. Each answer is a quote, highlighted where it stands on its page."
        )
        st.caption("Locked files ask for their password here; it is used once and never kept.")


frame(documents_page)
