"""Bounds on connections, on a real uvicorn server; without them is the control."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from websockets.sync.client import connect

from docmind.api import connections
from docmind.api.connections import bound_connections

HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": "ok"})
    elif scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


@contextlib.contextmanager
def serving() -> Iterator[int]:
    """Serve on a free port, and give the port."""
    server = uvicorn.Server(uvicorn.Config(answer, port=0, log_level="error", lifespan="off", ws="websockets-sansio"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until = time.monotonic() + 20
        while not server.started:
            assert time.monotonic() < until
            time.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        thread.join()


@pytest.fixture(params=[True, False], ids=["bounded", "control"])
def is_bounded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    startup = uvicorn.Server.startup
    monkeypatch.setattr(uvicorn.Server, "startup", getattr(startup, "__wrapped__", startup))
    monkeypatch.setattr(connections, "HEAD_S", 0.3)
    monkeypatch.setattr(connections, "MOST", 8)
    if request.param:
        bound_connections()
        bound_connections()
    return request.param


def reached(port: int, data: bytes = b"") -> socket.socket:
    opened = socket.create_connection(("127.0.0.1", port), timeout=5)
    opened.sendall(data)
    return opened


def is_ended(opened: socket.socket) -> bool:
    """Tell whether the server has ended a connection to which it sent nothing."""
    try:
        return opened.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def ask(opened: socket.socket) -> bytes:
    """Send a whole request, and return the whole answer."""
    opened.sendall(HALF + b"\r\n")
    got = b""
    while not got.endswith(b"ok") and (piece := opened.recv(1_000)):
        got += piece
    return got


def test_a_head_that_is_never_finished_is_ended(is_bounded: bool) -> None:
    with serving() as port, contextlib.ExitStack() as held:
        silent, half, again = (held.enter_context(reached(port, data)) for data in (b"", HALF, b""))
        assert b"200 OK" in ask(again)
        again.sendall(HALF)  # the next request on a connection that is kept
        for opened in (silent, half, again):
            opened.settimeout(2)
            assert is_ended(opened) is is_bounded
        with reached(port) as good:
            assert b"200 OK" in ask(good)


def test_the_connection_that_waits_longest_makes_room(is_bounded: bool) -> None:
    with serving() as port, contextlib.ExitStack() as held:
        many = [held.enter_context(reached(port, HALF)) for _ in range(12)]
        with reached(port) as good:
            assert b"200 OK" in ask(good)
        for opened in many:
            opened.settimeout(0.1)
        ended = [is_ended(opened) for opened in many]
    assert ended[:4] == [is_bounded] * 4
    assert not any(ended[5:]) or is_bounded


def test_descriptors_are_kept_back(is_bounded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST", 1_000)
    with serving() as port, contextlib.ExitStack() as held:
        first = held.enter_context(reached(port, HALF))
        monkeypatch.setattr(connections, "_descriptors", lambda: connections.KEPT_BACK)  # none is left for connections
        second = held.enter_context(reached(port, HALF))
        first.settimeout(0.2)
        second.settimeout(0.2)
        assert is_ended(first) is is_bounded
        assert second is not first


def test_a_web_socket_stays(is_bounded: bool) -> None:
    with serving() as port, connect(f"ws://127.0.0.1:{port}") as opened:
        for _ in range(2):
            time.sleep(0.5)  # longer than the head of a request may take
            opened.send("still there?")
            assert opened.recv(timeout=5) == "ok"
        for _ in range(12):
            reached(port, HALF).close()
        opened.send("still there?")
        assert opened.recv(timeout=5) == "ok"
