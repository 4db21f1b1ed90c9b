"""Web search: off unless set, from a real HTTP server, with whatever a provider may answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import SecretStr

from docmind.config import WebSettings
from docmind.errors import ConfigError, WebSearchError
from docmind.network.web_search import Brave, Searxng, WebSearch, plain, search_web
from docmind.records.conversations import WebResult
from each import each_of


class Answering(ThreadingHTTPServer):
    """Answers every GET with `status`, `body` and `headers`; keeps path, query and headers of each."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.body = 200, b"{}"
        self.headers: dict[str, str] = {}
        self.asked: list[tuple[str, dict[str, list[str]], dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Answering  # pyright: ignore[reportIncompatibleVariableOverride] - narrower than the library says

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        """Quiet."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((parts.path, parse_qs(parts.query), headers))
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)


@contextmanager
def answering() -> Iterator[Answering]:
    server = Answering()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def server() -> Iterator[Answering]:
    with answering() as one:
        yield one


@pytest.fixture(params=["searxng", "brave"])
def search(request: pytest.FixtureRequest, server: Answering) -> WebSearch:
    if request.param == "searxng":
        return Searxng(WebSettings(provider="searxng", url=f"{server.url}/"))
    return Brave(WebSettings(provider="brave", api_key=SecretStr("k-1")), url=f"{server.url}/res/v1")


def found(search: WebSearch, *results: object) -> bytes:
    """Return the answer of this provider with these results, each with a `text`."""
    name = "content" if search.name == "SearXNG" else "description"
    named = [{(name if key == "text" else key): value for key, value in one.items()} if isinstance(one, dict) else one
             for one in results]  # fmt: skip
    return json.dumps({"results": named} if search.name == "SearXNG" else {"web": {"results": named}}).encode()


def test_off_unless_set() -> None:
    assert search_web(WebSettings()) is None
    assert isinstance(search_web(WebSettings(provider="searxng", url="http://127.0.0.1:8888")), Searxng)
    brave = search_web(WebSettings(provider="brave", api_key=SecretStr("k-1")))
    assert isinstance(brave, Brave)
    assert brave.host == "api.search.brave.com"


@pytest.mark.parametrize(("provider", "name"), [("searxng", "DOCMIND_WEB__URL"), ("brave", "DOCMIND_WEB__API_KEY")])
def test_what_is_not_set_is_told(provider: str, name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        search_web(WebSettings.model_validate({"provider": provider}))


def test_results_are_plain_and_short(search: WebSearch, server: Answering) -> None:
    server.body = found(
        search,
        {"title": "A <b>report</b> &amp; more", "url": "https://example.org/a?b=c", "text": "It <i>grew</i>\n 3&#37;."},
        {"title": "x" * 500, "url": "http://example.org", "text": "<script>alert(1)</script>y " * 500},
    )
    first, second = search.search("what grew", 5)
    assert first == WebResult("A report & more", "https://example.org/a?b=c", "It grew 3%.")
    assert len(second.title) == 200
    assert len(second.excerpt) == 600
    assert "alert" not in second.excerpt


def test_what_is_asked(search: WebSearch, server: Answering) -> None:
    server.body = found(search)
    assert search.search("preço médio? &q=x " + "y" * 1_000, 3) == ()
    path, query, headers = server.asked[0]
    assert query["q"] == [("preço médio? &q=x " + "y" * 1_000)[:400]]
    if search.name == "SearXNG":
        assert path == "/search"
        assert query["format"] == ["json"]
        assert "x-subscription-token" not in headers
    else:
        assert path == "/res/v1/web/search"
        assert query["count"] == ["3"]
        assert headers["x-subscription-token"] == "k-1"
    assert "cookie" not in headers
    assert headers["user-agent"] == "docmind"


@each_of(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "ftp://example.org",
        "//example.org",
        "/x",
        "",
        None,
        7,
        "https://",
        "https://user:pw@example.org/",
        "https://example.org/a b",
        "https://example.org/\u202ex",
        "https://example.org/<x>",
        "https://example.org\\@evil.example",
        "https://example.org/" + "x" * 2_000,
        "http\n://example.org",
    ],
)
def test_addresses_that_are_none_are_left_out(search: WebSearch, server: Answering, url: object) -> None:
    server.body = found(search, {"title": "t", "url": url, "text": "x"}, {"url": "https://example.org/ok"}, 3, None)
    assert search.search("q") == (WebResult("https://example.org/ok", "https://example.org/ok", ""),)


def test_no_more_than_asked_for(search: WebSearch, server: Answering) -> None:
    server.body = found(search, *({"title": str(n), "url": f"https://example.org/{n}"} for n in range(40)))
    assert [one.title for one in search.search("q", 3)] == ["0", "1", "2"]
    assert len(search.search("q", 400)) == 10
    assert len(search.search("q", 0)) == 1


@pytest.mark.parametrize(
    ("status", "told"),
    [(401, "refuses"), (403, "refuses"), (429, "no more searches"), (500, "status 500"), (404, "status 404")],
)
def test_refusals_are_told(search: WebSearch, server: Answering, status: int, told: str) -> None:
    server.status = status
    with pytest.raises(WebSearchError, match=told) as caught:
        search.search("q")
    assert caught.value.hint
    assert len(server.asked) == 1


@each_of(
    "body",
    [b"", b"<html>", b"[]", b"\xff", b'{"results": 3, "web": {"results": 3}}', b'{"web": [1], "results": "x"}',
     b"[" * 100_000],
)  # fmt: skip
def test_answers_that_are_none_are_told(search: WebSearch, server: Answering, body: bytes) -> None:
    server.body = body
    with pytest.raises(WebSearchError, match="does not answer as a web search does"):
        search.search("q")


def test_too_much_is_not_read(search: WebSearch, server: Answering) -> None:
    server.body = b" " * 5_000_000
    with pytest.raises(WebSearchError, match="cannot be reached, or is too slow"):
        search.search("q")


def test_redirects_are_not_followed(search: WebSearch, server: Answering) -> None:
    with answering() as other:
        server.status, server.headers = 302, {"Location": f"{other.url}/search"}
        with pytest.raises(WebSearchError, match="not followed"):
            search.search("q")
        assert not other.asked


def test_a_server_that_is_gone_is_told() -> None:
    with answering() as server:
        url = server.url
    with pytest.raises(WebSearchError, match="cannot be reached"):
        Searxng(WebSettings(provider="searxng", url=url, timeout_s=2)).search("q")


@pytest.mark.parametrize(
    "url", ["ftp://x", "http://169.254.169.254", "http://user@host/", "http://0x7f.1", "host", "http:///x"]
)
def test_addresses_that_are_never_asked(url: str) -> None:
    with pytest.raises(WebSearchError):
        Searxng(WebSettings(provider="searxng", url=url)).search("q")


def test_an_address_that_cannot_be_taken_apart_is_told() -> None:
    with pytest.raises(ConfigError, match="DOCMIND_WEB__URL"):
        Searxng(WebSettings(provider="searxng", url="http://[::1"))


def test_brave_without_results_of_the_web(server: Answering) -> None:
    server.body = b'{"type": "search", "news": {}}'
    assert Brave(WebSettings(provider="brave", api_key=SecretStr("k")), url=server.url).search("q") == ()


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("a<br>b", "a b"),
        ("a <!-- <b> --> c", "a c"),
        ("&lt;b&gt; stays text", "<b> stays text"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("un\u202eturned\x00", "un turned"),
        (None, ""),
        (["x"], ""),
    ],
)
def test_markup_goes(text: object, bare: str) -> None:
    assert plain(text, 100) == bare
