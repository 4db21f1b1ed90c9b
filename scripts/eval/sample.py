"""The set that comes with DocMind, measured as `docmind evaluate` does, and its figures in README and docs."""

from __future__ import annotations

from harness import opened, vault_place

from bench.report import ROOT, machine, write
from docmind.records.evaluation import Run

_NAMES = {"ndcg": "nDCG@{k}", "recall": "Recall@{k}", "mrr": "MRR@{k}"}
_LANGUAGES = {"en": "English", "pt": "Portuguese", "es": "Spanish"}
_README, _DOCS = ROOT / "README.md", ROOT / "docs" / "evaluation.md"


def measure() -> None:
    """Measure the set with the settings of a fresh library, and print the figures into README and docs."""
    measured_on = machine()
    with vault_place(None) as place, opened(place) as docmind:
        run = docmind.evaluation.run()
    print(in_short(run), in_full(run, measured_on), sep="\n\n")
    write(_README, "sample", in_short(run))
    write(_DOCS, "sample", in_full(run, measured_on))


def in_short(run: Run) -> str:
    """Return the figures in one sentence."""
    figures = ", ".join(
        f"{name.format(k=run.k)} {run.figures[metric].mean:.3f}"
        f" ({run.figures[metric].low:.2f} to {run.figures[metric].high:.2f})"
        for metric, name in _NAMES.items()
    )
    return (
        f"On the set that comes with DocMind (`docmind evaluate`; {run.answerable} questions with an answer in three"
        f" languages):\n{figures}."
    )


def in_full(run: Run, measured_on: str) -> str:
    """Return the figures as tables, with how long the run took and where."""
    head = "| questions | n | " + " | ".join(name.format(k=run.k) for name in _NAMES.values()) + " |"
    rows = [("all", run.answerable, run.figures)]
    rows += [(_LANGUAGES.get(one, one), group.queries, group.figures) for one, group in sorted(run.by_language.items())]
    rows += [(one, group.queries, group.figures) for one, group in sorted(run.by_category.items())]
    lines = [
        f"| {name} | {count} | " + " | ".join(f"{figures[metric].mean:.3f}" for metric in _NAMES) + " |"
        for name, count, figures in rows
    ]
    said = run.outcomes
    answered = (said.answerable.get("answer", 0), said.answerable.get("maybe", 0), said.answerable.get("not found", 0))
    refused = (
        said.unanswerable.get("answer", 0),
        said.unanswerable.get("maybe", 0),
        said.unanswerable.get("not found", 0),
    )
    outcomes = [
        "| | answered | may be answered | not found |",
        "|---|---|---|---|",
        f"| with an answer | {answered[0]}, a right page first in {said.right} | {answered[1]} | {answered[2]} |",
        f"| without one | {refused[0]} | {refused[1]} | {refused[2]} |",
    ]
    took = f"{run.seconds:.0f} s for {len(run.scores)} questions and their documents. {measured_on}."
    return "\n".join([took, "", head, "|---|---|" + "---|" * len(_NAMES), *lines, "", *outcomes])
