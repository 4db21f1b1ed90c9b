"""The queue: what was handed in is read, in order, once, and nothing of it is lost."""

from __future__ import annotations

import io
import json
import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msoffcrypto.format.ooxml import OOXMLFile

import forked
from conftest import HELPERS, ROOT
from desks import NOTHING, environment_of, held_after, inventory, opened, report, settings_in, settled
from docmind.application import DocMind
from docmind.config import ReadingSettings, StorageSettings
from docmind.errors import CancelledError, DiskFullError, NotFoundError
from docmind.index import IndexSync
from docmind.ingest.jobs import _Pace
from docmind.ingest.pipeline import Ingest
from docmind.records.documents import Upload
from papers import line, pdf, word_file

PASSWORD = "opensesame"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[DocMind]:
    with opened(tmp_path) as desk:
        yield desk


def until(condition: Callable[[], Any], patience_s: float = 60.0) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.005)


def locked(name: str = "contract.docx") -> Upload:
    out = io.BytesIO()
    OOXMLFile(io.BytesIO(word_file())).encrypt(PASSWORD, out)
    return Upload(name, out.getvalue())


def states(desk: DocMind) -> dict[str, str]:
    return {info.document: info.state for info in desk.queue.uploads()}


def reading(desk: DocMind, name: str, pages: int = 8) -> None:
    """Wait until so many pages of a file have come."""
    until(lambda: (now := desk.queue.progress()).file == name and now.pages_done > pages)


# --- handing in -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_file_is_sealed_and_has_its_row_before_submit_returns(tmp_path: Path, desk: DocMind) -> None:
    """Nothing runs in the background here: what is on the disk then is all that there is."""
    ids = desk.queue.hold([report("heron", 3), report("owl", 1)])
    desk.close()
    held = inventory(settings_in(tmp_path))  # opens every artifact, and each is named by a row
    assert (held.documents, held.files) == (0, 2)
    with opened(tmp_path) as again:
        assert [info.upload_id for info in again.queue.uploads("waiting")] == list(ids)
        assert again.queue.progress().unread == 2
        again.queue.start()
        settled(again)
        assert {info.document for info in again.documents.all()} == {"heron.pdf", "owl.pdf"}


def test_equal_bytes_share_one_artifact_and_one_document(tmp_path: Path, desk: DocMind) -> None:
    upload = report("heron", 2)
    desk.queue.hold([upload, replace(upload, name="copy.pdf")])
    assert len(list((tmp_path / "data" / "artifacts").glob("*.original.enc"))) == 1
    first, second = desk.queue.uploads()
    desk.queue.remove([first.upload_id])
    assert len(list((tmp_path / "data" / "artifacts").glob("*.original.enc"))) == 1, "the other row needs it"
    desk.queue.remove([second.upload_id])
    assert not list((tmp_path / "data" / "artifacts").iterdir())


@pytest.mark.slow
def test_one_that_is_here_already_is_not_sealed_again(tmp_path: Path, desk: DocMind) -> None:
    desk.add([report("heron", 1)])
    before = sorted((tmp_path / "data" / "artifacts").iterdir())
    desk.queue.submit([replace(report("heron", 1), name="copy.pdf")])
    settled(desk)
    (info,) = desk.queue.uploads()
    assert (info.state, info.result) == ("done", "already")
    assert "heron.pdf" in info.message
    assert sorted((tmp_path / "data" / "artifacts").iterdir()) == before


def test_without_room_nothing_counts(tmp_path: Path) -> None:
    with opened(tmp_path, storage=StorageSettings(min_free_mb=10**9)) as desk:
        with pytest.raises(DiskFullError, match="MB free"):
            desk.queue.submit([report("heron", 1), report("owl", 1)])
        assert desk.queue.uploads() == ()
        assert not list((tmp_path / "data" / "artifacts").iterdir())


def test_a_hand_in_that_breaks_off_leaves_none_of_its_files(desk: DocMind) -> None:
    def uploads() -> Iterator[Upload]:
        for number in range(12):  # eight of them have been sealed
            yield report(f"heron{number}", 1)
        raise DiskFullError("The disk is full.")

    with pytest.raises(DiskFullError):
        desk.queue.submit(uploads())
    assert desk.queue.uploads() == ()


