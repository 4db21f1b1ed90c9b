"""Finding the process that has a library open, and opening the browser on the app.

`app.json` in the data folder (owner-only) tells where the app runs, `command.json` where a command serves the library
that it has open. Programs of the user come over the Unix socket that the file names; only where it names none, as on
Windows, over the port.

The ticket is not shown in a command line, which every user of the machine can read. The browser is given the path of a
page that only this user can read; the page redirects to the link. A browser that may not read the data folder (some
sandboxed ones) shows an error: the printed link is for those.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import errno
import hmac
import html
import http.client
import json
import os
import secrets
import ssl
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from docmind.access.launch import NONCE_HEADER, PROOF_HEADER, TICKET, mint_ticket, prove
from docmind.access.sockets import connect_private
from docmind.errors import ConfigError
from docmind.storage import replacing
from docmind.wording import _

RUNNING_FILE, COMMAND_FILE = "app.json", "command.json"
NOT_OURS = "a file that is not DocMind's has this name"
_REMOVE = "Move this file away, then close DocMind and start it again."
_LARGEST = 4_096
_PROBE_S = 3.0
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)  # Windows has no such flag, and lets only administrators make links


@dataclass(frozen=True, slots=True)
class RunningApp:
    """An app that announced itself, or a command, which has no `url`.

    `url` is what a browser opens, `local` the same server on this machine, `socket` the Unix socket for programs of the
    user; empty where there is none.
    """

    url: str
    local: str
    secret: bytes
    is_token_required: bool
    pid: int
    socket: str = ""

    @property
    def is_app(self) -> bool:
        """Whether it is the app, which a browser can open."""
        return bool(self.url)

    def link(self) -> str:
        """Return a new link that opens the app."""
        return f"{self.url}?{TICKET}={mint_ticket(self.secret)}" if self.is_token_required else self.url


def announce(data_dir: Path, app: RunningApp) -> None:
    """Write `app.json`, or `command.json` of a command, atomically, readable by this user only.

    Raises `OSError`, also where a file that DocMind did not write has the name, and `ConfigError` as `find_running`.
    """
    name = _file_of(app)
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.path.lexists(data_dir / name) and find_running(data_dir, name) is None:
        raise FileExistsError(errno.EEXIST, NOT_OURS)
    told = {
        "url": app.url,
        "local": app.local,
        "secret": base64.b64encode(app.secret).decode(),
        "is_token_required": app.is_token_required,
        "pid": app.pid,
        "socket": app.socket,
    }
    with replacing(data_dir / name) as file:
        file.write(json.dumps(told).encode())


def _file_of(app: RunningApp) -> str:
    return RUNNING_FILE if app.is_app else COMMAND_FILE


def find_owner(data_dir: Path) -> RunningApp | None:
    """Return the process that serves the open library and answers, None where there is none.

    A command comes first: the app that is open beside it does not have the library. Raises `ConfigError` as
    `find_running` and `is_alive`.
    """
    found = (find_running(data_dir, name) for name in (COMMAND_FILE, RUNNING_FILE))
    return next((one for one in found if one is not None and is_alive(one)), None)


def find_running(data_dir: Path, name: str = RUNNING_FILE) -> RunningApp | None:
    """Read `app.json`, or `command.json`; None where it is missing or not ours.

    The app may have ended since: see `is_alive`.

    A file of another form counts as foreign, thus as missing. Raises `ConfigError` where it cannot be read, is a link,
    or belongs to or can be read or written by another user, who could direct us to a false app.
    """
    path = data_dir / name
    try:
        number = os.open(path, os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0))  # a FIFO must not hold us
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(
            _("{path} cannot be read: {strerror}.").format(path=path, strerror=error.strerror), hint=_REMOVE
        ) from error
    with os.fdopen(number, "rb") as file:
        about = os.fstat(file.fileno())
        raw = file.read(_LARGEST) if stat.S_ISREG(about.st_mode) else b""
    try:
        told = json.loads(raw)
        found = RunningApp(
            url=str(told["url"]),
            local=str(told["local"]),
            secret=base64.b64decode(told["secret"]),
            is_token_required=bool(told["is_token_required"]),
            pid=int(told["pid"]),
            socket=str(told.get("socket", "")),
        )
    except (ValueError, TypeError, KeyError, binascii.Error):
        return None
    getuid = getattr(os, "getuid", None)
    if getuid is not None and (about.st_uid != getuid() or about.st_mode & 0o077):
        raise ConfigError(
            _("{path} may have been written by another user, so it isn't used.").format(path=path), hint=_REMOVE
        )
    return found


def withdraw(data_dir: Path, app: RunningApp) -> None:
    """Remove `app.json`, or `command.json`, if it still belongs to this app. Raises `OSError`."""
    with contextlib.suppress(ConfigError):
        if find_running(data_dir, _file_of(app)) == app:
            (data_dir / _file_of(app)).unlink(missing_ok=True)


def is_alive(app: RunningApp) -> bool:
    """Return whether the app runs: a process of this user listens at its socket, as the system tells.

    Without a socket the server at `app.local` must answer a nonce with the launch's secret. Another user's server on
    the port of an app that ended cannot do that, and never gets a ticket. Raises `ConfigError` for a socket of another
    user.
    """
    if app.socket:
        try:
            connect_private(Path(app.socket), _PROBE_S).close()
        except OSError:
            return False
        return True
    parts = urlsplit(app.local)
    nonce = secrets.token_hex(16)
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        unchecked = ssl.create_default_context()  # the proof below authenticates it; self-signed certificates are usual
        unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(parts.netloc, timeout=_PROBE_S, context=unchecked)
    else:
        connection = http.client.HTTPConnection(parts.netloc, timeout=_PROBE_S)
    try:
        connection.request("GET", parts.path or "/", headers={NONCE_HEADER: nonce})
        proof = connection.getresponse().headers.get(PROOF_HEADER, "")
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return hmac.compare_digest(proof.encode(), prove(app.secret, nonce).encode())


OPENING_PAGE = "open.html"
_PAGE = """<!doctype html>
<html lang="en" data-docmind="open"><head><meta charset="utf-8"><title>DocMind</title>
<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={link}"></head>
<body><p><a href="{link}">Open DocMind</a></p></body></html>
"""


_MARK = _PAGE.partition("<head>")[0].encode()


def can_open_browser() -> bool:
    """Return whether there is a display for a browser, or the user named a browser in BROWSER."""
    if sys.platform in ("win32", "darwin") or os.environ.get("BROWSER"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_browser(data_dir: Path, link: str) -> None:
    """Open a link in the user's browser through a page of mode 0600 in the data folder.

    The app removes the page once a ticket was used, and when it closes; `BROWSER` names the browser, as for Python's
    `webbrowser`. Raises `OSError`, also where a file that DocMind did not write has the page's name.
    """
    page = data_dir.resolve() / OPENING_PAGE
    page.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.path.lexists(page) and not _is_ours(page):
        raise FileExistsError(errno.EEXIST, NOT_OURS)
    with replacing(page) as file:
        file.write(_PAGE.format(link=html.escape(link)).encode())
    # A process of its own: browsers write to the terminal, and some stay in the foreground.
    subprocess.Popen(
        [sys.executable, "-I", "-m", "webbrowser", "-t", page.as_uri()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def remove_opening_page(data_dir: Path) -> None:
    """Remove the page that redirects a browser to the app, if it is ours.

    Its ticket is useless once used.
    """
    page = data_dir / OPENING_PAGE
    with contextlib.suppress(OSError):  # its ticket expires by itself
        if _is_ours(page):
            page.unlink(missing_ok=True)


def _is_ours(page: Path) -> bool:
    """Return whether the path is a regular file that begins as our page does."""
    if not stat.S_ISREG(page.lstat().st_mode):
        return False
    with page.open("rb") as file:
        return file.read(len(_MARK)) == _MARK
