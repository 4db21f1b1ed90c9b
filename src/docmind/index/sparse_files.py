"""Sparse files: the engine preallocates 100 MB for a collection that holds 1 MB.

Only non-zero data is read, copied and sealed. An allocated block of zeros becomes a hole again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np

BLOCK = 4_096
_AT_ONCE = 1 << 20

Extent = tuple[int, bytes]


def files_of(folder: Path) -> Iterator[Path]:
    """Yield the regular files below a folder sorted by path; symbolic links are neither listed nor followed."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                yield path


def folders_of(folder: Path) -> Iterator[Path]:
    """Yield the folders below a folder, each after its parent."""
    for place, folders, _ in os.walk(folder):
        folders.sort()
        for name in folders:
            if not (path := Path(place, name)).is_symlink():
                yield path


def extents(handle: int) -> Iterator[Extent]:
    """Yield the non-zero parts of an open file: offsets and bytes, in order, cut at blocks of 4 KiB and at 1 MiB.

    They are read with `pread`, not mapped: on tmpfs reading a mapped hole allocates a page of memory.
    """
    size, at = os.fstat(handle).st_size, 0
    seek_data = getattr(os, "SEEK_DATA", None)
    while at < size:
        if seek_data is not None:
            try:
                at = os.lseek(handle, at, seek_data) // BLOCK * BLOCK
            except OSError:  # ENXIO: only a hole is left
                return
        data = _read_at(handle, at, min(_AT_ONCE, size - at))
        if not data:
            return
        yield from ((at + start, data[start:end]) for start, end in _runs(data))
        at += len(data)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a folder with its holes; only files and folders are copied. Raises `OSError`."""
    target.mkdir(mode=0o700)
    for folder in folders_of(source):
        (target / folder.relative_to(source)).mkdir(mode=0o700)
    for path in files_of(source):
        with open(path, "rb") as read, open(target / path.relative_to(source), "xb") as written:
            for offset, data in extents(read.fileno()):
                written.seek(offset)
                written.write(data)
            written.truncate(os.fstat(read.fileno()).st_size)


def _runs(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield spans of the non-zero blocks, adjacent ones joined."""
    whole = len(data) // BLOCK * BLOCK
    used = np.frombuffer(data, np.uint64, whole // 8).reshape(-1, BLOCK // 8).any(axis=1)
    if whole < len(data):
        used = np.append(used, any(data[whole:]))
    edges = np.flatnonzero(np.diff(np.concatenate(([0], used.astype(np.int8), [0])))) * BLOCK
    for start, end in edges.reshape(-1, 2).tolist():
        yield start, min(end, len(data))


def _read_at(handle: int, at: int, size: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(handle, size, at)
    os.lseek(handle, at, os.SEEK_SET)
    return os.read(handle, size)
