"""Rotation of keys: everything answers as before, no old key is left, and a kill at any point loses nothing."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

import forked
from desks import environment_of, opened, settings_in, text_pdf
from docmind.application import DocMind
from docmind.config import IndexSettings, KeySettings
from docmind.errors import CancelledError, DamagedError, DiskFullError, WrongKeyError
from docmind.maintenance.rotation import STEPS
from docmind.records.documents import Upload
from docmind.storage.artifacts import Artifacts
from docmind.storage.database import Database, key_that_opens
from docmind.storage.keys import Keyset, open_keys
from docmind.storage.mark import Mark
from libraries import Library
from sampled import tenth_of

PAGES = ["The heron nests beside the river in early spring", "The engine needs oil twice a year"]
QUESTIONS = ("Where does the heron nest?", "How often does the engine need oil?", "badger")


def uploads() -> list[Upload]:
    return [Upload("manual.pdf", text_pdf(PAGES)), Upload("notes.txt", b"A badger digs its sett in dry soil.")]


LIBRARY = Library("a manual and notes", uploads())


def keyset_of(folder: Path) -> Keyset:
    settings = settings_in(folder)
    return open_keys(settings.data_dir, settings.keys).keyset


def all_keys(keyset: Keyset) -> set[bytes]:
    return {keyset.db_key, keyset.index_key(), *keyset.data_keys.values()}


def shown(docmind: DocMind) -> list[object]:
    """Return all that a user sees: hits, answers and page images."""
    found: list[object] = []
    for question in QUESTIONS:
        hits = docmind.search(question).hits
        found.append([(hit.document, hit.page_no, hit.text) for hit in hits])
        answer = docmind.ask(question)
        found.append((answer.answer, [source.quote for source in answer.sources]))
    for info in sorted(docmind.documents.all(), key=lambda one: one.document):
        found += [docmind.documents.page_image(info.doc_id, page_no) for page_no in range(1, info.pages + 1)]
    return found


def headers(folder: Path) -> set[bytes]:
    """Return the ids of the keys that sealed files name, also those set aside."""
    data = settings_in(folder).data_dir
    return {path.read_bytes()[8:16] for place in ("artifacts", "aside") for path in (data / place).glob("*.enc")}


@pytest.mark.slow
@pytest.mark.parametrize("at_rest", ["ephemeral", "blinded"])
def test_everything_is_the_same_under_new_keys(tmp_path: Path, at_rest: Any) -> None:
    with opened(tmp_path, index=IndexSettings(at_rest=at_rest)) as docmind:
        docmind.add(uploads())
        before, old_code = shown(docmind), docmind.keys.recovery_code()
        receipts_key = keyset_of(tmp_path).id_key
    old = keyset_of(tmp_path)
    with opened(tmp_path, index=IndexSettings(at_rest=at_rest)) as docmind:
        report = docmind.rotate_keys()
        assert report.files == len(list((tmp_path / "data" / "artifacts").glob("*.enc")))
        assert not report.damaged
        assert shown(docmind) == before
        assert docmind.keys.recovery_code() not in (None, old_code)
        assert not docmind.rotation.is_unfinished
        docmind.add([Upload("later.txt", b"A wagtail by the weir.")])
    new = keyset_of(tmp_path)
    assert new.next is None
    assert new.id_key == receipts_key
    assert not all_keys(old) & all_keys(new)
    assert headers(tmp_path) == {new.primary} == set(new.data_keys)
    with opened(tmp_path, index=IndexSettings(at_rest=at_rest)) as docmind:
        assert docmind.search("wagtail").hits[0].document == "later.txt"
        docmind.erasures.erase([docmind.documents.find("later.txt").doc_id])
        assert shown(docmind) == before


@pytest.mark.slow
def test_an_old_copy_of_the_description_opens_nothing_new(tmp_path: Path) -> None:
    LIBRARY.copy_to(tmp_path)
    description = tmp_path / "data" / "vault.json"
    kept = description.read_bytes()
    with opened(tmp_path) as docmind:
        docmind.rotate_keys()
    new = description.read_bytes()
    description.write_bytes(kept)
    with pytest.raises(DamagedError):
        opened(tmp_path)
    artifacts = Artifacts(tmp_path / "data" / "artifacts", keyset_of(tmp_path), read_only=True)
    for ref in artifacts.unreferenced(()):
        with pytest.raises(WrongKeyError):
            artifacts.get(ref)
    artifacts.close()
    description.write_bytes(new)
    with opened(tmp_path) as docmind:
        assert docmind.search("badger").hits


@pytest.mark.slow
def test_the_new_recovery_code_opens_and_the_old_one_does_not(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        old = docmind.keys.recovery_code()
        docmind.rotation.run()
        code = docmind.keys.recovery_code()
        assert code is not None
        docmind.keys.confirm_recovery_code(code)  # in the middle of it: the index is left
    (tmp_path / "docmind.key").unlink()
    for given in (old or "", code):
        keys = KeySettings(source="file", file=tmp_path / "docmind.key", recovery_code=SecretStr(given))
        if given == old:
            with pytest.raises(WrongKeyError):
                opened(tmp_path, keys=keys)
            continue
        with opened(tmp_path, keys=keys) as docmind:
            assert docmind.search("badger").hits
            assert not docmind.rotation.is_unfinished


@pytest.mark.slow
def test_a_damaged_file_keeps_its_key_and_is_named(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        doc_id = docmind.documents.find("manual.pdf").doc_id
        image = docmind.vault.catalog.page(doc_id, 1).image
    path = tmp_path / "data" / "artifacts" / image.file_name
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    old = keyset_of(tmp_path)
    with opened(tmp_path) as docmind:
        report = docmind.rotate_keys()
        assert (report.damaged, report.damaged_files) == (("manual.pdf",), 1)
        assert docmind.documents.page_image(doc_id, 2)
        with pytest.raises(DamagedError):
            docmind.documents.page_image(doc_id, 1)
    new = keyset_of(tmp_path)
    assert set(new.data_keys) == {old.primary, new.primary}
    assert new.next is None
    data[100] ^= 1  # its backup is put back
    path.write_bytes(data)
    with opened(tmp_path) as docmind:
        assert docmind.documents.page_image(doc_id, 1)
        docmind.rotate_keys()
        assert docmind.documents.page_image(doc_id, 1)
    assert len(keyset_of(tmp_path).data_keys) == 1


def test_a_file_set_aside_is_sealed_again(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        ref = docmind.vault.artifacts.put(b"of no row", ".webp.enc")
        docmind.vault.artifacts.set_aside(docmind.vault.catalog.artifact_ids())
        assert list((tmp_path / "data" / "aside").iterdir())
        docmind.rotate_keys()
        assert len(headers(tmp_path)) == 1
        assert docmind.vault.artifacts.get(ref) == b"of no row"


@pytest.mark.slow
def test_files_are_added_deleted_and_read_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.maintenance.rotation._BATCH", 1)
    with LIBRARY.opened(tmp_path) as docmind:
        docmind.add([Upload(f"{n}.txt", f"Otter number {n}.".encode()) for n in range(4)])
        doomed = docmind.documents.find("notes.txt").doc_id
        before = docmind.documents.page_image(docmind.documents.find("manual.pdf").doc_id, 1)
        at: list[int] = []

        def meanwhile(now: Any) -> None:
            if now.step != STEPS[1]:
                return
            at.append(now.done)
            assert docmind.documents.page_image(docmind.documents.find("manual.pdf").doc_id, 1) == before
            if len(at) == 2:
                docmind.add([Upload("new.txt", b"A kestrel hovers.")])
            if len(at) == 4:
                docmind.erasures.erase([doomed])

        report = docmind.rotation.run(meanwhile)
        assert at == sorted(at)
        assert not report.damaged
        assert docmind.search("kestrel").hits
        assert not [hit for hit in docmind.search("badger").hits if hit.document == "notes.txt"]
        assert docmind.ingest.set_aside() == 0, "no file of the erased document came back"
    assert headers(tmp_path) == {keyset_of(tmp_path).primary}


@pytest.mark.slow
def test_it_is_paused_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.maintenance.rotation._BATCH", 1)
    with LIBRARY.opened(tmp_path) as docmind:
        with pytest.raises(CancelledError):
            docmind.rotation.run(lambda now: docmind.rotation.pause() if now.done == 2 else None)
        assert docmind.rotation.is_unfinished
        assert not docmind.rotation.needs_opening
        assert len(headers(tmp_path)) == 2
        assert shown(docmind)
        primary = docmind.vault.keys.keyset.primary
        docmind.rotate_keys()
    assert keyset_of(tmp_path).primary == primary, "it went on, and began no other one"
    assert headers(tmp_path) == {primary}


@pytest.mark.slow
def test_a_full_disk_stops_it_and_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        before = shown(docmind)

        def full(*_args: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("docmind.storage.artifacts._sync", full)
            with pytest.raises(DiskFullError):
                docmind.rotation.run()
        assert not list((tmp_path / "data" / "artifacts").glob(".new-*"))
        assert shown(docmind) == before
        docmind.rotate_keys()
        assert shown(docmind) == before


def test_it_runs_in_the_background_and_after_the_next_start(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as docmind:
        docmind.vault.keys.recovery.begin_rotation()
    with opened(tmp_path) as docmind:
        docmind.rotation._work.join(60)
        assert docmind.rotation.report is not None
        docmind.index.ready()  # by the opening, it has the new key already
        assert not docmind.rotation.is_unfinished
    assert headers(tmp_path) == {keyset_of(tmp_path).primary}


@pytest.mark.slow
def test_a_changed_passphrase_keeps_a_rotation_going(tmp_path: Path) -> None:
    keys = KeySettings(source="passphrase")
    with DocMind(settings_in(tmp_path, keys=keys), ask_passphrase=lambda: "correct horse") as docmind:
        docmind.add(uploads())
        docmind.vault.keys.recovery.begin_rotation()
        docmind.keys.change_passphrase("correct horse", "battery staple")
        docmind.keys.new_recovery_code()
        docmind.rotate_keys()
        docmind.keys.confirm_recovery_code(docmind.keys.recovery_code() or "")
    with DocMind(settings_in(tmp_path, keys=keys), ask_passphrase=lambda: "battery staple") as docmind:
        assert docmind.search("badger").hits
        assert docmind.vault.keys.keyset.next is None


def test_a_write_under_the_old_key_is_waited_for(tmp_path: Path) -> None:
    """A slow write that began before the rotation has its name before old keys may go."""
    keys = Keyset.generate()
    artifacts = Artifacts(tmp_path / "artifacts", keys)
    may_go, began = threading.Event(), threading.Event()
    plain = artifacts._is_kept

    def slow(path: Path, ref: Any) -> bool:
        began.set()
        assert may_go.wait(10)
        return plain(path, ref)

    artifacts._is_kept = slow  # type: ignore[method-assign]
    writer = threading.Thread(target=artifacts.put, args=(b"one", ".webp.enc"))
    writer.start()
    assert began.wait(10)
    user = threading.Thread(target=artifacts.use, args=(keys.rotated(),))
    user.start()
    user.join(0.2)
    assert user.is_alive()
    may_go.set()
    user.join(10)
    assert not user.is_alive()
    assert len(list((tmp_path / "artifacts").glob("*.enc"))) == 1
    writer.join(10)
    artifacts.close()


def test_a_file_removed_while_it_is_sealed_is_not_brought_back(tmp_path: Path) -> None:
    keys = Keyset.generate()
    artifacts = Artifacts(tmp_path / "artifacts", keys)
    refs = [artifacts.put(bytes([n]) * 100, ".webp.enc") for n in range(3)]
    artifacts.use(keys.rotated())
    plain = artifacts._sealed_again

    def removing(path: Path, at: Path) -> bool:
        done = plain(path, at)
        if path.name == refs[1].file_name:
            artifacts.remove([refs[1]])
        return done

    artifacts._sealed_again = removing  # type: ignore[method-assign]
    left = artifacts.sealed_under().outdated(artifacts._keys.primary)
    assert artifacts.reseal(left) == []
    assert not artifacts.exists(refs[1])
    assert [artifacts.get(refs[n])[0] for n in (0, 2)] == [0, 2]
    artifacts.close()


@pytest.mark.slow
def test_vectors_of_page_patches_have_the_new_key(tmp_path: Path) -> None:
    from docmind.embedding import PagePatches

    random = np.random.default_rng(3)
    with LIBRARY.opened(tmp_path) as docmind:
        doc_id = docmind.documents.find("manual.pdf").doc_id
        images = [docmind.vault.catalog.page(doc_id, number).image.sha256 for number in (1, 2)]
        late = docmind.visual.late_store.pages()
        given = random.normal(size=(2, 16, 128)).astype(np.float32)
        given /= np.linalg.norm(given, axis=2, keepdims=True)
        for image, vectors in zip(images, given, strict=True):
            late.put("model", image, PagePatches(vectors, 4, 4, np.arange(16, dtype=np.int32)))
        query = given[1, :3]
        before = late.search("model", query, 2)
        files = {path.name for path in (tmp_path / "data" / "late").iterdir()}
        rotated = late.originals("model", images[0])
        docmind.rotate_keys()
        late = docmind.visual.late_store.pages()
        after = late.search("model", query, 2)
        assert [image for image, _score in after] == [image for image, _score in before] == [images[1], images[0]]
        np.testing.assert_allclose([s for _i, s in after], [s for _i, s in before], atol=0.03)
        assert not np.allclose(late.originals("model", images[0]), rotated, atol=0.05)
        assert not files & {path.name for path in (tmp_path / "data" / "late").iterdir()}
        docmind.reopen()  # they are rotated once
        np.testing.assert_allclose(docmind.visual.late_store.pages().search("model", query, 2)[0][1], after[0][1])


KILLED = """
import os, signal, sys
from pathlib import Path
from desks import opened
import docmind.maintenance.rotation as rotation
from docmind.application import DocMind
from docmind.index.sync import IndexSync
from docmind.storage import Artifacts, Database
from docmind.storage.keys import RecoveryCode
from docmind.storage.mark import Mark

