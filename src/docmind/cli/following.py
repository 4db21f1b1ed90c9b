"""One run followed from the terminal until it is over; Ctrl-C stops the answer, and not the program."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from docmind.conversation import RunProgress

if TYPE_CHECKING:
    from docmind.application import DocMind

_LOOK_S = 0.02


def follow(desk: DocMind, run_id: str, show: Callable[[RunProgress], None]) -> RunProgress:
    """Show the run until it is over, and return its end. A second Ctrl-C is a `KeyboardInterrupt`."""
    with stoppable(desk, show) as look:
        while True:
            now = desk.conversations.run(run_id)
            look(now)
            if now.is_over:
                return now
            time.sleep(_LOOK_S)


@contextmanager
def stoppable(desk: DocMind, show: Callable[[RunProgress], None]) -> Iterator[Callable[[RunProgress], None]]:
    """A `show` that notes the run it is given; the first Ctrl-C then stops that run, also while it is silent.

    Nothing is torn out of the middle of its work: only a Ctrl-C before there is a run, and a second one, are a
    `KeyboardInterrupt`.
    """
    running: list[str] = []
    is_stopped = threading.Event()

    def look(now: RunProgress) -> None:
        running[:] = [now.run_id]
        show(now)

    def stop(_number: int, _frame: FrameType | None) -> None:
        if not running or is_stopped.is_set():
            raise KeyboardInterrupt
        is_stopped.set()
        # Not here: the lock that this takes may be held by the very code that the signal came into.
        threading.Thread(target=desk.conversations.stop, args=(running[0],), name="stop", daemon=True).start()

    before = signal.signal(signal.SIGINT, stop)
    try:
        with _no_echo():
            yield look
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _no_echo() -> Iterator[None]:
    """Keys that are pressed meanwhile wait for the next question, and do not show in the middle of the answer."""
    if sys.stdin is None or not sys.stdin.isatty() or not hasattr(os, "tcgetpgrp"):
        yield
        return
    import termios

    terminal = sys.stdin.fileno()
    if not _is_ours(terminal):
        yield
        return
    before = termios.tcgetattr(terminal)
    quiet = termios.tcgetattr(terminal)
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        if _is_ours(terminal):
            termios.tcsetattr(terminal, termios.TCSANOW, before)


def _is_ours(terminal: int) -> bool:
    """Whether this process is in the foreground: one in the background is halted where it changes its terminal."""
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:  # not the terminal that controls this process
        return False
