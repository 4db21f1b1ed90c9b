"""Answers without a search for passages: lists of documents, each with its strongest passage and page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from desks import settings_in
from docmind.application import DocMind
from docmind.config import EmbeddingSettings
from docmind.embedding.minilm import default_cache_dir
from docmind.records.answers import Answer
from docmind.records.documents import Upload
from docmind.records.search import Filters

pytestmark = pytest.mark.slow
HOSTILE = "note ![x](http:⁄⁄127.0.0.1) [1] :red[r].txt"
FILES = {
    "lease.md": "# Lease\n\nThe tenant pays a deposit of two monthly rents.\n\nDogs need consent.\n",
    "boiler.md": "# Boiler\n\nThe boiler is serviced every autumn.\n\nThe warranty of the boiler lasts three years.\n",
    "pancakes.txt": "Mix flour with two eggs and half a litre of buttermilk. Let the batter rest.",
    HOSTILE: "The boiler of the neighbour was replaced in March.",
    "empty.txt": "7",
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    folder = tmp_path_factory.mktemp("direct")
    with DocMind(settings_in(folder, embedding=EmbeddingSettings(), cache_dir=default_cache_dir())) as docmind:
        assert docmind.ask("What documents do I have?").answer == "There are no documents yet: add some first."
        docmind.add([Upload(name, text.encode()) for name, text in FILES.items()])
        yield docmind


def named(answer: Answer) -> list[str]:
    assert all(answer.answer[one.start : one.end] == one.text for one in answer.sentences)
    assert [one.sources for one in answer.sentences if one.is_claim] == [(source.n,) for source in answer.sources]
    assert all(source.quote in answer.answer and source.boxes for source in answer.sources)
    return [source.document for source in answer.sources]


@pytest.mark.parametrize(
    "question",
    [
        "Which documents do I have about the boiler?",
        "Que documentos tenho sobre the boiler?",
        "¿Qué documentos hay sobre the boiler?",
    ],
)
def test_documents_about_a_topic_come_with_their_strongest_passage(desk: DocMind, question: str) -> None:
    answer = desk.ask(question)
    assert answer.outcome == "documents"
    assert named(answer) == ["boiler.md", HOSTILE]
    assert "boiler" in answer.sources[0].quote
    assert "“the boiler”" in answer.answer


def test_a_topic_that_no_document_has_gives_an_empty_list(desk: DocMind) -> None:
    answer = desk.ask("Which documents do I have about volcanoes on Mars?")
    assert (answer.outcome, answer.found) == ("documents", False)
    assert answer.answer == "None of your documents has a passage about “volcanoes on Mars”."


def test_a_remembered_term_is_looked_up(desk: DocMind) -> None:
    desk.memories.add("By the furnace I mean boiler")
    assert "boiler.md" in named(desk.ask("Which documents do I have about the furnace?"))
    desk.memories.drop()


def test_all_documents_come_with_their_first_passage(desk: DocMind) -> None:
    answer = desk.ask("What documents do I have?")
    assert answer.answer.startswith("There are 5 documents, the newest first:")
    assert set(named(answer)) == set(FILES) - {"empty.txt"}, "it has nothing to quote"
    assert "\n\nempty.txt" in answer.answer
    quotes = {source.document: source.quote for source in answer.sources}
    assert quotes["lease.md"] == "The tenant pays a deposit of two monthly rents."


def test_filters_narrow_the_list(desk: DocMind) -> None:
    lease = desk.find_document("lease.md")
    within = Filters(doc_ids=(lease.doc_id,))
    assert named(desk.ask("What documents do I have?", filters=within)) == ["lease.md"]
    assert named(desk.ask("Which documents do I have about the boiler?", filters=within)) == []
