"""A site on 127.0.0.1 whose pages are what a test says, and which keeps what it was asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from loopback import LoopbackHandler, LoopbackServer

HTML = {"Content-Type": "text/html; charset=utf-8"}


class Site(LoopbackServer):
    """Answers each path with a status, headers and a body; keeps what was asked."""

    def __init__(self) -> None:
        super().__init__(0, _Handler)
        self.pages: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.silent_s = 0.0

    def sends(self, path: str, location: str) -> None:
        self.pages[path] = (302, {"Location": location}, b"")


class _Handler(LoopbackHandler):
    server: Site  # pyright: ignore[reportIncompatibleVariableOverride] - narrower than the library says

    def do_GET(self) -> None:  # noqa: N802 - the name is the library's
        self.server.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        time.sleep(self.server.silent_s)
        status, headers, body = self.server.pages.get(self.path, (404, {}, b""))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving_pages(pages: Mapping[str, bytes]) -> Iterator[Site]:
    """Serve these pages as HTML."""
    site = Site()
    site.pages = {path: (200, HTML, body) for path, body in pages.items()}
    thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.shutdown()
        thread.join()
        site.server_close()
