"""Corrections by hand in a library: found at once, quoted, kept where the document is read again, erased with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from desks import settings_in, text_pdf
from docmind.application import DocMind
from docmind.errors import ConfigError, NotFoundError
from docmind.records.documents import Upload
from docmind.records.query import Query
from libraries import Library

TEXTS = ["The rent of the garage is 9OO euros", "The tenant is Mr Hollingbourne"]
LIBRARY = Library("garage", [Upload("garage.pdf", text_pdf(TEXTS)), Upload("other.txt", b"Herons wait in water.\n")])


@pytest.fixture
def docmind(tmp_path: Path) -> Any:
    with LIBRARY.opened(tmp_path) as desk:
        yield desk


def garage(docmind: DocMind) -> str:
    return docmind.documents.find("garage.pdf").doc_id


def first_hit(docmind: DocMind, words: str) -> Any:
    return docmind.search(Query(words, k=1)).hits[0]


@pytest.mark.slow
def test_a_corrected_line_is_found_and_quoted_at_its_place(docmind: DocMind) -> None:
    doc_id = garage(docmind)
    (before,) = docmind.documents.page_lines(doc_id, 1).lines
    (line,) = docmind.documents.correct_line(doc_id, 1, 1, "The rent of the garage is 900 Zwanziger").lines
    assert (line.box, line.source, line.read) == (before.box, "hand", TEXTS[0])
    hit = first_hit(docmind, "Zwanziger")
    assert (hit.document, hit.page_no) == ("garage.pdf", 1)
    source = docmind.ask("How much Zwanziger is the rent of the garage?").sources[0]
    assert (source.quote, source.is_corrected) == ("The rent of the garage is 900 Zwanziger", True)
    assert "corrected by hand" in source.remarks
    assert before.box is not None
    assert abs(source.boxes[0].y - before.box.y) < 1
    assert not docmind.ask("Who is the tenant?").sources[0].is_corrected
    assert docmind.reader.find(doc_id, "zwanziger").places[0].page_no == 1
    assert [one.page_no for one in docmind.documents.coverage(doc_id).noted] == [1]


@pytest.mark.slow
def test_the_vectors_of_that_page_are_made_again_and_of_no_other(docmind: DocMind) -> None:
    doc_id = garage(docmind)
    before = {node.page_no: node.content_hash for node in docmind.vault.nodes.nodes_of(doc_id)}
    docmind.documents.correct_line(doc_id, 1, 1, "Quite another line")
    after = {node.page_no: node.content_hash for node in docmind.vault.nodes.nodes_of(doc_id)}
    assert before[1] != after[1]
    assert before[2] == after[2]
    fingerprint = docmind.embedder.fingerprint
    assert set(docmind.vault.nodes.vectors(fingerprint, after.values())) == set(after.values())
    assert not docmind.vault.nodes.vectors(fingerprint, [before[1]])
    docmind.documents.uncorrect_line(doc_id, 1, 1)
    assert {node.page_no: node.content_hash for node in docmind.vault.nodes.nodes_of(doc_id)} == before
    assert docmind.documents.page(doc_id, 1).text == TEXTS[0]


@pytest.mark.slow
def test_a_correction_is_kept_where_the_document_is_read_again(docmind: DocMind) -> None:
    doc_id = garage(docmind)
    docmind.documents.correct_line(doc_id, 1, 1, "The rent is 900 Zwanziger")
    for pages in ((), (1,), (1, 2)):
        docmind.ingest.read_again(doc_id, pages)
        docmind.ingest.commit()
        assert docmind.documents.page(doc_id, 1).text == "The rent is 900 Zwanziger"
        assert first_hit(docmind, "Zwanziger").page_no == 1
    docmind.documents.uncorrect_line(doc_id, 1, 1)
    assert docmind.documents.page(doc_id, 1).text == TEXTS[0]
    docmind.documents.correct_line(doc_id, 1, 1, "The rent is 900 Zwanziger")
    with docmind.vault.database.transaction() as db:  # as a repair of damaged rows does
        db.execute("DELETE FROM pages WHERE doc_id = ?", (doc_id,))
    docmind.ingest.read_again(doc_id)
    assert docmind.documents.page(doc_id, 1).text == "The rent is 900 Zwanziger"


@pytest.mark.slow
def test_a_correction_that_fits_no_line_any_more_is_told(docmind: DocMind) -> None:
    doc_id = garage(docmind)
    docmind.documents.correct_line(doc_id, 1, 1, "The rent is 900 Zwanziger")
    with docmind.vault.database.transaction() as db:
        db.execute("UPDATE corrections SET x = 0.9, y = 0.9, w = 0.05, h = 0.05, reading = 'of a page drawn otherwise'")
    docmind.ingest.read_again(doc_id, (1,))
    assert docmind.documents.page(doc_id, 1).text == TEXTS[0]
    found = docmind.documents.page_lines(doc_id, 1)
    assert [(one.text, one.read) for one in found.unfit] == [("The rent is 900 Zwanziger", "of a page drawn otherwise")]
    (noted,) = docmind.documents.coverage(doc_id).noted
    assert (noted.page_no, noted.unfit, noted.by_hand) == (1, 1, 0)


def test_a_correction_is_erased_with_its_document(docmind: DocMind) -> None:
    doc_id = garage(docmind)
    docmind.documents.correct_line(doc_id, 1, 1, "The rent of the garage is nine hundred Zwanziger")
    (receipt,) = docmind.erasures.erase([doc_id])
    assert receipt.is_clean
    assert dict(receipt.erased)["corrections"] == 1
    assert docmind.vault.database.all("SELECT * FROM corrections") == []
    assert not any("Zwanziger" in hit.text for hit in docmind.search(Query("Zwanziger")).hits)


@pytest.mark.slow
def test_snapshots_keep_corrections_and_go_back_to_before_them(docmind: DocMind) -> None:
    doc_id = garage(docmind)
    before = docmind.snapshots.create("before")
    docmind.documents.correct_line(doc_id, 1, 1, "The rent is 900 Zwanziger")
    after = docmind.snapshots.create("after")
    docmind.snapshots.activate(before.snapshot_id)
    assert docmind.documents.page(doc_id, 1).text == TEXTS[0]
    assert docmind.documents.coverage(doc_id).noted == ()
    docmind.erasures.erase([doc_id])
    docmind.snapshots.activate(after.snapshot_id)
    assert docmind.documents.page(doc_id, 1).text == "The rent is 900 Zwanziger"
    docmind.documents.uncorrect_line(doc_id, 1, 1)
    assert docmind.documents.page(doc_id, 1).text == TEXTS[0]


@pytest.mark.slow
def test_bundles_carry_corrections(docmind: DocMind, tmp_path: Path) -> None:
    docmind.documents.correct_line(garage(docmind), 1, 1, "The rent is 900 Zwanziger")
    docmind.bundles.write(tmp_path / "all.docmind", "a long passphrase", lambda done, total: None)
    with DocMind(settings_in(tmp_path / "other")) as other:
        other.bundles.read(tmp_path / "all.docmind", "a long passphrase", lambda done, total: None)
        (line,) = other.documents.page_lines(garage(other), 1).lines
        assert (line.text, line.read) == ("The rent is 900 Zwanziger", TEXTS[0])
        other.documents.uncorrect_line(garage(other), 1, 1)
        assert other.documents.page(garage(other), 1).text == TEXTS[0]


@pytest.mark.slow
def test_conversations_keep_what_they_quoted(docmind: DocMind) -> None:
    doc_id = garage(docmind)
    docmind.documents.correct_line(doc_id, 1, 1, "The rent of the garage is 900 Zwanziger")
    thread_id = docmind.conversations.create().thread_id
    docmind.conversations.ask("What is the rent of the garage in Zwanziger?", thread_id=thread_id)
    docmind.documents.uncorrect_line(doc_id, 1, 1)
    (turn,) = docmind.conversations.view(thread_id).turns
    assert turn.answer is not None
    source = turn.answer.sources[0]
    assert (source.quote, source.is_corrected) == ("The rent of the garage is 900 Zwanziger", True)


def test_what_cannot_be_corrected_is_refused(docmind: DocMind) -> None:
    doc_id = garage(docmind)
    with pytest.raises(NotFoundError):
        docmind.documents.correct_line(doc_id, 9, 1, "x")
    with pytest.raises(NotFoundError, match="1 line"):
        docmind.documents.correct_line(doc_id, 1, 2, "x")
    with pytest.raises(ConfigError):
        docmind.documents.correct_line(doc_id, 1, 1, "x" * 2_001)
    with pytest.raises(ConfigError, match="no row of a table"):
        docmind.documents.set_header_row(doc_id, 1, 1)
    assert docmind.documents.page(doc_id, 1).text == TEXTS[0]


@pytest.mark.slow
def test_empty_pages_are_ranges(tmp_path: Path) -> None:
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("gaps.pdf", text_pdf(["one", "", "", "two", ""]))])
        found = docmind.documents.coverage(docmind.documents.find("gaps.pdf").doc_id)
        assert (found.pages, found.empty, found.noted) == (5, ((2, 3), (5, 5)), ())
