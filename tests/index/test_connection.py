"""Which engine the settings choose, and what a server's address may look like."""

from __future__ import annotations

import http.server
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from docmind.config import DatabaseSettings, QdrantSettings, Settings
from docmind.errors import ConfigError, ExtraMissingError, IndexEngineError
from docmind.index import capabilities, open_index
from docmind.index.collection import collections
from docmind.index.edge import EdgeIndex
from docmind.index.server import ServerIndex


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
    """Opening connects to nothing: the guard on outgoing connections would see it."""
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
        """Say nothing."""


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
