"""Where a question is typed, and what goes with it: where to look, how to work on it, who answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from docmind.escape import escape
from docmind.schema import DocumentInfo
from docmind.ui import live, state
from docmind.ui.actions import LONGEST
from docmind.ui.desk import desk
from docmind.ui.filters import choose_filters, chosen_filters

if TYPE_CHECKING:
    from docmind.application import DocMind


def draw(mind: DocMind, thread_id: str | None, documents: Sequence[DocumentInfo], *, takes: bool) -> None:
    """The input, and one line of choices under it; an earlier point of a conversation takes no question."""
    typed = st.chat_input(  # outside of any container: it goes to the bottom, and the page follows what is written
        "Ask your documents" if takes else "Continue or branch here to ask",
        key=state.QUESTION,
        max_chars=LONGEST,
        disabled=not takes,
        on_submit=_ask,
        args=(mind, thread_id),
    )
    if typed and not live.was_taken():
        _ask(mind, thread_id)
        st.rerun()
    with st.bottom, st.container(horizontal=True, vertical_alignment="center", gap="small", key="choices"):
        choose_filters(documents)
        _draw_modes(mind)
        st.space("stretch")
        model = mind.models.current()
        st.caption(escape(model.info.model, limit=40) if model else "Quotes only", width="content")


def ask_example(mind: DocMind, question: str) -> None:
    """Callback: begin a conversation with a question that was suggested."""
    st.session_state[state.EXAMPLE] = question
    live.ask(mind, state.EXAMPLE, None, filters=chosen_filters())


def _ask(mind: DocMind, thread_id: str | None) -> None:
    live.ask(mind, state.QUESTION, thread_id, filters=chosen_filters())


def _draw_modes(mind: DocMind) -> None:
    """Agent mode where a model can call tools; the web, per question, where a provider is set."""
    model, settings = mind.models.current(), desk().settings
    if model is None or model.info.is_tool_calling is False or settings is None:
        return
    is_agent = st.toggle(
        "Work in steps",
        value=settings.agent.mode == "agent",
        key=state.AGENT,
        help="The model searches and opens pages by itself, several times if need be. Slower.",
    )
    if is_agent and settings.web.provider != "off":
        st.toggle(
            "Web for this question",
            key=state.WEB,
            help=f"Lets the model search the web with {settings.web.provider} for the next question only.",
        )
