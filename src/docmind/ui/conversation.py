"""One conversation on the page: what stands over it, its turns, the one that is being answered, and its history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from docmind.conversation import RunProgress, Thread, ThreadView
from docmind.errors import NotFoundError
from docmind.escape import escape
from docmind.schema import DocumentInfo
from docmind.ui import actions, beside, live, state, timetravel
from docmind.ui.sources import draw_reading
from docmind.ui.turns import Place, draw_turn
from docmind.ui.wording import conversation, count

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from docmind.application import DocMind

_SHOWN = 30  # turns
_OPEN = 2  # of them, the last: their sources stand open


def draw_conversation(mind: DocMind, thread_id: str, documents: Sequence[DocumentInfo]) -> bool:
    """The conversation as it stands, or at the point that is looked at; whether it takes a question there."""
    run = mind.conversations.live(thread_id)
    view = _opened(mind, thread_id)
    if run is not None and mind.conversations.run(run.run_id).is_over:  # over since we looked
        run, view = mind.conversations.live(thread_id), _opened(mind, thread_id)
    _draw_heading(view)
    main, side = beside.split()
    with main:
        is_past = timetravel.banner(mind, view)
        _draw_turns(mind, view, run, {info.doc_id: info.document for info in documents}, is_past=is_past)
    beside.draw(mind, side, view)
    actions.draw_copying(view)
    draw_reading(mind)
    return not is_past


def _draw_turns(
    mind: DocMind, view: ThreadView, run: RunProgress | None, names: dict[str, str], *, is_past: bool
) -> None:
    turns = list(view.turns)
    if run is not None and turns and turns[-1].state == "unanswered" and turns[-1].question == run.question:
        turns.pop()  # it is the one that is being answered
    if view.earlier:
        st.button(
            f"Show {count(min(view.earlier, _SHOWN), 'earlier question')}",
            key="show-earlier",
            icon=":material/expand_less:",
            type="tertiary",
            on_click=_show_earlier,
            args=(view.thread, len(view.turns) + _SHOWN),
        )
    last = len(turns) - 1
    for index, turn in enumerate(turns):
        place = Place(
            view.earlier + index,
            is_last=index == last,
            is_open=index > last - _OPEN,
            is_free=run is None and not is_past,
        )
        with _room(is_last=place.is_last and run is None):
            draw_turn(mind, view, turn, place, names)
    if run is not None:
        with _room(is_last=True):
            live.draw_run(mind, run, view.earlier + len(turns))
    else:
        live.watch(mind, view.thread)


def _room(*, is_last: bool) -> DeltaGenerator:
    """The place of a turn; the last has room for its answer before it is there."""
    return st.container(key="last") if is_last else st.container()


def _opened(mind: DocMind, thread_id: str) -> ThreadView:
    """Where there is no such point as the one that is looked at, the conversation as it stands."""
    shown_thread, shown = st.session_state.get(state.EARLIER, ("", _SHOWN))
    last = shown if shown_thread == thread_id else _SHOWN
    try:
        return mind.conversations.view(thread_id, timetravel.looking_at(), last=last)
    except NotFoundError:
        timetravel.back_to_now()
        return mind.conversations.view(thread_id, last=last)


def _draw_heading(view: ThreadView) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="heading"):
        st.caption(escape(conversation(view.thread.title), limit=90), width="stretch")
        beside.draw_choice()


def _show_earlier(thread: Thread, turns: int) -> None:
    st.session_state[state.EARLIER] = (thread.thread_id, turns)
