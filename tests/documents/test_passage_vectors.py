"""Vectors of passages stay with their page and its text, by the model that made them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from docmind.documents.catalog import Catalog, PageRecord
from docmind.documents.edits import Edits
from docmind.documents.passage_vectors import PassageVectors, digest_of, pack_passages, unpack_passages
from docmind.errors import DamagedError
from docmind.records.documents import ArtifactRef, DocumentInfo
from docmind.storage.database import Database

DIM = 384


def page(doc_id: str, page_no: int, *, is_sheet: bool = False) -> PageRecord:
    image = ArtifactRef("a" * 64, ".webp.enc")
    return PageRecord(
        doc_id=doc_id,
        page_no=page_no,
        width=9,
        height=9,
        text=f"text of {page_no}",
        words=b"",
        text_source="layer",
        confidence=1.0,
        language="en",
        image=image,
        thumbnail=image if is_sheet else ArtifactRef("b" * 64, ".webp.enc"),
    )


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Yield tables with an older document of two pages and a newer one of one page."""
    database = Database(tmp_path / "vault.db", bytes(32))
    catalog = Catalog(database)
    for added, (doc_id, pages) in enumerate((("old", 2), ("new", 1)), 1):
        info = DocumentInfo(doc_id, "a.pdf", "", "pdf", "reading", pages, 0, 0, "", 1, added)
        catalog.begin_document(info, ArtifactRef("d" * 64, ".pdf.enc"))
        catalog.put_pages([page(doc_id, n) for n in range(1, pages + 1)])
        catalog.finish_document(doc_id, language="en")
    yield database
    database.close()


@pytest.fixture
def vectors(database: Database) -> PassageVectors:
    return PassageVectors(database)


def some(count: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, DIM)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_texts_are_found_by_their_words_and_their_vectors_keep_their_direction(vectors: PassageVectors) -> None:
    made = some(3)
    assert vectors.put("m", "old", 1, ["one  text", "another", "third"], made)
    kept = vectors.of_pages("m", [("old", 1), ("old", 2), ("none", 1)])
    assert list(kept) == [("old", 1)]
    rows = kept["old", 1]
    assert rows.digests.tolist() == [digest_of("one text"), digest_of("another"), digest_of("third")]
    assert rows.vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows.vectors, axis=1), 1, atol=1e-5)
    asked = some(200, seed=1)  # errors of 0.0023 on average
    assert np.abs(rows.vectors @ asked.T - made @ asked.T).max() < 0.01
    found, of_texts = rows.rows_of(["third", "unknown", "one\n text"])
    assert found.tolist() == [True, False, True]
    np.testing.assert_array_equal(of_texts, [rows.vectors[2], np.zeros(DIM), rows.vectors[0]])
    assert vectors.of_pages("other", [("old", 1)]) == {}


def test_a_page_without_passages_has_an_empty_row_and_is_not_missing(vectors: PassageVectors) -> None:
    vectors.put("m", "new", 1, [], np.zeros((0, DIM), np.float32))
    rows = vectors.of_pages("m", [("new", 1)])["new", 1]
    assert rows.vectors.shape == (0, DIM)
    assert rows.rows_of(["a text"])[0].tolist() == [False]
    assert vectors.missing("m", 9) == [("old", 1), ("old", 2)]


def test_pages_of_the_newest_documents_are_missing_first(vectors: PassageVectors, database: Database) -> None:
    assert vectors.missing("m", 2) == [("new", 1), ("old", 1)]
    vectors.put("m", "new", 1, ["x"], some(1))
    assert vectors.missing("m", 9) == [("old", 1), ("old", 2)]
    assert len(vectors.missing("other", 9)) == 3
    Edits(database, Catalog(database)).bin(["old"])
    assert vectors.missing("m", 9) == []


def test_pages_behind_the_first_of_a_long_table_are_not_missing(vectors: PassageVectors, database: Database) -> None:
    Catalog(database).put_pages([page("new", n, is_sheet=True) for n in (16, 17)])
    assert vectors.missing("m", 9)[:2] == [("new", 1), ("new", 16)]
    assert ("new", 17) not in vectors.missing("m", 9)


@pytest.mark.parametrize("change", ["text", "blocks", "again", "deleted", "erased"])
def test_vectors_go_with_their_page_and_its_text(vectors: PassageVectors, database: Database, change: str) -> None:
    for page_no in (1, 2):
        vectors.put("m", "old", page_no, ["x"], some(1))
    catalog = Catalog(database)
    with database.transaction() as db:
        if change in ("text", "blocks"):
            db.execute(f"UPDATE pages SET {change} = 'other' WHERE doc_id = 'old' AND page_no = 1")
        elif change == "again":
            catalog.put_pages([replace(page("old", 1), text="other")])
        elif change == "deleted":
            db.execute("DELETE FROM pages WHERE doc_id = 'old' AND page_no = 1")
        else:
            catalog.erase_document("old")
    left = [] if change == "erased" else [("old", 2)]
    assert list(vectors.of_pages("m", [("old", 1), ("old", 2)])) == left
    assert (vectors.size() > 0) == bool(left)


def test_what_does_not_change_the_text_keeps_the_vectors(vectors: PassageVectors, database: Database) -> None:
    vectors.put("m", "old", 1, ["x"], some(1))
    Catalog(database).set_images(replace(page("old", 1), image=ArtifactRef("c" * 64, ".webp.enc")))
    assert list(vectors.of_pages("m", [("old", 1)])) == [("old", 1)]


def test_no_vector_is_kept_of_a_text_that_is_not_there(vectors: PassageVectors) -> None:
    assert not vectors.put("m", "none", 1, ["x"], some(1))
    assert not vectors.put("m", "old", 1, ["x"], some(1), of="its text before a correction")
    assert vectors.size() == 0
    assert vectors.put("m", "old", 1, ["x"], some(1), of="text of 1")


def test_only_one_model_is_kept(vectors: PassageVectors) -> None:
    vectors.put("a", "old", 1, ["x"], some(1))
    vectors.put("b", "old", 1, ["x"], some(1))
    whole = vectors.size()
    vectors.keep("b")
    assert vectors.of_pages("a", [("old", 1)]) == {}
    assert list(vectors.of_pages("b", [("old", 1)])) == [("old", 1)]
    assert 0 < vectors.size() < whole


def test_a_damaged_row_counts_as_missing(vectors: PassageVectors, database: Database) -> None:
    vectors.put("m", "old", 1, ["x"], some(1))
    vectors.put("m", "old", 2, ["x"], some(1))
    with database.transaction() as db:
        db.execute("UPDATE passage_vectors SET vectors = substr(vectors, 1, 20) WHERE page_no = 1")
    assert list(vectors.of_pages("m", [("old", 1), ("old", 2)])) == [("old", 2)]


WHOLE = pack_passages([1, 2], some(2))


@pytest.mark.parametrize("data", [b"", b"\2" + WHOLE[1:], WHOLE[:15], WHOLE[:-9], WHOLE[:-20] + b"\0" * 20])
def test_bytes_that_are_no_row_are_refused(data: bytes) -> None:
    with pytest.raises(DamagedError):
        unpack_passages(data)


def test_a_vector_that_is_not_finite_is_refused(vectors: PassageVectors) -> None:
    with pytest.raises(ValueError, match="finite"):
        vectors.put("m", "old", 1, ["x"], np.full((1, DIM), np.nan, np.float32))
    with pytest.raises(ValueError, match="one vector"):
        vectors.put("m", "old", 1, ["x", "y"], some(1))
