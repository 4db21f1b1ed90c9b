"""`vault.db`: one SQLCipher database for all text, with a schema of numbered migrations.

Two checks are added to those of SQLite. Every commit is recorded in a ledger and in a high-water mark outside the
database (`docmind.storage`): a database that lacks what the mark covers is not opened for writing. And every read asks
SQLCipher whether a page failed its HMAC: the running statement gets zeros for such an overflow page, and only the next
page raises.

It is above 500 lines because both checks must sit inside the one connection, its lock and its transactions.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as _dbapi2

from docmind.errors import BehindError, DamagedError, DiskFullError, VaultBusyError, VaultError, VaultFormatError
from docmind.storage.aside import AsideFolder
from docmind.storage.files import check_room, disk_error, free_bytes, sync_folder
from docmind.storage.mark import Ledger, Mark, MarkState
from docmind.storage.migrations import MIGRATIONS, Connection, Migration
from docmind.wording import N_, _

dbapi2: Any = _dbapi2
Row = tuple[Any, ...]
_LITTLE = 1 << 20
_TOO_FULL = N_(
    "The disk is too full to rewrite the library without what was deleted: {needed} MB are needed, {free} MB are free."
)
_SIZES = ("page_count", "freelist_count", "page_size")
NEW_DATABASE = "-new"
"""The end of the name of a compacted database until it replaces the old one."""

_SETTLE_S = 0.25
_STEPS = 16  # commits that the mark may lag behind; the ledger keeps 64
_FRAME = 24  # bytes that the log adds to a page
_READ_ONLY = N_("This library is open for reading only: nothing can be changed in it.")
_READ_ONLY_HINT = N_("Make its folder writable, or unset DOCMIND_STORAGE__READ_ONLY, and open it again.")


class Database:
    """One encrypted connection per process, shared by its threads through a reentrant lock.

    Every method that uses the connection takes the lock. Transactions of one thread may be nested.
    """

    def __init__(
        self,
        path: Path,
        key: bytes,
        migrations: Sequence[Migration] = MIGRATIONS,
        *,
        mark: Mark | None = None,
        read_only: bool = False,
        accept: bool = False,
        before_migrating: Callable[[int], None] = lambda schema: None,
    ) -> None:
        """Open or create the database.

        Before the schema of an existing one is changed, its log is folded and `before_migrating` called with the number
        of its last migration; where it raises, nothing is changed.

        With `mark`, the database is first compared with it. Raises `BehindError`, and writes nothing, where the
        database lacks what the mark covers, unless it is opened read-only or `accept` is set. Raises `DamagedError`,
        `VaultFormatError`, `DiskFullError`.
        """
        if len(key) != 32:
            raise ValueError("the database key is 32 bytes")
        self._lock = threading.RLock()
        self._depth = self._held = 0
        self._path, self._key, self._mark = path, key, mark
        self._ledger = Ledger(key)
        self._has_ledger = self._counts_changed = self._is_broken = self._is_closed = False
        self._counts: dict[str, int] = {}
        self._is_awaited, self._marked_seq = False, 0
        self._extensions: list[str] = []
        self._settling: threading.Timer | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self.is_read_only, self.was_behind = read_only, False
        self._uri = ""
        self._db: Connection = None
        if read_only:
            self._db = self._connected_for_reading(migrations)
            return
        covered = self._compare(accept=accept)
        self._db = self._connected()
        try:
            self._migrate(migrations, before_migrating)
            self._begin_marking(covered)
        except BaseException:
            self._db.close()
            raise

    @contextmanager
    def transaction(self, *, is_step: bool = False) -> Iterator[Connection]:
        """Run a block between `BEGIN IMMEDIATE` and `COMMIT`; roll back on any exception.

        The transaction is durable when the block has ended. A nested transaction is a savepoint: it can fail alone if
        the outer block catches its exception. `is_step` of the outermost means that it is not acknowledged before a
        later commit: the mark is written with that commit, which saves a sync.
        """
        with self._hold():
            if not self._depth:
                self._is_awaited = not is_step
            point = f"inner{self._depth}"
            begin = "BEGIN" if self.is_read_only else "BEGIN IMMEDIATE"
            self._db.execute(f"SAVEPOINT {point}" if self._depth else begin)
            before = self._db.total_changes
            self._depth += 1
            try:
                try:
                    yield self._db
                finally:
                    self._depth -= 1
                if self._depth:
                    self._db.execute(f"RELEASE {point}")
                else:
                    self._commit(is_changed=self._db.total_changes != before)
            except BaseException:
                if self._db.in_transaction:  # a full disk may have rolled it back already
                    with suppress(dbapi2.Error):  # a damaged page fails this too; the connection is opened again
                        self._db.execute(f"ROLLBACK TO {point}" if self._depth else "ROLLBACK")
                raise

    def all(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Return every row of one query."""
        return self._read(lambda db: db.execute(sql, parameters).fetchall())

    def one(self, sql: str, parameters: Sequence[object] = ()) -> Row | None:
        """Return the first row of one query, or None."""
        return self._read(lambda db: db.execute(sql, parameters).fetchone())

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Run several queries without writes of other threads in between.

        Fetch all rows inside the block.

        Raises `DamagedError` at the end of the block where a page was damaged: discard all that was read in it.
        """
        with self._hold():
            yield self._db

    def copy_rows(self, path: Path, key: bytes, selections: Sequence[tuple[str, str]]) -> None:
        """Copy rows into another database, which has the same tables and is closed: all as of one moment.

        Each of `selections` is a table, which may be missing here, and the end of its query, which may name tables of
        the other database as `other.…`. Other threads wait until it is done. Raises `DiskFullError`, `DamagedError`.
        """
        with self.outside() as db:
            db.execute("ATTACH DATABASE ? AS other KEY ?", (str(path), f"x'{key.hex()}'"))
            try:
                db.execute("BEGIN")
                try:
                    for table, where in selections:
                        columns = ", ".join(f'"{row[1]}"' for row in db.execute(f"PRAGMA main.table_info({table})"))
                        if columns:
                            db.execute(
                                f"INSERT INTO other.{table} ({columns}) SELECT {columns} FROM main.{table} {where}"
                            )
                    db.execute("COMMIT")
                except BaseException:
                    if db.in_transaction:
                        db.execute("ROLLBACK")
                    raise
            finally:
                db.execute("DETACH DATABASE other")

    @contextmanager
    def outside(self) -> Iterator[Connection]:
        """Give the connection to statements that commit by themselves, such as scripts and VACUUM.

        The ledger does not record such commits: use it only for data that can be made again. Raises `VaultError` inside
        a transaction.
        """
        with self.reading() as db:
            if self._depth:
                raise VaultError(_("This can't be done inside a transaction of the library."))
            yield db

    @property
    def connection(self) -> Connection:
        """The bare connection, for libraries that need one.

        The caller must hold `transaction` or `reading`.

        Do not keep it: it is replaced after a damaged page.
        """
        return self._db

    def load_extension(self, path: str) -> None:
        """Load a SQLite extension from a file of an installed package.

        Raises what SQLite raises, where it refuses.
        """
        with self._lock:
            self._load(self._db, path)
            self._extensions.append(path)

    def check_writable(self) -> None:
        """Raise `VaultError` where the vault is open for reading only; call it before work begins."""
        if self.is_read_only:
            raise VaultError(_(_READ_ONLY), hint=_(_READ_ONLY_HINT))

    def recount(self) -> None:
        """Have the mark count documents, conversations and memories again.

        Call it inside a transaction that adds or removes one of them.
        """
        self._counts_changed = True

    def settle(self) -> None:
        """Checkpoint the log after a piece of work is finished, so that a damaged log cannot undo the work.

        It runs in the background after a quarter of a second, once for all calls made meanwhile, because it waits for
        the disk two or three times. What the log holds is durable already, and covered by the mark.
        """
        if self.is_read_only:
            return
        with self._lock:
            if self._settling is None and not self._is_closed:
                self._settling = threading.Timer(_SETTLE_S, self._fold)
                self._settling.daemon = True
                self._settling.start()

    def _fold(self) -> None:
        """Checkpoint the log; on a full disk, a damaged page or another reader it is left for the next time."""
        with self._lock:
            self._settling = None
            if self._is_closed:
                return
            with suppress(VaultError), self._hold():
                self._empty_log(self._db)

    def check_room(self) -> None:
        """Raise what `scrub` would raise before it begins; call it before a permanent deletion."""
        self.check_writable()
        with self.outside() as db:
            self._empty_log(db)
            pages, unused, size = (int(db.execute(f"PRAGMA {name}").fetchone()[0]) for name in _SIZES)
            needed = (pages - unused) * (size + _FRAME) + _LITTLE
            check_room(self._path.parent, needed, _(_TOO_FULL))

    def scrub(self) -> None:
        """Erase all traces of deleted rows: write the file again without them beside the old one, and switch to it.

        The new file is encrypted with the same key and durable before it gets the name of the old one, whose log is
        empty then: a process killed at any time leaves the old file or the new one, each of them whole and covered by
        the mark. A new file without its name is removed at the next opening.

        Takes the time and, until it is done, the disk space of writing the whole file, and a few MB of memory. Raises
        `DiskFullError` before anything is written where there is no room, `VaultBusyError` where another program has
        the file open, and `VaultError` inside a transaction. Nothing is lost then; call it again.
        """
        self._rewrite(self._key)

    def change_key(self, key: bytes, mark: Mark | None = None) -> None:
        """Encrypt the database with another key, as `scrub` writes it, and its mark after it.

        `mark` is the mark under the new key. A process killed meanwhile leaves the database under the old key or the
        new one, and a mark under either: what opens them needs both keys. Where the database has the key already, only
        the mark is written. Raises as `scrub` does.
        """
        if len(key) != 32:
            raise ValueError("the database key is 32 bytes")
        with self.outside():
            if key != self._key:
                self._rewrite(key)
            if mark is not None:
                head = self._ledger.head(self._db)
                mark.create(self._ledger.state(self._db, head))
                if self._mark is not None:
                    self._mark.close()
                self._mark, self._marked_seq = mark, head.seq

    def _rewrite(self, key: bytes) -> None:
        """Write the file again under a key, and switch to it."""
        with self.outside() as db:
            self.check_room()
            new = self._path.with_name(self._path.name + NEW_DATABASE)
            try:
                new.unlink(missing_ok=True)
                db.execute("VACUUM INTO ?", (str(new),))
                self._check_pages()
                if key != self._key:
                    self._give_key(new, key)
                self._check_copy(db, new, key)
                self._switch(new, key)
            except OSError as error:
                raise disk_error(
                    error,
                    VaultError(_("The library can't be compacted: {strerror}.").format(strerror=error.strerror)),
                ) from error
            finally:
                with suppress(OSError):  # removed at the next opening
                    new.unlink(missing_ok=True)

    def check_pages(self) -> None:
        """Check the HMAC of every page of the file, and the structure of tables and indexes. Reads the whole file.

        Raises `DamagedError`; other threads wait until it is done.
        """
        with self.reading() as db:
            if db.execute("PRAGMA cipher_integrity_check").fetchone() is not None:
                raise _damaged()
            if db.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
                raise _damaged()

    def lacking(self, mark: Mark) -> str:
        """Return what the mark covers and this database lacks, as a phrase; "" where it lacks nothing.

        Raises `DamagedError` where the mark is missing or cannot be read.
        """
        with self.reading() as db:
            covered = mark.read()
            if covered is None:
                raise DamagedError(
                    _("The high-water mark {path} is missing, so nothing proves the library whole.").format(
                        path=mark.path
                    )
                )
            return self._ledger.missing(db, covered)

    def fold(self) -> None:
        """Fold the log into the file now. Raises `VaultBusyError`, `DiskFullError`, `VaultError`."""
        with self.outside() as db:
            self._empty_log(db)

    def _give_key(self, new: Path, key: bytes) -> None:
        """Encrypt a copy again with another key, in place: nothing needs it yet, so it has no journal."""
        copy = self._opened(str(new))
        try:
            for pragma in ("journal_mode = OFF", "synchronous = OFF", f"rekey = \"x'{key.hex()}'\""):
                copy.execute(f"PRAGMA {pragma}")
        finally:
            copy.close()

    def _check_copy(self, db: Connection, new: Path, key: bytes) -> None:
        """Raise `DamagedError` unless a copy opens with the key and is at the commit of the database; sync it."""
        copy = self._opened(f"{new.resolve().as_uri()}?mode=ro&immutable=1", key)
        try:
            is_same = not self._has_ledger or self._ledger.head(copy) == self._ledger.head(db)
        finally:
            copy.close()
        if not is_same:
            raise DamagedError(_("The compacted copy of {name} is incomplete.").format(name=self._path.name))
        with new.open("rb+") as file:
            os.fsync(file.fileno())

    def _switch(self, new: Path, key: bytes) -> None:
        """Close the database, give its name to a copy of it, and open it again with the key of the copy.

        The last connection deletes the log when it closes. A log that stays belongs to another program too.
        """
        self._is_broken = True  # where the new connection cannot be made now, the next use makes it
        self._db.close()
        try:
            if any(self._path.with_name(self._path.name + tail).exists() for tail in ("-wal", "-shm")):
                raise VaultBusyError(_("{name} is in use by another program.").format(name=self._path.name))
            os.replace(new, self._path)
            self._key, self._ledger = key, Ledger(key)
            sync_folder(self._path.parent)
        finally:
            self._reopen()

    def close(self) -> None:
        """Checkpoint the log and close the database. Idempotent."""
        with self._lock:
            self._is_closed = True
            if self._settling is not None:
                self._settling.cancel()
            try:
                with self._hold(is_checked=False):
                    self._db.close()
            finally:
                if self._mark is not None:
                    self._mark.close()
                if self._scratch is not None:
                    self._scratch.cleanup()

    def _commit(self, *, is_changed: bool) -> None:
        """Commit, then write the mark: if the process dies in between, the database is ahead of the mark."""
        if not (is_changed and self._has_ledger):
            self._check_pages()
            self._db.execute("COMMIT")
            return
        head = self._ledger.advance(self._db)
        if self._counts_changed:
            self._counts = self._ledger.counts(self._db)
        self._check_pages()
        self._db.execute("COMMIT")
        self._counts_changed = False
        if self._mark is not None and (self._is_awaited or head.seq - self._marked_seq >= _STEPS):
            self._mark.write(MarkState(head.seq, head.chain, time.time_ns() // 1_000_000, self._counts))
            self._marked_seq = head.seq

    def _compare(self, *, accept: bool) -> MarkState | None:
        """Compare the database with its mark before anything is written.

        Return the mark's state, or None.

        It uses a read-only connection, because closing one neither folds the log nor deletes it.
        """
        if self._mark is None:
            return None
        covered, why = None, ""
        try:
            covered = self._mark.read()
        except DamagedError as error:
            why = str(error)
        self._roll_back()
        if not _holds_something(self._path):
            if covered is not None and covered.seq:
                raise DamagedError(
                    _("{name} is missing from {parent}, but its mark is there.").format(
                        name=self._path.name, parent=self._path.parent
                    )
                )
            return covered
        log = self._path.with_name(self._path.name + "-wal")
        # Without a log SQLite would create an empty one, even for reading.
        how = "mode=ro" if _holds_something(log) else "mode=ro&immutable=1"
        with self._explaining(None):
            look = self._opened(f"{self._path.resolve().as_uri()}?{how}")
            try:
                with self._explaining(look):
                    has_ledger = self._ledger.is_there(look)
                    if covered is not None:
                        lacking = self._ledger.missing(look, covered)
                        if lacking:
                            why = _(
                                "{name} is older than the files beside it, or its log is damaged: missing from what "
                                "was acknowledged: {lacking}."
                            ).format(name=self._path.name, lacking=lacking)
                    elif not why and has_ledger and self._ledger.head(look).seq:
                        why = _("The high-water mark {path} is missing, so nothing proves the library whole.").format(
                            path=self._mark.path
                        )
                    _check_status(look)
            finally:
                look.close()
        if why and not accept:
            raise BehindError(why)
        self.was_behind = bool(why)
        if why and _holds_something(log):
            self._accept_log(log)
        return covered

    def _roll_back(self) -> None:
        """Undo a change that was cut off outside of the log: the switch of a new or compacted file to it.

        Its journal holds the pages as they were before. A connection that only reads would take the half-written ones.
        """
        if _holds_something(self._path.with_name(self._path.name + "-journal")):
            with self._explaining(None):
                self._opened(str(self._path)).close()

    def _accept_log(self, log: Path) -> None:
        """Copy a log before its valid part is folded, or set it aside where the database is sound only without it.

        A truncated log may hold older versions of pages that were folded before. Raises `DamagedError` where the
        database is sound neither with its log nor without it.
        """
        aside, uri = AsideFolder(self._path.parent / "aside"), self._path.resolve().as_uri()
        if self._is_sound(f"{uri}?mode=ro"):
            aside.copy(log)
        elif self._is_sound(f"{uri}?mode=ro&immutable=1"):
            aside.take(log)
        else:
            raise DamagedError(_("{name} is damaged, with its log and without it.").format(name=self._path.name))

    def _is_sound(self, uri: str) -> bool:
        """Return whether SQLite's integrity check passes. Reads the whole file."""
        try:
            with self._explaining(None):
                look = self._opened(uri)
                try:
                    return look.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok" and _is_whole(look)
                finally:
                    look.close()
        except DamagedError:
            return False

    def _begin_marking(self, covered: MarkState | None) -> None:
        """Record every commit from now on in the ledger, and in the mark where there is one."""
        with self._hold():
            self._has_ledger = self._ledger.is_there(self._db)
            if not self._has_ledger:
                return
            self._counts = self._ledger.counts(self._db)
        if self._mark is None:
            return
        self._marked_seq = covered.seq if covered else 0
        if self.was_behind:
            # The number is above all that the mark covered: whatever is put back later is another history.
            with self._hold():
                self._db.execute("BEGIN IMMEDIATE")
                head = self._ledger.advance(self._db, covered.seq if covered else 0)
                self._db.execute("COMMIT")
                self._mark.create(self._ledger.state(self._db, head))
                self._marked_seq = head.seq
        elif covered is None:
            with self._hold():
                self._mark.create(self._ledger.state(self._db, self._ledger.head(self._db)))

    @contextmanager
    def _hold(self, *, is_checked: bool = True) -> Iterator[None]:
        """Hold the lock, translate errors, and check that no page was damaged. Reentrant."""
        with self._lock:
            if self._is_broken and not self._held and not self._is_closed:
                self._reopen()
            self._held += 1
            try:
                with self._explaining(self._db):
                    yield
                    if is_checked:
                        self._check_pages()
            finally:
                self._held -= 1

    def _read(self, query: Callable[[Connection], Any]) -> Any:
        """Do what `_hold` does for one query.

        A search makes hundreds of queries, and context managers would cost more than the queries.
        """
        with self._lock:
            if self._is_broken and not self._held and not self._is_closed:
                self._reopen()
            self._held += 1
            try:
                found = query(self._db)
                if not _is_whole(self._db):
                    raise _damaged()
                return found
            except Exception as error:
                explained = self._explained(error, self._db)
                if explained is error:
                    raise
                raise explained from error
            finally:
                self._held -= 1

    def _check_pages(self) -> None:
        """Raise `DamagedError` where a page failed its HMAC since the connection was opened."""
        try:
            _check_status(self._db)
        except DamagedError:
            self._is_broken = True
            raise

    def _reopen(self) -> None:
        """Replace a connection that met a damaged page, because it refuses every later page."""
        old = self._db
        with self._explaining(None):
            if self.is_read_only:
                self._db = self._opened(self._uri)
                self._db.execute("PRAGMA query_only = ON")
            else:
                self._db = self._connected()
            for path in self._extensions:
                self._load(self._db, path)
        self._is_broken = False
        with suppress(dbapi2.Error):
            old.close()

    def _load(self, db: Connection, path: str) -> None:
        db.enable_load_extension(True)
        try:
            db.load_extension(path)
        finally:
            db.enable_load_extension(False)

    def _empty_log(self, db: Connection) -> None:
        """Fold the log into the file and truncate it."""
        if db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise VaultBusyError(_("{name} is in use by another program.").format(name=self._path.name))

    def _opened(self, name: str, key: bytes | None = None) -> Connection:
        """Open a connection with the key, or another one; `name` is a path or a `file:` URI.

        Raises what SQLite raises.
        """
        db = dbapi2.connect(
            name, timeout=30.0, check_same_thread=False, isolation_level=None, uri=name.startswith("file:")
        )
        try:
            db.execute("PRAGMA cipher_log_level = NONE")  # our errors say it; SQLCipher would also write to stderr
            self._unlock(db, key or self._key)
            if not db.execute("PRAGMA cipher_version").fetchone():
                raise VaultError(_("This SQLite can't encrypt: it isn't that of the sqlcipher3 package."))
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            for pragma in ("secure_delete = ON", "foreign_keys = ON", "temp_store = MEMORY", "mmap_size = 0"):
                db.execute(f"PRAGMA {pragma}")
            _check_status(db)
        except BaseException:
            db.close()
            raise
        return db

    def _unlock(self, db: Connection, key: bytes) -> None:
        """Give a new connection a key."""
        db.execute(f"PRAGMA key = \"x'{key.hex()}'\"")

    def _connected(self) -> Connection:
        with self._explaining(None):
            db = self._opened(str(self._path))
            try:
                for pragma in ("journal_mode = WAL", "synchronous = FULL"):
                    db.execute(f"PRAGMA {pragma}")
            except BaseException:
                db.close()
                raise
            return db

    def _connected_for_reading(self, migrations: Sequence[Migration]) -> Connection:
        """Open a connection that changes no byte of the vault.

        A database with an empty log is read in place. One with a log or a journal, or of an older DocMind, is copied
        (encrypted, as it is) to a private temporary folder: SQLite would need a file next to it, and it must be
        migrated.
        """
        if not _holds_something(self._path):
            raise VaultError(_("There is no library to read in {parent}.").format(parent=self._path.parent))
        beside = [
            tail for tail in ("-wal", "-journal") if _holds_something(self._path.with_name(self._path.name + tail))
        ]
        with self._explaining(None):
            if not beside:
                uri = f"{self._path.resolve().as_uri()}?mode=ro&immutable=1"
                db = self._opened(uri)
                try:
                    with self._explaining(db):
                        done = db.execute("SELECT count(*) FROM migrations").fetchone()[0]
                        if done > len(migrations):
                            raise VaultFormatError(_("This library was written by a newer DocMind."))
                        _check_status(db)
                except BaseException:
                    db.close()
                    raise
                if done == len(migrations):
                    self._uri = uri
                    db.execute("PRAGMA query_only = ON")
                    return db
                db.close()
            self._scratch = tempfile.TemporaryDirectory(prefix="docmind-reading-")
            copy = Path(self._scratch.name) / self._path.name
            try:
                shutil.copyfile(self._path, copy)
                for tail in beside:
                    shutil.copyfile(self._path.with_name(self._path.name + tail), copy.with_name(copy.name + tail))
                # This migrates the copy; closing folds its log.
                Database(copy, self._key, migrations).close()
                self._uri = f"{copy.as_uri()}?mode=ro&immutable=1"
                db = self._opened(self._uri)
                db.execute("PRAGMA query_only = ON")
            except OSError as error:
                self._scratch.cleanup()
                raise VaultError(
                    _("The library can't be copied for reading: {strerror}.").format(strerror=error.strerror)
                ) from error
            except BaseException:
                self._scratch.cleanup()
                raise
            return db

    def _migrate(self, migrations: Sequence[Migration], before: Callable[[int], None]) -> None:
        with self.transaction() as db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL,"
                " applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)"
            )
        done = {number for (number,) in self.all("SELECT number FROM migrations")}
        if done and max(done) > len(migrations):
            raise VaultFormatError(_("This library was written by a newer DocMind."))
        if done and max(done) < len(migrations):
            self.fold()
            before(max(done))
        for number, migration in enumerate(migrations, 1):
            if number not in done:
                with self.transaction() as db:
                    migration(db)
                    db.execute("INSERT INTO migrations (number, name) VALUES (?, ?)", (number, migration.__name__))

    @contextmanager
    def _explaining(self, db: Connection | None) -> Iterator[None]:
        """Translate the engine's errors into ours."""
        try:
            yield
        except Exception as error:
            explained = self._explained(error, db)
            if explained is error:
                raise
            raise explained from error

    def _explained(self, error: Exception, db: Connection | None) -> Exception:
        """Return the DocMind error for an error of the engine, or the error itself where it is a programming error.

        This is the one place that reads the engine's messages. Any error after a page of `db` failed its HMAC is
        taken as its consequence: the zeros are read as absurd sizes, invalid UTF-8, or rows that break a constraint.
        """
        if db is not None and not _is_whole(db):
            self._is_broken |= db is self._db
            return error if isinstance(error, DamagedError) else _damaged()
        if not isinstance(error, dbapi2.DatabaseError | sqlite3.DatabaseError):
            return error
        return self._meaning(str(error)) or error

    def _meaning(self, text: str) -> VaultError | None:
        name = self._path.name
        if "disk is full" in text or ("disk I/O error" in text and self._is_full()):
            return DiskFullError(_("The disk is full: the library could not be written."))
        if "disk I/O error" in text:
            return DamagedError(_("{name} cannot be read or written: the disk reports an error.").format(name=name))
        if "not a database" in text or "malformed" in text:
            return DamagedError(_("{name} is damaged or was changed: it does not open with its key.").format(name=name))
        if self.is_read_only and ("readonly" in text or "attempt to write" in text):
            return VaultError(_(_READ_ONLY), hint=_(_READ_ONLY_HINT))
        if "unable to open" in text or "readonly" in text:
            return VaultError(_("{path} cannot be opened for writing: {text}.").format(path=self._path, text=text))
        if "is locked" in text:
            return VaultBusyError(_("{name} is in use by another program.").format(name=name))
        if "closed database" in text:
            return VaultError(_("The library is closed."))
        return None

    def _is_full(self) -> bool:
        """Return whether the disk is almost full.

        SQLite reports an I/O error where there was no room for the memory-mapped index of its log.
        """
        return free_bytes(self._path.parent) < _LITTLE


