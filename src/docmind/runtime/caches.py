"""What a process keeps in memory of documents, so that all of it can be dropped when one of them is erased."""

from __future__ import annotations

from typing import Protocol, TypeVar


class Cache(Protocol):
    """Something that keeps texts, vectors or pictures of documents in memory."""

    def drop(self) -> None:
        """Drop what is kept."""
        ...


_Joined = TypeVar("_Joined", bound=Cache)


class Caches:
    """The caches of an open library."""

    def __init__(self) -> None:
        self._known: list[Cache] = []

    def join(self, cache: _Joined) -> _Joined:
        """Have `drop` drop what this cache keeps, from now on; return the cache."""
        self._known.append(cache)
        return cache

    def drop(self) -> None:
        """Drop what all caches keep."""
        for cache in self._known:
            cache.drop()