def test_the_room_for_all_is_looked_for_before_the_first(tmp_path: Path, desk: DocMind) -> None:
    with pytest.raises(DiskFullError):
        desk.queue.submit((report(f"heron{number}", 1) for number in range(9)), total_bytes=2**60)
    assert not list((tmp_path / "data" / "artifacts").iterdir())


def test_after_close_nothing_is_handed_in(desk: DocMind) -> None:
    desk.queue.close()
    with pytest.raises(CancelledError):
        desk.queue.submit([report("heron", 1)])
    assert desk.queue.uploads() == ()
    desk.queue.close()  # idempotent


# --- what stays in the list -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_failed_and_locked_files_stay_with_their_reason(tmp_path: Path, desk: DocMind) -> None:
    desk.queue.submit([Upload("broken.pdf", b"%PDF-1.4 broken"), locked(), report("heron", 1)])
    settled(desk)
    desk.close()
    with opened(tmp_path) as again:
        broken, contract, _heron = again.queue.uploads()
        assert (broken.state, broken.error) == ("failed", "CorruptFileError")
        assert broken.message.endswith(".")
        assert broken.hint
        assert (contract.state, contract.error) == ("locked", "PasswordNeededError")
        again.queue.start()
        assert settled(again).state == "idle", "they are not tried again by themselves"
        again.queue.retry([broken.upload_id])
        until(lambda: again.queue.uploads("failed") and not again.queue.progress().is_busy)
        assert again.queue.uploads("failed")[0].changed_at_ms > broken.changed_at_ms
        assert [info.document for info in again.queue.remove([broken.upload_id])] == ["broken.pdf"]
        again.queue.unlock(contract.upload_id, "wrong")
        until(lambda: again.queue.uploads("locked") and not again.queue.progress().is_busy)
        assert "does not open" in again.queue.uploads("locked")[0].message
        again.queue.unlock(contract.upload_id, PASSWORD)
        until(lambda: len(again.documents.all()) == 2)
        settled(again)
        assert again.queue._passwords == {}, "a password is used once"
    assert inventory(settings_in(tmp_path)).ready == 2


@pytest.mark.slow
def test_a_failed_file_that_is_added_again_takes_its_own_place(desk: DocMind) -> None:
    for _ in range(2):
        desk.queue.submit([Upload("broken.pdf", b"%PDF-1.4 broken")])
        settled(desk)
    assert [info.state for info in desk.queue.uploads()] == ["failed"]


@pytest.mark.slow
def test_what_add_refuses_is_told_and_not_kept(tmp_path: Path, desk: DocMind) -> None:
    broken, contract = desk.add([Upload("broken.pdf", b"%PDF-1.4 broken"), locked()])
    assert (broken.error, contract.error) == ("CorruptFileError", "PasswordNeededError")
    assert desk.queue.uploads() == ()
    desk.close()
    assert inventory(settings_in(tmp_path)) == NOTHING


@pytest.mark.slow
def test_deleting_a_document_takes_its_files_in_the_queue(tmp_path: Path, desk: DocMind) -> None:
    with held_after(8):
        desk.queue.submit([report("owl", 20)])
        reading(desk, "owl.pdf")
        desk.queue.cancel()
        settled(desk)
    (info,) = desk.documents.all()
    assert info.status == "stopped"
    desk.erasures.erase([info.doc_id])
    assert desk.queue.uploads() == ()
    desk.close()
    assert inventory(settings_in(tmp_path)) == NOTHING


