"""Ask: conversations with the documents, each answer with the places it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.ui import actions, beside, compare, inputs, live, state, threads, trouble
from docmind.ui.conversation import draw_conversation
from docmind.ui.frame import frame
from docmind.ui.sources import draw_reading

if TYPE_CHECKING:
    from docmind.application import DocMind

EXAMPLES = (
    "What amounts are named, and what are they for?",
    "Which dates and deadlines matter?",
    "What is not allowed?",
)


def chat(mind: DocMind) -> None:
    st.html(actions.LOOKS)
    live.prepare()
    thread_id = threads.sidebar(mind)
    documents = mind.documents()
    if compare.draw(mind):
        return
    refused: DocMindError | None = st.session_state.pop(state.REFUSED, None)
    if refused is not None:
        trouble.show(refused)
    if thread_id is None and not documents:
        no_documents()
        return
    takes = True
    if thread_id is None:
        first_question(mind)
        draw_reading(mind)
    else:
        takes = draw_conversation(mind, thread_id, documents)
    if documents:
        inputs.draw(mind, thread_id, documents, takes=takes)
    else:
        no_more_documents()


def first_question(mind: DocMind) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="right", key="heading"):
        beside.draw_choice(has_history=False)
    main, side = beside.split()
    beside.draw(mind, side, None)
    with main, st.container(key="first"):
        st.title("Ask your documents", anchor=False)
        st.write("Every answer shows where it stands on your pages. Ask in your own words, then ask on. For example:")
        examples(mind)


def examples(mind: DocMind) -> None:
    with st.container(gap=None, key="examples"):
        for example in EXAMPLES:
            st.button(
                example,
                icon=":material/arrow_forward:",
                type="tertiary",
                on_click=inputs.ask_example,
                args=(mind, example),
            )


def no_documents() -> None:
    st.title("Ask your documents", anchor=False)
    st.write(
        "Add some first: DocMind reads them here, on this machine, and answers with quotes you can check on the page."
    )
    if st.button("Add documents", icon=":material/add:", type="primary"):
        st.switch_page("documents.py")


def no_more_documents() -> None:
    with st.bottom:
        st.caption("There are no documents any more to ask. What was said before stays.")
        if st.button("Add documents", icon=":material/add:"):
            st.switch_page("documents.py")


frame(chat)
