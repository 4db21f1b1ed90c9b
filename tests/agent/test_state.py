"""The state of a turn is plain data, and what was put in comes out."""

from __future__ import annotations

import json

from docmind.agent.state import answer_of, filters_of, nearest_of, new_question, new_turn, plain_answer, plain_filters
from docmind.schema import Answer, Box, Degraded, Filters, Hit, Sentence, Source

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
HIT = Hit(1, 0.5, "a.pdf", "d", 2, "d::page::2", "text", "It is", (Box(1, 2, 3, 4),), "n", "en", 100, 200)


def test_an_answer_comes_back_from_what_json_makes_of_it() -> None:
    plain = json.loads(json.dumps(plain_answer(ANSWER, (HIT,)), allow_nan=False))
    assert plain == plain_answer(ANSWER, (HIT,))  # lists stay lists: nothing in it is a tuple
    assert answer_of(plain, "Is it so?", "t", "c") == ANSWER
    assert nearest_of(plain) == (HIT,)


def test_filters_come_back() -> None:
    filters = Filters(doc_ids=("a", "b"), tags=("x",))
    assert filters_of(json.loads(json.dumps(plain_filters(filters)))) == filters
    assert plain_filters(Filters()) == {}


def test_a_new_turn_leaves_nothing_of_the_one_before_but_what_is_kept() -> None:
    turn = new_turn(new_question("Why?", Filters(), "standard", None, web=False))
    assert turn["question"]["text"] == "Why?"
    assert "kept" not in turn
    assert all(not value for name, value in turn.items() if name != "question")
