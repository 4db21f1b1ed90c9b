"""Files and folders that a user names, for the command line and for Python.

A path that is named may be a link. Files inside folders are those of `Tree`, which follows none.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import IO

from docmind.config import Settings
from docmind.documents import refused
from docmind.errors import DocMindError, FolderError, NotFoundError, TooLargeError
from docmind.ingest.tree import Tree, TreeFile
from docmind.ingest.withheld import Identity, own_places
from docmind.records.documents import AddResult, Upload
from docmind.wording import _, number_text


class Given:
    """Uploads, files and folders to be added, in one order. Not thread-safe."""

    def __init__(self, given: Iterable[Upload | Path], settings: Settings, limit_mb: int) -> None:
        """Read nothing; a file above `limit_mb` is refused."""
        self._given, self._settings, self._limit_mb = given, settings, limit_mb
        self._refused: list[AddResult | None] = []

    def uploads(self) -> Iterator[Upload]:
        """Yield what can be read, one file in memory at a time."""
        own = own_places(self._settings)
        for one in self._given:
            if isinstance(one, Upload):
                self._refused.append(None)
                yield one
                continue
            for file in _files_of(one, own):
                try:
                    upload = Upload(file.name, read_named(file, self._limit_mb))
                except DocMindError as error:
                    self._refused.append(refused(file.name, error))
                else:
                    self._refused.append(None)
                    yield upload

    def results(self, of_uploads: Iterable[AddResult]) -> list[AddResult]:
        """Return the results of the uploads, and of the files that were refused between them, in order."""
        read = iter(of_uploads)
        return [result or next(read) for result in self._refused]


@dataclass(frozen=True, slots=True)
class Closed:
    """A folder of which not all can be added."""

    name: str
    error: FolderError


def read_named(file: Path | TreeFile | Closed, limit_mb: int) -> bytes:
    """Return the bytes of a file; one that is too large, or endless, is not read into memory."""
    if isinstance(file, Closed):
        raise file.error
    try:
        with file.open() if isinstance(file, TreeFile) else _opened(file) as opened_file:
            if not S_ISREG(os.fstat(opened_file.fileno()).st_mode):
                raise NotFoundError(
                    _("{file} isn't a file.").format(file=file),
                    hint=_("Give the path of a file, or of a folder of files."),
                )
            return bounded(opened_file, file.name, limit_mb)
    except OSError as error:
        raise NotFoundError(
            _("{file} can't be opened: {reason}.").format(file=file, reason=error.strerror),
            hint=_("Check the path and its permissions."),
        ) from error


def bounded(file: IO[bytes], name: str, limit_mb: int) -> bytes:
    """Return the bytes of an open file, which may grow or be endless. Raises `TooLargeError`, `OSError`."""
    limit, size = limit_mb << 20, os.fstat(file.fileno()).st_size
    data = file.read(limit + 1) if size <= limit else b""
    size = max(size, len(data))
    if size > limit:
        raise TooLargeError(
            _("{file} has {size} MB; the limit is {limit} MB.").format(
                file=name, size=f"{size / 2**20:,.0f}", limit=f"{limit_mb:,}"
            ),
            hint=_("Split the file, or raise DOCMIND_READING__MAX_FILE_MB."),
        )
    return data


def _opened(path: Path) -> IO[bytes]:
    """Open a path that the user named; it may be a link. A pipe that nobody writes to does not block."""
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))


def size_of_named(file: Path | TreeFile | Closed | str, limit_mb: int) -> int:
    """Return how many bytes of a file will be stored; 0 for one that `read_named` refuses, and for a web page."""
    size = 0
    if isinstance(file, TreeFile):
        size = file.size
    elif isinstance(file, Path):
        with suppress(OSError):
            stat = file.stat()
            size = stat.st_size if S_ISREG(stat.st_mode) else 0
    return size if size <= limit_mb << 20 else 0


Named = Path | TreeFile | Closed | str
"""A file that a user names, one of a named folder, a folder that cannot be read, or the address of a web page."""


def named_files(paths: Iterable[Path | str], settings: Settings) -> Iterator[Named]:
    """Yield the paths and addresses, and the files inside folders; those that `Tree` leaves out are left out."""
    own = own_places(settings)
    for path in paths:
        if isinstance(path, str):
            yield path
        else:
            yield from _files_of(path, own)


def _files_of(path: Path, own: Collection[Identity]) -> Iterator[Path | TreeFile | Closed]:
    if not path.is_dir():
        yield path
        return
    try:
        files, unreadable = Tree(path.resolve(strict=True), own).files()
    except (FolderError, OSError) as error:
        yield Closed(path.name, error if isinstance(error, FolderError) else _unreadable(1))
        return
    yield from files
    if unreadable:
        yield Closed(path.name, _unreadable(unreadable))


def _unreadable(folders: int) -> FolderError:
    return FolderError(
        _("{unreadable} folders in it could not be opened.").format(unreadable=number_text(folders)),
        hint=_("Check its permissions."),
    )
