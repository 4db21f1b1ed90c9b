"""Texts and tables, whose pages are stored as sheets and drawn when somebody looks at them."""

from __future__ import annotations

import io
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from desks import inventory, opened, settings_in
from docmind.application import DocMind
from docmind.errors import DamagedError
from docmind.reading import is_sheet
from docmind.records.documents import Upload
from libraries import Library

pytestmark = pytest.mark.slow

ROWS = 900
LINES = [f"{number},heron{number},{number * 37},nest {number % 7}" for number in range(ROWS)]
LONG = Upload("birds.csv", "\n".join(["id,name,weight,place", *LINES]).encode())


@pytest.fixture(scope="module")
def library() -> Library:
    return Library("a long table", [LONG])


def stored(desk: DocMind, doc_id: str, page_no: int) -> bytes:
    return desk.vault.artifacts.get(desk.vault.catalog.page(doc_id, page_no).image)


def test_the_rows_of_a_long_table_are_found_and_their_pages_open(docmind: DocMind) -> None:
    (info,) = docmind.documents.all()
    assert info.pages > 18
    assert all(is_sheet(stored(docmind, info.doc_id, page_no)) for page_no in (1, 16, 17, info.pages))
    (hit, *_others) = docmind.search(f"heron{ROWS - 1}").hits
    assert hit.page_no == info.pages
    page = docmind.documents.page(info.doc_id, hit.page_no)
    picture = Image.open(io.BytesIO(docmind.documents.page_image(info.doc_id, hit.page_no)))
    assert (picture.format, picture.size) == ("WEBP", (page.width, page.height))
    thumbnail = Image.open(io.BytesIO(docmind.documents.page_image(info.doc_id, hit.page_no, thumbnail=True)))
    assert thumbnail.format == "WEBP"
    assert max(thumbnail.size) == 320
    box = next(box for word, box in page.words if word == str(ROWS - 1))
    word = picture.convert("L").crop((int(box.x), int(box.y), int(box.x + box.w), int(box.y + box.h)))
    assert np.asarray(word).min() < 128, "there is ink in the box of the word"


def test_an_erasure_forgets_pictures_that_were_drawn(tmp_path: Path, library: Library) -> None:
    with library.opened(tmp_path) as docmind:
        (info,) = docmind.documents.all()
        docmind.documents.page_image(info.doc_id, info.pages)
        assert docmind.pictures._kept
        docmind.erasures.erase([info.doc_id])
        assert not docmind.pictures._kept


def test_marks_follow_and_a_picture_finds_such_a_page(docmind: DocMind) -> None:
    (info,) = docmind.documents.all()
    docmind.lookalike.catch_up()
    assert docmind.lookalike.missing() == 0
    found = docmind.lookalike.search(docmind.documents.page_image(info.doc_id, info.pages - 1))
    assert found.hits[0].page_no == info.pages - 1


def test_marks_of_sheets_are_awaited_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.image_match.ImageMatcher.wake", lambda self: None)
    with opened(tmp_path) as desk:
        (result,) = desk.add([LONG])
        assert desk.lookalike.missing() == result.pages
        assert desk.status().pages_to_prepare == result.pages
    with opened(tmp_path) as desk:
        assert desk.lookalike.missing() == result.pages, "what is still to be done outlives a restart"


def test_the_doctor_finds_nothing_and_a_bundle_carries_them(docmind: DocMind, tmp_path: Path) -> None:
    """Marks and vectors are still to be made."""
    assert docmind.doctor.examine("deep").counts == ()
    docmind.bundles.write(tmp_path / "all.docmind", "a passphrase of words", lambda *_: None)
    (tmp_path / "new").mkdir()
    with opened(tmp_path / "new") as new:
        assert new.bundles.read(tmp_path / "all.docmind", "a passphrase of words", lambda *_: None).documents == 1
        (info,) = new.documents.all()
        assert new.documents.page_image(info.doc_id, info.pages)[:4] == b"RIFF"


def test_a_damaged_sheet_is_told(docmind: DocMind) -> None:
    (info,) = docmind.documents.all()
    name = docmind.vault.catalog.page(info.doc_id, info.pages).image.file_name
    file = next(docmind.vault.artifacts._root.glob(name))
    data = bytearray(file.read_bytes())
    data[80] ^= 1
    file.write_bytes(data)
    with pytest.raises(DamagedError):
        docmind.documents.page_image(info.doc_id, info.pages)
    assert "image-damaged" in dict(docmind.doctor.examine("full").counts)
    docmind.doctor.repair("full")
    assert is_sheet(stored(docmind, info.doc_id, info.pages))
    assert docmind.documents.page_image(info.doc_id, info.pages)[:4] == b"RIFF"
    assert docmind.doctor.examine("deep").counts == ()


def test_an_erased_table_leaves_no_sheet(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        (result,) = desk.add([LONG])
        desk.erasures.erase([result.doc_id or ""])
        assert not list((tmp_path / "data" / "artifacts").iterdir())
    assert inventory(settings_in(tmp_path)).files == 0


# --- vectors that are made later --------------------------------------------------------------------------------------


def without_vectors(desk: DocMind) -> int:
    row = desk.vault.database.one(
        "SELECT count(*) FROM nodes n WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.content_hash = n.content_hash)"
    )
    assert row is not None
    return row[0]


def degraded(desk: DocMind) -> set[str]:
    return {one.stage for one in desk.search("where does a heron nest").degraded}


def test_rows_are_found_by_their_words_before_they_have_vectors(docmind: DocMind) -> None:
    (info,) = docmind.documents.all()
    assert info.ingestion is not None
    assert 0 < without_vectors(docmind) <= info.ingestion.passages - 16
    (hit, *_others) = docmind.search(f"heron{ROWS - 1}").hits
    assert hit.page_no == info.pages
    assert "unprepared" in degraded(docmind)
    assert docmind.status().documents_to_prepare == 1
    assert docmind.ingest.later.catch_up() == 1
    assert without_vectors(docmind) == 0
    assert "unprepared" not in degraded(docmind)
    assert docmind.status().documents_to_prepare == 0
    (hit, *_others) = docmind.search(f"heron{ROWS - 1}").hits
    assert hit.page_no == info.pages
    assert docmind.ingest.later.catch_up() == 0, "nothing is made twice"
    assert docmind.doctor.examine("full").counts == ()


def test_an_index_made_later_has_the_vectors_after_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        (result,) = desk.add([LONG])
    with opened(tmp_path) as desk:
        assert "unprepared" in degraded(desk), "what is still to be done is known after a restart"
        engine = desk.index.ready().index
        assert engine.count("text", having="text-dense") < engine.count("text")
        desk.ingest.later.catch_up()
    with opened(tmp_path) as desk:
        engine = desk.index.ready().index
        assert engine.count("text", having="text-dense") == engine.count("text") >= result.pages


def test_they_are_made_once_nothing_is_read(docmind: DocMind) -> None:
    is_busy = threading.Event()
    is_busy.set()
    later = docmind.ingest.later
    later.follow(is_busy.is_set)
    assert not threading.Event().wait(0.3)
    assert without_vectors(docmind) > 0
    is_busy.clear()
    deadline = time.monotonic() + 60
    while later.look():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert without_vectors(docmind) == 0


def test_reindex_makes_them(docmind: DocMind) -> None:
    docmind.reindex()
    assert without_vectors(docmind) == 0
    assert docmind.vault.nodes.awaiting() == 0
