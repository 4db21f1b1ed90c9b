"""Frozen records of searches: filters, page hits, merged lists, pages found by a picture, heat maps.

Boxes, pages and times are those of `records.documents`. Above 500 lines: a hit, its lists and its filters name each
other.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from docmind.language import folded
from docmind.records.code import languages_of
from docmind.records.documents import (
    FIGURE,
    PAGE_IMAGE,
    ArtifactRef,
    Box,
    Figure,
    FigureKind,
    FigureSize,
    Modality,
    TextSource,
    placed_name,
)
from docmind.records.values import Day, Ids, about
from docmind.wording import N_, _

_STAGES = {
    "late interaction": N_("fine ranking"),
    "language model": N_("language model"),
    "agent mode": N_("deep search"),
    "web search": N_("web search"),
    "text model": N_("text model"),
    "passage reader": N_("passage reader"),
    "some parts": N_("some parts"),
    "text": N_("search by words"),
    "code": N_("search in source code"),
    "image": N_("search by page images"),
    "visual": N_("search in page images"),
    "lookalike": N_("search by picture"),
    "snapshot": N_("snapshot"),
}
"""Names of what a search or an answer can do without, for people."""

ListName = Literal["text", "code", "image", "lookalike", "visual"]
"""Text search; text search in source code only; SigLIP; image matching; late interaction on pages (ColPali)."""

LISTS_OF_QUESTIONS: tuple[ListName, ...] = ("text", "code", "image", "visual")
"""The lists that a question can be looked up in; image matching needs a picture."""

LISTS_OF_PICTURES: tuple[ListName, ...] = ("lookalike", "text", "image")
"""The lists that a picture can be looked up in: by its look, by the words on it, and by an image model."""

DedupKey = Literal["node_id", "page_id", "doc_id"]
"""The unit of which there is at most one hit: a passage, a page or a document."""

MergeStrategy = Literal["rrf", "score", "interleaved", "grouped"]

Rerank = Literal["off", "image", "late"]
"""Which kind of model, if any, reranks the first pages of the merged list."""

ListState = Literal["ran", "empty", "off", "failed", "timed out", "starting"]
"""Outcome of a list; `starting` means that its model is being started, and answers a later search."""

MISSING: tuple[ListState, ...] = ("failed", "timed out", "starting")
"""The states of a list that was asked and gave nothing."""

STARTING = N_("Its model is still being started; ask again in a moment.")
"""Why a list or a reranking is missing while its model is being started."""

Quad = tuple[tuple[float, float], ...]
"""Four corners in pixels of the page image, clockwise from the top left of the picture; empty where there are none.

They may lie beyond the page, as those of a photograph do that shows the table too.
"""


class Facts(Protocol):
    """What filters have to know of a document; `kind` is the ending of its file, `document` the file's name."""

    @property
    def doc_id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def added_at_ms(self) -> int: ...
    @property
    def tags(self) -> Collection[str]: ...
    @property
    def collections(self) -> Collection[str]: ...
    @property
    def document(self) -> str: ...
    @property
    def dated(self) -> str: ...
    @property
    def sender(self) -> str: ...
    @property
    def recipients(self) -> str: ...


