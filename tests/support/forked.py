"""Programs without their imports: each start is a fork of one process that has imported DocMind (Linux).

`streamlit run app.py`, `docmind` and short programs of tests spend most of a start on imports. Here each pytest worker
has one process that imports them once and does nothing else: it reads no setting, opens no vault, starts no thread and
has no network guard. A start is a fork of it, with the arguments, variables, folder and standard streams of that start,
in a process of its own. So nothing has to be reset between two vaults: settings, secrets, tickets, locks, caches, tabs,
the guard and the log are those of a new process, and a test can kill it.

On other systems the same calls start Python. Tests of the start itself, of what is imported, and of what a program
does to the system below Python start Python themselves.

The process ends with pytest, and what it has forked with it.

in   {program, arguments, environment, folder, is_leader} + descriptors: standard streams, and one for the exit status
out  {pid}; the exit status, 4 bytes, once the fork has ended
"""

from __future__ import annotations

import atexit
import codecs
import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn, Self

from docmind.runtime import quiet

ROOT = Path(__file__).resolve().parent.parent.parent
PATHS = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT / "tests" / "support")]
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
    "docmind.api.mcp_http",
    "docmind.api.programs",
    "docmind.api.rest",
    "docmind.cli",
    "docmind.conversations.agent",
    "docmind.conversations.turns",
    "docmind.index.edge",
    "docmind.ingest.llama_nodes",
    "docmind.maintenance.doctor",
    "docmind.picture_marks.features",
    "docmind.rich_text.parse",
    "docmind.runtime.logging",
    "desks",
)
"""They import all that the app has imported after its first questions, except its pages, which need the server."""

LAUNCH_ID = "f0" * 16
APP = f"""
import sys
import docmind.access
class Launch(docmind.access.Launch):
    def __init__(self, *, is_token_required=True, origin=None):
        super().__init__(is_token_required=is_token_required, origin=origin)
        self._launch_id = {LAUNCH_ID!r}
docmind.access.Launch = Launch
from streamlit.web.cli import main
main(sys.argv[1:], prog_name="streamlit")
"""
"""`streamlit` with one difference: the name of the launch in the address is always the same, so that the browser may
keep Streamlit's scripts from one start to the next. The secrets of the launch are new in each."""

_LARGEST = 256 * 1024
_PATIENCE_S = 120.0
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # NumPy starts threads when it is imported, and a fork would lose them
_PR_SET_PDEATHSIG = 1


def can_fork() -> bool:
    """Tell whether programs can be forked on this system."""
    return sys.platform == "linux"


class Program:
    """A program that was forked, with what tests use of `subprocess.Popen`."""

    def __init__(self, pid: int, told: socket.socket, streams: Sequence[IO[Any] | None]) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = streams
        self.returncode: int | None = None
        self._told = told

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while the program runs."""
        return self._status(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the program has ended; return its exit status. Raises `subprocess.TimeoutExpired`."""
        status = self._status(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(f"program {self.pid}", timeout or 0)
        return status

    def communicate(self, timeout: float | None = None) -> tuple[Any, Any]:
        """Close standard input, read both outputs to their end and wait. Raises `subprocess.TimeoutExpired`."""
        until = None if timeout is None else time.monotonic() + timeout
        if self.stdin is not None:
            self.stdin.close()
        told: dict[IO[Any], Any] = {}
        streams = [stream for stream in (self.stdout, self.stderr) if stream is not None]
        reading = [threading.Thread(target=_read, args=(stream, told), daemon=True) for stream in streams]
        for thread in reading:
            thread.start()
        for thread in reading:
            thread.join(None if until is None else max(0.0, until - time.monotonic()))
            if thread.is_alive():
                raise subprocess.TimeoutExpired(f"program {self.pid}", timeout or 0)
        self.wait(None if until is None else max(0.0, until - time.monotonic()))
        for stream in streams:
            stream.close()
        return (self.stdout and told[self.stdout]), (self.stderr and told[self.stderr])

    def _status(self, within_s: float | None) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], within_s)[0]:
            data = self._told.recv(4)
            assert data, "the process that programs are forked from has ended"
            (self.returncode,) = struct.unpack("i", data)
            self._told.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to the program, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the program to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the program as a crash does."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for stream in (self.stdout, self.stderr, self.stdin):
            if stream is not None:
                stream.close()
        self.wait()


