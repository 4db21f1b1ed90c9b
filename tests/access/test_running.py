"""`app.json`: its owner alone reads it, no other user can put a false one there, and a stale one is recognised."""

from __future__ import annotations

import http.server
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import require
from docmind.access import (
    NONCE_HEADER,
    PROOF_HEADER,
    RunningApp,
    announce,
    find_running,
    is_alive,
    open_browser,
    prove,
    remove_opening_page,
    withdraw,
)
from docmind.errors import ConfigError

SECRET = bytes(range(32))


def app(port: int = 1, secret: bytes = SECRET) -> RunningApp:
    address = f"http://127.0.0.1:{port}/"
    return RunningApp(address, address, secret, True, os.getpid())


@contextmanager
def answering(secret: bytes | None) -> Iterator[int]:
    """Run a server that proves to know this secret; with None it answers everything with 200 and no proof."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if secret is None else 403)
            if secret is not None:
                self.send_header(PROOF_HEADER, prove(secret, self.headers[NONCE_HEADER]))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has there
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def test_what_is_announced_is_found_and_withdrawn(tmp_path: Path) -> None:
    data = tmp_path / "new" / "data"
    assert find_running(data) is None
    announce(data, app(1))
    announce(data, app(2))
    assert find_running(data) == app(2)
    withdraw(data, app(1))
    assert find_running(data) == app(2), "another app's file stays"
    withdraw(data, app(2))
    assert find_running(data) is None
    withdraw(data, app(2))
    assert not list(data.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX; on Windows the folder's own list decides")
def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    os.umask(old := os.umask(0))
    try:
        os.umask(0)
        announce(tmp_path / "data", app())
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "data" / "app.json").stat().st_mode) == 0o600


@pytest.mark.skipif(os.name == "nt", reason="links need an administrator on Windows")
def test_links_are_not_followed(tmp_path: Path) -> None:
    data, precious = tmp_path / "data", tmp_path / "precious"
    data.mkdir()
    precious.write_text("mine")
    (data / "app.json").symlink_to(precious)
    for work in (lambda: find_running(data), lambda: announce(data, app())):
        with pytest.raises(ConfigError, match="cannot be read"):
            work()
    (data / "open.html").symlink_to(precious)
    remove_opening_page(data)
    with pytest.raises(FileExistsError):
        open_browser(data, "http://127.0.0.1/")
    assert precious.read_text() == "mine"
    assert (data / "open.html").is_symlink()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "my project"}', '{"pid": "x"}', "\0" * 5_000])
def test_a_file_of_ones_own_with_such_a_name_is_left_alone(tmp_path: Path, text: str) -> None:
    """A data folder may be a folder that is used for something else."""
    for name in ("app.json", "open.html"):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o644)
    assert find_running(tmp_path) is None
    with pytest.raises(FileExistsError, match="not DocMind's"):
        announce(tmp_path, app())
    with pytest.raises(FileExistsError, match="not DocMind's"):
        open_browser(tmp_path, "http://127.0.0.1/")
    withdraw(tmp_path, app())
    remove_opening_page(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"app.json": text, "open.html": text}


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
@pytest.mark.parametrize("mode", [0o604, 0o640, 0o620, 0o606])
def test_a_file_that_others_can_read_or_write_is_not_used(tmp_path: Path, mode: int) -> None:
    announce(tmp_path, app())
    (tmp_path / "app.json").chmod(mode)
    with pytest.raises(ConfigError, match="another user"):
        find_running(tmp_path)


def test_a_file_of_another_user_is_not_used(tmp_path: Path) -> None:
    require(hasattr(os, "geteuid") and os.geteuid() == 0, "giving a file away needs root")
    announce(tmp_path, app())
    os.chown(tmp_path / "app.json", 65534, 65534)
    with pytest.raises(ConfigError, match="another user"):
        find_running(tmp_path)


@pytest.mark.slow
def test_an_app_is_alive_only_if_it_proves_to_be_the_one() -> None:
    with answering(SECRET) as port:
        assert is_alive(app(port))
        assert not is_alive(app(port, bytes(32)))
    assert not is_alive(app(port)), "nobody listens there any more"
    with answering(None) as port:
        assert not is_alive(app(port)), "another server has taken the port"
