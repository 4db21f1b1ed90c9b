"""The client beside the facade: the same calls, over the real app, give the same records and errors."""

from __future__ import annotations

import http.client
import inspect
import json
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from desks import opened, text_pdf
from docmind import DocMind
from docmind.access import api_token, find_running
from docmind.client import CALLS, Client, connect, encode
from docmind.client.client import _Conversations
from docmind.documents import EDITED
from docmind.errors import AppNotOpenError, ConfigError, NotFoundError
from docmind.records.conversations import RunProgress
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters
from served import Server

pytestmark = pytest.mark.slow
HERONS = text_pdf(["Herons wait in shallow water for fish.", "Herons nest in tall trees."])


@pytest.fixture(scope="module")
def facade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with opened(tmp_path_factory.mktemp("facade")) as docmind:
        docmind.add([Upload("herons.pdf", HERONS)])
        yield docmind


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("app")
    server = Server(folder)
    server.start()
    yield folder / "data"
    server.stop()


@pytest.fixture(scope="module")
def client(folder: Path) -> Client:
    client = connect(folder)
    results = client.add([Upload("herons.pdf", HERONS), Upload("empty.pdf", b"")])
    assert [result.status for result in results] == ["added", "refused"]
    assert results[1].error == "EmptyFileError"
    assert results[1].exit_code == 21
    return client


def herons(docmind: Any) -> str:
    return docmind.documents.find("herons.pdf").doc_id


SAME: dict[str, Callable[[Any], Any]] = {
    "search": lambda docmind: [
        (hit.document, hit.page_no, hit.text) for hit in docmind.search(Query("nest in trees", k=2)).hits
    ],
    "filters": lambda docmind: docmind.search(Query("fish", filters=Filters(languages=("xx",)))).hits,
    "multimodal": lambda docmind: [
        (hit.page_no, hit.source, hit.rank) for hit in docmind.search(Query("shallow water", lists=("text",))).hits
    ],
    "page": lambda docmind: docmind.documents.page(herons(docmind), 1).text,
    "page image": lambda docmind: docmind.documents.page_image(herons(docmind), 2, thumbnail=True)[:4],
    "original": lambda docmind: docmind.documents.original(herons(docmind)),
    "ask": lambda docmind: docmind.ask("Where do herons nest?").answer,
    "a picture": lambda docmind: (
        docmind.search(
            Query(picture=docmind.documents.page_image(herons(docmind), 1), read_picture=False, k=2, merge="rrf")
        ).merge
    ),
    "rename": lambda docmind: (
        docmind.documents.edit(herons(docmind), title="Grey herons").title,
        docmind.documents.get(herons(docmind)).shown_title,
    ),
    "tags": lambda docmind: (docmind.documents.tag([herons(docmind)], add=["birds"]), docmind.documents.tags()),
    "bin": lambda docmind: (
        [info.document for info in docmind.documents.bin([herons(docmind)])],
        docmind.documents.all(),
        docmind.documents.restore([docmind.documents.find_binned("herons.pdf").doc_id]),
        docmind.documents.counts(),
    ),
    "memories": lambda docmind: (
        docmind.memories.add("The heron year is 2026.").text,
        docmind.memories.remove(docmind.memories.list("heron year").memories[0].memory_id).text,
    ),
    "a conversation": lambda docmind: (
        docmind.conversations.create("Birds", thread_id="birds").title,
        docmind.conversations.ask("Where do herons nest?", thread_id="birds").answer.answer,
        [turn.question for turn in docmind.conversations.view("birds", last=1).turns],
        docmind.conversations.bin("birds").title,
    ),
    "jobs": lambda docmind: docmind.queue.uploads("waiting", "paused"),
    "a checked text": lambda docmind: [
        (
            one.text,
            one.verdict,
            [(source.document, source.page_no, source.quote, len(source.boxes)) for source in one.sources],
        )
        for one in docmind.check("Herons nest in tall trees.", Filters(doc_ids=(herons(docmind),))).sentences
    ],
    "a complete list": lambda docmind: [
        (item.text, item.times, item.source.page_no)
        for item in docmind.find("heron", "mentions", Filters(doc_ids=(herons(docmind),))).items
    ],
    "a setting": lambda docmind: docmind.settings.info("reading.max_file_mb"),
    "an image model": lambda docmind: docmind.visual.is_on("late"),
    "days in the bin": lambda docmind: docmind.documents.bin_days,
}


@pytest.mark.parametrize("name", SAME)
def test_client_and_facade_give_the_same(facade: DocMind, client: Client, name: str) -> None:
    assert SAME[name](client) == SAME[name](facade)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda docmind: docmind.documents.get("no such id"), NotFoundError),
        (lambda docmind: docmind.search("  "), ConfigError),
        (lambda docmind: docmind.check("  "), ConfigError),
        (lambda docmind: docmind.find("  "), ConfigError),
        (lambda docmind: docmind.documents.page(herons(docmind), 9), NotFoundError),
        (lambda docmind: docmind.conversations.run("none"), NotFoundError),
    ],
)
def test_client_and_facade_raise_the_same(
    facade: DocMind, client: Client, call: Callable[[Any], Any], error: type[Exception]
) -> None:
    with pytest.raises(error) as of_facade:
        call(facade)
    with pytest.raises(error) as of_client:
        call(client)
    assert str(of_client.value) == str(of_facade.value)
    assert of_client.value.hint == of_facade.value.hint  # type: ignore[attr-defined]


