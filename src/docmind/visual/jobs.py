"""Embedding jobs: stored in the vault, run one at a time, and resumable by another process.

`Runs` holds the rules of which model may run over which pages, and stores the records of a run beside its vectors.
`Follower` embeds new pages by the models in use in the background, at lower priority than everything else.
"""

from __future__ import annotations

import contextlib
import json
import queue
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from docmind.config import VisualSettings
from docmind.documents import PageList
from docmind.errors import CancelledError, DocMindError, NotFoundError, VisualModelError
from docmind.records.models import Description, EmbeddingProgress, EmbeddingState, ModelKind, PagesEmbedded
from docmind.runtime import Background, Check, log_mistake
from docmind.storage import Database
from docmind.visual.cards import Benches
from docmind.visual.embed_pages import Counts, Embedding
from docmind.visual.figure_looks import FigureLooks
from docmind.visual.served import ModelChoice, check_fits
from docmind.wording import _

_KEPT = 20
_COLUMNS = "job_id, model, doc_ids, state, force, message, progress"


@dataclass(slots=True)
class EmbeddingJob:
    """The state of one job. Its thread writes it; others read `progress`, which is a record."""

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
    """A request since the last page: `paused` or `cancelled`."""

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
    """The queue of jobs, run one after another in a background thread. Thread-safe.

    A job of a process that has ended is paused: it continues after its last stored page.
    """

    def __init__(self, database: Database, work: Work, budget_s: float) -> None:
        """Set up; `work(job, note, check)` runs a job, calling `note` for stored pages and `check` between pages."""
        self._db, self._work, self._budget_s = database, work, budget_s
        self._lock = threading.RLock()
        self._live: dict[str, EmbeddingJob] = {}
        self._queue: queue.Queue[str | None] = queue.Queue()
        self._thread = Background("embedding")
        self._is_closed = False

    def submit(self, model: str, doc_ids: Sequence[str], pages: int, *, force: bool) -> str:
        """Queue a job; return its id. Raises `CancelledError` once `close` was called."""
        job = EmbeddingJob(secrets.token_hex(8), model, tuple(doc_ids), force, counts=Counts(total=pages))
        with self._lock:
            self._insert(job)
            self._start(job)
        return job.job_id

    def all(self) -> tuple[EmbeddingProgress, ...]:
        """Return every stored job, the oldest first."""
        return tuple(job.progress() for job in self._jobs())

    def get(self, job_id: str) -> EmbeddingProgress:
        """Return the progress of a job. Raises `NotFoundError`."""
        return self._job(job_id).progress()

    def pause(self, job_id: str) -> None:
        """Stop after the current page. A finished job does not change."""
        self._wish(job_id, "paused")

    def cancel(self, job_id: str) -> None:
        """Stop for good after the current page; completed work stays."""
        self._wish(job_id, "cancelled")

    def resume(self, job_id: str) -> None:
        """Continue a job that is paused or has failed. Raises `NotFoundError`, `CancelledError`."""
        with self._lock:
            job = self._job(job_id)
            if job.state == "running" and job.wish == "paused":
                job.wish = None
            elif job.state in ("paused", "failed"):
                job.state, job.message, job.wish = "queued", "", None
                self._start(job)
                self.keep(job)

    def is_working(self, model: str) -> bool:
        """Return whether a job of this model waits or runs."""
        with self._lock:
            return any(job.model == model and job.state in ("queued", "running") for job in self._live.values())

    def keep(self, job: EmbeddingJob) -> None:
        """Store the state of a job."""
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
        """Pause running and waiting jobs. Idempotent; `join` waits for the current page."""
        with self._lock:
            self._is_closed = True
            for job in self._live.values():
                job.wish = job.wish or "paused"
        self._queue.put(None)

    def join(self) -> None:
        self._thread.join()

    def _start(self, job: EmbeddingJob) -> None:
        if self._is_closed:
            raise CancelledError(_("DocMind is closing."))
        self._live[job.job_id] = job
        self._thread.start(self._run_all)
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
            except Exception as error:  # noqa: BLE001 - a bug in DocMind: the job reports it, and the next one runs
                log_mistake("docmind.visual", "a job failed", error)
                job.state = "failed"
                job.message = _("This is a mistake in DocMind ({kind}); the log has the details.").format(
                    kind=type(error).__name__
                )

    def _run(self, job: EmbeddingJob) -> None:
        started, before = time.monotonic(), job.milliseconds
        out_of_time = _("Paused after {budget_s} s (DOCMIND_VISUAL__BUDGET_S).").format(budget_s=f"{self._budget_s:g}")

        def check() -> None:
            if self._budget_s and time.monotonic() - started > self._budget_s:
                job.wish, job.message = job.wish or "paused", out_of_time
            if job.wish is not None:
                raise CancelledError(_("Stopped."))

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
            raise NotFoundError(
                _("There is no preparation job {job_id}.").format(job_id=job_id),
                hint=_("Old jobs are removed from the list."),
            )
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
    """Read a stored job; one that was queued or running is paused now."""
    try:
        return _read_whole(*map(str, row))
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, StopIteration):
        told = _("What is known of this job can't be read: vault.db is damaged there.")
        return EmbeddingJob(str(row[0]), str(row[1]), (), False, "", "failed", told, Counts(), 0.0)


