"""The side panel of a conversation: its history, or the memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.records.conversations import ThreadView
from docmind.ui.app import state
from docmind.ui.chat import history
from docmind.ui.chat.memories import memories_panel
from docmind.wording import N_, _

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from docmind.application import DocMind

_HISTORY, _MEMORY = N_("History"), N_("Memory")
_ICONS = {_HISTORY: ":material/account_tree:", _MEMORY: ":material/bookmark:"}
_HELP = {
    _HISTORY: N_("All questions of this conversation: look back, continue from one, compare"),
    _MEMORY: N_("What DocMind remembers for you"),
}


def show_history() -> None:
    """Show the history in the panel. For callbacks."""
    st.session_state[state.BESIDE] = _HISTORY


def draw_choice(*, has_history: bool = True) -> None:
    """Draw a button for each panel; the button of the open panel closes it."""
    standing = st.session_state.get(state.BESIDE, "")
    for name in (_HISTORY, _MEMORY) if has_history else (_MEMORY,):
        st.button(
            _(name),
            key=f"beside-choice-{name.lower()}",
            icon=":material/close:" if name == standing else _ICONS[name],
            type="tertiary",
            help=_(_HELP[name]),
            on_click=_choose,
            args=("" if name == standing else name,),
        )


def split() -> tuple[DeltaGenerator, DeltaGenerator | None]:
    """Return the containers of the conversation and of the side panel, None while closed.

    Both columns are drawn while the panel is closed too, and a style hides the empty one. So the conversation keeps its
    place in the page, and the browser keeps its elements, when a panel opens.
    """
    with st.container(key="split"):
        main, side = st.columns([0.64, 0.36], gap="medium")
    return main, side if st.session_state.get(state.BESIDE) else None


def draw(docmind: DocMind, place: DeltaGenerator | None, view: ThreadView | None) -> None:
    """Draw the open panel; without a conversation there is no history."""
    standing = st.session_state.get(state.BESIDE, "")
    if place is None:
        return
    with place, st.container(key="beside"):
        with st.container(horizontal=True, vertical_alignment="center", key="beside-title"):
            st.markdown(f"**{_(standing)}**", width="stretch")
            label = _("Close")
            st.button(
                label,
                key="beside-close",
                icon=":material/close:",
                type="tertiary",
                help=label,
                on_click=_choose,
                args=("",),
            )
        if standing == _MEMORY:
            proposed = [fact for turn in reversed(view.turns) for fact in turn.memories] if view is not None else []
            memories_panel(docmind, view.thread.thread_id if view is not None else None, list(dict.fromkeys(proposed)))
        elif view is not None:
            history.panel(docmind, view)
        else:
            st.caption(_("Questions are listed here. Look back, continue from an earlier one, or compare two."))


def _choose(name: str) -> None:
    st.session_state[state.BESIDE] = name
