"""One encrypted database: nothing readable on the disk, damage told apart, all or nothing."""

from __future__ import annotations

import base64
import contextlib
import itertools
import os
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlite_vec

import forked
from conftest import tiny_disk
from docmind.errors import DamagedError, DiskFullError, VaultBusyError, VaultError, VaultFormatError
from docmind.storage.database import MIGRATIONS, Connection, Database, dbapi2
from docmind.storage.mark import Mark
from pagereader import count

KEY = bytes(range(32))
CANARY = "Zyxxyvanadium-42"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vault.db"


@pytest.fixture
def db(path: Path) -> Iterator[Database]:
    database = Database(path, KEY, [notes])
    yield database
    database.close()


def notes(db: Connection) -> None:
    db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)")


def write(database: Database, *texts: str) -> None:
    with database.transaction() as db:
        db.executemany("INSERT INTO notes (text) VALUES (?)", [(text,) for text in texts])


def write_and_fail(database: Database, text: str) -> None:
    with database.transaction():
        write(database, text)
        with database.transaction():
            write(database, text + "most")
        raise KeyError("stop")


def texts(database: Database) -> list[str]:
    return [text for (text,) in database.all("SELECT text FROM notes ORDER BY id")]


# --- encrypted at rest ------------------------------------------------------------------------------------------------


def spellings(word: str) -> list[bytes]:
    """How a word could stand in a file."""
    plain = [word.encode(), word.encode("utf-16-le"), word.encode("utf-16-be"), word[::-1].encode()]
    coded = [word.encode().hex().encode(), word.encode().hex().upper().encode()]
    # Base64 looks different at each alignment; the edges depend on the neighbours.
    return plain + coded + [base64.b64encode(bytes(shift) + word.encode())[4:-4] for shift in range(3)]


def test_no_word_can_be_read_from_any_file(path: Path, db: Database) -> None:
    for n in range(300):
        write(db, f"{CANARY} page {n} " + "filler " * 50)
    with db.transaction() as connection:
        connection.execute("DELETE FROM notes WHERE id % 3 = 0")
    seen = set()
    for _ in range(2):
        for file in path.parent.iterdir():
            seen.add(file.suffix)
            data = file.read_bytes()
            assert not [spelling for spelling in spellings(CANARY) if spelling in data], file
        db.close()
    assert seen == {".db", ".db-wal", ".db-shm"}
    assert not path.read_bytes().startswith(b"SQLite format 3")


def test_the_durable_and_careful_ways_are_set(db: Database) -> None:
    wanted = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "foreign_keys": 1, "temp_store": 2}
    assert {name: (db.one(f"PRAGMA {name}") or [None])[0] for name in wanted} == wanted
    assert db.one("PRAGMA cipher_version")


def test_another_key_is_refused_and_changes_nothing(path: Path, db: Database) -> None:
    write(db, "kept")
    db.close()
    before = path.read_bytes()
    for key in (bytes(32), KEY[::-1]):
        with pytest.raises(DamagedError):
            Database(path, key, [notes])
    assert path.read_bytes() == before
    assert texts(Database(path, KEY, [notes])) == ["kept"]


@pytest.mark.parametrize("key", [b"", b"short", bytes(33)])
def test_a_key_of_another_length_is_a_mistake(path: Path, key: bytes) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Database(path, key)


# --- damage -----------------------------------------------------------------------------------------------------------


