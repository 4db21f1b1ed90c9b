"""Priority of searches over background work on pages."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_WAIT_S = 0.05
_LONGEST_WAIT_S = 5.0

Check = Callable[[], None]
"""Called between two steps of a job; raises to stop the job."""


@dataclass(slots=True)
class Interactive:
    """Counter of running searches, for which work on pages waits. Thread-safe."""

    count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def search(self) -> Iterator[None]:
        with self.lock:
            self.count += 1
        try:
            yield
        finally:
            with self.lock:
                self.count -= 1

    def give_way(self, check: Check) -> None:
        """Wait while a search is running, for a few seconds at most. Raises what `check` raises."""
        deadline = time.monotonic() + _LONGEST_WAIT_S
        while self.count and time.monotonic() < deadline:
            check()
            time.sleep(_WAIT_S)
