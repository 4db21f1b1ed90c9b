"""The app without its imports: each start is a fork of one process that has imported its modules (Linux).

`streamlit run app.py` spends most of a start on imports. Here each pytest worker has one process that imports them
once and does nothing else: it reads no setting, opens no vault, starts no thread and has no network guard. A start of
the app is a fork of it, which then calls Streamlit's own command with the arguments and variables of that start, in a
process of its own. So nothing has to be reset between two vaults: settings, secrets, tickets, locks, caches, tabs, the
guard and the log are those of a new process, and a test can kill it.

One thing differs from a start by the command: the name of the launch in the address is always the same, so that the
browser may keep Streamlit's scripts from one start to the next. The secrets of the launch are new in each.

The process ends with pytest, and its apps with it. Tests of the start itself run the command instead.

in   {arguments, environment, folder} + descriptors: the log, and one that is closed when the app has ended
out  {pid}
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

MODULES = (
    "streamlit.web.cli",
    "streamlit.web.bootstrap",
    "streamlit.web.server.app_discovery",
    "streamlit.web.server.starlette.starlette_app",
    "streamlit.web.server.starlette.starlette_server",
    "uvicorn",
    "docmind.services",
    "docmind.application",
    "docmind.access.running",
    "docmind.answers.align",
    "docmind.answers.direct",
    "docmind.api.mcp_http",
    "docmind.api.programs",
    "docmind.api.rest",
    "docmind.conversations.agent",
    "docmind.conversations.turns",
    "docmind.index.edge",
    "docmind.ingest.llama_nodes",
    "docmind.maintenance.doctor",
    "docmind.picture_marks.features",
    "docmind.rich_text.parse",
    "docmind.runtime.logging",
)
"""They import all that the app has imported after its first questions, except its pages, which need the server."""

LAUNCH_ID = "f0" * 16
_LARGEST = 128 * 1024
_PATIENCE_S = 60.0
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # NumPy starts threads when it is imported, and a fork would lose them
_PR_SET_PDEATHSIG = 1


def can_fork() -> bool:
    """Tell whether the app can be forked on this system."""
    return sys.platform == "linux"


class ForkedApp:
    """A running app, with what `Server` uses of `subprocess.Popen`."""

    def __init__(self, pid: int, ended: socket.socket) -> None:
        self.pid, self._ended = pid, ended

    def poll(self) -> int | None:
        """Return 0 where the app has ended, however that was; None while it runs."""
        return 0 if select.select([self._ended], [], [], 0)[0] else None

    def wait(self, timeout: float) -> int:
        """Wait until the app has ended. Raises `subprocess.TimeoutExpired`."""
        if not select.select([self._ended], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(f"app {self.pid}", timeout)
        return 0

    def send_signal(self, number: int) -> None:
        """Send a signal to the app, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End the app as a crash does."""
        self.send_signal(signal.SIGKILL)


class Forks:
    """The process that apps are forked from."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._socket, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(_PATIENCE_S)
        with its:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).resolve()), str(its.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                env={**environment, **_ONE_THREAD},
            )

    def start(self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, log: BinaryIO) -> ForkedApp:
        """Start `streamlit` with these arguments in this folder; what it writes goes to the log."""
        request = {"arguments": list(arguments), "environment": dict(environment), "folder": str(folder)}
        ended, its = socket.socketpair()
        with its:
            socket.send_fds(self._socket, [json.dumps(request).encode()], [log.fileno(), its.fileno()])
        told = self._socket.recv(_LARGEST)
        assert told, "the process that apps are forked from has ended"
        return ForkedApp(json.loads(told)["pid"], ended)

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.wait(_PATIENCE_S)


@cache
def forks(path: str) -> Forks:
    """Return the process of this pytest worker, started at the first call; `path` is where its modules are found."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("DOCMIND_")}
    started = Forks({**plain, "PYTHONPATH": path})
    atexit.register(started.close)
    return started


# --- the process that apps are forked from ----------------------------------------------------------------------------


def serve(control: socket.socket) -> Sequence[str]:
    """Fork an app for each request; return its arguments in the fork. Ends with its owner, and its apps with it."""
    for name in MODULES:
        importlib.import_module(name)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches every process; the owner decides
    gc.collect()
    gc.freeze()  # what is here stays shared with the apps
    while True:
        readable, _, _ = select.select([control], [], [], 1.0)
        _reap()
        if not readable:
            continue
        data, files, _, _ = socket.recv_fds(control, _LARGEST, 2)
        if not data:
            raise SystemExit
        request = json.loads(data)
        assert len(os.listdir("/proc/self/task")) == 1, "an import has started a thread, which a fork would lose"
        pid = os.fork()
        if pid == 0:
            control.close()
            _become(request, *files)
            return request["arguments"]
        for number in files:
            os.close(number)
        control.send(json.dumps({"pid": pid}).encode())


def _reap() -> None:
    """Take note of apps that have ended, so that their processor time counts as that of this process."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _become(request: dict[str, Any], log: int, ended: int) -> None:
    """Give a fork the variables, the folder and the log of its start.

    `ended` stays open as long as the process: no program that it starts inherits the descriptor.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    os.set_inheritable(ended, False)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.path[0] = request["folder"]  # as `python -m` does
    sys.argv = ["streamlit", *request["arguments"]]
    _name_launches()


def _name_launches() -> None:
    """Give every launch of this process the same name in its address."""
    from docmind.access import Launch

    class Named(Launch):
        def __init__(self, *, is_token_required: bool = True, origin: str | None = None) -> None:
            super().__init__(is_token_required=is_token_required, origin=origin)
            self._launch_id = LAUNCH_ID

    import docmind.access

    docmind.access.Launch = Named


if __name__ == "__main__":
    wanted = serve(socket.socket(fileno=int(sys.argv[1])))
    from streamlit.web.cli import main

    main(list(wanted), prog_name="streamlit")