Started = Program | subprocess.Popen[Any]
"""A program that was forked, or started where this system cannot fork."""


def _read(stream: IO[Any], told: dict[IO[Any], Any]) -> None:
    told[stream] = stream.read()


def popen(command: Sequence[str], **options: Any) -> Started:
    """Start `[sys.executable, "-c", code, ...]`, or `-m` and a module, as `subprocess.Popen` does.

    Of its options there are `env`, `cwd`, `stdin`, `stdout`, `stderr`, `text` and `start_new_session`. With the last, a
    terminal as standard input becomes that of the session. Of the variables for Python itself only `PYTHONPATH`,
    `PYTHONIOENCODING` and `PYTHONUNBUFFERED` have an effect.
    """
    if not can_fork():
        return subprocess.Popen(command, **options)
    return _forks().start(command, **options)


def run(
    command: Sequence[str],
    *,
    input: str | bytes | None = None,  # noqa: A002 - the name that subprocess.run has for it
    capture_output: bool = False,
    text: bool = False,
    check: bool = False,
    timeout: float | None = None,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """Run such a program to its end, as `subprocess.run` does; it is killed after `timeout` seconds."""
    if not can_fork():
        return subprocess.run(
            command, input=input, capture_output=capture_output, text=text, check=check, timeout=timeout, **options
        )
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if input is not None:
            given.write(input.encode() if isinstance(input, str) else input)
            given.seek(0)
            options["stdin"] = given
        kept = {"stdout": out, "stderr": err}
        captured = [name for name in kept if capture_output or options.get(name) == subprocess.PIPE]
        options |= {name: kept[name] for name in captured}
        program = _forks().start(command, **options)
        try:
            status = program.wait(timeout)
        finally:
            program.kill()
        written: dict[str, Any] = {}
        for name in captured:
            kept[name].seek(0)
            written[name] = kept[name].read().decode() if text else kept[name].read()
    ended = subprocess.CompletedProcess(command, status, written.get("stdout"), written.get("stderr"))
    if check:
        ended.check_returncode()
    return ended


class Forks:
    """The process that programs are forked from."""

    def __init__(self) -> None:
        self._socket, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(_PATIENCE_S)
        plain = {name: value for name, value in os.environ.items() if not name.startswith("DOCMIND_")}
        with its:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).resolve()), str(its.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                env={**plain, **_ONE_THREAD, "PYTHONPATH": os.pathsep.join(PATHS)},
            )

    def start(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        text: bool = False,
        start_new_session: bool = False,
    ) -> Program:
        """Start a program; the options are those of `subprocess.Popen`."""
        executable, how, program, *arguments = command
        assert (executable, how) in ((sys.executable, "-c"), (sys.executable, "-m")), command
        ours: list[IO[Any] | None] = []
        theirs: list[int] = []
        opened: list[int] = []
        for number, (stream, mode) in enumerate(((stdin, "w"), (stdout, "r"), (stderr, "r"))):
            if stream is None:
                theirs.append(number)
            elif stream == subprocess.PIPE:
                ends = os.pipe()
                its, mine = ends if mode == "w" else ends[::-1]
                theirs.append(its)
                opened.append(its)
                kept = open(mine, f"{mode}b", buffering=0 if mode == "w" else -1)  # noqa: SIM115 - closed with the program
                ours.append(io.TextIOWrapper(kept, write_through=True) if text else kept)
                continue
            elif stream == subprocess.DEVNULL:
                opened.append(os.open(os.devnull, os.O_RDWR))
                theirs.append(opened[-1])
            elif stream == subprocess.STDOUT:
                theirs.append(theirs[1])
            else:
                theirs.append(stream if isinstance(stream, int) else stream.fileno())
            ours.append(None)
        request = {
            "how": how,
            "program": program,
            "arguments": arguments,
            "environment": dict(os.environ if env is None else env),
            "folder": os.fspath(cwd or Path.cwd()),
            "is_leader": start_new_session,
        }
        told, its = socket.socketpair()
        try:
            socket.send_fds(self._socket, [json.dumps(request).encode()], [*theirs, its.fileno()])
            answer = self._socket.recv(_LARGEST)
        finally:
            its.close()
            for number in opened:
                os.close(number)
        assert answer, "the process that programs are forked from has ended"
        return Program(json.loads(answer)["pid"], told, ours)

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.wait(_PATIENCE_S)


