"""The facade of the app that is open over a data folder, for other processes of its user."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

from docmind import errors
from docmind.access import RunningApp, api_token, connect_private, find_owner
from docmind.client.calls import API, CALLS, Call
from docmind.client.codec import decode, encode
from docmind.config import Settings
from docmind.errors import AppNotOpenError, ConfigError, DocMindError, NotFoundError
from docmind.records.conversations import RunProgress, Turn
from docmind.records.documents import AddResult, HandedIn, QueueProgress, Upload, UploadInfo, UploadState
from docmind.records.query import Query
from docmind.wording import _

_TIMEOUT_S = 600.0  # an answer by a slow language model takes minutes
_POLL_S = 0.2
_CALLS = {call.name: call for call in CALLS}
_PARTS = {call.name.partition(".")[0] for call in CALLS if "." in call.name}
_UNREAD: tuple[UploadState, ...] = ("waiting", "reading")


def connect(data_dir: Path, *, token: str | None = None) -> Client:
    """Return a client of the app that is open over this data folder, or of a command that has the library open.

    `token` narrows what it may do. Raises `AppNotOpenError` without one, `ConfigError` where `app.json`, or the socket
    that it names, may be another user's.
    """
    running = find_owner(data_dir)
    if running is None:
        raise AppNotOpenError(_("DocMind isn't running for the library in {folder}.").format(folder=data_dir))
    return Client(running, token=token)


class _PrivateConnection(http.client.HTTPConnection):
    """A connection to a Unix socket of this user."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = connect_private(self._path, _TIMEOUT_S)


class Client:
    """The methods of the facade that `docmind.client.CALLS` names, with its parameters, records and errors.

    Thread-safe: each call has a connection of its own. Each raises `AppNotOpenError` once the app is closed.
    """

    def __init__(self, app: RunningApp, *, token: str | None = None) -> None:
        """Reach this app; `token` is a long-lived one, in place of the token of its launch."""
        self._app, self._token = app, token
        self._handed: dict[int, tuple[str, HandedIn]] = {}  # by upload: its name, and its document
        self.conversations, self.queue, self.web_pages = _Conversations(self), _Queue(self), _WebPages(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing: no connection outlives its call."""

    def __getattr__(self, name: str) -> Any:
        return _method(self, name)

    # what is not a plain call

    def add(
        self,
        uploads: Iterable[Upload | Path],
        *,
        files_total: int = 0,
        progress: Callable[[QueueProgress], None] | None = None,
    ) -> list[AddResult]:
        """Hand in uploads, files and folders as `DocMind.add` takes them, and wait until they are read.

        Unreadable files are refused one by one.
        """
        from docmind.ingest import Given

        given = Given(uploads, Settings.load(), int(self.settings.info("reading.max_file_mb").value or 0))
        return given.results(self.wait_for(self.queue.submit(given.uploads()), progress))

    def wait_for(
        self, upload_ids: Iterable[int], progress: Callable[[QueueProgress], None] | None = None
    ) -> list[AddResult]:
        """Wait until none of these files is waiting or being read, and return what became of each."""
        ids = list(upload_ids)
        while True:
            there = {info.upload_id: info for info in self.queue.uploads()}
            if not any(there[one].state in _UNREAD for one in ids if one in there):
                results = [result_of(self, *self._handed.get(one, ("", None)), there.get(one)) for one in ids]
                return [result for result in results if result is not None]
            if progress is not None:
                progress(self.queue.progress())
            time.sleep(_POLL_S)

    def handed_in(self, name: str, raw: bytes) -> HandedIn:
        """Read what the app answered to a file that was handed in, and keep it for `wait_for`."""
        handed = decode(HandedIn, json.loads(raw), "upload")
        self._handed[handed.upload_id] = (name, handed)
        return handed

    # HTTP

    def call(self, call: Call, values: dict[str, Any]) -> Any:
        """Send one call of the table; `values` are its arguments by name. Raises what the facade raises."""
        values = dict(values)
        if call.asks is not None:
            query = Query.of(values.pop("query"))
            query.check_for(call.asks)
            if query.picture is not None and not call.is_by_picture:
                call = next(one for one in CALLS if one.method == call.name and one.is_by_picture)
            values |= query.given()
        params = call.given
        path, body, kind, rest = call.path, b"", "application/octet-stream", {}
        for name, value in values.items():
            if name == call.body:
                body = value
            elif name in call.in_path:
                path = path.replace("{" + name + "}", quote(str(value), safe=""))
            elif value is not None:
                rest[name.lstrip("*")] = encode(params[name], value)
        if call.in_query:
            texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in rest.items()}
            path += f"?{urlencode(texts)}" if texts else ""
        else:
            body, kind = json.dumps(rest).encode(), "application/json"
        raw = self.exchange(call.verb, path, body, kind)
        if call.result is bytes:
            return raw
        return decode(call.result, json.loads(raw), call.name) if call.result is not None else None

    def exchange(self, verb: str, path: str, body: bytes = b"", kind: str = "application/octet-stream") -> bytes:
        """Send a request below the interface's path and return the body of its answer; raise the error that it is."""
        with self._sent(verb, path, body, kind) as answer, _whole():
            return answer.read()

    def events(self, path: str) -> Iterator[Any]:
        """Yield the JSON of each event of a stream, as it comes."""
        with self._sent("GET", path, b"", "") as answer, _whole():
            for line in answer:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])

    def _sent(self, verb: str, path: str, body: bytes, kind: str) -> http.client.HTTPResponse:
        parts = urlsplit(self._app.local)
        token = self._token or ("" if self._app.socket else api_token(self._app.secret))
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        headers["Connection"] = "close"
        if body:
            headers["Content-Type"] = kind
        connection: http.client.HTTPConnection
        if self._app.socket:
            parts = urlsplit("http://localhost/")
            connection = _PrivateConnection(Path(self._app.socket))
        elif parts.scheme == "https":
            unchecked = ssl.create_default_context()  # `is_alive` proved who answers; self-signed ones are usual
            unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
            connection = http.client.HTTPSConnection(parts.netloc, timeout=_TIMEOUT_S, context=unchecked)
        else:
            connection = http.client.HTTPConnection(parts.netloc, timeout=_TIMEOUT_S)
        try:
            with suppress(BrokenPipeError):  # refused before the body was taken: the answer says why
                connection.request(verb, f"{parts.path}{API}{path}", body, headers)
            answer = connection.getresponse()
            raw = answer.read() if answer.status >= 300 else b""
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise AppNotOpenError(_("DocMind was closed.")) from error
        if answer.status >= 300:
            raise _raised(answer.status, raw)
        return answer


