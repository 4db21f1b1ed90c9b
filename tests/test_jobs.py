"""Background work: told while it runs, stopped when asked, and what became of it in one sentence."""

from __future__ import annotations

import gc
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import pytest

from docmind.errors import CancelledError, DiskFullError, NotFoundError
from docmind.jobs import Job, Jobs
from docmind.schema import AddResult, JobProgress

PATIENCE = 30.0  # seconds; only a hang takes so long


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    jobs = Jobs()
    yield jobs
    jobs.close()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.005)


def over(jobs: Jobs, job_id: str) -> JobProgress:
    until(lambda: jobs.progress(job_id).is_over)
    return jobs.progress(job_id)


class Gate:
    """Work that says when it has begun and goes on when it may."""

    def __init__(self) -> None:
        self.begun, self.open = threading.Event(), threading.Event()

    def __call__(self, job: Job) -> None:
        self.begun.set()
        while not self.open.wait(0.005):
            job.check()


def test_a_job_tells_how_far_it_is(jobs: Jobs) -> None:
    gate = Gate()

    def work(job: Job) -> None:
        job.update(fraction=0.25, file="a.pdf", page_no=1, pages_done=1, pages_total=4, stage="reading")
        gate(job)
        job.update(fraction=1.0, pages_done=4)
        job.add_result(AddResult("a.pdf", "added"))

    job_id = jobs.submit(work, files_total=1)
    assert gate.begun.wait(PATIENCE)
    now = jobs.progress(job_id)
    assert (now.state, now.file, now.stage, now.pages_done, now.pages_total) == ("running", "a.pdf", "reading", 1, 4)
    assert now.eta_ms == pytest.approx(3 * now.elapsed_ms)
    assert not now.is_over
    gate.open.set()
    end = over(jobs, job_id)
    assert (end.state, end.files_done, end.eta_ms, end.stage, end.message) == ("done", 1, 0.0, "", "")
    assert [result.document for result in end.results] == ["a.pdf"]
    assert (now.files_done, now.results) == (0, ())  # a record of then stays as it was


def test_what_is_left_cannot_be_told_at_the_start(jobs: Jobs) -> None:
    gate = Gate()
    job_id = jobs.submit(gate, files_total=1)
    assert gate.begun.wait(PATIENCE)
    assert jobs.progress(job_id).eta_ms is None
    gate.open.set()


def test_progress_never_goes_back() -> None:
    job = Job("x", 1)
    shown: list[float | None] = []

    def work(job: Job) -> None:
        for fraction in (0.5, 0.2, 7.0):
            job.update(fraction=fraction)
            shown.append(job.progress().eta_ms)

    job.run(work)
    assert shown[0] is not None
    assert shown[1] is not None
    assert shown[1] == pytest.approx(shown[0], abs=1000)
    assert shown[2] == 0.0


def test_jobs_run_one_after_another_in_order(jobs: Jobs) -> None:
    running, order = [], []

    def work(n: int) -> Callable[[Job], None]:
        def run(_job: Job) -> None:
            running.append(n)
            assert len(running) == 1
            order.append(n)
            time.sleep(0.002)
            running.pop()

        return run

    ids = [jobs.submit(work(n), files_total=1) for n in range(10)]
    assert [over(jobs, job_id).state for job_id in ids] == ["done"] * 10
    assert order == list(range(10))
    assert [now.job_id for now in jobs.all()] == ids


def test_a_running_job_stops_when_cancelled(jobs: Jobs) -> None:
    gate = Gate()
    job_id = jobs.submit(gate, files_total=1)
    assert gate.begun.wait(PATIENCE)
    jobs.cancel(job_id)
    end = over(jobs, job_id)
    assert (end.state, end.message) == ("cancelled", "Stopped.")
    jobs.cancel(job_id)  # harmless


def test_a_queued_job_that_is_cancelled_never_runs(jobs: Jobs) -> None:
    gate, ran = Gate(), []
    first = jobs.submit(gate, files_total=1)
    second = jobs.submit(ran.append, files_total=1)
    assert jobs.progress(second).state == "queued"
    jobs.cancel(second)
    gate.open.set()
    assert over(jobs, first).state == "done"
    assert over(jobs, second).state == "cancelled"
    assert ran == []


