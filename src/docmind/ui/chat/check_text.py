"""The view in which a text of the user's own is checked, in place of the conversation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.conversations import draft_markdown
from docmind.errors import DocMindError
from docmind.reading import text_of_file
from docmind.records.answers import Source
from docmind.records.documents import Box, Upload
from docmind.records.drafts import VERDICTS, CheckedDraft, CheckedSentence, Verdict
from docmind.records.values import LONGEST_DRAFT, check_draft
from docmind.rich_text import escape, shorten
from docmind.ui.app import errors, long_work, state
from docmind.ui.app.app_state import app_state
from docmind.ui.app.long_work import LongWork
from docmind.ui.app.names import called
from docmind.ui.app.page_links import reader_link
from docmind.ui.chat import filters
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.application import DocMind

_WORK, _TEXT, _FILE = "check-text", "check-text-words", "check-text-file"
_LOOKS = Path(__file__).with_suffix(".css")
_QUOTE = 240  # characters of a passage that are shown
_DRAWN = 300  # sentences that are drawn at once; the file has all of them
_ICONS: dict[Verdict, tuple[str, str]] = {
    "supported": ("check_circle", "green"),
    "outdated": ("history", "orange"),
    "contradicted": ("error", "red"),
    "not found": ("help", "orange"),
    "no claim": ("remove", "gray"),
}
_FILES = ("txt", "md", "docx", "odt", "rtf", "pptx", "odp", "pdf", "html", "htm", "epub")


def draw_entry() -> None:
    """Draw the button that opens the view."""
    st.button(
        _("Check a text"), key="check-text-open", icon=":material/fact_check:", type="tertiary", on_click=_open
    )  # fmt: skip


def draw(docmind: DocMind) -> bool:
    """Draw the view in place of the conversation; False where it is not open."""
    if not st.session_state.get(state.CHECKING) or st.session_state.get(state.THREAD):
        st.session_state.pop(state.CHECKING, None)
        return False
    st.html(_LOOKS)
    st.button(
        _("Back to asking"), key="check-text-close", icon=":material/arrow_back:", type="tertiary", on_click=_close
    )
    st.title(_("Check a text"), anchor=False)
    going = app_state().work(_WORK)
    if going is not None and not going.is_over:
        long_work.draw(going, _progress, key=_WORK)
        return True
    if going is not None and isinstance(going.result, CheckedDraft):
        _results(going.result)
        return True
    _form(docmind, going)
    return True


def _open() -> None:
    st.session_state[state.CHECKING] = True


def _close() -> None:
    st.session_state.pop(state.CHECKING, None)


def _form(docmind: DocMind, going: LongWork | None) -> None:
    """Draw the fields for a text or a file, and why the last check did not end."""
    st.write(
        _(
            "Paste a text that you wrote, or choose a file. Each sentence is looked for in your documents; "
            "nothing is kept."
        )
    )
    collections = {one.collection_id: one.name for one in docmind.documents.collections()}
    documents, has_figures = docmind.documents.all(), docmind.documents.has_figures()
    filters.choose_filters(docmind, documents, collections, has_figures=has_figures)
    with st.form("check-text-form", border=False):
        st.text_area(_("Text"), key=_TEXT, height=240, max_chars=LONGEST_DRAFT)
        st.file_uploader(_("or a file"), key=_FILE, type=_FILES)
        is_sent = st.form_submit_button(_("Check"), icon=":material/fact_check:", type="primary")
    if is_sent:
        outcome = errors.attempt(lambda: _begin(docmind))
        if isinstance(outcome, DocMindError):
            errors.show(outcome)
        else:
            st.rerun()
    elif going is not None and going.error is not None:
        errors.show(going.error)


def _begin(docmind: DocMind) -> None:
    """Begin the check of the file, or of the text where there is none. Raises `ConfigError`, `ReadingError`."""
    chosen = st.session_state.get(_FILE)
    draft = st.session_state.get(_TEXT) or ""
    upload = Upload(chosen.name, chosen.getvalue()) if chosen is not None else None
    if upload is None:
        check_draft(draft)
    settings, chosen_filters = docmind.configured.reading, filters.chosen_filters(docmind)

    def work(library: DocMind, report: long_work.Report) -> CheckedDraft:
        text = draft if upload is None else text_of_file(upload, settings, longest=LONGEST_DRAFT)
        return library.check(text, chosen_filters, progress=report)

    app_state().start(_WORK, work)


def _progress(going: LongWork) -> str:
    return _("Checking: {done} of {total} sentences").format(done=going.done, total=going.total)


def _results(checked: CheckedDraft) -> None:
    """Draw how many sentences have each verdict, the file with footnotes, and the sentences."""
    with st.container(horizontal=True, vertical_alignment="center", key="check-text-told"):
        st.markdown(" · ".join(f"{_badge(verdict)} {checked.count(verdict)}" for verdict in VERDICTS))
    with st.container(horizontal=True):
        st.download_button(
            _("Save as Markdown"), draft_markdown(checked), "checked.md", "text/markdown", key="check-text-save",
            icon=":material/download:", on_click="ignore",
        )  # fmt: skip
        st.button(_("Check another text"), key="check-text-again", icon=":material/edit_note:", on_click=_again)
    for part in checked.degraded:
        errors.show_message(part.reason)
    if not checked.sentences:
        st.info(_("The text has no sentences."), icon=":material/info:")
    with st.container(key="check-text-list"):
        for sentence in checked.sentences[:_DRAWN]:
            st.markdown(_shown(sentence))
    if len(checked.sentences) > _DRAWN:
        st.caption(_("and {n} more").format(n=f"{len(checked.sentences) - _DRAWN:,}"))


def _again() -> None:
    app_state().forget(_WORK)
    st.session_state.pop(_TEXT, None)


def _shown(sentence: CheckedSentence) -> str:
    """Return a sentence with its verdict in words, and its passages as links to their pages."""
    lines = [f"{_badge(sentence.verdict)}  \n{escape(sentence.text, limit=1_000)}"]
    for source in sentence.sources:
        remark = sentence.remark(source)
        place = f"{_place(source)}, {_(remark)}" if remark else _place(source)
        lines.append(f"> {place}  \n> “{escape(shorten(source.quote, _QUOTE))}”")
    return "\n\n".join(lines)


def _badge(verdict: Verdict) -> str:
    icon, color = _ICONS[verdict]
    return f":{color}[:material/{icon}: **{_(VERDICTS[verdict])}**]"


def _place(source: Source) -> str:
    told = _("{document}, page {page}").format(document=escape(called(source), limit=60), page=source.page_no)
    return f"[{told}]({reader_link(source.doc_id, source.page_no, quad=_outline(source))})"


def _outline(source: Source) -> tuple[tuple[float, float], ...]:
    """Return the corners of the rectangle around a passage; empty where it has no place."""
    box = Box.around(source.boxes)
    if box is None:
        return ()
    left, top, right, bottom = box.x, box.y, box.x + box.w, box.y + box.h
    return (left, top), (right, top), (right, bottom), (left, bottom)
