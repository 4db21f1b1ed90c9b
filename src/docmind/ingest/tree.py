"""A folder of the user's disk: its files are found and read without following links.

Names are hostile: they are compared and shown, never interpreted. A link is never followed, so no loop has an end to
look for and nothing outside the folder is read.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, NamedTuple

from docmind.errors import FolderError
from docmind.ingest.withheld import Identity, identity_of
from docmind.storage import LARGEST_KEY_FILE, is_key_file
from docmind.wording import _, number_text

MOST_FILES, _DEEPEST = 100_000, 64
_ID = 2**63 - 1  # of a file's number as much as SQLite stores
_CAN_DESCEND = (
    {os.open, os.stat} <= os.supports_dir_fd
    and os.scandir in os.supports_fd
    and hasattr(os, "O_NOFOLLOW")
    and hasattr(os, "O_DIRECTORY")
)
"""Whether names can be opened below an open folder (`openat`); Windows has no such call."""
_NO_LINK, _IS_FOLDER = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_DIRECTORY", 0)
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | _IS_FOLDER | _NO_LINK  # O_PATH: also through a folder that hides its names
_LIST = os.O_RDONLY | _IS_FOLDER | _NO_LINK
_READ = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_LIBRARY = ("vault.json", "vault.db")  # what every data folder holds
_BEHIND = "it is a link, or lies behind one"
_CHANGED = "a folder above it was exchanged while it was read"
_NO_FILE = "it is not a regular file"
_WITHHELD = "it is hidden, or belongs to DocMind"


class WithheldError(PermissionError):
    """A path has a hidden part, or leads to a key file or a folder of DocMind's own."""

    def __init__(self) -> None:
        super().__init__(errno.EACCES, _WITHHELD)


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


