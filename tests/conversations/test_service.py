"""Conversations over a real vault: turns, follow-ups, time travel, and no loss between threads."""

from __future__ import annotations

import io
import threading
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.checkpoint.base import id as state_ids

from desks import report, settings_in, talking, text_pdf
from docmind.answers import NOT_FOUND
from docmind.application import DocMind
from docmind.config import EmbeddingSettings
from docmind.conversations.nodes import UNFINISHED
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
from docmind.records.query import Query
from docmind.records.search import Filters
from docmind.storage.keys import open_keys
from docmind_testkit import FakeChatModel
from libraries import Library
from pagereader import count

HERONS = "How many herons does the spring report count?"


SPRING = Library("spring report", [report("spring", 3)])


@pytest.fixture(scope="module")
def library() -> Library:
    return Library("spring and autumn reports", [report("spring", 3), report("autumn", 3)])


def writing(docmind: DocMind, *replies: object, **more: object) -> FakeChatModel:
    """Let this model answer from now on."""
    model = FakeChatModel(*replies, **more)  # type: ignore[arg-type]
    assert isinstance(docmind.models, OneModel)
    docmind.models.model = model
    return model


def ask(docmind: DocMind, question: str, thread_id: str, checkpoint_id: str | None = None, **more: Any) -> Turn:
    return docmind.conversations.ask(Query(question, **more), thread_id=thread_id, checkpoint_id=checkpoint_id)


@pytest.mark.slow
def test_a_turn_is_there_after_the_vault_was_closed(tmp_path: Path) -> None:
    with SPRING.opened(tmp_path) as docmind:
        thread = docmind.conversations.create()
        turn = ask(docmind, HERONS, thread.thread_id)
        assert turn.state == "answered"
        assert turn.answer is not None
        assert turn.answer.found
        assert turn.answer.thread_id == thread.thread_id
        assert turn.answer.checkpoint_id == turn.checkpoint_id
        assert all(source.boxes for source in turn.answer.sources)
        assert all(source.image_artifact_id for source in turn.answer.sources)
    with talking(tmp_path) as docmind:
        view = docmind.conversations.view(thread.thread_id)
        assert view.turns == (turn,)
        assert view.thread.title == HERONS
        assert docmind.conversations.source_image(turn.answer.sources[0])[8:12] == b"WEBP"


