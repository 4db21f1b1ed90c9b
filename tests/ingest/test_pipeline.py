"""Documents in and out: whole or not at all, also where it is cut off, refused, cancelled or deleted half-way."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import papers
from conftest import require
from desks import NOTHING, inventory, opened, read, read_again, report, settings_in, text_pdf
from docmind.application import DocMind
from docmind.config import EmbeddingSettings, ReadingSettings, StorageSettings
from docmind.embedding.registry import TEXT_MODELS
from docmind.errors import CancelledError, DiskFullError, IndexMismatchError, NotFoundError
from docmind.ingest.pipeline import Ingest, Step
from docmind.reading.chromium import browser
from docmind.reading.reader import Reading
from docmind.records.documents import ArtifactRef, QueueProgress, Upload
from docmind.storage.artifacts import Sealable
from docmind_testkit import FakeEmbedder


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[DocMind]:
    with opened(tmp_path) as desk:
        yield desk


@dataclass
class Stop:
    """Stops, or does something else, once so many pages have been read."""

    after: int
    error: type[Exception] = CancelledError

    def page(self, _stage: str, done: int, _total: int) -> None:
        if done >= self.after:
            raise self.error("Stopped.")


class Other(FakeEmbedder):
    """Another model."""

    @property
    def fingerprint(self) -> str:
        return "other:384"


def writer_of(desk: DocMind) -> Ingest:
    desk.ingest.start()
    return desk.ingest


@pytest.mark.slow
def test_a_document_comes_in_whole_and_goes_whole(tmp_path: Path, desk: DocMind) -> None:
    (result,) = desk.add([report("crane", 11)])
    assert (result.status, result.pages, result.error) == ("added", 11, "")
    assert result.doc_id
    info = desk.documents.get(result.doc_id)
    assert (info.status, info.pages, info.pages_done, info.kind) == ("ready", 11, 11, "pdf")
    desk.close()
    held = inventory(settings_in(tmp_path))
    assert (held.ready, held.pages, held.nodes, held.vectors) == (1, 11, 11, 11)
    assert (held.text_points, held.page_points, held.files) == (11, 11, 23)
    with opened(tmp_path) as again:
        erased = dict(again.erasures.erase([result.doc_id])[0].erased)
        assert (erased["pages"], erased["passages"], erased["files"]) == (11, 11, 23)
        with pytest.raises(NotFoundError):
            again.erasures.erase([result.doc_id])
    assert inventory(settings_in(tmp_path)) == NOTHING


@pytest.mark.slow
def test_the_same_bytes_are_one_document_under_any_name(tmp_path: Path, desk: DocMind) -> None:
    upload = report("crane", 2)
    first, second, third = desk.add([upload, upload, replace(upload, name="copy.pdf")])
    assert [result.status for result in (first, second, third)] == ["added", "already", "already"]
    assert first.doc_id == second.doc_id == third.doc_id
    assert third.document == "copy.pdf"
    assert "crane.pdf" in third.message
    assert len(desk.documents.all()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("upload", "error"),
    [
        (Upload("empty.pdf", b""), "EmptyFileError"),
        (Upload("empty.txt", b" \n\t "), "EmptyFileError"),
        (Upload("blank.pdf", text_pdf(["", ""])), "EmptyFileError"),
        (Upload("cut.pdf", text_pdf(["hello"])[:200]), "CorruptFileError"),
        (Upload("noise.bin", bytes(range(256)) * 9), "UnsupportedFileError"),
    ],
)
def test_what_is_refused_leaves_nothing_behind(tmp_path: Path, desk: DocMind, upload: Upload, error: str) -> None:
    (result,) = desk.add([upload])
    assert (result.status, result.error, result.doc_id) == ("refused", error, None)
    assert result.message.endswith(".")
    assert result.hint
    assert result.exit_code >= 20
    desk.close()
    assert inventory(settings_in(tmp_path)) == NOTHING


@pytest.mark.slow
def test_an_error_half_way_leaves_the_file_and_nothing_else(tmp_path: Path) -> None:
    """Ten pages have been sealed before the reading process is killed, and killed again on each next one."""
    with opened(tmp_path) as desk:
        kept = read(desk, report("kept", 1))

        def kill(_stage: str, done: int, _total: int) -> None:
            if done == 10:
                from docmind.errors import ReaderFailedError

                raise ReaderFailedError("Reading broke off.")

        result = read(desk, report("crane", 20), Step(page=kill))
        assert (kept.status, result.status, result.error) == ("added", "refused", "ReaderFailedError")
        assert [info.document for info in desk.documents.all()] == ["kept.pdf"]
    held = inventory(settings_in(tmp_path))
    assert (held.documents, held.pages, held.nodes, held.files, held.page_points) == (1, 1, 1, 4, 1)
    with opened(tmp_path) as desk:
        (failed,) = desk.queue.uploads("failed")
        desk.queue.remove([failed.upload_id])
    assert inventory(settings_in(tmp_path)).files == 3


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 9, 17])
def test_a_stop_keeps_every_page_that_was_read(tmp_path: Path, after: int) -> None:
    with opened(tmp_path) as desk:
        read(desk, report("kept", 1))
        with pytest.raises(CancelledError):
            read(desk, report("crane", 20), Step(page=Stop(after).page))
        (stopped,) = [info for info in desk.documents.all() if info.document == "crane.pdf"]
        assert (stopped.status, stopped.pages_done) == ("reading", after)
        writer_of(desk).commit()
    held = inventory(settings_in(tmp_path))
    assert (held.documents, held.ready, held.pages, held.text_points) == (2, 1, 1 + after, 1), "found when it is whole"
    with opened(tmp_path) as desk:
        (waiting,) = desk.queue.uploads("reading")
        pages: list[int] = []
        step = Step(page=lambda _stage, done, _total: pages.append(done))
        result = read_again(desk, waiting.upload_id, step)
        assert (result.status, result.pages) == ("added", 20)
        assert pages[:2] == [after, after + 1]  # what was done is not done again
    held = inventory(settings_in(tmp_path))
    assert (held.ready, held.pages, held.nodes, held.text_points, held.page_points) == (2, 21, 21, 21, 21)


@pytest.mark.slow
def test_a_stop_before_the_first_page_leaves_the_file_only(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        with pytest.raises(CancelledError):
            read(desk, report("crane", 20), Step(page=Stop(0).page))
        assert desk.documents.all() == ()
        assert [info.document for info in desk.queue.uploads()] == ["crane.pdf"]
        assert [result.status for result in desk.queue.finish()] == ["added"]


@pytest.mark.slow
def test_a_book_begun_as_text_restarts_once_it_can_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.ingest.pipeline._SHEETS", 4)
    require(browser.find_browser(), "no Chromium on this system (Debian: apt install chromium)")
    upload = Upload(
        "trees.epub", papers.book([f"<h1>Chapter {number}</h1><p>{'A tree. ' * 900}</p>" for number in range(5)])
    )
    settings = settings_in(tmp_path)
    plain = settings.model_copy(update={"reading": ReadingSettings(browser="off")})
    with DocMind(plain) as desk, pytest.raises(KeyError):
        read(desk, upload, Step(page=Stop(9, KeyError).page))
    with DocMind(settings) as desk:
        (begun,) = desk.documents.all()
        (result,) = desk.queue.finish()
        assert (result.status, result.message) == ("added", "")
        assert 0 < begun.pages_done < begun.pages < result.pages
        pages = [desk.documents.page(begun.doc_id, number + 1) for number in range(result.pages)]
        assert sum(page.text.split().count("tree.") for page in pages) == 5 * 900
        assert {page.width for page in pages} == {pages[0].width}
    with DocMind(settings) as desk:
        writer_of(desk)  # the images of the pages as text are nobody's, and go now
    held = inventory(settings)
    assert (held.pages, held.page_points) == (result.pages, result.pages)


@pytest.mark.slow
def test_an_unfinished_document_is_finished_before_the_next_one(tmp_path: Path) -> None:
    with opened(tmp_path) as desk, pytest.raises(KeyError):
        read(desk, report("crane", 12), Step(page=Stop(9, KeyError).page))
    with opened(tmp_path) as desk:
        assert [result.document for result in desk.add([report("stork", 1)])] == ["stork.pdf"]
        assert {info.document: info.status for info in desk.documents.all()} == {
            "crane.pdf": "ready",
            "stork.pdf": "ready",
        }
        assert desk.queue.uploads("waiting", "reading") == ()


@pytest.mark.slow
def test_an_unfinished_file_says_why_and_delays_no_other(tmp_path: Path) -> None:
    upload = report("crane", 12)
    with opened(tmp_path) as desk, pytest.raises(KeyError):
        read(desk, upload, Step(page=Stop(9, KeyError).page))
    (original,) = (tmp_path / "data" / "artifacts").glob("*.original.enc")
    sealed = bytearray(original.read_bytes())
    sealed[100] ^= 1
    original.write_bytes(sealed)
    with opened(tmp_path) as desk:
        (result,) = desk.add([report("stork", 1)])
        assert result.status == "added"
        (failed,) = [info for info in desk.documents.all() if info.status == "failed"]
        assert "its checksum is wrong" in failed.message
        (healed,) = desk.add([upload])  # the file is at hand again
        assert (healed.status, healed.pages) == ("added", 12)
        assert desk.documents.get(failed.doc_id).message == ""
    held = inventory(settings_in(tmp_path))
    assert (held.documents, held.ready, held.pages) == (2, 2, 13)


@pytest.mark.slow
def test_one_that_became_too_large_meanwhile_is_kept_as_failed(tmp_path: Path) -> None:
    with opened(tmp_path) as desk, pytest.raises(KeyError):
        read(desk, report("crane", 12), Step(page=Stop(9, KeyError).page))
    with opened(tmp_path, reading=ReadingSettings(ocr="off", max_pages=5)) as desk:
        desk.add([])
        (info,) = desk.documents.all()
        assert info.status == "failed"
        assert "12" in info.message
        assert 0 < info.pages_done <= 8, "a slow machine commits fewer pages at a time"
        assert desk.erasures.erase([info.doc_id])[0].pages == info.pages_done
    assert inventory(settings_in(tmp_path)) == NOTHING


@pytest.mark.slow
def test_a_document_deleted_while_read_does_not_stop_the_next(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        writer = writer_of(desk)

        def delete(_stage: str, done: int, _total: int) -> None:
            if done == 10:
                writer.erase(desk.documents.all()[0].doc_id)

        result = read(desk, report("crane", 20), Step(page=delete))
        assert result.status == "cancelled"
        assert "deleted" in result.message
        assert read(desk, report("stork", 2)).status == "added"
        writer.commit()
    held = inventory(settings_in(tmp_path))
    assert (held.documents, held.pages, held.files, held.text_points) == (1, 2, 5, 2)


@pytest.mark.slow
def test_a_document_deleted_while_it_is_resumed_stays_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as desk, pytest.raises(KeyError):
        read(desk, report("crane", 12), Step(page=Stop(9, KeyError).page))
    with opened(tmp_path) as desk:
        writer = writer_of(desk)
        (info,) = desk.documents.all()
        (waiting,) = desk.queue.uploads()
        open_file = writer._reader.read

        def delete_and_read(upload: Upload, **options: Any) -> Reading:
            writer.erase(info.doc_id)  # its original has been opened already, and its process starts
            return open_file(upload, **options)

        monkeypatch.setattr(writer._reader, "read", delete_and_read)
        assert read_again(desk, waiting.upload_id).status == "cancelled"
        assert desk.documents.all() == ()
        assert desk.queue.uploads() == ()
    assert inventory(settings_in(tmp_path)) == NOTHING


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["no room for a new index", "another model"])
def test_deleting_needs_neither_room_nor_the_model_of_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    with opened(tmp_path) as desk:
        (result,) = desk.add([report("crane", 2)])
    changes: dict[str, Any] = {"embedding": EmbeddingSettings(model="other")}
    if trouble != "another model":
        shutil.rmtree(tmp_path / "data" / "index")
        changes = {"storage": StorageSettings(min_free_mb=10**9)}
    monkeypatch.setitem(TEXT_MODELS, "other", lambda _settings: Other())
    with opened(tmp_path, **changes) as desk:
        with pytest.raises((DiskFullError, IndexMismatchError)):
            desk.search("cranes")
        assert result.doc_id
        assert desk.erasures.erase([result.doc_id])[0].pages == 2
        assert desk.documents.all() == ()
    with opened(tmp_path) as desk:
        assert desk.search("cranes").hits == ()
    assert inventory(settings_in(tmp_path)) == NOTHING


@pytest.mark.slow
def test_what_two_documents_share_outlives_one_of_them(tmp_path: Path, desk: DocMind) -> None:
    one, two = desk.add(
        [
            Upload("one.pdf", text_pdf(["Herons count the same", "", "One of a kind"])),
            Upload("two.pdf", text_pdf(["Herons count the same", "", "Another kind"])),
        ]
    )
    assert one.doc_id
    assert two.doc_id
    receipt = desk.erasures.erase([one.doc_id])[0]
    assert dict(receipt.erased)["files"] == 3  # original, and image and thumbnail of the page of its own
    for page_no in (1, 2, 3):
        assert desk.documents.page_image(two.doc_id, page_no)
        assert desk.documents.page_image(two.doc_id, page_no, thumbnail=True)
    assert [hit.doc_id for hit in desk.search("herons count").hits][:1] == [two.doc_id]
    desk.erasures.erase([two.doc_id])
    desk.close()
    assert inventory(settings_in(tmp_path)) == NOTHING


@pytest.mark.slow
def test_deleting_beside_adding_takes_no_page_that_is_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blank pages look alike: one is found sealed already, while the document it was sealed for is being deleted."""
    with opened(tmp_path) as desk:
        writer = writer_of(desk)
        first = read(desk, Upload("one.pdf", text_pdf(["one", "", ""])))
        assert first.doc_id
        deleting = threading.Thread(target=writer.erase, args=(first.doc_id,))
        put_many = desk.vault.artifacts.put_many

        def put_and_wait(items: Sequence[Sealable]) -> list[ArtifactRef]:
            refs = put_many(items)
            if len(items) > 1 and not deleting.ident:
                deleting.start()
                deleting.join(0.5)  # between sealing and the rows: now it must have to wait
            return refs

        monkeypatch.setattr(desk.vault.artifacts, "put_many", put_and_wait)
        second = read(desk, Upload("two.pdf", text_pdf(["two", "", ""])))
        deleting.join()
        assert second.doc_id
        for page_no in (1, 2, 3):
            assert desk.documents.page_image(second.doc_id, page_no)
        assert [info.document for info in desk.documents.all()] == ["two.pdf"]
    held = inventory(settings_in(tmp_path))  # opens every artifact that a row names
    assert (held.ready, held.pages, held.page_points) == (1, 3, 3)


