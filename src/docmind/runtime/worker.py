"""Child processes for work that must not run in the owner: parsers of hostile files, OCR, the index engine.

A worker runs one entry function over a pair of pipes: in a fork of a process that has its modules imported
(`docmind.runtime.forking`), or in a fresh interpreter. Messages are frames: a JSON header and a list of byte blobs,
never a pickle. Memory, CPU time and file sizes are limited by the system where it can; elsewhere the parent watches the
memory. A worker has no network unless its limits allow it, and ends with its parent. Its first frame names what
holds its native code (`docmind.runtime.sandbox`).

    frame = u32 n_header ‖ header JSON ‖ u32 n_blobs ‖ (u64 length ‖ bytes)*        big-endian
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import queue
import re
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import IO, Any, BinaryIO

from docmind.errors import DocMindError, WorkerFailedError
from docmind.runtime import forking, quiet, refusals, sandbox
from docmind.runtime.limits import Limits
from docmind.runtime.sandbox import Way
from docmind.wording import language, speak

Header = dict[str, Any]
Frame = tuple[Header, list[bytes]]
Serve = Callable[[BinaryIO, BinaryIO], None]
Answer = Callable[[Header, list[bytes]], Frame]

MAX_HEADER = 64 * 1024 * 1024
MAX_BLOB = 4 * 1024 * 1024 * 1024
MAX_BLOBS = 16
_ENDING_S = 0.5
LAST_MOMENT_S = 5.0
"""How long a child may go on after its owner has died, to close its files: an index needs tenths of a second, and some
seconds on a busy machine. One that is killed while it closes can lose what it had acknowledged.
"""
_REFUSED = "refused"  # the key of a header that counts the network calls that a child was refused
_SPOKEN = "spoken"  # the key of a header that tells a child the language of the interface
_PIPE = 32 * 1024  # bytes that a pipe holds for certain: sending more waits for the reader


_SECRET = re.compile(r"(?:^|_)(?:KEY|APIKEY|TOKEN|SECRET|PASS|PASSWORD|PASSPHRASE|CREDENTIALS?|AUTH)(?:_|$)", re.I)
"""Names of variables that may hold what opens something: code that reads documents does not learn it."""


def start_children(way: forking.Way) -> None:
    """Choose how this process starts its children from now on."""
    forking.choose(way, _environment())


def _environment() -> dict[str, str]:
    """Return the environment of children: that of this process without its settings and secrets of other programs."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("DOCMIND_") and not _SECRET.search(name)
    }
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    quiet.apply(environment)
    return environment