@pytest.mark.slow
def test_a_clock_set_back_hides_no_answer(docmind: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    """States have ids that begin with the time of day, and a process may start after the clock was set back."""
    thread = docmind.conversations.create("Birds")
    first = ask(docmind, HERONS, thread.thread_id)
    ten_years_ns = 10 * 365 * 24 * 3600 * 10**9
    monkeypatch.setattr(state_ids, "time", SimpleNamespace(time_ns=lambda: time.time_ns() - ten_years_ns))
    monkeypatch.setattr(state_ids, "_last_v6_timestamp", None)
    second = ask(docmind, "And the autumn report?", thread.thread_id)
    assert second.checkpoint_id < first.checkpoint_id
    assert second.question == "And the autumn report?"
    assert docmind.conversations.view(thread.thread_id).turns == (first, second)


@pytest.mark.slow
def test_every_sentence_of_a_quoted_answer_names_its_source(docmind: DocMind) -> None:
    thread = docmind.conversations.create("Birds")
    answer = ask(docmind, HERONS, thread.thread_id).answer
    assert answer is not None
    assert answer.model == ""
    assert [sentence.sources for sentence in answer.sentences] == [(n,) for n, _ in enumerate(answer.sentences, 1)]
    assert answer.further == answer.sources[len(answer.sentences) :]
    for sentence in answer.sentences:
        assert answer.answer[sentence.start : sentence.end] == sentence.text
        assert sentence.supported
        assert answer.answer[sentence.end :].lstrip().startswith(f"[{sentence.sources[0]}]")


@pytest.mark.slow
def test_what_a_model_writes_is_checked_against_the_pages(docmind: DocMind) -> None:
    model = writing(docmind, "The spring report, page 2, counts 74 herons. Owls are said to like the spring in Norway.")
    thread = docmind.conversations.create()
    turn = ask(docmind, HERONS, thread.thread_id)
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
def test_a_model_sees_the_earlier_turns_without_their_markers(docmind: DocMind) -> None:
    model = writing(docmind, "It counts 74 herons.", "Autumn counts 37.")
    thread = docmind.conversations.create()
    ask(docmind, HERONS, thread.thread_id)
    turn = ask(docmind, "And in the autumn report?", thread.thread_id)
    roles = [message.role for message in model.received[1]]
    assert roles == ["system", "user", "assistant", "user"]
    assert "[1]" not in model.received[1][2].text
    assert turn.asked_as == "How many herons does the autumn report count?"


@pytest.mark.slow
def test_a_failing_model_leaves_the_quotes_and_its_sentence(docmind: DocMind) -> None:
    writing(
        docmind, ["The spring", LanguageModelBrokenError("The answer was cut off.")], LanguageModelDownError("Down.")
    )
    thread = docmind.conversations.create()
    for message in ("The answer was cut off.", "Down."):
        turn = ask(docmind, HERONS, thread.thread_id)
        assert turn.state == "answered"
        assert turn.answer is not None
        assert turn.answer.model == ""
        assert turn.answer.found
        assert turn.message == message
        assert turn.hint
        assert any(part.stage == "language model" for part in turn.answer.degraded)


@pytest.mark.slow
def test_a_stopped_answer_keeps_what_was_written(docmind: DocMind) -> None:
    writing(docmind, ["The spring report counts herons. ", *["And more. "] * 500], delay_s=0.02)
    thread = docmind.conversations.create()
    run_id = docmind.conversations.start(HERONS, thread_id=thread.thread_id)
    while not docmind.conversations.run(run_id).text:
        threading.Event().wait(0.01)
    live = docmind.conversations.live(thread.thread_id)
    assert live is not None
    assert live.run_id == run_id
    docmind.conversations.stop(run_id)
    over = docmind.conversations.wait(run_id, 10)
    assert over.state == "stopped"
    assert over.turn is not None
    assert over.turn.state == "stopped"
    assert over.turn.answer is not None
    assert over.turn.answer.answer.startswith("The spring report counts herons")
    assert len(over.turn.answer.sentences) < 400
    assert docmind.conversations.live(thread.thread_id) is None


@pytest.mark.slow
def test_retry_answers_a_stopped_turn_beside_it(docmind: DocMind) -> None:
    thread = docmind.conversations.create()
    first = ask(docmind, HERONS, thread.thread_id)
    over = docmind.conversations.wait(docmind.conversations.retry(thread.thread_id), 30)
    assert over.turn is not None
    assert over.turn.question == HERONS
    assert over.turn.before_id == first.before_id
    view = docmind.conversations.view(thread.thread_id)
    assert [turn.checkpoint_id for turn in view.turns] == [over.turn.checkpoint_id]
    assert {run.checkpoint_id for run in view.runs} == {first.checkpoint_id, over.turn.checkpoint_id}


@pytest.mark.slow
def test_a_question_whose_run_fails_can_be_tried_again(docmind: DocMind) -> None:
    thread = docmind.conversations.create()
    ask(docmind, HERONS, thread.thread_id)
    model = writing(docmind, ZeroDivisionError("a mistake"))
    with pytest.raises(ZeroDivisionError):
        ask(docmind, "And the autumn report?", thread.thread_id)
    view = docmind.conversations.view(thread.thread_id)
    assert [turn.state for turn in view.turns] == ["answered", "answered"]
    assert view.turns[1].question == "And the autumn report?"
    quotes = view.turns[1].answer
    assert quotes is not None
    assert quotes.found
    assert [(one.stage, one.reason) for one in quotes.degraded] == [("language model", UNFINISHED)]
    model.queue("The autumn report, page 1, counts 37 herons.")
    over = docmind.conversations.wait(docmind.conversations.retry(thread.thread_id), 30)
    assert over.state == "done"
    view = docmind.conversations.view(thread.thread_id)
    assert [turn.answer.model for turn in view.turns if turn.answer] == ["", model.info.name]
    assert len(view.runs) == 3


@pytest.mark.slow
def test_back_aside_and_to_and_fro(docmind: DocMind) -> None:
    talks = docmind.conversations
    thread_id = talks.create().thread_id
    turns = [ask(docmind, f"How many herons on page {n} of the spring report?", thread_id) for n in range(3)]
    talks.resume(thread_id, turns[0].checkpoint_id)
    assert talks.view(thread_id).turns == tuple(turns[:1])
    other = ask(docmind, "How many herons in the autumn report?", thread_id)
    assert other.before_id == turns[0].checkpoint_id
    talks.resume(thread_id, turns[2].checkpoint_id)
    assert talks.view(thread_id).turns == tuple(turns)
    branch = talks.fork(thread_id, turns[1].checkpoint_id)
    assert branch.checkpoint_id not in [turn.checkpoint_id for turn in turns]
    assert talks.view(thread_id).turns == tuple(turns[:2])
    last = ask(docmind, "And in the autumn report?", thread_id)
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
def test_even_the_first_question_can_be_asked_in_other_words(docmind: DocMind) -> None:
    thread_id = docmind.conversations.create().thread_id
    first = ask(docmind, HERONS, thread_id)
    edited = ask(docmind, "How many herons does the autumn report count?", thread_id, checkpoint_id=first.before_id)
    view = docmind.conversations.view(thread_id)
    assert view.turns == (edited,)
    assert {run.parent_id for run in view.runs} == {None}
    compared = docmind.conversations.compare(thread_id, first.checkpoint_id, edited.checkpoint_id)
    assert {change for change, _ in compared.changes} <= {"same", "only_left", "only_right"}
    assert compared.left == first
    assert compared.right == edited
    assert first.answer is not None
    cited = {n for sentence in first.answer.sentences for n in sentence.sources}
    pages = {source.page_id for source in first.answer.sources if source.n in cited}
    assert set(compared.pages_left) | set(compared.pages_both) == pages


@pytest.mark.slow
def test_points_that_are_not_there_change_nothing(docmind: DocMind) -> None:
    talks = docmind.conversations
    thread_id, other_id = talks.create().thread_id, talks.create().thread_id
    turn = ask(docmind, HERONS, thread_id)
    before = talks.view(thread_id)
    foreign = ask(docmind, HERONS, other_id).checkpoint_id
    for point in ("none", foreign, "' OR 1=1 --"):
        for does in (
            lambda point=point: talks.resume(thread_id, point),
            lambda point=point: talks.fork(thread_id, point),
            lambda point=point: talks.view(thread_id, point),
            lambda point=point: talks.compare(thread_id, turn.checkpoint_id, point),
            lambda point=point: ask(docmind, "More?", thread_id, checkpoint_id=point),
        ):
            with pytest.raises(NotFoundError):
                does()
    assert talks.view(thread_id) == before
    with pytest.raises(NotFoundError):
        ask(docmind, HERONS, "nowhere")
    with pytest.raises(ConfigError):
        ask(docmind, " \n", thread_id)


@pytest.mark.slow
def test_a_deleted_thread_comes_back_and_a_purged_one_does_not(docmind: DocMind) -> None:
    talks = docmind.conversations
    thread_id = talks.create().thread_id
    turn = ask(docmind, HERONS, thread_id)
    talks.bin(thread_id)
    assert talks.threads() == ()
    assert [thread.thread_id for thread in talks.threads(deleted=True)] == [thread_id]
    with pytest.raises(NotFoundError):
        ask(docmind, "More?", thread_id)
    talks.restore(thread_id)
    assert talks.view(thread_id).turns == (turn,)
    receipt = talks.erase_thread(thread_id)
    assert receipt.title == HERONS
    assert receipt.checkpoints >= 2
    with pytest.raises(NotFoundError):
        talks.view(thread_id)


@pytest.mark.slow
def test_a_purged_thread_leaves_nothing_in_database_or_log(tmp_path: Path) -> None:
    """Checks all branches for title, questions, answers, quotes and memories, in deleted pages too."""
    settings, word = settings_in(tmp_path), "Quokkazephyrine"
    with SPRING.opened(tmp_path) as docmind:
        writing(docmind, f"The {word} counts 37 herons. The spring report, page 1, counts 37 herons.", loop=True)
        talks = docmind.conversations
        thread_id, other = talks.create(f"About {word}").thread_id, talks.create().thread_id
        turns = [ask(docmind, f"{HERONS} {word} {n}", thread_id) for n in range(3)]
        talks.fork(thread_id, turns[0].checkpoint_id)
        ask(docmind, f"And the {word} of autumn?", thread_id)
        talks.rename(thread_id, f"Still about {word}")
        docmind.memories.add(f"The {word} nests by the river.", thread_id=thread_id)
        docmind.models.choose(None)
        kept = ask(docmind, HERONS, other)
        key = open_keys(settings.data_dir, settings.keys).keyset.db_key
        path = settings.data_dir / "vault.db"
        assert sum(count(path, key, word)) > 20
        receipt = talks.erase_thread(thread_id)
        assert (receipt.checkpoints, receipt.memories) == (10, 1)
        assert count(path, key, word) == (0, 0)
        assert talks.view(other).turns == (kept,)
    assert count(path, key, word) == (0, 0)


@pytest.mark.slow
def test_threads_are_found_by_what_was_said_in_them(docmind: DocMind) -> None:
    talks = docmind.conversations
    birds, empty = talks.create("Birds").thread_id, talks.create("Nothing yet").thread_id
    ask(docmind, HERONS, birds)
    assert [thread.thread_id for thread in talks.threads("SPRING herons")] == [birds]
    assert [thread.thread_id for thread in talks.threads("nothing")] == [empty]
    assert talks.threads("zebra") == ()
    ask(docmind, "Is there a zebra in the autumn report?", birds)
    assert [thread.thread_id for thread in talks.threads("zebra")] == [birds]


@pytest.mark.slow
def test_a_contextual_question_falls_back_on_the_last_documents(docmind: DocMind) -> None:
    thread_id = docmind.conversations.create().thread_id
    first = ask(docmind, HERONS, thread_id)
    assert first.answer is not None
    turn = ask(docmind, "What does that chart show?", thread_id)
    assert turn.answer is not None
    cited = {source.doc_id for source in first.answer.sources}
    if turn.recalled:
        assert set(turn.recalled) <= cited
    assert {source.doc_id for source in turn.answer.sources} <= cited


@pytest.mark.slow
def test_the_next_page_is_the_one_after_the_last_source(tmp_path: Path) -> None:
    pages = ["The treaty was signed in Lisbon by three ministers", "It entered into force two years later in Porto"]
    library = Library("treaty", [Upload("treaty.pdf", text_pdf(pages)), report("spring", 3)])
    with library.opened(tmp_path) as docmind:
        thread_id = docmind.conversations.create().thread_id
        first = ask(docmind, "Where was the treaty signed?", thread_id)
        assert first.answer is not None
        assert first.answer.sources[0].page_no == 1
        turn = ask(docmind, "e na página seguinte?", thread_id)
        assert turn.answer is not None
        assert [(source.document, source.page_no) for source in turn.answer.sources] == [("treaty.pdf", 2)]
        assert turn.recalled == (first.answer.sources[0].doc_id,)


@pytest.mark.slow
def test_agent_mode_searches_again_with_the_models_own_words(docmind: DocMind) -> None:
    model = writing(
        docmind,
        ToolCall("1", "multimodal_search", {"query": "autumn herons"}),
        [ToolCall("2", "open_page", {"document": "autumn.pdf", "page": 2}), ToolCall("3", "rm", {"path": "/"})],
        "The autumn report, page 1, counts 37 herons.",
    )
    thread_id = docmind.conversations.create().thread_id
    turn = ask(docmind, "What is in the other report?", thread_id, mode="agent")
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

    with SPRING.opened(tmp_path, agent=AgentSettings(max_steps=2)) as docmind:
        calls = [ToolCall(str(n), "multimodal_search", {"query": f"herons {n}"}) for n in range(2)]
        writing(docmind, *calls, "The spring report, page 1, counts 37 herons.")
        turn = ask(docmind, HERONS, docmind.conversations.create().thread_id, mode="agent")
        assert turn.answer is not None
        assert turn.answer.found
        assert any("limit of steps" in part.reason for part in turn.answer.degraded)


@pytest.mark.slow
def test_agent_mode_without_a_model_is_reported_and_answers(docmind: DocMind) -> None:
    turn = ask(docmind, HERONS, docmind.conversations.create().thread_id, mode="agent")
    assert turn.answer is not None
    assert turn.answer.found
    assert any(part.stage == "agent mode" for part in turn.answer.degraded)


@pytest.mark.slow
def test_without_a_thread_nothing_is_kept(docmind: DocMind) -> None:
    turn = docmind.conversations.ask(HERONS)
    assert turn.answer is not None
    assert turn.answer.found
    assert turn.answer.thread_id is None
    assert turn.checkpoint_id == ""
    assert docmind.conversations.threads() == ()


@pytest.mark.slow
def test_filters_are_kept_with_the_question(docmind: DocMind) -> None:
    autumn = docmind.documents.find("autumn.pdf").doc_id
    thread_id = docmind.conversations.create().thread_id
    turn = ask(docmind, HERONS, thread_id, filters=Filters(doc_ids=(autumn,)))
    assert turn.filters == Filters(doc_ids=(autumn,))
    assert turn.answer is not None
    assert {source.document for source in turn.answer.sources} <= {"autumn.pdf"}


@pytest.mark.slow
def test_old_answers_outlive_their_document(docmind: DocMind) -> None:
    thread_id = docmind.conversations.create().thread_id
    turn = ask(docmind, HERONS, thread_id)
    assert turn.answer is not None
    spring = next(source for source in turn.answer.sources if source.document == "spring.pdf")
    docmind.erasures.erase([spring.doc_id], conversations=False)
    (kept,) = docmind.conversations.view(thread_id).turns
    assert kept.answer is not None
    assert kept.answer.answer == turn.answer.answer
    assert [(source.quote, source.gone) for source in kept.answer.sources if source.doc_id == spring.doc_id] == [
        (source.quote, "erased") for source in turn.answer.sources if source.doc_id == spring.doc_id
    ]
    with pytest.raises(NotFoundError):
        docmind.conversations.source_image(spring)


@pytest.mark.slow
def test_old_answers_outlive_a_new_index(docmind: DocMind) -> None:
    thread_id = docmind.conversations.create().thread_id
    turn = ask(docmind, HERONS, thread_id)
    docmind.reindex()
    assert docmind.conversations.view(thread_id).turns == (turn,)
    assert turn.answer is not None
    assert all(docmind.conversations.source_image(source) for source in turn.answer.sources)


@pytest.mark.slow
def test_what_cannot_be_stored_is_refused_and_nothing_is_lost(docmind: DocMind) -> None:
    thread_id = docmind.conversations.create().thread_id
    turn = ask(docmind, HERONS, thread_id)
    with pytest.raises(StateRefusedError):
        ask(docmind, "data:image/png;base64,iVBORw0KGgo=", thread_id)
    assert docmind.conversations.view(thread_id).turns == (turn,)
    writing(docmind, "data:text/html;base64,PHNjcmlwdD4=")
    turn = ask(docmind, HERONS, thread_id)
    assert "no text" in turn.message
    assert turn.answer is not None
    assert turn.answer.found


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["standard", "agent"])
def test_a_request_to_remember_stores_each_fact_and_searches_nothing(tmp_path: Path, mode: str) -> None:
    with SPRING.opened(tmp_path) as docmind:
        model = writing(docmind, "This is never asked for.")
        thread_id = docmind.conversations.create().thread_id
        request = "Remember that my landlord is Ann Cole and my rent is 900 euros."
        turn = ask(docmind, request, thread_id, mode=mode)
        assert turn.answer is not None
        facts = ("My landlord is Ann Cole", "My rent is 900 euros")
        assert (turn.answer.outcome, turn.answer.answer, turn.answer.told) == ("noted", NOTED, facts)
        assert (turn.answer.found, turn.answer.sources, turn.nearest, turn.memories) == (False, (), (), ())
        assert model.received == []
        assert sorted(memory.text for memory in docmind.memories.list().memories) == sorted(facts)
        assert docmind.conversations.view(thread_id).turns == (turn,)
        assert ask(docmind, request, thread_id).answer is not None
        assert len(docmind.memories.list().memories) == 2, "the same again is the same memory"
        assert docmind.ask(request).told == facts
        with zipfile.ZipFile(io.BytesIO(docmind.conversations.export(thread_id, "markdown").data)) as files:
            text = "".join(files.read(name).decode() for name in files.namelist() if name.endswith(".md"))
        assert NOTED in text
        assert "My landlord is Ann Cole" in text
        assert NOT_FOUND not in text


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["standard", "agent"])
def test_a_greeting_is_returned_without_a_search(tmp_path: Path, mode: str) -> None:
    with talking(tmp_path) as docmind:
        assert "no documents yet" in docmind.ask("Hello!").answer
        docmind.add([report("spring", 3)])
        model = writing(docmind, "This is never asked for.")
        thread_id = docmind.conversations.create().thread_id
        first = ask(docmind, HERONS, thread_id)
        writing(docmind, "This is never asked for.")
        turn = ask(docmind, "Bom dia!", thread_id, mode=mode)
        assert turn.answer is not None
        assert (turn.answer.outcome, turn.answer.found, turn.answer.sources) == ("greeting", False, ())
        assert "Há 1 documento" in turn.answer.answer
        assert (turn.answer.model, turn.asked_as, turn.recalled, turn.nearest) == ("", "", (), ())
        assert docmind.ask("Hello!").answer.startswith("Hello!")
        assert docmind.conversations.view(thread_id).turns == (first, turn)
        docmind.add([report("autumn", 3)])
        later = ask(docmind, "And in the autumn report?", thread_id)
        asked_as = "How many herons does the autumn report count?"
        assert later.asked_as == asked_as, "it leans on the question before the greeting"
        assert len(model.received) == 1
        with zipfile.ZipFile(io.BytesIO(docmind.conversations.export(thread_id, "markdown").data)) as files:
            text = "".join(files.read(name).decode() for name in files.namelist() if name.endswith(".md"))
        assert "Há 1 documento" in text


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["standard", "agent"])
def test_a_list_of_documents_is_kept_and_later_questions_lean_on_it(docmind: DocMind, mode: str) -> None:
    model = writing(docmind, "This is never asked for.")
    thread_id = docmind.conversations.create().thread_id
    turn = ask(docmind, "What documents do I have?", thread_id, mode=mode)
    assert turn.answer is not None
    assert (turn.answer.outcome, turn.answer.model) == ("documents", "")
    assert {source.document for source in turn.answer.sources} == {"spring.pdf", "autumn.pdf"}
    assert model.received == []
    assert docmind.conversations.view(thread_id).turns == (turn,)
    assert docmind.conversations.source_image(turn.answer.sources[0])[8:12] == b"WEBP"
    with zipfile.ZipFile(io.BytesIO(docmind.conversations.export(thread_id, "markdown").data)) as files:
        text = "".join(files.read(name).decode() for name in files.namelist() if name.endswith(".md"))
    assert "a list of documents" in text
    assert "The spring report, page 0" in text


