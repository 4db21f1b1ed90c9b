"""What files hold, as a short name: equal for equal files, wherever they lie.

Reading gigabytes takes seconds, so the sum of each file is kept beside the models with its size and time. A file that
was touched is read again. The notes name no path, and losing them costs only time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_DIGITS = 16
_Notes = dict[str, dict[str, list[Any]]]
"""Directory (hashed) -> file -> size, time in ns, sha256."""


class Fingerprints:
    """Sums of files, with notes in one JSON file. Safe from any thread; several processes overwrite each other's notes,
    which are then made again."""

    def __init__(self, notes: Path) -> None:
        self._path = notes
        self._lock = threading.Lock()

    def of(self, directory: Path, files: Iterable[str]) -> str:
        """16 hexadecimal digits over names and contents of these files. Raises `OSError`."""
        return combined(self._sums(directory, files))

    def differing(self, directory: Path, told: object) -> str:
        """The first file whose sha256 is not the one that was told; empty where all are, or nothing was told."""
        if not isinstance(told, dict):
            return ""
        there = {name: digest for name, digest in told.items() if (directory / str(name)).is_file()}
        sums = self._sums(directory, there)
        return next((name for name, digest in there.items() if sums[name] != digest), "")

    def note(self, directory: Path, sums: Mapping[str, str]) -> None:
        """Keep sums that are known already, of files that were just written."""
        with self._lock:
            notes = self._read()
            kept = notes.setdefault(_key(directory), {})
            for name, digest in sums.items():
                stat = (directory / name).stat()
                kept[name] = [stat.st_size, stat.st_mtime_ns, digest]
            self._write(notes)

    def forget(self, directory: Path) -> None:
        with self._lock:
            notes = self._read()
            if notes.pop(_key(directory), None) is not None:
                self._write(notes)

    def _sums(self, directory: Path, files: Iterable[str]) -> dict[str, str]:
        with self._lock:
            notes = self._read()
            kept = notes.get(_key(directory), {})
            sums, fresh = {}, False
            for name in files:
                stat = (directory / name).stat()
                now = [stat.st_size, stat.st_mtime_ns]
                if not _is_note(kept.get(name)) or kept[name][:2] != now:
                    kept[name], fresh = [*now, sha256_of(directory / name)], True
                sums[name] = kept[name][2]
            if fresh:
                notes[_key(directory)] = kept
                self._write(notes)
        return sums

    def _read(self) -> _Notes:
        try:
            read = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(read, dict):
            return {}
        return {key: value for key, value in read.items() if isinstance(value, dict)}

    def _write(self, notes: _Notes) -> None:
        temporary = self._path.with_name(f".{secrets.token_hex(6)}.json")
        with contextlib.suppress(OSError):  # a folder that cannot be written to costs time, and nothing else
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                temporary.write_text(json.dumps(notes), "utf-8")
                os.replace(temporary, self._path)
            finally:
                temporary.unlink(missing_ok=True)


def combined(sums: Mapping[str, str]) -> str:
    """One short sum of files by their names and sha256."""
    whole = hashlib.sha256()
    for name, digest in sorted(sums.items()):
        whole.update(f"{name}\0{digest}\n".encode())
    return whole.hexdigest()[:_DIGITS]


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _key(directory: Path) -> str:
    return hashlib.sha256(os.fsencode(os.path.realpath(directory))).hexdigest()[:32]


def _is_note(noted: object) -> bool:
    return isinstance(noted, list) and len(noted) == 3 and isinstance(noted[2], str) and len(noted[2]) == 64
