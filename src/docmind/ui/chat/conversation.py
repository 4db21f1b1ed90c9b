"""A conversation on the page: its heading, its turns, its history, and the question input.

The input has options: filters, agent mode, web search, the model. A browser part, `view.js`, keeps the last question at
the top of the view and the keyboard in the question box.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st

from docmind.conversations import LONGEST_INSTRUCTIONS
from docmind.errors import DocMindError, NotFoundError
from docmind.records.conversations import ModelInfo, RunProgress, Thread, ThreadView
from docmind.records.documents import DocumentInfo
from docmind.records.search import Filters
from docmind.records.values import LONGEST_QUESTION
from docmind.rich_text import escape, one_line
from docmind.ui.app import errors, state
from docmind.ui.app.app_state import app_state
from docmind.ui.app.browser_part import browser_part
from docmind.ui.app.format import conversation, count, place_of_model, snapshot
from docmind.ui.app.names import names_of
from docmind.ui.chat import dropped, filters, history, side_panel
from docmind.ui.chat.run import ask, draw_run, was_taken, watch
from docmind.ui.chat.sources import has_look
from docmind.ui.chat.turn import TurnPlace, draw_turn
from docmind.ui.documents import upload
from docmind.wording import _, ngettext

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from docmind.application import DocMind


def draw_question_box(
    docmind: DocMind, thread_id: str | None, documents: Sequence[DocumentInfo], *, takes: bool
) -> None:
    """Draw a row of options and the input, which takes files too; an earlier point of a conversation takes no question.

    The input has its place in `st.bottom`: elsewhere, Streamlit itself scrolls the page to its end.
    """
    docmind.start_models()  # those that ended while nobody asked are ready when the question is typed
    with st.bottom:
        dropped.draw(docmind, thread_id)
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="choices"):
            filters.choose_filters(
                docmind,
                documents,
                _collections(docmind),
                has_look=has_look(docmind),
                has_figures=docmind.documents.has_figures(),
                snapshots=snapshot_names(docmind),
                clear=lambda: dropped.search_all(thread_id),
            )
            _draw_modes(docmind)
            _draw_instructions(docmind, thread_id)
            st.space("stretch")
            _draw_writer(docmind)
        typed = st.chat_input(
            _("Ask your documents") if takes else _("Continue here to ask"),
            key=state.QUESTION,
            max_chars=LONGEST_QUESTION,
            accept_file="multiple",
            max_upload_size=upload.limit_mb(),
            disabled=not takes,
            on_submit=_ask,
            args=(docmind, thread_id),
        )
    if typed and not was_taken():
        _ask(docmind, thread_id)
        st.rerun()


def follow(docmind: DocMind, thread_id: str | None, documents: Sequence[DocumentInfo]) -> None:
    """Show what the open conversation is bound to in the filters, and keep what was chosen there with it.

    Call it before the filters are used. Raises `NotFoundError` where there is no such conversation.
    """
    thread = docmind.conversations.thread(thread_id) if thread_id is not None else None

    def bind(chosen: Filters) -> bool:
        outcome = errors.attempt(
            lambda: docmind.conversations.bind(thread_id or "", chosen.collections, chosen.doc_ids)
        )
        if isinstance(outcome, DocMindError):
            st.session_state[state.REFUSED] = outcome
        return not isinstance(outcome, DocMindError)

    filters.follow(
        documents,
        _collections(docmind),
        thread,
        bind,
        has_look=has_look(docmind),
        has_figures=docmind.documents.has_figures(),
        snapshots=snapshot_names(docmind),
    )


def _collections(docmind: DocMind) -> dict[str, str]:
    return {one.collection_id: one.name for one in docmind.documents.collections()}


def snapshot_names(docmind: DocMind) -> dict[str, str]:
    """Return the names of the snapshots by id, the newest first."""
    return {name: snapshot(title, at_ms) for name, (title, at_ms) in docmind.snapshots.names().items()}


def draw_view(thread_id: str | None, turns: int = 0, run: RunProgress | None = None) -> None:
    """Draw the browser part that keeps the last of these turns in view and the keyboard in the question box."""
    data = {
        "place": thread_id or "",
        "at": history.looking_at() or "",
        "turn": turns,
        "run": run.run_id if run is not None else "",
        "skip": _("Skip to the question box"),
    }
    with st.container(key="view"):
        browser_part(Path(__file__).parent, "view", data=data, key="view-part", height="content")


def _draw_writer(docmind: DocMind) -> None:
    """Draw which model writes the answers; without one, the way to set one up."""
    model = docmind.models.current()
    if model is not None:
        name, place = escape(model.info.model, limit=40), place_of_model(model.info.place)
        st.caption(_("{model} · {place}").format(model=name, place=escape(place, limit=40)), width="content")
        return
    why = docmind.models.degraded()
    label = _("Language model not answering · quotes only") if why else _("No language model · quotes only")
    help_ = escape(why[0].reason) if why else _("Set up a language model that writes answers")
    if st.button(label, key="set-up-model", type="tertiary", help=help_):
        st.switch_page("settings.py")


def ask_example(docmind: DocMind, question: str) -> None:
    """Begin a conversation with a suggested question. For callbacks."""
    st.session_state[state.EXAMPLE] = question
    _ask_from(docmind, state.EXAMPLE, None)


def _ask(docmind: DocMind, thread_id: str | None) -> None:
    if not dropped.take(docmind, st.session_state.get(state.QUESTION), thread_id):
        _ask_from(docmind, state.QUESTION, thread_id)


def _ask_from(docmind: DocMind, key: str, thread_id: str | None) -> None:
    chosen, lists = filters.chosen_filters(docmind), filters.chosen_lists()
    ask(docmind, key, thread_id, filters=chosen, lists=lists, bound=filters.to_bind())
    dropped.go_along(thread_id)


def _draw_modes(docmind: DocMind) -> None:
    """Draw agent mode where a model can call tools, and web search where a provider is set."""
    model, settings = docmind.models.current(), app_state().settings
    if model is None or model.info.is_tool_calling is False or settings is None:
        return
    is_agent = st.toggle(
        _("Deep search"),
        value=settings.agent.mode == "agent",
        key=state.AGENT,
        help=_("The model searches several times and opens pages by itself. Slower."),
    )
    if is_agent and settings.web.provider != "off":
        st.toggle(
            _("Web for this question"),
            key=state.WEB,
            help=_("Lets the model search the web with {provider} for the next question only.").format(
                provider=settings.web.provider
            ),
        )


def draw_found_model(docmind: DocMind) -> None:
    """Ask about a language model that was found: nothing is sent to it before the user agrees."""
    found = docmind.models.waiting()
    if found is None:
        return
    host = escape(urlsplit(found.url).netloc, limit=60)
    with st.container(border=True, key="found-model"):
        st.markdown(
            _(
                "**{model}** was found at {host}, on this computer. It can write the answers; for that it "
                "gets your questions and passages of your pages. Nothing is sent to it before you say so."
            ).format(model=escape(found.model, limit=60), host=host)
        )
        with st.container(horizontal=True):
            st.button(
                _("Use it"), key="found-use", icon=":material/check:", on_click=_choose_found, args=(docmind, found)
            )
            st.button(
                _("Quotes only"), key="found-refuse", type="tertiary", on_click=_choose_found, args=(docmind, None)
            )


def _choose_found(docmind: DocMind, model: ModelInfo | None) -> None:
    outcome = errors.attempt(lambda: docmind.models.choose(model))
    if isinstance(outcome, DocMindError):
        st.session_state[state.REFUSED] = outcome


def _draw_instructions(docmind: DocMind, thread_id: str | None) -> None:
    """Draw the user's own instructions, where there is a model that can follow them."""
    if docmind.models.current() is None:
        return
    with st.popover(
        _("Instructions"), icon=":material/edit_note:", type="tertiary", help=_("How answers are to be written")
    ):
        _instructions_field(docmind, None, _("In every conversation"), _("Be brief."))
        if thread_id is not None:
            _instructions_field(docmind, thread_id, _("In this conversation"), _("Answer in Portuguese."))
        st.caption(_("They go to the language model with each question. Its answers are checked as before."))


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
    runs, view = docmind.conversations.all_live(thread_id), _opened(docmind, thread_id)
    if _further(docmind, runs):
        runs, view = docmind.conversations.all_live(thread_id), _opened(docmind, thread_id)
    _draw_heading(view)
    main, side = side_panel.split()
    with main:
        is_past = history.banner(docmind, view)
        names = names_of(documents)
        names |= _collections(docmind) | snapshot_names(docmind)
        shown = _draw_turns(docmind, view, runs, names, is_past=is_past)
    side_panel.draw(docmind, side, view)
    draw_view(thread_id, shown, runs[-1] if runs else None)
    return not is_past


