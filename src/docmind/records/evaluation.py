"""Frozen records of evaluations: labelled sets, the scores of a run, and the difference between two runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from docmind.records.answers import Outcome
from docmind.wording import N_

Metric = Literal["ndcg", "recall", "precision", "f1", "mrr"]

METRICS: dict[Metric, str] = {
    "ndcg": N_("nDCG"),
    "recall": N_("Recall"),
    "precision": N_("Precision"),
    "f1": N_("F1"),
    "mrr": N_("MRR"),
}
"""The metrics of a ranking, each with its name for people; all lie in 0..1, and more is better."""

GoldenState = Literal["passed", "failed", "skipped"]

GOLDEN_STATES: dict[GoldenState, str] = {"passed": N_("passed"), "failed": N_("failed"), "skipped": N_("skipped")}
"""The words for the outcome of a golden case."""

SAMPLE = "sample"
"""The name of the set that comes with DocMind."""

LABELS = "labels"
"""The name of the set that the user's own labels of sources make, over the open library."""

GOOD, NO_SOURCE = 2, 0
"""The grades that a person gives: the page answers the question, or is no source for it."""


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """A labelled set that can be measured by its name. `documents` is 0 for a set over the open library."""

    name: str
    documents: int
    queries: int
    languages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GradedPage:
    """A page with its grade for a question: 2 answers it, 1 is related, 0 is neither.

    `page_no` is 0 where the whole document is graded. `doc_id` is empty where the document is not in the library.
    `score` is that of the ranking.
    """

    document: str
    page_no: int
    grade: int
    doc_id: str = ""
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Writing:
    """What a language model wrote for questions, checked against the pages as in the chat.

    It wrote `answers` to some of the `questions`; `silent` of these answers make no claim: the documents do not say.
    For the other questions it wrote nothing: it failed, or the question is answered without one. Of all `claims`,
    `supported` ones have a quote, and `not_found` ones neither a quote nor a page image.
    """

    questions: int = 0
    answers: int = 0
    silent: int = 0
    claims: int = 0
    supported: int = 0
    not_found: int = 0


@dataclass(frozen=True, slots=True)
class QueryScore:
    """One query of a run, with what is labelled (`relevant`) and what was found, best first.

    Metrics are 0 where nothing is labelled (`is_answerable` is False): such a query counts for outcomes alone.
    `mrr` is the reciprocal of the first rank with a relevant page. `outcome` is None where no answer was asked for.
    `ms` is the duration of the search. `text` is empty for a label that was removed since.
    """

    query_id: str
    text: str
    language: str
    category: str
    is_answerable: bool
    ndcg: float = 0.0
    recall: float = 0.0
    precision: float = 0.0
    f1: float = 0.0
    mrr: float = 0.0
    outcome: Outcome | None = None
    is_right: bool = False
    """Whether the first quote of the answer lies on a relevant page."""

    ms: float = 0.0
    relevant: tuple[GradedPage, ...] = ()
    found: tuple[GradedPage, ...] = ()
    confidence: float | None = None
    """The probability that the documents answer, as the answer weighed it; None without passages to weigh."""

    writing: Writing | None = None
    """What the language model wrote for this question; None where none was asked."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The questions whose confidence lies from `low` up to `high`: its mean, and the share with a right first quote."""

    low: float
    high: float
    questions: int
    confidence: float
    share: float


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over queries, and the interval that holds the true mean in 95 of 100 samples of queries."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Group:
    """The queries of one language or category: how many, and their metrics."""

    queries: int
    figures: Mapping[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How many questions had which outcome; `right` of the answered ones quote a relevant page first."""

    answerable: Mapping[str, int] = field(default_factory=dict)
    unanswerable: Mapping[str, int] = field(default_factory=dict)
    right: int = 0


@dataclass(frozen=True, slots=True)
class Latency:
    """The duration of one stage in milliseconds: of half of the queries, and of 95 of 100, it is at most this."""

    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class GoldenScore:
    """One golden case: how many pages that a list of page images found, of how many that are needed.

    It is skipped where no image model is in use.
    """

    case_id: str
    topic: str
    state: GoldenState
    findings: int
    needed: int


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a list of runs shows. `queries` counts all, `answerable` those that have metrics.

    `settings` are the settings and models in force, by name; none is a path.
    """

    run_id: str
    made_at_ms: int
    set_name: str
    version: str
    k: int
    queries: int
    answerable: int
    seconds: float
    settings: Mapping[str, str]
    filters: Mapping[str, str]
    figures: Mapping[str, Figure]
    writing: Writing | None = None
    """What the language model wrote; None where none was asked."""


@dataclass(frozen=True, slots=True)
class Run(RunSummary):
    """One measurement. `skipped` names rows of the set that could not be used, and documents that were not read."""

    by_language: Mapping[str, Group] = field(default_factory=dict)
    by_category: Mapping[str, Group] = field(default_factory=dict)
    outcomes: Outcomes = Outcomes()
    calibration: tuple[Calibration, ...] = ()
    stages: Mapping[str, Latency] = field(default_factory=dict)
    visual_lift: Figure | None = None
    """How much more of the labelled pages of visual queries is found with lists of page images than without them."""

    golden: tuple[GoldenScore, ...] = ()
    skipped: tuple[str, ...] = ()
    scores: tuple[QueryScore, ...] = ()
    writing_by_language: Mapping[str, Writing] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueryChange:
    """One query in two runs."""

    before: QueryScore
    after: QueryScore


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs over the queries that both have.

    `differences` are those of the means, `after` minus `before`, with paired intervals; `better` and `worse` are by
    nDCG, the largest change first; `same` counts the others. `settings` are those that differ: before, after.
    """

    before: RunSummary
    after: RunSummary
    differences: Mapping[str, Figure] = field(default_factory=dict)
    better: tuple[QueryChange, ...] = ()
    worse: tuple[QueryChange, ...] = ()
    same: int = 0
    settings: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceLabel:
    """What a person said of a page as a source for a question: `GOOD` or `NO_SOURCE`.

    `query_id` stands for the question in its conversation, and names it in runs. `thread_id` is empty for a question
    outside of any conversation.
    """

    query_id: str
    question: str
    doc_id: str
    page_no: int
    grade: int
    thread_id: str = ""
    at_ms: int = 0
