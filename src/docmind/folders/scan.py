"""The files of a folder, found and read without following links.

Names are hostile: they are compared and shown, never interpreted. A link is never followed, so no loop has an end to
look for and nothing outside the folder is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from docmind.errors import FolderError
from docmind.wording import _, number_text

MOST_FILES, _DEEPEST = 100_000, 64
_ID = 2**63 - 1  # of a file's number as much as SQLite stores


class Seen(NamedTuple):
    """One file: its path below the folder with `/`, and what tells that it changed. `file_id` 0 where there is none."""

    path: str
    file_id: int
    mtime_ns: int
    size: int

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass
class Scan:
    """What a folder holds: `files` that match the patterns, and the number of folders that could not be opened."""

    files: list[Seen] = field(default_factory=list)
    unreadable: int = 0


def scan(root: Path, include: Sequence[str], exclude: Sequence[str]) -> Scan:
    """Return the files below a folder, without hidden ones, links and what the patterns leave out.

    Raises `FolderError` where the folder itself cannot be opened, or holds more than 100,000 files.
    """
    found = Scan()
    try:
        if not root.is_dir():
            raise FolderError(
                _("The folder {root} is not there.").format(root=root),
                hint=_("Connect its disk, or remove it from the list."),
            )
        os.scandir(root).close()
    except OSError as error:
        raise FolderError(
            _("The folder {root} cannot be opened: {reason}.").format(root=root, reason=error.strerror),
            hint=_("Check its permissions."),
        ) from error
    waiting: list[tuple[str, int]] = [("", 0)]
    while waiting:
        below, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(root / below), key=lambda entry: entry.name)
        except OSError:
            found.unreadable += 1
            continue
        for entry in entries:
            path = f"{below}/{entry.name}" if below else entry.name
            if entry.name.startswith(".") or _matches(path, exclude):
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    if depth < _DEEPEST:
                        waiting.append((path, depth + 1))
                    else:
                        found.unreadable += 1
                elif entry.is_file(follow_symlinks=False) and (not include or _matches(path, include)):
                    told = entry.stat(follow_symlinks=False)
                    found.files.append(Seen(path, told.st_ino & _ID, told.st_mtime_ns, told.st_size))
            except OSError:  # removed meanwhile
                continue
        if len(found.files) > MOST_FILES:
            raise FolderError(
                _("The folder {root} holds more than {most_files} files.").format(
                    root=root, most_files=number_text(MOST_FILES)
                ),
                hint=_("Choose a smaller folder, or leave files out with --exclude."),
            )
    return found


def read(root: Path, seen: Seen, limit_bytes: int) -> tuple[Seen, bytes] | None:
    """Return a file's bytes, and what it was when they were read.

    Returns None where it cannot be read, is no regular file any more, is larger than the limit or changed meanwhile.
    """
    path = root / seen.path
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        if path.is_symlink():  # Windows has no flag for it
            return None
        with os.fdopen(os.open(path, flags), "rb") as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode) or before.st_size > limit_bytes:
                return None
            data = file.read(limit_bytes + 1)
            after = os.fstat(file.fileno())
    except OSError:
        return None
    if len(data) > limit_bytes or (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, len(data)):
        return None
    return seen._replace(mtime_ns=after.st_mtime_ns, size=len(data)), data


def _matches(path: str, patterns: Sequence[str]) -> bool:
    """Return whether a path, its name, or a folder above it matches one of the patterns, regardless of case."""
    return any(fnmatchcase(one, pattern.casefold()) for pattern in patterns for one in _forms(path.casefold()))


def _forms(path: str) -> Iterator[str]:
    yield path
    yield path.rpartition("/")[2]


def files_below(root: Path) -> list[Path]:
    """Return the paths of all files below a folder, without hidden ones and links. Raises as `scan`."""
    return [root / seen.path for seen in scan(root, (), ()).files]
