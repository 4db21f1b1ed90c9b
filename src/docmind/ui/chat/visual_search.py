"""Visual search: the pages of a dropped, pasted or chosen picture.

The sidebar keeps the picture, the main area shows the pages. A picture stays in memory until it is cleared or the tab
is closed. It is decoded in a separate process, and the browser shows the original bytes. The search runs in its own
thread, and the page polls its progress; each page found has the matching region outlined.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import CancelledError, DocMindError
from docmind.records.query import Query
from docmind.records.search import MultimodalHit, MultimodalResult
from docmind.rich_text import escape, one_line
from docmind.runtime import log_mistake, start_thread
from docmind.ui.app import errors, state
from docmind.ui.app.app_state import app_state
from docmind.ui.app.format import data_url
from docmind.ui.app.names import called
from docmind.ui.app.page_links import reader_link
from docmind.ui.app.page_view import outlined_jpeg
from docmind.ui.chat.filters import look_in
from docmind.wording import N_, _, ngettext

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from docmind.application import DocMind


_PAGES = 8
_BROKE_OFF = N_("The search for this picture failed because of an error in DocMind; the log has the details.")


@dataclass(frozen=True, slots=True)
class Look:
    """An immutable snapshot of a search.

    `result` is preliminary while the words on the picture are read.

    `error` is why there is no result, or no better one. `is_stopped`: the user did not wait for the words.
    """

    result: MultimodalResult | None = None
    error: DocMindError | None = None
    is_over: bool = False
    is_stopped: bool = False


class PictureSearch:
    """A search that begins when it is created.

    Thread-safe; a search that is no longer polled ends by itself.
    """

    def __init__(self, docmind: DocMind, picture: bytes, *, name: str, words: str = "") -> None:
        """Start the search. `name` is the file's name; `words` are searched for as well."""
        self.picture, self.name, self.words = picture, name, words
        self.is_folded = False
        """Whether the pages that were found are not shown now."""
        self.missing = 0
        """Pages that were not ready for picture search when its result was first drawn; 0 where all were."""
        self._look = Look()
        self._changed = threading.Condition()
        start_thread(lambda: self._run(docmind), name="picture", stop=self.stop)

    @property
    def now(self) -> Look:
        return self._look

    def first(self, seconds: float) -> Look:
        """Return the first snapshot with a result or an end, or the current one after `seconds`."""
        with self._changed:
            self._changed.wait_for(lambda: self._look.is_over or self._look.result is not None, seconds)
            return self._look

    def stop(self) -> None:
        """Stop the search; what was found stays. Idempotent, also after its end."""
        with self._changed:
            if not self._look.is_over:
                self._show(replace(self._look, is_over=True, is_stopped=True))

    def _run(self, docmind: DocMind) -> None:
        over = Look(error=DocMindError(_(_BROKE_OFF)), is_over=True)
        try:
            found = errors.attempt(
                lambda: docmind.search(
                    Query(self.words, picture=self.picture, picture_name=self.name or None, k=_PAGES),
                    on_first=self._first,
                )
            )
            over = Look(error=found, is_over=True) if isinstance(found, DocMindError) else Look(found, is_over=True)
        except Exception as error:  # noqa: BLE001 - a bug: the page shows a message instead of waiting forever
            log_mistake("docmind.ui", "a picture failed", error)
        with self._changed:
            if not self._look.is_over:
                self._show(over if over.result else replace(over, result=self._look.result))

    def _first(self, found: MultimodalResult) -> None:
        with self._changed:
            if self._look.is_over:
                raise CancelledError(_("The search by picture was stopped."))
            self._show(Look(found))

    def _show(self, look: Look) -> None:
        self._look = look
        self._changed.notify_all()


_LARGE, _SMALL = 1_100, 480  # pixels; shown at about half of that, sharp on dense screens
_TILE = 200  # pixels across of a smaller page, beside others
_WHY = {"text": N_("same words"), "image": N_("similar look")}
_NEAREST = 4  # pages that are shown where none was found
_PREPARING_S = 2.0