@pytest.mark.slow
def test_a_bug_costs_one_file_and_is_logged_without_text(
    desk: DocMind, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret, real = "the text of a page", Ingest.read

    def mistaken(self: Ingest, file: Any, *arguments: Any, **options: Any) -> Any:
        if file.name == "heron.pdf":
            raise ValueError(secret)
        return real(self, file, *arguments, **options)

    monkeypatch.setattr(Ingest, "read", mistaken)
    with caplog.at_level(logging.ERROR):
        desk.queue.submit([report("heron", 1), report("owl", 1)])
        settled(desk)
    assert states(desk) == {"heron.pdf": "failed", "owl.pdf": "done"}
    assert "mistake in DocMind (ValueError)" in desk.queue.uploads("failed")[0].message
    assert "ValueError" in caplog.text
    assert secret not in caplog.text


@pytest.mark.slow
def test_a_full_disk_stops_all_until_resumed_and_says_why(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    is_full, real = threading.Event(), Ingest.read

    def without_room(self: Ingest, *arguments: Any, **options: Any) -> Any:
        if is_full.is_set():
            raise DiskFullError("The disk is full.", hint="Make room.")
        return real(self, *arguments, **options)

    monkeypatch.setattr(Ingest, "read", without_room)
    is_full.set()
    desk.queue.submit([report("heron", 1), report("owl", 1)])
    end = settled(desk)
    assert (end.state, end.unread, end.message) == ("paused", 2, "The disk is full. Make room.")
    is_full.clear()
    desk.queue.resume()
    assert (settled(desk).state, desk.queue.progress().message) == ("idle", "")
    assert states(desk) == {"heron.pdf": "done", "owl.pdf": "done"}


# --- pausing and cancelling -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_pause_keeps_pages_and_outlives_a_restart(tmp_path: Path, desk: DocMind) -> None:
    with held_after(8):
        desk.queue.submit([report("owl", 20), report("crane", 2)])
        reading(desk, "owl.pdf")
        assert len(desk.queue.pause()) == 2
        paused = settled(desk)
    assert (paused.state, paused.unread, paused.files_total) == ("paused", 2, 2)
    (info,) = desk.documents.all()
    assert info.status == "paused"
    assert 8 < info.pages_done < 20
    desk.close()
    with opened(tmp_path) as again:
        again.queue.start()
        assert settled(again).state == "paused"
        assert again.documents.get(info.doc_id).pages_done == info.pages_done
        later = again.queue.submit([report("stork", 1)])
        until(lambda: again.queue.uploads("done"))
        assert [done.upload_id for done in again.queue.uploads("done")] == list(later), "what comes later is read"
        again.queue.resume()
        assert settled(again).state == "idle"
        assert {one.document: one.status for one in again.documents.all()} == dict.fromkeys(
            ("owl.pdf", "crane.pdf", "stork.pdf"), "ready"
        )
    held = inventory(settings_in(tmp_path))
    assert (held.pages, held.nodes, held.page_points) == (23, 23, 23)


@pytest.mark.slow
def test_a_file_paused_before_its_turn_is_passed_over(desk: DocMind) -> None:
    with held_after(0):
        _first, second, _third = desk.queue.submit([report("owl", 2), report("crane", 2), report("stork", 2)])
        desk.queue.pause([second])
    settled(desk)
    assert states(desk) == {"owl.pdf": "done", "crane.pdf": "paused", "stork.pdf": "done"}


@pytest.mark.slow
def test_cancelled_files_can_be_added_until_forgotten(tmp_path: Path, desk: DocMind) -> None:
    ids = desk.queue.hold([report("owl", 1), report("crane", 1)])
    first, second = ids
    assert desk.queue.cancel() == list(ids)
    assert desk.queue.retry([first]) == [first]
    assert [info.document for info in desk.queue.remove([second])] == ["crane.pdf"]
    assert [result.document for result in desk.queue.finish()] == []  # still held by the one who handed it in
    desk.queue.release(ids)
    assert [result.document for result in desk.queue.finish()] == ["owl.pdf"]
    assert desk.queue.retry([second]) == []


@pytest.mark.slow
def test_reading_here_and_now_stops_where_it_is_paused(desk: DocMind) -> None:
    paused: list[int] = []

    def pause(now: Any) -> None:
        if now.pages_done == 5 and not paused:
            paused.extend(desk.queue.pause())

    with pytest.raises(CancelledError):
        desk.add([report("owl", 12), report("crane", 2)], progress=pause)
    assert states(desk) == {"owl.pdf": "paused", "crane.pdf": "paused"}
    desk.queue.resume()
    assert [result.status for result in desk.queue.finish()] == ["added", "added"]


def test_an_unknown_file_is_one_sentence(desk: DocMind) -> None:
    with pytest.raises(NotFoundError, match="no file 99"):
        desk.queue.unlock(99, "x")
    with pytest.raises(NotFoundError):
        desk.queue.read(99)
    assert (desk.queue.pause([99]), desk.queue.cancel([99]), desk.queue.remove([99])) == ([], [], [])


# --- several at a time ------------------------------------------------------------------------------------------------


def wide(folder: Path, workers: int = 2) -> DocMind:
    """Open a vault that reads so many files at the same time."""
    return opened(folder, reading=ReadingSettings(ocr="off", image_side_px=400, workers=workers))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 1])
