"""What a process of DocMind tells, and what it does not."""

from __future__ import annotations

import io
import logging
import subprocess
import sys

import pytest

from docmind.runtime import logging as limits


@pytest.mark.skipif(sys.platform == "win32", reason="Windows writes no core files by itself")
def test_a_crash_leaves_no_core_file() -> None:
    script = (
        "import resource\n"
        "from docmind.runtime import start_logging\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)\n"
        "start_logging('error')\n"
        "assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("is_limited", [True, False])
def test_one_error_is_told_once_a_minute(is_limited: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr(limits.time, "monotonic", lambda: now[0])
    out, log = io.StringIO(), logging.getLogger("door")
    handler = logging.StreamHandler(out)
    if is_limited:
        handler.addFilter(limits.Rarely())
    monkeypatch.setattr(log, "handlers", [handler])
    monkeypatch.setattr(log, "propagate", False)
    log.setLevel(logging.INFO)
    for number in range(1_000):
        log.error("no descriptor for connection %s", number)
        log.error("another error")
        log.info("line %s", number)
        now[0] += 0.125  # 125 seconds in all
    told = [line for line in out.getvalue().splitlines() if "descriptor" in line]
    if is_limited:
        assert told == [
            "no descriptor for connection 0",
            "no descriptor for connection 480 (479 more of these since the last one)",
            "no descriptor for connection 960 (479 more of these since the last one)",
        ]
        assert out.getvalue().count("another error") == 3
        assert out.getvalue().count("line") == 1_000
    else:
        assert len(told) == 1_000


@pytest.mark.parametrize("is_command", [True, False])
@pytest.mark.parametrize("level", ["warning", "debug"])
def test_a_command_tells_in_sentences(is_command: bool, level: str) -> None:
    """Who runs a command reads sentences; level, part and place are for the log of a server, and for debugging."""
    script = (
        "import sys\n"
        "from docmind.runtime import log_mistake, start_logging\n"
        f"start_logging({level!r}, is_command={is_command})\n"
        "import logging\n"
        "logging.getLogger('docmind.index').warning('the index is built again: %s', 'The copy is damaged.')\n"
        "try:\n"
        "    open('/no/such/file')\n"
        "except OSError as error:\n"
        "    log_mistake('docmind.index', 'the copy was not read', error)\n"
    )
    told = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stderr
    sentences = "The index is built again: The copy is damaged.\nThe copy was not read with FileNotFoundError.\n"
    if is_command and level == "warning":
        assert told == sentences
    else:
        assert told.startswith("WARNING docmind.index: the index is built again")
        assert 'File "<string>"' in told
