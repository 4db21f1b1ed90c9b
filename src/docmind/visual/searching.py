"""From a question or a picture to ranked pages, by what models made of them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from docmind.catalog import Catalog, PageRecord
from docmind.errors import (
    ConfigError,
    IndexEngineError,
    IndexMismatchError,
    NotFoundError,
    TooLargeError,
    VisualModelError,
)
from docmind.index.engine import Query
from docmind.pagepoints import widened
from docmind.querycache import QueryCache
from docmind.schema import Degraded, Filters
from docmind.seeing import HeatMap, ListName, ModelKind, PageHit, PageHits
from docmind.visual.choice import Choice, check_fits
from docmind.visual.embedding import Embedding
from docmind.visual.finder import Finder
from docmind.visual.maps import heat_map
from docmind.visual.opened import Opened
from docmind.visual.pages import MODALITY, PageList
from docmind.visual.serverlate import Ranked, ServerLate
from docmind.visual.stores import LateStore
from docmind.weights import Description

if TYPE_CHECKING:
    from docmind.embed.visual import QueryPatches

MOST = 1_000
"""Hits of one search."""

_PICTURES = 4  # whose vectors are kept

_KINDS: dict[ModelKind, str] = {"image": "image model", "late": "late interaction model"}


class Searching:
    """Safe from any thread."""

    def __init__(
        self,
        finder: Finder,
        choice: Choice,
        opened: Opened,
        pages: PageList,
        catalog: Catalog,
        cache: QueryCache,
        is_moving: Callable[[Description], bool],
    ) -> None:
        """`is_moving` says whether pages are being embedded with a model, or have begun to be."""
        self._finder, self._choice, self._opened, self._pages = finder, choice, opened, pages
        self._catalog, self._cache, self._is_moving = catalog, cache, is_moving
        self._server, self._seen = ServerLate(finder, catalog), QueryCache(_PICTURES)

    def model(self, embedding: Embedding, degraded: list[Degraded], stage: ListName) -> Description:
        """The model that searches of this kind are answered by now.

        Raises `ConfigError` where the kind is off, `VisualModelError` where its files are gone, `IndexMismatchError`
        where the pages have vectors of another model only.
        """
        kind = embedding.kind
        chosen = self._choice.model(kind)
        if chosen is None:
            raise ConfigError(
                f"No {_KINDS[kind]} is in use.", hint="`docmind models list` shows which there are and how to get one."
            )
        if chosen.state != "present":
            raise VisualModelError(f"{chosen.name} cannot be used: {chosen.reason}", hint=chosen.hint)
        check_fits(chosen)
        served, counts = embedding.serving.now(), embedding.store.counts()
        if served.fingerprint in ("", chosen.fingerprint) or not counts.get(served.fingerprint):
            return chosen
        old = self._made_by(served.name, served.fingerprint, kind)
        if old is not None and self._is_moving(chosen):
            done = counts.get(chosen.fingerprint, 0)
            degraded.append(
                Degraded(
                    stage, f"{done} page images have been embedded with {chosen.name}; until all are, {old.name} finds"
                )
            )
            return old
        raise IndexMismatchError(
            f"The pages were embedded by {served.fingerprint}, but the {_KINDS[kind]} in use is {chosen.fingerprint}.",
            hint=f"Run `docmind embed --model {chosen.name}` to embed them beside the old vectors and switch when all"
            " are done" + (f", or choose {served.name} again." if served.name != chosen.name else "."),
        )

    def images(
        self, embedding: Embedding, question: str | None, picture: bytes | None, k: int, filters: Filters
    ) -> PageHits:
        """Pages by an image model: what fits the words, or looks like the picture. Raises as `model` does."""
        clock, degraded = _Clock(), list[Degraded]()
        model = self.model(embedding, degraded, "image")
        total = self._pages.images()
        if not embedding.store.counts().get(model.fingerprint):  # nothing to find: no model is loaded for that
            if total:
                degraded.append(Degraded("image", f"{total} of {total} page images have not been embedded yet"))
            return PageHits((), tuple(degraded), clock.timings())
        found = self._finder.ready()
        clock.lap("ready")
        indexed = found.mirror.image_model()
        if indexed and indexed != model.fingerprint:  # the index has not come to the new vectors yet
            before = self._made_by(embedding.serving.now().before_name, indexed, "image")
            if before is None:
                raise VisualModelError("The index is being changed to another image model.", hint="Try again soon.")
            model = before
        vector = self.vector(model, question, picture)
        clock.lap("embed")
        hits: tuple[PageHit, ...] = ()
        if indexed and (not filters.modalities or MODALITY in filters.modalities):
            blind, names = self._finder.blind, self._finder.names
            narrowed, turned = self._finder.narrowed(filters), blind.dense(widened(vector))
            query = Query(names.qdrant_image_collection, "siglip", turned, k, narrowed)
            try:
                (scored,) = found.index.search([query])
            except IndexMismatchError:
                raise
            except IndexEngineError:
                (scored,) = self._finder.heal().index.search([query])
            clock.lap("search")
            ranked = [((str(one.payload["doc_id"]), int(str(one.payload["page_no"]))), one.score) for one in scored]
            hits = self._hits(ranked, "image", self._pages.names(filters), filters, k)
            clock.lap("hits")
        seen = embedding.store.counts().get(model.fingerprint, 0)
        if seen < total:
            degraded.append(Degraded("image", f"{total - seen} of {total} page images have not been embedded yet"))
        return PageHits(hits, tuple(degraded), clock.timings())

    def late(self, embedding: Embedding, store: LateStore, question: str, k: int, filters: Filters) -> PageHits:
        """Pages by late interaction: the sum of each token's best patch. Raises as `model` does."""
        clock, degraded = _Clock(), list[Degraded]()
        model = self.model(embedding, degraded, "visual")
        names = self._pages.names(filters)
        allowed = self._pages.allowed(filters, names)
        hits: tuple[PageHit, ...] = ()
        count = store.counts().get(model.fingerprint, 0)
        if (allowed is None or allowed) and count:  # else no model is loaded
            query = self.query(model, question).vectors
            clock.lap("embed")
            wanted = count if allowed is None else min(count, len(allowed))
            ranked: Ranked | None = None
            if self._server.is_for(wanted):
                ranked = self._server.search(model, store, query, k, filters, wanted, degraded)
            if ranked is None:
                found = store.pages().search(model.fingerprint, query, k, allowed)
                ranked = [(place, score) for image, score in found for place in self._pages.places_of(image)]
            clock.lap("search")
            hits = self._hits(ranked, "visual", names, filters, k)
            clock.lap("hits")
        return PageHits(hits, tuple(degraded), clock.timings())

    def heat_map(self, embedding: Embedding, store: LateStore, page: PageRecord, question: str) -> HeatMap:
        """How much each patch of a page answers each token. Raises `NotFoundError` where it has no multivectors."""
        model = self.model(embedding, [], "visual")
        if not store.has(model.fingerprint, page.image.sha256):
            raise NotFoundError(
                f"{model.name} has not seen this page.", hint=f"Run `docmind embed --model {model.name}`."
            )
        query = self.query(model, question)
        likeness = store.pages().similarity(model.fingerprint, query.vectors, page.image.sha256)
        return heat_map(model.name, page, query.tokens, likeness)

    def query(self, model: Description, question: str) -> QueryPatches:
        """The question's token vectors, kept for the next time. Raises what models raise."""
        return self._cache.get(model.fingerprint, question, lambda: self._opened.late(model).embed_query(question))

    def vector(self, model: Description, question: str | None, picture: bytes | None) -> np.ndarray:
        """The vector `(dim,)` of a question or a picture, kept for the next time. Raises what models raise."""
        opened = self._opened.image(model)
        if picture is not None:  # the list and the second look want it one after the other
            key = hashlib.sha256(picture).hexdigest()
            return self._seen.get(model.fingerprint, key, lambda: opened.embed_images([picture])[0])
        assert question is not None
        return self._cache.get(model.fingerprint, question, lambda: opened.embed_text(question))

    def _made_by(self, name: str, fingerprint: str, kind: ModelKind) -> Description | None:
        """The model of this name, where it still is the one that made the vectors."""
        try:
            description = self._choice.describe(name, kind)
        except ConfigError:
            return None
        return description if description.fingerprint == fingerprint else None

    def _hits(
        self,
        ranked: Sequence[tuple[tuple[str, int], float]],
        source: ListName,
        names: dict[str, str],
        filters: Filters,
        k: int,
    ) -> tuple[PageHit, ...]:
        """Records of the first `k` pages that are still there and pass the filters."""
        hits: list[PageHit] = []
        pages = self._catalog.pages(place for place, _ in ranked if place[0] in names)
        for place, score in ranked:
            page = pages.get(place)
            if page is None or (filters.languages and page.language not in filters.languages):
                continue
            hits.append(
                PageHit(
                    rank=len(hits) + 1,
                    score=float(score),
                    source=source,
                    document=names[page.doc_id],
                    doc_id=page.doc_id,
                    page_no=page.page_no,
                    page_id=page.page_id,
                    page_width=page.width,
                    page_height=page.height,
                )
            )
        return tuple(hits[:k])


