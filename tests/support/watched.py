"""System calls of a program and its children: the hosts it connects to and the files it leaves.

strace sees the system calls themselves, so native code, children and calls that fail are seen too.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from conftest import ROOT, require
from watch_network import NAME_PORTS

# `-D` leaves the program its own process id; the tracer is a process beside it.
STRACE = ("strace", "-D", "-f", "-q", "-y", "-s", "300", "-e", "signal=none", "-e")
# The kernel stops the program at the calls in `CALLS` only: it runs at almost its own speed. Not seen is a
# call that a filter of the program itself refuses or hands to another process: DocMind's network guard must be off.
QUICK = "--seccomp-bpf"
_NETWORK = ("connect", "sendto", "sendmsg", "sendmmsg")
_MAKE = (
    "openat", "open", "creat", "mkdir", "mkdirat", "rename", "renameat", "renameat2", "link", "linkat", "symlink",
    "symlinkat",
)  # fmt: skip
CALLS = f"trace={','.join(f'?{name}' for name in _NETWORK + _MAKE)}"  # `?`: not every machine has each of them

_CALL = re.compile(r"^\d+ +(\w+)\((.*)")
_INET = re.compile(r'sa_family=AF_INET, sin_port=htons\((\d+)\), sin_addr=inet_addr\("([^"]+)"\)')
_INET6 = re.compile(r'sa_family=AF_INET6, sin6_port=htons\((\d+)\),.*?inet_pton\(AF_INET6, "([^"]+)"')
_FAMILY = re.compile(r"sa_family=(AF_\w+)")
_PATH = re.compile(r'(?:AT_FDCWD<([^>]*)>|\d+<([^>]*)>)?(?:, )?"((?:[^"\\]|\\.)*)"')
_NAME_SERVICES = ("/run/systemd/resolve/", "/run/avahi-daemon/")
_ANY_PLACE = ("/dev/null", "/dev/tty", "/dev/pts/", "/proc/", "/sys/")

# A network namespace in which there is this machine and nothing else.
_ALONE = f"""
import fcntl, os, socket, struct, sys
sys.path.insert(0, {str(ROOT / "scripts")!r})
from watch_network import leave_network
leave_network(is_root=False)
with socket.socket() as loopback:
    fcntl.ioctl(loopback, 0x8914, struct.pack("16sH14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
os.execvp(sys.argv[1], sys.argv[1:])
"""
ALONE = (sys.executable, "-c", _ALONE)

IS_CI = ("CI", "GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "JENKINS_URL", "TRAVIS", "CIRCLECI", "BUILDKITE")
"""Variables that keep onnxruntime quiet by themselves: a watched program must not see them."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a trace shows: calls that ask for a name or leave this machine, files left where none may be, all calls."""

    outside: tuple[str, ...]
    left: tuple[str, ...]
    calls: int


class Place:
    """A person's folders, fresh ones, and the environment of a program that has no others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started = time.time()
        self.data, self.home, self.temporary = folder / "data", folder / "home", folder / "tmp"
        for path in (self.home, self.temporary):
            path.mkdir()
        self.environment = {
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local/share"),
            "XDG_STATE_HOME": str(self.home / ".local/state"),
            "DOCMIND_DATA_DIR": str(self.data),
            "DOCMIND_KEYS__SOURCE": "file",
            "DOCMIND_READING__WORKERS": "1",
        }
        # Nothing but these: a variable that says that this is CI keeps onnxruntime quiet by itself.
        self.whole = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
        self.whole |= {"PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1", **self.environment}

    @property
    def allowed(self) -> tuple[Path, ...]:
        """Where docs/security.md says that files are."""
        return self.data, self.home / ".cache" / "docmind", self.home / ".config" / "docmind"


def require_strace() -> None:
    require(sys.platform == "linux" and shutil.which("strace"), "no strace on this system (Debian: apt install strace)")
    tried = subprocess.run(
        [*STRACE, CALLS, QUICK, "-o", os.devnull, "true"], capture_output=True, text=True, check=False
    )
    require(tried.returncode == 0, f"no process may be traced on this system: {tried.stderr.strip()}")


def run(place: Place, code: str, *, timeout_s: float = 240, is_quick: bool = False, **environment: str) -> Seen:
    """Run a Python program alone with this machine, and say what it did. A program that fails is a failure.

    `is_quick` traces as `QUICK` says.
    """
    require_strace()
    require_namespace()
    trace = place.folder / "trace"
    command = [*ALONE, *STRACE, CALLS, *([QUICK] if is_quick else []), "-o", str(trace), sys.executable, "-c", code]
    log = place.folder / "log"
    with log.open("wb") as out:
        done = subprocess.run(
            command, cwd=place.folder, env=place.whole | environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            timeout=timeout_s, check=False,
        )  # fmt: skip
    assert done.returncode == 0, log.read_text("utf-8", "replace")[-4_000:]
    return seen(place, trace)


def require_namespace() -> None:
    tried = subprocess.run([*ALONE, "true"], capture_output=True, text=True, check=False)
    require(tried.returncode == 0, f"no network namespace on this system: {tried.stderr.strip()}")


def seen(place: Place, trace: Path) -> Seen:
    """Parse a trace, once the tracer has written all of it."""
    _wait_until_written(trace)
    outside: list[str] = []
    made: set[Path] = set()
    calls = 0
    with trace.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            match = _CALL.match(line)
            if match is None:
                continue
            calls += 1
            name, rest = match[1], match[2]
            if name in _NETWORK:
                outside += [f"{name} {address}" for address in _outside(name, rest)]
            elif ("O_CREAT" in rest or name not in ("openat", "open")) and " = -1 E" not in rest:
                made |= _paths(rest)
    inside = (*place.allowed, *(place.folder / name for name in ("log", "trace", "expected", "key")))
    left = sorted(str(path) for path in made if _is_new(path, place) and not any(_is_in(path, one) for one in inside))
    return Seen(tuple(outside), tuple(left), calls)


def _outside(name: str, rest: str) -> list[str]:
    """Addresses beyond this machine in the arguments of a call, and questions for a name."""
    if name == "sendto" and re.search(r"hosts\\0", rest):
        return ["a host name, to nscd"]
    found: list[str] = []
    for port, address in [*_INET.findall(rest), *_INET6.findall(rest)]:
        parsed = ipaddress.ip_address(address)
        mapped = getattr(parsed, "ipv4_mapped", None) or parsed
        if int(port) in NAME_PORTS or not (mapped.is_loopback or mapped.is_unspecified):
            found.append(f"{address} port {port}")
    families = set(_FAMILY.findall(rest)) - {"AF_INET", "AF_INET6", "AF_UNIX", "AF_UNSPEC", "AF_NETLINK"}
    found += sorted(families)
    found += [f"name service {path}" for path in _NAME_SERVICES if f'"{path}' in rest.replace("/var/run/", "/run/")]
    return found


def _paths(rest: str) -> set[Path]:
    """Every path that a call names; a symbolic link's target among them."""
    found: set[Path] = set()
    for here, there, text in _PATH.findall(rest.partition("<unfinished")[0]):
        name = text.encode("latin-1", "replace").decode("unicode_escape").encode("latin-1")
        found.add(Path(here or there or "/", os.fsdecode(name)))
    return found


def _is_new(path: Path, place: Place) -> bool:
    """Whether it is there, and was made or changed since the program could be started."""
    is_file = os.path.lexists(path) and not str(path).startswith(_ANY_PLACE)
    return is_file and path.lstat().st_ctime >= place.started


def _is_in(path: Path, folder: Path) -> bool:
    return path.is_relative_to(folder) or folder.is_relative_to(path) or "__pycache__" in path.parts


def _wait_until_written(trace: Path) -> None:
    """Until the tracer, which ends with the last traced process, has ended."""
    until = time.monotonic() + 60
    while any(str(trace) in command for command in map(_command, psutil.process_iter())):
        assert time.monotonic() < until, "a traced process goes on"
        time.sleep(0.2)


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline() if process.name() == "strace" else []
    except psutil.Error:
        return []
