"""DocMind's own files: opened and written owner-only, atomic, without following links; and room on the disk.

The reserve keeps space in the data folder for when the disk is full. A vault on a full disk cannot even be listed:
SQLite needs 32 KB for the index of its log before it reads a row. Deleting a document writes as many bytes to the log
as its rows take, because deleted rows are overwritten: 52 KB for a page of 50 lines (measured). 8 MB are enough to open
the vault and to delete a document of 150 such pages.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from docmind.errors import DiskFullError, DocMindError, VaultError
from docmind.wording import _

_LINK = "it is a symbolic link, and DocMind follows none to a file of its own"
_NO_FILE = "it is not a regular file"
_LONGEST = 40  # characters of a name that its temporary name repeats; file systems limit names to 255 bytes
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def keep_private() -> None:
    """Make new files of this process and its children readable by their owner only (umask 077).

    Windows has no umask: there a new file inherits the access list of its folder, which in a user's profile names that
    user, the system and administrators.
    """
    if os.name == "posix":
        os.umask(0o077)


def open_own(path: Path, flags: int) -> int:
    """Open a regular file and return its descriptor; mode 0600 where `flags` creates it.

    Links are refused.

    POSIX refuses symbolic links by itself (`O_NOFOLLOW`). Windows lacks that flag, so the path is checked first: a link
    made in between would be followed, but making one needs a privilege there. A FIFO does not block, and is refused.
    Raises `OSError` with a `strerror` that completes "The file cannot be opened: …".
    """
    if not hasattr(os, "O_NOFOLLOW") and path.is_symlink():
        raise OSError(errno.ELOOP, _LINK, str(path))
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        if path.is_symlink():
            raise OSError(errno.ELOOP, _LINK, str(path)) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, _NO_FILE, str(path))
    return descriptor


def reading(path: Path) -> IO[bytes]:
    """Open a file for reading. Raises `OSError` as `open_own` does."""
    return os.fdopen(open_own(path, os.O_RDONLY), "rb")


def read_own(path: Path) -> bytes:
    """Return the contents of a file. Raises `OSError` as `open_own` does."""
    with reading(path) as file:
        return file.read()


@contextlib.contextmanager
def replacing(
    path: Path, *, replace: bool = True, beside: Path | None = None, is_rename_synced: bool = True
) -> Iterator[IO[bytes]]:
    """Yield a new file of mode 0600 that gets the name `path` at the end of the block, complete and durable.

    On any exception `path` is as before and the new file is removed. A symbolic link at `path` is replaced, not
    followed. `beside` is the path of the new file until then, for folders in which only known names may lie: a file of
    that name, left by a killed process, is removed first. Without `is_rename_synced` the caller calls `sync_folder`,
    once for several files. Raises `OSError`; without `replace`, `FileExistsError` where the file exists already.
    """
    if beside is None:
        beside = path.with_name(f".{path.name[:_LONGEST]}.{secrets.token_hex(4)}.new")
    else:
        beside.unlink(missing_ok=True)
    try:
        with os.fdopen(open_own(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        (os.replace if replace else _give_name)(beside, path)
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
    if is_rename_synced:
        sync_folder(path.parent)  # the rename too must survive a power cut


def unfinished(path: Path) -> re.Pattern[str]:
    """Return the form of the temporary names of `replacing`; a killed process leaves such a file behind."""
    return re.compile(re.escape(f".{path.name[:_LONGEST]}.") + r"[0-9a-f]{8}\.new")


def write_private(path: Path, data: bytes, *, replace: bool) -> None:
    """Write a file of mode 0600 atomically; it is durable when this returns.

    A symbolic link at `path` is replaced, not followed. Raises `DiskFullError` or `VaultError`; without `replace`,
    `FileExistsError` where the file exists already.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replacing(path, replace=replace) as file:
            file.write(data)
    except FileExistsError:
        raise
    except OSError as error:
        raise disk_error(
            error, VaultError(_("{path} cannot be written: {strerror}.").format(path=path, strerror=error.strerror))
        ) from error


