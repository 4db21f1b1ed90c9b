"""View of one page: its image with highlights, its text, and links to its neighbours.

A heat map of the page's match with the question has a switch, word buttons and the picture.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from docmind.errors import DocMindError
from docmind.records.answers import Source
from docmind.records.documents import Box, PageView
from docmind.records.search import HeatMap, Quad
from docmind.rich_text import escape, highlight, one_line, shorten, visible
from docmind.ui.app import errors, state
from docmind.ui.app.format import count, data_url, language
from docmind.visual import similarity_map

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from docmind.application import DocMind


_LOOKS = Path(__file__).with_suffix(".css")
_ALL = "All words"
_STRONG = 0.9  # of the strongest
_MOST = 10  # words to choose from
_HELP = "Shows where on the page the model sees your question"
_THIRDS = (("upper left", "top", "upper right"), ("left", "middle", "right"), ("lower left", "bottom", "lower right"))


def has_heat(docmind: DocMind, question: str, doc_id: str, page_no: int) -> bool:
    """Tell whether there is a heat map of this page; without a question there is none."""
    return bool(question.strip()) and errors.attempt(lambda: docmind.page_search.has_heat(doc_id, page_no)) is True


def heat_row() -> DeltaGenerator:
    """Return a row for the switch and the word buttons."""
    return st.container(horizontal=True, vertical_alignment="center", gap="small")


def heat_switch(key: str, kept: str = "") -> bool:
    """Draw the switch and return whether it is on.

    `kept` is a session-state key that shares its setting.
    """
    if kept and key not in st.session_state:
        st.session_state[key] = bool(st.session_state.get(kept))
    is_on = st.toggle("Heat map", key=key, help=_HELP)
    if kept:
        st.session_state[kept] = is_on
    return is_on


def draw_heat(
    docmind: DocMind,
    question: str,
    doc_id: str,
    page_no: int,
    key: str,
    row: DeltaGenerator,
    show: Callable[[bytes, str], None],
    *,
    width: int = 0,
) -> None:
    """Compute the map, offer its words in `row`, and pass picture and description to `show`.

    On failure an error is shown here and `show` is not called: what is displayed stays.
    """
    with st.spinner("Looking where the match is…"):
        found = errors.attempt(lambda: _heat_map(docmind, question, doc_id, page_no))
    if isinstance(found, DocMindError):
        errors.show(found)
        return
    words = similarity_map.words_of(found, question)
    with row:
        chosen = _choose(words, key)
    grid = similarity_map.strength(found, chosen or words)
    drawn = errors.attempt(lambda: similarity_map.drawn(docmind.page_image(doc_id, page_no), grid, width=width))
    if isinstance(drawn, DocMindError):
        errors.show(drawn)
        return
    with row:
        _legend(found, is_flat=not grid.any())
    told = f" for {one_line(chosen[0].text)}" if chosen else ""
    show(drawn, f"Page {page_no}, heat map{told}: {_strongest(grid)}")


def _heat_map(docmind: DocMind, question: str, doc_id: str, page_no: int) -> HeatMap:
    """Return the map, computed once while a page is viewed, whichever words are chosen."""
    kept: tuple[tuple[str, str, int], HeatMap] | None = st.session_state.get(state.HEAT_MAP)
    place = (question, doc_id, page_no)
    if kept is None or kept[0] != place:
        kept = (place, docmind.page_search.heat_map(question, doc_id, page_no))
        st.session_state[state.HEAT_MAP] = kept
    return kept[1]


def is_heat_known(question: str, doc_id: str, page_no: int) -> bool:
    """Tell whether the map has been computed: then it is drawn at once."""
    kept = st.session_state.get(state.HEAT_MAP)
    return kept is not None and kept[0] == (question, doc_id, page_no)


def _choose(words: tuple[similarity_map.Word, ...], key: str) -> list[similarity_map.Word]:
    """Return the word that is chosen, or none for all of them.

    Separate buttons: a control that holds the keyboard focus would keep the arrow keys from turning the page.
    """
    telling = [word for word in words if word.is_telling] or list(words)
    named = {word.text.casefold(): word for word in reversed(telling[:_MOST])}
    if len(named) < 2:
        return []
    chosen = st.session_state.get(f"{key}-word")
    chosen = chosen if chosen in named else ""
    with st.container(horizontal=True, gap="xxsmall", width="content", key=f"{key}-words"):
        st.html(_LOOKS)
        for number, name in enumerate(["", *reversed(named)]):
            st.button(
                escape(shorten(named[name].text, 24)) if name else _ALL,
                key=f"{key}-word-{number}",
                type="primary" if name == chosen else "secondary",
                on_click=_pick,
                args=(key, name),
            )
    return [named[chosen]] if chosen else []


def _pick(key: str, name: str) -> None:
    st.session_state[f"{key}-word"] = name


def _legend(found: HeatMap, *, is_flat: bool) -> None:
    name = escape(found.model, limit=40)
    if is_flat:
        st.caption(f"No place on this page stands out for {name}.")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        st.caption("weaker", width="content")
        with st.container(width=96):
            st.image(data_url(_colours()), width="stretch", alt="Colours from a weak to a strong match")
        st.caption(f"strongest on this page, as {name} sees it", width="content")


@st.cache_data(max_entries=1, show_spinner=False)
def _colours() -> bytes:
    return similarity_map.legend()


def _strongest(grid: np.ndarray) -> str:
    """Describe for screen readers where the match is strongest.

    This is the ninth of the page with most of the strong cells.
    """
    rows, cols = np.nonzero(grid > _STRONG)
    if not len(rows):
        return "no place stands out"
    ninths = (rows * 3 // grid.shape[0]) * 3 + cols * 3 // grid.shape[1]
    row, col = divmod(int(np.bincount(ninths).argmax()), 3)
    return f"strongest at the {_THIRDS[row][col]}"


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
    """The page that is open.

    `boxes` are highlighted, and `quad` is outlined, on the page `marked_no` only.

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
def page_jpeg(_docmind: DocMind, doc_id: str, page_no: int, boxes: tuple[Box, ...] = (), width: int = 0) -> bytes:
    """Return the page image, highlighted; cached in memory for a while, never on the disk."""
    page = _docmind.page(doc_id, page_no)
    return highlight.marked(_docmind.page_image(doc_id, page_no), boxes, (page.width, page.height), width=width)


