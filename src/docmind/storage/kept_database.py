"""Copies of `vault.db` from before its schema changed, and going back to one.

A copy lies in `snapshots/before-m<schema>-<time in ms>` with the mark that belongs to it, encrypted as it is. It is
whole once it has the name `vault.db`, which it gets last. Where the file system can share blocks between files, a copy
takes no space until the database changes.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path

from docmind.errors import DamagedError, DiskFullError, NotFoundError, VaultBusyError, VaultError
from docmind.records.snapshots import KeptDatabase
from docmind.storage.data_folder import KEPT_DATABASE, UNFINISHED, own_files
from docmind.storage.database import Connection, dbapi2, schema_of
from docmind.storage.files import disk_error, free_bytes, is_disk_full, is_folder, is_regular, replacing, sync_folder
from docmind.storage.own_clock import Ages
from docmind.wording import N_, _

_DATABASE, _MARK = "vault.db", "mark"
_SPARE = 1 << 20
_AT_ONCE = 1 << 24
_DAY_MS = 86_400_000
_STATE = "kept database"  # in the table `ages`
_NO_ROOM = N_(
    "The library is of an older DocMind, and the disk is too full to keep a copy of its database before it is changed: "
    "{needed} MB are needed, {free} MB are free."
)


def keep_database(data_dir: Path, schema: int) -> KeptDatabase:
    """Copy `vault.db`, whose log is empty, and its mark, to the folder of snapshots; durable when this returns.

    Raises `DiskFullError` where there is no room, `VaultError`; no copy is left then.
    """
    source, at_ms = data_dir / _DATABASE, time.time_ns() // 1_000_000
    size, free = source.stat().st_size, free_bytes(data_dir)
    if free < size + _SPARE:
        raise DiskFullError(
            _(_NO_ROOM).format(needed=-(-(size + _SPARE) >> 20), free=free >> 20),
            hint=_("Free some disk space, or set DOCMIND_SNAPSHOTS__BEFORE_MIGRATION=off to go on without a copy."),
        )
    folder = data_dir / "snapshots" / f"before-m{schema:03}-{at_ms:013}"
    try:
        for one in (folder.parent, folder):
            one.mkdir(mode=0o700, exist_ok=True)
        if is_regular(data_dir / _MARK):
            _copy(data_dir / _MARK, folder / _MARK)
        _copy(source, folder / _DATABASE)
        sync_folder(folder.parent)
    except OSError as error:
        _drop(folder)
        why = VaultError(_("{path} cannot be written: {strerror}.").format(path=folder, strerror=error.strerror))
        raise disk_error(error, why) from error
    return KeptDatabase(folder.name, schema, at_ms, size)


def kept_databases(data_dir: Path) -> list[KeptDatabase]:
    """Return the copies, the newest first."""
    return sorted(
        (
            KeptDatabase(folder.name, int(match[1]), int(match[2]), (folder / _DATABASE).stat().st_size)
            for folder in _folders(data_dir)
            if (match := KEPT_DATABASE.fullmatch(folder.name)) and is_regular(folder / _DATABASE)
        ),
        key=lambda one: -one.created_at_ms,
    )


def find_kept(data_dir: Path, name: str) -> KeptDatabase:
    """Return the copy with this name. Raises `NotFoundError`."""
    for one in kept_databases(data_dir):
        if one.name == name:
            return one
    raise NotFoundError(
        _("There is no kept database {name}.").format(name=f"{name!r}"),
        hint=_("Run `docmind snapshot list` to see them."),
    )


def remove_database(data_dir: Path, name: str) -> None:
    """Remove a copy; files beside it that are not DocMind's stay. Raises `NotFoundError`, `VaultError`."""
    folder = data_dir / "snapshots" / find_kept(data_dir, name).name
    try:
        _drop(folder)
    except OSError as error:
        raise VaultError(
            _("{path} can't be removed: {strerror}.").format(path=folder, strerror=error.strerror)
        ) from error


def expire_databases(data_dir: Path, days: float, ages: Ages) -> int:
    """Remove copies that have been there for so many days, and those that a killed process left incomplete.

    Raises `DiskFullError` where their ages cannot be noted.
    """
    ages.note(_STATE, [one.name for one in kept_databases(data_dir)])
    old = {name for name, age_ms in ages.of(_STATE).items() if age_ms > days * _DAY_MS}
    gone = 0
    for folder in _folders(data_dir):
        if KEPT_DATABASE.fullmatch(folder.name) and (folder.name in old or not is_regular(folder / _DATABASE)):
            with contextlib.suppress(OSError):  # tried again at the next opening
                _drop(folder)
                gone += 1
    return gone


