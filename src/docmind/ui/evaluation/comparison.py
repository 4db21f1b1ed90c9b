"""Two runs compared query by query: which are better and worse, and which settings differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from docmind.records.evaluation import LABELS, METRICS, Figure, QueryChange, RunComparison
from docmind.ui.app.format import when
from docmind.ui.evaluation.figures import draw_table, metric_name, setting_name, signed, value
from docmind.ui.evaluation.report import draw_query, writing_row
from docmind.wording import _, number_text

_SHOWN = 20  # queries that are listed of each kind


def draw(compared: RunComparison, titles: Mapping[str, str]) -> None:
    """Draw the comparison; `titles` are those of settings, by name."""
    st.subheader(_("Compared"), anchor=False)
    st.markdown(
        _("{before} → {after}").format(before=when(compared.before.made_at_ms), after=when(compared.after.made_at_ms))
    )
    st.markdown(f"**{summary(compared)}**")
    _draw_settings(compared, titles)
    rows = [
        (
            metric_name(metric),
            f"{value(compared.before.figures[metric].mean)} → {value(compared.after.figures[metric].mean)}",
            _difference(compared.differences[metric]),
            _verdict(compared.differences[metric]),
        )
        for metric in METRICS
        if metric in compared.differences
    ]
    draw_table(("", _("Mean"), _("Difference"), _("Verdict")), rows, "evaluation-differences")
    written = [
        (when(run.made_at_ms), run.writing) for run in (compared.before, compared.after) if run.writing is not None
    ]
    if len(written) == 2:
        head = (_("Claims of the language model"), _("Answers"), _("Claims"), _("Supported"), _("Not found"))
        draw_table(head, [writing_row(name, one) for name, one in written], "evaluation-writing-compared")
    is_own = compared.after.set_name == LABELS
    _draw_changes(_("Better"), compared.better, "better", is_own=is_own)
    _draw_changes(_("Worse"), compared.worse, "worse", is_own=is_own)


def summary(compared: RunComparison) -> str:
    """Return the comparison in one line: `3 better, 1 worse, 196 the same`."""
    return _("{better} better, {worse} worse, {same} the same").format(
        better=number_text(len(compared.better)),
        worse=number_text(len(compared.worse)),
        same=number_text(compared.same),
    )


def _difference(difference: Figure) -> str:
    between = _("{low} to {high}").format(low=signed(difference.low), high=signed(difference.high))
    return f"{signed(difference.mean)} ({between})"


def _verdict(difference: Figure) -> str:
    """Return what the interval tells: where it holds 0 among others, that is not clear."""
    if difference.low > 0:
        return _("better")
    if difference.low == difference.high == 0:
        return _("the same")
    return _("worse") if difference.high < 0 else _("not clear")


def _draw_settings(compared: RunComparison, titles: Mapping[str, str]) -> None:
    if not compared.settings:
        st.caption(_("Both runs have the same settings and models."))
        return
    rows = [
        (setting_name(name, titles), before or "–", after or "–") for name, (before, after) in compared.settings.items()
    ]
    draw_table((_("Setting"), _("Before"), _("After")), rows, "evaluation-changed-settings")


def _draw_changes(title: str, changes: Sequence[QueryChange], key: str, *, is_own: bool) -> None:
    if not changes:
        return
    st.markdown(f"**{title} ({number_text(len(changes))})**")
    for change in changes[:_SHOWN]:
        draw_query(change.before, f"evaluation-{key}-{change.before.query_id}", change.after, is_own=is_own)
    if len(changes) > _SHOWN:
        st.caption(_("and {n} more").format(n=number_text(len(changes) - _SHOWN)))
