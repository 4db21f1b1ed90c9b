"""Isolation of a child process, including its native code, from the network and from files (Linux only).

Two mechanisms are used where the system allows them: an empty network namespace, and a system call filter that refuses
sockets. In the namespace no host can be reached; the filter also refuses sockets in the file system (a name service
would query the network for the child) and works where namespaces are forbidden. Other systems have neither. A child
that runs code of others is held to reading the files of this Python too (`docmind.runtime.landlock`).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import sys
from glob import glob
from pathlib import Path
from typing import Literal

from docmind.runtime import landlock, seccomp

Way = Literal["namespace", "filter"]

_SYSTEM = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null", "/dev/urandom")
_OTHER_LIBRARIES = ("/nix/store", "/gnu/store", "/opt/homebrew", "/home/linuxbrew")  # of other managers of packages

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


def confine_files() -> bool:
    """Hold this process to reading this Python, its packages and the system's libraries; return whether it is held.

    Call it before any thread is started. The folder that `-m` puts first on the path is where the user works.
    """
    path = sys.path if sys.flags.safe_path else sys.path[1:]
    try:
        return landlock.only_read([*filter(None, path), sys.prefix, sys.base_prefix, *_SYSTEM])
    except OSError:
        return False


def confine_to_program(program: str) -> bool:
    """Let this thread and what it starts read the system's libraries and start one program; return whether it is held.

    Call it in a thread of its own: others are as they were.
    """
    loaders = sorted({*glob("/lib*/ld-*.so*"), *glob("/lib/*/ld-*.so*")})  # what starts a program with shared libraries
    try:
        return landlock.only_read([*_SYSTEM, *_OTHER_LIBRARIES], [program, *loaders])
    except OSError:
        return False


def refuse_changes() -> None:
    """Refuse calls of Python code that change files or start programs, by an audit hook: on every system."""

    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        is_written = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
        if is_written or event in _CHANGES or event.startswith(_CHANGING):
            raise PermissionError("a reader changes no files and starts no programs")

    sys.addaudithook(refuse)


_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = frozenset(
    ("os.system", "os.posix_spawn", "os.fork", "os.forkpty", "os.kill", "os.killpg", "subprocess.Popen", "pty.spawn")
)
_CHANGING = (
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.exec"),
    *("os.chown", "os.utime", "os.startfile", "os.setxattr", "os.spawn", "shutil."),
)


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
