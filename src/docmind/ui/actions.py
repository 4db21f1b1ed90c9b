"""What can be done with a turn: edit its question, answer it again, go on or branch from it, compare it, copy it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.conversation import Thread, ThreadView, Turn
from docmind.errors import DocMindError
from docmind.escape import one_line, visible
from docmind.ui import beside, live, state, timetravel, trouble
from docmind.ui.speakers import asking, question

if TYPE_CHECKING:
    from docmind.application import DocMind

LOOKS = Path(__file__).with_name("turns.css")
LONGEST = 20_000  # characters of a question; the browser takes no more, and does not say so
_AGAIN, _CONTINUE, _BRANCH, _COMPARE, _COPY = "again", "continue", "branch", "compare", "copy"
_MENU = {
    _AGAIN: ":material/refresh: Answer again",
    _CONTINUE: ":material/play_arrow: Continue here",
    _BRANCH: ":material/call_split: Branch here",
    _COMPARE: ":material/compare_arrows: Compare with…",
    _COPY: ":material/content_copy: Copy",
}


def draw_question(mind: DocMind, thread: Thread, turn: Turn, key: str, *, is_free: bool) -> None:
    """What was asked, with a pencil beside it; or the question in a field, to be asked anew from the same point."""
    with asking():
        if is_free and st.session_state.get(state.EDITING) == turn.checkpoint_id:
            _draw_editing(mind, thread, turn)
            return
        with question(turn.question, key):
            st.button(
                "",
                key=f"{key}-edit",
                icon=":material/edit:",
                type="tertiary",
                help="Edit the question and ask again",
                disabled=not is_free,
                on_click=_edit,
                args=(turn,),
            )


def draw_row(mind: DocMind, view: ThreadView, turn: Turn, key: str, told: str, *, is_free: bool, is_last: bool) -> None:
    """One quiet line under an answer: what can be done, how long it took and who wrote it."""
    choices = [choice for choice in _MENU if not (choice == _CONTINUE and is_last)]
    if turn.answer is None:
        choices = [choice for choice in choices if choice not in (_COMPARE, _COPY)]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{key}-row"):
        if told:
            st.caption(told, width="content")
        if turn.state == "stopped":
            try_again(mind, view.thread, turn, key, is_free=is_free)
        menu = f"{key}-menu-{turn.checkpoint_id}"
        st.menu_button(
            "Menu",
            choices,
            key=menu,
            icon=":material/more_horiz:",
            type="tertiary",
            format_func=_MENU.__getitem__,
            disabled=not is_free,
            on_click=_act,
            args=(mind, view.thread.thread_id, turn, menu),
        )


def try_again(mind: DocMind, thread: Thread, turn: Turn, key: str, *, is_free: bool) -> None:
    """Answer the question of a turn that was stopped or went wrong once more."""
    st.button(
        "Try again",
        key=f"{key}-again",
        icon=":material/refresh:",
        disabled=not is_free,
        on_click=live.retry,
        args=(mind, thread.thread_id, turn.checkpoint_id),
    )


def draw_copying(view: ThreadView) -> None:
    """The answer that is to be copied, while it is open."""
    for turn in view.turns:
        if turn.checkpoint_id == st.session_state.get(state.COPYING) and turn.answer is not None:
            _copying(turn)


def plain_text(turn: Turn) -> str:
    """An answer and its sources, to be pasted elsewhere."""
    if turn.answer is None:
        return ""
    places = [
        f"[{source.n}] {one_line(source.document)}, page {source.page_no}: “{one_line(source.quote)}”"
        for source in turn.answer.sources
    ]
    return "\n\n".join(part for part in (visible(turn.answer.answer), "\n".join(places)) if part)


def _draw_editing(mind: DocMind, thread: Thread, turn: Turn) -> None:
    st.chat_input(
        "Your question",
        key=state.EDIT,
        max_chars=LONGEST,
        on_submit=live.ask,
        args=(mind, state.EDIT, thread.thread_id, turn.before_id, turn.filters),
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Cancel", key="edit-cancel", type="tertiary", shortcut="Escape", on_click=_keep)
        st.caption("The answer that is there stays in the history.", width="content")


def _edit(turn: Turn) -> None:
    st.session_state[state.EDITING] = turn.checkpoint_id
    st.session_state[state.EDIT] = turn.question


def _keep() -> None:
    st.session_state.pop(state.EDITING, None)


def _act(mind: DocMind, thread_id: str, turn: Turn, menu: str) -> None:
    chosen, point = st.session_state.get(menu), turn.checkpoint_id
    if chosen == _AGAIN:
        live.retry(mind, thread_id, point)
    elif chosen == _COPY:
        st.session_state[state.COPYING] = point
    elif chosen == _COMPARE:
        timetravel.compare_with(thread_id, point, "")
        beside.show_history()
    elif chosen in (_CONTINUE, _BRANCH):
        move = mind.conversations.resume if chosen == _CONTINUE else mind.conversations.fork
        outcome = trouble.attempt(lambda: move(thread_id, point))
        if isinstance(outcome, DocMindError):
            st.session_state[state.REFUSED] = outcome


def _close() -> None:
    st.session_state.pop(state.COPYING, None)


@st.dialog("Copy the answer", icon=":material/content_copy:", width="medium", on_dismiss=_close)
def _copying(turn: Turn) -> None:
    st.caption("The button in the corner takes all of it.")
    st.code(plain_text(turn), language=None, wrap_lines=True)
