"""Hostile parameters at every operation of REST: none is answered with 500, and none ends the index process."""

from __future__ import annotations

import json
import os
import random
import traceback
from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import quote, unquote, urlencode

import pytest

from docmind.access import Launch
from docmind.api.programs import OWN, Permit
from docmind.api.rest import Rest
from docmind.application import DocMind
from docmind.client import ARRAYS, CALLS, OBJECTS, UNIONS, Call, hints_of, is_text
from libraries import THREE_DOCUMENTS, Library
from loops import run_async

pytestmark = pytest.mark.slow

REQUESTS = int(os.environ.get("HOSTILE_REQUESTS", "1500"))
BUILD_ANOTHER = ("snapshots.activate", "doctor.repair")
"""Operations that build another index where they are asked to, in a process of its own."""

HALF = "\ud800"  # half of a surrogate pair
TEXTS = (
    HALF, f"boiler {HALF}", "", " ", "\x00", "a\nb\r\nc", "\u202egpj.exe", "../../etc/passwd", "C:\\x", "file:///etc/passwd",
    "%_'\"; DROP TABLE documents; --", "x" * 5_000, "é" * 30_000, "[[[[", "{}", "null", "NaN", "-1", "😀" * 300,
)  # fmt: skip
NUMBERS = (-1, 0, -(2**63) - 1, 2**63, 2**64, 10**400, 1e308, -0.0, 0.5)
WRONG = (None, True, [], {}, [[]], {"a": {"b": [1]}}, [None], ["x"] * 70, [[[[[[[[[]]]]]]]]], "1", 3)
RAW = ("Infinity", "-Infinity", "NaN", "1e999", "[" * 3_000, '"\\ud800"', "{", "", "9" * 5_000, '{"a":1,"a":2}')


class Everybody:
    """Programs of which each may do everything."""

    async def admit(self, _scope: Any) -> Permit:
        return OWN


@pytest.fixture(scope="module")
def library() -> Library:
    return THREE_DOCUMENTS


def hostile(declared: Any, chance: random.Random) -> Any:
    """Return a value that may be of this type, with something hostile in it, or of quite another type."""
    if get_origin(declared) is Annotated:
        declared = get_args(declared)[0]
    if chance.random() < 0.15:
        return chance.choice((*WRONG, *TEXTS, *NUMBERS))
    origin, inner = get_origin(declared), get_args(declared)
    if declared is str:
        return chance.choice(TEXTS)
    if declared in (int, float):
        return chance.choice(NUMBERS)
    if declared is bool:
        return chance.random() < 0.5
    if origin is Literal:
        return chance.choice(inner)
    if origin in UNIONS:
        return hostile(chance.choice(inner), chance)
    if declared is type(None):
        return None
    if origin in ARRAYS:
        return [hostile(inner[0], chance) for _ in range(chance.choice((0, 1, 2, 70)))]
    if origin in OBJECTS:
        return {chance.choice(("text", "image", HALF, "")): hostile(inner[1], chance) for _ in range(2)}
    return {name: hostile(kind, chance) for name, kind in hints_of(declared).items() if chance.random() < 0.5}


def request_of(call: Call, real: dict[str, Any], chance: random.Random) -> tuple[str, str, bytes]:
    """Return verb, path and body of one request with hostile parameters; `real` are ids that are there."""
    values: dict[str, Any] = {}
    for name, declared in call.given.items():
        if declared is bytes:
            continue
        is_real = name in real and chance.random() < 0.5
        if is_real or name in call.required or chance.random() < 0.6:
            values[name.lstrip("*")] = real[name] if is_real else hostile(declared, chance)
    if chance.random() < 0.05:
        values[chance.choice(TEXTS)] = 1
    path = call.path
    for name in call.in_path:
        path = path.replace("{" + name + "}", quote(_plain(values.pop(name)), safe="") or "-")
    if call.in_query:
        texts = {_plain(name): _queried(call, name, value, chance) for name, value in values.items()}
        body = chance.randbytes(chance.choice((0, 10, 5_000))) if call.body is not None else b""
        return call.verb, f"{path}?{urlencode(texts)}", body
    raw = json.dumps(values)
    if chance.random() < 0.1:
        raw = chance.choice(RAW)
    return call.verb, path, raw.encode()


def _queried(call: Call, name: str, value: Any, chance: random.Random) -> str:
    declared = call.given.get(name, str)
    if chance.random() < 0.1:
        return chance.choice(RAW)
    return _plain(value) if is_text(declared) else json.dumps(value)


def _plain(value: Any) -> str:
    return str(value).encode("utf-8", "surrogatepass").decode("latin1")


@pytest.fixture
def real(docmind: DocMind) -> dict[str, Any]:
    info = docmind.documents.all()[0]
    thread = docmind.conversations.create(title="Boilers")
    collection = docmind.documents.new_collection("Heating", [info.doc_id])
    snapshot = docmind.snapshots.create()
    return {
        "doc_id": info.doc_id, "doc_ids": [info.doc_id], "page_no": 1, "thread_id": thread.thread_id,
        "collection_id": collection.collection_id, "snapshot_id": snapshot.snapshot_id, "question": "boiler",
        "name": info.document, "filters": {"doc_ids": [info.doc_id]}, "level": "quick",
    }  # fmt: skip


async def status_of(rest: Rest, verb: str, path: str, body: bytes) -> int:
    """Send one request as a server would pass it on; return the status, which is 500 where an exception came out."""
    path, _mark, query = path.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": verb, "scheme": "http",
        "path": unquote(f"/api/v1{path}"), "raw_path": path.encode(), "query_string": query.encode(), "headers": [],
        "root_path": "", "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 6),
    }  # fmt: skip
    waiting, statuses = [{"type": "http.request", "body": body, "more_body": False}], list[int]()

    async def receive() -> dict[str, Any]:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    try:
        await rest(scope, receive, send)
    except Exception:  # noqa: BLE001 - what a server answers with 500
        traceback.print_exc(limit=-4)
        return 500
    return statuses[0]


# Hundreds of the requests are searches, and some are whole checks of the library: 20 ms each.
@pytest.mark.timeout(900)
def test_no_parameter_is_answered_with_an_error_of_the_server(docmind: DocMind, real: dict[str, Any]) -> None:
    async def nothing(_scope: Any, _receive: Any, _send: Any) -> None:
        raise AssertionError("the request left the interface")

    rest = Rest(nothing, Launch(is_token_required=False), Everybody(), lambda: docmind)  # type: ignore[arg-type]
    chance = random.Random(11)
    docmind.search("boiler")
    process = _index_process(docmind)
    failed, statuses = list[str](), dict[int, int]()

    async def fuzz() -> None:
        nonlocal process
        for _ in range(REQUESTS):
            call = chance.choice(CALLS)
            verb, path, body = request_of(call, real, chance)
            status = await status_of(rest, verb, path, body)
            statuses[status] = statuses.get(status, 0) + 1
            if call.name in BUILD_ANOTHER:
                process = _index_process(docmind)
            assert _index_process(docmind) == process, (status, verb, path[:200], body[:200])
            if status >= 500 and status != 507:
                failed.append(f"{status} {verb} {path[:200]} {body[:200]!r}")

    run_async(fuzz())
    assert not failed, "\n".join(failed[:40]) + f"\n{len(failed)} of {statuses}"
    assert statuses[200] > REQUESTS // 50, statuses  # the requests reach the operations


def _index_process(docmind: DocMind) -> int | None:
    return docmind.index.started().index.pid  # type: ignore[attr-defined]
