"""Comparison of two answers of a conversation: their sentences, and the pages they cite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError, NotFoundError
from docmind.records.answers import Answer, Source
from docmind.records.conversations import Comparison, Turn
from docmind.rich_text import escape, visible
from docmind.ui.app import errors, state
from docmind.ui.app.format import count, data_url, duration, when
from docmind.ui.app.names import called
from docmind.ui.app.page_links import cited_in, source_link
from docmind.ui.app.page_view import source_jpeg
from docmind.wording import N_, _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind

_TILE = 118  # pixels across: three in a row on a phone
_THUMBNAIL = 360
_LOOKS = Path(__file__).with_suffix(".css")
_MARKS = re.compile(
    r"\*\*|^(?:[-*+]|#{1,6})[ ]"
)  # Markdown that a model emphasises with; each sentence is shown alone here
_STATES = {"stopped": N_("stopped before its end"), "unanswered": N_("not answered")}


def draw(docmind: DocMind) -> bool:
    """Draw the two chosen answers in place of the conversation; False where none are chosen."""
    thread_id, left, right = st.session_state.get(state.COMPARING, ("", "", ""))
    if not right:
        return False
    if thread_id != st.session_state.get(state.THREAD):
        _close()
        return False
    st.button(_("Back to the conversation"), icon=":material/arrow_back:", type="tertiary", on_click=_close)
    outcome = errors.attempt(lambda: docmind.conversations.compare(thread_id, left, right))
    if isinstance(outcome, DocMindError):
        errors.show(outcome)
        return True
    _heading(outcome)
    _answers(outcome)
    _pages(docmind, outcome)
    return True


def _close() -> None:
    st.session_state.pop(state.COMPARING, None)


def _heading(found: Comparison) -> None:
    st.html(_LOOKS)
    st.title(_("Two answers side by side"), anchor=False)
    if found.left.question == found.right.question:
        st.text(visible(found.left.question))
    with st.container(key="compared-told"):
        _tell(found)


def _tell(found: Comparison) -> None:
    same = sum(1 for kind, _text in found.changes if kind == "same")
    if not found.changes:
        st.caption(_("Neither says anything."))
    elif same == len(found.changes):
        st.caption(
            _("Both say the same, in {count}.").format(
                count=count(ngettext("{n} sentence", "{n} sentences", same), same)
            )
        )
    else:
        told = count(ngettext("{n} sentence", "{n} sentences", same), same) if same else _("No sentence")
        st.caption(
            _("{told} in both. What only one of them says is :yellow-background[highlighted].").format(told=told)
        )


def _answers(found: Comparison) -> None:
    is_same = found.left.question == found.right.question
    sides = ((_("First"), "only_left", found.left), (_("Second"), "only_right", found.right))
    for column, (name, only, turn) in zip(st.columns(2, gap="medium"), sides, strict=True):
        with column, st.container(border=True, key=f"compared-{only}"):
            st.caption(f"**{name}** · {_facts(turn)}")
            if not is_same:
                st.text(visible(turn.question))
            said = [(kind, text) for kind, text in found.changes if kind in ("same", only)]
            if said:
                st.markdown("\n\n".join(_sentence(kind, text) for kind, text in said))
            else:
                st.markdown(f"*{escape(turn.message) or _('No answer.')}*")


def _sentence(kind: str, text: str) -> str:
    words = escape(_MARKS.sub("", text))
    return words if kind == "same" else f":yellow-background[{words}]"


def _facts(turn: Turn) -> str:
    facts = [when(turn.asked_at_ms)]
    if turn.answer is not None:
        facts.append(
            _("written by {writer}").format(writer=escape(turn.answer.writer, limit=64))
            if turn.answer.model
            else _("made of quotes")
        )
        total = dict(turn.answer.timings_ms).get("total")
        if total is not None:
            facts.append(_("in {time}").format(time=duration(total)))
    if turn.state in _STATES:
        facts.append(_(_STATES[turn.state]))
    return " · ".join(facts)


def _pages(docmind: DocMind, found: Comparison) -> None:
    sources = {side: _by_page(turn) for side, turn in (("left", found.left), ("right", found.right))}
    groups = (
        (_("Both rest on"), found.pages_both, "left"),
        (_("Only the first"), found.pages_left, "left"),
        (_("Only the second"), found.pages_right, "right"),
    )
    if not any(pages for _name, pages, _side in groups):
        return
    st.subheader(_("Sources"), anchor=False)
    told = [group for group in groups if group[1]]
    for column, (name, pages, side) in zip(st.columns(len(told), gap="medium"), told, strict=True):
        with column:
            st.caption(name)
            with st.container(horizontal=True):
                for page in pages:
                    with st.container(width=_TILE, gap=None):
                        turn = found.left if side == "left" else found.right
                        _tile(docmind, sources[side][page], turn.answer)


def _by_page(turn: Turn) -> dict[str, list[Source]]:
    pages: dict[str, list[Source]] = {}
    for source in turn.answer.sources if turn.answer is not None else ():
        pages.setdefault(source.page_id, []).append(source)
    return pages


def _tile(docmind: DocMind, cited: Sequence[Source], answer: Answer | None) -> None:
    source = replace(cited[0], boxes=tuple(box for source in cited for box in source.boxes))
    picture = errors.attempt(lambda: source_jpeg(docmind, source, _THUMBNAIL))
    if isinstance(picture, DocMindError):
        st.caption(
            _("Page {page_no} · {document}").format(page_no=source.page_no, document=escape(called(source), limit=34))
        )
        st.caption(_("This document has been deleted.") if isinstance(picture, NotFoundError) else escape(str(picture)))
        return
    link = source_link(source, cited_in(answer, source.n) if answer is not None else None)
    st.image(
        data_url(picture),
        width="stretch",
        alt=_("Page {page_no} of {document}").format(page_no=source.page_no, document=called(source)),
        link=link,
    )
    st.markdown(f"[**{_('Page {n}').format(n=source.page_no)}**]({link})")
    st.caption(escape(called(source), limit=34))
