"""Libraries that the real pipeline fills once a day for each state of the sources; each test opens its own copy.

    <temporary folder>/docmind-libraries-<user>/    mode 0700
        <name>-<24 hex digits>/data, docmind.key    a closed vault and its key
        <name>-<24 hex digits>.lock                 held by the process that builds it

The digits are a hash of all that decides what the vault contains: the sources, the installed packages, the settings,
the uploads, and the day, because documents and conversations have dates that pages tell as "today". An edit of a source
therefore builds a new library, and what is older than a day is removed.

A vault is bound to no path, inode or time of change, so a copy opens as the same vault: the database, its mark, its
clock and the sealed index agree, because all are copied while the vault is closed. Only the file `reserve` is left out:
blocks that two files share reserve nothing, and opening fills it again. A process may hold two copies open, as each
has its own lock.

All copies of a library have the same vault id and the same document ids. What a process caches by these ids would be
found by the next test: a module that draws pages of the app calls `page_view.drop_images` in its fixture.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import portalocker

from desks import report, settings_in, settled
from docmind.application import DocMind
from docmind.config import Settings
from docmind.llm.service import OneModel
from docmind.records.documents import Upload
from docmind.storage.files import keep_private

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT_S = 24 * 60 * 60
_STORE = Path(tempfile.gettempdir()) / f"docmind-libraries-{getattr(os, 'getuid', int)()}"
_BUILD_S = 170  # a test is stopped after 180 seconds
_TODAY = time.strftime("%Y-%m-%d")


@dataclass(frozen=True)
class Library:
    """A vault with these uploads, after `then` has changed it.

    `settings` returns the settings of a vault in a folder: its data in `data`, its key in `docmind.key`. `name` is for
    people, and tells apart two libraries whose `then` is the same function. Uploads must have the same bytes in every
    process. Take a copy before anything is patched, because the first test that takes one builds the library.
    """

    name: str
    uploads: Sequence[Upload] = ()
    then: Callable[[DocMind], object] | None = None
    settings: Callable[[Path], Settings] = settings_in
    _digests: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    def copy_to(self, folder: Path) -> None:
        """Copy the closed vault to `folder`/data, and its key beside it; build it where no process has yet."""
        built = self.built()
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(built / "data", folder / "data", copy_function=copy_file)
        copy_file(built / "docmind.key", folder / "docmind.key")

    def opened(self, folder: Path, **changes: Any) -> DocMind:
        """Open a copy in `folder` under its settings with these changes.

        Its language model is the one that a test puts into `models.model`; none at first.
        """
        self.copy_to(folder)
        return DocMind(self.settings(folder).model_copy(update=changes), models=OneModel())

    def built(self, store: Path = _STORE) -> Path:
        """Return the folder of the closed vault that copies are made of, which no test may open."""
        with _plain_environment():
            place = _private(store) / f"{re.sub(r'[^a-z0-9]+', '-', self.name.lower())}-{self.digest()}"
            if not place.is_dir():
                with portalocker.Lock(f"{place}.lock", timeout=_BUILD_S, check_interval=0.05):
                    if not place.is_dir():
                        _remove_old(store)
                        self._build(place)
        return place

    def digest(self) -> str:
        """Return the hash of all that decides what the vault contains, which is made once."""
        if not self._digests:
            self._digests.append(self._digest())
        return self._digests[0]

    def _digest(self) -> str:
        told = hashlib.sha256(f"{sources(ROOT)} {_TODAY} {self.name} {[*map(astuple, self.uploads)]}".encode())
        told.update(self.settings(Path("/library")).model_dump_json().encode())
        if self.then is not None:
            code = self.then.__code__
            told.update(code.co_qualname.encode() + Path(code.co_filename).read_bytes())
        return told.hexdigest()[:24]

    def _build(self, place: Path) -> None:
        part = Path(tempfile.mkdtemp(prefix=f"{place.name}.", dir=place.parent))
        try:
            with DocMind(self.settings(part), models=OneModel()) as docmind:
                results = docmind.add(self.uploads) if self.uploads else ()
                assert all(result.status == "added" for result in results), results
                if self.then is not None:
                    self.then(docmind)
                settled(docmind)
            with (part / "data" / "vault.db").open("rb") as database:
                assert database.read(6) != b"SQLite", "a test has turned the encryption off before it took the library"
            (part / "data" / "reserve").unlink()
            with suppress(FileExistsError):
                part.rename(place)
        finally:
            shutil.rmtree(part, ignore_errors=True)


@cache
def sources(root: Path) -> str:
    """Return a hash of the sources, the helpers of tests, the versions of Python and of all installed packages."""
    told = hashlib.sha256(sys.version.encode())
    for folder in (root / "src" / "docmind", root / "tests" / "support"):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                told.update(f"{path.relative_to(root)} {path.stat().st_size} ".encode() + path.read_bytes())
    told.update((root / "constraints.txt").read_bytes())
    for folder in map(Path, sys.path):
        told.update(" ".join(sorted(path.name for path in folder.glob("*.dist-info"))).encode())
    return told.hexdigest()


def copy_file(source: str | Path, target: str | Path) -> None:
    """Copy a file with its mode and times; a file system that can share the blocks until one is changed shares them."""
    try:
        with open(source, "rb") as read, open(target, "wb") as written:
            left = os.fstat(read.fileno()).st_size
            while left > 0:
                left -= os.copy_file_range(read.fileno(), written.fileno(), left) or left
    except (AttributeError, OSError):  # only Linux has the call, and not between all file systems
        shutil.copyfile(source, target)
    shutil.copystat(source, target)


def _private(store: Path) -> Path:
    """Return the folder, made with mode 0700 where it is missing; refuse one that is another user's."""
    keep_private()
    store.mkdir(mode=0o700, exist_ok=True)
    found = store.lstat()
    is_own = stat.S_ISDIR(found.st_mode) and (os.name == "nt" or found.st_uid == os.getuid())
    assert is_own, f"{store} is not a folder of this user"
    if os.name != "nt":
        assert not found.st_mode & 0o077, f"{store} is open to other users"
    return store