def test_a_failing_job_says_why_and_the_next_one_runs(jobs: Jobs, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_job: Job) -> None:
        raise DiskFullError("The disk is full.", hint="Make room.")

    def mistake(_job: Job) -> None:
        raise ZeroDivisionError("1/0 of canary")

    with caplog.at_level(logging.ERROR):
        failed = over(jobs, jobs.submit(fail, files_total=1))
        assert not caplog.records
        wrong = over(jobs, jobs.submit(mistake, files_total=1))
    assert (failed.state, failed.message) == ("failed", "The disk is full. Make room.")
    assert wrong.state == "failed"
    assert "mistake in DocMind (ZeroDivisionError)" in wrong.message
    assert "canary" not in wrong.message
    assert "a job failed" in caplog.text
    assert over(jobs, jobs.submit(lambda _: None, files_total=0)).state == "done"


def test_run_here_gives_the_error_to_the_caller() -> None:
    job = Job("here", 1)

    def stopped(_job: Job) -> None:
        raise CancelledError("Stopped.")

    with pytest.raises(CancelledError):
        job.run(stopped, reraise=True)
    assert job.progress().state == "cancelled"


def test_old_jobs_are_forgotten_running_and_waiting_ones_are_not(jobs: Jobs) -> None:
    gate = Gate()
    first = jobs.submit(lambda _: None, files_total=1)
    over(jobs, first)
    running = jobs.submit(gate, files_total=1)
    waiting = [jobs.submit(lambda _: None, files_total=1) for _ in range(80)]
    assert {now.job_id for now in jobs.all()} >= {running, *waiting}
    with pytest.raises(NotFoundError):
        jobs.progress(first)
    gate.open.set()
    over(jobs, waiting[-1])
    over(jobs, jobs.submit(lambda _: None, files_total=1))
    assert len(jobs.all()) <= 51
    with pytest.raises(NotFoundError):
        jobs.cancel(running)


def test_an_unknown_job_is_one_sentence(jobs: Jobs) -> None:
    with pytest.raises(NotFoundError, match="no job"):
        jobs.progress("nothing")


def test_close_waits_for_the_running_step_and_pauses_all(jobs: Jobs) -> None:
    gate, paused = Gate(), []

    def work(job: Job) -> None:
        try:
            gate(job)
        except CancelledError:
            time.sleep(0.05)
            paused.append(job.is_closing)
            raise

    running = jobs.submit(work, files_total=1)
    waiting = jobs.submit(lambda _: paused.append(False), files_total=1)
    assert gate.begun.wait(PATIENCE)
    jobs.close()
    assert paused == [True]
    assert [jobs.progress(job_id).state for job_id in (running, waiting)] == ["cancelled", "cancelled"]
    jobs.close()
    with pytest.raises(CancelledError):
        jobs.submit(lambda _: None, files_total=1)


def test_cancelling_is_not_closing(jobs: Jobs) -> None:
    seen: list[bool] = []

    def work(job: Job) -> None:
        job.cancel()
        seen.append(job.is_closing)

    over(jobs, jobs.submit(work, files_total=1))
    assert seen == [False]


def test_the_files_of_a_job_are_let_go_when_it_is_over(jobs: Jobs) -> None:
    class Files:
        pass

    files = Files()
    held = weakref.ref(files)

    def submit(files: Files) -> str:
        def work(_job: Job) -> None:
            repr(files)

        return jobs.submit(work, files_total=1)

    job_id = submit(files)
    del files
    over(jobs, job_id)
    until(lambda: gc.collect() >= 0 and held() is None)


def test_a_log_says_where_and_not_what(caplog: pytest.LogCaptureFixture) -> None:
    text = "the text of a page"  # not in the line that raises: a log may well show code

    def broken(_job: Job) -> None:
        raise ValueError(text)

    jobs = Jobs()
    job_id = jobs.submit(broken, files_total=1)
    while not jobs.progress(job_id).is_over or "ValueError" not in caplog.text:
        time.sleep(0.01)
    jobs.close()
    assert jobs.progress(job_id).state == "failed"
    assert "ValueError" in caplog.text
    assert "broken" in caplog.text
    assert text not in caplog.text
