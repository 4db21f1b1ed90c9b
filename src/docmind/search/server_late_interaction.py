"""Late interaction on a Qdrant server: means of rows and columns select pages, all their vectors score those."""

from __future__ import annotations

import numpy as np

from docmind.documents import Catalog
from docmind.errors import IndexEngineError
from docmind.index import COLPALI_DIM, SearchIndex, VectorQuery
from docmind.records.models import Description
from docmind.records.search import Degraded, Filters
from docmind.visual import LateStore
from docmind.wording import _

FROM_PAGES = 20_000
"""Up to this number every page is scored on this machine, exactly and faster than by a server."""

_SHARE, _LEAST, _MOST = 20, 300, 1_000  # candidates by rows, and as many by columns: one page in 20, within these

Ranked = list[tuple[tuple[str, int], float]]
"""Pages by document id and number, with their MaxSim, best first."""


class ServerLate:
    """The search on the server, where it has all vectors of the vault. Thread-safe."""

    def __init__(self, index: SearchIndex, catalog: Catalog) -> None:
        self._index, self._catalog = index, catalog
        self._whole_at = (-1, "")

    def is_for(self, pages: int) -> bool:
        """Return whether there is a server and the search has enough pages for it."""
        return self._index.holds_multivectors and pages > FROM_PAGES

    def search(
        self,
        model: Description,
        store: LateStore,
        query: np.ndarray,
        k: int,
        filters: Filters,
        pages: int,
        degraded: list[Degraded],
    ) -> Ranked | None:
        """Return the best `k` of `pages`; None where the server lacks them or fails, with the reason in `degraded`."""
        try:
            reason = self._why_not(model, store, query)
            if not reason:
                return self._ranked(query, k, filters, pages)
        except IndexEngineError as error:
            reason = str(error)
        degraded.append(Degraded("visual", _("{reason} Pages were scored on this computer.").format(reason=reason)))
        return None

    def _why_not(self, model: Description, store: LateStore, query: np.ndarray) -> str:
        """Return the reason not to use the server, or nothing. Raises `IndexEngineError`."""
        if query.shape[1] != COLPALI_DIM:
            return _("The server takes vectors of {colpali_dim} numbers; those of {name} have {shape}.").format(
                colpali_dim=COLPALI_DIM, name=model.name, shape=query.shape[1]
            )
        epoch = self._catalog.epoch()
        found = self._index.ready()
        if found.mirror.late_model() != model.fingerprint:
            return _("The server does not have the vectors of {name} yet.").format(name=model.name)
        if self._whole_at != (epoch, model.fingerprint):
            wanted = store.shown(model.fingerprint)
            held = found.index.count(self._index.names.qdrant_image_collection, having="colpali")
            if held < wanted:
                return _("The server lacks the vectors of {wanted} pages: `docmind reindex` sends them.").format(
                    wanted=wanted - held
                )
            self._whole_at = (epoch, model.fingerprint)
        return ""

    def _ranked(self, query: np.ndarray, k: int, filters: Filters, pages: int) -> Ranked:
        asked = VectorQuery(
            self._index.names.qdrant_image_collection,
            "colpali",
            self._index.blind.dense(query),
            k,
            self._index.narrowed(filters),
            prefetch=("colpali_rows", "colpali_cols"),
            depth=max(k, min(max(_LEAST, pages // _SHARE), _MOST)),
        )
        (scored,) = self._index.ready().index.search([asked])
        return [((str(one.payload["doc_id"]), int(str(one.payload["page_no"]))), one.score) for one in scored]
