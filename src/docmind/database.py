"""`vault.db`: one SQLCipher database for everything that is text, grown by numbered migrations."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as _dbapi2

from docmind.errors import DamagedError, DiskFullError, VaultBusyError, VaultError, VaultFormatError

dbapi2: Any = _dbapi2
Connection = Any  # sqlcipher3 ships no types; it is a drop-in for sqlite3.Connection
Row = tuple[Any, ...]
Migration = Callable[[Connection], None]
_LITTLE = 1 << 20
_SIZES = ("page_count", "freelist_count", "page_size")
_FRAME = 24  # bytes that the log adds to a page


def m001_documents(db: Connection) -> None:
    """Documents, their pages and nodes, and the vectors of node texts."""
    db.execute(
        """CREATE TABLE documents (
            doc_id TEXT PRIMARY KEY, document TEXT NOT NULL, title TEXT NOT NULL DEFAULT '', kind TEXT NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('reading', 'ready', 'failed')), pages INTEGER NOT NULL,
            language TEXT NOT NULL DEFAULT '', bytes INTEGER NOT NULL, tags TEXT NOT NULL DEFAULT '[]',
            original TEXT NOT NULL, original_suffix TEXT NOT NULL, added_at_ms INTEGER NOT NULL,
            message TEXT NOT NULL DEFAULT '') WITHOUT ROWID"""
    )
    db.execute(
        """CREATE TABLE pages (
            page_id TEXT PRIMARY KEY, doc_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
            page_no INTEGER NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL, text TEXT NOT NULL,
            words BLOB NOT NULL, text_source TEXT NOT NULL, confidence REAL NOT NULL, language TEXT NOT NULL,
            image TEXT NOT NULL, image_suffix TEXT NOT NULL, thumbnail TEXT NOT NULL, thumbnail_suffix TEXT NOT NULL,
            UNIQUE (doc_id, page_no))"""
    )
    db.execute("CREATE INDEX pages_image ON pages (image)")
    db.execute("CREATE INDEX pages_thumbnail ON pages (thumbnail)")
    db.execute(
        """CREATE TABLE nodes (
            node_id TEXT PRIMARY KEY, doc_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
            page_no INTEGER NOT NULL, ordinal INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
            modality TEXT NOT NULL, language TEXT NOT NULL, content_hash BLOB NOT NULL)"""
    )
    db.execute("CREATE INDEX nodes_page ON nodes (doc_id, page_no)")
    db.execute("CREATE INDEX nodes_content ON nodes (content_hash)")
    db.execute(
        """CREATE TABLE vectors (
            content_hash BLOB NOT NULL, fingerprint TEXT NOT NULL, vector BLOB NOT NULL,
            PRIMARY KEY (content_hash, fingerprint)) WITHOUT ROWID"""
    )


def m002_epochs(db: Connection) -> None:
    """Every change the index must follow, in order: the newest number is the vault's epoch."""
    db.execute(
        "CREATE TABLE changes (epoch INTEGER PRIMARY KEY AUTOINCREMENT, doc_id TEXT NOT NULL, at_ms INTEGER NOT NULL)"
    )
    db.execute("CREATE INDEX changes_document ON changes (doc_id)")


def m003_page_sources(db: Connection) -> None:
    """Pages read by OCR are counted from an index: the rows hold whole texts, and each would be decrypted."""
    db.execute("CREATE INDEX pages_source ON pages (doc_id, text_source)")


def m004_conversations(db: Connection) -> None:
    """Conversations, what the user chose in the app, and remembered facts. LangGraph makes its own two tables."""
    db.execute(
        """CREATE TABLE chat_session (thread_id TEXT PRIMARY KEY, title TEXT NOT NULL, created_at_ms INTEGER NOT NULL,
            updated_at_ms INTEGER NOT NULL, last_checkpoint_id TEXT, deleted_at_ms INTEGER)"""
    )
    db.execute("CREATE TABLE preferences (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    db.execute(
        """CREATE TABLE docmind_store_items (
            item_id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
            created_at_ms INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL, fields TEXT NOT NULL DEFAULT '[]',
            fingerprint TEXT NOT NULL DEFAULT '', vector BLOB, UNIQUE (namespace, key))"""
    )


def m005_tokens(db: Connection) -> None:
    """Token vectors of node texts; they go with the last vector of their text. With a rowid such rows waste least."""
    db.execute(
        """CREATE TABLE tokens (
            content_hash BLOB NOT NULL, fingerprint TEXT NOT NULL, tokens BLOB NOT NULL,
            PRIMARY KEY (content_hash, fingerprint))"""
    )
    db.execute(
        """CREATE TRIGGER tokens_follow_vectors AFTER DELETE ON vectors
            WHEN NOT EXISTS (SELECT 1 FROM vectors WHERE content_hash = OLD.content_hash)
            BEGIN DELETE FROM tokens WHERE content_hash = OLD.content_hash; END"""
    )


def m006_looks(db: Connection) -> None:
    """What page images look like, by the image's id: pages that look the same share it, and the last one drops it."""
    db.execute(
        "CREATE TABLE looks (look_id INTEGER PRIMARY KEY AUTOINCREMENT, image TEXT NOT NULL UNIQUE,"
        " version INTEGER NOT NULL, marks BLOB NOT NULL)"
    )
    db.execute("CREATE INDEX looks_version ON looks (version, image)")  # rows hold kilobytes each
    db.execute("CREATE INDEX pages_places ON pages (doc_id, language, page_no, image)")
    db.execute(
        "CREATE TRIGGER looks_dropped AFTER DELETE ON pages"
        " WHEN NOT EXISTS (SELECT 1 FROM pages WHERE image = OLD.image)"
        " BEGIN DELETE FROM looks WHERE image = OLD.image; END"
    )


MIGRATIONS: tuple[Migration, ...] = (
    m001_documents,
    m002_epochs,
    m003_page_sources,
    m004_conversations,
    m005_tokens,
    m006_looks,
)


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


def _mb(count: int) -> int:
    return count // 1_000_000