def erase_file(path: Path) -> None:
    """Overwrite a file with random bytes and remove it, durably; nothing where there is none.

    A disk may keep the old bytes elsewhere, as SSDs and file systems that copy on write do. Raises `VaultError`.
    """
    try:
        with os.fdopen(open_own(path, os.O_RDWR), "r+b", buffering=0) as file:
            file.write(secrets.token_bytes(os.fstat(file.fileno()).st_size))
            os.fsync(file.fileno())
        path.unlink()
        sync_folder(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise VaultError(
            _("{path} can't be removed: {strerror}.").format(path=path, strerror=error.strerror)
        ) from error


def is_disk_full(error: OSError) -> bool:
    """Return whether a call failed because the disk or the user's quota is full."""
    return error.errno in _NO_ROOM


def disk_error(error: OSError, otherwise: DocMindError, full: DiskFullError | None = None) -> DocMindError:
    """Return what to raise for a failed call: `full` where the disk is full, else `otherwise`.

    Without `full`, a `DiskFullError` with the message of `otherwise`.
    """
    if not is_disk_full(error):
        return otherwise
    return full or DiskFullError(str(otherwise))


def free_bytes(folder: Path) -> int:
    """Return the free space of the disk that holds a folder."""
    return shutil.disk_usage(folder).free


def check_room(folder: Path, needed: int, message: str) -> None:
    """Raise `DiskFullError` where less than `needed` bytes are free.

    In the message, `{folder}` is the folder; `{free}` and `{needed}` are in MB of 2^20 bytes.
    """
    free = free_bytes(folder)
    if free < needed:
        raise DiskFullError(message.format(folder=folder, free=free >> 20, needed=-(-needed >> 20)))


def sync_folder(folder: Path) -> None:
    """Make the renames in a folder durable.

    Does nothing on Windows, where NTFS journals renames.
    """
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_regular(path: Path) -> bool:
    """Return whether the path itself is a regular file; a symbolic link to one is not."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Return whether the path itself is a folder; a symbolic link to one is not."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _give_name(beside: Path, path: Path) -> None:
    """Rename without replacing. Raises `FileExistsError`."""
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            raise FileExistsError(path) from None
        os.rename(beside, path)


SIZE = 8 << 20  # bytes
OPENING = 1 << 20  # bytes that opening, listing and showing need, with a margin
_LEFT = 1 << 20  # bytes that stay free for others when the reserve is filled
_STEP = 1 << 20


class Reserve:
    """The file `reserve` of a data folder. Thread-safe; only the owner of the vault uses it.

    It holds random bytes, because a compressing file system reserves no space for zeros. The bytes have no meaning, and
    a backup may omit the file.
    """

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "reserve"
        self._lock = threading.Lock()
        self._is_closed = False

    def make_room(self, needed: int = SIZE) -> None:
        """Shrink the reserve until `needed` bytes are free, or to nothing where that is not enough.

        Raises nothing: an operation that still lacks room reports it itself.
        """
        with self._lock:
            missing = needed - free_bytes(self._path.parent)
            held = self._held()
            if missing > 0 and held and not self._is_closed:
                self._resize(max(0, held - missing))

    def refill(self) -> None:
        """Fill the reserve as far as there is room.

        Does nothing on a disk that is full or read-only.
        """
        with self._lock:
            held = self._held()
            wanted = min(SIZE, held + free_bytes(self._path.parent) - _LEFT)
            if wanted > held and not self._is_closed:
                self._fill(held, wanted)

    def close(self) -> None:
        """Fill the reserve, then ignore later calls, as the vault may get another owner. Idempotent."""
        self.refill()
        self._is_closed = True

    def _held(self) -> int:
        return self._path.lstat().st_size if is_regular(self._path) else 0

    def _resize(self, size: int) -> None:
        try:
            with os.fdopen(open_own(self._path, os.O_RDWR), "r+b", buffering=0) as file:
                file.truncate(size)
        except OSError:  # a read-only vault: reading needs no room
            return

    def _fill(self, held: int, wanted: int) -> None:
        try:
            with os.fdopen(open_own(self._path, os.O_RDWR | os.O_CREAT), "r+b", buffering=0) as file:
                file.seek(held)
                while held < wanted:
                    held += file.write(secrets.token_bytes(min(_STEP, wanted - held))) or 0
        except OSError:  # the disk is full by now, or read-only: what was written is kept, the rest follows later
            return
