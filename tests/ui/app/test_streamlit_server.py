"""What DocMind corrects in Streamlit's server; what Streamlit does alone is the control."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.components.v2.manifest_scanner import scan_component_manifests
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.web.server.starlette.starlette_websocket import create_websocket_handler

from docmind.ui.app.streamlit_server import ClosedTabs, keep_answers, serve_own_parts_only
from loops import run_async


@pytest.fixture(autouse=True)
def streamlit_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    clear = ForwardMsgQueue.clear
    monkeypatch.setattr(ForwardMsgQueue, "clear", getattr(clear, "__wrapped__", clear))


def filled() -> ForwardMsgQueue:
    queue = ForwardMsgQueue()
    for number in (1, 2):
        answer, drawn = ForwardMsg(), ForwardMsg()
        answer.file_urls_response.response_id = f"request {number}"
        drawn.delta.new_element.text.body = f"text {number}"
        drawn.metadata.delta_path[:] = [0, number]
        queue.enqueue(drawn)
        queue.enqueue(answer)
    return queue


def waiting(queue: ForwardMsgQueue) -> list[str]:
    return [message.file_urls_response.response_id or message.delta.new_element.text.body for message in queue.flush()]


@pytest.mark.parametrize("fragments", [None, ["fragment"]])
def test_the_start_of_a_run_keeps_answers(fragments: list[str] | None) -> None:
    keep_answers()
    keep_answers()
    queue = filled()
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=fragments)
    assert [text for text in waiting(queue) if "request" in text] == ["request 1", "request 2"]


def test_what_was_drawn_is_discarded_as_before() -> None:
    keep_answers()
    queue = filled()
    queue.clear(retain_lifecycle_msgs=True)
    assert waiting(queue) == ["request 1", "request 2"]


def test_the_end_of_a_session_discards_all() -> None:
    keep_answers()
    queue = filled()
    queue.clear()
    assert queue.is_empty()
    assert waiting(filled()) == ["text 1", "request 1", "text 2", "request 2"]


def test_streamlit_alone_discards_answers() -> None:
    """Fails once Streamlit keeps them itself: then delete `keep_answers`."""
    queue = filled()
    queue.clear(retain_lifecycle_msgs=True)
    assert queue.is_empty()


# --- a tab that is closed while something is drawn --------------------------------------------------------------------


class DrawingRuntime:
    """A runtime that draws into each session at once, and records which ones ended."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    def connect_session(self, client: Any, **_: Any) -> str:
        drawn = ForwardMsg()
        drawn.delta.new_element.text.body = "a text"
        client.write_forward_msg(drawn)
        return "session"

    def handle_backmsg(self, *_: Any, **__: Any) -> None:
        pass

    def disconnect_session(self, session_id: str, **_: Any) -> None:
        self.ended.append(session_id)


def closed_tab(app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
    """Serve a WebSocket whose other side sends one message and is gone before the first answer."""

    async def serve() -> None:
        gone = asyncio.Event()
        told = iter([{"type": "websocket.connect"}, {"type": "websocket.receive", "bytes": b""}])

        async def receive() -> Message:
            message = next(told, None)
            if message is None:
                return {"type": "websocket.disconnect", "code": 1005}
            if message["type"] == "websocket.receive":
                await gone.wait()
            return message

        async def send(message: Message) -> None:
            if message["type"] == "websocket.send":
                gone.set()
                raise ConnectionResetError

        headers = [(b"host", b"localhost:8501"), (b"origin", b"http://localhost:8501")]
        await app({"type": "websocket", "path": "/", "headers": headers, "subprotocols": []}, receive, send)

    run_async(serve())


def streamlits_endpoint(runtime: DrawingRuntime) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    endpoint = create_websocket_handler(runtime)  # pyright: ignore[reportArgumentType] - what it uses of a runtime

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await endpoint(WebSocket(scope, receive, send))

    return app


def test_a_closed_tab_ends_its_session_and_nothing_else() -> None:
    runtime = DrawingRuntime()
    closed_tab(ClosedTabs(streamlits_endpoint(runtime)))
    assert runtime.ended == ["session"]


def test_streamlit_alone_ends_a_closed_tab_in_an_error() -> None:
    """Fails once Streamlit notices a closed tab itself: then delete `ClosedTabs`."""
    with pytest.raises(RuntimeError, match="close message"):
        closed_tab(streamlits_endpoint(DrawingRuntime()))


def test_other_errors_of_sending_are_kept() -> None:
    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})

    async def fail(_: Message) -> None:
        raise ConnectionResetError

    async def nothing() -> Message:
        return {"type": "websocket.connect"}

    with pytest.raises(ConnectionResetError):
        run_async(ClosedTabs(refuse)({"type": "websocket"}, nothing, fail))


@pytest.mark.slow
def test_no_other_package_puts_its_scripts_into_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that declares a part of a page is found by Streamlit alone, and not by DocMind."""
    (tmp_path / "gadget" / "assets").mkdir(parents=True)
    (tmp_path / "gadget" / "pyproject.toml").write_text(
        '[project]\nname = "gadget"\nversion = "1"\n'
        '[[tool.streamlit.component.components]]\nname = "dial"\nasset_dir = "assets"\n'
    )
    told = tmp_path / "gadget-1.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: gadget\nVersion: 1\nSummary: a part of Streamlit pages\n"
    )
    (told / "top_level.txt").write_text("gadget\n")
    (tmp_path / "gadget" / "__init__.py").touch()
    (told / "RECORD").write_text("gadget/__init__.py,,\ngadget/pyproject.toml,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [manifest.name for manifest, _ in scan_component_manifests()] == ["gadget"], "the control"
    serve_own_parts_only()
    manager = BidiComponentManager()
    manager.discover_and_register_components(start_file_watching=False)
    assert manager.get_component_path("gadget.dial") is None
