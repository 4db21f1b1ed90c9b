"""System call filters of Linux (seccomp), built and installed through ctypes.

A filter is a list of BPF instructions over `struct seccomp_data` (number, architecture, six arguments). It applies to
the process and every program it starts, and cannot be removed. x86_64 and aarch64 are supported
(`docmind.runtime.system_calls`).
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from docmind.runtime.system_calls import KNOWN, Calls, calls

ALLOW, NOTIFY, ERRNO = 0x7FFF_0000, 0x7FC0_0000, 0x0005_0000
"""Return values of a filter; `ERRNO | number` makes the call fail with that number. The smaller value wins."""

# BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_JMP|JGE|K, BPF_RET|K, BPF_ALU|AND|K
_LOAD, _EQUAL, _AT_LEAST, _RETURN, _AND = 0x20, 0x15, 0x35, 0x06, 0x54
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_FARTHEST = 255  # instructions that a jump can pass
_X32_BIT = 0x4000_0000  # x86_64's second calling convention has its own numbers
_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER, _GET_ACTION_AVAIL = 1, 2
_FLAG_TSYNC, _FLAG_NEW_LISTENER, _FLAG_TSYNC_ESRCH = 1, 8, 16


@dataclass(frozen=True, slots=True)
class Rule:
    """What these calls get: `answer`, unless an argument has one of the values of `unless`.

    With a `mask` the argument is an `int` of C, of which the kernel reads 32 bits; those in the mask are compared.
    """

    numbers: Sequence[int]
    answer: int
    argument: int | None = None
    unless: Sequence[int] = ()
    mask: int | None = None


def program(known: Calls, rules: Sequence[Rule]) -> bytes:
    """Build a filter that applies the first rule of a call and allows every other call.

    Calls of another architecture and of x32 fail with EPERM, `io_uring_setup` with ENOSYS: each of them could bypass
    the rules. Raises `ValueError` for a rule of too many calls or values.
    """
    lines: list[bytes] = [
        _line(_LOAD, _ARCHITECTURE_AT),
        _line(_EQUAL, known.audit, 1, 0),
        _line(_RETURN, ERRNO | errno.EPERM),
        _line(_LOAD, _NUMBER_AT),
    ]
    if known.audit == KNOWN["x86_64"].audit:
        lines += [_line(_AT_LEAST, _X32_BIT, 0, 1), _line(_RETURN, ERRNO | errno.EPERM)]
    for rule in (*rules, Rule(known.of("io_uring_setup"), ERRNO | errno.ENOSYS)):
        body = _body(rule)
        numbers = rule.numbers
        # Each number jumps to the body behind the last of them, and that one over it where it is another call.
        lines += [_line(_EQUAL, number, len(numbers) - place, 0) for place, number in enumerate(numbers[:-1], 1)]
        lines += [_line(_EQUAL, number, 0, len(body)) for number in numbers[-1:]]
        lines += body if numbers else []
    return b"".join([*lines, _line(_RETURN, ALLOW)])


def _body(rule: Rule) -> list[bytes]:
    """Return the instructions for a call of the rule; they end with a return."""
    answer = _line(_RETURN, rule.answer)
    if rule.argument is None:
        return [answer]
    low = _ARGUMENTS_AT + 8 * rule.argument  # both machines are little-endian
    values = rule.unless
    if rule.mask is None:
        # Test the upper half first: where it is not zero, the argument has none of the (small) values.
        before = [_line(_LOAD, low + 4), _line(_EQUAL, 0, 0, len(values) + 1), _line(_LOAD, low)]
    else:
        before = [_line(_LOAD, low), _line(_AND, rule.mask)]
    tests = [_line(_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]
    return [*before, *tests, answer, _line(_RETURN, ALLOW)]


def install(code: bytes) -> None:
    """Install a filter for the calling thread and what it starts. Raises `OSError`."""
    _install(code, 0)


def install_for_all_threads(code: bytes) -> None:
    """Install one more filter for all threads of this process, and what they start. Raises `OSError`."""
    _install(code, _FLAG_TSYNC | _FLAG_TSYNC_ESRCH)


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
    return libc.syscall(ctypes.c_long(known["seccomp"]), _GET_ACTION_AVAIL, 0, ctypes.byref(action)) == 0


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
    number = ctypes.c_long(known["seccomp"])
    result = libc.syscall(number, _SET_MODE_FILTER, ctypes.c_ulong(flags), ctypes.byref(told))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    if max(if_true, if_false) > _FARTHEST:
        raise ValueError("a rule has too many calls or values")
    return struct.pack("<HBBI", code, if_true, if_false, value)
