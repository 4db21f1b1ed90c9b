"""Child processes: frames, limits, ends."""

from __future__ import annotations

import io
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from docmind.errors import WorkerFailedError
from docmind.runtime import refusals
from docmind.runtime.limits import Limits
from docmind.runtime.worker import MAX_BLOB, Worker, read_frame, write_frame
from starting import started_by

HERE = str(Path(__file__).parent)


@pytest.fixture(autouse=True, params=["fork", "spawn"])
def _importable(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """Let children import their entry functions from this file, and start them in each way."""
    monkeypatch.setenv("PYTHONPATH", HERE, prepend=os.pathsep)
    with started_by(request.param):
        yield


def echo(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    while (frame := read_frame(incoming)) is not None:
        print("what a library prints must not reach the pipe")
        write_frame(outgoing, *frame)


def flood(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    number = 0
    while True:
        write_frame(outgoing, {"number": number}, [bytes(1_000_000)])
        number += 1


def sleep(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    time.sleep(60)


def greed(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    write_frame(outgoing, {"size": len(bytes(1 << 30))})


def call_home(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    try:
        socket.create_connection(("127.0.0.1", 9), timeout=2)
        answer = "reached"
    except PermissionError:
        answer = "refused"
    write_frame(outgoing, {"answer": answer})


def write_file(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    name = read_frame(incoming)[0]["name"]  # type: ignore[index]
    try:
        Path(name).write_bytes(b"x" * 100_000)
        answer = "written"
    except OSError:
        answer = "refused"
    write_frame(outgoing, {"answer": answer})


@pytest.mark.slow
def test_frames_travel_both_ways() -> None:
    worker = Worker("test_worker:echo")
    try:
        for size in (0, 1, 3_000_000):
            header, blobs = worker.call({"size": size, "name": "ação"}, [b"a" * size, b""], timeout_s=30)
            assert header == {"size": size, "name": "ação"}
            assert [len(blob) for blob in blobs] == [size, 0]
    finally:
        worker.close()
    assert not worker.is_alive


def test_a_torn_frame_is_an_error_and_an_end_is_none() -> None:
    refusals.take()  # what children of other tests were refused, which the next frame would tell
    out = io.BytesIO()
    write_frame(out, {"a": 1}, [b"blob"])
    assert read_frame(io.BytesIO(b"")) is None
    assert read_frame(io.BytesIO(out.getvalue())) == ({"a": 1}, [b"blob"])
    for cut in (1, 6, len(out.getvalue()) - 1):
        with pytest.raises(WorkerFailedError):
            read_frame(io.BytesIO(out.getvalue()[:cut]))


def test_an_absurd_frame_is_refused_before_it_is_read() -> None:
    with pytest.raises(WorkerFailedError, match="cannot be read"):
        read_frame(io.BytesIO(b"\xff\xff\xff\xff"))


@pytest.mark.parametrize("header", [b"[]", b"7", b"{", b"\xff", b"[" * 200_000])
def test_a_header_of_another_shape_is_refused(header: bytes) -> None:
    with pytest.raises(WorkerFailedError, match="header"):
        read_frame(io.BytesIO(struct.pack(">I", len(header)) + header + struct.pack(">I", 0)))


def test_blobs_too_large_in_sum_are_refused_before_they_are_read() -> None:
    frame = struct.pack(">I", 2) + b"{}" + struct.pack(">I", 2)
    frame += struct.pack(">Q", 3) + b"abc" + struct.pack(">Q", MAX_BLOB - 2)
    with pytest.raises(WorkerFailedError, match="too large"):
        read_frame(io.BytesIO(frame))


def test_too_many_blobs_are_refused_before_they_are_read() -> None:
    frame = struct.pack(">I", 2) + b"{}" + struct.pack(">I", 1 << 31) + bytes(8 * 100)
    with pytest.raises(WorkerFailedError, match="more blobs"):
        read_frame(io.BytesIO(frame))


@pytest.mark.slow
def test_a_fast_child_is_held_back() -> None:
    worker = Worker("test_worker:flood", ahead=2)
    try:
        time.sleep(1.0)
        assert worker._frames.qsize() <= 2
        assert [worker.receive(30)[0]["number"] for _ in range(5)] == [0, 1, 2, 3, 4]
    finally:
        worker.kill()
    assert not worker.is_alive


def test_silence_ends_in_an_error() -> None:
    worker = Worker("test_worker:sleep")
    with pytest.raises(WorkerFailedError, match="said nothing"):
        worker.receive(0.5)
    assert not worker.is_alive


def test_death_ends_in_an_error() -> None:
    worker = Worker("test_worker:missing")
    with pytest.raises(WorkerFailedError):
        worker.receive(30)
    worker.kill()
    with pytest.raises(WorkerFailedError):
        worker.send({"size": 1}, [bytes(1_000_000)])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems are watched from outside")
def test_memory_is_limited() -> None:
    worker = Worker("test_worker:greed", Limits(memory_mb=512))
    with pytest.raises(WorkerFailedError):
        worker.receive(30)
    worker.kill()


def test_there_is_no_network() -> None:
    worker = Worker("test_worker:call_home")
    try:
        assert worker.receive(30)[0] == {"answer": "refused"}
    finally:
        worker.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on file sizes")
def test_files_are_limited(tmp_path: Path) -> None:
    worker = Worker("test_worker:write_file", Limits(file_mb=0))
    try:
        assert worker.call({"name": str(tmp_path / "x")}, timeout_s=30)[0] == {"answer": "refused"}
    finally:
        worker.kill()
