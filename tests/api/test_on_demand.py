"""The library of a process that needs it for moments: opened for a call, closed when idle or wanted, never created."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from conftest import ROOT
from desks import environment_of, opened, settings_in
from docmind.access import RunningApp, announce
from docmind.api import on_demand
from docmind.api.on_demand import OnDemand
from docmind.errors import AppNotOpenError, VaultBusyError, VaultError
from docmind.records.documents import Upload

pytestmark = pytest.mark.slow
_PATIENCE_S = 30


def is_free(folder: Path) -> bool:
    """Tell whether another owner can open the library."""
    try:
        opened(folder).close()
    except VaultBusyError:
        return False
    return True


def wait_until_free(folder: Path) -> None:
    until = time.monotonic() + _PATIENCE_S
    while not is_free(folder):
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with opened(tmp_path) as docmind:
        docmind.add([Upload("herons.txt", b"Herons nest in tall trees.")])
    return tmp_path


def test_the_library_is_held_during_a_call_and_given_back_when_idle(folder: Path) -> None:
    reach = OnDemand(settings_in(folder), idle_s=0.0)
    with reach.library() as library:
        assert library.documents.counts()[0] == 1
        time.sleep(2 * on_demand._LOOK_S)
        assert not is_free(folder)  # a call is going on, however long
    wait_until_free(folder)
    with reach.library() as library:
        assert library.documents.counts()[0] == 1
    reach.close()
    assert is_free(folder)
    with pytest.raises(VaultError), reach.library():
        pass


def test_an_error_of_a_call_keeps_nothing(folder: Path) -> None:
    reach = OnDemand(settings_in(folder), idle_s=0.0)
    with pytest.raises(ZeroDivisionError), reach.library():
        _ = 1 / 0
    wait_until_free(folder)
    reach.close()


def test_calls_at_once_share_one_library(folder: Path) -> None:
    reach, counts = OnDemand(settings_in(folder)), []

    def call() -> None:
        with reach.library() as library:
            counts.append(library.documents.counts()[0])

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [1] * 8
    reach.close()


def test_another_owner_is_told(folder: Path) -> None:
    reach = OnDemand(settings_in(folder))
    with opened(folder), pytest.raises(VaultBusyError, match="at the moment"), reach.library():
        pass
    with reach.library() as library:
        assert library.documents.counts()[0] == 1
    reach.close()


def test_a_library_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(VaultError, match="no library") as error, OnDemand(settings_in(tmp_path)).library():
        pass
    assert "docmind add" in error.value.hint
    assert not (tmp_path / "data").exists()


def test_an_app_that_was_killed_is_not_waited_for(folder: Path) -> None:
    app = RunningApp("http://127.0.0.1:9/", "http://127.0.0.1:9/", bytes(32), True, 1)
    announce(folder / "data", app)  # its file is left, and nothing listens there
    reach = OnDemand(settings_in(folder))
    with reach.library() as library:
        assert library.documents.counts()[0] == 1
    with pytest.raises(AppNotOpenError, match="was closed") as error, reach.library():
        raise AppNotOpenError("the app ended during a call")
    assert "Call the tool again" in error.value.hint
    reach.close()


def talking(folder: Path, tool: str, **more: str) -> subprocess.Popen[str]:
    """Start `docmind mcp` over this library, greet it, and call a tool without arguments."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": {}}},
    ]
    environment = {**environment_of(folder, **more), "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(
        [sys.executable, "-m", "docmind", "mcp"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, encoding="utf-8",
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
    process.stdin.flush()
    return process


def test_standard_output_carries_the_protocol_alone(folder: Path) -> None:
    """Even where the library has something to say: here it writes the log to its fullest."""
    with talking(folder, "list_documents", DOCMIND_LOG_LEVEL="debug") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("not JSON\n")
        process.stdin.flush()
        lines = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        lines += [json.loads(line) for line in process.stdout.read().splitlines()]
        assert process.wait(60) == 0
    told = {line["id"]: line for line in lines if line.get("id")}
    assert all(line["jsonrpc"] == "2.0" for line in lines)
    assert told[2]["result"]["structuredContent"]["total"] == 1
    assert is_free(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal between processes")
def test_a_signal_closes_the_library_and_ends_the_process(folder: Path) -> None:
    with talking(folder, "jobs") as process:
        assert process.stdout is not None
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert answers[1]["result"]["structuredContent"]["progress"]["state"] == "idle"
        assert not is_free(folder)  # for a minute
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert is_free(folder)
