"""Short plain texts that share a reading process and a commit: nothing of a group is lost, doubled or half there."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import forked
from conftest import HELPERS, ROOT
from desks import environment_of, inventory, opened, report, settings_in, settled
from docmind.application import DocMind
from docmind.documents import Catalog
from docmind.errors import CancelledError, DiskFullError, TextModelError
from docmind.ingest.later import LaterVectors
from docmind.ingest.pipeline import Step
from docmind.reading import Reader, is_plain
from docmind.records.documents import Upload
from mails import mail


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[DocMind]:
    with opened(tmp_path) as desk:
        yield desk


def notes(count: int) -> list[Upload]:
    return [Upload(f"note {n}.txt", f"Note {n} counts {n * 37} storks.".encode()) for n in range(count)]


def test_only_text_that_cannot_be_anything_else_is_plain() -> None:
    for name, data in (("a.txt", b"Storks."), ("a.md", b"# Storks"), ("a.csv", b"a,b\n1,2"), ("a.bib", b"@a{b}")):
        assert is_plain(Upload(name, data)), name
    for name, data in (
        ("a.txt", b"%PDF-1.7 and so on"),
        ("a.txt", b"PK\x03\x04"),
        ("a.txt", b"<html><body>Storks"),
        ("a.html", b"Storks."),
        ("a.py", b"print('Storks')"),  # it is parsed by C code
        ("a.txt", b'{"cells": [], "nbformat": 4}'),
        ("a.pdf", b"Storks."),
        ("a.txt", b"\xff\xfes\x00"),
        ("a.txt", b"St\xf6rche"),
        ("a.txt", b"zeros \x00"),
        ("a.txt", b" \n"),
        ("a.txt", b"long " * 100_000),
    ):
        assert not is_plain(Upload(name, data)), data[:20]
    assert not is_plain(Upload("a.txt", b"Storks.", "password"))


def test_texts_share_a_process_and_a_broken_one_ends_it() -> None:
    with Reader(settings_in(Path()).reading) as reader:
        pids = []
        for upload in notes(3):
            with reader.read(upload) as reading:
                assert reading._worker is not None
                pids.append(reading._worker.pid)
                assert ["storks" in page.text for page in reading] == [True]
        assert len(set(pids)) == 1
        with reader.read(notes(1)[0]) as reading:
            list(reading)
        with reader.read(notes(1)[0]) as reading:
            assert reading._worker is not None
            os.kill(reading._worker.pid, signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
            assert [page.page_no for page in reading] == [1], "it is read again in a process of its own"


@pytest.mark.slow
def test_a_group_gives_the_documents_that_single_files_give(tmp_path: Path) -> None:
    files = [*notes(5), report("heron", 2), *notes(7)[5:], Upload("odd.txt", b"zeros \x00 in text"), notes(1)[0]]
    (tmp_path / "one").mkdir()
    (tmp_path / "all").mkdir()
    with opened(tmp_path / "one") as desk:
        for upload in files:
            desk.add([upload])
        alone = {info.document: desk.documents.page(info.doc_id, 1).text for info in desk.documents.all()}
    with opened(tmp_path / "all") as desk:
        results = desk.add(files)
        assert [result.document for result in results] == [upload.name for upload in files]
        assert results[-1].status == "already"
        assert {info.document: desk.documents.page(info.doc_id, 1).text for info in desk.documents.all()} == alone
        assert desk.search("storks of note 3").hits
    assert inventory(settings_in(tmp_path / "all")) == inventory(settings_in(tmp_path / "one"))


@pytest.mark.slow
def test_a_group_shares_one_commit(desk: DocMind) -> None:
    desk.add(notes(1))
    before = desk.vault.database.one("SELECT max(seq) FROM ledger")
    ids = list(desk.queue.hold(notes(20)[1:]))
    handed_in = desk.vault.database.one("SELECT max(seq) FROM ledger")
    assert before is not None
    assert handed_in is not None
    results = desk.queue.read_together(ids)
    after = desk.vault.database.one("SELECT max(seq) FROM ledger")
    assert after is not None
    assert len(results) == 19
    assert after[0] - handed_in[0] == 1
    desk.queue.release(ids, ids)


def page_mail(number: int, attached: str = "") -> Upload:
    """Return a mail that is a web page, with a file attached to it where one is given."""
    page = f"Content-Type: text/html; charset=utf-8\n\n<p>Storks of mail {number} nest on the roof.</p>\n"
    file = f'Content-Type: text/plain\nContent-Disposition: attachment; filename="f{number}.txt"\n\n{attached}\n'
    parts = "".join(f"--x\n{part}\n" for part in (page, *([file] if attached else []))) + "--x--\n"
    headers = {"Subject": f"Storks {number}", "Content-Type": 'multipart/mixed; boundary="x"'}
    return Upload(f"mail {number}.eml", mail(parts, headers))


@pytest.mark.slow
def test_mails_of_any_kind_share_a_commit_and_no_process(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.add([page_mail(0)])
    pids, real = [], Reader.start

    def started(self: Reader, *given: Any, **named: Any) -> Any:
        worker = real(self, *given, **named)
        pids.append(worker.pid)
        return worker

    monkeypatch.setattr(Reader, "start", started)
    ids = list(desk.queue.hold([page_mail(number) for number in range(1, 9)]))
    handed_in = desk.vault.database.one("SELECT max(seq) FROM ledger")
    results = desk.queue.read_together(ids)
    after = desk.vault.database.one("SELECT max(seq) FROM ledger")
    assert after is not None
    assert handed_in is not None
    assert [result.status for result in results.values()] == ["added"] * 8
    assert after[0] - handed_in[0] == 1
    assert len(set(pids)) == 8
    desk.queue.release(ids, ids)


@pytest.mark.slow
def test_files_attached_to_mails_of_a_group_are_added(desk: DocMind) -> None:
    mails = [page_mail(number, f"Rules of house {number}: quiet after ten.") for number in range(4)]
    results = desk.add(mails)
    assert [[inside.document for inside in result.enclosed] for result in results] == [[f"f{n}.txt"] for n in range(4)]
    assert len(desk.documents.all()) == 8
    assert {info.parent.label for info in desk.documents.all() if info.parent is not None} == {
        f"Storks {number}" for number in range(4)
    }
    assert all(desk.documents.enclosed(result.doc_id or "")[0].doc_id for result in results)


@pytest.mark.slow
def test_a_pause_in_a_group_loses_none_of_it(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = list(desk.queue.hold(notes(12)))
    read, real = [], desk.ingest._read_text

    def slowly(file):
        read.append(file)
        if len(read) == 4:
            desk.queue.pause()
        return real(file)

    monkeypatch.setattr(desk.ingest, "_read_text", slowly)
    with pytest.raises(CancelledError):
        desk.queue.read_together(ids)
    assert desk.documents.all() == ()
    assert desk.queue.counts() == {"paused": 12}
    desk.queue.release(ids)
    desk.queue.resume()
    assert len(desk.queue.finish()) == 12
    assert len(desk.documents.all()) == 12


@pytest.mark.slow
def test_a_text_of_the_bin_is_restored_among_new_ones(desk: DocMind) -> None:
    first, second = (result.doc_id or "" for result in desk.add(notes(2)))
    desk.documents.bin([second])
    assert {info.doc_id for info in desk.documents.all()} == {first}
    results = desk.add([*notes(5), notes(2)[1]])
    assert [result.status for result in results] == ["already", "already", "added", "added", "added", "already"]
    assert results[1].doc_id == results[5].doc_id == second
    assert [number for number, result in enumerate(results) if "back in the library" in result.message] == [1]
    assert desk.documents.binned() == ()
    assert {info.document for info in desk.documents.all()} == {upload.name for upload in notes(5)}
    assert "note 1.txt" in {hit.document for hit in desk.search("storks of note 1").hits}


@pytest.mark.slow
def test_the_background_queue_restores_a_text_of_the_bin(desk: DocMind) -> None:
    _, binned, _ = (result.doc_id or "" for result in desk.add(notes(3)))
    desk.documents.bin([binned])
    desk.queue.submit(notes(6))
    assert settled(desk).state == "idle"
    assert desk.documents.binned() == ()
    assert len(desk.documents.all()) == 6
    assert binned in {hit.doc_id for hit in desk.search("storks of note 1").hits}


@pytest.mark.slow
def test_pages_of_a_group_await_their_picture_marks(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk.lookalike, "wake", lambda: None)  # nothing is prepared after the commit
    text = "A crane crossed the marsh before the rain. " * 20
    ids = list(desk.queue.hold([*notes(5), Upload("crane.txt", text.encode())]))
    results = desk.queue.read_together(ids)
    assert [result.status for result in results.values()] == ["added"] * 6
    assert desk.lookalike.missing() == 6
    assert desk.lookalike.search(desk.documents.page_image(results[ids[-1]].doc_id or "", 1)).degraded
    desk.lookalike.catch_up()
    assert desk.lookalike.missing() == 0
    shown = desk.lookalike.search(desk.documents.page_image(results[ids[-1]].doc_id or "", 1))
    assert (shown.hits[0].document, shown.found, shown.degraded) == ("crane.txt", True, ())
    desk.queue.release(ids, ids)


# --- many of them: vectors are made later -----------------------------------------------------------------------------


def without_vectors(desk: DocMind) -> int:
    """Return how many documents have a passage without a vector."""
    row = desk.vault.database.one(
        "SELECT count(DISTINCT doc_id) FROM nodes n"
        " WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.content_hash = n.content_hash)"
    )
    assert row is not None
    return row[0]


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six files that wait are many, three share a commit, and no vector is made in the background."""
    monkeypatch.setattr("docmind.ingest.jobs._TOGETHER", 3)
    monkeypatch.setattr("docmind.ingest.jobs._MANY", 6)
    monkeypatch.setattr(LaterVectors, "follow", lambda self, is_busy: None)


