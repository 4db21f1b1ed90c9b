"""The vectors of all passages of pages, made once nothing else is to be done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from desks import opened, settings_in
from docmind.application import DocMind
from docmind.config import AnswerSettings
from docmind.documents import PageRecord
from docmind.errors import CancelledError, TextModelError
from docmind.ingest.later_passages import texts_of
from docmind.records.documents import ArtifactRef, Upload

STORKS = "Storks nest on chimneys.\n\nThe  parish counted\n12 nests in May. Yes."
HERONS = "Herons nest in colonies, which are called heronries."


def missing(desk: DocMind) -> list[tuple[str, int]]:
    return desk.vault.passage_vectors.missing(desk.embedder.fingerprint, 99)


def added(desk: DocMind, **texts: str) -> dict[str, str]:
    """Add texts by name; return their document ids."""
    results = desk.add([Upload(f"{name}.txt", text.encode()) for name, text in texts.items()])
    return {name: result.doc_id or "" for name, result in zip(texts, results, strict=True)}


def page(text: str, page_no: int = 1) -> PageRecord:
    image = ArtifactRef("a" * 64, ".webp.enc")
    return PageRecord(
        doc_id="d", page_no=page_no, width=9, height=9, text=text, words=b"", text_source="layer", confidence=1.0,
        language="en", image=image, thumbnail=image,
    )  # fmt: skip


def test_texts_are_passages_with_joined_space_and_short_ones_are_left_out() -> None:
    assert texts_of(page(STORKS), []) == ["Storks nest on chimneys.", "The parish counted 12 nests in May."]


def test_lines_that_the_pages_beside_have_too_are_no_texts() -> None:
    this, other = page("The Mill, annual report 2023 — 1\nIt mills wheat."), page("The Mill, annual report 2023 — 2\n.")
    assert texts_of(this, [other]) == ["It mills wheat."]
    assert texts_of(this, []) != ["It mills wheat."]


def test_a_page_has_at_most_160_texts() -> None:
    assert len(texts_of(page("\n\n".join(f"Sentence number {n} tells of a stork." for n in range(300))), [])) == 160


@pytest.mark.slow
def test_vectors_of_all_pages_are_made_once(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        ids = added(desk, storks=STORKS, empty="12\n")
        assert sorted(missing(desk)) == sorted((doc_id, 1) for doc_id in ids.values()), "adding makes none"
        assert desk.ingest.later.passages.catch_up() == 2
        assert missing(desk) == []
        rows = desk.vault.passage_vectors.of_pages(desk.embedder.fingerprint, [(ids["storks"], 1)])[ids["storks"], 1]
        found, vectors = rows.rows_of(["Storks nest on chimneys."])
        assert found.all()
        (made,) = desk.embedder.embed_documents(["Storks nest on chimneys."])
        assert float(vectors[0] @ made) > 0.995
        assert desk.ingest.later.passages.catch_up() == 0
        assert desk.doctor.examine("full").counts == ()


@pytest.mark.slow
@pytest.mark.parametrize(("megabytes", "made"), [(0, 0), (1, 2)])
def test_none_are_made_beyond_the_budget(
    tmp_path: Path, megabytes: int, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path, answer=AnswerSettings(passages_mb=megabytes)) as desk:
        added(desk, storks=STORKS, herons=HERONS)
        assert desk.ingest.later.passages.catch_up() == made
        added(desk, more="Cranes stand on one leg.")
        monkeypatch.setattr(desk.vault.passage_vectors, "size", lambda: megabytes << 20)
        assert desk.ingest.later.passages.catch_up() == 0
        assert desk.search("what stands on one leg").hits, "a search does without"


@pytest.mark.slow
def test_a_library_for_reading_gets_none(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        added(desk, storks=STORKS)
    with DocMind(settings_in(tmp_path), read_only=True) as desk:
        assert desk.ingest.later.passages.catch_up() == 0
        assert len(missing(desk)) == 1


@pytest.mark.slow
def test_they_are_made_in_the_background_while_nothing_is_asked(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        asked = threading.Event()
        asked.set()
        desk.ingest.warm(asked.is_set)
        added(desk, storks=STORKS)
        time.sleep(0.2)
        assert len(missing(desk)) == 1
        asked.clear()
        eventually(lambda: missing(desk) == [])
        added(desk, herons=HERONS)
        eventually(lambda: missing(desk) == [])


@pytest.mark.slow
def test_the_end_of_the_app_stops_them_and_the_next_start_goes_on(tmp_path: Path) -> None:
    def stop() -> None:
        raise CancelledError("closed")

    with opened(tmp_path) as desk:
        added(desk, storks=STORKS)
        with pytest.raises(CancelledError):
            desk.ingest.later.passages.catch_up(stop)
        assert len(missing(desk)) == 1
    with opened(tmp_path) as desk:
        assert desk.ingest.later.passages.catch_up() == 1


@pytest.mark.slow
def test_a_model_that_fails_leaves_them_to_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(texts: object) -> np.ndarray:
        raise TextModelError("The weights are gone.")

    with opened(tmp_path) as desk:
        added(desk, storks=STORKS)
        with monkeypatch.context() as broken:
            broken.setattr(desk.embedder, "embed_documents", fail)
            with pytest.raises(TextModelError):
                desk.ingest.later.passages.catch_up()
        assert desk.ingest.later.passages.catch_up() == 1


def test_a_page_that_is_damaged_does_not_stop_the_others(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        ids = added(desk, herons=HERONS, storks=STORKS)
        with desk.vault.database.transaction() as db:
            db.execute("UPDATE pages SET blocks = x'99' WHERE doc_id = ?", (ids["storks"],))
        assert desk.ingest.later.passages.catch_up() == 1
        assert missing(desk) == [(ids["storks"], 1)]


def eventually(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)