def test_a_small_file_is_readable_while_a_large_one_is_read(tmp_path: Path, workers: int) -> None:
    """With one worker, and before a file has had its share of time, the small one waits: the test can see it."""
    with wide(tmp_path, workers) as desk, held_after(8):
        desk.queue.submit([report("owl", 20)])
        reading(desk, "owl.pdf")
        desk.queue.submit([report("heron", 2)])
        if workers == 1:
            assert states(desk)["heron.pdf"] == "waiting"
            assert desk.queue.progress().waiting == 1
            return
        until(lambda: states(desk)["heron.pdf"] == "done")
        until(lambda: desk.search("heron report").hits)
        assert desk.search("heron report").hits[0].document == "heron.pdf"
        assert states(desk)["owl.pdf"] == "reading"
        now = desk.queue.progress()
        assert (now.file, now.files_done, now.files_total, now.waiting, now.also) == ("owl.pdf", 1, 2, 0, 0)


@pytest.mark.slow
def test_two_files_are_counted_while_both_are_read(tmp_path: Path) -> None:
    with wide(tmp_path) as desk:
        with held_after(8):
            desk.queue.submit([report("owl", 20), report("crane", 20), report("heron", 2)])
            until(lambda: len(desk.queue._currents) == 2 and all(one._at[1] > 8 for one in desk.queue._currents))
            now = desk.queue.progress()
            assert (now.files_total, now.files_done, now.waiting, now.also, now.unread) == (3, 0, 1, 1, 3)
            assert {info.state for info in desk.queue.uploads("reading")} == {"reading"}
            desk.queue.pause()
            assert settled(desk).state == "paused"
            assert set(states(desk).values()) == {"paused"}
        desk.queue.resume()
        settled(desk)
        assert set(states(desk).values()) == {"done"}
    assert inventory(settings_in(tmp_path)).pages == 42


@pytest.mark.slow
@pytest.mark.parametrize(("share_s", "first"), [(0.0, "heron.pdf"), (1e9, "owl.pdf")], ids=["share used", "share left"])
def test_a_file_makes_way_for_a_short_one_and_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share_s: float, first: str
) -> None:
    """One that still has its share of time goes on: the test can see it."""
    monkeypatch.setattr("docmind.ingest.jobs._SHARE_S", share_s)
    monkeypatch.setattr("docmind.ingest.jobs._ASKING_S", 0.0)
    opened_pages: list[int] = []
    real = Ingest._read

    def noted(self: Ingest, info: Any, reading: Any, stored: Any, step: Any) -> Any:
        opened_pages.append(len(stored))
        return real(self, info, reading, stored, step)

    monkeypatch.setattr(Ingest, "_read", noted)
    with wide(tmp_path, workers=1) as desk:
        with held_after(8):
            desk.queue.submit([report("owl", 20)])
            reading(desk, "owl.pdf")
            desk.queue.submit([report("heron", 1)])
        settled(desk)
        done = sorted(desk.queue.uploads("done"), key=lambda info: info.changed_at_ms)
        assert done[0].document == first
        assert len(done) == 2
        kept = [0, 0, 9] if first == "heron.pdf" else [0, 0]
        assert opened_pages == kept, "pages that were read are not read again"
    assert inventory(settings_in(tmp_path)).pages == 21


@pytest.mark.slow
def test_one_that_is_added_here_and_now_makes_way_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.ingest.jobs._SHARE_S", 0.0)
    monkeypatch.setattr("docmind.ingest.jobs._ASKING_S", 0.0)
    ended: list[str] = []
    with wide(tmp_path, workers=1) as desk:

        def hand_in(now: Any) -> None:
            if now.pages_done == 9 and not desk.queue.uploads("waiting"):
                desk.queue.submit([report("heron", 1)])
            if now.pages_done == 20:
                ended.extend(info.document for info in desk.queue.uploads("done"))

        assert [result.status for result in desk.add([report("owl", 20)], progress=hand_in)] == ["added"]
        assert "heron.pdf" in ended, "it was read before the last page of the long one"


