"""The search of pages by a question or a picture, through the vectors of visual models.

Given pages are scored for reranking; a token map shows where on a page a question matches, one grid per token.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from docmind.config import Settings
from docmind.documents import Catalog, PageImageRef, PageRecord
from docmind.embedding import VectorCache
from docmind.errors import (
    ConfigError,
    ExtraMissingError,
    IndexEngineError,
    IndexMismatchError,
    NotFoundError,
    TooLargeError,
    VaultError,
    VisualModelError,
)
from docmind.index import SearchIndex, VectorQuery, widened
from docmind.records.models import Description, ModelKind
from docmind.records.search import Degraded, Filters, HeatMap, ListName, PageHit, PageHits, PageScores
from docmind.records.values import Count, check, check_question
from docmind.runtime import Clock
from docmind.search.figure_looks import figures_alike, may_show_figures, may_show_pages, with_figures
from docmind.search.fusion import DEPTH, FEW, NEUTRAL
from docmind.search.server_late_interaction import Ranked, ServerLate
from docmind.visual import Visual, check_fits
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.embedding import QueryPatches


def heat_map(model: str, page: PageRecord, tokens: tuple[str, ...], likeness: np.ndarray) -> HeatMap:
    """Make a map of `(n, rows, cols)` float32 products of tokens and patches. Raises `VisualModelError`.

    Each token's grid is scaled from its lowest patch, 0, to its best one, 255: products of different tokens are not
    comparable. A token with equal products for all patches has a grid of 0. It raises where the shape is wrong.
    """
    if likeness.ndim != 3 or len(likeness) != len(tokens):
        raise VisualModelError(
            _("{model} gave no map of this page.").format(model=model),
            hint=_("Prepare the document again with docmind embed --force."),
        )
    count, rows, cols = likeness.shape
    flat = np.nan_to_num(likeness.reshape(count, rows * cols), nan=0.0, posinf=0.0, neginf=0.0)
    least, best = flat.min(axis=1, keepdims=True), flat.max(axis=1, keepdims=True)
    span = best - least
    scaled = np.divide(flat - least, span, out=np.zeros_like(flat), where=span > 1e-6)
    values = np.rint(scaled * 255).astype(np.uint8).tobytes()
    return HeatMap(model, page.page_id, tokens, rows, cols, values)


_PICTURES = 4  # whose vectors are cached

_LISTS: dict[ModelKind, ListName] = {"image": "image", "late": "visual"}
_KINDS: dict[ModelKind, str] = {"image": "image model", "late": "late interaction model"}


_SPARE_S = 0.5  # of the time limit, reserved for scoring after pages were embedded


class _OutOfTimeError(Exception):
    """Raised where another page would take too long."""


class PageSearch:
    """Searches of page images by the models in use. Thread-safe.

    Every method raises `VaultError`, `ConfigError` where the kind is off or the model cannot run here,
    `ExtraMissingError`, `VisualModelError` where the model fails or its files are missing, and `IndexMismatchError`
    where the pages were embedded by another model than the one in use.
    """

    def __init__(
        self, settings: Settings, index: SearchIndex, catalog: Catalog, visual: Visual, cache: VectorCache
    ) -> None:
        """Set up; `cache` holds the embeddings of questions."""
        self._max_mb, self._settings = settings.reading.max_file_mb, settings.visual
        self._index, self._catalog, self._visual = index, catalog, visual
        self._cache, self._pictures = cache, VectorCache(_PICTURES, "pictures")
        self._server = ServerLate(index, catalog)

    def is_on(self, kind: ModelKind) -> bool:
        """Return whether a model of this kind is to be used; a search reports why it cannot be."""
        return self._visual.is_on(kind)

    def is_ready(self, kind: ModelKind) -> bool:
        """Return whether a search by this kind has no model to start first."""
        return self._to_start(kind) is None

    def start(self, kind: ModelKind, limit_s: float) -> bool:
        """Start the model of a search, if it is not ready, and wait for it; return whether it is ready now.

        It goes on starting beyond `limit_s`. Raises the errors of starting.
        """
        model = self._to_start(kind)
        return model is None or self._visual.opened.start(model, limit_s)

    def begin(self) -> None:
        """Start the models in use in the background; what fails is reported by the next search."""
        for kind in _LISTS:
            if (model := self._to_start(kind)) is not None:
                self._visual.opened.begin(model)

    def _to_start(self, kind: ModelKind) -> Description | None:
        """Return the model that a search has to start; None where it has none to start, or will say why it cannot."""
        if not self.is_on(kind):
            return None
        try:
            model = self._model(kind, [])
            has_pages = bool(self._visual.by_kind[kind].store.counts().get(model.fingerprint))
            return model if has_pages and not self._visual.opened.is_ready(model) else None
        except (ConfigError, ExtraMissingError, IndexMismatchError, VisualModelError):
            return None

    def search_images(
        self, question: str | None = None, *, picture: bytes | None = None, k: int = 20, filters: Filters = Filters()
    ) -> PageHits:
        """Return at most `k` pages that fit the words, or look like the picture (PNG, JPEG, WebP, …), by cosine.

        Raises `ConfigError` if neither or both are given; `TooLargeError`. Scores compare within one call.
        """
        words = words_or_picture(question, picture, self._max_mb)
        with self._visual.interactive.search():
            return self._images(words, picture, checked_count(k), filters)

    def search_late(self, question: str, *, k: int = 20, filters: Filters = Filters()) -> PageHits:
        """Return pages by late interaction: `score` is the sum of each token's best patch, unbounded.

        Raises `ConfigError` without a question.
        """
        with self._visual.interactive.search():
            return self._late(checked_question(question), checked_count(k), filters)

    def score_pages(
        self, kind: ModelKind, places: Sequence[tuple[str, int]], question: str | None, picture: bytes | None = None
    ) -> PageScores:
        """Score how well each page, `(doc_id, page_no)`, fits the words or, for image models, the picture.

        Late interaction embeds missing pages first, in order: as many as fit into DOCMIND_VISUAL__RERANK_BUDGET_S, by
        the measured time per page, and into the time limit of a list. Their vectors are kept.
        """
        if kind == "late":
            return self._score_late(places, checked_question(question or ""))
        words = words_or_picture(question, picture, self._max_mb)
        return self._score_images(places, words, picture)

    def heat_map(self, question: str, doc_id: str, page_no: int) -> HeatMap:
        """Return how well each patch of a page matches each token. Raises `NotFoundError` without multivectors."""
        page = self._catalog.page(doc_id, page_no)
        words = checked_question(question)
        with self._visual.interactive.search():
            model, store = self._model("late", []), self._visual.late_store
            if not store.has(model.fingerprint, page.image.sha256):
                raise NotFoundError(
                    _("This page isn't prepared for {name} yet.").format(name=model.name),
                    hint=_("Run `docmind embed --model {name}`.").format(name=model.name),
                )
            query = self._query(model, words)
            likeness = store.pages().similarity(model.fingerprint, query.vectors, page.image.sha256)
            return heat_map(model.name, page, query.tokens, likeness)

    def has_heat(self, doc_id: str, page_no: int) -> bool:
        """Return whether `heat_map` has a result for this page."""
        served = self._visual.by_kind["late"].serving.now().fingerprint
        if not served or not self.is_on("late"):
            return False
        page = self._visual.pages.image_at(doc_id, page_no)
        return page is not None and self._visual.late_store.has(served, page)

    def _model(self, kind: ModelKind, degraded: list[Degraded]) -> Description:
        """Return the model that answers searches of this kind now.

        Raises `ConfigError` where the kind is off, `VisualModelError` where its files are missing, `IndexMismatchError`
        where the pages only have vectors of another model.
        """
        embedding = self._visual.by_kind[kind]
        chosen = self._visual.choice.model(kind)
        if chosen is None:
            raise ConfigError(
                _("No {kinds} is in use.").format(kinds=_KINDS[kind]),
                hint=_("`docmind models list` shows which there are and how to get one."),
            )
        if chosen.state != "present":
            raise VisualModelError(
                _("{name} cannot be used: {reason}").format(name=chosen.name, reason=chosen.reason), hint=chosen.hint
            )
        check_fits(chosen)
        served, counts = embedding.serving.now(), embedding.store.counts()
        if served.fingerprint in ("", chosen.fingerprint) or not counts.get(served.fingerprint):
            return chosen
        old = self._made_by(served.name, served.fingerprint, kind)
        if old is not None and self._visual.is_moving(chosen):
            done = counts.get(chosen.fingerprint, 0)
            degraded.append(
                Degraded(
                    _LISTS[kind],
                    _("{done} page images are prepared for {name}; until all are, {name2} is used").format(
                        done=done, name=chosen.name, name2=old.name
                    ),
                )
            )
            return old
        raise IndexMismatchError(
            _("The pages were embedded by {fingerprint}, but the {kinds} in use is {fingerprint2}.").format(
                fingerprint=served.fingerprint, kinds=_KINDS[kind], fingerprint2=chosen.fingerprint
            ),
            hint=_(
                "Run `docmind embed --model {name}` to embed them beside the old vectors and switch when all are done"
            ).format(name=chosen.name)
            + (_(", or choose {name} again.").format(name=served.name) if served.name != chosen.name else "."),
        )

    def _images(self, question: str | None, picture: bytes | None, k: int, filters: Filters) -> PageHits:
        """Search pages by an image model: by words, or by similarity to a picture. Raises as `_model` does."""
        embedding, pages = self._visual.by_kind["image"], self._visual.pages
        clock, degraded = Clock(), list[Degraded]()
        model = self._model("image", degraded)
        total = pages.images()
        if not embedding.store.counts().get(model.fingerprint):  # nothing to find, so no model is loaded
            if total:
                degraded.append(
                    Degraded(
                        "image", _("{total} of {total} page images have not been embedded yet").format(total=total)
                    )
                )
            return PageHits((), tuple(degraded), clock.timings())
        found = self._index.ready()
        clock.lap("ready")
        indexed = found.mirror.image_model()
        if indexed and indexed != model.fingerprint:  # the index does not have the new vectors yet
            before = self._made_by(embedding.serving.now().before_name, indexed, "image")
            if before is None:
                raise VisualModelError(
                    _("The index is being changed to another image model."), hint=_("Try again soon.")
                )
            model = before
        vector = self._vector(model, question, picture)
        clock.lap("embed")
        hits: tuple[PageHit, ...] = ()
        if indexed and may_show_pages(filters):
            blind, names = self._index.blind, self._index.names
            narrowed, turned = self._index.narrowed(filters), blind.dense(widened(vector))
            query = VectorQuery(names.qdrant_image_collection, "siglip", turned, k, narrowed)
            try:
                (scored,) = found.index.search([query])
            except IndexMismatchError:
                raise
            except IndexEngineError:
                (scored,) = self._index.heal().index.search([query])
            clock.lap("search")
            ranked = [((str(one.payload["doc_id"]), int(str(one.payload["page_no"]))), one.score) for one in scored]
            hits = self._hits(ranked, pages.names(filters), filters, k)
            if question is not None:
                hits = self._with_usual("image", model, hits)
            clock.lap("hits")
        if may_show_figures(question, filters) and self._visual.figure_looks.has_any(model.fingerprint):
            usual = self._vector(model, NEUTRAL, None) if question is not None else None
            alike = figures_alike(self._visual, self._catalog, model, (vector, usual), pages.names(filters), filters, k)
            hits = with_figures(hits, alike, k)
            clock.lap("figures")
        seen = embedding.store.counts().get(model.fingerprint, 0)
        if seen < total:
            degraded.append(
                Degraded(
                    "image",
                    _("{what} of {total} page images aren't prepared yet").format(what=total - seen, total=total),
                )
            )
        return PageHits(hits, tuple(degraded), clock.timings())

    def _late(self, question: str, k: int, filters: Filters) -> PageHits:
        """Search pages by late interaction. Raises as `_model` does."""
        store, pages = self._visual.late_store, self._visual.pages
        clock, degraded = Clock(), list[Degraded]()
        model = self._model("late", degraded)
        names = pages.names(filters)
        allowed = pages.allowed(filters, names)
        hits: tuple[PageHit, ...] = ()
        count = store.counts().get(model.fingerprint, 0)
        if (allowed is None or allowed) and count:  # otherwise no model is loaded
            query = self._query(model, question).vectors
            clock.lap("embed")
            wanted = count if allowed is None else min(count, len(allowed))
            ranked: Ranked | None = None
            if self._server.is_for(wanted):
                ranked = self._server.search(model, store, query, k, filters, wanted, degraded)
            if ranked is None:
                found = store.pages().search(model.fingerprint, query, k, allowed)
                ranked = [(place, score) for image, score in found for place in pages.places_of(image)]
            clock.lap("search")
            hits = self._with_usual("late", model, self._hits(ranked, names, filters, k))
            clock.lap("hits")
        return PageHits(hits, tuple(degraded), clock.timings())

    def _with_usual(self, kind: ModelKind, model: Description, hits: tuple[PageHit, ...]) -> tuple[PageHit, ...]:
        """Return the hits, the first of them with their scores for a question that every page answers."""
        first = {hit.image.sha256 for hit in hits[:DEPTH] if hit.image is not None}
        if len(first) < FEW:
            return hits
        if kind == "late":
            query = self._query(model, NEUTRAL).vectors
            scores = self._visual.late_store.pages().score(model.fingerprint, query, first)
        else:
            scores = self._cosines(model, self._vector(model, NEUTRAL, None), first)
        return tuple(replace(hit, usual=scores.get(hit.image.sha256)) if hit.image is not None else hit for hit in hits)

    def _cosines(self, model: Description, wanted: np.ndarray, images: Iterable[str]) -> dict[str, float]:
        """Return the cosine of each page image that has a vector with `wanted` `(dim,)`."""
        wanted = wanted / max(float(np.linalg.norm(wanted)), 1e-12)
        return {
            image: float(vector @ wanted) / max(float(np.linalg.norm(vector)), 1e-12)
            for image, vector in self._visual.vectors.get(model.fingerprint, images).items()
        }

    def _query(self, model: Description, question: str) -> QueryPatches:
        """Return the question's token vectors, cached. Raises the errors of models."""
        return self._cache.get(
            model.fingerprint, question, lambda: self._visual.opened.late(model).embed_query(question)
        )

    def _vector(self, model: Description, question: str | None, picture: bytes | None) -> np.ndarray:
        """Return the vector `(dim,)` of a question or a picture, cached. Raises the errors of models."""
        opened = self._visual.opened.image(model)
        if picture is not None:  # the list and the reranking need it one after the other
            key = hashlib.sha256(picture).hexdigest()
            return self._pictures.get(model.fingerprint, key, lambda: opened.embed_images([picture])[0])
        assert question is not None
        return self._cache.get(model.fingerprint, question, lambda: opened.embed_text(question))

    def _made_by(self, name: str, fingerprint: str, kind: ModelKind) -> Description | None:
        """Return the model of this name, if it is still the one that made the vectors."""
        try:
            description = self._visual.choice.describe(name, kind)
        except ConfigError:
            return None
        return description if description.fingerprint == fingerprint else None

    def _hits(
        self,
        ranked: Sequence[tuple[tuple[str, int], float]],
        names: dict[str, str],
        filters: Filters,
        k: int,
    ) -> tuple[PageHit, ...]:
        """Return records of the first `k` pages that still exist and pass the filters."""
        hits: list[PageHit] = []
        pages = self._catalog.pages(place for place, _unused in ranked if place[0] in names)
        for place, score in ranked:
            page = pages.get(place)
            if page is None or (filters.languages and page.language not in filters.languages):
                continue
            hits.append(
                PageHit(
                    rank=len(hits) + 1,
                    score=float(score),
                    document=names[page.doc_id],
                    doc_id=page.doc_id,
                    page_no=page.page_no,
                    page_id=page.page_id,
                    page_width=page.width,
                    page_height=page.height,
                    image=page.image,
                    thumbnail=page.thumbnail,
                )
            )
        return tuple(hits[:k])

    def _score_images(
        self, places: Sequence[tuple[str, int]], question: str | None, picture: bytes | None
    ) -> PageScores:
        """Return the cosine of each page with the question or the picture. Raises as `_model` does."""
        degraded: list[Degraded] = []
        model = self._model("image", degraded)
        shown = self._shown(places)
        scores: dict[str, float] = {}
        if self._visual.vectors.get(model.fingerprint, shown.values()):  # otherwise no model is loaded
            with self._visual.interactive.search():
                wanted = self._vector(model, question, picture)
            scores = self._cosines(model, wanted, shown.values())
        return _told(places, shown, scores, model, degraded)

    def _score_late(self, places: Sequence[tuple[str, int]], question: str) -> PageScores:
        """Return MaxSim of each page with the question, embedding missing pages first. Raises as `_model` does."""
        started, degraded = time.monotonic(), list[Degraded]()
        model = self._model("late", degraded)
        shown = self._shown(places)
        missing = self._visual.late_store.missing(model.fingerprint, list(shown.values()))
        why = ""
        if missing:
            first = {image: PageImageRef(*place, image) for place, image in reversed(shown.items())}
            why = self._embed(model, [first[image] for image in missing], started)
        left = self._visual.late_store.missing(model.fingerprint, missing)
        scores: dict[str, float] = {}
        if len(left) < len(set(shown.values())):
            with self._visual.interactive.search():
                query = self._query(model, question)
                scores = self._visual.late_store.pages().score(model.fingerprint, query.vectors, set(shown.values()))
        return _told(places, shown, scores, model, degraded, why)

    def _embed(self, model: Description, places: Sequence[PageImageRef], started: float) -> str:
        """Embed as many of these pages as fit; return why not all were embedded."""
        embedding, bench = self._visual.by_kind["late"], self._visual.benches.of(model)
        if not self._settings.rerank_budget_s:
            return ""
        if bench is None:
            return _("what a page takes here was never measured: `docmind models bench {name}`").format(name=model.name)
        if embedding.running:
            return _("pages are being embedded already")
        seconds = max(bench.seconds_per_page, 1e-6)
        told = _("a page takes {seconds} s here").format(seconds=f"{seconds:.2g}")
        if seconds > min(self._settings.rerank_budget_s, self._settings.list_timeout_s - _SPARE_S):
            return told
        self._visual.late_store.load(model)  # the time of loading does not count
        now = time.monotonic()
        end = min(now + self._settings.rerank_budget_s, started + self._settings.list_timeout_s - _SPARE_S)
        count = int((end - now) / seconds + 1e-9)

        def check() -> None:
            if time.monotonic() + seconds > end + _SPARE_S / 2:
                raise _OutOfTimeError

        if count > 0:
            try:
                embedding.run(model, places[:count], check=check)
            except _OutOfTimeError:
                return told
            except (VisualModelError, VaultError) as error:  # pages embedded before can be scored anyway
                return f"{error} {error.hint}".strip()
        return told

    def _shown(self, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """Return the image of each page that still exists, in the order of `places`."""
        pages = self._catalog.pages(places)
        return {place: pages[place].image.sha256 for place in places if place in pages}


def checked_question(text: str) -> str:
    """Return the words of a question, as they are embedded.

    Raises `ConfigError` where there are none, or too many.
    """
    question = " ".join(text.encode("utf-8", "replace").decode().split())  # a shell may pass bytes that are not text
    if not question:
        raise ConfigError(_("The question is empty."), hint=_("Type a question."))
    check_question(question)
    return question


def words_or_picture(question: str | None, picture: bytes | None, limit_mb: int) -> str | None:
    """Return the words, or None for a search by picture. Raises `ConfigError`, `TooLargeError`."""
    if (picture is None) == (question is None):
        raise ConfigError(_("An image search needs words or a picture."), hint=_("Give one of them."))
    if picture is not None and len(picture) > limit_mb << 20:
        raise TooLargeError(
            _("The picture has {number:,.0f} MB; the limit is {limit_mb:,} MB.").format(
                number=len(picture) / 2**20, limit_mb=limit_mb
            ),
            hint=_("Save it smaller, or raise DOCMIND_READING__MAX_FILE_MB."),
        )
    return None if question is None else checked_question(question)


def checked_count(k: int) -> int:
    """Return the number of hits. Raises `ConfigError` where it is out of range."""
    check(Count, k, "k")
    return k


def _told(
    places: Sequence[tuple[str, int]],
    shown: Mapping[tuple[str, int], str],
    scores: Mapping[str, float],
    model: Description,
    degraded: Sequence[Degraded],
    why: str = "",
) -> PageScores:
    """Return the scores of pages from those of their images, and report how many have none."""
    found = tuple(scores.get(shown[place]) if place in shown else None for place in places)
    left = found.count(None)
    lacks = list(degraded)
    if left:
        told = _("{left} of the first {count} pages keep their places: {name} has not seen them").format(
            left=left, count=len(places), name=model.name
        )
        lacks.append(Degraded("rerank", f"{told} ({why})" if why else told))
    return PageScores(found, tuple(lacks))
