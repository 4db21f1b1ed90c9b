"""Pictures of pages, highlighted and cached in memory, and the heat map of a page's match with the question."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from docmind.errors import DocMindError, NotFoundError
from docmind.records.answers import Source
from docmind.records.documents import Box
from docmind.records.search import HeatMap, Quad
from docmind.rich_text import escape, highlight, one_line, shorten
from docmind.ui.app import errors, state
from docmind.ui.app.format import data_url
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


def heat_switch(key: str) -> bool:
    """Draw the switch and return whether it is on."""
    return st.toggle("Heat map", key=key, help=_HELP)


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
    show(drawn, f"Page {page_no}, heat map{told}: {strongest(grid)}")


def _heat_map(docmind: DocMind, question: str, doc_id: str, page_no: int) -> HeatMap:
    """Return the map, computed once while a page is viewed, whichever words are chosen."""
    kept: tuple[tuple[str, str, int], HeatMap] | None = st.session_state.get(state.HEAT_MAP)
    place = (question, doc_id, page_no)
    if kept is None or kept[0] != place:
        kept = (place, docmind.page_search.heat_map(question, doc_id, page_no))
        st.session_state[state.HEAT_MAP] = kept
    return kept[1]


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


def strongest(grid: np.ndarray) -> str:
    """Describe for screen readers where the match is strongest.

    This is the ninth of the page with most of the strong cells.
    """
    rows, cols = np.nonzero(grid > _STRONG)
    if not len(rows):
        return "no place stands out"
    ninths = (rows * 3 // grid.shape[0]) * 3 + cols * 3 // grid.shape[1]
    row, col = divmod(int(np.bincount(ninths).argmax()), 3)
    return f"strongest at the {_THIRDS[row][col]}"


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
    return _source_jpeg(docmind, source, _key(source), source_quads(docmind, source), width)


def source_strip(docmind: DocMind, source: Source) -> bytes | None:
    """Return the part of the cited page with the quoted words.

    Raises `NotFoundError` where it is gone.
    """
    return _source_strip(docmind, source, _key(source), source_quads(docmind, source))


def source_quads(docmind: DocMind, source: Source) -> tuple[Quad, ...]:
    """Return the shapes of a source's lines; those of its boxes where its page is gone."""
    try:
        return docmind.reader.quads(source.doc_id, source.page_no, source.boxes)
    except NotFoundError:
        return tuple(((x, y), (x + w, y), (x + w, y + h), (x, y + h)) for x, y, w, h in source.boxes)


def _key(source: Source) -> str:
    """Return the cache key of a cited page: the picture itself, not where it was last seen."""
    return source.image_artifact_id or source.page_id


@st.cache_data(max_entries=160, show_spinner=False)
def _source_jpeg(_docmind: DocMind, _source: Source, key: str, quads: tuple[Quad, ...], width: int) -> bytes:
    size = (_source.page_width, _source.page_height)
    return highlight.marked(_docmind.conversations.source_image(_source), quads, size, width=width)


@st.cache_data(max_entries=160, show_spinner=False)
def _source_strip(_docmind: DocMind, _source: Source, key: str, quads: tuple[Quad, ...]) -> bytes | None:
    size = (_source.page_width, _source.page_height)
    return highlight.strip(_docmind.conversations.source_image(_source), quads, size)


def forget() -> None:
    """Drop every cached page image, after a deletion."""
    for kept in (page_jpeg, outlined_jpeg, strip_jpeg, _source_jpeg, _source_strip):
        kept.clear()
