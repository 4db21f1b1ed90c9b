"""DocMind's own clock, and the ages that it measures: no change of the computer's clock deletes anything early.

The clock counts the time that a vault is open by the monotonic clock, and the time in which it is closed by the
computer's clock, which may have been set meanwhile: each such time counts as at most a day, and never as less than
nothing. So the clock may be slow, and is never ahead by more than a day for each time the vault was opened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import suppress

from docmind.errors import DamagedError
from docmind.storage.database import Database
from docmind.storage.preferences import Preferences

_KEPT = "own-clock"  # the preference with the clock's state
_CLOSED_MS = 24 * 60 * 60 * 1000  # the most that a time in which the vault is closed counts
_SELDOM_MS = 60 * 60 * 1000  # a clock that has gone on by less is not written, which would cost each opening a sync


class OwnClock:
    """The own clock of an open vault. Thread-safe as `Database` is."""

    def __init__(
        self,
        database: Database,
        *,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the clock's state. `wall` is the computer's clock in seconds, `monotonic` one that nobody can set."""
        self._db, self._preferences = database, Preferences(database)
        self._wall, self._monotonic = wall, monotonic
        self._started = monotonic()
        self._begun_ms, closed_at_ms = self._state()
        self._written_ms = None if closed_at_ms is None else self._begun_ms
        if closed_at_ms is not None:
            self._begun_ms += min(max(int(wall() * 1000) - closed_at_ms, 0), _CLOSED_MS)

    def now_ms(self) -> int:
        """Return the time of this clock in milliseconds; it never goes back."""
        return self._begun_ms + int((self._monotonic() - self._started) * 1000)

    def keep(self, *, seldom: bool = False) -> None:
        """Write the state, so that the next opening goes on from it; with `seldom` at most once an hour.

        Raises `DiskFullError`; the time since the last writing then counts as if the vault had been closed.
        """
        now = self.now_ms()
        is_fresh = self._written_ms is not None and now - self._written_ms < _SELDOM_MS
        if self._db.is_read_only or (seldom and is_fresh):
            return
        self._preferences.put(_KEPT, {"own_ms": now, "wall_ms": int(self._wall() * 1000)})
        self._written_ms = now

    def _state(self) -> tuple[int, int | None]:
        """Return the time that was written last, and that of the computer then; no age begins after the first."""
        kept = None
        with suppress(DamagedError):  # as if there was none
            kept = self._preferences.get(_KEPT)
        own, wall = (kept.get(name) for name in ("own_ms", "wall_ms")) if isinstance(kept, dict) else (None, None)
        if isinstance(own, int) and isinstance(wall, int):
            return own, wall
        newest = self._db.one(
            "SELECT max(coalesce((SELECT max(since_ms) FROM ages), 0),"
            " coalesce((SELECT max(binned_own_ms) FROM documents), 0))"
        )
        return (int(newest[0]) if newest else 0), None


class Ages:
    """Since when something has been in a state, by the own clock: the table `ages`. Thread-safe as `Database` is.

    A name belongs to one thing in one state: what leaves the state and comes back needs another name.
    """

    def __init__(self, database: Database, clock: OwnClock) -> None:
        self._db, self._clock = database, clock

    def of(self, state: str) -> dict[str, int]:
        """Return the ages of what is noted in a state, in milliseconds."""
        now = self._clock.now_ms()
        return {name: now - since for name, since in self._noted(state).items()}

    def note(self, state: str, names: Collection[str]) -> None:
        """Note that these are in a state, those that are new from now on, and no others. Raises `DiskFullError`."""
        noted, now = self._noted(state), self._clock.now_ms()
        new, gone = set(names) - noted.keys(), noted.keys() - set(names)
        if not new and not gone:
            return
        with self._db.transaction(is_step=True) as db:
            db.executemany("INSERT OR REPLACE INTO ages VALUES (?, ?, ?)", [(state, name, now) for name in sorted(new)])
            db.executemany("DELETE FROM ages WHERE state = ? AND name = ?", [(state, name) for name in sorted(gone)])

    def drop(self) -> None:
        """Forget all ages, because the vault they were noted in may not be the newest. Raises `DiskFullError`."""
        with self._db.transaction() as db:
            db.execute("DELETE FROM ages")
            db.execute("UPDATE documents SET binned_own_ms = NULL WHERE binned_own_ms IS NOT NULL")

    def _noted(self, state: str) -> dict[str, int]:
        return dict(self._db.all("SELECT name, since_ms FROM ages WHERE state = ?", (state,)))
