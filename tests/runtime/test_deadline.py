"""Calls with a limit: what is slow is left behind, what hangs holds nobody up, and threads do not pile up."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from docmind.runtime.deadline import Outcome, Starts, TimedCall, TimedCalls

LONG = 60.0


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Yield an event for calls that hang; it is set at the end."""
    gate = threading.Event()
    yield gate
    gate.set()


def one(timed_calls: TimedCalls, call: Callable[[], object], limit_s: float = LONG) -> Outcome[object]:
    return timed_calls.run({"text": TimedCall(call, limit_s)})["text"]


def test_calls_run_side_by_side() -> None:
    meet = threading.Barrier(3, timeout=LONG)  # each needs the others to run at the same time
    outcomes = TimedCalls().run({name: TimedCall(meet.wait, LONG) for name in ("text", "image", "visual")})
    assert sorted(outcome.result() for outcome in outcomes.values()) == [0, 1, 2]


def test_what_a_call_raises_is_raised_where_it_is_asked_for() -> None:
    def fail() -> None:
        raise KeyError("a mistake")

    outcomes = TimedCalls().run({"text": TimedCall(fail, LONG), "image": TimedCall(lambda: None, LONG)})
    assert outcomes["image"].result() is None
    with pytest.raises(KeyError, match="a mistake"):
        outcomes["text"].result()


def test_a_slow_call_is_abandoned_and_the_next_fails_at_once(gate: threading.Event) -> None:
    timed_calls = TimedCalls()
    both: dict[str, TimedCall[object]] = {
        "text": TimedCall(lambda: gate.wait(LONG), 0.05),
        "image": TimedCall(lambda: "q", 9),
    }
    outcomes = timed_calls.run(both)
    assert "longer than 0.05 s" in outcomes["text"].late
    assert outcomes["image"].result() == "q"
    again = one(timed_calls, lambda: "never begun")
    assert "not back from an earlier search" in again.late
    assert again.duration_ms < LONG * 500  # it did not wait for its limit
    gate.set()
    while timed_calls.busy():
        time.sleep(0.01)
    assert one(timed_calls, lambda: "back").result() == "back"


def test_a_call_without_a_limit_is_waited_for(gate: threading.Event) -> None:
    timed_calls = TimedCalls(at_once=1)

    def both() -> dict[str, Outcome[object]]:
        words: TimedCall[object] = TimedCall(lambda: time.sleep(0.2) or "words", None)
        return timed_calls.run({"text": words, "image": TimedCall(lambda: gate.wait(LONG), 0.05)})

    with ThreadPoolExecutor(2) as pool:  # the second waits for the thread of the first
        outcomes = list(pool.map(lambda _: both(), range(2)))
    assert [each["text"].result() for each in outcomes] == ["words"] * 2
    assert all(each["image"].late for each in outcomes)


def test_threads_do_not_pile_up_behind_a_call_that_hangs(gate: threading.Event) -> None:
    timed_calls, before = TimedCalls(at_once=3), threading.active_count()
    with ThreadPoolExecutor(12) as pool:
        outcomes = list(pool.map(lambda _: one(timed_calls, lambda: gate.wait(LONG), 0.1), range(40)))
    assert all(outcome.late for outcome in outcomes)
    assert timed_calls.busy() <= 3
    assert threading.active_count() <= before + 3


def test_more_callers_than_threads_wait_their_turn() -> None:
    timed_calls, most, now, lock = TimedCalls(at_once=2), [0], [0], threading.Lock()

    def work() -> str:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.005)
        with lock:
            now[0] -= 1
        return "done"

    with ThreadPoolExecutor(16) as pool:
        assert {outcome.result() for outcome in pool.map(lambda _: one(timed_calls, work), range(48))} == {"done"}
    assert most[0] == 2


def test_a_call_that_hangs_does_not_keep_the_process_alive() -> None:
    script = (
        "import time; from docmind.runtime.deadline import Starts, TimedCall, TimedCalls;"
        "print(TimedCalls().run({'text': TimedCall(lambda: time.sleep(3600), 0.05)})['text'].late)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LONG, check=True)
    assert "longer than" in ended.stdout


def test_a_start_goes_on_beyond_the_wait_and_is_shared() -> None:
    starts, gate, begun = Starts(), threading.Event(), list[int]()

    def start() -> None:
        begun.append(1)
        assert gate.wait(60)

    assert [starts.wait("model", start, 0.01) for _ in range(3)] == [False] * 3
    starts.begin("model", start)
    gate.set()
    assert starts.wait("model", start, 60)
    assert len(begun) == 1
    assert starts.wait("model", start, 60)  # whoever asks again has seen that it is gone
    assert len(begun) == 2


def test_a_start_that_failed_is_told_once_and_begun_again_then() -> None:
    starts, begun = Starts(), list[int]()

    def start() -> None:
        begun.append(1)
        raise OSError("no weights")

    for _ in range(3):  # nobody has been told yet
        with suppress(OSError):
            starts.begin("model", start).result(60)
    assert len(begun) == 1
    with pytest.raises(OSError, match="no weights"):
        starts.wait("model", start, 60)
    with pytest.raises(OSError, match="no weights"):
        starts.wait("model", start, 60)
    assert len(begun) == 2
