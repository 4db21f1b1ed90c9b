"""The only facade: every face (command line, pages, later REST and MCP) calls these methods and gets records back."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Self

from docmind import capabilities
from docmind.artifacts import Artifacts
from docmind.catalog import Catalog
from docmind.config import Settings
from docmind.conversations import Conversations
from docmind.database import Database, check_whole
from docmind.embed.registry import open_text_model
from docmind.errors import ConfigError, NotFoundError, VaultError
from docmind.intake import Intake, Progress
from docmind.keys import AskPassphrase, open_keys
from docmind.lock import OwnerLock
from docmind.memories import Memories
from docmind.modalities import Modalities
from docmind.models import Models
from docmind.nodestore import NodeStore
from docmind.parts import Parts
from docmind.preferences import Preferences
from docmind.querycache import QueryCache
from docmind.retrieve import DedupKey
from docmind.schema import (
    AddResult,
    Answer,
    DeleteReceipt,
    DocumentInfo,
    Filters,
    JobProgress,
    PageView,
    SearchResult,
    Status,
    Upload,
)
from docmind.seeing import ListName, MergeStrategy, MultimodalResult, Rerank

_PLACE = "Check the folder and its permissions, or choose another with DOCMIND_DATA_DIR."


class DocMind:
    """One open vault. Safe from any thread; one process at a time owns a vault (`VaultBusyError` otherwise).

    Opening is cheap: models and the index engine start when they are first needed, or with `warm`. `conversations`,
    `lookalike`, `memories`, `models` and `visual` are parts of the facade, as much as the methods here.
    """

    def __init__(
        self, settings: Settings, *, ask_passphrase: AskPassphrase | None = None, models: Models | None = None
    ) -> None:
        """`models` takes the place of those that are served. Raises `VaultError` and its kinds, `ConfigError`."""
        self._settings = settings
        data_dir = settings.data_dir
        try:
            data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise VaultError(f"The data directory {data_dir} cannot be made: {error.strerror}.", hint=_PLACE) from error
        if not os.access(data_dir, os.W_OK):
            raise VaultError(f"The data directory {data_dir} cannot be written to.", hint=_PLACE)
        with ExitStack() as opened:  # what was opened is closed again where a later part refuses
            opened.callback((lock := OwnerLock(data_dir)).release)
            self._keys = open_keys(data_dir, settings.keys, ask_passphrase)
            check_whole(data_dir)
            self._database = Database(data_dir / "vault.db", self._keys.keyset.db_key)
            opened.callback(self._database.close)
            self._artifacts = Artifacts(data_dir / "artifacts", self._keys.keyset)
            opened.callback(self._artifacts.close)
            self._embedder = open_text_model(settings)
            opened.pop_all()
        self._lock = lock
        self._recovery_code = self._keys.recovery_code
        self._catalog, self._nodes = Catalog(self._database), NodeStore(self._database)
        self._queries = QueryCache()
        self._parts = Parts(
            settings, self._keys.keyset, self._database, self._artifacts, self._catalog, self._nodes, self._embedder,
            self._queries,
        )  # fmt: skip
        self._intake = Intake(self._catalog, self._parts)
        self.lookalike, self.visual = self._parts.lookalike, self._parts.visual
        self._modalities = Modalities(
            settings, self._catalog, self._nodes, self._parts.search, self.lookalike, self.visual, self._queries
        )
        self.memories = Memories(settings.memory, self._database, self._embedder)
        self.models = models or Models(settings.llm, Preferences(self._database))
        self.conversations = Conversations(
            settings, self._database, self._artifacts, self._catalog, self._embedder, self.search,
            self._catalog.epoch, self.memories, self.models,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop jobs, end child processes, close the stores and give the vault back. Harmless twice."""
        with ExitStack() as closing:  # each of them, whatever another says
            closing.callback(self._lock.release)
            closing.callback(self._database.close)
            closing.callback(self._artifacts.close)
            closing.callback(self._parts.close)
            closing.callback(self._modalities.close)
            closing.callback(self._intake.jobs.close)
            closing.callback(self.conversations.close)

    def take_recovery_code(self) -> str | None:
        """The recovery code of a vault that was just made: given once, kept nowhere."""
        code, self._recovery_code = self._recovery_code, None
        return code

    def warm(self) -> None:
        """Start the index engine and the text model, bring the index up to date, look for models and at pages."""
        self._parts.warm()
        self.models.warm()
        self.conversations.warm()

    # documents

    def add(
        self, uploads: Iterable[Upload], *, files_total: int = 0, progress: Progress | None = None
    ) -> list[AddResult]:
        """Take files in, here and now. Files that cannot be read are refused one by one, with their sentence.

        Raises `DiskFullError` and `CancelledError`; what was added before stays.
        """
        return self._intake.add(uploads, files_total, progress)

    def submit(self, uploads: Sequence[Upload]) -> str:
        """Take files in as a background job; returns its id."""
        return self._intake.submit(uploads)

    def submit_unfinished(self) -> str | None:
        """Finish in the background what a crash or a closed window cut off; None where there is nothing."""
        return self._intake.submit_unfinished()

    def jobs(self) -> tuple[JobProgress, ...]:
        """Every job of this process, the oldest first."""
        return self._intake.jobs.all()

    def job(self, job_id: str) -> JobProgress:
        """Raises `NotFoundError`."""
        return self._intake.jobs.progress(job_id)

    def cancel(self, job_id: str) -> None:
        """Stop a job between two pages; finished files stay. Raises `NotFoundError`."""
        self._intake.jobs.cancel(job_id)

    def documents(self) -> tuple[DocumentInfo, ...]:
        """All documents, the newest first."""
        return tuple(self._catalog.documents())

    def document(self, doc_id: str) -> DocumentInfo:
        """Raises `NotFoundError`."""
        return self._catalog.document(doc_id)

    def find_document(self, name: str) -> DocumentInfo:
        """The one document with this id, beginning of an id, or file name. Raises `NotFoundError`."""
        documents = self._catalog.documents()
        for match in (
            [info for info in documents if name in (info.doc_id, info.document)],
            [info for info in documents if len(name) >= 4 and info.doc_id.startswith(name)],
        ):
            if len(match) == 1:
                return match[0]
            if match:
                raise NotFoundError(
                    f"{len(match)} documents are called {name!r}.", hint="Use an id; `docmind list` shows them."
                )
        raise NotFoundError(f"There is no document {name!r}.")

    def page(self, doc_id: str, page_no: int) -> PageView:
        """Raises `NotFoundError`."""
        return self._catalog.page_view(doc_id, page_no)

    def page_image(self, doc_id: str, page_no: int, *, thumbnail: bool = False) -> bytes:
        """The page as WebP. Raises `NotFoundError`, `DamagedError`, `TamperedError`."""
        page = self._catalog.page(doc_id, page_no)
        return self._artifacts.get(page.thumbnail if thumbnail else page.image)

    def delete(self, doc_id: str) -> DeleteReceipt:
        """Take a document out for good. Raises `NotFoundError`."""
        return self._parts.delete(doc_id)

    # finding and answering

    def search(
        self, question: str, *, k: int | None = None, filters: Filters = Filters(), dedup_key: DedupKey = "page_id"
    ) -> SearchResult:
        """Hits for a question, one per page unless `dedup_key` says otherwise. An empty one is a `ConfigError`."""
        return self._parts.search(_question(question), k=k, filters=filters, dedup_key=dedup_key)

    def multimodal_search(
        self,
        question: str,
        *,
        k: int | None = None,
        filters: Filters = Filters(),
        merge: MergeStrategy = "rrf",
        lists: Sequence[ListName] | None = None,
        limits: Mapping[ListName, int] | None = None,
        dedup_key: DedupKey = "page_id",
        rerank: Rerank | None = None,
    ) -> MultimodalResult:
        """Hits of all lists in one: words, code, page images. Where only words find, those of `search`, exactly.

        `lists` asks only these; `limits` says how far down each is looked at. `rerank` is the kind of model that looks
        at the first pages again; None: as it is set. What fails, or takes longer than `visual.list_timeout_s`, is
        reported in the result. Raises `ConfigError`, and what `search` raises where no list gave an answer.
        """
        return self._modalities.search(
            _question(question), k=k, filters=filters, merge=merge, lists=lists, limits=limits, dedup_key=dedup_key,
            rerank=rerank,
        )  # fmt: skip

    def see(
        self,
        picture: bytes,
        *,
        question: str = "",
        k: int = 8,
        filters: Filters = Filters(),
        merge: MergeStrategy = "rrf",
        name: str = "The picture",
        read: bool = True,
        on_first: Callable[[MultimodalResult], None] | None = None,
        rerank: Rerank | None = None,
    ) -> MultimodalResult:
        """The pages that a picture may be of: by its look, by the words on it, by an image model where there is one.

        `on_first` gets what its look alone found, within a second; reading takes some more, and `read` False leaves it
        out. `question` is searched for as well, `name` is what errors call the picture. Raises the kinds of
        `ReadingError` where it is no picture that can be opened.
        """
        question = _question(question) if question.strip() else ""
        return self._modalities.see(
            picture, question=question, k=k, filters=filters, merge=merge, name=name, read=read, on_first=on_first,
            rerank=rerank,
        )  # fmt: skip

    def ask(self, question: str, *, k: int | None = None, filters: Filters = Filters()) -> Answer:
        """Quotes that answer a question, each with its page and boxes, or "not found"."""
        from docmind.agent.extractive import NOT_FOUND, Extractive
        from docmind.agent.verify import quoted

        started = time.perf_counter()
        found = self.search(question, k=k, filters=filters)
        at = time.perf_counter()
        quotes = Extractive(self._settings.answer, self._catalog, self._embedder).extract(found.query, found)
        now = time.perf_counter()
        timings = (*found.timings_ms[:-1], ("answer", (now - at) * 1000), ("total", (now - started) * 1000))
        told = quoted([replace(source, index_epoch=self._catalog.epoch()) for source in quotes.sources])
        return Answer(
            question, told.answer or NOT_FOUND, bool(told.sources), told.sources, found.degraded, timings,
            told.sentences,
        )  # fmt: skip

    # care

    def reindex(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Make what is missing, and the index anew beside the old one; returns how many documents it holds."""
        return self._parts.reindex(progress)

    def status(self) -> Status:
        """What is here, what is missing, and how to add it."""
        finding = self._parts.started()
        documents, pages, nodes = self._catalog.counts()
        return Status(
            version=capabilities.version(),
            vault_id=self._keys.vault_id,
            key_source=self._keys.source,
            documents=documents,
            pages=pages,
            nodes=nodes,
            vault_bytes=capabilities.folder_bytes(self._settings.data_dir),
            free_bytes=capabilities.free_bytes(self._settings.data_dir),
            index_engine=finding.index.name,
            index_epoch=finding.index.epoch(),
            vault_epoch=self._catalog.epoch(),
            capabilities=capabilities.of(self._settings, self._keys.source, self.models.capability())
            + self.visual.capabilities(),
        )


def _question(text: str) -> str:
    question = " ".join(text.encode("utf-8", "replace").decode().split())  # bytes of a shell may be no text
    if not question:
        raise ConfigError("The question is empty.", hint="Type a question in words.")
    return question
