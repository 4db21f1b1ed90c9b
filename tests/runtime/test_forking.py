"""The process that children are forked from: what it holds, how it ends, and what happens without it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from desks import settings_in
from docmind.application import DocMind
from docmind.config import Settings
from docmind.errors import WorkerFailedError
from docmind.records.documents import Upload
from docmind.runtime import fork_server_pid, forking, start_children
from docmind.runtime.limits import Limits
from docmind.runtime.worker import Worker
from starting import is_gone, started_by


@pytest.fixture(autouse=True)
def _forked() -> Iterator[None]:
    """Fork children."""
    with started_by("fork"):
        yield


@contextlib.contextmanager
def child(entry: str, limits: Limits = Limits()) -> Iterator[Worker]:
    worker = Worker(f"children:{entry}", limits)
    try:
        yield worker
    finally:
        worker.kill()


def wait_until_gone(pid: int, patience_s: float = 10.0) -> None:
    until = time.monotonic() + patience_s
    while not is_gone(pid):
        assert time.monotonic() < until, f"process {pid} is still there"
        time.sleep(0.01)


def test_children_are_forks_of_one_process_with_facts_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERON", "one")
    monkeypatch.setenv("DOCMIND_KEYS__PASSPHRASE", "not for children")
    with child("facts", Limits(memory_mb=1500)) as first:
        monkeypatch.setenv("HERON", "two")
        with child("facts") as second:
            one = first.call({"environment": "HERON"}, timeout_s=30)[0]
            two = second.call({}, timeout_s=30)[0]
    assert one["parent"] == two["parent"] == fork_server_pid()
    assert len({one["pid"], two["pid"], one["parent"], os.getpid()}) == 4
    assert one["environment"] == {"HERON": "one"}
    assert two["environment"]["HERON"] == "two"
    assert not [name for name in two["environment"] if name.startswith("DOCMIND_")]
    assert one["at"] == os.getcwd()
    assert one["memory"] == 1500 << 20
    assert two["memory"] != one["memory"]
    assert one["random"] != two["random"]
    assert one["name"] == "children"


def test_a_child_holds_its_pipes_and_nothing_of_its_siblings() -> None:
    with child("facts") as first, child("facts") as second:
        first.call({}, timeout_s=30)
        files = second.call({}, timeout_s=30)[0]["files"]
    assert [name for name in files if not name.startswith("pipe:") and name != os.devnull] == []
    assert len([name for name in files if name.startswith("pipe:")]) == 2


@pytest.mark.slow
def test_the_process_that_forks_holds_no_file_and_no_setting(tmp_path: Path) -> None:
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.add([Upload("a.txt", b"Herons nest beside the river.")])
        assert docmind.search("heron").hits
        pid = fork_server_pid()
        assert pid is not None
        server = psutil.Process(pid)
        assert server.num_threads() == 1
        assert [file.path for file in server.open_files()] == []
        assert not [line for line in server.memory_maps(grouped=False) if str(tmp_path) in line.path]
        assert not [name for name in server.environ() if name.startswith("DOCMIND_")]
        assert {Path(one.cwd()) for one in [server]} == {Path.cwd()}


def test_exit_codes_are_those_of_the_child() -> None:
    for request, code in ({"code": 0}, 0), ({"code": 7}, 7), ({"signal": int(signal.SIGABRT)}, -6):
        with child("end_by_itself") as worker:
            worker.send(request)
            with pytest.raises(WorkerFailedError):
                worker.receive(30)
            assert worker.exit_code == code
            assert not worker.is_alive


def test_a_killed_child_is_gone_at_once_and_killing_it_again_does_nothing() -> None:
    with child("stay") as worker:
        pid = worker.receive(30)[0]["pid"]
        assert worker.is_alive
        worker.kill()
        assert is_gone(pid)
        assert worker.exit_code == -9


def test_a_server_that_is_killed_takes_its_children_along_and_is_started_again() -> None:
    with child("stay") as worker:
        pid, before = worker.receive(30)[0]["pid"], fork_server_pid()
        assert before is not None
        os.kill(before, signal.SIGKILL)
        wait_until_gone(pid)
        with pytest.raises(WorkerFailedError):
            worker.receive(30)
        assert worker.exit_code == -9
    with child("facts") as again:
        parent = again.call({}, timeout_s=30)[0]["parent"]
    assert parent == fork_server_pid() != before


def test_a_stopped_server_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with child("facts") as worker:
        worker.call({}, timeout_s=30)
    before = fork_server_pid()
    assert before is not None
    assert forking._server is not None
    forking._server._socket.settimeout(0.3)
    os.kill(before, signal.SIGSTOP)
    with child("facts") as again:
        assert again.call({}, timeout_s=30)[0]["parent"] == fork_server_pid() != before
    assert is_gone(before)


OWNER = """
import os, signal, sys, time
from docmind.runtime import fork_server_pid
from docmind.runtime.worker import Worker
worker = Worker("children:stay")
print(worker.receive(30)[0]["pid"], fork_server_pid(), flush=True)
if sys.argv[1] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
elif sys.argv[1] == "error":
    raise ValueError("an owner that ends by an error")
