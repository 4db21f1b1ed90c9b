"""Where on a page the match is, for those who ask: a switch, the words to choose from, and the page under its heat."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from docmind import heat
from docmind.errors import DocMindError
from docmind.escape import escape, one_line, shorten
from docmind.seeing import HeatMap
from docmind.ui import state, trouble
from docmind.ui.inline import inline
from docmind.ui.wording import model

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from docmind.application import DocMind

_LOOKS = Path(__file__).with_name("heat.css")
_ALL = "All words"
_STRONG = 0.9  # of the strongest
_MOST = 10  # words to choose from
_HELP = "Shows where on the page the model sees your question"
_THIRDS = (("upper left", "top", "upper right"), ("left", "middle", "right"), ("lower left", "bottom", "lower right"))


def is_there(mind: DocMind, question: str, doc_id: str, page_no: int) -> bool:
    """Whether there is a map of this page to be shown; without a question there is none."""
    return bool(question.strip()) and trouble.attempt(lambda: mind.visual.has_heat(doc_id, page_no)) is True


def place() -> DeltaGenerator:
    """A row for the switch and what goes with it."""
    return st.container(horizontal=True, vertical_alignment="center", gap="small")


def switch(key: str, kept: str = "") -> bool:
    """The switch, and whether it is on. With `kept`, a key of the session state, it stands as the last one did."""
    if kept and key not in st.session_state:
        st.session_state[key] = bool(st.session_state.get(kept))
    is_on = st.toggle("Heat map", key=key, help=_HELP)
    if kept:
        st.session_state[kept] = is_on
    return is_on


def draw(
    mind: DocMind,
    question: str,
    doc_id: str,
    page_no: int,
    key: str,
    row: DeltaGenerator,
    show: Callable[[bytes, str], None],
    *,
    width: int = 0,
) -> None:
    """Work the map out, let a word be chosen in `row`, and hand the picture and its description to `show`.

    Where that fails, a sentence stands here and `show` is not called: what is on show stays.
    """
    with st.spinner("Looking where the match is…"):
        found = trouble.attempt(lambda: _map(mind, question, doc_id, page_no))
    if isinstance(found, DocMindError):
        trouble.show(found)
        return
    words = heat.words_of(found, question)
    with row:
        chosen = _choose(words, key)
    grid = heat.strength(found, chosen or words)
    drawn = trouble.attempt(lambda: heat.drawn(mind.page_image(doc_id, page_no), grid, width=width))
    if isinstance(drawn, DocMindError):
        trouble.show(drawn)
        return
    with row:
        _legend(found, is_flat=not grid.any())
    told = f" for {one_line(chosen[0].text)}" if chosen else ""
    show(drawn, f"Page {page_no}, heat map{told}: {_place(grid)}")


def _map(mind: DocMind, question: str, doc_id: str, page_no: int) -> HeatMap:
    """Worked out once while a page is looked at, whichever words of it are chosen."""
    kept: tuple[tuple[str, str, int], HeatMap] | None = st.session_state.get(state.HEAT_MAP)
    place = (question, doc_id, page_no)
    if kept is None or kept[0] != place:
        kept = (place, mind.visual.heat_map(question, doc_id, page_no))
        st.session_state[state.HEAT_MAP] = kept
    return kept[1]


def is_known(question: str, doc_id: str, page_no: int) -> bool:
    """Whether the map has been worked out: it is drawn at once then."""
    kept = st.session_state.get(state.HEAT_MAP)
    return kept is not None and kept[0] == (question, doc_id, page_no)


def _choose(words: tuple[heat.Word, ...], key: str) -> list[heat.Word]:
    """The word that is chosen, or none for all of them.

    Buttons of their own: a control that holds the keyboard would keep the arrow keys from turning the page.
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
    name = escape(model(found.model), limit=40)
    if is_flat:
        st.caption(f"No place on this page stands out for {name}.")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        st.caption("weaker", width="content")
        with st.container(width=96):
            st.image(inline(_bar()), width="stretch", alt="Colours from a weak to a strong match")
        st.caption(f"strongest on this page, as {name} sees it", width="content")


@st.cache_data(max_entries=1, show_spinner=False)
def _bar() -> bytes:
    return heat.legend()


def _place(grid: np.ndarray) -> str:
    """Where the strongest match is, for those who cannot see it: the ninth of the page with most of the best."""
    rows, cols = np.nonzero(grid > _STRONG)
    if not len(rows):
        return "no place stands out"
    ninths = (rows * 3 // grid.shape[0]) * 3 + cols * 3 // grid.shape[1]
    row, col = divmod(int(np.bincount(ninths).argmax()), 3)
    return f"strongest at the {_THIRDS[row][col]}"
