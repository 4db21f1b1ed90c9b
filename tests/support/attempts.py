"""What a process that was taken over would try, through libc: changes of files, reading a key, shared memory, signals.

`serve` runs the attempts in a worker, `python attempts.py REQUEST` in a process of its own: with its limits it is one
that a worker has started. Nothing heavy is imported here.
"""

from __future__ import annotations

import ctypes
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

_AT_FDCWD = -100
_GET_FLAGS, _SET_FLAGS, _NO_DUMP = 0x8008_6601, 0x4008_6602, 0x40  # FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FS_NODUMP_FL
_CREATE = 0o1000  # IPC_CREAT
KEY = "root-key"
LEFT = 0x0D0C  # the key of what is left in System V's tables
_QUEUE = b"/docmind-attempt"

Native = Callable[..., int]


def _calls() -> dict[str, Callable[[Path], int]]:
    """Return each attempt on a file of its own, by the name of that file. A negative result is a refusal."""
    libc = ctypes.CDLL(None, use_errno=True)

    def call(name: str, *arguments: object) -> int:
        return getattr(libc, name)(*arguments)

    def number(known: int, *arguments: object) -> int:
        return libc.syscall(ctypes.c_long(known), *arguments)

    def through(name: str, *arguments: object) -> Callable[[Path], int]:
        """Call with a descriptor of the file that is open for reading."""

        def run(path: Path) -> int:
            opened = libc.open(bytes(path), os.O_RDONLY)
            return -1 if opened < 0 else getattr(libc, name)(opened, *arguments)

        return run

    def opening(flags: int) -> Callable[[Path], int]:
        return lambda path: libc.open(bytes(path), flags, 0o600)

    def new(path: Path) -> bytes:
        return bytes(path.with_name(path.name + ".new"))

    def flag(path: Path) -> int:
        """Set a flag of the file, as `chattr +d` does."""
        opened, flags = libc.open(bytes(path), os.O_RDONLY), ctypes.c_int()
        libc.ioctl(opened, ctypes.c_ulong(_GET_FLAGS), ctypes.byref(flags))
        flags.value |= _NO_DUMP
        return libc.ioctl(opened, ctypes.c_ulong(_SET_FLAGS), ctypes.byref(flags))

    def by_shell(path: Path) -> int:
        return -bool(libc.system(b"echo taken > '" + bytes(path) + b"'"))

    me, group = os.geteuid(), os.getegid()
    times = (ctypes.c_long * 4)(1, 0, 1, 0)
    how = (ctypes.c_uint64 * 3)(os.O_RDWR, 0, 0)
    return {
        "chmod": lambda path: call("chmod", bytes(path), 0o777),
        "fchmod": through("fchmod", 0o777),
        "fchmodat": lambda path: call("fchmodat", _AT_FDCWD, bytes(path), 0o777, 0),
        "fchmodat2": lambda path: number(452, _AT_FDCWD, bytes(path), 0o777, 0),
        "chown": lambda path: call("chown", bytes(path), me, group),
        "fchown": through("fchown", me, group),
        "lchown": lambda path: call("lchown", bytes(path), me, group),
        "fchownat": lambda path: call("fchownat", _AT_FDCWD, bytes(path), me, group, 0),
        "utime": lambda path: call("utime", bytes(path), times),
        "utimes": lambda path: call("utimes", bytes(path), times),
        "futimes": through("futimes", times),
        "utimensat": lambda path: call("utimensat", _AT_FDCWD, bytes(path), times, 0),
        "setxattr": lambda path: call("setxattr", bytes(path), b"user.a", b"x", 1, 0),
        "lsetxattr": lambda path: call("lsetxattr", bytes(path), b"user.a", b"x", 1, 0),
        "fsetxattr": through("fsetxattr", b"user.a", b"x", 1, 0),
        "removexattr": lambda path: call("removexattr", bytes(path), b"user.kept"),
        "flags": flag,
        "unlink": lambda path: call("unlink", bytes(path)),
        "unlinkat": lambda path: call("unlinkat", _AT_FDCWD, bytes(path), 0),
        "remove": lambda path: call("remove", bytes(path)),
        "rename": lambda path: call("rename", bytes(path), new(path)),
        "renameat": lambda path: call("renameat", _AT_FDCWD, bytes(path), _AT_FDCWD, new(path)),
        "renameat2": lambda path: call("renameat2", _AT_FDCWD, bytes(path), _AT_FDCWD, new(path), 0),
        "link": lambda path: call("link", bytes(path), new(path)),
        "linkat": lambda path: call("linkat", _AT_FDCWD, bytes(path), _AT_FDCWD, new(path), 0),
        "symlink": lambda path: call("symlink", bytes(path), new(path)),
        "truncate": lambda path: call("truncate", bytes(path), ctypes.c_long(1)),
        "mkdir": lambda path: call("mkdir", new(path), 0o700),
        "mkfifo": lambda path: call("mkfifo", new(path), 0o600),
        "mknod": lambda path: call("mknod", new(path), stat.S_IFREG | 0o600, ctypes.c_ulong(0)),
        "creat": lambda path: call("creat", bytes(path), 0o600),
        "open to write": opening(os.O_WRONLY | os.O_TRUNC),
        "open to read and write": lambda path: call("write", opening(os.O_RDWR)(path), b"x", ctypes.c_size_t(1)),
        "open to append": lambda path: call(
            "write", opening(os.O_WRONLY | os.O_APPEND)(path), b"x", ctypes.c_size_t(1)
        ),
        "open to empty": opening(os.O_RDONLY | os.O_TRUNC),
        "open to make": lambda path: call("open", new(path), os.O_RDONLY | os.O_CREAT, 0o600),
        "openat2": lambda path: call(
            "write", number(437, _AT_FDCWD, bytes(path), ctypes.byref(how), ctypes.c_size_t(24)), b"x", 1
        ),
        "program": by_shell,
    }


