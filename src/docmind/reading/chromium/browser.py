"""A headless Chromium process without network and persistent data: finding, starting and ending it.

It is controlled through one pipe and keeps its input in memory. Its folder, also in memory where the system has such a
place, gets the files that Chromium writes for itself, and is removed with it. Chromium and the process that drives it
are confined to that folder and to what Chromium reads to start and to draw (`limits_of`).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from docmind.errors import WorkerFailedError
from docmind.runtime import Limits
from docmind.wording import _

FOLDER_PREFIX = "docmind-chromium-"
_FOLDER = re.compile(FOLDER_PREFIX + r"([0-9]{1,10})-[a-z0-9_]{8}")  # a process, and what `mkdtemp` makes up
NOWHERE = "book.invalid"  # RFC 6761: never a name of anything
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge", "msedge", "chrome")
# Debian's command is a script that may add `--disable-dev-shm-usage`: shared memory would be files on the disk.
_BEHIND_SCRIPTS = {"/usr/bin/chromium": "/usr/lib/chromium/chromium"}
_PLACES = {
    "darwin": (
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    ),
    "win32": (
        "Chromium/Application/chrome.exe",
        "Google/Chrome/Application/chrome.exe",
        "Microsoft/Edge/Application/msedge.exe",
    ),
}
_FLAGS = (
    "--headless=new",
    "--disable-gpu",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
    # No requests: no name resolves, and whatever needs none goes to a proxy that is not there.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    f"--proxy-server=http://{NOWHERE}:9",
    "--proxy-bypass-list=<-loopback>",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-features=DialMediaRouteProvider,MediaRouter,OptimizationHints,Translate",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-pings",
    # No persistence: no cache, and no dump of memory after a crash.
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-gpu-shader-disk-cache",
    "--disk-cache-size=1",
    "--media-cache-size=1",
    "--disable-dev-shm-usage",  # older versions than 100 or so: shared memory in its folder too
)
# Processes and the system, fonts, and what an administrator set for Chromium, Chrome and Edge. Where libpci is
# installed Chromium lists the devices of the bus by it, and libpci ends the process that may not read them.
_READ = (
    *("/proc", "/sys/devices", "/sys/bus/pci", "/etc/fonts", "/var/cache/fontconfig"),
    *("/etc/chromium", "/etc/chromium-browser", "/etc/opt/chrome", "/etc/opt/edge"),
)
_BESIDE = "icudtl.dat"  # lies in the folder of each Chromium
_GRACE_S = 3.0


def find_browser(wanted: str = "auto") -> str:
    """Return the program: `wanted` by path or name, or with "auto" the first one found.

    Returns "" where there is none.
    """
    if wanted == "off":
        return ""
    found = next(filter(None, map(shutil.which, _NAMES if wanted == "auto" else (wanted,))), None)
    if found is not None:
        behind = _BEHIND_SCRIPTS.get(found, found)
        return behind if os.access(behind, os.X_OK) else found
    places = [Path(place) for place in _PLACES.get(sys.platform, ())] if wanted == "auto" else []
    if sys.platform == "win32":
        roots = [os.environ.get(name) for name in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")]
        places = [Path(root) / place for root in roots if root for place in places]
    return next((str(place) for place in places if place.is_file()), "")


def make_folder() -> Path:
    """Make a folder for one Chromium, which the caller removes.

    Also remove folders left by killed processes.
    """
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
    is_usable = memory.is_dir() and os.access(memory, os.W_OK | os.X_OK)
    place = memory if is_usable else Path(tempfile.gettempdir())
    for left in place.iterdir():
        named = _FOLDER.fullmatch(left.name)
        if named and _is_own_folder(left) and not _is_running(int(named[1])):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-", dir=place))


def _is_own_folder(path: Path) -> bool:
    """Return whether this is a folder of this user, and no link to one."""
    try:
        found = path.lstat()
    except OSError:  # gone meanwhile
        return False
    return stat.S_ISDIR(found.st_mode) and (os.name != "posix" or found.st_uid == os.geteuid())


def _is_running(pid: int) -> bool:
    import psutil

    return psutil.pid_exists(pid)


def limits_of(program: str, folder: str) -> Limits:
    """Return the limits of a process that starts Chromium, and of Chromium: it changes files in `folder` alone."""
    at = Path(program).resolve().parent
    fonts = os.environ.get("FONTCONFIG_FILE", "")
    own = (folder, os.devnull)
    if sys.platform == "linux" and os.geteuid() != 0:  # its sandbox maps users in /proc; --no-sandbox for root
        own += ("/proc",)
    return Limits(
        local_sockets=True,
        is_confined=True,
        reads=(*_READ, str(Path(fonts).parent)) if os.path.isabs(fonts) else _READ,
        writes=own,
        starts=(program, str(at)) if (at / _BESIDE).exists() else (program,),
    )


def remove_folder(folder: Path) -> None:
    """Remove the folder of a Chromium, with retries while the process is still ending."""
    for _attempt in range(40):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.05)


def plain_since(reason: str) -> str:
    """Return the sentence that says why the pages of a book are not drawn."""
    return _("Its pages are laid out as plain text: {reason}.").format(reason=reason.rstrip("."))


class Chromium:
    """One running Chromium.

    `incoming` and `outgoing` are the ends of its pipe; `kill` is thread-safe.
    """

    def __init__(self, program: str, folder: Path) -> None:
        """Start the process. Raises `WorkerFailedError` where the system cannot."""
        arguments = [program, *_FLAGS, f"--user-data-dir={folder}"]
        if getattr(os, "geteuid", lambda: 1)() == 0:
            arguments.append("--no-sandbox")  # its sandbox does not work for root
        start = _start_on_windows if sys.platform == "win32" else _start
        try:
            self._process, self.incoming, self.outgoing = start(arguments, _environment(folder))
        except OSError as error:
            raise WorkerFailedError(f"Chromium could not be started ({error.strerror})") from error

    @property
    def pid(self) -> int:
        return self._process.pid

    def obituary(self) -> str:
        """Return how the process ended, or that it has not."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        code = self._process.poll()
        return "Chromium closed its pipe" if code is None else f"Chromium ended by itself (exit code {code})"

    def kill(self) -> None:
        """End the process and all its children at once. Idempotent."""
        end_tree(self._process.pid)
        self._process.wait()