def holds_document(data_dir: Path, name: str, key: bytes, doc_ids: Iterable[str]) -> bool:
    """Return whether a copy has any of these documents.

    Where it cannot be read the result is True, so that it is named rather than forgotten.
    """
    path = data_dir / "snapshots" / name / _DATABASE
    try:
        db = _connected(path, key, "mode=ro&immutable=1")
        try:
            query = "SELECT 1 FROM documents WHERE doc_id = ?"
            return any(db.execute(query, (doc_id,)).fetchone() for doc_id in doc_ids)
        finally:
            db.close()
    except (dbapi2.Error, sqlite3.Error):
        return True


def go_back(data_dir: Path, name: str, key: bytes) -> KeptDatabase:
    """Replace `vault.db` and its mark by a copy, and keep what is replaced as another one, which is returned.

    The caller holds the lock of the vault, and the database is closed. A process killed in between leaves a database
    that does not agree with its mark, which is refused until this is called again. Raises `NotFoundError`,
    `DamagedError` where the copy is not whole, `VaultBusyError`, `DiskFullError`, `VaultError`; nothing is changed
    then.
    """
    kept = find_kept(data_dir, name)
    folder = data_dir / "snapshots" / kept.name
    schema_of(folder / _DATABASE, key)
    now = keep_database(data_dir, _folded(data_dir / _DATABASE, key))
    try:
        _copy(folder / _DATABASE, data_dir / _DATABASE, data_dir / f"{_DATABASE}-new")
        if is_regular(folder / _MARK):
            _copy(folder / _MARK, data_dir / _MARK, data_dir / f".mark.{secrets.token_hex(4)}.new")
        else:
            (data_dir / _MARK).unlink(missing_ok=True)
        sync_folder(data_dir)
    except OSError as error:
        why = VaultError(_("{path} cannot be written: {strerror}.").format(path=data_dir, strerror=error.strerror))
        raise disk_error(error, why) from error
    return now


def _folded(path: Path, key: bytes) -> int:
    """Fold the log of a closed database into it, and return the number of its last migration."""
    try:
        db = _connected(path, key, "mode=rw")
        try:
            if db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                raise VaultBusyError(_("{name} is in use by another program.").format(name=path.name))
            return int(db.execute("SELECT max(number) FROM migrations").fetchone()[0] or 0)
        finally:
            db.close()
    except (dbapi2.Error, sqlite3.Error) as error:
        raise DamagedError(
            _("{name} is damaged or was changed: it does not open with its key.").format(name=path.name)
        ) from error


def _connected(path: Path, key: bytes, how: str) -> Connection:
    db = dbapi2.connect(f"{path.resolve().as_uri()}?{how}", uri=True, isolation_level=None)
    db.execute("PRAGMA cipher_log_level = NONE")
    db.execute(f"PRAGMA key = \"x'{key.hex()}'\"")
    return db


def _folders(data_dir: Path) -> list[Path]:
    folder = data_dir / "snapshots"
    if not is_folder(folder):
        return []
    return [folder / entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]


def _copy(source: Path, target: Path, beside: Path | None = None) -> None:
    """Copy a file under a temporary name, sharing its blocks where that is possible, then rename it into place."""
    beside = beside or target.with_name(f".new-{secrets.token_hex(8)}")
    with open(source, "rb") as old, replacing(target, beside=beside) as new:
        if not _shared(old.fileno(), new.fileno(), os.fstat(old.fileno()).st_size):
            old.seek(0)
            new.seek(0)
            new.truncate()
            shutil.copyfileobj(old, new, _AT_ONCE)


def _shared(source: int, target: int, size: int) -> bool:
    """Copy inside the kernel, which shares blocks on file systems that can; False where it cannot copy so."""
    copy = getattr(os, "copy_file_range", None)
    if copy is None:
        return False
    try:
        while size > 0:
            done = copy(source, target, min(size, _AT_ONCE))
            if not done:
                return False
            size -= done
    except OSError as error:
        if is_disk_full(error):
            raise
        return False
    return True


def _drop(folder: Path) -> None:
    for path in (folder / _DATABASE, folder / _MARK, *own_files(folder, UNFINISHED)):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # something foreign lies in it
        folder.rmdir()
