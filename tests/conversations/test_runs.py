"""Runs: polled while they run, stopped, one at a time per conversation, and none left behind."""

from __future__ import annotations

import threading
import time

import pytest

from docmind.conversations.runs import LiveRun, Runs
from docmind.errors import LanguageModelDownError, NotFoundError, VaultError
from docmind.records.conversations import RunProgress, Turn, TurnState


def turn(state: TurnState = "answered") -> Turn:
    return Turn("c", None, "Why?", 0, state)


def test_a_run_is_seen_from_outside() -> None:
    seen: list[RunProgress] = []
    run = LiveRun("t", "Why?", seen.append)

    def work(run: LiveRun) -> Turn:
        run.by("ollama/m")
        run.report("searching")
        run.report("writing", "Be")
        run.report("writing", "cause.")
        return turn()

    assert Runs().here(run, work) == turn()
    assert [(p.state, p.stage, p.text) for p in seen] == [
        ("running", "searching", ""),
        ("running", "writing", "Be"),
        ("running", "writing", "Because."),
        ("done", "", "Because."),
    ]
    assert seen[-1].model == "ollama/m"
    assert seen[-1].turn == turn()
    assert seen[0].first_text_ms is None
    assert (seen[1].first_text_ms or 0) > 0


def test_a_run_that_is_over_keeps_nothing_to_write_with() -> None:
    runs, run = Runs(), LiveRun("t", "Why?")

    def work(run: LiveRun) -> Turn:
        run.stand(turn(), lambda: turn("stopped"))
        return turn()

    assert runs.here(run, work) == turn("stopped")
    assert run.finish() is None


def test_what_was_written_can_be_dropped_for_another_beginning() -> None:
    run = LiveRun("t", "Why?")
    run.report("writing", "Let me search")
    run.report("searching", restart=True)
    assert run.progress().text == ""


def test_stopping_is_told_to_the_work() -> None:
    runs, run, going = Runs(), LiveRun("t", "Why?"), threading.Event()

    def work(run: LiveRun) -> Turn:
        going.set()
        while not run.is_stopped():
            pass
        return turn("stopped")

    run_id = runs.start(run, work)
    going.wait(10)
    assert runs.live("t") is run
    runs.get(run_id).stop()
    assert run.wait(10)
    assert run.progress().state == "stopped"
    assert runs.live("t") is None


def test_turns_of_one_conversation_follow_one_another() -> None:
    runs, inside, most = Runs(), 0, 0

    def work(run: LiveRun) -> Turn:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        threading.Event().wait(0.01)
        inside -= 1
        return turn()

    started = [LiveRun("t", str(n)) for n in range(8)]
    for run in started:
        runs.start(run, work)
    assert all(run.wait(10) for run in started)
    assert most == 1


def test_a_second_question_waits_and_says_so() -> None:
    runs, first, second, free = Runs(), LiveRun("t", "1"), LiveRun("t", "2"), threading.Event()
    begun = threading.Event()

    def held(run: LiveRun) -> Turn:
        begun.set()
        run.report("writing")
        free.wait(10)
        return turn()

    runs.start(first, held)
    assert begun.wait(10)
    runs.start(second, lambda run: turn())
    assert second.progress().state == "waiting"
    free.set()
    assert second.wait(10)


def test_an_error_is_told_and_leaves_the_conversation_free() -> None:
    runs, run = Runs(), LiveRun("t", "Why?")

    def work(run: LiveRun) -> Turn:
        raise LanguageModelDownError("Nobody is there.")

    runs.start(run, work)
    assert run.wait(10)
    assert run.progress().state == "failed"
    assert run.progress().message == "Nobody is there."
    assert run.progress().hint == LanguageModelDownError.hint
    assert runs.here(LiveRun("t", "Again?"), lambda run: turn()) == turn()


def test_a_mistake_of_ours_is_no_answer_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    runs, run = Runs(), LiveRun("t", "Why?")
    said = "a secret of the documents"  # not in the line that raises: a log shows lines of the program

    def work(run: LiveRun) -> Turn:
        raise ZeroDivisionError(said)

    runs.start(run, work)
    assert run.wait(10)
    assert "ZeroDivisionError" in run.progress().message
    until = time.monotonic() + 10
    while "a run failed" not in caplog.text and time.monotonic() < until:  # the run is over before it is logged
        time.sleep(0.01)
    assert "a run failed with ZeroDivisionError" in caplog.text
    assert "secret" not in run.progress().message + caplog.text


def test_unknown_runs_and_closed_vaults() -> None:
    runs = Runs()
    with pytest.raises(NotFoundError):
        runs.get("none")
    run, begun = LiveRun("t", "Why?"), threading.Event()

    def work(run: LiveRun) -> Turn:
        begun.set()
        while not run.is_stopped():
            pass
        return turn("stopped")

    runs.start(run, work)
    begun.wait(10)
    runs.close()
    assert run.progress().is_over
    with pytest.raises(VaultError):
        runs.here(LiveRun("t", "More?"), lambda run: turn())
    runs.close()


def test_news_end_a_wait_for_them() -> None:
    run = LiveRun("t", "q?")
    run.report("writing", "One ")
    seen = run.progress()
    waiting = threading.Thread(target=run.wait_for_news, args=(seen, 60))
    waiting.start()
    run.report("writing", "two")
    waiting.join(30)
    assert not waiting.is_alive()
    seen = run.progress()
    run.wait_for_news(seen, 0.01)  # nothing new
    run.report("summarising", restart=True, parts=(1, 3))
    run.wait_for_news(seen, 60)
    assert run.progress().parts_done == 1
    run.end("done")
    run.wait_for_news(run.progress(), 60)
