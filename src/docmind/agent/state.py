"""The state of a conversation as LangGraph keeps it: plain data, one channel for what each step of a turn leaves.

The channels hold the turn at hand and nothing of the turns before, so a checkpoint stays as small as its turn; the
history of a conversation is the chain of its checkpoints' parents.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypedDict

from docmind.conversation import Mode, WebResult
from docmind.schema import Answer, Box, Degraded, Filters, Hit, Sentence, Source


class Question(TypedDict):
    """What the user asked for, as it was asked."""

    text: str
    asked_at_ms: int
    mode: Mode
    filters: dict[str, list[str]]
    k: int | None
    web: bool


class Asked(TypedDict):
    """What is searched for. `page` is one the question names by its place ("the next page"); `recall` are documents
    that a contextual question falls back on, `is_cited` whether the latest answer rests on them."""

    text: str
    is_contextual: bool
    page: list[Any] | None
    recall: list[str]
    is_cited: bool


class Found(TypedDict):
    """What retrieval gave, by reference. `recalled` are the documents it fell back on."""

    nodes: list[str]
    pages: list[str]
    recalled: list[str]


class Written(TypedDict):
    """What was written, by which model, and whether the user stopped it; `failure` where the model could not."""

    text: str
    model: str
    is_stopped: bool
    failure: list[str]
    web: list[dict[str, Any]]


class Kept(TypedDict):
    """What the next turn may lean on: documents of the latest answer, and of the latest retrieval; and the place the
    last answer pointed at first, as [doc_id, page_no]."""

    cited: list[str]
    retrieved: list[str]
    place: list[Any] | None


class State(TypedDict):
    """All channels. A step gives back those that it changes."""

    question: Question
    asked: Asked | None
    found: Found | None
    written: Written | None
    answer: dict[str, Any] | None
    memories: list[str]
    kept: Kept


NOTHING_KEPT: Kept = {"cited": [], "retrieved": [], "place": None}


def new_question(text: str, filters: Filters, mode: Mode, k: int | None, *, web: bool) -> Question:
    """A question asked now."""
    return {
        "text": text,
        "asked_at_ms": int(time.time() * 1000),
        "mode": mode,
        "filters": plain_filters(filters),
        "k": k,
        "web": web,
    }


def new_turn(question: Question) -> dict[str, Any]:
    """What a question puts into the state: itself, and nothing of the turn before."""
    return {"question": question, "asked": None, "found": None, "written": None, "answer": None, "memories": []}


def filters_of(plain: Mapping[str, list[str]]) -> Filters:
    return Filters(**{name: tuple(values) for name, values in plain.items()})


def plain_filters(filters: Filters) -> dict[str, list[str]]:
    return {name: list(values) for name, values in asdict(filters).items() if values}


def plain_answer(answer: Answer, nearest: tuple[Hit, ...] = ()) -> dict[str, Any]:
    """An answer as plain data; the question is in its own channel, the ids are the checkpoint's own."""
    return {
        "answer": answer.answer,
        "found": answer.found,
        "model": answer.model,
        "sources": [_listed(asdict(source)) for source in answer.sources],
        "sentences": [_spans(sentence) for sentence in answer.sentences],
        "degraded": [asdict(part) for part in answer.degraded],
        "timings_ms": dict(answer.timings_ms),
        "nearest": [_listed(asdict(hit)) for hit in nearest],
    }


def answer_of(plain: Mapping[str, Any], question: str, thread_id: str | None, checkpoint_id: str | None) -> Answer:
    """The inverse of `plain_answer`."""
    return Answer(
        question=question,
        answer=plain["answer"],
        found=plain["found"],
        sources=tuple(_source(source) for source in plain["sources"]),
        degraded=tuple(Degraded(**part) for part in plain["degraded"]),
        timings_ms=tuple(plain["timings_ms"].items()),
        sentences=tuple(_sentence(plain["answer"], sentence) for sentence in plain["sentences"]),
        model=plain["model"],
        thread_id=thread_id,
        checkpoint_id=checkpoint_id,
    )


def nearest_of(plain: Mapping[str, Any]) -> tuple[Hit, ...]:
    return tuple(Hit(**{**hit, "boxes": _boxes(hit["boxes"])}) for hit in plain["nearest"])


def web_of(plain: list[dict[str, Any]]) -> tuple[WebResult, ...]:
    return tuple(WebResult(**result) for result in plain)


def _spans(sentence: Sentence) -> dict[str, Any]:
    """A sentence without its text, which stands in the answer."""
    plain = asdict(sentence)
    del plain["text"]
    return _listed(plain)


def _sentence(answer: str, plain: Mapping[str, Any]) -> Sentence:
    text = answer[plain["start"] : plain["end"]]
    return Sentence(text, plain["start"], plain["end"], tuple(plain["sources"]), plain["supported"], plain["is_claim"])


def _source(plain: Mapping[str, Any]) -> Source:
    return Source(**{**plain, "boxes": _boxes(plain["boxes"])})


def _boxes(plain: list[list[float]]) -> tuple[Box, ...]:
    return tuple(Box(*map(float, box)) for box in plain)


def _listed(plain: dict[str, Any]) -> dict[str, Any]:
    """Tuples as lists, and boxes, which are whole pixels, in whole numbers: a third of their size."""
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}
    if "boxes" in listed:
        listed["boxes"] = [[int(v) if float(v).is_integer() else v for v in box] for box in listed["boxes"]]
    return listed