def stop(*_args, **_named):
    os.kill(os.getpid(), signal.SIGKILL)

def then_stop(plain):
    def both(*args, **named):
        plain(*args, **named)
        stop()
    return both

def at_call(owner, name, number, wrap):
    plain, calls = getattr(owner, name), [0]
    def counted(*args, **named):
        calls[0] += 1
        return (wrap(plain) if calls[0] == number else plain)(*args, **named)
    setattr(owner, name, counted)

before = lambda plain: stop
place, number = sys.argv[2], int(sys.argv[3])
rotation._BATCH = 2
with opened(Path(sys.argv[1])) as docmind:
    docmind.index.ready()
    if place == "vault.json":
        at_call(RecoveryCode, "_write", number, before)
    elif place == "after vault.json":
        at_call(RecoveryCode, "_write", number, then_stop)
    elif place == "files":
        at_call(Artifacts, "reseal", number, then_stop)
    elif place == "rename":
        at_call(os, "replace", number, before)
    elif place == "database":
        at_call(Database, {1: "_give_key", 2: "_switch", 3: "_reopen"}[number], 1, before)
    elif place == "mark":
        at_call(Mark, "create", 1, {1: before, 2: then_stop}[number])
    elif place == "index":
        at_call(IndexSync, "_rebuild", 1, {1: before, 2: then_stop}[number])
    elif place == "vectors":
        at_call(rotation.Rotation, "_turn_vectors", 1, {1: before, 2: then_stop}[number])
    docmind.rotate_keys()
