"""Synchronisation of the index with the vault, which is authoritative; the index follows it by epochs.

The points of pages are made here too: vectors of their images by the models in use, and the payload for filters. It is
above 500 lines because the points of texts, figures and pages share what is loaded of a document.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from docmind.config import DatabaseSettings
from docmind.documents import Catalog, NodeRecord, NodeStore, PageRecord, figures_told
from docmind.embedding import TextEmbedder, embedded_node, label_of, name_of, page_terms, without_leaders
from docmind.errors import DamagedError, DiskFullError, IndexMismatchError, NotFoundError
from docmind.index.blinding import Blinder
from docmind.index.engine import BATCH, JSON, IndexEngine, Point, Sparse, Vector
from docmind.index.schema import SIGLIP_DIM
from docmind.records.documents import DocumentInfo, Figure, Modality
from docmind.records.values import MOST_TAGS
from docmind.runtime import log_mistake
from docmind.wording import _

_PAGES = uuid.UUID("6c1f1f7e-6f0e-5d0b-9d2b-0d5c3a5d9a10")
_LARGE = 16  # pages with multivectors are half a megabyte each, so few are in memory at once


class PageModel(Protocol):
    """The history of the model of one kind whose vectors are in the index, by epoch."""

    def at(self, epoch: int) -> str:
        """Return the fingerprint of the model whose vectors an index of this epoch holds; "" where it holds none."""
        ...

    def switched_at(self) -> int:
        """Return the epoch of the last switch to another model; 0 where there was only one."""
        ...


class PageImages(PageModel, Protocol):
    """Vectors of page images by one model: one vector each."""

    def vectors(self, fingerprint: str, images: Sequence[str]) -> Mapping[str, np.ndarray]:
        """Return `(dim,)` float32 of those images that have one, by the image's id; dim is at most 768."""
        ...


class PageMultivectors(PageModel, Protocol):
    """Vectors of page images by one model: many vectors each."""

    def multivectors(self, fingerprint: str, images: Sequence[str]) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return, by image id, `(tokens, 128)` float32 by named vector, blinded, of the images that have them."""
        ...


Models = tuple[str, str]
"""Fingerprints: of the model with one vector per page, and of the model with many."""


class PagePoints:
    """Builder of page points. Without `images` and `late` pages have no vectors."""

    def __init__(self, blind: Blinder, images: PageImages | None = None, late: PageMultivectors | None = None) -> None:
        self._blind, self._images, self._late = blind, images, late

    def models(self, epoch: int) -> Models:
        """Return the models whose vectors an index of this epoch holds; "" for a kind of which it holds none."""
        return (
            self._images.at(epoch) if self._images is not None else "",
            self._late.at(epoch) if self._late is not None else "",
        )

    def switched_at(self) -> int:
        """Return the epoch of the last switch to another model, of either kind."""
        return max((kind.switched_at() for kind in (self._images, self._late) if kind is not None), default=0)

    def batches(
        self, pages: Sequence[PageRecord], models: Models, payload: Callable[[PageRecord], Mapping[str, JSON]]
    ) -> Iterator[list[Point]]:
        """Yield batches of one point per page, with the vectors by these models."""
        together = _LARGE if models[1] else BATCH
        for start in range(0, len(pages), together):
            some = pages[start : start + together]
            found = self._vectors([page.image.sha256 for page in some], models)
            yield [Point(point_id_of(page), found.get(page.image.sha256, {}), payload(page)) for page in some]

    def _vectors(self, images: Sequence[str], models: Models) -> dict[str, dict[str, Vector]]:
        """Return named vectors by image."""
        made: dict[str, dict[str, Vector]] = {}
        one = self._images.vectors(models[0], images) if self._images is not None and models[0] else {}
        if one:
            blinded = self._blind.dense(np.stack([widened(vector) for vector in one.values()]))
            made = {image: {"siglip": vector} for image, vector in zip(one, blinded, strict=True)}
        if self._late is not None and models[1]:
            for image, named in self._late.multivectors(models[1], images).items():
                made.setdefault(image, {}).update(named)
        return made


def point_id_of(page: PageRecord) -> str:
    """Return the id of a page's point: it depends on the page's id alone."""
    return str(uuid.uuid5(_PAGES, page.page_id))


def widened(vector: np.ndarray) -> np.ndarray:
    """Pad `(dim,)` to the index's length: appended zeros change no dot product and no length."""
    return np.pad(vector, (0, SIGLIP_DIM - len(vector)))


