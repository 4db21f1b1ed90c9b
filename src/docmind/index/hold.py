"""A file that one process holds: until it closes it, or ends in whatever way.

The system's own calls, for the engine's process starts with every search: portalocker costs it 40 ms of imports.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import IO

_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


def hold(path: Path) -> IO[bytes] | None:
    """Hold the file, made where it is missing; None where somebody holds it, in this process or another."""
    stream = open(path, "ab")  # noqa: SIM115 - closing it is letting go
    try:
        _lock(stream.fileno())
    except OSError as error:
        stream.close()
        if error.errno in _TAKEN:
            return None
        raise
    return stream


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