@pytest.mark.slow
def test_what_a_crash_left_without_a_row_is_set_aside(tmp_path: Path, desk: DocMind) -> None:
    desk.add([report("crane", 2)])
    orphan = desk.vault.artifacts.put(b"a page whose row was never written", ".webp.enc")
    desk.close()
    with opened(tmp_path) as again:
        again.add([])
        (aside,) = (tmp_path / "data" / "aside").iterdir()
        assert aside.name.endswith(f"-{orphan.file_name}")
        assert not (tmp_path / "data" / "artifacts" / orphan.file_name).exists()
    assert inventory(settings_in(tmp_path)).files == 5


@pytest.mark.slow
def test_a_name_may_be_any_bytes(desk: DocMind) -> None:
    name = b"caf\xe9 \x1b[31m.txt".decode("utf-8", "surrogateescape")
    (result,) = desk.add([Upload(name, b"Herons stand in the shallow water and wait.")])
    assert result.status == "added"
    assert desk.documents.all()[0].document == "caf? \x1b[31m.txt"


@pytest.mark.slow
def test_progress_is_told_in_order(desk: DocMind) -> None:
    seen: list[QueueProgress] = []
    desk.add([report("crane", 20), report("stork", 3)], files_total=2, progress=seen.append)
    pages = [(now.file, now.pages_done) for now in seen if now.stage == "reading"]
    assert pages == [("crane.pdf", n) for n in range(21)] + [("stork.pdf", n) for n in range(4)]
    assert seen[-1].files_done == 2


