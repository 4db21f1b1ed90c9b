"""The owner lock: one process owns a vault."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import portalocker

from docmind.errors import VaultBusyError, VaultError


class OwnerLock:
    """Holds `data/lock` from construction to `release`. The system frees it when the process dies, however it dies."""

    def __init__(self, data_dir: Path) -> None:
        """Raises `VaultBusyError` at once where another process holds it: it never waits. `VaultError` otherwise."""
        path = data_dir / "lock"
        try:
            # Unbuffered: nothing is left to write where the disk is full, and closing cannot fail.
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 - held for the life of the owner
        except OSError as error:
            raise VaultError(f"{path} cannot be opened: {error.strerror}.") from error
        try:
            portalocker.lock(self._file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.exceptions.LockException as error:
            owner = self._owner()
            self._file.close()
            if isinstance(error, portalocker.exceptions.AlreadyLocked):
                raise VaultBusyError(f"The vault in {data_dir} is in use by another DocMind{owner}.") from error
            raise VaultError(f"The file system of {data_dir} refuses to lock {path.name}: {error}.") from error
        with contextlib.suppress(OSError):  # the number is a courtesy; the lock holds without it
            self._file.truncate(0)
            self._file.write(str(os.getpid()).encode())

    def release(self) -> None:
        """Give the vault back. Harmless twice."""
        if self._file.closed:
            return
        with contextlib.suppress(portalocker.exceptions.LockException):
            portalocker.unlock(self._file)
        self._file.close()

    def _owner(self) -> str:
        try:
            self._file.seek(0)
            pid = self._file.read(20).decode("ascii", "replace").strip()
        except OSError:  # Windows refuses to read a locked file
            return ""
        return f" (process {pid})" if pid.isdigit() else ""
