"""The text search: embed the question, search both lists at once, fuse pages, rerank, one hit per page.

Late interaction reranks where the text model has token vectors, a cross-encoder where the settings name one.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from docmind.answers import language_of_question, nearest_heading
from docmind.blocks import PageBlock
from docmind.config import Settings
from docmind.documents import Catalog, NodeRecord, NodeStore, PageRecord, PassageVectors, Words, figures_told
from docmind.embedding import (
    QueryTokens,
    TextEmbedder,
    VectorCache,
    embedded_node,
    is_multilingual,
    name_of,
    query_terms,
    reads_as_english,
    token_embedder,
)
from docmind.errors import DamagedError, DocMindError, IndexEngineError, IndexMismatchError
from docmind.index import Scored, SearchIndex, Sparse, VectorQuery
from docmind.records.documents import Figure
from docmind.records.query import Query
from docmind.records.search import Degraded, Filters, Hit, Rank, Ranking, SearchResult
from docmind.runtime import ms_since
from docmind.search.cross_encoder import Judge
from docmind.search.figures import FIGURE, repeating, wants_figures
from docmind.search.fusion import SPARSE_WEIGHTS, Knows, lift_figures, lift_first, rank_pages, rrf
from docmind.search.late_text import PAGES, Rerank, page_key
from docmind.search.measures import Lines, lines_of
from docmind.wording import _, ngettext

_FIGURES = 50  # passages of figures that may be in the dense list beside the candidates
_OF_SOME = 400  # passages of figures that are looked at where those of some sizes or kinds are asked for
_PAGES_PER_WINDOW = 3  # a page has a few windows, and one BM25 vector
_NAME_CHARS = 120  # of a document's name before a passage that a cross-encoder reads
_LINES_WEIGHT = 0.5  # of the lines that a measure is made of, against 1.0 of the question's own words


@dataclass(frozen=True, slots=True)
class _Found:
    """Page ids with fused scores, best first; for each page the nodes in the dense list, best first.

    `read` has the nodes of pages that late interaction has scored, best first. `ranks` has the place of each page in
    each ranking. `filters` are those of the question, and `wants_figures` tells that figures are asked for.
    """

    pages: list[tuple[str, float]]
    nodes: dict[str, list[str]]
    read: Mapping[str, Sequence[NodeRecord]]
    vector: np.ndarray | None
    nearest_cosine: float | None
    degraded: list[Degraded]
    timings_ms: dict[str, float]
    ranks: Mapping[Ranking, Mapping[str, Rank]]
    filters: Filters = Filters()
    wants_figures: bool = False


class TextSearch:
    """The text search. Thread-safe."""

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        nodes: NodeStore,
        index: SearchIndex,
        embedder: TextEmbedder,
        passages: PassageVectors,
        queries: VectorCache | None = None,
    ) -> None:
        """Set up; `queries` caches the embeddings of questions, and is created where none is given."""
        self._settings, self._catalog, self._nodes, self._passages = settings, catalog, nodes, passages
        self._index, self._embedder, self._blind = index, embedder, index.blind
        self._queries = queries or VectorCache()
        tokens = token_embedder(embedder, settings.retrieve.rerank)
        is_fused = settings.retrieve.fusion in ("sum", "rrf")  # other settings use one list alone
        self._tokens = tokens if is_fused else None
        self.rerank = Rerank(catalog, nodes, tokens, passages) if tokens else None
        self._judge = Judge(settings) if settings.retrieve.cross_encoder else None

    def warm(self) -> None:
        """Load the cross-encoder in the background, where there is one."""
        if self._judge is not None:
            self._judge.warm()

    def close(self) -> None:
        """End the process of the cross-encoder. Idempotent."""
        if self._judge is not None:
            self._judge.close()

    def search(
        self,
        query: Query,
    ) -> SearchResult:
        """Return the best hits for the words of a query, as many as it wants. An empty vault gives an empty result.

        The index is brought up to date first; one that is lost or damaged is rebuilt from the vault, once. Raises
        `IndexEngineError`. Without the text model pages are found by their words alone, and `degraded` says so.
        """
        self._index.ready()
        started = time.perf_counter()
        try:
            ranking = self._rank(query.words, query.filters)
        except IndexMismatchError:
            raise
        except IndexEngineError:
            self._index.heal()
            started = time.perf_counter()
            ranking = self._rank(query.words, query.filters)
        if self._judge is not None:
            ranking = self._judged(query.words, ranking, self._judge)
        at = time.perf_counter()
        hits = self._hits(ranking, query)
        timings = {**ranking.timings_ms, "hits": ms_since(at), "total": ms_since(started)}
        return SearchResult(
            query.words,
            hits,
            (*ranking.degraded, *self._catalog.lacking(query.filters), *self._catalog.damage()),
            tuple(timings.items()),
            nearest_cosine=ranking.nearest_cosine,
        )

    def _rank(self, question: str, filters: Filters) -> _Found:
        timings: dict[str, float] = {}
        degraded: list[Degraded] = []
        at = time.perf_counter()
        lines = lines_of(question) if self._settings.retrieve.expand == "measures" else None
        vector, tokens = self._embed(question, lines, degraded)
        awaiting = self._nodes.awaiting()
        if awaiting:
            told = ngettext(
                "{n} document is still being prepared: most of it is found by its words only.",
                "{n} documents are still being prepared: most of what they hold is found by its words only.",
                awaiting,
            )
            degraded.append(Degraded("unprepared", told.format(n=awaiting)))
        timings["embed"] = ms_since(at)
        at = time.perf_counter()
        wanted = wants_figures(question, filters)
        dense, sparse = self._lists(question, lines, vector, filters)
        if filters.is_of_some_figures:
            dense, sparse = self._of_figures(dense, filters), self._of_figures(sparse, filters)
        if not wanted:
            dense = self._ranking_pages(dense)
        timings["search"] = ms_since(at)
        at = time.perf_counter()
        nodes: dict[str, list[str]] = {}
        for point in dense:
            nodes.setdefault(str(point.payload["page_id"]), []).append(point.id)
        nearest = [(str(point.payload["page_id"]), point.score) for point in dense]
        worded = [(str(point.payload["page_id"]), point.score) for point in sparse]
        knows = _knows(self._embedder, question)
        pages = self._fuse(nearest, worded, knows, self._awaiting(worded) if awaiting else ())
        if wanted and not filters.modalities:
            pages = lift_figures(
                pages,
                [(str(one.payload["page_id"]), one.score) for one in dense if one.payload["modality"] == FIGURE],
            )
        ranks: dict[Ranking, Mapping[str, Rank]] = {
            "dense": _ranks("dense", nearest),
            "sparse": _ranks("sparse", worded),
            "fused": _ranks("fused", pages),
        }
        timings["fuse"] = ms_since(at)
        at = time.perf_counter()
        read: Mapping[str, Sequence[NodeRecord]] = {}
        if tokens is not None:
            asked = tokens, vector, language_of_question(question)
            pages, read, likeness = self._reranked(asked, pages, nodes, knows, degraded, wants_figures=wanted)
            ranks["rerank"] = _ranks("rerank", sorted(likeness.items(), key=lambda item: -item[1]))
        timings["rerank"] = ms_since(at)
        nearest_cosine = dense[0].score if dense else None
        return _Found(pages, nodes, read, vector, nearest_cosine, degraded, timings, ranks, filters, wanted)

    def _ranking_pages(self, dense: list[Scored]) -> list[Scored]:
        """Return the dense list without figures that only repeat words of their page, as long as it would be then."""
        figures = [str(point.payload["page_id"]) for point in dense if point.payload["modality"] == FIGURE]
        beside = {
            one for page_id in dict.fromkeys(figures) for one in repeating(self._nodes.of_page(*page_key(page_id)))
        }
        return [point for point in dense if point.id not in beside][: self._settings.retrieve.candidates]

    def _of_figures(self, points: list[Scored], filters: Filters) -> list[Scored]:
        """Return the points of a list that are passages of figures which the filters allow."""
        nodes = self._nodes.nodes([point.id for point in points if point.payload["modality"] == FIGURE])
        fitting = {node.node_id for node in self._allowed(list(nodes.values()), filters)}
        return [point for point in points if point.id in fitting]

    def _allowed(self, nodes: Sequence[NodeRecord], filters: Filters) -> list[NodeRecord]:
        """Return those of some passages that tell of a figure which the filters allow."""
        nodes = [node for node in nodes if node.modality == FIGURE]
        figures = self._catalog.figures.of_pages((node.doc_id, node.page_no) for node in nodes)
        return [
            node
            for node in nodes
            if any(
                filters.allow_figure(one)
                for one in figures_told(
                    figures.get((node.doc_id, node.page_no), ()), node.start, node.end, node.context
                )
            )
        ]

    def _embed(
        self, question: str, lines: Lines | None, degraded: list[Degraded]
    ) -> tuple[np.ndarray | None, QueryTokens | None]:
        """Return the vector to search for, between the question and the lines of its measures, and its tokens."""
        if self._settings.retrieve.fusion == "sparse":
            return None, None
        why = ""
        if (tokens := self._tokens) is not None:
            try:
                vector, of_tokens = self._queries.get(
                    tokens.token_fingerprint, question, lambda: tokens.embed_query_with_tokens(question)
                )
                return self._aimed(question, vector, lines), of_tokens
            except (DocMindError, OSError, RuntimeError) as error:
                why = str(error)
        try:
            vector = self._aimed(question, self._embedded(question), lines)
        except (DocMindError, OSError, RuntimeError) as error:
            degraded.append(Degraded("dense", _("the text model cannot be used: {error}").format(error=error)))
            return None, None
        if why:
            degraded.append(Degraded("late interaction", why))
        return vector, None

    def _aimed(self, question: str, vector: np.ndarray, lines: Lines | None) -> np.ndarray:
        """Return the unit vector between that of a question and that of the lines of its measures."""
        if lines is None:
            return vector
        in_english = reads_as_english(question) or not is_multilingual(self._embedder)
        between = vector + _LINES_WEIGHT * self._embedded(lines.en if in_english else f"{lines.pt} {lines.es}")
        return between / max(float(np.linalg.norm(between)), 1e-9)

    def _embedded(self, text: str) -> np.ndarray:
        return self._queries.get(self._embedder.fingerprint, text, lambda: self._embedder.embed_query(text))

    def _reranked(
        self,
        asked: tuple[QueryTokens, np.ndarray | None, str],
        pages: list[tuple[str, float]],
        nodes: Mapping[str, Sequence[str]],
        knows: Knows,
        degraded: list[Degraded],
        *,
        wants_figures: bool,
    ) -> tuple[list[tuple[str, float]], Mapping[str, Sequence[NodeRecord]], Mapping[str, float]]:
        """Return the pages with late interaction added to the first of them, their windows, best first, and MaxSim.

        `asked` are the token vectors of the question, its vector and its language.
        """
        tokens, vector, language = asked
        if self.rerank is None or not len(tokens.vectors):
            return pages, {}, {}
        try:
            first = {page: nodes.get(page, ()) for page, _unused in pages[:PAGES]}
            likeness = self.rerank.likeness(
                tokens, first, vector=vector, language=language, wants_figures=wants_figures
            )
        except DamagedError as error:
            degraded.append(Degraded("late interaction", str(error)))
            return pages, {}, {}
        if likeness.missing:
            degraded.append(
                Degraded(
                    "late interaction",
                    _(
                        "{missing} of the first pages were added before it was there; `docmind reindex` makes what it "
                        "needs."
                    ).format(missing=likeness.missing),
                )
            )
        lifted = lift_first(pages, likeness.pages, likeness.passages, knows=knows, first=len(first))
        return lifted, likeness.nodes, likeness.pages

    def _judged(self, question: str, ranking: _Found, judge: Judge) -> _Found:
        """Return the ranking with its first pages in the order of the cross-encoder; the scores of the places stay."""
        at = time.perf_counter()
        first = ranking.pages[: self._settings.retrieve.cross_encoder_pages]
        passages = {page_id: text for page_id, _unused in first if (text := self._passage(page_id, ranking))}
        scores = judge.scores(question, list(passages.values()), ranking.degraded) if len(passages) > 1 else None
        ranking.timings_ms["cross_encoder"] = ms_since(at)
        if scores is None:
            return ranking
        judged = sorted(zip(passages, scores, strict=True), key=lambda item: -item[1])
        order = iter([page_id for page_id, _unused in judged])
        pages = [(next(order), score) if page_id in passages else (page_id, score) for page_id, score in first]
        ranks = {**ranking.ranks, "cross_encoder": _ranks("cross_encoder", judged)}
        return replace(ranking, pages=[*pages, *ranking.pages[len(first) :]], ranks=ranks)

    def _passage(self, page_id: str, ranking: _Found) -> str:
        """Return the page's best window behind the document's name; empty where it was deleted or is damaged."""
        doc_id, page_no = key = page_key(page_id)
        try:
            page, names = self._catalog.pages([key]).get(key), self._catalog.name_and_title(doc_id)
            nodes = self._nodes_of(page_id, ranking) if page else []
        except DamagedError:
            self._catalog.note_damage(doc_id, page_no)
            return ""
        if page is None or names is None or not nodes:
            return ""
        return embedded_node(name_of(*names)[:_NAME_CHARS], nodes[0], page.text)

    def _lists(
        self, question: str, lines: Lines | None, vector: np.ndarray | None, filters: Filters
    ) -> tuple[list[Scored], list[Scored]]:
        """Return the dense and the sparse list, in one round trip to the engine."""
        filters = self._index.narrowed(filters)
        collection, limit = self._settings.database.qdrant_text_collection, self._settings.retrieve.candidates
        queries: dict[str, VectorQuery] = {}
        if vector is not None:
            spare = _FIGURES if self._catalog.figures.are_there() else 0
            spare += _OF_SOME if filters.is_of_some_figures else 0
            queries["dense"] = VectorQuery(collection, "text-dense", self._blind.dense(vector), limit + spare, filters)
        terms = query_terms(question, " ".join(lines or ()), _LINES_WEIGHT)
        if len(terms.indices) and self._settings.retrieve.fusion != "dense":
            sparse = Sparse(self._blind.sparse(terms.indices), terms.values)
            queries["sparse"] = VectorQuery(
                collection, "text-sparse", sparse, max(1, limit // _PAGES_PER_WINDOW), filters
            )
        if not queries:
            return [], []
        found = dict(zip(queries, self._index.started().index.search(list(queries.values())), strict=True))
        return found.get("dense", []), found.get("sparse", [])

    def _fuse(
        self,
        dense: list[tuple[str, float]],
        sparse: list[tuple[str, float]],
        knows: Knows,
        awaiting: Collection[str],
    ) -> list[tuple[str, float]]:
        if self._settings.retrieve.fusion == "rrf":
            ranked = [list(dict.fromkeys(page for page, _unused in scored)) for scored in (dense, sparse)]
            return rrf(ranked, self._settings.retrieve.rrf_k)
        return rank_pages(dense, dict(sparse), weight=SPARSE_WEIGHTS[knows], awaiting=awaiting)

    def _awaiting(self, worded: Iterable[tuple[str, float]]) -> set[str]:
        """Return those of the pages found by their words that still await their vectors."""
        keys = {page_key(page_id): page_id for page_id, _unused in worded}
        return {keys[key] for key in self._nodes.without_vectors(self._embedder.fingerprint, keys)}

    def _hits(self, ranking: _Found, query: Query) -> tuple[Hit, ...]:
        chosen = self._settings.retrieve
        k, dedup_key = query.k or chosen.k, query.dedup_key or chosen.dedup_key
        hits: list[Hit] = []
        seen: set[str] = set()
        names: dict[str, tuple[str, str] | None] = {}
        for page_id, score in ranking.pages:
            if len(hits) >= k:
                break
            key = doc_id, page_no = page_key(page_id)
            if dedup_key == "doc_id" and doc_id in seen:
                continue
            try:
                page = self._catalog.pages([key]).get(key)
                nodes = self._nodes_of(page_id, ranking) if page else []
                words = Words.unpack(page.words) if page else None
                structure = page.structure() if page else ()
                figures = self._figures(key, nodes)
                if doc_id not in names:
                    names[doc_id] = self._catalog.name_and_title(doc_id)
            except DamagedError:  # reported by `damage`, like pages that cannot be read
                self._catalog.note_damage(doc_id, page_no)
                continue
            name = names[doc_id]
            if page is None or words is None or name is None or not nodes:  # deleted between the search and now
                continue
            if self._is_below_cutoff(page_id, nodes, ranking):
                continue
            seen.add(doc_id)
            ranks = tuple(places[page_id] for places in ranking.ranks.values() if page_id in places)
            for node in nodes if dedup_key == "node_id" else nodes[:1]:
                if len(hits) < k:
                    hits.append(_hit(len(hits) + 1, score, name[0], (page, words, structure, figures), node, ranks))
        return tuple(hits)

    def _figures(self, page: tuple[str, int], nodes: Sequence[NodeRecord]) -> Sequence[Figure]:
        """Return the figures of a page, where a passage tells of one."""
        is_told = any(node.modality == FIGURE for node in nodes)
        return self._catalog.figures.of_pages([page]).get(page, ()) if is_told else ()

    def _is_below_cutoff(self, page_id: str, nodes: Sequence[NodeRecord], ranking: _Found) -> bool:
        """Return whether the page's nearest window has a cosine below the cutoff, where one is set."""
        cutoff = self._settings.retrieve.similarity_cutoff
        if cutoff is None or ranking.vector is None:
            return False
        if place := ranking.ranks["dense"].get(page_id):
            return place.score < cutoff
        vectors = self._nodes.vectors(self._embedder.fingerprint, (node.content_hash for node in nodes))
        return max((float(vector @ ranking.vector) for vector in vectors.values()), default=-1.0) < cutoff

    def _nodes_of(self, page_id: str, ranking: _Found) -> list[NodeRecord]:
        """Return the page's nodes of the kinds that are asked for, best first; figures first where one is."""
        nodes = self._ordered(page_id, ranking)
        if ranking.filters.is_of_some_figures:
            return self._allowed(nodes, ranking.filters)
        if wanted := ranking.filters.modalities:
            return [node for node in nodes if node.modality in wanted] or nodes
        if ranking.wants_figures:
            return sorted(nodes, key=lambda node: node.modality != FIGURE)
        return nodes

    def _ordered(self, page_id: str, ranking: _Found) -> list[NodeRecord]:
        """Return the page's nodes, best first: by late interaction, else by the dense list or by stored vectors."""
        if page_id in ranking.read:
            named = ranking.nodes.get(page_id, ())
            best, *others = ranking.read[page_id]
            return [best, *(node for node in others if not named or node.node_id in named)]
        if page_id in ranking.nodes:
            found = self._nodes.nodes(ranking.nodes[page_id])
            return list(found.values())
        nodes = self._nodes.of_page(*page_key(page_id))
        if not ranking.wants_figures:
            beside = repeating(nodes)
            nodes = [node for node in nodes if node.node_id not in beside]
        if ranking.vector is None or len(nodes) < 2:
            return nodes
        vectors = self._nodes.vectors(self._embedder.fingerprint, (node.content_hash for node in nodes))
        target = ranking.vector
        return sorted(
            nodes,
            key=lambda node: -float(vectors[node.content_hash] @ target) if node.content_hash in vectors else 1.0,
        )


