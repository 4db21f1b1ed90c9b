"""The ingestion pipeline: from a file to a searchable, sealed document.

    sealed file --reader--> pages --OCR--> artifacts, then rows --pipeline--> nodes and vectors --mirror--> index

Reading runs in a separate process, OCR in others; this thread seals, embeds and commits their pages, a few at a time
and in page order. Committed work is not repeated after a crash or a pause.

Above 500 lines: first reading, reading again and corrections store pages and passages under one order of locks.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, NamedTuple

from docmind import __version__
from docmind.config import Settings
from docmind.documents import (
    DEEPEST,
    MOST_INSIDE,
    Corrections,
    Edits,
    Erasure,
    ErasurePlan,
    Erasures,
    LineEdit,
    NodeRecord,
    PageRecord,
    QueuedFile,
    Uploads,
    corrected,
    earlier_version,
    edited_corrections,
    hand_over,
    join_series,
    majority,
    need_room,
    refused,
)
from docmind.embedding import TextEmbedder, token_embedder
from docmind.errors import (
    CancelledError,
    ConfigError,
    DiskFullError,
    DocMindError,
    IndexMismatchError,
    NotFoundError,
    PasswordNeededError,
    ReaderFailedError,
    ReadingError,
    VaultError,
)
from docmind.image_match import ImageMatcher
from docmind.index import SearchIndex
from docmind.ingest.later import LaterVectors
from docmind.observability import IngestionCompleted, IngestionFailed, emit, traced
from docmind.reading import MARKED_UP, Ocr, OcrPass, Reader, Reading, is_plain, is_short_mail, may_be_read
from docmind.records.documents import (
    AddResult,
    ArtifactRef,
    Box,
    DocumentInfo,
    Enclosed,
    Figure,
    Ingestion,
    Loss,
    OcrChoice,
    ParsedPage,
    Upload,
)
from docmind.storage import Connection, Sealable
from docmind.vault import Vault
from docmind.visual import Visual
from docmind.wording import _, date, ngettext, number_text

if TYPE_CHECKING:
    from docmind.ingest.llama_nodes import Made, Pipeline

_GROUP = 8  # texts whose windows are embedded together: both cores have work while the next ones are read
_BATCH, _BATCH_S = 8, 2.0  # pages per commit, or seconds: the most that a crash can lose, mainly of slow OCR pages
_DEEP = 4  # times what one file may unpack to: the most of all files inside one another
_SHEETS = 128  # pages per commit that were not drawn: they come fifty times as fast


@dataclass(frozen=True)
class Step:
    """Callbacks of `Ingest`.

    `page` gets the stage and the pages done of all, `kept` the number of stored pages, `file` the place of a file among
    those read together, and its pages; `check` raises `CancelledError` to stop.
    """

    page: Callable[[str, int, int], None] = lambda stage, done, total: None
    kept: Callable[[int], None] = lambda done: None
    file: Callable[[int, int], None] = lambda number, pages: None
    check: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class _Text:
    """One plain text or mail that was read: what a commit writes of it. `inside` are the files attached to a mail."""

    file: QueuedFile
    info: DocumentInfo
    pages: list[PageRecord]
    images: list[Sealable]
    losses: tuple[Loss, ...]
    inside: tuple[Enclosed, ...] = ()


class _Texts(NamedTuple):
    """Texts read together, their passages, the new vectors, and how many passages of each had a vector before."""

    texts: list[_Text]
    nodes: list[NodeRecord]
    made: Made
    known: Counter[str]


class _Read(NamedTuple):
    """Notes for the user, the language of most pages, and how many passages had a vector before."""

    told: str
    language: str
    known: int


def _never() -> bool:
    return False


class Ingest:
    """The writer that adds and deletes documents.

    Thread-safe: it adds several at the same time, no document twice at once, and deletes at any time.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        vault: Vault,
        uploads: Uploads,
        embedder: TextEmbedder,
        index: SearchIndex,
        lookalike: ImageMatcher,
        visual: Visual,
    ) -> None:
        self._settings, self._db, self._catalog, self._nodes = settings, vault.database, vault.catalog, vault.nodes
        self._artifacts, self._uploads = vault.artifacts, uploads
        self._reader, self._ocr = Reader(settings.reading), Ocr(settings.reading)
        self._embedder, self._index, self._lookalike, self._visual = embedder, index, lookalike, visual
        self._tokens = token_embedder(embedder, settings.retrieve.rerank)
        self.later = LaterVectors(
            vault=vault,
            embedder=embedder,
            tokens=self._tokens,
            index=index,
            passages_mb=settings.answer.passages_mb,
        )
        """What makes the vectors that are not made while a document is read."""

        self._turns, self._starting = threading.Condition(), threading.Lock()
        self._under_way: set[str] = set()  # ids of documents that are being read
        self._is_asked: Callable[[], bool] = _never
        self._rows, self._edits = vault.catalog.naming, Edits(vault.database, vault.catalog)
        self._corrections = Corrections(vault.database)
        self._is_started = False

    def start(self) -> None:
        """Open the index and set aside artifacts that no row names; the methods below do it at their first call.

        After a crash such artifacts are not deleted, because the rows may be what was lost. Idempotent. Raises
        `VaultError` where the vault is read-only or closed.
        """
        self._db.check_writable()
        self._index.started()
        with self._starting:
            if not self._is_started:
                with self._rows:
                    self._artifacts.set_aside(self._catalog.artifact_ids())
                self._is_started = True

    def set_aside(self) -> int:
        """Set aside sealed files that `vault.db` does not name and return how many; they are kept for some days."""
        self.start()
        return len(self._artifacts.unreferenced(self._catalog.artifact_ids()))

    @traced("ingest")
    def read(self, file: QueuedFile, step: Step, *, password: str | None = None) -> AddResult:
        """Read one uploaded file, or return why it was refused.

        Pages stored before are not read again.

        A file that is refused at once leaves no document. If some pages were stored before, they stay, in a document
        marked as failed.

        Raises only what concerns all files: `VaultError`, `IndexEngineError`, and `CancelledError` where `step.check`
        does. The pages read until then are kept, and the next call continues after them.
        """
        started = time.monotonic()
        self.start()
        self._index.ready()
        with self._alone(step, [file.doc_id]):
            had_pages = self._pages_of(file.doc_id) > 0
            try:
                try:
                    data = self._artifacts.get(file.original)
                except (NotFoundError, VaultError) as error:  # this file is lost or damaged, the others are not
                    result = self._refuse(file, error, had_pages=had_pages)
                else:
                    result = self._add(file, Upload(file.name, data, password, file.tags), step)
            except ReadingError as error:
                result = self._refuse(file, error, had_pages=had_pages)
            except CancelledError:
                if not self._pages_of(file.doc_id):
                    self._erase_unread(file.doc_id)
                raise
            except NotFoundError:
                result = AddResult(file.name, "cancelled", message=_("It was deleted while it was being read."))
        return replace(result, duration_ms=(time.monotonic() - started) * 1000)

    @traced("ingest")
    def read_together(self, files: Sequence[QueuedFile], step: Step, *, later: bool = False) -> dict[int, AddResult]:
        """Read short plain texts and mails and commit them in one transaction; return their results by upload id.

        A file that is none, that cannot be read, or of which pages are stored, has no result: `read` takes it. Until
        the commit nothing is written but sealed images, so a crash or a pause repeats these files, and loses none.
        With `later` they are found by their words, and get their vectors once nothing is being read.

        Raises what `read` raises.
        """
        started = time.monotonic()
        self.start()
        self._index.ready()
        with self._alone(step, [file.doc_id for file in files]):
            already: dict[int, AddResult] = {}
            fresh: dict[str, tuple[int, QueuedFile]] = {}
            for number, file in enumerate(files):
                known = self._known(file.doc_id)
                if known is not None and known.status == "ready" and known.deleted_at_ms is None:
                    if not file.parent_id:
                        self._catalog.stand_alone(file.doc_id)
                    already[file.upload_id] = _already(known, file.name, file.tags)
                    step.file(number, 0)
                elif known is None:
                    fresh.setdefault(file.doc_id, (number, file))
            made = self._read_texts(list(fresh.values()), step, later=later)
            results = self._commit_texts(made, already, started, later=later)
        took = (time.monotonic() - started) * 1000 / max(1, len(results))
        return {upload_id: replace(result, duration_ms=took) for upload_id, result in results.items()}

    def _read_texts(self, files: Sequence[tuple[int, QueuedFile]], step: Step, *, later: bool) -> list[_Texts]:
        """Read texts in a thread and embed those read before meanwhile."""
        made: list[_Texts] = []
        reader = ThreadPoolExecutor(1, thread_name_prefix="texts")
        try:
            readings = [reader.submit(self._read_text, file) for _, file in files]
            from docmind.ingest.llama_nodes import Pipeline  # a second of LlamaIndex, while the first are being read

            for at in range(0, len(files), _GROUP):
                texts: list[_Text] = []
                for (number, _), reading in zip(files[at : at + _GROUP], readings[at : at + _GROUP], strict=True):
                    step.check()
                    text = reading.result()
                    if text is not None:
                        texts.append(text)
                        step.file(number, len(text.pages))
                if texts:
                    pipeline = Pipeline([text.info for text in texts], self._nodes, self._embedder, self._tokens)
                    pages = [page for text in texts for page in text.pages]
                    nodes, vectors = pipeline.run(pages, later=later)
                    made.append(_Texts(texts, nodes, vectors, pipeline.known))
        finally:
            reader.shutdown(cancel_futures=True)
        return made

    def _read_text(self, file: QueuedFile) -> _Text | None:
        """Return the pages of a plain text or a short mail; None where it is none or cannot be read."""
        try:
            tags = self._catalog.document_or_binned(file.parent_id).tags if file.parent_id else file.tags
            upload = Upload(file.name, self._artifacts.get(file.original), None, tags)
            if not (is_plain(upload) or is_short_mail(upload)):
                return None
            with self._reader.read(upload) as reading:
                pages = list(reading)
                info = _begun(file, upload, reading)
                inside = tuple(reading.enclosed())
        except DiskFullError:
            raise
        except (ReadingError, NotFoundError, VaultError):  # read again alone, which says what is wrong
            return None
        if reading.told or reading.broke_off or len(pages) != info.pages or any(may_be_read(page) for page in pages):
            return None
        records, images = self._records(info.doc_id, pages)
        return _Text(file, replace(info, pages_done=len(pages)), records, images, reading.losses, inside)

    def _commit_texts(
        self,
        groups: Sequence[_Texts],
        already: dict[int, AddResult],
        started: float,
        *,
        later: bool,
    ) -> dict[int, AddResult]:
        from docmind.ingest.llama_nodes import keep_vectors

        results = dict(already)
        texts = [text for group in groups for text in group.texts]
        need_room(self._settings, 0)
        with self._rows:
            gone = {text.info.doc_id for text in texts if not self._uploads.has(text.file.upload_id)}
            texts = [text for text in texts if text.info.doc_id not in gone]
            self._artifacts.put_many([image for text in texts for image in text.images])
            with self._db.transaction() as db:  # all of them, or none
                for upload_id, result in already.items():
                    self._uploads.settle(upload_id, result)
                for text in texts:
                    self._uploads.begin(text.file.upload_id)
                    self._catalog.begin_document(text.info, text.file.original, text.file.parent_id)
                    self._catalog.put_pages(text.pages)
                for _, nodes, made, _ in groups:
                    self._nodes.put([node for node in nodes if node.doc_id not in gone])
                    if gone:  # vectors of texts that have no node any more are not kept
                        hashes = {node.content_hash for node in nodes if node.doc_id not in gone}
                        made = made.of(hashes)
                    keep_vectors(self._nodes, self._embedder, self._tokens, made)
                if later and texts:
                    self._nodes.expect(len(texts))
                for text in texts:
                    doc_id, language = text.info.doc_id, majority([page.own_language for page in text.pages])
                    how = self._ingested(text.info, started, text.losses)
                    told = self._take_out(text.info, text.inside)
                    self._catalog.finish_document(doc_id, language=language, ingestion=how)
                    version = self._told_version(db, doc_id, is_replaced=text.file.replaces)
                    told = " ".join(filter(None, [told, version]))
                    result = AddResult(
                        text.file.name, "added", doc_id, len(text.pages), message=told, losses=text.losses
                    )
                    self._uploads.settle(text.file.upload_id, result)
                    results[text.file.upload_id] = result
        self._db.settle()
        chunks = Counter(node.doc_id for group in groups for node in group.nodes)
        known = sum((group.known for group in groups), Counter[str]())
        seconds = (time.monotonic() - started) / max(1, len(texts))
        for text in texts:
            doc_id = text.info.doc_id
            self._index.started().mirror.put(doc_id)
            emit(IngestionCompleted(doc_id, chunks[doc_id], known[doc_id], seconds))
        if later:
            self._follow_later()
        return results

    def family(self, doc_id: str) -> tuple[str, ...]:
        """Return what goes with a document: itself, and those that came in it and lie in no other one."""
        with self._db.transaction() as db:
            hand_over(db, self._catalog.enclosed.below([doc_id]))
            return self._catalog.enclosed.below([doc_id])

    def erase(self, doc_id: str, plan: ErasurePlan | None = None) -> Erasure:
        """Begin the erasure of a document: delete it from the vault, the artifacts and the index.

        `plan` says what else is to be erased, by default its quotes; `docmind.maintenance` finishes it, at the next
        start if not before. An index without disk space, or of another model, is updated later, because deleting must
        work on a full disk.
        Where there is no room for the log of the database, the page images are deleted first; a `DiskFullError` after
        that leaves a document without them, to be deleted again. Raises `NotFoundError`, `IndexEngineError`.
        """
        self.start()
        with contextlib.suppress(DiskFullError, IndexMismatchError):
            self._index.ready()
        erasures, plan = Erasures(self._db, self._catalog), plan or ErasurePlan()
        traces = erasures.traces_of(doc_id)
        with self._rows:
            self._catalog.document_or_binned(doc_id)
            try:
                erasure, unreferenced = erasures.begin(doc_id, plan, traces)
            except DiskFullError:
                with contextlib.suppress(VaultError):  # what can be deleted may be room enough
                    self._artifacts.remove(self._catalog.images_of(doc_id))
                erasure, unreferenced = erasures.begin(doc_id, plan, traces)
            self._artifacts.remove(unreferenced)
            self._catalog.buried()
        self._db.settle()
        with contextlib.suppress(DiskFullError):
            mirror = self._index.started().mirror
            mirror.drop(doc_id)
            mirror.commit()
        return erasure

    def read_again(self, doc_id: str, page_nos: Collection[int] = ()) -> None:
        """Read those pages of a document again that have no row, or are named, and make all of its passages again.

        Other pages keep their texts. The document stays ready meanwhile, and as it was where its original cannot be
        read. Raises `NotFoundError`, `ReadingError`, `VaultError`, `IndexEngineError`.
        """
        self.start()
        self._index.ready()
        with self._alone(Step(), [doc_id]):
            info, upload = self._original_of(doc_id)
            stored = [page for page in self._catalog.pages_of(doc_id) if page.page_no not in page_nos]
            if [page.page_no for page in stored] == list(range(1, info.pages + 1)):
                language = self._make_passages(info, stored)
            else:
                language = self._read_missing(info, upload, stored)
            self._catalog.finish_document(doc_id, language=language)
        self._db.settle()
        self._index.started().mirror.put(doc_id)

    def read_by(
        self,
        doc_id: str,
        choice: OcrChoice,
        page_nos: Collection[int] = (),
        *,
        report: Callable[[int, int], None],
    ) -> DocumentInfo:
        """Read a document, or these pages of it, again as `choice` says, and return it.

        `report` gets the pages done of all; what it raises ends the reading, and the pages read until then stay. Each
        page is as it was until its new text is stored. Raises `NotFoundError` also for a page that is not there,
        `ConfigError` where the document is still being read, or an engine or language is missing,
        `ReaderFailedError` where OCR could not read some pages, which keep their text, and what `read_again` raises.
        """
        self._ocr.check(choice)
        self.start()
        self._index.ready()
        done = 0

        def step(stage: str, count: int, total: int) -> None:
            nonlocal done
            done = count
            report(count, len(numbers))

        with self._alone(Step(), [doc_id]):
            started = time.monotonic()
            info, upload = self._original_of(doc_id)
            numbers = _numbers_of(info, page_nos)
            try:
                with self._reader.read(upload, skip=set(range(1, info.pages + 1)) - numbers) as reading:
                    if not page_nos and _is_read_otherwise(info, reading):
                        info = self._begin_anew(info, reading)
                        numbers = set(range(1, info.pages + 1))
                    elif reading.pages != info.pages:
                        raise ConfigError(
                            _("{document} has other pages now than when it was read.").format(document=info.document),
                            hint=_("Add the file again: docmind add FILE."),
                        )
                    failed = self._read(info, reading, [], Step(page=step), choice).told
                if info.ingestion is not None:
                    info = replace(info, ingestion=replace(info.ingestion, losses=reading.losses))
            finally:
                if done:
                    language = majority([page.own_language for page in self._catalog.pages_of(doc_id)])
                    engine = choice.engine or self._ocr.engine
                    how = info.ingestion and replace(
                        info.ingestion, ocr_engine=engine, seconds=round(time.monotonic() - started, 3)
                    )
                    self._catalog.finish_document(doc_id, language=language, ingestion=how)
                    self._index.started().mirror.put(doc_id)
        self._db.settle()
        self.commit()
        if failed:
            raise ReaderFailedError(failed, hint=_("The text that these pages had is kept."))
        return self._catalog.document(doc_id)

    def _begin_anew(self, info: DocumentInfo, reading: Reading) -> DocumentInfo:
        """Note what a document is now, and drop its passages; return it."""
        tries = info.ingestion.tries if info.ingestion is not None else 0
        known = replace(info, kind=reading.kind, pages=reading.pages, **reading.facts)
        known = replace(known, ingestion=_ingestion_by(reading, tries + 1))
        with self._rows, self._db.transaction():
            self._catalog.begin_anew(known)
            self._nodes.replace(info.doc_id, [])
        return known

    def _read_missing(self, info: DocumentInfo, upload: Upload, stored: list[PageRecord]) -> str:
        """Read the pages that are not stored, and return the language of most pages."""
        with self._reader.read(upload, skip={page.page_no for page in stored}) as reading:
            numbers = [page.page_no for page in stored]
            is_same = reading.pages == info.pages or numbers == list(range(1, reading.pages + 1))
            if is_same:
                return self._read_into(replace(info, pages=reading.pages), reading, stored)
        with self._reader.read(upload) as reading:  # drawn differently than before
            return self._read_into(replace(info, pages=reading.pages), reading, [])

    def _read_into(self, info: DocumentInfo, reading: Reading, stored: list[PageRecord]) -> str:
        self._catalog.set_pages(info.doc_id, info.pages)
        if not stored:
            self._nodes.replace(info.doc_id, [])
        return self._read(info, reading, stored, Step()).language

    def _make_passages(self, info: DocumentInfo, stored: list[PageRecord]) -> str:
        from docmind.ingest.llama_nodes import Pipeline

        pipeline = Pipeline([info], self._nodes, self._embedder, self._tokens)
        nodes, made = pipeline.run(self._with_figures(stored))
        with self._rows, self._db.transaction():
            self._catalog.original(info.doc_id)  # raises where the document was deleted meanwhile
            self._nodes.replace(info.doc_id, nodes)
            pipeline.keep(made)
        return majority([page.own_language for page in stored])

    def edit_line(self, doc_id: str, page_no: int, edit: LineEdit) -> None:
        """Change one line of a page by hand, and make the passages of that page again; `commit` makes both findable.

        Raises `NotFoundError` where there is no such line, `ConfigError` where the document is still being read or the
        line is no row of a table, `TextModelError`, `DamagedError`, `VaultError`, `IndexEngineError`.
        """
        from docmind.ingest.llama_nodes import Pipeline

        self.start()
        self._index.ready()
        info = self._catalog.document(doc_id)
        if info.status != "ready":
            raise ConfigError(
                _("{document} is being read now.").format(document=info.document),
                hint=_("Correct it once all its pages are read."),
            )
        with self._alone(Step(), [doc_id]):
            (page,) = self._with_figures([self._catalog.page(doc_id, page_no)])
            page, corrections = corrected(
                page, edited_corrections(page, self._corrections.of_page(doc_id, page_no), edit)
            )
            pipeline = Pipeline([info], self._nodes, self._embedder, self._tokens)
            nodes, made = pipeline.run([page])
            with self._rows, self._db.transaction():
                self._catalog.original(doc_id)  # raises where the document was deleted meanwhile
                self._catalog.put_pages([page])
                self._corrections.replace(doc_id, [(page_no, corrections)])
                self._nodes.replace_page(doc_id, page_no, nodes)
                pipeline.keep(made)
            self._catalog.finish_document(doc_id, language=info.language)
        self._db.settle()
        self._index.started().mirror.put(doc_id)

    def _with_figures(self, pages: list[PageRecord]) -> list[PageRecord]:
        """Return stored pages with their figures, whose words become passages."""
        known = self._catalog.figures.of_pages((page.doc_id, page.page_no) for page in pages)
        return [replace(page, figures=known.get((page.doc_id, page.page_no), ())) for page in pages]

    def draw_again(self, doc_id: str, page_nos: Collection[int]) -> set[int]:
        """Draw the images of these pages again from the original; texts and words stay as they are.

        Returns the pages that were drawn: one of another size than before is not, because its words would be in other
        places. Raises as `read_again` does.
        """
        self.start()
        self._index.ready()
        drawn: set[int] = set()
        with self._alone(Step(), [doc_id]):
            info, upload = self._original_of(doc_id)
            stored = {page.page_no: page for page in self._catalog.pages_of(doc_id)}
            skip = set(range(1, info.pages + 1)) - set(page_nos)
            with self._reader.read(upload, skip=skip) as reading:
                for page in reading:
                    known = stored.get(page.page_no)
                    if known is None or (known.width, known.height) != (page.width, page.height):
                        continue
                    records, files = self._records(doc_id, [page])
                    with self._rows:
                        self._catalog.original(doc_id)  # raises where the document was deleted meanwhile
                        self._artifacts.put_many(files)
                        self._catalog.set_images(records[0])
                    drawn.add(page.page_no)
        self._db.settle()
        self._index.started().mirror.put(doc_id)
        return drawn

    def _original_of(self, doc_id: str) -> tuple[DocumentInfo, Upload]:
        """Return a document, and its original as it was handed in."""
        info = self._catalog.document(doc_id)
        name = info.read_as[0] if info.read_as else info.document
        return info, Upload(name, self._artifacts.get(self._catalog.original(doc_id)))

    def commit(self, *, lazily: bool = False) -> None:
        """Make the index durable after documents were added, and wake the services of page images.

        With `lazily` the index is skipped where it was made durable a moment ago.
        """
        self.start()
        self._index.started().mirror.commit(lazily=lazily)
        self._lookalike.wake()
        self._visual.wake()
        self.later.wake()

    def warm(self, is_asked: Callable[[], bool] = _never) -> None:
        """Have a reading process ready before the first document, and make vectors that are awaited.

        Vectors wait while `is_asked` says that a question is being answered.
        """
        self._is_asked = is_asked
        self._reader.warm()
        self._follow_later()

    def _follow_later(self) -> None:
        """Make vectors that are awaited in the background, whenever nothing is being read or asked."""
        self.later.follow(lambda: bool(self._under_way) or self._is_asked())

    def close(self) -> None:
        """End the reading and OCR processes, and the making of vectors."""
        self.later.close()
        self._is_asked = _never  # the caller's function holds the library, and with it the keys
        self._reader.close()
        self._ocr.close()

    def _add(self, file: QueuedFile, upload: Upload, step: Step) -> AddResult:
        doc_id, started = file.doc_id, time.monotonic()
        known = self._known(doc_id)
        if known is not None and known.deleted_at_ms is not None:
            if not file.parent_id:
                self._catalog.stand_alone(doc_id)
            for restored in self._edits.restore([doc_id]):
                self._index.started().mirror.put(restored)
            told = _("It was in the bin, and is back in the library.")
            return AddResult(upload.name, "already", doc_id, known.pages, known.ocr_pages, message=told)
        if known is not None and known.status == "ready":
            if not file.parent_id:
                self._catalog.stand_alone(doc_id)
            return _already(known, upload.name, upload.tags)
        if file.parent_id:
            upload = replace(upload, tags=self._catalog.document_or_binned(file.parent_id).tags)
        need_room(self._settings, 2 * len(upload.data))
        stored = self._catalog.pages_of(doc_id) if known else []
        with self._reader.read(upload, skip={page.page_no for page in stored}, waiting=step.check) as reading:
            if stored and known is not None and reading.pages != known.pages:  # drawn differently than before
                self._nodes.drop(doc_id)
                return self._add(file, upload, step)
            before = known.ingestion.tries if known is not None and known.ingestion is not None else 0
            info = replace(_begun(file, upload, reading, tries=before + 1), pages_done=len(stored))
            with self._rows, self._db.transaction():
                self._uploads.begin(file.upload_id)  # raises where the document was deleted meanwhile
                self._catalog.begin_document(info, file.original, file.parent_id)
            read = self._read(info, reading, stored, step)
            inside = self._take_out(info, reading.enclosed(), step)
            message = " ".join(filter(None, [reading.told, read.told, inside, reading.broke_off]))
            with self._db.transaction() as db:  # the document is ready and its file out of the queue, both or neither
                self._catalog.finish_document(
                    doc_id, language=read.language, ingestion=self._ingested(info, started, reading.losses)
                )
                message = " ".join(filter(None, [message, self._told_version(db, doc_id, is_replaced=file.replaces)]))
                self._uploads.settle(file.upload_id, AddResult(upload.name, "added", message=message))
        self._db.settle()
        ready = self._catalog.document(doc_id)
        self._index.started().mirror.put(doc_id)
        if self._nodes.is_embedded_later(doc_id):
            self.later.look()
        losses: tuple[Loss, ...] = ()
        if ready.ingestion is not None:
            losses = ready.ingestion.losses
            emit(IngestionCompleted(doc_id, ready.ingestion.passages, read.known, ready.ingestion.seconds))
        return AddResult(upload.name, "added", doc_id, ready.pages, ready.ocr_pages, message=message, losses=losses)

    def _take_out(self, info: DocumentInfo, enclosed: Iterable[Enclosed], step: Step = Step()) -> str:
        """Put the files inside a document into the queue, where they wait until it is ready; return a note on them.

        They are removed from it where this does not come to its end.
        """
        above = self._catalog.enclosed.above(info.doc_id)
        files, size = self._catalog.enclosed.inside(above[-1])
        most = (_DEEP * self._settings.reading.max_unpacked_mb << 20) + info.bytes
        taken = 0
        try:
            for place, inside in enumerate(enclosed, 1):
                step.check()
                inside = inside if inside.name else replace(inside, name=_("file {n}").format(n=place))
                files, size = files + 1, size + len(inside.data)
                message = inside.error
                if not message and len(above) > DEEPEST:
                    message = _("It lies in more than {most} files, one inside the other.").format(most=DEEPEST)
                elif not message and self._uploads.id_of(inside) in above:
                    message = _("It is the same file as the one that it lies in.")
                elif files > MOST_INSIDE or size > most:
                    message = _("There are too many files inside one another, or they are too large together.")
                self._uploads.enclose(info.doc_id, place, inside, message)
                taken += not message
        except BaseException:
            self._uploads.drop_enclosed(info.doc_id)
            raise
        told = ngettext("The file inside it is read next.", "The {n} files inside it are read next.", taken)
        return told.format(n=number_text(taken)) if taken else ""

    def _read(
        self, info: DocumentInfo, reading: Reading, stored: list[PageRecord], step: Step, again: OcrChoice | None = None
    ) -> _Read:
        """Seal and commit all pages.

        Where `step.check` raises, the pages read so far are stored before the exception is passed on. `again` is how
        pages are read that have a text already: one that OCR cannot read keeps it.
        """
        from docmind.ingest.llama_nodes import Pipeline  # a second of LlamaIndex, while the first pages are being read

        pipeline = Pipeline([info], self._nodes, self._embedder, self._tokens)
        if stored:
            nodes, made = pipeline.run(self._with_figures(stored))
            with self._rows, self._db.transaction():
                self._catalog.original(info.doc_id)  # raises where the document was deleted meanwhile
                self._nodes.replace(info.doc_id, nodes)
                pipeline.keep(made)
            pipeline.known.clear()  # these were counted before
        done = len(stored)
        languages = [page.own_language for page in stored]
        batch: list[ParsedPage] = []
        sealed_at = time.monotonic()
        step.page("reading", done, info.pages)

        def waiting() -> None:
            step.check()
            step.page("ocr", done, info.pages)

        choice, workers = again or OcrChoice(), self._settings.reading.workers
        with OcrPass(self._ocr, workers, waiting, choice, doc_id=info.doc_id) as ocr:
            try:
                for page in ocr.through(reading):
                    if again is not None and page.page_no in ocr.failed:  # its text of before stays
                        continue
                    batch.append(page)
                    done += 1
                    step.page("reading", done, info.pages)
                    most = _BATCH if page.thumbnail else _SHEETS
                    if len(batch) >= most or time.monotonic() - sealed_at > _BATCH_S:
                        languages += self._seal(info, pipeline, batch)
                        batch, sealed_at = [], time.monotonic()
                        step.kept(done)
                    step.check()
            except CancelledError:
                if batch:
                    self._seal(info, pipeline, batch)
                raise
        if batch:
            languages += self._seal(info, pipeline, batch)
        step.kept(done)
        step.page("indexing", done, info.pages)
        return _Read(ocr.told(), majority(languages), pipeline.known[info.doc_id])

    def _told_version(self, db: Connection, doc_id: str, *, is_replaced: bool) -> str:
        """Note of which document one is a new version, in the caller's transaction, and return a sentence about it."""
        earlier = earlier_version(self._catalog, db, doc_id)
        if earlier is None:
            return ""
        join_series(db, doc_id, earlier)
        added = date(datetime.fromtimestamp(earlier.added_at_ms / 1000, UTC).astimezone())
        told = (
            _("It is a new version of {document}, added {date}, which goes to the bin.")
            if is_replaced
            else _("It is a new version of {document}, added {date}. Both are kept, and answers prefer the newer one.")
        )
        return told.format(document=earlier.document, date=added)

    def _ingested(self, info: DocumentInfo, started: float, losses: Sequence[Loss]) -> Ingestion | None:
        """Return how a document was read that is being finished: it took from `started` until now."""
        if info.ingestion is None:
            return None
        seconds = round(time.monotonic() - started, 3)
        return replace(info.ingestion, ocr_engine=self._ocr.engine, seconds=seconds, losses=tuple(losses))

    def _seal(self, info: DocumentInfo, pipeline: Pipeline, pages: list[ParsedPage]) -> list[str]:
        records, files = self._records(info.doc_id, pages)
        records, corrections = self._corrections.laid_on(records)
        nodes, made = pipeline.run(records)
        need_room(self._settings, 0)
        with self._rows:
            self._catalog.original(info.doc_id)  # raises where the document was deleted meanwhile
            self._artifacts.put_many(files)
            with self._db.transaction(is_step=True):  # the last one marks the document ready
                self._catalog.put_pages(records)
                self._corrections.replace(info.doc_id, corrections)
                self._lookalike.keep({record.image.sha256: record.marks for record in records})
                self._nodes.replace_on(info.doc_id, [record.page_no for record in records], nodes)
                pipeline.keep(made)
        return [record.own_language for record in records]

    def _records(self, doc_id: str, pages: list[ParsedPage]) -> tuple[list[PageRecord], list[Sealable]]:
        """Return the rows of pages, and the images to seal: of the pages, their thumbnails and their figures."""
        files = [
            Sealable(data, ".webp.enc", {"kind": kind, "doc_id": doc_id, "page_no": page.page_no})
            for page in pages
            for kind, data in (
                ("page", page.image), ("thumbnail", page.thumbnail), *(("figure", one.image) for one in page.figures),
            )
            if data
        ]  # fmt: skip
        refs = {id(file.plaintext): self._artifacts.ref_of(file.plaintext, file.suffix) for file in files}
        records = [
            PageRecord(
                **page.said(),
                doc_id=doc_id,
                words=page.words,
                language="",
                image=refs[id(page.image)],
                thumbnail=refs[id(page.thumbnail or page.image)],  # a sheet is drawn in both sizes
                marks=page.marks,
                blocks=page.blocks,
                figures=_figures(doc_id, page, refs),
            )
            for page in pages
        ]
        return [record.with_language() for record in records], files

    def _refuse(self, file: QueuedFile, error: DocMindError, *, had_pages: bool) -> AddResult:
        """Record that a file cannot be read; pages stored before this attempt stay."""
        if isinstance(error, DiskFullError):
            raise error
        emit(IngestionFailed(file.doc_id, type(error).__name__))
        if had_pages:
            locked = _("Reading was cut off, and its password is needed to go on.")
            self._catalog.fail_document(file.doc_id, locked if isinstance(error, PasswordNeededError) else str(error))
        else:
            self._erase_unread(file.doc_id)
        return refused(file.name, error)

    def _erase_unread(self, doc_id: str) -> None:
        """Delete a document that is not ready; its file stays in the queue, to be tried again."""
        with self._rows:
            known = self._known(doc_id)
            if known is not None and known.status != "ready":
                _, unreferenced = self._catalog.erase_document(doc_id, keep_uploads=True)
                self._artifacts.remove(unreferenced)

    def _pages_of(self, doc_id: str) -> int:
        known = self._known(doc_id)
        return known.pages_done if known is not None else 0

    def _known(self, doc_id: str) -> DocumentInfo | None:
        try:
            return self._catalog.document_or_binned(doc_id)
        except NotFoundError:
            return None

    @contextlib.contextmanager
    def _alone(self, step: Step, doc_ids: Collection[str]) -> Iterator[None]:
        """Wait until none of these documents is being read, and count them as being read."""
        with self._turns:
            while not self._under_way.isdisjoint(doc_ids):
                self._turns.wait(0.1)
                step.check()
            self._under_way.update(doc_ids)
        try:
            yield
        finally:
            with self._turns:
                self._under_way.difference_update(doc_ids)
                self._turns.notify_all()


