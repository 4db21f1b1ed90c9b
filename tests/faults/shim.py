"""The fault shim from Python: compile `shim.c`, and control it through the file that all processes map."""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")
VARIABLE = "FAULTS_CONTROL"
HOW = {"count": 0, "once": 1, "always": 2, "kill": 3, "torn": 4}
KINDS = ("", "create", "write", "truncate", "rename", "link", "unlink", "sync", "sync folder", "mkdir", "rmdir", "note")
_LAYOUT = struct.Struct("=4q6i1024s1024s64s")  # `struct control` of shim.c
_HEAD = struct.Struct("=IBQHH")
_ARMED = struct.Struct("=i")
_ARMED_AT = 4 * 8 + 2 * 4


def unusable() -> str:
    """Return why the shim cannot be used on this machine; "" where it can."""
    if not sys.platform.startswith("linux"):
        return "the fault shim is for Linux"
    if not (shutil.which("cc") or shutil.which("gcc")):
        return "there is no C compiler (Debian: apt install gcc libc6-dev)"
    return ""


def build(folder: Path) -> Path:
    """Compile the shim into a folder and return the library. Raises `RuntimeError` with the compiler's message."""
    library = folder / "shim.so"
    compiler = shutil.which("cc") or shutil.which("gcc") or "cc"
    command = [compiler, "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(library), str(SOURCE)]
    made = subprocess.run([*command, "-ldl"], capture_output=True, text=True, check=False)
    if made.returncode:
        raise RuntimeError(f"the fault shim does not compile: {made.stderr}")
    return library


@dataclass(frozen=True, slots=True)
class Call:
    """One logged call: its kind (`KINDS`), file, second file of a rename or link, offset or length, and bytes."""

    kind: str
    path: str
    other: str
    offset: int
    data: bytes


class Control:
    """The control file of one operation: what is to fail, and what happened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            path.write_bytes(bytes(_LAYOUT.size))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _LAYOUT.size)

    def set(
        self, folder: Path, *, at: int = 0, how: str = "count", error: int = 0, log: Path | None = None,
        skew_s: int = 0, unsynced: bool = False,
    ) -> None:  # fmt: skip
        """Set what the calls below `folder` meet once `arm` is called; the counters begin at 0 again."""
        names = str(folder).encode(), str(log or "").encode()
        values = 0, 0, at, skew_s, HOW[how], error, 0, unsynced, 0, log is not None, *names, b""
        self._map[:] = _LAYOUT.pack(*values)

    def arm(self, is_armed: bool = True) -> None:
        """Count, fail and log from now on; or stop it."""
        self._map[_ARMED_AT : _ARMED_AT + 4] = _ARMED.pack(is_armed)

    @property
    def calls(self) -> int:
        """The number of calls since `arm`, of all processes."""
        return self._values()[0]

    @property
    def fired(self) -> int:
        """How many calls were failed."""
        return self._values()[1]

    @property
    def failed(self) -> str:
        """The name of the call that was failed first; "" where none was."""
        return self._values()[-1].rstrip(b"\0").decode()

    def close(self) -> None:
        self._map.close()

    def _values(self) -> tuple:
        return _LAYOUT.unpack(self._map[:])


class Loaded:
    """The shim in this process, where it was started with it."""

    @cached_property
    def _library(self) -> ctypes.CDLL:
        return ctypes.CDLL(None)

    @property
    def is_there(self) -> bool:
        return hasattr(self._library, "faults_use")

    def use(self, control: Path) -> None:
        """Follow a control file, here and in processes that are started from now on."""
        os.environ[VARIABLE] = str(control)
        self._library.faults_use(str(control).encode())

    def note(self, text: str) -> None:
        """Write a note into the log."""
        self._library.faults_note(text.encode())


def calls_in(log: Path) -> Iterator[Call]:
    """Yield the calls of a log, in the order in which they happened."""
    data, at = log.read_bytes(), 0
    while at + _HEAD.size <= len(data):
        size, kind, offset, path, other = _HEAD.unpack_from(data, at)
        names = at + _HEAD.size
        body = names + path + other
        yield Call(
            KINDS[kind], data[names : names + path].decode(), data[names + path : body].decode(), offset,
            data[body : at + size],
        )  # fmt: skip
        at += size


def environment(library: Path) -> dict[str, str]:
    """Return the variables with which a process is started under the shim."""
    return {**os.environ, "LD_PRELOAD": str(library)}
