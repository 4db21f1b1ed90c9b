"""The documents of the vault: the list, one opened document, and deletion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.records.documents import DeleteReceipt, DocumentInfo
from docmind.rich_text import escape, highlight, one_line
from docmind.ui.app import errors, page_view, state
from docmind.ui.app.format import count, kind, language, size, when
from docmind.ui.app.page_links import reader_link
from docmind.ui.documents import embedding, upload

if TYPE_CHECKING:
    from docmind.application import DocMind

_ROWS = 25
_TILES = 24
_TILE = 134  # pixels across: six in a row of a laptop's window, two on a phone's
_SORTS: dict[str, tuple[Callable[[DocumentInfo], object], bool]] = {
    "Newest first": (lambda info: info.added_at_ms, True),
    "Name": (lambda info: info.document.casefold(), False),
    "Most pages": (lambda info: info.pages, True),
    "Largest": (lambda info: info.bytes, True),
    "Language": (lambda info: language(info.language), False),
}


def draw_list(docmind: DocMind, documents: Sequence[DocumentInfo]) -> None:
    """Draw rows to open and delete documents, filtered and sorted by the bar above them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        find = st.text_input("Find", key=state.FIND, placeholder="Part of a name", icon=":material/search:")
        order = st.selectbox("Sort by", list(_SORTS), key=state.SORT, width=200)
    key, descending = _SORTS[order or "Newest first"]
    wanted = (find or "").casefold().strip()
    shown = [info for info in documents if wanted in info.document.casefold() or wanted in info.title.casefold()]
    shown.sort(key=key, reverse=descending)  # type: ignore[arg-type]
    if not shown:
        st.caption("No document's name holds that.")
        return
    first = 0
    if len(shown) > _ROWS:
        first = (st.pagination(-(-len(shown) // _ROWS), key="documents-part") - 1) * _ROWS
    for info in shown[first : first + _ROWS]:
        _draw_row(docmind, info)


def draw_document(docmind: DocMind, doc_id: str) -> None:
    """Draw one document: its pages as tiles, or the page that is open."""
    info = docmind.document(doc_id)
    st.button("All documents", icon=":material/arrow_back:", type="tertiary", on_click=_close_document)
    title, action = st.columns([0.85, 0.15], vertical_alignment="center")
    with title:
        st.subheader(escape(info.document, limit=90), anchor=False)
        st.caption(_facts(info))
    with action:
        _delete_button(info, "document")
    if info.title and one_line(info.title) != one_line(info.document):
        st.text(one_line(info.title))
    embedding.progress(docmind)
    embedding.offer(docmind, info.doc_id)
    _draw_tiles(docmind, info)


def draw_receipt() -> None:
    """Draw what the last deletion removed, once."""
    receipt: DeleteReceipt | None = st.session_state.pop(state.RECEIPT, None)
    if receipt is not None:
        st.success(
            f"Deleted **{escape(receipt.document, limit=80)}**: {count(receipt.pages, 'page')}, "
            f"{count(receipt.nodes, 'passage')} and {count(receipt.artifacts, 'sealed file')} are gone.",
            icon=":material/delete:",
        )


def _draw_row(docmind: DocMind, info: DocumentInfo) -> None:
    with st.container(border=True, key=f"row-{info.doc_id}"):
        words, status = st.columns([0.7, 0.3], vertical_alignment="center")
        with words, st.container(gap=None):
            st.button(
                escape(info.document, limit=90),
                key=f"open-{info.doc_id}",
                icon=":material/description:",
                type="tertiary",
                disabled=not info.pages_done,
                on_click=_open_document,
                args=(info.doc_id,),
            )
            st.caption(_facts(info))
            if info.message:
                icon = "error" if info.status == "failed" else "info"
                st.caption(f":material/{icon}: {escape(info.message)}")
            elif info.status in ("paused", "stopped"):
                st.caption("It can be searched once all of its pages are read")
        with status, st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            _badge(info)
            if info.status == "stopped":
                st.button(
                    "Go on",
                    key=f"go-on-{info.doc_id}",
                    icon=":material/play_arrow:",
                    on_click=upload.put_back,
                    args=(docmind, info.doc_id),
                )
            _delete_button(info, "row")


def _badge(info: DocumentInfo) -> None:
    if info.status == "reading":
        st.badge("reading", icon=":material/hourglass_top:", color="orange")
    elif info.status == "paused":
        st.badge("paused", icon=":material/pause:", color="orange")
    elif info.status == "stopped":
        st.badge("stopped", icon=":material/stop:", color="orange")
    elif info.status == "failed":
        st.badge("failed", icon=":material/error:", color="red")
    elif info.ocr_pages:
        st.badge("ready · OCR", icon=":material/check:", color="green", help=f"{info.ocr_pages} pages were read by OCR")
    else:
        st.badge("ready", icon=":material/check:", color="green")


def _facts(info: DocumentInfo) -> str:
    pages = count(info.pages, "page")
    if info.pages_done != info.pages and info.status != "reading":  # otherwise the panel above shows the progress
        pages = f"{info.pages_done:,} of {pages} read"
    facts = [kind(info.kind), pages]
    if info.language:
        facts.append(language(info.language))
    if info.ocr_pages:
        facts.append(f"{count(info.ocr_pages, 'page')} by OCR")
    facts += [size(info.bytes), f"added {when(info.added_at_ms)}"]
    return " · ".join(escape(fact) for fact in facts)


def _draw_tiles(docmind: DocMind, info: DocumentInfo) -> None:
    first = 1
    if info.pages > _TILES:
        first = (st.pagination(-(-info.pages // _TILES), key=f"tiles-{info.doc_id}") - 1) * _TILES + 1
    numbers = range(first, min(first + _TILES, info.pages + 1))
    with st.container(horizontal=True):  # as many beside each other as fit into the window
        for page_no in numbers:
            with st.container(width=_TILE):
                outcome = errors.attempt(
                    lambda page_no=page_no: docmind.page_image(info.doc_id, page_no, thumbnail=True)
                )
                if isinstance(outcome, DocMindError):
                    st.caption("Not read yet")
                else:
                    link = reader_link(info.doc_id, page_no)
                    st.image(highlight.framed(outcome), width="stretch", alt=f"Page {page_no}", link=link)
                    st.markdown(f"[Page {page_no}]({link})", text_alignment="center")


def _delete_button(info: DocumentInfo, where: str) -> None:
    label, kind_ = ("", "tertiary") if where == "row" else ("Delete", "secondary")
    st.button(
        label,
        key=f"delete-{where}-{info.doc_id}",
        icon=":material/delete:",
        type=kind_,
        help=f"Delete {escape(info.document, limit=60)}",
        on_click=_ask_deletion,
        args=(info.doc_id,),
    )


def draw_deletion(docmind: DocMind, documents: Sequence[DocumentInfo]) -> None:
    """Draw the confirmation of a deletion, while it is open."""
    for info in documents:
        if info.doc_id == st.session_state.get(state.DELETING):
            _confirm(docmind, info)


def _ask_deletion(doc_id: str) -> None:
    st.session_state[state.DELETING] = doc_id


def _keep() -> None:
    st.session_state.pop(state.DELETING, None)


@st.dialog("Delete this document?", icon=":material/delete:", on_dismiss=_keep)
def _confirm(docmind: DocMind, info: DocumentInfo) -> None:
    st.markdown(f"**{escape(info.document, limit=120)}**")
    st.write(
        f"{count(info.pages, 'page')}, all that was found in them and the sealed original will be erased. "
        "This cannot be undone. The file you added it from stays where it is."
    )
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep it", on_click=_keep):
            st.rerun()
        erase = st.button("Delete for good", type="primary", icon=":material/delete:")
    if not erase:
        return
    with st.spinner("Erasing…"):
        outcome = errors.attempt(lambda: docmind.delete(info.doc_id))
    if isinstance(outcome, DocMindError):
        errors.show(outcome)
        return
    page_view.forget()
    _keep()
    _close_document()
    st.session_state[state.RECEIPT] = outcome
    st.rerun()


def _open_document(doc_id: str) -> None:
    st.session_state[state.OPEN_DOCUMENT] = doc_id


def _close_document() -> None:
    st.session_state.pop(state.OPEN_DOCUMENT, None)
