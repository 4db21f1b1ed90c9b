"""The Ask page: conversations with the documents, each answer with its sources."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.rich_text import escape, visible
from docmind.ui.app import errors, state
from docmind.ui.app.app_state import app_state
from docmind.ui.chat import (
    check_text,
    compare,
    conversation,
    dropped,
    filters,
    run,
    side_panel,
    threads,
    turn,
    visual_search,
)
from docmind.ui.chat.conversation import draw_conversation
from docmind.ui.documents import upload, welcome
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind

_MEANWHILE = (N_("What documents do I have?"),)  # while examples of the user's own documents are being made
_NEWS_S = 1.0


def draw(docmind: DocMind) -> None:
    st.html(turn.LOOKS)
    run.prepare()
    thread_id = threads.sidebar(docmind)
    documents = docmind.documents.all()
    conversation.follow(docmind, thread_id, documents)
    dropped.settle(docmind, thread_id)
    if compare.draw(docmind):
        return
    if documents and check_text.draw(docmind):
        return
    refused: DocMindError | None = st.session_state.pop(state.REFUSED, None)
    if refused is not None:
        errors.show(refused)
    if thread_id is None and not documents:
        welcome.draw(docmind)
        return
    conversation.draw_found_model(docmind)
    takes = True
    has_pages = visual_search.draw_results(docmind)
    if thread_id is None:
        if not has_pages:
            first_question(docmind)
        conversation.draw_view(None)
    else:
        title = errors.attempt(lambda: docmind.conversations.thread(thread_id).title)
        if not isinstance(title, DocMindError):
            st.html(f'<h1 class="unseen">{html.escape(visible(title))}</h1>')  # the list beside it shows it
        takes = draw_conversation(docmind, thread_id, documents)
    if documents:
        with st.bottom:
            upload.unread(docmind)
        conversation.draw_question_box(docmind, thread_id, documents, takes=takes)
    else:
        no_more_documents()


def first_question(docmind: DocMind) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="right", key="heading"):
        side_panel.draw_choice(has_history=False)
    main, side = side_panel.split()
    side_panel.draw(docmind, side, None)
    with main, st.container(key="first"):
        st.title(_("Ask your documents"), anchor=False)
        st.write(_("Ask in your own words. Every answer links to the exact place in your documents. For example:"))
        are_made = examples(docmind)
        check_text.draw_entry()
        st.caption(":material/attach_file: " + _("You can drop files on the question box to add them."))
        if not are_made:
            st.fragment(_look, run_every=_NEWS_S)(docmind)


def examples(docmind: DocMind) -> bool:
    """Draw questions that the documents answer; return False while there is one that stands in for them."""
    found = _made(docmind)
    made = None if isinstance(found, DocMindError) else found
    with st.container(gap=None, key="examples"):
        for number, example in enumerate(made or map(_, _MEANWHILE)):
            st.button(
                escape(example),
                key=f"example-{number}",
                icon=":material/arrow_forward:",
                type="tertiary",
                on_click=conversation.ask_example,
                args=(docmind, example),
            )
    return found is not None


def _look(docmind: DocMind) -> None:
    if _made(docmind) is not None:
        st.rerun()


def _made(docmind: DocMind) -> tuple[str, ...] | DocMindError | None:
    """Return examples about what is asked; None while they are made, which begins once a first page was drawn."""
    chosen = filters.chosen_filters(docmind)
    return errors.attempt(lambda: docmind.examples.get(chosen)) if app_state().is_drawn else None


def no_more_documents() -> None:
    with st.bottom:
        st.caption(_("There are no documents to ask. Your conversations are still here."))
        if st.button(_("Add documents"), icon=":material/add:"):
            st.switch_page("documents.py")
