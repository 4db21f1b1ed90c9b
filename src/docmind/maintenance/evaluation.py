"""Measuring search and answers on labelled sets, comparing the runs, and the user's own labels."""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from docmind import __version__
from docmind.config import Settings
from docmind.conversations import Conversations
from docmind.embedding import close_text_model, open_text_model
from docmind.errors import CancelledError, ConfigError
from docmind.evaluation import (
    VISUAL,
    LabelledSet,
    SourceLabels,
    difference_of,
    figure_of,
    labelled_set,
    read_set,
    sample_folder,
)
from docmind.maintenance.evaluation_runs import KeptRuns
from docmind.maintenance.measured_library import measured_library
from docmind.maintenance.measuring import Measured, Measuring
from docmind.observability import EvaluationCompleted, emit
from docmind.records.evaluation import (
    LABELS,
    METRICS,
    SAMPLE,
    Calibration,
    EvaluationSet,
    Figure,
    Group,
    Outcomes,
    QueryChange,
    QueryScore,
    Run,
    RunComparison,
    RunSummary,
    SourceLabel,
    Writing,
)
from docmind.records.query import Query
from docmind.vault import Vault
from docmind.wording import _

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docmind.conversations import Answerer
    from docmind.embedding import TextEmbedder
    from docmind.llm import LanguageModels
    from docmind.maintenance.searching import Searching
    from docmind.search import MultimodalSearch
    from docmind.visual import Visual

Progress = Callable[[int, int], None]
"""Gets how many documents and queries are done, and how many there are; what it raises stops the run."""

_BINS = 5  # of confidences
_CLOSING_S = 60.0  # a run stops after the page or the query at hand
_ALL_OF: dict[str, tuple[str, ...]] = {
    "reading": ("ocr", "ocr_mode", "ocr_languages", "ocr_doubt", "ocr_tries", "ocr_min_confidence"),
    "embedding": ("precision",),
    "retrieve": (
        "k", "candidates", "fusion", "rrf_k", "rerank", "cross_encoder", "cross_encoder_pages", "dedup_key", "expand",
        "similarity_cutoff",
    ),
    "search": ("lists", "merge", "text_limit", "code_limit", "image_limit", "visual_limit", "looks"),
    "answer": ("quotes", "threshold", "sure"),
    "visual": ("image_model", "late_model", "rerank"),
}  # fmt: skip
"""The settings on which figures depend, by group; a run notes them."""


