"""The high-water mark: a vault.db that lacks what was acknowledged is told, and nothing is deleted until then."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import forked
from conftest import tiny_disk
from desks import environment_of, opened, report, settings_in
from docmind.application import DocMind
from docmind.errors import BehindError, DamagedError, VaultError
from docmind.storage.database import MIGRATIONS, Connection, Database
from docmind.storage.mark import Mark, MarkState

KEY = bytes(range(32))
TESTS = Path(__file__).resolve().parent.parent
posix = pytest.mark.skipif(os.name != "posix", reason="kill -9")

# Two documents, closed; two more, a conversation and a memory, with the log left as it grew; kill -9.
_ATTACKED = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from desks import opened, report
from docmind.storage.database import Database
folder = Path(sys.argv[2])
with opened(folder) as docmind:
    docmind.add([report("heron", 3), report("stork", 3)])
if sys.argv[3] == "unsettled":
    Database.settle = lambda self: None
docmind = opened(folder)
docmind.add([report("tern", 3), report("gull", 3)])
docmind.conversations.create("Birds")
docmind.memories.add("My boat is called Tern.")
for part in (docmind.documents, docmind.lookalike, docmind.visual, docmind.pictures, docmind.ingest, docmind.index):
    part.close()
until = time.monotonic() + 10
while sys.argv[3] == "settled" and os.path.getsize(folder / "data" / "vault.db-wal") and time.monotonic() < until:
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""


def attacked(folder: Path, how: str = "unsettled") -> Path:
    """Make the vault of the attack, kill its owner, and return its data directory."""
    folder.mkdir(parents=True)
    process = forked.run(
        [sys.executable, "-c", _ATTACKED, str(TESTS), str(folder), how],
        env={**os.environ, **environment_of(folder), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == -signal.SIGKILL, process.stderr
    return folder / "data"


@pytest.fixture(scope="module")
def unsettled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of such a vault, of which only copies are opened."""
    return attacked(tmp_path_factory.mktemp("attacked") / "vault").parent


@pytest.fixture
def data(unsettled: Path, tmp_path: Path) -> Path:
    """Return the data directory of a copy in `tmp_path`/vault."""
    shutil.copytree(unsettled, tmp_path / "vault")
    return tmp_path / "vault" / "data"


def flipped(path: Path, at: float) -> None:
    """One bit of a file, at this part of its length."""
    data = bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 4
    path.write_bytes(data)


def artifacts_in(data: Path) -> set[str]:
    return {path.name for path in (data / "artifacts").glob("*.enc")}


def refusal_of(folder: Path) -> str:
    """Return the message of opening a vault that is behind."""
    with pytest.raises(BehindError) as raised:
        opened(folder)
    assert "docmind accept" in raised.value.hint
    return str(raised.value)


def everything(data: Path) -> dict[str, bytes]:
    """Every file of a vault but the lock, which names its holder, and SQLite's index of the log."""
    names = [path for path in data.rglob("*") if path.is_file() and path.name not in ("lock", "vault.db-shm")]
    return {str(path.relative_to(data)): path.read_bytes() for path in names}


def names_in(docmind: DocMind) -> set[str]:
    return {info.document for info in docmind.documents.all()}


# --- a log that ends early --------------------------------------------------------------------------------------------


def bad_frame(data: Path) -> None:
    """Damage one of the first frames, before the commit that keeps the files that wait to be read."""
    flipped(data / "vault.db-wal", 0.005)


def no_log(data: Path) -> None:
    (data / "vault.db-wal").unlink()


def half_a_log(data: Path) -> None:
    log = data / "vault.db-wal"
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])


