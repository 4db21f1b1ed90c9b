"""A document read again: the form that asks how, and how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from docmind.errors import CancelledError
from docmind.reading import ENGINE_NAMES, engines, find_pandoc, is_better_by_pandoc, is_better_by_readers, languages
from docmind.records.documents import DocumentInfo
from docmind.rich_text import escape
from docmind.ui.app import errors, long_work
from docmind.ui.app.app_state import app_state
from docmind.ui.app.long_work import LongWork
from docmind.wording import _, ngettext, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind

_KINDS = frozenset(("pdf", "png", "jpeg", "webp", "gif", "bmp", "tiff"))
_MODES = ("auto", "always", "never")


def can_be(info: DocumentInfo) -> bool:
    """Return whether OCR may read pages of a document: those of other kinds are drawn from their text."""
    return info.status == "ready" and info.kind in _KINDS


def is_better_now(docmind: DocMind, info: DocumentInfo) -> bool:
    """Return whether pandoc, or a reader of another package, reads a document now that was read without it."""
    settings = docmind.settings.now.reading
    if is_better_by_readers(info, settings):
        return True
    return info.status == "ready" and is_better_by_pandoc(info) and bool(find_pandoc(settings.pandoc))


def draw_form(docmind: DocMind, info: DocumentInfo) -> bool:
    """Draw the form, and return whether it was answered."""
    st.write(_("The document is read from its original again. Each page keeps its text until the new one is there."))
    given = _drawn_choices(docmind) if can_be(info) else dict[str, Any]()
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(_("Cancel"), key="reread-no"):
            return True
        if st.button(_("Read again"), key="reread-yes", type="primary"):
            app_state().start(_work_of(info.doc_id), lambda library, report: _read(library, info.doc_id, given, report))
            return True
    return False


def _drawn_choices(docmind: DocMind) -> dict[str, Any]:
    """Draw how OCR reads the pages, and return what was chosen."""
    installed = engines()
    engine = st.selectbox(
        _("OCR engine"), ("", *installed), format_func=lambda one: ENGINE_NAMES.get(one, _("As in Settings")),
        key="reread-engine",
    )  # fmt: skip
    chosen: list[str] = []
    if engine == "tesseract":
        chosen = st.multiselect(
            _("Languages of the text"), [code for code in languages() if code != "osd"], key="reread-languages",
            placeholder=_("As in Settings"),
        )  # fmt: skip
    about = {
        "auto": _("Pages without a good text layer"),
        "always": _("All pages"),
        "never": _("None: only text of the file"),
    }
    mode = st.radio(_("Pages read by OCR"), _MODES, format_func=lambda one: about[one], key="reread-mode")
    for part in docmind.status().capabilities:
        if part.name in ENGINE_NAMES and part.state == "missing":
            st.caption(f":material/info: {escape(f'{ENGINE_NAMES[part.name]}: {_(part.hint)}')}")
    return {"engine": engine, "languages": "+".join(chosen), "mode": mode}


def draw_progress(doc_id: str) -> None:
    """Draw how far the reading of a document is, or how it ended."""
    going = app_state().work(_work_of(doc_id))
    if going is None:
        return
    if not going.is_over:
        long_work.draw(going, _progress, key="reread")
        return
    app_state().forget(_work_of(doc_id))
    if going.error is not None:
        errors.show(going.error)
    elif going.result is None:
        st.info(_("Stopped. The pages that were read until then have their new text."))
    else:
        st.success(_("The document was read again."), icon=":material/check:")


def _read(library: DocMind, doc_id: str, given: dict[str, Any], report: long_work.Report) -> DocumentInfo | None:
    try:
        return library.documents.read_again(doc_id, **given, progress=report)
    except CancelledError:
        return None


def _progress(going: LongWork) -> str:
    told = ngettext("{done} of {n} page", "{done} of {n} pages", going.total)
    return told.format(done=number_text(going.done), n=number_text(going.total))


def _work_of(doc_id: str) -> str:
    return f"reread-{doc_id}"
