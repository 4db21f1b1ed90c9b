"""Children have no network, native code included: by a namespace, by a filter, by both. Files: `test_confinement`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import CHROMIUM, ROOT, require
from docmind.config import ReadingSettings
from docmind.reading.reader import Reader
from docmind.records.documents import Upload
from docmind.runtime import sandbox
from docmind.runtime.limits import Limits
from docmind.runtime.worker import Worker, isolation
from papers import book, picture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux takes the network from a process")

# Native calls, which the Python hook of a worker does not see. The server listens on this machine, outside.
TRY = """
import ctypes, json, os, socket, struct, sys
from docmind.runtime import Limits, sandbox
ways, local, port = json.loads(sys.argv[1]), sys.argv[2] == "local", int(sys.argv[3])
held = sandbox.isolate(Limits(local_sockets=local), tuple(ways)) if ways else ()
libc = ctypes.CDLL(None, use_errno=True)
made = {family: libc.socket(family, 1, 0) >= 0 for family in (1, 2, 10)}
there = struct.pack("<H", 2) + struct.pack(">H", port) + socket.inet_aton("127.0.0.1") + bytes(8)
reached = libc.connect(libc.socket(2, 1, 0), there, 16) == 0
ring = libc.syscall(ctypes.c_long(425), 1, ctypes.create_string_buffer(120)) >= 0
pair = socket.socketpair()
pair[0].send(b"x")
print(json.dumps({"held": held, "made": made, "reached": reached, "ring": ring, "pair": pair[1].recv(1) == b"x"}))
"""


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def tried(ways: list[str], port: int, local: str = "none") -> dict[str, object]:
    command = [sys.executable, "-c", TRY, json.dumps(ways), local, str(port)]
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "src"))
    return json.loads(subprocess.check_output(command, env=environment, text=True))


def test_a_process_with_its_network_reaches_the_server(port: int) -> None:
    seen = tried([], port)
    assert seen["reached"]
    assert seen["made"] == {"1": True, "2": True, "10": True}


@pytest.mark.parametrize("way", ["namespace", "filter"])
def test_each_way_holds_alone(way: str, port: int) -> None:
    seen = tried([way], port)
    require(seen["held"], f"this system has no {way} for a process")
    assert seen["held"] == [way]
    assert not seen["reached"]
    assert seen["pair"]


def test_the_filter_leaves_no_socket_but_pairs(port: int) -> None:
    seen = tried(["filter"], port)
    require(seen["held"], "this system has no filter of system calls")
    assert seen["made"] == {"1": False, "2": False, "10": False}
    assert not seen["ring"]


def test_a_process_may_be_left_sockets_of_its_own(port: int) -> None:
    seen = tried(["filter"], port, "local")
    require(seen["held"], "this system has no filter of system calls")
    assert seen["made"] == {"1": True, "2": False, "10": False}


def test_a_worker_tells_what_holds() -> None:
    expected = sandbox_here()
    assert isolation() == expected
    networked = Worker("docmind.runtime.worker:idle", Limits(network=True))
    try:
        assert networked.isolation() == ()
    finally:
        networked.close()


@pytest.mark.slow
@pytest.mark.parametrize("denied", ["_filter_calls", "_hold_to_files", "_enter_empty_namespace"])
def test_documents_are_read_either_way(denied: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture, and a book drawn by Chromium, in children that one of the ways is denied."""
    require(CHROMIUM, "no Chromium on this system (Debian: apt install chromium)")
    patch = f"from docmind.runtime import sandbox\nsandbox.{denied} = lambda *_, **__: False\n"
    (tmp_path / "sitecustomize.py").write_text(patch)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    lost = {"_filter_calls": "filter", "_hold_to_files": "landlock", "_enter_empty_namespace": "namespace"}[denied]
    assert isolation() == tuple(way for way in sandbox_here() if way != lost)
    with Reader(ReadingSettings(timeout_s=60)) as reader:
        with reader.read(Upload("a.epub", book(["<p>An orchard is planted in rows.</p>"]))) as reading:
            assert "orchard" in next(iter(reading)).text
            assert reading.told == ""
        with reader.read(Upload("a.png", picture())) as reading:
            assert len(list(reading)) == 1


def sandbox_here() -> tuple[sandbox.Way, ...]:
    """Return the mechanisms that this system allows, tried in a separate process."""
    code = (
        "import json; from docmind.runtime import Limits, sandbox;"
        " print(json.dumps(sandbox.isolate(Limits(is_confined=True))))"
    )
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "src"))
    return tuple(json.loads(subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)))
