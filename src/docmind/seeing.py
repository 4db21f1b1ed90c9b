"""Frozen records of what is found by what it looks like, of the models that look, and of a search over everything.

Boxes, pages and times are those of `schema`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from docmind.schema import Box, Degraded, Modality

ListName = Literal["text", "code", "image", "lookalike", "visual"]
"""Words in text; words in code; SigLIP; a picture laid over pages; late interaction on pages (ColPali)."""

MergeStrategy = Literal["rrf", "score", "interleaved", "grouped"]
Rerank = Literal["off", "image", "late"]
"""Which kind of model, if any, looks once more at the first pages of the merged list."""

ListState = Literal["ran", "empty", "off", "failed", "timed out"]
ModelKind = Literal["image", "late"]
WeightsState = Literal["present", "missing", "broken"]
EmbeddingState = Literal["queued", "running", "paused", "done", "failed", "cancelled"]

Quad = tuple[tuple[float, float], ...]
"""Four corners in pixels of the page image, clockwise from the top left of the picture; empty where there are none.

They may lie beyond the page, as those of a photograph do that shows the table too.
"""


@dataclass(frozen=True, slots=True)
class PageHit:
    """A page that a model found by its image. `score` is a cosine for SigLIP, and an unbounded MaxSim for late
    interaction: it compares within one query only."""

    rank: int
    score: float
    source: ListName
    document: str
    doc_id: str
    page_no: int
    page_id: str
    page_width: int
    page_height: int


@dataclass(frozen=True, slots=True)
class PageHits:
    """One ranked list of pages. `timings_ms` are pairs of stage and duration."""

    hits: tuple[PageHit, ...]
    degraded: tuple[Degraded, ...] = ()
    timings_ms: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class PageScores:
    """What a model says of given pages, in their order: a cosine or a MaxSim; None where it has not seen the page."""

    scores: tuple[float | None, ...]
    degraded: tuple[Degraded, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a list put a hit: `score` is the list's own, `normalised` lies in 0..1 within that list."""

    list: ListName
    rank: int
    score: float
    normalised: float = 0.0


@dataclass(frozen=True, slots=True)
class MultimodalHit:
    """One entry of the merged list. `score` is that of the merge; `origins` say which lists named it, best first.

    `source` is the list that ranked it best. `quad` is where a picture matches the page, and `found` says that this
    match can be relied on; None where no picture was searched for.
    """

    rank: int
    score: float
    source: ListName
    origins: tuple[Origin, ...]
    document: str
    doc_id: str
    page_no: int
    page_id: str
    modality: Modality
    text: str
    boxes: tuple[Box, ...]
    node_id: str
    language: str
    page_width: int
    page_height: int
    quad: Quad = ()
    found: bool | None = None


@dataclass(frozen=True, slots=True)
class ListReport:
    """What became of one list: how many it gave, how long it took, and why it gave none."""

    list: ListName
    state: ListState
    count: int = 0
    duration_ms: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MultimodalResult:
    """All lists merged. `query` is empty for a picture without words; `found` is None where no picture was given.

    `is_final` is False for what is shown before the text on the picture has been read. `cache_hit_rate` is that of the
    query embeddings since the start, None before the first.
    """

    query: str
    hits: tuple[MultimodalHit, ...]
    lists: tuple[ListReport, ...]
    merge: MergeStrategy = "rrf"
    found: bool | None = None
    is_final: bool = True
    picture_text: str = ""
    degraded: tuple[Degraded, ...] = ()
    timings_ms: tuple[tuple[str, float], ...] = ()
    cache_hit_rate: float | None = None


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A visual model as it is known without loading it.

    `fingerprint` is empty where its files are not here. `seconds_per_page` is what was measured on this machine, None
    before. `in_use` says that searches use it; `pages` have its vectors, of `pages_total`.
    """

    name: str
    kind: ModelKind
    repository: str
    state: WeightsState
    dim: int
    architecture: str = ""
    revision: str = ""
    fingerprint: str = ""
    bytes: int = 0
    licence: str = ""
    about: str = ""
    reason: str = ""
    hint: str = ""
    in_use: bool = False
    seconds_per_page: float | None = None
    pages: int = 0
    pages_total: int = 0


@dataclass(frozen=True, slots=True)
class PullProgress:
    """A download, as it stands. `error` is the sentence where it ended badly."""

    name: str
    file: str = ""
    bytes_done: int = 0
    bytes_total: int = 0
    is_over: bool = False
    error: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ModelBench:
    """Measured on this machine: seconds to load, a page, and a question."""

    name: str
    device: str
    precision: str
    load_s: float
    seconds_per_page: float
    query_ms: float
    pages: int


@dataclass(frozen=True, slots=True)
class PagesEmbedded:
    """What an embedding run did: `pages_added` + `pages_skipped` + `pages_failed` are all pages that were asked for."""

    model: str
    pages_added: int
    pages_skipped: int
    pages_failed: int = 0
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """An immutable look at one embedding job. `eta_ms` and `seconds_per_page` are None while they cannot be told."""

    job_id: str
    model: str
    state: EmbeddingState
    pages_total: int
    pages_done: int
    seconds_per_page: float | None = None
    eta_ms: float | None = None
    message: str = ""
    result: PagesEmbedded | None = None

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class HeatMap:
    """How much each patch of a page answers each token of a question.

    `values` are `len(tokens)` x `rows` x `cols` bytes, 0 (nothing) to 255 (the best of this token), row by row.
    """

    model: str
    page_id: str
    tokens: tuple[str, ...]
    rows: int
    cols: int
    values: bytes = field(repr=False)