elif sys.argv[1] == "exit":
    os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["kill", "error", "exit", "end"])
def test_server_and_children_end_with_their_owner(how: str) -> None:
    out = subprocess.run([sys.executable, "-c", OWNER, how], capture_output=True, text=True, timeout=60)
    pids = [int(pid) for pid in out.stdout.split()]
    assert len(pids) == 2
    for pid in pids:
        wait_until_gone(pid)


CLOSING = """
import os, signal, sys
from docmind.runtime.worker import Worker
worker = Worker("children:close_slowly")
worker.call({"file": sys.argv[1]}, timeout_s=30)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_child_of_a_killed_owner_may_close_its_files(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    subprocess.run([sys.executable, "-c", CLOSING, str(closed)], timeout=60, check=False)
    until = time.monotonic() + 10
    while not closed.exists():
        assert time.monotonic() < until, "the child was killed while it closed its files"
        time.sleep(0.01)


def test_another_environment_of_the_interpreter_gets_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with child("facts") as first:
        before = fork_server_pid()
        monkeypatch.setenv("PYTHONHASHSEED", "7")
        with child("facts") as second:
            after = second.call({"environment": "PYTHONHASHSEED"}, timeout_s=30)[0]
            assert after["environment"] == {"PYTHONHASHSEED": "7"}
            assert after["parent"] == fork_server_pid() != before
            assert first.call({}, timeout_s=30)[0]["parent"] == before  # the old one waits for its last child
    assert before is not None
    wait_until_gone(before)


def test_a_server_that_cannot_fork_leaves_an_interpreter_of_its_own(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(8):  # more than a request holds
        monkeypatch.setenv(f"MUCH{number}", "x" * (forking.LARGEST // 8))
    with child("facts") as worker:
        assert worker.call({"environment": "HERON"}, timeout_s=30)[0]["parent"] == os.getpid()
    assert "slower" in caplog.text


def test_a_module_that_starts_a_thread_is_not_forked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork would have the module, and not its thread."""
    (tmp_path / "sitecustomize.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with child("facts") as worker:
        assert worker.call({"environment": "HERON"}, timeout_s=30)[0]["parent"] == os.getpid()


@pytest.mark.slow
def test_the_setting_starts_an_interpreter_for_each_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_PROCESSES__START", "spawn")
    settings = settings_in(tmp_path).model_copy(update={"processes": Settings.load().processes})
    with DocMind(settings) as docmind:
        docmind.add([Upload("a.txt", b"Herons nest beside the river.")])
        with child("facts") as worker:
            assert worker.call({"environment": "HERON"}, timeout_s=30)[0]["parent"] == os.getpid()
    start_children("auto")


@pytest.mark.slow
def test_readers_are_imported_before_the_first_file_of_their_kind() -> None:
    """While nothing is asked for; a reading process that starts afterwards has them."""
    worker = Worker("docmind.reading.process:serve")
    try:
        server = psutil.Process(fork_server_pid() or 0)
        until = time.monotonic() + 60
        while not any("_imagingft" in line.path for line in server.memory_maps()):
            assert time.monotonic() < until
            time.sleep(0.1)
        assert server.num_threads() == 1
    finally:
        worker.kill()


@pytest.mark.slow
def test_readers_are_imported_while_files_are_read_in_a_row() -> None:
    """One module after each fork, without a second in which nothing is asked for."""
    worker = Worker("docmind.reading.process:serve")
    worker.kill()
    server = psutil.Process(fork_server_pid() or 0)
    for _child in range(40):
        Worker("docmind.reading.process:serve").kill()
    assert any("/_csv." in line.path for line in server.memory_maps()), "which the reader of tables loads"
    assert server.num_threads() == 1
