"""The state of a conversation as LangGraph stores it: plain data, one channel per step.

The channels hold the current turn and nothing of the turns before, so a checkpoint stays as small as its turn; the
history of a conversation is the chain of its checkpoints' parents.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NotRequired, TypedDict

from docmind.answers import PASSAGES, Intent, IntentKind, Language
from docmind.records.answers import Answer, Computed, RowsOf, Sentence, Source
from docmind.records.conversations import WebResult
from docmind.records.documents import ArtifactRef, Box, Provenance
from docmind.records.listings import ListedDocument, Listing
from docmind.records.query import Mode, Query, fields_for
from docmind.records.search import Degraded, Filters, Hit, ListName


class Question(TypedDict):
    """The user's question and its options, as asked: of `Query`, the fields that are not the defaults."""

    text: str
    asked_at_ms: int
    mode: Mode
    filters: dict[str, list[str] | str]
    k: int | None
    web: bool
    lists: NotRequired[list[ListName]]
    """The lists to search; absent: as configured."""


class Resolved(TypedDict):
    """The question as it is searched for: resolved by its conversation and by remembered definitions.

    `text` has the search words. `page` is set where the question names a page by its place ("the next page"). `recall`
    are documents that a question about earlier turns falls back on, and `is_cited` tells whether the latest answer
    cites them. `has_topic` tells that the question says by itself what it is about. `completed` is the question with
    words of the one before, empty where it was asked as it stands. Checkpoints of earlier versions have neither.
    """

    text: str
    is_contextual: bool
    page: list[Any] | None
    recall: list[str]
    is_cited: bool
    has_topic: NotRequired[bool]
    completed: NotRequired[str]


class Recognised(TypedDict):
    """What a question asks for, as `docmind.answers.Intent`; absent from checkpoints of earlier versions."""

    kind: IntentKind
    language: Language
    topic: str
    facts: list[str]
    doc_ids: list[str]


class Found(TypedDict):
    """The result of retrieval, by reference. `recalled` are the documents it fell back on."""

    nodes: list[str]
    pages: list[str]
    recalled: list[str]


class Written(TypedDict):
    """The model's text, its name, and whether the user stopped it.

    `failure` is set where the model could not answer. `images` are the pages whose images were sent with the question,
    in their order, as [doc_id, page_no]; the images themselves are in no channel. `leads` tells whether an answer to a
    question comes before the quotes.
    """

    text: str
    model: str
    is_stopped: bool
    failure: list[str]
    web: list[dict[str, Any]]
    images: NotRequired[list[list[Any]]]
    leads: NotRequired[bool]


class LatestDocuments(TypedDict):
    """What the next turn may refer to.

    These are the documents of the latest answer, those of the latest retrieval, and the first place that the latest
    answer cites, as [doc_id, page_no].
    """

    cited: list[str]
    retrieved: list[str]
    place: list[Any] | None


class State(TypedDict):
    """All channels. A step returns those that it changes.

    The names of channels and of their keys are stored, so they stay as they are; `question_of` and `search_words_of`
    return what the user wrote and what is searched for.
    """

    question: Question
    asked: Resolved | None
    intent: NotRequired[Recognised | None]
    found: Found | None
    written: Written | None
    answer: dict[str, Any] | None
    memories: list[str]
    kept: LatestDocuments


NO_DOCUMENTS: LatestDocuments = {"cited": [], "retrieved": [], "place": None}


def new_question(query: Query, mode: Mode) -> Question:
    """Return a question asked now, in this mode unless it names one; of other fields, those that are not the defaults.

    The words, the filters and the lists have the names under which earlier versions stored them.
    """
    given = query.given()
    given.pop("question", None)
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
    return {  # type: ignore[return-value] - its further keys are the names of other fields
        **plain,
        "text": query.question.strip(),
        "asked_at_ms": int(time.time() * 1000),
        "mode": query.mode or mode,
        "filters": plain_filters(query.filters),
        "k": query.k,
        "web": query.web,
    }


def question_of(values: Mapping[str, Any]) -> str:
    """Return the question as the user wrote it."""
    return values["question"]["text"]


def search_words_of(values: Mapping[str, Any]) -> str:
    """Return what is searched for: the question in its conversation, with what its terms stand for."""
    return values["asked"]["text"]


def query_of(question: Question) -> Query:
    """Restore the query of a stored question; what another version stored beside it is left out."""
    names = {one.name for one in fields_for("turn")}
    kept = {name: value for name, value in question.items() if name in names}
    return Query(**{**kept, "question": question["text"], "filters": filters_of(question["filters"])})


def new_turn(question: Question) -> dict[str, Any]:
    """Return the state update for a question, with the previous turn's channels reset."""
    parts = dict.fromkeys(("asked", "intent", "found", "written", "answer"))
    return {"question": question, **parts, "memories": []}


def plain_intent(intent: Intent) -> Recognised:
    return {
        "kind": intent.kind,
        "language": intent.language,
        "topic": intent.topic,
        "facts": list(intent.facts),
        "doc_ids": list(intent.doc_ids),
    }


def intent_of(state: State) -> Intent:
    """Restore what the question asks for; passages where nothing was recognised yet."""
    plain = state.get("intent")
    if not plain:
        return PASSAGES
    facts, doc_ids = tuple(plain["facts"]), tuple(plain["doc_ids"])
    return Intent(plain["kind"], plain["language"], plain["topic"], facts, doc_ids)


def filters_of(plain: Mapping[str, list[str] | str]) -> Filters:
    values: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in plain.items()}
    return Filters(**values)


