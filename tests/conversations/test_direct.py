"""Answers without a search for passages: lists of documents with their strongest passage, and summaries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from desks import settings_in
from docmind.application import DocMind
from docmind.config import EmbeddingSettings
from docmind.embedding.minilm import default_cache_dir
from docmind.records.answers import Answer
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters

pytestmark = pytest.mark.slow
HOSTILE = "note ![x](http:⁄⁄127.0.0.1) [1] :red[r].txt"
LEASE = """# Lease of 12 Harbour Street

The landlord lets the flat at 12 Harbour Street to the tenant for two years.

## Rent

The monthly rent is nine hundred euros and is due on the first working day. A late payment costs two percent.
The rent rises once a year with the consumer price index.

## Deposit

The tenant pays a deposit of two monthly rents before the keys are handed over. It is paid back within a month.
The deposit is kept in an account apart from the landlord's own money.

## Pets

Dogs and cats need the written consent of the landlord. Fish and hamsters may be kept without asking.

## Repairs

The landlord repairs the boiler, the roof and the windows at his own cost. Small repairs below eighty euros are paid
by the tenant himself.
"""
FILES = {
    "lease.md": LEASE,
    "boiler.md": "# Boiler\n\nThe boiler is serviced every autumn.\n\nThe warranty of the boiler lasts three years.\n",
    "pancakes.txt": "Mix flour with two eggs and half a litre of buttermilk. Let the batter rest.",
    HOSTILE: "The boiler of the neighbour was replaced in March.",
    "empty.txt": "7",
    "invoices.csv": "month,service,paid\nMarch,plumber,80 euros\nApril,plumber,120 euros\n",
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
    assert named(answer) == ["boiler.md", HOSTILE, "lease.md"]
    assert "boiler" in answer.sources[0].quote
    assert "“the boiler”" in answer.answer


def test_a_topic_that_no_document_has_gives_an_empty_list(desk: DocMind) -> None:
    answer = desk.ask("Which documents do I have about volcanoes on Mars?")
    assert (answer.outcome, answer.found) == ("documents", False)
    assert answer.answer == "None of your documents has a passage about “volcanoes on Mars”."


def test_a_remembered_term_is_looked_up(desk: DocMind) -> None:
    desk.memories.add("By the furnace I mean boiler")
    assert "boiler.md" in named(desk.ask("Which documents do I have about the furnace?"))
    desk.memories.remove_all()


def test_all_documents_come_with_their_first_passage(desk: DocMind) -> None:
    answer = desk.ask("What documents do I have?")
    assert answer.answer.startswith("There are 6 documents, the newest first:")
    assert set(named(answer)) == set(FILES) - {"empty.txt"}, "it has nothing to quote"
    assert "\n\nempty" in answer.answer
    quotes = {source.document: source.quote for source in answer.sources}
    assert quotes["lease.md"] == "The landlord lets the flat at 12 Harbour Street to the tenant for two years."


def test_filters_narrow_the_list(desk: DocMind) -> None:
    lease = desk.documents.find("lease.md")
    within = Filters(doc_ids=(lease.doc_id,))
    assert named(desk.ask(Query("What documents do I have?", filters=within))) == ["lease.md"]
    assert named(desk.ask(Query("Which documents do I have about pancakes?", filters=within))) == []


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("Summarise the lease", "Key sentences from Lease of 12 Harbour Street"),
        ("What is lease.md about?", "Key sentences from Lease of 12 Harbour Street"),
        ("Faz um resumo de lease", "Frases principais de Lease of 12 Harbour Street"),
        ("¿De qué trata lease.md?", "Frases clave de Lease of 12 Harbour Street"),
    ],
)
def test_a_summary_is_made_of_whole_sentences_in_order(desk: DocMind, question: str, lead: str) -> None:
    answer = desk.ask(question)
    assert answer.outcome == "summary"
    assert answer.answer.startswith(lead)
    assert set(named(answer)) == {"lease.md"}
    quotes = [" ".join(source.quote.split()) for source in answer.sources]
    whole = " ".join(LEASE.split())
    places = [whole.index(quote) for quote in quotes]
    assert places == sorted(places)
    assert 2 <= len(quotes) <= 8
    assert all(quote.endswith(".") and not quote.startswith("It is") for quote in quotes)
    paragraphs = answer.answer.split("\n\n")
    headings = [part for part in paragraphs if part in ("Rent", "Deposit", "Pets", "Repairs")]
    assert headings == sorted(set(headings), key=paragraphs.index), "each once, in the order of the document"
    assert headings


def test_what_is_meant_by_this(desk: DocMind) -> None:
    lease, boiler = desk.documents.find("lease.md"), desk.documents.find("boiler.md")
    within = Filters(doc_ids=(boiler.doc_id,))
    assert set(named(desk.ask(Query("What is this about?", filters=within)))) == {"boiler.md"}
    assert desk.ask("What is this about?").outcome != "summary", "nothing says which of the documents"
    both = desk.ask(Query("Summarise my documents", filters=Filters(doc_ids=(boiler.doc_id, lease.doc_id))))
    assert set(named(both)) == {"boiler.md", "lease.md"}
    assert both.answer.count("Key sentences from") == 2
    assert desk.ask("Summarise my documents").outcome == "documents", "too many for one summary"


def test_what_is_no_document_is_searched_for(desk: DocMind) -> None:
    assert desk.ask("Summarise the termination clause").outcome in ("maybe", "not found")


def test_a_document_without_sentences_says_so(desk: DocMind) -> None:
    answer = desk.ask("Summarise empty.txt")
    assert (answer.outcome, answer.answer) == ("summary", "empty has no sentences to show.")


def test_a_sum_over_a_table_is_made(desk: DocMind) -> None:
    answer = desk.ask("How much have I paid the plumber in total?")
    assert (answer.outcome, answer.needs) == ("answer", "")
    assert answer.answer.startswith("200 euros: the sum of “paid” over 2 rows")
    assert [source.document for source in answer.sources] == ["invoices.csv"] * 2


def test_a_sum_is_not_made_and_its_passages_are_shown(desk: DocMind) -> None:
    answer = desk.ask("How much have I spent in total on services of the boiler?")
    assert (answer.outcome, answer.needs) == ("maybe", "Adding up needs a language model.")
    assert answer.answer.startswith(f"{answer.needs} These passages were found; no sum was made of them.\n\n“")
    assert [one.sources for one in answer.sentences] == [(source.n,) for source in answer.sources]
    assert all(answer.answer[one.start : one.end] == one.text for one in answer.sentences)
    missing = desk.ask("How much did I spend in total on volcanoes on Mars?")
    assert (missing.outcome, missing.needs) == ("not found", answer.needs)
