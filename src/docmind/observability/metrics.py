"""Metrics in the text format of Prometheus, counted from events and from what is read when they are asked for.

`METRICS` declares each once: its exported name is the whole contract with rules and dashboards (`monitoring/`). Labels
have values of fixed lists alone, so that no text, name or path can get into one. The registries are DocMind's own: what
a library registers in the common one is not told.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from docmind import errors
from docmind.errors import ReadingError
from docmind.observability.events import (
    Answered,
    CacheAsked,
    CacheName,
    Embedded,
    Event,
    IndexFailed,
    IngestionCompleted,
    IngestionFailed,
    ModelName,
    OcrFailed,
    OcrLowConfidence,
    OcrRead,
    OcrRetried,
    Searched,
    add_sink,
)
from docmind.records.answers import Outcome
from docmind.records.search import MISSING, ListName
from docmind.runtime import quiet

ALL = "all"
"""The value of the label `list` for a search as a whole."""

_OTHER = "other"
_REFUSALS = tuple(
    sorted(name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, ReadingError))
)
_LATENCIES_MS = (50, 100, 200, 500, 1000, 2500, 10000)

_MOST_WAITING = 1000  # events that wait to be counted

Reading = float | Mapping[str, float]
"""A value that is read at the moment, or one for each value of the metric's label."""


@dataclass(frozen=True, slots=True)
class Metric:
    """The declaration of a metric.

    `name` is without the ending `_total`, which the exported name of a counter has. `values` are those of `label` that
    are there from the start; a metric that is read when asked for (`is_read`) may have others. A metric of the process
    (`is_of_process`) is told while the library is locked too.
    """

    name: str
    kind: Literal["counter", "histogram", "gauge"]
    help: str
    label: str = ""
    values: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    is_read: bool = False
    is_of_process: bool = False

    @property
    def exported(self) -> tuple[str, ...]:
        """The names of its series, as rules and dashboards have them."""
        if self.kind == "histogram":
            return tuple(f"{self.name}_{ending}" for ending in ("bucket", "sum", "count"))
        return (f"{self.name}_total",) if self.kind == "counter" else (self.name,)


