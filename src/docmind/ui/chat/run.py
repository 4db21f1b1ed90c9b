"""Asking, the running question, and what a language model writes beside the quotes, with a button to stop it.

A run continues independently of the page. A tab only polls it, a few times a second, in a fragment: the rest of the
page is not redrawn until the run is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.typing import ChatInputValue

from docmind.errors import DocMindError
from docmind.records.conversations import Mode, RunProgress, Thread, Turn
from docmind.records.query import Query
from docmind.records.search import Filters, ListName
from docmind.rich_text import escape
from docmind.ui.app import errors, state
from docmind.ui.app.chat_message import asking, assistant, question, streaming_markdown
from docmind.ui.app.format import duration
from docmind.ui.chat import history, threads
from docmind.ui.chat.filters import is_newest_first
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind

_POLL_S = 0.12
_NEWS_WAIT_S = 0.1  # each poll waits so long for something new: the first words are drawn when they come
_OTHERS_S = 1.5
_PATIENCE_S = 0.4  # quotes are found within this time: the page is then drawn once, with the answer
_GLANCE_S = 0.01
_SLOW_MS = 3_000
_STAGES = {
    "waiting": N_("Waiting for the question before this one…"),
    "reading the question": N_("Reading the question…"),
    "searching": N_("Looking through your pages…"),
    "summarising": N_("Summarising…"),
    "writing": N_("Writing…"),
    "checking": N_("Checking each sentence against your pages…"),
    "remembering": N_("Keeping the answer…"),
    "": N_("Getting ready…"),
}


def ask(
    docmind: DocMind,
    key: str,
    thread_id: str | None,
    before_id: str | None = None,
    filters: Filters = Filters(),
    lists: Sequence[ListName] | None = None,
    bound: Filters = Filters(),
) -> None:
    """Begin to answer what was typed into the input `key`. For callbacks.

    A conversation is created where there is none yet, bound to the documents and collections of `bound`.

    `before_id` is the point to ask at. Where the question is not taken, it is put back into the input.
    """
    typed = st.session_state.get(key)
    asked = typed.text if isinstance(typed, ChatInputValue) else str(typed or "")
    if not asked.strip():
        return
    st.session_state[state.TAKEN] = True

    def begin() -> str:
        chosen = thread_id or _created(docmind, bound).thread_id
        is_agent, web = st.session_state.get(state.AGENT), bool(st.session_state.get(state.WEB))
        mode: Mode | None = None if is_agent is None else "agent" if is_agent else "standard"
        run_id = docmind.conversations.start(
            Query(asked, filters=filters, mode=mode, web=web, lists=tuple(lists or ()), newest_first=is_newest_first()),
            thread_id=chosen,
            checkpoint_id=before_id,
        )
        if thread_id is None:
            threads.show(chosen)
        return run_id

    if _begin(docmind, begin):
        st.session_state[state.SENT] = True
    else:
        st.session_state[state.GIVEN_BACK] = (key, asked)


def _created(docmind: DocMind, bound: Filters) -> Thread:
    return docmind.conversations.create(collections=bound.collections, documents=bound.doc_ids)


def prepare() -> None:
    """Set what the inputs contain in this run; call it before they are drawn."""
    if st.session_state.pop(state.SENT, False) and state.WEB in st.session_state:
        st.session_state[state.WEB] = False  # consent is for one question
    given_back: tuple[str, str] | None = st.session_state.pop(state.GIVEN_BACK, None)
    if given_back is not None:
        st.session_state[given_back[0]] = given_back[1]


def was_taken() -> bool:
    """Tell whether the callback of an input has taken what was typed.

    After a restart of the server it has not: the new server knows an input only once it has drawn it.
    """
    return bool(st.session_state.pop(state.TAKEN, False))


def retry(docmind: DocMind, thread_id: str, checkpoint_id: str) -> None:
    """Answer the question of a turn again. For callbacks."""
    _begin(docmind, lambda: docmind.conversations.retry(thread_id, checkpoint_id))


def ask_everywhere(docmind: DocMind, thread_id: str, turn: Turn) -> None:
    """Ask the question of a turn again, beside it and without its filters. For callbacks.

    A conversation that is bound to some documents no longer is.
    """

    def begin() -> str:
        if docmind.conversations.thread(thread_id).bound != Filters():
            docmind.conversations.bind(thread_id)
        query = Query(turn.question, mode=turn.mode, lists=turn.lists)
        return docmind.conversations.start(query, thread_id=thread_id, checkpoint_id=turn.before_id)

    _begin(docmind, begin)


def stop(docmind: DocMind, run_id: str) -> None:
    """Stop writing; a run that is over meanwhile is no error. For callbacks."""
    errors.attempt(lambda: docmind.conversations.stop(run_id))


def draw_run(docmind: DocMind, run: RunProgress, number: int) -> None:
    """Draw the running question in the place of its turn, until its quotes are there."""
    st.session_state.pop(state.DRAWN, None)  # the whole page is being drawn: nothing is waited for
    st.fragment(_follow, run_every=_POLL_S)(docmind, run.run_id, number)


def draw_writing(docmind: DocMind, run: RunProgress, key: str) -> None:
    """Draw what a language model writes, above the quotes: a box of one height, so that these keep their place."""
    st.session_state.pop(state.DRAWN, None)
    with st.container(border=True, key=f"{key}-writing"):
        st.fragment(_follow_writing, run_every=_POLL_S)(docmind, run.run_id, key)


def watch(docmind: DocMind, thread: Thread) -> None:
    """Redraw the page when another tab changes the conversation."""
    st.fragment(_look, run_every=_OTHERS_S)(docmind, thread)


def _begin(docmind: DocMind, begin: Callable[[], str]) -> bool:
    started = errors.attempt(begin)
    if isinstance(started, DocMindError):
        st.session_state[state.REFUSED] = started
        return False
    st.session_state[state.ASKED] = started
    st.session_state.pop(state.EDITING, None)
    history.back_to_now()
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        now = docmind.conversations.wait(started, _GLANCE_S)
        if now.is_over or now.turn is not None:
            break
    return True


def _follow(docmind: DocMind, run_id: str, number: int) -> None:
    """Draw the run; the whole page once its quotes are there."""
    now = errors.attempt(lambda: _further(docmind, run_id))
    if isinstance(now, DocMindError):
        st.rerun()
    st.session_state[state.DRAWN] = now
    _draw(docmind, now, number)
    _draw_next(docmind, now, number + 1)
    if now.is_over or now.turn is not None:
        st.rerun()  # the whole page: the turn is drawn in this place now


def _follow_writing(docmind: DocMind, run_id: str, key: str) -> None:
    """Draw what is written; the whole page once it is over."""
    now = errors.attempt(lambda: _further(docmind, run_id))
    if isinstance(now, DocMindError):
        st.rerun()
    st.session_state[state.DRAWN] = now
    with st.container(key=f"{key}-text"):
        if now.text:
            st.markdown(streaming_markdown(now.text))
    _draw_running(docmind, now)
    if now.is_over:
        if now.turn is not None:
            st.session_state[state.WRITTEN] = now.turn.checkpoint_id
        st.rerun()


def _further(docmind: DocMind, run_id: str) -> RunProgress:
    """Return the progress of a run, as soon as it differs from what this tab has drawn, or after a moment."""
    drawn: RunProgress | None = st.session_state.get(state.DRAWN)
    if drawn is None or drawn.run_id != run_id:
        return docmind.conversations.run(run_id)
    return docmind.conversations.wait(run_id, _NEWS_WAIT_S, since=drawn)


def _draw(docmind: DocMind, now: RunProgress, number: int) -> None:
    with st.container(key=f"turn-{number}"):
        with asking():
            question(now.question, f"turn-{number}")
        with assistant():
            _draw_running(docmind, now)


def _draw_running(docmind: DocMind, now: RunProgress) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"running-{now.run_id}"):
        if not now.is_over:
            st.button(
                _("Stop"),
                key=f"stop-{now.run_id}",
                icon=":material/stop_circle:",
                shortcut="Escape",
                on_click=stop,
                args=(docmind, now.run_id),
            )
        st.caption(_told(now), width="content")


def _draw_next(docmind: DocMind, now: RunProgress, number: int) -> None:
    """Draw the question that this tab asked meanwhile: it is answered after the current one."""
    asked = st.session_state.get(state.ASKED)
    if not asked or asked == now.run_id:
        return
    following = errors.attempt(lambda: docmind.conversations.run(asked))
    if isinstance(following, DocMindError) or following.is_over or following.thread_id != now.thread_id:
        return
    with asking():
        question(following.question, f"turn-{number}")
        st.caption(_(_STAGES["waiting"]))


def _told(now: RunProgress) -> str:
    told = _(_STAGES[now.stage])
    if now.stage == "writing" and not now.text:
        told = _("{model} is reading your pages…").format(model=escape(now.model.partition("/")[2], limit=48))
    elif now.stage == "summarising" and now.parts_total > 1:
        told = _parts_told(now)
    return f"{told} {duration(now.elapsed_ms)}" if now.elapsed_ms > _SLOW_MS else told


def _parts_told(now: RunProgress) -> str:
    """Return how far a summary of parts is, for a caption."""
    if now.parts_done >= now.parts_total:
        return _("Putting {parts_total} parts together…").format(parts_total=now.parts_total)
    return _("Summarising: {parts_done} of {parts_total} parts…").format(
        parts_done=now.parts_done, parts_total=now.parts_total
    )


def _look(docmind: DocMind, drawn: Thread) -> None:
    thread = errors.attempt(lambda: docmind.conversations.thread(drawn.thread_id))
    if thread != drawn or docmind.conversations.live(drawn.thread_id) is not None:
        st.rerun()
