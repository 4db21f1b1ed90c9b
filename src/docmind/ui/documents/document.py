"""One opened document: its facts, what a person sets on it, its outline and its pages."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.blocks import losses_text
from docmind.documents import FIELDS, coverage_text
from docmind.errors import DocMindError
from docmind.reading import is_better_by_pandoc
from docmind.records.documents import DocumentInfo, EnclosedFile
from docmind.rich_text import escape, one_line
from docmind.ui.app import errors, state
from docmind.ui.app.browser_part import browser_part
from docmind.ui.app.format import count, kind, language, languages, read_by, shown_value, size, when
from docmind.ui.app.page_links import figure_link, reader_link, xray_link
from docmind.ui.documents import embedding, library, reading_again, versions
from docmind.wording import _, date, ngettext, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind

_FOLDER = Path(__file__).parent
_TROUBLE = "document"
_CHAT = "chat.py"
_HEADINGS, _TALLEST = 12, 360  # headings, or files inside, shown unfolded; pixels of a longer list
_FILES = 200  # files inside that are listed
_FIGURES, _LONGEST = 8, 300  # figures shown unfolded; characters of a caption


def draw_document(docmind: DocMind, doc_id: str, *, begin_in: Callable[[str], None]) -> None:
    """Draw one document; its pages open in the reader. `begin_in` limits a new conversation to a document."""
    info = docmind.documents.get(doc_id)
    st.button(_("All documents"), icon=":material/arrow_back:", type="tertiary", on_click=library.close_document)
    errors.show_of(_TROUBLE)
    title = one_line(info.label)
    st.subheader(escape(title, limit=160), anchor=False)
    if info.parent is not None:
        st.button(
            escape(info.parent.place, limit=160), key="document-parent", type="tertiary", icon=":material/folder_open:",
            on_click=library.open_document, args=(info.parent.doc_id,),
        )  # fmt: skip
    if title != one_line(info.document):
        st.caption(escape(info.document, limit=160))
    _draw_actions(docmind, info, begin_in)
    reading_again.draw_progress(info.doc_id)
    embedding.progress(docmind)
    with st.container(key="document"):
        facts, rest = st.columns([0.36, 0.64], gap="large")
    with facts:
        with st.container(gap="xsmall"):
            _draw_facts(docmind, info)
        embedding.offer(docmind, info.doc_id)
        _draw_tags(docmind, info)
        _draw_collections(docmind, info)
        _draw_language(docmind, info)
        versions.draw_saying(docmind, info)
    with rest:
        _draw_thread(docmind, info)
        _draw_enclosed(docmind, info)
        _draw_outline(docmind, info)
        _draw_figures(docmind, info)
        _draw_coverage(docmind, info)
        _draw_pages(info)


def _draw_actions(docmind: DocMind, info: DocumentInfo, begin_in: Callable[[str], None]) -> None:
    with st.container(horizontal=True, gap="small", key="document-actions"):
        is_ready = info.status == "ready"
        if st.button(
            _("Ask this document"), icon=":material/forum:", type="primary", key="document-ask", disabled=not is_ready
        ):
            _go_and_ask(info, begin_in)
        if st.button(_("Summarize"), icon=":material/summarize:", key="document-summary", disabled=not is_ready):
            st.session_state[state.QUESTION] = _("Summarize this document")
            _go_and_ask(info, begin_in)
        st.download_button(
            _("Download original"),
            lambda: docmind.documents.original(info.doc_id),
            file_name=docmind.documents.original_name(info.doc_id),
            mime="application/octet-stream",
            icon=":material/download:",
            key="document-get",
            on_click="ignore",
        )
        edit = (library.RENAME, (info.doc_id,))
        st.button(_("Rename"), icon=":material/edit:", key="document-rename", on_click=library.ask, args=edit)
        versions.draw_actions(docmind, info)
        if reading_again.can_be(info) or reading_again.is_better_now(docmind, info):
            again = (library.READ_AGAIN, (info.doc_id,))
            st.button(
                _("Read again…"), icon=":material/scanner:", key="document-reread", on_click=library.ask, args=again
            )
        gone = (docmind, (info.doc_id,))
        st.button(_("Delete"), icon=":material/delete:", key="document-delete", on_click=library.move_to_bin, args=gone)
        erased = (library.PURGE, (info.doc_id,))
        st.button(
            _("Erase for good"),
            icon=":material/delete_forever:",
            key="document-erase",
            type="tertiary",
            on_click=library.ask,
            args=erased,
        )


def _go_and_ask(info: DocumentInfo, begin_in: Callable[[str], None]) -> None:
    state.open_thread(None)
    begin_in(info.doc_id)
    st.switch_page(_CHAT)


def _draw_facts(docmind: DocMind, info: DocumentInfo) -> None:
    facts = [kind(info.kind), count(ngettext("{n} page", "{n} pages", info.pages), info.pages), size(info.bytes)]
    st.markdown(" · ".join(escape(fact) for fact in facts))
    st.caption(_("Added {when}").format(when=when(info.added_at_ms)))
    versions.draw_place(docmind, info)
    for column in FIELDS:
        is_twice = column.name == "author" and info.sender.startswith(info.author)
        if column.is_fact and not is_twice and (value := shown_value(column, info)):
            st.caption(f"{escape(_(column.label))}: {escape(value, limit=300)}")
    if info.ingestion is not None:
        st.caption(_("Read by {engines} in {time}").format(**read_by(info.ingestion)))
        if is_better_by_pandoc(info):
            st.caption(escape(_("Its marks stay as they are written: pandoc reads it better where it is installed.")))
        if info.ingestion.losses:
            told = _("Not read: {what}").format(what=losses_text(info.ingestion.losses))
            st.caption(escape(told, limit=600), help=_("These parts of the file are not shown, found or quoted."))
    if info.address:
        fetched = _("Fetched {when} from {address}")
        st.caption(fetched.format(when=when(info.fetched_at_ms), address=escape(info.address, limit=300)))
    reading = errors.attempt(lambda: docmind.documents.reading(info.doc_id))
    if not isinstance(reading, DocMindError):
        for source, pages, confidence in reading.sources:
            st.caption(_read_as(source, pages, confidence))
        if reading.unprepared:
            told = ngettext(
                "{n} page is still being prepared for picture search",
                "{n} pages are still being prepared for picture search",
                reading.unprepared,
            )
            st.caption(f":material/hourglass_top: {told.format(n=f'{reading.unprepared:,}')}")
    if info.pages_done != info.pages:
        st.caption(
            _(":material/hourglass_top: {pages_done} of {count} read; it can be searched once all are").format(
                pages_done=number_text(info.pages_done),
                count=count(ngettext("{n} page", "{n} pages", info.pages), info.pages),
            )
        )
    if info.message:
        st.caption(f":material/{'error' if info.status == 'failed' else 'info'}: {escape(info.message)}")


def _read_as(source: str, pages: int, confidence: float) -> str:
    number = count(ngettext("{n} page", "{n} pages", pages), pages)
    if source == "ocr":
        return _("Text by OCR: {pages}, {sure} % confidence").format(pages=number, sure=round(confidence * 100))
    return (_("Text from the file: {pages}") if source == "layer" else _("No text: {pages}")).format(pages=number)


def _draw_tags(docmind: DocMind, info: DocumentInfo) -> None:
    key = f"tags-{info.doc_id}"
    known = list(dict.fromkeys((*info.tags, *docmind.documents.tags())))

    def changed() -> None:
        wanted = set(st.session_state[key])
        added, removed = wanted - set(info.tags), set(info.tags) - wanted
        errors.heed(_TROUBLE, lambda: docmind.documents.tag((info.doc_id,), add=sorted(added), remove=sorted(removed)))

    st.multiselect(
        _("Tags"),
        known,
        list(info.tags),
        key=key,
        accept_new_options=True,
        placeholder=_("Choose tags or type a new one"),
        on_change=changed,
    )


def _draw_collections(docmind: DocMind, info: DocumentInfo) -> None:
    key = f"collections-{info.doc_id}"
    known = {one.collection_id: one.name for one in docmind.documents.collections()}

    def work() -> None:
        chosen = set(st.session_state[key])
        for one in chosen - set(known):
            docmind.documents.new_collection(one, (info.doc_id,))
        for one in (chosen & set(known)) - set(info.collections):
            docmind.documents.collect(one, (info.doc_id,))
        for one in set(info.collections) - chosen:
            docmind.documents.collect(one, (info.doc_id,), leave=True)
        del st.session_state[key]  # a new collection is named by its id from now on

    st.multiselect(
        _("Collections"),
        list(known),
        [one for one in info.collections if one in known],
        format_func=lambda one: known.get(str(one), str(one)),
        key=key,
        accept_new_options=True,
        placeholder=_("Choose or type a new name"),
        on_change=lambda: errors.heed(_TROUBLE, work),
    )


def _draw_language(docmind: DocMind, info: DocumentInfo) -> None:
    if info.status != "ready":
        return
    key = f"language-{info.doc_id}"
    codes = sorted({*languages(), info.language} - {""}, key=language)

    def changed() -> None:
        code = st.session_state[key] or ""
        errors.heed(_TROUBLE, lambda: docmind.documents.set_language((info.doc_id,), code))

    st.selectbox(
        _("Language"),
        codes,
        codes.index(info.language) if info.language else None,
        format_func=language,
        key=key,
        placeholder=_("Detect automatically"),
        on_change=changed,
    )


def _draw_enclosed(docmind: DocMind, info: DocumentInfo) -> None:
    """Draw the files inside a document with links to them, or why one is none."""
    inside = errors.attempt(lambda: docmind.documents.enclosed(info.doc_id))
    if isinstance(inside, DocMindError) or not inside:
        return
    told = ngettext("{n} file inside", "{n} files inside", len(inside))
    is_long = len(inside) > _HEADINGS
    with (
        st.expander(count(told, len(inside)), expanded=not is_long, icon=":material/folder_open:"),
        st.container(gap="xsmall", key="enclosed", height=_TALLEST if is_long else "content"),
    ):
        for place, one in enumerate(inside[:_FILES]):
            _draw_inside(place, one)
        if len(inside) > _FILES:
            st.caption(_("{n} more are not shown.").format(n=number_text(len(inside) - _FILES)))


def _draw_thread(docmind: DocMind, info: DocumentInfo) -> None:
    """Draw the mails of the exchange to which a mail belongs, with links to the others."""
    mails = errors.attempt(lambda: docmind.documents.thread(info.doc_id))
    if isinstance(mails, DocMindError) or len(mails) < 2:
        return
    at = next((at for at, one in enumerate(mails) if one.doc_id == info.doc_id), 0)
    first = max(0, min(at - _FILES // 2, len(mails) - _FILES))
    told = ngettext("{n} mail in this exchange", "{n} mails in this exchange", len(mails))
    is_long = len(mails) > _HEADINGS
    with (
        st.expander(count(told, len(mails)), expanded=not is_long, icon=":material/forum:"),
        st.container(gap="xsmall", key="thread", height=_TALLEST if is_long else "content"),
    ):
        for place, one in enumerate(mails[first : first + _FILES], first):
            _draw_mail(place, one, is_open=one.doc_id == info.doc_id)
        if len(mails) > _FILES:
            st.caption(_("{n} more are not shown.").format(n=number_text(len(mails) - _FILES)))


def _draw_mail(place: int, mail: DocumentInfo, *, is_open: bool) -> None:
    day = date(datetime.fromisoformat(mail.dated)) if mail.dated else ""
    told = escape(" · ".join(filter(None, (day, mail.author or mail.sender))), limit=160)
    label = escape(mail.label, limit=120)
    if is_open:
        st.caption(f":material/drafts: **{label}** {told}")
        return
    st.button(
        f"{label} :gray[{told}]", key=f"thread-{place}", type="tertiary", icon=":material/mail:",
        on_click=library.open_document, args=(mail.doc_id,),
    )  # fmt: skip


def _draw_inside(place: int, one: EnclosedFile) -> None:
    name, state = escape(one.name, limit=160), _("not read yet") if one.is_awaited else one.message
    if one.doc_id:
        st.button(
            f"{name} :gray[{' · '.join(filter(None, (size(one.bytes), escape(state, limit=400))))}]",
            key=f"enclosed-{place}", type="tertiary", icon=":material/description:",
            on_click=library.open_document, args=(one.doc_id,),
        )  # fmt: skip
    else:
        told = state if one.name.rpartition("/")[2] in state else f"{one.name}: {state}"
        st.caption(f":material/block: {escape(told, limit=400)}")


def _draw_outline(docmind: DocMind, info: DocumentInfo) -> None:
    headings = errors.attempt(lambda: docmind.documents.outline(info.doc_id))
    if isinstance(headings, DocMindError) or len(headings) < 2:
        return
    with st.expander(_("Outline"), expanded=len(headings) <= _HEADINGS, icon=":material/toc:"):
        st.html(_FOLDER / "document.css")
        with st.container(gap=None, key="outline", height=_TALLEST if len(headings) > _HEADINGS else "content"):
            for place, heading in enumerate(headings):
                with st.container(key=f"outline-{heading.level}-{place}"):
                    link = reader_link(info.doc_id, heading.page_no)
                    st.markdown(f"[{escape(heading.text, limit=90)} · {heading.page_no}]({link})")


def _draw_coverage(docmind: DocMind, info: DocumentInfo) -> None:
    """Draw the pages to look at: empty, doubtful, corrected by hand; each opens what was read on it."""
    coverage = errors.attempt(lambda: docmind.documents.coverage(info.doc_id))
    told = [] if isinstance(coverage, DocMindError) else coverage_text(coverage)
    if not told:
        return
    with (
        st.expander(_("Pages to look at"), expanded=False, icon=":material/visibility:"),
        st.container(gap="xsmall", key="coverage", height=_TALLEST if len(told) > _HEADINGS else "content"),
    ):
        for page_no, text in told[:_FILES]:
            st.markdown(f"[{escape(text)}]({xray_link(info.doc_id, page_no)})")
        if len(told) > _FILES:
            st.caption(_("{n} more are not shown.").format(n=number_text(len(told) - _FILES)))


def _draw_figures(docmind: DocMind, info: DocumentInfo) -> None:
    """Draw the figures of a document, each with its caption; nothing where it has none."""
    figures = errors.attempt(lambda: docmind.documents.figures(info.doc_id))
    if isinstance(figures, DocMindError) or not figures:
        return
    told, is_many = ngettext("{n} figure", "{n} figures", len(figures)), len(figures) > _FIGURES
    with (
        st.expander(count(told, len(figures)), expanded=not is_many, icon=":material/imagesmode:"),
        st.container(key="figures", height=_TALLEST if is_many else "content"),
    ):
        shown = [
            [one.page_no, one.number, one_line(one.caption or one.alt)[:_LONGEST], figure_link(one)] for one in figures
        ]
        words = {"page": _("Page {n}"), "figures": _("Figures"), "lost": _("Not readable")}
        browser_part(
            _FOLDER, "figures", data={"doc_id": info.doc_id, "figures": shown, "words": words}, key=state.FIGURES
        )


def _draw_pages(info: DocumentInfo) -> None:
    words = {
        "page": _("Page {n}"),
        "pages": _("Pages"),
        "unread": _("Not read yet"),
        "read": _("What was read"),
        "readOn": _("What was read on page {n}"),
    }
    data = {"doc_id": info.doc_id, "pages": info.pages, "done": info.pages_done, "words": words}
    browser_part(_FOLDER, "pages", data=data, key=state.PAGES)
