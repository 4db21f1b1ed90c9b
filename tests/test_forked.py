"""Programs that tests fork: each start is a process of its own that behaves as one that was started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import forked
from conftest import require
from docmind.access import find_running, is_alive
from forked import can_fork
from served import App

pytestmark = [pytest.mark.slow]
WAITING = "import sys; print('ready', flush=True); print(sys.stdin.readline())"


def ended(code: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return forked.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, **options)


def started(code: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Do the same with a Python that was started. What runs in the background of a shell has Ctrl-C ignored."""

    def heed_ctrl_c() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=heed_ctrl_c, **options)


def test_a_fork_has_what_a_start_has(tmp_path: Path) -> None:
    """Arguments, variables, folder, streams, paths and the main module, as Python gives them."""
    code = (
        "import json, os, signal, sys, time\n"
        "print(json.dumps([sys.argv, os.environ['MINE'], os.environ.get('HOME'), os.getcwd(), sys.path[0], __name__,\n"
        "  vars(sys.modules['__main__']) is globals(), sys.stdin.read(), sys.stdin.encoding,\n"
        "  sys.stdin.errors, sys.stdout.encoding, sys.stdout.errors, sys.stderr.encoding, sys.stderr.errors,\n"
        "  sys.stdout.isatty(), sys.stdout.line_buffering, sys.stderr.line_buffering, time.tzname, __spec__,\n"
        "  signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.getsignal(signal.SIGCHLD),\n"
        "  os.getpgid(0), sorted(map(int, os.listdir('/proc/self/fd')))[:3]]))\n"
        "print('told', file=sys.stderr)\n"
        "sys.path.index(sys.argv[1])\n"
    )
    for more in (
        {}, {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1:replace", "TZ": "Asia/Tokyo"},
        {"PYTHONUNBUFFERED": "1"},
    ):  # fmt: skip
        environment = {"MINE": "one", "LC_ALL": "C.UTF-8", "PYTHONPATH": str(tmp_path), **more}
        options = {"cwd": tmp_path, "env": environment, "input": "some\nlines"}
        one, other = (how(code, str(tmp_path), "ø", **options) for how in (ended, started))
        assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr), more


@pytest.mark.parametrize(
    "code",
    ["raise SystemExit(7)", "raise SystemExit('a sentence')", "raise SystemExit", "import sys; sys.exit(True)",
     "1 / 0", "raise KeyboardInterrupt", "import os; os._exit(5)", "import os, signal; os.kill(os.getpid(), 15)",
     "import atexit; atexit.register(print, 'at the end')", "print('kept in a buffer')",
     "import threading, time; threading.Timer(0.1, print, ['a thread']).start()",
     "class Left:\n def __del__(self): print('left')\nleft = Left(); left.itself = left"],
)  # fmt: skip
def test_a_fork_ends_as_a_start_does(code: str) -> None:
    one, other = ended(code), started(code)
    assert (one.returncode, one.stdout) == (other.returncode, other.stdout)
    assert one.stderr.splitlines()[-1:] == other.stderr.splitlines()[-1:]
    assert one.stderr.splitlines()[:1] == other.stderr.splitlines()[:1]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_output_is_told_as_a_start_tells_it(unbuffered: str) -> None:
    require(os.path.exists("/dev/full"), "/dev/full")
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    told = []
    with open("/dev/full", "wb") as full:
        for run in (forked.run, subprocess.run):
            command = [sys.executable, "-c", "print('lost')"]
            told.append(run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment))
    assert [one.returncode for one in told] == [1 if unbuffered else 120] * 2
    assert all("No space left" in one.stderr for one in told)


def test_a_module_is_run_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("import sys\nprint(__name__, __file__, sys.argv, sys.path[0])\nsys.exit(3)\n")
    command = [sys.executable, "-m", "own", "word"]
    one, other = (run(command, cwd=tmp_path, capture_output=True, text=True) for run in (forked.run, subprocess.run))
    assert (one.returncode, one.stdout) == (other.returncode, other.stdout)
    assert one.returncode == 3