def checked_question(text: str) -> str:
    """The words of a question, as they are embedded. Raises `ConfigError` where there are none."""
    question = " ".join(text.encode("utf-8", "replace").decode().split())  # bytes of a shell may be no text
    if not question:
        raise ConfigError("The question is empty.", hint="Type a question in words.")
    return question


def words_or_picture(question: str | None, picture: bytes | None, limit_mb: int) -> str | None:
    """The words, where it is not the picture that is looked for. Raises `ConfigError`, `TooLargeError`."""
    if (picture is None) == (question is None):
        raise ConfigError("An image search takes words or a picture.", hint="Give one of them.")
    if picture is not None and len(picture) > limit_mb << 20:
        raise TooLargeError(
            f"The picture has {len(picture) / 2**20:,.0f} MB; the limit is {limit_mb:,} MB.",
            hint="Save it smaller, or raise DOCMIND_READING__MAX_FILE_MB.",
        )
    return None if question is None else checked_question(question)


def checked_count(k: int) -> int:
    """How many hits are wanted. Raises `ConfigError`."""
    if not 1 <= k <= MOST:
        raise ConfigError(f"A search gives 1 to {MOST:,} pages, not {k}.", hint="Ask for another number of them.")
    return k


class _Clock:
    """Durations of stages, in milliseconds."""

    def __init__(self) -> None:
        self._started = self._at = time.perf_counter()
        self._laps: list[tuple[str, float]] = []

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self._laps.append((stage, (now - self._at) * 1000))
        self._at = now

    def timings(self) -> tuple[tuple[str, float], ...]:
        return (*self._laps, ("total", (time.perf_counter() - self._started) * 1000))
