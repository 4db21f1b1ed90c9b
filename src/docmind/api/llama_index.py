"""A vault, or the open app, for LlamaIndex programs: retrievers, and DocMind's reader, node parser and text models.

Importing LlamaIndex takes a second: nothing in DocMind imports this module.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docmind.application import DocMind
from docmind.client import Client
from docmind.embedding import TextEmbedding
from docmind.errors import ConfigError, NotFoundError
from docmind.ingest import WindowParser
from docmind.reading import FileReader
from docmind.records.documents import Box
from docmind.records.search import Degraded, Filters, Hit, ListName, MergeStrategy, MultimodalResult, Rerank
from docmind.runtime import ALONE
from docmind.search import DedupKey

with ALONE:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

__all__ = [
    "FileReader", "MultimodalRetriever", "PictureRetriever", "TextEmbedding", "TextRetriever", "WindowParser",
]  # fmt: skip

_FOR_MODELS = {"document", "page_no"}  # the metadata that a language model reads before a passage
_PAGES = 8  # of a search by picture, as `DocMind.see` has it


class _VaultRetriever(BaseRetriever):
    """A retriever over an open vault or the open app; the asynchronous calls search in a thread.

    The vault embeds the question itself: `embedding` and `custom_embedding_strs` of a `QueryBundle` are not used.
    """

    def __init__(
        self,
        docmind: DocMind | Client,
        *,
        k: int | None = None,
        filters: Filters = Filters(),
        callback_manager: CallbackManager | None = None,
    ) -> None:
        """Search `docmind`, an open vault or the open app (`docmind.client.connect`); `k` is the number of nodes.

        It stays open, and is closed by the caller.
        """
        super().__init__(callback_manager)
        self._docmind, self._k, self._filters = docmind, k, filters

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class TextRetriever(_VaultRetriever):
    """The text search of a vault as a LlamaIndex retriever. Thread-safe.

    A node is a window of a page, with its score. Its metadata are `doc_id`, `document` (the file name), `page_no`,
    `page_id`, `modality`, `language`, `box` (the rectangle around the passage, `[x, y, w, h]` in pixels of the page
    image, None where it has none), `boxes` (of its lines), `page_width`, `page_height`, `heading` (above the passage),
    `chunk_index` (of the page, from 0), `text_source`, `ocr_confidence` (0..1, None without OCR), `ranks` and `scores`
    (by ranking: `dense`, `sparse`, `fused`, `rerank`, `cross_encoder`), `image` and `thumbnail` (ids of sealed files),
    and `degraded` (stages that were skipped). It raises the errors of `DocMind.search`.
    """

    def __init__(self, docmind: DocMind | Client, *, dedup_key: DedupKey = "page_id", **options: Any) -> None:
        """Search `docmind`; one node for each page, unless `dedup_key` says otherwise.

        `options` are `k`, `filters` and `callback_manager`.
        """
        super().__init__(docmind, **options)
        self._dedup_key: DedupKey = dedup_key

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._docmind.search(
            query_bundle.query_str, k=self._k, filters=self._filters, dedup_key=self._dedup_key
        )
        return [_node_of(hit, found.degraded) for hit in found.hits]


class PictureRetriever(_VaultRetriever):
    """The search of pages by a picture as a LlamaIndex retriever. Thread-safe.

    The picture is the file that `QueryBundle.image_path` names: `QueryBundle("", image_path="photo.jpg")`; words in
    `query_str` are searched for as well. The metadata are those of `TextRetriever`, and `source` (the list that ranked
    it best), `found` (the page shows the picture) and `quad` (where, four corners). It raises the errors of
    `DocMind.see`, and `NotFoundError` and `ConfigError` for a picture that cannot be read or was not given.
    """

    def __init__(
        self,
        docmind: DocMind | Client,
        *,
        merge: MergeStrategy = "rrf",
        rerank: Rerank | None = None,
        read: bool = True,
        **options: Any,
    ) -> None:
        """Search `docmind`; without `read` the words on the picture are not read, which takes seconds.

        `options` are `k`, `filters` and `callback_manager`; `merge` and `rerank` are those of `DocMind.see`.
        """
        super().__init__(docmind, **options)
        self._merge: MergeStrategy = merge
        self._rerank: Rerank | None = rerank
        self._read = read

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if query_bundle.image_path is None:
            raise ConfigError("There is no picture to search by.", hint='Give QueryBundle("", image_path="FILE").')
        return _nodes_of(self._by_picture(Path(query_bundle.image_path), query_bundle.query_str))

    def _by_picture(self, file: Path, question: str) -> MultimodalResult:
        try:
            picture = file.read_bytes()
        except OSError as error:
            raise NotFoundError(f"{file.name} cannot be read: {error.strerror}.", hint="Check its path.") from error
        return self._docmind.see(
            picture, question=question, k=self._k or _PAGES, filters=self._filters, merge=self._merge, name=file.name,
            read=self._read, rerank=self._rerank,
        )  # fmt: skip


class MultimodalRetriever(PictureRetriever):
    """The search of words, code and page images in one ranking as a LlamaIndex retriever. Thread-safe.

    A `QueryBundle` with an `image_path` is answered as by `PictureRetriever`. The metadata are the same. It raises the
    errors of `DocMind.multimodal_search`.
    """

    def __init__(self, docmind: DocMind | Client, *, lists: Sequence[ListName] | None = None, **options: Any) -> None:
        """Search all lists of `docmind`, or only `lists`; `options` are those of `PictureRetriever`."""
        super().__init__(docmind, **options)
        self._lists = lists

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if query_bundle.image_path is not None:
            return super()._retrieve(query_bundle)
        return _nodes_of(
            self._docmind.multimodal_search(
                query_bundle.query_str, k=self._k, filters=self._filters, merge=self._merge, lists=self._lists,
                rerank=self._rerank,
            )
        )  # fmt: skip


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
        "page_no": hit.page_no,
        "page_id": hit.page_id,
        "modality": hit.modality,
        "language": hit.language,
        "box": _around(hit.boxes),
        "boxes": [list(box) for box in hit.boxes],
        "page_width": hit.page_width,
        "page_height": hit.page_height,
        "heading": hit.heading,
        "chunk_index": hit.chunk_index,
        "text_source": hit.text_source,
        "ocr_confidence": hit.ocr_confidence,
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


def _around(boxes: Sequence[Box]) -> list[float] | None:
    """Return the smallest rectangle that holds all boxes, None where there are none."""
    if not boxes:
        return None
    left, top = min(box.x for box in boxes), min(box.y for box in boxes)
    right, bottom = max(box.x + box.w for box in boxes), max(box.y + box.h for box in boxes)
    return [left, top, right - left, bottom - top]
