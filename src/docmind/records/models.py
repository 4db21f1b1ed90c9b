"""Frozen records of visual models, of visual search, and of multimodal search.

Boxes, pages and times are those of `records.documents`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ModelKind = Literal["image", "late"]
WeightsState = Literal["present", "missing", "broken"]
EmbeddingState = Literal["queued", "running", "paused", "done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A visual model as known without loading it.

    `fingerprint` is empty where its files are not here. `seconds_per_page` was measured on this machine, None before.
    `in_use` means that searches use it; `pages` of `pages_total` have its vectors.
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
class TextModelCard:
    """A text model, or a cross-encoder (`rerank`), as known without loading it.

    `dim` is the length of its vectors, 0 where it has none or they are not known. `in_use` means that searches use it.
    """

    name: str
    kind: Literal["embed", "rerank"]
    state: WeightsState
    about: str
    dim: int = 0
    bytes: int = 0
    reason: str = ""
    hint: str = ""
    in_use: bool = False


@dataclass(frozen=True, slots=True)
class PullProgress:
    """A snapshot of a download. `error` is the sentence where it failed."""

    name: str
    file: str = ""
    bytes_done: int = 0
    bytes_total: int = 0
    is_over: bool = False
    error: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ModelBench:
    """Times measured on this machine, in seconds: to load, per page, and per question."""

    name: str
    device: str
    precision: str
    load_s: float
    seconds_per_page: float
    query_ms: float
    pages: int


@dataclass(frozen=True, slots=True)
class PagesEmbedded:
    """Outcome of an embedding run: `pages_added` + `pages_skipped` + `pages_failed` are all pages asked for."""

    model: str
    pages_added: int
    pages_skipped: int
    pages_failed: int = 0
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """A snapshot of one embedding job.

    `eta_ms` and `seconds_per_page` are None while they are unknown.
    """

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
class Description:
    """A model described by its files. `name` is one of `KNOWN`, or that of a directory; never a path.

    `directory` is None where the model is not here (and of fakes). `architecture` is `model_type` of its config.json.
    `fingerprint` is empty unless the state is `present`; it contains no path. Where the state is not `present`,
    `reason` and `hint` say what is wrong and what to do. `revision` is the commit that was fetched, where known.
    """

    name: str
    kind: ModelKind
    repository: str
    directory: Path | None
    state: WeightsState
    dim: int
    architecture: str
    revision: str = ""
    fingerprint: str = ""
    bytes: int = 0
    licence: str = ""
    about: str = ""
    reason: str = ""
    hint: str = ""