@cache
def _forks() -> Forks:
    """Return the process of this pytest worker, started at the first call."""
    started = Forks()
    atexit.register(started.close)
    return started


# --- the process that programs are forked from ------------------------------------------------------------------------


def serve(control: socket.socket) -> dict[str, Any]:
    """Fork for each request; return the request in the fork. Ends with its owner, and its forks with it."""
    for name in MODULES:
        importlib.import_module(name)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches every process; the owner decides
    woken, wakes = socket.socketpair()
    wakes.setblocking(False)
    woken.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    running: dict[int, socket.socket] = {}
    gc.collect()
    gc.freeze()  # what is here stays shared with the forks
    while True:
        readable, _, _ = select.select([control, woken], [], [])
        if woken in readable:
            woken.recv(4_096)
            _tell_ended(running)
        if control not in readable:
            continue
        data, files, _, _ = socket.recv_fds(control, _LARGEST, 4)
        if not data:
            raise SystemExit
        request = json.loads(data)
        assert len(os.listdir("/proc/self/task")) == 1, "an import has started a thread, which a fork would lose"
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            for descriptor in (control, woken, wakes, *running.values()):
                descriptor.close()
            os.close(files[3])
            _become(request, files[:3])
            return request
        for number in files[:3]:
            os.close(number)
        running[pid] = socket.socket(fileno=files[3])
        control.send(json.dumps({"pid": pid}).encode())


def _tell_ended(running: dict[int, socket.socket]) -> None:
    """Tell the exit status of the forks that have ended; their processor time counts as that of this process."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with running.pop(pid) as told:
            try:
                told.send(struct.pack("i", os.waitstatus_to_exitcode(status)))
            except OSError:  # nobody waits for it
                continue


def _become(request: dict[str, Any], streams: Sequence[int]) -> None:
    """Give a fork the variables, the folder and the standard streams of its start."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        if stream > 2:
            os.close(stream)
    os.environ.clear()
    os.environ.update(request["environment"])
    quiet.apply()  # as importing DocMind does
    time.tzset()
    os.chdir(request["folder"])
    if request["is_leader"]:
        os.setsid()
        if os.isatty(0):
            import fcntl
            import termios

            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    _open_streams()
    added = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path not in sys.path]
    sys.path[0] = "" if request["how"] == "-c" else request["folder"]
    sys.path[1:1] = added
    sys.argv = ["-c" if request["how"] == "-c" else request["program"], *request["arguments"]]


def _open_streams() -> None:
    """Make Python's standard streams those of this start."""
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    is_unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        before = getattr(sys, name)
        if number == 2 or not encoding:
            errors = before.errors
        is_raw = is_unbuffered and number > 0
        binary = open(  # noqa: SIM115 - open until the end
            number, "wb" if number else "rb", buffering=0 if is_raw else -1, closefd=False
        )
        stream = io.TextIOWrapper(
            binary,
            codecs.lookup(encoding or before.encoding).name,
            errors or "strict",
            line_buffering=not is_raw and (number == 2 or os.isatty(number)),
            write_through=is_raw,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _perform(how: str, program: str) -> NoReturn:
    """Run a program as the main module, and end as Python does.

    What is left of its objects goes; modules stay, because taking 3,000 of them down costs half a second.
    """
    status = 0
    try:
        _run(how, program)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if status and not isinstance(ended.code, int):
            print(ended.code, file=sys.stderr)
    except BaseException as error:  # noqa: BLE001 - told below
        sys.excepthook(type(error), error, error.__traceback__ and error.__traceback__.tb_next)
        status = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue]
    atexit._run_exitfuncs()
    if (main := sys.modules["__main__"].__dict__) is not globals():
        main.clear()
    gc.collect()
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        print(f"Exception ignored in {sys.stdout!r}: {error!r}", file=sys.stderr)
        status = 120
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status & 255)


def _run(how: str, program: str) -> None:
    if how == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
        return
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(program, "<string>", "exec"), main.__dict__)


if __name__ == "__main__":
    wanted = serve(socket.socket(fileno=int(sys.argv[1])))
    _perform(wanted["how"], wanted["program"])
