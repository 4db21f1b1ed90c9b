"""Entry functions of child processes for tests: what a child has from its start, how it ends."""

from __future__ import annotations

import contextlib
import os
import random
import time
from pathlib import Path
from typing import BinaryIO

from docmind.runtime.worker import read_frame, write_frame


def facts(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer with what a process has from its start."""
    import resource

    while (frame := read_frame(incoming)) is not None:
        name = frame[0].get("environment", "")
        write_frame(
            outgoing,
            {
                "pid": os.getpid(),
                "parent": os.getppid(),
                "name": Path("/proc/self/comm").read_text().strip(),
                "threads": len(os.listdir("/proc/self/task")),
                "files": [os.readlink(f"/proc/self/fd/{number}") for number in _open_files()],
                "environment": {one: value for one, value in os.environ.items() if one.startswith(name)},
                "at": os.getcwd(),
                "random": random.random(),
                "memory": resource.getrlimit(resource.RLIMIT_AS)[0],
                "cpu_s": time.process_time(),
            },
        )


def _open_files() -> list[str]:
    """Return the descriptors of this process, without the one that lists them."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            os.readlink(f"/proc/self/fd/{number}")
            found.append(number)
    return found


def end_by_itself(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """End with the exit code, or by the signal, that the request names."""
    header = read_frame(incoming)[0]  # type: ignore[index]
    if "signal" in header:
        os.kill(os.getpid(), header["signal"])
    raise SystemExit(header["code"])


def stay(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer, then hold the interpreter busy in one call."""
    write_frame(outgoing, {"pid": os.getpid()})
    sum(range(1 << 62))
