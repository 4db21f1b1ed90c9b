"""The door of an open library for programs of its user: REST over a Unix socket, or over a port where there is none.

The app serves it in the loop of its own server, a command in a thread (`docmind.api.sharing`).
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from docmind.access import NONCE_HEADER, PROOF_HEADER, Launch, is_peer_own, prove
from docmind.api.budget import Budget, Purse
from docmind.api.connections import BrokenOff, bounded
from docmind.api.programs import Programs
from docmind.api.rest import Rest

if TYPE_CHECKING:
    from docmind.application import DocMind

_QUIET_S, _LINGERS_S = 0.3, 1.0
"""A door that is to close waits for a pause between requests: a short command sends several. At most so long."""


class Door:
    """A server at a listening socket. For one event loop; `stop`, `is_idle_for` and `force` may be called from any."""

    def __init__(
        self, listening: socket.socket, launch: Launch, vault: Callable[[], DocMind], purse: Purse | None = None
    ) -> None:
        """Serve the library that `vault` returns; over a port, the token of `launch` is what admits a request."""
        self._listening, self._launch = listening, launch
        self._is_private = listening.family != socket.AF_INET
        programs = Programs(launch, vault, is_private=self._is_private)
        self._inner = BrokenOff(Budget(Rest(self._refuse, launch, programs, vault), purse=purse))
        self._active, self._last = 0, time.monotonic()
        self._server = _Server(self)
        self._stopped_at = 0.0

    async def serve(self, *, longest_s: int | None = None) -> None:
        """Answer requests until `stop`, then those under way, for at most `longest_s`."""
        config = self._server.config
        config.timeout_graceful_shutdown = longest_s
        config.load()
        config.http_protocol_class = self._protocol(bounded(config.http_protocol_class))
        await self._server.serve(sockets=[self._listening])

    def stop(self) -> None:
        """Begin to close."""
        self._stopped_at = time.monotonic()

    def force(self) -> None:
        """Close without another answer."""
        self._stopped_at = 1.0
        self._server.force_exit = True

    @property
    def idle_s(self) -> float:
        """How long there has been no request, in seconds; 0 while one is being answered."""
        return 0.0 if self._active else time.monotonic() - self._last

    @property
    def is_over(self) -> bool:
        """Whether it is time to close."""
        if not self._stopped_at:
            return False
        return self.idle_s >= _QUIET_S or time.monotonic() - self._stopped_at >= _LINGERS_S

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._active += 1
        try:
            await self._inner(scope, receive, send)
        finally:
            self._active -= 1
            self._last = time.monotonic()

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what is no request of a program: with the proof that this is the door that was announced, if asked."""
        nonces = [value for name, value in scope.get("headers", ()) if name == NONCE_HEADER.encode()]
        proof = {PROOF_HEADER: prove(self._launch.secret, nonces[0].decode("latin-1"))} if nonces else {}
        await Response(status_code=403, headers=proof)(scope, receive, send)

    def _protocol(self, kind: Any) -> Any:
        """Return the protocol that ends connections of other users at once, where the door is a Unix socket."""
        if not self._is_private:
            return kind

        class Own(kind):
            def connection_made(self, transport: asyncio.Transport) -> None:
                super().connection_made(transport)
                if not is_peer_own(transport.get_extra_info("socket")):
                    transport.abort()

        return Own


class _Server(uvicorn.Server):
    def __init__(self, door: Door) -> None:
        super().__init__(
            uvicorn.Config(
                door, lifespan="off", ws="none", log_config=None, access_log=False, server_header=False, backlog=64,
            )
        )  # fmt: skip
        self._door = door

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the program."""
        yield

    async def on_tick(self, counter: int) -> bool:
        """Tell whether serving is over."""
        return await super().on_tick(counter) or self._door.is_over
