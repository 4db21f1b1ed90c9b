"""Addresses of the Documents page: the rows of the library, and several originals as one file."""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import zipfile
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, cast
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from docmind.documents import FIELDS, versions_in
from docmind.errors import ConfigError, NotFoundError
from docmind.rich_text import one_line
from docmind.ui.app.format import kind, language
from docmind.ui.app.routes import attachment, route
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.records.documents import DocumentInfo

_LONGEST = 200  # characters of one text of a row
_SELECTIONS = 16  # that can be fetched; older ones are forgotten
_lock = threading.Lock()
_selections: dict[str, list[str]] = {}
_kept: tuple[str, str, bytes] = ("", "", b"")  # the vault's state, the version of the rows, and the rows


def rows_of(docmind: DocMind) -> tuple[str, bytes]:
    """Return the version of the library's rows, and the rows as JSON; they are made again only after a change."""
    global _kept
    with _lock:
        state = f"{docmind.keys.vault_id}-{docmind.documents.state()}"
        if state != _kept[0]:
            documents = docmind.documents.all()
            versions = {
                info.doc_id: (series, len(infos) - place, len(infos))
                for series, infos in versions_in(documents).items()
                for place, info in enumerate(infos)
            }
            body = json.dumps(
                {
                    "names": _NAMES,
                    "rows": [_row(info, *versions.get(info.doc_id, ("", 0, 0))) for info in documents],
                    "kinds": {name: kind(name) for name in {info.kind for info in documents}},
                    "languages": {code: language(code) for code in {info.language for info in documents} if code},
                    "collections": {one.collection_id: one.name for one in docmind.documents.collections()},
                },
                ensure_ascii=False,
                separators=(",", ":"),
                sort_keys=True,
            ).encode("utf-8", "replace")
            _kept = (state, hashlib.sha256(body).hexdigest()[:16], body)
        return _kept[1:]


_NEEDED = ("doc_id", "document", "kind", "pages", "pages_done", "status", "message")  # by what the table draws itself
_SENT = tuple(column for column in FIELDS if column.name in _NEEDED or column.drawn or column.menu or column.is_found)
_NAMES = (*(column.name for column in _SENT), "parent", "place", "series", "version", "versions")
"""Behind the columns: in which document one came, and which of how many versions it is; the newest has their number."""


def _row(info: DocumentInfo, series: str, version: int, versions: int) -> list[object]:
    parent, place = (info.parent.doc_id, info.parent.place) if info.parent is not None else ("", "")
    return [*(_sent(column.of(info)) for column in _SENT), parent, _short(place), series, version, versions]


def _sent(value: object) -> object:
    if isinstance(value, tuple):
        return [_sent(one) for one in value]
    return _short(value) if isinstance(value, str) else value


def _short(text: str) -> str:
    return one_line(text)[:_LONGEST]


def _rows(docmind: DocMind, request: Request) -> Response:
    version, body = rows_of(docmind)
    if request.query_params.get("since") == version:
        return Response(status_code=204)
    return Response(body, media_type="application/json", headers={"docmind-version": version})


def _selection(docmind: DocMind, request: Request) -> Response:
    """Keep the documents that a form names in `ids`, and answer with the name under which they can be fetched.

    A browser asks for a file with GET, whose address has no room for thousands of ids; and it does not say where a form
    that it sends itself comes from, which the guard requires.
    """
    form = parse_qs(request.state.body.decode("ascii", "replace"))
    doc_ids = list(dict.fromkeys(filter(None, ".".join(form.get("ids", [])).split("."))))
    if not doc_ids:
        raise ConfigError(_("No document is selected."), hint="Select at least one document.")
    for doc_id in doc_ids:
        docmind.documents.original_name(doc_id)  # raises where one is not there
    name = secrets.token_hex(8)
    with _lock:
        _selections[name] = doc_ids
        while len(_selections) > _SELECTIONS:
            del _selections[next(iter(_selections))]
    return JSONResponse({"selection": name})


def _originals(docmind: DocMind, request: Request) -> Response:
    """Answer with a zip of the selected documents, which is written while it is sent."""
    with _lock:
        doc_ids = _selections.get(request.path_params["selection"], [])
    if not doc_ids:
        raise NotFoundError(_("There is no such selection of documents."), hint="Select them again.")
    names = _different([(doc_id, docmind.documents.original_name(doc_id)) for doc_id in doc_ids])
    return StreamingResponse(_zipped(docmind, names), media_type="application/zip", headers=attachment("documents.zip"))


def _different(named: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the names without repetition, because files of a zip replace each other when it is unpacked."""
    taken: set[str] = set()
    found = []
    for doc_id, name in named:
        stem, dot, suffix = name.rpartition(".") if "." in name else (name, "", "")
        number, unique = 1, name
        while unique.casefold() in taken:
            number += 1
            unique = f"{stem} ({number}){dot}{suffix}"
        taken.add(unique.casefold())
        found.append((doc_id, unique))
    return found


class _Sent:
    """A file that can only be written, from which what was written is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: all is in memory until it is taken."""

    def taken(self) -> bytes:
        data = b"".join(self._parts)
        self._parts.clear()
        return data


def _zipped(docmind: DocMind, named: list[tuple[str, str]]) -> Iterator[bytes]:
    sent = _Sent()
    with zipfile.ZipFile(cast("IO[bytes]", sent), "w", zipfile.ZIP_STORED) as archive:
        for doc_id, name in named:
            archive.writestr(name, docmind.documents.original(doc_id))
            yield sent.taken()
    yield sent.taken()


LIBRARY = [
    route("/library", _rows),
    route("/originals", _selection, "POST"),
    route("/originals/{selection}", _originals),
]
