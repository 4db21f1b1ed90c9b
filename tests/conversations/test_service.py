"""Conversations over a real vault: turns, follow-ups, time travel, and no loss between threads."""

from __future__ import annotations

import io
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from langgraph.checkpoint.base import id as state_ids

from desks import report, settings_in, talking, text_pdf
from docmind.answers import NOT_FOUND
from docmind.application import DocMind
from docmind.config import EmbeddingSettings
from docmind.embedding.minilm import default_cache_dir
from docmind.errors import (
    ConfigError,
    LanguageModelBrokenError,
    LanguageModelDownError,
    NotFoundError,
    StateRefusedError,
)
from docmind.llm.base import ToolCall
from docmind.llm.service import OneModel
from docmind.records.answers import NOTED
from docmind.records.conversations import Turn
from docmind.records.documents import Upload
from docmind.records.search import Filters
from docmind.storage.keys import open_keys
from docmind_testkit import FakeChatModel
from pagereader import count

HERONS = "How many herons does the spring report count?"


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[DocMind]:
    with talking(tmp_path) as mind:
        mind.add([report("spring", 3), report("autumn", 3)])
        yield mind


def writing(mind: DocMind, *replies: object, **more: object) -> FakeChatModel:
    """Let this model answer from now on."""
    model = FakeChatModel(*replies, **more)  # type: ignore[arg-type]
    assert isinstance(mind.models, OneModel)
    mind.models.model = model
    return model


def ask(mind: DocMind, question: str, thread_id: str, **more: object) -> Turn:
    return mind.conversations.ask(question, thread_id=thread_id, **more)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_turn_is_there_after_the_vault_was_closed(tmp_path: Path) -> None:
    with talking(tmp_path) as mind:
        mind.add([report("spring", 3)])
        thread = mind.conversations.create()
        turn = ask(mind, HERONS, thread.thread_id)
        assert turn.state == "answered"
        assert turn.answer is not None
        assert turn.answer.found
        assert turn.answer.thread_id == thread.thread_id
        assert turn.answer.checkpoint_id == turn.checkpoint_id
        assert all(source.boxes for source in turn.answer.sources)
        assert all(source.image_artifact_id for source in turn.answer.sources)
    with talking(tmp_path) as mind:
        view = mind.conversations.view(thread.thread_id)
        assert view.turns == (turn,)
        assert view.thread.title == HERONS
        assert mind.conversations.source_image(turn.answer.sources[0])[8:12] == b"WEBP"


