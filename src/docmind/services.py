"""Services of an open vault, wired together once; each starts at first use."""

from __future__ import annotations

from collections.abc import Callable

from docmind.config import Settings
from docmind.documents import Catalog, NodeStore, Uploads
from docmind.embedding import TextEmbedder, VectorCache
from docmind.folders import Folders
from docmind.image_match import ImageMatcher
from docmind.index import Report, SearchIndex
from docmind.ingest import Ingest, IngestQueue, Library
from docmind.reading import PagePictures
from docmind.search import PageSearch, TextSearch
from docmind.storage import Artifacts, Database, Reserve
from docmind.visual import Visual


class Services:
    """The services of search and ingestion. Thread-safe."""

    def __init__(
        self,
        settings: Settings,
        index_key: bytes,
        database: Database,
        artifacts: Artifacts,
        catalog: Catalog,
        nodes: NodeStore,
        embedder: TextEmbedder,
        queries: VectorCache,
        reserve: Reserve,
        on_new_key: Callable[[], None] | None = None,
    ) -> None:
        """Wire the services; `on_new_key` is as in `SearchIndex`."""
        self._database = database
        self.index = SearchIndex(settings, index_key, database, catalog, nodes, embedder, on_new_key)
        self.lookalike = ImageMatcher(settings.reading, database, catalog, artifacts)
        self.pictures = PagePictures(settings.reading, artifacts)
        self.visual = Visual(settings, database, catalog, self.pictures, self.index)
        self.index.take_pages_from(self.visual.images, self.visual.late)
        uploads = Uploads(settings, database, catalog, artifacts)
        self.ingest = Ingest(
            settings, database, catalog, nodes, artifacts, uploads, embedder, self.index, self.lookalike, self.visual
        )
        self.queue = IngestQueue(uploads, self.ingest, settings.reading.workers)
        self.library = Library(
            database, catalog, artifacts, self.ingest, self.visual, reserve, settings.storage.bin_days
        )
        self.folders = Folders(
            settings,
            database,
            catalog,
            self.queue,
            delete=lambda doc_id: self.library.bin([doc_id]),
            rename=lambda doc_id, name: self.library.rename(doc_id, document=name),
        )
        self.text = TextSearch(settings, catalog, nodes, self.index, embedder, queries)
        self.pages = PageSearch(settings, self.index, catalog, self.visual, queries)

    def warm(self) -> None:
        """Start search, and from now on process page images in the background."""
        self.index.ready()
        self.start_models()
        if not self._database.is_read_only:
            self.ingest.warm()
            self.lookalike.follow()
            self.visual.follow()
            self.folders.follow()
            self.library.follow()

    def start_models(self) -> None:
        """Start the models that searches use in the background, where they are not ready."""
        self.text.warm()
        self.pages.begin()

    def reindex(self, report: Report | None) -> int:
        """Compute missing token vectors, rebuild the index, and process new page images.

        Returns how many documents the index holds. The index is built even where the vectors cannot be computed.
        """
        self._database.check_writable()
        self.index.started()
        try:
            if self.text.rerank is not None:
                self.text.rerank.fill(report)
        finally:
            documents = self.index.rebuild(report)
        self.ingest.later.catch_up()
        self.lookalike.renew()
        return documents

    def close(self) -> None:
        """Make the index durable and end every child process. Idempotent."""
        self.library.close()
        self.lookalike.close()
        self.visual.close()
        self.pictures.close()
        self.ingest.close()
        self.text.close()
        self.index.close()
