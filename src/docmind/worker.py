"""Child processes for work that must not happen in the owner: hostile parsers, OCR, the index engine.

A worker is a fresh interpreter that runs one entry function over a pair of pipes. What travels is a frame: a JSON
header and a list of byte blobs, never a pickle. Memory, CPU time and file sizes are limited where the system can, and
watched from outside where it cannot; a worker has no network and dies with its parent.

    frame = u32 n_header ‖ header JSON ‖ u32 n_blobs ‖ (u64 length ‖ bytes)*        big-endian
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

from docmind.errors import WorkerFailedError

Frame = tuple[dict[str, Any], list[bytes]]
Serve = Callable[[BinaryIO, BinaryIO], None]

MAX_HEADER = 64 * 1024 * 1024
MAX_BLOB = 4 * 1024 * 1024 * 1024
MAX_BLOBS = 16
_CLONE_NEWUSER, _CLONE_NEWNET = 0x1000_0000, 0x4000_0000


@dataclass(frozen=True, slots=True)
class Limits:
    """What a worker may use; `memory_mb` and `cpu_s` 0 mean no limit. `cpu_s` is the whole life of the process.

    `file_mb` is the largest file it may write: -1 means any, 0 that it writes none.
    """

    memory_mb: int = 0
    cpu_s: int = 0
    file_mb: int = -1
    network: bool = False


def write_frame(stream: IO[bytes], header: dict[str, Any], blobs: Sequence[bytes | memoryview] = ()) -> None:
    """Write one frame and flush it."""
    head = json.dumps(header, separators=(",", ":")).encode()
    stream.write(struct.pack(">I", len(head)) + head + struct.pack(">I", len(blobs)))
    for blob in blobs:
        stream.write(struct.pack(">Q", len(blob)))
        stream.write(blob)
    stream.flush()


def read_frame(stream: IO[bytes]) -> Frame | None:
    """Read one frame; None where the other side has closed. Raises `WorkerFailedError` on a torn or absurd frame."""
    first = stream.read(4)
    if not first:
        return None
    size = struct.unpack(">I", first)[0] if len(first) == 4 else MAX_HEADER + 1
    if size > MAX_HEADER:
        raise WorkerFailedError("a worker sent a frame that cannot be read")
    try:
        header = json.loads(_exactly(stream, size))
    except (ValueError, RecursionError) as error:
        raise WorkerFailedError("a worker sent a header that cannot be read") from error
    if not isinstance(header, dict):
        raise WorkerFailedError("a worker sent a header that cannot be read")
    blobs: list[bytes] = []
    room = MAX_BLOB  # for all of them together
    count = struct.unpack(">I", _exactly(stream, 4))[0]
    if count > MAX_BLOBS:
        raise WorkerFailedError("a worker sent more blobs than any frame holds")
    for _ in range(count):
        length = struct.unpack(">Q", _exactly(stream, 8))[0]
        room -= length
        if room < 0:
            raise WorkerFailedError("a worker sent a blob that is too large")
        blobs.append(_exactly(stream, length))
    return header, blobs


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise WorkerFailedError("a worker stopped in the middle of a frame")
    return data


class Worker:
    """One child process. Use it from one thread at a time; `kill` may come from any.

    `entry` is `module:function`, called in the child with the two streams.
    """

    def __init__(self, entry: str, limits: Limits = Limits(), *, ahead: int = 4) -> None:
        self.limits = limits
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DOCMIND_")}
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "docmind.worker", entry, json.dumps(asdict(limits))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        # `ahead` frames may wait here: a fast child is held back by its pipe, not by our memory.
        self._frames: queue.Queue[Frame | Exception | None] = queue.Queue(maxsize=ahead)
        self._closed = threading.Event()
        threading.Thread(target=self._pump, name=f"worker {entry}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def send(self, header: dict[str, Any], blobs: Sequence[bytes | memoryview] = ()) -> None:
        """Send one frame. Raises `WorkerFailedError` where the child has gone."""
        assert self._process.stdin is not None
        try:
            write_frame(self._process.stdin, header, blobs)
        except (OSError, ValueError) as error:
            raise WorkerFailedError(self._obituary()) from error

    def receive(self, timeout_s: float) -> Frame:
        """The next frame. Raises `WorkerFailedError` on death, silence longer than `timeout_s` or too much memory."""
        deadline = time.monotonic() + timeout_s
        while True:
            remaining = deadline - time.monotonic()
            try:
                item = self._frames.get(timeout=max(0.0, min(0.25, remaining)))
            except queue.Empty:
                if self._closed.is_set():  # killed from another thread, or found dead before: no frame will come
                    raise WorkerFailedError(self._obituary()) from None
                self._watch_memory()
                if remaining <= 0:
                    self.kill()
                    raise WorkerFailedError(f"a worker said nothing for {timeout_s:.0f} s and was stopped") from None
                continue
            if item is None:
                self._closed.set()
                raise WorkerFailedError(self._obituary())
            if isinstance(item, Exception):
                self.kill()
                raise WorkerFailedError(str(item)) from item
            return item

    def call(self, header: dict[str, Any], blobs: Sequence[bytes | memoryview] = (), *, timeout_s: float) -> Frame:
        """Send one frame and wait for one back."""
        self.send(header, blobs)
        return self.receive(timeout_s)

    def kill(self) -> None:
        """End the child at once. Harmless when it is gone already."""
        self._closed.set()
        self._process.kill()
        self._reap()

    def close(self, timeout_s: float = 5.0) -> None:
        """Close the pipe, which asks the child to end; kill it where it does not within `timeout_s`."""
        self._closed.set()
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reap()

    def _reap(self) -> None:
        self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def _pump(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        item: Frame | Exception | None
        with stdout:
            while True:
                try:
                    item = read_frame(stdout)
                except (WorkerFailedError, OSError, ValueError) as error:
                    item = error
                while not self._closed.is_set():
                    try:
                        self._frames.put(item, timeout=0.25)
                        break
                    except queue.Full:
                        continue
                if self._closed.is_set() or not isinstance(item, tuple):
                    return

    def _watch_memory(self) -> None:
        """The limit for systems without RLIMIT_AS, and for memory that RLIMIT_AS does not see."""
        if not self.limits.memory_mb:
            return
        import psutil

        try:
            used = psutil.Process(self.pid).memory_info().rss
        except psutil.Error:
            return
        if used > self.limits.memory_mb * 1024 * 1024:
            self.kill()
            raise WorkerFailedError(f"a worker needed more than {self.limits.memory_mb} MB and was stopped")

    def _obituary(self) -> str:
        code = self._process.poll()
        if code is None:
            self.kill()
            return "a worker closed its pipe and was stopped"
        return (
            f"a worker ended by itself (signal {-code})" if code < 0 else f"a worker ended by itself (exit code {code})"
        )


def main(entry: str, limits: Limits) -> None:
    """The child's side: limits first, then the entry function, over the real stdin and stdout."""
    module, _, function = entry.partition(":")
    incoming = sys.stdin.buffer
    # Libraries may print: what they print must never reach the pipe.
    outgoing = os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    os.dup2(2, 1)
    threading.Thread(target=_follow_parent, args=(os.getppid(),), daemon=True).start()
    if not limits.network:
        _cut_network()
    apply(limits)
    serve: Serve = getattr(importlib.import_module(module), function)
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        serve(incoming, outgoing)