@pytest.mark.slow
def test_a_clock_set_back_hides_no_answer(mind: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    """States have ids that begin with the time of day, and a process may start after the clock was set back."""
    thread = mind.conversations.create("Birds")
    first = ask(mind, HERONS, thread.thread_id)
    ten_years_ns = 10 * 365 * 24 * 3600 * 10**9
    monkeypatch.setattr(state_ids, "time", SimpleNamespace(time_ns=lambda: time.time_ns() - ten_years_ns))
    monkeypatch.setattr(state_ids, "_last_v6_timestamp", None)
    second = ask(mind, "And the autumn report?", thread.thread_id)
    assert second.checkpoint_id < first.checkpoint_id
    assert second.question == "And the autumn report?"
    assert mind.conversations.view(thread.thread_id).turns == (first, second)


@pytest.mark.slow
def test_every_sentence_of_a_quoted_answer_names_its_source(mind: DocMind) -> None:
    thread = mind.conversations.create("Birds")
    answer = ask(mind, HERONS, thread.thread_id).answer
    assert answer is not None
    assert answer.model == ""
    assert [sentence.sources for sentence in answer.sentences] == [(1,)]
    assert answer.further == answer.sources[1:]
    for sentence in answer.sentences:
        assert answer.answer[sentence.start : sentence.end] == sentence.text
        assert sentence.supported
        assert answer.answer[sentence.end :].lstrip().startswith(f"[{sentence.sources[0]}]")


@pytest.mark.slow
def test_what_a_model_writes_is_checked_against_the_pages(mind: DocMind) -> None:
    model = writing(mind, "The spring report, page 2, counts 74 herons. The spring report, page 2, counts 75 herons.")
    thread = mind.conversations.create()
    turn = ask(mind, HERONS, thread.thread_id)
    answer = turn.answer
    assert answer is not None
    assert answer.model == model.info.name
    assert [sentence.supported for sentence in answer.sentences] == [True, False]
    assert answer.sources[0].document == "spring.pdf"
    assert answer.sources[0].page_no == 3
    assert "74 herons" in answer.sources[0].quote
    told = model.received[0]
    assert told[0].role == "system"
    assert HERONS in told[-1].text
    assert "spring.pdf" in told[-1].text


@pytest.mark.slow
def test_a_model_sees_the_earlier_turns_without_their_markers(mind: DocMind) -> None:
    model = writing(mind, "It counts 74 herons.", "Autumn counts 37.")
    thread = mind.conversations.create()
    ask(mind, HERONS, thread.thread_id)
    turn = ask(mind, "And in the autumn report?", thread.thread_id)
    roles = [message.role for message in model.received[1]]
    assert roles == ["system", "user", "assistant", "user"]
    assert "[1]" not in model.received[1][2].text
    assert turn.asked_as.startswith(HERONS)


def test_a_failing_model_leaves_the_quotes_and_its_sentence(mind: DocMind) -> None:
    writing(mind, ["The spring", LanguageModelBrokenError("The answer was cut off.")], LanguageModelDownError("Down."))
    thread = mind.conversations.create()
    for message in ("The answer was cut off.", "Down."):
        turn = ask(mind, HERONS, thread.thread_id)
        assert turn.state == "answered"
        assert turn.answer is not None
        assert turn.answer.model == ""
        assert turn.answer.found
        assert turn.message == message
        assert turn.hint
        assert any(part.stage == "language model" for part in turn.answer.degraded)


@pytest.mark.slow
def test_a_stopped_answer_keeps_what_was_written(mind: DocMind) -> None:
    writing(mind, ["The spring report counts herons. ", *["And more. "] * 500], delay_s=0.02)
    thread = mind.conversations.create()
    run_id = mind.conversations.start(HERONS, thread_id=thread.thread_id)
    while not mind.conversations.run(run_id).text:
        threading.Event().wait(0.01)
    live = mind.conversations.live(thread.thread_id)
    assert live is not None
    assert live.run_id == run_id
    mind.conversations.stop(run_id)
    over = mind.conversations.wait(run_id, 10)
    assert over.state == "stopped"
    assert over.turn is not None
    assert over.turn.state == "stopped"
    assert over.turn.answer is not None
    assert over.turn.answer.answer.startswith("The spring report counts herons")
    assert len(over.turn.answer.sentences) < 400
    assert mind.conversations.live(thread.thread_id) is None


@pytest.mark.slow
def test_retry_answers_a_stopped_turn_beside_it(mind: DocMind) -> None:
    thread = mind.conversations.create()
    first = ask(mind, HERONS, thread.thread_id)
    over = mind.conversations.wait(mind.conversations.retry(thread.thread_id), 30)
    assert over.turn is not None
    assert over.turn.question == HERONS
    assert over.turn.before_id == first.before_id
    view = mind.conversations.view(thread.thread_id)
    assert [turn.checkpoint_id for turn in view.turns] == [over.turn.checkpoint_id]
    assert {run.checkpoint_id for run in view.runs} == {first.checkpoint_id, over.turn.checkpoint_id}


@pytest.mark.slow
def test_a_question_whose_run_fails_can_be_tried_again(mind: DocMind) -> None:
    thread = mind.conversations.create()
    ask(mind, HERONS, thread.thread_id)
    model = writing(mind, ZeroDivisionError("a mistake"))
    with pytest.raises(ZeroDivisionError):
        ask(mind, "And the autumn report?", thread.thread_id)
    view = mind.conversations.view(thread.thread_id)
    assert [turn.state for turn in view.turns] == ["answered", "unanswered"]
    assert view.turns[1].question == "And the autumn report?"
    model.queue("The autumn report counts herons.")
    over = mind.conversations.wait(mind.conversations.retry(thread.thread_id), 30)
    assert over.state == "done"
    view = mind.conversations.view(thread.thread_id)
    assert [turn.state for turn in view.turns] == ["answered", "answered"]
    assert len(view.runs) == 2


@pytest.mark.slow
def test_back_aside_and_to_and_fro(mind: DocMind) -> None:
    talks = mind.conversations
    thread_id = talks.create().thread_id
    turns = [ask(mind, f"How many herons on page {n} of the spring report?", thread_id) for n in range(3)]
    talks.resume(thread_id, turns[0].checkpoint_id)
    assert talks.view(thread_id).turns == tuple(turns[:1])
    other = ask(mind, "How many herons in the autumn report?", thread_id)
    assert other.before_id == turns[0].checkpoint_id
    talks.resume(thread_id, turns[2].checkpoint_id)
    assert talks.view(thread_id).turns == tuple(turns)
    branch = talks.fork(thread_id, turns[1].checkpoint_id)
    assert branch.checkpoint_id not in [turn.checkpoint_id for turn in turns]
    assert talks.view(thread_id).turns == tuple(turns[:2])
    last = ask(mind, "And in the autumn report?", thread_id)
    view = talks.view(thread_id)
    assert view.turns == (*turns[:2], last)
    parents = {run.checkpoint_id: run.parent_id for run in view.runs}
    assert parents == {
        turns[0].checkpoint_id: None,
        turns[1].checkpoint_id: turns[0].checkpoint_id,
        turns[2].checkpoint_id: turns[1].checkpoint_id,
        other.checkpoint_id: turns[0].checkpoint_id,
        last.checkpoint_id: turns[1].checkpoint_id,
    }
    assert {run.checkpoint_id for run in view.runs if run.is_current} == {turn.checkpoint_id for turn in view.turns}
    assert talks.view(thread_id, other.checkpoint_id).turns == (turns[0], other)


@pytest.mark.slow
def test_even_the_first_question_can_be_asked_in_other_words(mind: DocMind) -> None:
    thread_id = mind.conversations.create().thread_id
    first = ask(mind, HERONS, thread_id)
    edited = ask(mind, "How many herons does the autumn report count?", thread_id, checkpoint_id=first.before_id)
    view = mind.conversations.view(thread_id)
    assert view.turns == (edited,)
    assert {run.parent_id for run in view.runs} == {None}
    compared = mind.conversations.compare(thread_id, first.checkpoint_id, edited.checkpoint_id)
    assert {change for change, _ in compared.changes} <= {"same", "only_left", "only_right"}
    assert compared.left == first
    assert compared.right == edited
    assert first.answer is not None
    cited = {n for sentence in first.answer.sentences for n in sentence.sources}
    pages = {source.page_id for source in first.answer.sources if source.n in cited}
    assert set(compared.pages_left) | set(compared.pages_both) == pages


@pytest.mark.slow
def test_points_that_are_not_there_change_nothing(mind: DocMind) -> None:
    talks = mind.conversations
    thread_id, other_id = talks.create().thread_id, talks.create().thread_id
    turn = ask(mind, HERONS, thread_id)
    before = talks.view(thread_id)
    foreign = ask(mind, HERONS, other_id).checkpoint_id
    for point in ("none", foreign, "' OR 1=1 --"):
        for does in (
            lambda point=point: talks.resume(thread_id, point),
            lambda point=point: talks.fork(thread_id, point),
            lambda point=point: talks.view(thread_id, point),
            lambda point=point: talks.compare(thread_id, turn.checkpoint_id, point),
            lambda point=point: ask(mind, "More?", thread_id, checkpoint_id=point),
        ):
            with pytest.raises(NotFoundError):
                does()
    assert talks.view(thread_id) == before
    with pytest.raises(NotFoundError):
        ask(mind, HERONS, "nowhere")
    with pytest.raises(ConfigError):
        ask(mind, " \n", thread_id)


@pytest.mark.slow
def test_a_deleted_thread_comes_back_and_a_purged_one_does_not(mind: DocMind) -> None:
    talks = mind.conversations
    thread_id = talks.create().thread_id
    turn = ask(mind, HERONS, thread_id)
    talks.delete(thread_id)
    assert talks.threads() == ()
    assert [thread.thread_id for thread in talks.threads(deleted=True)] == [thread_id]
    with pytest.raises(NotFoundError):
        ask(mind, "More?", thread_id)
    talks.restore(thread_id)
    assert talks.view(thread_id).turns == (turn,)
    receipt = talks.purge(thread_id)
    assert receipt.title == HERONS
    assert receipt.checkpoints >= 2
    with pytest.raises(NotFoundError):
        talks.view(thread_id)


@pytest.mark.slow
def test_a_purged_thread_leaves_nothing_in_database_or_log(tmp_path: Path) -> None:
    """Checks all branches for title, questions, answers, quotes and memories, in deleted pages too."""
    settings, word = settings_in(tmp_path), "Quokkazephyrine"
    with talking(tmp_path) as mind:
        mind.add([report("spring", 3)])
        writing(mind, f"The {word} counts 37 herons. The spring report, page 1, counts 37 herons.", loop=True)
        talks = mind.conversations
        thread_id, other = talks.create(f"About {word}").thread_id, talks.create().thread_id
        turns = [ask(mind, f"{HERONS} {word} {n}", thread_id) for n in range(3)]
        talks.fork(thread_id, turns[0].checkpoint_id)
        ask(mind, f"And the {word} of autumn?", thread_id)
        talks.rename(thread_id, f"Still about {word}")
        mind.memories.add(f"The {word} nests by the river.", thread_id=thread_id)
        mind.models.choose(None)
        kept = ask(mind, HERONS, other)
        key = open_keys(settings.data_dir, settings.keys).keyset.db_key
        path = settings.data_dir / "vault.db"
        assert sum(count(path, key, word)) > 20
        receipt = talks.purge(thread_id)
        assert (receipt.checkpoints, receipt.memories) == (10, 1)
        assert count(path, key, word) == (0, 0)
        assert talks.view(other).turns == (kept,)
    assert count(path, key, word) == (0, 0)


@pytest.mark.slow
def test_threads_are_found_by_what_was_said_in_them(mind: DocMind) -> None:
    talks = mind.conversations
    birds, empty = talks.create("Birds").thread_id, talks.create("Nothing yet").thread_id
    ask(mind, HERONS, birds)
    assert [thread.thread_id for thread in talks.threads("SPRING herons")] == [birds]
    assert [thread.thread_id for thread in talks.threads("nothing")] == [empty]
    assert talks.threads("zebra") == ()
    ask(mind, "Is there a zebra in the autumn report?", birds)
    assert [thread.thread_id for thread in talks.threads("zebra")] == [birds]


@pytest.mark.slow
def test_a_contextual_question_falls_back_on_the_last_documents(mind: DocMind) -> None:
    thread_id = mind.conversations.create().thread_id
    first = ask(mind, HERONS, thread_id)
    assert first.answer is not None
    turn = ask(mind, "What does that chart show?", thread_id)
    assert turn.answer is not None
    cited = {source.doc_id for source in first.answer.sources}
    if turn.recalled:
        assert set(turn.recalled) <= cited
    assert {source.doc_id for source in turn.answer.sources} <= cited


@pytest.mark.slow
def test_the_next_page_is_the_one_after_the_last_source(tmp_path: Path) -> None:
    with talking(tmp_path) as mind:
        pages = ["The treaty was signed in Lisbon by three ministers", "It entered into force two years later in Porto"]
        mind.add([Upload("treaty.pdf", text_pdf(pages)), report("spring", 3)])
        thread_id = mind.conversations.create().thread_id
        first = ask(mind, "Where was the treaty signed?", thread_id)
        assert first.answer is not None
        assert first.answer.sources[0].page_no == 1
        turn = ask(mind, "e na página seguinte?", thread_id)
        assert turn.answer is not None
        assert [(source.document, source.page_no) for source in turn.answer.sources] == [("treaty.pdf", 2)]
        assert turn.recalled == (first.answer.sources[0].doc_id,)


@pytest.mark.slow
def test_agent_mode_searches_again_with_the_models_own_words(mind: DocMind) -> None:
    model = writing(
        mind,
        ToolCall("1", "multimodal_search", {"query": "autumn herons"}),
        [ToolCall("2", "open_page", {"document": "autumn.pdf", "page": 2}), ToolCall("3", "rm", {"path": "/"})],
        "The autumn report, page 1, counts 37 herons.",
    )
    thread_id = mind.conversations.create().thread_id
    turn = ask(mind, "What is in the other report?", thread_id, mode="agent")
    assert turn.answer is not None
    assert turn.answer.sources[0].document == "autumn.pdf"
    tool_answers = [message.text for message in model.received[2] if message.role == "tool"]
    assert len(tool_answers) == 3
    assert "counts 37 herons" in tool_answers[1]
    assert tool_answers[2].startswith("There is no tool")
    assert {tool.name for tool in model.offered[0]} == {"multimodal_search", "open_page", "search_memory"}
    assert not any("artifact" in message.text or "webp" in message.text for message in model.received[2])


@pytest.mark.slow
def test_an_agent_that_never_stops_searching_is_told_to_answer(tmp_path: Path) -> None:
    from docmind.config import AgentSettings

    with talking(tmp_path, agent=AgentSettings(max_steps=2)) as mind:
        mind.add([report("spring", 3)])
        calls = [ToolCall(str(n), "multimodal_search", {"query": f"herons {n}"}) for n in range(2)]
        writing(mind, *calls, "The spring report, page 1, counts 37 herons.")
        turn = ask(mind, HERONS, mind.conversations.create().thread_id, mode="agent")
        assert turn.answer is not None
        assert turn.answer.found
        assert any("limit of steps" in part.reason for part in turn.answer.degraded)


@pytest.mark.slow
def test_agent_mode_without_a_model_is_reported_and_answers(mind: DocMind) -> None:
    turn = ask(mind, HERONS, mind.conversations.create().thread_id, mode="agent")
    assert turn.answer is not None
    assert turn.answer.found
    assert any(part.stage == "agent mode" for part in turn.answer.degraded)


@pytest.mark.slow
def test_without_a_thread_nothing_is_kept(mind: DocMind) -> None:
    turn = mind.conversations.ask(HERONS)
    assert turn.answer is not None
    assert turn.answer.found
    assert turn.answer.thread_id is None
    assert turn.checkpoint_id == ""
    assert mind.conversations.threads() == ()


@pytest.mark.slow
def test_filters_are_kept_with_the_question(mind: DocMind) -> None:
    autumn = mind.find_document("autumn.pdf").doc_id
    thread_id = mind.conversations.create().thread_id
    turn = ask(mind, HERONS, thread_id, filters=Filters(doc_ids=(autumn,)))
    assert turn.filters == Filters(doc_ids=(autumn,))
    assert turn.answer is not None
    assert {source.document for source in turn.answer.sources} <= {"autumn.pdf"}


@pytest.mark.slow
def test_old_answers_outlive_their_document(mind: DocMind) -> None:
    thread_id = mind.conversations.create().thread_id
    turn = ask(mind, HERONS, thread_id)
    assert turn.answer is not None
    spring = next(source for source in turn.answer.sources if source.document == "spring.pdf")
    mind.erase([spring.doc_id], conversations=False)
    (kept,) = mind.conversations.view(thread_id).turns
    assert kept.answer is not None
    assert kept.answer.answer == turn.answer.answer
    assert [(source.quote, source.gone) for source in kept.answer.sources if source.doc_id == spring.doc_id] == [
        (source.quote, "erased") for source in turn.answer.sources if source.doc_id == spring.doc_id
    ]
    with pytest.raises(NotFoundError):
        mind.conversations.source_image(spring)


@pytest.mark.slow
def test_old_answers_outlive_a_new_index(mind: DocMind) -> None:
    thread_id = mind.conversations.create().thread_id
    turn = ask(mind, HERONS, thread_id)
    mind.reindex()
    assert mind.conversations.view(thread_id).turns == (turn,)
    assert turn.answer is not None
    assert all(mind.conversations.source_image(source) for source in turn.answer.sources)


@pytest.mark.slow
def test_what_cannot_be_stored_is_refused_and_nothing_is_lost(mind: DocMind) -> None:
    thread_id = mind.conversations.create().thread_id
    turn = ask(mind, HERONS, thread_id)
    with pytest.raises(StateRefusedError):
        ask(mind, "data:image/png;base64,iVBORw0KGgo=", thread_id)
    assert mind.conversations.view(thread_id).turns == (turn,)
    writing(mind, "data:text/html;base64,PHNjcmlwdD4=")
    turn = ask(mind, HERONS, thread_id)
    assert "no text" in turn.message
    assert turn.answer is not None
    assert turn.answer.found


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["standard", "agent"])
def test_a_request_to_remember_stores_each_fact_and_searches_nothing(tmp_path: Path, mode: str) -> None:
    with talking(tmp_path) as mind:
        mind.add([report("spring", 3)])
        model = writing(mind, "This is never asked for.")
        thread_id = mind.conversations.create().thread_id
        request = "Remember that my landlord is Ann Cole and my rent is 900 euros."
        turn = ask(mind, request, thread_id, mode=mode)
        assert turn.answer is not None
        facts = ("My landlord is Ann Cole", "My rent is 900 euros")
        assert (turn.answer.outcome, turn.answer.answer, turn.answer.told) == ("noted", NOTED, facts)
        assert (turn.answer.found, turn.answer.sources, turn.nearest, turn.memories) == (False, (), (), ())
        assert model.received == []
        assert sorted(memory.text for memory in mind.memories.list().memories) == sorted(facts)
        assert mind.conversations.view(thread_id).turns == (turn,)
        assert ask(mind, request, thread_id).answer is not None
        assert len(mind.memories.list().memories) == 2, "the same again is the same memory"
        assert mind.ask(request).told == facts
        with zipfile.ZipFile(io.BytesIO(mind.conversations.export(thread_id, "markdown").data)) as files:
            text = "".join(files.read(name).decode() for name in files.namelist() if name.endswith(".md"))
        assert NOTED in text
        assert "My landlord is Ann Cole" in text
        assert NOT_FOUND not in text


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["standard", "agent"])
def test_a_greeting_is_returned_without_a_search(tmp_path: Path, mode: str) -> None:
    with talking(tmp_path) as mind:
        assert "no documents yet" in mind.ask("Hello!").answer
        mind.add([report("spring", 3)])
        model = writing(mind, "This is never asked for.")
        thread_id = mind.conversations.create().thread_id
        first = ask(mind, HERONS, thread_id)
        writing(mind, "This is never asked for.")
        turn = ask(mind, "Bom dia!", thread_id, mode=mode)
        assert turn.answer is not None
        assert (turn.answer.outcome, turn.answer.found, turn.answer.sources) == ("greeting", False, ())
        assert "Há 1 documento" in turn.answer.answer
        assert (turn.answer.model, turn.asked_as, turn.recalled, turn.nearest) == ("", "", (), ())
        assert mind.ask("Hello!").answer.startswith("Hello!")
        assert mind.conversations.view(thread_id).turns == (first, turn)
        later = ask(mind, "And in the autumn report?", thread_id)
        assert later.asked_as == f"{HERONS} And in the autumn report?", "it leans on the question before the greeting"
        assert len(model.received) == 1
        with zipfile.ZipFile(io.BytesIO(mind.conversations.export(thread_id, "markdown").data)) as files:
            text = "".join(files.read(name).decode() for name in files.namelist() if name.endswith(".md"))
        assert "Há 1 documento" in text


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["standard", "agent"])
def test_a_list_of_documents_is_kept_and_later_questions_lean_on_it(mind: DocMind, mode: str) -> None:
    model = writing(mind, "This is never asked for.")
    thread_id = mind.conversations.create().thread_id
    turn = ask(mind, "What documents do I have?", thread_id, mode=mode)
    assert turn.answer is not None
    assert (turn.answer.outcome, turn.answer.model) == ("documents", "")
    assert {source.document for source in turn.answer.sources} == {"spring.pdf", "autumn.pdf"}
    assert model.received == []
    assert mind.conversations.view(thread_id).turns == (turn,)
    assert mind.conversations.source_image(turn.answer.sources[0])[8:12] == b"WEBP"
    with zipfile.ZipFile(io.BytesIO(mind.conversations.export(thread_id, "markdown").data)) as files:
        text = "".join(files.read(name).decode() for name in files.namelist() if name.endswith(".md"))
    assert "a list of documents" in text
    assert "The spring report, page 0" in text


