"""Events of the real pipeline, searches and answers; sinks that fail; and what an event can hold."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any, TypeVar

import pytest

from desks import settings_in, text_pdf
from docmind.application import DocMind
from docmind.observability import (
    Answered,
    CacheAsked,
    Event,
    IngestionCompleted,
    IngestionFailed,
    OcrLowConfidence,
    OcrRead,
    Searched,
    add_sink,
    emit,
    remove_sink,
)
from docmind.records.documents import Upload
from docmind.records.query import Query

T = TypeVar("T")
HERONS = text_pdf(["Herons wait in shallow water for fish.", "Herons nest in tall trees."])


@pytest.fixture
def seen() -> Iterator[list[Any]]:
    events: list[Any] = []
    add_sink(events.append)
    yield events
    remove_sink(events.append)


def of(kind: type[T], events: list[Any]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.slow
def test_a_file_a_search_and_an_answer_are_told_once(tmp_path: Path, seen: list[Any]) -> None:
    with DocMind(settings_in(tmp_path)) as desk:
        (pdf,) = desk.add([Upload("herons.pdf", HERONS)])
        (told,) = of(IngestionCompleted, seen)
        assert (told.document_id, told.chunks, told.dedup) == (pdf.doc_id, 2, 0)
        assert 0 < told.seconds < 60

        texts = [Upload("a.txt", b"Egrets count 37 eggs."), Upload("b.txt", b"Storks build on roofs.")]
        added = desk.add(texts)
        assert [(one.document_id, one.chunks, one.dedup) for one in of(IngestionCompleted, seen)[1:]] == [
            (one.doc_id, 1, 0) for one in added
        ]
        desk.add([Upload("none.pdf", b"%PDF-1.4 nothing")])
        (failed,) = of(IngestionFailed, seen)
        assert failed.kind == "CorruptFileError"
        assert of(OcrRead, seen) == []

        seen.clear()
        hits = desk.search(Query("Where do herons nest?")).hits
        (searched,) = of(Searched, seen)
        assert searched.hits == len(hits)
        assert {one.name: one.state for one in searched.lists}["text"] == "ran"
        assert next(one.hits for one in searched.lists if one.name == "text") == len(hits)
        assert of(CacheAsked, seen)[0] == CacheAsked("questions", 1, 0)

        seen.clear()
        answer = desk.ask("Where do herons nest?")
        assert [one.outcome for one in of(Answered, seen)] == [answer.outcome]
        seen.clear()
        thread = desk.conversations.create()
        desk.conversations.ask("Where do herons nest?", thread_id=thread.thread_id)
        assert [one.outcome for one in of(Answered, seen)] == [answer.outcome]


@pytest.mark.slow
def test_passages_with_a_known_vector_are_counted(tmp_path: Path, seen: list[Any]) -> None:
    other = text_pdf(["Herons wait in shallow water for fish.", "Herons nest in tall trees.", "Storks build on roofs."])
    with DocMind(settings_in(tmp_path)) as desk:
        desk.add([Upload("herons.pdf", HERONS)])
        desk.add([Upload("herons.pdf", other)])  # of the same name, which is part of what is embedded
    assert [(one.chunks, one.dedup) for one in of(IngestionCompleted, seen)] == [(2, 0), (3, 2)]


def test_a_sink_that_fails_stops_neither_the_work_nor_the_others(
    seen: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    def fail(event: Event) -> None:
        raise OSError("no room for the secret")

    remove_sink(seen.append)
    add_sink(fail)
    add_sink(seen.append)
    add_sink(seen.append)
    try:
        emit(CacheAsked("questions", 2, 1))
    finally:
        remove_sink(fail)
    assert seen == [CacheAsked("questions", 2, 1)]
    assert "an event was not counted with OSError" in caplog.text
    assert "secret" not in caplog.text


def test_events_hold_numbers_ids_and_names_of_fixed_lists() -> None:
    for kind in typing.get_args(Event):
        types = typing.get_type_hints(kind)
        for each in fields(kind):
            is_told = types[each.name] in (int, float) or typing.get_origin(types[each.name]) is typing.Literal
            assert is_told or each.name in ("document_id", "page_id", "lists", "kind"), (kind, each.name)
    with pytest.raises(FrozenInstanceError):
        CacheAsked("questions", 1, 0).hits = 1  # type: ignore[misc]
    assert OcrLowConfidence("d::page::1", 0.4, 0.5).threshold == 0.5