@pytest.mark.slow
@pytest.mark.usefixtures("many")
def test_many_texts_are_found_by_their_words_before_they_have_vectors(desk: DocMind) -> None:
    desk.queue.submit(notes(15))
    assert settled(desk).state == "idle"
    awaiting = without_vectors(desk)
    assert 6 <= awaiting <= 9, "the last ones get theirs while they are read"
    assert desk.status().documents_to_prepare == awaiting
    found = desk.search("storks of note 1")
    assert "note 1.txt" in {hit.document for hit in found.hits}
    assert "unprepared" in {one.stage for one in found.degraded}
    engine = desk.index.ready().index
    assert engine.count("text", having="text-dense") == 15 - awaiting
    assert desk.ingest.later.catch_up() == awaiting
    assert without_vectors(desk) == desk.status().documents_to_prepare == 0
    assert engine.count("text", having="text-dense") == engine.count("text") == 15
    assert "unprepared" not in {one.stage for one in desk.search("storks of note 1").degraded}
    assert desk.doctor.examine("full").counts == ()


@pytest.mark.slow
@pytest.mark.usefixtures("many")
def test_what_is_awaited_is_known_after_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        desk.queue.submit(notes(15))
        assert settled(desk).state == "idle"
        awaiting = without_vectors(desk)
        assert awaiting
    with opened(tmp_path) as desk:
        assert without_vectors(desk) == len(desk.ingest.later.look()) == awaiting
        desk.reindex()
        assert without_vectors(desk) == desk.vault.nodes.awaiting() == 0


