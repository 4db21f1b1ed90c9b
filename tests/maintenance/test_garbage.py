"""Garbage collection: only files that nothing has referred to for days, whatever the computer's clock says."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

import forked
from conftest import HELPERS, tiny_disk
from desks import environment_of, opened, report
from docmind.documents import Catalog
from docmind.errors import BehindError, ConfigError, DamagedError, VaultError
from docmind.maintenance import GarbageCollection
from docmind.records.documents import ArtifactRef, DocumentInfo
from docmind.storage import Artifacts, Database, Keyset, Mark, OwnClock

DAY_S, TEN_YEARS_S = 86_400, 10 * 365 * 86_400
KEEP_DAYS = 7
KEY = b"k" * 32
SECRET = "words of a page"


@dataclass
class Vault:
    """The stores of a vault that collections work on, with clocks that a test sets."""

    folder: Path
    keys: Keyset
    wall: float = 1_800_000_000.0
    monotonic: float = 0.0

    def __post_init__(self) -> None:
        self.open()

    def open(self, *, accept: bool = False, read_only: bool = False) -> None:
        """Open the stores, as a start does."""
        mark = None if read_only else Mark(self.folder / "mark", KEY, "0" * 16)
        self.database = Database(self.folder / "vault.db", KEY, mark=mark, accept=accept, read_only=read_only)
        self.catalog = Catalog(self.database)
        self.artifacts = Artifacts(self.folder / "artifacts", self.keys, read_only=read_only)
        self.clock = OwnClock(self.database, wall=lambda: self.wall, monotonic=lambda: self.monotonic)
        self.held: list[str] = []
        self.garbage = self.collection()

    def collection(self, *more: Callable[[], list[str]]) -> GarbageCollection:
        sources = (self.catalog.artifact_ids, lambda: self.held, *more)
        return GarbageCollection(self.database, self.catalog, self.artifacts, self.clock, KEEP_DAYS, sources)

    def close(self) -> None:
        self.garbage.close()
        self.artifacts.close()
        self.database.close()

    def put(self, *names: str) -> list[ArtifactRef]:
        return [self.artifacts.put(name.encode(), ".webp.enc") for name in names]

    def refer_to(self, ref: ArtifactRef) -> None:
        """Have a document refer to an artifact."""
        info = DocumentInfo(ref.sha256[:32], "a.txt", "", "text/plain", "ready", 0, 0, 0, "", 1, 1)
        self.catalog.begin_document(info, ref)

    def age(self, days: float) -> None:
        """Let DocMind be open for so long."""
        self.monotonic += days * DAY_S

    def left(self) -> set[str]:
        folders = [self.folder / name for name in ("artifacts", "aside")]
        return {path.name for folder in folders if folder.is_dir() for path in folder.iterdir()}


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    vault = Vault(tmp_path, Keyset.generate())
    yield vault
    vault.close()


def test_only_what_nothing_has_referred_to_for_days_is_removed(vault: Vault) -> None:
    kept, held, lost = vault.put("kept", "held", "lost")
    vault.refer_to(kept)
    vault.held = [held.sha256]
    first = vault.garbage.prune()
    assert (first.files, first.waiting, first.failed) == ((), 1, 0)
    vault.age(KEEP_DAYS - 0.5)
    assert vault.garbage.prune().files == ()
    (young,) = vault.put("young")
    vault.age(0.5)
    done = vault.garbage.prune()
    assert [(file.name, file.kind, file.age_ms) for file in done.files] == [
        (lost.file_name, "unreferenced", KEEP_DAYS * DAY_S * 1000)
    ]
    assert (done.waiting, done.freed_bytes) == (1, first.waiting_bytes)
    assert vault.left() == {ref.file_name for ref in (kept, held, young)}
    assert done.total_bytes == sum((vault.folder / "artifacts" / name).stat().st_size for name in vault.left())


def test_the_oldest_go_first_until_the_size_is_reached(vault: Vault) -> None:
    refs = []
    for number in range(4):
        refs += vault.put(f"file {number}")
        vault.garbage.prune()
        vault.age(1)
    vault.age(KEEP_DAYS)
    size = sum(path.stat().st_size for path in (vault.folder / "artifacts").iterdir())
    assert vault.garbage.prune(dry_run=True).freed_bytes == size
    done = vault.garbage.prune(size // 2 + 1)
    assert [file.name for file in done.files] == [ref.file_name for ref in refs[:2]]
    assert vault.left() == {ref.file_name for ref in refs[2:]}
    assert done.total_bytes == size // 2
    assert done.waiting == 2


def test_files_set_aside_and_logs_are_garbage_too(vault: Vault) -> None:
    (lost,) = vault.put("lost")
    vault.artifacts.set_aside(set())
    log = vault.folder / "aside" / "1700000000000-vault.db-wal"
    log.write_bytes(b"log")
    vault.garbage.prune()
    vault.age(KEEP_DAYS)
    done = vault.garbage.prune()
    assert {(file.name, file.kind) for file in done.files} == {(lost.file_name, "set aside"), ("vault.db-wal", "log")}
    assert vault.left() == set()


@pytest.mark.parametrize("jump_s", [TEN_YEARS_S, -TEN_YEARS_S])
@pytest.mark.parametrize("is_closed", [True, False])
def test_a_clock_that_jumps_ten_years_removes_nothing(vault: Vault, jump_s: int, is_closed: bool) -> None:
    vault.put("in place")
    vault.artifacts.set_aside(set())
    vault.put("again in place")
    vault.garbage.prune()
    for jump in (jump_s, -jump_s):
        if is_closed:
            vault.close()
        vault.wall += jump
        if is_closed:
            vault.open()
        for path in (*(vault.folder / "artifacts").iterdir(), *(vault.folder / "aside").iterdir()):
            assert path.exists()
        assert vault.garbage.prune().files == ()
    vault.age(KEEP_DAYS)
    assert len(vault.garbage.prune().files) == 2


def test_file_times_say_nothing(vault: Vault) -> None:
    (lost,) = vault.put("lost")
    os.utime(vault.folder / "artifacts" / lost.file_name, (1, 1))
    assert vault.garbage.prune().files == ()
    vault.age(KEEP_DAYS)
    assert [file.name for file in vault.garbage.prune().files] == [lost.file_name]


def test_a_file_that_is_referred_to_again_begins_again(vault: Vault) -> None:
    (ref,) = vault.put("page")
    vault.garbage.prune()
    vault.age(KEEP_DAYS - 1)
    vault.held = [ref.sha256]
    vault.garbage.prune()
    vault.held = []
    vault.garbage.prune()
    vault.age(2)
    assert vault.garbage.prune().files == ()
    assert vault.artifacts.get(ref) == b"page"


def test_a_file_that_was_put_again_meanwhile_begins_again(vault: Vault) -> None:
    vault.put("page")
    vault.garbage.prune()
    vault.age(KEEP_DAYS)
    vault.put("page")  # and lost again, before any collection saw it
    assert vault.garbage.prune().files == ()


def test_a_reference_made_between_listing_and_removing_keeps_it(vault: Vault) -> None:
    lost, saved = vault.put("lost", "saved")
    vault.garbage.prune()
    vault.age(KEEP_DAYS)
    calls = []

    def referred_to_from_the_second_call_on() -> list[str]:
        calls.append(vault.catalog.naming.acquire(blocking=False))  # reentrant: held by this thread, or free
        vault.catalog.naming.release()
        return [saved.sha256] if len(calls) > 1 else []

    done = vault.collection(referred_to_from_the_second_call_on).prune()
    assert [file.name for file in done.files] == [lost.file_name]
    assert done.waiting == 0
    assert vault.artifacts.get(saved) == b"saved"


def test_removing_waits_for_who_seals_a_file_and_its_row(vault: Vault) -> None:
    (ref,) = vault.put("page")
    vault.garbage.prune()
    vault.age(KEEP_DAYS)
    with vault.catalog.naming:
        collecting = threading.Thread(target=vault.garbage.prune)
        collecting.start()
        collecting.join(0.3)
        assert collecting.is_alive()
        vault.put("page")
        vault.refer_to(ref)
    collecting.join(30)
    assert vault.artifacts.get(ref) == b"page"


def test_foreign_files_and_links_stay(vault: Vault, tmp_path: Path) -> None:
    precious = tmp_path / "thesis.docx"
    precious.write_bytes(b"years of work")
    folders = [tmp_path / "artifacts", tmp_path / "aside"]
    folders[1].mkdir()
    name = "a" * 63
    for folder in folders:
        for foreign in ("notes.txt", name + ".webp.enc", "A" * 64 + ".webp.enc", "a" * 64 + ".webp.enc.bak.old",
                        "1-" + "a" * 64 + ".webp.enc", "1700000000000-thesis.docx"):  # fmt: skip
            (folder / foreign).write_bytes(b"mine")
    (folders[0] / ("b" * 64 + ".webp.enc")).symlink_to(precious)
    (folders[1] / f"1700000000000-{'b' * 64}.webp.enc").symlink_to(precious)
    (folders[0] / ("c" * 64 + ".webp.enc")).mkdir()
    before = vault.left()
    for _ in range(2):
        vault.garbage.prune()
        vault.age(TEN_YEARS_S / DAY_S)
    assert vault.garbage.prune().files == ()
    assert vault.left() == before
    assert precious.read_bytes() == b"years of work"


def test_a_symlinked_folder_is_not_entered(tmp_path: Path) -> None:
    vault = Vault(tmp_path, Keyset.generate())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / f"1700000000000-{'a' * 64}.webp.enc").write_bytes(b"mine")
    (tmp_path / "aside").symlink_to(elsewhere)
    vault.garbage.prune()
    vault.age(TEN_YEARS_S / DAY_S)
    assert vault.garbage.prune().files == ()
    assert len(list(elsewhere.iterdir())) == 1
    vault.close()


def test_a_dry_run_changes_nothing(vault: Vault) -> None:
    (lost,) = vault.put("lost")
    state = "SELECT (SELECT count(*) FROM ages), (SELECT count(*) FROM preferences), (SELECT max(seq) FROM ledger)"
    before = vault.database.one(state)
    assert vault.garbage.prune(dry_run=True).waiting == 1
    assert vault.database.one(state) == before
    vault.garbage.prune()
    vault.age(KEEP_DAYS)
    before = vault.database.one(state)
    dry = vault.garbage.prune(dry_run=True)
    assert ([file.name for file in dry.files], dry.is_dry_run) == ([lost.file_name], True)
    assert vault.database.one(state) == before
    assert vault.left() == {lost.file_name}
    wet = vault.garbage.prune()
    assert (wet.files, wet.total_bytes) == (dry.files, dry.total_bytes)


@pytest.mark.parametrize(("size", "seconds"), [(-1, DAY_S), (0, 0), (0, DAY_S - 1), (0, float("nan")), (0, -1)])
def test_an_impossible_size_or_age_is_refused(vault: Vault, size: int, seconds: float) -> None:
    with pytest.raises(ConfigError):
        vault.garbage.prune(size, seconds)


def test_what_cannot_be_removed_is_counted_and_tried_again(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault.put("one", "two")
    vault.garbage.prune()
    vault.age(KEEP_DAYS)

    def refuse(self: Artifacts, file: object) -> bool:
        raise PermissionError("in use")

    with monkeypatch.context() as patch:
        patch.setattr(Artifacts, "unlink", refuse)
        done = vault.garbage.prune()
    assert (done.files, done.failed, done.waiting) == ((), 2, 0)
    assert len(vault.garbage.prune().files) == 2


def test_references_that_cannot_be_read_stop_it(vault: Vault) -> None:
    vault.put("lost")
    vault.garbage.prune()
    vault.age(KEEP_DAYS)

    def damaged() -> list[str]:
        raise DamagedError("a page is damaged")

    with pytest.raises(DamagedError):
        vault.collection(damaged).prune()
    assert len(vault.left()) == 1


def test_a_vault_for_reading_is_listed_and_not_changed(vault: Vault) -> None:
    vault.put("lost")
    vault.garbage.prune()
    vault.close()
    vault.open(read_only=True)
    vault.age(KEEP_DAYS)
    assert len(vault.garbage.prune(dry_run=True).files) == 1
    with pytest.raises(VaultError, match="reading only"):
        vault.garbage.prune()
    vault.garbage.follow(lambda: False, first_s=0)
    assert not vault.garbage._work.is_started
    assert len(vault.left()) == 1


def test_a_vault_that_lacks_changes_keeps_everything(vault: Vault) -> None:
    """Ages that were noted before the older copy was put back count no more, even at the next opening."""
    vault.put("lost", "also lost")
    vault.garbage.prune()
    vault.age(KEEP_DAYS)
    vault.close()
    older = (vault.folder / "vault.db").read_bytes()
    vault.open()
    vault.refer_to(vault.put("newer")[0])
    vault.close()
    (vault.folder / "vault.db").write_bytes(older)
    with pytest.raises(BehindError):
        vault.open()
    vault.open(accept=True)
    with pytest.raises(VaultError, match="Changes are missing"):
        vault.garbage.prune()
    vault.garbage.follow(lambda: False, first_s=0)
    assert not vault.garbage._work.is_started
    assert len(vault.left()) == 3
    vault.close()
    vault.open()


@pytest.mark.slow
def test_an_accepted_vault_begins_all_ages_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with opened(tmp_path) as docmind:
        docmind.add([report("heron", 1)])
        docmind.documents.bin([docmind.documents.all()[0].doc_id])
        docmind.vault.artifacts.put(b"lost", ".webp.enc")
        docmind.garbage.prune()
        with docmind.vault.database.transaction() as db:  # both are old by the own clock
            db.execute("UPDATE ages SET since_ms = -99 * 86400000")
            db.execute("UPDATE documents SET binned_own_ms = -99 * 86400000")
        assert len(docmind.garbage.prune(dry_run=True).files) == 1
    older = (data / "vault.db").read_bytes()
    with opened(tmp_path, storage=docmind.vault.settings.storage.model_copy(update={"bin_days": 999.0})) as docmind:
        docmind.documents.restore([docmind.documents.binned()[0].doc_id])  # the copy put back does not know of this
    (data / "vault.db").write_bytes(older)
    for accept in (True, False):
        with type(docmind)(docmind.vault.settings, accept=accept) as again:
            assert len(again.documents.binned()) == 1
            assert again.garbage.prune(dry_run=True).files == ()


@pytest.mark.slow
def test_a_bin_is_not_emptied_by_a_clock_that_jumps(tmp_path: Path) -> None:
    with opened(tmp_path) as docmind:
        docmind.add([report("heron", 1)])
        docmind.documents.bin([docmind.documents.all()[0].doc_id])
    for years in (-10, 10, 10, -10):  # as if the computer's clock was set while DocMind was closed
        with opened(tmp_path) as docmind:
            assert len(docmind.documents.binned()) == 1
            docmind.vault.clock.keep()
            with docmind.vault.database.transaction() as db:
                db.execute(
                    "UPDATE preferences SET value = json_set(value, '$.wall_ms', json_extract(value, '$.wall_ms') + ?)"
                    " WHERE name = 'own-clock'",
                    (years * 365 * DAY_S * 1000,),
                )
                db.execute("UPDATE documents SET deleted_at_ms = deleted_at_ms - ?", (years * 365 * DAY_S * 1000,))
    with opened(tmp_path) as docmind:
        assert len(docmind.documents.binned()) == 1


def test_a_busy_library_is_given_way(vault: Vault) -> None:
    vault.put("lost")
    vault.garbage.prune()
    vault.age(KEEP_DAYS)
    busy, asked = threading.Event(), threading.Event()
    busy.set()

    def is_busy() -> bool:
        asked.set()
        return busy.is_set()

    vault.garbage.follow(is_busy, first_s=0, poll_s=0.01)
    assert asked.wait(30)
    assert len(vault.left()) == 1
    busy.clear()
    wait_until(lambda: not vault.left())


def test_it_gives_way_between_steps_and_ends_with_the_vault(vault: Vault) -> None:
    vault.put(*(f"file {number}" for number in range(40)))
    vault.garbage.prune()
    vault.age(KEEP_DAYS)
    calls = []

    def is_busy() -> bool:  # a question is asked while the first files are being removed
        calls.append(len(vault.left()))
        return len(calls) > 2

    vault.garbage.follow(is_busy, first_s=0, poll_s=0.01)
    wait_until(lambda: len(calls) > 5)
    assert len(vault.left()) == 8
    vault.garbage.close()
    assert not vault.garbage._work.is_running
    assert len(vault.left()) == 8


def test_a_failure_in_the_background_is_logged_and_tried_again(vault: Vault, caplog: pytest.LogCaptureFixture) -> None:
    (lost,) = vault.put("lost")
    vault.garbage.prune()
    vault.age(KEEP_DAYS)
    fails = [True]

    def damaged_once() -> list[str]:
        if fails:
            fails.clear()
            raise DamagedError(SECRET)
        return []

    garbage = vault.collection(damaged_once)
    garbage.follow(lambda: False, first_s=0, every_s=0.01)
    wait_until(lambda: not vault.left())
    garbage.close()
    assert "not collected with DamagedError" in caplog.text
    assert SECRET not in caplog.text
    assert not vault.artifacts.exists(lost)


_KILLED = """
import os, signal, sys
from pathlib import Path
from desks import opened
from docmind.storage import Artifacts

