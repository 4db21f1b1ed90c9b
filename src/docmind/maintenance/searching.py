"""The parts of an open vault that read documents, search them and answer from them, wired once.

The services of a library are made of them, and so is the library of a set that is measured.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from docmind.config import Settings
from docmind.conversations import Answerer, Listings
from docmind.documents import Uploads
from docmind.embedding import TextEmbedder, VectorCache
from docmind.image_match import ImageMatcher
from docmind.index import SearchIndex
from docmind.ingest import Ingest, IngestQueue, Library, Replacements
from docmind.memory import Memories
from docmind.reading import PagePictures
from docmind.runtime import Caches
from docmind.search import MultimodalSearch, PageSearch, TextSearch
from docmind.vault import IndexKey, Vault
from docmind.visual import Visual


@dataclass(frozen=True, kw_only=True, eq=False)
class Searching:
    """What reads, searches and answers in one vault. Thread-safe."""

    vault: Vault
    caches: Caches
    queries: VectorCache
    pictures: PagePictures
    index: SearchIndex
    lookalike: ImageMatcher
    visual: Visual
    memories: Memories
    uploads: Uploads
    ingest: Ingest
    documents: Library
    replacements: Replacements
    queue: IngestQueue
    text_search: TextSearch
    page_search: PageSearch
    lists: MultimodalSearch
    listings: Listings
    answerer: Answerer

    def close(self) -> None:
        """End the processes and threads of these parts, and release the vault; the text model goes on. Idempotent."""
        with ExitStack() as closing:  # each of them, even where another fails; the last one is closed first
            closing.callback(self.vault.close)
            for part in (
                self.index, self.text_search, self.ingest, self.pictures, self.visual, self.lookalike, self.documents,
                self.lists, self.queue,
            ):  # fmt: skip
                closing.callback(part.close)


def searching(vault: Vault, settings: Settings, *, embedder: TextEmbedder, key: IndexKey) -> Searching:
    """Make the parts of an open vault, the lowest first; a part takes those below it and calls none above."""
    caches = Caches()
    queries = caches.join(VectorCache())
    pictures = caches.join(PagePictures(settings.reading, vault.artifacts, vault.catalog.figures))
    index = SearchIndex(settings, vault=vault, key=key, embedder=embedder)
    lookalike = ImageMatcher(settings.reading, vault.database, vault.catalog, pictures)
    visual = Visual(settings, vault.database, vault.catalog, pictures, index)
    index.take_pages_from(visual.images, visual.late)
    memories = Memories(settings.memory, vault.database, embedder)
    uploads = Uploads(settings, vault.database, vault.catalog, vault.artifacts)
    ingest = Ingest(
        settings, vault=vault, uploads=uploads, embedder=embedder, index=index, lookalike=lookalike, visual=visual
    )
    documents = Library(
        vault=vault,
        ingest=ingest,
        pictures=pictures,
        visual=visual,
        bin_days=settings.storage.bin_days,
        least_certainty=settings.reading.ocr_min_confidence,
    )
    replacements = Replacements(vault.database, documents)
    queue = IngestQueue(uploads, ingest, settings.reading.workers, replacements=replacements)
    caches.join(documents.outlines)
    text_search = TextSearch(settings, vault.catalog, vault.nodes, index, embedder, vault.passage_vectors, queries)
    page_search = PageSearch(settings, index, vault.catalog, visual, queries)
    lists = MultimodalSearch(settings, vault.catalog, vault.nodes, text_search, lookalike, page_search, queries)
    listings = caches.join(Listings(catalog=vault.catalog, uploads=uploads))
    answerer = Answerer(
        settings,
        catalog=vault.catalog,
        nodes=vault.nodes,
        embedder=embedder,
        search=lists,
        memories=memories,
        listings=listings,
        vectors=vault.passage_vectors,
    )
    caches.join(answerer)
    return Searching(
        vault=vault, caches=caches, queries=queries, pictures=pictures, index=index, lookalike=lookalike,
        visual=visual, memories=memories, uploads=uploads, ingest=ingest, documents=documents,
        replacements=replacements, queue=queue, text_search=text_search, page_search=page_search, lists=lists,
        listings=listings, answerer=answerer,
    )  # fmt: skip