class Evaluation:
    """Measures an open library, or others with its settings, and keeps the runs. Thread-safe."""

    def __init__(
        self,
        settings: Settings,
        *,
        vault: Vault,
        embedder: TextEmbedder,
        lists: MultimodalSearch,
        answerer: Answerer,
        visual: Visual,
        conversations: Conversations,
        models: LanguageModels,
    ) -> None:
        """Set up; `lists`, `answerer` and `conversations` are those of the open library, for the user's labels.

        Sets are measured with its text model, with the image models that are chosen in `visual`, and with the language
        model in use where that is asked.
        """
        self._settings, self._vault, self._embedder, self._visual = settings, vault, embedder, visual
        self._lists, self._answerer = lists, answerer
        self._kept, self._labels = KeptRuns(vault.database), SourceLabels(vault.database)
        self._conversations, self._models = conversations, models
        self._turn, self._closed = threading.Lock(), threading.Event()
        self._asked: list[Conversations] = []

    def sets(self) -> tuple[EvaluationSet, ...]:
        """Return the sets that have a name: the one that comes with DocMind, and the user's labels if there are any."""
        known = [read_set(SAMPLE)] if sample_folder().is_dir() else []
        return tuple(
            EvaluationSet(
                one.name, len(one.documents), len(one.queries),
                tuple(sorted({query.language for query in one.queries if query.language})),
            )
            for one in (*known, self._own_set())
            if one.queries
        )  # fmt: skip

    def run(
        self,
        name: str | Path = SAMPLE,
        *,
        k: int = 10,
        filters: Mapping[str, str] | None = None,
        answers: bool = True,
        model: bool = False,
        progress: Progress | None = None,
    ) -> Run:
        """Measure a set, keep the run and return it.

        `name` is that of a set (`sets`) or a folder. The documents of a set are read into a library of their own, which
        is removed afterwards; the user's labels are measured on the open one. With `answers` each query is answered
        too, without a language model; with `model` the language model in use answers it as in the chat, and the claims
        are counted. `filters` choose queries by their facts.

        Raises `ConfigError` where there is no such set, no query is left, or no language model is in use,
        `DiskFullError`, `VaultError`, and what `progress` raises; nothing is kept then. One run at a time: a second one
        waits.
        """
        self._vault.database.check_writable()
        Query("k", k=k)  # checks its bounds before anything is read
        began, wanted, writer = time.monotonic(), dict(filters or {}), self._writer() if model else ""
        chosen = self._own_set() if str(name) == LABELS else read_set(name)
        if not chosen.queries:
            raise ConfigError(
                _("There are no labels yet."), hint=_("Say of sources of answers in the chat whether they are good.")
            )
        chosen = chosen.filtered(wanted)

        def tell(done: int, total: int) -> None:
            if self._closed.is_set():
                raise CancelledError(_("The library was closed before the set was measured."))
            if progress is not None:
                progress(done, total)

        with self._turn, self._measuring(chosen, k, answers, tell, writes=model) as (measuring, refused):
            read, total = len(chosen.documents), len(chosen.documents) + len(chosen.queries)
            measured = measuring.run(chosen.queries, lambda done: tell(read + done, total))
            visual = [query for query in chosen.queries if query.category in VISUAL and query.is_answerable]
            lift = measuring.lift(visual) if visual else None
            tell(total, total)
        run = self._run_of(chosen, measured, k, wanted, time.monotonic() - began)
        run = replace(run, settings={**run.settings, "language model": writer}) if model else run
        run = replace(run, visual_lift=lift, skipped=(*chosen.skipped, *refused))
        self._kept.keep(run)
        if run.answerable:
            ndcg, recall, mrr = (run.figures[name].mean for name in ("ndcg", "recall", "mrr"))
            emit(EvaluationCompleted(ndcg, recall, mrr))
        return run

    def close(self) -> None:
        """Stop a run, and wait until its library is removed. Idempotent."""
        self._closed.set()
        for asked in tuple(self._asked):  # a language model that writes is stopped
            asked.close()
        if self._turn.acquire(timeout=_CLOSING_S):
            self._turn.release()

    def runs(self) -> tuple[RunSummary, ...]:
        """Return the runs that are kept, the newest first."""
        return self._kept.all()

    def get(self, name: str) -> Run:
        """Return the run of an id, a beginning of it, or `latest`. Raises `NotFoundError`, `DamagedError`."""
        return self._kept.get(name)

    def remove(self, name: str) -> RunSummary:
        """Remove a run, and return it. Raises `NotFoundError`."""
        return self._kept.remove(name)

    def compare(self, before: str, after: str) -> RunComparison:
        """Compare two runs query by query. Raises as `get`, and `ConfigError` where they have no query in common."""
        return compared(self._kept.get(before), self._kept.get(after))

    def label(
        self, question: str, doc_id: str, page_no: int, grade: int | None, *, thread_id: str = ""
    ) -> SourceLabel | None:
        """Label a page as a good source for a question (2) or as none (0), or remove the label (None).

        Raises `NotFoundError` where there is no such page or conversation, `ConfigError`.
        """
        return self._labels.put(question, doc_id, page_no, grade, thread_id=thread_id)

    def labels(self, thread_id: str | None = None) -> tuple[SourceLabel, ...]:
        """Return the user's labels, all or those of a conversation ("" for questions outside of any)."""
        return self._labels.all(thread_id)

    @contextmanager
    def with_text_model(self, name: str) -> Iterator[Evaluation]:
        """Yield an evaluation that measures sets with another text model; the library keeps its own.

        It is for sets with documents of their own: the user's labels are measured on the open library. Raises as
        `open_text_model`.
        """
        named = self._settings.embedding.model_copy(update={"model": name})
        embedder = open_text_model(self._settings.model_copy(update={"embedding": named}))
        try:
            other = Evaluation(
                self._settings, vault=self._vault, embedder=embedder, lists=self._lists, answerer=self._answerer,
                visual=self._visual, conversations=self._conversations, models=self._models,
            )  # fmt: skip
            # the library that closes stops it too
            other._turn, other._closed, other._asked = self._turn, self._closed, self._asked
            yield other
        finally:
            close_text_model(embedder)

    def _own_set(self) -> LabelledSet:
        names = {info.doc_id: info.document for info in self._vault.catalog.documents() if info.status == "ready"}
        return labelled_set(self._labels, names)

    @contextmanager
    def _measuring(
        self, chosen: LabelledSet, k: int, answers: bool, tell: Progress, *, writes: bool
    ) -> Iterator[tuple[Measuring, tuple[str, ...]]]:
        if chosen.uploads is None:
            yield Measuring(
                lists=self._lists, answerer=self._answerer, names=lambda doc_id, document: (doc_id,), k=k,
                by_document=False, answers=answers, conversations=self._conversations if writes else None,
            ), ()  # fmt: skip
            return
        total = len(chosen.documents) + len(chosen.queries)
        with measured_library(chosen, self._chosen(), self._embedder, lambda done: tell(done, total)) as library:
            names, parts = library.names, library.parts
            with self._asking(parts) if writes else nullcontext() as asked:
                yield Measuring(
                    lists=parts.lists, answerer=parts.answerer,
                    names=lambda doc_id, document: names.get(doc_id, (document,)), k=k, by_document=chosen.by_document,
                    answers=answers, conversations=asked,
                ), library.refused  # fmt: skip

    @contextmanager
    def _asking(self, parts: Searching) -> Iterator[Conversations]:
        """Yield conversations over a library that is measured, in which the language model in use answers."""
        asked = Conversations(
            self._settings, database=parts.vault.database, pictures=parts.pictures, models=self._models,
            answerer=parts.answerer,
        )  # fmt: skip
        self._asked.append(asked)
        try:
            yield asked
        finally:
            self._asked.remove(asked)
            asked.close()

    def _run_of(
        self, chosen: LabelledSet, measured: Measured, k: int, filters: Mapping[str, str], seconds: float
    ) -> Run:
        ranked = [score for score in measured.scores if score.is_answerable]
        return Run(
            run_id=secrets.token_hex(8), made_at_ms=time.time_ns() // 1_000_000, set_name=chosen.name,
            version=__version__, k=k, queries=len(chosen.queries), answerable=len(ranked), seconds=seconds,
            settings=self._in_force(), filters=filters, figures=_figures(ranked),
            by_language=_groups(ranked, lambda score: score.language),
            by_category=_groups(ranked, lambda score: score.category),
            outcomes=_outcomes(measured.scores), calibration=_calibration(measured.scores),
            stages=measured.stages(), golden=tuple(measured.golden),
            scores=tuple(measured.scores), writing=written(measured.scores),
            writing_by_language=_by_language(measured.scores),
        )  # fmt: skip

    def _writer(self) -> str:
        """Return the name of the language model in use. Raises `ConfigError` where there is none."""
        model = self._models.current()
        if model is None:
            raise ConfigError(
                _("No language model is in use, so none can answer the questions."),
                hint=_("Choose one in Settings, or measure without a language model."),
            )
        return Path(model.info.name).name

    def _chosen(self) -> Settings:
        """Return the settings with the image models that are in use, which may be chosen in the library itself."""
        models = {kind: self._visual.choice.model_to_use(kind) for kind in ("image", "late")}
        named = {f"{kind}_model": model.name if model else "off" for kind, model in models.items()}
        return self._settings.model_copy(update={"visual": self._settings.visual.model_copy(update=named)})

    def _in_force(self) -> dict[str, str]:
        """Return the settings and models that figures depend on; of a folder its last name alone."""
        found, chosen = {"text model": Path(self._embedder.name).name}, self._chosen()
        for group, names in _ALL_OF.items():
            values = getattr(chosen, group)
            for name in names:
                value = getattr(values, name)
                told = Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value
                found[f"{group}.{name}"] = "" if told is None else str(told)
        return found


