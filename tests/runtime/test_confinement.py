"""What reads hostile files changes nothing, reads no other file and leaves nothing, by calls of libc.

Each kind of process is started as the product starts it, and makes the attempts of `tests/support/attempts.py` in place
of its work. `stat` tells what became of the files.
"""

from __future__ import annotations

import ast
import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import attempts
import papers
from conftest import ROOT, require
from docmind.config import ReadingSettings
from docmind.image_match.client import Sight
from docmind.reading.drawing import PagePictures
from docmind.reading.ocr.engine import Ocr
from docmind.reading.reader import Reader
from docmind.records.documents import Upload
from docmind.runtime import Client, Worker, landlock, seccomp
from starting import started_by

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds native code")

Tried = dict[str, list[int]]
Start = Callable[[bytes, pytest.MonkeyPatch, Path], Tried]

SETTINGS = ReadingSettings(workers=1)
PYTHON = "/usr/bin/python3"  # of the system: it may be started where Chromium may be

# The filter holds these in a process that changes files in a folder of its own, where there is no Landlock.
HELD_IN_CHROMIUM = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat"),
    *("utime", "utimes", "futimes", "utimensat", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "flags"),
    *("link", "linkat", "truncate", "mkfifo", "mknod", "open to empty", "openat2"),
)
IN_THE_KERNEL = ("shmget", "msgget", "semget", "mq_open", "add_key", "socket", "memory")


def of_worker(worker: Worker) -> Tried:
    try:
        while "tried" not in (header := worker.receive(60.0)[0]):
            assert "error" not in header
        return header["tried"]
    finally:
        worker.kill()


def of_client(client: Client, request: bytes) -> Tried:
    try:
        return client.call({}, [request], timeout_s=60.0)[0]["tried"]
    finally:
        client.end()


def reading(request: bytes, patch: pytest.MonkeyPatch, _at: Path) -> Tried:
    patch.setattr("docmind.reading.reader._ENTRY", "attempts:serve")
    with Reader(SETTINGS) as reader:
        return of_worker(reader.start(Upload("a", request), (), (), ""))


def plain_texts(request: bytes, patch: pytest.MonkeyPatch, _at: Path) -> Tried:
    patch.setattr("docmind.reading.reader._PLAIN_ENTRY", "attempts:serve")
    with Reader(SETTINGS) as reader:
        return of_worker(reader.start_plain(Upload("a", request))[0])


def other_readers(request: bytes, patch: pytest.MonkeyPatch, _at: Path) -> Tried:
    patch.setattr("docmind.reading.reader._OF_OTHERS", "attempts:serve")
    with Reader(SETTINGS) as reader:
        return of_worker(reader.start_others(Upload("a", request), (), (), ()))


def ocr(request: bytes, patch: pytest.MonkeyPatch, _at: Path) -> Tried:
    patch.setattr("docmind.reading.ocr.engine._ENTRY", "attempts:serve")
    return of_client(Ocr(SETTINGS)._clients[0], request)


def drawing(request: bytes, patch: pytest.MonkeyPatch, _at: Path) -> Tried:
    patch.setattr("docmind.reading.drawing._ENTRY", "attempts:serve")
    return of_client(PagePictures(SETTINGS, cast("Any", None), cast("Any", None))._client, request)


def picture_search(request: bytes, patch: pytest.MonkeyPatch, _at: Path) -> Tried:
    patch.setattr("docmind.image_match.client._ENTRY", "attempts:serve")
    return of_client(Sight(SETTINGS)._client, request)


def chromium_driver(request: bytes, patch: pytest.MonkeyPatch, at: Path) -> Tried:
    """Try in the process that drives Chromium, after it has started that."""
    patch.setattr("docmind.reading.reader._DRAWING", "attempts:drive")
    program = script(at, "#!/bin/sh\nsleep 60\n")
    header = {"program": program, "folder": own_folder(at)}
    with Reader(SETTINGS) as reader:
        return of_worker(reader.start_drawing(Upload("a", request), (), (), header))


def chromium(request: bytes, patch: pytest.MonkeyPatch, at: Path) -> Tried:
    """Try in a program that is started in place of Chromium, which writes what became of it to its own folder."""
    require(Path(PYTHON).exists(), f"no {PYTHON}")
    code = Path(attempts.__file__).read_text().partition('if __name__ == "__main__"')[0]
    folder = own_folder(at)
    done = f"Path({folder + '/done.new'!r}).write_text(json.dumps(tried(json.loads({request.decode()!r}))))"
    moved = f"os.rename({folder + '/done.new'!r}, {folder + '/done'!r})"
    program = script(at, f"#!{PYTHON} -I\n{code}\n{done}\n{moved}\n")
    with Reader(SETTINGS) as reader:
        book = Upload("a.epub", papers.book(["<p>An orchard</p>"]))
        worker = reader.start_drawing(book, (), (), {"program": program, "folder": folder})
        try:
            while "wait" in worker.receive(60.0)[0]:  # until the program has ended, and the book is laid out as text
                pass
        finally:
            worker.kill()
    return json.loads(Path(folder, "done").read_text())


def script(at: Path, code: str) -> str:
    folder = at / "program"
    folder.mkdir()
    path = folder / "browser"
    path.write_text(code)
    path.chmod(0o700)
    return str(path)


def own_folder(at: Path) -> str:
    folder = at / "own"
    folder.mkdir()
    return str(folder)