def draw_results(docmind: DocMind) -> bool:
    """Draw what was found, above the conversation; return whether there is anything to see.

    The pages are shown until they are closed, and again on request in the sidebar.
    """
    search: PictureSearch | None = st.session_state.get(state.PICTURE)
    result = search.now.result if search is not None else None
    if search is None or result is None or search.is_folded:
        return False
    found = [hit for hit in result.hits if hit.found]
    near = [hit for hit in result.hits if not hit.found]
    with st.container(border=True, key="picture-results", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", key="picture-told"):
            st.markdown(_told(search.now, found, near), width="stretch")
            st.button(
                _("Close"), key="picture-close", icon=":material/close:", type="tertiary", on_click=_fold, args=(True,)
            )
        if any(degraded.stage == "unprepared" for degraded in result.degraded):
            _draw_unprepared(docmind, search, is_found=bool(found))
        if found:
            _draw_found(docmind, found, near)
        elif near:
            behind = st.expander(_("Closest pages"), key="picture-more", on_change="rerun")
            if behind.open:
                with behind:
                    _draw_small(docmind, near[:_NEAREST])
        for degraded in result.degraded:
            if degraded.stage != "unprepared":
                told = _("Without {part}: {reason}").format(part=escape(degraded.stage), reason=escape(degraded.reason))
                st.caption(f":material/info: {told}")
    return True


def _told(look: Look, found: Sequence[MultimodalHit], near: Sequence[MultimodalHit]) -> str:
    if found:
        told = ngettext("Found on this page", "Found on {n} pages, most likely first", len(found)).format(n=len(found))
        return f":green[:material/check_circle:] **{told}**"
    if near:
        told = _("No sure match.")
        return f":material/help: **{told}**"
    told = _("No page looks like this.") if look.is_over else _("No page so far.")
    return f":material/search_off: **{told}**"


def _draw_found(docmind: DocMind, found: Sequence[MultimodalHit], near: Sequence[MultimodalHit]) -> None:
    """Draw the most likely page large, and beside it what it is, other pages that were found, and weaker matches."""
    page, beside = st.columns([0.6, 0.4], gap="medium")
    _draw_page(docmind, found[0], page, beside)
    with beside:
        if len(found) > 1:
            _draw_small(docmind, found[1:])
        if near:
            told = ngettext("{n} weaker match", "{n} weaker matches", len(near)).format(n=len(near))
            behind = st.expander(told, key="picture-more", on_change="rerun")
            if behind.open:  # pages are drawn only when the expander is open
                with behind:
                    _draw_small(docmind, near)


def _draw_small(docmind: DocMind, hits: Sequence[MultimodalHit]) -> None:
    near = "picture-near" + ("-found" if hits and hits[0].found else "")
    with st.container(horizontal=True, gap="medium", key=near):
        for hit in hits:
            with st.container(width=_TILE):
                _draw_page(docmind, hit, st.container(), st.container(), is_small=True)


def _draw_page(
    docmind: DocMind, hit: MultimodalHit, page: DeltaGenerator, beside: DeltaGenerator, *, is_small: bool = False
) -> None:
    """Draw the image of a page into `page`, its name and buttons into `beside`."""
    key = f"picture-page-{hit.rank}"
    width = _SMALL if is_small else _LARGE
    quad = hit.quad if hit.found else ()  # no outline where there is no match
    jpeg = errors.attempt(lambda: outlined_jpeg(docmind, hit.doc_id, hit.page_no, quad, width))
    if isinstance(jpeg, DocMindError):
        gone = _("{document}, page {n}: no longer in the library.")
        page.caption(gone.format(document=escape(called(hit), limit=36), n=hit.page_no))
        return
    alt = _("Page {n} of {document}, the matching region outlined") if quad else _("Page {n} of {document}")
    alt = alt.format(n=hit.page_no, document=called(hit))
    link = reader_link(hit.doc_id, hit.page_no, quad=quad)
    with page, st.container(key=f"{key}-image"):
        st.image(data_url(jpeg), width="stretch", alt=alt, link=link)
    with beside, st.container(key=key, gap="xxsmall"):
        why = f" · {_(_WHY[hit.source])}" if not hit.found and hit.source in _WHY else ""
        name = escape(called(hit), limit=26 if is_small else 60)
        st.caption((name if is_small else f"**{name}**") + why)
        if hit.figure and hit.text:
            st.caption(f":material/imagesmode: {escape(hit.text, limit=80 if is_small else 200)}")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"[{_('Page {n}').format(n=hit.page_no)}]({link})", width="content")
            st.button(
                _("Ask") if is_small else _("Ask about it"),
                key=f"picture-ask-{hit.rank}",
                icon=":material/chat:",
                type="tertiary" if is_small else "secondary",
                help=_("Ask {document} only").format(document=escape(called(hit), limit=60)),
                on_click=_ask_about,
                args=(hit,),
            )


