"""One encrypted database: nothing readable on the disk, damage told apart, all or nothing."""

from __future__ import annotations

import base64
import contextlib
import itertools
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import tiny_disk
from docmind.database import MIGRATIONS, Connection, Database, dbapi2
from docmind.errors import DamagedError, DiskFullError, VaultBusyError, VaultError, VaultFormatError

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


def test_a_flipped_bit_in_any_page_is_an_error_never_a_wrong_read(path: Path, db: Database) -> None:
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


def test_an_inner_transaction_that_fails_takes_nothing_else_with_it(db: Database) -> None:
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
