"""The library over the Model Context Protocol, with the official SDK: on standard input and output, and below `/mcp`.

Importing the SDK takes most of a second: nothing loads this module before the first request, or `docmind mcp`. It is
configured to send nothing anywhere; its tracing is taken out.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, get_args

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.types import Receive, Scope, Send

from docmind import __version__
from docmind.api.mcp_tools import INSTRUCTIONS, MOST_CHARS, TOOLS, UNTRUSTED, Context, Outcome, Tool
from docmind.api.on_demand import OnDemand
from docmind.api.openapi import schema_of
from docmind.api.outgoing import outgoing
from docmind.api.programs import OWN, PERMIT, Permit
from docmind.client import decode, encode, hints_of, needed_of
from docmind.config import Settings
from docmind.errors import CancelledError, DocMindError, NotFoundError
from docmind.ingest import own_places
from docmind.records.conversations import RunProgress
from docmind.records.documents import DocumentInfo
from docmind.runtime import log_mistake
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client

    Library = DocMind | Client

LARGEST_REQUEST = 16 << 20
"""Bytes of one request over HTTP: a picture of 10 MiB as base64, and some."""

_LISTED = 100  # resources on one page of a list
_DOCUMENT = re.compile(r"docmind://document/([A-Za-z0-9_.-]{1,128})")
_PAGE = re.compile(r"docmind://page/([A-Za-z0-9_.-]{1,128})/(\d{1,7})(/image)?")
_FIGURE = re.compile(r"docmind://figure/([A-Za-z0-9_.-]{1,128})/(\d{1,7})/(\d{1,4})")
_Reach = Callable[[], AbstractContextManager["Library"]]


def server(
    reach: _Reach, settings: Callable[[Library], Settings], permit: Callable[[Any], Permit] | None = None
) -> Server[Any]:
    """Return an MCP server over the library that `reach` yields for each call, in a thread.

    `settings` returns those that name the folders which `ingest` may read. `permit` returns what an HTTP request may
    do, or what a call may do that came by none; where it is left out, all are allowed everything.
    """
    serving = _Serving(reach, settings, permit or (lambda _request: OWN))
    made: Server[Any] = Server(
        "docmind",
        title="DocMind",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=serving.list_tools,
        on_call_tool=serving.call_tool,
        on_list_resources=serving.list_resources,
        on_list_resource_templates=serving.list_templates,
        on_read_resource=serving.read_resource,
    )
    made.middleware.clear()  # of OpenTelemetry
    return made


def serve_stdio(settings: Settings) -> None:
    """Serve one client over standard input and output, until it closes them.

    While serving, all other output of this process goes to standard error. Ctrl-C and SIGTERM close the library, and
    end the process with the exit code 130.
    """
    on_demand = OnDemand(settings)

    async def serve() -> None:
        made = server(on_demand.library, lambda _library: settings)
        async with stdio_server() as (incoming, outgoing):
            await made.run(incoming, outgoing, made.create_initialization_options())

    handler = _ending(on_demand)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)
    try:
        anyio.run(serve)
    finally:
        on_demand.close()


def _ending(on_demand: OnDemand) -> Callable[[int, Any], None]:
    """Return a handler of signals that closes the library and ends the process; a second signal ends it at once.

    No exception would do it: the thread that reads standard input cannot be interrupted, and is waited for.
    """
    is_ending = threading.Event()

    def close() -> None:
        on_demand.close()
        os._exit(CancelledError.exit_code)

    def end(_number: int, _frame: Any) -> None:
        if is_ending.is_set():
            os._exit(CancelledError.exit_code)
        is_ending.set()
        threading.Thread(target=close, name="end").start()

    return end


class HttpServer:
    """The MCP server of the app, for requests that were admitted already: their scope has a `Permit`.

    Each request stands alone: no session is kept, so a program goes on after the app was started again.
    """

    def __init__(self, vault: Callable[[], DocMind]) -> None:
        """`vault` returns the open library; it is called in a thread, for each call."""

        @contextlib.contextmanager
        def reach() -> Any:
            yield vault()

        made = server(reach, lambda library: library.settings.now, lambda request: request.scope[PERMIT])
        self._manager = StreamableHTTPSessionManager(
            made, stateless=True, json_response=True, max_request_body_size=LARGEST_REQUEST
        )
        self._is_ready, self._is_over = asyncio.Event(), asyncio.Event()
        self._task = asyncio.create_task(self._serve())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._is_ready.wait()
        await self._manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """End all requests. Idempotent."""
        self._is_over.set()
        await self._task

    async def _serve(self) -> None:
        async with self._manager.run():
            self._is_ready.set()
            await self._is_over.wait()


class _Serving:
    """The handlers of the server: each calls the facade in a thread."""

    def __init__(self, reach: _Reach, settings: Callable[[Library], Settings], permit: Callable[[Any], Permit]) -> None:
        self._reach, self._settings, self._permit = reach, settings, permit
        self._tools = {tool.name: tool for tool in TOOLS}
        self._listed = [_listed(tool) for tool in TOOLS]

    async def list_tools(self, _ctx: ServerRequestContext[Any, Any], _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._listed)

    async def call_tool(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Call a tool; what is foreseen to go wrong is a result that says so, never an error of the protocol."""
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, _("There is no tool {name!r}.").format(name=params.name[:100]))
        running, stopped = list[str](), threading.Event()

        def note(now: RunProgress) -> None:
            running[:] = [now.run_id]

        def work() -> Outcome:
            request = decode(tool.takes, params.arguments or {}, "arguments")
            with self._reach() as library:
                settings = self._settings(library)
                folders, permit = settings.mcp.allowed(), self._permit(ctx.request)
                return tool.work(library, request, Context(permit, folders, own_places(settings), note, stopped.is_set))

        try:
            outcome = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except DocMindError as error:
            return _failed(f"{error} {error.hint}".strip())
        except anyio.get_cancelled_exc_class():
            stopped.set()
            if running:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(self._stop, running[0])
            raise
        except Exception as error:  # noqa: BLE001 - a bug: the assistant is told, and the server goes on
            log_mistake("docmind.mcp", "a tool failed", error)
            return _failed(_("This is a mistake in DocMind ({kind}).").format(kind=type(error).__name__))
        return _told(tool, outcome)

    def _stop(self, run_id: str) -> None:
        with contextlib.suppress(DocMindError), self._reach() as library:
            library.conversations.stop(run_id)

    async def list_resources(
        self, _ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List the documents, the newest first; empty while the library cannot be opened."""
        cursor = params.cursor if params is not None and params.cursor is not None else "0"
        first = int(cursor) if cursor.isdecimal() and len(cursor) < 10 else 0

        def work() -> tuple[DocumentInfo, ...]:
            with contextlib.suppress(DocMindError), self._reach() as library:
                return library.documents.all()
            return ()

        there = await anyio.to_thread.run_sync(work)
        shown = there[first : first + _LISTED]
        more = str(first + _LISTED) if first + _LISTED < len(there) else None
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=f"docmind://document/{info.doc_id}", name=info.document, title=info.shown_title or None,
                    mime_type="application/json", description=f"{info.kind}, pages: {info.pages}",
                )
                for info in shown
            ],
            next_cursor=more,
        )  # fmt: skip

    async def list_templates(self, _ctx: ServerRequestContext[Any, Any], _params: Any) -> Any:
        return types.ListResourceTemplatesResult(resource_templates=_TEMPLATES)

    async def read_resource(
        self, _ctx: ServerRequestContext[Any, Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read facts of a document, a page's text or image, or a figure. An unknown address is a protocol error."""
        uri = str(params.uri)

        def work() -> types.TextResourceContents | types.BlobResourceContents:
            with self._reach() as library:
                if found := _DOCUMENT.fullmatch(uri):
                    text = json.dumps(encode(DocumentInfo, library.documents.get(found[1])), ensure_ascii=False)
                    return types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
                if found := _PAGE.fullmatch(uri):
                    if found[3]:
                        image = base64.b64encode(library.documents.page_image(found[1], int(found[2]))).decode()
                        return types.BlobResourceContents(uri=uri, mime_type="image/webp", blob=image)
                    text = library.documents.page(found[1], int(found[2])).text[:MOST_CHARS]
                    return types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
                if found := _FIGURE.fullmatch(uri):
                    picture = library.documents.figure_image(found[1], int(found[2]), int(found[3]))
                    blob = base64.b64encode(picture).decode()
                    return types.BlobResourceContents(uri=uri, mime_type="image/webp", blob=blob)
                raise NotFoundError(_("There is no resource {uri}.").format(uri=uri[:200]), hint="See docs/mcp.md.")

        try:
            return types.ReadResourceResult(contents=[await anyio.to_thread.run_sync(work)])
        except DocMindError as error:
            raise MCPError(types.INVALID_PARAMS, f"{error} {error.hint}".strip()) from error


_TEMPLATES = [
    types.ResourceTemplate(
        uri_template="docmind://document/{doc_id}", name="document", mime_type="application/json",
        description="What is known of a document: name, title, pages, language, tags.",
    ),
    types.ResourceTemplate(
        uri_template="docmind://page/{doc_id}/{page_no}", name="page", mime_type="text/plain",
        description="The text of a page. " + UNTRUSTED,
    ),
    types.ResourceTemplate(
        uri_template="docmind://page/{doc_id}/{page_no}/image", name="page image", mime_type="image/webp",
        description="The image of a page.",
    ),
    types.ResourceTemplate(
        uri_template="docmind://figure/{doc_id}/{page_no}/{number}", name="figure", mime_type="image/webp",
        description="A figure of a page, by its number there: what `get_page` lists, and `figure` of a search result.",
    ),
]  # fmt: skip


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=schema_at_root(tool.takes, is_request=True),
        output_schema=schema_at_root(tool.returns),
        annotations=types.ToolAnnotations(
            title=tool.title, read_only_hint=tool.is_reading, destructive_hint=False, idempotent_hint=tool.is_reading,
            open_world_hint=False,
        ),
    )  # fmt: skip


