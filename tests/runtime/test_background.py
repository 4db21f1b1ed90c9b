"""Background threads: started once, woken by news, ended by `close`, and mistakes logged without their message."""

from __future__ import annotations

import logging
import threading

import pytest

from docmind.errors import CancelledError
from docmind.runtime import log_mistake
from docmind.runtime.background import Background
from docmind.runtime.logging import Lines


def test_a_thread_starts_once_and_again_after_its_end() -> None:
    background, go, began = Background("test"), threading.Event(), []

    def work() -> None:
        began.append(threading.current_thread().name)
        go.wait(10)

    assert (background.is_started, background.is_running) == (False, False)
    for _ in range(3):
        background.start(work)
    assert background.is_running
    go.set()
    background.join()
    assert (background.is_started, background.is_running, began) == (True, False, ["test"])
    background.start(work)
    background.join()
    assert began == ["test", "test"]


def test_news_ends_a_sleep_and_is_used_up() -> None:
    background = Background("test")
    background.wake()
    background.sleep(10)
    rounds: list[int] = []

    def work() -> None:
        while not background.is_closed:
            rounds.append(1)
            background.sleep()

    background.start(work)
    background.close()
    background.join(10)
    assert not background.is_running
    assert len(rounds) <= 2


def test_what_is_closed_says_so_and_starts_nothing() -> None:
    background = Background("test", "It was ended.")
    background.check()
    background.close()
    background.close()
    with pytest.raises(CancelledError, match=r"It was ended\."):
        background.check()
    background.start(lambda: None)
    assert not background.is_started
    background.rest(10)


def test_a_thread_may_close_and_join_itself() -> None:
    background = Background("test")

    def work() -> None:
        background.close()
        background.join()

    background.start(work)
    background.join(10)
    assert not background.is_running


def test_a_thread_that_is_being_started_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library is locked by one thread in the moment in which another one starts work on it."""
    background, begun, goes_on, start = Background("test"), threading.Event(), threading.Event(), threading.Thread.start

    def slow_start(thread: threading.Thread) -> None:
        if thread.name == "test":
            begun.set()
            goes_on.wait(10)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", slow_start)
    threading.Thread(target=background.start, args=(lambda: None,), name="starter").start()
    assert begun.wait(10)
    threading.Timer(0.1, goes_on.set).start()
    background.close()
    background.join(10)
    assert goes_on.is_set()
    assert not background.is_running


def test_a_mistake_is_logged_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise ValueError("text of a document")
    except ValueError as error:
        with caplog.at_level(logging.ERROR):
            log_mistake("docmind.test", "a job failed", error)
    assert "a job failed with ValueError" in caplog.text
    told = Lines().format(caplog.records[0])
    assert "test_background.py" in told
    assert "text of a document" not in told.replace('raise ValueError("text of a document")', "")
