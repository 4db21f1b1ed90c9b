"""Rules of Linux on the files that a process may touch (Landlock), set through ctypes.

A process that has set them reads files below some folders alone, makes, changes the contents of, renames and removes
files below others, and starts none but programs that are named. It may not look into a process outside, and from
version 6 of the interface (Linux 6.12) sends none a signal. The rules hold for the thread that sets them and for all
that it starts, and cannot be removed. Kernels before 5.13 have none.

Mode, owner, times and attributes of files are not covered by these rules, nor is `truncate` before version 3 (Linux
6.2): the filter of system calls refuses them (`docmind.runtime.sandbox`).
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable

from docmind.runtime import seccomp

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on all machines
_VERSION = 1  # the flag that asks for the version
_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
# By version of the interface, the number of access rights to files that it knows.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_RIGHTS_NOW = 16
_MOVING_SINCE = 2
_SCOPED_SINCE, _SCOPES = 6, 0b11  # abstract sockets, and signals


def version() -> int:
    """Return the version of the interface, from 1; 0 where the system has none."""
    if sys.platform != "linux":
        return 0
    return max(0, _call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION)))


def hold(reads: Iterable[str], writes: Iterable[str] = (), starts: Iterable[str] = ()) -> bool:
    """Hold this thread to files and folders; return whether it is held.

    With `writes` it is held from version 2 on: version 1 forbids every move from one folder to another.

    It reads what is in `reads` or below, also changes what is in `writes` or below, and starts the programs in `starts`
    or below. Call it before any thread is started, or in a thread of its own. Places that do not exist are left out.
    Raises `OSError`.
    """
    known, writes = version(), tuple(writes)
    if known < (_MOVING_SINCE if writes else 1):
        return False
    handled = (1 << _RIGHTS.get(known, _RIGHTS_NOW)) - 1
    scoped = _SCOPES if known >= _SCOPED_SINCE else 0
    asked = struct.pack("=QQQ", handled, 0, scoped)[: 24 if scoped else 8]
    rules = _checked(_call(_CREATE, ctypes.create_string_buffer(asked, len(asked)), ctypes.c_size_t(len(asked)), 0))
    reading = _READ_FILE | _READ_DIR
    try:
        for places, rights in (
            (reads, reading),
            (writes, handled & ~_EXECUTE),
            (starts, reading | _EXECUTE),
        ):
            for place in places:
                _allow(rules, place, rights)
        seccomp.forbid_new_privileges()
        _checked(_call(_RESTRICT, rules, ctypes.c_uint32(0)))
    finally:
        os.close(rules)
    return True


def _allow(rules: int, place: str, rights: int) -> None:
    try:
        beneath = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # there is none
        return
    try:
        if not os.path.isdir(place):
            rights &= _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE  # the others are rights to folders
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, beneath))
        _checked(_call(_ADD, rules, ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0)))
    finally:
        os.close(beneath)


def _call(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return int(libc.syscall(ctypes.c_long(number), *arguments))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
