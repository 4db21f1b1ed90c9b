"""Visual search, in the side bar: a picture is dropped, pasted or chosen, and its pages are found.

A picture stays in memory, and goes when it is cleared or the tab is closed. It is decoded in a process apart, and shown
by the browser as it came.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.escape import escape, one_line
from docmind.ui import state, trouble
from docmind.ui.desk import desk
from docmind.ui.picturepages import draw_pages
from docmind.ui.picturesearch import Look, PictureSearch

if TYPE_CHECKING:
    from docmind.application import DocMind

SCRIPT = Path(__file__).with_suffix(".html")
_LOOKS = Path(__file__).with_suffix(".css")
_SHOWN = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp", b"BM": "bmp"}
_SHOWN_BYTES = 6 << 20  # of a picture; a larger one is told by its name only
_PATIENCE_S = 0.6  # pages are mostly found by then: the side bar is drawn once, with them in it
_POLL_S = 0.25
_PASTE = "Take the picture from the clipboard. Ctrl+V does the same, anywhere on this page"


def draw(mind: DocMind) -> None:
    """The place of it in the side bar, which is where this is called."""
    has_documents = bool(mind.documents())
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
        _draw_box(mind, is_first=search is None)
        if search is not None:
            now = search.first(_PATIENCE_S)
            _draw_picture(search, now)
            if now.error is None or now.result is not None:
                _draw_words(mind, search)
            _draw_found(mind, search, now)


def clear() -> None:
    """Forget the picture and what was found. Made for callbacks."""
    search: PictureSearch | None = st.session_state.pop(state.PICTURE, None)
    if search is not None:
        search.stop()
    st.session_state.pop(state.PICTURE_WORDS, None)


def look_for(mind: DocMind, picture: bytes, name: str, words: str = "") -> None:
    """Begin to look for a picture in this tab, in the place of the one before."""
    earlier: PictureSearch | None = st.session_state.get(state.PICTURE)
    if earlier is not None:
        earlier.stop()
    st.session_state[state.PICTURE] = PictureSearch(mind, picture, name=name, words=words)


def _draw_box(mind: DocMind, *, is_first: bool) -> None:
    key = f"{state.PICTURE_BOX}-{st.session_state.setdefault(state.PICTURE_BOX, 0)}"
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="picture-ways"):
        st.file_uploader(
            "Find a page by a picture of it",
            key=key,
            max_upload_size=min(desk().max_file_mb, 500),
            on_change=_take,
            args=(mind, key),
            label_visibility="collapsed",
        )
        # Pressing it never comes here: the script takes the picture out of the clipboard.
        st.button("Paste", key="picture-paste", icon=":material/content_paste:", type="tertiary", help=_PASTE)
    if is_first:
        st.caption("Drop, choose or paste a screenshot, photo or scan: its page is found.")
    with st.container(key="picture-none"):
        st.caption(":material/info: There is no picture in the clipboard.")
    with st.container(key="picture-refused"):
        st.caption(":material/info: The browser keeps the clipboard to itself. Press Ctrl+V instead.")


def _take(mind: DocMind, key: str) -> None:
    file = st.session_state.get(key)
    if file is not None:
        st.session_state[state.PICTURE_BOX] += 1
        for name in (state.PICTURE_WORDS, state.READING):  # the page that is open would hide what is found
            st.session_state.pop(name, None)
        look_for(mind, file.getvalue(), one_line(file.name))


def _draw_picture(search: PictureSearch, now: Look) -> None:
    """What is looked for. The browser is given only what was read here without trouble."""
    kind = next((kind for magic, kind in _SHOWN.items() if search.picture.startswith(magic)), "")
    if kind and len(search.picture) <= _SHOWN_BYTES and now.result is not None:
        # As an address that holds it: nothing here decodes it. The browser does, which had it before.
        address = f"data:image/{kind};base64,{base64.b64encode(search.picture).decode()}"
        with st.container(key="picture-shown"):
            st.image(address, width="stretch", alt="The picture that is looked for")
    else:
        st.caption(f":material/image: {escape(search.name, limit=40)}")


def _draw_words(mind: DocMind, search: PictureSearch) -> None:
    st.session_state.setdefault(state.PICTURE_WORDS, search.words)  # on the way back from another page
    st.text_input(
        "Words to go with it",
        key=state.PICTURE_WORDS,
        placeholder="Words to go with it (optional)",
        label_visibility="collapsed",
        max_chars=500,
        on_change=_again,
        args=(mind,),
    )


def _again(mind: DocMind) -> None:
    search: PictureSearch | None = st.session_state.get(state.PICTURE)
    if search is not None:
        look_for(mind, search.picture, search.name, str(st.session_state.get(state.PICTURE_WORDS) or "").strip())


def _draw_found(mind: DocMind, search: PictureSearch, now: Look) -> None:
    if not now.is_over:
        st.fragment(_follow, run_every=_POLL_S)(search, now)
    if now.error is not None:
        trouble.show(now.error)
    if now.is_stopped:
        st.caption(
            f":material/stop_circle: Stopped; {'its words were not read.' if now.result else 'nothing was found yet.'}"
        )
    if now.result is not None:
        draw_pages(mind, now, lambda: _again(mind))


def _follow(search: PictureSearch, drawn: Look) -> None:
    """What is going on, and the way to stop it. The page is drawn anew where there is more to see."""
    if search.now is not drawn:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="picture-running"):
        told = "Looking for the page…" if drawn.result is None else "Reading the picture's words…"
        st.caption(told, width="stretch")
        st.button("Stop", key="picture-stop", type="tertiary", on_click=search.stop)
