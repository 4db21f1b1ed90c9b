"""A budget for the bodies of requests: what all doors of the app hold in memory at once.

A file that is uploaded is in memory until it is sealed, a few times over. Ten large ones at once would take what the
machine has. So a body is read only once its size fits beside those that are being read; until then its sender waits,
because what is not read is not sent.
"""

from __future__ import annotations

import asyncio
from collections import deque

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST = 256 << 20
"""Bytes of bodies at once; a larger one is read alone."""

SMALL = 1 << 20
"""Bytes of a body that never waits: a question must not wait for files. The number of connections bounds these."""


class Purse:
    """The bytes of bodies that are in memory now; whoever waited first is let in first. For one event loop."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._used = 0
        self._waiting = deque[tuple[int, asyncio.Future[None]]]()

    async def take(self, size: int) -> None:
        """Wait until so many bytes fit, and count them."""
        if not self._waiting and self._used + size <= self.most:
            self._used += size
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # let in at this moment
                self.give(size)
            else:
                self._waiting.remove((size, turn))
                self._let_in()
            raise

    def give(self, size: int) -> None:
        """Count so many bytes no longer."""
        self._used -= size
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._used + self._waiting[0][0] <= self.most:
            size, turn = self._waiting.popleft()
            self._used += size
            turn.set_result(None)


class Budget:
    """ASGI middleware over all doors. A body counts from its first byte that is read until its request is answered.

    Nothing is counted for requests that are refused before their body is read.
    """

    def __init__(self, app: ASGIApp, most: int = MOST, purse: Purse | None = None) -> None:
        """Count in `purse`, which several doors of one process share."""
        self._app, self._purse = app, purse or Purse(most)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        size = self._size(scope) if scope["type"] == "http" else 0
        if size <= SMALL:
            await self._app(scope, receive, send)
            return
        is_counted = False

        async def receive_within() -> Message:
            nonlocal is_counted
            if not is_counted:
                await self._purse.take(size)
                is_counted = True
            return await receive()

        try:
            await self._app(scope, receive_within, send)
        finally:
            if is_counted:
                self._purse.give(size)

    def _size(self, scope: Scope) -> int:
        """Return the bytes that a body may have; all of the budget for one that does not tell its length."""
        headers = dict(scope["headers"])
        told = headers.get(b"content-length", b"")
        if told.isdigit():
            return min(int(told), self._purse.most)
        return self._purse.most if b"transfer-encoding" in headers else 0
