"""The pages that a picture was found on, or that resemble it: each with the matching region outlined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.escape import escape, one_line
from docmind.seeing import MultimodalHit, MultimodalResult
from docmind.ui import state, trouble
from docmind.ui.filters import look_in
from docmind.ui.pageview import PageOnShow, inline, outlined_jpeg
from docmind.ui.picturesearch import Look
from docmind.ui.wording import count

if TYPE_CHECKING:
    from docmind.application import DocMind

_LARGE, _SMALL = 720, 360  # pixels; shown at about half of that, sharp on dense screens
_TILE = 104  # two beside each other in the side bar
_WHY = {"text": "has its words", "image": "shows the like"}
_NEAREST = 4  # pages that are shown where none was found


def draw_pages(mind: DocMind, look: Look, again: Callable[[], None]) -> None:
    """What was found, the likeliest first. `again` is the callback that looks once more."""
    result = look.result
    if result is None:
        return
    found = [hit for hit in result.hits if hit.found]
    near = [hit for hit in result.hits if not hit.found]
    st.caption(_told(look, result, found, near))
    for hit in found:
        _draw_page(mind, hit)
    if not found:
        _draw_small(mind, near[:_NEAREST])
    elif near:
        behind = st.expander(f"{count(len(near), 'page')} less alike", key="picture-more", on_change="rerun")
        if behind.open:  # pages are drawn when they are asked for
            with behind:
                _draw_small(mind, near)
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


def _draw_small(mind: DocMind, hits: Sequence[MultimodalHit]) -> None:
    with st.container(horizontal=True, gap="small", key="picture-near"):
        for hit in hits:
            with st.container(width=_TILE):
                _draw_page(mind, hit, is_small=True)


def _draw_page(mind: DocMind, hit: MultimodalHit, *, is_small: bool = False) -> None:
    key = f"picture-page-{hit.rank}"
    width = _SMALL if is_small else _LARGE
    jpeg = trouble.attempt(lambda: outlined_jpeg(mind, hit.doc_id, hit.page_no, hit.quad, width))
    with st.container(key=key, gap="xxsmall"):
        if isinstance(jpeg, DocMindError):
            st.caption(f"{escape(hit.document, limit=36)}, page {hit.page_no}: not here any more.")
            return
        region = ", the matching region outlined" if hit.quad else ""
        st.image(inline(jpeg), width="stretch", alt=f"Page {hit.page_no} of {one_line(hit.document)}{region}")
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
    for other in (state.COPYING, state.THREAD_DIALOG):  # one dialog at a time
        st.session_state.pop(other, None)
    st.session_state[state.READING] = PageOnShow(hit.doc_id, hit.page_no, hit.page_no, quad=hit.quad)


def _draw_notes(result: MultimodalResult, again: Callable[[], None]) -> None:
    unseen = [degraded for degraded in result.degraded if degraded.stage == "lookalike"]
    for degraded in result.degraded:
        without = "" if degraded in unseen else f"Without {escape(degraded.stage)}: "
        st.caption(f":material/info: {without}{escape(degraded.reason)}")
    if unseen:
        st.button("Look again", key="picture-again", icon=":material/refresh:", type="tertiary", on_click=again)
