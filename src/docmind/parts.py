"""The parts of an open vault that cost time to start: the index engine, what finds, what reads."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docmind.artifacts import Artifacts
from docmind.catalog import Catalog
from docmind.config import Settings
from docmind.database import Database
from docmind.embed.contract import TextEmbedder
from docmind.errors import DiskFullError, DocMindError, IndexEngineError, IndexMismatchError, VaultError
from docmind.index import open_index
from docmind.index.blind import Blind
from docmind.index.engine import IndexEngine
from docmind.keys import Keyset
from docmind.lookalike.search import Lookalike
from docmind.mirror import Mirror, Report
from docmind.nodestore import NodeStore
from docmind.querycache import QueryCache
from docmind.retrieve import DedupKey, Retrieve
from docmind.schema import DeleteReceipt, Filters, SearchResult
from docmind.visual.facade import Visual
from docmind.visual.finder import Finder
from docmind.visual.serverlate import FROM_PAGES

if TYPE_CHECKING:
    from docmind.ingest import Ingest


@dataclass(slots=True)
class Finding:
    """The parts that find. `is_current` once the index has been brought up to the vault's epoch."""

    index: IndexEngine
    mirror: Mirror
    retrieve: Retrieve
    is_current: bool = False


class Parts:
    """Starts each part once, at first use. Safe from any thread: who comes second waits for the first."""

    def __init__(
        self,
        settings: Settings,
        keyset: Keyset,
        database: Database,
        artifacts: Artifacts,
        catalog: Catalog,
        nodes: NodeStore,
        embedder: TextEmbedder,
        queries: QueryCache | None = None,
    ) -> None:
        self._settings, self._database, self._artifacts = settings, database, artifacts
        self._catalog, self._nodes, self._embedder = catalog, nodes, embedder
        self.lookalike = Lookalike(settings.reading, database, catalog, artifacts)
        self._blind = Blind(keyset.index_key())
        late_above = FROM_PAGES if settings.qdrant.url is not None and settings.qdrant.multivectors else None
        finder = Finder(self.ready, self.heal, self._blind, settings.database, late_above)
        self._queries = queries or QueryCache()
        self.visual = Visual(settings, database, catalog, artifacts, finder, self._queries)
        self._lock = threading.RLock()  # guards what is started
        self._catching_up = threading.RLock()  # held long, and never while the other one is
        self._finding: Finding | None = None
        self._ingest: Ingest | None = None
        self._is_closed = False

    def started(self) -> Finding:
        """The finding parts, started; the index may still lag behind. Raises `VaultError` once `close` was called."""
        with self._lock:
            if self._is_closed:  # what is started now would hold the index for good
                raise VaultError("The vault is closed.")
            if self._finding is None:
                settings = self._settings
                index = open_index(settings, settings.data_dir / "index", self._embedder.dim)
                names, images = settings.database, self.visual.images
                late = self.visual.late if index.holds_originals and settings.qdrant.multivectors else None
                self._finding = Finding(
                    index,
                    Mirror(self._catalog, self._nodes, index, self._embedder, self._blind, names, images, late),
                    Retrieve(settings, self._catalog, self._nodes, index, self._embedder, self._blind, self._queries),
                )
            return self._finding

    def ready(self) -> Finding:
        """The finding parts with the index up to date. The engine's process starts while the model loads."""
        with self._catching_up:
            finding = self.started()
            if not finding.is_current:
                # A text model that cannot be loaded is told where it is used: words are found without it.
                with suppress(DocMindError, OSError, RuntimeError):
                    self._embedder.warm()
                finding.mirror.catch_up()
                finding.is_current = True
            return finding

    def warm(self) -> None:
        """Make ready, and look at page images in the background from now on."""
        self.ready()
        self.lookalike.follow()
        self.visual.follow()

    def commit(self, *, lazily: bool) -> None:
        """Make the index durable after documents were taken in, and tell what looks at their pages."""
        self.writer().commit(lazily=lazily)
        self.lookalike.wake()
        self.visual.wake()

    def delete(self, doc_id: str) -> DeleteReceipt:
        """Take a document out of the vault, the artifacts, the index and what models made of its pages.

        Raises `NotFoundError`, `IndexEngineError`.
        """
        try:
            return self.writer().delete(doc_id)
        finally:
            with suppress(DiskFullError):  # what needs room to be moved is zeroed at the next start
                self.visual.sweep()

    def search(self, question: str, *, k: int | None, filters: Filters, dedup_key: DedupKey) -> SearchResult:
        """Hits for a question. A lost or damaged index is built anew from the vault, once."""
        retrieve = self.ready().retrieve
        try:
            return retrieve.search(question, k=k, filters=filters, dedup_key=dedup_key)
        except IndexMismatchError:
            raise
        except IndexEngineError:
            retrieve = self.heal().retrieve
            return retrieve.search(question, k=k, filters=filters, dedup_key=dedup_key)

    def heal(self) -> Finding:
        """The finding parts after the index failed: brought up to date once more, or built anew."""
        with self._catching_up:
            self.started().is_current = False
            return self.ready()

    def reindex(self, report: Report | None) -> int:
        """Make token vectors that are missing, build the index anew, look at page images that have not been looked at;
        returns how many documents the index holds. The index is built also where the vectors cannot be made.
        """
        finding = self.started()
        try:
            if finding.retrieve.rerank is not None:
                finding.retrieve.rerank.fill(report)
        finally:
            documents = finding.mirror.rebuild(report)
        self.lookalike.renew()
        return documents

    def writer(self) -> Ingest:
        """What takes documents in and out; it brings the index up to date when it needs that."""
        mirror = self.started().mirror
        with self._lock:
            if self._ingest is None:
                from docmind.ingest import Ingest
                from docmind.ocr import Ocr
                from docmind.parse import Reader

                reading = self._settings.reading
                self._ingest = Ingest(
                    self._settings,
                    self._database,
                    self._catalog,
                    self._nodes,
                    self._artifacts,
                    Reader(reading),
                    Ocr(reading),
                    self._embedder,
                    mirror,
                    self.ready,
                )
            return self._ingest

    def close(self) -> None:
        """Make the index durable and end every child process. Harmless twice."""
        self.lookalike.close()
        self.visual.close()
        with self._catching_up, self._lock:
            if self._ingest is not None:
                self._ingest.close()
            if self._finding is not None:
                # What the index could not note, on a full disk for one, it is told again at the next start.
                with suppress(DiskFullError, IndexEngineError):
                    self._finding.mirror.commit()
                self._finding.index.close()
            self._ingest = self._finding = None
            self._is_closed = True
