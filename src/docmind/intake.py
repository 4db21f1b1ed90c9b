"""Taking files in: here and now, or as a background job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from docmind.catalog import Catalog
from docmind.errors import NotFoundError
from docmind.jobs import Job, Jobs
from docmind.parts import Parts
from docmind.schema import AddResult, JobProgress, Upload

if TYPE_CHECKING:
    from docmind.ingest import Step

Progress = Callable[[JobProgress], None]


class Intake:
    """Runs ingestion over uploads, one job after another. Safe from any thread."""

    def __init__(self, catalog: Catalog, parts: Parts) -> None:
        self.jobs = Jobs()
        self._catalog, self._parts = catalog, parts

    def add(self, uploads: Iterable[Upload], files_total: int, progress: Progress | None) -> list[AddResult]:
        """Take files in, here and now; a file that cannot be read is refused with its sentence.

        Raises `DiskFullError` and `CancelledError`; what was added before stays.
        """
        job = Job("here", files_total)
        job.run(lambda job: self._add(job, uploads, progress), reraise=True)
        return list(job.progress().results)

    def submit(self, uploads: Sequence[Upload]) -> str:
        """Take files in as a background job; returns its id."""
        return self.jobs.submit(lambda job: self._add(job, uploads, None), files_total=len(uploads))

    def submit_unfinished(self) -> str | None:
        """Finish in the background what a crash or a closed window cut off; None where there is nothing."""
        unfinished = self._catalog.unfinished()
        if not unfinished:
            return None
        return self.jobs.submit(lambda job: self._add(job, None, None), files_total=len(unfinished))

    def _add(self, job: Job, uploads: Iterable[Upload] | None, progress: Progress | None) -> None:
        writer = self._parts.writer()
        done = 0
        try:
            for doc_id in self._catalog.unfinished():
                with suppress(NotFoundError):  # deleted meanwhile
                    job.update(file=self._catalog.document(doc_id).document, stage="resuming")
                    resumed = writer.resume(doc_id, self._step(job, progress, done))
                    if uploads is None:
                        job.add_result(resumed)
            for upload in uploads or ():
                job.check()
                job.update(file=upload.name, page_no=0, pages_done=0, pages_total=0, stage="opening")
                result = writer.add(upload, self._step(job, progress, done))
                job.add_result(result)
                done += 1
                total = job.progress().files_total
                job.update(fraction=done / total if total else None)
                if progress:
                    progress(job.progress())
        finally:
            self._parts.commit(lazily=progress is not None)

    def _step(self, job: Job, progress: Progress | None, done: int) -> Step:
        from docmind.ingest import Step

        def page(stage: str, number: int, total: int) -> None:
            files = job.progress().files_total
            fraction = (done + number / total) / files if files and total else None
            job.update(stage=stage, page_no=number, pages_done=number, pages_total=total, fraction=fraction)
            if progress:
                progress(job.progress())

        return Step(page, job.check, lambda: job.is_closing)
