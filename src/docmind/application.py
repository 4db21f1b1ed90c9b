"""The facade, which the command line, the pages and later REST and MCP call.

Above 500 lines: one class with all that they may call, each method a few lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from docmind import capabilities
from docmind.access import ApiTokens
from docmind.config import Settings
from docmind.conversations import Answerer, Conversations
from docmind.documents import Edits, ErasurePlan, Erasures, Reader
from docmind.embedding import (
    AUTO,
    TextEmbedder,
    VectorCache,
    automatic,
    close_text_model,
    facts_of,
    open_text_model,
    text_model_capability,
    text_model_of_vault,
    text_models,
)
from docmind.errors import (
    ConfigError,
    DamagedError,
    DiskFullError,
    ExtraMissingError,
    NotFoundError,
    VaultError,
)
from docmind.ingest import Progress, one_named
from docmind.llm import LanguageModels
from docmind.maintenance import Conversing, GarbageCollection, Purge, Rotation, Signer, Snapshots
from docmind.memory import Memories
from docmind.model_files import LanguageFiles, models_dir_of, pull_text_model
from docmind.network import network_guard, network_ledger
from docmind.records.answers import Answer
from docmind.records.documents import (
    AddResult,
    Capability,
    DocumentInfo,
    ErasureReceipt,
    HandedIn,
    PageView,
    Status,
    Upload,
)
from docmind.records.models import PullProgress, TextModelCard
from docmind.records.network import NetworkLedger
from docmind.records.rotation import RotationProgress, RotationReport
from docmind.records.search import Filters, ListName, MergeStrategy, MultimodalResult, Rerank, SearchResult
from docmind.records.storage import PruneReport
from docmind.runtime import log_mistake
from docmind.search import DedupKey, MultimodalSearch, checked_question
from docmind.services import Services
from docmind.storage import (
    Ages,
    AskPassphrase,
    OpenedKeys,
    Preferences,
    UserSettings,
    change_passphrase,
    free_bytes,
)
from docmind.vault import Vault
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.conversations import Examples
    from docmind.maintenance import Bundles, Doctor

_TEXT_MODEL = "text-model"  # the preference that has the name of the vault's text model
_TEXT_FACTS = "text-model.facts"


class DocMind:
    """One open vault, owned by one process at a time (`VaultBusyError` otherwise).

    Thread-safe. Opening is cheap: models and the index engine start when they are first needed, or with `warm`.
    `bundles`, `conversations`, `doctor`, `folders`, `library`, `lookalike`, `memories`, `models`, `page_search`,
    `queue`, `reader`, `rotation`, `settings`, `snapshots`, `tokens` and `visual` are public parts of the facade, like
    the methods here.
    """

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
        self._accept, self._models_given = accept, models
        self._open(settings, ask_passphrase=ask_passphrase, read_only=read_only)

    def reopen(self, *, unset: Sequence[str] = ()) -> None:
        """Close the vault and open it again under the settings made in DocMind, without asking for a passphrase.

        `unset` names settings that are dropped before they are applied. Raises what opening raises; the vault is closed
        then, and can be reopened.
        """
        self.close()
        for name in ("_examples", "bundles", "doctor"):
            self.__dict__.pop(name, None)
        self._open(self._vault.settings, read_only=self._is_read_only_asked, keys=self._vault.keys, unset=unset)

    def _open(
        self,
        settings: Settings,
        *,
        ask_passphrase: AskPassphrase | None = None,
        read_only: bool = False,
        keys: OpenedKeys | None = None,
        unset: Sequence[str] = (),
    ) -> None:
        self._is_read_only_asked = read_only
        with ExitStack() as opened:  # what was opened is closed again where a later part fails
            vault = Vault(settings, ask_passphrase=ask_passphrase, read_only=read_only, accept=self._accept, keys=keys)
            opened.callback(vault.close)
            self._vault, self.is_read_only = vault, vault.is_read_only
            self._database, self._artifacts, self._catalog = vault.database, vault.artifacts, vault.catalog
            self._settings = settings = _for_reading(vault.settings) if vault.is_read_only else vault.settings
            self.rotation = self._opened_rotation()
            index_key, on_new_index_key = self.rotation.index_key()
            if not self.is_read_only:
                self._tidy()
            self.settings = UserSettings(settings, Preferences(self._database), vault.keys.vault_id, vault.keys.source)
            if unset:
                self.settings.unset(unset)
            if self.settings.info("network.strict").source == "app":
                network_guard().hold(self.settings.now.network.strict)
            settings, self._embedder = self._opened_text_model(self.settings.now)
            opened.pop_all()
        self._settings, models = settings, self._models_given
        if not self.is_read_only:
            vault.reserve.refill()
        self._queries = VectorCache()
        self._services = Services(
            settings, index_key, self._database, self._artifacts, self._catalog, self._vault.nodes, self._embedder,
            self._queries, self._vault.reserve, on_new_index_key,
        )  # fmt: skip
        self.queue, self.index_choice = self._services.queue, self._services.index.choice
        self.library, self.folders = self._services.library, self._services.folders
        self.lookalike, self.visual = self._services.lookalike, self._services.visual
        self.page_search = self._services.pages
        self._modalities = MultimodalSearch(
            settings,
            self._catalog,
            self._vault.nodes,
            self._services.text.search,
            self.lookalike,
            self.page_search,
            self._queries,
        )
        self.reader = Reader(self._catalog)
        self.tokens = ApiTokens(self._database)
        self.memories = Memories(settings.memory, self._database, self._embedder)
        gguf_folder = models_dir_of(settings) / "language"
        self.models = models or LanguageModels(settings.llm, Preferences(self._database), folder=gguf_folder)
        self.language_files = LanguageFiles(gguf_folder, settings.visual.hub_url, lambda file: self.models.take(file))
        self.answerer = Answerer(
            settings,
            catalog=self._catalog,
            nodes=self._vault.nodes,
            embedder=self._embedder,
            search=self._modalities,
            memories=self.memories,
        )
        self.conversations = Conversations(
            settings,
            database=self._database,
            pictures=self._services.pictures,
            models=self.models,
            answerer=self.answerer,
        )
        self.snapshots = Snapshots(
            settings.data_dir, settings.snapshots, lambda: self._vault.keys.keyset, self._vault.keys.vault_id,
            self._database, self._catalog, self._artifacts, self.settings, self.library, self._services.index,
            (self._embedder.name, self._embedder.fingerprint), Ages(self._database, self._vault.clock),
        )  # fmt: skip
        if not self.is_read_only:
            self.snapshots.tidy()
        self._purge = Purge(
            settings.data_dir, self._database, self._catalog, self._artifacts, self._services.ingest,
            self._services.index, self.visual, self.memories,
            Conversing(self.conversations.erase_quotes, self.conversations.left_of), self._vault.reserve,
            Signer(self._vault.keys.keyset.id_key, self._vault.keys.vault_id), self._drop_caches, self.snapshots,
        )  # fmt: skip
        self._purge.follow()
        self._garbage = GarbageCollection(
            self._database, self._catalog, self._artifacts, self._vault.clock, settings.storage.keep_aside_days,
            (self._catalog.artifact_ids,),
        )  # fmt: skip
        self.rotation.follow()

    def _opened_rotation(self) -> Rotation:
        before: Rotation | None = self.__dict__.get("rotation")
        rotation = Rotation(
            self._settings.data_dir, self._database, self._artifacts, self._catalog, lambda: self._vault.keys,
            self._vault.keys_lock, min_free_mb=self._settings.storage.min_free_mb,
        )  # fmt: skip
        if before is not None:  # the vault is opened again: what the last rotation did is still to be shown
            rotation.report, rotation.error = before.report, before.error
        return rotation

    def _drop_caches(self) -> None:
        """Drop what is kept in memory of documents: questions, passages, pictures, outlines, example questions."""
        self._queries.clear()
        self._services.pictures.drop()
        self.answerer.drop()
        self.library.drop_outlines()
        if (examples := self.__dict__.pop("_examples", None)) is not None:
            examples.close()

    def _opened_text_model(self, settings: Settings) -> tuple[Settings, TextEmbedder]:
        """Open the text model; return it with the settings that have its name, also in place of `auto`.

        The name is kept, so that a vault keeps to its model when the weights of another one are installed.
        """
        preferences = Preferences(self._database)
        kept = facts = None
        with suppress(DamagedError):  # as if none was kept
            kept = preferences.get(_TEXT_MODEL)
        with suppress(DamagedError):
            facts = preferences.get(_TEXT_FACTS)
        name = settings.embedding.model
        self._is_text_model_set = name != AUTO
        if name == AUTO:
            name = automatic(kept, has_vectors=self._vault.nodes.has_vectors())
        embedding = settings.embedding.model_copy(update={"model": name})
        settings = settings.model_copy(update={"embedding": embedding})
        embedder = text_model_of_vault(settings, facts)
        if not self.is_read_only:
            if name != kept:
                preferences.put(_TEXT_MODEL, name)
            if (now := facts_of(settings, embedder)) != facts:
                preferences.put(_TEXT_FACTS, now)
        return settings, embedder

    def text_models(self) -> tuple[TextModelCard, ...]:
        """Return the text models that there are, DocMind's own and those in the models folder; loads none."""
        return text_models(self._settings)

    def pull_text_model(self, name: str, progress: Callable[[PullProgress], None]) -> TextModelCard:
        """Fetch a text model that the hub has (`model_files.KNOWN_TEXT`), and return it.

        Raises `DownloadError`, `DiskFullError`, `ConfigError`.
        """
        pull_text_model(self._settings, name, progress, lambda: None)
        return next(card for card in self.text_models() if card.name == name)

    def choose_text_model(self, name: str) -> None:
        """Choose the vault's text model: it is used from the next opening on, and `reindex` then embeds with it.

        A snapshot is taken before. To go back, choose the model that it names: its vectors are still there, or are made
        again. Raises `ConfigError` where there is no such model or the settings name one, `TextModelError` and
        `ExtraMissingError` where it is not whole.
        """
        self._database.check_writable()
        if self._is_text_model_set:
            raise ConfigError(
                _("The text model is set by DOCMIND_EMBEDDING__MODEL."), hint=_("Unset it, or set it to another model.")
            )
        chosen = self._settings.embedding.model_copy(update={"model": name})
        settings = self._settings.model_copy(update={"embedding": chosen})
        close_text_model(open_text_model(settings))
        found = text_model_capability(settings)
        if found.state != "present":
            raise ExtraMissingError(
                _("The text model {name} is not installed.").format(name=name),
                hint=found.hint,
            )
        if name != self._embedder.name:
            self.snapshots.create(reason="text model")
        Preferences(self._database).put(_TEXT_MODEL, name)

    def _tidy(self) -> None:
        """Unlink what an interrupted erasure left, and empty the bin.

        The erasures that are begun here are finished in the background, once the vault is open. Stored files that
        nothing refers to are removed later, by `prune`.

        Where the user accepted a vault that lacks acknowledged changes,
        the bin is not emptied, because a document may have been taken out of it since, and all ages begin again.
        """
        if self._database.was_behind:
            Ages(self._database, self._vault.clock).drop()
        with suppress(DiskFullError):  # it is finished at the next start
            for doc_id in self._expired():
                erasures = Erasures(self._database, self._catalog)
                erasures.begin(doc_id, ErasurePlan(), erasures.traces_of(doc_id))
            if doomed := self._catalog.doomed():
                try:
                    self._artifacts.remove(doomed)
                except VaultError as error:  # a file is in use, or the disk reports an error: again at the next start
                    log_mistake("docmind.vault", "files of erased documents could not be deleted", error)
                else:
                    self._catalog.buried()
            self._vault.clock.keep(seldom=True)

    def _expired(self) -> list[str]:
        edits, now_ms = Edits(self._database, self._catalog), self._vault.clock.now_ms()
        return [] if self._database.was_behind else edits.expired(self._settings.storage.bin_days, now_ms)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop jobs, end child processes, close the stores and release the vault. Idempotent."""
        with ExitStack() as closing:  # each of them, even where another fails
            closing.callback(self._vault.close)
            closing.callback(close_text_model, self._embedder)
            closing.callback(self._services.close)
            closing.callback(self.models.close)
            closing.callback(self.language_files.close)
            closing.callback(self._modalities.close)
            closing.callback(self.queue.close)
            closing.callback(self.folders.close)
            closing.callback(self.conversations.close)
            closing.callback(self._garbage.close)
            closing.callback(self._purge.close)
            closing.callback(self.rotation.close)  # first: these use all of them
            if "_examples" in self.__dict__:  # they were asked for
                closing.callback(self._examples.close)

    # the recovery code

    @property
    def vault_id(self) -> str:
        """The vault's id: 16 hexadecimal digits, created with the vault."""
        return self._vault.keys.vault_id

    @property
    def asks_passphrase(self) -> bool:
        """Whether the library opens with a passphrase that the user types; the environment may give it instead."""
        return self._vault.keys.source == "passphrase" and self._vault.settings.keys.passphrase is None

    def recovery_code(self) -> str | None:
        """Return the recovery code until it is confirmed, to be written down; None afterwards."""
        return self._vault.keys.recovery.code()

    def confirm_recovery_code(self, written: str) -> None:
        """Forget the recovery code; `written` is its last group, or all of it.

        Raises `WrongKeyError` where it does not match, `DiskFullError`, `VaultError`; then the code is kept.
        """
        self._vault.keys.recovery.confirm(written)

    def new_recovery_code(self) -> str:
        """Create another recovery code, unconfirmed; the previous one stops working.

        Raises `DiskFullError`, `VaultError`; then the previous one still works.
        """
        with self._vault.keys_lock:
            return self._vault.keys.recovery.renew()

    def change_passphrase(self, now: str, new: str) -> None:
        """Exchange the passphrase of the vault; the recovery code is exchanged with it, and is unconfirmed then.

        Raises `ConfigError` where the vault has no passphrase, the environment sets one, or the new one is too short;
        `WrongKeyError` where `now` is another one; `DiskFullError`, `VaultError`. Nothing is changed then.
        """
        self._database.check_writable()
        if self._vault.settings.keys.passphrase is not None:
            raise ConfigError(
                _("The passphrase is set by DOCMIND_KEYS__PASSPHRASE."),
                hint=_("Unset that variable, then change it here."),
            )
        with self._vault.keys_lock:
            self._vault.keys = change_passphrase(self._vault.settings.data_dir, self._vault.keys, now, new)

    def rotate_keys(self, progress: Callable[[RotationProgress], None] | None = None) -> RotationReport:
        """Encrypt everything again with new keys, and return what was done; the library has a new recovery code then.

        A rotation that was interrupted goes on. The library is opened again at the end, so that the index gets its new
        key: no other thread may use it then. `rotation` has the same in the background, up to the index.

        Raises `DiskFullError`, `VaultError`, and what opening raises; the next opening goes on.
        """
        report = self.rotation.run(progress)
        self.reopen()
        self._services.index.ready()
        return report

    def warm(self) -> None:
        """Start the index engine and the text model, and update the index.

        Also look for language models, load LangGraph, and process page images in the background; files that nothing
        refers to are removed there too.
        """
        self._services.warm()
        self.models.warm()
        self.conversations.warm()
        self._garbage.follow(lambda: self.queue.progress().is_busy or self.conversations.is_busy)

    def start_models(self) -> None:
        """Start the models that searches use, in the background, where they are not ready: those idle have ended.

        Without it the first search waits for them, up to `retrieve.start_timeout_s`.
        """
        self._services.start_models()

    # documents

    def add(
        self, uploads: Iterable[Upload | Path], *, files_total: int = 0, progress: Progress | None = None
    ) -> list[AddResult]:
        """Add uploads, files and folders, and wait until they are read; unreadable files are refused one by one.

        Of a folder every file in it is added, but hidden ones and links. There is one result for each file, in order.

        Files in the queue are read first. Raises `DiskFullError` and `CancelledError`; what was added before stays, and
        what was not read waits in the queue.
        """
        from docmind.folders import Given

        given = Given(uploads, self._settings, self._settings.reading.max_file_mb)
        return given.results(self.queue.add(given.uploads(), files_total, progress))

    def web_page(self, address: str, *, tags: tuple[str, ...] = ()) -> Upload:
        """Fetch a web page or PDF, to be added like a file; only where the settings allow it.

        One request for the page alone. Raises `ConfigError` where it is not allowed or this is no address,
        `WebPageError` where it cannot be fetched, `VaultError` where the vault is read-only.
        """
        from docmind.network import fetch_page

        self._database.check_writable()
        page = fetch_page(self.settings.now.web, address)
        return Upload(page.name, page.data, tags=tags, address=page.address, fetched_at_ms=page.fetched_at_ms)

    def submit(self, uploads: Iterable[Upload], *, total_bytes: int = 0) -> tuple[int, ...]:
        """Queue files to be read in the background and return their ids; see `queue` for progress.

        They are sealed and their rows written when this returns: from then on they will be read, even after a crash.
        `total_bytes` is their size, where it is known. Raises `DiskFullError`; then none of them is queued.
        """
        return self.queue.submit(uploads, total_bytes=total_bytes)

    def hand_in(self, upload: Upload) -> HandedIn:
        """Queue one file as `submit` does, and return which document it is or will be. Raises as `submit`."""
        (upload_id,) = self.queue.hold([upload])
        try:  # before it is read: afterwards its document is known
            doc_id, is_known = self.queue.document_of(upload_id)
        finally:
            self.queue.release([upload_id])
            self.queue.start()
        return HandedIn(upload_id, doc_id, is_known)

    def hand_in_web_page(self, address: str, *, tags: tuple[str, ...] = ()) -> HandedIn:
        """Fetch a web page and queue it as `hand_in` does. Raises as `web_page`."""
        return self.hand_in(self.web_page(address, tags=tags))

    def documents(self) -> tuple[DocumentInfo, ...]:
        """Return all documents, newest first."""
        return tuple(self._catalog.documents())

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of documents, pages and nodes outside the bin."""
        return self._catalog.counts()

    def document(self, doc_id: str) -> DocumentInfo:
        """Return a document. Raises `NotFoundError`."""
        return self._catalog.document(doc_id)

    def find_document(self, name: str) -> DocumentInfo:
        """Return the one document with this id, start of an id, or file name.

        A document of the bin is found by its whole id, where a snapshot holds it. Raises `NotFoundError`.
        """
        try:
            return one_named(self._catalog.documents(), name, listed="docmind list")
        except NotFoundError:
            with suppress(NotFoundError):
                return self._catalog.readable(name)
            raise

    def page(self, doc_id: str, page_no: int) -> PageView:
        """Return a page. Raises `NotFoundError`."""
        return self._catalog.page_view(doc_id, page_no)

    def page_image(self, doc_id: str, page_no: int, *, thumbnail: bool = False) -> bytes:
        """Return the page as WebP. Raises `NotFoundError`, `DamagedError`, `TamperedError`."""
        page = self._catalog.page(doc_id, page_no)
        return self._services.pictures.get(page.thumbnail if thumbnail else page.image, thumbnail=thumbnail)

    def erase(
        self,
        doc_ids: Sequence[str],
        *,
        conversations: bool = True,
        memories: bool = False,
        snapshots: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> tuple[ErasureReceipt, ...]:
        """Erase documents for good, in the bin or not, with their quotes in conversations; return a receipt each.

        Without `conversations` the quotes stay readable there. With `memories`, memories that name a document or hold
        its text are forgotten. The receipt names the snapshots that hold a document; with `snapshots` the document is
        erased from them too, even if only snapshots hold it. Afterwards every store is asked for the document, and all
        files are searched for its text. `progress` gets the name of each step, its number, and the number of steps. On
        a full disk the documents are erased and their receipts have no signature; the next start adds it.

        Raises `NotFoundError` before anything is erased, `DiskFullError`, `VaultError`, `IndexEngineError`.
        """
        return self._purge.erase(
            doc_ids, conversations=conversations, memories=memories, snapshots=snapshots, progress=progress
        )

    def finish_erasures(self) -> tuple[ErasureReceipt, ...]:
        """Finish erasures that were interrupted, as opening does in the background; return their receipts."""
        return self._purge.finish()

    def receipts(self) -> tuple[ErasureReceipt, ...]:
        """Return the receipts of erased documents that the library keeps, the newest first."""
        return self._purge.receipts()

    def receipt_text(self, receipt: ErasureReceipt) -> str:
        """Return a signed receipt as the text of a file."""
        return self._purge.text_of(receipt)

    def verify_receipt(self, data: bytes) -> ErasureReceipt:
        """Check the receipt in a file and return it.

        Raises `VaultFormatError` where the file is no receipt, `WrongKeyError` where another library wrote the receipt,
        `TamperedError` where the receipt was changed.
        """
        return self._purge.verify(data)

    def set_aside(self) -> int:
        """Set aside sealed files that `vault.db` does not name and return how many.

        They are kept for some days.
        """
        self._services.ingest.start()
        return len(self._artifacts.unreferenced(self._catalog.artifact_ids()))

    # search and answers

    def search(
        self, question: str, *, k: int | None = None, filters: Filters = Filters(), dedup_key: DedupKey | None = None
    ) -> SearchResult:
        """Search words, with one hit per page unless `dedup_key` or the settings say otherwise.

        Raises `ConfigError` for no question.
        """
        dedup_key = dedup_key or self._settings.retrieve.dedup_key
        return self._services.text.search(checked_question(question), k=k, filters=filters, dedup_key=dedup_key)

    def multimodal_search(
        self,
        question: str,
        *,
        k: int | None = None,
        filters: Filters = Filters(),
        merge: MergeStrategy | None = None,
        lists: Sequence[ListName] | None = None,
        limits: Mapping[ListName, int] | None = None,
        dedup_key: DedupKey | None = None,
        rerank: Rerank | None = None,
    ) -> MultimodalResult:
        """Search all lists and merge their hits: words, code, page images.

        With words alone, the hits are exactly those of `search`.

        `lists` restricts the search to these; `limits` sets the depth of each. `rerank` is the kind of model that
        scores the first pages again. What is None is as configured. A list that fails, or takes longer than
        `visual.list_timeout_s`, is reported in the result. Raises `ConfigError`, and what `search` raises where no list
        gave an answer.
        """
        return self._modalities.search(
            checked_question(question), k=k, filters=filters, merge=merge, lists=lists, limits=limits,
            dedup_key=dedup_key, rerank=rerank,
        )  # fmt: skip

    def see(
        self,
        picture: bytes,
        *,
        question: str = "",
        k: int = 8,
        filters: Filters = Filters(),
        merge: MergeStrategy | None = None,
        name: str = "The picture",
        read: bool = True,
        on_first: Callable[[MultimodalResult], None] | None = None,
        rerank: Rerank | None = None,
    ) -> MultimodalResult:
        """Find the pages that a picture may show, by its look, its words, and an image model.

        `on_first` gets what its look alone found, within a second; reading its words takes longer, and `read=False`
        skips it. `question` is searched for as well, `name` is what errors call the picture. Raises the kinds of
        `ReadingError` where the picture cannot be opened.
        """
        question = checked_question(question) if question.strip() else ""
        return self._modalities.see(
            picture, question=question, k=k, filters=filters, merge=merge, name=name, read=read, on_first=on_first,
            rerank=rerank,
        )  # fmt: skip

    def ask(
        self,
        question: str,
        *,
        k: int | None = None,
        filters: Filters = Filters(),
        lists: Sequence[ListName] | None = None,
    ) -> Answer:
        """Answer a question without a language model, outside of any conversation, as `Answerer.ask` does."""
        return self.answerer.ask(question, k=k, filters=filters, lists=lists)

    @cached_property
    def bundles(self) -> Bundles:
        """The writing and reading of files that carry the library to another computer."""
        from docmind.maintenance import Bundles

        return Bundles(
            self._settings.data_dir, capabilities.version(), self._database, self._catalog, self._artifacts,
            self.memories, self._embedder, self.library, self.conversations.erase_quotes,
        )  # fmt: skip

    @cached_property
    def doctor(self) -> Doctor:
        """The checks of the library, and their repairs."""
        from docmind.maintenance import Doctor, Repairs

        services = self._services
        repairs = Repairs(
            lambda: self._vault.keys, self._database, self._catalog, self._artifacts, self.queue, services.ingest,
            self.lookalike, self.visual, lambda: self.reindex(),
        )  # fmt: skip
        return Doctor(
            self._settings, lambda: self._vault.keys, self._database, self._catalog, self._artifacts, services.index,
            self.lookalike, self.visual, self.snapshots, repairs,
        )  # fmt: skip

    def examples(self, *, timeout_s: float = 0.0) -> tuple[str, ...] | None:
        """Return at most three questions that the documents answer; empty without documents.

        None while they are being made, in the background; `timeout_s` waits for them.
        """
        return self._examples.wait(timeout_s) if timeout_s else self._examples.get()

    @cached_property
    def _examples(self) -> Examples:
        from docmind.conversations import Examples

        return Examples(catalog=self._catalog, answerer=self.answerer, queue=self.queue)

    # maintenance

    def prune(
        self, max_total_bytes: int = 0, min_age_seconds: float | None = None, *, dry_run: bool = False
    ) -> PruneReport:
        """Remove stored files that nothing refers to, the oldest first, until all take at most `max_total_bytes`.

        Those younger than `min_age_seconds` stay, by default than `storage.keep_aside_days`; an age begins when a
        collection first finds the file, by the vault's own clock. With `dry_run` nothing is changed. `warm` has it
        done in the background.

        Raises `ConfigError` for a negative size or less than a day, `VaultError` where the vault is read-only or lacks
        acknowledged changes, `DamagedError` where not all references can be read.
        """
        return self._garbage.prune(max_total_bytes, min_age_seconds, dry_run=dry_run)

    def reindex(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Build what is missing, rebuild the index, and return how many documents it holds.

        The new index is built beside the old one. Where another text model made that, a snapshot is taken before.
        """
        built_by = self._services.index.built_by()
        if built_by not in ("", self._embedder.fingerprint):
            self.snapshots.create(reason="text model", text_model=built_by)
        return self._services.reindex(progress)

    def network_ledger(self) -> NetworkLedger:
        """Report what tried to reach other machines since DocMind was started, and what settings allowed."""
        return network_ledger().report()

    def status(self) -> Status:
        """Report what is installed, what is missing, and how to add it."""
        opened = self._services.index.started()
        documents, pages, nodes = self._catalog.counts()
        return Status(
            version=capabilities.version(),
            vault_id=self._vault.keys.vault_id,
            key_source=self._vault.keys.source,
            documents=documents,
            pages=pages,
            nodes=nodes,
            vault_bytes=capabilities.folder_bytes(self._settings.data_dir),
            free_bytes=free_bytes(self._settings.data_dir),
            index_engine=opened.index.name,
            index_epoch=self._services.index.epoch(),
            vault_epoch=self._catalog.epoch(),
            capabilities=(
                *capabilities.of(self._settings, self._vault.keys.source, self.models.capability()),
                Capability("index at rest", "present", opened.index.at_rest()),
                *self.visual.capabilities(),
            ),
            storage=capabilities.storage_use(
                self._settings.data_dir, self._catalog.thumbnail_ids(), models_dir_of(self._settings)
            ),
            pages_to_prepare=self.lookalike.missing(),
            documents_to_prepare=self._vault.nodes.awaiting(),
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
