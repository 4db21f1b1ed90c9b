"""What a process of DocMind tells, and what it does not."""

from __future__ import annotations

import subprocess
import sys

import pytest


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