def idle(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Do nothing: an entry function whose process only reports its isolation."""


def isolation() -> tuple[Way, ...]:
    """Return what holds native code in the processes that read documents; empty where nothing does.

    A worker is started to find out. Raises `WorkerFailedError` where none can be started.
    """
    worker = Worker("docmind.runtime.worker:idle", Limits(is_confined=True))
    try:
        return worker.isolation()
    finally:
        worker.close()


def write_frame(stream: IO[bytes], header: Header, blobs: Sequence[bytes | memoryview] = ()) -> None:
    """Write one frame of a child and flush it; the network calls that were refused since the last one are counted."""
    if refused := refusals.take():
        header = {**header, _REFUSED: refused}
    _write(stream, _packed(header), blobs)


def _packed(header: Header) -> bytes:
    return json.dumps(header, separators=(",", ":")).encode()


def _write(stream: IO[bytes], head: bytes, blobs: Sequence[bytes | memoryview]) -> None:
    stream.write(struct.pack(">I", len(head)) + head + struct.pack(">I", len(blobs)))
    for blob in blobs:
        stream.write(struct.pack(">Q", len(blob)))
        stream.write(blob)
    stream.flush()


def read_frame(stream: IO[bytes]) -> Frame | None:
    """Read one frame; None where the other side has closed.

    Raises `WorkerFailedError` for an invalid frame.
    """
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


def read_request(stream: IO[bytes]) -> Frame | None:
    """Read one frame of the owner in a child, whose messages are in the owner's language from then on.

    The result is None where the owner has closed. Raises `WorkerFailedError` for an invalid frame.
    """
    frame = read_frame(stream)
    if frame is not None and _SPOKEN in frame[0]:
        speak(str(frame[0].pop(_SPOKEN)))
    return frame


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise WorkerFailedError("a worker stopped in the middle of a frame")
    return data


def refusal(error: Exception) -> Frame:
    """Return the frame that names an error to the owner."""
    return {"error": type(error).__name__, "message": str(error), "hint": getattr(error, "hint", "")}, []


def serve_requests(
    incoming: BinaryIO,
    outgoing: BinaryIO,
    answer: Answer,
    explain: Callable[[Header, Exception], Exception] = lambda _header, error: error,
    submit: Mapping[str, Callable[..., object]] = {},
) -> None:
    """Answer requests until the pipe is closed. An answer has the `id` of its request.

    An error of `answer` is answered too: a `DocMindError` as it is, every other as what `explain` makes of it. Requests
    whose `do` is in `submit` are given to that method of an executor, and the next one is read meanwhile.
    """
    writing = threading.Lock()

    def respond(header: Header, blobs: list[bytes]) -> None:
        try:
            head, found = answer(header, blobs)
        except DocMindError as error:
            head, found = refusal(error)
        except Exception as error:  # noqa: BLE001 - whatever a parser or a model raises concerns this request only
            head, found = refusal(explain(header, error))
        with writing:
            write_frame(outgoing, {"id": header.get("id"), **head}, found)

    while (frame := read_request(incoming)) is not None:
        start = submit.get(str(frame[0].get("do")))
        if start is None:
            respond(*frame)
        else:
            start(respond, *frame)


class Worker:
    """One child process. Use it from one thread at a time; `kill` may be called from any.

    `entry` is `module:function`, called in the child with the two streams. `is_forked` says that its modules may be
    imported in another process beforehand: not those of torch and llama.cpp, which start threads.
    """

    def __init__(self, entry: str, limits: Limits = Limits(), *, ahead: int = 4, is_forked: bool = True) -> None:
        self.limits = limits
        environment = _environment()
        forked = forking.fork(entry, asdict(limits), environment) if is_forked else None
        self._process = forked or subprocess.Popen(
            [sys.executable, "-m", "docmind.runtime.worker", entry, json.dumps(asdict(limits))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        # At most `ahead` frames wait here: after that the pipe blocks a fast child, so our memory stays bounded.
        self._frames: queue.Queue[Frame | Exception | None] = queue.Queue(maxsize=ahead)
        self._closed = threading.Event()
        self._spoken = "en"  # the language that the child was told last
        self._late_s: float | None = None  # the time after which a child that did not read was killed
        self._greeted = threading.Event()
        self._isolation: tuple[Way, ...] | None = None
        threading.Thread(target=self._pump, name=f"worker {entry}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def isolation(self, timeout_s: float = 30.0) -> tuple[Way, ...]:
        """Return what holds native code in the child; empty where nothing does.

        Raises `WorkerFailedError` where the child has not started within `timeout_s`.
        """
        if not self._greeted.wait(timeout_s) or self._isolation is None:
            raise WorkerFailedError(self._obituary())
        return self._isolation

    @property
    def exit_code(self) -> int | None:
        """The child's exit code, None while it runs.

        On POSIX it is the negative number of the signal that ended the child.
        """
        return self._process.poll()

    def send(self, header: Header, blobs: Sequence[bytes | memoryview] = (), *, timeout_s: float | None = None) -> None:
        """Send one frame. Raises `WorkerFailedError` where the child has ended.

        A child that has not read a long frame after `timeout_s` is killed.
        """
        assert self._process.stdin is not None
        if self._spoken != (spoken := language()):
            header, self._spoken = {**header, _SPOKEN: spoken}, spoken
        head, timer = _packed(header), None
        if timeout_s is not None and len(head) + sum(map(len, blobs)) > _PIPE:
            timer = threading.Timer(timeout_s, self._stop_late, (timeout_s,))
            timer.daemon = True
            timer.start()
        try:
            _write(self._process.stdin, head, blobs)
        except (OSError, ValueError) as error:
            raise WorkerFailedError(self._obituary()) from error
        finally:
            if timer is not None:
                timer.cancel()

    def _stop_late(self, timeout_s: float) -> None:
        self._late_s = timeout_s
        self.kill()

    def receive(self, timeout_s: float = math.inf) -> Frame:
        """Return the next frame.

        Raises `WorkerFailedError` where the child ends, is silent for longer than `timeout_s` or uses too much memory.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            remaining = deadline - time.monotonic()
            try:
                item = self._frames.get(timeout=max(0.0, min(0.25, remaining)))
            except queue.Empty:
                if self._closed.is_set():  # killed from another thread or ended before: no frame will come
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

    def call(self, header: Header, blobs: Sequence[bytes | memoryview] = (), *, timeout_s: float) -> Frame:
        """Send one frame and return the reply. Raises as `send` and `receive` do."""
        self.send(header, blobs, timeout_s=timeout_s)
        return self.receive(timeout_s)

    def kill(self) -> None:
        """End the child at once. Idempotent."""
        self._closed.set()
        self._process.kill()
        self._reap()

    def close(self, timeout_s: float = 5.0) -> None:
        """Close the pipe, which asks the child to end.

        Kill it if it has not ended within `timeout_s`.
        """
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
            try:
                first = read_frame(stdout)
                if first is not None:
                    self._isolation = tuple(first[0].get("isolation", ()))
                    self._greeted.set()
                item = None if first is None else _counted(read_frame(stdout))
            except (WorkerFailedError, OSError, ValueError) as error:
                item = error
            self._greeted.set()
            while True:
                while not self._closed.is_set():
                    try:
                        self._frames.put(item, timeout=0.25)
                        break
                    except queue.Full:
                        continue
                if self._closed.is_set() or not isinstance(item, tuple):
                    return
                try:
                    item = _counted(read_frame(stdout))
                except (WorkerFailedError, OSError, ValueError) as error:
                    item = error

    def _watch_memory(self) -> None:
        """Enforce the memory limit on systems without RLIMIT_AS, and for memory that RLIMIT_AS does not count.

        Raises `WorkerFailedError`.
        """
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
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_S)  # a pipe closes a moment before its process has ended
        if self._late_s is not None:
            return f"it took longer than {self._late_s:.0f} s and was stopped"
        code = self._process.poll()
        if code is None:
            self.kill()
            return "a worker closed its pipe and was stopped"
        return (
            f"a worker ended by itself (signal {-code})" if code < 0 else f"a worker ended by itself (exit code {code})"
        )