class StoredFacts(NamedTuple):
    """The facts of a row."""

    doc_id: str
    kind: str
    added_at_ms: int
    tags: Collection[str]
    collections: Collection[str]
    document: str = ""
    dated: str = ""
    sender: str = ""
    recipients: str = ""


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of a search. Within a field any value may match; all fields must match.

    Empty means no limit. `collections` are ids, and so are `snapshots`: of their documents, those in the library and
    in the bin match.
    """

    doc_ids: Ids = field(
        default=(),
        metadata=about(
            "Only these documents.", named="documents", option=("--doc",),
            by="Each by its id, the beginning of its id, or its file name.",
        ),
    )  # fmt: skip
    modalities: Ids = field(
        default=(),
        metadata=about(
            "Only passages of these kinds: text, table, code, image_caption, or pdf_page_image for page images.",
            named="content", option=("--content",),
        ),
    )  # fmt: skip
    languages: Ids = field(
        default=(),
        metadata=about("Only pages in these languages: codes of two letters (en, pt, …).", option=("--language",)),
    )
    tags: Ids = field(
        default=(),
        metadata=about("Only documents with one of these tags.", of="documents", option=("--tag",)),
    )
    kinds: Ids = field(
        default=(),
        metadata=about("Only files of these kinds: pdf, docx and others.", of="documents", option=("--kind",)),
    )
    since: Day = field(
        default="", metadata=about("Only documents added on this day or later (YYYY-MM-DD).", of="documents")
    )
    collections: Ids = field(
        default=(),
        metadata=about(
            "Only documents of these collections.", of="documents", option=("--collection",),
            by="Each by its name.",
        ),
    )  # fmt: skip
    snapshots: Ids = field(
        default=(),
        metadata=about(
            "Only documents of this snapshot, those in the bin too.", of="documents", named="as_of",
            option=("--as-of",),
            by="By its id or its title.", is_single=True,
        ),
    )  # fmt: skip
    senders: Ids = field(
        default=(),
        metadata=about(
            "Only mails from one of these people.", of="documents", option=("--from",),
            by="Each by words of the name, or by the address.",
        ),
    )  # fmt: skip
    recipients: Ids = field(
        default=(),
        metadata=about(
            "Only mails to one of these people, as a copy too.", of="documents", option=("--to",),
            by="Each by words of the name, or by the address.",
        ),
    )  # fmt: skip
    after: Day = field(
        default="",
        metadata=about(
            "Only documents of this day or later (YYYY-MM-DD): a mail was sent then, others are about it.",
            of="documents",
        ),
    )
    before: Day = field(
        default="", metadata=about("Only documents of this day or earlier (YYYY-MM-DD).", of="documents")
    )
    figure_sizes: tuple[FigureSize, ...] = field(
        default=(),
        metadata=about(
            "Only figures of these sizes: small (an area below 300 × 300 pixels), large (from 640 × 480), or medium.",
            option=("--figure-size",),
        ),
    )
    figure_kinds: tuple[FigureKind, ...] = field(
        default=(),
        metadata=about(
            "Only figures of these kinds: photo (JPEG, WebP, TIFF), graphic (PNG, GIF, BMP) or drawing (lines in a "
            "PDF).",
            option=("--figure-kind",),
        ),
    )

    def allow(self, facts: Facts) -> bool:
        """Return whether a document may match.

        Languages and modalities are those of its pages. What snapshots hold, what lies in a document, and the people of
        the mail that a document came with are in the vault: ask `Catalog.allowed` or `Catalog.matching`.
        """
        return (
            (not self.doc_ids or facts.doc_id in self.doc_ids)
            and (not self.tags or not set(self.tags).isdisjoint(facts.tags))
            and (not self.kinds or not set(self.kinds).isdisjoint(kinds_of(facts.kind, facts.document)))
            and (not self.since or facts.added_at_ms >= _midnight_ms(self.since))
            and (not self.collections or not set(self.collections).isdisjoint(facts.collections))
            and (not self.senders or any(has_person(facts.sender, who) for who in self.senders))
            and (not self.recipients or any(has_person(facts.recipients, who) for who in self.recipients))
            and (not self.after or facts.dated >= self.after)
            and (not self.before or "" < facts.dated <= self.before)
        )

    @property
    def wants_figures_alone(self) -> bool:
        """Whether nothing but figures may match, and page images may match only where they show one."""
        return self.is_of_some_figures or self.modalities == (FIGURE,)

    @property
    def is_of_some_figures(self) -> bool:
        """Whether only some of the figures may match, which only the vault knows."""
        return bool(self.figure_sizes or self.figure_kinds)

    def allow_figure(self, figure: Figure) -> bool:
        """Return whether a figure of a page that matches may match."""
        return (not self.figure_sizes or figure.size_name in self.figure_sizes) and (
            not self.figure_kinds or figure.kind in self.figure_kinds
        )

    @property
    def is_of_documents(self) -> bool:
        """Whether any filter is set that only the vault knows how to apply: it names the documents for the index."""
        return any(getattr(self, name) for name in _OF_DOCUMENTS)

    def as_documents(self, doc_ids: Ids) -> Filters:
        """Return these filters with the documents that they allow in place of the filters of documents."""
        return replace(self, doc_ids=doc_ids, **{name: type(getattr(self, name))() for name in _OF_DOCUMENTS})


def kinds_of(kind: str, document: str) -> tuple[str, ...]:
    """Return the kinds that a filter may name a file by: its own, and for source code the language that it is in."""
    return (kind, *languages_of(document)) if kind == "code" else (kind,)


_OF_DOCUMENTS = tuple(one.name for one in fields(Filters) if one.metadata.get("of") == "documents")

OF_LISTS = (*_OF_DOCUMENTS, "languages")
"""The filters that narrow a list of documents, where a language is that of most pages of a document."""


_WORD = re.compile(r"\w+")


def has_person(people: str, who: str) -> bool:
    """Return whether one of several people, parted by "; ", has this address, or all words of this name.

    Where `who` has both, as in "Jo Lind <jo@lind.example>", the address tells.
    """
    wanted = _WORD.findall(folded(who))
    if not wanted:
        return False
    if "@" in who:
        return any(folded(_address_in(who)) == folded(_address_in(one)) for one in people.split("; "))
    return any(set(wanted) <= set(_WORD.findall(folded(one))) for one in people.split("; "))


def _address_in(person: str) -> str:
    return person.rpartition("<")[2].strip("> ")


def _midnight_ms(day: str) -> float:
    """Return when a day begins on this computer."""
    return datetime.fromisoformat(day).timestamp() * 1000


@dataclass(frozen=True, slots=True)
class Degraded:
    """An optional stage was skipped: which, and why.

    `is_starting` means that its model was being started: a later search will have it.
    """

    stage: str
    reason: str
    is_starting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PageHit:
    """A page that a search found. `image` and `thumbnail` name the encrypted files that show it.

    `usual` is its score for a question that every page answers, None where that was not computed.

    `place` says in which other document its document came, as "in Rent 2025.zip"; `dated` is the day that its document
    is about. Both may be empty.

    `score` is comparable within one result only: a fused score of words, a cosine (SigLIP), an unbounded MaxSim (late
    interaction) or a probability (image matching).
    """

    rank: int
    score: float
    document: str
    doc_id: str
    page_no: int
    page_id: str
    page_width: int
    page_height: int
    image: ArtifactRef | None = None
    thumbnail: ArtifactRef | None = None
    usual: float | None = field(default=None, metadata={"is_inner": True})
    place: str = ""
    dated: str = ""

    @property
    def placed(self) -> str:
        """The name of its document, with the one in which it came."""
        return placed_name(self.document, self.place)


Ranking = Literal["dense", "sparse", "fused", "rerank", "cross_encoder"]
"""Rankings of the text search: the text model, BM25, both fused, late interaction over the first of these, and a
cross-encoder over the first of all.
"""


@dataclass(frozen=True, slots=True)
class Rank:
    """A page's place in one ranking of the text search.

    `score` is the ranking's own: the cosine of the nearest window, BM25, the fused score, MaxSim, a number of the
    cross-encoder.
    """

    ranking: Ranking
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(PageHit):
    """A page found by its text: `text` is the passage, `boxes` its place on the page image.

    `ranks` are the rankings that have the page, in the order of the search. `chunk_index` counts the passages of the
    page from 0; `heading` is what stands above the passage, and `heading_path` all titles above it, outermost first,
    where the file says them; in source code the last ones are what it defines. `context` is the caption and the names
    of the columns of a table that the passage is a part of, where they stand elsewhere, and of code what it stands in.
    `figure` is the number of the figure on its page that the passage tells of, 0 for none; its box is the first of
    `boxes`, and its words the others. `ocr_confidence`, 0..1, is that of the passage's least certain line, None without
    OCR, and `ocr_engine` the program that read it, "" where it is not known. `rerank_score` is the cross-encoder's,
    None where none has read the page.
    """

    modality: Modality = PAGE_IMAGE
    text: str = ""
    boxes: tuple[Box, ...] = ()
    node_id: str = ""
    language: str = ""
    ranks: tuple[Rank, ...] = ()
    heading: str = ""
    heading_path: tuple[str, ...] = ()
    context: str = ""
    chunk_index: int | None = None
    text_source: TextSource | None = None
    ocr_confidence: float | None = None
    ocr_engine: str = ""
    rerank_score: float | None = None
    figure: int = 0


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits of a search; `nearest_cosine` is that of the nearest window, None where no text model was used."""

    query: str
    hits: tuple[Hit, ...]
    degraded: tuple[Degraded, ...] = ()
    timings_ms: tuple[tuple[str, float], ...] = ()
    nearest_cosine: float | None = None

    @property
    def ranked_by_words(self) -> tuple[Hit, ...]:
        """The hits with the order and the scores of the text search, from which an answer tells how sure it is.

        `hits` of a merged result have scores of the merge, which say only where a page stands. They are returned where
        no list of words gave any.
        """
        return self.hits


