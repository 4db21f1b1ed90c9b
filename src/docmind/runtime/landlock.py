"""Rules of Linux on the files that a process may touch (Landlock), set through ctypes.

A process that has set them reads files below some folders alone, makes, changes, renames and removes none, and starts
none but programs that are named.
It also sends no signal to a process outside, and may not look into one (ABI 6). The rules hold for the thread that sets
them and for all that it starts, and cannot be removed. Kernels before 5.13 have none.
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
_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
# By version of the interface, the number of access rights to files that it knows.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_RIGHTS_NOW = 16
_SCOPED_SINCE, _SCOPES = 6, 0b11  # abstract sockets, and signals


def version() -> int:
    """Return the version of the interface, from 1; 0 where the system has none."""
    if sys.platform != "linux":
        return 0
    return max(0, _call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION)))


def only_read(folders: Iterable[str], programs: Iterable[str] = ()) -> bool:
    """Let this thread read below these folders, or these files, and touch no other; return whether it is held to that.

    It may start `programs`, files, and no other. Call it before any thread is started, or in a thread of its own. Those
    that do not exist are left out. Raises `OSError`.
    """
    known = version()
    if not known:
        return False
    handled = (1 << _RIGHTS.get(known, _RIGHTS_NOW)) - 1
    scoped = _SCOPES if known >= _SCOPED_SINCE else 0
    asked = struct.pack("=QQQ", handled, 0, scoped)[: 24 if scoped else 8]
    rules = _checked(_call(_CREATE, ctypes.create_string_buffer(asked, len(asked)), ctypes.c_size_t(len(asked)), 0))
    try:
        for place in folders:
            _allow(rules, place)
        for place in programs:
            _allow(rules, place, _EXECUTE)
        seccomp.forbid_new_privileges()
        _checked(_call(_RESTRICT, rules, ctypes.c_uint32(0)))
    finally:
        os.close(rules)
    return True


def _allow(rules: int, place: str, more: int = 0) -> None:
    try:
        beneath = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # there is none
        return
    try:
        rights = more | _READ_FILE | (_READ_DIR if os.path.isdir(place) else 0)
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
