"""The program that child processes are forked from (`docmind.runtime.forking` is its client).

One thread, one socket, no file: the program imports the module of an entry function once, forks, hands the child its
pipes, and tells the owner how the child ended. A child then does what a fresh interpreter does in
`docmind.runtime.worker`: it cuts itself off from the network, applies its limits and calls the entry function. A module
may name further modules in `PRELOAD`: they are imported while nothing is asked for, and one after each fork.

The program ends with its owner, however that ends, and its children end with it: by themselves at the end of their
input, or with the program a moment later. Once the owner has closed the socket, the program ends with its last child.

in   {entry, limits, environment, at} + the child's stdin and stdout
out  {pid} + a descriptor of the process, and a pipe that gets its exit code; or {error}
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any

from docmind.runtime import sandbox, worker
from docmind.runtime.forking import ENDED, LARGEST, received

_LOOK_MS, _IDLE_MS = 500, 1_000
_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15


class Server:
    """The children of this process, by the descriptor of each."""

    def __init__(self, control: socket.socket) -> None:
        self._control: socket.socket | None = control
        self._owner = os.getppid()
        self._children: dict[int, tuple[int, int]] = {}  # pidfd -> (pid, pipe for the exit code)
        self._ahead: list[str] = []  # modules to import while nothing is asked for
        self._polled = select.poll()
        self._polled.register(control.fileno(), select.POLLIN)

    def serve(self) -> None:
        """Answer requests until the owner has ended, or has closed the socket and the last child has ended."""
        quiet_ms, is_due = 0, False
        while self._control is not None or self._children:
            events = self._polled.poll(0 if is_due else _LOOK_MS)
            if os.getppid() != self._owner:
                self._let_children_end()
                return
            for number, _ in events:
                if number in self._children:
                    self._reap(number)
                elif self._control is not None:
                    self._answer(self._control)
                    is_due = bool(self._ahead)  # one module after each fork: many files in a row leave no quiet second
            quiet_ms = 0 if events or is_due else quiet_ms + _LOOK_MS
            if not events and self._ahead and (is_due or quiet_ms >= _IDLE_MS):
                _import(self._ahead.pop(0))
                is_due = False

    def _let_children_end(self) -> None:
        """Give the children of an owner that is dead a moment to end by themselves, which they do at the end of their
        input: an index that is killed while it closes its files can lose what it had acknowledged.

        What is left is killed by the system when this process ends.
        """
        until = time.monotonic() + worker.LAST_MOMENT_S
        if self._control is not None:
            self._polled.unregister(self._control.fileno())
        while self._children and (left_s := until - time.monotonic()) > 0:
            for number, _ in self._polled.poll(left_s * 1_000):
                self._reap(number)

    def _answer(self, control: socket.socket) -> None:
        try:
            data, files = received(control, LARGEST)
        except OSError:
            data, files = b"", []
        if not data:
            self._polled.unregister(control.fileno())
            control.close()
            self._control = None
            return
        try:
            self._fork(control, json.loads(data), files)
        except (OSError, ValueError) as error:
            control.send(json.dumps({"error": str(error)}).encode())
        finally:
            for number in files:
                os.close(number)

    def _fork(self, control: socket.socket, request: dict[str, Any], files: list[int]) -> None:
        module = str(request["entry"]).partition(":")[0]
        if module.startswith("docmind.") and module not in sys.modules:
            self._ahead += getattr(_import(module), "PRELOAD", ())
        if len(os.listdir("/proc/self/task")) != 1:
            raise OSError("a library started a thread, which a fork would lose")
        read_end, write_end = os.pipe()
        gc.freeze()  # what is here stays shared with the children
        me = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            os.close(read_end)
            os.close(write_end)
            raise
        if pid == 0:
            code = 1
            try:
                for number in (control.fileno(), read_end, write_end, *self._children):
                    os.close(number)
                for _, pipe in self._children.values():
                    os.close(pipe)
                code = _become(request, files, me)
            finally:
                os._exit(code)
        handle = os.pidfd_open(pid)
        self._children[handle] = pid, write_end
        self._polled.register(handle, select.POLLIN)
        socket.send_fds(control, [json.dumps({"pid": pid}).encode()], [handle, read_end])
        os.close(read_end)

    def _reap(self, handle: int) -> None:
        pid, pipe = self._children.pop(handle)
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(OSError):  # nobody waits for it any more
            os.write(pipe, ENDED.pack(os.waitstatus_to_exitcode(status)))
        self._polled.unregister(handle)
        os.close(pipe)
        os.close(handle)


def _become(request: dict[str, Any], files: list[int], server: int) -> int:
    """Run the child's side in a fork, and return its exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(files[0], 0)
    os.dup2(files[1], 1)
    for number in files:
        os.close(number)
    os.environ.clear()
    os.environ.update(request["environment"])
    with contextlib.suppress(OSError):  # a folder that was removed since
        os.chdir(request["at"])
    limits = worker.Limits(**request["limits"])
    held = sandbox.isolate(limits)
    _be_called(str(request["entry"]).partition(":")[0].removeprefix("docmind."))
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)  # last: a new user namespace clears it
    if os.getppid() != server:
        return 1
    try:
        worker.main(request["entry"], limits, held)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    except BaseException:  # noqa: BLE001 - an interpreter would end with 1, and nobody reads its words
        return 1
    return 0


def _be_called(name: str) -> None:
    """Set the name that lists of processes show, up to 15 bytes."""
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode("ascii", "replace")[:15], 0, 0, 0)


def _import(module: str) -> Any:
    """Import a module; None where it cannot be: a child will fail by itself, and be told of."""
    try:
        return importlib.import_module(module)
    except Exception:  # noqa: BLE001 - the same happens in the child, whose owner learns of it
        return None


def main(number: int) -> None:
    """Serve the socket with this number."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches every process; the owner decides
    _be_called("fork_server")
    Server(socket.socket(fileno=number)).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]))