def _read_whole(
    job_id: str, model: str, doc_ids: str, state: str, force: str, message: str, progress: str
) -> EmbeddingJob:
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
    return replace(job, message=_("DocMind was closed while it ran.")) if at_work else job


_GPUS = ("cuda", "mps")
_TELLING = 3  # pages that a run must have embedded for its time to be stored


class Runs:
    """Embedding runs. Thread-safe."""

    def __init__(
        self,
        settings: VisualSettings,
        choice: ModelChoice,
        benches: Benches,
        pages: PageList,
        embeddings: Mapping[ModelKind, Embedding],
        figures: FigureLooks,
    ) -> None:
        self._settings, self._choice, self._benches = settings, choice, benches
        self._pages, self._embeddings, self._figures = pages, embeddings, figures

    def present(self, name: str) -> Description:
        """Return a model whose files exist and whose vectors fit. Raises `ConfigError`, `VisualModelError`."""
        description = self._choice.describe(name)
        if description.state != "present":
            raise VisualModelError(
                _("{name} cannot be used: {reason}").format(name=name, reason=description.reason), hint=description.hint
            )
        check_fits(description)
        return description

    def usable(self, name: str) -> Description:
        """Return a model that searches may switch to. Raises also where a setting names another of its kind."""
        description = self.present(name)
        self._choice.check_free(description)
        return description

    def run(
        self, job: EmbeddingJob, report: Callable[[Counts], None], note: Callable[[Counts], None], check: Check
    ) -> None:
        """Run a job from its last page on; deleted documents are left out."""
        description = self.usable(job.model)
        if job.fingerprint != description.fingerprint:  # other weights under the same name: earlier work is void
            job.fingerprint, job.counts = description.fingerprint, Counts()
        counts = self._embeddings[description.kind].run(
            description,
            self._pages.asked(job.doc_ids),
            force=job.force,
            counts=job.counts,
            report=report,
            note=note,
            check=check,
        )
        self.look_at_figures(description, check)
        if counts.seen >= _TELLING and counts.seconds_per_page is not None:
            self._benches.note(description, counts.seconds_per_page)

    def look_at_figures(self, description: Description, check: Check) -> None:
        """Embed the figures by the image model whose vectors of pages answer searches, and by no other one."""
        served = self._embeddings[description.kind].serving.now().fingerprint
        if description.kind == "image" and served == description.fingerprint:
            self._figures.follow(description, check)

    def work(self, job: EmbeddingJob, note: Callable[[Counts], None], check: Check) -> None:
        """Run a job for callers that read its progress from the job itself."""
        self.run(job, lambda _: None, note, check)

    def estimate(self, name: str, doc_ids: Sequence[str]) -> tuple[int, float | None]:
        """Return the number of images to embed, and the seconds that takes; None where it was never measured.

        Raises as `usable` does.
        """
        description = self.usable(name)
        wanted = [place.image for place in self._pages.asked(doc_ids)]
        images = self._embeddings[description.kind].store.missing(description.fingerprint, wanted)
        bench = self._benches.of(description)
        return len(images), bench.seconds_per_page * len(images) if bench else None

    def by_themselves(self) -> list[tuple[Embedding, Description]]:
        """Return the models that embed new pages automatically.

        The image model does. A late one does where the settings say so, or where it was measured to run on a GPU here.
        """
        found: list[tuple[Embedding, Description]] = []
        for kind, embedding in self._embeddings.items():
            description = self._choice.model_to_use(kind)
            if description is not None and (kind == "image" or self._is_fast(description)):
                found.append((embedding, description))
        return found

    def has_begun(self, description: Description) -> bool:
        """Return whether the model has embedded pages already, or is embedding them now."""
        embedding = self._embeddings[description.kind]
        return embedding.running == description.fingerprint or bool(
            embedding.store.counts().get(description.fingerprint)
        )

    def warm(self) -> None:
        """Load the models that have embedded pages, for the first search. Raises the errors of models."""
        for kind, embedding in self._embeddings.items():
            description = self._choice.model_to_use(kind)
            if description is not None and embedding.store.counts().get(description.fingerprint):
                embedding.store.warm(description)

    def switched(self, description: Description) -> None:
        """Record that searches are answered from this model now, whatever was chosen before."""
        self._choice.follow(description)

    def _is_fast(self, description: Description) -> bool:
        bench = self._benches.of(description)
        return self._settings.late_on_ingest or (bench is not None and bench.device in _GPUS)


