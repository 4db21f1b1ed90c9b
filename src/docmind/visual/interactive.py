"""Searches come first: what works on pages waits while somebody waits for an answer."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_WAIT_S = 0.05
_LONGEST_WAIT_S = 5.0

Check = Callable[[], None]
"""May raise, to stop what calls it between two steps."""


@dataclass(slots=True)
class Interactive:
    """Counts searches that are under way: work on pages waits for them."""

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
        """Wait while a search is under way, for a few seconds at most."""
        deadline = time.monotonic() + _LONGEST_WAIT_S
        while self.count and time.monotonic() < deadline:
            check()
            time.sleep(_WAIT_S)
