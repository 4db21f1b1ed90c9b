"""The state of a turn is plain data and survives a round trip."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from docmind.answers import PASSAGES, Intent
from docmind.conversations.state import (
    answer_of,
    filters_of,
    intent_of,
    nearest_of,
    new_question,
    new_turn,
    plain_answer,
    plain_filters,
    plain_intent,
)
from docmind.records.answers import NOTED, Answer, Sentence, Source
from docmind.records.documents import Box
from docmind.records.query import Query
from docmind.records.search import Degraded, Filters, Hit

BOXES = (Box(1, 2, 3, 4), Box(5, 6, 7, 8))
SOURCE = Source(1, "a.pdf", "d", 2, "d::page::2", "It is so.", BOXES, 100, 200, 9, "f" * 64, ".webp.enc")
ANSWER = Answer(
    question="Is it so?",
    answer="It is so. [1]",
    found=True,
    sources=(SOURCE,),
    degraded=(Degraded("dense", "no model"),),
    timings_ms=(("search", 1.5), ("total", 2.5)),
    sentences=(Sentence("It is so.", 0, 9, (1,), supported=True),),
    model="ollama/m",
    thread_id="t",
    checkpoint_id="c",
)
HIT = Hit(
    rank=1, score=0.5, document="a.pdf", doc_id="d", page_no=2, page_id="d::page::2", modality="text", text="It is",
    boxes=(Box(1, 2, 3, 4),), node_id="n", language="en", page_width=100, page_height=200,
)  # fmt: skip


def test_an_answer_comes_back_from_what_json_makes_of_it() -> None:
    plain = json.loads(json.dumps(plain_answer(ANSWER, (HIT,)), allow_nan=False))
    assert plain == plain_answer(ANSWER, (HIT,))  # lists stay lists: there are no tuples in it
    assert answer_of(plain, "Is it so?", "t", "c") == ANSWER
    assert nearest_of(plain) == (HIT,)


@pytest.mark.parametrize(("is_found", "outcome"), [(True, "answer"), (False, "not found")])
def test_an_answer_without_an_outcome_still_opens(*, is_found: bool, outcome: str) -> None:
    plain = plain_answer(ANSWER) | {"found": is_found}
    del plain["outcome"]
    assert answer_of(plain, "Is it so?", "t", "c").outcome == outcome


def test_what_may_answer_stays_so() -> None:
    maybe = replace(ANSWER, outcome="maybe")
    assert answer_of(plain_answer(maybe), "Is it so?", "t", "c") == maybe


def test_what_was_noted_stays_so() -> None:
    noted = Answer("Remember that it is so.", NOTED, found=False, outcome="noted", told=("It is so",))
    assert answer_of(plain_answer(noted), noted.question, None, None) == noted
    with pytest.raises(ValueError, match="has sources"):
        replace(ANSWER, outcome="noted")


def test_an_intent_comes_back_and_old_checkpoints_have_none() -> None:
    intent = Intent("remember", "pt", "x", ("It is so",), ("d",))
    plain = json.loads(json.dumps(plain_intent(intent)))
    assert intent_of({"intent": plain}) == intent  # type: ignore[typeddict-item]
    assert intent_of({"intent": None}) == intent_of({}) == PASSAGES  # type: ignore[typeddict-item]


def test_a_greeting_has_no_sources() -> None:
    greeting = Answer("Hi", "Hello!", found=False, outcome="greeting")
    assert answer_of(plain_answer(greeting), "Hi", None, None) == greeting
    with pytest.raises(ValueError, match="has sources"):
        replace(ANSWER, outcome="greeting")


def test_found_and_outcome_agree() -> None:
    assert replace(ANSWER, found=False).outcome == "not found"
    with pytest.raises(ValueError, match="sources"):
        replace(ANSWER, outcome="not found")


def test_filters_come_back() -> None:
    filters = Filters(doc_ids=("a", "b"), tags=("x",))
    assert filters_of(json.loads(json.dumps(plain_filters(filters)))) == filters
    assert plain_filters(Filters()) == {}


def test_a_new_turn_clears_the_previous_one() -> None:
    turn = new_turn(new_question(Query("Why?"), "standard"))
    assert turn["question"]["text"] == "Why?"
    assert "kept" not in turn
    assert all(not value for name, value in turn.items() if name != "question")
