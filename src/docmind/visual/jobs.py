"""Embedding jobs: kept in the vault, one at a time, paused and gone on with, also by another process."""

from __future__ import annotations

import json
import logging
import queue
import secrets
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from docmind.database import Database
from docmind.errors import CancelledError, DocMindError, NotFoundError
from docmind.seeing import EmbeddingProgress, EmbeddingState, PagesEmbedded
from docmind.visual.embedding import Counts

_KEPT = 20
_COLUMNS = "job_id, model, doc_ids, state, force, message, progress"


@dataclass(slots=True)
class EmbeddingJob:
    """One job as it stands. Its thread writes it; others read `progress`, which is a record."""

    job_id: str
    model: str
    doc_ids: tuple[str, ...]
    force: bool
    fingerprint: str = ""
    state: EmbeddingState = "queued"
    message: str = ""
    counts: Counts = field(default_factory=Counts)
    milliseconds: float = 0.0
    wish: EmbeddingState | None = None
    """What somebody has asked for since the last page: `paused` or `cancelled`."""

    def progress(self) -> EmbeddingProgress:
        counts, rate = self.counts, self.counts.seconds_per_page
        eta = rate * counts.left * 1000 if rate is not None and self.state == "running" else None
        result = None
        if self.state == "done":
            result = PagesEmbedded(self.model, counts.added, counts.skipped, counts.failed, self.milliseconds)
        return EmbeddingProgress(
            self.job_id, self.model, self.state, counts.total, counts.done, rate, eta, self.message, result
        )  # fmt: skip


Work = Callable[[EmbeddingJob, Callable[[Counts], None], Callable[[], None]], None]