@posix
@pytest.mark.crash
@pytest.mark.slow
def test_a_lost_log_is_reported_and_blocks_writes_until_accepted(unsettled: Path, tmp_path: Path) -> None:
    whole = unsettled / "data"
    assert len(artifacts_in(whole)) == 4 * 7
    for name, spoil in (("bad", bad_frame), ("none", no_log), ("half", half_a_log)):
        folder = tmp_path / name
        shutil.copytree(unsettled, folder)
        data = folder / "data"
        spoil(data)
        before = everything(data)
        told = refusal_of(folder)
        assert refusal_of(folder) == told
        assert "older than the files beside it" in told
        if name != "half":
            assert "document" in told
            assert "1 conversation and 1 memory" in told
            assert "gull.pdf" in told
        assert everything(data) == before

        with DocMind(settings_in(folder), read_only=True) as looked:
            assert names_in(looked) >= {"heron.pdf", "stork.pdf"}
        assert everything(data) == before

        with DocMind(settings_in(folder), accept=True) as accepted:
            accepted.add([report("swan", 1)])
            assert {"heron.pdf", "stork.pdf", "swan.pdf"} <= names_in(accepted)
        aside = {path.name[14:] for path in (data / "aside").glob("*.enc")}
        assert artifacts_in(whole) <= artifacts_in(data) | aside  # none was deleted
        if name != "none":
            assert list((data / "aside").glob("*-vault.db-wal"))
        with opened(folder) as again:
            assert "swan.pdf" in names_in(again)


@posix
@pytest.mark.crash
@pytest.mark.slow
def test_without_the_mark_the_same_loss_is_silent(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: what the mark is for."""
    bad_frame(data)
    monkeypatch.setattr(Database, "_compare", lambda self, *, accept: None)
    with opened(tmp_path / "vault") as docmind:
        assert "gull.pdf" not in names_in(docmind)
        assert not docmind.conversations.threads()


@posix
@pytest.mark.crash
@pytest.mark.slow
def test_what_is_finished_does_not_stand_in_the_log_any_more(tmp_path: Path) -> None:
    """After a document, a turn or a memory the log is folded: without it nothing of them is lost."""
    data = attacked(tmp_path / "vault", "settled")  # a quarter of a second after the last of them
    assert not (data / "vault.db-wal").stat().st_size
    (data / "vault.db-wal").unlink()
    with opened(tmp_path / "vault") as docmind:
        assert names_in(docmind) == {"heron.pdf", "stork.pdf", "tern.pdf", "gull.pdf"}
        assert len(docmind.conversations.threads()) == 1


@posix
@pytest.mark.crash
@pytest.mark.slow
def test_a_kill_alone_is_no_loss(data: Path, tmp_path: Path) -> None:
    assert (data / "vault.db-wal").stat().st_size
    flipped(data / "vault.db-shm", 0.01)  # SQLite makes its index of the log again
    with opened(tmp_path / "vault") as docmind:
        assert names_in(docmind) == {"heron.pdf", "stork.pdf", "tern.pdf", "gull.pdf"}
        assert docmind.conversations.threads()[0].title == "Birds"
    assert len(artifacts_in(data)) == 4 * 7


# --- an older vault.db ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_older_database_is_reported_and_can_be_replaced(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with opened(tmp_path) as docmind:
        docmind.add([report("heron", 5)])
    shutil.copy(data / "vault.db", tmp_path / "older.db")
    with opened(tmp_path) as docmind:
        docmind.add([report("stork", 6)])
    shutil.copy(data / "vault.db", tmp_path / "newer.db")
    files = artifacts_in(data)
    shutil.copy(tmp_path / "older.db", data / "vault.db")
    with pytest.raises(BehindError, match=r"1 document.*stork\.pdf"):
        opened(tmp_path)
    assert artifacts_in(data) == files

    with DocMind(settings_in(tmp_path), accept=True) as docmind:
        docmind.add([report("tern", 1)])  # which deleted the newer files for good
        assert names_in(docmind) == {"heron.pdf", "tern.pdf"}
    assert len(files - artifacts_in(data)) == 6 * 2 + 1
    shutil.copy(tmp_path / "newer.db", data / "vault.db")
    with pytest.raises(BehindError):  # the newer one is of another history now: the user decides again
        opened(tmp_path)
    with DocMind(settings_in(tmp_path), accept=True) as docmind:
        (stork,) = [info for info in docmind.documents.all() if info.document == "stork.pdf"]
        for page_no in range(1, 7):
            assert docmind.documents.page_image(stork.doc_id, page_no)  # brought back from where it was set aside


@pytest.mark.slow
def test_deleting_instead_of_setting_aside_loses_newer_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: with the mark and the folder `aside` off, one `add` destroys them."""
    from docmind.storage.artifacts import Artifacts

    data = tmp_path / "data"
    with opened(tmp_path) as docmind:
        docmind.add([report("heron", 2)])
    shutil.copy(data / "vault.db", tmp_path / "older.db")
    with opened(tmp_path) as docmind:
        docmind.add([report("stork", 3)])
    files = artifacts_in(data)
    shutil.copy(tmp_path / "older.db", data / "vault.db")
    monkeypatch.setattr(Database, "_compare", lambda self, *, accept: None)
    monkeypatch.setattr(
        Artifacts,
        "set_aside",
        lambda self, named: sum(self.unlink(file) for file in self.stored() if file.artifact_id not in named),
    )
    with opened(tmp_path) as docmind:
        docmind.add([report("tern", 1)])
    assert len(files - artifacts_in(data)) == 3 * 2 + 1
    assert not (data / "aside").exists()


def test_a_missing_database_is_not_taken_for_a_new_vault(tmp_path: Path) -> None:
    path, mark = tmp_path / "vault.db", Mark(tmp_path / "mark", KEY, "0" * 16)
    database = Database(path, KEY, mark=mark)
    note(database)
    database.close()
    path.unlink()
    with pytest.raises(DamagedError, match="its mark is there"):
        Database(path, KEY, mark=Mark(tmp_path / "mark", KEY, "0" * 16))


# --- the mark itself --------------------------------------------------------------------------------------------------


def mark_in(folder: Path, vault_id: str = "0" * 16) -> Mark:
    return Mark(folder / "mark", KEY, vault_id)


def note(database: Database) -> None:
    with database.transaction() as db:
        db.execute("INSERT INTO changes (doc_id, at_ms) VALUES ('one', 1)")


def test_steps_wait_for_a_commit_for_a_limited_time(tmp_path: Path) -> None:
    database = Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path))
    note(database)
    marked = []
    for _ in range(100):
        step(database)
        state = mark_in(tmp_path).read()
        assert state is not None
        marked.append(head_of(database) - state.seq)
    assert max(marked) == 15
    note(database)
    assert (mark_in(tmp_path).read() or MarkState(0, b"")).seq == head_of(database) == 102
    step(database)
    database.close()  # as after a kill: the mark is behind by a step
    Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path)).close()


