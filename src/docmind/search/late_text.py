"""Late interaction over the pages that the lists found: the matching window of each page, its score, its best passage.

Older vaults have windows without token vectors; `fill` makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from docmind.documents import Catalog, NodeRecord, NodeStore, PassageVectors
from docmind.embedding import (
    QueryTokens,
    TokenEmbedder,
    embedded_node,
    embedded_spans,
    embedded_text,
    label_of,
    prefix_of,
    whole_words,
)
from docmind.errors import NotFoundError
from docmind.late_interaction import matches, scores
from docmind.records.documents import DocumentInfo
from docmind.search.figures import AS_GOOD, repeating
from docmind.search.fusion import standardise

PAGES = 25  # of the ranking are scored
WINDOWS = 8  # of one page at most, and as many of its figures
_BATCH = 64  # texts per transaction: the most that a crash can lose


def page_key(page_id: str) -> tuple[str, int]:
    """Return the document id and the number of a page."""
    doc_id, page_no = page_id.split("::page::")
    return doc_id, int(page_no)


@dataclass(frozen=True, slots=True)
class Likeness:
    """MaxSim of pages by page id, which is that of their best window. `nodes` has their windows, best first.

    A figure's window that only repeats words of its page counts for the order of the windows alone, unless figures are
    asked for. `missing` counts pages of which no window has token vectors. `passages` tells how near the question
    the best passage is of each page whose passages have vectors: its cosine as a distance from the mean, in standard
    deviations, of the pages in the question's language, or of those in others, whose cosines are lower.
    """

    pages: Mapping[str, float]
    nodes: Mapping[str, Sequence[NodeRecord]]
    missing: int
    passages: Mapping[str, float]


class Rerank:
    """Scoring of windows by their stored token vectors, and of passages by theirs. Thread-safe."""

    def __init__(self, catalog: Catalog, nodes: NodeStore, embedder: TokenEmbedder, passages: PassageVectors) -> None:
        self._catalog, self._nodes, self._embedder, self._passages = catalog, nodes, embedder, passages

    def likeness(
        self,
        query: QueryTokens,
        pages: Mapping[str, Sequence[str]],
        *,
        vector: np.ndarray | None = None,
        language: str = "",
        wants_figures: bool = False,
    ) -> Likeness:
        """Score pages; `pages` gives for each page id the nodes to prefer. Raises `DamagedError`.

        `vector` and `language` are those of the question, `(dim,)`: without a vector no passages are compared.
        """
        beside: set[str] = set()
        windows = {page_id: self._windows(page_id, first, beside) for page_id, first in pages.items()}
        beside = set() if wants_figures else beside
        hashes = [node.content_hash for nodes in windows.values() for node in nodes]
        tokens = self._nodes.tokens(self._embedder.token_fingerprint, hashes)
        known = [key for key in dict.fromkeys(hashes) if key in tokens]
        found = dict(zip(known, scores(query, [tokens[key] for key in known]).tolist(), strict=True))
        best: dict[str, float] = {}
        ranked: dict[str, Sequence[NodeRecord]] = {}
        for page_id, nodes in windows.items():
            scored = {node.node_id: found[node.content_hash] for node in nodes if node.content_hash in found}
            told = [score for node_id, score in scored.items() if node_id not in beside]
            if told:
                best[page_id] = max(told)
                shown = {node_id: score / AS_GOOD if node_id in beside else score for node_id, score in scored.items()}
                ranked[page_id] = sorted(nodes, key=lambda node: -shown.get(node.node_id, -1.0))
        missing = sum(1 for nodes in windows.values() if nodes) - len(best)
        if vector is None:
            return Likeness(best, ranked, missing, {})
        near = self._best_passages(vector, pages)
        own = {page_id for page_id in near if any(node.language == language for node in windows[page_id])}
        groups = ([page_id for page_id in near if (page_id in own) is is_own] for is_own in (True, False))
        beside_each_other = [standardise({page_id: near[page_id] for page_id in group}) for group in groups]
        return Likeness(best, ranked, missing, beside_each_other[0] | beside_each_other[1])

    def _best_passages(self, vector: np.ndarray, pages: Iterable[str]) -> dict[str, float]:
        """Return the cosine of the best passage of each page; a page without passages is not among them."""
        places = {page_key(page_id): page_id for page_id in pages}
        rows = self._passages.of_pages(self._embedder.fingerprint, places)
        return {places[page]: float((own.vectors @ vector).max()) for page, own in rows.items() if len(own.vectors)}

    def matches(self, query: QueryTokens, node: NodeRecord) -> list[tuple[int, int]]:
        """Return spans of the node's text, whole words, that match the question; none without token vectors.

        Raises `NotFoundError`, `DamagedError`.
        """
        tokens = self._nodes.tokens(self._embedder.token_fingerprint, [node.content_hash]).get(node.content_hash)
        if tokens is None:
            return []
        text = self._catalog.page(node.doc_id, node.page_no).text[node.start : node.end]
        label = label_of(self._catalog.readable(node.doc_id), self._embedder)
        prefix = prefix_of(label, node.context)
        spans = self._embedder.token_spans(embedded_text(prefix, text))
        if len(spans) != len(tokens):  # it was embedded with another label
            return []
        inside = embedded_spans(prefix, text, spans)
        in_text = inside[:, 1] > 0
        return whole_words(text, matches(query, tokens[in_text], inside[in_text]))

    def fill(self, report: Callable[[int, int], None] | None = None) -> int:
        """Make missing token vectors; return of how many windows. Idempotent: existing ones are not made again."""
        ready = [info for info in self._catalog.documents() if info.status == "ready"]
        made = 0
        for done, info in enumerate(ready, 1):
            made += self._fill(info)
            if report:
                report(done, len(ready))
        return made

    def _fill(self, info: DocumentInfo) -> int:
        nodes = {node.content_hash: node for node in self._nodes.nodes_of(info.doc_id)}
        missing = self._nodes.without_tokens(self._embedder.token_fingerprint, nodes)
        wanted = [node for key, node in nodes.items() if key in missing]
        label = label_of(info, self._embedder) if wanted else ""
        for at in range(0, len(wanted), _BATCH):
            batch = wanted[at : at + _BATCH]
            try:
                texts = [embedded_node(label, node, self._text(node)) for node in batch]
            except NotFoundError:  # deleted meanwhile
                return at
            vectors, tokens = self._embedder.embed_with_tokens(texts)
            hashes = [node.content_hash for node in batch]
            known = self._nodes.vectors(self._embedder.fingerprint, hashes)
            made = {key: vector for key, vector in zip(hashes, vectors, strict=True) if key not in known}
            self._nodes.put_vectors(self._embedder.fingerprint, made)
            self._nodes.put_tokens(self._embedder.token_fingerprint, dict(zip(hashes, tokens, strict=True)))
        return len(wanted)

    def _text(self, node: NodeRecord) -> str:
        return self._catalog.page(node.doc_id, node.page_no).text

    def _windows(self, page_id: str, first: Iterable[str], beside: set[str]) -> list[NodeRecord]:
        """Return the windows of a page, those to prefer first; add those that only repeat its words to `beside`."""
        place = {node_id: at for at, node_id in enumerate(first)}
        nodes = self._nodes.of_page(*page_key(page_id))
        repeated = repeating(nodes)
        beside |= repeated
        ordered = sorted(nodes, key=lambda node: place.get(node.node_id, len(place)))
        own = [node for node in ordered if node.node_id not in repeated][:WINDOWS]
        return [*own, *[node for node in ordered if node.node_id in repeated][:WINDOWS]]