def _called(loaded: _Loaded) -> str:
    """Return the words that name a document: its label, and the name and title that it was given since."""
    info = loaded.info
    return f"{loaded.label}. {name_of(info.document, '')}. {info.title}" if info.read_as else loaded.label


def _worded(loaded: _Loaded, page: PageRecord) -> str:
    """Return the text of a page, with the words of its figures that stand nowhere on it."""
    told = [
        node.context
        for node in loaded.nodes
        if node.page_no == page.page_no and node.modality == "image_caption" and node.context
    ]
    return "\n".join([page.text, *told])


_LAZY_S = 5.0
Report = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The data of a document for the index: `pages` and `figures` by number, `vectors` by content hash."""

    info: DocumentInfo
    label: str
    pages: dict[int, PageRecord]
    nodes: Sequence[NodeRecord]
    vectors: dict[bytes, np.ndarray]
    figures: dict[int, list[Figure]]


class IndexSync:
    """The writer that keeps the index in step with the vault. Thread-safe: a lock allows one writer at a time."""

    def __init__(
        self,
        catalog: Catalog,
        nodes: NodeStore,
        index: IndexEngine,
        embedder: TextEmbedder,
        blind: Blinder,
        names: DatabaseSettings,
        images: PageImages | None = None,
        late: PageMultivectors | None = None,
    ) -> None:
        """Set up the mirror; `late` is only for an index that holds originals."""
        self._catalog, self._nodes, self._index, self._embedder = catalog, nodes, index, embedder
        self._blind, self._names, self._pages = blind, names, PagePoints(blind, images, late)
        self._lock = threading.Lock()
        self._committed, self._committed_at = -1, 0.0
        self._written: dict[str, int] = {}  # documents written since the last commit, with their epoch in the index

    def catch_up(self, report: Report | None = None) -> int:
        """Bring the index to the vault's epoch; return how many documents were written.

        An index that is new or lost is rebuilt. Raises `IndexMismatchError` where another model built it.
        """
        with self._lock:
            wanted, there = self._catalog.epoch(), self._index.epoch()
            if there < 0 or there > wanted:
                return self._rebuild(report)
            built_by = self._index.fingerprint()
            if built_by != self._embedder.fingerprint:
                if not self._catalog.indexed():
                    return self._rebuild(report)
                raise IndexMismatchError(
                    _("The index was built by {built_by}, but the text model in use is {fingerprint}.").format(
                        built_by=built_by, fingerprint=self._embedder.fingerprint
                    ),
                    hint=_(
                        "Run `docmind reindex` to embed the documents with the new model, or set the old one again."
                    ),
                )
            self._committed = there
            return self._follow(report)

    def rebuild(self, report: Report | None = None) -> int:
        """Build a new generation beside the old one and switch to it; return how many documents it holds."""
        with self._lock:
            return self._rebuild(report)

    def put(self, doc_id: str) -> None:
        """Write one document that has become ready. `commit` makes it durable; without it a restart writes it again."""
        with self._lock:
            self._replace(doc_id)

    def put_images(self, doc_id: str, before: int, epoch: int, page_nos: Collection[int]) -> None:
        """Write those pages of a document whose images got vectors in the change of this `epoch`.

        `before` is the epoch of the change before it: where the index does not have that one, the whole document is
        written.
        """
        with self._lock:
            if self._committed < 0:  # not caught up yet: `catch_up` will write it
                return
            if before > max(self._committed, self._written.get(doc_id, 0)):
                self._replace(doc_id)
                return
            with contextlib.suppress(NotFoundError):
                info = self._catalog.readable(doc_id)
                pages = self._catalog.pages((doc_id, page_no) for page_no in page_nos)
                if info.status == "ready":
                    try:
                        self._write_pages([(info, page) for page in pages.values()], self._models())
                    except ValueError as error:
                        self._leave_out(doc_id, error)
            self._written[doc_id] = epoch

    def image_model(self) -> str:
        """Return the fingerprint of the model whose page vectors the index holds now; "" where it holds none."""
        return self._models()[0]

    def late_model(self) -> str:
        """Return the fingerprint of the model whose multivectors the index holds now; "" where it holds none."""
        return self._models()[1]

    def _models(self) -> Models:
        return self._pages.models(self._committed)

    def drop(self, doc_id: str) -> None:
        """Remove one document that the vault does not hold any more."""
        with self._lock:
            self._replace(doc_id)

    def commit(self, *, lazily: bool = False) -> None:
        """Make the index durable at the vault's epoch; `lazily` skips it within 5 s of the last time.

        Any thread may change the vault meanwhile, and a `put` may have failed or not been called: changes that the
        index lacks are written first. What is not flushed is written again at the next start, not lost.

        An index with more dead points than live ones is rebuilt: that takes less time than writing them did.
        """
        with self._lock:
            is_due = not lazily or time.monotonic() - self._committed_at > _LAZY_S
            if is_due and self._committed >= 0:
                self._follow(None)
                if self._index.is_wasteful():
                    with contextlib.suppress(DiskFullError):  # it needs the space of both for a moment
                        self._rebuild(None)

    def _follow(self, report: Report | None) -> int:
        """Write the changes since the last commit that are not in the index yet, then commit."""
        # Read first: a switch that happens now has a later epoch.
        changed = self._catalog.changes_since(self._committed)
        if self._pages.switched_at() > self._committed:
            return self._rebuild(report)
        # A switch of models names no document: an index without their vectors has nothing to do.
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

    def payloads(self, info: DocumentInfo) -> tuple[dict[str, dict[str, JSON]], dict[str, dict[str, JSON]]]:
        """Return the payloads that the index must hold of a ready document: by node id, and by id of a page's point.

        Raises `DamagedError` where the nodes cannot be read.
        """
        pages = {page.page_no: page for page in self._catalog.pages_of(info.doc_id)}
        nodes = self._nodes.nodes_of(info.doc_id)
        figures = self._figures(info.doc_id, nodes)
        texts = {
            node.node_id: self._node_payload(info, pages[node.page_no], node, figures)
            for node in nodes
            if node.page_no in pages
        }
        return texts, {point_id_of(page): self._page_payload(info, page) for page in pages.values()}

    def _rebuild(self, report: Report | None) -> int:
        epoch = self._catalog.epoch()
        models, ready = self._pages.models(epoch), self._catalog.indexed()
        self._index.rebuild(self._embedder.fingerprint)
        refused: dict[str, ValueError] = {}
        text, done = self._names.qdrant_text_collection, 0
        try:
            # While the engine writes one group, the next is read and blinded here.
            with ThreadPoolExecutor(1, "index") as engine:
                writing: Future[None] | None = None
                for group in self._groups(ready, refused):
                    try:
                        points = self._text_points(group)
                    except ValueError:  # of one document: each is tried by itself
                        points = None
                    if writing is not None:
                        writing.result()
                    writing = engine.submit(
                        _sparing, group, refused, partial(self._put_texts, text, whole=group, made=points)
                    )
                    _sparing(group, refused, lambda some: self._write_pages(_pages_of(some), models))
                    for _unused in group:
                        done += 1
                        if report:
                            report(done, len(ready))
                if writing is not None:
                    writing.result()
            for doc_id, error in refused.items():
                self._leave_out(doc_id, error)
            self._index.commit(epoch)
            self._index.optimize_if_large()
            self._index.activate()
        except BaseException:  # later writes go to the generation that is searched
            self._index.abandon()
            raise
        for doc_id in self._catalog.refused().keys() - refused.keys():
            self._catalog.note_refusal(doc_id, is_refused=False)
        self._note(epoch)
        return len(ready)

    def _put_texts(
        self, collection: str, some: Sequence[_Loaded], *, whole: Sequence[_Loaded], made: list[Point] | None
    ) -> None:
        """Write the points of some documents' texts: those `made` of a `whole` group, or of one document."""
        points = made if some is whole and made is not None else self._text_points(some)
        self._index.upsert(collection, points)

    def _leave_out(self, doc_id: str, error: ValueError) -> None:
        """Take a document that the index refuses out of it, so that it costs itself alone; every search names it."""
        for collection in (self._names.qdrant_text_collection, self._names.qdrant_image_collection):
            self._index.delete(collection, doc_id)
        self._catalog.note_refusal(doc_id, is_refused=True)
        log_mistake("docmind.index", "a document was refused", error)

    def _replace(self, doc_id: str) -> None:
        self._written.pop(doc_id, None)
        epoch = self._catalog.changed_at(doc_id)  # read first: a change that happens meanwhile is written again
        for collection in (self._names.qdrant_text_collection, self._names.qdrant_image_collection):
            self._index.delete(collection, doc_id)
        with contextlib.suppress(NotFoundError):
            info = self._catalog.readable(doc_id)
            if info.status == "ready":
                self._write(info, self._models())
        self._written[doc_id] = epoch

    def _write(self, info: DocumentInfo, models: Models) -> None:
        try:
            loaded = self._load(info)
            if loaded is not None:
                self._index.upsert(self._names.qdrant_text_collection, self._text_points([loaded]))
                self._write_pages(_pages_of([loaded]), models)
        except ValueError as error:
            self._leave_out(info.doc_id, error)
        else:
            if info.doc_id in self._catalog.refused():
                self._catalog.note_refusal(info.doc_id, is_refused=False)

    def _load(self, info: DocumentInfo) -> _Loaded | None:
        """Return the data of a document for the index; None where it is damaged, which every search then reports."""
        try:
            pages = {page.page_no: page for page in self._catalog.pages_of(info.doc_id)}
            nodes = [node for node in self._nodes.nodes_of(info.doc_id) if node.page_no in pages]
        except DamagedError:
            self._catalog.note_damage(info.doc_id)
            return None
        label = label_of(info, self._embedder)
        return _Loaded(info, label, pages, nodes, self._vectors(label, nodes, pages), self._figures(info.doc_id, nodes))

    def _figures(self, doc_id: str, nodes: Sequence[NodeRecord]) -> dict[int, list[Figure]]:
        """Return the figures of a document by page; they are read only where a passage tells of one."""
        found: dict[int, list[Figure]] = {}
        if any(node.modality == "image_caption" for node in nodes):
            for figure in self._catalog.figures.of(doc_id):
                found.setdefault(figure.page_no, []).append(figure)
        return found

    def _groups(self, ready: Sequence[DocumentInfo], refused: dict[str, ValueError]) -> Iterator[list[_Loaded]]:
        """Yield groups of documents with about `BATCH` nodes together, without those that are `refused`."""
        group: list[_Loaded] = []
        for info in ready:
            try:
                loaded = self._load(info)
            except ValueError as error:
                refused[info.doc_id] = error
                continue
            if loaded is not None:
                group.append(loaded)
            if sum(len(one.nodes) for one in group) >= BATCH:
                yield group
                group = []
        if group:
            yield group

    def _write_pages(self, pages: Sequence[tuple[DocumentInfo, PageRecord]], models: Models) -> None:
        infos = {info.doc_id: info for info, _unused in pages}
        records = [page for _unused, page in pages]
        for points in self._pages.batches(records, models, lambda page: self._page_payload(infos[page.doc_id], page)):
            self._index.upsert(self._names.qdrant_image_collection, points)

    def _vectors(
        self, label: str, nodes: Sequence[NodeRecord], pages: dict[int, PageRecord]
    ) -> dict[bytes, np.ndarray]:
        """Return the stored vectors; those of another model are embedded again.

        Nodes of pages that are embedded later may have none, and nodes on sheets while documents are awaited: they are
        found by their words until `docmind.ingest.later` has made it.
        """
        fingerprint = self._embedder.fingerprint
        vectors = self._nodes.vectors(fingerprint, (node.content_hash for node in nodes))
        missing = {
            node.content_hash: node
            for node in nodes
            if node.content_hash not in vectors and not pages[node.page_no].is_embedded_later
        }
        if missing and not self._nodes.is_read_only and self._nodes.awaiting():
            missing = {key: node for key, node in missing.items() if not pages[node.page_no].is_sheet}
        if missing:
            texts = [embedded_node(label, node, pages[node.page_no].text) for node in missing.values()]
            made = dict(zip(missing, self._embedder.embed_documents(texts), strict=True))
            if not self._nodes.is_read_only:
                with contextlib.suppress(DamagedError):  # their place is damaged: made again next time
                    self._nodes.put_vectors(fingerprint, made)
            vectors |= made
        return vectors

    def _text_points(self, group: Sequence[_Loaded]) -> list[Point]:
        """Return one point per node. The page's BM25 vector is on its first node: BM25 ranks whole pages best."""
        rows = [(loaded, node, loaded.pages[node.page_no]) for loaded in group for node in loaded.nodes]
        if not rows:
            return []
        known = {
            node.node_id: loaded.vectors[node.content_hash]
            for loaded, node, _unused in rows
            if node.content_hash in loaded.vectors
        }
        dense = dict(zip(known, self._blind.dense(np.stack(list(known.values()))), strict=True)) if known else {}
        terms = {
            node.node_id: page_terms(without_leaders(_worded(loaded, page)), _called(loaded))
            for loaded, node, page in rows
            if node.ordinal == 0
        }
        # Blinded together: one pass over the tables costs less than one per page.
        blinded = self._blind.sparse(np.concatenate([np.zeros(0, np.uint32), *(one.indices for one in terms.values())]))
        ends = np.cumsum([len(one.indices) for one in terms.values()])
        sparse = {
            node_id: Sparse(indices, one.values)
            for (node_id, one), indices in zip(terms.items(), np.split(blinded, ends[:-1]), strict=False)
        }
        points = []
        for loaded, node, page in rows:
            made: dict[str, np.ndarray | Sparse] = {}
            if node.node_id in dense:
                made["text-dense"] = dense[node.node_id]
            if node.node_id in sparse:
                made["text-sparse"] = sparse[node.node_id]
            payload = self._node_payload(loaded.info, page, node, loaded.figures)
            points.append(Point(node.node_id, made, payload))
        return points

    def _node_payload(
        self, info: DocumentInfo, page: PageRecord, node: NodeRecord, figures: Mapping[int, Sequence[Figure]]
    ) -> dict[str, JSON]:
        """Return the payload of a passage; that of a figure has its place, its look and the artifact that shows it."""
        payload = {**self._payload(info, page, node.modality, node.language), "node_id": node.node_id}
        told = figures_told(figures.get(node.page_no, ()), node.start, node.end, node.context)
        for figure in told[:1] if node.modality == "image_caption" else ():
            payload["bbox"] = [round(side) for side in figure.box]
            payload["image_artifact_id"] = figure.image.sha256
            payload["image_artifact_suffix"] = figure.image.suffix
            if figure.phash:
                payload["phash"] = figure.phash
        return payload

    def _page_payload(self, info: DocumentInfo, page: PageRecord) -> dict[str, JSON]:
        return {
            **self._payload(info, page, "pdf_page_image", page.language),
            "image_artifact_id": page.image.sha256,
            "image_artifact_suffix": page.image.suffix,
            "thumbnail_artifact_id": page.thumbnail.sha256,
            "thumbnail_artifact_suffix": page.thumbnail.suffix,
        }

    def _payload(self, info: DocumentInfo, page: PageRecord, modality: Modality, language: str) -> dict[str, JSON]:
        """Return the payload that filters use; an unknown language and missing tags are left out."""
        payload: dict[str, JSON] = {
            "doc_id": info.doc_id,
            "page_no": page.page_no,
            "page_id": page.page_id,
            "modality": modality,
        }
        if language:
            payload["language"] = language
        if info.tags:
            payload["tags"] = [self._blind.tag(tag) for tag in info.tags[:MOST_TAGS]]  # an old library may have more
        return payload


def _pages_of(group: Sequence[_Loaded]) -> list[tuple[DocumentInfo, PageRecord]]:
    return [(one.info, page) for one in group for page in one.pages.values()]


def _sparing(
    group: Sequence[_Loaded], refused: dict[str, ValueError], write: Callable[[Sequence[_Loaded]], None]
) -> None:
    """Write a group of documents; where the index refuses it, write each by itself, and add the refused to `refused`.

    A batch that is refused may be written in part: points have the ids of what they are made of, so that writing them
    again changes nothing.
    """
    try:
        write(group)
    except ValueError:
        for one in group:
            try:
                write([one])
            except ValueError as error:
                refused[one.info.doc_id] = error
