"""Unix sockets by which the processes of one user reach an open library, and who is at the other end of one.

A port of this machine is open to all of its users, and whoever takes it first answers. A socket of mode 0600 in a
folder of mode 0700 is reached by its owner alone, nobody else can put another one there, and the system tells both
sides the user of the other one. Windows has no such sockets for Python.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import struct
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docmind.errors import ConfigError
from docmind.wording import _

APP_SOCKET, COMMAND_SOCKET = "app.sock", "command.sock"
_LONGEST = 100  # bytes of a path: Linux takes 107, macOS 103
_FOLDER = "docmind-"  # the beginning of a private folder's name, where the data folder's path is too long
_HERE = "/tmp"  # noqa: S108 - only for a folder of mode 0700 with a random name
_BACKLOG = 64
_TRY_S = 1.0


def listen_private(data_dir: Path, name: str) -> tuple[socket.socket, Path] | None:
    """Listen at a socket of mode 0600 in the data folder, and return it with its path; None where there can be none.

    Where the folder's path is too long, or its file system has no sockets, it lies in a new folder of mode 0700 in
    `XDG_RUNTIME_DIR` or the folder for temporary files. What a killed process left is replaced. Raises `OSError` where
    another process listens there.
    """
    if sys.platform not in ("linux", "darwin"):
        return None
    with contextlib.suppress(_UnfitError):
        return _listening(data_dir.resolve() / name)
    for parent in _private_parents():
        try:
            folder = Path(tempfile.mkdtemp(prefix=_FOLDER, dir=parent))
        except OSError:
            continue
        with contextlib.suppress(_UnfitError):
            return _listening(folder / name)
        folder.rmdir()
    return None


def remove_socket(path: Path) -> None:
    """Remove a socket, and the folder that was made for it. Raises `OSError`."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()
        if path.parent.name.startswith(_FOLDER):
            path.parent.rmdir()


def connect_private(path: Path, timeout_s: float) -> socket.socket:
    """Connect to a socket of this user, at which a process of this user listens.

    Nothing is sent. Raises `ConfigError` where either is another user's, `OSError` where nobody listens.
    """
    about = path.lstat()
    if not stat.S_ISSOCK(about.st_mode):
        raise OSError(errno.ENOTSOCK, os.strerror(errno.ENOTSOCK), str(path))
    if about.st_uid != os.geteuid():
        raise _foreign(path)
    made = socket.socket(socket.AF_UNIX)
    try:
        made.settimeout(timeout_s)
        made.connect(str(path))
        if not is_peer_own(made):
            raise _foreign(path)
    except BaseException:
        made.close()
        raise
    return made


def is_peer_own(connection: Any) -> bool:
    """Return whether the system says that the process at the other end of a Unix socket is one of this user."""
    if sys.platform == "linux":
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII"))
        return struct.unpack("iII", raw)[1] == os.geteuid()
    if sys.platform == "darwin":
        raw = connection.getsockopt(0, 0x001, 76)  # SOL_LOCAL, LOCAL_PEERCRED: struct xucred
        return struct.unpack_from("II", raw)[1] == os.geteuid()
    return False


class _UnfitError(Exception):
    """No socket can lie at a path: it is too long, or its file system has none."""


def _listening(path: Path) -> tuple[socket.socket, Path]:
    if len(os.fsencode(path)) > _LONGEST:
        raise _UnfitError
    _remove_stale(path)
    made = socket.socket(socket.AF_UNIX)
    try:
        made.bind(str(path))
        path.chmod(0o600)  # before anybody can connect
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        raise _UnfitError from error
    return made, path


def _remove_stale(path: Path) -> None:
    """Remove what a killed process left; a file that is no socket stays. Raises `OSError` where somebody listens."""
    try:
        connect_private(path, _TRY_S).close()
    except FileNotFoundError:
        return
    except ConnectionRefusedError:
        path.unlink(missing_ok=True)
        return
    except (OSError, ConfigError):  # not ours: another place is found
        return
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE), str(path))


def _private_parents() -> Iterable[str]:
    """Return the folders in which a private folder may be made, the best first."""
    return dict.fromkeys([os.environ.get("XDG_RUNTIME_DIR") or _HERE, tempfile.gettempdir(), _HERE])


def _foreign(path: Path) -> ConfigError:
    return ConfigError(
        _("{path} may have been written by another user, so it isn't used.").format(path=path),
        hint=_("Move this file away, then close DocMind and start it again."),
    )