def _remove_old(store: Path) -> None:
    for path in store.iterdir():
        with suppress(FileNotFoundError):  # another process removes it at this moment
            if time.time() - path.lstat().st_mtime > KEPT_S:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def _plain_environment() -> Iterator[None]:
    """Leave out the settings that a test has put into the environment."""
    kept = "DOCMIND_NETWORK__STRICT"  # no guard in this process, in any test
    taken = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("DOCMIND_") and name != kept}
    try:
        yield
    finally:
        os.environ.update(taken)


def confirm(docmind: DocMind) -> None:
    """Confirm the recovery code, so that no page and no command reminds of it; for `then`."""
    docmind.keys.confirm_recovery_code(docmind.keys.recovery_code() or "")


def _converse(docmind: DocMind) -> None:
    thread_id = docmind.conversations.create("Birds").thread_id
    for question in QUESTIONS:
        assert docmind.conversations.ask(question, thread_id=thread_id).state == "answered"


DOCUMENTS = (
    report("spring", 3),
    report("autumn", 3),
    Upload("lease.txt", b"The notice period of the lease is six months. The rent is paid on the first of each month."),
)
QUESTIONS = (
    "How many herons does the spring report count?",
    "And the autumn report?",
    "What is on the next page?",
    "How long is the notice period of the lease?",
    "When is the rent paid?",
    "How many herons does page 1 of the autumn report count?",
    "Which reports count herons?",
    "What does the lease say about the rent?",
    "How many whales does the spring report count?",
    "How many herons does page 2 of the spring report count?",
)
EMPTY = Library("empty")
THREE_DOCUMENTS = Library("three documents", DOCUMENTS)
TEN_TURNS = Library("ten turns", DOCUMENTS, _converse)
