"""The fault shim: it sees the calls that change files, fails the right one, and its log can be replayed."""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from conftest import require
from faults import shim
from faults.power import Disk

WRITER = """
import os, sys
folder = sys.argv[1]
with open(f"{folder}/a.new", "wb") as file:   # open, write, fsync
    file.write(b"one" * 1000)
    file.flush()
    os.fsync(file.fileno())
os.replace(f"{folder}/a.new", f"{folder}/a")  # rename
os.link(f"{folder}/a", f"{folder}/b")
os.unlink(f"{folder}/b")
handle = os.open(f"{folder}/a", os.O_RDWR)
os.pwrite(handle, b"two", 5)
os.ftruncate(handle, 100)
os.writev(handle, [b"x", b"y"])
os.mkdir(f"{folder}/c")
os.close(handle)
"""
CALLS = 10


@pytest.fixture
def control(tmp_path: Path) -> shim.Control:
    return shim.Control(tmp_path / "control")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "below").mkdir()
    return tmp_path / "below"


def run(library: Path, control: shim.Control, folder: Path, script: str = WRITER) -> subprocess.CompletedProcess[str]:
    environment = {**shim.environment(library), shim.VARIABLE: str(control.path)}
    command = [sys.executable, "-S", "-c", script, str(folder)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_every_changing_call_is_counted(library: Path, control: shim.Control, folder: Path) -> None:
    control.set(folder)
    control.arm()
    assert run(library, control, folder).returncode == 0
    assert (control.calls, control.fired) == (CALLS, 0)
    other = folder.parent / "another"
    other.mkdir()
    control.set(folder)
    control.arm()
    assert run(library, control, other).returncode == 0
    assert control.calls == 0


@pytest.mark.parametrize("call", range(1, CALLS + 1))
def test_the_call_that_is_asked_for_fails(library: Path, control: shim.Control, folder: Path, call: int) -> None:
    control.set(folder, at=call, how="once", error=errno.EIO)
    control.arm()
    ended = run(library, control, folder)
    assert "Input/output error" in ended.stderr
    assert control.fired == 1
    assert control.calls == call + (call == 2), "closing the file writes what is left"


def test_a_full_disk_stays_full_and_lets_delete(library: Path, control: shim.Control, folder: Path) -> None:
    (folder / "old").write_bytes(b"old")
    script = (
        "import os, sys\nos.unlink(f'{sys.argv[1]}/old')\n"
        "for name in 'xy':\n"
        "    try:\n        open(f'{sys.argv[1]}/{name}', 'wb')\n"
        "    except OSError as error:\n        print(error.errno)\n"
    )
    control.set(folder, at=1, how="always", error=errno.ENOSPC)
    control.arm()
    ended = run(library, control, folder, script)
    assert ended.stdout.split() == [str(errno.ENOSPC)] * 2
    assert list(folder.iterdir()) == []


@pytest.mark.crash
@pytest.mark.parametrize("how", ["kill", "torn"])
def test_a_kill_stops_before_or_within_the_call(library: Path, control: shim.Control, folder: Path, how: str) -> None:
    control.set(folder, at=2, how=how)
    control.arm()
    assert run(library, control, folder).returncode == -signal.SIGKILL
    assert (folder / "a.new").stat().st_size == (1500 if how == "torn" else 0)
    assert control.failed == "write"


def test_the_clock_can_be_set(library: Path, control: shim.Control, folder: Path) -> None:
    control.set(folder, skew_s=-(10**9))
    ended = run(library, control, folder, "import time; print(int(time.time()))")
    control.set(folder)
    again = run(library, control, folder, "import time; print(int(time.time()))")
    assert 10**9 <= int(again.stdout) - int(ended.stdout) < 10**9 + 60


def test_the_log_gives_the_same_files(library: Path, control: shim.Control, folder: Path, tmp_path: Path) -> None:
    disk = Disk(folder, folder)
    control.set(folder, log=tmp_path / "log")
    control.arm()
    assert run(library, control, folder).returncode == 0
    for call in shim.calls_in(tmp_path / "log"):
        disk.do(call)
    for path in [str(folder), *map(str, folder.iterdir())]:
        disk.do(shim.Call("sync folder", path, "", 0, b""))
        disk.do(shim.Call("sync", path, "", 0, b""))
    disk.cut(tmp_path / "cut", random.Random(0))
    found = {path.name: path.read_bytes() for path in (tmp_path / "cut").iterdir() if path.is_file()}
    assert found == {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


SEEN = """
import sys
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from desks import opened, report
from docmind.config import IndexSettings
with opened(Path(sys.argv[1]), index=IndexSettings(at_rest="blinded")) as docmind:
    docmind.add([report("heron", 1)])
    docmind.search("herons")
"""
TRACED = "write,pwrite64,writev,fsync,fdatasync,ftruncate"


@pytest.mark.slow
def test_what_strace_sees_goes_through_the_shim(
    library: Path, control: shim.Control, folder: Path, tmp_path: Path
) -> None:
    """Python's, SQLCipher's and Qdrant Edge's calls: every one that the kernel gets has been counted."""
    require(shutil.which("strace"), "no strace on this system (Debian: apt install strace)")
    control.set(folder, log=tmp_path / "log")
    control.arm()
    trace = tmp_path / "trace"
    preload = ["-E", f"LD_PRELOAD={library}", "-E", f"{shim.VARIABLE}={control.path}"]
    command = ["strace", "-f", "-y", "-qq", "-e", f"trace={TRACED}", "-o", str(trace), *preload]
    paths = [str(Path(__file__).parent.parent / "support"), str(Path(__file__).parent.parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    ended = subprocess.run(
        [*command, sys.executable, "-c", SEEN, str(folder), *paths],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode and "ptrace" in ended.stderr:
        require(False, f"this system lets nothing be traced: {ended.stderr[-200:]}")
    assert ended.returncode == 0, ended.stderr[-2000:]
    seen, logged = traced(trace.read_text("utf-8", "replace"), folder), Counter[tuple[str, str]]()
    for call in shim.calls_in(tmp_path / "log"):
        kind = call.kind.removesuffix(" folder")
        if kind in _KINDS.values():
            logged[kind, call.path.removeprefix(str(folder)).lstrip("/")] += 1
    assert sum(count for (kind, _), count in seen.items() if kind == "write") > 100
    assert any(path.startswith("data/index/") for _, path in logged), "Qdrant Edge's"
    assert any(path == "data/vault.db-wal" for _, path in logged), "SQLCipher's"
    unseen = {path for (_, path) in seen - logged}
    assert not [path for path in unseen if not re.fullmatch(r"data/index/g\d+/\w+\.new/wal/tmp-open-\d", path)]
    assert not [what for what in logged - seen if what[0] != "truncate"]  # opening with O_TRUNC is one in the log only


_KINDS = {
    "write": "write", "pwrite64": "write", "writev": "write", "fdatasync": "sync", "fsync": "sync",
    "ftruncate": "truncate",
}  # fmt: skip


def traced(trace: str, folder: Path) -> Counter[tuple[str, str]]:
    """Return how often each file below a folder was written, synced and cut, as strace tells."""
    found, begun = Counter[tuple[str, str]](), dict[str, tuple[str, str]]()
    call = re.compile(rf"(\d+) +(\w+)\(\d+<{re.escape(str(folder))}/?([^>]*)>.*?(?:= (-?\d+)|<unfinished)")
    resumed = re.compile(r"(\d+) +<\.\.\. \w+ resumed>.*= (-?\d+)")
    for line in trace.splitlines():
        if (match := call.match(line)) and match[2] in _KINDS:
            what = _KINDS[match[2]], match[3]
            if match[4] is None:
                begun[match[1]] = what
            elif int(match[4]) >= 0:
                found[what] += 1
        elif (match := resumed.match(line)) and match[1] in begun:
            what = begun.pop(match[1])
            found[what] += int(match[2]) >= 0
    return found
