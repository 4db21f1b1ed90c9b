"""The index of an open vault: opened at first use, brought up to date, and rebuilt after a failure."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, replace

from docmind.config import Settings
from docmind.embedding import TextEmbedder
from docmind.errors import DiskFullError, DocMindError, IndexEngineError, VaultError
from docmind.index.blinding import Blinder
from docmind.index.engine import NO_EPOCH, IndexEngine
from docmind.index.engines import IndexChoice, open_index
from docmind.index.sealed_copy import SealedCopy
from docmind.index.sync import IndexSync, PageImages, PageMultivectors, Report
from docmind.observability import IndexFailed, emit
from docmind.records.documents import FIGURE
from docmind.records.search import Filters
from docmind.storage import Preferences
from docmind.vault import IndexKey, Vault
from docmind.wording import _

_NONE = ("",)  # the id of no document


@dataclass(slots=True)
class OpenIndex:
    """An open index, and the writer that keeps it in step with the vault."""

    index: IndexEngine
    mirror: IndexSync
    is_current: bool = False


class SearchIndex:
    """The index of a vault. Thread-safe: concurrent callers wait for the first.

    Every method that uses the index raises `VaultError` after `close`, and `IndexEngineError` where it fails.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        vault: Vault,
        key: IndexKey,
        embedder: TextEmbedder,
    ) -> None:
        """Open nothing yet. With a new key the index is built again before it is used."""
        self._settings, self._vault, self._key, self._embedder = settings, vault, key.key, embedder
        self.blind, self.names = Blinder(key.key), settings.database
        self.choice = IndexChoice(settings.index, Preferences(vault.database))
        self.holds_multivectors = settings.qdrant.url is not None and settings.qdrant.multivectors
        self._images: PageImages | None = None
        self._late: PageMultivectors | None = None
        self._lock = threading.RLock()  # guards what is open
        self._catching_up = threading.RLock()  # held for long, and never taken while the other one is held
        self._open: OpenIndex | None = None
        self._is_closed = False
        self._has_new_key = key.is_new

    def take_pages_from(self, images: PageImages, late: PageMultivectors) -> None:
        """Set where vectors of page images come from. Call it before the index is used."""
        self._images, self._late = images, late

    def started(self) -> OpenIndex:
        """Return the open index, which may lag behind the vault."""
        with self._lock:
            if self._is_closed:  # what is opened now would never be closed
                raise VaultError(_("The library is closed."))
            if self._open is None:
                settings = self._settings
                if self._has_new_key and not self._vault.is_read_only:
                    with suppress(OSError):  # it stays, and is encrypted with the old key
                        SealedCopy(settings.data_dir / "index", self._key).drop()
                index = open_index(
                    settings, settings.data_dir / "index", self._embedder.dim, key=self._key,
                    at_rest=self.choice.at_rest(), is_writable=not self._vault.is_read_only,
                )  # fmt: skip
                late = self._late if index.holds_originals and settings.qdrant.multivectors else None
                self._open = OpenIndex(
                    index,
                    IndexSync(
                        self._vault.catalog,
                        self._vault.nodes,
                        index,
                        self._embedder,
                        self.blind,
                        self.names,
                        self._images,
                        late,
                    ),
                )
            return self._open

    def ready(self) -> OpenIndex:
        """Return the index, up to date with the vault. The engine starts while the model loads."""
        with self._catching_up:
            opened = self.started()
            if not opened.is_current:
                # A text model that cannot be loaded is reported where it is used: search by words works without it.
                with suppress(DocMindError, OSError, RuntimeError):
                    self._embedder.warm()
                if self._has_new_key:
                    self.rebuild()
                else:
                    opened.mirror.catch_up()
                opened.is_current = True
            return opened

    def heal(self) -> OpenIndex:
        """Return the index after it failed: updated once more, or rebuilt."""
        emit(IndexFailed("server" if self._settings.qdrant.url else "edge"))
        with self._catching_up:
            self.started().is_current = False
            return self.ready()

    def mirror(self) -> IndexSync:
        """Return the mirror, with the index up to date."""
        return self.ready().mirror

    def rebuild(self, report: Report | None = None) -> int:
        """Rebuild the index beside the old one; return how many documents it holds."""
        documents = self.started().mirror.rebuild(report)
        if self._has_new_key:
            self._has_new_key = False
            self._vault.note_index_key()
        return documents

    def epoch(self) -> int:
        """Return the vault epoch that the index holds; -1 where it holds none or cannot be opened."""
        try:
            return self.started().index.epoch()
        except (DiskFullError, IndexEngineError):
            return NO_EPOCH

    def built_by(self) -> str:
        """Return the fingerprint of the text model that made the index; "" where there is none."""
        try:
            index = self.started().index
            return index.fingerprint() if index.epoch() > 0 else ""
        except (DiskFullError, IndexEngineError):
            return ""

    def size_bytes(self) -> int | None:
        """Return the space that the files of the index take now, as `IndexEngine.size_bytes`; None before its start."""
        opened = self._open
        return opened.index.size_bytes() if opened is not None else None

    def narrowed(self, filters: Filters) -> Filters:
        """Return the filters in the form that the index knows: tags, kinds, collections and the like as documents.

        So tags and collections can change without a change of the index, and their names never reach it. The index
        holds documents of the bin for questions as of a snapshot; all other questions name those that they ask.
        """
        if filters.figure_sizes:
            sized = {doc_id for doc_id, _page_no in self._vault.catalog.figures.pages_with(filters.figure_sizes)}
            allowed = tuple(one for one in self._vault.catalog.allowed(filters) if one in sized) or _NONE
            return replace(filters.as_documents(allowed), modalities=(FIGURE,), figure_sizes=())
        if not filters.is_of_documents and not self._vault.catalog.is_bin_indexed():
            return self._vault.catalog.enclosed.widened(filters)
        allowed = tuple(self._vault.catalog.allowed(filters)) or _NONE
        return filters.as_documents(allowed)

    def close(self) -> None:
        """Make the index durable and close it. Idempotent."""
        with self._catching_up, self._lock:
            if self._open is not None:
                # What the index could not store, on a full disk for example, is sent again at the next start.
                with suppress(DiskFullError, IndexEngineError):
                    self._open.mirror.commit()
                self._open.index.close()
            self._open = None
            self._is_closed = True