METRICS: tuple[Metric, ...] = (
    Metric("rag_ingestion_docs", "counter", "Documents that became ready."),
    Metric("rag_ingestion_chunks", "counter", "Passages of documents that became ready."),
    Metric("rag_ingestion_chunks_dedup", "counter", "Passages whose vector was stored already."),
    Metric("rag_ingestion_failures", "counter", "Files that were refused.", "kind", (*_REFUSALS, _OTHER)),
    Metric(
        "rag_ingest_duration_seconds", "histogram", "Seconds that reading a document took.",
        buckets=(10, 30, 60, 120, 300),
    ),
    Metric("rag_ocr_pages", "counter", "Pages that OCR read."),
    Metric("rag_ocr_failures", "counter", "Pages that OCR could not read."),
    Metric("rag_ocr_retries", "counter", "Pages that OCR read a second time."),
    Metric("rag_ocr_low_confidence", "counter", "Pages read with less confidence than the setting asks for."),
    Metric(
        "rag_ocr_confidence", "histogram", "Mean confidence of the pages that OCR read, 0 to 1.",
        buckets=(0.3, 0.5, 0.7, 0.85, 0.95),
    ),
    Metric(
        "rag_retrieval_latency_ms", "histogram", "Milliseconds of a search, by list and as a whole.",
        "list", (*get_args(ListName), ALL), _LATENCIES_MS,
    ),
    Metric(
        "rag_retrieval_failures", "counter", "Lists that failed, took too long or waited for a model.",
        "list", get_args(ListName),
    ),
    Metric(
        "rag_embedding_latency_ms", "histogram", "Milliseconds of a call of a text model.",
        "model", get_args(ModelName), (1, 5, 20, 50, 200, 1000),
    ),
    Metric("rag_embedding_texts", "counter", "Texts embedded, and passages judged.", "model", get_args(ModelName)),
    Metric("rag_answers", "counter", "Questions that were answered, by outcome.", "outcome", get_args(Outcome)),
    Metric(
        "rag_answer_latency_ms", "histogram", "Milliseconds until the quotes of an answer stood.",
        buckets=_LATENCIES_MS,
    ),
    Metric("rag_cache_requests", "counter", "What a cache was asked for.", "cache", get_args(CacheName)),
    Metric("rag_cache_hits", "counter", "Those that it had.", "cache", get_args(CacheName)),
    Metric("rag_index_failures", "counter", "Failures of the index at a search.", "engine", ("edge", "server")),
    Metric("rag_index_size_bytes", "gauge", "Disk space of the index.", is_read=True),
    Metric("rag_documents", "gauge", "Documents of the library.", is_read=True),
    Metric("rag_pages", "gauge", "Pages of the library.", is_read=True),
    Metric("rag_queue_length", "gauge", "Files that are not read yet.", is_read=True),
    Metric("rag_degraded", "gauge", "Parts of DocMind that are missing: 1, else 0.", "part", is_read=True),
    Metric("rag_eval_ndcg", "gauge", "nDCG of the newest evaluation, 0 to 1.", is_read=True),
    Metric("rag_eval_recall", "gauge", "Recall of the newest evaluation, 0 to 1.", is_read=True),
    Metric("rag_eval_mrr", "gauge", "Mean reciprocal rank of the newest evaluation, 0 to 1.", is_read=True),
    Metric("rag_library_open", "gauge", "1 while the library is open, else 0.", is_read=True, is_of_process=True),
    Metric(
        "rag_child_restarts", "counter", "Child processes that were started again after they failed.", "child",
        is_read=True, is_of_process=True,
    ),
    Metric(
        "rag_refused_connections", "counter", "Connections to other machines that were refused.", "part",
        is_read=True, is_of_process=True,
    ),
)  # fmt: skip
"""Every metric but those of the process itself (`process_cpu_seconds_total` and the like)."""

_BY_NAME = {metric.name: metric for metric in METRICS}


