"""When the app was last asked for something: what locking after idle time goes by.

Requests of browsers and programs count, and messages of a tab to the server, except those that a page sends by itself
to look for news: an open tab that nobody uses is idle.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

_BY_ITSELF = ("app_heartbeat", "load_git_info")
_POLLED = ("/_stcore/health", "/_stcore/host-config", "/-/library")  # a page asks for these by itself


class Activity:
    """The time of the last request and how many are being answered. Thread-safe."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._lock = now, threading.Lock()
        self._last, self._open = now(), 0

    def note(self) -> None:
        """Note that something was asked for."""
        self._last = self._now()

    def begin(self) -> None:
        """Note that a request is being answered."""
        with self._lock:
            self._open += 1
        self.note()

    def end(self) -> None:
        """Note that a request was answered."""
        with self._lock:
            self._open -= 1
        self.note()

    def idle_s(self) -> float:
        """Return for how many seconds nothing was asked for; 0 while a request is being answered."""
        with self._lock:
            return 0.0 if self._open else self._now() - self._last


class Noted:
    """ASGI middleware that notes activity. `activity` is called for each request."""

    def __init__(self, app: ASGIApp, activity: Callable[[], Activity]) -> None:
        self._app, self._activity = app, activity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._app(scope, self._noting(receive), send)
        elif scope["type"] == "http" and not scope["path"].endswith(_POLLED):
            activity = self._activity()
            activity.begin()
            try:
                await self._app(scope, receive, send)
            finally:
                activity.end()
        else:
            await self._app(scope, receive, send)

    def _noting(self, receive: Receive) -> Receive:
        async def received() -> Message:
            message = await receive()
            data = message.get("bytes")
            if message["type"] == "websocket.receive" and data and not is_by_itself(data):
                self._activity().note()
            return message

        return received


def is_by_itself(data: bytes) -> bool:
    """Tell whether a page sent a message to Streamlit's server by itself, without its user."""
    try:
        message = BackMsg.FromString(data)
    except DecodeError:
        return True  # not one of a page
    kind = message.WhichOneof("type")
    return kind in _BY_ITSELF or (kind == "rerun_script" and message.rerun_script.is_auto_rerun)
