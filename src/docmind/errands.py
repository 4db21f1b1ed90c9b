"""Calls with a time limit, in threads of their own: one that hangs costs its caller the limit, and the next nothing.

A pool of the standard library would wait for a call that hangs when the process ends, and queue the next behind it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

AT_ONCE = 8
"""Threads for each name at most; who comes ninth waits for one of them, within its own limit."""


@dataclass(frozen=True, slots=True)
class Errand(Generic[T]):
    """A call and how long it may take, in seconds."""

    call: Callable[[], T]
    limit_s: float


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What became of a call. `late` is a sentence where it is not back, else `result` gives what it gave."""

    future: Future[T]
    duration_ms: float
    late: str = ""

    def result(self) -> T:
        """What the call returned; raises what it raised. Not to be asked of one that is late."""
        return self.future.result(timeout=0)


@dataclass(eq=False, slots=True)
class _Call(Generic[T]):
    """One call on its way: the moment by which it has to be back, and the one in which it was."""

    end: float
    future: Future[T] = field(default_factory=Future)
    back: float = 0.0


class Errands:
    """Runs calls by name. Safe from any thread; threads are daemons, so that the process may end at any time.

    While a call is over its limit no other is begun under its name: its caller hears so at once.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._changed = threading.Condition()
        self._running: dict[str, set[_Call]] = {}

    def run(self, errands: Mapping[str, Errand[T]]) -> dict[str, Outcome[T]]:
        """All of them at once; returns when each has come back or is over its limit."""
        started = time.monotonic()
        calls = {name: self._begin(name, errand, started, patient=False) for name, errand in errands.items()}
        for name, errand in errands.items():
            if calls[name] == "":  # no thread was free: the others had to be begun first
                calls[name] = self._begin(name, errand, started, patient=True)
        return {name: _outcome(calls[name], errand, started) for name, errand in errands.items()}

    def busy(self) -> int:
        """How many calls are not back yet."""
        with self._changed:
            return sum(map(len, self._running.values()))

    def _begin(self, name: str, errand: Errand[T], started: float, *, patient: bool) -> _Call[T] | str:
        """The call on its way; or why there is none: an empty string where all threads are in use."""
        call = _Call[T](started + errand.limit_s)
        with self._changed:
            running = self._running.setdefault(name, set())

            def is_stuck() -> bool:
                return any(one.end < time.monotonic() for one in running)

            if patient:
                self._changed.wait_for(lambda: len(running) < self._at_once or is_stuck(), call.end - time.monotonic())
            if is_stuck():
                return "It is not back from an earlier search yet."
            if len(running) >= self._at_once:
                return "Too many searches go on at once." if patient else ""
            running.add(call)
        threading.Thread(target=self._run, args=(name, errand, call), name=f"errand {name}", daemon=True).start()
        return call

    def _run(self, name: str, errand: Errand[T], call: _Call[T]) -> None:
        try:
            result = errand.call()
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that asked
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


def _outcome(call: _Call[T] | str, errand: Errand[T], started: float) -> Outcome[T]:
    if isinstance(call, str):
        return Outcome(Future(), (time.monotonic() - started) * 1000, call)
    wait([call.future], max(0.0, call.end - time.monotonic()))
    if call.future.done():
        return Outcome(call.future, (call.back - started) * 1000)
    return Outcome(call.future, errand.limit_s * 1000, f"It took longer than {errand.limit_s:g} s.")
