"""A conversation on the page: its heading, its turns, its history, and the question input.

The input has options: filters, agent mode, web search, the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st

from docmind.conversations import LONGEST_INSTRUCTIONS
from docmind.errors import DocMindError, NotFoundError
from docmind.records.conversations import ModelInfo, RunProgress, Thread, ThreadView
from docmind.records.documents import DocumentInfo
from docmind.rich_text import escape
from docmind.ui.app import errors, state
from docmind.ui.app.desk import desk
from docmind.ui.app.format import conversation, count
from docmind.ui.chat import history, side_panel
from docmind.ui.chat.filters import choose_filters, chosen_filters, chosen_lists
from docmind.ui.chat.run import ask, draw_run, was_taken, watch
from docmind.ui.chat.sources import has_look
from docmind.ui.chat.turn import LONGEST, Place, draw_copying, draw_turn

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from docmind.application import DocMind


def draw_question_box(
    docmind: DocMind, thread_id: str | None, documents: Sequence[DocumentInfo], *, takes: bool
) -> None:
    """Draw the input and a row of options; an earlier point of a conversation takes no question."""
    typed = st.chat_input(  # outside of any container: it is placed at the bottom, and the page follows the answer
        "Ask your documents" if takes else "Continue or branch here to ask",
        key=state.QUESTION,
        max_chars=LONGEST,
        disabled=not takes,
        on_submit=_ask,
        args=(docmind, thread_id),
    )
    if typed and not was_taken():
        _ask(docmind, thread_id)
        st.rerun()
    with st.bottom, st.container(horizontal=True, vertical_alignment="center", gap="small", key="choices"):
        choose_filters(documents, has_look=has_look(docmind))
        _draw_modes(docmind)
        _draw_instructions(docmind, thread_id)
        st.space("stretch")
        model = docmind.models.current()
        told = _writer(model.info) if model else "Quotes only"
        st.caption(told, width="content")


def _writer(model: ModelInfo) -> str:
    return f"{escape(model.model, limit=40)} · {escape(model.where, limit=40)}"


def ask_example(docmind: DocMind, question: str) -> None:
    """Begin a conversation with a suggested question. For callbacks."""
    st.session_state[state.EXAMPLE] = question
    ask(docmind, state.EXAMPLE, None, filters=chosen_filters(), lists=chosen_lists())


def _ask(docmind: DocMind, thread_id: str | None) -> None:
    ask(docmind, state.QUESTION, thread_id, filters=chosen_filters(), lists=chosen_lists())


def _draw_modes(docmind: DocMind) -> None:
    """Draw agent mode where a model can call tools, and web search where a provider is set."""
    model, settings = docmind.models.current(), desk().settings
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


def draw_found_model(docmind: DocMind) -> None:
    """Ask about a language model that was found: nothing is sent to it before the user agrees."""
    found = docmind.models.waiting()
    if found is None:
        return
    host = escape(urlsplit(found.url).netloc, limit=60)
    with st.container(border=True, key="found-model"):
        st.markdown(
            f"**{escape(found.model, limit=60)}** was found at {host}, on this machine. It can write the answers; for "
            "that it gets your questions and passages of your pages. Nothing is sent to it before you say so."
        )
        with st.container(horizontal=True):
            st.button("Use it", key="found-use", icon=":material/check:", on_click=_choose_found, args=(docmind, found))
            st.button("Quotes only", key="found-refuse", type="tertiary", on_click=_choose_found, args=(docmind, None))


def _choose_found(docmind: DocMind, model: ModelInfo | None) -> None:
    outcome = errors.attempt(lambda: docmind.models.choose(model))
    if isinstance(outcome, DocMindError):
        st.session_state[state.REFUSED] = outcome


def _draw_instructions(docmind: DocMind, thread_id: str | None) -> None:
    """Draw the user's own instructions, where there is a model that can follow them."""
    if docmind.models.current() is None:
        return
    with st.popover("Instructions", icon=":material/edit_note:", help="How answers are to be written"):
        _instructions_field(docmind, None, "In every conversation", "Be brief.")
        if thread_id is not None:
            _instructions_field(docmind, thread_id, "In this conversation", "Answer in Portuguese.")
        st.caption("They go to the language model with each question. Its answers are checked as before.")


def _instructions_field(docmind: DocMind, thread_id: str | None, label: str, example: str) -> None:
    kept = errors.attempt(lambda: docmind.conversations.instructions(thread_id))
    if isinstance(kept, DocMindError):
        errors.show(kept)
        kept = ""
    key = f"{state.INSTRUCTIONS}-{thread_id or ''}"
    st.text_area(
        label,
        value=kept,
        key=key,
        max_chars=LONGEST_INSTRUCTIONS,
        placeholder=example,
        height="content",
        on_change=_instruct,
        args=(docmind, thread_id, key),
    )


def _instruct(docmind: DocMind, thread_id: str | None, key: str) -> None:
    outcome = errors.attempt(lambda: docmind.conversations.instruct(st.session_state[key] or "", thread_id))
    if isinstance(outcome, DocMindError):
        st.session_state[state.REFUSED] = outcome


_SHOWN = 30  # turns
_OPEN = 2  # the last of them: their sources are open


def draw_conversation(docmind: DocMind, thread_id: str, documents: Sequence[DocumentInfo]) -> bool:
    """Draw the conversation or the viewed point; return whether a question can be asked."""
    run = docmind.conversations.live(thread_id)
    view = _opened(docmind, thread_id)
    if run is not None and docmind.conversations.run(run.run_id).is_over:  # it has ended since
        run, view = docmind.conversations.live(thread_id), _opened(docmind, thread_id)
    _draw_heading(view)
    main, side = side_panel.split()
    with main:
        is_past = history.banner(docmind, view)
        _draw_turns(docmind, view, run, {info.doc_id: info.document for info in documents}, is_past=is_past)
    side_panel.draw(docmind, side, view)
    draw_copying(view)
    return not is_past


def _draw_turns(
    docmind: DocMind, view: ThreadView, run: RunProgress | None, names: dict[str, str], *, is_past: bool
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
            draw_turn(docmind, view, turn, place, names)
    if run is not None:
        with _room(is_last=True):
            draw_run(docmind, run, view.earlier + len(turns))
    else:
        watch(docmind, view.thread)


def _room(*, is_last: bool) -> DeltaGenerator:
    """Return the container of a turn; the last has room for its answer before it is there."""
    return st.container(key="last") if is_last else st.container()


def _opened(docmind: DocMind, thread_id: str) -> ThreadView:
    """Return the viewed point of the conversation, or its current state without such a point."""
    shown_thread, shown = st.session_state.get(state.EARLIER, ("", _SHOWN))
    last = shown if shown_thread == thread_id else _SHOWN
    try:
        return docmind.conversations.view(thread_id, history.looking_at(), last=last)
    except NotFoundError:
        history.back_to_now()
        return docmind.conversations.view(thread_id, last=last)


def _draw_heading(view: ThreadView) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="heading"):
        st.caption(escape(conversation(view.thread.title), limit=90), width="stretch")
        side_panel.draw_choice()


def _show_earlier(thread: Thread, turns: int) -> None:
    st.session_state[state.EARLIER] = (thread.thread_id, turns)
