"""The index is made again from the vault, with whatever is missing in the vault itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docmind.maintenance.snapshots import Snapshots
from docmind.vault import Vault

if TYPE_CHECKING:
    from docmind.embedding import TextEmbedder
    from docmind.image_match import ImageMatcher
    from docmind.index import Report, SearchIndex
    from docmind.ingest import Ingest
    from docmind.search import TextSearch


class Reindexing:
    """Makes vectors, marks and the index again. Thread-safe."""

    def __init__(
        self,
        *,
        vault: Vault,
        embedder: TextEmbedder,
        index: SearchIndex,
        lookalike: ImageMatcher,
        ingest: Ingest,
        text: TextSearch,
        snapshots: Snapshots,
    ) -> None:
        self._vault, self._embedder, self._index, self._lookalike = vault, embedder, index, lookalike
        self._ingest, self._text, self._snapshots = ingest, text, snapshots

    def run(self, progress: Report | None = None) -> int:
        """Make what is missing, rebuild the index beside the old one, and return how many documents it holds.

        The index is built even where vectors cannot be made. Where another text model made the index, a snapshot is
        taken before. `progress` gets the documents that are done and all. Raises `VaultError`, `IndexEngineError`,
        `DiskFullError`.
        """
        built_by = self._index.built_by()
        if built_by not in ("", self._embedder.fingerprint):
            self._snapshots.create(reason="text model", text_model=built_by)
        self._vault.database.check_writable()
        self._index.started()
        try:
            if self._text.rerank is not None:
                self._text.rerank.fill(progress)
        finally:
            documents = self._index.rebuild(progress)
        self._ingest.later.catch_up()
        self._ingest.later.passages.catch_up()
        self._lookalike.renew()
        return documents
