"""The parts of an open library, wired once, in the order of the layers; each starts when it is first needed."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from docmind import __version__
from docmind.access import ApiTokens
from docmind.config import Settings
from docmind.conversations import Answerer, Conversations, Drafts, Listings
from docmind.documents import Reader
from docmind.embedding import TextEmbedder, VectorCache, close_text_model
from docmind.image_match import ImageMatcher
from docmind.index import SearchIndex
from docmind.ingest import Folders, Ingest, IngestQueue, Library, WebPages
from docmind.llm import LanguageModels
from docmind.maintenance import GarbageCollection, Keys, Purge, Reindexing, Rotation, Snapshots, TextModels, searching
from docmind.memory import Memories
from docmind.model_files import LanguageFiles, models_dir_of
from docmind.network import Ledger, network_ledger
from docmind.reading import PagePictures
from docmind.runtime import Caches
from docmind.search import MultimodalSearch, PageSearch, TextSearch
from docmind.storage import Preferences, UserSettings
from docmind.vault import Vault
from docmind.visual import Visual

if TYPE_CHECKING:
    from docmind.conversations import Examples
    from docmind.maintenance import Bundles, Doctor, Evaluation


@dataclass(frozen=True, kw_only=True, eq=False)
class Services:
    """Every part of an open library. Thread-safe.

    `vault` and `configured`, the settings in force since it was opened, are what the parts are made of.
    """

    vault: Vault
    configured: Settings
    caches: Caches
    embedder: TextEmbedder
    queries: VectorCache
    """The embeddings of questions."""

    network: Ledger
    """What tried to reach other machines since DocMind was started."""

    reader: Reader
    tokens: ApiTokens
    pictures: PagePictures
    index: SearchIndex
    lookalike: ImageMatcher
    visual: Visual
    memories: Memories
    models: LanguageModels
    language_files: LanguageFiles
    ingest: Ingest
    queue: IngestQueue
    documents: Library
    folders: Folders
    web_pages: WebPages
    text_search: TextSearch
    page_search: PageSearch
    lists: MultimodalSearch
    """The search over every kind of list."""

    answerer: Answerer
    drafts: Drafts
    """The check of the user's own texts."""

    listings: Listings
    """Complete lists."""

    conversations: Conversations
    settings: UserSettings
    """The settings that the user makes in DocMind."""

    keys: Keys
    rotation: Rotation
    snapshots: Snapshots
    text_models: TextModels
    erasures: Purge
    garbage: GarbageCollection

    @property
    def is_read_only(self) -> bool:
        """Whether the library is open for reading only."""
        return self.vault.is_read_only

    @cached_property
    def examples(self) -> Examples:
        """The example questions, made in the background."""
        from docmind.conversations import Examples

        return self.caches.join(
            Examples(
                catalog=self.vault.catalog,
                answerer=self.answerer,
                queue=self.queue,
                conversations=self.conversations,
            )
        )

    @cached_property
    def reindexing(self) -> Reindexing:
        """The making of the index again."""
        return Reindexing(
            vault=self.vault,
            embedder=self.embedder,
            index=self.index,
            lookalike=self.lookalike,
            ingest=self.ingest,
            text=self.text_search,
            snapshots=self.snapshots,
        )

    @cached_property
    def bundles(self) -> Bundles:
        """The writing and reading of files that carry the library to another computer."""
        from docmind.maintenance import Bundles

        return Bundles(
            __version__,
            vault=self.vault,
            memories=self.memories,
            embedder=self.embedder,
            library=self.documents,
            conversations=self.conversations,
        )

    @cached_property
    def evaluation(self) -> Evaluation:
        """The measuring of search and answers on labelled sets, and the user's labels of sources."""
        from docmind.maintenance import Evaluation

        return Evaluation(
            self.configured, vault=self.vault, embedder=self.embedder, lists=self.lists, answerer=self.answerer,
            visual=self.visual, conversations=self.conversations, models=self.models,
        )  # fmt: skip

    @cached_property
    def doctor(self) -> Doctor:
        """The checks of the library, and their repairs."""
        from docmind.maintenance import Doctor, Repairs

        repairs = Repairs(
            vault=self.vault,
            queue=self.queue,
            ingest=self.ingest,
            lookalike=self.lookalike,
            visual=self.visual,
            reindexing=self.reindexing,
        )
        return Doctor(
            self.configured,
            vault=self.vault,
            index=self.index,
            lookalike=self.lookalike,
            visual=self.visual,
            snapshots=self.snapshots,
            repairs=repairs,
        )

    def warm(self) -> None:
        """Start the index engine and the text model, and update the index.

        Also look for language models, load LangGraph and the passage reader, and process page images in the
        background; files that nothing refers to are removed there too.
        """
        self.index.ready()
        self.start_models()
        if not self.is_read_only:
            self.ingest.warm(lambda: self.conversations.is_busy)
            self.lookalike.follow()
            self.visual.follow()
            self.folders.follow()
            self.documents.follow()
        self.models.warm()
        self.conversations.warm()
        self.answerer.warm()
        self.garbage.follow(lambda: self.queue.progress().is_busy or self.conversations.is_busy)

    def start_models(self) -> None:
        """Start the models that searches use, in the background, where they are not ready: those idle have ended.

        Without it the first search waits for them, up to `retrieve.start_timeout_s`.
        """
        self.text_search.warm()
        self.page_search.begin()

    def close(self) -> None:
        """Stop jobs, end child processes, close the stores and release the vault. Idempotent."""
        with ExitStack() as closing:  # each of them, even where another fails; the last one is closed first
            closing.callback(self.vault.close)
            closing.callback(close_text_model, self.embedder)
            for part in (
                self.index,
                self.text_search,
                self.ingest,
                self.pictures,
                self.visual,
                self.lookalike,
                self.documents,
                self.models,
                self.language_files,
                self.lists,
                self.queue,
                self.folders,
                self.conversations,
                self.garbage,
                self.erasures,
                self.rotation,
            ):
                closing.callback(part.close)
            if "examples" in vars(self):  # they were asked for
                closing.callback(self.examples.close)
            if "evaluation" in vars(self):
                closing.callback(self.evaluation.close)


