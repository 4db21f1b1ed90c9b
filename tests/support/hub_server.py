"""A real HTTP server on loopback that acts as a model hub, correctly or faultily.

`with serving({"google/siglip-base-patch16-224": files}) as hub: hub.queue("model.safetensors", Behaviour("cut", 100))`.
`received` lists what each request asked for, and how many bytes of a file it got. As a process, for browsers and for
killing: `python tests/support/hub_server.py REPOSITORY FOLDER [--port N] [--delay S]`.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import re
import socket
import struct
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from loopback import LoopbackHandler, LoopbackServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"
Kind = Literal[
    "answer", "cut", "reset", "wrong", "more", "html", "status", "redirect", "stall", "no_range", "odd_range"
]


@dataclass(frozen=True)
class Behaviour:
    """What happens to one request for a file, or for the list (queued under the name `list`).

    `at` is the byte after which it is cut, reset or silent, or the status; `location` is where a redirect leads.
    """

    kind: Kind = "answer"
    at: int = 0
    location: str = ""


@dataclass
class Received:
    """One request; `sent` counts the bytes of the body."""

    path: str
    start: int
    headers: dict[str, str]
    sent: int = 0


class HubServer(LoopbackServer):
    """The server on loopback. Thread-safe."""

    def __init__(self, repositories: Mapping[str, Mapping[str, bytes]], port: int = 0, *, delay_s: float = 0.0) -> None:
        super().__init__(port, _Handler)
        self.repositories = {name: dict(files) for name, files in repositories.items()}
        self.received: list[Received] = []
        self.listing: Any = None
        """Sent in place of every list where it is set: text, or what JSON can hold."""
        self.delay_s = delay_s
        """Passes before each 64 KB of a file."""
        self.over = threading.Event()
        self._queues: dict[str, deque[Behaviour]] = defaultdict(deque)

    def queue(self, name: str, *behaviours: Behaviour) -> None:
        """Set the behaviours of the next requests for this file; later ones get a correct answer."""
        self._queues[name].extend(behaviours)

    def next_behaviour(self, name: str) -> Behaviour:
        try:
            return self._queues[name].popleft()
        except IndexError:
            return Behaviour()

    def asked(self, name: str) -> list[Received]:
        """Return the requests for one file, oldest first."""
        return [one for one in self.received if one.path.split("?")[0].endswith(f"/{name}")]

    def listed(self, repository: str) -> dict[str, Any]:
        """Return the hub's description of a repository: large files are those with weights."""
        siblings = []
        for name, data in self.repositories[repository].items():
            sum_ = hashlib.sha1(f"blob {len(data)}\0".encode() + data).hexdigest()
            one: dict[str, Any] = {"rfilename": name, "size": len(data), "blobId": sum_}
            if name.endswith((".safetensors", ".gguf")):
                one["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
            siblings.append(one)
        return {"id": repository, "sha": COMMIT, "siblings": siblings}


class _Handler(LoopbackHandler):
    server: HubServer  # pyright: ignore[reportIncompatibleVariableOverride] - narrower than the library says

    def do_GET(self) -> None:  # noqa: N802 - the name is the library's
        span = re.fullmatch(r"bytes=([0-9]+)-", self.headers.get("Range", ""))
        seen = Received(self.path, int(span[1]) if span else 0, dict(self.headers))
        self.server.received.append(seen)
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/revision/([^/]+)", path):
            self._list(found[1], parse_qs(parts.query), seen)
        elif found := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            data = self.server.repositories.get(found[1], {}).get(found[3])
            if data is None or found[2] not in (COMMIT, "main"):
                self._whole(404, b"Entry not found", "text/plain", seen)
            else:
                self._file(self.server.next_behaviour(found[3]), data, seen)
        else:
            self._whole(404, b"Not found", "text/plain", seen)

    def _list(self, repository: str, query: dict[str, list[str]], seen: Received) -> None:
        behaviour = self.server.next_behaviour("list")
        if repository not in self.server.repositories:
            self._whole(401, b'{"error":"Invalid username or password."}', "application/json", seen)
        elif behaviour.kind != "answer":
            self._file(behaviour, b"{}", seen)
        elif self.server.listing is not None:
            body = self.server.listing
            text = body if isinstance(body, str) else json.dumps(body)
            self._whole(200, text.encode(), "application/json", seen)
        else:
            assert query == {"blobs": ["true"]}
            self._whole(200, json.dumps(self.server.listed(repository)).encode(), "application/json", seen)

    def _file(self, behaviour: Behaviour, data: bytes, seen: Received) -> None:
        match behaviour.kind:
            case "status":
                return self._whole(behaviour.at, b"no", "text/plain", seen)
            case "html":
                return self._whole(200, b"<html>Sign in to the network</html>", "text/html; charset=utf-8", seen)
            case "redirect":
                self.send_response(302)
                self.send_header("Location", behaviour.location)
                self.send_header("Content-Length", "0")
                return self.end_headers()
            case "wrong":
                data = bytes(byte ^ 1 for byte in data[:1]) + data[1:]
            case "more":
                data += b"x" * 1000
            case "no_range":
                seen.start = 0
        if seen.start > len(data):
            return self._whole(416, b"", "text/plain", seen)
        self.send_response(206 if seen.start else 200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(data) - seen.start))
        if seen.start:
            begin = seen.start + (7 if behaviour.kind == "odd_range" else 0)
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        is_broken = behaviour.kind in ("cut", "reset", "stall")
        return self._send(data[seen.start : behaviour.at if is_broken else None], seen, behaviour.kind)

    def _send(self, data: bytes, seen: Received, kind: Kind) -> None:
        for at in range(0, len(data), 1 << 16):
            time.sleep(self.server.delay_s)
            piece = data[at : at + (1 << 16)]
            self.wfile.write(piece)
            seen.sent += len(piece)
        if kind == "stall":
            self.server.over.wait(30)
        if kind == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        if kind in ("cut", "reset", "stall"):
            self.close_connection = True

    def _whole(self, status: int, body: bytes, kind: str, seen: Received) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        seen.sent += len(body)


@contextlib.contextmanager
def serving(repositories: Mapping[str, Mapping[str, bytes]], *, delay_s: float = 0.0) -> Iterator[HubServer]:
    server = HubServer(repositories, delay_s=delay_s)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join(10)


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a repository made of this folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("repository")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0)
    asked = parser.parse_args()
    server = HubServer({asked.repository: files_of(asked.folder)}, asked.port, delay_s=asked.delay)
    print(server.url, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
