"""Calls to the network that children were refused: counted in the child, and added up in its owner.

A child sends its counts with its next frame (`docmind.runtime.worker`). What a child sends is not believed: names are
cut to printable ASCII, and only a few different ones are kept.

Below 60 lines: the child runs `worker` as its main module too, and both copies of that module need one place.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

_MOST_NAMED, _LONGEST, _MOST = 16, 80, 1 << 31
_lock = threading.Lock()
_counts: dict[str, int] = {}


def note(place: str, count: int = 1) -> None:
    """Count refused calls to an address; beyond 16 different ones they are counted under an empty name."""
    name = "".join(char if " " < char <= "~" else "?" for char in place[:_LONGEST])
    with _lock:
        named = name if name in _counts or len(_counts) < _MOST_NAMED else ""
        _counts[named] = min(_counts.get(named, 0) + count, _MOST)


def take() -> dict[str, int]:
    """Return the counts and set them to zero."""
    with _lock:
        taken = dict(_counts)
        _counts.clear()
    return taken


def refused_calls() -> dict[str, int]:
    """Return how often children were refused each address since this process was started."""
    with _lock:
        return dict(_counts)


def add(told: object) -> None:
    """Add counts that a child sent; what is no count is left out."""
    for place, count in list(told.items())[:_MOST_NAMED] if isinstance(told, Mapping) else ():
        if isinstance(place, str) and type(count) is int and 0 < count < _MOST:
            note(place, count)
