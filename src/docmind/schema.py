"""Frozen records that cross boundaries: between layers, and between the facade and its faces.

Boxes are `[x, y, w, h]` in pixels of the stored page image, origin top left. Page numbers count from 1.
Times end in `_ms` (durations) or `_at_ms` (Unix time).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Modality = Literal["text", "table", "code", "image_caption", "pdf_page_image"]
TextSource = Literal["layer", "ocr", "none"]
DocumentStatus = Literal["reading", "ready", "failed"]
AddStatus = Literal["added", "already", "refused", "cancelled"]
JobState = Literal["queued", "running", "done", "failed", "cancelled"]
CapabilityState = Literal["present", "missing", "off"]

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SUFFIX = re.compile(r"(\.[a-z0-9]{1,8}){1,2}")


class Box(NamedTuple):
    """A rectangle in page-image pixels: left, top, width, height."""

    x: float
    y: float
    w: float
    h: float


@dataclass(frozen=True, slots=True)
class ArtifactRef:
    """Sealed bytes by id: 64 hex digits and a suffix such as `.webp.enc`."""

    sha256: str
    suffix: str

    def __post_init__(self) -> None:
        if not _SHA256.fullmatch(self.sha256) or not _SUFFIX.fullmatch(self.suffix):
            raise ValueError("an artifact is named by 64 hex digits and a short suffix")

    @property
    def file_name(self) -> str:
        return f"{self.sha256}{self.suffix}"


@dataclass(frozen=True, slots=True)
class Upload:
    """One file handed in: its name (for people, never opened), its bytes, a password if it is locked, and tags."""

    name: str
    data: bytes = field(repr=False)
    password: str | None = field(default=None, repr=False)
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """What a reading process gives back for one page.

    `words` is the packed word list of `docmind.words`; its boxes are pixels of `image`. `needs_ocr` says that `text`
    is missing or not to be trusted.
    """

    page_no: int
    width: int
    height: int
    text: str
    words: bytes = field(repr=False)
    image: bytes = field(repr=False)
    thumbnail: bytes = field(repr=False)
    text_source: TextSource
    confidence: float
    needs_ocr: bool = False


@dataclass(frozen=True, slots=True)
class PageView:
    """One page as a person opens it. `words` are `(text, box)` in reading order."""

    doc_id: str
    document: str
    page_no: int
    pages: int
    page_id: str
    width: int
    height: int
    text: str
    text_source: TextSource
    confidence: float
    language: str
    words: tuple[tuple[str, Box], ...] = field(repr=False, default=())


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """One ingested document. `language` is the ISO 639-1 code of most of its pages, or an empty string."""

    doc_id: str
    document: str
    title: str
    kind: str
    status: DocumentStatus
    pages: int
    pages_done: int
    ocr_pages: int
    language: str
    bytes: int
    added_at_ms: int
    message: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AddResult:
    """What became of one file. `error` is the class name and `message` the sentence where it was refused."""

    document: str
    status: AddStatus
    doc_id: str | None = None
    pages: int = 0
    ocr_pages: int = 0
    error: str = ""
    message: str = ""
    hint: str = ""
    exit_code: int = 0
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class JobProgress:
    """An immutable look at one job. `eta_ms` is None while it cannot be told."""

    job_id: str
    state: JobState
    files_total: int
    files_done: int
    file: str
    page_no: int
    pages_total: int
    pages_done: int
    stage: str
    started_at_ms: int
    elapsed_ms: float
    eta_ms: float | None
    results: tuple[AddResult, ...] = ()
    message: str = ""

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Filters:
    """Narrow a search. Within one field any value matches; fields must all match. Empty means no limit."""

    doc_ids: tuple[str, ...] = ()
    modalities: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Degraded:
    """An optional stage was skipped: which, and why."""

    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A scored page (or node, where several per page were asked for)."""

    rank: int
    score: float
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


@dataclass(frozen=True, slots=True)
class SearchResult:
    """`nearest_cosine` is that of the nearest window to the question; None where no text model was used."""

    query: str
    hits: tuple[Hit, ...]
    degraded: tuple[Degraded, ...] = ()
    timings_ms: tuple[tuple[str, float], ...] = ()
    nearest_cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A hit cited in an answer: the verbatim quote and where it stands. Boxes cover the quoted words.

    `index_epoch` and the image's artifact id say what the page was when it was cited.
    """

    n: int
    document: str
    doc_id: str
    page_no: int
    page_id: str
    quote: str
    boxes: tuple[Box, ...]
    page_width: int
    page_height: int
    index_epoch: int = 0
    image_artifact_id: str = ""
    image_artifact_suffix: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of an answer: `answer[start:end] == text`, and its `[n]` markers follow at `end`.

    `sources` are numbers of the answer's sources, best first. A claim without any is not supported by a page; what is
    no claim (a greeting, a heading, "the documents do not say") needs none.
    """

    text: str
    start: int
    end: int
    sources: tuple[int, ...] = ()
    supported: bool = False
    is_claim: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """`answer` holds `[n]` markers that name `sources`; where `found` is False there are none.

    `model` names what wrote it, and is empty where it is made of quotes. `thread_id` and `checkpoint_id` are None for
    a question that belongs to no conversation.
    """

    question: str
    answer: str
    found: bool
    sources: tuple[Source, ...] = ()
    degraded: tuple[Degraded, ...] = ()
    timings_ms: tuple[tuple[str, float], ...] = ()
    sentences: tuple[Sentence, ...] = ()
    model: str = ""
    thread_id: str | None = None
    checkpoint_id: str | None = None


@dataclass(frozen=True, slots=True)
class Capability:
    """One part that may be there: what it gives, and the command or switch that adds it."""

    name: str
    state: CapabilityState
    detail: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    version: str
    vault_id: str
    key_source: str
    documents: int
    pages: int
    nodes: int
    vault_bytes: int
    free_bytes: int
    index_engine: str
    index_epoch: int
    vault_epoch: int
    capabilities: tuple[Capability, ...]


@dataclass(frozen=True, slots=True)
class DeleteReceipt:
    """What a deletion took away."""

    doc_id: str
    document: str
    pages: int
    nodes: int
    artifacts: int


def page_id_of(doc_id: str, page_no: int) -> str:
    """The id of one page: `{doc_id}::page::{page_no}`."""
    return f"{doc_id}::page::{page_no}"