def _others(at: Path, owner: int) -> dict[str, Callable[[], int]]:
    """Return attempts on what is no file of `at`, or is only looked at."""
    libc = ctypes.CDLL(None, use_errno=True)
    byte = ctypes.create_string_buffer(1)
    span = (ctypes.c_size_t * 2)(ctypes.addressof(byte), 1)
    is_arm = os.uname().machine != "x86_64"
    return {
        "read a key": lambda: libc.open(bytes(at / KEY), os.O_RDONLY),
        "list a folder": lambda: libc.open(bytes(at), os.O_RDONLY | os.O_DIRECTORY),
        "shmget": lambda: libc.shmget(LEFT, ctypes.c_size_t(4_096), _CREATE | 0o600),
        "msgget": lambda: libc.msgget(LEFT, _CREATE | 0o600),
        "semget": lambda: libc.semget(LEFT, 1, _CREATE | 0o600),
        "mq_open": lambda: libc.syscall(ctypes.c_long(180 if is_arm else 240), _QUEUE[1:], os.O_CREAT, 0o600, None),
        "add_key": lambda: libc.syscall(ctypes.c_long(217 if is_arm else 248), b"user", b"docmind", b"x", 1, -4),
        "socket": lambda: libc.socket(2, 1, 0),
        "signal": lambda: libc.kill(owner, 0),
        "memory": lambda: libc.process_vm_readv(os.getpid(), span, 1, span, 1, 0),
    }


def tried(request: dict[str, Any]) -> dict[str, list[int]]:
    """Make all attempts; return of each its result and the number of its error, by its name.

    The request names folders (`places`) with a file for each attempt, `outside`, and the process `owner`.
    """
    answers: dict[str, list[int]] = {}
    for place in map(Path, request["places"]):
        for name, attempt in _calls().items():
            ctypes.set_errno(0)
            answers[f"{place.name}: {name}"] = [attempt(place / name), ctypes.get_errno()]
    for name, other in _others(Path(request["outside"]), request["owner"]).items():
        ctypes.set_errno(0)
        answers[name] = [other(), ctypes.get_errno()]
    return answers


def prepare(place: Path) -> None:
    """Make a file for each attempt, and a key."""
    place.mkdir(exist_ok=True)
    for name in (*_calls(), KEY):
        (place / name).write_text("mine")
        os.chmod(place / name, 0o600)
    os.setxattr(place / "removexattr", "user.kept", b"x")


def seen(place: Path) -> dict[str, tuple[object, ...]]:
    """Return what `stat` tells of each file below a folder, with its attributes and contents."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted([place, *place.rglob("*")]):
        told = path.lstat()
        more: tuple[object, ...] = ()
        if stat.S_ISREG(told.st_mode):
            more = (path.read_bytes(), *os.listxattr(path))
        found[path.name] = (
            *(told.st_mode, told.st_uid, told.st_gid, told.st_nlink, told.st_size, told.st_mtime_ns, told.st_ctime_ns),
            *more,
        )
    return found


def left() -> list[str]:
    """Return the kinds of System V objects that have the key of the attempts."""
    tables = ("shm", "msg", "sem")
    return [name for name in tables if f" {LEFT} " in Path("/proc/sysvipc", name).read_text()]


def clear() -> None:
    """Remove what successful attempts left in the kernel."""
    libc = ctypes.CDLL(None)
    for get, remove, more in (
        (lambda: libc.shmget(LEFT, ctypes.c_size_t(0), 0), libc.shmctl, ()),
        (lambda: libc.msgget(LEFT, 0), libc.msgctl, ()),
        (lambda: libc.semget(LEFT, 0, 0), libc.semctl, (0,)),
    ):
        number = get()
        if number >= 0:
            remove(number, *more, 0, None)
    libc.syscall(ctypes.c_long(241 if os.uname().machine == "x86_64" else 181), _QUEUE[1:])


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Make the attempts that each request asks for; as a request of a reader they lie in its document."""
    from docmind.runtime.worker import read_frame, write_frame

    while (frame := read_frame(incoming)) is not None:
        header, blobs = frame
        write_frame(outgoing, {"id": header.get("id"), "tried": tried(json.loads(blobs[0]))})


def drive(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Start Chromium as its driver does, then make the attempts in place of printing."""
    from docmind.reading.chromium.process import start
    from docmind.runtime.worker import read_frame, write_frame

    header, blobs = read_frame(incoming)  # type: ignore[misc]
    drawing = start(header, outgoing)
    try:
        write_frame(outgoing, {"tried": tried(json.loads(blobs[0]))})
    finally:
        drawing.close()


if __name__ == "__main__":
    print(json.dumps(tried(json.loads(sys.argv[1]))))