@pytest.mark.slow
def test_few_texts_and_those_of_a_command_get_their_vectors_at_once(
    desk: DocMind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LaterVectors, "follow", lambda self, is_busy: None)
    desk.queue.submit(notes(15))
    assert settled(desk).state == "idle"
    monkeypatch.setattr("docmind.ingest.jobs._MANY", 6)
    desk.add(notes(40))
    assert without_vectors(desk) == desk.vault.nodes.awaiting() == 0


def later_together(desk: DocMind, count: int) -> list[str]:
    """Read notes whose vectors come later in one group, and return the ids of their documents."""
    ids = list(desk.queue.hold(notes(count)))
    files = [desk.queue._uploads.handed_in(upload_id) for upload_id in ids]
    results = desk.ingest.read_together(files, Step(), later=True)
    desk.queue.release(ids, ids)
    return [result.doc_id or "" for result in results.values()]


@pytest.mark.slow
@pytest.mark.usefixtures("many")
def test_documents_that_are_gone_cost_the_others_nothing(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, *_others = later_together(desk, 5)
    desk.documents.bin([first])
    real = desk.vault.nodes.vectors

    def erased_meanwhile(fingerprint: str, hashes: Iterable[bytes]) -> Any:
        monkeypatch.setattr(desk.vault.nodes, "vectors", real)
        found = real(fingerprint, hashes)
        desk.erasures.erase([second])
        return found

    monkeypatch.setattr(desk.vault.nodes, "vectors", erased_meanwhile)
    desk.ingest.later.catch_up()
    assert desk.vault.nodes.awaiting() == 0
    assert without_vectors(desk) == 1, "the one in the bin"
    desk.documents.restore([first])
    assert without_vectors(desk) == 0, "written to the index with its vectors"


@pytest.mark.usefixtures("many")
def test_a_group_that_fails_awaits_nothing(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Catalog, doc_id: str, **named: Any) -> None:
        raise DiskFullError("The disk is full.")

    monkeypatch.setattr(Catalog, "finish_document", full)
    with pytest.raises(DiskFullError):
        later_together(desk, 5)
    assert desk.vault.nodes.awaiting() == 0
    assert desk.documents.all() == ()


@pytest.mark.slow
@pytest.mark.usefixtures("many")
def test_documents_that_come_while_it_is_counted_are_not_forgotten(
    desk: DocMind, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, real = desk.vault.database, desk.vault.database.all
    desk.add(notes(2))
    desk.vault.nodes.expect(1)

    def meanwhile(statement: str, *given: Any) -> Any:
        rows = real(statement, *given)
        monkeypatch.setattr(database, "all", real)
        later_together(desk, 6)
        return rows

    monkeypatch.setattr(database, "all", meanwhile)
    assert desk.ingest.later.look() == []
    assert desk.vault.nodes.awaiting() > 0
    assert len(desk.ingest.later.look()) == desk.vault.nodes.awaiting() == 4


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_a_kill_before_the_commit_of_a_group_loses_none_of_it(tmp_path: Path) -> None:
    """The process ends after the images of a group are sealed, in the middle of its transaction."""
    script = """
import os, signal
from docmind.application import DocMind
from docmind.config import Settings
from docmind.documents import Catalog
from docmind.records.documents import Upload
from mails import mail
if __name__ == "__main__":
    done = []
    real = Catalog.finish_document
    def finish(self, doc_id, **named):
        done.append(doc_id)
        if len(done) == 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, doc_id, **named)
    Catalog.finish_document = finish
    with DocMind(Settings.load()) as desk:
        desk.add([Upload(f"note {n}.txt", f"Note {n} counts {n * 37} storks.".encode()) for n in range(40)])
"""
    path = os.pathsep.join([str(ROOT / "src"), *HELPERS])
    environment = os.environ | environment_of(tmp_path) | {"PYTHONPATH": path}
    ended = forked.run([sys.executable, "-c", script], env=environment, check=False, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    with opened(tmp_path) as desk:
        assert desk.documents.all() == (), "the group was one transaction"
        assert desk.queue.progress().unread == 40
        desk.queue.finish()
        assert len({info.document for info in desk.documents.all()}) == 40
        assert {info.status for info in desk.documents.all()} == {"ready"}
        assert desk.search("note 33").hits


@pytest.mark.slow
def test_a_text_model_that_comes_back_goes_on_by_itself(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.ingest.jobs._AGAIN_S", 0.2)
    failed = threading.Event()
    real = desk.ingest._embedder.embed_documents

    def once(texts):
        if not failed.is_set():
            failed.set()
            raise TextModelError("The server of the text model does not answer.")
        return real(texts)

    ingest = desk.ingest
    monkeypatch.setattr(ingest, "_tokens", None)
    monkeypatch.setattr(ingest._embedder, "embed_documents", once, raising=True)
    desk.queue.submit([report("stork", 1)])
    assert failed.wait(60)
    deadline = threading.Event()
    for _ in range(600):
        if any(info.status == "ready" for info in desk.documents.all()):
            break
        deadline.wait(0.1)
    assert [info.status for info in desk.documents.all()] == ["ready"]
