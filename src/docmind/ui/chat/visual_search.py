"""Visual search in the sidebar: the pages of a dropped, pasted or chosen picture.

A picture stays in memory until it is cleared or the tab is closed. It is decoded in a separate process, and the browser
shows the original bytes. The search runs in its own thread, and the page polls its progress; each page found has the
matching region outlined.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import CancelledError, DocMindError
from docmind.records.search import MultimodalHit, MultimodalResult
from docmind.rich_text import escape, one_line
from docmind.runtime import log_mistake
from docmind.ui.app import errors, state
from docmind.ui.app.desk import desk
from docmind.ui.app.format import count, data_url
from docmind.ui.app.page_view import PageOnShow, outlined_jpeg
from docmind.ui.chat.filters import look_in

if TYPE_CHECKING:
    from docmind.application import DocMind


_PAGES = 8
_BROKE_OFF = "The search for this picture failed because of a mistake in DocMind; the log has the details."


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
        self._look = Look()
        self._changed = threading.Condition()
        threading.Thread(target=self._run, args=(docmind,), name="picture", daemon=True).start()

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
        over = Look(error=DocMindError(_BROKE_OFF), is_over=True)
        try:
            found = errors.attempt(
                lambda: docmind.see(
                    self.picture,
                    question=self.words,
                    k=_PAGES,
                    name=self.name or "The picture",
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
                raise CancelledError("The search by picture was stopped.")
            self._show(Look(found))

    def _show(self, look: Look) -> None:
        self._look = look
        self._changed.notify_all()


_LARGE, _SMALL = 720, 360  # pixels; shown at about half of that, sharp on dense screens
_TILE = 104  # two beside each other in the sidebar
_WHY = {"text": "has its words", "image": "shows the like"}
_NEAREST = 4  # pages that are shown where none was found


def draw_pages(docmind: DocMind, look: Look, again: Callable[[], None]) -> None:
    """Draw what was found, most likely first. `again` is the callback that repeats the search."""
    result = look.result
    if result is None:
        return
    found = [hit for hit in result.hits if hit.found]
    near = [hit for hit in result.hits if not hit.found]
    st.caption(_told(look, result, found, near))
    for hit in found:
        _draw_page(docmind, hit)
    if not found:
        _draw_small(docmind, near[:_NEAREST])
    elif near:
        behind = st.expander(f"{count(len(near), 'page')} less alike", key="picture-more", on_change="rerun")
        if behind.open:  # pages are drawn only when the expander is open
            with behind:
                _draw_small(docmind, near)
    _draw_notes(result, again)


def _told(look: Look, result: MultimodalResult, found: Sequence[MultimodalHit], near: Sequence[MultimodalHit]) -> str:
    if found:
        told = "Found on this page" if len(found) == 1 else f"Found on {count(len(found), 'page')}, most likely first"
        return f":green[:material/check_circle:] {told}"
    if near:
        return ":material/help: No page looks just like this. The nearest:"
    if look.is_over:
        return ":material/search_off: No page looks like this."
    return "No page so far."


def _draw_small(docmind: DocMind, hits: Sequence[MultimodalHit]) -> None:
    with st.container(horizontal=True, gap="small", key="picture-near"):
        for hit in hits:
            with st.container(width=_TILE):
                _draw_page(docmind, hit, is_small=True)


def _draw_page(docmind: DocMind, hit: MultimodalHit, *, is_small: bool = False) -> None:
    key = f"picture-page-{hit.rank}"
    width = _SMALL if is_small else _LARGE
    jpeg = errors.attempt(lambda: outlined_jpeg(docmind, hit.doc_id, hit.page_no, hit.quad, width))
    with st.container(key=key, gap="xxsmall"):
        if isinstance(jpeg, DocMindError):
            st.caption(f"{escape(hit.document, limit=36)}, page {hit.page_no}: no longer in the vault.")
            return
        region = ", the matching region outlined" if hit.quad else ""
        st.image(data_url(jpeg), width="stretch", alt=f"Page {hit.page_no} of {one_line(hit.document)}{region}")
        with st.container(
            horizontal=not is_small, horizontal_alignment="distribute", vertical_alignment="center", gap="xxsmall"
        ):
            st.button(
                f"**Page {hit.page_no}**",
                key=f"{key}-open",
                type="tertiary",
                help="Open the page",
                on_click=_open,
                args=(hit,),
            )
            st.button(
                "Ask" if is_small else "Ask about it",
                key=f"picture-ask-{hit.rank}",
                icon=":material/chat:",
                help=f"The next questions look in {escape(hit.document, limit=60)} only",
                on_click=look_in,
                args=(hit.doc_id,),
            )
        why = f" · {_WHY[hit.source]}" if not hit.found and hit.source in _WHY else ""
        st.caption(escape(hit.document, limit=26 if is_small else 31) + why)


def _open(hit: MultimodalHit) -> None:
    st.session_state.pop(state.THREAD_DIALOG, None)  # one dialog at a time
    st.session_state[state.READING] = PageOnShow(hit.doc_id, hit.page_no, hit.page_no, quad=hit.quad)


def _draw_notes(result: MultimodalResult, again: Callable[[], None]) -> None:
    unseen = [degraded for degraded in result.degraded if degraded.stage == "lookalike"]
    for degraded in result.degraded:
        without = "" if degraded in unseen else f"Without {escape(degraded.stage)}: "
        st.caption(f":material/info: {without}{escape(degraded.reason)}")
    if unseen:
        st.button("Look again", key="picture-again", icon=":material/refresh:", type="tertiary", on_click=again)


SCRIPT = Path(__file__).with_suffix(".html")
_LOOKS = Path(__file__).with_suffix(".css")
_SHOWN = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp", b"BM": "bmp"}
_SHOWN_BYTES = 6 << 20  # of a picture; a larger one is shown by its name only
_PATIENCE_S = 0.6  # most pages are found within this time: the sidebar is then drawn once, with them
_POLL_S = 0.25
_PASTE = "Take the picture from the clipboard. Ctrl+V does the same, anywhere on this page"


def draw(docmind: DocMind) -> None:
    """Draw visual search; called inside the sidebar."""
    has_documents = bool(docmind.documents())
    if not has_documents:
        clear()
    search: PictureSearch | None = st.session_state.get(state.PICTURE)
    st.html(_LOOKS)
    with st.container(key="picture", gap="xsmall"):
        st.html(SCRIPT, unsafe_allow_javascript=True)
        with st.container(horizontal=True, vertical_alignment="center", key="picture-heading"):
            st.markdown(":material/image_search: **Visual search**", width="stretch")
            if search is not None:
                st.button("Clear", key="picture-clear", icon=":material/close:", type="tertiary", on_click=clear)
        if not has_documents:
            st.caption("Once there are documents, a screenshot or photo of a page finds it.")
            return
        _draw_box(docmind, is_first=search is None)
        if search is not None:
            now = search.first(_PATIENCE_S)
            _draw_picture(search, now)
            if now.error is None or now.result is not None:
                _draw_words(docmind, search)
            _draw_found(docmind, search, now)


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
            "Find a page by a picture of it",
            key=key,
            max_upload_size=min(desk().max_file_mb, 500),
            on_change=_take,
            args=(docmind, key),
            label_visibility="collapsed",
        )
        # A press never reaches the server: the script takes the picture out of the clipboard.
        st.button("Paste", key="picture-paste", icon=":material/content_paste:", type="tertiary", help=_PASTE)
    if is_first:
        st.caption("Drop, choose or paste a screenshot, photo or scan: its page is found.")
    with st.container(key="picture-none"):
        st.caption(":material/info: There is no picture in the clipboard.")
    with st.container(key="picture-refused"):
        st.caption(":material/info: The browser does not share the clipboard. Press Ctrl+V instead.")


def _take(docmind: DocMind, key: str) -> None:
    file = st.session_state.get(key)
    if file is not None:
        st.session_state[state.PICTURE_BOX] += 1
        for name in (state.PICTURE_WORDS, state.READING):  # the page that is open would hide the results
            st.session_state.pop(name, None)
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
            st.image(address, width="stretch", alt="The picture being searched for")
    else:
        st.caption(f":material/image: {escape(search.name, limit=40)}")


def _draw_words(docmind: DocMind, search: PictureSearch) -> None:
    st.session_state.setdefault(state.PICTURE_WORDS, search.words)  # after another page was open
    st.text_input(
        "Words to add to the picture",
        key=state.PICTURE_WORDS,
        placeholder="Words to add (optional)",
        label_visibility="collapsed",
        max_chars=500,
        on_change=_again,
        args=(docmind,),
    )


def _again(docmind: DocMind) -> None:
    search: PictureSearch | None = st.session_state.get(state.PICTURE)
    if search is not None:
        look_for(docmind, search.picture, search.name, str(st.session_state.get(state.PICTURE_WORDS) or "").strip())


def _draw_found(docmind: DocMind, search: PictureSearch, now: Look) -> None:
    if not now.is_over:
        st.fragment(_follow, run_every=_POLL_S)(search, now)
    if now.error is not None:
        errors.show(now.error)
    if now.is_stopped:
        st.caption(
            f":material/stop_circle: Stopped; {'its words were not read.' if now.result else 'nothing was found yet.'}"
        )
    if now.result is not None:
        draw_pages(docmind, now, lambda: _again(docmind))


def _follow(search: PictureSearch, drawn: Look) -> None:
    """Draw the progress with a stop button, and redraw the page where there are new results."""
    if search.now is not drawn:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="picture-running"):
        told = "Looking for the page…" if drawn.result is None else "Reading the picture's words…"
        st.caption(told, width="stretch")
        st.button("Stop", key="picture-stop", type="tertiary", on_click=search.stop)
