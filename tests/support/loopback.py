"""What the HTTP servers of the tests share: loopback only, quiet, and indifferent to clients that hang up."""

from __future__ import annotations

import contextlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class LoopbackServer(ThreadingHTTPServer):
    """A server on 127.0.0.1, with a thread for each connection."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, handler: type[LoopbackHandler]) -> None:
        super().__init__(("127.0.0.1", port), handler)

    @property
    def port(self) -> int:
        return self.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: clients that close the connection are part of the tests."""


class LoopbackHandler(BaseHTTPRequestHandler):
    """The handler of one connection."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        """Print nothing."""

    def handle(self) -> None:
        with contextlib.suppress(OSError):
            super().handle()
