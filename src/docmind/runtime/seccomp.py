"""System call filters of Linux (seccomp), built and installed through ctypes.

A filter is a list of BPF instructions over `struct seccomp_data` (number, architecture, six arguments). It applies to
the process and every program it starts, and cannot be removed. x86_64 and aarch64 are supported; `calls` returns None
elsewhere.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass

ALLOW, NOTIFY, ERRNO = 0x7FFF_0000, 0x7FC0_0000, 0x0005_0000
"""Return values of a filter; `ERRNO | number` makes the call fail with that number. The smaller value wins."""

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_JMP|JGE|K, BPF_RET|K
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_X32_BIT = 0x4000_0000  # x86_64's second calling convention has its own numbers
_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER, _GET_ACTION_AVAIL = 1, 2
_FLAG_TSYNC, _FLAG_NEW_LISTENER, _FLAG_TSYNC_ESRCH = 1, 8, 16


@dataclass(frozen=True, slots=True)
class Calls:
    """System call numbers of one architecture; `audit` is its AUDIT_ARCH value."""

    audit: int
    seccomp: int
    socket: int
    connect: int
    sendto: int
    sendmsg: int
    sendmmsg: int
    io_uring_setup: int = 425


_KNOWN = {
    "x86_64": Calls(0xC000_003E, seccomp=317, socket=41, connect=42, sendto=44, sendmsg=46, sendmmsg=307),
    "aarch64": Calls(0xC000_00B7, seccomp=277, socket=198, connect=203, sendto=206, sendmsg=211, sendmmsg=269),
}

Rule = tuple[int, int | None, Sequence[int], int]
"""(call number, argument or None, values, answer): the answer applies where the argument has none of the values."""


def calls() -> Calls | None:
    """Return the call numbers of this machine.

    Returns None where it is not supported or this Python is a 32-bit one.
    """
    if sys.platform != "linux" or sys.maxsize < 2**32:
        return None
    return _KNOWN.get(platform.machine())


def program(known: Calls, rules: Sequence[Rule]) -> bytes:
    """Build a filter that applies the first rule of a call and allows every other call.

    Calls of another architecture and of x32 fail with EPERM, `io_uring_setup` with ENOSYS: each of them could bypass
    the rules.
    """
    lines: list[bytes] = [
        _line(_LOAD, _ARCHITECTURE_AT),
        _line(_EQUAL, known.audit, 1, 0),
        _line(_RETURN, ERRNO | errno.EPERM),
        _line(_LOAD, _NUMBER_AT),
    ]
    if known.audit == _KNOWN["x86_64"].audit:
        lines += [_line(_AT_LEAST, _X32_BIT, 0, 1), _line(_RETURN, ERRNO | errno.EPERM)]
    for number, argument, values, answer in [*rules, (known.io_uring_setup, None, (), ERRNO | errno.ENOSYS)]:
        body: list[bytes] = []
        if argument is not None:
            low = _ARGUMENTS_AT + 8 * argument  # both machines are little-endian
            # Test the upper half first: where it is not zero, the argument has none of the (small) values.
            rest = len(values) + 1
            body += [_line(_LOAD, low + 4), _line(_EQUAL, 0, 0, rest), _line(_LOAD, low)]
            body += [_line(_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]
            body += [_line(_RETURN, answer), _line(_RETURN, ALLOW)]
        else:
            body += [_line(_RETURN, answer)]
        lines += [_line(_EQUAL, number, 0, len(body)), *body]
    return b"".join([*lines, _line(_RETURN, ALLOW)])


def install(code: bytes) -> None:
    """Install a filter for the calling thread and what it starts. Raises `OSError`."""
    _install(code, 0)


def install_with_listener(code: bytes) -> int:
    """Install a filter for all threads of this process.

    Return the descriptor on which `NOTIFY` calls arrive.

    Raises `OSError`: EBUSY where a filter with a listener is installed already, EINVAL on kernels before 5.7.
    """
    return _install(code, _FLAG_NEW_LISTENER | _FLAG_TSYNC | _FLAG_TSYNC_ESRCH)


def can_notify() -> bool:
    """Return whether this kernel lets a filter ask another process."""
    known = calls()
    if known is None:
        return False
    action = ctypes.c_uint32(NOTIFY)
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(ctypes.c_long(known.seccomp), _GET_ACTION_AVAIL, 0, ctypes.byref(action)) == 0


def forbid_new_privileges() -> None:
    """Disable set-user-id privileges for programs started from now on, which a filter needs.

    Raises `OSError`.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_void_p)]


def _install(code: bytes, flags: int) -> int:
    known = calls()
    if known is None:
        raise OSError(errno.ENOSYS, "filters are not known on this machine")
    forbid_new_privileges()
    buffer = ctypes.create_string_buffer(code, len(code))
    told = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    number = ctypes.c_long(known.seccomp)
    result = libc.syscall(number, _SET_MODE_FILTER, ctypes.c_ulong(flags), ctypes.byref(told))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
