"""Answers that went without a model that was starting, completed once it is there; real loading of random weights."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from desks import OneModel, report, settings_in
from docmind.answers.missing import NOT_FOUND, NOT_SEEN
from docmind.application import DocMind
from docmind.config import RetrieveSettings, VisualSettings
from docmind.conversations import completions
from docmind.records.answers import Answer
from docmind.records.conversations import Turn
from docmind.records.query import Query
from docmind.records.search import Filters
from docmind.search import PageSearch
from docmind_testkit import FakeChatModel
from looking import album, wait_for
from tinymodels import tiny_siglip

pytestmark = pytest.mark.slow
BOAT = "Is there a boat?"
HERONS = "How many herons does the spring report count?"
HASTY = RetrieveSettings(start_timeout_s=0.05)  # starting takes seconds: torch is imported


def opened(folder: Path, model: str, *, is_new: bool = True) -> DocMind:
    """Open a library of two pages without words, prepared for an image model that is not running."""
    visual = VisualSettings(image_model=model, models_dir=folder / "models")
    settings = settings_in(folder, visual=visual, retrieve=HASTY)
    if is_new:
        with DocMind(settings) as mind:
            mind.add([album("few", "red", "purple"), report("spring", 2)])
            assert mind.visual.embed(model).pages_failed == 0
    return DocMind(settings, models=OneModel())


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Return the event for which the fake image model waits when it is started."""
    event = threading.Event()
    monkeypatch.setattr(PageSearch, "is_ready", lambda self, kind: event.is_set())
    monkeypatch.setattr(PageSearch, "start", lambda self, kind, limit_s: event.wait(limit_s))
    return event


def ask(mind: DocMind, question: str = BOAT, **more: Any) -> tuple[Turn, Answer]:
    """Ask the two pages: of so few pages without words, all are found by their look."""
    few = Filters(doc_ids=(mind.documents.find("few.tiff").doc_id,))
    thread = mind.conversations.create()
    turn = mind.conversations.ask(Query(question, filters=few, **more), thread_id=thread.thread_id)
    assert turn.answer is not None
    return turn, turn.answer


def last(mind: DocMind, answer: Answer) -> Turn:
    assert answer.thread_id is not None
    return mind.conversations.view(answer.thread_id).turns[-1]


def completed(mind: DocMind, answer: Answer) -> tuple[Turn, Answer]:
    wait_for(lambda: not last(mind, answer).is_incomplete, 120)
    turn = last(mind, answer)
    assert turn.answer is not None
    return turn, turn.answer


def places(answer: Answer) -> list[tuple[str, int, str]]:
    return sorted((source.document, source.page_no, source.kind) for source in answer.sources)


LOOKS = [("few.tiff", 1, "look"), ("few.tiff", 2, "look")]


def test_an_answer_is_completed_when_its_model_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is a real one, which starts once the question was answered without it."""
    may_start, is_ready, start = threading.Event(), PageSearch.is_ready, PageSearch.start
    monkeypatch.setattr(PageSearch, "is_ready", lambda self, kind: may_start.is_set() and is_ready(self, kind))
    monkeypatch.setattr(
        PageSearch, "start", lambda self, kind, limit_s: may_start.wait(limit_s) and start(self, kind, limit_s)
    )
    with opened(tmp_path, str(tiny_siglip(tmp_path / "siglip"))) as mind:
        first, answer = ask(mind)
        assert (answer.answer, answer.sources, answer.outcome) == (NOT_SEEN, (), "not found")
        assert [(one.stage, one.is_starting) for one in answer.degraded] == [("image", True)]
        before = mind.conversations.threads()
        may_start.set()
        turn, whole = completed(mind, answer)
        assert (places(whole), whole.degraded, whole.found) == (LOOKS, (), True)
        assert whole.answer.endswith("[1] [2]")
        assert (turn.checkpoint_id, whole.timings_ms) == (first.checkpoint_id, answer.timings_ms)
        assert len(mind.conversations.view(answer.thread_id or "").runs) == 1
        assert mind.conversations.threads() != before  # the pages that show it are drawn again
        assert mind.conversations.source_image(whole.sources[0])[8:12] == b"WEBP"
        assert places(ask(mind)[1]) == LOOKS


def test_what_a_model_wrote_stays_and_gets_the_pages(tmp_path: Path, started: threading.Event) -> None:
    with opened(tmp_path, "fake-image") as mind:
        assert isinstance(mind.models, OneModel)
        mind.models.model = writer = FakeChatModel("The documents do not say.")
        _, answer = ask(mind)
        assert (answer.sources, answer.model) == ((), "")
        thread = mind.conversations.create()
        writer.queue("The spring report, page 1, counts 37 herons.")
        led = mind.conversations.ask(HERONS, thread_id=thread.thread_id).answer
        assert led is not None
        assert (led.model, [one.is_starting for one in led.degraded]) == (writer.info.name, [True])
        started.set()
        _, whole = completed(mind, answer)
        assert (places(whole), whole.degraded, whole.other) == (LOOKS, (), answer.other)
        assert whole.other is not None
        assert whole.other.answer == "The documents do not say."
        _, whole = completed(mind, led)
        assert (whole.answer, whole.model, whole.degraded) == (led.answer, led.model, ())
        assert whole.sources[: len(led.sources)] == led.sources
        assert len(writer.received) == 2


def test_an_answer_that_the_end_of_the_process_left_is_taken_up(tmp_path: Path, started: threading.Event) -> None:
    with opened(tmp_path, "fake-image") as mind:
        _, answer = ask(mind)
    with opened(tmp_path, "fake-image", is_new=False) as mind:
        assert answer.thread_id is not None
        assert answer.checkpoint_id is not None
        assert last(mind, answer).is_incomplete
        for _ in range(2):
            assert mind.conversations.complete(answer.thread_id, answer.checkpoint_id)
        started.set()
        turn, whole = completed(mind, answer)
        assert places(whole) == LOOKS
        thread_id, checkpoint_id = answer.thread_id, answer.checkpoint_id
        wait_for(lambda: not mind.conversations.complete(thread_id, checkpoint_id))
    with opened(tmp_path, "fake-image", is_new=False) as mind:
        assert last(mind, answer) == turn


def test_a_page_that_is_erased_meanwhile_is_in_no_completed_answer(tmp_path: Path, started: threading.Event) -> None:
    with opened(tmp_path, "fake-image") as mind:
        _, answer = ask(mind)
        mind.erasures.erase([mind.documents.find("few.tiff").doc_id])
        started.set()
        _, whole = completed(mind, answer)
        assert (whole.sources, whole.answer) == ((), NOT_FOUND)


def test_a_conversation_that_is_erased_meanwhile_holds_nothing_up(tmp_path: Path, started: threading.Event) -> None:
    with opened(tmp_path, "fake-image") as mind:
        _, gone = ask(mind)
        _, answer = ask(mind)
        assert gone.thread_id is not None
        mind.conversations.erase_thread(gone.thread_id)
        started.set()
        assert places(completed(mind, answer)[1]) == LOOKS


@pytest.mark.usefixtures("started")
def test_a_model_that_does_not_start_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completions, "_PATIENCE_S", 0.0)
    with opened(tmp_path, "fake-image") as mind:
        _, whole = completed(mind, ask(mind)[1])
        assert whole.answer == NOT_SEEN
        assert [(one.stage, one.reason) for one in whole.degraded] == [("image", completions.NOT_STARTED)]
