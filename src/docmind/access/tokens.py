"""Long-lived tokens of programs: made once, kept as hashes in `vault.db`, revoked by name."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Mapping

from docmind.errors import ConfigError, NotFoundError, VaultError
from docmind.records.access import ApiToken, NewApiToken, TokenScope
from docmind.storage import Database, Row
from docmind.wording import _

PREFIX = "docmind_"
"""What every such token begins with, so that it is recognised where it was left by mistake."""

_FORM = re.compile(PREFIX + r"[A-Za-z0-9_-]{43}")
_LONGEST_NAME, _MOST = 64, 100
_USED_MS = 60_000  # the time of the last use is written this often, not with every request
_COLUMNS = "token_id, name, scope, created_at_ms, used_at_ms"


def is_api_token(text: str) -> bool:
    """Tell whether this has the form of a long-lived token: `docmind_` and 43 URL-safe characters."""
    return _FORM.fullmatch(text) is not None


def token_hash(secret: str) -> bytes:
    """Return the SHA-256 under which a token is kept.

    A token has 256 random bits, so that no slower hash makes it harder to find.
    """
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


class KnownTokens:
    """The tokens of a library by the hash of their secret, in memory; nothing else of the library is held.

    Whoever keeps them while the library is closed knows them as they were when it was last open: one that was revoked
    is gone, also where nobody has asked for them since.
    """

    def __init__(self) -> None:
        self.by_hash: Mapping[bytes, ApiToken] = {}


class ApiTokens:
    """The `api_tokens` table. Thread-safe as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db, self._known = database, KnownTokens()

    def new(self, name: str, scope: TokenScope = "read") -> NewApiToken:
        """Make a token for a program; its secret is returned here and never again.

        Raises `ConfigError` for a name that is empty, too long or in use, and above 100 tokens.
        """
        name = " ".join(name.split())
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise ConfigError(
                _("A token needs a name of 1 to {n} characters.").format(n=_LONGEST_NAME),
                hint=_("Name it after the program that uses it."),
            )
        if scope not in ("read", "full"):
            raise ConfigError(
                _("There is no scope {scope!r}.").format(scope=scope), hint=_("A token's scope is read or full.")
            )
        secret = PREFIX + secrets.token_urlsafe(32)
        with self._db.transaction() as db:
            known = {row[0].casefold() for row in db.execute("SELECT name FROM api_tokens")}
            if name.casefold() in known:
                raise ConfigError(
                    _("There is a token called {name} already.").format(name=name),
                    hint=_("Choose another name, or revoke that one first."),
                )
            if len(known) >= _MOST:
                raise ConfigError(
                    _("There are {n} tokens already.").format(n=len(known)), hint=_("Revoke those not needed any more.")
                )
            made = db.execute(
                "INSERT INTO api_tokens (name, hash, scope, created_at_ms) VALUES (?, ?, ?, ?)",
                (name, token_hash(secret), scope, _now_ms()),
            )
            row = db.execute(f"SELECT {_COLUMNS} FROM api_tokens WHERE token_id = ?", (made.lastrowid,)).fetchone()
        return NewApiToken(_token(row), secret)

    def list(self) -> tuple[ApiToken, ...]:
        """Return all tokens, the oldest first, without their secrets."""
        return tuple(_token(row) for row in self._db.all(f"SELECT {_COLUMNS} FROM api_tokens ORDER BY token_id"))

    def revoke(self, name: str) -> ApiToken:
        """Delete the token of this name; it opens nothing from then on. Raises `NotFoundError`."""
        wanted = " ".join(name.split()).casefold()
        found = next((token for token in self.list() if token.name.casefold() == wanted), None)
        if found is None:
            raise NotFoundError(
                _("There is no token called {name!r}.").format(name=name[:_LONGEST_NAME]),
                hint=_("`docmind tokens list` shows the tokens."),
            )
        with self._db.transaction() as db:
            db.execute("DELETE FROM api_tokens WHERE token_id = ?", (found.token_id,))
        self.known()
        return found

    def known(self) -> KnownTokens:
        """Read all tokens and return them: the same object each time."""
        rows = self._db.all(f"SELECT {_COLUMNS}, hash FROM api_tokens ORDER BY token_id")
        self._known.by_hash = {bytes(row[-1]): _token(row[:-1]) for row in rows}
        return self._known

    def used(self, token: ApiToken) -> None:
        """Note that a token was used now; written once a minute at most, and not in a library that is read-only."""
        now = _now_ms()
        if self._db.is_read_only or (token.used_at_ms is not None and 0 <= now - token.used_at_ms < _USED_MS):
            return
        with contextlib.suppress(VaultError), self._db.transaction() as db:  # a full disk refuses no reader
            db.execute("UPDATE api_tokens SET used_at_ms = ? WHERE token_id = ?", (now, token.token_id))


def matching(secret: str, known: KnownTokens) -> ApiToken | None:
    """Return the token with this secret; every hash is compared, each in constant time."""
    wanted, found = token_hash(secret), None
    for by_hash, token in known.by_hash.items():
        if hmac.compare_digest(by_hash, wanted):
            found = token
    return found


def _token(row: Row) -> ApiToken:
    return ApiToken(*row)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
