"""Turns stand by their quotes at once, and a language model completes them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from desks import report, talking
from docmind.application import DocMind
from docmind.conversations.nodes import UNFINISHED
from docmind.conversations.writing import READ_ERASED, WROTE_NOTHING
from docmind.errors import NotFoundError
from docmind.llm import Message
from docmind.llm.base import Stop
from docmind.llm.service import OneModel
from docmind.records.answers import Answer
from docmind.records.conversations import RunProgress, Turn
from docmind.records.query import Query
from docmind.records.search import Filters
from docmind_testkit import FakeChatModel
from libraries import Library
from looking import wait_for

pytestmark = pytest.mark.slow
HERONS = "How many herons does the spring report count?"
SUPPORTED = "The spring report, page 2, counts 74 herons."
UNSUPPORTED = "Lighthouses are painted green by volunteers."
SPRING = Library("spring report", [report("spring", 3)])
TWO = Library("two reports of herons", [report("spring", 3), report("autumn", 3)])


class Waiting(FakeChatModel):
    """A model that begins to write when it may."""

    def __init__(self, *replies: str) -> None:
        super().__init__(*replies)
        self.may_write = threading.Event()

    def stream(self, messages: Sequence[Message], stop: Stop) -> Iterator[str]:
        for piece in super().stream(messages, stop):
            while not self.may_write.wait(0.01):
                if stop():
                    return
            yield piece


@pytest.fixture
def docmind(tmp_path: Path) -> Iterator[DocMind]:
    with SPRING.opened(tmp_path) as mind:
        yield mind


def writing(mind: DocMind, model: FakeChatModel) -> None:
    assert isinstance(mind.models, OneModel)
    mind.models.model = model


def of(mind: DocMind, name: str) -> Filters:
    return Filters(doc_ids=(mind.documents.find(name).doc_id,))


def quoted(mind: DocMind, run_id: str) -> Answer:
    """Wait for the quotes of a run, and return them."""
    wait_for(lambda: mind.conversations.run(run_id).turn)
    turn = mind.conversations.run(run_id).turn
    assert turn is not None
    assert turn.answer is not None
    return turn.answer


def over(mind: DocMind, run_id: str) -> Turn:
    now = mind.conversations.wait(run_id, 60)
    assert now.turn is not None
    return now.turn


def missing(answer: Answer | None) -> list[str]:
    return [one.reason for one in answer.degraded if one.stage == "language model"] if answer is not None else []


def test_quotes_stand_before_the_model_is_asked(docmind: DocMind) -> None:
    alone = docmind.ask(HERONS)
    asked_before: list[int] = []
    model = Waiting(SUPPORTED)
    model.may_write.set()
    writing(docmind, model)

    def watch(now: RunProgress) -> None:
        if now.turn is not None and not asked_before:
            asked_before.append(len(model.received))
            assert (now.turn.answer is not None, now.text) == (True, "")
            assert now.turn.answer is not None
            assert (now.turn.answer.answer, now.turn.answer.model) == (alone.answer, "")

    for thread_id in (None, docmind.conversations.create().thread_id):
        asked_before.clear()
        model.received.clear()
        model.queue(SUPPORTED)
        answer = docmind.conversations.ask(HERONS, thread_id=thread_id, on_progress=watch).answer
        assert asked_before == [0]
        assert answer is not None
        assert (answer.model, answer.degraded) == (model.info.name, ())
        assert answer.other is not None
        assert (answer.other.answer, answer.other.model, answer.other.degraded) == (alone.answer, "", ())


def test_both_are_kept_and_the_supported_one_leads(tmp_path: Path) -> None:
    with SPRING.opened(tmp_path) as mind:
        thread_id = mind.conversations.create().thread_id
        writing(mind, FakeChatModel(SUPPORTED, UNSUPPORTED, ""))
        first, second, third = (mind.conversations.ask(HERONS, thread_id=thread_id) for _ in range(3))
    with talking(tmp_path) as mind:
        assert mind.conversations.view(thread_id).turns == (first, second, third)
        text = mind.conversations.export(thread_id, "markdown").data
        assert text
    assert first.answer is not None
    assert second.answer is not None
    assert second.answer.other is not None
    assert (second.answer.model, second.answer.other.answer) == ("", UNSUPPORTED)
    assert second.answer.found
    assert missing(second.answer) == []
    assert third.answer is not None
    assert (third.answer.other, missing(third.answer)) == (None, [WROTE_NOTHING])


def test_the_next_question_has_its_quotes_while_a_model_writes(docmind: DocMind) -> None:
    model = Waiting(SUPPORTED, SUPPORTED)
    writing(docmind, model)
    thread_id = docmind.conversations.create().thread_id
    first = docmind.conversations.start(HERONS, thread_id=thread_id)
    assert missing(quoted(docmind, first)) == [UNFINISHED]
    second = docmind.conversations.start("How many herons on page 1 of the spring report?", thread_id=thread_id)
    assert quoted(docmind, second).found
    assert [one.run_id for one in docmind.conversations.all_live(thread_id)] == [first, second]
    assert docmind.conversations.run(second).stage == "waiting"
    assert len(docmind.conversations.view(thread_id).turns) == 2
    wait_for(lambda: model.received)
    assert len(model.received) == 1, "models of a conversation write one after another"
    model.may_write.set()
    turns = (over(docmind, first), over(docmind, second))
    assert docmind.conversations.view(thread_id).turns == turns
    assert [turn.answer.model for turn in turns if turn.answer] == [model.info.name] * 2
    assert docmind.conversations.all_live(thread_id) == ()


def test_stopping_stops_the_model_and_keeps_the_quotes(docmind: DocMind) -> None:
    writing(docmind, Waiting(SUPPORTED))
    thread_id = docmind.conversations.create().thread_id
    run_id = docmind.conversations.start(HERONS, thread_id=thread_id)
    quotes = quoted(docmind, run_id)
    docmind.conversations.stop(run_id)
    turn = over(docmind, run_id)
    assert turn.answer is not None
    assert (turn.state, turn.answer.answer, turn.answer.sources) == ("stopped", quotes.answer, quotes.sources)
    assert (turn.answer.other, missing(turn.answer)) == (None, [])


def test_what_a_model_read_of_an_erased_document_is_dropped(docmind: DocMind) -> None:
    model = Waiting(SUPPORTED)
    writing(docmind, model)
    thread_id = docmind.conversations.create().thread_id
    run_id = docmind.conversations.start(HERONS, thread_id=thread_id)
    quoted(docmind, run_id)
    wait_for(lambda: model.received)
    docmind.erasures.erase([docmind.documents.find("spring.pdf").doc_id])
    model.may_write.set()
    answer = over(docmind, run_id).answer
    assert answer is not None
    assert (answer.model, answer.other, missing(answer)) == ("", None, [READ_ERASED])
    assert "74" not in answer.answer


def test_what_a_model_read_in_an_earlier_answer_of_an_erased_document_is_dropped(tmp_path: Path) -> None:
    with TWO.opened(tmp_path) as mind:
        thread_id = mind.conversations.create().thread_id
        mind.conversations.ask(Query(HERONS, filters=of(mind, "spring.pdf")), thread_id=thread_id)
        model = Waiting("As said before, it was 74 herons, and the autumn report, page 2, counts 74 herons.")
        writing(mind, model)
        autumn = Query("How many herons does the autumn report count?", filters=of(mind, "autumn.pdf"))
        run_id = mind.conversations.start(autumn, thread_id=thread_id)
        wait_for(lambda: model.received)
        mind.erasures.erase([mind.documents.find("spring.pdf").doc_id])
        model.may_write.set()
        answer = over(mind, run_id).answer
        assert missing(answer) == [READ_ERASED]
        model.queue("The autumn report, page 2, counts 74 herons.")
        answer = mind.conversations.ask(autumn, thread_id=thread_id).answer
        assert missing(answer) == [], "the model did not read what was erased before the question"


def test_a_run_that_is_over_is_forgotten_with_what_it_quotes(docmind: DocMind) -> None:
    thread_id = docmind.conversations.create().thread_id
    run_id = docmind.conversations.start(HERONS, thread_id=thread_id)
    assert over(docmind, run_id).answer
    docmind.erasures.erase([docmind.documents.find("spring.pdf").doc_id])
    with pytest.raises(NotFoundError):
        docmind.conversations.run(run_id)


@pytest.mark.parametrize("written", [SUPPORTED, UNSUPPORTED])
def test_erasing_a_document_erases_both_answers(docmind: DocMind, written: str) -> None:
    writing(docmind, FakeChatModel(written))
    thread_id = docmind.conversations.create().thread_id
    docmind.conversations.ask(HERONS, thread_id=thread_id)
    docmind.erasures.erase([docmind.documents.find("spring.pdf").doc_id])
    answer = docmind.conversations.view(thread_id).turns[0].answer
    assert answer is not None
    assert answer.other is not None
    for one in (answer, answer.other):
        assert "herons" not in one.answer
        assert "Lighthouses" not in one.answer, "it may come from what the quotes cite"
        assert not any(source.quote for source in one.sources)


def test_a_conversation_is_erased_while_a_model_writes(docmind: DocMind) -> None:
    writing(docmind, Waiting(SUPPORTED))
    thread_id = docmind.conversations.create().thread_id
    run_id = docmind.conversations.start(HERONS, thread_id=thread_id)
    quoted(docmind, run_id)
    docmind.conversations.erase_thread(thread_id)
    assert docmind.conversations.wait(run_id, 30).state == "failed"
    assert docmind.conversations.threads() == ()
