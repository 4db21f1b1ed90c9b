"""How well pages that were found already fit a question or a picture: what a second look at them asks for."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from docmind.catalog import Catalog
from docmind.config import VisualSettings
from docmind.errors import VaultError, VisualModelError
from docmind.pagevectors import PageVectors
from docmind.schema import Degraded
from docmind.seeing import ModelKind, PageScores
from docmind.visual.benches import Benches
from docmind.visual.embedding import Embedding
from docmind.visual.interactive import Interactive
from docmind.visual.pages import Place
from docmind.visual.searching import Searching
from docmind.visual.stores import LateStore
from docmind.weights import Description

_SPARE_S = 0.5  # of the time limit, left to score in after pages were embedded


class _OutOfTimeError(Exception):
    """Another page would take too long."""


class Scoring:
    """Safe from any thread."""

    def __init__(
        self,
        settings: VisualSettings,
        searching: Searching,
        embeddings: Mapping[ModelKind, Embedding],
        catalog: Catalog,
        vectors: PageVectors,
        late: LateStore,
        benches: Benches,
        interactive: Interactive,
    ) -> None:
        self._limit_s, self._budget_s = settings.list_timeout_s, settings.rerank_budget_s
        self._searching, self._embeddings, self._catalog = searching, embeddings, catalog
        self._vectors, self._late, self._benches, self._interactive = vectors, late, benches, interactive

    def image(
        self, places: Sequence[tuple[str, int]], question: str | None = None, picture: bytes | None = None
    ) -> PageScores:
        """The cosine of each page with the question or the picture. Raises as `Searching.model` does."""
        degraded: list[Degraded] = []
        model = self._searching.model(self._embeddings["image"], degraded, "image")
        shown = self._shown(places)
        vectors = self._vectors.get(model.fingerprint, shown.values())
        scores: dict[str, float] = {}
        if vectors:  # else no model is loaded
            with self._interactive.search():
                wanted = self._searching.vector(model, question, picture)
            wanted = wanted / max(float(np.linalg.norm(wanted)), 1e-12)
            for image, vector in vectors.items():
                scores[image] = float(vector @ wanted) / max(float(np.linalg.norm(vector)), 1e-12)
        return _told(places, shown, scores, model, degraded)

    def late(self, places: Sequence[tuple[str, int]], question: str) -> PageScores:
        """MaxSim of each page with the question. Raises as `Searching.model` does.

        Pages that the model has not seen are shown to it first, the first ones first: as many as fit into the budget,
        by what a page was measured to take here, and into the time that a list has. Those that are done are kept.
        """
        started, degraded = time.monotonic(), list[Degraded]()
        model = self._searching.model(self._embeddings["late"], degraded, "visual")
        shown = self._shown(places)
        missing = self._late.missing(model.fingerprint, list(shown.values()))
        why = ""
        if missing:
            first = {image: Place(*place, image) for place, image in reversed(shown.items())}
            why = self._embed(model, [first[image] for image in missing], started)
        left = self._late.missing(model.fingerprint, missing)
        scores: dict[str, float] = {}
        if len(left) < len(set(shown.values())):
            with self._interactive.search():
                query = self._searching.query(model, question)
                scores = self._late.pages().score(model.fingerprint, query.vectors, set(shown.values()))
        return _told(places, shown, scores, model, degraded, why)

    def _embed(self, model: Description, places: Sequence[Place], started: float) -> str:
        """Show as many of these pages to the model as fit; returns why it were not all of them."""
        embedding, bench = self._embeddings["late"], self._benches.of(model)
        if not self._budget_s:
            return ""
        if bench is None:
            return f"what a page takes here was never measured: `docmind models bench {model.name}`"
        if embedding.running:
            return "pages are being embedded already"
        seconds = max(bench.seconds_per_page, 1e-6)
        told = f"a page takes {seconds:.2g} s here"
        if seconds > min(self._budget_s, self._limit_s - _SPARE_S):
            return told
        self._late.load(model)  # what that takes is no time of a page
        now = time.monotonic()
        end = min(now + self._budget_s, started + self._limit_s - _SPARE_S)
        count = int((end - now) / seconds + 1e-9)

        def check() -> None:
            if time.monotonic() + seconds > end + _SPARE_S / 2:
                raise _OutOfTimeError

        if count > 0:
            try:
                embedding.run(model, places[:count], check=check)
            except _OutOfTimeError:
                return told
            except (VisualModelError, VaultError) as error:  # what has been seen can be scored all the same
                return f"{error} {error.hint}".strip()
        return told

    def _shown(self, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """The image of each page that is still there, in the order of `places`."""
        pages = self._catalog.pages(places)
        return {place: pages[place].image.sha256 for place in places if place in pages}


def _told(
    places: Sequence[tuple[str, int]],
    shown: Mapping[tuple[str, int], str],
    scores: Mapping[str, float],
    model: Description,
    degraded: Sequence[Degraded],
    why: str = "",
) -> PageScores:
    """The scores of pages from those of their images, and how many have none."""
    found = tuple(scores.get(shown[place]) if place in shown else None for place in places)
    left = found.count(None)
    lacks = list(degraded)
    if left:
        told = f"{left} of the first {len(places)} pages keep their places: {model.name} has not seen them"
        lacks.append(Degraded("rerank", f"{told} ({why})" if why else told))
    return PageScores(found, tuple(lacks))
