"""One turn of a conversation: the question, what became of it, what it rests on, and what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st

from docmind.conversation import RunProgress, ThreadView, Turn, WebResult
from docmind.escape import escape, shorten
from docmind.schema import Answer, Filters
from docmind.ui import actions, found, state, timetravel, trouble
from docmind.ui.proposals import draw_proposals
from docmind.ui.prose import answer_markdown
from docmind.ui.sources import draw_nearest, draw_places, draw_sources
from docmind.ui.speakers import assistant
from docmind.ui.wording import count, duration

if TYPE_CHECKING:
    from docmind.application import DocMind

_QUOTED, _WRITTEN = 2, 1  # sources that stand open under quotes, and under an answer that a model wrote
_NAMED = 3  # documents told by name
_CUT_OFF = "This question was cut off before it was answered."


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn stands: its number in the conversation, whether its sources stand open, and whether it can be
    acted on (not while the page shows an earlier point, nor while an answer is being written)."""

    number: int
    is_last: bool
    is_open: bool
    is_free: bool

    @property
    def key(self) -> str:
        return f"turn-{self.number}"


def draw_turn(mind: DocMind, view: ThreadView, turn: Turn, place: Place, names: Mapping[str, str]) -> None:
    """`names` are the documents by their id."""
    with st.container(key=place.key):
        actions.draw_question(mind, view.thread, turn, place.key, is_free=place.is_free)
        with assistant():
            answer = turn.answer
            _draw_trouble(mind, view, turn, place)
            if answer is not None:
                _draw_answer(mind, turn, answer, place)
            actions.draw_row(mind, view, turn, place.key, _told(turn), is_free=place.is_free, is_last=place.is_last)
            _draw_notes(turn, names)
            if answer is not None and place.is_open:
                standing = _WRITTEN if answer.model else _QUOTED
                draw_sources(mind, answer.sources, place.key, standing=standing, question=_asked(turn))
            elif answer is not None and answer.sources:
                draw_places(answer.sources, place.key, _asked(turn))
            if turn.web:
                draw_web(turn.web, place.key)
            if place.is_last and answer is not None:
                found.draw(mind, _asked(turn), turn.filters, f"{place.key}-found")
            timetravel.switcher(mind, view, turn)
            if place.is_last:
                draw_proposals(mind, view.thread.thread_id, turn.memories)


def _draw_answer(mind: DocMind, turn: Turn, answer: Answer, place: Place) -> None:
    if answer.found or answer.model:
        st.markdown(answer_markdown(answer))
    elif turn.state != "stopped":
        st.markdown("**Not found in your documents.** No page says it clearly enough to quote.")
    if answer.found or turn.state == "stopped":
        return
    if turn.filters != Filters():
        st.caption("You looked in a part of your documents only; widen the filter to look in all.")
    if turn.nearest and place.is_open:
        st.caption("These pages come closest:")
        draw_nearest(mind, turn.nearest, f"{place.key}-near", _asked(turn))


def _asked(turn: Turn) -> str:
    """The question as it was understood, or as it was typed."""
    return turn.asked_as or turn.question


def _draw_trouble(mind: DocMind, view: ThreadView, turn: Turn, place: Place) -> None:
    """What went wrong, and the way to try it again; what is shown below it is the answer without that."""
    message, hint = turn.message, turn.hint
    if turn.state == "unanswered" and not message:
        message, hint = _last_failure(mind, view.thread.thread_id, turn)
    if not message:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"{place.key}-trouble"):
        with st.container(gap="xxsmall"):
            st.markdown(f":material/error: {escape(message)}")
            instead = "Below are quotes from your pages instead. " if turn.answer and turn.answer.found else ""
            if instead or hint:
                st.caption(instead + escape(hint))
        actions.try_again(mind, view.thread, turn, place.key, is_free=place.is_free)


def _last_failure(mind: DocMind, thread_id: str, turn: Turn) -> tuple[str, str]:
    """Why a question has no answer: as its run told, or where that is not known, because it was cut off."""
    asked = st.session_state.get(state.ASKED)
    run = trouble.attempt(lambda: mind.conversations.run(asked)) if asked else None
    if isinstance(run, RunProgress) and run.message and (run.thread_id, run.question) == (thread_id, turn.question):
        return run.message, run.hint
    return _CUT_OFF, "It is kept."


def _told(turn: Turn) -> str:
    """How it ended, how long it took, and who wrote it."""
    answer = turn.answer
    timings = dict(answer.timings_ms) if answer is not None else {}
    took = duration(timings["total"]) if "total" in timings else ""
    if turn.state == "stopped":
        kept = "what was written is kept" if answer is not None and answer.answer else "nothing was written yet"
        told = f":material/stop_circle: Stopped{f' after {took}' if took else ''}; {kept}"
    else:
        told = f"Answered in {took}" if took else ""
    return f"{told} · {escape(answer.model, limit=48)}" if answer is not None and answer.model else told


def _draw_notes(turn: Turn, names: Mapping[str, str]) -> None:
    if turn.asked_as and turn.asked_as != turn.question:
        st.caption(f":material/subdirectory_arrow_right: Understood as: {escape(turn.asked_as, limit=240)}")
    known = [names[doc_id] for doc_id in turn.recalled if doc_id in names]
    if known:
        listed = ", ".join(escape(shorten(name, 48)) for name in known[:_NAMED])
        more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
        st.caption(f":material/history: Looked again in {listed}{more}, where the answer before came from.")
    for degraded in turn.answer.degraded if turn.answer is not None else ():
        if degraded.reason != turn.message:  # it is told above
            st.caption(f":material/info: Without {escape(degraded.stage)}: {escape(degraded.reason)}")


def draw_web(results: tuple[WebResult, ...], key: str) -> None:
    """What the web said, apart from what the documents say. Addresses are words, not links."""
    label = f"{count(len(results), 'result')} from the web, not from your documents"
    with st.expander(label, icon=":material/public:", key=f"{key}-web"):
        for result in results:
            st.markdown(f"**{escape(result.title, limit=120)}** · {escape(_host(result.url), limit=60)}")
            st.text(shorten(result.excerpt, 600))
            st.caption(escape(result.url, limit=160))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or "address"
    except ValueError:
        return "address"