@contextmanager
def _whole() -> Iterator[None]:
    """Raise `AppNotOpenError` where an answer is cut off."""
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        raise AppNotOpenError(_("DocMind was closed.")) from error


class _Part:
    """A part of the facade, such as `documents`: its methods in the table."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name

    def __getattr__(self, name: str) -> Any:
        return _method(self._client, f"{self._name}.{name}")


class _Queue(_Part):
    def __init__(self, client: Client) -> None:
        super().__init__(client, "queue")

    def submit(self, uploads: Iterable[Upload], *, total_bytes: int = 0) -> tuple[int, ...]:
        """Hand in files one by one, and return their ids. `total_bytes` is not used.

        Raises `DiskFullError`, `TooLargeError`; the files before that one are queued.
        """
        return tuple(self.hand_in(upload).upload_id for upload in uploads)

    def hand_in(self, upload: Upload) -> HandedIn:
        """Hand in one file, and return which document it is or will be. Raises `DiskFullError`, `TooLargeError`."""
        told = {"name": upload.name, "tags": json.dumps(upload.tags), "replace": json.dumps(upload.replaces)}
        query = urlencode(told)
        handed = self._client.handed_in(upload.name, self._client.exchange("POST", f"/uploads?{query}", upload.data))
        if upload.password is not None:
            self.unlock(handed.upload_id, upload.password)
        return handed


class _WebPages(_Part):
    def __init__(self, client: Client) -> None:
        super().__init__(client, "web_pages")

    def hand_in(self, address: str, *, tags: tuple[str, ...] = (), replaces: bool = False) -> HandedIn:
        """Let the app fetch a web page and queue it; return which document it is or will be.

        Raises as `WebPages.fetch`.
        """
        raw = json.dumps({"address": address, "tags": tags, "replace": replaces}).encode()
        return self._client.handed_in(address, self._client.exchange("POST", "/uploads/web", raw, "application/json"))


class _Conversations(_Part):
    def __init__(self, client: Client) -> None:
        super().__init__(client, "conversations")

    def events(self, run_id: str) -> Iterator[RunProgress]:
        """Yield the progress of a run with each piece that is written, until it is over.

        Raises `NotFoundError`, and `AppNotOpenError` where the app ends before.
        """
        now: RunProgress | None = None
        for data in self._client.events(f"/runs/{quote(run_id, safe='')}/events"):
            yield (now := decode(RunProgress, data, "run"))
        if now is None or not now.is_over:
            raise AppNotOpenError(_("DocMind was closed."))

    def ask(
        self, query: Query | str, *, thread_id: str | None = None,
        on_progress: Callable[[RunProgress], None] | None = None, **values: Any,
    ) -> Turn:  # fmt: skip
        """Ask and wait, as the facade does; without a thread nothing is stored."""
        values = {"query": query, **values}
        if thread_id is not None:
            values["thread_id"] = thread_id
        if on_progress is None:
            return self._client.call(_CALLS["conversations.ask"], values)
        if thread_id is None and values.pop("checkpoint_id", None) is not None:
            raise ConfigError(_("A checkpoint belongs to a conversation."), hint=_("Name the conversation too."))
        name = "conversations.start" if thread_id is not None else "conversations.start_once"
        run_id = self._client.call(_CALLS[name], values)
        now = None
        for now in self.events(run_id):
            on_progress(now)
        if now is None or now.turn is None:
            raise DocMindError(now.message if now else _("DocMind was closed."), hint=now.hint if now else None)
        return now.turn


def result_of(docmind: Any, name: str, handed: HandedIn | None, info: UploadInfo | None) -> AddResult | None:
    """Return what became of a file that was handed in, None while it is waiting or being read.

    `docmind` is the facade or a client, `info` the file's row in the queue; None where it is gone, since the next batch
    drops the rows that are done. `name` is used where there is no row.
    """
    if info is not None and info.state in _UNREAD:
        return None
    if info is not None and info.result not in ("added", "already"):
        if info.state == "cancelled":
            return AddResult(info.document, "cancelled")
        return AddResult(
            info.document, "refused", error=info.error, message=info.message, hint=info.hint,
            exit_code=_kind(info.error).exit_code,
        )  # fmt: skip
    doc_id = info.doc_id if info is not None else handed.doc_id if handed is not None else ""
    try:
        document = docmind.documents.get(doc_id)
    except NotFoundError:
        return AddResult(name or (info.document if info is not None else ""), "cancelled")
    status = info.result if info is not None else "already" if handed is not None and handed.is_known else "added"
    return AddResult(
        info.document if info is not None else name, status or "added", doc_id, document.pages, document.ocr_pages
    )


def _method(client: Client, name: str) -> Any:
    """Return what calls this method of the facade, the value of a property, or a part of it."""
    if name in _PARTS:
        return _Part(client, name)
    call = _CALLS.get(name)
    if call is None:
        raise AttributeError(f"the client has no {name}")
    params = call.params
    if params is None:
        return client.call(call, {})

    def method(*values: Any, **named: Any) -> Any:
        first = next(iter(params), "")
        given = {first: values} if first.startswith("*") and values else dict(zip(params, values, strict=False))
        if unknown := named.keys() - params.keys():
            raise TypeError(f"{name} has no parameter {sorted(unknown)[0]}")
        return client.call(call, given | named)

    return method


def _kind(name: str) -> type[DocMindError]:
    kind = getattr(errors, name, None)
    return kind if isinstance(kind, type) and issubclass(kind, DocMindError) else DocMindError


def _raised(status: int, raw: bytes) -> DocMindError:
    """Return the error that the app answered with."""
    try:
        told = json.loads(raw)["error"]
        return _kind(str(told["kind"]))(str(told["message"]), hint=str(told["hint"]))
    except (ValueError, KeyError, TypeError):
        return AppNotOpenError(_("DocMind answered with an error ({status}).").format(status=status))
