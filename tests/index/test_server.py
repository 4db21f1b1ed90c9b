"""Requests of the index to a server.

The engine that the settings choose, and the allowed addresses of a server.
"""

from __future__ import annotations

import http.server
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr
from qdrant_client import QdrantClient

from docmind.config import DatabaseSettings, QdrantSettings, Settings
from docmind.errors import ConfigError, ExtraMissingError, IndexEngineError
from docmind.index import capabilities, open_index
from docmind.index.edge import EdgeIndex
from docmind.index.engine import VectorQuery
from docmind.index.schema import collections
from docmind.index.server import ServerIndex
from index.points import point


def settings(url: str | None = None, api_key: str | None = None) -> Settings:
    return Settings(qdrant=QdrantSettings(url=url, api_key=SecretStr(api_key) if api_key else None, timeout_s=2))


def test_the_settings_choose_the_engine(tmp_path: Path) -> None:
    embedded = open_index(settings(), tmp_path / "index", 384)
    assert isinstance(embedded, EdgeIndex)
    embedded.close()
    assert isinstance(open_index(settings("http://127.0.0.1:1"), tmp_path / "index", 384), ServerIndex)


def test_a_missing_engine_is_said_with_the_install_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qdrant_edge", None)
    with pytest.raises(ExtraMissingError) as caught:
        open_index(settings(), tmp_path / "index", 384)
    assert caught.value.hint == "pip install qdrant-edge-py"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("qdrant.example.org", None),
        ("ftp://127.0.0.1", None),
        ("http://", None),
        ("http://ana:secret@127.0.0.1:6333", None),
        ("http://qdrant.example.org:6333", "key"),
        ("http://10.0.0.8:6333", "key"),
    ],
)
def test_an_address_that_would_not_do(url: str, key: str | None, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        open_index(settings(url, key), tmp_path, 384)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:6333", "http://localhost:6333", "https://qdrant.example.org:6333"])
def test_an_address_that_will_do(url: str, tmp_path: Path) -> None:
    """Opening does not connect: the guard on outgoing connections would detect it."""
    open_index(settings(url, "key"), tmp_path, 384).close()


def test_two_collections_need_two_names() -> None:
    with pytest.raises(ConfigError, match="different names"):
        collections(DatabaseSettings(qdrant_text_collection="x", qdrant_image_collection="x"), 4)


def test_a_server_that_does_not_answer(tmp_path: Path) -> None:
    index = open_index(settings("http://127.0.0.1:9"), tmp_path, 384)
    with pytest.raises(IndexEngineError) as caught:
        index.epoch()
    assert "DOCMIND_QDRANT__URL" in caught.value.hint


class _Elsewhere(http.server.BaseHTTPRequestHandler):
    seen: list[str] = []

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_response(307)
        self.send_header("Location", "http://203.0.113.7/stolen")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    server = http.server.HTTPServer(("127.0.0.1", 0), _Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_redirects_and_proxies_are_not_followed(
    elsewhere: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://203.0.113.9:3128")
    index = open_index(settings(elsewhere, "key"), tmp_path, 384)
    with pytest.raises(IndexEngineError):
        index.epoch()
    assert _Elsewhere.seen == ["/aliases"], "one request, no look at the version"


def test_capabilities_name_what_is_there() -> None:
    edge, server = capabilities(settings())
    assert (edge.name, edge.state) == ("qdrant-edge", "present")
    assert (server.name, server.state) == ("qdrant-server", "off")
    assert "DOCMIND_QDRANT__URL" in server.hint
    assert capabilities(settings("http://127.0.0.1:9"))[1].state == "missing"


class Counting(QdrantClient):
    """A client that records requests."""

    asked: list[str]

    def __getattribute__(self, name: str) -> Any:
        if name.startswith(("get_", "query_", "upsert")):
            self.asked.append(name)
        return super().__getattribute__(name)


def test_a_search_is_one_round_trip() -> None:
    Counting.asked = []
    index = ServerIndex(Counting(":memory:"), 4)
    index.rebuild("model-1")
    query = VectorQuery("text", "text-dense", np.ones(4, np.float32), 3)
    index.search([query])
    Counting.asked.clear()
    index.search([query, query])
    assert Counting.asked == ["query_batch_points"]
    index.close()


@pytest.mark.slow
def test_large_points_travel_a_few_at_a_time() -> None:
    Counting.asked = []
    index = ServerIndex(Counting(":memory:"), 4)
    index.rebuild("model-1")
    Counting.asked.clear()
    page = np.full((1030, 128), 128**-0.5, np.float32)
    index.upsert("pages", [point(f"p{n}", {"colpali": page}) for n in range(16)])
    assert Counting.asked.count("upsert") == 3  # 131,840 numbers a page, a million a request
    assert index.count("pages", having="colpali") == 16
    Counting.asked.clear()
    index.upsert("text", [point(f"n{n}") for n in range(257)])
    assert Counting.asked.count("upsert") == 2
    index.close()
