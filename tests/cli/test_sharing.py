"""Commands beside a command that has the library open for long: they are answered by it, and lose nothing with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import forked
from conftest import HELPERS, ROOT
from desks import report
from docmind.access import COMMAND_FILE, COMMAND_SOCKET, find_owner
from docmind.client import connect
from docmind.errors import AppNotOpenError
from shells import Shell, stocked_shell

pytestmark = pytest.mark.slow
_PATIENCE_S = 60

# A command whose readings are held after a page until the file `go` is there. `how` is the way in which it serves
# others: by a Unix socket, by a port as on Windows, or not at all.
PROGRAM = """
import sys, time
from pathlib import Path
from unittest import mock
from docmind.api import sharing
from docmind.cli import main
from docmind.ingest.jobs import _Current

go, how, page = Path(sys.argv.pop(1)), sys.argv.pop(1), _Current._page
if how == "port":
    sharing.listen_private = lambda *_: None
if how == "alone":
    sharing.Sharing._serve = lambda _: None

def held(self, stage, done, total):
    page(self, stage, done, total)
    while done > 1 and not (go.exists() or self.stop.is_set()):
        time.sleep(0.01)

with mock.patch.object(_Current, "_page", held):
    main()
"""
HOW = "socket" if sys.platform in ("linux", "darwin") else "port"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = stocked_shell(tmp_path)
    upload = report("long", 6)
    shell.file(upload.name, upload.data)
    return shell


def started(shell: Shell, *words: str | Path, how: str = HOW) -> forked.Started:
    environment = {**os.environ, **shell.environment, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *HELPERS])}
    command = [sys.executable, "-c", PROGRAM, str(shell.folder / "go"), how, *map(str, words)]
    return forked.popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def until(is_so: object, process: forked.Started | None = None) -> None:
    assert callable(is_so)
    ends = time.monotonic() + _PATIENCE_S
    while not is_so():
        assert time.monotonic() < ends
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.05)


def is_serving(shell: Shell) -> bool:
    return find_owner(shell.folder / "data") is not None


@contextmanager
def adding(shell: Shell, *, how: str = HOW) -> Iterator[forked.Started]:
    """Have a command add `long.pdf`, held in the middle."""
    process = started(shell, "add", shell.files / "long.pdf", how=how)
    try:
        if how == "alone":
            until(lambda: (shell.folder / "data" / "lock").read_bytes() == str(process.pid).encode(), process)
        else:
            until(lambda: is_serving(shell), process)
        yield process
        (shell.folder / "go").touch()
        process.wait(_PATIENCE_S)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("how", ["socket", "port"])
def test_commands_are_answered_while_another_one_adds(shell: Shell, how: str) -> None:
    if how == "socket" and how != HOW:
        pytest.skip("there are no such sockets")
    with adding(shell, how=how) as process:
        until(lambda: "reading" in [info["state"] for info in shell.json("queue", "list")["files"]], process)
        listed = shell.run("list")
        assert "herons.pdf" in listed.stdout
        assert "waiting for it" not in listed.stderr
        assert "412 sticks" in shell.run("ask", "How many sticks are the nests made of?").stdout
        assert shell.json("search", "nest in tall trees")["hits"][0]["document"] == "herons.pdf"
        shell.run("tag", "herons.pdf", "--add", "water")
        with connect(shell.folder / "data") as client:
            assert client.documents.counts()[0] >= 2
        refused = shell.run("reindex", code=11)
        assert "in use by another DocMind" in refused.stderr
        assert process.poll() is None
    assert process.returncode == 0
    assert {info["document"] for info in shell.json("list")["documents"]} == {"herons.pdf", "owls.txt", "long.pdf"}
    assert not (shell.folder / "data" / COMMAND_FILE).exists()
    assert not (shell.folder / "data" / COMMAND_SOCKET).exists()


def test_the_control_is_refused(shell: Shell) -> None:
    """The negative control: a command that serves nobody has the library alone."""
    with adding(shell, how="alone"):
        assert "in use by another DocMind" in shell.run("list", code=11).stderr
        with pytest.raises(AppNotOpenError):
            connect(shell.folder / "data")


@pytest.mark.parametrize("end", ["by itself", "Ctrl-C", "killed"])
def test_a_second_add_loses_nothing_with_the_first(shell: Shell, end: str) -> None:
    """It hands its files to the first one, and reads on where that one ends before it has read them."""
    kettle = shell.file("kettle.txt", b"The kettle is descaled in June.")
    slow = shell.file("slow.pdf", report("slow", 4).data)  # held too
    with adding(shell) as first:
        second = started(shell, "add", kettle, slow)
        client = connect(shell.folder / "data")
        names = {"kettle.txt", "slow.pdf"}
        until(lambda: names <= {info.document for info in client.queue.uploads("waiting")}, second)
        if end != "by itself":
            first.send_signal(signal.SIGINT if end == "Ctrl-C" else signal.SIGKILL)
            first.wait(_PATIENCE_S)
        (shell.folder / "go").touch()
        out, err = second.communicate(timeout=_PATIENCE_S)
    assert second.returncode == 0, err
    assert "Added kettle.txt: 1 page" in out
    assert "Added slow.pdf: 4 pages" in out
    added = {info["document"] for info in shell.json("list")["documents"] if info["status"] == "ready"}
    assert added >= {"herons.pdf", "owls.txt", *names}
    if end != "Ctrl-C":
        assert "long.pdf" in added
    else:
        shell.run("queue", "resume")
        assert "long.pdf" in {info["document"] for info in shell.json("list")["documents"]}


def test_a_killed_command_leaves_nothing_in_the_way(shell: Shell) -> None:
    with adding(shell) as process:
        process.kill()
        process.wait(_PATIENCE_S)
    assert (shell.folder / "data" / COMMAND_FILE).exists()
    with pytest.raises(AppNotOpenError):
        connect(shell.folder / "data")
    assert "herons.pdf" in shell.run("list").stdout
    (shell.folder / "go").unlink()
    with adding(shell):
        assert "herons.pdf" in shell.run("list").stdout


def test_a_question_under_way_is_answered_before_the_end(shell: Shell) -> None:
    """What was asked of a command is answered although its own work is done."""
    with adding(shell) as first:
        client = connect(shell.folder / "data")
        (shell.folder / "go").touch()
        answers = 0
        try:
            while first.poll() is None:
                client.search("nest in tall trees")
                answers += 1
        except AppNotOpenError as error:  # refused as a whole: no answer was cut off
            assert isinstance(error.__cause__, ConnectionRefusedError | FileNotFoundError), error.__cause__  # noqa: PT017
    assert answers
    assert first.returncode == 0
