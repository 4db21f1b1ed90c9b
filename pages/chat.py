"""Ask: a question in, quotes from the pages out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.ui import state
from docmind.ui.filters import choose_filters
from docmind.ui.frame import frame
from docmind.ui.sources import draw_reading
from docmind.ui.turns import ask, draw_turn

if TYPE_CHECKING:
    from docmind.application import DocMind

_LONGEST = 20_000  # characters; the browser takes no more, and does not say so
EXAMPLES = (
    "What amounts are named, and what are they for?",
    "Which dates and deadlines matter?",
    "What is not allowed?",
)


def chat(mind: DocMind) -> None:
    documents = mind.documents()
    if not documents:
        no_documents()
        return
    with st.sidebar:
        st.space("small")
        st.caption("Look for answers")
        filters = choose_filters(documents)
    turns = st.session_state.setdefault(state.TURNS, [])
    if not turns:
        first_question(len(documents))
    for number, turn in enumerate(turns):
        draw_turn(mind, turn, f"turn-{number}")
    draw_reading(mind)
    question = st.chat_input("Ask your documents", max_chars=_LONGEST) or st.session_state.pop(state.EXAMPLE, None)
    if question:
        turns.append(ask(mind, question, filters))
        st.rerun()


def no_documents() -> None:
    st.title("Ask your documents", anchor=False)
    st.write(
        "Add some first: DocMind reads them here, on this machine, and answers with quotes you can check on the page."
    )
    if st.button("Add documents", icon=":material/add:", type="primary"):
        st.switch_page("documents.py")


def first_question(documents: int) -> None:
    st.title("Ask your documents", anchor=False)
    st.write("Answers are quotes from your pages, each with the place it stands highlighted. For example:")
    with st.container(gap=None):
        for example in EXAMPLES:
            if st.button(example, icon=":material/arrow_forward:", type="tertiary"):
                st.session_state[state.EXAMPLE] = example
                st.rerun()


frame(chat)
