"""A vault, or the open app, for LlamaIndex programs: retrievers, and DocMind's reader, node parser and text models.

Importing LlamaIndex takes a second: nothing in DocMind imports this module.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from docmind.application import DocMind
from docmind.client import Client
from docmind.embedding import TextEmbedding
from docmind.errors import ConfigError, NotFoundError
from docmind.ingest import WindowParser
from docmind.reading import FileReader
from docmind.records.documents import Box
from docmind.records.query import Query
from docmind.records.search import Degraded, Hit, MultimodalResult
from docmind.runtime import ALONE

with ALONE:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

__all__ = [
    "FileReader", "MultimodalRetriever", "PictureRetriever", "TextEmbedding", "TextRetriever", "WindowParser",
]  # fmt: skip

_FOR_MODELS = {"document", "page_no"}  # the metadata that a language model reads before a passage


class _VaultRetriever(BaseRetriever):
    """A retriever over an open vault or the open app; the asynchronous calls search in a thread.

    The vault embeds the question itself: `embedding` and `custom_embedding_strs` of a `QueryBundle` are not used.
    """

    def __init__(
        self,
        docmind: DocMind | Client,
        *,
        callback_manager: CallbackManager | None = None,
        **options: Any,
    ) -> None:
        """Search `docmind`, an open vault or the open app (`docmind.client.connect`), which the caller closes.

        `options` are fields of `docmind.records.query.Query`, such as `k`, the number of nodes, and `filters`.
        """
        super().__init__(callback_manager)
        self._docmind, self._query = docmind, Query(**options)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class TextRetriever(_VaultRetriever):
    """The text search of a vault as a LlamaIndex retriever. Thread-safe.

    A node is a window of a page, with its score. Its metadata are `doc_id`, `document` (the file name), `page_no`,
    `page_id`, `modality`, `language`, `box` (the rectangle around the passage, `[x, y, w, h]` in pixels of the page
    image, None where it has none), `boxes` (of its lines), `page_width`, `page_height`, `heading` (above the passage),
    `chunk_index` (of the page, from 0), `text_source`, `ocr_confidence` (0..1, None without OCR), `ocr_engine`,
    `ranks` and `scores` (by ranking: `dense`, `sparse`, `fused`, `rerank`, `cross_encoder`), `image` and `thumbnail`
    (ids of sealed files), and `degraded` (stages that were skipped). It raises the errors of `DocMind.search`.
    """

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = replace(self._query, question=query_bundle.query_str, lists=("text",))
        if query.dedup_key is None:
            query = replace(query, dedup_key="page_id")
        found = self._docmind.search(query)
        return [_node_of(hit, found.degraded) for hit in found.hits]


class PictureRetriever(_VaultRetriever):
    """The search of pages by a picture as a LlamaIndex retriever. Thread-safe.

    The picture is the file that `QueryBundle.image_path` names: `QueryBundle("", image_path="photo.jpg")`; words in
    `query_str` are searched for as well. The metadata are those of `TextRetriever`, and `source` (the list that ranked
    it best), `found` (the page shows the picture) and `quad` (where, four corners). It raises the errors of
    `DocMind.search`, and `NotFoundError` and `ConfigError` for a picture that cannot be read or was not given.
    """

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if query_bundle.image_path is None:
            raise ConfigError("There is no picture to search by.", hint='Give QueryBundle("", image_path="FILE").')
        file = Path(query_bundle.image_path)
        try:
            picture = file.read_bytes()
        except OSError as error:
            raise NotFoundError(f"{file.name} cannot be read: {error.strerror}.", hint="Check its path.") from error
        query = replace(self._query, question=query_bundle.query_str, picture=picture, picture_name=file.name)
        return _nodes_of(self._docmind.search(query))


class MultimodalRetriever(PictureRetriever):
    """The search of words, code and page images in one ranking as a LlamaIndex retriever. Thread-safe.

    A `QueryBundle` with an `image_path` is answered as by `PictureRetriever`. The metadata are the same. It raises the
    errors of `DocMind.search`.
    """

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if query_bundle.image_path is not None:
            return super()._retrieve(query_bundle)
        query = replace(self._query, question=query_bundle.query_str, read_picture=True)
        return _nodes_of(self._docmind.search(query))


def _nodes_of(found: MultimodalResult) -> list[NodeWithScore]:
    return [
        _node_of(
            hit,
            found.degraded,
            source=hit.source,
            found=hit.found,
            quad=[list(corner) for corner in hit.quad],
        )
        for hit in found.hits
    ]


def _node_of(hit: Hit, degraded: Sequence[Degraded], **more: Any) -> NodeWithScore:
    """Return a hit as a node; a page that was found by its image alone has the id of the page."""
    metadata = {
        "doc_id": hit.doc_id,
        "document": hit.document,
        "place": hit.place,
        "dated": hit.dated,
        "page_no": hit.page_no,
        "page_id": hit.page_id,
        "modality": hit.modality,
        "language": hit.language,
        "box": list(box) if (box := Box.around(hit.boxes)) is not None else None,
        "boxes": [list(box) for box in hit.boxes],
        "page_width": hit.page_width,
        "page_height": hit.page_height,
        "heading": hit.heading,
        "chunk_index": hit.chunk_index,
        "text_source": hit.text_source,
        "ocr_confidence": hit.ocr_confidence,
        "ocr_engine": hit.ocr_engine,
        "ranks": {rank.ranking: rank.rank for rank in hit.ranks},
        "scores": {rank.ranking: rank.score for rank in hit.ranks},
        "image": hit.image.file_name if hit.image else None,
        "thumbnail": hit.thumbnail.file_name if hit.thumbnail else None,
        "degraded": [f"{one.stage}: {one.reason}" for one in degraded],
        **more,
    }
    hidden = sorted(metadata.keys() - _FOR_MODELS)
    node = TextNode(
        id_=hit.node_id or hit.page_id,
        text=hit.text,
        metadata=metadata,
        excluded_embed_metadata_keys=hidden,
        excluded_llm_metadata_keys=hidden,
    )
    return NodeWithScore(node=node, score=hit.score)