@pytest.mark.slow
def test_a_summary_of_this_is_of_what_was_cited_and_a_model_writes_its_own(mind: DocMind) -> None:
    thread_id = mind.conversations.create().thread_id
    cited = ask(mind, "How many herons does the autumn report, page 2, count?", thread_id)
    assert cited.answer is not None
    turn = ask(mind, "What is this about?", thread_id)
    assert turn.answer is not None
    assert turn.answer.outcome == "summary"
    assert {source.doc_id for source in turn.answer.sources} == {source.doc_id for source in cited.answer.sources}
    assert turn.asked_as == ""
    assert mind.conversations.view(thread_id).turns[-1] == turn
    with zipfile.ZipFile(io.BytesIO(mind.conversations.export(thread_id, "markdown").data)) as files:
        text = "".join(files.read(name).decode() for name in files.namelist() if name.endswith(".md"))
    assert "central sentences" in text
    model = writing(mind, "The autumn report counts herons.")
    assert ask(mind, "Summarise the autumn report", thread_id).answer.model == model.info.name  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_sum_needs_a_model_and_is_left_to_one(mind: DocMind) -> None:
    thread_id = mind.conversations.create().thread_id
    asked = "What is the sum of all herons that the spring report counts?"
    turn = ask(mind, asked, thread_id)
    assert turn.answer is not None
    assert turn.answer.outcome == "maybe"
    assert "needs a language model" in turn.answer.needs
    assert mind.conversations.view(thread_id).turns == (turn,)
    with zipfile.ZipFile(io.BytesIO(mind.conversations.export(thread_id, "markdown").data)) as files:
        text = "".join(files.read(name).decode() for name in files.namelist() if name.endswith(".md"))
    assert "needs a language model" in text
    model = writing(mind, "The spring report counts 74 herons.")
    written = ask(mind, asked, thread_id).answer
    assert written is not None
    assert (written.model, written.needs) == (model.info.name, "")


