"""Questions for complete lists over files of six formats, through the product's own way to answer: nothing left out.

`lists.json` has small files of made-up facts, and questions over all of them with every item that is wanted.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import settings_in
from docmind.answers import list_questions
from docmind.application import DocMind
from docmind.conversations import listing_csv, listing_markdown, listings
from docmind.errors import ConfigError
from docmind.language import kept_words
from docmind.records.answers import Answer
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters, MultimodalResult
from list_files import SETS, upload_of

FIRST, *OTHERS = SETS


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with DocMind(settings_in(tmp_path_factory.mktemp("lists"))) as docmind:
        docmind.add([upload_of(file) for file in FIRST["files"]])
        yield docmind


def _found(answer: Answer) -> list[tuple[str, str]]:
    is_list = answer.outcome == "list" or answer.computed is not None
    return [(one.document, " ".join(one.quote.split())) for one in answer.sources] if is_list else []


def _fits(found: tuple[str, str], wanted: list[str]) -> bool:
    return found[0] == wanted[0] and wanted[1] in found[1]


def _measured(docmind: DocMind, questions: list[dict[str, Any]]) -> list[int]:
    """Return how many wanted items were found, of how many, and how many found items are wanted, of how many."""
    met = wanted = right = shown = 0
    for question in questions:
        found, want = _found(docmind.ask(question["q"])), question["want"]
        met += sum(any(_fits(one, each) for one in found) for each in want)
        right += sum(any(_fits(one, each) for each in want) for one in found)
        wanted, shown = wanted + len(want), shown + len(found)
    return [met, wanted, right, shown]


@pytest.mark.slow
def test_lists_are_complete_and_have_nothing_else(desk: DocMind, tmp_path: Path) -> None:
    counts = [_measured(desk, FIRST["questions"])]
    for n, one_set in enumerate(OTHERS):
        with DocMind(settings_in(tmp_path / str(n))) as docmind:
            docmind.add([upload_of(file) for file in one_set["files"]])
            counts.append(_measured(docmind, one_set["questions"]))
    met, wanted, right, shown = map(sum, zip(*counts, strict=True))
    assert met >= 0.95 * wanted
    assert right >= 0.95 * shown


@pytest.mark.slow
def test_an_answer_counts_by_document_and_boxes_each_item(desk: DocMind) -> None:
    answer = desk.ask("Where is Northgate Heating mentioned?")
    assert answer.answer.startswith("3 passages mention “Northgate Heating”, in 2 documents:")
    assert answer.listing is not None
    assert {one.document: one.count for one in answer.listing.documents} == {"minutes.docx": 2, "boiler-manual.txt": 1}
    assert answer.listing.is_complete
    assert answer.listing.pages_read == len(FIRST["files"])
    assert all(source.boxes for source in answer.sources)
    assert [one.sources for one in answer.sentences if one.is_claim] == [(source.n,) for source in answer.sources]


@pytest.mark.slow
def test_a_list_of_a_conversation_is_kept_and_erased_with_a_document(tmp_path: Path) -> None:
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("a.txt", b"Herons nest here."), Upload("b.txt", b"A heron flew by.")])
        question = "List every page that mentions herons"
        thread_id = docmind.conversations.create("herons").thread_id
        docmind.conversations.ask(Query(question), thread_id=thread_id)
        (kept,) = docmind.conversations.view(thread_id).turns
        assert kept.answer is not None
        assert kept.answer.listing == docmind.ask(question).listing is not None
        doc_id = docmind.documents.find("a.txt").doc_id
        docmind.documents.bin([doc_id])
        docmind.erasures.erase([doc_id])
        (left,) = docmind.conversations.view(thread_id).turns
        assert left.answer is not None
        assert left.answer.listing is None
        assert "Herons nest" not in left.answer.answer


@pytest.mark.slow
def test_a_list_that_is_cut_is_never_complete(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    late = desk.listings.find("boiler", seconds=-1.0)
    assert (late.listing.is_complete, late.listing.pages_read, late.items) == (False, 0, ())
    assert "Only 0 of" in late.listing.unread[0]
    monkeypatch.setattr(listings, "MOST_ITEMS", 3)
    cut = desk.find("boiler")
    assert (len(cut.items), cut.listing.is_complete) == (3, False)
    assert cut.listing.total == 7
    assert sum(one.count for one in cut.listing.documents) == 7


@pytest.mark.slow
def test_what_is_not_read_yet_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.ingest.jobs.IngestQueue.start", lambda _self: None)  # what is handed in waits
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("a.txt", b"Herons nest here.")])
        docmind.queue.hand_in(Upload("b.txt", b"A heron flew by."))
        found = docmind.find("heron")
        assert len(found.items) == 1
        assert not found.listing.is_complete
        assert found.listing.unread == ("1 file that waits to be read is left out.",)


def test_work_that_is_stopped_ends(desk: DocMind) -> None:
    class StopError(Exception):
        pass

    def stop(done: int, _total: int) -> None:
        if done == 2:
            raise StopError

    with pytest.raises(StopError):
        desk.find("boiler", progress=stop)


def test_filters_narrow_a_list(desk: DocMind) -> None:
    lease = desk.documents.find("lease.pdf")
    found = desk.find(what="dates", filters=Filters(doc_ids=(lease.doc_id,)))
    assert {item.text for item in found.items} == {"3 March 2024", "1 April 2024", "28 February 2026"}
    assert desk.find("boiler", filters=Filters(kinds=("csv",))).items == ()


def test_words_narrow_values(desk: DocMind) -> None:
    assert [item.text for item in desk.find("harriet", "people").items] == ["Harriet Lindqvist"]


def test_no_words_are_refused(desk: DocMind) -> None:
    for words in ("", "  ", "?!"):
        with pytest.raises(ConfigError, match="no word to look for"):
            desk.find(words)


def test_words_have_the_bound_of_a_question(desk: DocMind) -> None:
    assert not desk.find("volcano " * 1_000).items
    with pytest.raises(ConfigError, match=r"^The question has 20,001 characters; 20,000 are the most\.$"):
        desk.find("x" * 20_001)


def test_nothing_found_is_told_as_read(desk: DocMind) -> None:
    answer = desk.ask("List every page that mentions volcanoes")
    assert (answer.outcome, answer.found) == ("list", False)
    assert answer.answer == "None found: 0 passages mention “volcanoes”."


@pytest.mark.parametrize(
    "question",
    [
        "What is the rent?",
        "When does the lease end?",
        "Who replaces the boilers?",
        "monthly rent",
        "boiler replacement cost",
        "What must the boiler have once a year?",
        "Which interest does late rent bear?",
        "Who does not smoke in the flat?",
        "What is not said about the deposit?",
    ],
)
def test_other_questions_are_answered_as_before(desk: DocMind, question: str) -> None:
    assert desk.ask(question).outcome != "list"


@pytest.mark.slow
def test_all_rows_of_a_table_are_told(tmp_path: Path) -> None:
    rows = "".join(f"Tool {n},{'on loan' if n % 2 else 'in stock'}\n" for n in range(80))
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("tools.csv", f"Tool,Status\n{rows}".encode())])
        answer = docmind.ask("Which tools are on loan?")
    assert [source.quote for source in answer.sources] == [f"Tool {n} | on loan" for n in range(1, 80, 2)]


def test_a_search_for_a_few_words_reads_no_large_library(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(desk.ask("house rules?").sources) == 3
    monkeypatch.setattr(listings, "_MOST_FOR_BARE", 1)
    desk.listings.drop()
    assert desk.ask("house rules?").outcome != "list"


def test_words_of_pages_are_dropped_with_a_document(desk: DocMind) -> None:
    desk.find("house rules")
    assert kept_words()
    desk.caches.drop()
    assert not kept_words()


def test_a_spreadsheet_takes_no_cell_for_a_formula(tmp_path: Path) -> None:
    hostile = "=HYPERLINK(1) heron\n\n+cmd heron\n\n@sum heron\n\n-1 heron\n"
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("=a.txt", hostile.encode())])
        found = docmind.find("heron")
        _header, *rows = csv.reader(io.StringIO(listing_csv(found)))
        assert len(rows) == 4
        assert all(row[0].startswith("'=") and row[2].startswith("'") for row in rows)
        assert "## \\=a.txt (4)" in listing_markdown(found) or "## =a.txt (4)" in listing_markdown(found)


@pytest.mark.slow
def test_in_a_large_library_a_list_is_looked_for_on_the_pages_that_a_search_finds(
    desk: DocMind, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = {info.document: info.doc_id for info in desk.documents.all()}
    monkeypatch.setattr(listings, "_MOST_AT_ONCE", 0)
    asked = [
        one for one in FIRST["questions"]
        if one["want"] and all(each.what == "items" and not each.is_explicit for each in list_questions(one["q"]))
    ]  # fmt: skip
    met = 0
    for one in asked:
        question, wanted = one["q"], {(documents[document], 1) for document, _words in one["want"]}
        desk.listings.drop()
        if desk.listings.answer(question, Filters(), (), lambda wanted=wanted: wanted) is None:
            continue
        met += desk.ask(question).listing is not None  # the search finds its page
        desk.listings.drop()
        assert desk.listings.answer(question, Filters(), (), set) is None
    assert met > len(asked) // 2


def test_a_question_searches_once_where_it_may_name_a_list(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "_MOST_AT_ONCE", 0)
    searched = list[str]()
    search = desk.answerer.search.search

    def counted(query: Query) -> MultimodalResult:
        searched.append(query.question)
        return search(query)

    monkeypatch.setattr(desk.answerer.search, "search", counted)
    assert desk.ask("What colour does the boiler's lamp have?").listing is None
    assert len(searched) == 1