def _begun(file: QueuedFile, upload: Upload, reading: Reading, tries: int = 1) -> DocumentInfo:
    """Return the row of a document whose file is open and of which no page is stored."""
    info = DocumentInfo(
        doc_id=file.doc_id,
        document=upload.name,
        title="",
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
    return replace(info, **reading.facts, ingestion=_ingestion_by(reading, tries))


def _ingestion_by(reading: Reading, tries: int) -> Ingestion:
    versions = (("docmind", __version__), *_versions(reading))
    return Ingestion(reading.engine, versions=versions, tries=tries)


def _is_read_otherwise(info: DocumentInfo, reading: Reading) -> bool:
    """Return whether a document is of another kind now than when it was read, because a reader knows it that was off.

    So is a text in light markup that another program reads now, or that fills other pages.
    """
    if reading.kind != info.kind:
        return True
    by = info.ingestion.engine if info.ingestion is not None else ""
    return reading.kind in MARKED_UP and (reading.engine, reading.pages) != (by, info.pages)


def _figures(doc_id: str, page: ParsedPage, refs: Mapping[int, ArtifactRef]) -> tuple[Figure, ...]:
    """Return the rows of a page's figures; `refs` has their sealed images by the identity of the bytes."""
    return tuple(
        Figure(
            doc_id=doc_id,
            page_no=page.page_no,
            number=number,
            box=Box(*map(float, one.box)),
            width=one.size[0],
            height=one.size[1],
            caption=one.caption,
            alt=one.text,
            start=one.start,
            end=one.end,
            phash=one.phash,
            kind=one.kind,
            image=refs[id(one.image)],
        )
        for number, one in enumerate(page.figures, 1)
    )


def _numbers_of(info: DocumentInfo, page_nos: Collection[int]) -> set[int]:
    """Return the pages to read again: all, or those that are named."""
    if info.status != "ready":
        raise ConfigError(
            _("{document} cannot be read again while it is being read.").format(document=info.document),
            hint=_("Wait until all its pages are read."),
        )
    numbers = set(page_nos) or set(range(1, info.pages + 1))
    if not numbers <= set(range(1, info.pages + 1)):
        told = ngettext("This document has {n} page.", "This document has {n} pages.", info.pages)
        raise NotFoundError(told.format(n=info.pages), hint=_("Choose a page from 1 to {n}.").format(n=info.pages))
    return numbers


@cache
def _versions(reading: Reading) -> tuple[tuple[str, str], ...]:
    """Return the version of what read a file by its name; nothing where it has none, as a browser."""
    engine = reading.engine
    if reading.engine_version:
        return ((engine, reading.engine_version),)
    try:
        return () if engine == "docmind" else ((engine, version(engine)),)
    except (PackageNotFoundError, ValueError):
        return ()


def _already(known: DocumentInfo, name: str, tags: Sequence[str]) -> AddResult:
    """Return the result for a file whose document is there."""
    told = _("It is here already, as {document}.").format(document=known.document) if known.document != name else ""
    if not set(tags) <= set(known.tags):
        told = f"{told} Its tags stay as they are.".strip()
    return AddResult(name, "already", known.doc_id, known.pages, known.ocr_pages, message=told)
