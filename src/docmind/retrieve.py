"""From a question to hits: embed, search both lists at once, fuse, one hit per page."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from docmind.catalog import Catalog
from docmind.config import Settings
from docmind.embed.bm25 import Bm25
from docmind.embed.contract import TextEmbedder
from docmind.fuse import rrf, standardised_sum
from docmind.index.blind import Blind
from docmind.index.engine import IndexEngine, Query, Scored, Sparse
from docmind.nodestore import NodeStore
from docmind.schema import Degraded, Filters, Hit, SearchResult
from docmind.words import Words

WEIGHTS = {"dense": 1.0, "sparse": 0.7}


@dataclass(frozen=True, slots=True)
class Ranking:
    """Node ids with fused scores, best first, before they become hits."""

    order: tuple[tuple[str, float], ...]
    degraded: tuple[Degraded, ...]
    timings_ms: dict[str, float]


class Retrieve:
    """Questions to hits. Safe from any thread."""

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        nodes: NodeStore,
        index: IndexEngine,
        embedder: TextEmbedder,
        blind: Blind,
    ) -> None:
        self._settings, self._catalog, self._nodes = settings, catalog, nodes
        self._index, self._embedder, self._blind = index, embedder, blind
        self._bm25 = Bm25()

    def search(
        self, question: str, *, k: int | None = None, filters: Filters = Filters(), per_page: bool = True
    ) -> SearchResult:
        """The best `k` hits; one per page unless `per_page` is False. An empty vault gives an empty result."""
        started = time.perf_counter()
        ranking = self._rank(question, filters)
        hits = self._hits(ranking, k or self._settings.retrieve.k, per_page)
        timings = {**ranking.timings_ms, "total": _ms(started)}
        return SearchResult(question, hits, ranking.degraded, tuple(timings.items()))

    def _rank(self, question: str, filters: Filters) -> Ranking:
        timings: dict[str, float] = {}
        degraded: list[Degraded] = []
        filters = replace(filters, tags=tuple(self._blind.tag(tag) for tag in filters.tags))
        collection, limit = self._settings.database.qdrant_text_collection, self._settings.retrieve.candidates
        terms = self._bm25.query(question, self._languages())
        queries = []
        if len(terms.indices):
            sparse = Sparse(self._blind.sparse(terms.indices), terms.values)
            queries.append(("sparse", Query(collection, "text-sparse", sparse, limit, filters)))
        at = time.perf_counter()
        try:
            vector = self._blind.dense(self._embedder.embed_query(question)[None])[0]
            queries.append(("dense", Query(collection, "text-dense", vector, limit, filters)))
        except (OSError, RuntimeError) as error:
            degraded.append(Degraded("dense", f"the text model failed: {error}"))
        timings["embed"] = _ms(at)
        at = time.perf_counter()
        lists: dict[str, list[Scored]] = {}
        if queries:
            found = self._index.search([query for _, query in queries])
            lists = {name: scored for (name, _), scored in zip(queries, found, strict=True)}
        timings["search"] = _ms(at)
        at = time.perf_counter()
        ranked = {name: [(point.id, point.score) for point in scored] for name, scored in lists.items()}
        if self._settings.retrieve.fusion == "rrf":
            fused = rrf(ranked, WEIGHTS, self._settings.retrieve.rrf_k)
        else:
            fused = standardised_sum(ranked, WEIGHTS)
        order = tuple(sorted(fused.items(), key=lambda item: (-item[1], item[0])))
        timings["fuse"] = _ms(at)
        return Ranking(order, tuple(degraded), timings)

    def _hits(self, ranking: Ranking, k: int, per_page: bool) -> tuple[Hit, ...]:
        hits: list[Hit] = []
        seen: set[str] = set()
        names: dict[str, str] = {}
        for node_id, score in ranking.order:
            node = self._nodes.nodes([node_id]).get(node_id)
            if node is None:  # deleted between the search and now
                continue
            key = f"{node.doc_id}/{node.page_no}" if per_page else node_id
            if key in seen:
                continue
            seen.add(key)
            page = self._catalog.pages([(node.doc_id, node.page_no)]).get((node.doc_id, node.page_no))
            if page is None:
                continue
            if node.doc_id not in names:
                names[node.doc_id] = self._catalog.document(node.doc_id).document
            hits.append(
                Hit(
                    rank=len(hits) + 1,
                    score=score,
                    document=names[node.doc_id],
                    doc_id=node.doc_id,
                    page_no=node.page_no,
                    page_id=page.page_id,
                    modality=node.modality,
                    text=page.text[node.start : node.end],
                    boxes=Words.unpack(page.words).boxes_of(node.start, node.end),
                    node_id=node_id,
                    language=node.language,
                    page_width=page.width,
                    page_height=page.height,
                )
            )
            if len(hits) >= k:
                break
        return tuple(hits)

    def _languages(self) -> tuple[str, ...]:
        return tuple(sorted({info.language for info in self._catalog.documents() if info.language}))


def _ms(since: float) -> float:
    return (time.perf_counter() - since) * 1000