@pytest.mark.slow
def test_a_summary_of_this_is_of_what_was_cited_and_a_model_writes_its_own(docmind: DocMind) -> None:
    thread_id = docmind.conversations.create().thread_id
    cited = ask(docmind, "How many herons does the autumn report, page 2, count?", thread_id)
    assert cited.answer is not None
    turn = ask(docmind, "What is this about?", thread_id)
    assert turn.answer is not None
    assert turn.answer.outcome == "summary"
    assert {source.doc_id for source in turn.answer.sources} == {source.doc_id for source in cited.answer.sources}
    assert turn.asked_as == ""
    assert docmind.conversations.view(thread_id).turns[-1] == turn
    with zipfile.ZipFile(io.BytesIO(docmind.conversations.export(thread_id, "markdown").data)) as files:
        text = "".join(files.read(name).decode() for name in files.namelist() if name.endswith(".md"))
    assert "central sentences" in text
    model = writing(docmind, "The autumn report counts herons.")
    assert ask(docmind, "Summarise the autumn report", thread_id).answer.model == model.info.name  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_sum_needs_a_model_and_is_left_to_one(docmind: DocMind) -> None:
    thread_id = docmind.conversations.create().thread_id
    asked = "What is the sum of all herons that the spring report counts?"
    turn = ask(docmind, asked, thread_id)
    assert turn.answer is not None
    assert turn.answer.outcome in ("maybe", "not found")
    assert "needs a language model" in turn.answer.needs
    assert docmind.conversations.view(thread_id).turns == (turn,)
    with zipfile.ZipFile(io.BytesIO(docmind.conversations.export(thread_id, "markdown").data)) as files:
        text = "".join(files.read(name).decode() for name in files.namelist() if name.endswith(".md"))
    assert "needs a language model" in text
    model = writing(docmind, "The spring report counts 74 herons.")
    written = ask(docmind, asked, thread_id).answer
    assert written is not None
    assert (written.model, written.needs) == (model.info.name, "")


