"""From a file to a searchable, sealed document.

    file --reader--> pages --OCR where needed--> artifacts, then rows --pipeline--> nodes and vectors --mirror--> index

Reading runs in a process of its own, OCR in others; this thread seals, embeds and commits what they hand over, a few
pages at a time and in page order. Whatever is committed is not done again after a crash.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from docmind.artifacts import Artifacts
from docmind.catalog import Catalog, PageRecord
from docmind.config import Settings
from docmind.database import Database
from docmind.embed.contract import TextEmbedder, token_embedder
from docmind.errors import (
    CancelledError,
    DiskFullError,
    DocMindError,
    IndexMismatchError,
    NotFoundError,
    PasswordNeededError,
    ReadingError,
    VaultError,
)
from docmind.language import language_of, majority
from docmind.mirror import Mirror
from docmind.nodestore import NodeStore
from docmind.ocr import Ocr
from docmind.ocrpass import OcrPass
from docmind.parse import Reader, Reading
from docmind.schema import AddResult, DeleteReceipt, DocumentInfo, ParsedPage, Upload

if TYPE_CHECKING:
    from docmind.nodes import Pipeline

_BATCH, _BATCH_S = 8, 2.0  # pages per commit, or seconds: what a crash can cost, above all of pages read by OCR
_DOC_ID_DIGITS = 32


@dataclass(frozen=True)
class Step:
    """What `Ingest` tells while it works, and asks: progress, whether to stop, and whether only to pause."""

    page: Callable[[str, int, int], None] = lambda stage, done, total: None
    check: Callable[[], None] = lambda: None
    is_closing: Callable[[], bool] = lambda: False


class Ingest:
    """Adds and deletes documents. Safe from any thread: adding is done one by one, deleting at any time."""

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
        catch_up: Callable[[], object],
    ) -> None:
        """`catch_up` brings the index up to the vault's epoch, and costs nothing where it is."""
        self._settings, self._db, self._catalog, self._nodes = settings, database, catalog, nodes
        self._artifacts, self._reader, self._ocr = artifacts, reader, ocr
        self._embedder, self._mirror, self._catch_up = embedder, mirror, catch_up
        self._tokens = token_embedder(embedder, settings.retrieve.rerank)
        self._turn = threading.Lock()
        # Sealing files and writing the rows that name them is one step, and so is deleting both: a page image may be
        # shared with a document that is deleted in this moment.
        self._rows = threading.Lock()
        # What a crash left without a row belongs to nobody.
        named = catalog.artifact_ids()
        artifacts.prune(lambda name: name.partition(".")[0] in named, max_total_bytes=0, min_age_seconds=0)

    def add(self, upload: Upload, step: Step) -> AddResult:
        """Take one file in, or say why not. A file that is refused or cancelled leaves nothing behind.

        Raises only what concerns all files: `VaultError`, `IndexEngineError`, `CancelledError`. After any of them but
        the last the document is finished at the next start.
        """
        started = time.monotonic()
        self._catch_up()
        upload = replace(upload, name=upload.name.encode("utf-8", "replace").decode())  # names may be any bytes
        doc_id = self.doc_id_of(upload.data)
        with self._alone(step):
            try:
                result = self._add(doc_id, upload, step)
            except ReadingError as error:
                if not isinstance(error, PasswordNeededError):
                    self._forget(doc_id)
                result = _refused(upload.name, error)
            except CancelledError:
                self._forget(doc_id, unless=step.is_closing())
                raise
            except NotFoundError:
                result = AddResult(upload.name, "cancelled", message="It was deleted while it was being read.")
        return replace(result, duration_ms=(time.monotonic() - started) * 1000)

    def resume(self, doc_id: str, step: Step) -> AddResult:
        """Finish a document whose reading was cut off, from its sealed original.

        One that cannot be finished stays, marked as failed, with the sentence that says why. Raises `NotFoundError`
        where it was deleted meanwhile, and what `add` raises.
        """
        self._catch_up()
        info, original = self._catalog.document(doc_id), self._catalog.original(doc_id)
        with self._alone(step):
            try:
                data = self._artifacts.get(original)
                return self._add(doc_id, Upload(info.document, data, tags=info.tags), step, resumed=True)
            except CancelledError:
                self._forget(doc_id, unless=step.is_closing())
                raise
            except (ReadingError, VaultError, NotFoundError) as error:
                if isinstance(error, DiskFullError):
                    raise
                self._catalog.document(doc_id)
                locked = "Reading was cut off, and its password is needed to go on: add it again."
                self._catalog.fail_document(doc_id, locked if isinstance(error, PasswordNeededError) else str(error))
                return _refused(info.document, error)

    def delete(self, doc_id: str) -> DeleteReceipt:
        """Take a document out of the vault, the artifacts and the index. Raises `NotFoundError`, `IndexEngineError`.

        An index without room, or of another model, hears of it when it can be brought up to date again: deleting is
        what makes room.
        """
        with contextlib.suppress(DiskFullError, IndexMismatchError):
            self._catch_up()
        with self._rows:
            info = self._catalog.document(doc_id)
            nodes = len(self._nodes.nodes_of(doc_id))
            _, unreferenced = self._catalog.delete_document(doc_id)
            artifacts = self._artifacts.delete(unreferenced)
        with contextlib.suppress(DiskFullError):
            self._mirror.delete(doc_id)
            self._mirror.commit()
        return DeleteReceipt(doc_id, info.document, info.pages_done, nodes, artifacts)

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

    def _add(self, doc_id: str, upload: Upload, step: Step, *, resumed: bool = False) -> AddResult:
        known = self._known(doc_id)
        if known is not None and known.status == "ready":
            told = f"It is here already, as {known.document}." if known.document != upload.name else ""
            if not set(upload.tags) <= set(known.tags):
                told = f"{told} Its tags stay as they are.".strip()
            return AddResult(upload.name, "already", doc_id, known.pages, known.ocr_pages, message=told)
        self._need_room(3 * len(upload.data))
        stored = self._catalog.pages_of(doc_id) if known else []
        with self._reader.read(upload, skip={page.page_no for page in stored}, waiting=step.check) as reading:
            if stored and known is not None and reading.pages != known.pages:  # drawn otherwise than before
                self._nodes.forget(doc_id)
                return self._add(doc_id, upload, step, resumed=resumed)
            info = DocumentInfo(
                doc_id=doc_id,
                document=upload.name,
                title=reading.title,
                kind=reading.kind,
                status="reading",
                pages=reading.pages,
                pages_done=len(stored),
                ocr_pages=0,
                language="",
                bytes=len(upload.data),
                added_at_ms=int(time.time() * 1000),
                tags=upload.tags,
            )
            with self._rows:
                if resumed:
                    self._catalog.original(doc_id)  # raises where the document was deleted meanwhile
                self._catalog.begin_document(info, self._artifacts.put(upload.data, f".{reading.kind}.enc"))
            message = " ".join(filter(None, [reading.told, self._read(info, reading, stored, step)]))
        ready = self._catalog.document(doc_id)
        self._mirror.put(doc_id)
        return AddResult(upload.name, "added", doc_id, ready.pages, ready.ocr_pages, message=message)

    def _read(self, info: DocumentInfo, reading: Reading, stored: list[PageRecord], step: Step) -> str:
        """Everything from pages to a document that is ready; returns what has to be told about its pages."""
        from docmind.nodes import Pipeline  # a second of LlamaIndex, while the first pages are being read

        pipeline = Pipeline(info, self._nodes, self._embedder, self._tokens)
        if stored:
            nodes, made = pipeline.run(stored)
            with self._rows, self._db.transaction():
                self._catalog.original(info.doc_id)  # raises where the document was deleted meanwhile
                self._nodes.replace(info.doc_id, nodes)
                pipeline.keep(made)
        done = len(stored)
        languages = [page.language for page in stored]
        batch: list[ParsedPage] = []
        sealed_at = time.monotonic()
        step.page("reading", done, info.pages)

        def waiting() -> None:
            step.check()
            step.page("ocr", done, info.pages)

        with OcrPass(self._ocr, self._settings.reading.workers, waiting) as ocr:
            for page in ocr.through(reading):
                step.check()
                batch.append(page)
                done += 1
                step.page("reading", done, info.pages)
                if len(batch) >= _BATCH or time.monotonic() - sealed_at > _BATCH_S:
                    languages += self._seal(info, pipeline, batch)
                    batch, sealed_at = [], time.monotonic()
        if batch:
            languages += self._seal(info, pipeline, batch)
        step.page("indexing", done, info.pages)
        self._catalog.finish_document(info.doc_id, language=majority(languages))
        return ocr.told()

    def _seal(self, info: DocumentInfo, pipeline: Pipeline, pages: list[ParsedPage]) -> list[str]:
        files = [(data, ".webp.enc") for page in pages for data in (page.image, page.thumbnail)]
        refs = iter([self._artifacts.ref_of(*file) for file in files])
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
        nodes, made = pipeline.run(records)
        self._need_room(0)
        with self._rows:
            self._catalog.original(info.doc_id)  # raises where the document was deleted meanwhile
            self._artifacts.put_many(files)
            with self._db.transaction():
                self._catalog.put_pages(records)
                self._nodes.put(nodes)
                pipeline.keep(made)
        return [record.language for record in records]

    def _forget(self, doc_id: str, *, unless: bool = False) -> None:
        with contextlib.suppress(NotFoundError):
            if not unless and self._catalog.document(doc_id).status != "ready":
                self.delete(doc_id)

    def _known(self, doc_id: str) -> DocumentInfo | None:
        try:
            return self._catalog.document(doc_id)
        except NotFoundError:
            return None

    @contextlib.contextmanager
    def _alone(self, step: Step) -> Iterator[None]:
        while not self._turn.acquire(timeout=0.1):
            step.check()
        try:
            yield
        finally:
            self._turn.release()

    def _need_room(self, size: int) -> None:
        """Raises `DiskFullError` while there still is room to note what has been done."""
        folder = self._settings.data_dir
        free = shutil.disk_usage(folder).free
        needed = self._settings.storage.min_free_mb * 1024 * 1024 + size
        if free < needed:
            raise DiskFullError(
                f"The disk holding {folder} has {free // 2**20} MB free; {needed // 2**20} MB are needed to add this."
            )


def _refused(name: str, error: DocMindError) -> AddResult:
    kind = type(error).__name__
    return AddResult(name, "refused", error=kind, message=str(error), hint=error.hint, exit_code=error.exit_code)
