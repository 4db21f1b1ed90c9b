"""Measuring: what a set is for, the buttons that start it, how far it is, and how to stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.records.evaluation import LABELS, SAMPLE, EvaluationSet
from docmind.ui.app import errors, long_work, state
from docmind.ui.app.app_state import app_state
from docmind.ui.app.format import count, documents
from docmind.ui.app.long_work import LongWork, Report
from docmind.ui.evaluation.figures import set_name
from docmind.wording import N_, _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind

WORK = "evaluation"
_MODEL = "evaluation-model"
_STARTS = {
    SAMPLE: N_("Measure with the set that comes with DocMind"),
    LABELS: N_("Measure with your own labels"),
}


def draw(docmind: DocMind, *, is_first: bool) -> None:
    """Draw how far a measurement is, or the buttons that start one; `is_first` says that there is none yet."""
    going = app_state().work(WORK)
    if going is not None and not going.is_over:
        long_work.draw(going, _progress, key=WORK)
        return
    if going is not None and going.error is None:
        st.session_state[state.EVALUATION_RUN], st.session_state[state.EVALUATION_BEFORE] = going.result
        app_state().forget(WORK)
    elif going is not None and going.error is not None:
        errors.show(going.error)
    if is_first:
        _draw_purpose()
    if docmind.is_read_only:
        st.caption(_("The library is open for reading only, so nothing can be measured."))
        return
    sets = {one.name: one for one in docmind.evaluation.sets()}
    with st.container(horizontal=True, vertical_alignment="center", key="evaluation-start"):
        for name in (SAMPLE, LABELS):
            one = sets.get(name)
            if one is not None and one.queries:
                st.button(
                    _(_STARTS[name]), key=f"evaluation-start-{name}", icon=":material/speed:",
                    type="primary" if is_first and name == SAMPLE else "secondary", help=_about(one),
                    on_click=_start, args=(name,),
                )  # fmt: skip
    if any(one.queries for one in sets.values()):
        _draw_switch(docmind)
    for name in (SAMPLE, LABELS):
        if name in sets and sets[name].queries:
            st.caption(_told(sets[name]))
    errors.show_of(WORK)


def compare_text_models(name: str) -> None:
    """Measure the set that comes with DocMind with the text model in use and with another one.

    They are compared once both have answered. Raises what starting raises.
    """

    def measure(docmind: DocMind, report: Report) -> tuple[str, str]:
        with app_state().times.paused(), docmind.evaluation.with_text_model(name) as other:
            before = docmind.evaluation.run(progress=lambda done, total: report(done, 2 * total))
            after = other.run(progress=lambda done, total: report(total + done, 2 * total))
        return after.run_id, before.run_id

    app_state().start(WORK, measure)


def _draw_switch(docmind: DocMind) -> None:
    """Draw the switch that has the language model answer too; without one it is off."""
    model = docmind.models.current()
    if model is None:
        st.session_state[_MODEL] = False
    st.toggle(
        _("Have the language model answer too"), key=_MODEL, disabled=model is None,
        help=_("Its claims are checked and counted, as in the chat. This takes much longer.")
        if model is not None
        else _("No language model is used: answers are quotes."),
    )  # fmt: skip


def _start(name: str) -> None:
    has_model = bool(st.session_state.get(_MODEL))

    def measure(docmind: DocMind, report: Report) -> tuple[str, str]:
        with app_state().times.paused():
            return docmind.evaluation.run(name, model=has_model, progress=report).run_id, ""

    errors.heed(WORK, lambda: app_state().start(WORK, measure))


def _progress(going: LongWork) -> str:
    return _("Measuring… {percent} %").format(percent=round(100 * going.done / going.total))


def _about(one: EvaluationSet) -> str:
    questions = count(ngettext("{n} question", "{n} questions", one.queries), one.queries)
    return f"{questions}, {documents(one.documents)}" if one.documents else questions


def _told(one: EvaluationSet) -> str:
    if one.name == SAMPLE:
        return _("{set}: {what}; a minute or two. Your library is not touched.").format(
            set=set_name(one.name), what=_about(one)
        )
    return _("{set}: {what}, asked of your library.").format(set=set_name(one.name), what=_about(one))


def _draw_purpose() -> None:
    with st.container(border=True, key="evaluation-purpose"):
        st.subheader(_("Nothing measured yet"), anchor=False)
        st.markdown(
            _(
                "DocMind asks questions whose right pages are known, and counts how many of these pages it finds.\n\n"
                "- See how well your settings find pages, with numbers and how sure they are.\n"
                "- Change a setting or a model, measure again, and compare question by question.\n"
                "- Say of the sources of your own answers whether they are good: your labels become a set of your own."
            )
        )
