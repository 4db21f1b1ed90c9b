"""The secrets of one start of the app, its one-time tickets, and its proof that it is no other server on its port.

A ticket is `nonce (16) ‖ expiry (8, seconds, big-endian) ‖ HMAC-SHA256 (32)` under the secret of one launch, in
URL-safe base64 without padding. A process with the secret can make one without asking the app.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import struct
import threading
import time
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

TICKET = "ticket"  # the query parameter that carries it
TICKET_S = 600  # how long a ticket can be used: time enough to copy a printed link into a browser
NONCE_HEADER = "docmind-nonce"
PROOF_HEADER = "docmind-proof"
LOOPBACK = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE)
"""Values of the Host header that name this machine."""
_NONCE, _HEAD, _TAG = 16, 24, 32
_LONGEST_NONCE = 128


def mint_ticket(secret: bytes, lifetime_s: float = TICKET_S) -> str:
    """Make a ticket that can be used once within `lifetime_s` seconds: 75 URL-safe characters."""
    head = secrets.token_bytes(_NONCE) + struct.pack(">Q", int(time.time() + lifetime_s))
    return base64.urlsafe_b64encode(head + _tag(secret, b"DocMind ticket", head)).decode().rstrip("=")


def prove(secret: bytes, nonce: str) -> str:
    """Return the hexadecimal proof for a nonce, which needs the secret.

    A nonce is cut after 128 characters.
    """
    return _tag(secret, b"DocMind proof", nonce[:_LONGEST_NONCE].encode("utf-8", "replace")).hex()


def api_token(secret: bytes) -> str:
    """Return the bearer token of programs: 64 hexadecimal digits, good as long as this launch."""
    return _tag(secret, b"DocMind API", b"").hex()


class Tickets:
    """The check of tickets, which remembers used ones until they expire. Thread-safe."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._lock = threading.Lock()
        self._used: dict[bytes, int] = {}  # nonce: expiry; only tickets with a right HMAC get here

    def redeem(self, ticket: str) -> bool:
        """Return whether this ticket is genuine, not expired and not used before; it becomes used."""
        try:
            raw = base64.urlsafe_b64decode(ticket + "=" * (-len(ticket) % 4))
        except (binascii.Error, ValueError):
            return False
        head, tag = raw[:_HEAD], raw[_HEAD:]
        if len(raw) != _HEAD + _TAG or not hmac.compare_digest(tag, _tag(self._secret, b"DocMind ticket", head)):
            return False
        nonce, (expiry,) = head[:_NONCE], struct.unpack(">Q", head[_NONCE:])
        now = time.time()
        with self._lock:
            self._used = {used: until for used, until in self._used.items() if until >= now}
            if expiry < now or nonce in self._used:
                return False
            self._used[nonce] = expiry
        return True


def _tag(secret: bytes, purpose: bytes, message: bytes) -> bytes:
    return hmac.digest(secret, purpose + b"\0" + message, hashlib.sha256)


COOKIE = "docmind"
LAUNCH_ID = re.compile(r"[0-9a-f]{32}")


class Launch:
    """One start of the app: its secret, its session cookie and the path below which everything is served.

    Browsers store cookies by host and path but not by port: a cookie for `/` would be sent to every server on this
    machine. So the cookie has a path that only this launch and its browser know. Thread-safe: only `place` and
    `serve_privately` change anything, and they are called before the first request.
    """

    def __init__(self, *, is_token_required: bool = True, origin: str | None = None) -> None:
        """Make the secrets; `origin` is where a reverse proxy serves the app (`https://desk.example`)."""
        self.secret = secrets.token_bytes(32)
        self.is_token_required, self.origin = is_token_required, origin
        self.prefix = ""
        self._is_private = False
        self._session = secrets.token_urlsafe(32)
        self._launch_id = secrets.token_hex(16)
        self._tickets = Tickets(self.secret)

    def place(self, prefix: str) -> None:
        """Serve below this path (`docs/desk`; empty: at the root of the address)."""
        self.prefix = "/" + prefix.strip("/") if prefix.strip("/") else ""

    def serve_privately(self) -> None:
        """Refuse the token of this launch over the port: programs of the user have a Unix socket."""
        self._is_private = True

    @property
    def base(self) -> str:
        """The path of the app without a slash at its end: the prefix and, with a token, the launch's name."""
        return f"{self.prefix}/{self._launch_id}" if self.is_token_required else self.prefix

    def link(self, address: str) -> str:
        """Return a link that opens the app once; `address` is scheme, host and port."""
        path = f"{address}{self.prefix}/"
        return f"{path}?{TICKET}={mint_ticket(self.secret)}" if self.is_token_required else path

    def is_here(self, host: str) -> bool:
        """Return whether this Host header names this machine, or the reverse proxy of the app.

        A page elsewhere that points its own name at this machine has another one.
        """
        return bool(LOOPBACK.fullmatch(host)) or (
            self.origin is not None and host.lower() == urlsplit(self.origin).netloc
        )

    def admits_program(self, authorizations: Sequence[str]) -> bool:
        """Return whether the `Authorization` headers are the one bearer token of this launch; cookies do not count.

        After `serve_privately` nothing is.
        """
        wanted = f"Bearer {api_token(self.secret)}".encode()
        given = authorizations[0].encode() if len(authorizations) == 1 else b""
        return hmac.compare_digest(given, wanted) and not self._is_private

    def redeem(self, ticket: str) -> bool:
        """Return whether this ticket opens the app; each ticket does so once."""
        return self._tickets.redeem(ticket)

    def admits(self, cookie_headers: Iterable[str]) -> bool:
        """Return whether these `Cookie` headers hold the session of this launch, or none is required.

        Every cookie of the name is tried, because another server of this host could have set one too.
        """
        if not self.is_token_required:
            return True
        values = [
            value.strip()
            for header in cookie_headers
            for name, _, value in (pair.partition("=") for pair in header.split(";"))
            if name.strip() == COOKIE
        ]
        return any(hmac.compare_digest(value.encode(), self._session.encode()) for value in values)

    def cookie(self, *, is_secure: bool) -> str:
        """Return the `Set-Cookie` header for a browser that presented a ticket."""
        secure = "; Secure" if is_secure else ""
        return f"{COOKIE}={self._session}; Path={self.base}; HttpOnly; SameSite=Strict{secure}"

    def target(self, path: str, query: str) -> str:
        """Return the redirect target of a request: below this launch's path, with the query except the ticket.

        A path of an earlier launch leads to the same page of this one. `path` and `query` are as written in a URL.
        """
        rest = path.removeprefix(self.prefix).lstrip("/") if path.startswith(self.prefix + "/") else ""
        first, _, after = rest.partition("/")
        if LAUNCH_ID.fullmatch(first):
            rest = after.lstrip("/")
        kept = "&".join(part for part in query.split("&") if part and part.partition("=")[0] != TICKET)
        return f"{self.base}/{rest}" + (f"?{kept}" if kept else "")
