"""A file that the app refuses before it has taken it: the client tells why."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest

from docmind.access import RunningApp
from docmind.client import Client
from docmind.errors import AppNotOpenError, ConfigError


def app_that_answers(folder: Path, answer: bytes) -> RunningApp:
    """Start a server that answers one request after its first bytes, and closes."""
    place = folder / "app.sock"
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(place))
    listening.listen(1)

    def serve() -> None:
        with listening, listening.accept()[0] as one:
            one.recv(512)
            one.sendall(answer)
            one.shutdown(socket.SHUT_RD)

    threading.Thread(target=serve, daemon=True).start()
    return RunningApp(url="", local="", secret=b"", is_token_required=False, pid=0, socket=str(place))


def test_the_reason_is_told_though_the_file_was_not_taken(tmp_path: Path) -> None:
    told = json.dumps({"error": {"kind": "ConfigError", "message": "replace is no number.", "hint": ""}}).encode()
    answer = b"HTTP/1.1 422 No\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(told), told)
    client = Client(app_that_answers(tmp_path, answer))
    with pytest.raises(ConfigError, match="replace is no number"):
        client.exchange("POST", "/uploads?name=a.txt&replace=perhaps", b"x" * (8 << 20))


def test_an_app_that_ends_meanwhile_is_closed(tmp_path: Path) -> None:
    client = Client(app_that_answers(tmp_path, b""))
    with pytest.raises(AppNotOpenError, match="closed"):
        client.exchange("POST", "/uploads?name=a.txt", b"x" * (8 << 20))
