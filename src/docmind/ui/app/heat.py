"""The heat map of a page's match with the question."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind import visual
from docmind.errors import DocMindError
from docmind.records.search import HeatMap
from docmind.rich_text import escape, one_line, shorten
from docmind.ui.app import errors, state
from docmind.ui.app.format import data_url
from docmind.wording import N_, _

if TYPE_CHECKING:
    import numpy as np
    from streamlit.delta_generator import DeltaGenerator

    from docmind.application import DocMind


_LOOKS = Path(__file__).with_suffix(".css")
_ALL = N_("All words")
_MOST = 10  # words to choose from
_HELP = N_("Shows where on the page the model sees your question")
_THIRDS = (
    (N_("strongest at the upper left"), N_("strongest at the top"), N_("strongest at the upper right")),
    (N_("strongest at the left"), N_("strongest at the middle"), N_("strongest at the right")),
    (N_("strongest at the lower left"), N_("strongest at the bottom"), N_("strongest at the lower right")),
)


def has_heat(docmind: DocMind, question: str, doc_id: str, page_no: int) -> bool:
    """Tell whether there is a heat map of this page; without a question there is none."""
    return bool(question.strip()) and errors.attempt(lambda: docmind.page_search.has_heat(doc_id, page_no)) is True


def heat_row() -> DeltaGenerator:
    """Return a row for the switch and the word buttons."""
    return st.container(horizontal=True, vertical_alignment="center", gap="small")


def heat_switch(key: str) -> bool:
    """Draw the switch and return whether it is on."""
    return st.toggle(_("Heat map"), key=key, help=_(_HELP))


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
    with st.spinner(_("Looking where the match is…")):
        found = errors.attempt(lambda: _heat_map(docmind, question, doc_id, page_no))
    if isinstance(found, DocMindError):
        errors.show(found)
        return
    words = visual.similarity_map.words_of(found, question)
    with row:
        chosen = _choose(words, key)
    grid = visual.similarity_map.strength(found, chosen or words)
    drawn = errors.attempt(
        lambda: visual.similarity_map.drawn(docmind.documents.page_image(doc_id, page_no), grid, width=width)
    )
    if isinstance(drawn, DocMindError):
        errors.show(drawn)
        return
    with row:
        _legend(found, is_flat=not grid.any())
    told = _(" for {words}").format(words=one_line(chosen[0].text)) if chosen else ""
    show(
        drawn,
        _("Page {page_no}, heat map{told}: {strongest}").format(page_no=page_no, told=told, strongest=strongest(grid)),
    )


def _heat_map(docmind: DocMind, question: str, doc_id: str, page_no: int) -> HeatMap:
    """Return the map, computed once while a page is viewed, whichever words are chosen."""
    kept: tuple[tuple[str, str, int], HeatMap] | None = st.session_state.get(state.HEAT_MAP)
    place = (question, doc_id, page_no)
    if kept is None or kept[0] != place:
        kept = (place, docmind.page_search.heat_map(question, doc_id, page_no))
        st.session_state[state.HEAT_MAP] = kept
    return kept[1]


def _choose(words: tuple[visual.similarity_map.Word, ...], key: str) -> list[visual.similarity_map.Word]:
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
                escape(shorten(named[name].text, 24)) if name else _(_ALL),
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
        st.caption(_("No place on this page stands out for {name}.").format(name=name))
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        st.caption(_("weaker"), width="content")
        with st.container(width=96):
            st.image(
                data_url(visual.similarity_map.legend()),
                width="stretch",
                alt=_("Colours from a weak to a strong match"),
            )
        st.caption(_("strongest on this page, as {name} sees it").format(name=name), width="content")


def strongest(grid: np.ndarray) -> str:
    """Describe for screen readers where the match is strongest."""
    ninth = visual.similarity_map.strongest_ninth(grid)
    return _("no place stands out") if ninth is None else _(_THIRDS[ninth[0]][ninth[1]])
