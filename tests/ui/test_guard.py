"""Only this machine's own browser is served, and what it is served can reach nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from docmind.ui.guard import Guard, inline_script_sources


async def _page(_: object) -> PlainTextResponse:
    return PlainTextResponse("hello", headers={"cache-control": "public, max-age=100"})


async def _socket(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("hello")
    await socket.close()


APP = Starlette(routes=[Route("/{path:path}", _page, methods=["GET", "POST"]), WebSocketRoute("/stream", _socket)])
CLIENT = TestClient(Guard(APP, " 'sha256-abc'"), base_url="http://localhost:8501")


@pytest.mark.parametrize("host", ["localhost:8501", "127.0.0.1:8501", "[::1]:8501", "LOCALHOST:8501", "localhost"])
def test_this_machine_is_served(host: str) -> None:
    assert CLIENT.get("/", headers={"host": host}).text == "hello"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8501",
        "localhost.evil.example:8501",
        "127.0.0.1.evil.example",
        "127.0.0.1:8501@evil.example",
        "192.168.1.7:8501",
        "localhost:8501 evil",
        "localhost:",
        "",
    ],
)
def test_a_name_from_elsewhere_is_refused(host: str) -> None:
    answer = CLIENT.get("/", headers={"host": host})
    assert answer.status_code == 403
    assert "hello" not in answer.text


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:3000", "null", "http://127.0.0.1:8501"])
def test_a_page_from_elsewhere_is_refused(origin: str) -> None:
    """Also one from another port of this machine, and one that calls this machine by its other name."""
    assert CLIENT.post("/", headers={"origin": origin}).status_code == 403
    with (
        pytest.raises(WebSocketDisconnect),
        CLIENT.websocket_connect("ws://localhost:8501/stream", headers={"origin": origin}),
    ):
        pass


def test_its_own_page_may_connect() -> None:
    headers = {"origin": "http://localhost:8501"}
    assert CLIENT.post("/", headers=headers).text == "hello"
    with CLIENT.websocket_connect("ws://localhost:8501/stream", headers=headers) as socket:
        assert socket.receive_text() == "hello"


def test_what_is_served_may_load_and_connect_to_nothing_else() -> None:
    headers = CLIENT.get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self' 'sha256-abc';" in policy
    assert "connect-src 'self' ws://localhost:8501" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "*" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-dns-prefetch-control"] == "off"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_readable_pages_stay_out_of_the_browsers_disk_cache() -> None:
    assert CLIENT.get("/media/abc.jpg").headers.get_list("cache-control") == ["no-store"]
    assert CLIENT.get("/static/js/index.js").headers["cache-control"] == "public, max-age=100"


def test_the_inline_scripts_of_streamlits_page_are_named_by_their_hash() -> None:
    index = Path(streamlit.__file__).parent / "static" / "index.html"
    sources = inline_script_sources(index)
    assert sources.count("'sha256-") == index.read_text("utf-8").count("<script>")
