"""The boundary of a conversation: explicit filters narrow what it is bound to, and never widen it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from docmind import DocMind
from docmind.errors import ConfigError
from docmind.records.documents import Upload
from docmind.records.search import Filters
from libraries import Library

FILES = [Upload(f"{name}.txt", f"The {name} is serviced in spring.".encode()) for name in ("boiler", "lift", "pump")]


@pytest.fixture(scope="module")
def library() -> Library:
    return Library("a boiler, a lift and a pump", FILES)


@pytest.fixture(scope="module")
def desk(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with library.opened(tmp_path_factory.mktemp("boundary")) as docmind:
        yield docmind


def ids(desk: DocMind, *names: str) -> tuple[str, ...]:
    return tuple(sorted(desk.documents.find(f"{name}.txt").doc_id for name in names))


def test_filters_are_narrowed_to_what_a_conversation_is_bound_to(desk: DocMind) -> None:
    boiler, lift, both = ids(desk, "boiler"), ids(desk, "lift"), ids(desk, "boiler", "lift")
    heat = desk.documents.new_collection("Heat", ids(desk, "boiler", "pump")).collection_id
    moves = desk.documents.new_collection("Moves", ids(desk, "lift", "pump")).collection_id
    conversations = desk.conversations

    def scope(bound: Filters, filters: Filters = Filters()) -> Filters:
        made = conversations.create(collections=bound.collections, documents=bound.doc_ids)
        return conversations.scope(made.thread_id, filters)

    assert scope(Filters(), Filters(doc_ids=lift)) == Filters(doc_ids=lift), "bound to nothing"
    kept = scope(Filters(doc_ids=both), Filters(languages=("en",), tags=("house",)))
    assert kept == Filters(doc_ids=both, languages=("en",), tags=("house",)), "the filters name no documents"
    assert scope(Filters(doc_ids=both), Filters(doc_ids=lift)) == Filters(doc_ids=lift)
    assert scope(Filters(doc_ids=boiler), Filters(doc_ids=both)) == Filters(doc_ids=boiler)
    assert scope(Filters(collections=(heat,)), Filters(doc_ids=both)) == Filters(doc_ids=boiler)
    assert scope(Filters(collections=(heat,)), Filters(collections=(heat,))) == Filters(collections=(heat,))
    only = scope(Filters(collections=(heat,)), Filters(collections=(moves,), kinds=("text",)))
    assert only == Filters(doc_ids=ids(desk, "pump"), kinds=("text",))
    with pytest.raises(ConfigError, match="bound to other documents"):
        scope(Filters(collections=(heat,)), Filters(doc_ids=lift))
    assert scope(Filters(collections=(heat,)), Filters(doc_ids=("none",))) == Filters(doc_ids=("none",))


def test_a_question_is_asked_within_the_boundary(desk: DocMind) -> None:
    thread = desk.conversations.create(documents=ids(desk, "lift"))
    turn = desk.conversations.ask("What is serviced in spring?", thread_id=thread.thread_id)
    assert turn.answer is not None
    assert {source.document for source in turn.answer.sources} == {"lift.txt"}
    assert turn.filters == Filters(doc_ids=ids(desk, "lift"))
