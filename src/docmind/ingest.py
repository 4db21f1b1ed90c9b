"""From a file to a searchable, sealed document.

    file --reader--> pages --OCR where needed--> artifacts, then rows --pipeline--> nodes and vectors --mirror--> index

Reading runs in a process of its own, OCR in others; this thread seals, embeds and commits what they hand over, a few
pages at a time and in page order. Whatever is committed is not done again after a crash.
"""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from docmind.artifacts import Artifacts
from docmind.catalog import Catalog, PageRecord
from docmind.config import Settings
from docmind.database import Database
from docmind.embed.contract import TextEmbedder
from docmind.errors import CancelledError, DiskFullError, NotFoundError, PasswordNeededError, ReadingError
from docmind.language import language_of, majority
from docmind.mirror import Mirror
from docmind.nodes import Pipeline
from docmind.nodestore import NodeStore
from docmind.ocr import Ocr, OcrPage
from docmind.parse import Reader, Reading
from docmind.schema import AddResult, DeleteReceipt, DocumentInfo, ParsedPage, Upload

_BATCH = 8  # pages per commit: one fsync of the database each
_DOC_ID_DIGITS = 32


class Step:
    """What `Ingest` tells while it works, and asks: progress, and whether to stop."""

    def __init__(
        self,
        page: Callable[[str, int, int], None] = lambda stage, done, total: None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.page = page
        self.check = check


class Ingest:
    """Adds and deletes documents. One `add` at a time; `Jobs` sees to that."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        catalog: Catalog,
        nodes: NodeStore,
        artifacts: Artifacts,
        reader: Reader,
        ocr: Ocr,
        embedder: TextEmbedder,
        mirror: Mirror,
    ) -> None:
        self._settings, self._db, self._catalog, self._nodes = settings, database, catalog, nodes
        self._artifacts, self._reader, self._ocr = artifacts, reader, ocr
        self._embedder, self._mirror = embedder, mirror

    def add(self, upload: Upload, step: Step) -> AddResult:
        """Take one file in, or say why not. Raises only what concerns all files (`DiskFullError`, `CancelledError`)."""
        started = time.monotonic()
        try:
            result = self._add(upload, step)
        except ReadingError as error:
            result = AddResult(
                upload.name,
                "refused",
                error=type(error).__name__,
                message=str(error),
                hint=error.hint,
                exit_code=error.exit_code,
            )
        return replace(result, duration_ms=(time.monotonic() - started) * 1000)

    def resume(self, doc_id: str, step: Step) -> AddResult:
        """Finish a document whose reading was cut off, from its sealed original."""
        info, original = self._catalog.document(doc_id), self._catalog.original(doc_id)
        result = self.add(Upload(info.document, self._artifacts.get(original)), step)
        if result.error == PasswordNeededError.__name__:
            self._catalog.fail_document(
                doc_id, "Reading was cut off, and its password is needed to go on: add it again."
            )
        return result

    def delete(self, doc_id: str) -> DeleteReceipt:
        """Take a document out of the vault, the index and the artifacts. Raises `NotFoundError`."""
        info = self._catalog.document(doc_id)
        nodes = len(self._nodes.nodes_of(doc_id))
        _, unreferenced = self._catalog.delete_document(doc_id)
        self._mirror.delete(doc_id)
        self._mirror.commit()
        return DeleteReceipt(doc_id, info.document, info.pages_done, nodes, self._artifacts.delete(unreferenced))

    def commit(self, *, lazily: bool = False) -> None:
        """Make the index durable; `lazily` leaves it for later where that was done a moment ago."""
        self._mirror.commit(lazily=lazily)

    def close(self) -> None:
        """End the reading and OCR processes."""
        self._reader.close()
        self._ocr.close()

    def doc_id_of(self, data: bytes) -> str:
        """The id a file has in this vault: the first half of its keyed content hash."""
        return self._artifacts.ref_of(data, ".enc").sha256[:_DOC_ID_DIGITS]

    def _add(self, upload: Upload, step: Step) -> AddResult:
        doc_id = self.doc_id_of(upload.data)
        known = self._known(doc_id)
        if known is not None and known.status == "ready":
            return AddResult(known.document, "already", doc_id, known.pages, known.ocr_pages)
        self._need_room(len(upload.data))
        stored = self._catalog.pages_of(doc_id) if known else []
        with self._reader.read(upload, skip={page.page_no for page in stored}) as reading:
            original = self._artifacts.put(upload.data, f".{reading.kind}.enc")
            info = DocumentInfo(
                doc_id=doc_id,
                document=upload.name,
                title=reading.title,
                kind=reading.kind,
                status="reading",
                pages=reading.pages,
                pages_done=0,
                ocr_pages=0,
                language="",
                bytes=len(upload.data),
                added_at_ms=int(time.time() * 1000),
                tags=upload.tags,
            )
            self._catalog.begin_document(info, original)
            try:
                self._read(info, reading, stored, step)
            except (ReadingError, CancelledError):
                self.delete(doc_id)
                raise
        ready = self._catalog.document(doc_id)
        self._mirror.put(doc_id)
        return AddResult(upload.name, "added", doc_id, ready.pages, ready.ocr_pages)

    def _read(self, info: DocumentInfo, reading: Reading, stored: list[PageRecord], step: Step) -> None:
        pipeline = Pipeline(info, self._nodes, self._embedder)
        self._nodes.drop(info.doc_id)
        self._commit(info, pipeline, stored, [])
        done = len(stored)
        languages = [page.language for page in stored]
        batch: list[ParsedPage] = []
        with ThreadPoolExecutor(self._settings.reading.workers, thread_name_prefix="ocr") as pool:
            try:
                for page in self._with_ocr(reading, pool, step):
                    step.check()
                    batch.append(page)
                    done += 1
                    step.page("reading", done, info.pages)
                    if len(batch) >= _BATCH:
                        languages += self._seal(info, pipeline, batch)
                        batch = []
            except BaseException:
                reading.close()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        languages += self._seal(info, pipeline, batch)
        step.page("indexing", done, info.pages)
        self._catalog.finish_document(info.doc_id, language=majority(languages))

    def _with_ocr(self, reading: Reading, pool: ThreadPoolExecutor, step: Step) -> Iterator[ParsedPage]:
        """Pages in order; those without a usable text layer come back from OCR with one, or as they were."""
        waiting: deque[tuple[ParsedPage, Future[OcrPage] | None]] = deque()
        for page in reading:
            waiting.append((page, pool.submit(self._ocr.recognise, page.image) if page.needs_ocr else None))
            while waiting and (waiting[0][1] is None or len(waiting) > 2 * self._settings.reading.workers):
                yield self._settled(*waiting.popleft(), step)
        while waiting:
            yield self._settled(*waiting.popleft(), step)

    def _settled(self, page: ParsedPage, reading: Future[OcrPage] | None, step: Step) -> ParsedPage:
        if reading is None:
            return page
        while not reading.done():
            step.check()
            time.sleep(0.02)
        try:
            seen = reading.result()
        except ReadingError:
            return page  # the page keeps its text source, which says that nothing was read
        if not seen.text.strip() and page.text.strip():
            return page
        return replace(page, text=seen.text, words=seen.words, text_source="ocr", confidence=seen.confidence)

    def _seal(self, info: DocumentInfo, pipeline: Pipeline, pages: list[ParsedPage]) -> list[str]:
        refs = iter(
            self._artifacts.put_many([(data, ".webp.enc") for page in pages for data in (page.image, page.thumbnail)])
        )
        records = [
            PageRecord(
                doc_id=info.doc_id,
                page_no=page.page_no,
                width=page.width,
                height=page.height,
                text=page.text,
                words=page.words,
                text_source=page.text_source,
                confidence=page.confidence,
                language=language_of(page.text),
                image=next(refs),
                thumbnail=next(refs),
            )
            for page in pages
        ]
        self._commit(info, pipeline, records, records)
        return [record.language for record in records]

    def _commit(self, info: DocumentInfo, pipeline: Pipeline, pages: list[PageRecord], new: list[PageRecord]) -> None:
        nodes, vectors = pipeline.run(pages)
        with self._db.transaction():
            self._catalog.put_pages(new)
            self._nodes.put(nodes)
            self._nodes.put_vectors(self._embedder.fingerprint, vectors)

    def _known(self, doc_id: str) -> DocumentInfo | None:
        try:
            return self._catalog.document(doc_id)
        except NotFoundError:
            return None

    def _need_room(self, size: int) -> None:
        folder: Path = self._settings.data_dir
        free = shutil.disk_usage(folder).free
        needed = self._settings.storage.min_free_mb * 1024 * 1024 + 3 * size
        if free < needed:
            raise DiskFullError(
                f"The disk holding {folder} has {free // 2**20} MB free; {needed // 2**20} MB are needed to add this."
            )
