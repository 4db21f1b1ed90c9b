"""The pages that all kinds of search found for a question, in one list: which named a page, and how long each took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.escape import escape, one_line
from docmind.schema import Filters
from docmind.seeing import ListName, ListReport, MultimodalHit, MultimodalResult
from docmind.ui import state, trouble
from docmind.ui.inline import inline
from docmind.ui.pageview import PageOnShow, page_jpeg
from docmind.ui.wording import pace

if TYPE_CHECKING:
    from docmind.application import DocMind

_PAGES = 8
_THUMBNAIL, _WIDE = 480, 156  # pixels of a picture, and across on the page: two beside each other on a phone
_LISTS: dict[ListName, tuple[str, str]] = {
    "text": ("green", "words"),
    "code": ("gray", "code"),
    "image": ("violet", "look"),
    "visual": ("orange", "parts"),
    "lookalike": ("blue", "picture"),
}
"""What each list is called, and its colour: by the words on a page, by the look of it, by its parts."""


def draw(mind: DocMind, question: str, filters: Filters, key: str) -> None:
    """A line that unfolds to these pages; nothing where no model looks at pages."""
    if not any(trouble.attempt(lambda kind=kind: mind.visual.is_on(kind)) is True for kind in ("image", "late")):
        return
    behind = st.expander("Pages by words and by look", icon=":material/image_search:", key=key, on_change="rerun")
    if behind.open:
        with behind:
            _draw(mind, question, filters, key)


def _draw(mind: DocMind, question: str, filters: Filters, key: str) -> None:
    kept: tuple[tuple[str, str, Filters], MultimodalResult] | None = st.session_state.get(state.FOUND)
    place = (key, question, filters)
    if kept is None or kept[0] != place:
        with st.spinner("Looking through words and pages…"):
            found = trouble.attempt(lambda: mind.multimodal_search(question, k=_PAGES, filters=filters))
        if isinstance(found, DocMindError):
            trouble.show(found)
            return
        st.session_state[state.FOUND] = (place, found)
    else:
        found = kept[1]
    _draw_lists(found.lists)
    with st.container(horizontal=True):
        for hit in found.hits:
            with st.container(width=_WIDE, gap="xxsmall", key=f"{key}-hit-{hit.rank}"):
                outcome = trouble.attempt(lambda hit=hit: _draw_hit(mind, hit, question, f"{key}-{hit.rank}"))
                if isinstance(outcome, DocMindError):
                    st.caption(f"{escape(hit.document, limit=36)}, page {hit.page_no}: not here any more.")
    if not found.hits:
        st.caption("No page was found.")


def _draw_lists(lists: Sequence[ListReport]) -> None:
    """What became of each list; those that are off are not spoken of."""
    told = [
        f"{_badge(report.list)} {report.count:,} in {pace(report.duration_ms / 1000)}"
        for report in lists
        if report.state in ("ran", "empty")
    ]
    if told:
        st.caption(" · ".join(told))
    for report in lists:
        if report.state in ("failed", "timed out"):
            why = escape(report.reason) or f"it took longer than {pace(report.duration_ms / 1000)}"
            st.caption(f":material/info: Without {_badge(report.list)}: {why}")


def _draw_hit(mind: DocMind, hit: MultimodalHit, question: str, key: str) -> None:
    alt = f"Page {hit.page_no} of {one_line(hit.document)}"
    st.image(inline(page_jpeg(mind, hit.doc_id, hit.page_no, (), _THUMBNAIL)), width="stretch", alt=alt)
    shown = PageOnShow(hit.doc_id, hit.page_no, hit.page_no, hit.boxes, question=question)
    with st.container(gap=None):
        label, help_ = f"**Page {hit.page_no}**", "Open the page"
        st.button(label, key=f"{key}-open", type="tertiary", help=help_, on_click=_open, args=(shown,))
        st.caption(escape(hit.document, limit=36))
        st.markdown(" ".join(_badge(origin.list) for origin in hit.origins))


def _open(shown: PageOnShow) -> None:
    st.session_state[state.READING] = shown


def _badge(name: ListName) -> str:
    colour, word = _LISTS[name]
    return f":{colour}-badge[{word}]"
