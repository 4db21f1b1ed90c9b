"""What the user says of a source: it is a good one for the question, or none. Such labels can be measured with.

A second press on a choice takes it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.records.answers import Source
from docmind.records.evaluation import GOOD, NO_SOURCE, SourceLabel
from docmind.rich_text import escape
from docmind.ui.app import errors
from docmind.ui.app.names import called
from docmind.ui.app.page_links import Cited
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind

_GRADES = {
    GOOD: (":material/thumb_up:", N_("Good source")),
    NO_SOURCE: (":material/thumb_down:", N_("Not a source for this")),
}


def draw_label(docmind: DocMind, source: Source, question: str, key: str, cited: Cited) -> None:
    """Draw the two choices for a source of the turn `cited`, with the one that stands."""
    if docmind.is_read_only:
        return
    labels = errors.attempt(lambda: docmind.evaluation.labels(cited.thread_id))
    if isinstance(labels, DocMindError):
        errors.show(labels)
        return
    place = f"{key}-label-{cited.checkpoint_id}"
    st.session_state[place] = _grade(labels, question, source)
    st.pills(
        _("Is page {page_no} of {document} a source for this?").format(
            page_no=source.page_no, document=escape(called(source))
        ),
        list(_GRADES),
        format_func=lambda grade: f"{_GRADES[grade][0]} {_(_GRADES[grade][1])}",
        key=place,
        label_visibility="collapsed",
        on_change=_label,
        args=(docmind, source, question, place, cited.thread_id),
    )
    errors.show_of(place)


def _grade(labels: Sequence[SourceLabel], question: str, source: Source) -> int | None:
    words = " ".join(question.split())
    wanted = (words, source.doc_id, source.page_no)
    return next((one.grade for one in labels if (one.question, one.doc_id, one.page_no) == wanted), None)


def _label(docmind: DocMind, source: Source, question: str, place: str, thread_id: str) -> None:
    grade: int | None = st.session_state.get(place)
    errors.heed(
        place,
        lambda: docmind.evaluation.label(question, source.doc_id, source.page_no, grade, thread_id=thread_id),
    )
