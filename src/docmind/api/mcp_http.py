"""MCP below `/mcp` of the app's own server, for programs with a token.

Short: the protocol is in `mcp_server`, which the first request loads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from docmind.access import Launch
from docmind.api.programs import PERMIT, Permit, Programs

if TYPE_CHECKING:
    from docmind.api.mcp_server import HttpServer
    from docmind.application import DocMind


class Mcp:
    """ASGI middleware that answers at `/mcp`; it belongs outside the guard of browsers."""

    def __init__(self, app: ASGIApp, launch: Launch, programs: Programs, vault: Callable[[], DocMind]) -> None:
        """Answer with the library that `vault` returns; it is called in a thread, for each call."""
        self._app, self._launch, self._programs, self._vault = app, launch, programs, vault
        self._server: HttpServer | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            try:
                await self._app(scope, receive, send)
            finally:
                if self._server is not None:
                    await self._server.close()
            return
        if scope["type"] != "http" or scope["path"].rstrip("/") != f"{self._launch.prefix}/mcp":
            await self._app(scope, receive, send)
            return
        permit = await self._programs.admit(scope)
        if not isinstance(permit, Permit):
            await permit(scope, receive, send)
            return
        if self._server is None:
            from docmind.api.mcp_server import HttpServer

            self._server = HttpServer(self._vault)
        await self._server({**scope, PERMIT: permit}, receive, send)
