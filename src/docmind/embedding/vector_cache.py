"""A cache of embeddings, so that a repeated question, or a passage that was read before, needs no model.

Questions and passages are private: the cache is only in memory and ends with the process.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

import numpy as np

from docmind.observability import CacheAsked, CacheName, emit

T = TypeVar("T")

SIZE = 256
"""Questions of all models together: a few MB at most, since a question has tens of token vectors."""


class VectorCache:
    """The `size` embeddings used last, by model fingerprint and text. Thread-safe.

    Two threads that miss the same question at once both compute it, so that neither waits for a slow model.
    """

    def __init__(self, size: int = SIZE, name: CacheName = "questions") -> None:
        if size < 1:
            raise ValueError("a cache holds at least one entry")
        self._size = size
        self._name: CacheName = name
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], object] = OrderedDict()
        self._asked = self._hits = 0

    def get(self, fingerprint: str, text: str, make: Callable[[], T]) -> T:
        """Return the cached result of `make` for this text and fingerprint, or compute it now.

        Callers must not change it, since it is shared. Errors of `make` are raised, and nothing is cached then.
        """
        key = (fingerprint, text)
        with self._lock:
            is_kept = key in self._kept
            kept = self._kept.get(key)
            if is_kept:
                self._kept.move_to_end(key)
        self._note(1, int(is_kept))
        if is_kept:
            return cast("T", kept)
        made = make()
        self._keep({key: made})
        return made

    def rows(self, fingerprint: str, texts: Sequence[str], make: Callable[[Sequence[str]], np.ndarray]) -> np.ndarray:
        """Return a row for each text: those that are cached, and those that `make` gives for the others, in one call.

        Errors of `make` are raised, and nothing is cached then.
        """
        with self._lock:
            kept = {text: self._kept[fingerprint, text] for text in texts if (fingerprint, text) in self._kept}
        new = [text for text in dict.fromkeys(texts) if text not in kept]
        if new:
            kept.update(zip(new, make(new), strict=True))
        self._keep({(fingerprint, text): kept[text] for text in texts})
        self._note(len(texts), len(texts) - len(new))
        return np.stack([cast("np.ndarray", kept[text]) for text in texts])

    def _keep(self, made: Mapping[tuple[str, str], object]) -> None:
        with self._lock:
            for key, one in made.items():
                self._kept[key] = one
                self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)

    def _note(self, asked: int, hits: int) -> None:
        with self._lock:
            self._asked += asked
            self._hits += hits
        emit(CacheAsked(self._name, asked, hits))

    def hit_rate(self) -> float | None:
        """Return the share of cached questions, 0..1, since the start; None before the first."""
        with self._lock:
            return self._hits / self._asked if self._asked else None

    def drop(self) -> None:
        """Remove everything; the hit rate continues."""
        with self._lock:
            self._kept.clear()