class EmbeddingJobs:
    """Runs jobs one after another in a thread of its own. Safe from any thread.

    A job of a process that has ended is paused, whatever it was doing: it goes on where its last kept page is.
    """

    def __init__(self, database: Database, work: Work, budget_s: float) -> None:
        """`work(job, note, check)` runs one job: it calls `note` when pages are kept, and `check` between pages."""
        self._db, self._work, self._budget_s = database, work, budget_s
        self._lock = threading.RLock()
        self._live: dict[str, EmbeddingJob] = {}
        self._queue: queue.Queue[str | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def submit(self, model: str, doc_ids: Sequence[str], pages: int, *, force: bool) -> str:
        """Queue a job; returns its id. Raises `CancelledError` once `close` was called."""
        job = EmbeddingJob(secrets.token_hex(8), model, tuple(doc_ids), force, counts=Counts(total=pages))
        with self._lock:
            self._insert(job)
            self._start(job)
        return job.job_id

    def all(self) -> tuple[EmbeddingProgress, ...]:
        """Every job that is kept, the oldest first."""
        return tuple(job.progress() for job in self._jobs())

    def get(self, job_id: str) -> EmbeddingProgress:
        """Raises `NotFoundError`."""
        return self._job(job_id).progress()

    def pause(self, job_id: str) -> None:
        """Stop after the page that is being looked at. A job that is over stays as it is."""
        self._wish(job_id, "paused")

    def cancel(self, job_id: str) -> None:
        """Stop for good after the page that is being looked at; what was embedded stays."""
        self._wish(job_id, "cancelled")

    def resume(self, job_id: str) -> None:
        """Go on with a job that is paused or has failed. Raises `NotFoundError`, `CancelledError`."""
        with self._lock:
            job = self._job(job_id)
            if job.state == "running" and job.wish == "paused":
                job.wish = None
            elif job.state in ("paused", "failed"):
                job.state, job.message, job.wish = "queued", "", None
                self._start(job)
                self.keep(job)

    def is_working(self, model: str) -> bool:
        """Whether a job of this model waits or runs."""
        with self._lock:
            return any(job.model == model and job.state in ("queued", "running") for job in self._live.values())

    def keep(self, job: EmbeddingJob) -> None:
        """Write a job as it stands."""
        counts = job.counts
        kept = {
            "total": counts.total, "added": counts.added, "skipped": counts.skipped, "failed": counts.failed,
            "last": counts.last, "seconds": counts.seconds, "seen": counts.seen, "milliseconds": job.milliseconds,
            "fingerprint": job.fingerprint,
        }  # fmt: skip
        with self._db.transaction() as db:
            db.execute(
                "UPDATE embedding_jobs SET state = ?, message = ?, progress = ? WHERE job_id = ?",
                (job.state, job.message, json.dumps(kept), job.job_id),
            )

    def close(self) -> None:
        """Pause what runs or waits. Harmless twice; `join` waits for the page that is being looked at."""
        with self._lock:
            self._is_closed = True
            for job in self._live.values():
                job.wish = job.wish or "paused"
        self._queue.put(None)

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _start(self, job: EmbeddingJob) -> None:
        if self._is_closed:
            raise CancelledError("DocMind is being closed.")
        self._live[job.job_id] = job
        if self._thread is None:
            self._thread = threading.Thread(target=self._run_all, name="embedding", daemon=True)
            self._thread.start()
        self._queue.put(job.job_id)

    def _wish(self, job_id: str, wanted: EmbeddingState) -> None:
        with self._lock:
            job = self._job(job_id)
            if job.state == "running":
                job.wish = wanted
            elif job.state == "queued" or (wanted == "cancelled" and job.state in ("paused", "failed")):
                job.state = wanted
                self.keep(job)

    def _run_all(self) -> None:
        while (job_id := self._queue.get()) is not None:
            with self._lock:
                job = self._live[job_id]
                if job.state != "queued" or self._is_closed:
                    continue
                job.state = "running"
            try:
                self._run(job)
            except Exception as error:  # noqa: BLE001 - a mistake of ours: the job says so, and the next one runs
                where = "".join(traceback.format_tb(error.__traceback__))  # and not what: it may repeat document text
                logging.getLogger("docmind.visual").error("a job failed with %s\n%s", type(error).__name__, where)
                job.state = "failed"
                job.message = f"This is a mistake in DocMind ({type(error).__name__}); the log has the details."

    def _run(self, job: EmbeddingJob) -> None:
        started, before = time.monotonic(), job.milliseconds
        out_of_time = f"Paused after {self._budget_s:g} s (DOCMIND_VISUAL__BUDGET_S)."

        def check() -> None:
            if self._budget_s and time.monotonic() - started > self._budget_s:
                job.wish, job.message = job.wish or "paused", out_of_time
            if job.wish is not None:
                raise CancelledError("Stopped.")

        def note(_counts: Counts) -> None:
            job.milliseconds = before + (time.monotonic() - started) * 1000
            self.keep(job)

        try:
            self.keep(job)
            check()
            self._work(job, note, check)
            state, message = "done", ""
        except CancelledError:
            state, message = job.wish or "paused", job.message
        except DocMindError as error:
            state, message = "failed", f"{error} {error.hint}".strip()
        with self._lock:
            job.milliseconds = before + (time.monotonic() - started) * 1000
            job.state, job.message, job.wish = state, message, None
            self.keep(job)

    def _jobs(self) -> list[EmbeddingJob]:
        with self._lock:
            rows = self._db.all(f"SELECT {_COLUMNS} FROM embedding_jobs ORDER BY started_at_ms, job_id")
            return [self._live.get(row[0]) or _read(row) for row in rows]

    def _job(self, job_id: str) -> EmbeddingJob:
        with self._lock:
            if job_id in self._live:
                return self._live[job_id]
        row = self._db.one(f"SELECT {_COLUMNS} FROM embedding_jobs WHERE job_id = ?", (job_id,))
        if row is None:
            raise NotFoundError(f"There is no embedding job {job_id}.", hint="Old jobs are forgotten one by one.")
        return _read(row)

    def _insert(self, job: EmbeddingJob) -> None:
        with self._db.transaction() as db:
            db.execute(
                "INSERT INTO embedding_jobs (job_id, model, doc_ids, state, force, started_at_ms)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (job.job_id, job.model, json.dumps(job.doc_ids), job.state, job.force, int(time.time() * 1000)),
            )
            self.keep(job)
            over = db.execute(
                "SELECT job_id FROM embedding_jobs WHERE state IN ('done', 'cancelled', 'failed')"
                " ORDER BY started_at_ms DESC LIMIT -1 OFFSET ?", (_KEPT,)
            ).fetchall()  # fmt: skip
            db.executemany("DELETE FROM embedding_jobs WHERE job_id = ?", over)
        for (old,) in over:
            self._live.pop(old, None)


def _read(row: tuple[object, ...]) -> EmbeddingJob:
    """A job as it was kept; one that was at work then is paused now."""
    job_id, model, doc_ids, state, force, message, progress = map(str, row)
    kept = json.loads(progress)
    last = kept.get("last")
    counts = Counts(
        *(int(kept.get(name, 0)) for name in ("total", "added", "skipped", "failed")),
        last=(str(last[0]), int(last[1])) if last else None,
        seconds=float(kept.get("seconds", 0.0)),
        seen=int(kept.get("seen", 0)),
    )
    known: EmbeddingState = next(name for name in get_args(EmbeddingState) if name == state)
    at_work = known in ("queued", "running")
    job = EmbeddingJob(
        job_id, model, tuple(json.loads(doc_ids)), force not in ("0", "False"),
        str(kept.get("fingerprint", "")),
        "paused" if at_work else known, message, counts, float(kept.get("milliseconds", 0.0)),
    )  # fmt: skip
    return replace(job, message="DocMind was closed while it ran.") if at_work else job
