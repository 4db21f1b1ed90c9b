"""Frozen records of answers: sources, sentences, and the answer they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from docmind.records.documents import Box, Provenance, placed_name, with_provenance
from docmind.records.listings import Listing
from docmind.records.search import Degraded
from docmind.wording import N_

SourceKind = Literal["quote", "look", "seen"]
"""Words of a page; a page that was found by its look; a page whose image a model cites. Only words are quoted."""

Gone = Literal["", "binned", "erased"]
"""Whether a source's document is in the library, in the bin, or erased."""

BY_LOOK = N_("found by its look")
"""The words beside a source of the kind `look`, wherever sources are shown."""

SEEN = N_("seen on the page, not in its text")
"""The words beside a source of the kind `seen`, and after each sentence that rests on one."""

BY_HAND = N_("corrected by hand")
"""The words beside a source of which a person corrected a line after it was read."""

ERASED = N_("erased with its document")
"""The words beside a source whose document was erased, wherever sources are shown."""

BINNED = N_("its document is in the bin")
"""The words beside a source whose document is in the bin, wherever sources are shown."""

ERASED_TEXT = "(erased)"
"""What stands in a stored answer in place of a sentence of a document that was erased."""

NOT_THERE = N_("The model's answer isn't in your documents.")
"""The words where what a model wrote does not lead: pages do not support what was asked for, or say otherwise."""

STOPPED = N_("You stopped the model. These are the quotes.")
"""The words where a model was stopped before it wrote anything that leads."""

NOTED = N_("I will remember this.")
"""The answer to a request to remember something."""

TOLD = N_("You told me")
"""The words before a fact that the user had remembered, wherever an answer shows one."""

Outcome = Literal["answer", "maybe", "not found", "told", "noted", "greeting", "documents", "summary", "list"]
"""Whether the first quote answers the question, passages may answer it, no page says it, or remembered facts answer it
alone; or what else was asked for: a fact was stored, a greeting returned, documents listed or summarized, a complete
list made."""

_SEARCHED: tuple[Outcome, ...] = ("answer", "maybe", "not found")
_WITHOUT_SOURCES: tuple[Outcome, ...] = ("told", "noted", "greeting")


@dataclass(frozen=True, slots=True)
class Source:
    """A hit cited in an answer: the verbatim quote and its place. Boxes cover the quoted words.

    A source of the kind `look` or `seen` has neither.

    A source of which `gone` is "erased" has no quote where conversations were erased with the document.

    `is_corrected` tells that a person corrected a quoted line by hand; the quote has the corrected words.

    `place` says in which other document its document came, as "in Rent 2025.zip"; empty for others. `dated` is the day
    that its document is about, where the documents of the answer are of different days; empty where one day is enough.

    `index_epoch` and the image's artifact id identify the page as it was when it was cited.
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
    kind: SourceKind = "quote"
    gone: Gone = ""
    place: str = ""
    dated: str = ""
    is_corrected: bool = False

    @property
    def placed(self) -> str:
        """The name of its document, with the one in which it came, and with its day."""
        return placed_name(self.document, self.place, self.dated)

    @property
    def where(self) -> str:
        """The words beside a source whose document is not in the library any more; empty where it is."""
        return {"": "", "binned": BINNED, "erased": ERASED}[self.gone]

    @property
    def how(self) -> str:
        """The words beside a source that quotes nothing; empty for a quote."""
        if self.gone == "erased" and not self.quote:
            return ERASED
        return {"quote": "", "look": BY_LOOK, "seen": SEEN}[self.kind]

    @property
    def remarks(self) -> tuple[str, ...]:
        """All words beside a source: how it is one without a quote, that it was corrected, where its document is."""
        corrected = BY_HAND if self.is_corrected and self.quote else ""
        return tuple(dict.fromkeys(filter(None, (self.how, corrected, self.where))))


def with_days_apart(sources: tuple[Source, ...]) -> tuple[Source, ...]:
    """Return sources with the days of their documents, or without where these are of one day, or of none."""
    is_apart = len({one.dated for one in sources if one.dated}) > 1
    return sources if is_apart else tuple(replace(one, dated="") for one in sources)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of an answer: `answer[start:end] == text`, and its `[n]` markers follow at `end`.

    `sources` are numbers of the answer's sources, best first. A claim without any is not supported by a page; what is
    no claim (a greeting, a heading, "the documents do not say") needs none.

    `seen` marks a claim that no page's text supports and for which the model cites the image of a page: its source
    is of the kind `seen`, and it is never `supported`.
    """

    text: str
    start: int
    end: int
    sources: tuple[int, ...] = ()
    supported: bool = False
    is_claim: bool = True
    seen: bool = False

    def __post_init__(self) -> None:
        if self.seen and self.supported:
            raise ValueError("A sentence that rests on an image is not supported by text.")


