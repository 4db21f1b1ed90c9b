"""Addresses of the app beside Streamlit's own: what the scripts of a page ask for while it is shown.

They lie below `/-/` of the path that this start is served at, behind `guard`, and answer without a run of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from docmind.access import Launch
from docmind.errors import DocMindError, NotFoundError
from docmind.rich_text import file_name
from docmind.ui.app.app_state import app_state
from docmind.ui.app.errors import attempt

if TYPE_CHECKING:
    from docmind.application import DocMind

FOLDER = "/-"
Answer = Callable[["DocMind", Request], Response]


class Routes:
    """ASGI middleware that answers what lies below `/-/`; it belongs inside `Guard`."""

    def __init__(self, app: ASGIApp, launch: Launch, routes: Sequence[Route]) -> None:
        self._app, self._launch, self._router = app, launch, Router(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        base = self._launch.base + FOLDER
        if scope["type"] == "http" and scope["path"].startswith(f"{base}/"):
            ours = {**scope, "path": scope["path"].removeprefix(base), "root_path": ""}
            ours.pop("app", None)  # with it, the router would raise for an address that it does not know
            await self._router(ours, receive, send)
        else:
            await self._app(scope, receive, send)


def route(path: str, answer: Answer, method: str = "GET") -> Route:
    """Return the route of `path`, answered by `answer` in a thread, with the open vault.

    `request.state.body` has the bytes of the request. An error is a JSON object with `error` and `hint`, status 404
    where something is not there, otherwise 409.
    """

    async def endpoint(request: Request) -> Response:
        request.state.body = await request.body()
        outcome = await run_in_threadpool(attempt, lambda: answer(app_state().open(), request))
        if not isinstance(outcome, DocMindError):
            return outcome
        status = 404 if isinstance(outcome, NotFoundError) else 409
        return JSONResponse({"error": str(outcome), "hint": outcome.hint}, status)

    return Route(path, endpoint, methods=[method])


def _page_image(docmind: DocMind, request: Request) -> Response:
    doc_id, page_no = request.path_params["doc_id"], request.path_params["page_no"]
    is_thumbnail = request.query_params.get("size") == "thumbnail"
    return Response(docmind.documents.page_image(doc_id, page_no, thumbnail=is_thumbnail), media_type="image/webp")


def _figure_image(docmind: DocMind, request: Request) -> Response:
    place = request.path_params
    picture = docmind.documents.figure_image(place["doc_id"], place["page_no"], place["number"])
    return Response(picture, media_type="image/webp")


def _original(docmind: DocMind, request: Request) -> Response:
    """Answer with a document's file as it was added."""
    doc_id = request.path_params["doc_id"]
    name = docmind.documents.original_name(doc_id)
    return Response(docmind.documents.original(doc_id), media_type="application/octet-stream", headers=attachment(name))


def attachment(name: str) -> dict[str, str]:
    """Return the headers of a file to save: never shown by the browser, and its name without a meaning for a path."""
    safe = file_name(name)
    plain = safe.encode("ascii", "replace").decode().replace("?", "_")
    return {"content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(safe, safe='')}"}


ORIGINALS = route("/document/{doc_id}/original", _original)
FIGURE_IMAGES = route("/page/{doc_id}/{page_no:int}/figure/{number:int}", _figure_image)
PAGE_IMAGES = route("/page/{doc_id}/{page_no:int}/image", _page_image)
