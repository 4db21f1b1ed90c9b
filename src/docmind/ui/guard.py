"""Who is served: this machine's own browser, at a loopback address, and nobody it was lured here by.

A page elsewhere can point its own name at 127.0.0.1 (DNS rebinding): the Host header then names that page, and it is
refused. A page on another port of this machine may reach the port but names itself in Origin: refused too. What is
served may load nothing from, and connect to nothing but, the address it came from.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOOPBACK = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE)
_INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def inline_script_sources(index_page: Path) -> str:
    """The Content-Security-Policy sources of the scripts that stand inside this HTML file."""
    digests = [hashlib.sha256(script).digest() for script in _INLINE_SCRIPT.findall(index_page.read_bytes())]
    return "".join(f" 'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


class Guard:
    """ASGI middleware. `scripts` are further CSP script sources, from `inline_script_sources`."""

    def __init__(self, app: ASGIApp, scripts: str = "") -> None:
        self._app, self._scripts = app, scripts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        origins = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
        if (
            len(hosts) != 1
            or not _LOOPBACK.fullmatch(hosts[0])
            or not all(_same(origin, hosts[0]) for origin in origins)
        ):
            await _refuse(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = self._headers(scope["path"], hosts[0])
                kept = [(name, value) for name, value in message.get("headers", []) if name.lower() not in ours]
                message = {**message, "headers": kept + list(ours.items())}
            await send(message)

        await self._app(scope, receive, answer)

    def _headers(self, path: str, host: str) -> dict[bytes, bytes]:
        policy = (
            "default-src 'none'; "
            f"script-src 'self'{self._scripts}; "
            "style-src 'self' 'unsafe-inline'; "
            "img-src 'self' data: blob:; font-src 'self' data:; media-src 'self' blob:; worker-src 'self' blob:; "
            f"connect-src 'self' ws://{host} data: blob:; "
            "manifest-src 'self'; base-uri 'self'; form-action 'self'; frame-src 'none'; object-src 'none'; "
            "frame-ancestors 'none'"
        )
        headers = {
            b"content-security-policy": policy.encode("latin-1"),
            b"x-content-type-options": b"nosniff",
            b"x-frame-options": b"DENY",
            b"referrer-policy": b"no-referrer",
            b"x-dns-prefetch-control": b"off",  # no policy above keeps a browser from looking names up
            b"cross-origin-resource-policy": b"same-origin",
            b"cross-origin-opener-policy": b"same-origin",
            b"permissions-policy": b"camera=(), microphone=(), geolocation=(), payment=(), usb=()",
        }
        if not path.startswith("/static/"):
            headers[b"cache-control"] = b"no-store"  # the browser's disk cache would hold readable pages
        return headers


def _same(origin: str, host: str) -> bool:
    return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": "not from this machine"})
        return
    body = b"DocMind serves only this machine: open it as http://localhost with its port.\n"
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})