def step(database: Database) -> None:
    with database.transaction(is_step=True) as db:
        db.execute("INSERT INTO changes (doc_id, at_ms) VALUES ('one', 1)")


def note_and_fail(database: Database) -> None:
    with database.transaction():
        note(database)
        raise KeyError


def head_of(database: Database) -> int:
    row = database.one("SELECT max(seq) FROM ledger")
    return row[0] or 0 if row else 0


def test_every_changing_commit_advances_ledger_and_mark(tmp_path: Path) -> None:
    database = Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path))
    for wanted in range(1, 70):
        note(database)
        state = mark_in(tmp_path).read()
        assert state is not None
        assert state.seq == head_of(database) == wanted
    with database.transaction() as db:
        db.execute("SELECT 1")
    assert head_of(database) == 69
    with pytest.raises(KeyError):
        note_and_fail(database)
    assert head_of(database) == 69
    assert database.one("SELECT count(*) FROM ledger") == (64,)
    database.scrub()
    database.close()
    Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path)).close()


def ahead(folder: Path) -> None:
    """One commit that was killed before its mark."""
    database = Database(folder / "vault.db", KEY)
    note(database)
    database.close()


def torn_newer_slot(folder: Path) -> None:
    state = mark_in(folder).read()
    assert state is not None
    data = bytearray((folder / "mark").read_bytes())
    for slot in (0, 4096):
        sealed = bytes(data[slot : slot + 992])
        opened = mark_in(folder)._opened(sealed)
        if opened is not None and opened.seq == state.seq:
            data[slot + 100] ^= 1
    (folder / "mark").write_bytes(data)


@pytest.mark.parametrize("happens", [ahead, torn_newer_slot])
def test_what_a_kill_leaves_is_whole(tmp_path: Path, happens: Callable[[Path], None]) -> None:
    database = Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path))
    note(database)
    note(database)
    database.close()
    happens(tmp_path)
    database = Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path))
    note(database)
    database.close()
    Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path)).close()


