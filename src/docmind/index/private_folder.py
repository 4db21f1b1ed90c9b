"""A private folder for the index of an open vault: in memory where there is room, else in the temporary folder.

    docmind-index-<32 hex digits>/    mode 0700, of this user
        held                          locked while its owner lives
        lock, current, g000001 …      an index folder, see `docmind.index.edge`

The folder is removed when its owner closes it. Folders of killed owners are removed by the next owner: those of exactly
this form, of this user, whose lock is free.

Of an index folder, private or beside the vault, only DocMind's own files are read, replaced or deleted: a generation
must be a real folder, not a symbolic link, of exactly the form of its name, and hold only the files of a generation.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from docmind.errors import IndexEngineError
from docmind.storage import free_bytes, hold, is_folder
from docmind.wording import _

_IN_MEMORY = ("tmpfs", "ramfs")
_MOUNTS = Path("/proc/self/mountinfo")


def is_in_memory(folder: Path) -> bool:
    """Return whether the file system of a folder is in memory. False where this is unknown (all but Linux)."""
    if sys.platform != "linux":
        return False
    try:
        device = os.stat(folder).st_dev
        wanted = f"{os.major(device)}:{os.minor(device)}"
        with open(_MOUNTS, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                fields = line.split()
                if fields[2] == wanted:
                    return fields[fields.index("-") + 1] in _IN_MEMORY
    except (OSError, ValueError, IndexError):
        return False
    return False


def free_memory() -> int:
    """Return the bytes of memory that programs can still allocate; 0 where this is unknown."""
    import psutil

    return int(psutil.virtual_memory().available)


GENERATION = re.compile(r"g[0-9]{6}")
BROKEN = re.compile(r"g[0-9]{6}\.broken")
SHARDS = ("text", "pages")
_FILES = re.compile(r"lock|state\.json(\.new)?")
_FOLDERS = re.compile(r"(text|pages)(\.new)?")
# Files that the engine creates in a shard's folder.
_ENGINES = re.compile(r"segments|temp_segments|wal|edge_config\.json|(newest|oldest)_clocks\.json|\.tmp.*|.*\.tmp")
_OF_THE_FOLDER = re.compile(r"lock|current(\.new)?|index\.sealed(\.new)?")
_SMALL = 4_096


def is_generation(path: Path) -> bool:
    """Return whether this is a generation made by DocMind, set aside or not."""
    if not (GENERATION.fullmatch(path.name) or BROKEN.fullmatch(path.name)) or not is_folder(path):
        return False
    for entry in os.scandir(path):
        if _FOLDERS.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
            if not all(_ENGINES.fullmatch(name) for name in os.listdir(entry)):
                return False
        elif not (_FILES.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)):
            return False
    return True


def foreign_files(directory: Path) -> list[str]:
    """Return the names of what DocMind did not put into an index folder."""
    if not is_folder(directory):
        return []
    own = (entry for entry in os.scandir(directory) if not _is_own(entry))
    return sorted(entry.name for entry in own)


def _is_own(entry: os.DirEntry[str]) -> bool:
    if GENERATION.fullmatch(entry.name[:7]):
        return is_generation(Path(entry.path))
    return bool(_OF_THE_FOLDER.fullmatch(entry.name)) and entry.is_file(follow_symlinks=False)


def generations(directory: Path) -> list[Path]:
    """Return every generation made by DocMind in an index folder, set aside or not, sorted by name."""
    return [path for path in sorted(directory.iterdir()) if is_generation(path)]


def free_name(directory: Path) -> str:
    """Return the first generation name that is free in the folder."""
    taken = {name[:7] for name in os.listdir(directory)}
    return next(name for number in range(1, 1_000_000) if (name := f"g{number:06d}") not in taken)


def read_small(path: Path) -> bytes:
    """Read the first 4 KB of a regular file, never through a symbolic link. Raises `OSError`."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{path.name} is not a file")
        return stream.read(_SMALL)


PREFIX = "docmind-index-"
HEADROOM = 512 << 20
"""Bytes of memory that must stay free when an index is put into memory."""