"""
PLACES = [
    *((place, number) for place in ("vault.json", "after vault.json") for number in (1, 2, 3, 4)),
    *(("files", number) for number in (1, 2)),
    *(("rename", number) for number in (1, 2, 3)),
    *(("database", number) for number in (1, 2, 3)),
    *((place, number) for place in ("mark", "index", "vectors") for number in (1, 2)),
]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[object]]:
    """Return the folder of a closed vault, to be copied, and what it shows."""
    folder = tmp_path_factory.mktemp("filled")
    with LIBRARY.opened(folder) as docmind:
        return folder, shown(docmind)


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.parametrize(("place", "number"), tenth_of(PLACES), ids=lambda one: str(one))
def test_a_rotation_that_was_killed_is_finished(
    tmp_path: Path, filled: tuple[Path, list[object]], place: str, number: int
) -> None:
    folder, before = tmp_path / "vault", filled[1]
    shutil.copytree(filled[0], folder)
    old = keyset_of(folder)
    environment = {**environment_of(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", KILLED, str(folder), place, str(number)]
    assert forked.run(command, env=environment, check=False).returncode == -signal.SIGKILL
    is_begun = keyset_of(folder).next is not None or keyset_of(folder).primary != old.primary
    with opened(folder) as docmind:
        assert shown(docmind) == before
        docmind.rotation._work.join(60)
        if not is_begun:
            docmind.rotation.run()
    with opened(folder) as docmind:
        assert shown(docmind) == before
        assert not docmind.rotation.is_unfinished
        assert docmind.vault.database.one("PRAGMA integrity_check") == ("ok",)
        assert docmind.keys.recovery_code()
    new = keyset_of(folder)
    assert new.next is None
    assert not all_keys(old) & all_keys(new)
    assert headers(folder) == {new.primary} == set(new.data_keys)
    assert not [path for path in folder.rglob("*") if ".new" in path.name or "vault.db-new" in path.name]


@pytest.mark.parametrize("fails", ["create", "_switch"])
def test_a_database_whose_key_changes_opens_with_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    """A mark under the one key and a database under the other are whole; with one key alone they do not open."""
    path, old, new = tmp_path / "vault.db", bytes([1]) * 32, bytes([2]) * 32

    def mark(key: bytes, other: bytes | None = None) -> Mark:
        return Mark(tmp_path / "mark", key, "0123456789abcdef", other)

    def fail(*_args: object, **_named: object) -> None:
        raise DiskFullError("full")

    database = Database(path, old, mark=mark(old))
    with database.transaction() as db:
        db.execute("INSERT INTO preferences (name, value) VALUES ('a', '1')")
    with monkeypatch.context() as patch:
        owner: Callable[..., Any] = Mark if fails == "create" else Database
        patch.setattr(owner, fails, fail)
        with pytest.raises(DiskFullError):
            database.change_key(new, mark(new))
    database.close()
    now = key_that_opens(path, (old, new))
    assert now == (new if fails == "create" else old)
    database = Database(path, now, mark=mark(now, old if now == new else new))
    assert not database.was_behind
    database.change_key(new, mark(new))
    database.close()
    database = Database(path, new, mark=mark(new))
    assert database.one("SELECT value FROM preferences WHERE name = 'a'") == ("1",)
    assert not database.was_behind
    database.close()
    with pytest.raises(DamagedError):
        Database(path, old, mark=mark(old))
