"""Turns over page images as well as words: pages found by their look, and the choice of lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import OneModel, report, settings_in
from docmind.answers.missing import NOT_FOUND, NOT_SEEN
from docmind.application import DocMind
from docmind.config import SearchSettings, VisualSettings
from docmind.errors import ConfigError
from docmind.llm import ToolCall
from docmind.records.answers import Answer
from docmind.records.conversations import Turn
from docmind.records.query import Query
from docmind.records.search import Filters
from docmind_testkit import FakeChatModel
from libraries import Library
from looking import album, looking_in
from tinymodels import tiny_siglip

RED = "Which page is red?"
HERONS = "How many herons does the spring report count?"
UPLOADS = [album("colours", "red", "green", "blue", "yellow", "brown"), report("spring", 2)]


def seeing(folder: Path, **changes: Any) -> DocMind:
    """Open a vault with the fake image model in use; its language model is the one that a test puts in."""
    settings = looking_in(folder, late_model="off").model_copy(update=changes)
    mind = DocMind(settings, models=OneModel())
    mind.add(UPLOADS)
    assert mind.visual.embed("fake-image").pages_failed == 0
    return mind


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with seeing(tmp_path_factory.mktemp("seeing")) as mind:
        yield mind


@pytest.fixture
def mind(shared: DocMind) -> Iterator[DocMind]:
    yield shared
    assert isinstance(shared.models, OneModel)
    shared.models.model = None


def writing(mind: DocMind, *replies: object) -> FakeChatModel:
    model = FakeChatModel(*replies)  # type: ignore[arg-type]
    assert isinstance(mind.models, OneModel)
    mind.models.model = model
    return model


def asked(mind: DocMind, question: str, **more: Any) -> tuple[Turn, Answer]:
    turn = mind.conversations.ask(Query(question, **more), thread_id=mind.conversations.create().thread_id)
    assert turn.answer is not None
    return turn, turn.answer


def places(answer: Answer) -> list[tuple[str, int, str]]:
    return [(source.document, source.page_no, source.kind) for source in answer.sources]


@pytest.mark.slow
def test_a_page_without_a_word_is_found_and_kept(mind: DocMind) -> None:
    turn, answer = asked(mind, RED)
    assert places(answer) == [("colours.tiff", 1, "look")]
    assert answer.found
    assert answer.answer.endswith("[1]")
    assert mind.ask(RED).sources == answer.sources
    thread_id = answer.thread_id
    assert thread_id is not None
    assert mind.conversations.view(thread_id).turns == (turn,)
    assert mind.conversations.source_image(answer.sources[0])[8:12] == b"WEBP"
    exported = mind.conversations.export(thread_id, "pdf").data
    assert exported.startswith(b"%PDF")


@pytest.mark.slow
def test_few_bound_pages_without_words_are_shown(mind: DocMind) -> None:
    """Of fewer than four pages none can stand apart; nothing but their look finds them."""
    mind.add([album("few", "red", "purple")])
    few = mind.documents.find("few.tiff")
    mind.visual.embed("fake-image", [few.doc_id])
    try:
        bound = Filters(doc_ids=(few.doc_id,))
        _, answer = asked(mind, "Is there a boat?", filters=bound)
        assert sorted(places(answer)) == [("few.tiff", 1, "look"), ("few.tiff", 2, "look")]
        assert (answer.found, answer.outcome) == (True, "not found")
        both = Filters(doc_ids=(few.doc_id, mind.documents.find("spring.pdf").doc_id))
        assert not mind.search(Query(HERONS, filters=both)).looks  # four pages, of which none stands apart
    finally:
        mind.erasures.erase([few.doc_id])


@pytest.mark.slow
def test_what_was_not_searched_is_named_where_nothing_is_found(tmp_path: Path) -> None:
    model = tiny_siglip(tmp_path / "siglip")
    library = Library("herons", UPLOADS[1:])
    visual = VisualSettings(image_model=str(model), models_dir=tmp_path / "models")
    with library.opened(tmp_path, visual=visual) as mind:
        mind.visual.embed(str(model))
        told = mind.ask("Who won the 1998 World Cup?").answer
        (model / "model.safetensors").unlink()
        missing = mind.ask("Who won the 1998 World Cup?")
        assert (told, missing.answer) == (NOT_FOUND, NOT_SEEN)
        assert asked(mind, "Who won the 1998 World Cup?")[1].answer == NOT_SEEN
        assert "image" in {one.stage for one in missing.degraded}


@pytest.mark.slow
def test_a_question_that_words_answer_shows_no_page_by_its_look(mind: DocMind) -> None:
    _, answer = asked(mind, HERONS)
    assert {kind for _, _, kind in places(answer)} == {"quote"}


@pytest.mark.slow
def test_the_chosen_lists_are_searched_and_kept_for_the_next_try(mind: DocMind) -> None:
    turn, answer = asked(mind, RED, lists=["text"])
    assert (turn.lists, answer.found) == (("text",), False)
    assert answer.thread_id is not None
    mind.conversations.wait(mind.conversations.retry(answer.thread_id), 60)
    again = mind.conversations.view(answer.thread_id).turns[-1]
    assert again.checkpoint_id != turn.checkpoint_id
    assert (again.lists, again.answer and again.answer.found) == (("text",), False)
    _, by_look = asked(mind, HERONS, lists=["image"])
    assert not any(kind == "quote" and name != "spring.pdf" for name, _, kind in places(by_look))
    with pytest.raises(ConfigError, match=r"lists.* has a wrong value"):
        asked(mind, RED, lists=["sound"])


@pytest.mark.slow
def test_a_model_gets_words_only_and_its_answer_shows_the_page(mind: DocMind) -> None:
    model = writing(mind, "The documents do not say which page is red.")
    _, answer = asked(mind, RED)
    assert places(answer) == [("colours.tiff", 1, "look")]
    assert answer.model == ""
    assert answer.other is not None
    assert answer.other.answer == "The documents do not say which page is red."
    assert "colours.tiff" not in "".join(message.text for message in model.received[0])


@pytest.mark.slow
def test_the_tool_of_an_agent_searches_page_images_too(mind: DocMind) -> None:
    model = writing(mind, ToolCall("1", "multimodal_search", {"query": "red"}), "A page looks like it.")
    _, answer = asked(mind, HERONS, mode="agent")
    (told,) = [message.text for message in model.received[1] if message.role == "tool"]
    assert "found by their look: page 1 of colours.tiff" in told
    assert answer.other is not None
    assert places(answer.other)[-1] == ("colours.tiff", 1, "look")


@pytest.mark.slow
def test_settings_choose_lists_and_how_many_looks(tmp_path: Path) -> None:
    with seeing(tmp_path, search=SearchSettings(lists="text,code")) as mind:
        assert not asked(mind, RED)[1].found
        assert places(asked(mind, RED, lists=["image"])[1]) == [("colours.tiff", 1, "look")]
    with DocMind(looking_in(tmp_path).model_copy(update={"search": SearchSettings(looks=0)})) as mind:
        assert not mind.ask(RED).found


@pytest.mark.slow
def test_without_an_image_model_chat_is_the_search_of_words(tmp_path: Path) -> None:
    with DocMind(settings_in(tmp_path), models=OneModel()) as mind:
        mind.add(UPLOADS)
        for question in (RED, HERONS, "Who wrote the autumn report?"):
            words, everything = mind.search(question), mind.search(question)
            assert everything.nearest_cosine == words.nearest_cosine
            assert [(hit.page_id, hit.score, hit.text) for hit in everything.hits] == [
                (hit.page_id, hit.score, hit.text) for hit in words.hits
            ]
            assert everything.looks == ()
