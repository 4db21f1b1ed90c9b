"""Access guard of the app: it serves only a browser on this machine that came with a ticket.

Every user of a machine can connect to its loopback ports, so an address alone protects nothing: each request and each
WebSocket must carry the session cookie of this launch, which a browser gets for a ticket (`docmind.access`). Further
checks:

A page elsewhere can point its own name at 127.0.0.1 (DNS rebinding): the Host header then names that page, and it is
refused. A page on another port of this machine may reach the port, but its Origin header names it: it is refused too.
Every request that changes something, and every WebSocket, must name its Origin. Served pages may load from, and connect
to, only the address they came from.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docmind.access import LOOPBACK, NONCE_HEADER, PROOF_HEADER, TICKET, Launch, prove
from docmind.config import checkout
from docmind.wording import _

_INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_INLINE_STYLE = re.compile(rb"<style>(.*?)</style>", re.DOTALL)
_READING = ("GET", "HEAD")
REFUSED = Path(__file__).with_name("refused.html")
ENTERING = Path(__file__).with_name("entering.html")
RELOAD = Path(__file__).with_name("reload.html")  # put into Streamlit's own page
REFUSED_HEADER = "docmind-refused"  # tells that page that its launch is over
if checkout() is None:
    _START, _COMMAND = "docmind app", "docmind open"
elif os.name == "nt":
    _START, _COMMAND = r"py scripts\run_app.py", r".venv\Scripts\docmind open"
else:
    _START, _COMMAND = "python3 scripts/run_app.py", ".venv/bin/docmind open"


def inline_script_sources(page: Path) -> str:
    """Return the Content-Security-Policy sources of the inline scripts in this HTML file."""
    return _sources(_INLINE_SCRIPT, page)


def _sources(pattern: re.Pattern[bytes], page: Path) -> str:
    digests = [hashlib.sha256(inside).digest() for inside in pattern.findall(page.read_bytes())]
    return "".join(f" 'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


class Guard:
    """ASGI middleware that checks access.

    `scripts` are further CSP sources, from `inline_script_sources`.

    `used` is called after a ticket was used. `theme` returns the theme of the page: system, light or dark, or an empty
    text where it is not known.
    """

    def __init__(
        self,
        app: ASGIApp,
        launch: Launch,
        scripts: str = "",
        used: Callable[[], None] | None = None,
        theme: Callable[[], str] | None = None,
    ) -> None:
        self._app, self._launch, self._used, self._theme = app, launch, used, theme
        self._scripts = scripts + inline_script_sources(RELOAD)
        self._reload = RELOAD.read_bytes()
        self._refused = REFUSED.read_text("utf-8").replace("COMMAND", html.escape(_COMMAND))
        self._entering = ENTERING.read_text("utf-8")
        self._policies = {page: _page_policy(page) for page in (REFUSED, ENTERING)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        if len(hosts) != 1 or not self._launch.is_here(hosts[0]) or not self._is_same_origin(scope, hosts[0], origins):
            await _refuse(scope, receive, send, "text/plain", _ELSEWHERE, [])
            return
        if scope["type"] == "http" and (nonces := _values(scope, NONCE_HEADER.encode())):
            proof = (PROOF_HEADER.encode(), prove(self._launch.secret, nonces[0]).encode())
            await _refuse(scope, receive, send, "text/plain", _ELSEWHERE, [proof])
            return
        if not self._launch.admits(_values(scope, b"cookie")):
            await self._enter_or_refuse(scope, receive, send, hosts[0])
            return

        ours, held = self._headers(scope, hosts[0]), []

        async def answer(message: Message) -> None:
            """Add security headers, and to Streamlit's page the script that notices a launch's end."""
            if message["type"] == "http.response.start":
                kept = [(name, value) for name, value in message.get("headers", []) if name.lower() not in ours]
                message = {**message, "headers": kept + list(ours.items())}
                if _is_page(message):
                    held.append(message)
                    return
            elif held:
                held.append(message)
                if not message.get("more_body"):
                    await self._send_page(held, send)
                return
            await send(message)

        await self._app(_unpacked(scope), receive, answer)

    async def _send_page(self, held: list[Message], send: Send) -> None:
        start, *parts = held
        body = b"".join(part.get("body", b"") for part in parts).replace(b"<head>", b"<head>" + self._head(), 1)
        kept = [(name, value) for name, value in start["headers"] if name.lower() not in (b"content-length", b"etag")]
        await send({**start, "headers": [*kept, (b"content-length", str(len(body)).encode())]})
        await send({"type": "http.response.body", "body": body})

    def _head(self) -> bytes:
        """Return what goes into the head of Streamlit's page: DocMind's texts and theme, and the script that uses them.

        The texts are not in the script, whose sum the Content-Security-Policy holds.
        """
        texts = {
            "theme": self._theme() if self._theme is not None else "",
            "closed": _("DocMind was closed."),
            "again": _("Start it again with the command below. This page then goes on by itself."),
            "command": _START,
        }
        metas = (f'<meta name="docmind-{name}" content="{html.escape(text)}">' for name, text in texts.items())
        return "".join(metas).encode() + self._reload

    def _is_same_origin(self, scope: Scope, host: str, origins: list[str]) -> bool:
        if not origins:
            return scope["type"] == "http" and scope["method"] in _READING
        expected = f"{'https' if self._is_secure(scope, host) else 'http'}://{host.lower()}"
        return len(origins) == 1 and origins[0].lower() == expected

    def _is_secure(self, scope: Scope, host: str) -> bool:
        """Tell whether the browser speaks TLS, to this server or to a proxy in front of it."""
        return scope.get("scheme") in ("https", "wss") or not LOOPBACK.fullmatch(host)

    async def _enter_or_refuse(self, scope: Scope, receive: Receive, send: Send, host: str) -> None:
        query = scope.get("query_string", b"").decode("latin-1")
        if scope["type"] == "http" and scope["method"] == "GET":
            tickets = parse_qs(query).get(TICKET, [])
            if len(tickets) == 1 and self._launch.redeem(tickets[0]):
                if self._used is not None:
                    self._used()
                target = html.escape(self._launch.target(quote(scope["path"], safe="/~"), query))
                body = self._entering.replace("BASE", self._launch.base).replace("TARGET", target)
                cookie = self._launch.cookie(is_secure=self._is_secure(scope, host)).encode("latin-1")
                headers = [(b"set-cookie", cookie), *_common(self._policies[ENTERING])]
                await _respond(send, 200, "text/html", body.encode(), headers)
                return
        await _refuse(
            scope, receive, send, "text/html", self._refused, [*_common(self._policies[REFUSED]), _IS_REFUSED]
        )

    def _headers(self, scope: Scope, host: str) -> dict[bytes, bytes]:
        stream = f"{'wss' if self._is_secure(scope, host) else 'ws'}://{host}"
        policy = (
            "default-src 'none'; "
            f"script-src 'self'{self._scripts}; "
            "style-src 'self' 'unsafe-inline'; "
            "img-src 'self' data: blob:; font-src 'self' data:; media-src 'self' blob:; worker-src 'self' blob:; "
            f"connect-src 'self' {stream} data: blob:; "
            "manifest-src 'self'; base-uri 'self'; form-action 'self'; frame-src 'none'; object-src 'none'; "
            "frame-ancestors 'none'"
        )
        headers = dict(_common(policy))
        if scope["path"].startswith(f"{self._launch.base}/static/"):
            del headers[b"cache-control"]
        return headers


def _page_policy(page: Path) -> str:
    """Return a policy that allows only the styles and scripts inside the page itself."""
    scripts, styles = _sources(_INLINE_SCRIPT, page), _sources(_INLINE_STYLE, page) or " 'none'"
    return (
        f"default-src 'none'; script-src{scripts}; style-src{styles}; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


def _common(policy: str) -> list[tuple[bytes, bytes]]:
    return [
        (b"content-security-policy", policy.encode("latin-1")),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"DENY"),
        (b"referrer-policy", b"no-referrer"),
        (b"x-dns-prefetch-control", b"off"),  # no policy above keeps a browser from DNS look-ups
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
        (b"cache-control", b"no-store"),  # the browser's disk cache would hold readable pages
    ]


def _is_page(start: Message) -> bool:
    types = [value for name, value in start["headers"] if name.lower() == b"content-type"]
    packed = [value for name, value in start["headers"] if name.lower() == b"content-encoding"]
    return start["status"] == 200 and not packed and any(kind.startswith(b"text/html") for kind in types)


def _unpacked(scope: Scope) -> Scope:
    """Remove `Accept-Encoding` from a request whose answer is a page that the guard changes."""
    if scope["type"] != "http" or b"document" not in [
        value for name, value in scope["headers"] if name == b"sec-fetch-dest"
    ]:
        return scope
    return {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]}


_IS_REFUSED = (REFUSED_HEADER.encode(), b"1")


def _values(scope: Scope, header: bytes) -> list[str]:
    return [value.decode("latin-1") for name, value in scope["headers"] if name == header]


_ELSEWHERE = "DocMind serves only this computer: open it with the link that `docmind open` prints.\n"


async def _refuse(
    scope: Scope, receive: Receive, send: Send, kind: str, body: str, headers: list[tuple[bytes, bytes]]
) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": "not allowed"})
        return
    await _respond(send, 403, kind, body.encode(), headers)


async def _respond(send: Send, status: int, kind: str, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    about = [(b"content-type", f"{kind}; charset=utf-8".encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": about + headers})
    await send({"type": "http.response.body", "body": body})