@pytest.mark.slow
def test_what_was_told_is_beside_the_quotes_and_where_nothing_is_found(tmp_path: Path) -> None:
    with SPRING.opened(tmp_path) as docmind:
        thread_id = docmind.conversations.create().thread_id
        assert ask(docmind, HERONS, thread_id).answer.told == ()  # type: ignore[union-attr]
        docmind.memories.add("My landlord is Ann Cole")
        answer = ask(docmind, "Who is my landlord?", thread_id).answer
        assert answer is not None
        assert answer.told == ("My landlord is Ann Cole",)
        assert docmind.ask("Who is my landlord?").told == answer.told
        assert ask(docmind, HERONS, thread_id).answer.told == ()  # type: ignore[union-attr]
        docmind.memories.add("The herons of the spring report are counted by Ann")
        quoted = ask(docmind, HERONS, thread_id).answer
        assert quoted is not None
        assert quoted.found
        assert quoted.told == ("The herons of the spring report are counted by Ann",)
        writing(docmind, "The spring report, page 2, counts 74 herons.")
        written = ask(docmind, HERONS, thread_id).answer
        assert written is not None
        assert written.model
        assert written.told == ()
        assert written.other is not None
        assert written.other.told == quoted.told


@pytest.mark.slow
def test_facts_that_answer_alone_end_the_search_and_need_no_model(tmp_path: Path) -> None:
    with SPRING.opened(tmp_path) as docmind:
        docmind.memories.add("My car is due in March")
        model = writing(docmind)
        turn = ask(docmind, "When is my car due?", docmind.conversations.create().thread_id)
        assert turn.answer is not None
        for answer in (turn.answer, docmind.ask("When is my car due?")):
            assert (answer.outcome, answer.told, answer.found) == ("told", ("My car is due in March",), False)
            assert answer.answer == "You told me: “My car is due in March”"
            assert (answer.is_missing, answer.sources) == (False, ())
        assert turn.nearest == ()
        assert model.received == []
        model.queue("The spring report, page 2, counts 74 herons.")
        docmind.memories.add("The herons are my favourite")
        turn = ask(docmind, HERONS, docmind.conversations.create().thread_id)
        assert turn.answer is not None
        assert turn.answer.model


