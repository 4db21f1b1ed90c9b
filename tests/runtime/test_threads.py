"""Threads that the end of the program waits for: stopped, over by themselves, and never in the way of its exit code."""

from __future__ import annotations

import subprocess
import sys

import pytest


def ended(code: str) -> tuple[int, list[str]]:
    """Run a program; return its exit code and its lines."""
    done = subprocess.run(
        [sys.executable, "-c", "import time\nfrom docmind.runtime import Background, start_thread\n" + code],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "start_thread(lambda: (time.sleep(0.5), print('over')), name='work')",
        "going = []\n"
        "def work():\n    while not going: time.sleep(0.01)\n    print('over')\n"
        "start_thread(work, name='work', stop=lambda: going.append(1))",
        "background = Background('work')\n"
        "def work():\n    while not background.is_closed: background.sleep()\n    print('over')\n"
        "background.start(work)",
    ],
    ids=["by itself", "stopped", "background"],
)
def test_the_end_of_the_program_waits(code: str) -> None:
    assert ended(code + "\nraise SystemExit(3)") == (3, ["over"])
