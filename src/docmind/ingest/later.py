"""Vectors that are made later: of the passages behind the first pages of a long text or table, and of many short files.

A table of 100,000 rows has 13,000 passages, which take a text model minutes, and so do the mails of a mailbox. They are
found by their words as soon as they are read; the passages get their vectors in the background. What is still to be
done are passages without a vector, so it is known after a restart too. Behind them come the vectors of all passages of
pages (`later_passages`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from docmind.documents import NodeRecord
from docmind.embedding import TextEmbedder, TokenEmbedder, embedded_node, label_of
from docmind.errors import CancelledError, DamagedError, DocMindError, NotFoundError, VaultError
from docmind.index import SearchIndex
from docmind.ingest.later_passages import LaterPassages
from docmind.runtime import Background, log_mistake
from docmind.vault import Vault

if TYPE_CHECKING:
    from docmind.ingest.llama_nodes import Made

_BATCH = 16  # passages that are embedded together
_AGAIN_S = 60.0  # until a text model or an index that failed is tried again


class LaterVectors:
    """The maker of these vectors. Thread-safe."""

    def __init__(
        self,
        *,
        vault: Vault,
        embedder: TextEmbedder,
        tokens: TokenEmbedder | None,
        index: SearchIndex,
        passages_mb: int,
    ) -> None:
        """Set up; `passages_mb` is the most that the vectors of all passages of pages may take."""
        self._db, self._catalog, self._nodes = vault.database, vault.catalog, vault.nodes
        self._embedder, self._tokens, self._index = embedder, tokens, index
        self.passages = LaterPassages(vault=vault, embedder=embedder, most_mb=passages_mb)
        self._thread = Background("vectors", "Vectors are not made any more.")

    def look(self) -> list[str]:
        """Return the documents that await vectors; every search names their number from now on."""
        return self._nodes.find_awaiting(self._embedder.fingerprint)

    def catch_up(self, check: Callable[[], None] = lambda: None) -> int:
        """Make all of these vectors; return of how many documents. `check` is called often, and may raise to stop.

        What was made before stays. Raises `TextModelError`, `IndexEngineError`, `VaultError`.
        """
        awaiting = self.look()
        for group in self._groups(awaiting):
            check()
            try:
                self._make(group, check)
                made = group
            except (NotFoundError, DamagedError):  # deleted meanwhile, or told by every search
                made = [doc_id for doc_id in group if self._is_made(doc_id, check)]
            for doc_id in made:
                self._index.mirror().put(doc_id)
        if awaiting:
            self.look()
            self._index.mirror().commit()
        return len(awaiting)

    def follow(self, is_busy: Callable[[], bool]) -> None:
        """Catch up in the background, now and at each call of `wake`, while `is_busy` says no. Idempotent."""
        self._thread.start(lambda: self._follow(is_busy))

    def wake(self) -> None:
        """Tell the background thread that there are new documents."""
        self._thread.wake()

    def close(self) -> None:
        """End the background thread. Idempotent."""
        self._thread.close()
        self._thread.join()

    def _follow(self, is_busy: Callable[[], bool]) -> None:
        def check() -> None:
            self._thread.check()
            while is_busy():
                self._thread.rest(0.5)
                self._thread.check()

        while not self._thread.is_closed:
            timeout_s = None
            try:
                check()
                self.catch_up(check)
                self.passages.catch_up(check)
            except CancelledError:
                continue
            except (DocMindError, OSError, RuntimeError) as error:
                if not isinstance(error, VaultError):
                    log_mistake("docmind.vectors", "vectors were not made", error)
                timeout_s = _AGAIN_S
            self._thread.sleep(timeout_s)

    def _groups(self, doc_ids: Iterable[str]) -> Iterator[list[str]]:
        """Yield documents that together have passages enough for a run of the model; a long one ends its group."""
        group: list[str] = []
        passages = 0
        for doc_id in doc_ids:
            group.append(doc_id)
            passages += self._nodes.count(doc_id)
            if passages >= _BATCH:
                yield group
                group, passages = [], 0
        if group:
            yield group

    def _is_made(self, doc_id: str, check: Callable[[], None]) -> bool:
        """Make the vectors of a document alone; return whether they could be made."""
        try:
            self._make([doc_id], check)
        except (NotFoundError, DamagedError):
            return False
        return True

    def _make(self, doc_ids: Sequence[str], check: Callable[[], None]) -> None:
        """Make and store the missing vectors of documents, a few at a time. Raises `NotFoundError`.

        With the last ones their change is noted, so that the index is brought up to date even after a crash.
        """
        from docmind.ingest.llama_nodes import keep_vectors  # a second of LlamaIndex

        infos = {doc_id: self._catalog.document(doc_id) for doc_id in doc_ids}
        nodes = {node.content_hash: node for doc_id in infos for node in self._nodes.nodes_of(doc_id)}
        known = self._nodes.vectors(self._embedder.fingerprint, nodes)
        wanted = [node for key, node in nodes.items() if key not in known]
        labels = {doc_id: label_of(info, self._embedder) for doc_id, info in infos.items()}
        for at in range(0, len(wanted), _BATCH):
            check()
            batch = wanted[at : at + _BATCH]
            texts = [embedded_node(labels[node.doc_id], node, self._text_of(node)) for node in batch]
            made = self._made([node.content_hash for node in batch], texts)
            with self._db.transaction():
                keep_vectors(self._nodes, self._embedder, self._tokens, made)
                if batch[-1] is wanted[-1]:
                    for doc_id in infos:
                        self._catalog.touch(doc_id)
                    self._nodes.expect(-len(infos))

    def _text_of(self, node: NodeRecord) -> str:
        return self._catalog.page(node.doc_id, node.page_no).text

    def _made(self, hashes: list[bytes], texts: list[str]) -> Made:
        from docmind.ingest.llama_nodes import Made

        if self._tokens is None:
            return Made(dict(zip(hashes, self._embedder.embed_documents(texts), strict=True)), {})
        vectors, tokens = self._tokens.embed_with_tokens(texts)
        return Made(dict(zip(hashes, vectors, strict=True)), dict(zip(hashes, tokens, strict=True)))