def test_each_call_is_a_method_of_the_facade(facade: DocMind) -> None:
    for call in CALLS:
        found = attrgetter(call.method or call.name)(facade)
        if call.params is None:
            continue
        known = inspect.signature(found).parameters
        taken = set(known)
        if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values()):
            taken |= {column.name for column in EDITED}
        assert {name.lstrip("*") for name in call.params} <= taken, call.name
        needed = [n for n, one in known.items() if one.default is one.empty and "VAR" not in one.kind.name]
        required = {"query" if call.asks and name in ("question", "picture") else name for name in call.required}
        assert set(needed) == required, call.name


def test_files_read_before_the_next_one_comes_are_reported(client: Client) -> None:
    ids = []
    for number in range(3):
        ids += client.queue.submit([Upload(f"note{number}.txt", f"Owls hunt at night, note {number}.".encode())])
        client.wait_for(ids[-1:])
    results = client.wait_for(ids)
    assert [(result.document, result.status) for result in results] == [(f"note{n}.txt", "added") for n in range(3)]
    for result in results:
        client.erasures.erase([result.doc_id])


def test_an_answer_is_streamed(client: Client) -> None:
    thread = client.conversations.create()
    seen = []
    turn = client.conversations.ask("Where do herons nest?", thread_id=thread.thread_id, on_progress=seen.append)
    assert turn.answer is not None
    assert "nest in tall trees" in turn.answer.answer
    assert seen[-1].is_over
    assert seen[-1].turn == turn


# --- access -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def token(client: Client) -> str:
    return client.tokens.new("a program", scope="full").secret


def asked(
    folder: Path, token: str, path: str, verb: str = "GET", body: bytes = b"", **headers: str
) -> tuple[int, bytes]:
    """Send a request over the port, with this token unless `headers` have another; return the status and the body."""
    app = find_running(folder)
    assert app is not None
    connection = http.client.HTTPConnection(urlsplit(app.local).netloc, timeout=30)
    given = {"Authorization": f"Bearer {token}", **headers}
    connection.request(verb, path, body, {name: value for name, value in given.items() if value})
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_only_the_token_opens_the_interface(folder: Path, token: str) -> None:
    app = find_running(folder)
    assert app is not None
    assert asked(folder, token, "/api/v1/status")[0] == 200
    wrong = [
        "", "Bearer ", f"Bearer {app.secret.hex()}", f"Basic {api_token(app.secret)}",
        f"Bearer {token[:-1]}", f"Bearer {token}x", f"Bearer {api_token(app.secret)}é".encode().decode("latin-1"),
    ]  # fmt: skip
    if app.socket:  # programs of the user come over it, and the port is for those that were given a token
        wrong.append(f"Bearer {api_token(app.secret)}")
    for value in wrong:
        assert asked(folder, token, "/api/v1/status", Authorization=value) == (401, b"")
    assert asked(folder, token, "/api/v1/status", Origin="http://127.0.0.1") == (403, b"")
    assert asked(folder, token, "/api/v1/status", Host="evil.example") == (403, b"")


def test_the_token_opens_nothing_else(folder: Path, token: str) -> None:
    for path in ("/", "/api/v1", "/api/v2/status", "/-/library"):
        assert asked(folder, token, path)[0] == 403, path


@pytest.mark.parametrize(
    ("path", "verb", "body"),
    [
        ("/search", "POST", b"{"),
        ("/search", "POST", b"[]"),
        ("/search", "POST", b"{}"),
        ("/search", "POST", b'{"question": "x", "path": "/etc/passwd"}'),
        ("/search", "POST", b'{"question": 3}'),
        ("/uploads", "POST", b"data"),
        ("/uploads/web", "POST", b'{"address": "https://example.com/", "path": 1}'),
        ("/memories?limit=many", "GET", b""),
    ],
)
def test_a_malformed_request_is_refused_with_an_error(
    folder: Path, token: str, path: str, verb: str, body: bytes
) -> None:
    status, raw = asked(folder, token, f"/api/v1{path}", verb, body)
    assert status == 400
    assert json.loads(raw)["error"].keys() == {"kind", "message", "hint", "exit_code"}


def test_a_large_request_is_refused(folder: Path, token: str) -> None:
    assert asked(folder, token, "/api/v1/search", "POST", b" " * (2 << 20))[0] == 413


def test_the_document_names_every_call(folder: Path, token: str) -> None:
    status, raw = asked(folder, token, "/api/v1/openapi.json")
    told = json.loads(raw)
    assert status == 200
    named = {one["operationId"] for verbs in told["paths"].values() for one in verbs.values()}
    assert named == {call.name for call in CALLS} | {"upload", "upload_web_page", "conversations.events"}
    schemas = told["components"]["schemas"]
    assert all(f'"{name}"' in json.dumps(list(schemas)) for name in _references(told))


def _references(told: Any) -> Iterator[str]:
    if isinstance(told, dict):
        if "$ref" in told:
            yield told["$ref"].rpartition("/")[2]
        for one in told.values():
            yield from _references(one)
    elif isinstance(told, list):
        for one in told:
            yield from _references(one)


def test_without_an_app_there_is_no_client(tmp_path: Path) -> None:
    with pytest.raises(AppNotOpenError):
        connect(tmp_path)


@pytest.mark.parametrize("state", ["running", "done"])
def test_a_run_whose_events_are_cut_off_is_not_over(state: Any) -> None:
    now = RunProgress("r", "t", "Where?", state, "writing", text="Herons nest")

    class Cut(Client):
        def __init__(self) -> None:
            """Reach no app."""

        def events(self, path: str) -> Iterator[Any]:
            yield encode(RunProgress, now)

    told = _Conversations(Cut()).events("r")
    assert next(told) == now
    if state == "done":
        assert list(told) == []
    else:
        with pytest.raises(AppNotOpenError):
            next(told)
