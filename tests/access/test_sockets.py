"""Unix sockets of a user: their modes, stale ones, long paths, and other users at either end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from docmind.access import (
    APP_SOCKET,
    RunningApp,
    announce,
    connect_private,
    find_owner,
    is_peer_own,
    listen_private,
    remove_socket,
    sockets,
)
from docmind.client import Client, connect
from docmind.errors import AppNotOpenError, ConfigError

pytestmark = pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="there are no such sockets")
AS_ROOT = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be another user")
NOBODY = 65_534
TOKEN = "docmind_" + "x" * 43


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Make a folder that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="open-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def listening(folder: Path) -> tuple[socket.socket, Path]:
    made = listen_private(folder, APP_SOCKET)
    assert made is not None
    return made


def test_a_socket_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made, path = listening(tmp_path)
    finally:
        os.umask(before)
    with made:
        assert path == tmp_path / APP_SOCKET
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with connect_private(path, 5) as there, made.accept()[0] as here:
            assert is_peer_own(there)
            assert is_peer_own(here)
    remove_socket(path)
    remove_socket(path)
    assert not list(tmp_path.iterdir())


def test_a_killed_process_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    made, path = listening(tmp_path)
    with pytest.raises(OSError, match="in use"):
        listening(tmp_path)
    made.close()  # as the system does; the file stays
    with pytest.raises(ConnectionRefusedError):
        connect_private(path, 5)
    again, same = listening(tmp_path)
    again.close()
    assert same == path


def test_two_libraries_have_two_sockets(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with listening(tmp_path / "a")[0], listening(tmp_path / "b")[0]:
        assert len(list(tmp_path.rglob(APP_SOCKET))) == 2


def test_a_file_of_ones_own_with_that_name_stays(tmp_path: Path) -> None:
    (tmp_path / APP_SOCKET).write_text("mine")
    made, path = listening(tmp_path)
    with made:
        assert path != tmp_path / APP_SOCKET
    remove_socket(path)
    remove_socket(tmp_path / APP_SOCKET)
    assert (tmp_path / APP_SOCKET).read_text() == "mine"


@pytest.mark.parametrize("has_runtime_folder", [True, False])
def test_where_the_path_is_too_long_it_lies_in_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_runtime_folder: bool
) -> None:
    runtime = Path(tempfile.mkdtemp())
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime) if has_runtime_folder else str(tmp_path / ("x" * 120)))
    data = tmp_path / ("long" * 30)
    data.mkdir()
    made, path = listening(data)
    with made:
        assert not list(data.iterdir())
        assert path.parent.parent == runtime or not has_runtime_folder
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        app = RunningApp("http://127.0.0.1:9/", "http://127.0.0.1:9/", bytes(32), True, 1, str(path))
        announce(data, app)
        assert find_owner(data) == app
        connect_private(path, 5).close()
    remove_socket(path)
    assert not path.parent.exists()
    runtime.rmdir()


def listen_as_nobody(path: Path, heard: int) -> None:
    """Be another user who listens at the path, and pass on what is heard there."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    with socket.socket(socket.AF_UNIX) as own:
        own.bind(str(path))
        path.chmod(0o666)
        own.listen()
        os.write(heard, b"!")
        while True:
            with own.accept()[0] as there:
                there.settimeout(1)
                with contextlib.suppress(OSError):
                    while piece := there.recv(1_000):
                        os.write(heard, piece)


@AS_ROOT
@pytest.mark.parametrize(
    ("is_given_away", "is_checked"),
    [(False, True), (True, True), (True, False)],
    ids=["their socket", "a socket exchanged between look and connection", "control"],
)
def test_another_users_process_is_told_nothing(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch, is_given_away: bool, is_checked: bool
) -> None:
    path = open_folder / APP_SOCKET
    if not is_checked:
        monkeypatch.setattr(sockets, "is_peer_own", lambda _connection: True)
    read_end, write_end = os.pipe()
    if not (child := os.fork()):
        try:
            listen_as_nobody(path, write_end)
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb", buffering=0) as heard:
        assert heard.read(1) == b"!"
        if is_given_away:
            os.chown(path, os.getuid(), os.getgid())
        app = RunningApp("http://127.0.0.1:9/", "http://127.0.0.1:9/", bytes(32), True, 1, str(path))
        announce(open_folder, app)
        with pytest.raises(ConfigError if is_checked else AppNotOpenError):
            Client(app, token=TOKEN).documents.counts()
        if is_checked:
            with pytest.raises(ConfigError, match="another user"):
                find_owner(open_folder)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert (TOKEN.encode() in heard.read()) is not is_checked


def test_whoever_holds_the_port_of_a_closed_app_is_told_nothing(tmp_path: Path) -> None:
    made, path = listening(tmp_path)
    made.close()  # killed
    with socket.create_server(("127.0.0.1", 0)) as thief:
        address = f"http://127.0.0.1:{thief.getsockname()[1]}/"
        app = RunningApp(address, address, bytes(32), True, 1, str(path))
        announce(tmp_path, app)
        with pytest.raises(AppNotOpenError):
            connect(tmp_path, token=TOKEN)
        with pytest.raises(AppNotOpenError):
            Client(app, token=TOKEN).documents.counts()  # closed since it was found
        thief.settimeout(0.3)
        with pytest.raises(TimeoutError):
            thief.accept()
