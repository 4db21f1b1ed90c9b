"""Text models as LlamaIndex embeddings, for programs that use LlamaIndex.

Importing LlamaIndex takes a second: nothing in DocMind imports this module before it is needed.
"""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import Field

from docmind.embedding.base import TextEmbedder
from docmind.embedding.chunking import without_leaders
from docmind.runtime import ALONE

with ALONE:
    from llama_index.core.base.embeddings.base import BaseEmbedding


class TextEmbedding(BaseEmbedding):
    """A text model as a LlamaIndex embedding. Thread-safe as its model is.

    Texts are cleaned as DocMind cleans windows: white space is collapsed, and runs of dots, dashes and underscores are
    left out. So a node of `WindowParser` gets the vector that a vault stores for the same window.
    """

    embedder: Any = Field(exclude=True)
    fingerprint: str = ""

    def __init__(self, embedder: TextEmbedder, **fields: Any) -> None:
        """Wrap a model; `fields` are those of `BaseEmbedding`. No weights are read before the first text."""
        named = {"embedder": embedder, "fingerprint": embedder.fingerprint, "model_name": embedder.name}
        super().__init__(**{**named, "embed_batch_size": 64, **fields})

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex writes down for this class."""
        return "DocMindTextEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self.embedder.embed_query(query).tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self.embedder.embed_documents([" ".join(without_leaders(text).split()) for text in texts]).tolist()

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)