def compared(before: Run, after: Run) -> RunComparison:
    """Return the difference of two runs over the answerable queries of both. Raises `ConfigError` without any."""
    earlier = {score.query_id: score for score in before.scores if score.is_answerable}
    pairs = [
        QueryChange(earlier[score.query_id], score)
        for score in after.scores
        if score.is_answerable and score.query_id in earlier
    ]
    if not pairs or before.set_name != after.set_name:
        raise ConfigError(
            _("These two runs have no query in common."), hint=_("Compare two runs of one set: docmind evaluate list")
        )
    gains = sorted(((pair.after.ndcg - pair.before.ndcg, pair) for pair in pairs), key=lambda one: one[0])
    worse = tuple(pair for gain, pair in gains if gain < 0)
    better = tuple(pair for gain, pair in reversed(gains) if gain > 0)
    return RunComparison(
        before=_summary(before),
        after=_summary(after),
        differences={metric: _difference(pairs, metric) for metric in METRICS},
        better=better,
        worse=worse,
        same=len(pairs) - len(better) - len(worse),
        settings=_differing(before, after),
    )


def _differing(before: Run, after: Run) -> dict[str, tuple[str, str]]:
    """Return the settings that differ, before and after; the depth and the version are among them."""
    one, other = ({"k": str(run.k), "version": run.version, **run.settings} for run in (before, after))
    names = sorted(one.keys() | other.keys())
    return {name: (one.get(name, ""), other.get(name, "")) for name in names if one.get(name) != other.get(name)}


