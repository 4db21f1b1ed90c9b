"""Marks are stored with a page image, shared by identical pages, and deleted with the last of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from desks import settings_in
from docmind.application import DocMind
from docmind.config import ReadingSettings
from docmind.records.documents import Upload
from docmind.storage.database import Database
from docmind.storage.keys import open_keys
from sheets import jpeg, png, sheet

READING = ReadingSettings(ocr="off", workers=1)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[DocMind]:
    with DocMind(settings_in(tmp_path, reading=READING)) as desk:
        yield desk


def add(desk: DocMind, name: str, image: Image.Image) -> str:
    result = desk.add([Upload(name, png(image))])[0]
    assert result.doc_id
    return result.doc_id


def forget(desk: DocMind) -> None:
    """Make the library one of an earlier version: no page has marks of this one."""
    with desk.vault.database.transaction() as db:
        db.execute("UPDATE looks SET version = version - 1")


def looks_in(folder: Path) -> int:
    settings = settings_in(folder)
    keys = open_keys(settings.data_dir, settings.keys, None)
    database = Database(settings.data_dir / "vault.db", keys.keyset.db_key)
    try:
        row = database.one("SELECT count(*) FROM looks")
        assert row is not None
        return row[0]
    finally:
        database.close()


@pytest.mark.slow
def test_a_page_is_prepared_while_it_is_read(desk: DocMind) -> None:
    add(desk, "first.png", sheet(1))
    assert desk.lookalike.missing() == desk.status().pages_to_prepare == 0
    assert desk.lookalike.catch_up() == 0
    assert desk.lookalike.search(jpeg(sheet(1))).found
    assert {"page images", "thumbnails", "originals", "database"} <= {part.use for part in desk.status().storage}


@pytest.mark.slow
def test_pages_of_an_earlier_version_are_told_and_then_found(desk: DocMind) -> None:
    add(desk, "first.png", sheet(1))
    forget(desk)
    found = desk.lookalike.search(jpeg(sheet(1)))
    assert [(part.stage, "Still preparing 1 page " in part.reason) for part in found.degraded] == [("unprepared", True)]
    assert not found.hits
    assert desk.lookalike.missing() == 1
    assert desk.lookalike.catch_up() == 1
    assert desk.lookalike.catch_up() == 0
    assert desk.lookalike.search(jpeg(sheet(1))).found
    add(desk, "second.png", sheet(2))
    forget(desk)
    seen: list[tuple[int, int]] = []
    assert desk.lookalike.catch_up(lambda done, total: seen.append((done, total))) == 2
    assert seen == [(1, 2), (2, 2)]
    assert desk.lookalike.search(jpeg(sheet(2))).hits[0].document == "second.png"


@pytest.mark.slow
def test_pages_that_look_the_same_share_their_marks(desk: DocMind, tmp_path: Path) -> None:
    first = add(desk, "first.png", sheet(1))
    again = desk.add([Upload("again.bmp", _bmp(sheet(1)))])[0].doc_id
    assert again not in (None, first)
    found = desk.lookalike.search(jpeg(sheet(1)))
    assert {hit.document for hit in found.hits if hit.found} == {"first.png", "again.bmp"}
    desk.erasures.erase([first])
    assert [hit.document for hit in desk.lookalike.search(jpeg(sheet(1))).hits] == ["again.bmp"]
    assert again
    desk.erasures.erase([again])
    assert desk.lookalike.search(jpeg(sheet(1))).hits == ()
    desk.close()
    assert looks_in(tmp_path) == 0


@pytest.mark.slow
def test_an_image_that_cannot_be_opened_holds_nothing_up(desk: DocMind, tmp_path: Path) -> None:
    add(desk, "first.png", sheet(1))
    assert desk.lookalike.search(jpeg(sheet(1))).found
    forget(desk)
    for file in (tmp_path / "data" / "artifacts").iterdir():
        file.unlink()
    assert desk.lookalike.catch_up() == 1
    assert desk.lookalike.missing() == 1
    assert not desk.lookalike.search(jpeg(sheet(1))).found


@pytest.mark.slow
def test_reindex_looks_at_what_is_missing(desk: DocMind) -> None:
    add(desk, "first.png", sheet(1))
    forget(desk)
    assert desk.lookalike.missing() == 1
    desk.reindex()
    assert desk.lookalike.missing() == 0


@pytest.mark.slow
def test_the_app_looks_at_pages_in_the_background(desk: DocMind) -> None:
    desk.warm()
    desk.queue.submit([Upload("later.png", png(sheet(5)))])
    deadline = time.monotonic() + 60
    while not desk.lookalike.search(jpeg(sheet(5))).found and time.monotonic() < deadline:
        time.sleep(0.1)
    assert desk.lookalike.search(jpeg(sheet(5))).found


@pytest.mark.slow
def test_marks_are_there_after_a_restart(tmp_path: Path) -> None:
    with DocMind(settings_in(tmp_path, reading=READING)) as desk:
        add(desk, "first.png", sheet(1))
    with DocMind(settings_in(tmp_path, reading=READING)) as desk:
        assert desk.lookalike.missing() == 0
        assert desk.lookalike.search(jpeg(sheet(1))).found


def _bmp(image: Image.Image) -> bytes:
    """Other bytes, the same picture."""
    import io

    out = io.BytesIO()
    image.save(out, "BMP")
    return out.getvalue()