@pytest.mark.slow
def test_what_was_told_is_beside_the_quotes_and_where_nothing_is_found(tmp_path: Path) -> None:
    with talking(tmp_path) as mind:
        mind.add([report("spring", 3)])
        thread_id = mind.conversations.create().thread_id
        assert ask(mind, HERONS, thread_id).answer.told == ()  # type: ignore[union-attr]
        mind.memories.add("My landlord is Ann Cole")
        answer = ask(mind, "Who is my landlord?", thread_id).answer
        assert answer is not None
        assert answer.told == ("My landlord is Ann Cole",)
        assert mind.ask("Who is my landlord?").told == answer.told
        assert ask(mind, HERONS, thread_id).answer.told == ()  # type: ignore[union-attr]
        mind.memories.add("The herons of the spring report are counted by Ann")
        quoted = ask(mind, HERONS, thread_id).answer
        assert quoted is not None
        assert quoted.found
        assert quoted.told == ("The herons of the spring report are counted by Ann",)
        writing(mind, "There are herons.")
        written = ask(mind, HERONS, thread_id).answer
        assert written is not None
        assert written.model
        assert written.told == ()


@pytest.mark.slow
def test_a_defined_term_finds_what_its_meaning_finds(tmp_path: Path) -> None:
    with talking(tmp_path) as mind:
        mind.add([report("spring", 3)])
        asked = "How many herons does VERNA count?"
        thread_id = mind.conversations.create().thread_id
        before = ask(mind, asked, thread_id)
        assert before.answer is not None
        assert (before.answer.found, before.asked_as, mind.ask(asked).found) == (False, "", False)
        ask(mind, "Remember that by VERNA I mean the spring report.", thread_id)
        after = ask(mind, asked, thread_id)
        assert after.answer is not None
        assert after.answer.found
        assert after.asked_as == "How many herons does the spring report count?"
        assert mind.ask(asked).sources == after.answer.sources


