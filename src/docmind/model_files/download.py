"""Download of a model file by file to a temporary folder, put in its place when all files are checked.

Received bytes stay in `NAME.part` and are not fetched again. The name of a part contains the checksum of the whole
file, so that parts of two versions are never mixed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import portalocker

from docmind.errors import ConfigError, DiskFullError, DownloadError
from docmind.model_files.checkpoint import (
    CONFIG,
    INDEX,
    MANIFEST,
    TOKENIZER,
    WHOLE,
    UnusableError,
    is_wanted,
    lacking_beside,
    read_checkpoint,
    sha256_of,
)
from docmind.model_files.hub import Address, Hub, HubFile, Listing
from docmind.model_files.known import FileSource, Known, KnownText
from docmind.model_files.sentence_files import read_sentence_files
from docmind.records.models import PullProgress
from docmind.storage import disk_error, free_bytes, is_folder, is_regular, open_own, write_private
from docmind.wording import _

_MARGIN = 200 << 20  # bytes that stay free
_TELL_S = 0.1
_WORTH_GOING_ON = 8 << 20
_PAUSE_S = 1.0
_PART = re.compile(r"(.+)\.[0-9a-f]{1,16}\.part")


class Fetch(ABC):
    """One download: the list of files, and each file whole and checked. Not thread-safe."""

    def __init__(
        self,
        name: str,
        repository: str,
        place: Path,
        beside: Path,
        hub: Hub,
        progress: Callable[[PullProgress], None],
        check: Callable[[], None],
    ) -> None:
        """`place` is where the model will be, `beside` the folder of what has arrived, on the same disk."""
        self._name, self._repository, self._hub = name, repository, hub
        self._place, self._beside = place, beside
        self._progress, self._check = progress, check
        self._told_at = 0.0
        self._before, self._total = 0, 0

    def run(self) -> dict[str, str]:
        """Fetch the missing files, settle the model, and return the sha256 of each file.

        Raises `DownloadError`, `DiskFullError`, `ConfigError` where the folder cannot be written to, and whatever
        `check` raises. An existing model stays in place until the new one is complete.
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

    @abstractmethod
    def _listing(self) -> Listing:
        """Return the files that the hub has, checked to be what is wanted. Raises `DownloadError`, `ConfigError`."""

    @abstractmethod
    def _settle(self, listing: Listing, sums: dict[str, str]) -> None:
        """Finish with the complete and checked files."""

    @abstractmethod
    def _is_own(self, path: Path) -> bool:
        """Return whether an earlier try made this file."""

    def _found(self, file: HubFile) -> str:
        """Return the sha256 of a file that an earlier try has, or an empty text."""
        target = self._beside / file.name
        digest = _verified(target, file)
        if not digest:
            target.unlink(missing_ok=True)
        return digest

    def _make_room(self, listing: Listing, sums: dict[str, str]) -> None:
        """Remove files of another version, and check that the rest fits. Raises `DiskFullError`.

        Files with names that a download never gives are foreign, and stay.
        """
        expected = {name for file in listing.files for name in (file.name, self._part(file).name)}
        needed = listing.bytes
        for path in self._beside.iterdir():
            if path.name in expected:
                needed -= path.stat().st_size
            elif self._is_own(path):
                path.unlink()
        free = free_bytes(self._beside)
        if needed > 0 and len(sums) < len(listing.files) and free < needed + _MARGIN:
            raise DiskFullError(
                _(
                    "{name} needs {needed:,.1f} MB more, plus {margin} MB to spare; the models folder has "
                    "{free:,.0f} MB free."
                ).format(name=self._name, needed=needed / 1000000.0, margin=_MARGIN >> 20, free=free / 1000000.0),
                hint=_("Free some disk space, or choose another folder with DOCMIND_VISUAL__MODELS_DIR."),
            )

    def _part(self, file: HubFile) -> Path:
        return self._beside / f"{file.name}.{(file.sha256 or file.blob or str(file.size))[:16]}.part"

    def _fetched(self, file: HubFile, commit: str) -> str:
        """Fetch one file completely and return its sha256. A file with wrong contents is deleted."""
        part = self._part(file)
        while True:
            start = part.stat().st_size if part.exists() else 0
            try:
                if start < file.size or not part.exists():
                    self._take(file, commit, part, start)
                break
            except DownloadError:
                # An occasional dropped connection should not end a download of hours.
                if (part.stat().st_size if part.exists() else 0) - start < _WORTH_GOING_ON:
                    raise
                time.sleep(_PAUSE_S)
                self._check()
        digest = _verified(part, file)
        if not digest:
            part.unlink(missing_ok=True)
            raise DownloadError(
                _("{name} isn't what {host} announced.").format(name=file.name, host=self._hub.host),
                hint=_("Try again: this file is downloaded again, the others are kept."),
            )
        os.replace(part, self._beside / file.name)
        return digest

    def _take(self, file: HubFile, commit: str, part: Path, start: int) -> None:
        """Append the missing bytes to the part.

        Raises `DownloadError` where too few or too many arrive.
        """
        with (
            self._hub.opened(self._repository, commit, file, start) as (begins, pieces),
            os.fdopen(open_own(part, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab", buffering=0) as out,
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
                    raise DownloadError(_("{host} broke off in the middle.").format(host=self._hub.host))
                self._tell(file.name, done, now=True)
                return
        part.unlink()
        raise DownloadError(_("{host} sent more than it announced.").format(host=self._hub.host))

    def _tell(self, file: str, done: int, *, now: bool = False, is_over: bool = False) -> None:
        at = time.monotonic()
        if now or is_over or at - self._told_at >= _TELL_S:
            self._told_at = at
            self._progress(PullProgress(self._name, file, self._before + done, self._total, is_over))


class Pull(Fetch):
    """One download of one model that looks at pages: a folder of files. Not thread-safe."""

    def __init__(
        self,
        name: str,
        known: Known | KnownText,
        models_dir: Path,
        hub: Hub,
        progress: Callable[[PullProgress], None],
        check: Callable[[], None],
    ) -> None:
        super().__init__(
            name, known.repository, models_dir / name, models_dir / f"{name}.part", hub, progress, check
        )  # fmt: skip
        self._known = known

    def _found(self, file: HubFile) -> str:
        """Return the sha256 of a file that an earlier try or the existing model has, or an empty text."""
        if digest := super()._found(file):
            return digest
        target, there = self._beside / file.name, self._place / file.name
        if digest := _verified(there, file):
            self._check()
            try:
                os.link(there, target)
            except OSError:  # a file system without links
                shutil.copyfile(there, target)
        return digest

    def _listing(self) -> Listing:
        repository = self._repository
        listing = self._hub.listing(repository, self._known.revision)
        names = {file.name for file in listing.files}
        if CONFIG not in names or not names & {WHOLE, INDEX}:
            if listing.is_adapter:
                raise DownloadError(
                    _("{repository} holds an adapter, and no whole model.").format(repository=repository)
                )
            raise DownloadError(_("{repository} holds no weights as safetensors.").format(repository=repository))
        is_text = isinstance(self._known, KnownText)
        if lacking := next((name for name in TOKENIZER if name not in names), "") if is_text else lacking_beside(names):
            raise DownloadError(_("{repository} holds no {lacking}.").format(repository=repository, lacking=lacking))
        return listing

    def _is_own(self, path: Path) -> bool:
        return _is_own(path)

    def _settle(self, listing: Listing, sums: dict[str, str]) -> None:
        """Check the complete model again, write its manifest, and move it into place."""
        repository = self._repository
        try:
            if isinstance(self._known, KnownText):
                text = read_sentence_files(self._beside)
                fits, architecture = (text.dim == self._known.dim, text.architecture)
                fits = fits and architecture == self._known.architecture
            else:
                read = read_checkpoint(self._beside)
                fits, architecture = read.kind == self._known.kind, read.architecture
            if not fits:
                raise UnusableError(_("Its architecture is {architecture!r}.").format(architecture=architecture))
        except UnusableError as error:
            raise DownloadError(
                _("{repository} holds no model that can be run. {error}").format(repository=repository, error=error)
            ) from error
        told = {"repository": repository, "revision": listing.commit, "sha256": sums}
        write_private(self._beside / MANIFEST, json.dumps(told, indent=1).encode(), replace=True)
        before = self._free_name()
        try:
            if self._place.exists():
                self._place.rename(before)
            self._beside.rename(self._place)
        except OSError as error:
            raise DownloadError(
                _("{name} was downloaded, but its folder is in use: {strerror}.").format(
                    name=self._name, strerror=error.strerror
                ),
                hint=_("Stop using the model (`docmind models disable`) and try again: nothing is downloaded twice."),
            ) from error
        _discard(before)

    def _free_name(self) -> Path:
        """Return the path for the replaced model: `NAME.old`, or with a number where that cannot be emptied."""
        number = 1
        while True:
            place = self._place.with_name(f"{self._name}.old" + (f"-{number}" if number > 1 else ""))
            _discard(place)
            if not os.path.lexists(place):
                return place
            number += 1


class PullFile(Fetch):
    """One download of the one file of a language model, `NAME.gguf`. Not thread-safe.

    It stays beside its place, where the header is checked before it is moved.
    """

    def __init__(
        self,
        source: FileSource,
        folder: Path,
        hub: Hub,
        progress: Callable[[PullProgress], None],
        check: Callable[[], None],
    ) -> None:
        """`hub` is an `Address` where the source is one."""
        name = source.name
        super().__init__(
            name, source.repository, folder / f"{name}.gguf", folder / f"{name}.part", hub, progress, check
        )  # fmt: skip
        self._source = source
        self.path = self._beside / f"{name}.gguf"
        self.commit = ""
        self.is_there = False
        """Whether the same file was in its place before."""

    def clear(self) -> None:
        """Remove what has arrived and was not moved."""
        _clear(self._beside, self.path.name)

    def _listing(self) -> Listing:
        source, name = self._source, f"{self._name}.gguf"
        if isinstance(self._hub, Address):
            listing = self._hub.described(name, source.sha256)
            self._checked_place(listing.files[0])
            return listing
        listing = self._hub.listing(source.repository, source.revision, lambda listed: listed == source.file)
        if not listing.files:
            raise DownloadError(
                _("{repository} has no file {file}.").format(repository=source.repository, file=source.file),
                hint=_("Look at the names on the page of the model."),
            )
        (file,) = listing.files
        if not file.sha256 or (source.sha256 and file.sha256 != source.sha256):
            raise DownloadError(
                _("{host} records another checksum for {file}, or none.").format(host=self._hub.host, file=source.file),
                hint=_("It is not fetched. Look at the page of the model."),
            )
        self.commit = listing.commit
        return Listing(listing.commit, (self._checked_place(replace(file, name=name, path=source.file)),), False)

    def _checked_place(self, file: HubFile) -> HubFile:
        """Return the file. Raises `ConfigError` where its place is taken by another one."""
        self.is_there = bool(_verified(self._place, file))
        if os.path.lexists(self._place) and not self.is_there:
            raise ConfigError(
                _("There is another model {name}.").format(name=self._name),
                hint=_("Remove it first: docmind models remove inside/{name}").format(name=self._name),
            )
        return file

    def _found(self, file: HubFile) -> str:
        return file.sha256 if self.is_there else super()._found(file)

    def _settle(self, listing: Listing, sums: dict[str, str]) -> None:
        """Leave the file where it is: whether it is a language model is for others to say."""

    def _is_own(self, path: Path) -> bool:
        return _is_part_of(path, self.path.name)


@contextlib.contextmanager
def alone(place: Path) -> Iterator[None]:
    """Hold the lock on fetching and removing a model.

    Raises `DownloadError` at once where another holds it.
    """
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(open_own(place.with_name(f".{place.name}.lock"), os.O_RDWR | os.O_CREAT), "r+b") as lock:
        try:
            portalocker.lock(lock, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.exceptions.AlreadyLocked as error:
            raise DownloadError(
                _("{name} is being downloaded already.").format(name=place.name),
                hint=_("Wait for the other download, or stop it."),
            ) from error
        except portalocker.exceptions.LockException as error:
            raise ConfigError(
                _("The file system of {parent} refuses to lock a file: {error}.").format(
                    parent=place.parent, error=error
                ),
                hint=_("Choose another folder with DOCMIND_VISUAL__MODELS_DIR."),
            ) from error
        yield


def note_of(folder: Path, name: str) -> Path:
    """Return the place of the note that says where a file was fetched, and its sha256."""
    return folder / f"{name}.gguf.json"


def drop_download(folder: Path, name: str) -> bool:
    """Delete what a download of a file that was stopped has left, and return whether there was any.

    Raises `DownloadError` while it is being fetched, and `ConfigError`.
    """
    beside = folder / f"{name}.part"
    if not is_folder(beside):
        return False
    with _writing(folder), alone(folder / f"{name}.gguf"):
        _clear(beside, f"{name}.gguf")
    return True


def _clear(beside: Path, file: str) -> None:
    """Delete the folder of one file's download; foreign files stay, and the folder with them."""
    if is_folder(beside):
        for path in list(beside.iterdir()):
            if _is_part_of(path, file):
                path.unlink()
        if not any(beside.iterdir()):
            beside.rmdir()


def _is_part_of(path: Path, file: str) -> bool:
    part = _PART.fullmatch(path.name)
    return is_regular(path) and (part[1] if part else path.name) == file


def remove(place: Path) -> None:
    """Delete a model and its partial downloads, but no file that came another way.

    Raises `DownloadError` while it is being fetched, and `ConfigError`.
    """
    with _writing(place.parent), alone(place):
        for path in (place, place.with_name(f"{place.name}.part"), place.with_name(f"{place.name}.old")):
            _discard(path)


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Translate errors of writing to the folder into one sentence."""
    try:
        yield
    except BrokenPipeError:  # the reader of the progress has ended
        raise
    except OSError as error:
        full = DiskFullError(
            _("The disk is too full for the model. What has been downloaded is kept."),
            hint=_("Free some disk space and try again: the download continues."),
        )
        failure = ConfigError(
            _("Models can't be stored in {folder}: {strerror}.").format(folder=folder, strerror=error.strerror),
            hint=_("Check the folder and its permissions, or choose another with DOCMIND_VISUAL__MODELS_DIR."),
        )
        raise disk_error(error, failure, full) from error


def _verified(path: Path, file: HubFile) -> str:
    """Return the sha256 of a file that matches what the hub announced; empty where it does not."""
    if not path.is_file() or path.stat().st_size != file.size:
        return ""
    digest = sha256_of(path)
    if file.sha256:
        return digest if digest == file.sha256 else ""
    return digest if file.blob in ("", _git_sum(path)) else ""


def _git_sum(path: Path) -> str:
    """Return git's name of these contents: SHA-1 over a header with the size, and the bytes."""
    whole = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            whole.update(piece)
    return whole.hexdigest()


def _write(number: int, piece: bytes) -> None:
    left = memoryview(piece)
    while left:
        left = left[os.write(number, left) :]


def _is_own(path: Path) -> bool:
    """Return whether a download made this: a regular file named as a model's file, a part of one, or the manifest."""
    part = _PART.fullmatch(path.name)
    return is_regular(path) and (path.name == MANIFEST or is_wanted(part[1] if part else path.name))


def _discard(directory: Path) -> None:
    """Remove the directory of a model, but no link to one.

    Files that no download made stay, and the directory with them.
    """
    if not is_folder(directory):
        return
    for path in list(directory.iterdir()):
        if _is_own(path):
            path.unlink()
    if not any(directory.iterdir()):
        directory.rmdir()