def _ask_about(hit: MultimodalHit) -> None:
    look_in(hit.doc_id)
    _fold(True)


def _fold(is_folded: bool) -> None:
    search: PictureSearch | None = st.session_state.get(state.PICTURE)
    if search is not None:
        search.is_folded = is_folded


def _draw_unprepared(docmind: DocMind, search: PictureSearch, *, is_found: bool) -> None:
    """Say that pages are still being prepared, and search again by itself once they are, where nothing was found."""
    if not is_found:
        search.missing = search.missing or max(1, docmind.lookalike.missing())
        st.fragment(_wait_for_pages, run_every=_PREPARING_S)(docmind, search)


def _wait_for_pages(docmind: DocMind, search: PictureSearch) -> None:
    missing = docmind.lookalike.missing()
    if missing <= search.missing // 2:  # half of them at a time, so that the last search sees all
        look_for(docmind, search.picture, search.name, search.words)
        st.rerun()
    told = ngettext(
        "Still preparing {n} page for picture search; this may be among them.",
        "Still preparing {n} pages for picture search; this may be among them.",
        missing,
    )
    st.caption(f":material/hourglass_top: {told.format(n=f'{missing:,}')}")


SCRIPT = Path(__file__).with_suffix(".html")
_LOOKS = Path(__file__).with_suffix(".css")
_SHOWN = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp", b"BM": "bmp"}
_SHOWN_BYTES = 6 << 20  # of a picture; a larger one is shown by its name only
_PATIENCE_S = 0.6  # most pages are found within this time: the sidebar is then drawn once, with them
_POLL_S = 0.25
_PASTE = N_("Take the picture from the clipboard. Ctrl+V does the same anywhere on this page")


def draw(docmind: DocMind) -> None:
    """Draw visual search; called inside the sidebar."""
    has_documents = bool(docmind.documents.all())
    if not has_documents:
        clear()
    search: PictureSearch | None = st.session_state.get(state.PICTURE)
    st.html(_LOOKS)
    with st.container(key="picture", gap="xsmall"):
        st.html(SCRIPT, unsafe_allow_javascript=True)
        with st.container(horizontal=True, vertical_alignment="center", key="picture-heading"):
            st.markdown(f":material/image_search: **{_('Visual search')}**", width="stretch")
            if search is not None:
                st.button(_("Clear"), key="picture-clear", icon=":material/close:", type="tertiary", on_click=clear)
        if not has_documents:
            st.caption(_("Once there are documents, a screenshot or photo of a page finds it."))
            return
        _draw_box(docmind, is_first=search is None)
        if search is not None:
            now = search.first(_PATIENCE_S)
            _draw_picture(search, now)
            if now.error is None or now.result is not None:
                _draw_words(docmind, search)
            _draw_progress(search, now)


def clear() -> None:
    """Forget the picture and what was found. For callbacks."""
    search: PictureSearch | None = st.session_state.pop(state.PICTURE, None)
    if search is not None:
        search.stop()
    st.session_state.pop(state.PICTURE_WORDS, None)


