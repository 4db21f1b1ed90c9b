"""Run callables with a deadline, and measure how long stages take.

Each call runs in its own daemon thread, so one that hangs delays its caller by at most its limit, where it has one, and
never delays others. A pool of the standard library would wait for a hanging call when the process ends, and queue
others behind it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from docmind.runtime.threads import start_thread

T = TypeVar("T")

AT_ONCE = 8
"""Largest number of threads per name; a further call waits for a free one within its own limit."""


@dataclass(frozen=True, slots=True)
class TimedCall(Generic[T]):
    """A callable and its time limit in seconds; None where it is waited for as long as it takes."""

    call: Callable[[], T]
    limit_s: float | None


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """Outcome of a call. `late` is a sentence where it did not finish in time, else `result` gives its result."""

    future: Future[T]
    duration_ms: float
    late: str = ""

    def result(self) -> T:
        """Return what the call returned, or raise what it raised. Do not use it where `late` is set."""
        return self.future.result(timeout=0)


@dataclass(eq=False, slots=True)
class _Call(Generic[T]):
    """One running call: its deadline `end`, and the time `back` at which it finished."""

    end: float
    future: Future[T] = field(default_factory=Future)
    back: float = 0.0


class TimedCalls:
    """Runner of named calls.

    Thread-safe; its threads are daemons, so that the process may end at any time.

    While a call exceeds its limit, no other call starts under the same name: its caller gets a late `Outcome` at once.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._changed = threading.Condition()
        self._running: dict[str, set[_Call]] = {}

    def run(self, timed_calls: Mapping[str, TimedCall[T]]) -> dict[str, Outcome[T]]:
        """Run all calls in parallel; return when each has finished or exceeded its limit."""
        started = time.monotonic()
        calls = {
            name: self._begin(name, timed_call, started, patient=False) for name, timed_call in timed_calls.items()
        }
        for name, timed_call in timed_calls.items():
            if calls[name] == "":  # no thread was free: start the others first, then wait for one
                calls[name] = self._begin(name, timed_call, started, patient=True)
        return {name: _outcome(calls[name], timed_call, started) for name, timed_call in timed_calls.items()}

    def busy(self) -> int:
        """Return how many calls are still running."""
        with self._changed:
            return sum(map(len, self._running.values()))

    def _begin(self, name: str, timed_call: TimedCall[T], started: float, *, patient: bool) -> _Call[T] | str:
        """Start a call and return it, or return why not: an empty string where all threads are in use."""
        call = _Call[T](math.inf if timed_call.limit_s is None else started + timed_call.limit_s)
        with self._changed:
            running = self._running.setdefault(name, set())

            def is_stuck() -> bool:
                return any(one.end < time.monotonic() for one in running)

            if patient:
                self._changed.wait_for(lambda: len(running) < self._at_once or is_stuck(), _left(call))
            if is_stuck():
                return "It is not back from an earlier search yet."
            if len(running) >= self._at_once:
                return "Too many searches go on at once." if patient else ""
            running.add(call)
        start_thread(lambda: self._run(name, timed_call, call), name=f"timed call {name}")
        return call

    def _run(self, name: str, timed_call: TimedCall[T], call: _Call[T]) -> None:
        try:
            result = timed_call.call()
        except BaseException as error:  # noqa: BLE001 - it is raised again in the caller's thread
            self._back(name, call)
            call.future.set_exception(error)
        else:
            self._back(name, call)
            call.future.set_result(result)

    def _back(self, name: str, call: _Call) -> None:
        call.back = time.monotonic()
        with self._changed:
            self._running[name].discard(call)
            self._changed.notify_all()


class Starts:
    """Starts that take longer than a caller may wait, each in a thread of its own. Thread-safe.

    A start that has failed is begun again after a caller was told.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: dict[str, Future[None]] = {}

    def begin(self, name: str, start: Callable[[], None]) -> Future[None]:
        """Begin a start, unless it is under way, or has failed and nobody was told."""
        with self._lock:
            future = self._begun.get(name)
            if future is not None and (not future.done() or future.exception() is not None):
                return future
            future = self._begun[name] = Future()
        start_thread(lambda: _settle(future, start), name=f"start {name}")
        return future

    def wait(self, name: str, start: Callable[[], None], limit_s: float) -> bool:
        """Begin a start and wait for it; return whether it is done. Raises what it raised."""
        future = self.begin(name, start)
        wait([future], limit_s)
        if not future.done():
            return False
        with self._lock:
            if self._begun.get(name) is future:
                del self._begun[name]
        future.result(timeout=0)
        return True


def _settle(future: Future[None], start: Callable[[], None]) -> None:
    try:
        start()
    except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
        future.set_exception(error)
    else:
        future.set_result(None)


def _left(call: _Call[T]) -> float | None:
    """Return the seconds until the deadline of a call; None where it has none."""
    return None if math.isinf(call.end) else max(0.0, call.end - time.monotonic())


def _outcome(call: _Call[T] | str, timed_call: TimedCall[T], started: float) -> Outcome[T]:
    if isinstance(call, str):
        return Outcome(Future(), (time.monotonic() - started) * 1000, call)
    wait([call.future], _left(call))
    if call.future.done() or timed_call.limit_s is None:
        return Outcome(call.future, (call.back - started) * 1000)
    return Outcome(call.future, timed_call.limit_s * 1000, f"It took longer than {timed_call.limit_s:g} s.")


def ms_since(started: float) -> float:
    """Return the milliseconds since `started`, a value of `time.perf_counter`."""
    return (time.perf_counter() - started) * 1000


class Clock:
    """Durations of stages, in milliseconds."""

    def __init__(self) -> None:
        self._started = self._at = time.perf_counter()
        self._laps: list[tuple[str, float]] = []

    def lap(self, stage: str) -> None:
        """End a stage, which began when the one before it ended."""
        self._laps.append((stage, ms_since(self._at)))
        self._at = time.perf_counter()

    def timings(self) -> tuple[tuple[str, float], ...]:
        """Return the stages in order, then the total until now."""
        return (*self._laps, ("total", ms_since(self._started)))
