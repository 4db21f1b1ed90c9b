"""LlamaIndex nodes: one document's way from pages to windows with vectors.

Importing LlamaIndex takes a second: only ingestion imports this module, and searching does without.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from pydantic import PrivateAttr

from docmind.catalog import PageRecord
from docmind.embed.contract import TextEmbedder, TokenEmbedder
from docmind.loading import ALONE
from docmind.nodestore import NodeRecord, NodeStore
from docmind.schema import DocumentInfo
from docmind.windows import label_of, nodes_of_page

with ALONE:
    from llama_index.core.ingestion import IngestionPipeline
    from llama_index.core.schema import BaseNode, Document, TextNode, TransformComponent


class Windows(TransformComponent):
    """Pages to windows: nodes that never cross a page."""

    info: DocumentInfo
    label: str
    embedder: Any

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        return [
            TextNode(
                id_=record.node_id,
                text=embedded,
                metadata={"record": record},
                start_char_idx=record.start,
                end_char_idx=record.end,
            )
            for page in nodes
            for record, embedded in nodes_of_page(
                self.info,
                self.label,
                self.embedder,
                page.metadata["page_no"],
                page.metadata["language"],
                page.get_content(),
            )
        ]


class Made(NamedTuple):
    """What the model made for texts that the vault did not know, by content hash.

    `vectors` (dim,) float32; `tokens` (tokens, token dim) int8, empty where late interaction is off.
    """

    vectors: dict[bytes, np.ndarray]
    tokens: dict[bytes, np.ndarray]


class Embed(TransformComponent):
    """Gives each node its vector: from the vault where it has been made before, else from the model.

    With `tokens` the model gives token vectors in the same run.
    """

    embedder: Any
    tokens: Any  # the same model, or None
    store: Any
    _made: Made = PrivateAttr(default_factory=lambda: Made({}, {}))

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        texts = {node.metadata["record"].content_hash: node.get_content() for node in nodes}
        vectors = self.store.vectors(self.embedder.fingerprint, texts)
        missing = texts.keys() - vectors.keys()
        if self.tokens is not None:
            missing |= self.store.without_tokens(self.tokens.token_fingerprint, texts)
        wanted = [key for key in texts if key in missing]
        if wanted:
            fresh = self._embed([texts[key] for key in wanted])
            self._made.vectors.update(zip(wanted, fresh[0], strict=True))
            self._made.tokens.update(zip(wanted, fresh[1], strict=self.tokens is not None))
            vectors |= self._made.vectors
        for node in nodes:
            node.embedding = vectors[node.metadata["record"].content_hash].tolist()
        return nodes

    def _embed(self, texts: list[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        if self.tokens is not None:
            return self.tokens.embed_with_tokens(texts)
        return self.embedder.embed_documents(texts), []

    def take(self) -> Made:
        """What was made since the last call."""
        made, self._made = self._made, Made({}, {})
        return made


class Pipeline:
    """One document's way from pages to nodes with vectors: a LlamaIndex `IngestionPipeline` of two components.

    Run it over successive batches of pages in page order. Vectors that the vault holds already are not made again.
    """

    def __init__(
        self, info: DocumentInfo, nodes: NodeStore, embedder: TextEmbedder, tokens: TokenEmbedder | None = None
    ) -> None:
        """`tokens`: the same model, where its token vectors are kept too."""
        self._store, self._embedder, self._tokens = nodes, embedder, tokens
        self._embed = Embed(embedder=embedder, tokens=tokens, store=nodes)
        self._pipeline = IngestionPipeline(
            transformations=[Windows(info=info, label=label_of(info, embedder), embedder=embedder), self._embed],
            disable_cache=True,
            docstore=None,
        )

    def run(self, pages: Sequence[PageRecord]) -> tuple[list[NodeRecord], Made]:
        """Nodes of these pages, and what the model made for those that the vault does not hold yet."""
        documents = [
            Document(id_=page.page_id, text=page.text, metadata={"page_no": page.page_no, "language": page.language})
            for page in pages
            if page.text.strip()
        ]
        made = self._pipeline.run(documents=documents, show_progress=False) if documents else []
        return [node.metadata["record"] for node in made], self._embed.take()

    def keep(self, made: Made) -> None:
        """Put what was made into the vault, after its nodes."""
        self._store.put_vectors(self._embedder.fingerprint, made.vectors)
        if self._tokens is not None:
            self._store.put_tokens(self._tokens.token_fingerprint, made.tokens)