def look_for(docmind: DocMind, picture: bytes, name: str, words: str = "") -> None:
    """Begin a search for a picture in this tab, in place of the previous one."""
    earlier: PictureSearch | None = st.session_state.get(state.PICTURE)
    if earlier is not None:
        earlier.stop()
    st.session_state[state.PICTURE] = PictureSearch(docmind, picture, name=name, words=words)


def _draw_box(docmind: DocMind, *, is_first: bool) -> None:
    key = f"{state.PICTURE_BOX}-{st.session_state.setdefault(state.PICTURE_BOX, 0)}"
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="picture-ways"):
        st.file_uploader(
            _("Find a page by a picture of it"),
            key=key,
            max_upload_size=min(app_state().max_file_mb, 500),
            on_change=_take,
            args=(docmind, key),
            label_visibility="collapsed",
        )
        # A press never reaches the server: the script takes the picture out of the clipboard.
        st.button(_("Paste"), key="picture-paste", icon=":material/content_paste:", type="tertiary", help=_(_PASTE))
    if is_first:
        st.caption(_("Drop, choose or paste a screenshot, photo or scan to find its page."))
    with st.container(key="picture-none"):
        st.caption(":material/info: " + _("There is no picture in the clipboard."))
    with st.container(key="picture-refused"):
        st.caption(":material/info: " + _("The browser does not share the clipboard. Press Ctrl+V instead."))


def _take(docmind: DocMind, key: str) -> None:
    file = st.session_state.get(key)
    if file is not None:
        st.session_state[state.PICTURE_BOX] += 1
        st.session_state.pop(state.PICTURE_WORDS, None)
        look_for(docmind, file.getvalue(), one_line(file.name))


def _draw_picture(search: PictureSearch, now: Look) -> None:
    """Draw the picture that is searched for.

    The browser gets only what was decoded here without errors.
    """
    kind = next((kind for magic, kind in _SHOWN.items() if search.picture.startswith(magic)), "")
    if kind and len(search.picture) <= _SHOWN_BYTES and now.result is not None:
        # As a data URL: nothing here decodes it. The browser does, which had it before.
        address = f"data:image/{kind};base64,{base64.b64encode(search.picture).decode()}"
        with st.container(key="picture-shown"):
            st.image(address, width="stretch", alt=_("The picture being searched for"))
    else:
        st.caption(f":material/image: {escape(search.name, limit=40)}")


def _draw_words(docmind: DocMind, search: PictureSearch) -> None:
    st.session_state.setdefault(state.PICTURE_WORDS, search.words)  # after another page was open
    st.text_input(
        _("Keywords"),
        key=state.PICTURE_WORDS,
        placeholder=_("Add keywords (optional)"),
        label_visibility="collapsed",
        max_chars=500,
        on_change=_again,
        args=(docmind,),
    )


def _again(docmind: DocMind) -> None:
    search: PictureSearch | None = st.session_state.get(state.PICTURE)
    if search is not None:
        look_for(docmind, search.picture, search.name, str(st.session_state.get(state.PICTURE_WORDS) or "").strip())


def _draw_progress(search: PictureSearch, now: Look) -> None:
    if not now.is_over:
        st.fragment(_follow, run_every=_POLL_S)(search, now)
    if now.error is not None:
        errors.show(now.error)
    if now.is_stopped:
        told = _("Stopped before its words were read.") if now.result else _("Stopped before anything was found.")
        st.caption(f":material/stop_circle: {told}")
    if now.result is not None and search.is_folded:
        st.button(_("Show the pages"), key="picture-show", icon=":material/visibility:", on_click=_fold, args=(False,))


def _follow(search: PictureSearch, drawn: Look) -> None:
    """Draw the progress with a stop button, and redraw the page where there are new results."""
    if search.now is not drawn:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="picture-running"):
        told = _("Looking for the page…") if drawn.result is None else _("Reading the words on the picture…")
        st.caption(told, width="stretch")
        st.button(_("Stop"), key="picture-stop", type="tertiary", on_click=search.stop)
