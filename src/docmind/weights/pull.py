"""Fetching a model, file by file, beside where it will lie; it takes its place when all of it is there and checked.

What has arrived stays in `NAME.part` and is not fetched again. A part is named for the sum of the whole it belongs to,
so that parts of two versions never meet.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import portalocker

from docmind.errors import ConfigError, DiskFullError, DownloadError
from docmind.seeing import PullProgress
from docmind.weights.checkpoint import CONFIG, INDEX, WHOLE, UnusableError, lacking_beside, read_checkpoint
from docmind.weights.fingerprint import sha256_of
from docmind.weights.hub import Hub, HubFile, Listing
from docmind.weights.known import Known
from docmind.weights.store import MANIFEST

_MARGIN = 200 << 20  # room that stays free
_TELL_S = 0.1
_WORTH_GOING_ON = 8 << 20
_PAUSE_S = 1.0


class Pull:
    """One download of one model. Not for several threads."""

    def __init__(
        self,
        name: str,
        known: Known,
        models_dir: Path,
        hub: Hub,
        progress: Callable[[PullProgress], None],
        check: Callable[[], None],
    ) -> None:
        self._name, self._known, self._hub = name, known, hub
        self._place, self._beside = models_dir / name, models_dir / f"{name}.part"
        self._progress, self._check = progress, check
        self._told_at = 0.0
        self._before, self._total = 0, 0

    def run(self) -> dict[str, str]:
        """Fetch what is not here, and put the model in its place: the sha256 of each file.

        Raises `DownloadError`, `DiskFullError`, `ConfigError` where the folder cannot be written to, and whatever
        `check` raises. The model that is in place stays until the new one is whole.
        """
        with _writing(self._beside.parent), alone(self._place):
            self._beside.mkdir(mode=0o700, parents=True, exist_ok=True)
            listing = self._listing()
            sums = {file.name: digest for file in listing.files if (digest := self._found(file))}
            self._total = listing.bytes
            self._make_room(listing, sums)
            for file in listing.files:
                if file.name not in sums:
                    sums[file.name] = self._fetched(file, listing.commit)
                self._before += file.size
            self._settle(listing, sums)
        self._tell("", 0, is_over=True)
        return sums

    def _listing(self) -> Listing:
        repository = self._known.repository
        listing = self._hub.listing(repository, self._known.revision)
        names = {file.name for file in listing.files}
        if CONFIG not in names or not names & {WHOLE, INDEX}:
            if listing.is_adapter:
                raise DownloadError(f"{repository} holds an adapter, and no whole model.")
            raise DownloadError(f"{repository} holds no weights as safetensors.")
        if lacking := lacking_beside(names):
            raise DownloadError(f"{repository} holds no {lacking}.")
        return listing

    def _found(self, file: HubFile) -> str:
        """The sha256 of a file that is here already, from an earlier try or in the place of the model."""
        target = self._beside / file.name
        if digest := _verified(target, file):
            return digest
        target.unlink(missing_ok=True)
        if digest := _verified(self._place / file.name, file):
            self._check()
            try:
                os.link(self._place / file.name, target)
            except OSError:  # a file system without links
                shutil.copyfile(self._place / file.name, target)
        return digest

    def _make_room(self, listing: Listing, sums: dict[str, str]) -> None:
        """Clear away what belongs to no file of the list, and look whether the rest fits. Raises `DiskFullError`."""
        expected = {name for file in listing.files for name in (file.name, self._part(file).name)}
        needed = listing.bytes
        for path in self._beside.iterdir():
            if path.name in expected:
                needed -= path.stat().st_size
            elif path.is_dir() and not path.is_symlink():
                _discard(path)
            else:
                path.unlink()
        free = shutil.disk_usage(self._beside).free
        if needed > 0 and len(sums) < len(listing.files) and free < needed + _MARGIN:
            raise DiskFullError(
                f"{self._name} needs {needed / 1e6:,.1f} MB more, and {_MARGIN >> 20} MB to spare; "
                f"{free / 1e6:,.0f} MB are free where models lie.",
                hint="Free some disk space, or choose another folder with DOCMIND_VISUAL__MODELS_DIR.",
            )

    def _part(self, file: HubFile) -> Path:
        return self._beside / f"{file.name}.{(file.sha256 or file.blob or str(file.size))[:16]}.part"

    def _fetched(self, file: HubFile, commit: str) -> str:
        """Fetch one file to its end: its sha256. What is wrong is thrown away."""
        part = self._part(file)
        while True:
            start = part.stat().st_size if part.exists() else 0
            try:
                if start < file.size or not part.exists():
                    self._take(file, commit, part, start)
                break
            except DownloadError:
                # A connection that drops now and then should not end a download of hours.
                if (part.stat().st_size if part.exists() else 0) - start < _WORTH_GOING_ON:
                    raise
                time.sleep(_PAUSE_S)
                self._check()
        digest = _verified(part, file)
        if not digest:
            part.unlink(missing_ok=True)
            raise DownloadError(
                f"{file.name} is not what {self._hub.host} announced.",
                hint="Try again: this file is fetched anew, and what else has arrived is kept.",
            )
        os.replace(part, self._beside / file.name)
        return digest

    def _take(self, file: HubFile, commit: str, part: Path, start: int) -> None:
        """Append to the part what is missing. Raises `DownloadError` where less or more came."""
        repository = self._known.repository
        with (
            self._hub.opened(repository, commit, file, start) as (begins, pieces),
            open(part, "ab", buffering=0) as out,
        ):
            out.truncate(begins)
            done = begins
            self._tell(file.name, done, now=True)
            for piece in pieces:
                self._check()
                if done + len(piece) > file.size:
                    break
                _write(out.fileno(), piece)
                done += len(piece)
                self._tell(file.name, done)
            else:
                os.fsync(out.fileno())
                if done < file.size:
                    raise DownloadError(f"{self._hub.host} broke off in the middle.")
                self._tell(file.name, done, now=True)
                return
        part.unlink()
        raise DownloadError(f"{self._hub.host} sends more than it announced.")

    def _settle(self, listing: Listing, sums: dict[str, str]) -> None:
        """Look once more at the whole, write what it is, and let it take its place."""
        repository = self._known.repository
        try:
            read = read_checkpoint(self._beside)
            if read.kind != self._known.kind:
                raise UnusableError(f"Its architecture is {read.architecture!r}.")
        except UnusableError as error:
            raise DownloadError(f"{repository} holds no model that can be run. {error}") from error
        told = {"repository": repository, "revision": listing.commit, "sha256": sums}
        (self._beside / MANIFEST).write_text(json.dumps(told, indent=1), "utf-8")
        before = self._place.with_name(f"{self._name}.old")
        _discard(before)
        try:
            if self._place.exists():
                self._place.rename(before)
            self._beside.rename(self._place)
        except OSError as error:
            raise DownloadError(
                f"{self._name} has been fetched, but its place is taken: {error.strerror}.",
                hint="Close what uses the model (`docmind models disable`), and try again: nothing is fetched twice.",
            ) from error
        _discard(before)

    def _tell(self, file: str, done: int, *, now: bool = False, is_over: bool = False) -> None:
        at = time.monotonic()
        if now or is_over or at - self._told_at >= _TELL_S:
            self._told_at = at
            self._progress(PullProgress(self._name, file, self._before + done, self._total, is_over))


@contextlib.contextmanager
def alone(place: Path) -> Iterator[None]:
    """Nobody else fetches or removes this model meanwhile. Raises `DownloadError` at once where somebody does."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(place.with_name(f".{place.name}.lock"), "a+b") as lock:
        try:
            portalocker.lock(lock, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.exceptions.AlreadyLocked as error:
            raise DownloadError(
                f"{place.name} is being fetched already.", hint="Wait for the other download, or stop it."
            ) from error
        except portalocker.exceptions.LockException as error:
            raise ConfigError(
                f"The file system of {place.parent} refuses to lock a file: {error}.",
                hint="Choose another folder with DOCMIND_VISUAL__MODELS_DIR.",
            ) from error
        yield


def remove(place: Path) -> None:
    """Delete a model and what was fetched of it. Raises `DownloadError` while it is being fetched, `ConfigError`."""
    with _writing(place.parent), alone(place):
        for path in (place, place.with_name(f"{place.name}.part"), place.with_name(f"{place.name}.old")):
            _discard(path)


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Say in one sentence what is wrong with the folder."""
    try:
        yield
    except BrokenPipeError:  # whoever was told of the progress has gone
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFullError(
                "There is no room left for the model; what has arrived is kept.",
                hint="Free some disk space and try again: fetching goes on from there.",
            ) from error
        raise ConfigError(
            f"Models cannot be kept in {folder}: {error.strerror}.",
            hint="Check the folder and its permissions, or choose another with DOCMIND_VISUAL__MODELS_DIR.",
        ) from error


def _verified(path: Path, file: HubFile) -> str:
    """The sha256 of a file that is what the hub announced; empty where it is not."""
    if not path.is_file() or path.stat().st_size != file.size:
        return ""
    digest = sha256_of(path)
    if file.sha256:
        return digest if digest == file.sha256 else ""
    return digest if file.blob in ("", _git_sum(path)) else ""


def _git_sum(path: Path) -> str:
    """The name that git gives to these contents: SHA-1 over its size and its bytes."""
    whole = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            whole.update(piece)
    return whole.hexdigest()


def _write(number: int, piece: bytes) -> None:
    left = memoryview(piece)
    while left:
        left = left[os.write(number, left) :]


def _discard(directory: Path) -> None:
    if directory.exists():
        shutil.rmtree(directory)
