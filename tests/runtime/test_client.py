"""Clients of child processes: several requests at once, deaths, idleness, and answers that are lies."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from docmind.errors import CorruptFileError, ReadingError, TooLargeError, VaultError, WorkerFailedError
from docmind.runtime.client import Ask, Client, error_named, restarts
from docmind.runtime.limits import Limits
from docmind.runtime.worker import Frame, read_frame, refusal, serve_requests, write_frame
from starting import started_by

ENTRY = "test_client:answers"


@pytest.fixture(autouse=True, params=["fork", "spawn"])
def _importable(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """Let children import their entry functions from this file, and start them in each way."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    with started_by(request.param):
        yield


def answers(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    def answer(header: dict[str, Any], blobs: list[bytes]) -> Frame:
        if header["do"] == "pid":
            return {"pid": os.getpid()}, []
        if header["do"] == "wait":
            time.sleep(header["s"])
        if header["do"] == "die":
            mark = Path(header["mark"])
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        if header["do"] == "refuse":
            raise TooLargeError("too much", hint="less")
        if header["do"] == "fail":
            raise KeyError("of a library")
        return {"do": header["do"]}, blobs

    def explain(header: dict[str, Any], error: Exception) -> Exception:
        return CorruptFileError(f"{header['do']}: {type(error).__name__}")

    with ThreadPoolExecutor(1) as aside:
        serve_requests(incoming, outgoing, answer, explain, {"wait": aside.submit})


def liar(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    while read_frame(incoming) is not None:
        write_frame(outgoing, {"id": 77})


@pytest.fixture
def client() -> Any:
    client = Client(ENTRY)
    yield client
    client.end()


def test_nothing_starts_before_the_first_request(client: Client) -> None:
    assert client.pid is None
    assert client.call({"do": "echo"}, [b"one", b"two"], timeout_s=30)[1] == [b"one", b"two"]
    assert client.call({"do": "pid"}, timeout_s=30)[0]["pid"] == client.pid


@pytest.mark.slow
def test_a_process_that_was_started_with_other_limits_is_replaced() -> None:
    limits, before = [Limits(memory_mb=800)], restarts().get(ENTRY, 0)
    client = Client(ENTRY, lambda: limits[0])
    try:
        first = client.call({"do": "pid"}, timeout_s=30)[0]["pid"]
        assert client.call({"do": "pid"}, timeout_s=30)[0]["pid"] == first
        limits[0] = Limits(memory_mb=900)
        assert client.call({"do": "pid"}, timeout_s=30)[0]["pid"] not in (first, None)
        assert restarts().get(ENTRY, 0) == before  # it did not die
    finally:
        client.end()


def test_a_request_is_answered_while_another_one_waits(client: Client) -> None:
    client.start()
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(client.call, {"do": "wait", "s": 1.0}, timeout_s=30)
        time.sleep(0.2)
        assert client.call({"do": "echo"}, timeout_s=30)[0]["do"] == "echo"
        assert not slow.done()
        assert slow.result()[0]["do"] == "wait"


def test_errors_of_the_child_are_named_and_it_goes_on(client: Client) -> None:
    refused, _ = client.call({"do": "refuse"}, timeout_s=30)
    error = error_named(refused, ReadingError)
    assert (type(error), str(error), error.hint) == (TooLargeError, "too much", "less")
    failed = error_named(client.call({"do": "fail"}, timeout_s=30)[0], ReadingError)
    assert (type(failed), str(failed)) == (CorruptFileError, "fail: KeyError")
    assert client.call({"do": "echo"}, timeout_s=30)[0]["do"] == "echo"


@pytest.mark.parametrize("name", ["VaultError", "ReadingSettings", "Path", "__doc__", ""])
def test_only_accepted_errors_can_be_named(name: str) -> None:
    error = error_named({"error": name, "message": "text"}, ReadingError)
    assert (type(error), str(error), error.hint) == (ReadingError, "text", ReadingError.hint)
    assert type(error_named(refusal(VaultError("closed"))[0], ReadingError, VaultError)) is VaultError


@pytest.mark.slow
@pytest.mark.crash
def test_a_repeatable_request_survives_one_death(client: Client, tmp_path: Path) -> None:
    before = restarts().get(ENTRY, 0)
    asked = {"do": "die", "mark": str(tmp_path / "once")}
    assert client.call(asked, timeout_s=30, is_repeatable=True)[0]["do"] == "die"
    with pytest.raises(WorkerFailedError, match="ended by itself"):
        client.call({"do": "die", "mark": str(tmp_path / "twice")}, timeout_s=30)
    assert client.call({"do": "echo"}, timeout_s=30)[0]["do"] == "echo"
    assert restarts()[ENTRY] - before == 2


def test_a_request_that_takes_too_long_ends_the_process(client: Client) -> None:
    client.start()
    before, counted = client.pid, restarts().get(ENTRY, 0)
    with pytest.raises(WorkerFailedError, match="longer than 0 s"):
        client.call({"do": "wait", "s": 60}, timeout_s=0.3, is_repeatable=True)
    assert client.pid is None
    client.start()
    assert client.pid != before
    assert restarts()[ENTRY] - counted == 1


@pytest.mark.slow
def test_ending_it_fails_what_runs_and_the_next_call_starts_it(client: Client) -> None:
    client.start()
    counted = restarts().get(ENTRY, 0)
    threading.Timer(0.3, client.end).start()
    with pytest.raises(WorkerFailedError, match="it was stopped"):
        client.call({"do": "wait", "s": 60}, timeout_s=30, is_repeatable=True)
    assert client.call({"do": "echo"}, timeout_s=30)[0]["do"] == "echo"
    assert restarts().get(ENTRY, 0) == counted  # it did not fail


@pytest.mark.slow
def test_an_idle_process_ends() -> None:
    client = Client(ENTRY, idle_s=0.4)
    client.start()
    deadline = time.monotonic() + 30
    while client.pid is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert client.pid is None
    assert client.call({"do": "echo"}, timeout_s=30)[0]["do"] == "echo"
    client.end()


def test_a_held_process_does_not_end_as_idle() -> None:
    client = Client(ENTRY, idle_s=0.2)
    assert not client.is_held
    with client.hold():
        pid = client.pid
        assert client.is_held
        time.sleep(1.0)
        assert client.pid == pid
    assert not client.is_held
    deadline = time.monotonic() + 30
    while client.pid is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert client.pid is None


@pytest.mark.slow
def test_each_process_is_prepared_before_it_is_asked() -> None:
    prepared: list[int] = []

    def prepare(ask: Ask) -> None:
        prepared.append(ask({"do": "pid"}, timeout_s=30)[0]["pid"])

    client = Client(ENTRY, prepare=prepare)
    for _ in range(2):
        with ThreadPoolExecutor(3) as pool:
            pids = {pool.submit(client.call, {"do": "pid"}, timeout_s=30).result()[0]["pid"] for _ in range(3)}
        assert pids == {prepared[-1]}
        client.end()
    assert len(set(prepared)) == 2


def test_a_failed_preparation_leaves_no_process() -> None:
    def prepare(_ask: Ask) -> None:
        raise CorruptFileError("no model")

    client = Client(ENTRY, prepare=prepare)
    with pytest.raises(CorruptFileError):
        client.start()
    assert client.pid is None


def test_an_answer_to_no_request_is_an_error() -> None:
    client = Client("test_client:liar")
    with pytest.raises(WorkerFailedError, match="not asked"):
        client.call({"do": "echo"}, timeout_s=30)
    client.end()


def stuck(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    time.sleep(60)


def test_a_child_that_does_not_read_is_stopped_in_time() -> None:
    client = Client("test_client:stuck")
    began = time.monotonic()
    with pytest.raises(WorkerFailedError, match="took longer"):  # and not that it ended by itself
        client.call({"do": "echo"}, [bytes(10_000_000)], timeout_s=0.5)
    assert time.monotonic() - began < 20
    client.end()
