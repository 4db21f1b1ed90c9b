"""A cache of query embeddings, so that a repeated, filtered or paged question needs no model.

Questions are private: the cache is only in memory and ends with the process.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar, cast

T = TypeVar("T")

SIZE = 256
"""Questions of all models together: a few MB at most, since a question has tens of token vectors."""


class QueryCache:
    """The `size` query embeddings used last, by model fingerprint and text. Thread-safe.

    Two threads that miss the same question at once both compute it, so that neither waits for a slow model.
    """

    def __init__(self, size: int = SIZE) -> None:
        if size < 1:
            raise ValueError("a cache holds at least one entry")
        self._size = size
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], object] = OrderedDict()
        self._asked = self._hits = 0

    def get(self, fingerprint: str, text: str, make: Callable[[], T]) -> T:
        """Return the cached result of `make` for this text and fingerprint, or compute it now.

        Callers must not change it, since it is shared. Errors of `make` are raised, and nothing is cached then.
        """
        key = (fingerprint, text)
        with self._lock:
            self._asked += 1
            if key in self._kept:
                self._hits += 1
                self._kept.move_to_end(key)
                return cast("T", self._kept[key])
        made = make()
        with self._lock:
            self._kept[key] = made
            self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return made

    def hit_rate(self) -> float | None:
        """Return the share of cached questions, 0..1, since the start; None before the first."""
        with self._lock:
            return self._hits / self._asked if self._asked else None

    def clear(self) -> None:
        """Remove every question; the hit rate continues."""
        with self._lock:
            self._kept.clear()
