"""What can stand beside a conversation: its history, or what is remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.conversation import ThreadView
from docmind.ui import state, timetravel
from docmind.ui.memories import memories_panel

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from docmind.application import DocMind

_HISTORY, _MEMORY = "History", "Memory"
_ICONS = {_HISTORY: ":material/account_tree:", _MEMORY: ":material/bookmark:"}
_HELP = {
    _HISTORY: "Every question of this conversation: look back, go on from one, compare",
    _MEMORY: "What DocMind remembers for you",
}


def show_history() -> None:
    """Let the history stand there; made for callbacks."""
    st.session_state[state.BESIDE] = _HISTORY


def draw_choice(*, has_history: bool = True) -> None:
    """A button for each; the one that stands there is taken away by it."""
    standing = st.session_state.get(state.BESIDE, "")
    for name in (_HISTORY, _MEMORY) if has_history else (_MEMORY,):
        st.button(
            name,
            key=f"beside-choice-{name.lower()}",
            icon=":material/close:" if name == standing else _ICONS[name],
            type="tertiary",
            help=_HELP[name],
            on_click=_choose,
            args=("" if name == standing else name,),
        )


def split() -> tuple[DeltaGenerator, DeltaGenerator | None]:
    """The place of the conversation, and the one beside it while something stands there."""
    if not st.session_state.get(state.BESIDE):
        return st.container(), None
    main, side = st.columns([0.64, 0.36], gap="medium")
    return main, side


def draw(mind: DocMind, place: DeltaGenerator | None, view: ThreadView | None) -> None:
    """What stands beside; without a conversation there is no history."""
    standing = st.session_state.get(state.BESIDE)
    if place is None:
        return
    with place, st.container(key="beside"):
        if standing == _MEMORY:
            proposed = [fact for turn in reversed(view.turns) for fact in turn.memories] if view is not None else []
            memories_panel(mind, view.thread.thread_id if view is not None else None, list(dict.fromkeys(proposed)))
        elif view is not None:
            timetravel.panel(mind, view)
        else:
            st.caption("Every question will be kept here: you can look back, go on from an earlier one, and compare.")


def _choose(name: str) -> None:
    st.session_state[state.BESIDE] = name