def check_whole(data_dir: Path) -> None:
    """Raise `DamagedError` where `vault.db` is missing but sealed pages exist.

    Otherwise a lost database would look like a new vault, and its pages would be unreferenced.
    """
    database = data_dir / "vault.db"
    if (not database.exists() or not database.stat().st_size) and any((data_dir / "artifacts").glob("*.enc")):
        raise DamagedError(
            _("vault.db is missing from {data_dir}, but its encrypted files are there.").format(data_dir=data_dir)
        )


def key_that_opens(path: Path, keys: Sequence[bytes]) -> bytes:
    """Return the first of the keys with which a database file opens; the first of all where none does."""
    for key in keys if _holds_something(path) else ():
        db = dbapi2.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None)
        try:
            db.execute("PRAGMA cipher_log_level = NONE")
            db.execute(f"PRAGMA key = \"x'{key.hex()}'\"")
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return key
        except (dbapi2.Error, sqlite3.Error):
            continue
        finally:
            db.close()
    return keys[0]


def schema_of(path: Path, key: bytes) -> frozenset[Row]:
    """Return type, name, table and statement of everything in a database file, and run nothing that it defines.

    For files that somebody else may have made. Raises `DamagedError` where it does not open, or fails a check of
    SQLite or SQLCipher.
    """
    name = path.name
    try:
        db = dbapi2.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None)
        try:
            db.execute("PRAGMA cipher_log_level = NONE")
            db.execute(f"PRAGMA key = \"x'{key.hex()}'\"")
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("PRAGMA temp_store = MEMORY")
            found = frozenset(db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall())
            if db.execute("PRAGMA cipher_integrity_check").fetchall():
                raise _damaged()
            if db.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok" or not _is_whole(db):
                raise _damaged()
            return found
        finally:
            db.close()
    except (dbapi2.Error, sqlite3.Error) as error:
        raise DamagedError(
            _("{name} is damaged or was changed: it does not open with its key.").format(name=name)
        ) from error


def _holds_something(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _is_whole(db: Connection) -> bool:
    """Return whether every page fetched so far by this connection passed its HMAC.

    Returns True where the connection is closed.
    """
    try:
        row = db.execute("PRAGMA cipher_status").fetchone()
    except dbapi2.Error:
        return True
    return row is None or row[0] != "0"


def _check_status(db: Connection) -> None:
    if not _is_whole(db):
        raise _damaged()


def _damaged() -> DamagedError:
    return DamagedError(_("A part of vault.db is damaged and can't be read."))
