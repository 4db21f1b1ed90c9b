"""A program of this computer, run once over a text: it reads nothing but libraries, and is stopped in time.

Where the system has Landlock the program reads the system's libraries alone, changes no file and starts no other
program. It has the network of the process that runs it, which a reading process has not.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from docmind.errors import WorkerFailedError
from docmind.runtime.sandbox import confine_to_program

if sys.platform == "linux":
    import resource  # now: a thread that is confined loads no module of this Python

_CHUNK = 1 << 16
_ERRORS = 1 << 20  # bytes of what a program says beside its output


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended: its exit code, its output, and the beginning of what it said beside that."""

    code: int
    output: bytes
    errors: bytes


def run_confined(
    program: str, arguments: Sequence[str], data: bytes, *, seconds: int, most_bytes: int = 64 << 20
) -> Ran:
    """Run a program over `data` and return its output.

    Raises `WorkerFailedError` where it cannot be started, takes longer than `seconds`, or says more than `most_bytes`.
    """
    done: list[Ran | WorkerFailedError] = []

    def run() -> None:
        confine_to_program(program)
        try:
            done.append(_run([program, *arguments], data, seconds, most_bytes))
        except OSError as error:
            done.append(WorkerFailedError(f"it could not be started ({error.strerror})"))
        except WorkerFailedError as error:
            done.append(error)

    thread = threading.Thread(target=run, name="confined program")
    thread.start()
    thread.join()
    result = done[0] if done else WorkerFailedError("it could not be started")
    if isinstance(result, WorkerFailedError):
        raise result
    return result


def _run(command: list[str], data: bytes, seconds: int, most_bytes: int) -> Ran:
    process = subprocess.Popen(
        command,
        executable=command[0],  # named, so that the hook of a confined process knows it on Windows too
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=os.path.abspath(os.sep),
        env=_environment(),
    )
    _limit_time(process.pid, seconds)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    late = threading.Event()
    timer = threading.Timer(seconds, lambda: (late.set(), process.kill()))
    errors: list[bytes] = []
    helpers = [
        threading.Thread(target=_write, args=(process.stdin, data), daemon=True),
        threading.Thread(target=_read_errors, args=(process.stderr, errors), daemon=True),
    ]
    with process:
        for thread in (timer, *helpers):
            thread.start()
        try:
            output = _read(process.stdout, most_bytes)
            if output is None:
                raise WorkerFailedError(f"it said more than {most_bytes >> 20} MB and was stopped")
            code = process.wait()
        finally:
            timer.cancel()
            process.kill()
            for thread in helpers:
                thread.join(1.0)
    if late.is_set():
        raise WorkerFailedError(f"it took longer than {seconds} s and was stopped")
    return Ran(code, output, b"".join(errors))


def _limit_time(pid: int, seconds: int) -> None:
    """Limit the processor time of a process, which ends it also where this process is killed before."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds))


def _environment() -> dict[str, str]:
    kept = {
        name: os.environ[name] for name in ("SYSTEMROOT", "TEMP", "TMP") if name in os.environ
    }  # Windows needs them
    return {**kept, "HOME": "/nonexistent", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PATH": ""}


def _write(stream: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError, ValueError):
        stream.write(data)
        stream.close()


def _read(stream: IO[bytes], most: int) -> bytes | None:
    """Return what a stream has; None where that is more than `most` bytes."""
    parts: list[bytes] = []
    size = 0
    while part := stream.read(_CHUNK):
        parts.append(part)
        size += len(part)
        if size > most:
            return None
    return b"".join(parts)


def _read_errors(stream: IO[bytes], kept: list[bytes]) -> None:
    size = 0
    with contextlib.suppress(OSError, ValueError):
        while part := stream.read(_CHUNK):
            if size < _ERRORS:
                kept.append(part[: _ERRORS - size])
            size += len(part)
