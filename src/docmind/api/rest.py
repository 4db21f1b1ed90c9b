"""REST below `/api/v1` of the app's own server, for programs of its user.

Each request is checked by `docmind.api.programs`. The routes are those of `docmind.client.CALLS`, with uploads, the
events of a run, and the OpenAPI document.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from docmind.access import Launch
from docmind.api.outgoing import outgoing
from docmind.api.programs import PERMIT, PRIVATE, Permit, Programs
from docmind.errors import (
    ConfigError,
    DiskFullError,
    DocMindError,
    KeyUnavailableError,
    NotFoundError,
    NotPermittedError,
    ReadingError,
    TooLargeError,
    WrongKeyError,
)
from docmind.rich_text import file_name
from docmind.wording import _, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Call
    from docmind.records.conversations import RunProgress

_LARGEST_JSON = 1 << 20
_NEWS_S = 5.0  # a stream without news sends a comment so often, which ends it where nobody listens
_STATUS: tuple[tuple[type[DocMindError], int], ...] = (
    (NotFoundError, 404), (ConfigError, 400), (TooLargeError, 413), (ReadingError, 422), (DiskFullError, 507),
    (KeyUnavailableError, 423), (WrongKeyError, 423), (NotPermittedError, 403),
)  # fmt: skip


class Rest:
    """ASGI middleware that answers what lies below `/api/v1/`; it belongs outside the guard of browsers."""

    def __init__(self, app: ASGIApp, launch: Launch, programs: Programs, vault: Callable[[], DocMind]) -> None:
        """Answer with the vault that `vault` returns; it is called in a thread, for each request."""
        self._app, self._launch, self._programs, self._vault = app, launch, programs, vault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        base = f"{self._launch.prefix}/api/v1"
        if scope["type"] != "http" or not scope["path"].startswith(f"{base}/"):
            await self._app(scope, receive, send)
            return
        permit = await self._programs.admit(scope)
        ours = {**scope, "path": scope["path"].removeprefix(base), "root_path": "", PERMIT: permit}
        ours.pop("app", None)  # with it, the router would raise for an address that it does not know
        answer: ASGIApp = self._router if isinstance(permit, Permit) else permit
        await answer(ours, receive, send)

    @cached_property
    def _router(self) -> Router:
        from docmind.api.openapi import document
        from docmind.client import CALLS

        async def openapi(_: Request) -> Response:
            return JSONResponse(document(), headers=PRIVATE)

        return Router(
            [
                Route("/openapi.json", openapi),
                Route("/uploads", self._guarded(self._upload, is_writing=True), methods=["POST"]),
                Route("/uploads/web", self._guarded(self._web_page, is_writing=True), methods=["POST"]),
                Route("/runs/{run_id}/events", self._guarded(self._events)),
                *(
                    Route(
                        call.path,
                        self._guarded(self._called(call), is_writing=not call.is_reading),
                        methods=[call.verb],
                    )
                    for call in CALLS
                ),
            ]
        )

    def _guarded(self, answer: Callable[[Request], Any], *, is_writing: bool = False) -> Callable[[Request], Any]:
        """Return an endpoint that answers a `DocMindError` as JSON; `is_writing` needs more than a reading token."""

        async def endpoint(request: Request) -> Response:
            try:
                if is_writing:
                    request.scope[PERMIT].check_writing()
                return await answer(request)
            except DocMindError as error:
                status = next((code for kind, code in _STATUS if isinstance(error, kind)), 409)
                told = {
                    "kind": type(error).__name__,
                    "message": str(error),
                    "hint": error.hint,
                    "exit_code": error.exit_code,
                }
                return JSONResponse({"error": told}, status, headers=PRIVATE)

        return endpoint

    def _called(self, call: Call) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            from docmind.client import encode

            body = await self._body(request, is_file=call.body is not None)
            values = _values(call, request, body)

            permit: Permit = request.scope[PERMIT]

            def work() -> Any:
                vault = self._vault()
                _check(permit, call, values, vault)
                found = attrgetter(call.method or call.name)(vault)
                if call.params is None:
                    return found
                first = next((name for name in values if name.startswith("*")), "")
                return found(*values.pop(first, ()), **values)

            outcome = await run_in_threadpool(work)
            if call.result is bytes:
                return _file(call, values, outcome)
            if call.result is None:
                return Response(status_code=204, headers=PRIVATE)
            return JSONResponse(encode(call.result, outgoing(outcome)), headers=PRIVATE)

        return answer

    async def _body(self, request: Request, *, is_file: bool) -> bytes:
        """Read the body piece by piece, and stop where it is larger than a file or a JSON object may be."""
        most = _LARGEST_JSON
        if is_file:
            most = (await run_in_threadpool(self._vault)).settings.now.reading.max_file_mb << 20
        body = bytearray()  # one block: thousands of pieces would leave memory in use after they are gone
        async for part in request.stream():
            if len(body) + len(part) > most:
                raise TooLargeError(_("The request has more than {limit} bytes.").format(limit=number_text(most)))
            body += part
        return bytes(body)

    async def _upload(self, request: Request) -> Response:
        """Queue the file that is the body; `name` is shown and never opened."""
        from docmind.client import decode
        from docmind.records.documents import Upload
        from docmind.records.values import FileName, Tags

        name = decode(FileName, request.query_params.get("name", ""), "name")
        if not name.strip():
            raise ConfigError(_("The file has no name."), hint="See docs/api.md.")
        tags = decode(Tags, _parsed(request.query_params.get("tags", "[]"), "tags"), "tags")
        replaces = decode(bool, _parsed(request.query_params.get("replace", "false"), "replace"), "replace")
        data = await self._body(request, is_file=True)
        return await self._queued(lambda vault: vault.queue.hand_in(Upload(name, data, tags=tags, replaces=replaces)))

    async def _web_page(self, request: Request) -> Response:
        """Fetch a web page, where the settings allow it, and queue it."""
        from docmind.client import decode
        from docmind.records.values import Address, Tags

        told = _parsed(await self._body(request, is_file=False), "body")
        if not isinstance(told, dict) or told.keys() - {"address", "tags", "replace"}:
            raise ConfigError(_("A web page is named by its address, tags and replace."), hint="See docs/api.md.")
        address = decode(Address, told.get("address"), "address")
        tags = decode(Tags, told.get("tags", []), "tags")
        replaces = decode(bool, told.get("replace", False), "replace")
        return await self._queued(lambda vault: vault.web_pages.hand_in(address, tags=tags, replaces=replaces))

    async def _queued(self, hand_in: Callable[[DocMind], Any]) -> Response:
        from docmind.client import encode
        from docmind.records.documents import HandedIn

        def work() -> dict[str, Any]:
            return encode(HandedIn, hand_in(self._vault()))

        return JSONResponse(await run_in_threadpool(work), 202, headers=PRIVATE)

    async def _events(self, request: Request) -> Response:
        """Stream the progress of a run as server-sent events, until it is over."""
        from docmind.client import encode
        from docmind.records.conversations import RunProgress

        run_id = request.path_params["run_id"]
        first = await run_in_threadpool(lambda: self._vault().conversations.run(run_id))

        async def events() -> AsyncIterator[str]:
            now = first
            yield f"data: {json.dumps(encode(RunProgress, outgoing(now)))}\n\n"
            while not now.is_over:
                then, now = now, await run_in_threadpool(_news, self._vault, run_id, now)
                is_new = _told(now) != _told(then)
                yield f"data: {json.dumps(encode(RunProgress, outgoing(now)))}\n\n" if is_new else ": no news\n\n"

        return StreamingResponse(events(), media_type="text/event-stream", headers=PRIVATE)


def _told(now: RunProgress) -> tuple[Any, ...]:
    """Return what an event of a run tells; the first that has the turn has its quotes."""
    return now.text, now.stage, now.state, now.pages, now.turn is None


def _check(permit: Permit, call: Call, values: dict[str, Any], vault: DocMind) -> None:
    """Raise `NotPermittedError` for what the table alone does not tell: tokens, and questions that store a memory."""
    if call.name.startswith("tokens.") and permit.scope != "launch":
        raise NotPermittedError(
            _("A token can't manage tokens."), hint=_("Use `docmind tokens`, or Settings of the app.")
        )
    if call.name == "ask" and vault.memories.requested(values["query"].question):
        permit.check_writing()


def _news(vault: Callable[[], DocMind], run_id: str, since: Any) -> Any:
    return vault().conversations.wait(run_id, _NEWS_S, since=since)


def _parsed(raw: str | bytes, name: str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ConfigError(_("{name} isn't JSON.").format(name=name), hint="See docs/api.md.") from error


def _values(call: Call, request: Request, body: bytes) -> dict[str, Any]:
    """Return the arguments of a call by name, decoded. Raises `ConfigError`."""
    from docmind.client import decode, is_text
    from docmind.records.query import Query, fields_for

    params = call.given
    texts: dict[str, str] = dict(request.path_params)
    values: dict[str, Any] = {}
    if call.in_query:
        texts = dict(request.query_params) | texts
    else:
        told = _parsed(body or b"{}", "body")
        if not isinstance(told, dict):
            raise ConfigError(_("The body isn't an object."), hint="See docs/api.md.")
        values = dict(told)
    names = {name.lstrip("*"): name for name in params}
    known = [name for name in names if name != call.body]
    if unknown := sorted((texts.keys() | values.keys()) - set(known)):
        raise ConfigError(_("There is no parameter {name!r}.").format(name=unknown[0][:100]), hint=_expected(known))
    for name, text in texts.items():
        declared = params[names[name]]
        values[name] = text if is_text(declared) else _parsed(text, name)
    found = {names[name]: decode(params[names[name]], value, name) for name, value in values.items()}
    if call.body is not None:
        found[call.body] = body
    needed = set(call.required)
    if missing := sorted(needed - found.keys()):
        raise ConfigError(_("The parameter {name} is missing.").format(name=missing[0]), hint=_expected(known))
    if call.asks is not None:
        asked = {one.name for one in fields_for(call.asks)}
        found = {name: value for name, value in found.items() if name not in asked} | {
            "query": Query(**{name: value for name, value in found.items() if name in asked})
        }
    return found


def _expected(names: Collection[str]) -> str:
    return _("Expected: {names}.").format(names=", ".join(names) or "–")


def _file(call: Call, values: dict[str, Any], data: bytes) -> Response:
    from docmind.client import IMAGES

    if call.name in IMAGES:
        return Response(data, media_type="image/webp", headers=PRIVATE)
    safe = quote(file_name(str(values.get("doc_id", ""))), safe="")
    headers = {**PRIVATE, "content-disposition": f"attachment; filename*=UTF-8''{safe}"}
    return Response(data, media_type="application/octet-stream", headers=headers)
