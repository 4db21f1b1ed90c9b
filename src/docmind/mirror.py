"""The index as a mirror of the vault: the vault is the truth, the index follows it by epochs."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from docmind.catalog import Catalog, PageRecord
from docmind.config import DatabaseSettings
from docmind.embed.bm25 import page_terms
from docmind.embed.contract import TextEmbedder
from docmind.errors import IndexMismatchError, NotFoundError
from docmind.index.blind import Blind
from docmind.index.engine import JSON, IndexEngine, Point, Sparse
from docmind.nodestore import NodeRecord, NodeStore
from docmind.pagepoints import Models, PageImages, PageMultivectors, PagePoints
from docmind.schema import DocumentInfo, Modality
from docmind.windows import embedded_text, label_of, without_leaders

_LAZY_S = 5.0
Report = Callable[[int, int], None]


class Mirror:
    """Keeps the index in step with the vault. One writer at a time: its lock says so."""

    def __init__(
        self,
        catalog: Catalog,
        nodes: NodeStore,
        index: IndexEngine,
        embedder: TextEmbedder,
        blind: Blind,
        names: DatabaseSettings,
        images: PageImages | None = None,
        late: PageMultivectors | None = None,
    ) -> None:
        """`late` is only for an index that holds originals."""
        self._catalog, self._nodes, self._index, self._embedder = catalog, nodes, index, embedder
        self._blind, self._names, self._pages = blind, names, PagePoints(blind, images, late)
        self._lock = threading.Lock()
        self._committed, self._committed_at = -1, 0.0
        self._written: dict[str, int] = {}  # documents since the last commit, with the epoch that the index has

    def catch_up(self, report: Report | None = None) -> int:
        """Bring the index to the vault's epoch; returns how many documents were written.

        An index that is new or lost is rebuilt. Raises `IndexMismatchError` where another model built it.
        """
        with self._lock:
            wanted, there = self._catalog.epoch(), self._index.epoch()
            if there < 0 or there > wanted:
                return self._rebuild(report)
            built_by = self._index.fingerprint()
            if built_by != self._embedder.fingerprint:
                if not self._ready():
                    return self._rebuild(report)
                raise IndexMismatchError(
                    f"The index was built by {built_by}, but the text model in use is {self._embedder.fingerprint}.",
                    hint="Run `docmind reindex` to embed the documents with the new model, or set the old one again.",
                )
            self._committed = there
            return self._follow(report)

    def rebuild(self, report: Report | None = None) -> int:
        """Build a new generation beside the old one and switch to it; returns how many documents it holds."""
        with self._lock:
            return self._rebuild(report)

    def put(self, doc_id: str) -> None:
        """Write one document that has become ready. `commit` makes it durable; a restart catches up without it."""
        with self._lock:
            self._replace(doc_id)

    def put_images(self, doc_id: str, before: int, epoch: int, page_nos: Collection[int]) -> None:
        """Write those pages of a document whose images have got vectors, a change of this `epoch`.

        `before` is the epoch of the change before it: where the index has not heard of that, the document is written
        whole.
        """
        with self._lock:
            if self._committed < 0:  # not caught up yet: it will be written then
                return
            if before > max(self._committed, self._written.get(doc_id, 0)):
                self._replace(doc_id)
                return
            with contextlib.suppress(NotFoundError):
                info = self._catalog.document(doc_id)
                pages = self._catalog.pages((doc_id, page_no) for page_no in page_nos)
                if info.status == "ready":
                    self._write_pages(info, list(pages.values()), self._models())
            self._written[doc_id] = epoch

    def image_model(self) -> str:
        """The fingerprint of the model whose vectors of pages the index holds now; "" where it holds none."""
        return self._models()[0]

    def late_model(self) -> str:
        """The fingerprint of the model whose multivectors the index holds now; "" where it holds none."""
        return self._models()[1]

    def _models(self) -> Models:
        return self._pages.models(self._committed)

    def delete(self, doc_id: str) -> None:
        """Take out one document that the vault does not hold any more."""
        with self._lock:
            self._replace(doc_id)

    def commit(self, *, lazily: bool = False) -> None:
        """Make the index durable at the vault's epoch; `lazily` skips it within 5 s of the last time.

        Any thread may change the vault meanwhile, and a `put` may have failed or never come: what the vault has and the
        index has not is written first. What is not flushed is written again at the next start, not lost.
        """
        with self._lock:
            is_due = not lazily or time.monotonic() - self._committed_at > _LAZY_S
            if is_due and self._committed >= 0:
                self._follow(None)

    def _follow(self, report: Report | None) -> int:
        """Write what has changed since the last commit and is not in the index yet, then commit."""
        # Read first: a switch that comes now is of a later epoch.
        changed = self._catalog.changes_since(self._committed)
        if self._pages.switched_at() > self._committed:
            return self._rebuild(report)
        # A switch of models names no document: an index that holds none of their vectors has nothing to do.
        missing = [doc_id for doc_id, at in changed.items() if doc_id and self._written.get(doc_id, 0) < at]
        for done, doc_id in enumerate(missing, 1):
            self._replace(doc_id)
            if report:
                report(done, len(missing))
        if changed:
            self._commit(max(changed.values()))
        return len(missing)

    def _commit(self, epoch: int) -> None:
        self._index.commit(epoch)
        self._note(epoch)

    def _note(self, epoch: int) -> None:
        self._committed, self._committed_at = epoch, time.monotonic()
        self._written = {doc_id: at for doc_id, at in self._written.items() if at > epoch}

    def _ready(self) -> list[DocumentInfo]:
        return [info for info in self._catalog.documents() if info.status == "ready"]

    def _rebuild(self, report: Report | None) -> int:
        epoch = self._catalog.epoch()
        models, ready = self._pages.models(epoch), self._ready()
        self._index.rebuild(self._embedder.fingerprint)
        for done, info in enumerate(ready, 1):
            self._write(info, models)
            if report:
                report(done, len(ready))
        self._index.commit(epoch)
        self._index.optimize_if_large()
        self._index.activate()
        self._note(epoch)
        return len(ready)

    def _replace(self, doc_id: str) -> None:
        self._written.pop(doc_id, None)
        epoch = self._catalog.changed_at(doc_id)  # read first: a change that comes meanwhile is written again
        for collection in (self._names.qdrant_text_collection, self._names.qdrant_image_collection):
            self._index.delete(collection, doc_id)
        with contextlib.suppress(NotFoundError):
            info = self._catalog.document(doc_id)
            if info.status == "ready":
                self._write(info, self._models())
        self._written[doc_id] = epoch

    def _write(self, info: DocumentInfo, models: Models) -> None:
        pages = {page.page_no: page for page in self._catalog.pages_of(info.doc_id)}
        nodes = self._nodes.nodes_of(info.doc_id)
        label = label_of(info, self._embedder)
        vectors = self._vectors(label, nodes, pages)
        points = list(self._node_points(info, label, nodes, pages, vectors))
        self._index.upsert(self._names.qdrant_text_collection, points)
        self._write_pages(info, list(pages.values()), models)

    def _write_pages(self, info: DocumentInfo, pages: Sequence[PageRecord], models: Models) -> None:
        for points in self._pages.batches(pages, models, lambda page: self._page_payload(info, page)):
            self._index.upsert(self._names.qdrant_image_collection, points)

    def _vectors(
        self, label: str, nodes: Sequence[NodeRecord], pages: dict[int, PageRecord]
    ) -> dict[bytes, np.ndarray]:
        """Stored vectors; what another model embedded is embedded again."""
        fingerprint = self._embedder.fingerprint
        vectors = self._nodes.vectors(fingerprint, (node.content_hash for node in nodes))
        missing = {node.content_hash: node for node in nodes if node.content_hash not in vectors}
        if missing:
            texts = [embedded_text(label, pages[node.page_no].text[node.start : node.end]) for node in missing.values()]
            made = dict(zip(missing, self._embedder.embed_documents(texts), strict=True))
            self._nodes.put_vectors(fingerprint, made)
            vectors |= made
        return vectors

    def _node_points(
        self,
        info: DocumentInfo,
        label: str,
        nodes: Sequence[NodeRecord],
        pages: dict[int, PageRecord],
        vectors: dict[bytes, np.ndarray],
    ) -> Iterator[Point]:
        """One point a node. The page's BM25 vector goes to its first node: whole pages are what BM25 ranks best."""
        if not nodes:
            return
        dense = self._blind.dense(np.stack([vectors[node.content_hash] for node in nodes]))
        for node, vector in zip(nodes, dense, strict=True):
            page = pages[node.page_no]
            made: dict[str, np.ndarray | Sparse] = {"text-dense": vector}
            if node.ordinal == 0:
                terms = page_terms(without_leaders(page.text), label)
                made["text-sparse"] = Sparse(self._blind.sparse(terms.indices), terms.values)
            payload = self._payload(info, page, node.modality, node.language)
            yield Point(node.node_id, made, {**payload, "node_id": node.node_id})

    def _page_payload(self, info: DocumentInfo, page: PageRecord) -> dict[str, JSON]:
        return {
            **self._payload(info, page, "pdf_page_image", page.language),
            "image_artifact_id": page.image.sha256,
            "image_artifact_suffix": page.image.suffix,
            "thumbnail_artifact_id": page.thumbnail.sha256,
            "thumbnail_artifact_suffix": page.thumbnail.suffix,
        }

    def _payload(self, info: DocumentInfo, page: PageRecord, modality: Modality, language: str) -> dict[str, JSON]:
        """What every point can be filtered by; an unknown language and missing tags are left out."""
        payload: dict[str, JSON] = {
            "doc_id": info.doc_id,
            "page_no": page.page_no,
            "page_id": page.page_id,
            "modality": modality,
        }
        if language:
            payload["language"] = language
        if info.tags:
            payload["tags"] = [self._blind.tag(tag) for tag in info.tags]
        return payload
