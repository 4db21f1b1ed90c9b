"""What an answer rests on: each quote as it stands on its page, as the page was when it was cited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from docmind import marks
from docmind.errors import DocMindError, NotFoundError
from docmind.escape import escape, one_line, shorten, visible
from docmind.schema import Hit, Source
from docmind.ui import heat, state, trouble
from docmind.ui.inline import inline
from docmind.ui.pageview import PageOnShow, page_jpeg, page_view, source_jpeg, source_strip
from docmind.ui.wording import count

if TYPE_CHECKING:
    from docmind.application import DocMind

_THUMBNAIL = 480  # pixels; shown at about a third of that or less, sharp on dense screens
_SMALL = 84  # pixels across, beside the place on the page
_NEAR = 156  # two beside each other on a phone
_HOT, _HOT_PIXELS = 460, 920  # a page under its heat: pixels across, and those of its picture


def draw_sources(mind: DocMind, sources: Sequence[Source], key: str, *, standing: int, question: str = "") -> None:
    """Each source: where it stands, the strip of the page with the words highlighted, the whole page small.

    The first `standing` of them are open; the others wait behind a line, so that the answer above stays in view. With
    the `question` that they answer, a heat map can be switched on where there is one.
    """
    _draw_each(mind, sources[:standing], key, question)
    if more := sources[standing:]:
        label = f"{count(len(more), 'more source')}: {_pages_of(more)}"
        behind = st.expander(label, key=f"{key}-more", on_change="rerun")
        if behind.open:  # pages are drawn when they are asked for
            with behind:
                _draw_each(mind, more, key, question)


def draw_places(sources: Sequence[Source], key: str, question: str = "") -> None:
    """The sources of an answer further up, on one line: each opens its page."""
    with st.container(horizontal=True, gap="small", key=f"{key}-places"):
        for source in sources:
            st.button(
                f":green-badge[{source.n}] Page {source.page_no} · {escape(source.document, limit=32)}",
                key=f"{key}-{source.n}-open",
                type="tertiary",
                help=f"Open the page: “{escape(shorten(source.quote, 160))}”",
                on_click=_open,
                args=(_shown(source, question),),
            )


def draw_nearest(mind: DocMind, hits: Sequence[Hit], key: str, question: str = "") -> None:
    """The closest pages, small, each a way in."""
    with st.container(horizontal=True):
        for hit in hits:
            with st.container(width=_NEAR):
                outcome = trouble.attempt(lambda hit=hit: _draw_hit(mind, hit, f"{key}-{hit.rank}", question))
                if isinstance(outcome, DocMindError):
                    st.caption(f"{escape(hit.document, limit=36)}, page {hit.page_no}: not here any more.")


def draw_reading(mind: DocMind) -> None:
    """The page that was opened from a source, over the conversation, while it is open."""
    if state.READING in st.session_state:
        _reading(mind)


def _pages_of(sources: Sequence[Source]) -> str:
    return ", ".join(f"[{source.n}] page {source.page_no}" for source in sources).replace("[", "\\[")


def _draw_each(mind: DocMind, sources: Sequence[Source], key: str, question: str) -> None:
    for source in sources:
        with st.container(border=True, key=f"{key}-source-{source.n}"):
            outcome = trouble.attempt(lambda source=source: _draw_source(mind, source, f"{key}-{source.n}", question))
            if isinstance(outcome, NotFoundError):
                _draw_gone(source)
            elif isinstance(outcome, DocMindError):
                trouble.show(outcome)


def _shown(source: Source, question: str) -> PageOnShow:
    return PageOnShow(source.doc_id, source.page_no, source.page_no, source.boxes, source, question=question)


def _open(shown: PageOnShow) -> None:
    st.session_state[state.READING] = shown


def _close() -> None:
    st.session_state.pop(state.READING, None)


@st.dialog("Page", width="large", on_dismiss=_close)
def _reading(mind: DocMind) -> None:
    outcome = trouble.attempt(lambda: page_view(mind, state.READING))
    if not isinstance(outcome, DocMindError):
        return
    source = st.session_state[state.READING].source
    if isinstance(outcome, NotFoundError) and source is not None:
        _draw_gone(source)
    else:
        trouble.show(outcome)


def _draw_source(mind: DocMind, source: Source, key: str, question: str) -> None:
    thumbnail, strip = source_jpeg(mind, source, _THUMBNAIL), source_strip(mind, source)
    small, words = st.columns([0.13, 0.87], gap="small")
    told = f"Page {source.page_no} of {one_line(source.document)}, highlighted: {one_line(source.quote)}"
    with small, st.container(width=_SMALL):
        st.image(inline(thumbnail), width="stretch", alt=told)
    with words, st.container(gap="xxsmall"):
        args = (_shown(source, question),)
        st.button(_label(source), key=f"{key}-open", type="tertiary", help="Open the page", on_click=_open, args=args)
        if strip is not None:
            with st.container(width=marks.reading_width(strip)):
                st.image(inline(strip), width="stretch", alt=told)
        else:
            st.text(visible(source.quote))
        if heat.is_there(mind, question, source.doc_id, source.page_no):
            st.fragment(_draw_heat)(mind, source, key, question)


def _draw_heat(mind: DocMind, source: Source, key: str, question: str) -> None:
    """The page under its heat, below the quote, for as long as that is switched on."""
    row = heat.place()
    with row:
        is_hot = heat.switch(f"{key}-heat")
    if not is_hot:
        return

    def show(jpeg: bytes, told: str) -> None:
        with st.container(width=_HOT):
            st.image(inline(jpeg), width="stretch", alt=told)

    heat.draw(mind, question, source.doc_id, source.page_no, key, row, show, width=_HOT_PIXELS)


def _label(source: Source) -> str:
    return f":green-badge[{source.n}] **Page {source.page_no}** · {escape(source.document, limit=72)}"


def _draw_gone(source: Source) -> None:
    st.markdown(_label(source))
    st.text(visible(source.quote))
    st.caption("This document was deleted since. The quote is what its page said.")


def _draw_hit(mind: DocMind, hit: Hit, key: str, question: str) -> None:
    alt = f"Page {hit.page_no} of {one_line(hit.document)}"
    st.image(inline(page_jpeg(mind, hit.doc_id, hit.page_no, (), _THUMBNAIL)), width="stretch", alt=alt)
    shown = PageOnShow(hit.doc_id, hit.page_no, question=question)
    with st.container(gap=None):
        label = f"**Page {hit.page_no}**"
        st.button(label, key=f"{key}-open", type="tertiary", help="Open the page", on_click=_open, args=(shown,))
        st.caption(escape(hit.document, limit=36))
