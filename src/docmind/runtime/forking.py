"""Child processes that are forked from one process in which their modules are imported already (Linux).

A fresh interpreter needs 0.1 seconds of processor time to start, and 0.2 more to import what reads documents; a fork of
a process that has done both needs milliseconds. That process (`docmind.runtime.fork_server`) is started when a library
is opened (`choose`), at the latest with the first child. It belongs to this process alone, ends with it, and holds no
key and no file of the library: what a child works on reaches the child through its own pipes, as it reaches a fresh
interpreter. Where no fork can be had, `fork` returns None and a fresh interpreter is started.

Linux alone: Windows has no fork, and libraries of macOS may crash after one. A child is ended through a descriptor of
the process (pidfd, Linux 5.3), because another process waits for it: its number could belong to a new process.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, Literal

Way = Literal["auto", "spawn"]
"""How children are started: forked where this system can, or each in a fresh interpreter."""

ENDED = struct.Struct(">i")
"""What the server writes to the pipe of a child that has ended: its exit code, negative for a signal."""

LARGEST = 128 * 1024  # bytes of a request, for the most part the child's environment; the socket takes 200 KB
_PATIENCE_S = 30.0  # the server imports modules in less than one
_AT_START = ("PYTHON", "LD_", "GLIBC_", "MALLOC_", "OMP_", "OPENBLAS_", "MKL_", "ORT_", "LC_", "LANG")
"""Beginnings of variables that an interpreter, the loader or a library reads once: a change needs a new server."""

_log = logging.getLogger(__name__)


class ServerLostError(OSError):
    """The process that forks has ended, or does not answer; it is killed, and its children with it."""


class CannotForkError(OSError):
    """The process that forks refuses this child, which needs an interpreter of its own."""


class Forked:
    """A forked child, with what `Worker` uses of `subprocess.Popen`. Thread-safe.

    The exit code comes through a pipe from the server. Where the server has ended first, it has killed the child.
    """

    def __init__(self, pid: int, handle: int, ended: int, stdin: io.BufferedWriter, stdout: io.BufferedReader) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        # Both are closed with this object, never before: another thread may be waiting on them.
        self._handle, self._ended = io.FileIO(handle), io.FileIO(ended)
        self._lock = threading.Lock()
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code; None while the child runs."""
        with self._lock:
            if self._code is None and _is_readable(self._ended.fileno(), 0.0):
                told = self._ended.read(ENDED.size) or b""
                self._code = ENDED.unpack(told)[0] if len(told) == ENDED.size else -int(signal.SIGKILL)
            return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the child and return its exit code. Raises `subprocess.TimeoutExpired`."""
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired(f"child {self.pid}", timeout or 0.0)
            _is_readable(self._ended.fileno(), left)
        return code

    def kill(self) -> None:
        """End the child at once. Idempotent."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle.fileno(), signal.SIGKILL)


