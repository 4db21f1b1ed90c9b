"""One question and what came back, as a turn of the conversation in this tab."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.schema import Answer, Filters, Hit
from docmind.ui import trouble
from docmind.ui.escape import escape, visible
from docmind.ui.sources import answer_markdown, draw_nearest, draw_sources
from docmind.ui.wording import duration

if TYPE_CHECKING:
    from docmind.application import DocMind

_NEAREST = 4
_USER = ":material/person:"
_DOCMIND = str(Path(__file__).parent / "mark.svg")


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with its answer or the error it met; `nearest` are the closest pages where nothing was found."""

    question: str
    outcome: Answer | DocMindError
    nearest: tuple[Hit, ...] = ()
    is_narrowed: bool = False


def ask(mind: DocMind, question: str, filters: Filters) -> Turn:
    """Show the question, look through the pages, and give back the turn."""
    with st.chat_message("user", avatar=_USER):
        st.text(visible(question))
    with st.chat_message("assistant", avatar=_DOCMIND), st.spinner("Looking through your pages…"):
        outcome = trouble.attempt(lambda: mind.ask(question, filters=filters))
        nearest: tuple[Hit, ...] = ()
        if isinstance(outcome, Answer) and not outcome.found:
            closest = trouble.attempt(lambda: mind.search(question, k=_NEAREST, filters=filters))
            nearest = () if isinstance(closest, DocMindError) else closest.hits
    return Turn(question, outcome, nearest, filters != Filters())


def draw_turn(mind: DocMind, turn: Turn, key: str) -> None:
    """The question, the answer, its sources; or the closest pages; or what went wrong."""
    with st.chat_message("user", avatar=_USER):
        st.text(visible(turn.question))
    with st.chat_message("assistant", avatar=_DOCMIND):
        if isinstance(turn.outcome, DocMindError):
            trouble.show(turn.outcome)
        elif turn.outcome.found:
            st.markdown(answer_markdown(turn.outcome))
            _footnotes(turn.outcome)
            draw_sources(mind, turn.outcome.sources, key)
        else:
            _not_found(mind, turn, key)
            _footnotes(turn.outcome)


def _not_found(mind: DocMind, turn: Turn, key: str) -> None:
    st.markdown("**Not found in your documents.** No page says it clearly enough to quote.")
    if turn.is_narrowed:
        st.caption("You are looking in a part of your documents only; widen the filter to look in all.")
    if turn.nearest:
        st.caption("These pages come closest:")
        draw_nearest(mind, turn.nearest, key)


def _footnotes(answer: Answer) -> None:
    for degraded in answer.degraded:
        st.caption(f":material/info: Without {escape(degraded.stage)}: {escape(degraded.reason)}")
    timings = dict(answer.timings_ms)
    if "total" in timings:
        parts = " · ".join(f"{escape(name)} {duration(ms)}" for name, ms in timings.items() if name != "total")
        st.caption(f"Answered in {duration(timings['total'])}", help=parts or None)
