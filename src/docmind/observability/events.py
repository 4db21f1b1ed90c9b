"""Events: what happened in the process that owns the vault, for metrics, logs and traces.

An event has ids, counts, milliseconds and names of fixed lists; never text, file names, paths or addresses. It is
emitted where the thing happens, once, and every sink gets it in that thread. What the layers below count themselves,
refused connections (`docmind.network.network_ledger`) and restarts of children (`docmind.runtime.restarts`), is read
there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from docmind.records.answers import Outcome
from docmind.records.search import ListName, ListState
from docmind.runtime import log_mistake

ModelName = Literal["minilm", "e5", "passage-reader", "folder", "endpoint"]
"""A text model of DocMind by its name, one of the models folder, or one behind an address."""

CacheName = Literal["questions", "pictures", "passages", "judgements", "meanings"]
"""The caches of vectors: of questions, of pictures that are searched for, and of passages that were compared; and the
cache of what the passage reader said."""


@dataclass(frozen=True, slots=True)
class IngestionCompleted:
    """A document became ready.

    `chunks` counts its passages, `dedup` those of them whose vector was stored already, as of an equal passage. A
    passage that gets its vector later counts among the first alone.
    """

    document_id: str
    chunks: int
    dedup: int
    seconds: float


@dataclass(frozen=True, slots=True)
class IngestionFailed:
    """A file was refused; `kind` is the class of its error (`docmind.errors`)."""

    document_id: str
    kind: str


@dataclass(frozen=True, slots=True)
class OcrRead:
    """OCR read a page of a document; `confidence`, 0..1, is the mean of its words."""

    page_id: str
    confidence: float


@dataclass(frozen=True, slots=True)
class OcrLowConfidence:
    """OCR read a page of a document with less confidence, 0..1, than the setting `reading.ocr_min_confidence`."""

    page_id: str
    confidence: float
    threshold: float


@dataclass(frozen=True, slots=True)
class OcrRetried:
    """OCR was unsure of a page and read it again; `tries` counts all its readings."""

    page_id: str
    tries: int


@dataclass(frozen=True, slots=True)
class OcrFailed:
    """OCR could not read a page, which stays as it was."""

    page_id: str


@dataclass(frozen=True, slots=True)
class ListTimed:
    """One list of a search: how many hits it gave, and how long it took."""

    name: ListName
    state: ListState
    hits: int
    ms: float


@dataclass(frozen=True, slots=True)
class Searched:
    """A search over all lists that were wanted, with those that were not asked; `ms` is its whole time."""

    lists: tuple[ListTimed, ...]
    hits: int
    ms: float


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text model made the vectors of `texts` texts in one call, or the passage reader read as many passages."""

    model: ModelName
    texts: int
    ms: float


@dataclass(frozen=True, slots=True)
class Answered:
    """A question was answered; `ms` is the time until its quotes stood."""

    outcome: Outcome
    ms: float


@dataclass(frozen=True, slots=True)
class CacheAsked:
    """A cache was asked for `asked` vectors, or judgements, at once and had `hits` of them."""

    name: CacheName
    asked: int
    hits: int


@dataclass(frozen=True, slots=True)
class IndexFailed:
    """The index failed at a search, and is brought up to date or built again."""

    kind: Literal["edge", "server"]


@dataclass(frozen=True, slots=True)
class EvaluationCompleted:
    """An evaluation of retrieval ended: nDCG, recall and the mean reciprocal rank, 0..1 each."""

    ndcg: float
    recall: float
    mrr: float


Event = (
    IngestionCompleted
    | IngestionFailed
    | OcrRead
    | OcrLowConfidence
    | OcrRetried
    | OcrFailed
    | Searched
    | Embedded
    | Answered
    | CacheAsked
    | IndexFailed
    | EvaluationCompleted
)

Sink = Callable[[Event], None]
"""What gets every event, in the thread where it happens: it must be quick, and safe to call from several threads."""

_sinks: tuple[Sink, ...] = ()
_changing = threading.Lock()


def add_sink(sink: Sink) -> None:
    """Have `sink` called with every event of this process from now on. Idempotent."""
    global _sinks
    with _changing:
        if sink not in _sinks:
            _sinks = (*_sinks, sink)


def remove_sink(sink: Sink) -> None:
    """Undo `add_sink`; does nothing where it was not called."""
    global _sinks
    with _changing:
        _sinks = tuple(each for each in _sinks if each != sink)


def emit(event: Event) -> None:
    """Give an event to every sink. Raises nothing: a sink that fails is logged, and the work goes on."""
    for sink in _sinks:
        try:
            sink(event)
        except Exception as error:  # noqa: BLE001 - what is observed must not fail because of who looks
            log_mistake("docmind.observability", "an event was not counted", error)
