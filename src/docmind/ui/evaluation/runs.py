"""The runs of the library: the chosen one with its report, another one to compare with, downloads and removal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from docmind.client import encode
from docmind.errors import DocMindError
from docmind.evaluation import trec_run
from docmind.records.evaluation import Run, RunSummary
from docmind.rich_text import file_name
from docmind.ui.app import errors, state
from docmind.ui.evaluation import comparison, over_time, report
from docmind.ui.evaluation.figures import run_name
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.application import DocMind

_REMOVE = "evaluation-remove"
_ID = 8  # characters of an id that are shown


def draw(docmind: DocMind, runs: Sequence[RunSummary]) -> None:
    """Draw the chart of the chosen run's set, the choice of runs, and the report; `runs` are the newest first."""
    known = {run.run_id: run for run in runs}
    if st.session_state.get(state.EVALUATION_RUN) not in known:
        st.session_state[state.EVALUATION_RUN] = runs[0].run_id
    chosen, before = _chosen(known)
    titles = {info.name: info.title for info in docmind.settings.list()}
    over_time.draw([run for run in reversed(runs) if run.set_name == chosen.set_name])
    if before is not None:
        compared = errors.attempt(lambda: docmind.evaluation.compare(before.run_id, chosen.run_id))
        if isinstance(compared, DocMindError):
            errors.show(compared)
        else:
            comparison.draw(compared, titles)
    st.subheader(_("Report"), anchor=False)
    run = errors.attempt(lambda: docmind.evaluation.get(chosen.run_id))
    if isinstance(run, DocMindError):
        errors.show(run)
        run = None
    else:
        report.draw(run, titles)
    _draw_actions(docmind, chosen, run)


def _chosen(known: dict[str, RunSummary]) -> tuple[RunSummary, RunSummary | None]:
    """Draw the choice of a run and of an earlier one; return both."""
    names = names_of(known.values())
    left, right = st.columns(2)
    with left:
        name = st.selectbox(
            _("Run"), list(known), format_func=names.__getitem__,
            key=state.EVALUATION_RUN,
        )  # fmt: skip
    chosen = known[name]
    others = ["", *(run_id for run_id, run in known.items() if run_id != name and run.set_name == chosen.set_name)]
    if st.session_state.get(state.EVALUATION_BEFORE, "") not in others:
        st.session_state[state.EVALUATION_BEFORE] = ""
    with right:
        before = st.selectbox(
            _("Compare with"), others,
            format_func=lambda run_id: names.get(run_id) or _("No other run"),
            key=state.EVALUATION_BEFORE, disabled=len(others) == 1,
        )  # fmt: skip
    return chosen, known.get(before)


def names_of(runs: Iterable[RunSummary]) -> dict[str, str]:
    """Return the names of runs by their ids, each another one: a field keeps a choice by its name."""
    names = {run.run_id: run_name(run) for run in runs}
    times = Counter(names.values())
    return {run_id: f"{name} · {run_id[:_ID]}" if times[name] > 1 else name for run_id, name in names.items()}


def _draw_actions(docmind: DocMind, chosen: RunSummary, run: Run | None) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="evaluation-actions"):
        if run is not None:
            _draw_download(_("Download as JSON"), run, "json", lambda: json.dumps(encode(Run, run), indent=2))
            _draw_download(_("Download as TREC run"), run, "txt", lambda: trec_run(run))
        if not docmind.is_read_only:
            with st.popover(_("Remove"), icon=":material/delete:"):
                st.markdown(_("This run is removed for good. Your labels stay."))
                st.button(
                    _("Remove this run"), key=_REMOVE, on_click=errors.heed,
                    args=(_REMOVE, lambda: docmind.evaluation.remove(chosen.run_id)),
                )  # fmt: skip
    errors.show_of(_REMOVE)


def _draw_download(label: str, run: Run, ending: str, made: Callable[[], str]) -> None:
    st.download_button(
        label, made, file_name=f"docmind-{file_name(run.set_name)}-{run.run_id[:_ID]}.{ending}",
        key=f"evaluation-download-{ending}", icon=":material/download:", on_click="ignore",
    )  # fmt: skip