@pytest.mark.slow
def test_a_defined_term_finds_what_its_meaning_finds(tmp_path: Path) -> None:
    with SPRING.opened(tmp_path) as docmind:
        asked = "How many herons does VERNA count?"
        thread_id = docmind.conversations.create().thread_id
        before = ask(docmind, asked, thread_id)
        assert before.answer is not None
        assert (before.answer.found, before.asked_as, docmind.ask(asked).found) == (False, "", False)
        ask(docmind, "Remember that by VERNA I mean the spring report.", thread_id)
        after = ask(docmind, asked, thread_id)
        assert after.answer is not None
        assert after.answer.found
        assert after.asked_as == "How many herons does the spring report count?"
        assert docmind.ask(asked).sources == after.answer.sources


@pytest.mark.slow
def test_a_request_is_no_topic_of_a_follow_up(docmind: DocMind) -> None:
    thread_id = docmind.conversations.create().thread_id
    ask(docmind, HERONS, thread_id)
    ask(docmind, "Remember that the storks are away.", thread_id)
    assert "storks" not in ask(docmind, "and how many are there?", thread_id).asked_as
    for memory in docmind.memories.list().memories:
        docmind.memories.remove(memory.memory_id)


@pytest.mark.slow
def test_memories_are_proposed_and_kept_only_when_accepted(docmind: DocMind) -> None:
    thread_id = docmind.conversations.create().thread_id
    turn = ask(docmind, "Remember that the herons nest by the river. How many herons does spring count?", thread_id)
    assert turn.memories
    assert docmind.memories.list().memories == ()
    model = writing(docmind, "The herons nest by the river.")
    docmind.memories.accept(turn.memories[0])
    ask(docmind, "How many herons by the river does the spring report count?", thread_id)
    assert turn.memories[0] in model.received[0][-1].text


