"""The ring of recent times: what is timed by which event, quantiles, and what is left out."""

from __future__ import annotations

from docmind.observability import (
    KEPT,
    Answered,
    CacheAsked,
    Embedded,
    IngestionCompleted,
    ListTimed,
    RecentTimes,
    Searched,
    add_sink,
    emit,
    remove_sink,
)


def searched(ms: float, *lists: ListTimed) -> Searched:
    return Searched(lists, 3, ms)


def test_each_stage_has_the_times_of_its_events() -> None:
    times = RecentTimes()
    add_sink(times)
    try:
        emit(Answered("answer", 300.0))
        emit(IngestionCompleted("d", chunks=4, dedup=0, seconds=1.5))
        emit(Embedded("minilm", 1, 9.0))
        emit(Embedded("minilm", 64, 900.0))  # passages of a file
        emit(CacheAsked("questions", 1, 0))
        emit(searched(80.0, ListTimed("text", "ran", 3, 60.0), ListTimed("image", "starting", 0, 0.1)))
    finally:
        remove_sink(times)
    emit(Answered("answer", 1.0))
    told = {one.stage: (one.count, one.p50_ms, one.p95_ms) for one in times.stages()}
    assert told == {
        "answer": (1, 300.0, 300.0),
        "reading": (1, 1_500.0, 1_500.0),
        "embedding": (1, 9.0, 9.0),
        "search": (1, 80.0, 80.0),
        "text": (1, 60.0, 60.0),
    }
    assert times.missing() == {("image", "starting"): 1}


def test_quantiles_are_those_of_the_last_times() -> None:
    times = RecentTimes()
    for ms in (10_000.0, *map(float, range(1, KEPT + 1))):
        times(Answered("maybe", ms))
    (one,) = times.stages()
    assert (one.count, one.p50_ms, one.p95_ms) == (KEPT, KEPT / 2, 0.95 * KEPT)


def test_questions_of_an_evaluation_are_left_out_and_files_are_not() -> None:
    times = RecentTimes()
    with times.paused():
        times(Answered("answer", 5.0))
        times(searched(5.0))
        times(IngestionCompleted("d", chunks=1, dedup=0, seconds=0.1))
    times(searched(7.0))
    assert {one.stage: one.p50_ms for one in times.stages()} == {"reading": 100.0, "search": 7.0}
