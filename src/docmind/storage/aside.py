"""Files set aside: files that `vault.db` does not name are kept for days before they are removed.

A file's name begins with the time it was set aside, in ms since 1970, because others may have had the same name. How
long it has been there is measured by the vault's own clock (`docmind.maintenance`): the computer's can be wrong.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"(\d{13})-([0-9a-f]{64}(?:\.[a-z0-9]{1,8}){1,2}|vault\.db-wal)")


class AsideFolder:
    """The folder `aside` of a vault.

    Thread-safe; handles only regular files with names of its own form.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, path: Path) -> None:
        """Move a file here. Raises `OSError`."""
        os.replace(path, self._place(path.name))

    def copy(self, path: Path) -> Path:
        """Keep a durable copy of a file here. Raises `OSError`."""
        place = self._place(path.name)
        with open(path, "rb") as source, open(place, "xb") as target:
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
        return place

    def find(self, name: str) -> Path | None:
        """Return the newest file that had this name before it was set aside, or None."""
        found = max(((at, path) for at, original, path in self._files() if original == name), default=None)
        return found[1] if found else None

    def names(self) -> set[str]:
        """Return the names that the files had before they were set aside."""
        return {original for _, original, _ in self._files()}

    def paths(self, form: re.Pattern[str]) -> list[Path]:
        """Return the files here that had a name of this form before they were set aside."""
        return [path for _, original, path in self._files() if form.fullmatch(original)]

    def remove(self, name: str) -> int:
        """Remove every file that had this name, and return how many. Raises `OSError`."""
        places = [path for _, original, path in self._files() if original == name]
        for path in places:
            path.unlink(missing_ok=True)
        return len(places)

    def files(self) -> list[tuple[str, Path]]:
        """Return the name that each file had before it was set aside, and where it is now."""
        return [(original, path) for _, original, path in self._files()]

    def _place(self, name: str) -> Path:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        place = self._folder / f"{time.time_ns() // 1_000_000:013}-{name}"
        if self._folder.is_symlink() or not _NAME.fullmatch(place.name):
            raise OSError(f"{name} cannot be set aside in {self._folder}")
        return place

    def _files(self) -> Iterator[tuple[int, str, Path]]:
        if self._folder.is_symlink() or not self._folder.is_dir():
            return
        for entry in os.scandir(self._folder):
            if (match := _NAME.fullmatch(entry.name)) and entry.is_file(follow_symlinks=False):
                yield int(match[1]), match[2], Path(entry.path)