@pytest.mark.slow
def test_eight_threads_and_four_writers_lose_nothing(docmind: DocMind) -> None:
    talks, failed = docmind.conversations, []

    def asks(thread_id: str, times: int, who: int) -> None:
        try:
            for n in range(times):
                ask(docmind, f"How many herons does the spring report count? {who}-{n}", thread_id)
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
    with talking(tmp_path, **settings) as docmind:
        docmind.add([Upload("lease.md", lease.encode()), Upload("shop.md", shop.encode())])
        lease_id = docmind.documents.find("lease.md").doc_id
        thread_id = docmind.conversations.create().thread_id
        ask(docmind, "How much is the deposit of the lease?", thread_id)
        ask(docmind, "And the boiler?", thread_id)
        turn = ask(docmind, "And the pets?", thread_id)
        assert turn.answer is not None
        assert turn.asked_as == "And the pets?"
        assert {source.document for source in turn.answer.sources} == {"lease.md"}
        assert "Pets need consent." in turn.answer.sources[0].quote
        assert set(turn.recalled) <= {lease_id}
        missing = ask(docmind, "And the swimming pool?", thread_id)
        assert missing.answer is not None
        assert not missing.answer.found, "a topic of its own needs an answer of its own"


@pytest.mark.slow
def test_a_greeting_is_a_title_until_a_question_follows(docmind: DocMind) -> None:
    thread_id = docmind.conversations.create().thread_id
    ask(docmind, "Hello!", thread_id)
    assert docmind.conversations.thread(thread_id).title == "Hello!"
    ask(docmind, "Thank you", thread_id)
    ask(docmind, HERONS, thread_id)
    assert docmind.conversations.thread(thread_id).title == HERONS
    ask(docmind, "And in the autumn report?", thread_id)
    assert docmind.conversations.thread(thread_id).title == HERONS
    named = docmind.conversations.create("Hello!").thread_id
    ask(docmind, HERONS, named)
    assert docmind.conversations.thread(named).title == "Hello!", "a title that the user gave stays"