_NAME = re.compile(PREFIX + "[0-9a-f]{32}")
_OWN_FILES = re.compile(r"held|lock|current(\.new)?")
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - folders made there have a random name and mode 0700
_YOUNG_S = 60.0  # a folder without a lock may be in the making


class PrivateFolder:
    """A folder used only by this process, until `remove`."""

    def __init__(self, path: Path, held: IO[bytes]) -> None:
        self.path, self._held = path, held
        self.is_in_memory = is_in_memory(path)

    @classmethod
    def make(cls, needed: int, *, in_memory: bool = True) -> PrivateFolder:
        """Make a folder with room for `needed` bytes; in memory if allowed and `HEADROOM` stays free, else on the disk.

        Raises `IndexEngineError` where no folder can be made.
        """
        trouble: OSError | None = None
        for base in _bases():
            if is_in_memory(base) and not (in_memory and has_memory(base, needed)):
                continue
            path = base / (PREFIX + secrets.token_hex(16))
            try:
                path.mkdir(mode=0o700)
                held = hold(path / "held")
            except OSError as error:
                trouble = error
                continue
            if held is not None:
                return cls(path, held)
        if trouble is None:  # a temporary folder in memory with little room: the checks before writing report that
            path = Path(tempfile.mkdtemp()).rename(Path(tempfile.gettempdir(), PREFIX + secrets.token_hex(16)))
            if (held := hold(path / "held")) is not None:
                return cls(path, held)
        raise IndexEngineError(
            _("No private folder for the index can be made: {what}.").format(
                what=trouble.strerror if trouble else "none is left to us"
            ),
            hint=_("Check the temporary folder (TMPDIR), or set DOCMIND_INDEX__AT_REST=blinded."),
        )

    def remove(self) -> None:
        """Delete the folder with its contents. Idempotent. What cannot be deleted now is deleted at the next start."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._held.close()
        shutil.rmtree(self.path, ignore_errors=True)  # Windows does not delete a file that is open


def has_memory(base: Path, needed: int) -> bool:
    """Return whether a file system in memory, and the memory, have room for this many bytes and leave `HEADROOM`."""
    return min(free_bytes(base), free_memory()) >= needed + HEADROOM


def remove_leftovers() -> int:
    """Remove the private folders of owners that have died; return how many."""
    removed = 0
    for base in _bases():
        try:
            entries = [entry for entry in os.scandir(base) if _NAME.fullmatch(entry.name)]
        except OSError:
            continue
        for entry in entries:
            removed += _remove_leftover(Path(entry.path))
    return removed


def _remove_leftover(path: Path) -> bool:
    try:
        if not _is_ours(path):
            return False
        if not (path / "held").exists() and time.time() - os.lstat(path).st_mtime < _YOUNG_S:
            return False
        held = hold(path / "held")
    except OSError:
        return False
    if held is None:
        return False
    PrivateFolder(path, held).remove()
    return True


def _is_ours(path: Path) -> bool:
    """Return whether a folder of this user can only be DocMind's: by its mode, and only files of an index in it."""
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode):
        return False
    if os.name != "nt" and (found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) != 0o700):
        return False
    for entry in os.scandir(path):
        if entry.is_dir(follow_symlinks=False):
            half_made = GENERATION.fullmatch(entry.name) and is_folder(Path(entry.path))
            if not half_made and not is_generation(Path(entry.path)):
                return False
        elif not (_OWN_FILES.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)):
            return False
    return True


def _bases() -> Iterator[Path]:
    """Yield the folders in which a private folder may be made: memory first."""
    seen: set[Path] = set()
    shared = [_SHARED_MEMORY, *(Path(one) for one in (os.environ.get("XDG_RUNTIME_DIR"),) if one)]
    for base in [*(one for one in shared if is_in_memory(one)), Path(tempfile.gettempdir())]:
        if base not in seen and base.is_dir() and os.access(base, os.W_OK | os.X_OK):
            seen.add(base)
            yield base