def _counted(frame: Frame | None) -> Frame | None:
    """Take the counts of refused network calls out of a child's frame."""
    if frame is not None and _REFUSED in frame[0]:
        refusals.add(frame[0].pop(_REFUSED))
    return frame


def main(entry: str, limits: Limits, isolation: tuple[Way, ...] = ()) -> None:
    """Run the child's side: apply the limits, then call the entry function with the real stdin and stdout."""
    module, _, function = entry.partition(":")
    incoming = sys.stdin.buffer
    # Libraries may print: their output must never reach the pipe.
    outgoing = os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    os.dup2(2, 1)
    threading.Thread(target=_follow_parent, args=(os.getppid(),), daemon=True).start()
    if not limits.network:
        _refuse_python_calls()
    sys.dont_write_bytecode |= limits.is_confined
    if limits.is_confined and not limits.writes:
        sandbox.refuse_changes(limits.starts)
    apply(limits)
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        write_frame(outgoing, {"isolation": isolation})
        run: Serve = getattr(importlib.import_module(module), function)
        run(incoming, outgoing)


def apply(limits: Limits) -> None:
    """Apply limits to this process; they can be lowered later, never raised."""
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


def _refuse_python_calls() -> None:
    """Refuse network calls of Python code by an audit hook, which works on every system but not for native code."""

    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        if event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto"):
            if event != "socket.bind":
                refusals.note(_place(event, arguments))
            raise PermissionError("a worker has no network")

    sys.addaudithook(refuse)


def _place(event: str, arguments: tuple[object, ...]) -> str:
    """Return `host:port` of an audited call as far as it names them."""
    where = arguments[:2] if event == "socket.getaddrinfo" else arguments[1]
    if isinstance(where, tuple):
        host, port = (*where, None, None)[:2]
        return f"{host}:{port}" if port is not None else f"{host}"
    return f"{where}"


def _follow_parent(parent: int) -> None:
    """End this process after its parent, where the end of its input did not end it: it has a moment to close files."""
    while os.getppid() == parent:
        time.sleep(0.5)
    time.sleep(LAST_MOMENT_S)
    os._exit(0)


if __name__ == "__main__":
    _limits = Limits(**json.loads(sys.argv[2]))
    # Before the first thread: an existing thread would keep its network access.
    main(sys.argv[1], _limits, sandbox.isolate(_limits))
