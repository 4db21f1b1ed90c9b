"""The ledger of the network: what tried to reach another machine and was refused, and what a setting allowed.

It counts refusals of the egress rule (`docmind.network.endpoint`), of the guard of native code
(`docmind.network.guard`) and of children, and connections that were allowed. It keeps hosts and ports, nothing that was
to be sent, in memory only.
"""

from __future__ import annotations

import threading
import time
from collections import Counter

from docmind.network.guard import network_guard
from docmind.records.network import AllowedPlace, NetworkLedger, Part, Purpose, RefusedPlace
from docmind.runtime import refused_calls

_MOST_NAMED, _LONGEST = 16, 80


class Ledger:
    """The counters of this process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since_ms = time.time_ns() // 1_000_000
        self._refused: Counter[str] = Counter()
        self._allowed: Counter[tuple[str, Purpose]] = Counter()

    def refuse(self, place: str) -> None:
        """Count an attempt of Python code that was refused."""
        with self._lock:
            name = _shown(place)
            self._refused[name if name in self._refused or len(self._refused) < _MOST_NAMED else ""] += 1

    def allow(self, place: str, purpose: Purpose) -> None:
        """Count a connection to another machine that a setting allowed."""
        with self._lock:
            name = (_shown(place), purpose)
            self._allowed[name if name in self._allowed or len(self._allowed) < _MOST_NAMED else ("", purpose)] += 1

    def report(self) -> NetworkLedger:
        """Return what was counted until now, the most frequent first."""
        guard = network_guard().state()
        native = Counter({_shown(place): count for place, count in guard.places})
        if unnamed := guard.refused - native.total():
            native[""] += unnamed
        with self._lock:
            by_part: dict[Part, Counter[str]] = {
                "python": Counter(self._refused), "native": native, "children": Counter(refused_calls())
            }  # fmt: skip
            allowed = self._allowed.most_common()
        refused = [RefusedPlace(place, part, n) for part, places in by_part.items() for place, n in places.items()]
        return NetworkLedger(
            since_ms=self._since_ms,
            refused=tuple(sorted(refused, key=lambda one: (-one.count, one.place))),
            allowed=tuple(AllowedPlace(place, purpose, n) for (place, purpose), n in allowed),
            is_guarded=guard.is_held,
            reason=guard.reason,
        )


def _shown(place: str) -> str:
    return "".join(char if " " <= char <= "~" else "?" for char in place[:_LONGEST])


_ledger = Ledger()


def network_ledger() -> Ledger:
    """Return the ledger of this process, which begins when the process first uses the network or opens a vault."""
    return _ledger
