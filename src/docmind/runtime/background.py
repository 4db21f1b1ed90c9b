"""Background work: a thread that sleeps until there is news."""

from __future__ import annotations

import threading
from collections.abc import Callable

from docmind.errors import CancelledError
from docmind.runtime.threads import start_thread


class Background:
    """A thread that `close`, or the end of the program, asks to end. Thread-safe.

    Its work asks `check` or `is_closed`.
    """

    def __init__(self, name: str, ended: str = "") -> None:
        """Set up; nothing starts yet. `ended` is the sentence of the error that `check` raises after `close`."""
        self._name, self._ended = name, ended
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._news, self._closed = threading.Event(), threading.Event()

    @property
    def is_started(self) -> bool:
        return self._thread is not None

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    def start(self, work: Callable[[], None]) -> None:
        """Run `work` in the thread, unless it is running or was closed."""
        with self._lock:
            if not self.is_running and not self.is_closed:
                self._thread = start_thread(work, name=self._name, stop=self.close)

    def wake(self) -> None:
        """Say that there is news."""
        self._news.set()

    def sleep(self, timeout_s: float | None = None) -> None:
        """Wait for news or the end, for at most `timeout_s`; news is used up."""
        self._news.wait(timeout_s)
        self._news.clear()

    def rest(self, seconds: float) -> None:
        """Wait for the end only, for at most so long."""
        self._closed.wait(seconds)

    def check(self) -> None:
        """Raise `CancelledError` once `close` was called."""
        if self.is_closed:
            raise CancelledError(self._ended)

    def close(self) -> None:
        """Ask the work to end. Idempotent; `join` waits for it."""
        self._closed.set()
        self._news.set()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait for the end of the thread, except in that thread itself."""
        with self._lock:  # not in the moment between a thread's birth and its start, which cannot be waited for
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout_s)
