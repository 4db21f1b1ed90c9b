"""Fixtures for all tests: only loopback network, no user settings, and an own vault."""

from __future__ import annotations

import ipaddress
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import docmind as docmind  # sets the variables that silence libraries, before any library reads them

# The language of the command line is that of the system.
os.environ.update(
    LC_ALL="C.UTF-8", TOKENIZERS_PARALLELISM="false", PYTHON_KEYRING_BACKEND="keyring.backends.null.Keyring"
)
for _name in [name for name in os.environ if name.startswith("DOCMIND_")]:
    del os.environ[_name]
# A guard cannot be removed: tests that call the command line in this process must not install one.
os.environ["DOCMIND_NETWORK__STRICT"] = "off"

ROOT = Path(__file__).resolve().parent.parent
HELPERS = [str(ROOT / "tests"), str(ROOT / "tests" / "support")]  # where child processes find the test helpers
# Child processes too find the text model `fake`, in tests/support/docmind_testkit.py.
os.environ["PYTHONPATH"] = os.pathsep.join([HELPERS[1], *filter(None, [os.environ.get("PYTHONPATH")])])
# In tests/support: a machine without optional parts; what each test costs; what is done more cheaply; what the runner
# wants told; what the tests went through; what the open tabs show where a test fails; which tests run side by side.
pytest_plugins = ("bare", "case_times", "cheaper", "closing", "measured", "open_tabs", "sampled", "side_by_side")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def require(condition: object, reason: str) -> None:
    """Require a real component for this test: skip with the reason, but fail in CI.

    On a machine that tests/support/bare.py makes bare no component is there, in CI too.
    """
    is_bare = bool(os.environ.get("BARE"))
    if condition and not is_bare:
        return
    if os.environ.get("CI") and not is_bare:
        pytest.fail(f"CI must have this: {reason}", pytrace=False)
    pytest.skip(reason)


@contextmanager
def tiny_disk(folder: Path, *, megabytes: int) -> Iterator[Path]:
    """Mount a file system of this size while the block runs; needs Linux and root."""
    is_able = sys.platform == "linux" and os.geteuid() == 0 and shutil.which("mount")
    require(is_able, "a small disk needs Linux, root and mount")
    disk = folder / f"disk-{megabytes}"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(disk)], capture_output=True, text=True
    )
    require(made.returncode == 0, f"this system does not mount a small disk: {made.stderr.strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


# --- nothing leaves the machine ---------------------------------------------------------------------------------------

_outbound: list[str] = []


def _is_local(host: object) -> bool:
    if not isinstance(host, str | bytes):
        return True
    name = (host.decode("ascii", "replace") if isinstance(host, bytes) else host).split("%")[0]
    if name in ("", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.sendto"):
        host = args[1][0] if isinstance(args[1], tuple) and args[1] else None
    elif event == "socket.getaddrinfo":
        host = args[0]
    else:
        return
    if not _is_local(host):
        _outbound.append(f"{event} {host!r}")
        raise PermissionError(f"a test tried to reach {host!r}; tests talk to this machine only")


sys.addaudithook(_watch)


@pytest.fixture(autouse=True)
def outbound() -> Iterator[list[str]]:
    """Record addresses beyond this machine that the test tried to reach, and allow none.

    A test that expects some clears the list.
    """
    _outbound.clear()
    yield _outbound
    assert not _outbound, f"reached out: {_outbound}"


# --- a vault of its own -----------------------------------------------------------------------------------------------


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set an empty data directory, and a key file outside it; neither exists yet."""
    data = tmp_path / "data"
    monkeypatch.setenv("DOCMIND_DATA_DIR", str(data))
    monkeypatch.setenv("DOCMIND_KEYS__SOURCE", "file")
    monkeypatch.setenv("DOCMIND_KEYS__FILE", str(tmp_path / "docmind.key"))
    return data


# --- an opened application --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library() -> Any:
    """Return the prepared library that tests open; a module that needs another one has its own fixture of this name."""
    from libraries import THREE_DOCUMENTS

    return THREE_DOCUMENTS


@pytest.fixture(name="docmind")
def opened_docmind(library: Any, tmp_path: Path) -> Iterator[Any]:
    """Open a copy of the library in `tmp_path`; no language model answers but one put into `models.model`."""
    with library.opened(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="session", autouse=True)
def own_parts_only() -> None:
    """Look for parts of pages in no installed package, as the app does: each run of an AppTest would look again."""
    if "streamlit.testing.v1" in sys.modules:
        from docmind.ui.app.streamlit_server import serve_own_parts_only

        serve_own_parts_only()


# --- a real browser ---------------------------------------------------------------------------------------------------


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give a browser test that waited in vain a second try, which the closing summary lists; a false assertion none.

    On a busy machine a page is at times redrawn in the moment in which a test looks at it.
    """
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=r"TimeoutError: .*Timeout \d+ms exceeded"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start Chromium, driven by playwright; `browser.new_page()` opens a page.

    Nothing is downloaded.
    """
    require(CHROMIUM, "no Chromium on this system (Debian: apt install chromium)")
    from playwright.sync_api import sync_playwright

    from browsers import Browsers

    with sync_playwright() as playwright, ExitStack() as closing:
        yield Browsers(playwright, str(CHROMIUM), closing)


@pytest.fixture(scope="module")
def opened_tab(browser: Any, server: Any) -> Iterator[Any]:
    """Open the app of a module, its fixture `server`, in one tab for all its tests."""
    from served import tab

    with tab(browser, server) as one:
        yield one.open()
