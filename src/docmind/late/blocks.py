"""A file of int8 rows, all of one length: it grows by `write` and is read through a map, never written through one.

Written through a map, a full disk would end the process. Nothing is ever cut off either: a search may be reading there.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
from pathlib import Path

import numpy as np

from docmind.errors import DiskFullError, VaultError

_ZEROS = 1 << 20


class Blocks:
    """One such file, which may be missing. Any thread may ask for `rows`; who writes sees to being the only one."""

    def __init__(self, path: Path, dim: int, *, min_free: int = 0) -> None:
        self.path, self.dim = path, dim
        self._min_free = min_free
        self._mapped: tuple[tuple[int, int], np.ndarray] = ((0, 0), np.empty((0, dim), np.int8))

    def __len__(self) -> int:
        """Whole rows in the file."""
        return self._stat()[1] // self.dim

    def rows(self, least: int = 0) -> np.ndarray:
        """`(n, dim)` int8 that cannot be written: all rows, or at least `least` where that is known to be enough.

        It stays as it is when the file grows.
        """
        node, size = self._stat()
        (mapped, had), array = self._mapped
        if mapped != node or had > size or (had < size and len(array) < max(least, 1)):
            array = self._map(size // self.dim * self.dim)
            self._mapped = (node, size), array
        return array

    def write(self, start: int, rows: np.ndarray) -> None:
        """Put rows at `start`, on the disk when it returns. Raises `DiskFullError`, `VaultError`."""
        growth = (start + len(rows)) * self.dim - self._stat()[1]
        if growth > 0:
            room(self.path.parent, growth + self._min_free)
        self._put(start, memoryview(np.ascontiguousarray(rows).data).cast("B"))

    def zero(self, start: int, length: int) -> None:
        """Leave nothing of these rows; those that are zero already are not written. Raises as `write` does."""
        step = max(1, _ZEROS // self.dim)
        for at in range(start, start + length, step):
            size = min(step, start + length - at)
            if self.rows(start + length)[at : at + size].any():
                self._put(at, memoryview(bytes(size * self.dim)))

    def remove(self) -> None:
        """Take the file away; where the system keeps it because it is being read, a later sweep does."""
        self.close()
        try:
            self.path.unlink(missing_ok=True)
        except (PermissionError, IsADirectoryError):  # Windows, while a search reads it; or it is none of ours
            return

    def close(self) -> None:
        """Give the map back once nobody reads it."""
        self._mapped = (0, 0), np.empty((0, self.dim), np.int8)

    def _put(self, start: int, data: memoryview) -> None:
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                file.seek(start * self.dim)
                written = 0
                while written < len(data):  # a full disk takes a part first
                    written += file.write(data[written:]) or 0
                os.fsync(file.fileno())
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFullError("The disk is full: what a model made of a page could not be kept.") from error
            raise VaultError(f"{self.path.name} cannot be written: {error.strerror}.") from error

    def _stat(self) -> tuple[int, int]:
        """Which file it is, and its bytes; nothing where there is none."""
        try:
            found = self.path.stat()
        except OSError:
            return 0, 0
        return found.st_ino, found.st_size

    def _map(self, size: int) -> np.ndarray:
        if not size:
            return np.empty((0, self.dim), np.int8)
        try:
            with self.path.open("rb") as file:
                mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # gone, or shorter, since it was looked at
            return np.empty((0, self.dim), np.int8)
        return np.frombuffer(mapped, np.int8).reshape(-1, self.dim)


def room(folder: Path, needed: int) -> None:
    """Raise `DiskFullError` where less than `needed` bytes are free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DiskFullError(
            f"The disk has {free >> 20} MB free; to keep what a model made of a page it needs {(needed >> 20) + 1} MB."
        )
