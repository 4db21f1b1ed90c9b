"""Threads that compute in the background, which the end of the program waits for.

Python ends a daemon thread by force once the program is over. A thread that is inside the C++ of a library then takes
the process with it: it aborts, whatever its exit code was to be.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable

_END_S = 10.0  # in all: the longest load of a model takes 3 s on two slow cores

_lock = threading.Lock()
_running: dict[threading.Thread, Callable[[], object] | None] = {}


def start_thread(
    work: Callable[[], object], *, name: str, stop: Callable[[], object] | None = None
) -> threading.Thread:
    """Run `work` in a daemon thread, and return that thread.

    At the end of the program `stop` is called, which asks the work to end, and its end is waited for, at most 10 s.
    """

    def run() -> None:
        try:
            work()
        finally:
            with _lock:
                del _running[thread]

    thread = threading.Thread(target=run, name=name, daemon=True)
    with _lock:  # so that it is not over before it is noted, and what cannot be started is not
        thread.start()
        _running[thread] = stop
    return thread


@atexit.register
def _end_all() -> None:
    """Ask all of these threads to end, and wait for them, at most 10 s together."""
    with _lock:
        running = dict(_running)
    for stop in running.values():
        if stop is not None:
            stop()
    until = time.monotonic() + _END_S
    for thread in running:
        thread.join(max(0.0, until - time.monotonic()))