@pytest.mark.slow
def test_a_locked_file_that_makes_way_keeps_its_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.ingest.jobs._SHARE_S", 0.0)
    monkeypatch.setattr("docmind.ingest.jobs._ASKING_S", 0.0)
    with wide(tmp_path, workers=1) as desk:
        with held_after(0):
            desk.queue.submit([replace(locked(), password=PASSWORD)])
            reading(desk, "contract.docx", 0)
            desk.queue.submit([report("heron", 1)])
        settled(desk)
        assert states(desk) == {"contract.docx": "done", "heron.pdf": "done"}


def test_short_files_come_first_and_a_long_one_is_not_forgotten(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.ingest.jobs._SHORT_BYTES", 5_000)
    files = [report("owl", 60), report("heron", 1), report("crane", 1)]
    assert len(files[0].data) > 5_000 > len(files[1].data)
    ids = desk.queue.hold(files)
    long, *short = ids
    assert desk.queue.in_order(list(ids)) == [*short, long]
    desk.queue.release(ids)
    assert [info.upload_id for info in desk.queue._next()] == short[:1]
    desk.queue._passed = 20
    assert [info.upload_id for info in desk.queue._next()] == [long]


@pytest.mark.slow
def test_the_same_file_twice_is_read_once(tmp_path: Path) -> None:
    with wide(tmp_path) as desk:
        with held_after(2):
            desk.queue.submit([report("owl", 4), replace(report("owl", 4), name="copy.pdf")])
            until(lambda: len(desk.queue._currents) == 2)
            until(lambda: desk.queue.progress().pages_done > 2)  # of either: whichever came first
        settled(desk)
        assert sorted(str(info.result) for info in desk.queue.uploads("done")) == ["added", "already"]
    held = inventory(settings_in(tmp_path))
    assert (held.documents, held.pages, held.page_points) == (1, 4, 4)


@pytest.mark.slow
def test_a_file_is_being_read_until_searches_find_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for a file asks for it next: a program that waits over REST does."""
    written, goes_on, put = threading.Event(), threading.Event(), IndexSync.put

    def late(mirror: IndexSync, doc_id: str) -> None:
        written.set()
        goes_on.wait(60)
        put(mirror, doc_id)

    monkeypatch.setattr(IndexSync, "put", late)
    with wide(tmp_path) as desk:
        (upload_id,) = desk.queue.submit([report("owl", 2)])
        assert written.wait(60)
        assert desk.queue._uploads.get(upload_id).state == "done"  # the row alone says so too early
        assert [info.state for info in desk.queue.uploads()] == ["reading"]
        assert [info.upload_id for info in desk.queue.uploads("waiting", "reading")] == [upload_id]
        assert not desk.queue.uploads("done")
        goes_on.set()
        settled(desk)
        assert [info.state for info in desk.queue.uploads("done")] == ["done"]
        assert desk.search("owl").hits


# --- progress ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_progress_counts_files_and_pages(desk: DocMind) -> None:
    with held_after(8):
        desk.queue.submit([report("heron", 2), Upload("empty.pdf", b""), report("owl", 20), report("crane", 2)])
        reading(desk, "owl.pdf")
        now = desk.queue.progress()
        assert (now.state, now.files_total, now.files_done, now.waiting, now.pages_total) == ("reading", 4, 2, 1, 20)
        assert now.unread == 2
    end = settled(desk)
    assert (end.files_total, end.files_done, end.unread, end.file) == (4, 4, 0, "")
    desk.queue.submit([report("stork", 1)])
    assert settled(desk).files_total == 1, "a new batch is counted by itself"


def test_what_is_left_is_told_only_once_enough_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("docmind.ingest.jobs.time", type("Clock", (), {"monotonic": lambda: now[0]}))
    pace = _Pace()
    pace.open(619, 10_000)
    now[0] += 0.5
    pace.keep(8)
    assert pace.eta_ms(611, 0) is None, "half a second says nothing about 619 pages"
    now[0] += 9.5
    pace.keep(92)
    assert pace.eta_ms(519, 0) == pytest.approx(51_900)
    assert pace.eta_ms(519, 10_000) == pytest.approx(51_900 + 61_900), "a file behind it has as many pages a byte"
    now[0] += 10
    assert pace.eta_ms(519, 0) == pytest.approx(103_800), "where nothing comes, it grows"
    assert pace.eta_ms(None, 0) is None


# --- kills ------------------------------------------------------------------------------------------------------------

# Hands in the files it is told, says each as soon as that is acknowledged, and reads until the queue is empty.
OWNER = """
import json, sys, time
from pathlib import Path
from docmind.application import DocMind
from docmind.config import Settings
from docmind.records.documents import Upload
if __name__ == "__main__":
    with DocMind(Settings.load()) as desk:
        desk.queue.start()
        print("opened", flush=True)
        for path in map(Path, json.loads(sys.argv[1])):
            desk.queue.submit([Upload(path.name, path.read_bytes())])
            print(path.name, flush=True)
        print("reading", flush=True)
        while desk.queue.progress().is_busy:
            time.sleep(0.02)
    print("finished", flush=True)
"""
# The same with the row written behind the reading, as a queue in memory would have it.
FORGETFUL = OWNER.replace(
    "if __name__",
    """
from docmind.documents.uploads import Uploads
import threading
real, kept = Uploads.hand_in, []
def later(self, uploads, **options):
    new = list(uploads)
    kept.extend(new)
    threading.Timer(60, real, (self, kept)).start()
    return list(range(-len(new), 0))
Uploads.hand_in = later
if __name__""",
)


def twenty_files(folder: Path, *, scans: int) -> list[Path]:
    """Papers of one to thirty pages, text, and pictures of text."""
    folder.mkdir()
    for number in range(14):
        upload = report(f"paper{number:02d}", 1 + number * 2)
        (folder / upload.name).write_bytes(upload.data)
    for number in range(6 - scans):
        (folder / f"note{number}.txt").write_bytes(f"Storks of note {number} clatter on the roof. ".encode() * 300)
    for number in range(scans):
        (folder / f"scan{number}.pdf").write_bytes(scan(f"Scan {number} counts storks"))
    return sorted(folder.iterdir())


def scan(text: str) -> bytes:
    """Two pages that are pictures of a line of text."""
    import pypdfium2

    document = pypdfium2.PdfDocument(pdf([line(text, size=30)] * 2))
    pictures = [page.render(scale=1).to_pil().convert("RGB") for page in document]
    out = io.BytesIO()
    pictures[0].save(out, "PDF", save_all=True, append_images=pictures[1:])
    return out.getvalue()


def children_of(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # gone meanwhile
                continue
            if parent == pid:
                found += [int(entry.name), *children_of(int(entry.name))]
    return found


def environment(folder: Path, **more: str) -> dict[str, str]:
    return os.environ | environment_of(folder, **more) | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *HELPERS])}


class Killed:
    """An owner that is killed, or whose children are, at random moments, and started again until all is read."""

    def __init__(self, folder: Path, files: list[Path], seed: int, **more: str) -> None:
        self._files = files
        self._environment = environment(folder, **more)
        self._chance = random.Random(seed)
        self.acknowledged: set[str] = set()
        self.owners = self.children = 0

    def run(self, kills: int) -> None:
        """Kill so often, then let it come to its end."""
        while self.owners + self.children < kills:
            self._once(kills)
        assert self._once(0), "it did not come to its end by itself"

    def _once(self, kills: int) -> bool:
        """One owner, from its start to its end; whether that was its own."""
        left = [str(file) for file in self._files if file.name not in self.acknowledged]
        command = [sys.executable, "-c", OWNER, json.dumps(left)]
        with forked.popen(
            command, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            said: list[str] = []
            assert process.stdout is not None
            listening = threading.Thread(target=said.extend, args=(process.stdout,))  # line by line, as they come
            listening.start()
            until(lambda: said or process.poll() is not None)  # it has opened the vault
            while process.poll() is None and self.owners + self.children < kills:
                time.sleep(self._chance.uniform(0.0, 1.5))
                children = children_of(process.pid)
                is_owner = not children or self._chance.random() < 0.4
                try:
                    os.kill(process.pid if is_owner else self._chance.choice(children), signal.SIGKILL)
                except ProcessLookupError:  # it ended by itself
                    continue
                self.owners, self.children = self.owners + is_owner, self.children + (not is_owner)
                if is_owner:
                    break
            process.wait(600)
            listening.join()
            error = process.stderr.read() if process.stderr else ""
            self.acknowledged |= {name.strip() for name in said} - {"opened", "reading", "finished"}
            assert process.returncode in (0, -signal.SIGKILL), error
            return process.returncode == 0 and "finished\n" in said


def lost_and_doubled(folder: Path, wanted: set[str]) -> tuple[set[str], list[str]]:
    """Files that were acknowledged and are neither a document nor in the queue with a reason; names that are twice."""
    with opened(folder) as desk:
        names = [info.document for info in desk.documents.all()]
        kept = {*names, *(info.document for info in desk.queue.uploads())}
    return wanted - kept, sorted(name for name in set(names) if names.count(name) > 1)


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds children in /proc")
def test_kills_during_twenty_uploads_lose_and_double_none(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    files = twenty_files(tmp_path / "files", scans=3)
    killed = Killed(tmp_path, files, seed, DOCMIND_READING__OCR="auto", DOCMIND_READING__WORKERS="2")
    killed.run(int(os.environ.get("KILLS", "20")))
    names = {file.name for file in files}
    assert killed.acknowledged == names, f"seed {seed}"
    assert lost_and_doubled(tmp_path, names) == (set(), []), f"seed {seed}"
    with opened(tmp_path, reading=ReadingSettings(ocr="auto", image_side_px=400, workers=1)) as desk:
        desk.queue.retry()  # a file whose reading process was killed too often says so
        desk.queue.finish()
        assert {info.document: info.status for info in desk.documents.all()} == dict.fromkeys(names, "ready"), (
            f"seed {seed}"
        )
        # A kill of the index engine just before the end leaves no copy of the index. The first search builds it again.
        assert desk.search("storks").hits, f"seed {seed}"
        pages = {info.document: info.pages_done for info in desk.documents.all()}
    assert all(pages[f"paper{number:02d}.pdf"] == 1 + number * 2 for number in range(14)), f"seed {seed}"
    held = inventory(settings_in(tmp_path))
    assert (held.ready, held.page_points) == (20, held.pages), f"seed {seed}"
    print(f"{killed.owners} kills of the owner, {killed.children} of its children, seed {seed}")


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
@pytest.mark.parametrize(("script", "is_safe"), [(OWNER, True), (FORGETFUL, False)], ids=["rows first", "rows later"])
def test_one_kill_behind_the_acknowledgement(tmp_path: Path, script: str, is_safe: bool) -> None:
    """With rows that are not written first, the same kill loses files: the test can see it."""
    files = twenty_files(tmp_path / "files", scans=0)[:5]
    command = [sys.executable, "-c", script, json.dumps([str(file) for file in files])]
    with forked.popen(command, env=environment(tmp_path), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "opened\n"
        said = [process.stdout.readline().strip() for _ in files]
        process.kill()
    names = {file.name for file in files}
    assert set(said) == names, "all were acknowledged"
    lost, doubled = lost_and_doubled(tmp_path, names)
    assert (not lost) is is_safe
    assert not doubled


@pytest.mark.slow
def test_an_older_vault_gets_rows_for_its_unfinished_documents(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        desk.queue.release(desk.queue.hold([report("crane", 12)]))
        with pytest.raises(KeyboardInterrupt):
            desk.queue.finish(_raise_at(9))
        (info,) = desk.documents.all()
        with desk.vault.database.transaction() as db:
            db.execute("DELETE FROM uploads")
    with opened(tmp_path) as desk:
        desk.queue.start()
        settled(desk)
        assert desk.documents.get(info.doc_id).status == "ready"
    assert inventory(settings_in(tmp_path)).pages == 12


def _raise_at(pages: int) -> Callable[[Any], None]:
    def progress(now: Any) -> None:
        if now.pages_done == pages:
            raise KeyboardInterrupt

    return progress