class Metrics:
    """The metrics of this process. Thread-safe; `count` is a sink of events."""

    def __init__(self) -> None:
        self._library = library = quiet.import_prometheus()
        self._of_process, self._of_library = library.CollectorRegistry(), library.CollectorRegistry()
        library.ProcessCollector(registry=self._of_process)
        self._series: dict[tuple[str, str], Any] = {}
        for metric in METRICS:
            if not metric.is_read:
                self._declare(metric)
        self._asking = threading.Lock()
        self._waiting = deque[Event]()
        self._readings: dict[str, Reading] = {}
        for registry, is_of_process in ((self._of_process, True), (self._of_library, False)):
            registry.register(_Read(self, is_of_process))
        self._counters: dict[type[Event], Callable[[Any], None]] = {
            IngestionCompleted: self._ingested,
            IngestionFailed: self._refused,
            OcrRead: self._ocr_read,
            OcrLowConfidence: lambda _: self._add("rag_ocr_low_confidence"),
            OcrRetried: lambda _: self._add("rag_ocr_retries"),
            OcrFailed: lambda _: self._add("rag_ocr_failures"),
            Searched: self._searched,
            Embedded: self._embedded,
            Answered: self._answered,
            CacheAsked: self._cached,
            IndexFailed: lambda event: self._add("rag_index_failures", label=event.kind),
        }

    def count(self, event: Event) -> None:
        """Have an event counted before metrics are told next; one that no metric is made of is left alone.

        It is only put aside: the library's code, cold after other work, would take 50 microseconds of every search.
        """
        self._waiting.append(event)
        if len(self._waiting) >= _MOST_WAITING:
            self._count_waiting()

    def exposition(self, readings: Mapping[str, Reading], *, is_open: bool) -> bytes:
        """Return all metrics in the text format; those of the process alone where the library is not open.

        `readings` are the values of the metrics that are read now; one that is missing is not told. Raises `KeyError`
        for a metric that is not declared so.
        """
        for name in readings:
            if not _BY_NAME[name].is_read:
                raise KeyError(name)
        self._count_waiting()
        with self._asking:
            self._readings = {**readings, "rag_library_open": float(is_open)}
            told: bytes = self._library.generate_latest(self._of_process)
            return told + self._library.generate_latest(self._of_library) if is_open else told

    def read(self, *, is_of_process: bool) -> Iterator[Any]:
        """Yield the metrics that were read, for the registry that is asked."""
        core = self._library.core
        kinds = {"counter": core.CounterMetricFamily, "gauge": core.GaugeMetricFamily}
        for name, reading in self._readings.items():
            metric = _BY_NAME[name]
            if metric.is_of_process is not is_of_process:
                continue
            family = kinds[metric.kind](name, metric.help, labels=[metric.label] if metric.label else [])
            for value, number in reading.items() if isinstance(reading, Mapping) else [("", reading)]:
                family.add_metric([value] if metric.label else [], number)
            yield family

    def _count_waiting(self) -> None:
        while True:
            try:
                event = self._waiting.popleft()
            except IndexError:
                return
            if (counter := self._counters.get(type(event))) is not None:
                counter(event)

    def _declare(self, metric: Metric) -> None:
        kind = {"counter": self._library.Counter, "histogram": self._library.Histogram}[metric.kind]
        more = {"buckets": metric.buckets} if metric.buckets else {}
        labels = [metric.label] if metric.label else []
        made = kind(metric.name, metric.help, labels, registry=self._of_library, **more)
        for value in metric.values or ("",):
            self._series[metric.name, value] = made.labels(value) if metric.label else made

    def _add(self, name: str, number: float = 1, *, label: str = "") -> None:
        self._series[name, label].inc(number)

    def _observe(self, name: str, number: float, *, label: str = "") -> None:
        self._series[name, label].observe(number)

    def _ingested(self, event: IngestionCompleted) -> None:
        self._add("rag_ingestion_docs")
        self._add("rag_ingestion_chunks", event.chunks)
        self._add("rag_ingestion_chunks_dedup", event.dedup)
        self._observe("rag_ingest_duration_seconds", event.seconds)

    def _refused(self, event: IngestionFailed) -> None:
        self._add("rag_ingestion_failures", label=event.kind if event.kind in _REFUSALS else _OTHER)

    def _ocr_read(self, event: OcrRead) -> None:
        self._add("rag_ocr_pages")
        self._observe("rag_ocr_confidence", event.confidence)

    def _searched(self, event: Searched) -> None:
        self._observe("rag_retrieval_latency_ms", event.ms, label=ALL)
        for one in event.lists:
            if one.state in MISSING:
                self._add("rag_retrieval_failures", label=one.name)
            if one.ms:  # it was asked
                self._observe("rag_retrieval_latency_ms", one.ms, label=one.name)

    def _embedded(self, event: Embedded) -> None:
        self._add("rag_embedding_texts", event.texts, label=event.model)
        self._observe("rag_embedding_latency_ms", event.ms, label=event.model)

    def _answered(self, event: Answered) -> None:
        self._add("rag_answers", label=event.outcome)
        self._observe("rag_answer_latency_ms", event.ms)

    def _cached(self, event: CacheAsked) -> None:
        self._add("rag_cache_requests", event.asked, label=event.name)
        self._add("rag_cache_hits", event.hits, label=event.name)


class _Read:
    """The collector of what is read when a registry is asked."""

    def __init__(self, metrics: Metrics, is_of_process: bool) -> None:
        self._metrics, self._is_of_process = metrics, is_of_process

    def collect(self) -> Iterator[Any]:
        """Yield the metrics of this registry."""
        return self._metrics.read(is_of_process=self._is_of_process)


_metrics: Metrics | None = None
_making = threading.Lock()


def process_metrics() -> Metrics:
    """Return the metrics of this process, which count its events from the first call on."""
    global _metrics
    with _making:
        if _metrics is None:
            _metrics = Metrics()
            add_sink(_metrics.count)
        return _metrics