def plain_filters(filters: Filters) -> dict[str, list[str] | str]:
    return {
        name: list(values) if isinstance(values, tuple) else values
        for name, values in asdict(filters).items()
        if values
    }


def plain_answer(answer: Answer, nearest: tuple[Hit, ...] = ()) -> dict[str, Any]:
    """Convert an answer to plain data, without its question and the checkpoint's ids."""
    return {
        "answer": answer.answer,
        "found": answer.found,
        "outcome": answer.outcome,
        "told": list(answer.told),
        "needs": answer.needs,
        **({"listing": _plain_listing(answer.listing)} if answer.listing is not None else {}),
        **({"computed": _plain_computed(answer.computed)} if answer.computed is not None else {}),
        "model": answer.model,
        "model_place": answer.model_place,
        "sources": [_listed(_kept(source)) for source in answer.sources],
        "sentences": [_spans(sentence) for sentence in answer.sentences],
        "degraded": [asdict(part) for part in answer.degraded],
        "timings_ms": dict(answer.timings_ms),
        "nearest": [_listed(_without_provenance(hit)) for hit in nearest],
        **({"other": plain_answer(answer.other)} if answer.other is not None else {}),
    }


def _without_provenance(cited: Source | Hit) -> dict[str, Any]:
    """Return a source or hit without the place and day of its document: they are looked up when it is read."""
    plain = asdict(cited)
    for name in Provenance._fields:
        del plain[name]
    return plain


def _kept(source: Source) -> dict[str, Any]:
    """Return a source without where its document is now, unless it was erased: that is looked up when it is read.

    What few sources have is left out where this one does not have it.
    """
    plain = _without_provenance(source)
    if source.gone != "erased":
        del plain["gone"]
    if not source.is_corrected:
        del plain["is_corrected"]
    return plain


def answer_of(plain: Mapping[str, Any], question: str, thread_id: str | None, checkpoint_id: str | None) -> Answer:
    """Restore an answer from `plain_answer`; one that was stored without an outcome was found or not found."""
    other = plain.get("other")
    return Answer(
        question=question,
        answer=plain["answer"],
        found=plain["found"],
        sources=tuple(_source(source) for source in plain["sources"]),
        degraded=tuple(Degraded(**part) for part in plain["degraded"]),
        timings_ms=tuple(plain["timings_ms"].items()),
        sentences=tuple(_sentence(plain["answer"], sentence) for sentence in plain["sentences"]),
        model=plain["model"],
        model_place=plain.get("model_place", ""),
        thread_id=thread_id,
        checkpoint_id=checkpoint_id,
        outcome=plain.get("outcome", "answer"),
        told=tuple(plain.get("told", ())),
        needs=plain.get("needs", ""),
        computed=_computed_of(plain.get("computed")),
        listing=_listing_of(plain.get("listing")),
        other=answer_of(other, question, thread_id, checkpoint_id) if other else None,
    )


def _plain_computed(computed: Computed) -> dict[str, Any]:
    return {**_listed(asdict(computed)), "rows": [list(row) for row in computed.rows]}


def _computed_of(plain: Mapping[str, Any] | None) -> Computed | None:
    if not plain:
        return None
    columns, rows = tuple(plain["columns"]), tuple(tuple(row) for row in plain["rows"])
    counts = tuple(RowsOf(**one) for one in plain.get("counts", ()))
    return Computed(plain["query"], columns, rows, plain["rows_total"], tuple(plain["doc_ids"]), counts)


def _plain_listing(listing: Listing) -> dict[str, Any]:
    return {**_listed(asdict(listing)), "documents": [asdict(one) for one in listing.documents]}


def _listing_of(plain: Mapping[str, Any] | None) -> Listing | None:
    if not plain:
        return None
    documents = tuple(ListedDocument(**one) for one in plain["documents"])
    many = {name: tuple(plain[name]) for name in ("unread", "doc_ids")}
    return Listing(**{**plain, "documents": documents, **many})


def nearest_of(plain: Mapping[str, Any]) -> tuple[Hit, ...]:
    return tuple(
        Hit(
            **{
                **hit,
                "boxes": _boxes(hit["boxes"]),
                "ranks": (),
                "heading_path": tuple(hit.get("heading_path", ())),
                **{name: ArtifactRef(**hit[name]) for name in ("image", "thumbnail") if hit[name] is not None},
            }
        )
        for hit in plain["nearest"]
    )


def web_of(plain: list[dict[str, Any]]) -> tuple[WebResult, ...]:
    return tuple(WebResult(**result) for result in plain)


def _spans(sentence: Sentence) -> dict[str, Any]:
    """Convert a sentence without its text, which is in the answer."""
    plain = asdict(sentence)
    del plain["text"]
    if not sentence.seen:
        del plain["seen"]
    return _listed(plain)


def _sentence(answer: str, plain: Mapping[str, Any]) -> Sentence:
    text = answer[plain["start"] : plain["end"]]
    return Sentence(
        text,
        plain["start"],
        plain["end"],
        tuple(plain["sources"]),
        plain["supported"],
        plain["is_claim"],
        seen=plain.get("seen", False),
    )


def _source(plain: Mapping[str, Any]) -> Source:
    return Source(**{**plain, "boxes": _boxes(plain["boxes"])})


def _boxes(plain: list[list[float]]) -> tuple[Box, ...]:
    return tuple(Box(*map(float, box)) for box in plain)


def _listed(plain: dict[str, Any]) -> dict[str, Any]:
    """Convert tuples to lists, and boxes of whole pixels to integers: a third of their size."""
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}
    if "boxes" in listed:
        listed["boxes"] = [[int(v) if float(v).is_integer() else v for v in box] for box in listed["boxes"]]
    return listed