def build(
    vault: Vault, settings: Settings, *, user_settings: UserSettings, embedder: TextEmbedder, rotation: Rotation,
    models: LanguageModels | None, is_model_set: bool,
) -> Services:  # fmt: skip
    """Make all parts of an open vault, the lowest first; a part takes those below it and calls none above.

    `models` replaces the configured language models. With `is_model_set` the text model is named by the environment.
    """
    parts = searching(vault, settings, embedder=embedder, key=rotation.index_key())
    gguf_folder = models_dir_of(settings) / "language"
    language_models = models or LanguageModels(settings.llm, Preferences(vault.database), folder=gguf_folder)
    conversations = Conversations(
        settings, database=vault.database, pictures=parts.pictures, models=language_models, answerer=parts.answerer
    )
    snapshots = Snapshots(
        settings.snapshots,
        vault=vault,
        settings=user_settings,
        library=parts.documents,
        index=parts.index,
        embedder=embedder,
    )
    return Services(
        vault=vault, configured=settings, caches=parts.caches, embedder=embedder, queries=parts.queries,
        network=network_ledger(), reader=Reader(vault.catalog), tokens=ApiTokens(vault.database),
        pictures=parts.pictures, index=parts.index, lookalike=parts.lookalike, visual=parts.visual,
        memories=parts.memories, models=language_models,
        language_files=LanguageFiles(gguf_folder, settings.visual.hub_url, language_models.take),
        ingest=parts.ingest, queue=parts.queue, documents=parts.documents,
        folders=Folders(
            settings, vault=vault, queue=parts.queue, library=parts.documents, replacements=parts.replacements
        ),
        web_pages=WebPages(user_settings, vault=vault, queue=parts.queue),
        text_search=parts.text_search, page_search=parts.page_search, lists=parts.lists, answerer=parts.answerer,
        drafts=Drafts(catalog=vault.catalog, embedder=embedder, search=parts.lists), listings=parts.listings,
        conversations=conversations,
        settings=user_settings, keys=Keys(vault, user_settings), rotation=rotation, snapshots=snapshots,
        text_models=TextModels(settings, vault=vault, embedder=embedder, snapshots=snapshots, is_set=is_model_set),
        erasures=Purge(
            vault=vault, ingest=parts.ingest, index=parts.index, visual=parts.visual, memories=parts.memories,
            conversations=conversations, snapshots=snapshots, caches=parts.caches,
        ),
        garbage=GarbageCollection(
            vault.database, vault.catalog, vault.artifacts, vault.clock, settings.storage.keep_aside_days,
            (vault.catalog.artifact_ids,),
        ),
    )  # fmt: skip
