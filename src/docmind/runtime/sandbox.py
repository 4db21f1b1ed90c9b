"""Isolation of a child process, including its native code, from the network (Linux only).

Two mechanisms are used where the system allows them: an empty network namespace, and a system call filter that refuses
sockets. In the namespace no host can be reached; the filter also refuses sockets in the file system (a name service
would query the network for the child) and works where namespaces are forbidden. Other systems have neither.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import sys
from pathlib import Path
from typing import Literal

from docmind.runtime import seccomp

Way = Literal["namespace", "filter"]

_CLONE_NEWUSER, _CLONE_NEWNET = 0x1000_0000, 0x4000_0000


def cut_network(*, local_sockets: bool = False, ways: tuple[Way, ...] = ("namespace", "filter")) -> tuple[Way, ...]:
    """Cut this process and its children off from the network, and return the mechanisms that took effect.

    Call it before any thread is started. `local_sockets` allows sockets between its own processes (Chromium needs
    them); none of them may connect.
    """
    held: list[Way] = []
    if "namespace" in ways and _enter_empty_namespace():
        held.append("namespace")
    if "filter" in ways and _refuse_sockets(local_sockets=local_sockets):
        held.append("filter")
    return tuple(held)


def _enter_empty_namespace() -> bool:
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_CLONE_NEWNET) == 0:
        return True
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return False
    # Keep the same user: an unmapped one could not put a browser into a sandbox of its own.
    with contextlib.suppress(OSError):
        for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            Path("/proc/self", name).write_text(line)
    return True


def _refuse_sockets(*, local_sockets: bool) -> bool:
    known = seccomp.calls()
    if known is None:
        return False
    refused = seccomp.ERRNO | errno.EACCES
    allowed = (int(socket.AF_UNIX),) if local_sockets else ()
    rules: list[seccomp.Rule] = [
        (known.socket, 0, allowed, refused),
        (known.connect, None, (), refused),
        (known.sendto, 4, (0,), refused),  # with an address; without one it is `send` on an inherited socket
    ]
    try:
        seccomp.install(seccomp.program(known, rules))
    except OSError:
        return False
    return True