KINDS: tuple[Start, ...] = (
    reading, plain_texts, other_readers, ocr, drawing, picture_search, chromium_driver, chromium,
)  # fmt: skip
each_kind = pytest.mark.parametrize("start", KINDS, ids=lambda start: start.__name__)
STARTING = (reading, ocr, chromium_driver, chromium)
"""The kinds that may start a program: the filter must let them end it, so Landlock alone keeps signals in."""


class Places:
    """Two folders with files that must stay as they are: packages, which a child may read, and another."""

    def __init__(self, at: Path) -> None:
        self.at, self.packages, self.outside = at, at / "packages", at / "outside"
        self.both = (self.packages, self.outside)
        for place in self.both:
            attempts.prepare(place)
        self.before = self.now()

    def now(self) -> list[dict[str, tuple[object, ...]]]:
        return [attempts.seen(place) for place in self.both]

    def request(self) -> bytes:
        told = {"places": [*map(str, self.both)], "outside": str(self.outside), "owner": os.getpid()}
        return json.dumps(told).encode()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Places]:
    found = Places(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(found.packages), prepend=os.pathsep)
    attempts.clear()
    yield found
    attempts.clear()


def succeeded(tried: Tried) -> set[str]:
    return {name for name, (result, _) in tried.items() if result >= 0}


def may_signal(start: Start) -> set[str]:
    """Return the attempts that succeed on this kernel because its Landlock knows no signals."""
    return {"signal"} if landlock.version() < 6 and start in STARTING else set()


@pytest.mark.slow
@each_kind
def test_no_process_that_reads_changes_or_leaves_anything(
    start: Start, places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(seccomp.calls(), "no filter for this machine")
    require(landlock.version() >= 2, "Linux 5.19 or newer with Landlock")
    tried = start(places.request(), monkeypatch, tmp_path)
    assert len(tried) == 2 * (len(places.before[0]) - 2) + 10  # each attempt was made in both folders
    assert succeeded(tried) == may_signal(start)
    assert places.now() == places.before
    assert attempts.left() == []


@pytest.mark.slow
@each_kind
def test_nor_does_one_in_an_interpreter_of_its_own(
    start: Start, places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(landlock.version() >= 2, "Linux 5.19 or newer with Landlock")
    with started_by("spawn"):
        assert succeeded(start(places.request(), monkeypatch, tmp_path)) == may_signal(start)
    assert places.now() == places.before
    assert attempts.left() == []


@pytest.mark.slow
@each_kind
def test_the_filter_alone_lets_files_be_read_and_no_more(
    start: Start, places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without Landlock other files are read; Chromium also makes, writes, renames and removes files."""
    require(seccomp.calls(), "no filter for this machine")
    without = tmp_path / "without"
    without.mkdir()
    (without / "sitecustomize.py").write_text("from docmind.runtime import landlock\nlandlock.version = lambda: 0\n")
    monkeypatch.setenv("PYTHONPATH", str(without), prepend=os.pathsep)
    tried = start(places.request(), monkeypatch, tmp_path)
    if start is chromium:
        held = {f"{place.name}: {name}" for place in places.both for name in HELD_IN_CHROMIUM}
        assert held | {*IN_THE_KERNEL} == set(tried) - succeeded(tried)
    else:
        signals = {"signal"} if start in STARTING else set()
        assert succeeded(tried) == {"read a key", "list a folder"} | signals
        assert places.now() == places.before
    assert attempts.left() == []


def test_the_same_attempts_succeed_in_a_process_without_limits(places: Places) -> None:
    """The negative control: each attempt changes its file, but those that this kernel or file system does not know."""
    command = [sys.executable, attempts.__file__, places.request().decode()]
    tried: Tried = json.loads(subprocess.check_output(command))
    unknown = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTTY}
    refused = {name: error for name, (result, error) in tried.items() if result < 0 and error not in unknown}
    assert refused == {}
    assert {*attempts.left()} == {"shm", "msg", "sem"}
    for before, now, place in zip(places.before, places.now(), places.both, strict=True):
        for name in before:
            changed = before[name] != now.get(name) or f"{name}.new" in now
            is_known = tried.get(f"{place.name}: {name}", [-1])[0] >= 0
            assert changed == is_known or name in (attempts.KEY, place.name), name


CONFINED = {
    "reading/reader.py": "reading and, by `replace`, plain texts",
    "reading/plugins.py": "readers of other packages",
    "reading/drawing.py": "drawing",
    "reading/ocr/engine.py": "OCR",
    "reading/chromium/browser.py": "Chromium and its driver",
    "image_match/client.py": "search by a picture",
    "runtime/worker.py": "the process that tells what holds",
}
OTHERS = {
    "reading/chromium/process.py": "lowers the limits of Chromium's driver",
    "llm/inside.py": "llama.cpp: drivers of graphics cards; the check of a header",
    "embedding/model_client.py": "torch: drivers of graphics cards store programs",
}


@pytest.mark.slow
def test_each_kind_of_child_is_known() -> None:
    """A new kind of child is added here, and to the attempts where it reads what others wrote."""
    found: dict[str, list[bool]] = {}
    for path in (ROOT / "src" / "docmind").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Limits":
                is_confined = any(
                    one.arg == "is_confined" and isinstance(one.value, ast.Constant) and one.value.value is True
                    for one in node.keywords
                )
                if node.keywords and not any(one.arg is None for one in node.keywords):
                    name = path.relative_to(ROOT / "src" / "docmind").as_posix()
                    found.setdefault(name, []).append(is_confined)
    assert {name for name, are in found.items() if all(are)} == set(CONFINED)
    assert {name for name, are in found.items() if not all(are)} == set(OTHERS)
