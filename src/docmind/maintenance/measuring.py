"""Asking the queries of a labelled set: what was found, scored against the labels, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from docmind.conversations import Answerer, Conversations
from docmind.evaluation import LabelledQuery, Scored, figure_of, scored
from docmind.records.answers import Answer
from docmind.records.evaluation import Figure, GoldenScore, GradedPage, Latency, QueryScore, Writing
from docmind.records.query import Query
from docmind.records.search import MultimodalHit
from docmind.runtime import ms_since
from docmind.search import MultimodalSearch

Names = Callable[[str, str], tuple[str, ...]]
"""Returns the names that labels give to a document, by its id and file name."""

_WORDS = ("text", "code")
_LOOKS = ("image", "visual")


@dataclass(slots=True)
class Measured:
    """The scores of all queries, and the durations of stages in milliseconds. Not thread-safe."""

    scores: list[QueryScore] = field(default_factory=list)
    durations: dict[str, list[float]] = field(default_factory=dict)
    golden: list[GoldenScore] = field(default_factory=list)

    def note(self, timings: Sequence[tuple[str, float]]) -> None:
        """Note durations of stages."""
        for stage, duration in timings:
            self.durations.setdefault(stage, []).append(duration)

    def stages(self) -> dict[str, Latency]:
        """Return the median and the 95th percentile of each stage."""
        found = {name: np.quantile(values, [0.5, 0.95]) for name, values in self.durations.items()}
        return {name: Latency(float(middle), float(high)) for name, (middle, high) in found.items()}


class Measuring:
    """Asks queries of one library, with lists and answers as configured. Not thread-safe.

    With `conversations`, their language model answers each query too, as in the chat; nothing of that is stored.
    """

    def __init__(
        self,
        *,
        lists: MultimodalSearch,
        answerer: Answerer,
        names: Names,
        k: int,
        by_document: bool,
        answers: bool,
        conversations: Conversations | None = None,
    ) -> None:
        self._lists, self._answerer, self._names = lists, answerer, names
        self._k, self._by_document, self._answers = k, by_document, answers
        self._conversations = conversations

    def run(self, queries: Sequence[LabelledQuery], tell: Callable[[int], None]) -> Measured:
        """Ask all queries; `tell` gets how many are done. Raises what the search and `tell` raise."""
        measured = Measured()
        self._lists.search(Query(queries[0].text, k=self._k))  # starts the models: no part of what is measured
        for number, query in enumerate(queries):
            tell(number)
            if "golden" in query.facts:
                measured.golden.append(self._golden(query))
            else:
                measured.scores.append(self._score(query, measured))
        return measured

    def lift(self, queries: Sequence[LabelledQuery]) -> Figure | None:
        """Return the gain in recall by lists of page images; None where none has a hit for these queries."""
        gains, has_looks = list[float](), False
        for query in queries:
            hits = self._hits(query)
            has_looks = has_looks or any(origin.list in _LOOKS for hit in hits for origin in hit.origins)
            words = tuple(self._lists.search(Query(query.text, k=self._k, lists=_WORDS)).hits)
            gains.append(self._scored(query, hits)[0].recall - self._scored(query, words)[0].recall)
        return figure_of(gains) if has_looks else None

    def _hits(self, query: LabelledQuery) -> tuple[MultimodalHit, ...]:
        return self._lists.search(self._asked(query)).hits

    def _asked(self, query: LabelledQuery) -> Query:
        return Query(query.text, k=self._k, dedup_key="doc_id" if self._by_document else None)

    def _score(self, query: LabelledQuery, measured: Measured) -> QueryScore:
        started = time.perf_counter()
        result = self._lists.search(self._asked(query))
        duration = ms_since(started)
        measured.note(result.timings_ms)
        metrics, found = self._scored(query, result.hits)
        answer = self._answered(query, measured) if self._answers else None
        return QueryScore(
            query.id, query.text, query.language, query.category, query.is_answerable, metrics.ndcg, metrics.recall,
            metrics.precision, metrics.f1, metrics.mrr, outcome=answer.outcome if answer else None,
            is_right=answer is not None and self._is_right(query, answer), ms=duration,
            relevant=tuple(page for page in query.relevant if page.grade), found=found,
            confidence=answer.confidence if answer else None, writing=self._written(query),
        )  # fmt: skip

    def _scored(self, query: LabelledQuery, hits: Sequence[MultimodalHit]) -> tuple[Scored, tuple[GradedPage, ...]]:
        found = self._graded(query, hits)
        return scored([page.grade for page in found], [page.grade for page in query.relevant], self._k), found

    def _graded(self, query: LabelledQuery, hits: Sequence[MultimodalHit]) -> tuple[GradedPage, ...]:
        """Return the pages of hits, each once, with their grades.

        Of a document that is graded as a whole, its first page has the grade.
        """
        labels = _labels_of(query)
        graded, seen = list[GradedPage](), set[str]()
        for hit in _once(hits[: self._k]):
            names = self._names(hit.doc_id, hit.document)
            page_no = 0 if self._by_document else hit.page_no
            grade = max(
                (
                    labels.get((name, hit.page_no), labels.get((name, 0), 0) if name not in seen else 0)
                    for name in names
                ),
                default=0,
            )
            seen.update(names)
            shown = names[0] if self._by_document and names else hit.document
            graded.append(GradedPage(shown, page_no, grade, hit.doc_id, float(hit.score)))
        return tuple(graded)

    def _answered(self, query: LabelledQuery, measured: Measured) -> Answer:
        answer = self._answerer.ask(Query(query.text))
        measured.note([(name, duration) for name, duration in answer.timings_ms if name == "answer"])
        return answer

    def _written(self, query: LabelledQuery) -> Writing | None:
        if self._conversations is None:
            return None
        answer = self._conversations.ask(Query(query.text)).answer
        written = (
            next((one for one in (answer, answer.other) if one is not None and one.model), None) if answer else None
        )
        if written is None:
            return Writing(questions=1)
        claims = [one for one in written.sentences if one.is_claim]
        supported = sum(one.supported for one in claims)
        missing = sum(not one.supported and not one.seen for one in claims)
        return Writing(1, 1, int(not claims), len(claims), supported, missing)

    def _is_right(self, query: LabelledQuery, answer: Answer) -> bool:
        if not answer.sources:
            return False
        first, labels = answer.sources[0], _labels_of(query)
        names = self._names(first.doc_id, first.document)
        return any(labels.get((name, page), 0) > 0 for name in names for page in (first.page_no, 0))

    def _golden(self, query: LabelledQuery) -> GoldenScore:
        needed = int(next(iter(query.facts["golden"])))
        result = self._lists.search(Query(query.text, k=self._k))
        states = {report.list: report.state for report in result.lists}
        seen = [hit for hit in result.hits if any(origin.list in _LOOKS for origin in hit.origins)]
        findings = len({hit.page_id for hit in (*seen, *result.looks)})
        is_on = any(states.get(name) in ("ran", "empty") for name in _LOOKS)
        state = "skipped" if not is_on else "passed" if findings >= needed else "failed"
        return GoldenScore(query.id, query.text, state, findings, needed)


def _once(hits: Iterable[MultimodalHit]) -> list[MultimodalHit]:
    """Return the first hit of each page, which has several where passages are ranked."""
    first: dict[str, MultimodalHit] = {}
    for hit in hits:
        first.setdefault(hit.page_id, hit)
    return list(first.values())


def _labels_of(query: LabelledQuery) -> Mapping[tuple[str, int], int]:
    return {(page.doc_id or page.document, page.page_no): page.grade for page in query.relevant}