@st.cache_data(max_entries=96, show_spinner=False)
def strip_jpeg(_docmind: DocMind, doc_id: str, page_no: int, boxes: tuple[Box, ...]) -> bytes | None:
    """Return the part of the page that holds the boxes."""
    page = _docmind.page(doc_id, page_no)
    return highlight.strip(_docmind.page_image(doc_id, page_no), boxes, (page.width, page.height))


@st.cache_data(max_entries=96, show_spinner=False)
def outlined_jpeg(_docmind: DocMind, doc_id: str, page_no: int, quad: Quad, width: int = 0) -> bytes:
    """Return the page image, the region that a picture matches outlined.

    Raises `NotFoundError` if gone.
    """
    page = _docmind.page(doc_id, page_no)
    return highlight.outlined(_docmind.page_image(doc_id, page_no), quad, (page.width, page.height), width=width)


def source_jpeg(docmind: DocMind, source: Source, width: int = 0) -> bytes:
    """Return the page as it was when cited, quotes highlighted.

    Raises `NotFoundError` where it is gone.
    """
    return _source_jpeg(docmind, source, _key(source), source.boxes, width)


def source_strip(docmind: DocMind, source: Source) -> bytes | None:
    """Return the part of the cited page with the quoted words.

    Raises `NotFoundError` where it is gone.
    """
    return _source_strip(docmind, source, _key(source), source.boxes)


def _key(source: Source) -> str:
    """Return the cache key of a cited page: the picture itself, not where it was last seen."""
    return source.image_artifact_id or source.page_id


@st.cache_data(max_entries=160, show_spinner=False)
def _source_jpeg(_docmind: DocMind, _source: Source, key: str, boxes: tuple[Box, ...], width: int) -> bytes:
    size = (_source.page_width, _source.page_height)
    return highlight.marked(_docmind.conversations.source_image(_source), boxes, size, width=width)


@st.cache_data(max_entries=160, show_spinner=False)
def _source_strip(_docmind: DocMind, _source: Source, key: str, boxes: tuple[Box, ...]) -> bytes | None:
    size = (_source.page_width, _source.page_height)
    return highlight.strip(_docmind.conversations.source_image(_source), boxes, size)


def forget() -> None:
    """Drop every cached page image, after a deletion."""
    for kept in (page_jpeg, outlined_jpeg, strip_jpeg, _source_jpeg, _source_strip):
        kept.clear()


def page_view(docmind: DocMind, key: str) -> None:
    """Draw the page named in the session state under `key`, with navigation to its neighbours."""
    shown: PageOnShow = st.session_state[key]
    page = docmind.page(shown.doc_id, shown.page_no)
    picture, panel = st.columns([0.64, 0.36], gap="medium")
    with picture:
        zoom = _bar(page, key)
        row, above = heat_row(), st.container()
        with row:
            is_hot = has_heat(docmind, shown.question, page.doc_id, page.page_no)
            is_hot = is_hot and heat_switch(f"{key}-heat", state.HEAT)
        with st.container(height=_FRAME_HEIGHT, border=True, key=f"{key}-image", horizontal_alignment="center"):
            place = st.empty()
        if not (is_hot and is_heat_known(shown.question, page.doc_id, page.page_no)):
            with place:
                _draw_plain(docmind, shown, page, _ZOOMS[zoom])
        if is_hot:

            def show(jpeg: bytes, told: str) -> None:
                with place:
                    _picture(jpeg, _ZOOMS[zoom], told)

            with above:
                draw_heat(docmind, shown.question, page.doc_id, page.page_no, key, row, show)
    with panel:
        _facts(page)
        with st.container(height=_FRAME_HEIGHT - 60, border=True):
            st.text(visible(page.text))


def _draw_plain(docmind: DocMind, shown: PageOnShow, page: PageView, percent: int) -> None:
    """Draw the page with its highlights or its outline."""
    is_marked = shown.page_no == shown.marked_no
    boxes = shown.boxes if is_marked else ()
    if is_marked and shown.source is not None:
        jpeg = source_jpeg(docmind, shown.source)
    elif is_marked and shown.quad:
        jpeg = outlined_jpeg(docmind, page.doc_id, page.page_no, shown.quad)
    else:
        jpeg = page_jpeg(docmind, page.doc_id, page.page_no, boxes)
    region = ", the matching region outlined" if is_marked and shown.quad else ""
    _picture(jpeg, percent, _alt(page, boxes) + region)


def _picture(jpeg: bytes, percent: int, alt: str) -> None:
    if percent > 100:  # st.image never grows beyond its container
        st.html(f'<img src="{data_url(jpeg)}" alt="{html.escape(alt)}" style="width: {percent}%; max-width: none">')
    else:
        with st.container(width="stretch" if percent else _WHOLE):
            st.image(data_url(jpeg), width="stretch", alt=alt)


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
            # Separate buttons: a control that holds the keyboard focus would keep the arrow keys from turning the page.
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
