"""The door of an open library: who gets in, the bounds of its connections, and its end."""

from __future__ import annotations

import asyncio
import http.client
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from desks import opened
from docmind import DocMind
from docmind.access import COMMAND_SOCKET, Launch, RunningApp, connect_private, is_alive, listen_private
from docmind.api import connections, door
from docmind.api.door import Door
from docmind.client import Client
from docmind.errors import AppNotOpenError, NotPermittedError

NOBODY = 65_534
HAS_SOCKETS = sys.platform in ("linux", "darwin")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def docmind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with opened(tmp_path_factory.mktemp("library")) as docmind:
        yield docmind


@contextmanager
def serving(docmind: DocMind, folder: Path, *, is_private: bool = HAS_SOCKETS) -> Iterator[tuple[Door, RunningApp]]:
    """Serve the library at a socket of this folder, or at a port, from a thread."""
    launch = Launch()
    private = listen_private(folder, COMMAND_SOCKET) if is_private else None
    listening, path = private or (socket.create_server(("127.0.0.1", 0)), None)
    local = "" if path is not None else f"http://127.0.0.1:{listening.getsockname()[1]}/"
    made = Door(listening, launch, lambda: docmind)
    thread = threading.Thread(target=lambda: asyncio.run(made.serve()))
    thread.start()
    try:
        yield made, RunningApp("", local, launch.secret, True, os.getpid(), str(path or ""))
    finally:
        made.stop()
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="open-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("is_private", [True, False], ids=["socket", "port"])
def test_a_process_of_the_user_is_let_in(docmind: DocMind, tmp_path: Path, is_private: bool) -> None:
    if is_private and not HAS_SOCKETS:
        pytest.skip("there are no such sockets")
    with serving(docmind, tmp_path, is_private=is_private) as (_, app):
        assert is_alive(app)
        assert Client(app).documents.counts() == docmind.documents.counts()
        reader = docmind.tokens.new(f"reader {is_private}", scope="read")
        narrowed = Client(app, token=reader.secret)
        assert narrowed.documents.counts() == docmind.documents.counts()
        with pytest.raises(NotPermittedError):
            narrowed.tokens.list()
        with pytest.raises(AppNotOpenError, match="401"):
            Client(app, token="docmind_" + "x" * 43).documents.counts()
        if not is_private:
            other = RunningApp("", app.local, bytes(32), True, 1)
            assert not is_alive(other)
            with pytest.raises(AppNotOpenError, match="401"):
                Client(other).documents.counts()
    assert not is_alive(app)


@pytest.mark.skipif(not HAS_SOCKETS or os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize("is_checked", [True, False], ids=["checked", "control"])
def test_another_user_is_told_nothing(
    docmind: DocMind, open_folder: Path, monkeypatch: pytest.MonkeyPatch, is_checked: bool
) -> None:
    """Not even where the modes would let another user connect."""
    if not is_checked:
        monkeypatch.setattr(door, "is_peer_own", lambda _connection: True)
    with serving(docmind, open_folder) as (_, app):
        Path(app.socket).chmod(0o666)
        read_end, write_end = os.pipe()
        if not (child := os.fork()):
            try:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                with socket.socket(socket.AF_UNIX) as there:
                    there.settimeout(10)
                    there.connect(app.socket)
                    there.sendall(b"GET /api/v1/counts HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    os.write(write_end, there.recv(1_000))
            finally:
                os._exit(0)
        os.close(write_end)
        os.waitpid(child, 0)
        with os.fdopen(read_end, "rb") as heard:
            assert (b"200 OK" in heard.read()) is not is_checked


@pytest.mark.skipif(not HAS_SOCKETS, reason="there are no such sockets")
@pytest.mark.parametrize("is_bounded", [True, False], ids=["bounded", "control"])
def test_a_head_that_is_never_finished_is_ended(
    docmind: DocMind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_bounded: bool
) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 0.3)
    if not is_bounded:
        monkeypatch.setattr(door, "bounded", lambda kind: kind)
    with serving(docmind, tmp_path) as (_, app), connect_private(Path(app.socket), 2) as half:
        half.sendall(b"GET /api/v1/counts HTTP/1.1\r\n")
        try:
            is_ended = half.recv(1) == b""
        except TimeoutError:
            is_ended = False
        except ConnectionResetError:
            is_ended = True
    assert is_ended is is_bounded


@pytest.mark.skipif(not HAS_SOCKETS, reason="there are no such sockets")
def test_it_serves_programs_alone(docmind: DocMind, tmp_path: Path) -> None:
    with serving(docmind, tmp_path) as (_, app):
        for path, headers, status in (
            ("/", {}, 403),
            ("/mcp", {}, 403),
            ("/api/v1/counts", {}, 200),
            ("/api/v1/counts", {"Origin": "http://localhost"}, 403),
            ("/api/v1/counts", {"Host": "evil.example"}, 403),
        ):
            asked = http.client.HTTPConnection("localhost")
            asked.sock = connect_private(Path(app.socket), 10)
            asked.request("GET", path, headers=headers)
            assert asked.getresponse().status == status, path
            asked.close()


@pytest.mark.skipif(not HAS_SOCKETS, reason="there are no such sockets")
def test_it_closes_once_nothing_is_asked_for_a_moment(docmind: DocMind, tmp_path: Path) -> None:
    with serving(docmind, tmp_path) as (made, app):
        client = Client(app)
        client.documents.counts()
        made.stop()
        for _ in range(3):  # a command that sends several requests
            time.sleep(0.1)
            client.documents.counts()
        until = time.monotonic() + 10
        while is_alive(app) and time.monotonic() < until:  # one that asks for ever is not waited for
            time.sleep(0.1)
        assert time.monotonic() < until


@pytest.mark.skipif(not HAS_SOCKETS, reason="there are no such sockets")
@pytest.mark.parametrize("sent", [1_000, 3_000_000], ids=["small", "large"])
def test_an_upload_that_is_broken_off_leaves_one_line(
    docmind: DocMind, tmp_path: Path, caplog: pytest.LogCaptureFixture, sent: int
) -> None:
    secret = docmind.tokens.new(f"writer {sent}", scope="full").secret
    with serving(docmind, tmp_path) as (_, app), connect_private(Path(app.socket), 10) as there:
        head = f"POST /api/v1/uploads?name=a.txt HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\n"
        there.sendall(f"{head}Content-Length: {2 * sent}\r\n\r\n".encode() + b"x" * sent)
        there.close()
        until = time.monotonic() + 10
        while not caplog.records and time.monotonic() < until:
            time.sleep(0.02)
    assert [(record.name, record.levelname, record.exc_info) for record in caplog.records] == [
        ("docmind.api.connections", "WARNING", None)
    ]
    assert not docmind.queue.uploads()