class ForkServer:
    """One server process, and the socket to it. Thread-safe."""

    program = "docmind.runtime.fork_server"
    """The module that the process runs, with the number of its socket as argument."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Start the process. Raises `OSError`."""
        self.at_start = _at_start(environment)
        self._lock = threading.Lock()
        self._socket, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(_PATIENCE_S)
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self.program, str(its.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                env=dict(environment),
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def fork(self, entry: str, limits: Mapping[str, Any], environment: Mapping[str, str]) -> Forked:
        """Start a child that runs an entry function.

        Raises `ServerLostError`, `CannotForkError`, and `OSError` where this process has no descriptor left.
        """
        at = ""
        with contextlib.suppress(OSError):  # the folder was removed
            at = os.getcwd()
        child_in, to_child = os.pipe()
        try:
            from_child, child_out = os.pipe()
        except OSError:
            os.close(child_in)
            os.close(to_child)
            raise
        stdin, stdout = os.fdopen(to_child, "wb"), os.fdopen(from_child, "rb")
        request = {"entry": entry, "limits": dict(limits), "environment": dict(environment), "at": at}
        try:
            pid, handle, ended = self._ask(json.dumps(request).encode(), [child_in, child_out])
        except OSError:
            stdin.close()
            stdout.close()
            raise
        finally:
            os.close(child_in)
            os.close(child_out)
        return Forked(pid, handle, ended, stdin, stdout)

    def _ask(self, request: bytes, files: list[int]) -> tuple[int, int, int]:
        if len(request) > LARGEST:
            raise CannotForkError("the environment is too large")
        with self._lock:
            try:
                socket.send_fds(self._socket, [request], files)
                data, handles = received(self._socket, 1 << 16)
            except OSError as error:
                self.kill()
                raise ServerLostError(str(error)) from error
        told = json.loads(data) if data else {}
        if len(handles) == 2 and "pid" in told:
            return int(told["pid"]), handles[0], handles[1]
        for handle in handles:
            os.close(handle)
        if "error" in told:
            raise CannotForkError(told["error"])
        raise ServerLostError("the process that forks has ended")

    def retire(self) -> None:
        """Let the process end with the last of its children, and fork no more."""
        with self._lock:
            self._socket.close()

    def kill(self) -> None:
        """End the process, and with it its children."""
        self._process.kill()
        self._process.wait()


def received(control: socket.socket, most: int) -> tuple[bytes, list[int]]:
    """Receive one message of at most `most` bytes and its descriptors (two at most), which programs do not inherit."""
    data, handles, _, _ = socket.recv_fds(control, most, 2)
    for handle in handles:
        os.set_inheritable(handle, False)
    return data, handles


_lock = threading.Lock()
_way: Way = "auto"
_server: ForkServer | None = None
_owner = 0  # the process that `_server` belongs to: a copy of this process must not use it


def can_fork() -> bool:
    """Return whether children can be forked on this system."""
    return sys.platform == "linux" and hasattr(os, "pidfd_open") and hasattr(signal, "pidfd_send_signal")


def choose(way: Way, environment: Mapping[str, str]) -> None:
    """Choose how this process starts its children, and start the server where they are forked.

    The server imports while this process goes on opening the library, and is ready when the first child is wanted.
    """
    global _way
    _way = way
    if way != "spawn" and can_fork():
        with contextlib.suppress(OSError):  # the first child will meet it too
            _running(environment)


def fork_server_pid() -> int | None:
    """Return the number of the process that children are forked from; None where there is none."""
    with _lock:
        return _server.pid if _server is not None and _owner == os.getpid() and _server.is_alive else None


def fork(entry: str, limits: Mapping[str, Any], environment: Mapping[str, str]) -> Forked | None:
    """Start a child by a fork; return None where a fresh interpreter must be started.

    `entry` is `module:function`; a module of DocMind is imported in the server, once. Raises `OSError` where this
    process has no descriptor left.
    """
    if _way == "spawn" or not can_fork():
        return None
    reason = ""
    for _ in range(2):  # a server that was killed meanwhile is started again, once
        try:
            return _running(environment).fork(entry, limits, environment)
        except ServerLostError as error:
            reason = str(error)
        except CannotForkError as error:
            reason = str(error)
            break
    _log.warning("a child process starts slower, in an interpreter of its own: %s", reason)
    return None


def _running(environment: Mapping[str, str]) -> ForkServer:
    """Return a server that was started with the same environment; start it where there is none."""
    global _server, _owner
    with _lock:
        if _server is not None and _owner == os.getpid() and _server.is_alive:
            if _server.at_start == _at_start(environment):
                return _server
            _server.retire()
        _server, _owner = ForkServer(environment), os.getpid()
        return _server


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_AT_START)}


def _is_readable(number: int, timeout_s: float | None) -> bool:
    """Wait until a descriptor can be read, or its other end is closed. `select` would be limited to 1,024 of them."""
    waiting = select.poll()
    waiting.register(number, select.POLLIN)
    return bool(waiting.poll(None if timeout_s is None else max(0.0, timeout_s) * 1_000))
