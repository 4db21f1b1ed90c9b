"""The log of the real app as JSON: each line is one, and none repeats a word of documents, questions or requests."""

from __future__ import annotations

import http.client
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from desks import text_pdf
from docmind.client import connect
from docmind.records.documents import Upload
from served import Server

pytestmark = pytest.mark.slow

WORD = "Quokkazephyrine"
GREETING = 4  # lines with the link that opens the app, for the person who starts it


def uploads() -> list[Upload]:
    """Return files that are read, and files that make readers and libraries complain."""
    return [
        Upload(f"{WORD}.pdf", text_pdf([f"The {WORD} engine needs oil."], title=WORD)),
        Upload(f"{WORD} broken.pdf", f"%PDF-1.4 {WORD}".encode()),
        Upload(f"{WORD}.docx", b"PK\x03\x04" + WORD.encode()),
        Upload(f"{WORD}.png", b"\x89PNG\r\n\x1a\n" + WORD.encode()),
        Upload(f"{WORD}.html", f"<html><title>{WORD}</title><p>{WORD}".encode()),
        Upload(f"{WORD}.tex", f"\\section{{{WORD}}} \\begin{{itemize}}\\item {WORD}".encode()),
    ]


def answer(server: Server, method: str, path: str, headers: dict[str, str]) -> int:
    """Return the status of a request; 0 where the connection was ended."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request(method, path, headers=headers)
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def send(server: Server, data: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        try:
            connection.sendall(data)
            connection.recv(1_000)
        except OSError:  # it was ended, as it should be
            return


@pytest.mark.parametrize("level", ["debug", "warning"])
def test_each_line_is_json_and_says_nothing(tmp_path: Path, level: str) -> None:
    server = Server(
        tmp_path, DOCMIND_EMBEDDING__MODEL="fake", DOCMIND_LOG_FORMAT="json", DOCMIND_LOG_LEVEL=level,
        PYTHONWARNINGS="always",
    )  # fmt: skip
    server.start()
    try:
        client = connect(tmp_path / "data")
        results = client.add(uploads())
        assert {"added", "refused"} <= {result.status for result in results}
        client.ask(f"Where is the {WORD}?")
        token = {"Authorization": f"Bearer {client.tokens.new(WORD).secret}"}
        assert answer(server, "GET", "/metrics", token) == 200
        assert answer(server, WORD, "/metrics", token) == 405
        assert answer(server, "GET", f"/metrics?{WORD}={WORD}", token) == 200
        assert answer(server, "GET", "/metrics", {**token, f"X-{WORD}": WORD * 9_000}) in (0, 400, 431)
        assert answer(server, "GET", f"/{WORD}/../metrics", token) in (400, 403, 404)
        assert answer(server, "GET", f"/api/v1/documents/{WORD}", token) == 404
        send(server, f"GET /{WORD} {WORD}/1\r\n{WORD}\r\n\r\n".encode())
        send(server, f"GET /metrics HTTP/1.1\r\n{WORD}: ".encode() + WORD.encode() * 100_000)
        with ThreadPoolExecutor(24) as many:
            statuses = list(many.map(lambda _: answer(server, "GET", "/metrics", token), range(120)))
        assert set(statuses) == {200}
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("GET", "/metrics", headers=token)
        assert WORD.lower() not in connection.getresponse().read().decode().lower()
    finally:
        server.stop()
    lines = server.log().splitlines()
    told = [json.loads(line) for line in lines[GREETING:]]
    assert "ingestion_failed" in {line["event"] for line in told}
    assert "http://127.0.0.1" in lines[1]
    assert WORD.lower() not in server.log().lower()
    assert str(tmp_path) not in server.log()