unlink, removed = Artifacts.unlink, []

def killed(self, file):
    if len(removed) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    removed.append(file)
    return unlink(self, file)

Artifacts.unlink = killed
with opened(Path(sys.argv[1])) as docmind:
    docmind.garbage.prune()
"""


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_a_killed_collection_is_finished_by_the_next(tmp_path: Path) -> None:
    with opened(tmp_path) as docmind:
        docmind.add([report("heron", 1)])
        lost = [docmind.vault.artifacts.put(b"lost %d" % number, ".webp.enc") for number in range(6)]
        docmind.garbage.prune()
        with docmind.vault.database.transaction() as db:
            db.execute("UPDATE ages SET since_ms = -99 * 86400000")
    process = forked.run(
        [sys.executable, "-c", _KILLED, str(tmp_path)],
        env={**os.environ, **environment_of(tmp_path), "PYTHONPATH": os.pathsep.join([*sys.path, *HELPERS])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == -signal.SIGKILL, process.stderr
    with opened(tmp_path) as docmind:
        assert sum(docmind.vault.artifacts.exists(ref) for ref in lost) == 3
        assert len(docmind.garbage.prune().files) == 3
        assert not any(docmind.vault.artifacts.exists(ref) for ref in lost)
        assert docmind.documents.page_image(docmind.documents.all()[0].doc_id, 1)
        docmind.garbage.prune()
        assert docmind.vault.database.one("SELECT count(*) FROM ages") == (0,)


@pytest.mark.crash
def test_a_full_disk_is_freed(tmp_path: Path) -> None:
    with tiny_disk(tmp_path, megabytes=8) as disk:
        vault = Vault(disk, Keyset.generate())
        for number in range(3):
            vault.artifacts.put(bytes([number]) * 1_000_000, ".webp.enc")
        vault.garbage.prune()
        vault.age(KEEP_DAYS)
        vault.artifacts.put(b"new, and not noted yet", ".webp.enc")
        with (disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):  # full at the end of a block
            while filler.write(bytes(1 << 16)) == 1 << 16:  # the last one is short
                pass
        done = vault.garbage.prune()
        assert (len(done.files), done.failed, done.waiting) == (3, 0, 1)
        vault.close()


def wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(3000):
        if is_so():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not come to be so")