@dataclass(frozen=True, slots=True)
class PageHits:
    """One ranked list of pages. `timings_ms` are pairs of stage and duration."""

    hits: tuple[PageHit, ...]
    degraded: tuple[Degraded, ...] = ()
    timings_ms: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class PageScores:
    """A model's scores of given pages, in their order: a cosine or a MaxSim.

    A score is None where the model has no vectors of the page.
    """

    scores: tuple[float | None, ...]
    degraded: tuple[Degraded, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """A picture compared with a page: agreement of the ink, 0..1, number of blocks, agreeing features, place."""

    likeness: float
    blocks: int
    inliers: int
    quad: Quad


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting(PageHit):
    """A page that a picture may show.

    `score` is the probability of it; `found` means that it is reliable. `inliers` counts the features that agree on the
    place.
    """

    found: bool
    quad: Quad = ()
    inliers: int = 0


@dataclass(frozen=True, slots=True)
class Sightings:
    """The pages that a picture may show, the likeliest first.

    `found` is set where any of them is reliable.

    `timings_ms` are pairs of stage and duration. Pages that share one image are hits of the same score.
    """

    hits: tuple[Sighting, ...]
    found: bool
    degraded: tuple[Degraded, ...] = ()
    timings_ms: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """A hit's place in one list: `score` is the list's own, `normalised` lies in 0..1 within that list."""

    list: ListName
    rank: int
    score: float
    normalised: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MultimodalHit(Hit):
    """One entry of the merged list.

    `score` is that of the merge; `origins` are the lists that hold it, best first.

    `source` is the list that ranked it best. `quad` is where a picture matches the page, and `found` means that this
    match is reliable; None where no picture was searched for.
    """

    source: ListName
    origins: tuple[Origin, ...] = ()
    quad: Quad = ()
    found: bool | None = None


@dataclass(frozen=True, slots=True)
class ListReport:
    """Outcome of one list: how many hits it gave, how long it took, and why it gave none."""

    list: ListName
    state: ListState
    count: int = 0
    duration_ms: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MultimodalResult(SearchResult):
    """All lists merged. `query` is empty for a picture without words.

    `looks` are pages that stand out in a list of page images, best first; agreement with words does not count.

    `found` is None where no picture was given.

    `is_final` is False for what is shown before the text on the picture has been read. `cache_hit_rate` is that of the
    query embeddings since the start, None before the first.

    `by_words` are the hits of the list of words in its own order and with its own scores, as many as were asked for;
    empty where `hits` are these, or the list gave none.
    """

    hits: tuple[MultimodalHit, ...]
    lists: tuple[ListReport, ...] = ()
    looks: tuple[MultimodalHit, ...] = ()
    merge: MergeStrategy = "rrf"
    found: bool | None = None
    is_final: bool = True
    picture_text: str = ""
    cache_hit_rate: float | None = None
    by_words: tuple[MultimodalHit, ...] = field(default=(), metadata={"is_inner": True})

    @property
    def ranked_by_words(self) -> tuple[Hit, ...]:
        return self.by_words or self.hits


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Similarity of each patch of a page to each token of a question.

    `values` are `len(tokens)` x `rows` x `cols` bytes, 0 (nothing) to 255 (the best of this token), row by row.
    """

    model: str
    page_id: str
    tokens: tuple[str, ...]
    rows: int
    cols: int
    values: bytes = field(repr=False)


def stage_name(stage: str) -> str:
    """Return the name of a `Degraded` stage in the language of the interface."""
    return _(_STAGES.get(stage, stage))
