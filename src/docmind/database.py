"""`vault.db`: one SQLCipher database for everything that is text, grown by numbered migrations."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as _dbapi2

from docmind.errors import DamagedError, DiskFullError, VaultBusyError, VaultError, VaultFormatError
from docmind.migrations import MIGRATIONS, Connection, Migration

dbapi2: Any = _dbapi2
Row = tuple[Any, ...]
_LITTLE = 1 << 20
_SIZES = ("page_count", "freelist_count", "page_size")
_FRAME = 24  # bytes that the log adds to a page


class Database:
    """One encrypted connection per process, shared by its threads through a lock that `transaction` and `all` take.

    A thread that holds a transaction may open another: the inner one joins the outer.
    """

    def __init__(self, path: Path, key: bytes, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        """Open or make the database. Raises `DamagedError`, `VaultFormatError`, `DiskFullError`."""
        self._lock = threading.RLock()
        self._depth = 0
        self._path = path
        with self._told():
            self._db = dbapi2.connect(str(path), timeout=30.0, check_same_thread=False, isolation_level=None)
        try:
            with self._told():
                self._prepare(key)
            self._migrate(migrations)
        except BaseException:
            self._db.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """`BEGIN IMMEDIATE` … `COMMIT`, rolled back on any exception; durable when it returns.

        One inside another is a savepoint of it: it fails alone where the outer catches its exception.
        """
        with self._lock, self._told():
            mark = f"inner{self._depth}"
            self._db.execute(f"SAVEPOINT {mark}" if self._depth else "BEGIN IMMEDIATE")
            self._depth += 1
            try:
                try:
                    yield self._db
                finally:
                    self._depth -= 1
                self._db.execute(f"RELEASE {mark}" if self._depth else "COMMIT")
            except BaseException:
                if self._db.in_transaction:  # a full disk may have rolled it back already
                    self._db.execute(f"ROLLBACK TO {mark}" if self._depth else "ROLLBACK")
                raise

    def all(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Every row of one query."""
        with self._lock, self._told():
            return self._db.execute(sql, parameters).fetchall()

    def one(self, sql: str, parameters: Sequence[object] = ()) -> Row | None:
        """The first row of one query, or None."""
        with self._lock, self._told():
            return self._db.execute(sql, parameters).fetchone()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Several queries that no other thread's writing comes between. Read everything before it ends."""
        with self._lock, self._told():
            yield self._db

    @contextmanager
    def outside(self) -> Iterator[Connection]:
        """For what commits by itself, as scripts and VACUUM do. Raises `VaultError` inside a transaction."""
        with self.reading() as db:
            if self._depth:
                raise VaultError("This cannot be done inside a transaction of the vault.")
            yield db

    @property
    def connection(self) -> Connection:
        """The bare connection, for libraries that want one; whoever uses it holds `transaction` or `reading`."""
        return self._db

    def load_extension(self, path: str) -> None:
        """Load a SQLite extension from a file of an installed package. Raises what SQLite raises, where it refuses."""
        with self._lock:
            self._db.enable_load_extension(True)
            try:
                self._db.load_extension(path)
            finally:
                self._db.enable_load_extension(False)

    def check_room(self) -> None:
        """Raise what `scrub` would raise before it begins: to be asked before something is deleted for good."""
        with self.outside() as db:
            self._empty_log(db)
            pages, unused, size = (int(db.execute(f"PRAGMA {name}").fetchone()[0]) for name in _SIZES)
            needed = (pages - unused) * (size + _FRAME) + _LITTLE
            free = shutil.disk_usage(self._path.parent).free
            if free < needed:
                raise DiskFullError(
                    "The disk is too full to rewrite the vault without what was deleted:"
                    f" {_mb(needed) + 1} MB are needed, {_mb(free)} MB are free."
                )

    def scrub(self) -> None:
        """Leave nothing of deleted rows behind: rewrite the file without them, and empty its log.

        Takes the time, the memory and, until it is done, the disk space of writing the whole file. Raises
        `DiskFullError` before anything is written where there is no room, `VaultBusyError` where another program
        still reads what was deleted, and `VaultError` inside a transaction. Nothing is lost then; scrub again.
        """
        with self.outside() as db:
            self.check_room()
            db.execute("VACUUM")
            self._empty_log(db)

    def close(self) -> None:
        """Fold the WAL into the database and close. Harmless twice."""
        with self._lock, self._told():
            self._db.close()

    def _empty_log(self, db: Connection) -> None:
        """Fold the log into the file and cut it to nothing."""
        if db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise VaultBusyError(f"{self._path.name} is in use by another program.")

    def _prepare(self, key: bytes) -> None:
        if len(key) != 32:
            raise ValueError("the database key is 32 bytes")
        self._db.execute("PRAGMA cipher_log_level = NONE")  # it would write to stderr what we say in a sentence
        self._db.execute(f"PRAGMA key = \"x'{key.hex()}'\"")
        if not self._db.execute("PRAGMA cipher_version").fetchone():
            raise VaultError("This SQLite cannot encrypt: the sqlcipher3 package is not the one in use.")
        self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "secure_delete = ON",
            "foreign_keys = ON",
            "temp_store = MEMORY",
            "mmap_size = 0",
        ):
            self._db.execute(f"PRAGMA {pragma}")

    def _migrate(self, migrations: Sequence[Migration]) -> None:
        with self.transaction() as db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL,"
                " applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)"
            )
        done = {number for (number,) in self.all("SELECT number FROM migrations")}
        if done and max(done) > len(migrations):
            raise VaultFormatError("This vault was written by a newer DocMind.")
        for number, migration in enumerate(migrations, 1):
            if number not in done:
                with self.transaction() as db:
                    migration(db)
                    db.execute("INSERT INTO migrations (number, name) VALUES (?, ?)", (number, migration.__name__))

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn the engine's errors into ours, in the one place that reads their texts."""
        try:
            yield
        except (dbapi2.DatabaseError, sqlite3.DatabaseError) as error:
            meaning = self._meaning(str(error))
            if meaning is None:  # a mistake of ours
                raise
            raise meaning from error

    def _meaning(self, text: str) -> VaultError | None:
        name = self._path.name
        if "disk is full" in text or ("disk I/O error" in text and self._is_full()):
            return DiskFullError("The disk is full: the vault could not be written.")
        if "disk I/O error" in text:
            return DamagedError(f"{name} cannot be read or written: the disk reports an error.")
        if "not a database" in text or "malformed" in text:
            return DamagedError(f"{name} is damaged or was changed: it does not open with its key.")
        if "unable to open" in text or "readonly" in text:
            return VaultError(f"{self._path} cannot be opened for writing: {text}.")
        if "is locked" in text:
            return VaultBusyError(f"{name} is in use by another program.")
        if "closed database" in text:
            return VaultError("The vault is closed.")
        return None

    def _is_full(self) -> bool:
        """SQLite calls it an I/O error where the memory-mapped index of its log found no room."""
        return shutil.disk_usage(self._path.parent).free < _LITTLE


def check_whole(data_dir: Path) -> None:
    """A lost database must not look like a new vault: its pages would belong to nobody. Raises `DamagedError`."""
    database = data_dir / "vault.db"
    if (not database.exists() or not database.stat().st_size) and any((data_dir / "artifacts").glob("*.enc")):
        raise DamagedError(f"vault.db is missing from {data_dir}, but its sealed pages are there.")


def _mb(count: int) -> int:
    return count // 1_000_000
