"""LlamaIndex nodes: one document's way from pages to windows with vectors.

Importing LlamaIndex takes a second: only ingestion imports this module, and searching does without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import PrivateAttr

from docmind.catalog import PageRecord
from docmind.embed.contract import TextEmbedder
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


class Embed(TransformComponent):
    """Gives each node its vector: from the vault where it has been made before, else from the model."""

    embedder: Any
    known: Callable[[str, Iterable[bytes]], dict[bytes, np.ndarray]]
    _made: dict[bytes, np.ndarray] = PrivateAttr(default_factory=dict)

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        hashes = [node.metadata["record"].content_hash for node in nodes]
        vectors = self.known(self.embedder.fingerprint, hashes)
        missing = {key: node for key, node in zip(hashes, nodes, strict=True) if key not in vectors}
        if missing:
            made = self.embedder.embed_documents([node.get_content() for node in missing.values()])
            fresh = dict(zip(missing, made, strict=True))
            self._made |= fresh
            vectors |= fresh
        for key, node in zip(hashes, nodes, strict=True):
            node.embedding = vectors[key].tolist()
        return nodes

    def take(self) -> dict[bytes, np.ndarray]:
        """The vectors made since the last call."""
        made, self._made = self._made, {}
        return made


class Pipeline:
    """One document's way from pages to nodes with vectors: a LlamaIndex `IngestionPipeline` of two components.

    Run it over successive batches of pages in page order. Vectors that the vault holds already are not made again.
    """

    def __init__(self, info: DocumentInfo, nodes: NodeStore, embedder: TextEmbedder) -> None:
        self._embed = Embed(embedder=embedder, known=nodes.vectors)
        self._pipeline = IngestionPipeline(
            transformations=[Windows(info=info, label=label_of(info, embedder), embedder=embedder), self._embed],
            disable_cache=True,
            docstore=None,
        )

    def run(self, pages: Sequence[PageRecord]) -> tuple[list[NodeRecord], Mapping[bytes, np.ndarray]]:
        """Nodes of these pages, and the vectors that were not in the vault yet by content hash."""
        documents = [
            Document(id_=page.page_id, text=page.text, metadata={"page_no": page.page_no, "language": page.language})
            for page in pages
            if page.text.strip()
        ]
        made = self._pipeline.run(documents=documents, show_progress=False) if documents else []
        return [node.metadata["record"] for node in made], self._embed.take()