def test_a_request_is_no_topic_of_a_follow_up(mind: DocMind) -> None:
    thread_id = mind.conversations.create().thread_id
    ask(mind, HERONS, thread_id)
    ask(mind, "Remember that the storks are away.", thread_id)
    assert "storks" not in ask(mind, "and how many are there?", thread_id).asked_as
    for memory in mind.memories.list().memories:
        mind.memories.forget(memory.memory_id)


@pytest.mark.slow
def test_memories_are_proposed_and_kept_only_when_accepted(mind: DocMind) -> None:
    thread_id = mind.conversations.create().thread_id
    turn = ask(mind, "Remember that the herons nest by the river. How many herons does spring count?", thread_id)
    assert turn.memories
    assert mind.memories.list().memories == ()
    model = writing(mind, "The herons nest by the river.")
    mind.memories.accept(turn.memories[0])
    ask(mind, "Where do the herons nest by the river?", thread_id)
    assert turn.memories[0] in model.received[0][-1].text


@pytest.mark.slow
def test_eight_threads_and_four_writers_lose_nothing(mind: DocMind) -> None:
    talks, failed = mind.conversations, []

    def asks(thread_id: str, times: int, who: int) -> None:
        try:
            for n in range(times):
                ask(mind, f"How many herons does the spring report count? {who}-{n}", thread_id)
        except BaseException as error:
            failed.append(error)
            raise

    many = [talks.create().thread_id for _ in range(8)]
    shared = talks.create().thread_id
    writers = [threading.Thread(target=asks, args=(thread_id, 15, 0)) for thread_id in many]
    writers += [threading.Thread(target=asks, args=(shared, 10, who)) for who in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert failed == []
    for thread_id in many:
        assert len(talks.view(thread_id).turns) == 15
    view = talks.view(shared)
    assert len(view.turns) == 40
    assert {turn.question.rsplit(" ")[-1] for turn in view.turns} == {f"{w}-{n}" for w in range(4) for n in range(10)}


@pytest.mark.slow
def test_a_new_topic_asks_the_documents_of_the_conversation_first(tmp_path: Path) -> None:
    lease = (
        "# Lease\n\nThe deposit is two monthly rents.\n\nThe boiler is repaired by the landlord.\n\nPets need consent."
    )
    shop = "# Shop\n\nPets are sold on the second floor of the shop beside the station."
    settings = {"embedding": EmbeddingSettings(), "cache_dir": default_cache_dir()}
    with talking(tmp_path, **settings) as mind:
        mind.add([Upload("lease.md", lease.encode()), Upload("shop.md", shop.encode())])
        lease_id = mind.find_document("lease.md").doc_id
        thread_id = mind.conversations.create().thread_id
        ask(mind, "How much is the deposit of the lease?", thread_id)
        ask(mind, "And the boiler?", thread_id)
        turn = ask(mind, "And the pets?", thread_id)
        assert turn.answer is not None
        assert turn.asked_as == "the pets"
        assert {source.document for source in turn.answer.sources} == {"lease.md"}
        assert "Pets need consent." in turn.answer.sources[0].quote
        assert set(turn.recalled) <= {lease_id}
        missing = ask(mind, "And the swimming pool?", thread_id)
        assert missing.answer is not None
        assert not missing.answer.found, "a topic of its own needs an answer of its own"


@pytest.mark.slow
def test_a_greeting_is_a_title_until_a_question_follows(mind: DocMind) -> None:
    thread_id = mind.conversations.create().thread_id
    ask(mind, "Hello!", thread_id)
    assert mind.conversations.thread(thread_id).title == "Hello!"
    ask(mind, "Thank you", thread_id)
    ask(mind, HERONS, thread_id)
    assert mind.conversations.thread(thread_id).title == HERONS
    ask(mind, "And in the autumn report?", thread_id)
    assert mind.conversations.thread(thread_id).title == HERONS
    named = mind.conversations.create("Hello!").thread_id
    ask(mind, HERONS, named)
    assert mind.conversations.thread(named).title == "Hello!", "a title that the user gave stays"