@pytest.mark.parametrize("damage", ["missing", "both slots", "empty", "of another vault"])
def test_a_mark_that_says_nothing_is_told_and_not_made_again(tmp_path: Path, damage: str) -> None:
    database = Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path))
    note(database)
    database.close()
    path = tmp_path / "mark"
    if damage == "missing":
        path.unlink()
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "both slots":
        data = bytearray(path.read_bytes())
        data[50] ^= 1
        data[4096 + 50] ^= 1
        path.write_bytes(data)
    else:
        mark_in(tmp_path, "f" * 16).create(MarkState(9, bytes(16)))
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(BehindError):
        Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path))
    assert (path.read_bytes() if path.exists() else None) == before
    Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path), accept=True).close()
    Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path)).close()


def test_a_vault_of_an_older_docmind_gets_its_mark(tmp_path: Path) -> None:
    database = Database(tmp_path / "vault.db", KEY, MIGRATIONS[:7])
    note(database)
    database.close()
    database = Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path))
    note(database)
    assert mark_in(tmp_path).read() is not None
    database.close()


def test_a_kill_between_the_ledger_and_its_first_mark_is_no_loss(tmp_path: Path) -> None:
    Database(tmp_path / "vault.db", KEY).close()  # the table is there, the mark is not yet
    Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path)).close()


def test_an_accepted_vault_and_the_lost_one_are_two_histories(tmp_path: Path) -> None:
    database = Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path))
    note(database)
    database.close()
    older = (tmp_path / "vault.db").read_bytes()
    database = Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path))
    note(database)
    note(database)
    database.close()
    newer = (tmp_path / "vault.db").read_bytes()
    (tmp_path / "vault.db").write_bytes(older)
    database = Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path), accept=True)
    note(database)
    database.close()
    (tmp_path / "vault.db").write_bytes(newer)
    with pytest.raises(BehindError):
        Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path))


def test_the_mark_shows_nothing_and_has_one_size(tmp_path: Path) -> None:
    mark = mark_in(tmp_path)
    mark.create(MarkState(1, bytes(16), 5, {"documents": 3}))
    for seq in range(2, 40):
        mark.write(MarkState(seq, bytes(16), 5, {"documents": seq}))
        assert mark_in(tmp_path).read() == MarkState(seq, bytes(16), 5, {"documents": seq})
    mark.close()
    data = (tmp_path / "mark").read_bytes()
    assert len(data) == 8192
    assert b"documents" not in data
    assert not (tmp_path / "mark").stat().st_mode & 0o077


def fill(path: Path) -> None:
    with open(path, "wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))


def test_a_mark_is_written_on_a_full_disk(tmp_path: Path) -> None:
    with tiny_disk(tmp_path, megabytes=2) as disk:
        mark = mark_in(disk)
        mark.create(MarkState(1, bytes(16)))
        with pytest.raises(OSError, match="No space"):
            fill(disk / "filler")
        mark.write(MarkState(2, bytes(16)))
        mark.write(MarkState(3, bytes(16)))
        assert mark_in(disk).read() == MarkState(3, bytes(16))
        mark.close()


def test_a_symlinked_mark_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"somebody's file")
    (tmp_path / "mark").symlink_to(tmp_path / "target")
    with pytest.raises(DamagedError):
        mark_in(tmp_path).read()
    with pytest.raises(VaultError):
        mark_in(tmp_path).write(MarkState(1, bytes(16)))
    assert (tmp_path / "target").read_bytes() == b"somebody's file"


def migration_of_later(db: Connection) -> None:
    db.execute("CREATE TABLE later (x)")


def test_a_later_migration_keeps_the_ledger(tmp_path: Path) -> None:
    database = Database(tmp_path / "vault.db", KEY, mark=mark_in(tmp_path))
    note(database)
    database.close()
    later = (*MIGRATIONS, migration_of_later)
    database = Database(tmp_path / "vault.db", KEY, later, mark=mark_in(tmp_path))
    note(database)
    database.close()
    Database(tmp_path / "vault.db", KEY, later, mark=mark_in(tmp_path)).close()
