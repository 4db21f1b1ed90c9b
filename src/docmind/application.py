"""The facade, which the command line, the pages, REST and MCP call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from docmind import capabilities
from docmind.config import Settings
from docmind.embedding import AUTO
from docmind.ingest import Progress
from docmind.llm import LanguageModels
from docmind.maintenance import Rotation, opened_text_model, tidy
from docmind.model_files import models_dir_of
from docmind.network import network_guard
from docmind.records.answers import Answer
from docmind.records.documents import AddResult, Capability, Status, Upload
from docmind.records.drafts import CheckedDraft
from docmind.records.listed import Listed
from docmind.records.listings import Listable
from docmind.records.query import Query
from docmind.records.rotation import RotationProgress, RotationReport
from docmind.records.search import Filters, MultimodalResult
from docmind.services import Services, build
from docmind.storage import AskPassphrase, Preferences, UserSettings, free_bytes
from docmind.vault import Vault


class DocMind(Services):
    """One open vault, owned by one process at a time (`VaultBusyError` otherwise).

    Thread-safe. Opening is cheap: models and the index engine start when they are first needed, or with `warm`. The
    parts of the library are the fields of `Services`: `docmind.documents`, `docmind.conversations`, `docmind.keys` …
    """

    _models_given: LanguageModels | None
    """Language models in place of the configured ones."""

    def __init__(
        self,
        settings: Settings,
        *,
        ask_passphrase: AskPassphrase | None = None,
        models: LanguageModels | None = None,
        read_only: bool = False,
        accept: bool = False,
    ) -> None:
        """Open the vault, or create one where there is none.

        `models` replaces the configured language models. `read_only` changes nothing in the vault; a folder that cannot
        be written and `storage.read_only` have the same effect. Where `vault.db` lacks acknowledged changes, that is a
        `BehindError`, unless the vault is read-only or `accept` continues with what is there. Raises `VaultError` and
        its kinds, `ConfigError`.
        """
        vault = Vault(settings, ask_passphrase=ask_passphrase, read_only=read_only, accept=accept)
        self._open(vault, models)

    def reopen(self, *, unset: Sequence[str] = ()) -> None:
        """Close the vault and open it again under the settings made in DocMind, without asking for a passphrase.

        `unset` names settings that are dropped before they are applied. Raises what opening raises; the vault is closed
        then, and can be reopened.
        """
        self.close()
        vault, rotation = self.vault.reopened(), self.rotation
        self._open(vault, self._models_given, unset=unset)
        self.rotation.report, self.rotation.error = rotation.report, rotation.error  # still to be shown

    def _open(self, vault: Vault, models: LanguageModels | None, *, unset: Sequence[str] = ()) -> None:
        with ExitStack() as opened:  # what was opened is closed again where a later part fails
            opened.callback(vault.close)
            settings = _for_reading(vault.settings) if vault.is_read_only else vault.settings
            rotation = Rotation(vault)
            if not vault.is_read_only:
                tidy(vault, settings.storage.bin_days)
            user_settings = UserSettings(settings, Preferences(vault.database), vault.keys.vault_id, vault.keys.source)
            if unset:
                user_settings.unset(unset)
            if user_settings.info("network.strict").source == "app":
                network_guard().hold(user_settings.now.network.strict)
            is_model_set = user_settings.now.embedding.model != AUTO
            settings, embedder = opened_text_model(user_settings.now, vault)
            opened.pop_all()
        if not vault.is_read_only:
            vault.reserve.refill()
        services = build(
            vault, settings, user_settings=user_settings, embedder=embedder, rotation=rotation, models=models,
            is_model_set=is_model_set,
        )  # fmt: skip
        vars(self).update(vars(services), _models_given=models)  # frozen but for opening again: then all parts are new
        for lazy in vars(self).keys() - vars(services).keys() - {"_models_given"}:
            vars(self).pop(lazy, None)
        if not vault.is_read_only:
            self.snapshots.tidy()
        self.erasures.follow()
        self.rotation.follow()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def rotate_keys(self, progress: Callable[[RotationProgress], None] | None = None) -> RotationReport:
        """Encrypt everything again with new keys, and return what was done; the library has a new recovery code then.

        A rotation that was interrupted goes on. The library is opened again at the end, so that the index gets its new
        key: no other thread may use it then. `rotation` has the same in the background, up to the index.

        Raises `DiskFullError`, `VaultError`, and what opening raises; the next opening goes on.
        """
        report = self.rotation.run(progress)
        self.reopen()
        self.index.ready()
        return report

    def add(
        self, uploads: Iterable[Upload | Path], *, files_total: int = 0, progress: Progress | None = None
    ) -> list[AddResult]:
        """Add uploads, files and folders, and wait until they are read; unreadable files are refused one by one.

        Of a folder every file in it is added, but hidden ones and links. There is one result for each file, in order.

        Files in the queue are read first. Raises `DiskFullError` and `CancelledError`; what was added before stays, and
        what was not read waits in the queue.
        """
        from docmind.ingest import Given

        given = Given(uploads, self.configured, self.configured.reading.max_file_mb)
        return given.results(self.queue.add(given.uploads(), files_total, progress))

    def search(
        self, query: Query | str, *, on_first: Callable[[MultimodalResult], None] | None = None
    ) -> MultimodalResult:
        """Search for words or a picture in all lists, or in those that the query names, and merge their hits.

        A text is a query with these words. With words alone, and no image model in use, the hits are those of the text
        search. A list that fails, or one of page images that takes longer than `visual.list_timeout_s`, is reported in
        the result.

        The pages that a picture may show are found by its look, its words, and an image model. `on_first` gets what its
        look alone found, within a second; reading its words takes longer.

        Raises `ConfigError` where the query asks nothing, what the text search raises where no list gave an answer, and
        the kinds of `ReadingError` where the picture cannot be opened.
        """
        return self.lists.search(Query.of(query), on_first=on_first)

    def ask(self, query: Query | str) -> Answer:
        """Answer a question without a language model, outside of any conversation, as `Answerer.ask` does."""
        return self.answerer.ask(Query.of(query))

    def check(
        self, draft: str, filters: Filters = Filters(), *, progress: Callable[[int, int], None] | None = None
    ) -> CheckedDraft:
        """Check the sentences of a text against the documents, without a language model, as `Drafts.check` does."""
        return self.drafts.check(draft, filters, progress=progress)

    def find(
        self,
        words: str = "",
        what: Listable = "mentions",
        filters: Filters = Filters(),
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Listed:
        """List every mention of words, all values of a kind, or whole lists, as `Listings.find` does."""
        return self.listings.find(words, what, filters, progress=progress)

    def reindex(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Build what is missing, rebuild the index, and return how many documents it holds; see `Reindexing.run`."""
        return self.reindexing.run(progress)

    def status(self) -> Status:
        """Report what is installed, what is missing, and how to add it."""
        documents, pages, nodes = self.documents.counts()
        folder, keys = self.configured.data_dir, self.vault.keys
        at_rest = self.index.started().index
        return Status(
            version=capabilities.version(),
            vault_id=keys.vault_id,
            key_source=keys.source,
            documents=documents,
            pages=pages,
            nodes=nodes,
            vault_bytes=capabilities.folder_bytes(folder),
            free_bytes=free_bytes(folder),
            index_engine=at_rest.name,
            index_epoch=self.index.epoch(),
            vault_epoch=self.vault.catalog.epoch(),
            capabilities=(
                *capabilities.of(self.configured, keys.source, self.models.capability()),
                Capability("index at rest", "present", at_rest.at_rest()),
                *self.visual.capabilities(),
            ),
            storage=capabilities.storage_use(
                folder, self.vault.catalog.thumbnail_ids(), models_dir_of(self.configured)
            ),
            pages_to_prepare=self.lookalike.missing(),
            documents_to_prepare=self.vault.nodes.awaiting(),
        )


def _for_reading(settings: Settings) -> Settings:
    """Return settings under which nothing is written.

    The index is the embedded one, in its own folder, and image models are off, because their results are stored in the
    vault.
    """
    return settings.model_copy(
        update={
            "qdrant": settings.qdrant.model_copy(update={"url": None, "multivectors": False}),
            "visual": settings.visual.model_copy(update={"image_model": "off", "late_model": "off"}),
        }
    )
