"""Vectors of page images stay with their pages, by the model that made them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from docmind.documents.catalog import Catalog, PageRecord
from docmind.documents.page_vectors import PageVectors
from docmind.errors import DamagedError
from docmind.records.documents import ArtifactRef, DocumentInfo
from docmind.storage.database import Database

RED, BLUE, GONE = "a" * 64, "b" * 64, "c" * 64


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Two documents that share the red image; the first has a blue one too."""
    database = Database(tmp_path / "vault.db", bytes(32))
    catalog = Catalog(database)
    for doc_id, images in (("one", (RED, BLUE)), ("two", (RED,))):
        info = DocumentInfo(doc_id, "a.pdf", "", "pdf", "reading", len(images), 0, 0, "", 1, 1)
        catalog.begin_document(info, ArtifactRef("d" * 64, ".pdf.enc"))
        refs = [ArtifactRef(image, ".webp.enc") for image in images]
        catalog.put_pages(
            [
                PageRecord(
                    doc_id=doc_id,
                    page_no=n,
                    width=9,
                    height=9,
                    text="",
                    words=b"",
                    text_source="none",
                    confidence=0.0,
                    language="",
                    image=ref,
                    thumbnail=ref,
                )
                for n, ref in enumerate(refs, 1)
            ]
        )
    yield database
    database.close()


def row(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(768).astype(np.float32) / 28


def test_kept_by_model_and_rounded_to_half(database: Database) -> None:
    vectors = PageVectors(database)
    vectors.put("m:1", {RED: row(1), BLUE: row(2), GONE: row(3)})
    vectors.put("m:2", {RED: row(4)})
    assert vectors.fingerprints() == {"m:1": 2, "m:2": 1}  # and none of an image that no page shows
    kept = vectors.get("m:1", [BLUE, RED, GONE, RED])
    assert set(kept) == {RED, BLUE}
    assert np.abs(kept[RED] - row(1)).max() < 1e-3
    assert kept[RED].dtype == np.float32
    assert vectors.missing("m:2", [BLUE, RED, BLUE, GONE]) == [BLUE, GONE]
    vectors.put("m:1", {RED: row(9)})
    assert np.abs(vectors.get("m:1", [RED])[RED] - row(9)).max() < 1e-3
    vectors.drop("m:1")
    assert vectors.fingerprints() == {"m:2": 1}


def test_they_go_with_the_last_page_that_shows_the_image(database: Database) -> None:
    vectors = PageVectors(database)
    vectors.put("m:1", {RED: row(1), BLUE: row(2)})
    Catalog(database).erase_document("one")
    assert vectors.images("m:1") == {RED}
    Catalog(database).erase_document("two")
    assert vectors.fingerprints() == {}


@pytest.mark.parametrize("wrong", [np.full(4, np.nan), np.zeros((2, 4)), np.zeros(0), np.full(4, 1e9)])
def test_what_is_no_vector_is_refused_whole(database: Database, wrong: np.ndarray) -> None:
    vectors = PageVectors(database)
    with pytest.raises(ValueError, match="finite"):
        vectors.put("m:1", {RED: row(1), BLUE: wrong})
    assert vectors.fingerprints() == {}


def test_a_torn_row_is_damage(database: Database) -> None:
    vectors = PageVectors(database)
    vectors.put("m:1", {RED: row(1)})
    with database.transaction() as db:
        db.execute("UPDATE page_vectors SET vector = ?", (b"odd",))
    with pytest.raises(DamagedError):
        vectors.get("m:1", [RED])
