"""The facade over the real stack: user actions, kills, full disks and damage."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

import forked
from conftest import tiny_disk
from desks import NOTHING, Inventory, environment_of, held_after, inventory, opened, report, settings_in, settled
from docmind.application import DocMind
from docmind.config import EmbeddingSettings, KeySettings, StorageSettings
from docmind.errors import (
    ConfigError,
    DamagedError,
    DiskFullError,
    KeyUnavailableError,
    NotFoundError,
    VaultBusyError,
    VaultError,
    WrongKeyError,
)
from docmind.records.documents import AddResult, Upload
from docmind.records.query import Query
from docmind.records.search import Filters
from libraries import Library

HERON = Library("heron report", [report("heron", 1)])
PATIENCE = 150.0  # seconds; only a hang takes this long


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[DocMind]:
    with opened(tmp_path) as desk:
        yield desk


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


# --- a vault, opened and closed ---------------------------------------------------------------------------------------


def test_a_new_vault_is_empty_and_answers(desk: DocMind) -> None:
    assert desk.documents.all() == ()
    assert desk.search("herons").hits == ()
    assert not desk.ask("Where do herons wait?").found
    now = desk.status()
    assert (now.documents, now.pages, now.nodes, now.key_source) == (0, 0, 0, "file")


def test_the_recovery_code_is_kept_until_it_is_confirmed(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        code = desk.keys.recovery_code()
        assert code
        assert desk.keys.recovery_code() == code
    with opened(tmp_path) as desk:
        assert desk.keys.recovery_code() == code
        with pytest.raises(WrongKeyError, match="nor its last five characters"):
            desk.keys.confirm_recovery_code(code[:5])
        assert desk.keys.recovery_code() == code
        desk.keys.confirm_recovery_code(code[-5:].lower())
        assert desk.keys.recovery_code() is None
        desk.keys.confirm_recovery_code("anything")  # idempotent
    with opened(tmp_path) as desk:
        assert desk.keys.recovery_code() is None
        assert desk.keys.new_recovery_code() == desk.keys.recovery_code() != code


@pytest.mark.slow
def test_what_was_added_is_found_after_closing(tmp_path: Path, desk: DocMind) -> None:
    (result,) = desk.add([report("heron", 3)])
    first = desk.search("heron report page 2 counts 74")
    desk.close()
    desk.close()
    with opened(tmp_path) as again:
        found = again.search("heron report page 2 counts 74")
        assert found.hits == first.hits
        assert (found.hits[0].doc_id, found.hits[0].page_no) == (result.doc_id, 3)


def test_a_vault_has_one_owner_and_is_free_after_a_refusal(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(VaultBusyError):
        opened(tmp_path)
    with pytest.raises(ConfigError, match="no text model"):
        opened(tmp_path, embedding=EmbeddingSettings(model="nonsense"))
    with pytest.raises(KeyUnavailableError):
        opened(tmp_path, keys=KeySettings(source="file", file=tmp_path / "other.key"))
    opened(tmp_path).close()


@pytest.mark.slow
def test_a_closed_vault_starts_nothing_again(tmp_path: Path, desk: DocMind) -> None:
    """A question during the closing of the app must not keep the index from the next owner."""
    desk.add([report("heron", 1)])
    desk.close()
    for late in (lambda: desk.search("herons"), desk.warm, desk.reindex, lambda: desk.add([report("owl", 1)])):
        with pytest.raises(VaultError, match="closed"):
            late()
    with opened(tmp_path) as again:
        assert again.search("herons").hits


def test_a_place_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "data"):
        with pytest.raises(VaultError):
            DocMind(settings_in(tmp_path).model_copy(update={"data_dir": place}))


@pytest.mark.slow
@pytest.mark.parametrize("spoil", ["gone", "empty", "cut", "zeroed"])
def test_a_lost_database_is_said_and_nothing_is_written_over(tmp_path: Path, spoil: str) -> None:
    HERON.copy_to(tmp_path)
    database = tmp_path / "data" / "vault.db"
    data = database.read_bytes()
    if spoil == "gone":
        database.unlink()
    else:
        database.write_bytes({"empty": b"", "cut": data[:5000], "zeroed": bytes(len(data))}[spoil])
    before = {path: path.read_bytes() for path in (tmp_path / "data" / "artifacts").iterdir()}
    with pytest.raises(DamagedError):
        opened(tmp_path)
    assert {path: path.read_bytes() for path in (tmp_path / "data" / "artifacts").iterdir()} == before
    database.write_bytes(data)
    assert inventory(settings_in(tmp_path)).ready == 1


def test_the_database_of_another_vault_is_refused(tmp_path: Path, desk: DocMind) -> None:
    desk.close()
    (tmp_path / "other").mkdir()
    opened(tmp_path / "other").close()
    (tmp_path / "other" / "data" / "vault.db").replace(tmp_path / "data" / "vault.db")
    with pytest.raises(DamagedError):
        opened(tmp_path)


# --- documents, found and shown ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_documents_are_named_by_id_beginning_or_name(desk: DocMind) -> None:
    desk.add([report("heron", 1), report("owl", 1)])
    info = desk.documents.find("heron.pdf")
    assert (
        desk.documents.find(info.doc_id)
        == desk.documents.find(info.doc_id[:8])
        == desk.documents.get(info.doc_id)
        == info
    )
    for name in ("", "her", info.doc_id[:3], "heron"):
        with pytest.raises(NotFoundError):
            desk.documents.find(name)


@pytest.mark.slow
def test_two_documents_of_one_name_need_their_ids(desk: DocMind) -> None:
    desk.add([Upload("a.txt", b"Herons wait in the water."), Upload("a.txt", b"Owls hunt at night.")])
    with pytest.raises(NotFoundError, match="2 documents") as caught:
        desk.documents.find("a.txt")
    assert "id" in caught.value.hint


@pytest.mark.slow
def test_filters_narrow_what_is_found(desk: DocMind) -> None:
    one, two = desk.add([report("heron", 2), report("owl", 2)])
    assert one.doc_id
    assert two.doc_id
    both = {hit.doc_id for hit in desk.search("the report counts herons").hits}
    assert both == {one.doc_id, two.doc_id}
    only = desk.search(Query("the report counts herons", filters=Filters(doc_ids=(two.doc_id,)))).hits
    assert {hit.doc_id for hit in only} == {two.doc_id}
    assert len(desk.search(Query("the report counts herons", k=1)).hits) == 1


@pytest.mark.slow
def test_a_page_is_shown_with_its_image_and_words(desk: DocMind) -> None:
    (result,) = desk.add([report("heron", 2)])
    assert result.doc_id
    view = desk.documents.page(result.doc_id, 2)
    assert (view.page_no, view.pages, view.text_source) == (2, 2, "layer")
    assert view.text.startswith("The heron report, page 1, counts 37")
    assert view.words[1][0] == "heron"
    assert desk.documents.page_image(result.doc_id, 2)[8:12] == b"WEBP"
    whole, small = (desk.documents.page_image(result.doc_id, 2, thumbnail=is_small) for is_small in (False, True))
    assert Image.open(io.BytesIO(small)).width < Image.open(io.BytesIO(whole)).width
    for missing in (0, 3, -1):
        with pytest.raises(NotFoundError):
            desk.documents.page(result.doc_id, missing)


@pytest.mark.slow
def test_hits_and_quotes_stand_on_the_page_they_name(desk: DocMind) -> None:
    desk.add([report("heron", 5), report("owl", 5)])
    found = desk.search("owl report page 3")
    for hit in found.hits:
        view = desk.documents.page(hit.doc_id, hit.page_no)
        assert hit.text in view.text
        assert hit.boxes
        for box in hit.boxes:
            assert 0 <= box.x <= box.x + box.w <= view.width
            assert 0 <= box.y <= box.y + box.h <= view.height
    for source in desk.ask("What does the owl report count on page 3?").sources:
        assert source.quote in desk.documents.page(source.doc_id, source.page_no).text


@pytest.mark.parametrize("question", ["", "  \n\t "])
def test_an_empty_question_is_refused(desk: DocMind, question: str) -> None:
    with pytest.raises(ConfigError, match="nothing to search for"):
        desk.search(question)
    with pytest.raises(ConfigError, match="empty"):
        desk.ask(question)


@pytest.mark.slow
@pytest.mark.parametrize("question", ["'; DROP TABLE nodes; --", "\x00\x1b[31m", "🦩" * 500, "a" * 20_000, '%_*()"'])
def test_any_question_is_only_a_question(tmp_path: Path, question: str) -> None:
    with HERON.opened(tmp_path) as desk:
        assert desk.search(question).query
        assert len(desk.documents.all()) == 1


# --- the queue --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_files_are_read_in_the_background_with_results_in_rows(desk: DocMind) -> None:
    ids = desk.queue.submit([report("heron", 10), Upload("empty.pdf", b""), report("owl", 2)])
    end = settled(desk)
    assert (end.state, end.files_done, end.files_total, end.unread) == ("idle", 3, 3, 0)
    files = desk.queue.uploads()
    assert tuple(info.upload_id for info in files) == ids
    assert [(info.document, info.state) for info in files] == [
        ("heron.pdf", "done"), ("empty.pdf", "failed"), ("owl.pdf", "done"),
    ]  # fmt: skip
    assert [(info.result, info.pages, info.error) for info in files] == [
        ("added", 10, ""), ("refused", 0, "EmptyFileError"), ("added", 2, ""),
    ]  # fmt: skip
    assert "is empty" in files[1].message
    assert files[1].hint
    assert desk.search("owl report").hits


@pytest.mark.slow
def test_cancelling_keeps_pages_and_names_what_was_not_read(tmp_path: Path, desk: DocMind) -> None:
    with held_after(8):
        desk.queue.submit([report("heron", 2), report("owl", 20), report("crane", 2)])
        until(lambda: desk.queue.progress().file == "owl.pdf" and desk.queue.progress().pages_done > 8)
        cancelled = desk.queue.cancel()
        assert len(cancelled) == 2
        assert settled(desk).state == "idle"
    assert [info.document for info in desk.queue.uploads("cancelled")] == ["owl.pdf", "crane.pdf"]
    (stopped,) = [info for info in desk.documents.all() if info.document == "owl.pdf"]
    assert stopped.status == "stopped"
    assert 8 < stopped.pages_done < 20
    desk.queue.retry()  # "go on" and "add again"
    settled(desk)
    assert {info.document: (info.status, info.pages_done) for info in desk.documents.all()} == {
        "heron.pdf": ("ready", 2), "owl.pdf": ("ready", 20), "crane.pdf": ("ready", 2),
    }  # fmt: skip
    desk.close()
    held = inventory(settings_in(tmp_path))
    assert (held.documents, held.ready, held.pages, held.nodes) == (3, 3, 24, 24)


@pytest.mark.slow
def test_closing_in_the_middle_loses_no_file_that_was_handed_in(tmp_path: Path, desk: DocMind) -> None:
    with held_after(8):
        desk.queue.submit([report("owl", 20), report("crane", 2)])
        until(lambda: desk.queue.progress().pages_done > 8)
        desk.close()
    with opened(tmp_path) as again:
        assert [info.status for info in again.documents.all()] == ["reading"]
        assert again.queue.progress().unread == 2
        again.queue.start()
        end = settled(again)
        assert (end.state, end.files_done, end.files_total) == ("idle", 2, 2)
    held = inventory(settings_in(tmp_path))
    assert (held.ready, held.pages, held.text_points, held.page_points) == (2, 22, 22, 22)


@pytest.mark.slow
def test_adding_from_two_sides_at_once_adds_each_once(tmp_path: Path, desk: DocMind) -> None:
    uploads = [report(name, 9) for name in ("heron", "owl", "crane")]
    desk.queue.submit(uploads)
    here: list[AddResult] = []
    thread = threading.Thread(target=lambda: here.extend(desk.add(reversed(uploads))))
    thread.start()
    desk.search("heron")
    thread.join()
    settled(desk)
    there = [info.result for info in desk.queue.uploads("done")]
    assert sorted([*(result.status for result in here), *map(str, there)]) == ["added"] * 3 + ["already"] * 3
    desk.close()
    held = inventory(settings_in(tmp_path))
    assert (held.documents, held.ready, held.pages, held.nodes) == (3, 3, 27, 27)
    assert (held.text_points, held.page_points) == (27, 27)


# --- a kill at any moment ---------------------------------------------------------------------------------------------


def files_of(folder: Path) -> list[Path]:
    """Make documents that share a blank page, some long enough to be cut in several places."""
    folder.mkdir()
    uploads = [report("heron", 30), report("owl", 1), report("crane", 20), report("stork", 12)]
    uploads.append(Upload("note.txt", b"Storks clatter on the roof. " * 400))
    for upload in uploads:
        (folder / upload.name).write_bytes(upload.data)
    return sorted(folder.iterdir())


def adding(folder: Path, files: list[Path]) -> forked.Started:
    return forked.popen(
        [sys.executable, "-m", "docmind", "add", *map(str, files)],
        env=os.environ | environment_of(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def clean_run(folder: Path, files: list[Path]) -> Inventory:
    folder.mkdir()
    with adding(folder, files) as process:
        assert process.wait(PATIENCE) == 0, process.stderr and process.stderr.read()
    return inventory(settings_in(folder))


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_kills_at_random_moments_lose_double_and_leave_nothing(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    files = files_of(tmp_path / "files")
    wanted = clean_run(tmp_path / "clean", files)
    assert (wanted.ready, wanted.page_points) == (5, wanted.pages)
    folder = tmp_path / "killed"
    folder.mkdir()
    ready_before: set[str] = set()
    for kill in range(8):
        with adding(folder, files) as process:
            # The first kills come while the vault is created; later ones while there is more and more to be done.
            database = folder / "data" / "vault.db-wal"
            until(lambda database=database, process=process: database.exists() or process.poll() is not None)
            time.sleep(chance.uniform(0.0, 0.3 if kill < 2 else 1.2))
            process.send_signal(signal.SIGKILL)
            process.wait()
        with opened(folder) as desk:  # what was acknowledged once must stay
            ready = {info.doc_id for info in desk.documents.all() if info.status == "ready"}
            assert ready_before <= ready, f"seed {seed}, kill {kill}"
            ready_before = ready
            if kill % 3 == 2:
                assert {
                    hit.doc_id for hit in desk.search(Query("report counts herons storks clatter", k=100)).hits
                } <= ready
    with adding(folder, files) as process:
        assert process.wait(PATIENCE) == 0, process.stderr and process.stderr.read()
    assert inventory(settings_in(folder)) == wanted, f"seed {seed}"
    with opened(folder) as desk:
        for info in list(desk.documents.all()):
            desk.erasures.erase([info.doc_id])
    assert inventory(settings_in(folder)) == NOTHING


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_a_kill_before_the_index_update_is_repaired_by_a_search(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from docmind.application import DocMind\n"
        "from docmind.config import Settings\n"
        "from docmind.index.sync import IndexSync\n"
        "from docmind.records.documents import Upload\n"
        "IndexSync.put = lambda self, doc_id: os.kill(os.getpid(), signal.SIGKILL)\n"
        "DocMind(Settings.load()).add([Upload('a.txt', b'Herons wait in the shallow water.')])\n"
    )
    environment = os.environ | environment_of(tmp_path)
    killed = forked.run([sys.executable, "-c", script], env=environment, capture_output=True, timeout=PATIENCE)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with opened(tmp_path) as desk:
        assert [info.status for info in desk.documents.all()] == ["ready"]
        assert [hit.document for hit in desk.search("herons").hits] == ["a.txt"]


# --- a full disk ------------------------------------------------------------------------------------------------------


@pytest.mark.crash
@pytest.mark.slow
def test_a_full_disk_loses_nothing_and_is_well_again_with_room(tmp_path: Path) -> None:
    # The index engine takes 60 MB for a few points, and more while it opens: a smaller disk is not enough.
    with tiny_disk(tmp_path, megabytes=512) as disk:
        settings = settings_in(tmp_path, data_dir=disk / "data", storage=StorageSettings(min_free_mb=8))
        ballast = disk / "ballast"
        with DocMind(settings) as desk:
            assert desk.add([report("first", 3)])[0].status == "added"
            ballast.write_bytes(bytes(max(0, free(disk) - (9 << 20))))
            acknowledged = ["first.pdf"]
            with pytest.raises(DiskFullError) as caught:
                add_for_ever(desk, acknowledged)
            assert "MB" in str(caught.value)
            assert {info.document for info in desk.documents.all() if info.status == "ready"} >= set(acknowledged)
            assert desk.search("first report page 2").hits
            receipt = desk.erasures.erase([desk.documents.find("first.pdf").doc_id])[
                0
            ]  # deleting frees space, so it must work
            assert (receipt.pages, dict(receipt.erased)["files"]) == (3, 7)
            acknowledged.remove("first.pdf")
        with DocMind(settings) as desk:
            assert {info.document for info in desk.documents.all() if info.status == "ready"} >= set(acknowledged)
            ballast.unlink()
            assert desk.add([report("last", 3)])[0].status == "added"
            names = {info.document for info in desk.documents.all()}
            assert names >= {*acknowledged, "last.pdf"}
            assert {info.status for info in desk.documents.all()} == {"ready"}
            assert "first.pdf" not in names
            assert desk.search("last report page 1").hits[0].document == "last.pdf"
        held = inventory(settings)
        assert (held.text_points, held.page_points) == (held.nodes, held.pages)


def free(disk: Path) -> int:
    stat = os.statvfs(disk)
    return stat.f_bavail * stat.f_frsize


def add_for_ever(desk: DocMind, acknowledged: list[str]) -> None:
    for n in range(1000):
        (result,) = desk.add([report(f"more{n}", 40)])
        assert result.status == "added"
        acknowledged.append(result.document)


@pytest.mark.slow
def test_settings_made_here_apply_once_reopened_also_with_a_passphrase(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, keys=KeySettings(source="passphrase"))
    asked: list[int] = []
    with DocMind(settings, ask_passphrase=lambda: asked.append(1) or "four words are enough") as desk:
        desk.add([report("herons", 2)])
        desk.settings.put({"answer.quotes": 1})
        desk.reopen()
        assert desk.settings.now.answer.quotes == 1
        assert len(desk.documents.all()) == 1
        assert desk.ask("herons").question == "herons"
        desk.reopen(unset=["answer.quotes"])
        assert desk.settings.now.answer.quotes == 5
    assert len(asked) == 1