def apply(limits: Limits) -> None:
    """Take limits upon this process: they can be narrowed later, never widened."""
    try:
        import resource
    except ImportError:  # Windows: the parent watches instead
        return
    for name, value in (
        (resource.RLIMIT_AS, limits.memory_mb * 1024 * 1024),
        (resource.RLIMIT_CPU, limits.cpu_s),
        (resource.RLIMIT_FSIZE, limits.file_mb * 1024 * 1024 if limits.file_mb >= 0 else 0),
    ):
        wanted = value if value or (name == resource.RLIMIT_FSIZE and limits.file_mb == 0) else None
        if wanted is not None:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(name, (wanted, wanted))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _cut_network() -> None:
    def refuse(event: str, _arguments: tuple[object, ...]) -> None:
        if event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto"):
            raise PermissionError("a worker has no network")

    sys.addaudithook(refuse)


def _leave_network_namespace() -> None:
    """Native code cannot be hooked: on Linux an empty network namespace leaves it nothing to reach."""
    if sys.platform == "linux":
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        user, group = os.geteuid(), os.getegid()
        if libc.unshare(_CLONE_NEWNET) != 0 and libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0:
            # Still the same user: a stranger to the system could not put a browser into a sandbox of its own.
            with contextlib.suppress(OSError):
                for name, line in (
                    ("setgroups", "deny"),
                    ("uid_map", f"{user} {user} 1"),
                    ("gid_map", f"{group} {group} 1"),
                ):
                    Path("/proc/self", name).write_text(line)


def _follow_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


if __name__ == "__main__":
    _limits = Limits(**json.loads(sys.argv[2]))
    if not _limits.network:
        _leave_network_namespace()  # must come before the first thread
    main(sys.argv[1], _limits)