def _further(docmind: DocMind, runs: Sequence[RunProgress]) -> bool:
    """Return whether one of these runs has ended since, or has its quotes now."""
    now = [docmind.conversations.run(one.run_id) for one in runs]
    return any(one.is_over or (one.turn is None) != (then.turn is None) for one, then in zip(now, runs, strict=True))


def _draw_turns(
    docmind: DocMind, view: ThreadView, runs: Sequence[RunProgress], names: dict[str, str], *, is_past: bool
) -> int:
    """Draw the turns and the running question; return the number of the last one, from 1, and 0 without any."""
    turns = list(view.turns)
    run = next((one for one in runs if one.turn is None), None)
    writing = {one.turn.checkpoint_id: one for one in runs if one.turn is not None}
    if run is not None and turns and turns[-1].state == "unanswered" and turns[-1].question == run.question:
        turns.pop()  # it is the one that is being answered
    if view.earlier:
        st.button(
            _("Show {count}").format(
                count=count(
                    ngettext("{n} earlier question", "{n} earlier questions", min(view.earlier, _SHOWN)),
                    min(view.earlier, _SHOWN),
                )
            ),
            key="show-earlier",
            icon=":material/expand_less:",
            type="tertiary",
            on_click=_show_earlier,
            args=(view.thread, len(view.turns) + _SHOWN),
        )
    last = len(turns) - 1
    for index, turn in enumerate(turns):
        place = TurnPlace(
            view.earlier + index,
            is_last=index == last,
            is_open=index > last - _OPEN,
            is_free=not runs and not is_past,
            writing=writing.get(turn.checkpoint_id),
        )
        with _room(is_last=place.is_last and run is None):
            draw_turn(docmind, view, turn, place, names)
    if run is not None:
        with _room(is_last=True):
            draw_run(docmind, run, view.earlier + len(turns))
    elif not runs:
        watch(docmind, view.thread)
    return view.earlier + len(turns) + (run is not None)


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
    """Draw the title, unless it is the first question, which is drawn below it; and the choice of panels."""
    with st.container(horizontal=True, vertical_alignment="center", key="heading"):
        title = conversation(view.thread.title)
        first = one_line(view.turns[0].question) if view.turns and not view.earlier else ""
        if first and first.startswith(one_line(title).rstrip("…")):
            st.space("stretch")
        else:
            st.caption(escape(title, limit=90), width="stretch")
        side_panel.draw_choice()


def _show_earlier(thread: Thread, turns: int) -> None:
    st.session_state[state.EARLIER] = (thread.thread_id, turns)