def _knows(embedder: TextEmbedder, question: str) -> Knows:
    if is_multilingual(embedder):
        return "many languages"
    return "the language" if reads_as_english(question) else "other languages"


def _ocr_confidence(page: PageRecord, words: Words, node: NodeRecord) -> float | None:
    """Return how sure OCR is of its least certain line in a node; of the whole page where lines have no certainty.

    None where OCR read nothing of it.
    """
    if page.text_source != "ocr":
        sure = 1.0 if page.ocr is None else words.certainty_of(node.start, node.end)
        return sure if sure < 1 else None
    return page.confidence if words.certainties is None else words.certainty_of(node.start, node.end)


def _ranks(ranking: Ranking, scored: Iterable[tuple[str, float]]) -> dict[str, Rank]:
    """Return the place of each page in a ranking, best first; a page of several windows has that of its best one."""
    ranks: dict[str, Rank] = {}
    for page_id, score in scored:
        if page_id not in ranks:
            ranks[page_id] = Rank(ranking, len(ranks) + 1, score)
    return ranks


_Read = tuple[PageRecord, Words, tuple[PageBlock, ...], Sequence[Figure]]


def _hit(rank: int, score: float, document: str, read: _Read, node: NodeRecord, ranks: tuple[Rank, ...]) -> Hit:
    page, words, structure, figures = read
    told = figures_told(figures, node.start, node.end, node.context) if node.modality == FIGURE else []
    path = next((one.path for one in structure if one.start <= node.start < one.end), ())
    judged = next((place.score for place in ranks if place.ranking == "cross_encoder"), None)
    return Hit(
        rank=rank,
        score=score,
        document=document,
        doc_id=page.doc_id,
        page_no=page.page_no,
        page_id=page.page_id,
        modality=node.modality,
        text=page.text[node.start : node.end] or node.context,
        boxes=(*(one.box for one in told), *words.boxes_of(node.start, node.end)),
        figure=told[0].number if told else 0,
        node_id=node.node_id,
        language=node.language,
        page_width=page.width,
        page_height=page.height,
        ranks=ranks,
        heading=path[-1] if path else nearest_heading(page.text, node.start),
        heading_path=path,
        context=node.context,
        chunk_index=node.ordinal,
        text_source=page.text_source,
        ocr_confidence=_ocr_confidence(page, words, node),
        ocr_engine=page.ocr.engine if page.ocr is not None else "",
        rerank_score=judged,
        image=page.image,
        thumbnail=page.thumbnail,
    )
