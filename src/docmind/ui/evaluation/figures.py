"""Figures of evaluations in words: metrics, intervals, names of sets, languages and categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from docmind.records.evaluation import LABELS, METRICS, SAMPLE, Figure, Metric, RunSummary
from docmind.rich_text import escape, one_line
from docmind.ui.app.format import language, when
from docmind.wording import N_, _, number_text

LEAST_NDCG = 0.65
"""The nDCG below which a run is marked, as the alert `NDCGRegression` has it."""

MEANINGS: dict[Metric, str] = {
    "ndcg": N_("How high the right pages stand in the list; 1 is perfect."),
    "recall": N_("The part of the right pages that is among the first {k}."),
    "precision": N_("The part of the first {k} pages that is right."),
    "f1": N_("Recall and precision in one number."),
    "mrr": N_("1 where the first page is right, ½ where it is the second, ⅓ the third."),
}
_STAGES = {
    "total": N_("Whole search"),
    "search": N_("Whole search"),
    "answer": N_("Choice of quotes"),
    "reading": N_("Reading of a file"),
    "embed": N_("Meaning of the question"),
    "embedding": N_("Meaning of the question"),
    "hits": N_("Places on pages"),
    "cross_encoder": N_("Cross-encoder"),
    "rerank": N_("Second look"),
    "text": N_("List of words"),
    "code": N_("List of code"),
    "image": N_("List by look"),
    "visual": N_("List by parts of pages"),
    "lookalike": N_("Search by a picture"),
    "merge": N_("Merging of lists"),
}
_SETS = {SAMPLE: N_("Set that comes with DocMind"), LABELS: N_("Your own labels")}


def metric_name(metric: str) -> str:
    """Return the name of a metric for people."""
    return _(METRICS[metric]) if metric in METRICS else metric


def set_name(name: str) -> str:
    """Return the name of a set for people. Escape it before drawing."""
    return _(_SETS[name]) if name in _SETS else name


def run_name(run: RunSummary) -> str:
    """Return what a list calls a run: when it was made, its nDCG, its set; a text, not Markdown."""
    ndcg = run.figures.get("ndcg")
    told = f"{metric_name('ndcg')} {value(ndcg.mean)}" if ndcg is not None else ""
    return " · ".join(part for part in (when(run.made_at_ms), told, one_line(set_name(run.set_name))) if part)


def setting_name(name: str, titles: Mapping[str, str]) -> str:
    """Return what the Settings page calls a setting, with its technical name; that alone where it stands nowhere."""
    return f"{titles[name]} ({name})" if name in titles else name


def language_of(code: str) -> str:
    """Return the name of a language for people; a dash for none."""
    return language(code) if code else "–"


def stage_name(name: str) -> str:
    """Return the name of a stage for people. Escape it before drawing."""
    return _(_STAGES[name]) if name in _STAGES else name.replace("_", " ")


def value(number: float) -> str:
    """Format a metric, 0..1, with two decimals."""
    return number_text(number, 2)


def interval(figure: Figure) -> str:
    """Format the interval of a figure: `0.76 to 0.86`."""
    return _("{low} to {high}").format(low=value(figure.low), high=value(figure.high))


def signed(number: float) -> str:
    """Format a difference with its sign: `+0.03`, `−0.10`, `0.00`."""
    text = value(abs(number))
    if text == value(0):
        return text
    return f"{'+' if number > 0 else '−'}{text}"


def draw_table(head: Sequence[str], rows: Sequence[Sequence[str]], key: str) -> None:
    """Draw a small table; cells are texts, not Markdown. The first column is words, the others are numbers."""
    lines = [_line(head), "|" + "|".join([":---"] + ["---:"] * (len(head) - 1)) + "|", *map(_line, rows)]
    with st.container(key=key):
        st.markdown("\n".join(lines))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escape(cell, limit=80) for cell in cells) + " |"
