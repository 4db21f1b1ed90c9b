"""Connections to a server: bounds on how many there are and how long the head of a request may take, and their end.

Every user of a machine can connect to its loopback ports. Without bounds, requests that are never finished take all
descriptors of the process, and then neither the library nor the log can open a file. uvicorn (0.54) has neither bound:
its limit on concurrency is checked once the head of a request is there, and nothing ends a head that never is.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from functools import cache, wraps
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn import Server

MOST = 256
"""Connections at once: a browser has six for each tab at most, a program one."""

HEAD_S = 10.0
"""Seconds until the head of a request must be there, from the connection or the first byte of a further request on."""

KEPT_BACK = 64
"""Descriptors that connections leave to the library."""

_BACKLOG = 64  # connections that asyncio accepts at a time, before one of them can be refused
_log = logging.getLogger("docmind.api.connections")


class BrokenOff:
    """ASGI middleware that ends requests whose sender has gone before all of the body was there, with one line."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or note that there is nobody to answer."""
        try:
            await self._app(scope, receive, send)
        except ClientDisconnect:
            _log.warning("a request was broken off before all of it was there")


def bound_connections() -> None:
    """Bound the connections of servers that start from now on. Idempotent."""
    startup = Server.startup
    if hasattr(startup, "__wrapped__"):
        return

    @wraps(startup)
    async def startup_bounded(self: Server, sockets: list[socket.socket] | None = None) -> None:
        self.config.http_protocol_class = bounded(self.config.http_protocol_class)
        self.config.backlog = min(self.config.backlog, _BACKLOG)
        await startup(self, sockets)

    Server.startup = startup_bounded


@cache
def bounded(kind: Any) -> Any:
    """Return the same protocol with bounds: `kind` is uvicorn's for h11 or for httptools, or has bounds already."""
    if hasattr(kind, "is_waiting"):
        return kind

    class Bounded(kind):
        _late: asyncio.TimerHandle | None = None
        _is_web_socket = False
        since = 0.0

        @property
        def is_waiting(self) -> bool:
            """Whether no request is being answered: its head is not there yet."""
            return self.cycle is None or self.cycle.response_complete

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self.since = self.loop.time()
            self._late = self.loop.call_later(HEAD_S, self._give_up)
            _make_room(self)

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            super().data_received(data)
            if self.cycle is not before:
                self.since = self.loop.time()
                self._settle()
            elif self.is_waiting and self._late is None and not self._is_web_socket:
                self._late = self.loop.call_later(HEAD_S, self._give_up)

        def handle_websocket_upgrade(self, *args: Any) -> None:
            self._is_web_socket = True
            self._settle()
            super().handle_websocket_upgrade(*args)

        def connection_lost(self, exc: Exception | None) -> None:
            self._settle()
            super().connection_lost(exc)

        def _settle(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

        def _give_up(self) -> None:
            self._late = None
            if self.is_waiting:
                self.transport.abort()

    return Bounded


def _make_room(new: Any) -> None:
    """End the connection that waits longest for a request where there are too many; the new one where none waits."""
    if len(new.connections) <= MOST and _leaves_descriptors(new.transport):
        return
    waiting = [one for one in new.connections if getattr(one, "is_waiting", False) and one is not new]
    ended = min(waiting, key=lambda one: one.since, default=new)
    new.connections.discard(ended)
    ended.transport.abort()
    _log.warning("Too many connections: the one that waited longest was ended.")


def _leaves_descriptors(transport: asyncio.Transport) -> bool:
    """Return whether enough descriptors are left: a new one gets the lowest number that is free."""
    return transport.get_extra_info("socket").fileno() < _descriptors() - KEPT_BACK


@cache
def _descriptors() -> int:
    """Return how many descriptors this process may have."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return 1 << 31
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return most if most != resource.RLIM_INFINITY else 1 << 31