def test_a_program_is_written_to_read_from_signalled_and_killed() -> None:
    command = [sys.executable, "-c", WAITING]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with forked.popen(command, **pipes) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        assert program.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(0.01)
        program.stdin.write("herons\n")
        assert program.communicate(timeout=60) == ("herons\n\n", "")
        assert program.returncode == 0
        program.send_signal(signal.SIGTERM)  # it has ended: nobody gets it
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        with forked.popen(command, **pipes) as program:
            assert program.stdout is not None
            program.stdout.readline()
            program.send_signal(number)
            said, told = program.communicate(timeout=60)
        assert program.returncode == -number
        assert said == ""
        assert told.startswith("Traceback") is (number == signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        ended("import time; time.sleep(60)", timeout=0.2)
    with pytest.raises(subprocess.CalledProcessError):
        ended("raise SystemExit(1)", check=True)


def test_one_start_sees_nothing_of_another(tmp_path: Path) -> None:
    require(can_fork(), "only Linux forks programs")
    spoils = (
        "import docmind.config, os, random, sys\n"
        "docmind.config.spoilt = os.environ['SPOILT'] = 'yes'\n"
        "os.chdir('/'); os.umask(0o777); sys.path.clear(); print(random.random())\n"
    )
    looks = (
        "import docmind.config, os, random, sys\n"
        "print(hasattr(docmind.config, 'spoilt'), 'SPOILT' in os.environ, os.getcwd(), len(sys.path) > 3,\n"
        "  os.umask(0) != 0o777, sorted(name for name in globals() if not name.startswith('_')))\n"
    )
    numbers = {ended(spoils, cwd=tmp_path).stdout for _ in range(3)}
    assert len(numbers) == 3, "each has a seed of its own"
    wanted = f"False False {tmp_path} True True ['docmind', 'os', 'random', 'sys']\n"
    assert ended(looks, cwd=tmp_path).stdout == wanted
    # The pipe of one is not held open by another that was forked meanwhile.
    command = [sys.executable, "-c", WAITING]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with forked.popen(command, **pipes) as first, forked.popen(command, **pipes) as second:
        assert first.communicate(timeout=60) == ("ready\n\n", None)
        assert second.poll() is None
        second.kill()


def test_a_terminal_is_that_of_the_program(tmp_path: Path) -> None:
    from terminals import CTRL_C, ENTER, Terminal

    code = (
        "import os, sys, time\n"
        "print(sys.stdin.isatty(), sys.stdout.isatty(), os.ttyname(0) == os.ttyname(2),\n"
        "  os.tcgetpgrp(0) == os.getpid(), os.getsid(0) == os.getpid(), tuple(os.get_terminal_size()))\n"
        "print('said', input('name? '))\n"
        "time.sleep(60)\n"
    )
    screen = Terminal([sys.executable, "-c", code], {})
    try:
        screen.wait_for("True True True True True (80, 24)")
        screen.wait_for("name? ")
        screen.type("herons" + ENTER).wait_for("said herons\r\n")
        screen.type(CTRL_C).wait_for("KeyboardInterrupt")
        assert screen.end() == -signal.SIGINT
    finally:
        screen.close()


def test_each_start_has_its_own_process_secrets_and_variables(tmp_path: Path) -> None:
    require(can_fork(), "only Linux can fork the app safely")
    folders = [tmp_path / "first", tmp_path / "second"]
    apps = []
    for folder, token in zip(folders, ("on", "off"), strict=True):
        folder.mkdir()
        apps.append(App(folder, DOCMIND_EMBEDDING__MODEL="fake", DOCMIND_APP__TOKEN=token))
        apps[-1].start()  # the first goes on
    try:
        assert apps[0].url != apps[1].url, "the port of an app that runs is not taken"
        first, second = (find_running(folder / "data") for folder in folders)
        assert first is not None
        assert second is not None
        assert len({first.secret, second.secret}) == 2
        assert len({first.pid, second.pid, os.getpid()}) == 3
        assert (first.is_token_required, second.is_token_required) == (True, False)
        assert all(is_alive(app) for app in (first, second))
        apps[0].kill()
        assert not is_alive(first)
        assert is_alive(second)
        apps[0].start()  # over the lock of the one that was killed
        again = find_running(folders[0] / "data")
        assert again is not None
        assert again.secret != first.secret
    finally:
        for app in apps:
            app.stop()
    assert not (folders[1] / "data" / "app.json").exists(), "it ends as the command does"
    for app in apps:
        assert "Traceback" not in app.log()
        assert "MemoryCacheStorageManager" not in app.log(), "a page was imported before the server ran"
