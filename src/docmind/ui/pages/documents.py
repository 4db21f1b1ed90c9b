"""The Documents page: add files, follow their reading, keep and view documents, take them out again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.ui.app import errors, state
from docmind.ui.chat import filters, threads
from docmind.ui.documents import adding, comparing, document, embedding, folders, library, upload, versions
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.application import DocMind


def draw(docmind: DocMind) -> None:
    threads.sidebar_elsewhere(docmind)
    library.draw_dialog(docmind)
    embedding.draw_question(docmind)
    opened = st.query_params.get(state.OPEN_DOCUMENT)
    if opened and not isinstance(errors.attempt(lambda: docmind.documents.get(opened)), Exception):
        document.draw_document(docmind, opened, begin_in=filters.begin_in)
        return
    if comparing.draw(docmind):
        return
    if st.query_params.get(state.OPEN_BIN):
        library.draw_bin(docmind)
        return
    adding.draw_dialog(docmind)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="documents-heading"):
        st.title(_("Documents"), anchor=False, width="content")
        st.space("stretch")
        upload.activity(docmind)
        library.draw_bin_link(docmind)
        adding.draw_menu(docmind)
    adding.draw_boxes(docmind)
    folders.draw_gone(docmind)
    upload.progress(docmind)
    versions.draw_offer(docmind)
    embedding.progress(docmind)
    upload.preparing(docmind)
    if docmind.documents.counts()[0]:
        embedding.offer(docmind)
        library.draw_list(docmind, ask_collection=ask_collection)
        return
    library.draw_undo(docmind)
    upload.arrivals(docmind)
    if upload.is_empty(docmind):
        nothing_yet()


def ask_collection(collection_id: str) -> None:
    """Begin a conversation that asks this collection only. For callbacks."""
    threads.begin()
    filters.begin_in(collections=[collection_id])


def nothing_yet() -> None:
    with st.container(border=True):
        st.subheader(_("Nothing here yet"), anchor=False)
        st.markdown(
            _(
                "1. Drop files above, as many as you like. They are read on this computer; nothing is sent anywhere.\n"
                "2. Every page is encrypted as it is read. Scans are read with OCR, which takes some seconds a page.\n"
                "3. Ask in your own words. Every answer links to the exact place in your documents."
            )
        )
        st.caption(_("Locked files ask for their password here. It is used once and never kept."))
