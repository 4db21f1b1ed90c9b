"""One page as a person reads it: its image with strokes over the quoted words, its text, the pages beside it."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from docmind import marks
from docmind.escape import escape, visible
from docmind.schema import Box, PageView, Source
from docmind.seeing import Quad
from docmind.ui import heat, state
from docmind.ui.inline import inline
from docmind.ui.wording import count, language

if TYPE_CHECKING:
    from docmind.application import DocMind

_ZOOMS = {"Page": 0, "Width": 100, "150 %": 150, "200 %": 200}  # percent of the frame's width
_WHOLE = 540  # pixels across at which a portrait page is seen whole
_SOURCES = {
    "layer": "text as the file holds it",
    "ocr": "text read from the picture (OCR)",
    "none": "no text was found on this page",
}
_FRAME_HEIGHT = 760


@dataclass(frozen=True, slots=True)
class PageOnShow:
    """The page that is open; `boxes` are highlighted, and `quad` is outlined, on the page `marked_no` only.

    With `source` that page is shown as it was when it was cited. With the `question` that led to it there may be a heat
    map of it.
    """

    doc_id: str
    page_no: int
    marked_no: int = 0
    boxes: tuple[Box, ...] = ()
    source: Source | None = None
    quad: Quad = ()
    question: str = ""


@st.cache_data(max_entries=96, show_spinner=False)
def page_jpeg(_mind: DocMind, doc_id: str, page_no: int, boxes: tuple[Box, ...] = (), width: int = 0) -> bytes:
    """The page image, highlighted; kept in memory for a while, never on the disk."""
    page = _mind.page(doc_id, page_no)
    return marks.marked(_mind.page_image(doc_id, page_no), boxes, (page.width, page.height), width=width)


@st.cache_data(max_entries=96, show_spinner=False)
def strip_jpeg(_mind: DocMind, doc_id: str, page_no: int, boxes: tuple[Box, ...]) -> bytes | None:
    """The part of the page that holds the boxes."""
    page = _mind.page(doc_id, page_no)
    return marks.strip(_mind.page_image(doc_id, page_no), boxes, (page.width, page.height))


@st.cache_data(max_entries=96, show_spinner=False)
def outlined_jpeg(_mind: DocMind, doc_id: str, page_no: int, quad: Quad, width: int = 0) -> bytes:
    """The page image with the region outlined that a picture matches. Raises `NotFoundError` where it is gone."""
    page = _mind.page(doc_id, page_no)
    return marks.outlined(_mind.page_image(doc_id, page_no), quad, (page.width, page.height), width=width)


def source_jpeg(mind: DocMind, source: Source, width: int = 0) -> bytes:
    """The page as it was when it was cited, the quoted words highlighted. Raises `NotFoundError` where it is gone."""
    return _source_jpeg(mind, source, _key(source), source.boxes, width)


def source_strip(mind: DocMind, source: Source) -> bytes | None:
    """The part of the cited page that holds the quoted words. Raises `NotFoundError` where it is gone."""
    return _source_strip(mind, source, _key(source), source.boxes)


def _key(source: Source) -> str:
    """What a cited page is kept in memory under: the picture itself, not where it was last seen."""
    return source.image_artifact_id or source.page_id


@st.cache_data(max_entries=160, show_spinner=False)
def _source_jpeg(_mind: DocMind, _source: Source, key: str, boxes: tuple[Box, ...], width: int) -> bytes:
    size = (_source.page_width, _source.page_height)
    return marks.marked(_mind.conversations.source_image(_source), boxes, size, width=width)


@st.cache_data(max_entries=160, show_spinner=False)
def _source_strip(_mind: DocMind, _source: Source, key: str, boxes: tuple[Box, ...]) -> bytes | None:
    size = (_source.page_width, _source.page_height)
    return marks.strip(_mind.conversations.source_image(_source), boxes, size)


def forget() -> None:
    """Drop every page image kept in memory, after a deletion."""
    for kept in (page_jpeg, outlined_jpeg, strip_jpeg, _source_jpeg, _source_strip):
        kept.clear()


def page_view(mind: DocMind, key: str) -> None:
    """The page named in the session state under `key`, with its neighbours at hand."""
    shown: PageOnShow = st.session_state[key]
    page = mind.page(shown.doc_id, shown.page_no)
    picture, panel = st.columns([0.64, 0.36], gap="medium")
    with picture:
        zoom = _bar(page, key)
        row, above = heat.place(), st.container()
        with row:
            is_hot = heat.is_there(mind, shown.question, page.doc_id, page.page_no)
            is_hot = is_hot and heat.switch(f"{key}-heat", state.HEAT)
        with st.container(height=_FRAME_HEIGHT, border=True, key=f"{key}-image", horizontal_alignment="center"):
            place = st.empty()
        if not (is_hot and heat.is_known(shown.question, page.doc_id, page.page_no)):
            with place:
                _draw_plain(mind, shown, page, _ZOOMS[zoom])
        if is_hot:

            def show(jpeg: bytes, told: str) -> None:
                with place:
                    _picture(jpeg, _ZOOMS[zoom], told)

            with above:
                heat.draw(mind, shown.question, page.doc_id, page.page_no, key, row, show)
    with panel:
        _facts(page)
        with st.container(height=_FRAME_HEIGHT - 60, border=True):
            st.text(visible(page.text))


def _draw_plain(mind: DocMind, shown: PageOnShow, page: PageView, percent: int) -> None:
    """The page with what is marked on it."""
    is_marked = shown.page_no == shown.marked_no
    boxes = shown.boxes if is_marked else ()
    if is_marked and shown.source is not None:
        jpeg = source_jpeg(mind, shown.source)
    elif is_marked and shown.quad:
        jpeg = outlined_jpeg(mind, page.doc_id, page.page_no, shown.quad)
    else:
        jpeg = page_jpeg(mind, page.doc_id, page.page_no, boxes)
    region = ", the matching region outlined" if is_marked and shown.quad else ""
    _picture(jpeg, percent, _alt(page, boxes) + region)


def _picture(jpeg: bytes, percent: int, alt: str) -> None:
    if percent > 100:  # st.image never grows beyond its container
        st.html(f'<img src="{inline(jpeg)}" alt="{html.escape(alt)}" style="width: {percent}%; max-width: none">')
    else:
        with st.container(width="stretch" if percent else _WHOLE):
            st.image(inline(jpeg), width="stretch", alt=alt)


def _bar(page: PageView, key: str) -> str:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            "",
            key=f"{key}-previous",
            icon=":material/chevron_left:",
            shortcut="Left",
            help="Previous page",
            disabled=page.page_no <= 1,
            on_click=_turn,
            args=(key, -1),
        )
        st.button(
            "",
            key=f"{key}-next",
            icon=":material/chevron_right:",
            shortcut="Right",
            help="Next page",
            disabled=page.page_no >= page.pages,
            on_click=_turn,
            args=(key, 1),
        )
        st.markdown(f"Page **{page.page_no}** of {page.pages}", width="stretch")
        zoom: str = st.session_state.get(state.ZOOM, "Page")
        with st.container(horizontal=True, gap="xxsmall", width="content"):
            # Buttons of their own: a control that holds the keyboard would keep the arrow keys from turning the page.
            for name in _ZOOMS:
                st.button(
                    name,
                    key=f"{key}-zoom-{name}",
                    type="primary" if name == zoom else "secondary",
                    on_click=_zoom,
                    args=(name,),
                )
    return zoom


def _zoom(name: str) -> None:
    st.session_state[state.ZOOM] = name


def _turn(key: str, by: int) -> None:
    shown: PageOnShow = st.session_state[key]
    st.session_state[key] = replace(shown, page_no=shown.page_no + by)


def _facts(page: PageView) -> None:
    st.markdown(f"**{escape(page.document, limit=80)}**")
    facts = [count(len(page.text.split()), "word")]
    if page.language:
        facts.append(language(page.language))
    source = _SOURCES[page.text_source]
    if page.text_source == "ocr":
        source += f", {page.confidence:.0%} sure"
    facts.append(source)
    st.caption(" · ".join(facts))


def _alt(page: PageView, boxes: tuple[Box, ...]) -> str:
    marks_told = f", {count(len(boxes), 'place', 'places')} highlighted" if boxes else ""
    return f"Page {page.page_no} of {page.pages}{marks_told}"