def end_tree(pid: int) -> None:
    """End a process and all its descendants, and wait until they have ended. Idempotent."""
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        below = root.children(recursive=True)
        for process in (root, *below):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(below, timeout=_GRACE_S)


def memory_mb(pid: int) -> float:
    """Return the unshared memory of a process and all its descendants, in MB."""
    import psutil

    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                info = process.memory_info()
                total += info.rss - getattr(info, "shared", 0)
    return total / 2**20


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment: its folder is its home, and no settings or keys of the user are passed on."""
    if sys.platform == "win32":
        mine = {name: value for name, value in os.environ.items() if not name.startswith("DOCMIND_")}
        return mine | {"TEMP": str(folder), "TMP": str(folder)}
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "FONTCONFIG_FILE") if name in os.environ}
    homes = ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")
    nowhere = {"DBUS_SESSION_BUS_ADDRESS": "disabled:", "DBUS_SYSTEM_BUS_ADDRESS": "disabled:"}
    return kept | dict.fromkeys(homes, str(folder)) | nowhere | {"LANG": "C.UTF-8", "TZ": "UTC"}


def _start(arguments: list[str], environment: dict[str, str]) -> tuple[subprocess.Popen[bytes], int, int]:
    """Start Chromium with its pipe at descriptors 3 (read) and 4 (write)."""
    placeholders: list[int] = []
    try:
        while not placeholders or placeholders[-1] < 4:  # so that no end of a pipe has one of these numbers here
            placeholders.append(os.open(os.devnull, os.O_RDONLY))
        theirs_in, outgoing = os.pipe()
        incoming, theirs_out = os.pipe()

        def in_child() -> None:
            os.dup2(theirs_in, 3)
            os.dup2(theirs_out, 4)
            _end_with_parent()

        try:
            process = subprocess.Popen(
                [*arguments, "--remote-debugging-pipe"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                close_fds=False,  # 3 and 4 must stay; all others close by themselves (PEP 446)
                cwd=environment["HOME"],
                start_new_session=True,
                preexec_fn=in_child,
            )
        except OSError:
            os.close(incoming)
            os.close(outgoing)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
    finally:
        for number in placeholders:
            os.close(number)
    return process, incoming, outgoing


def _end_with_parent() -> None:
    """Have Linux kill Chromium with its parent, also where it hangs.

    Elsewhere it ends when its pipe closes.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _start_on_windows(arguments: list[str], environment: dict[str, str]) -> tuple[subprocess.Popen[bytes], int, int]:
    """Start Chromium on Windows, where the arguments name the handles of the pipe."""
    assert sys.platform == "win32"
    import msvcrt

    theirs_in, outgoing = os.pipe()
    incoming, theirs_out = os.pipe()
    handles = [msvcrt.get_osfhandle(theirs_in), msvcrt.get_osfhandle(theirs_out)]
    for handle in handles:
        os.set_handle_inheritable(handle, True)
    try:
        process = subprocess.Popen(
            [*arguments, "--remote-debugging-pipe", f"--remote-debugging-io-pipes={handles[0]},{handles[1]}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            startupinfo=subprocess.STARTUPINFO(lpAttributeList={"handle_list": handles}),
        )
    finally:
        os.close(theirs_in)
        os.close(theirs_out)
    return process, incoming, outgoing