_SHORTEST_S, _LONGEST_S = 2.0, 60.0


class _UnwantedError(CancelledError):
    """Raised where the model that is embedding pages should stop."""


class Follower:
    """A background thread that sleeps until `wake`; after a model failed it retries after growing pauses."""

    def __init__(
        self,
        wanted: Callable[[], Sequence[tuple[Embedding, Description]]],
        begin: Callable[[], None],
        tidy: Callable[[], None],
        figures: Callable[[Description, Check], None],
    ) -> None:
        """Set up; `wanted` returns the models that embed new pages, `begin` is called once, `tidy` in each round.

        `figures` embeds those of a model whose pages are done.
        """
        self._wanted, self._begin, self._tidy, self._figures = wanted, begin, tidy, figures
        self._thread = Background("visual", "Looking at pages was ended.")
        self.check = self._thread.check
        self._pause_s, self._retry_at = 0.0, 0.0
        self._given_up: set[tuple[str, str]] = set()  # fingerprint and image: pages that cannot be embedded
        self.trouble: dict[ModelKind, str] = {}
        """Why the model of a kind does not embed new pages now."""

    def follow(self) -> None:
        """Start the thread, and embed existing pages. Idempotent."""
        if not self._thread.is_started:
            self._thread.wake()
            self._thread.start(self._work)

    def wake(self) -> None:
        """Tell the thread that there are new pages."""
        self._thread.wake()

    def retry(self) -> None:
        """Retry at once: a model was added or chosen, so earlier failures are no reason to wait."""
        self._pause_s = self._retry_at = 0.0
        self._thread.wake()

    @property
    def is_closed(self) -> bool:
        return self._thread.is_closed

    def close(self) -> None:
        """Stop after the current page; `join` waits for that."""
        self._thread.close()

    def join(self) -> None:
        self._thread.join()

    def _work(self) -> None:
        with contextlib.suppress(DocMindError):  # the next search that needs the model reports it
            self._begin()
        while not self.is_closed:
            left = self._retry_at - time.monotonic()
            if left > 0:
                self._thread.rest(min(left, 0.2))
                continue
            self._thread.sleep(None if not self._pause_s else 0.0)
            try:
                self._round()
            except CancelledError:
                return
            except DocMindError:  # a full disk, an index that cannot be changed now, or a vault that is being closed
                self._fail()

    def _round(self) -> None:
        self.check()
        self._tidy()
        failed = False
        for embedding, description in self._wanted():
            try:
                self._look(embedding, description)
                with contextlib.suppress(_UnwantedError):
                    self._figures(description, lambda wanted=description: self._check_wanted(wanted))
                self.trouble.pop(embedding.kind, None)
            except CancelledError:
                raise
            except DocMindError as error:  # from the model, the index or the disk
                if self.is_closed:
                    raise CancelledError(_("Preparing pages was stopped.")) from error
                self.trouble[embedding.kind] = str(error)
                failed = True
        if failed:
            self._fail()
        else:
            self._pause_s = 0.0

    def _look(self, embedding: Embedding, description: Description) -> None:
        if description.state != "present":
            raise VisualModelError(
                _("{name} cannot be used: {reason}").format(name=description.name, reason=description.reason),
                hint=description.hint,
            )
        served, counts = embedding.serving.now(), embedding.store.counts()
        if served.fingerprint != description.fingerprint and counts.get(served.fingerprint):
            return  # another model's vectors are in use: only the user switches models
        if counts.get(description.fingerprint, 0) >= embedding.pages.images():
            return
        check_fits(description)
        places = embedding.pages.asked()
        missing = set(embedding.store.missing(description.fingerprint, [place.image for place in places]))
        missing -= {image for fingerprint, image in self._given_up if fingerprint == description.fingerprint}
        if missing:
            wanted = [place for place in places if place.image in missing]
            done = Counts()
            with contextlib.suppress(_UnwantedError):
                embedding.run(description, wanted, counts=done, check=lambda: self._check_wanted(description))
            self._given_up |= {(description.fingerprint, image) for image in done.failed_images}

    def _check_wanted(self, description: Description) -> None:
        self.check()
        if description.fingerprint not in [one.fingerprint for _unused, one in self._wanted()]:
            raise _UnwantedError("Another model was chosen.")

    def _fail(self) -> None:
        self._pause_s = min(max(_SHORTEST_S, 2 * self._pause_s), _LONGEST_S)
        self._retry_at = time.monotonic() + self._pause_s
