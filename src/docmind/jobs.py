"""Background work with progress, a stop, and an estimate of what is left.

One thread takes jobs in order. Faces poll `progress`, which is an immutable record; nothing here knows what a job does.
"""

from __future__ import annotations

import logging
import queue
import secrets
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from docmind.errors import CancelledError, DocMindError, NotFoundError
from docmind.schema import AddResult, JobProgress

Work = Callable[["Job"], None]
_KEPT = 50


@dataclass(frozen=True, slots=True)
class _Entry:
    job: Job
    work: Work = field(repr=False)


class Job:
    """The handle that running work holds. `update` and `result` may be called from any thread."""

    def __init__(self, job_id: str, files_total: int) -> None:
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._closing = threading.Event()
        self._started = time.monotonic()
        self._fraction = 0.0
        self._progress = JobProgress(
            job_id=job_id,
            state="queued",
            files_total=files_total,
            files_done=0,
            file="",
            page_no=0,
            pages_total=0,
            pages_done=0,
            stage="waiting",
            started_at_ms=int(time.time() * 1000),
            elapsed_ms=0.0,
            eta_ms=None,
        )

    @property
    def job_id(self) -> str:
        return self._progress.job_id

    def progress(self) -> JobProgress:
        """Now, as a record: `eta_ms` is elapsed time stretched over the fraction that is left."""
        with self._lock:
            progress, fraction = self._progress, self._fraction
        if progress.state != "running":
            return progress
        elapsed = (time.monotonic() - self._started) * 1000
        eta = elapsed * (1 - fraction) / fraction if fraction > 0.01 else None
        return replace(progress, elapsed_ms=elapsed, eta_ms=eta)

    def update(self, *, fraction: float | None = None, **changes: object) -> None:
        """Replace fields of the record; `fraction` (0..1) is how much of all work is done."""
        with self._lock:
            self._progress = replace(self._progress, **changes)  # type: ignore[arg-type]
            if fraction is not None:
                self._fraction = min(1.0, max(self._fraction, fraction))

    def add_result(self, result: AddResult) -> None:
        """One more file is over."""
        with self._lock:
            progress = self._progress
            self._progress = replace(progress, results=(*progress.results, result), files_done=progress.files_done + 1)

    def check(self) -> None:
        """Raises `CancelledError` once somebody cancelled; call it between steps."""
        if self._cancelled.is_set():
            raise CancelledError("Stopped.")

    def cancel(self) -> None:
        """The user does not want it any more: `check` raises from now on."""
        self._cancelled.set()

    def suspend(self) -> None:
        """Stop like `cancel`, for DocMind is being closed: what is half done is wanted at the next start."""
        self._closing.set()
        self._cancelled.set()

    @property
    def is_closing(self) -> bool:
        return self._closing.is_set()

    def run(self, work: Work, *, reraise: bool = False) -> None:
        """Run `work` to its end and keep what became of it; with `reraise` the caller gets its error too."""
        self._started = time.monotonic()
        self.update(state="running", stage="starting")
        try:
            self.check()
            work(self)
        except CancelledError:
            self._end("cancelled", "Stopped.")
            if reraise:
                raise
        except DocMindError as error:
            self._end("failed", f"{error} {error.hint}")
            if reraise:
                raise
        except BaseException as error:
            self._end("failed", f"This is a mistake in DocMind ({type(error).__name__}); the log has the details.")
            raise
        else:
            self._end("done", "")

    def _end(self, state: str, message: str) -> None:
        elapsed = (time.monotonic() - self._started) * 1000
        self.update(state=state, stage="", message=message, elapsed_ms=elapsed, eta_ms=0.0 if state == "done" else None)


class Jobs:
    """Runs jobs one after another in a thread of its own. Safe from any thread."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._queue: queue.Queue[_Entry | None] = queue.Queue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, work: Work, *, files_total: int) -> str:
        """Queue one job; returns its id. Raises `CancelledError` once `close` was called."""
        job = Job(secrets.token_hex(8), files_total)
        with self._lock:
            if self._closed:
                raise CancelledError("DocMind is being closed.")
            self._jobs[job.job_id] = job
            over = [job_id for job_id, known in self._jobs.items() if known.progress().is_over]
            for job_id in over[: max(0, len(self._jobs) - _KEPT)]:
                del self._jobs[job_id]
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)
                self._thread.start()
            self._queue.put(_Entry(job, work))
        return job.job_id

    def progress(self, job_id: str) -> JobProgress:
        """Raises `NotFoundError` for a job that is not known (any more)."""
        return self._job(job_id).progress()

    def all(self) -> tuple[JobProgress, ...]:
        """Every known job, the oldest first."""
        with self._lock:
            jobs = list(self._jobs.values())
        return tuple(job.progress() for job in jobs)

    def cancel(self, job_id: str) -> None:
        """Ask a job to stop; it does so between two pages."""
        self._job(job_id).cancel()

    def close(self) -> None:
        """Suspend everything and wait for the running step to end, for half a minute at most. Harmless twice."""
        with self._lock:
            self._closed = True
            for job in self._jobs.values():
                job.suspend()
            thread = self._thread
        self._queue.put(None)
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=30)

    def _job(self, job_id: str) -> Job:
        with self._lock:
            job = self._jobs.get(job_id)
        if job is None:
            raise NotFoundError(f"There is no job {job_id}.", hint="Jobs are forgotten when DocMind is closed.")
        return job

    def _work(self) -> None:
        while (entry := self._queue.get()) is not None:
            try:
                entry.job.run(entry.work)
            except Exception as error:  # noqa: BLE001 - a mistake of ours: the job says so, and the next one runs
                # Where, and not what: the message of an exception may repeat document text.
                where = "".join(traceback.format_tb(error.__traceback__))
                logging.getLogger("docmind.jobs").error("a job failed with %s\n%s", type(error).__name__, where)
            del entry  # and with it the files that were handed in