@dataclass(frozen=True, slots=True)
class RowsOf:
    """How many rows of a document an answer rests on, and on how many of its pages they stand."""

    doc_id: str
    rows: int
    pages: int


@dataclass(frozen=True, slots=True)
class Computed:
    """How an answer was computed from rows of tables.

    `query` is SQL, for people to read. `rows` are the first of the `rows_total` rows that the answer rests on, as the
    documents `doc_ids` show them, under `columns`. `counts` are the rows of each document; empty where they were not
    recorded.
    """

    query: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    rows_total: int
    doc_ids: tuple[str, ...]
    counts: tuple[RowsOf, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """`answer` holds `[n]` markers that name `sources`; where `found` is False there are none.

    `outcome` tells how sure quotes are, or what else was asked for. Words alone decide it: "not found" may have sources
    that are pages found by their look. "told" is an answer by the facts in `told` alone, "noted" a request to remember
    them, "documents" a list of documents with a source each, "summary" central sentences of some, each with its
    source; both may be empty, and so may "list", a complete list. Where `found` is False it is one of these, "greeting"
    or "not found". With any other outcome, `told` are facts remembered earlier that bear on the question; a model reads
    them with the question, so there are none where one wrote the answer.

    `needs` says what an answer needs beside the passages that were found, as a sum needs a language model.

    `computed` tells how the answer was computed, where a query over tables gives it. `listing` counts the items of a
    complete list, of which the first are `sources`.

    `other` is the answer that does not lead, where there are two: the quotes, where a model's answer leads, or what a
    model wrote, where pages do not support what it says of the thing asked for. It numbers its own sources from 1, and
    has no `other`.

    `model` names what wrote the answer, and is empty where it is made of quotes; `model_place` says where that ran, and
    is empty where it was not recorded. `thread_id` and `checkpoint_id` are None for a question that belongs to no
    conversation.
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
    model_place: str = ""
    outcome: Outcome = "answer"
    told: tuple[str, ...] = ()
    needs: str = ""
    computed: Computed | None = None
    listing: Listing | None = None
    other: Answer | None = None
    confidence: float | None = field(default=None, compare=False, metadata={"is_inner": True})
    """The probability that the first quote answers, 0..1; None where no passages were weighed."""

    def __post_init__(self) -> None:
        is_quoting = any(source.kind == "quote" for source in self.sources)
        if self.found and (self.outcome in _WITHOUT_SOURCES or (self.outcome == "not found" and is_quoting)):
            raise ValueError("An answer that was found has sources.")
        if not self.found and self.outcome not in ("not found", *_WITHOUT_SOURCES, "documents", "summary", "list"):
            object.__setattr__(self, "outcome", "not found")

    @property
    def is_searched(self) -> bool:
        """Whether passages were searched for the question."""
        return self.outcome in _SEARCHED

    @property
    def is_missing(self) -> bool:
        """Whether passages were searched and there is nothing to show, no page found by its look either."""
        return self.outcome == "not found" and not self.found

    @property
    def doc_ids(self) -> set[str]:
        """The documents of its sources, and of those of `other`."""
        return {source.doc_id for source in self.sources} | (self.other.doc_ids if self.other else set())

    @property
    def is_supported(self) -> bool:
        """Whether a page bears out any sentence, by its text or its image."""
        return any(sentence.sources for sentence in self.sentences)

    @property
    def has_topic(self) -> bool:
        """Whether a later question may lean on this one."""
        return self.outcome not in ("noted", "greeting")

    def with_source_places(self, gone: Mapping[str, Gone], known: Mapping[str, Provenance]) -> Answer:
        """Return the answer with `gone`, `place`, `dated` in its sources and those of `other`, by ids of documents."""
        sources = with_days_apart(
            with_provenance((replace(one, gone=gone.get(one.doc_id, one.gone)) for one in self.sources), known)
        )
        return replace(self, sources=sources, other=self.other and self.other.with_source_places(gone, known))

    @property
    def further(self) -> tuple[Source, ...]:
        """The quotes beside the one that answers; none where a model wrote the answer, or no quote surely answers."""
        if self.model or self.outcome != "answer" or not self.sentences:
            return ()
        shown = {number for sentence in self.sentences for number in sentence.sources}
        return tuple(source for source in self.sources if source.n not in shown)

    @property
    def writer(self) -> str:
        """The model without its protocol, and where it ran: `parrot-7b on this machine`; empty for quotes."""
        name = self.model.partition("/")[2] or self.model
        return f"{name} on {self.model_place}" if name and self.model_place else name


def led(quotes: Answer, written: Answer, *, leads: bool) -> Answer:
    """Return two answers to one question as one: `leads` tells whether what a model wrote comes first."""
    return replace(written, other=quotes) if leads else replace(quotes, other=written)
