"""Locks on files: the owner lock of a vault, and a lock that a process holds until it closes the file or ends.

`hold` uses the system's own calls, and what only the owner lock needs is imported there: the engine's process imports
this module, and portalocker costs 40 ms of imports.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeVar

from docmind.errors import VaultBusyError, VaultError
from docmind.wording import _

Opened = TypeVar("Opened")

_BUSY_LOOK_S = 0.2
_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


def hold(path: Path) -> IO[bytes] | None:
    """Lock the file and return it open, or return None where this or another process holds the lock.

    A missing file is created. Raises `OSError`, also where the path is a symbolic link, which could lead to any file.
    """
    flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:  # created only where it is missing: checking another process's folder does not use O_CREAT
        handle = os.open(path, flags)
    except FileNotFoundError:
        handle = os.open(path, flags | os.O_CREAT, 0o600)
    stream = os.fdopen(handle, "ab")
    try:
        _lock(stream.fileno())
    except OSError as error:
        stream.close()
        if error.errno in _TAKEN:
            return None
        raise
    return stream


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def once_free(
    opening: Callable[[], Opened], wait_s: float, meanwhile: Callable[[], Opened | None] = lambda: None
) -> Opened:
    """Open a vault, and where another process owns it try again for so many seconds.

    `meanwhile` is called before each wait; what it returns is used in place of the vault, None waits. Raises
    `VaultBusyError`, and what `opening` and `meanwhile` raise.
    """
    until: float | None = None
    while True:
        try:
            return opening()
        except VaultBusyError:
            if (other := meanwhile()) is not None:
                return other
            until = until or time.monotonic() + wait_s
            if time.monotonic() >= until:
                raise
            time.sleep(_BUSY_LOOK_S)


class OwnerLock:
    """The lock on `data/lock`, held from construction to `release`.

    The system frees it when the process ends.
    """

    def __init__(self, data_dir: Path, *, read_only: bool = False) -> None:
        """Take the lock without waiting.

        With `read_only` it is shared with other readers and nothing is written; without a lock file none is taken.
        Raises `VaultBusyError` where another process holds it, and `VaultError` for other failures.
        """
        import portalocker

        from docmind.storage.files import open_own

        path = data_dir / "lock"
        self._file: IO[bytes] | None = None
        try:
            # Unbuffered: nothing is left to write where the disk is full, and closing cannot fail.
            flags, mode = (os.O_RDONLY, "rb") if read_only else (os.O_RDWR | os.O_CREAT, "r+b")
            self._file = os.fdopen(open_own(path, flags), mode, buffering=0)
        except FileNotFoundError as error:
            if read_only:
                return
            raise VaultError(
                _("{path} cannot be opened: {strerror}.").format(path=path, strerror=error.strerror)
            ) from error
        except OSError as error:
            raise VaultError(
                _("{path} cannot be opened: {strerror}.").format(path=path, strerror=error.strerror)
            ) from error
        try:
            kind = portalocker.LockFlags.SHARED if read_only else portalocker.LockFlags.EXCLUSIVE
            portalocker.lock(self._file, kind | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.exceptions.LockException as error:
            owner = self._owner()
            self._file.close()
            if isinstance(error, portalocker.exceptions.AlreadyLocked):
                raise VaultBusyError(
                    _("The library in {data_dir} is in use by another DocMind{owner}.").format(
                        data_dir=data_dir, owner=owner
                    )
                ) from error
            raise VaultError(
                _("The file system of {data_dir} refuses to lock {name}: {error}.").format(
                    data_dir=data_dir, name=path.name, error=error
                )
            ) from error
        if read_only:
            return
        with contextlib.suppress(OSError):  # the number is only informative; the lock holds without it
            self._file.truncate(0)
            self._file.write(str(os.getpid()).encode())

    def release(self) -> None:
        """Release the lock. Idempotent."""
        if self._file is None or self._file.closed:
            return
        import portalocker

        with contextlib.suppress(portalocker.exceptions.LockException):
            portalocker.unlock(self._file)
        self._file.close()

    def _owner(self) -> str:
        assert self._file is not None
        try:
            self._file.seek(0)
            pid = self._file.read(20).decode("ascii", "replace").strip()
        except OSError:  # Windows refuses to read a locked file
            return ""
        return f" (process {pid})" if pid.isdigit() else ""
