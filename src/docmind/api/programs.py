"""Access of programs to the interfaces of the app: who a request comes from, and what it may do.

Cookies never count, and web pages are kept out: a request with an `Origin`, or with a foreign `Host` (DNS rebinding),
is refused. So is one of another user of this machine, where the system tells it. Processes of the user come over a Unix
socket, where the system has told who they are before anything is read, and need no token. Over the port one bearer
token counts: a long-lived one of `docmind tokens`, or, where there is no such socket, that of this launch, which
processes of the user read from `app.json`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from docmind.access import KnownTokens, Launch, is_api_token, is_of_another_user, matching
from docmind.errors import DocMindError, KeyUnavailableError, NotPermittedError
from docmind.records.access import ApiToken
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.application import DocMind

PERMIT = "docmind.permit"
"""The key of an ASGI scope under which the `Permit` of its request lies."""

PRIVATE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
"""The headers of every answer to a program."""


@dataclass(frozen=True, slots=True)
class Permit:
    """What a request may do.

    `launch` is a process of the user that reached the Unix socket or can read `app.json`: it may do everything, tokens
    included. `full` is everything but tokens, `read` only what reads and searches.
    """

    scope: Literal["launch", "full", "read"]
    name: str = ""

    @property
    def may_write(self) -> bool:
        """Whether documents, conversations and memories may be changed."""
        return self.scope != "read"

    def check_writing(self) -> None:
        """Raise `NotPermittedError` where only reading is allowed."""
        if not self.may_write:
            raise NotPermittedError(_("The token {name} may only read and search.").format(name=self.name))


OWN = Permit("launch")
"""The permit of a process of the user."""


class Programs:
    """Checks requests of programs. Thread-safe."""

    def __init__(self, launch: Launch, vault: Callable[[], DocMind], *, is_private: bool = False) -> None:
        """`vault` returns the open library; it is called in a thread, for each request with a long-lived token.

        `is_private` says that connections of other users are ended before a request of theirs is read.
        """
        self._launch, self._vault, self._is_private = launch, vault, is_private
        # A reverse proxy runs as another user, and has asked who somebody is.
        is_told = os.name == "posix" and launch.origin is None and not is_private
        self._own_uid = os.getuid() if is_told else None
        self._known = KnownTokens()  # as they were when the library was last open

    async def admit(self, scope: Scope) -> Permit | Response:
        """Return what an HTTP request may do, or the answer that refuses it."""
        request = Request(scope)
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or not self._launch.is_here(hosts[0]) or "origin" in request.headers:
            return Response(status_code=403)
        if self._own_uid is not None and await run_in_threadpool(is_of_another_user, scope, self._own_uid):
            told = {
                "kind": NotPermittedError.__name__,
                "message": _("Programs of other users of this computer are not answered."),
                "hint": "See docs/api.md.",
                "exit_code": NotPermittedError.exit_code,
            }
            return JSONResponse({"error": told}, 403, headers=PRIVATE)
        given = request.headers.getlist("authorization")
        if (self._is_private and not given) or self._launch.admits_program(given):
            return OWN
        kind, _sep, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        if kind == "Bearer" and is_api_token(secret):
            try:
                token = await run_in_threadpool(self._token, secret)
            except KeyUnavailableError as error:  # nobody is told more, until the token can be checked
                told = {
                    "kind": type(error).__name__,
                    "message": _("The library isn't open, so the token can't be checked."),
                    "hint": "",
                }
                return JSONResponse({"error": {**told, "exit_code": error.exit_code}}, 423, headers=PRIVATE)
            if token is not None:
                return Permit(token.scope, token.name)
        return Response(status_code=401, headers={"www-authenticate": "Bearer"})

    def _token(self, secret: str) -> ApiToken | None:
        """Return the token with this secret.

        Where the library cannot be opened now, a token that was known when it last was is still recognised, so that its
        program is told why. Raises `KeyUnavailableError` for any other.
        """
        try:
            tokens = self._vault().tokens
            self._known = tokens.known()
        except DocMindError as error:
            if (known := matching(secret, self._known)) is not None:
                return known
            raise KeyUnavailableError(str(error)) from error
        found = matching(secret, self._known)
        if found is not None:
            tokens.used(found)
        return found