def _difference(pairs: Sequence[QueryChange], metric: str) -> Figure:
    before, after = (
        {pair.before.query_id: getattr(side, metric) for pair, side in zip(pairs, sides, strict=True)}
        for sides in ([pair.before for pair in pairs], [pair.after for pair in pairs])
    )
    return difference_of(before, after)


def _summary(run: Run) -> RunSummary:
    return RunSummary(
        run.run_id, run.made_at_ms, run.set_name, run.version, run.k, run.queries, run.answerable, run.seconds,
        run.settings, run.filters, run.figures, run.writing,
    )  # fmt: skip


def _figures(scores: Sequence[QueryScore]) -> dict[str, Figure]:
    return {metric: figure_of([getattr(score, metric) for score in scores]) for metric in METRICS}


def _groups(scores: Sequence[QueryScore], of: Callable[[QueryScore], str]) -> dict[str, Group]:
    members: dict[str, list[QueryScore]] = {}
    for score in scores:
        members.setdefault(of(score), []).append(score)
    return {name: Group(len(those), _figures(those)) for name, those in sorted(members.items()) if name}


def written(scores: Iterable[QueryScore]) -> Writing | None:
    """Return what a language model wrote for all of these queries; None where none was asked."""
    each = [score.writing for score in scores if score.writing is not None]
    if not each:
        return None
    return Writing(*(sum(getattr(one, part.name) for one in each) for part in fields(Writing)))


def _by_language(scores: Iterable[QueryScore]) -> dict[str, Writing]:
    asked: dict[str, list[QueryScore]] = {}
    for score in scores:
        asked.setdefault(score.language, []).append(score)
    each = {language: written(those) for language, those in sorted(asked.items()) if language}
    return {language: one for language, one in each.items() if one is not None}


def _calibration(scores: Sequence[QueryScore]) -> tuple[Calibration, ...]:
    bins = list[Calibration]()
    for number in range(_BINS):
        low, high = number / _BINS, (number + 1) / _BINS
        those = [
            (one.confidence, one.is_right)
            for one in scores
            if one.confidence is not None and number == min(int(one.confidence * _BINS), _BINS - 1)
        ]
        if those:
            confidence = sum(value for value, _is_right in those) / len(those)
            share = sum(is_right for _value, is_right in those) / len(those)
            bins.append(Calibration(low, high, len(those), confidence, share))
    return tuple(bins)


def _outcomes(scores: Iterable[QueryScore]) -> Outcomes:
    told: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    right = 0
    for score in scores:
        if score.outcome:
            told[score.is_answerable][score.outcome] += 1
            right += score.outcome == "answer" and score.is_right
    return Outcomes(dict(told[True]), dict(told[False]), right)