def test_a_flipped_bit_in_any_page_is_never_a_wrong_read(path: Path, db: Database) -> None:
    written = [f"{n} " + secrets.token_hex(500) for n in range(40)]
    write(db, *written)
    db.close()
    sound = path.read_bytes()
    assert len(sound) >= 10 * 4096
    for page in range(len(sound) // 4096):
        changed = bytearray(sound)
        changed[page * 4096 + secrets.randbelow(4096)] ^= 1 << secrets.randbelow(8)
        path.write_bytes(changed)
        try:
            damaged = Database(path, KEY, [notes])
        except DamagedError:
            continue
        try:
            read = texts(damaged)
        except DamagedError:
            continue
        finally:
            damaged.close()
        assert read == written, page  # a page that no query needs
    path.write_bytes(sound)
    assert texts(Database(path, KEY, [notes])) == written


@pytest.mark.parametrize("content", [b"not a database at all " * 500, b"SQLite format 3\0" + bytes(8176)])
def test_what_is_no_vault_is_refused_and_kept(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(DamagedError):
        Database(path, KEY)
    assert path.read_bytes() == content


def test_a_database_cut_short_is_refused(path: Path, db: Database) -> None:
    write(db, *[f"{n} " + "x" * 1000 for n in range(100)])
    db.close()
    path.write_bytes(path.read_bytes()[: 10 * 4096 + 100])
    with pytest.raises(DamagedError):
        texts(Database(path, KEY, [notes]))


def test_a_place_that_cannot_hold_it_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "vault.db").mkdir()
    for path in (tmp_path / "vault.db", tmp_path / "missing" / "vault.db"):
        with pytest.raises(VaultError, match="cannot be opened"):
            Database(path, KEY)


def test_another_program_in_the_database_is_one_sentence(path: Path, db: Database) -> None:
    db.all("PRAGMA busy_timeout = 10")
    other = dbapi2.connect(str(path), isolation_level=None)
    other.execute(f"PRAGMA key = \"x'{KEY.hex()}'\"")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(VaultBusyError):
        write(db, "x")
    other.execute("ROLLBACK")
    other.close()
    write(db, "y")
    assert texts(db) == ["y"]


def test_a_closed_vault_says_so(db: Database) -> None:
    db.close()
    db.close()
    with pytest.raises(VaultError, match="closed"):
        db.all("SELECT 1")
    with pytest.raises(VaultError, match="closed"), db.transaction():
        pass


# --- migrations -------------------------------------------------------------------------------------------------------


def test_migrations_are_applied_once_and_in_order(path: Path) -> None:
    ran: list[str] = []

    def m001_first(db: Connection) -> None:
        ran.append("first")
        db.execute("CREATE TABLE one (x)")

    def m002_second(db: Connection) -> None:
        ran.append("second")
        db.execute("ALTER TABLE one ADD COLUMN y")

    Database(path, KEY, [m001_first]).close()
    Database(path, KEY, [m001_first, m002_second]).close()
    database = Database(path, KEY, [m001_first, m002_second])
    assert ran == ["first", "second"]
    assert database.all("SELECT number, name FROM migrations ORDER BY number") == [
        (1, "m001_first"),
        (2, "m002_second"),
    ]


def test_a_newer_vault_is_refused(path: Path) -> None:
    Database(path, KEY, [notes, lambda db: db.execute("CREATE TABLE more (x)")]).close()
    before = path.read_bytes()
    with pytest.raises(VaultFormatError, match="newer"):
        Database(path, KEY, [notes])
    assert path.read_bytes() == before


def test_a_migration_that_fails_leaves_no_trace(path: Path) -> None:
    def m002_broken(db: Connection) -> None:
        db.execute("CREATE TABLE half (x)")
        db.execute("INSERT INTO notes (text) VALUES ('half')")
        raise RuntimeError("power cut")

    Database(path, KEY, [notes]).close()
    with pytest.raises(RuntimeError, match="power cut"):
        Database(path, KEY, [notes, m002_broken])
    database = Database(path, KEY, [notes])
    assert texts(database) == []
    assert database.one("SELECT count(*) FROM sqlite_master WHERE name = 'half'") == (0,)


def test_the_migrations_of_the_vault_are_numbered_in_order(path: Path) -> None:
    assert [migration.__name__[:5] for migration in MIGRATIONS] == [f"m{n:03d}_" for n in range(1, len(MIGRATIONS) + 1)]
    database = Database(path, KEY)
    assert database.one("SELECT count(*) FROM migrations") == (len(MIGRATIONS),)
    assert database.all("PRAGMA foreign_key_check") == []


# --- transactions -----------------------------------------------------------------------------------------------------


def test_a_transaction_is_all_or_nothing(db: Database) -> None:
    with pytest.raises(KeyError):
        write_and_fail(db, "lost")
    with pytest.raises(dbapi2.IntegrityError):
        write(db, "twice", "twice")
    assert texts(db) == []
    write(db, "kept")
    assert texts(db) == ["kept"]


def test_inner_transactions_join_the_outer_one(path: Path, db: Database) -> None:
    reader = Database(path, KEY, [notes])
    with db.transaction():
        write(db, "one")
        with db.transaction():
            write(db, "two")
        assert texts(reader) == []
    assert texts(reader) == ["one", "two"]
    with pytest.raises(KeyError):
        write_and_fail(db, "three")
    assert texts(db) == ["one", "two"]


def test_a_failing_inner_transaction_undoes_nothing_else(db: Database) -> None:
    with db.transaction():
        write(db, "before")
        with pytest.raises(KeyError):
            write_and_fail(db, "inner")
        write(db, "after")
    assert texts(db) == ["before", "after"]


def test_threads_take_turns(db: Database) -> None:
    def work(n: int) -> None:
        for m in range(25):
            with db.transaction():
                write(db, f"{n}/{m}/a")
                write(db, f"{n}/{m}/b")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = texts(db)
    assert len(found) == 200
    assert all(a[:-1] == b[:-1] for a, b in zip(found[::2], found[1::2], strict=True))


def test_nothing_is_written_while_another_thread_reads(db: Database) -> None:
    write(db, "one")
    with db.reading() as connection:
        other = threading.Thread(target=write, args=(db, "two"))
        other.start()
        other.join(0.2)
        assert connection.execute("SELECT count(*) FROM notes").fetchone() == (1,)
    other.join(20)
    assert texts(db) == ["one", "two"]


def test_errors_of_whoever_uses_the_bare_connection_are_told_too(path: Path, db: Database) -> None:
    for way in (db.reading, db.outside, db.transaction):
        with pytest.raises(dbapi2.OperationalError, match="no such table"), way() as connection:
            connection.execute("SELECT * FROM missing")
    db.close()
    for way in (db.reading, db.outside):
        with pytest.raises(VaultError, match="closed"), way() as connection:
            connection.execute("SELECT 1")


def test_an_extension_is_loaded_and_none_by_a_query(db: Database) -> None:
    db.load_extension(sqlite_vec.loadable_path())
    assert db.one("SELECT vec_length('[1, 2, 3]')") == (3,)
    with pytest.raises(dbapi2.OperationalError, match="not authorized"):
        db.all("SELECT load_extension(?)", (sqlite_vec.loadable_path(),))
    with pytest.raises(dbapi2.OperationalError):
        db.load_extension("nothing")
    with pytest.raises(dbapi2.OperationalError, match="not authorized"):
        db.all("SELECT load_extension(?)", (sqlite_vec.loadable_path(),))


# --- scrub ------------------------------------------------------------------------------------------------------------


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def log_bytes(path: Path) -> int:
    """Return the size of the log; SQLite makes it with the first write."""
    return log_of(path).stat().st_size if log_of(path).exists() else 0


def test_scrubbing_leaves_nothing_of_deleted_rows(path: Path, db: Database) -> None:
    db.all("PRAGMA secure_delete = OFF")
    write(db, *[f"{n} {CANARY} " * 30 for n in range(400)], *[f"{n} kept " * 30 for n in range(400)])
    with db.transaction() as connection:
        connection.execute(f"DELETE FROM notes WHERE text LIKE '%{CANARY}%'")
    db.all("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.stat().st_size
    assert count(path, KEY, CANARY)[0] > 400
    db.scrub()
    assert count(path, KEY, CANARY) == (0, 0)
    assert path.stat().st_size < before * 0.75
    assert log_bytes(path) == 0
    assert len(texts(db)) == 400
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "temp_store": 2}
    assert {name: (db.one(f"PRAGMA {name}") or [None])[0] for name in wanted} == wanted
    write(db, "and goes on")
    db.close()
    assert len(texts(Database(path, KEY, [notes]))) == 401


@pytest.mark.parametrize("read_only", [False, True])
def test_a_cut_off_write_of_the_first_page_is_undone(tmp_path: Path, path: Path, *, read_only: bool) -> None:
    """The switch of a compacted file to the log writes its first page, and has a journal for that."""
    database = Database(path, KEY, [notes])
    write(database, "kept")
    database.close()
    other = dbapi2.connect(str(path), isolation_level=None)
    for statement in (
        f"PRAGMA key = \"x'{KEY.hex()}'\"",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA cache_size = 1",
        "BEGIN",
    ):
        other.execute(statement)
    other.execute("PRAGMA user_version = 7")
    for number in range(200):
        other.execute("INSERT INTO notes (text) VALUES (?)", (f"{number}" * 1_000,))
    cut = tmp_path / "cut" / "vault.db"
    cut.parent.mkdir()
    torn = bytearray(path.read_bytes())
    torn[1_000:2_000] = bytes(1_000)
    cut.write_bytes(torn)
    shutil.copy(f"{path}-journal", f"{cut}-journal")
    other.close()
    assert os.path.getsize(f"{cut}-journal") > 4_096
    mark = None if read_only else Mark(tmp_path / "mark", KEY, "0" * 16)
    again = Database(cut, KEY, [notes], mark=mark, read_only=read_only)
    assert texts(again) == ["kept"]
    again.close()


def test_scrub_tells_that_its_copy_cannot_be_made(path: Path, db: Database) -> None:
    path.with_name(path.name + "-new").mkdir()
    with pytest.raises(VaultError, match="can't be compacted"):
        db.scrub()
    assert db.one("PRAGMA integrity_check") == ("ok",)


def test_scrub_waits_for_threads_and_fails_inside_a_transaction(path: Path, db: Database) -> None:
    write(db, "kept")
    inside, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        with db.transaction():
            write(db, "of another thread")
            inside.set()
            go_on.wait(20)

    other, scrub = threading.Thread(target=slow), threading.Thread(target=db.scrub)
    other.start()
    inside.wait(20)
    scrub.start()
    scrub.join(0.2)
    assert scrub.is_alive()
    go_on.set()
    other.join(20)
    scrub.join(20)
    assert log_bytes(path) == 0
    with pytest.raises(VaultError, match="inside a transaction"), db.transaction():
        db.scrub()
    assert texts(db) == ["kept", "of another thread"]
    db.scrub()


def test_scrub_reports_a_program_that_still_reads_deleted_rows(path: Path, db: Database) -> None:
    write(db, CANARY, "kept")
    reader = Database(path, KEY, [notes])
    db.all("PRAGMA busy_timeout = 10")
    with db.transaction() as connection:
        connection.execute("DELETE FROM notes WHERE text = ?", (CANARY,))
    with reader.transaction():
        for check in (db.check_room, db.scrub):
            with pytest.raises(VaultBusyError):
                check()
        assert texts(db) == ["kept"]
    with pytest.raises(VaultBusyError):  # it would go on with the old file
        db.scrub()
    assert texts(db) == texts(reader) == ["kept"]
    reader.close()
    db.scrub()
    assert count(path, KEY, CANARY) == (0, 0)
    assert texts(db) == ["kept"]


@pytest.mark.slow
@pytest.mark.crash
def test_scrub_needs_room_on_the_disk(tmp_path: Path) -> None:
    with tiny_disk(tmp_path, megabytes=40) as disk:
        path = disk / "vault.db"
        database = Database(path, KEY, [notes])
        rows = [f"{n} " + secrets.token_hex(20_000) for n in range(200)]
        write(database, *rows, *[f"{CANARY} {n} " + secrets.token_hex(5000) for n in range(100)])
        with database.transaction() as connection:
            connection.execute(f"DELETE FROM notes WHERE text LIKE '{CANARY}%'")
        ballast = disk / "ballast"
        database.all("PRAGMA wal_checkpoint(TRUNCATE)")
        fill(ballast)
        for check in (database.check_room, database.scrub):
            with pytest.raises(DiskFullError, match=r"[1-9]\d+ MB are needed, 0 MB are free"):
                check()
        assert texts(database) == rows
        pages, unused = (database.one(f"PRAGMA {name}") or [0] for name in ("page_count", "freelist_count"))
        room = (pages[0] - unused[0]) * 4120 + (1 << 20) + 16_384
        os.truncate(ballast, ballast.stat().st_size - room)
        assert shutil.disk_usage(disk).free < room + 8192
        database.scrub()
        assert count(path, KEY, CANARY) == (0, 0)
        assert log_bytes(path) == 0
        assert texts(database) == rows
        assert database.one("PRAGMA integrity_check") == ("ok",)
        database.close()


SCRUBBING = """
import sys
from pathlib import Path
from docmind.storage.database import Database
database = Database(Path({path!r}), {key!r}, [lambda db: None])
print("begun", flush=True)
while True:
    database.scrub()
"""


@pytest.mark.slow
@pytest.mark.crash
def test_a_kill_while_scrubbing_loses_nothing(path: Path, db: Database) -> None:
    rows = [f"{n} " + secrets.token_hex(20_000) for n in range(200)]
    write(db, *rows)
    db.close()
    for delay in (0.0, 0.03, 0.07, 0.15):
        code = SCRUBBING.format(path=str(path), key=KEY)
        process = forked.popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
        time.sleep(delay)
        process.kill()
        process.communicate(timeout=30)
        database = Database(path, KEY, [notes])
        assert texts(database) == rows
        assert database.one("PRAGMA integrity_check") == ("ok",)
        database.close()


# --- a full disk ------------------------------------------------------------------------------------------------------


@pytest.mark.crash
def test_a_full_disk_is_told_and_what_was_acknowledged_stays(tmp_path: Path) -> None:
    with tiny_disk(tmp_path, megabytes=7) as disk:
        (disk / "ballast").write_bytes(bytes(4_000_000))
        database = Database(disk / "vault.db", KEY, [notes])
        acknowledged: list[str] = []
        with pytest.raises(DiskFullError):
            write_for_ever(database, acknowledged)
        assert acknowledged
        assert texts(database) == acknowledged
        with pytest.raises(DiskFullError):
            write(database, "x" * 2_000_000)
        database.close()
        database = Database(disk / "vault.db", KEY, [notes])
        assert texts(database) == acknowledged
        database.close()
        fill(disk / "ballast")
        with contextlib.suppress(DiskFullError):  # it may open, for reading needs little
            database = Database(disk / "vault.db", KEY, [notes])
            assert texts(database) == acknowledged
            database.close()
        (disk / "ballast").unlink()
        database = Database(disk / "vault.db", KEY, [notes])
        with database.transaction() as connection:
            connection.execute("DELETE FROM notes WHERE id > 2")
        assert texts(database) == acknowledged[:2]
        database.close()


def write_for_ever(database: Database, acknowledged: list[str]) -> None:
    for n in itertools.count():
        text = f"{n} " + secrets.token_hex(20_000)
        write(database, text)
        acknowledged.append(text)


def fill(path: Path) -> None:
    try:
        with path.open("ab", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
    except OSError:
        return
