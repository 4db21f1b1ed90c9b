"""Tokens of programs, REST and MCP of the real app, and `docmind mcp` beside it."""

from __future__ import annotations

import http.client
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assistants import called, over_http, over_stdio, record, refusal
from desks import text_pdf
from docmind.access import find_running
from docmind.client import Client, connect
from docmind.errors import AppNotOpenError, NotPermittedError
from docmind.records.documents import Upload
from loops import run_async
from served import Server

pytestmark = pytest.mark.slow
HERONS = text_pdf(["Herons wait in shallow water for fish.", "Herons nest in tall trees."])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("app")
    (folder / "inbox").mkdir()
    server = Server(folder, DOCMIND_EMBEDDING__MODEL="fake", DOCMIND_MCP__FOLDERS=str(folder / "inbox"))
    server.start()
    connect(folder / "data").add([Upload("herons.pdf", HERONS)])
    yield server
    server.stop()


@pytest.fixture(scope="module")
def client(server: Server) -> Client:
    return connect(server._folder / "data")


def asked(
    server: Server, token: str, path: str, verb: str = "GET", body: Any = None, **headers: str
) -> tuple[int, Any]:
    """Send a request as a program that was configured once would; return the status and the JSON of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    given = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
    connection.request(verb, path, json.dumps(body) if body is not None else None, given)
    answer = connection.getresponse()
    raw = answer.read()
    return answer.status, json.loads(raw) if raw else None


def test_a_token_opens_rest_until_it_is_revoked(server: Server, client: Client) -> None:
    made = client.tokens.new("script", scope="full")
    assert "docmind_" not in repr(made)
    assert asked(server, made.secret, "/api/v1/counts") == (200, [1, 2, 2])
    (listed,) = client.tokens.list()
    assert listed.used_at_ms is not None
    server.stop()
    server.start()  # a token outlives a start of the app
    assert asked(server, made.secret, "/api/v1/counts")[0] == 200
    fresh = connect(server._folder / "data")
    fresh.tokens.revoke("script")
    assert asked(server, made.secret, "/api/v1/counts") == (401, None)
    client._app = fresh._app


def test_nothing_but_a_token_opens_it(server: Server, client: Client) -> None:
    secret = client.tokens.new("right").secret
    changed = secret[:-1] + ("A" if secret[-1] != "A" else "B")
    for path in ("/api/v1/counts", "/mcp", "/metrics"):
        for token in (
            "",
            changed,
            secret.removeprefix("docmind_"),
            f"{secret}x",
            f"{secret}é".encode().decode("latin1"),
        ):
            assert asked(server, token, path) == (401, None)
        assert asked(server, "", path, Authorization=f"Basic {secret}") == (401, None)
        assert asked(server, "", path, Cookie=f"docmind={secret}") == (401, None)
        assert asked(server, secret, path, Origin=f"http://127.0.0.1:{server.port}") == (403, None)
        assert asked(server, secret, path, Host="evil.example") == (403, None)
    for path in ("/", "/mcp2", "/mcp/x", "/metrics/x", "/-/library", "/api/v2/counts"):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("GET", path, headers={"Authorization": f"Bearer {secret}"})
        assert connection.getresponse().status == 403, path
    client.tokens.revoke("right")


def test_a_reading_token_reads_and_searches_alone(server: Server, client: Client) -> None:
    secret = client.tokens.new("reader").secret
    assert asked(server, secret, "/api/v1/search", "POST", {"question": "tall trees"})[0] == 200
    assert asked(server, secret, "/api/v1/ask", "POST", {"question": "Where do herons nest?"})[0] == 200
    doc_id = client.documents.all()[0].doc_id
    refused = [
        ("/api/v1/ask", "POST", {"question": "Remember that the heron year is 2026."}),
        ("/api/v1/bin", "POST", {"doc_ids": [doc_id]}),
        ("/api/v1/erasures", "POST", {"doc_ids": [doc_id]}),
        ("/api/v1/turns", "POST", {"question": "Where do herons nest?"}),
        ("/api/v1/uploads?name=a.txt", "POST", {}),
        ("/api/v1/uploads/web", "POST", {"address": "https://example.com"}),
        ("/api/v1/tokens", "GET", None),
        (f"/api/v1/documents/{doc_id}", "PATCH", {"title": "Mine"}),
    ]
    for path, verb, body in refused:
        status, told = asked(server, secret, path, verb, body)
        assert (status, told["error"]["kind"]) == (403, "NotPermittedError"), path
    assert client.documents.all()[0].title == ""
    assert not client.memories.list().memories
    client.tokens.revoke("reader")


def test_a_token_makes_no_tokens(server: Server, client: Client) -> None:
    secret = client.tokens.new("full", scope="full").secret
    assert asked(server, secret, "/api/v1/tokens", "POST", {"name": "another"})[0] == 403
    assert asked(server, secret, "/api/v1/tokens/revoke", "POST", {"name": "full"})[0] == 403
    assert [token.name for token in client.tokens.list()] == ["full"]
    client.tokens.revoke("full")


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_each_tool_over_http(server: Server, client: Client, mode: str) -> None:
    secret = client.tokens.new(f"assistant {mode}", scope="full").secret
    (server._folder / "inbox" / "owls.txt").write_text("Owls hunt at night.")

    async def session() -> None:
        async with over_http(f"{server.url}/mcp", secret, mode=mode) as assistant:
            assert len((await assistant.list_tools()).tools) == 11
            found = await record(assistant, "search", question="tall trees", k=1)
            assert found["hits"][0]["page_no"] == 2
            assert (await record(assistant, "ask", question="Where do herons nest?"))["found"]
            added = await record(assistant, "ingest", paths=[str(server._folder / "inbox" / "owls.txt")], wait_s=60)
            assert added["results"][0]["status"] in ("added", "already")
            assert (await record(assistant, "list_documents", find="owls"))["total"] == 1
            assert (await record(assistant, "get_page", document="owls.txt", page_no=1))["page"]["text"]
            original = await called(assistant, "get_original", document="owls.txt")
            assert original.content[-1].type == "resource"
            assert (await record(assistant, "jobs"))["progress"]["state"] == "idle"
            assert (await assistant.list_resources()).resources

    run_async(session())
    client.tokens.revoke(f"assistant {mode}")


def test_a_reading_token_over_http_adds_nothing(server: Server, client: Client) -> None:
    secret = client.tokens.new("looks").secret

    async def session() -> None:
        async with over_http(f"{server.url}/mcp", secret) as assistant:
            assert "may only read" in await refusal(assistant, "ingest", paths=[str(server._folder / "inbox")])
            assert (await record(assistant, "search", question="tall trees"))["hits"]

    run_async(session())
    client.tokens.revoke("looks")


def test_an_assistant_goes_on_when_the_app_is_closed_and_opened(server: Server, client: Client) -> None:
    environment = {
        **server._environment,
        "DOCMIND_DATA_DIR": str(server._folder / "data"),
        "DOCMIND_KEYS__FILE": str(server._folder / "key"),
    }

    async def session() -> None:
        async with over_stdio(environment) as assistant:
            assert (await record(assistant, "search", question="tall trees"))["hits"]  # by the app
            server.stop()
            assert (await record(assistant, "search", question="tall trees"))["hits"]  # opened here
            server.start()  # it announces itself, and gets the library
            assert connect(server._folder / "data").documents.counts()[0] >= 1
            assert (await record(assistant, "search", question="tall trees"))["hits"]
            assert (await record(assistant, "list_documents", find="herons"))["total"] == 1

    run_async(session())
    app = find_running(server._folder / "data")
    assert app is not None
    client._app = app
    assert asked(server, client.tokens.new("still the same app").secret, "/api/v1/counts")[0] == 200


def test_the_client_raises_what_is_not_permitted(server: Server, client: Client) -> None:
    secret = client.tokens.new("reader").secret
    reader = connect(server._folder / "data", token=secret)
    with pytest.raises(NotPermittedError):
        reader.documents.bin([client.documents.all()[0].doc_id])
    assert reader.documents.counts() == client.documents.counts()
    client.tokens.revoke("reader")


def test_the_secret_lies_in_no_file(server: Server, client: Client) -> None:
    secret = client.tokens.new("canary").secret
    for path in Path(server._folder).rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path
    client.tokens.revoke("canary")


def test_the_apps_socket_goes_with_it_and_outlives_no_crash(server: Server) -> None:
    data = server._folder / "data"
    app = find_running(data)
    assert app is not None
    if not app.socket:
        pytest.skip("there are no such sockets")
    assert stat.S_IMODE(Path(app.socket).stat().st_mode) == 0o600
    server.kill()
    assert Path(app.socket).exists()
    with pytest.raises(AppNotOpenError):
        connect(data)
    server.start()
    assert connect(data).documents.counts()[0] >= 1
    server.stop()
    assert not Path(app.socket).exists()
    assert not (data / "app.json").exists()
    server.start()
