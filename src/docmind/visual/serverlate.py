"""Late interaction on a Qdrant server: means of rows and columns choose pages, and all their vectors score those."""

from __future__ import annotations

import numpy as np

from docmind.catalog import Catalog
from docmind.errors import IndexEngineError
from docmind.index.collection import COLPALI_DIM
from docmind.index.engine import Query
from docmind.schema import Degraded, Filters
from docmind.visual.finder import Finder
from docmind.visual.stores import LateStore
from docmind.weights import Description

FROM_PAGES = 20_000
"""Up to here every page is scored here, exactly and faster than a server is asked."""

_SHARE, _LEAST, _MOST = 20, 300, 1_000  # candidates by rows, and as many by columns: one page in 20, within these

Ranked = list[tuple[tuple[str, int], float]]
"""Pages by document id and number, with their MaxSim, best first."""


class ServerLate:
    """Asks the server where it has what the vault has. Safe from any thread."""

    def __init__(self, finder: Finder, catalog: Catalog) -> None:
        self._finder, self._catalog = finder, catalog
        self._whole_at = (-1, "")

    def is_for(self, pages: int) -> bool:
        """Whether a search of so many pages is one for a server, and there is one."""
        return self._finder.late_above is not None and pages > self._finder.late_above

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
        """The best `k` of `pages`; None where the server does not have them or fails, and `degraded` says why."""
        try:
            reason = self._why_not(model, store, query)
            if not reason:
                return self._ranked(query, k, filters, pages)
        except IndexEngineError as error:
            reason = str(error)
        degraded.append(Degraded("visual", f"{reason} Pages were scored on this machine."))
        return None

    def _why_not(self, model: Description, store: LateStore, query: np.ndarray) -> str:
        """One sentence, or nothing. Raises `IndexEngineError`."""
        if query.shape[1] != COLPALI_DIM:
            return f"The server takes vectors of {COLPALI_DIM} numbers; those of {model.name} have {query.shape[1]}."
        epoch = self._catalog.epoch()
        found = self._finder.ready()
        if found.mirror.late_model() != model.fingerprint:
            return f"The server does not have the vectors of {model.name} yet."
        if self._whole_at != (epoch, model.fingerprint):
            wanted = store.shown(model.fingerprint)
            held = found.index.count(self._finder.names.qdrant_image_collection, having="colpali")
            if held < wanted:
                return f"The server lacks the vectors of {wanted - held} pages: `docmind reindex` sends them."
            self._whole_at = (epoch, model.fingerprint)
        return ""

    def _ranked(self, query: np.ndarray, k: int, filters: Filters, pages: int) -> Ranked:
        asked = Query(
            self._finder.names.qdrant_image_collection,
            "colpali",
            self._finder.blind.dense(query),
            k,
            self._finder.narrowed(filters),
            prefetch=("colpali_rows", "colpali_cols"),
            depth=max(k, min(max(_LEAST, pages // _SHARE), _MOST)),
        )
        (scored,) = self._finder.ready().index.search([asked])
        return [((str(one.payload["doc_id"]), int(str(one.payload["page_no"]))), one.score) for one in scored]