class Tree:
    """The files below a folder, without hidden ones, links, and DocMind's own key files and folders. Thread-safe.

    Each part of a path is opened below the descriptor of the part before it, without following links, and what is open
    is checked. So a folder that is exchanged for a link after it was listed leads nowhere. Without `by_descriptors`, as
    on Windows, the parts are checked by path, before and after, and the opened file must be the one that the path named
    both times.
    """

    def __init__(self, root: Path, own: Collection[Identity], *, by_descriptors: bool = _CAN_DESCEND) -> None:
        """`root` is a whole path without links; `own` is from `own_places`."""
        self._root, self._own, self._by_descriptors = root, frozenset(own), by_descriptors

    def scan(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> Scan:
        """Return the files that the patterns do not leave out, in no certain order.

        Raises `FolderError` where the folder itself cannot be opened, or holds more than 100,000 files.
        """
        found = Scan()
        waiting: list[tuple[str, int]] = [("", 0)]
        while waiting:
            below, depth = waiting.pop()
            try:
                folders, files = self._listed(below, exclude)
            except OSError as error:
                if not below:
                    raise self._closed(error) from error
                found.unreadable += not isinstance(error, WithheldError)
                continue
            found.files += [seen for seen in files if not include or _matches(seen.path, include)]
            if depth < _DEEPEST:
                waiting += [(path, depth + 1) for path in folders]
            else:
                found.unreadable += len(folders)
            if len(found.files) > MOST_FILES:
                raise FolderError(
                    _("The folder {root} holds more than {most_files} files.").format(
                        root=self._root, most_files=number_text(MOST_FILES)
                    ),
                    hint=_("Choose a smaller folder, or leave files out with --exclude."),
                )
        return found

    def files(self) -> tuple[list[TreeFile], int]:
        """Return all files by path, and the number of folders that could not be opened. Raises as `scan`."""
        found = self.scan()
        return [TreeFile(self, seen.path, seen.size) for seen in sorted(found.files)], found.unreadable

    def find(self, path: str) -> list[TreeFile]:
        """Return the file of this path, or where it is a folder, the files below it.

        Raises `OSError`, `WithheldError`, and as `scan`.
        """
        if not path:
            return self.files()[0]
        above, _sep, name = path.rpartition("/")
        _check_shown(name)
        with self._held(above) as place:
            told = _status(place, name)
        if stat.S_ISDIR(told.st_mode):
            with self._held(path):  # not DocMind's own
                below = Tree(self._root / path, self._own, by_descriptors=self._by_descriptors)
            return below.files()[0]
        if not stat.S_ISREG(told.st_mode):
            raise OSError(errno.EINVAL, _NO_FILE)
        return [TreeFile(self, path, told.st_size)]

    def open(self, path: str) -> IO[bytes]:
        """Open a regular file below the folder. Raises `OSError`, and `WithheldError`."""
        above, _sep, name = path.rpartition("/")
        _check_shown(name)
        with ExitStack() as opened:
            with self._held(above) as place:
                descriptor = self._descriptor(place, name)
                opened.callback(os.close, descriptor)
                told = os.fstat(descriptor)
                if not stat.S_ISREG(told.st_mode):
                    raise OSError(errno.EINVAL, _NO_FILE)
                if identity_of(told) in self._own or _is_key(descriptor, told):
                    raise WithheldError
                if isinstance(place, str) and (
                    identity_of(_status(place, name)) != identity_of(told) or not self._is_below(descriptor, path)
                ):
                    raise OSError(errno.ELOOP, _CHANGED)
            opened.pop_all()
        return os.fdopen(descriptor, "rb")

    def read(self, seen: Seen, limit_bytes: int) -> tuple[Seen, bytes] | None:
        """Return a file's bytes, and what it was when they were read.

        Returns None where it cannot be read, is no regular file any more, is larger than the limit or changed
        meanwhile.
        """
        try:
            with self.open(seen.path) as file:
                before = os.fstat(file.fileno())
                if before.st_size > limit_bytes:
                    return None
                data = file.read(limit_bytes + 1)
                after = os.fstat(file.fileno())
        except OSError:
            return None
        if len(data) > limit_bytes or (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, len(data)):
            return None
        return seen._replace(mtime_ns=after.st_mtime_ns, size=len(data)), data

    # inside

    def _closed(self, error: OSError) -> FolderError:
        if isinstance(error, FileNotFoundError):
            return FolderError(
                _("The folder {root} is not there.").format(root=self._root),
                hint=_("Connect its disk, or remove it from the list."),
            )
        return FolderError(
            _("The folder {root} cannot be opened: {reason}.").format(root=self._root, reason=error.strerror),
            hint=_("Check its permissions."),
        )

    def _listed(self, below: str, exclude: Sequence[str]) -> tuple[list[str], list[Seen]]:
        """Return the paths of the folders in a folder, and its files. Raises `OSError`."""
        folders, files = list[str](), list[Seen]()
        with self._held(below) as place, _entries(place) as entries:
            for entry in entries:
                path = f"{below}/{entry.name}" if below else entry.name
                if entry.name.startswith(".") or _matches(path, exclude):
                    continue
                try:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(path)
                    elif entry.is_file(follow_symlinks=False):
                        # What Windows tells with a name lacks the file's number.
                        told = entry.stat(follow_symlinks=False) if isinstance(place, int) else os.lstat(entry.path)
                        if identity_of(told) not in self._own:
                            files.append(Seen(path, told.st_ino & _ID, told.st_mtime_ns, told.st_size))
                except OSError:  # removed meanwhile
                    continue
        return sorted(folders), sorted(files)

    @contextmanager
    def _held(self, below: str) -> Iterator[int | str]:
        """Give what names in a folder are opened by: the folder's descriptor, or its path.

        Raises `OSError`, also at the end where the path led elsewhere meanwhile, and `WithheldError`.
        """
        parts = [part for part in below.split("/") if below]
        for part in parts:
            _check_shown(part)
        parts = [*self._root.parts[1:], *parts]
        if not self._by_descriptors:
            path, before = self._by_path(parts)
            yield path
            if self._by_path(parts)[1] != before:
                raise OSError(errno.ELOOP, _CHANGED)
            return
        descriptor = os.open(self._root.anchor, _PASS)
        try:
            for part in parts:
                inner = _passed(part, descriptor)
                os.close(descriptor)
                descriptor = inner
                self._check_not_own(os.fstat(descriptor), descriptor)
            yield descriptor
        finally:
            os.close(descriptor)

    def _by_path(self, parts: Sequence[str]) -> tuple[str, list[Identity]]:
        """Return the path of a folder, and the identities of all folders on the way. Raises as `_held`."""
        path, passed = self._root.anchor, list[Identity]()
        for part in parts:
            path = os.path.join(path, part)
            told = os.lstat(path)
            if not stat.S_ISDIR(told.st_mode) or _is_reparse_point(told):
                raise OSError(errno.ELOOP, _BEHIND)
            self._check_not_own(told, path)
            passed.append(identity_of(told))
        return path, passed

    def _is_below(self, descriptor: int, path: str) -> bool:
        """Return whether an open file is the one of this path: a folder may be exchanged and back between two checks.

        True where the system does not tell where an open file lies.
        """
        lies = _path_of(descriptor)
        return lies is None or os.path.normcase(lies) == os.path.normcase(self._root.joinpath(*path.split("/")))

    def _check_not_own(self, told: os.stat_result, place: int | str) -> None:
        if identity_of(told) in self._own or all(_holds(place, name) for name in _LIBRARY):
            raise WithheldError

    def _descriptor(self, place: int | str, name: str) -> int:
        if isinstance(place, int):
            try:
                return os.open(name, _READ, dir_fd=place)
            except OSError as error:
                raise _told(error) from error
        told = _status(place, name)
        if stat.S_ISLNK(told.st_mode) or _is_reparse_point(told):
            raise OSError(errno.ELOOP, _BEHIND)
        return os.open(f"{place}{os.sep}{name}", _READ)


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file below a folder: its path there, and its size when it was found."""

    tree: Tree
    path: str
    size: int = 0

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def open(self) -> IO[bytes]:
        """Open the file as `Tree.open` does."""
        return self.tree.open(self.path)


@contextmanager
def _entries(place: int | str) -> Iterator[Iterator[os.DirEntry[str]]]:
    if isinstance(place, str):
        with os.scandir(place) as entries:
            yield entries
        return
    descriptor = os.open(".", _LIST, dir_fd=place)
    try:
        with os.scandir(descriptor) as entries:
            yield entries
    finally:
        os.close(descriptor)


def _passed(name: str, descriptor: int) -> int:
    try:
        return os.open(name, _PASS, dir_fd=descriptor)
    except OSError as error:
        raise _told(error) from error


def _told(error: OSError) -> OSError:
    """Return the error with a reason that names a link; the system says "Not a directory" of one to a folder."""
    return OSError(errno.ELOOP, _BEHIND) if error.errno in (errno.ELOOP, errno.ENOTDIR) else error


def _path_of(descriptor: int) -> str | None:
    """Return where an open file lies now, without links; None where the system does not tell."""
    if sys.platform == "win32":
        import ctypes
        import msvcrt

        path = ctypes.create_unicode_buffer(32_768)
        handle = ctypes.c_void_p(msvcrt.get_osfhandle(descriptor))
        if not ctypes.windll.kernel32.GetFinalPathNameByHandleW(handle, path, len(path), 0):
            return None
        told = path.value
        return "\\\\" + told[8:] if told.startswith("\\\\?\\UNC\\") else told.removeprefix("\\\\?\\")
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return None


def _status(place: int | str, name: str) -> os.stat_result:
    if isinstance(place, int):
        return os.stat(name, dir_fd=place, follow_symlinks=False)
    return os.lstat(f"{place}{os.sep}{name}")


def _holds(place: int | str, name: str) -> bool:
    try:
        _status(place, name)
    except OSError:
        return False
    return True


def _is_key(descriptor: int, told: os.stat_result) -> bool:
    if told.st_size > LARGEST_KEY_FILE:
        return False
    data = os.read(descriptor, LARGEST_KEY_FILE + 1)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return is_key_file(data)


def _check_shown(name: str) -> None:
    """Raise `WithheldError` for the name of a hidden file or folder, and for `.` and `..`."""
    if name.startswith("."):
        raise WithheldError


def _is_reparse_point(told: os.stat_result) -> bool:
    """Return whether this is a junction or another redirection of Windows."""
    return bool(getattr(told, "st_file_attributes", 0) & getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0))


def _matches(path: str, patterns: Sequence[str]) -> bool:
    """Return whether a path, its name, or a folder above it matches one of the patterns, regardless of case."""
    return any(fnmatchcase(one, pattern.casefold()) for pattern in patterns for one in _forms(path.casefold()))


def _forms(path: str) -> Iterator[str]:
    yield path
    yield path.rpartition("/")[2]