def test_too_little_room_is_told_before_anything_is_begun(tmp_path: Path) -> None:
    with opened(tmp_path, storage=StorageSettings(min_free_mb=10**9)) as desk:
        # The index looks for room of its own when it is made; that this vault has none is what is tested.
        with pytest.raises(DiskFullError) as caught:
            desk.add([report("crane", 2)])
        assert "MB" in str(caught.value)
        assert desk.documents.all() == ()


@pytest.mark.slow
def test_new_tags_of_a_present_document_are_not_lost_silently(desk: DocMind) -> None:
    upload = report("crane", 1)
    desk.add([upload])
    (result,) = desk.add([replace(upload, tags=("birds",))])
    assert (result.status, result.message) == ("already", "Its tags stay as they are.")


class Counting(FakeEmbedder):
    """Counts its runs over documents."""

    runs: list[int]

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        self.runs.append(len(texts))
        return super().embed_with_tokens(texts)

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        made = super().embed_documents(texts)
        self.runs.append(-len(texts))
        return made


@pytest.mark.slow
def test_token_vectors_come_from_the_same_run_as_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Counting()
    model.runs = []
    monkeypatch.setitem(TEXT_MODELS, "fake", lambda _settings: model)
    with opened(tmp_path) as mind:
        mind.add([report("crane", 3)])
        counted = mind.vault.database.one("SELECT (SELECT count(*) FROM vectors), (SELECT count(*) FROM tokens)")
        assert counted == (3, 3)
        assert [run for run in model.runs if run > 0] == [3]
        assert sum(run for run in model.runs if run < 0) == -3, "what the fake's own run asks for"