def schema_at_root(record: type, *, is_request: bool = False) -> dict[str, Any]:
    """Return the JSON schema of a record, with those of the records in it under `$defs`.

    Of a request only the fields without a default are required, and no others are allowed.
    """
    schemas: dict[str, Any] = {}
    schema_of(record, schemas, "#/$defs")
    is_in_itself = any(record in get_args(hint) for hint in hints_of(record).values())
    made = dict(schemas[record.__name__]) if is_in_itself else schemas.pop(record.__name__)
    if is_request:
        needed = [name for name in made["properties"] if name in needed_of(record)]
        made = {**made, "additionalProperties": False}
        made.pop("required")
        made |= {"required": needed} if needed else {}
    return made | ({"$defs": schemas} if schemas else {})


def _told(tool: Tool, outcome: Outcome) -> types.CallToolResult:
    """Return an outcome as the protocol has it: the record as JSON and as text, then images and files."""
    made = encode(tool.returns, outgoing(outcome.record))
    content: list[Any] = [
        types.TextContent(text=json.dumps(made, ensure_ascii=False)),
        types.TextContent(text=UNTRUSTED),
    ]
    content += [
        types.ImageContent(data=base64.b64encode(picture.data).decode(), mime_type=picture.media_type)
        for picture in outcome.pictures
    ]
    content += [
        types.EmbeddedResource(
            resource=types.BlobResourceContents(
                uri=file.uri, mime_type=file.media_type, blob=base64.b64encode(file.data).decode()
            )
        )
        for file in outcome.files
    ]
    return types.CallToolResult(content=content, structured_content=made)


def _failed(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=sentence)], is_error=True)
