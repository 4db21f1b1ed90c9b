"""A file of int8 rows of one length: it grows by `write` and is read through a map, never written through one.

On a full disk, writing through a map would kill the process. The file is never truncated: a search may be reading it.
"""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path

import numpy as np

from docmind.errors import DiskFullError, VaultError
from docmind.storage import check_room, disk_error, is_regular, open_own, reading
from docmind.wording import _

_ZEROS = 1 << 20
TOO_FULL = "The disk has {free} MB free; to keep what a model made of a page it needs {needed} MB."


class Blocks:
    """One such file, which may be missing. `rows` is thread-safe; the caller ensures that there is only one writer."""

    def __init__(self, path: Path, dim: int, *, min_free: int = 0) -> None:
        self.path, self.dim = path, dim
        self._min_free = min_free
        self._mapped: tuple[tuple[int, int], np.ndarray] = ((0, 0), np.empty((0, dim), np.int8))

    def __len__(self) -> int:
        """Return the number of complete rows in the file."""
        return self._stat()[1] // self.dim

    def rows(self, least: int = 0) -> np.ndarray:
        """Return `(n, dim)` int8, read-only: all rows, or at least `least` where the caller needs no more.

        The array does not change when the file grows.
        """
        node, size = self._stat()
        (mapped, had), array = self._mapped
        if mapped != node or had > size or (had < size and len(array) < max(least, 1)):
            array = self._map(size // self.dim * self.dim)
            self._mapped = (node, size), array
        return array

    def write(self, start: int, rows: np.ndarray) -> None:
        """Write rows at `start`; they are on the disk when it returns. Raises `DiskFullError`, `VaultError`."""
        growth = (start + len(rows)) * self.dim - self._stat()[1]
        if growth > 0:
            check_room(self.path.parent, growth + self._min_free, TOO_FULL)
        self._put(start, memoryview(np.ascontiguousarray(rows).data).cast("B"))

    def zero(self, start: int, length: int) -> None:
        """Overwrite these rows with zeros; rows that are zero already are not written. Raises as `write` does."""
        step = max(1, _ZEROS // self.dim)
        for at in range(start, start + length, step):
            size = min(step, start + length - at)
            if self.rows(start + length)[at : at + size].any():
                self._put(at, memoryview(bytes(size * self.dim)))

    def remove(self) -> None:
        """Delete the file; where the system keeps it because it is being read, a later sweep deletes it."""
        self.close()
        if not is_regular(self.path):  # gone, or not DocMind's
            return
        try:
            self.path.unlink(missing_ok=True)
        except PermissionError:  # Windows, while a search reads it
            return

    def close(self) -> None:
        """Release the map; its memory is freed when nobody reads it any more."""
        self._mapped = (0, 0), np.empty((0, self.dim), np.int8)

    def _put(self, start: int, data: memoryview) -> None:
        try:
            with os.fdopen(open_own(self.path, os.O_WRONLY | os.O_CREAT), "wb", buffering=0) as file:
                file.seek(start * self.dim)
                written = 0
                while written < len(data):  # a nearly full disk accepts a part first
                    written += file.write(data[written:]) or 0
                os.fsync(file.fileno())
        except OSError as error:
            raise disk_error(
                error,
                VaultError(_("{name} cannot be written: {reason}.").format(name=self.path.name, reason=error.strerror)),
                DiskFullError(_("The disk is full: what a model made of a page could not be kept.")),
            ) from error

    def _stat(self) -> tuple[int, int]:
        """Return the inode and size of the file; zeros where there is no regular file."""
        try:
            found = self.path.lstat()
        except OSError:
            return 0, 0
        return (found.st_ino, found.st_size) if stat.S_ISREG(found.st_mode) else (0, 0)

    def _map(self, size: int) -> np.ndarray:
        if not size:
            return np.empty((0, self.dim), np.int8)
        try:
            with reading(self.path) as file:
                mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # deleted or truncated since `_stat`
            return np.empty((0, self.dim), np.int8)
        return np.frombuffer(mapped, np.int8).reshape(-1, self.dim)
