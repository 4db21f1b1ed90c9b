"""Late interaction over the pages that the lists found: which window says it, and how well.

Vaults that are older than this have windows without token vectors; `fill` makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from docmind.catalog import Catalog
from docmind.embed.contract import QueryTokens, TokenEmbedder
from docmind.errors import NotFoundError
from docmind.late.text import matches, scores
from docmind.nodestore import NodeRecord, NodeStore
from docmind.schema import DocumentInfo
from docmind.windows import embedded_spans, embedded_text, label_of, whole_words

PAGES = 25  # of the ranking are looked at
WINDOWS = 8  # of one page at most
_BATCH = 64  # texts a transaction: what a crash can cost


@dataclass(frozen=True, slots=True)
class Likeness:
    """MaxSim of pages by page id: that of their best window. `nodes` holds their windows, best first.

    `missing` counts pages of which no window has token vectors.
    """

    pages: Mapping[str, float]
    nodes: Mapping[str, Sequence[NodeRecord]]
    missing: int


class Rerank:
    """Scores windows by their stored token vectors. Safe from any thread."""

    def __init__(self, catalog: Catalog, nodes: NodeStore, embedder: TokenEmbedder) -> None:
        self._catalog, self._nodes, self._embedder = catalog, nodes, embedder

    def likeness(self, query: QueryTokens, pages: Mapping[str, Sequence[str]]) -> Likeness:
        """How like each page is; `pages` gives for each page id the nodes to look at first. Raises `DamagedError`."""
        windows = {page_id: self._windows(page_id, first) for page_id, first in pages.items()}
        hashes = [node.content_hash for nodes in windows.values() for node in nodes]
        tokens = self._nodes.tokens(self._embedder.token_fingerprint, hashes)
        known = [key for key in dict.fromkeys(hashes) if key in tokens]
        found = dict(zip(known, scores(query, [tokens[key] for key in known]).tolist(), strict=True))
        best: dict[str, float] = {}
        ranked: dict[str, Sequence[NodeRecord]] = {}
        for page_id, nodes in windows.items():
            told = [found[node.content_hash] for node in nodes if node.content_hash in found]
            if told:
                best[page_id] = max(told)
                ranked[page_id] = sorted(nodes, key=lambda node: -found.get(node.content_hash, -1.0))
        return Likeness(best, ranked, sum(1 for nodes in windows.values() if nodes) - len(best))

    def matches(self, query: QueryTokens, node: NodeRecord) -> list[tuple[int, int]]:
        """Spans of the node's text, whole words, that say what the question says; none without token vectors.

        Raises `NotFoundError`, `DamagedError`.
        """
        tokens = self._nodes.tokens(self._embedder.token_fingerprint, [node.content_hash]).get(node.content_hash)
        if tokens is None:
            return []
        text = self._catalog.page(node.doc_id, node.page_no).text[node.start : node.end]
        label = label_of(self._catalog.document(node.doc_id), self._embedder)
        spans = self._embedder.token_spans(embedded_text(label, text))
        if len(spans) != len(tokens):  # the label was another when it was embedded
            return []
        inside = embedded_spans(label, text, spans)
        in_text = inside[:, 1] > 0
        return whole_words(text, matches(query, tokens[in_text], inside[in_text]))

    def fill(self, report: Callable[[int, int], None] | None = None) -> int:
        """Make the token vectors that are missing; returns of how many windows. What is done is not done again."""
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
                texts = [embedded_text(label, self._text(node)) for node in batch]
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
        return self._catalog.page(node.doc_id, node.page_no).text[node.start : node.end]

    def _windows(self, page_id: str, first: Iterable[str]) -> list[NodeRecord]:
        doc_id, page_no = page_id.split("::page::")
        place = {node_id: at for at, node_id in enumerate(first)}
        nodes = self._nodes.of_page(doc_id, int(page_no))
        return sorted(nodes, key=lambda node: place.get(node.node_id, len(place)))[:WINDOWS]
