"""Asking, and the question that is being answered: its words as they are written, and the way to stop it.

A run goes on by itself, whatever the page does. A tab only looks at it, a few times a second, in a fragment: the rest
of the page stands still until the run is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from docmind.conversation import Mode, RunProgress, Thread
from docmind.errors import DocMindError
from docmind.escape import escape
from docmind.schema import Filters
from docmind.ui import state, threads, timetravel, trouble
from docmind.ui.prose import streaming_markdown
from docmind.ui.speakers import asking, assistant, question
from docmind.ui.wording import duration

if TYPE_CHECKING:
    from docmind.application import DocMind

_POLL_S = 0.12
_NEWS_S = 1.5
_PATIENCE_S = 0.4  # quotes are found by then: the page is drawn once, with the answer on it
_GLANCE_S = 0.01
_SLOW_MS = 3_000
_STAGES = {
    "waiting": "Waiting for the question before this one…",
    "reading the question": "Reading the question…",
    "searching": "Looking through your pages…",
    "writing": "Writing…",
    "checking": "Checking each sentence against your pages…",
    "remembering": "Keeping the answer…",
    "": "Getting ready…",
}


def ask(
    mind: DocMind,
    key: str,
    thread_id: str | None,
    before_id: str | None = None,
    filters: Filters = Filters(),
) -> None:
    """Callback of the input `key`: begin answering what was typed, in a new conversation where there is none yet.

    `before_id` is the point to ask at. Where the question is not taken, it goes back into the input.
    """
    asked = str(st.session_state.get(key) or "")
    if not asked.strip():
        return
    st.session_state[state.TAKEN] = True

    def begin() -> str:
        chosen = thread_id or mind.conversations.create().thread_id
        is_agent, web = st.session_state.get(state.AGENT), bool(st.session_state.get(state.WEB))
        mode: Mode | None = None if is_agent is None else "agent" if is_agent else "standard"
        run_id = mind.conversations.start(
            asked, thread_id=chosen, checkpoint_id=before_id, filters=filters, mode=mode, web=web
        )
        if thread_id is None:
            threads.show(chosen)
        return run_id

    if _begin(mind, begin):
        st.session_state[state.SENT] = True
    else:
        st.session_state[state.GIVEN_BACK] = (key, asked)


def prepare() -> None:
    """What the inputs begin with in this run; call it before they are drawn."""
    if st.session_state.pop(state.SENT, False) and state.WEB in st.session_state:
        st.session_state[state.WEB] = False  # consent is for one question
    given_back: tuple[str, str] | None = st.session_state.pop(state.GIVEN_BACK, None)
    if given_back is not None:
        st.session_state[given_back[0]] = given_back[1]


def was_taken() -> bool:
    """Whether the callback of an input has taken what was typed. It has not where the server was started anew: the
    new one knows of an input only once it has drawn it."""
    return bool(st.session_state.pop(state.TAKEN, False))


def retry(mind: DocMind, thread_id: str, checkpoint_id: str) -> None:
    """Callback: answer the question of a turn once more."""
    _begin(mind, lambda: mind.conversations.retry(thread_id, checkpoint_id))


def stop(mind: DocMind, run_id: str) -> None:
    """Callback: stop writing; a run that is over meanwhile is none to complain about."""
    trouble.attempt(lambda: mind.conversations.stop(run_id))


def draw_run(mind: DocMind, run: RunProgress, number: int) -> None:
    """The question that is being answered, in the place where its turn will stand."""
    st.fragment(_follow, run_every=_POLL_S)(mind, run.run_id, number)


def watch(mind: DocMind, thread: Thread) -> None:
    """Notice what another tab does to the conversation, and draw the page anew then."""
    st.fragment(_look, run_every=_NEWS_S)(mind, thread)


def _begin(mind: DocMind, begin: Callable[[], str]) -> bool:
    started = trouble.attempt(begin)
    if isinstance(started, DocMindError):
        st.session_state[state.REFUSED] = started
        return False
    st.session_state[state.ASKED] = started
    st.session_state.pop(state.EDITING, None)
    timetravel.back_to_now()
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        now = mind.conversations.wait(started, _GLANCE_S)
        if now.is_over or now.stage == "writing":
            break
    return True


def _follow(mind: DocMind, run_id: str, number: int) -> None:
    now = trouble.attempt(lambda: mind.conversations.run(run_id))
    if isinstance(now, DocMindError):
        st.rerun()
    _draw(mind, now, number)
    _draw_next(mind, now, number + 1)
    if now.is_over:
        st.rerun()  # the whole page: the turn stands in this place now


def _draw(mind: DocMind, now: RunProgress, number: int) -> None:
    with st.container(key=f"turn-{number}"):
        with asking():
            question(now.question, f"turn-{number}")
        with assistant():
            if now.text:
                st.markdown(streaming_markdown(now.text))
            with st.container(horizontal=True, vertical_alignment="center", gap="small", key="running"):
                if not now.is_over:
                    st.button(
                        "Stop",
                        key=f"stop-{now.run_id}",
                        icon=":material/stop_circle:",
                        shortcut=None if state.READING in st.session_state else "Escape",  # which closes the page then
                        on_click=stop,
                        args=(mind, now.run_id),
                    )
                st.caption(_told(now), width="content")


def _draw_next(mind: DocMind, now: RunProgress, number: int) -> None:
    """What this tab asked meanwhile: it is answered after this."""
    asked = st.session_state.get(state.ASKED)
    if not asked or asked == now.run_id:
        return
    following = trouble.attempt(lambda: mind.conversations.run(asked))
    if isinstance(following, DocMindError) or following.is_over or following.thread_id != now.thread_id:
        return
    with asking():
        question(following.question, f"turn-{number}")
        st.caption(_STAGES["waiting"])


def _told(now: RunProgress) -> str:
    told = _STAGES[now.stage]
    if now.stage == "writing" and not now.text:
        told = f"{escape(now.model, limit=48)} is reading your pages…"
    return f"{told} {duration(now.elapsed_ms)}" if now.elapsed_ms > _SLOW_MS else told


def _look(mind: DocMind, drawn: Thread) -> None:
    thread = trouble.attempt(lambda: mind.conversations.thread(drawn.thread_id))
    if thread != drawn or mind.conversations.live(drawn.thread_id) is not None:
        st.rerun()
