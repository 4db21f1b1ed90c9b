"""The last durations of questions and readings, in the memory of this process alone."""

from __future__ import annotations

import math
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from docmind.observability.events import Answered, Embedded, Event, IngestionCompleted, Searched
from docmind.records.search import MISSING, ListName, ListState

Stage = Literal["answer", "search", "embedding", "reading"] | ListName
"""What is timed: a whole answer, a search and each of its lists, a question's meaning, the reading of a file."""

KEPT = 500
"""How many durations of a stage are kept."""


@dataclass(frozen=True, slots=True)
class StageTimes:
    """The last durations of a stage in milliseconds: how many, the longest of half of them, and of 95 of 100."""

    stage: Stage
    count: int
    p50_ms: float
    p95_ms: float


class RecentTimes:
    """A sink of events (`add_sink`) that keeps the last durations of each stage. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: dict[Stage, deque[float]] = {}
        self._missing: Counter[tuple[ListName, ListState]] = Counter()
        self._paused = 0

    def __call__(self, event: Event) -> None:
        """Note what an event timed."""
        with self._lock:
            if isinstance(event, IngestionCompleted):
                self._note("reading", 1_000 * event.seconds)
            elif self._paused:
                return
            elif isinstance(event, Answered):
                self._note("answer", event.ms)
            elif isinstance(event, Embedded) and event.texts == 1:  # a question; passages are embedded together
                self._note("embedding", event.ms)
            elif isinstance(event, Searched):
                self._note("search", event.ms)
                for one in event.lists:
                    if one.state in ("ran", "empty"):
                        self._note(one.name, one.ms)
                    elif one.state in MISSING:
                        self._missing[one.name, one.state] += 1

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out questions for as long: those of an evaluation are not the user's."""
        with self._lock:
            self._paused += 1
        try:
            yield
        finally:
            with self._lock:
                self._paused -= 1

    def stages(self) -> tuple[StageTimes, ...]:
        """Return the stages that were timed since the start."""
        with self._lock:
            kept: dict[Stage, list[float]] = {stage: sorted(times) for stage, times in self._times.items()}
        return tuple(
            StageTimes(stage, len(times), _quantile(times, 0.5), _quantile(times, 0.95))
            for stage, times in kept.items()
        )

    def missing(self) -> dict[tuple[ListName, ListState], int]:
        """Return how often a list was asked and gave nothing, by list and state, since the start."""
        with self._lock:
            return dict(self._missing)

    def _note(self, stage: Stage, ms: float) -> None:
        self._times.setdefault(stage, deque(maxlen=KEPT)).append(ms)


def _quantile(ordered: Sequence[float], part: float) -> float:
    """Return the smallest of these, in order, that at least this part of them does not exceed."""
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]
