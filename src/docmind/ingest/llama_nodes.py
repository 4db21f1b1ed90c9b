"""LlamaIndex nodes: the steps from a document's pages to windows with vectors.

`WindowParser` is also for programs that use LlamaIndex. Importing LlamaIndex takes a second: only ingestion imports
this module; searching does not need it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from pydantic import Field, PrivateAttr

from docmind.blocks import unpack
from docmind.documents import NodeRecord, NodeStore, PageRecord, figure_words
from docmind.embedding import (
    FigureText,
    TextEmbedder,
    TokenEmbedder,
    embedded_text,
    label_of,
    nodes_of_page,
    prefix_of,
)
from docmind.records.documents import DocumentInfo
from docmind.runtime import ALONE

with ALONE:
    from llama_index.core.ingestion import IngestionPipeline
    from llama_index.core.node_parser import NodeParser
    from llama_index.core.schema import (
        BaseNode,
        Document,
        NodeRelationship,
        RelatedNodeInfo,
        TextNode,
        TransformComponent,
    )

_FOR_MODELS = ["document", "page_no"]  # the metadata that a language model reads before a window


class WindowParser(NodeParser):
    """A LlamaIndex node parser that splits pages into windows of about 220 word pieces, cut at white space.

    Each document handed in is one page, as `FileReader` yields them, and no window crosses it. Metadata that it reads,
    each optional: `doc_id`, `document` or `file_name`, `title`, `kind`, `page_no`, `language`, `blocks`, the packed
    structure of the page in hex, by which tables and code become nodes of their own, and `figures`, start and end of
    the words of each on the page, and its words that stand nowhere on it. A node has the verbatim text of its window,
    its span in the page, and an id that depends on both alone, so `id_func` is not used. Its content for embedding
    begins with `label`, the document's name in at most 32 word pieces.
    """

    embedder: Any = Field(exclude=True)
    fingerprint: str = ""
    _labels: dict[tuple[str, str], str] = PrivateAttr(default_factory=dict)

    def __init__(self, embedder: TextEmbedder, **fields: Any) -> None:
        """Set up for a model, whose word pieces are counted; `fields` are those of `NodeParser`."""
        super().__init__(**{"embedder": embedder, "fingerprint": embedder.fingerprint, **fields})

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex writes down for this class."""
        return "DocMindWindowParser"

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **_: Any) -> list[BaseNode]:
        return [window for page in nodes for window in self._windows(page)]

    def _windows(self, page: BaseNode) -> list[TextNode]:
        known = page.metadata
        info = _document_of(page)
        label = self._label(info)
        page_no, language, text = int(known.get("page_no", 1)), str(known.get("language", "")), page.get_content()
        blocks = unpack(bytes.fromhex(known.get("blocks", "")), len(text))
        figures = [FigureText(*one) for one in known.get("figures", ())]
        source = page.as_related_node_info()
        made = []
        for record, _ in nodes_of_page(info, label, self.embedder, page_no, language, text, blocks, figures):
            own = {
                "doc_id": record.doc_id,
                "document": info.document,
                "label": label,
                "page_no": page_no,
                "ordinal": record.ordinal,
                "modality": record.modality,
                "language": language,
                "content_hash": record.content_hash.hex(),
                "context": record.context,
            }
            keys = known.keys() | own.keys()
            made.append(
                TextNode(
                    id_=record.node_id,
                    text=text[record.start : record.end],
                    metadata=own,
                    start_char_idx=record.start,
                    end_char_idx=record.end,
                    relationships={NodeRelationship.SOURCE: source},
                    excluded_embed_metadata_keys=sorted(keys - {"label", *(["context"] if record.context else [])}),
                    excluded_llm_metadata_keys=sorted(keys - set(_FOR_MODELS)),
                    metadata_template="{value}",
                    metadata_separator=", ",
                    text_template="{metadata_str}. {content}",
                )
            )
        return made

    def _label(self, info: DocumentInfo) -> str:
        key = info.document, info.title
        if key not in self._labels:
            self._labels[key] = label_of(info, self.embedder)
        return self._labels[key]

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:
        """Link the nodes, and keep their spans: LlamaIndex would search for them, and find repeated text too early."""
        spans = [(node.start_char_idx, node.end_char_idx) for node in nodes if isinstance(node, TextNode)]
        linked = super()._postprocess_parsed_nodes(nodes, parent_doc_map)
        for node, (start, end) in zip(linked, spans, strict=True):
            assert isinstance(node, TextNode)
            node.start_char_idx, node.end_char_idx = start, end
            node.metadata = _without_page(node.metadata)  # LlamaIndex adds all that is known of the page
            for related in node.relationships.values():
                assert isinstance(related, RelatedNodeInfo)
                related.metadata = _without_page(related.metadata)
        return linked


def _without_page(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return metadata without what says all of a page is made of, which each of its windows would repeat."""
    return {name: value for name, value in metadata.items() if name not in ("blocks", "figures")}


def _document_of(page: BaseNode) -> DocumentInfo:
    """Return what a page's metadata say of its document; what is missing comes from the page itself."""
    known = page.metadata
    return DocumentInfo(
        doc_id=str(known.get("doc_id") or page.node_id),
        document=str(known.get("document") or known.get("file_name") or ""),
        title=str(known.get("title", "")),
        kind=str(known.get("kind", "")),
        status="reading",
        pages=0,
        pages_done=0,
        ocr_pages=0,
        language="",
        bytes=0,
        added_at_ms=0,
    )


def record_of(node: BaseNode) -> NodeRecord:
    """Return the row that the vault stores for a node of `WindowParser`."""
    assert isinstance(node, TextNode)
    assert node.start_char_idx is not None
    assert node.end_char_idx is not None
    known = node.metadata
    return NodeRecord(
        node_id=node.node_id,
        doc_id=known["doc_id"],
        page_no=known["page_no"],
        ordinal=known["ordinal"],
        start=node.start_char_idx,
        end=node.end_char_idx,
        modality=known["modality"],
        language=known["language"],
        content_hash=_hash_of(node),
        context=known["context"],
    )


class StoredEmbedding(TransformComponent):
    """The component that gives each node its vector: from the vault if it is there, else from the model.

    With `tokens` the model makes token vectors in the same run.
    """

    embedder: Any
    tokens: Any  # the same model, or None
    store: Any
    _made: dict[bytes, np.ndarray] = PrivateAttr(default_factory=dict)

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        by_hash = {_hash_of(node): node for node in nodes}
        vectors = self.store.vectors(self.embedder.fingerprint, by_hash)
        missing = by_hash.keys() - vectors.keys()
        if self.tokens is not None:
            missing |= self.store.without_tokens(self.tokens.token_fingerprint, by_hash)
        wanted = [key for key in by_hash if key in missing]
        if wanted:
            texts = [_embedded(by_hash[key]) for key in wanted]
            fresh, tokens = self._embed(texts)
            vectors.update(zip(wanted, fresh, strict=True))
            self._made.update(zip(wanted, tokens, strict=True))
        for node in nodes:
            node.embedding = vectors[_hash_of(node)].tolist()
        return nodes

    def _embed(self, texts: list[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return vectors (n, dim) float32, and tokens (tokens, token dim) int8 of each text.

        Tokens are empty where late interaction is off.
        """
        if self.tokens is not None:
            return self.tokens.embed_with_tokens(texts)
        return self.embedder.embed_documents(texts), [np.zeros((0, 0), np.int8)] * len(texts)

    def take(self) -> dict[bytes, np.ndarray]:
        """Return the token vectors made since the last call, by content hash of what was embedded."""
        made, self._made = self._made, {}
        return made


def _embedded(node: BaseNode) -> str:
    return embedded_text(prefix_of(node.metadata["label"], node.metadata["context"]), node.get_content())


def _hash_of(node: BaseNode) -> bytes:
    return bytes.fromhex(node.metadata["content_hash"])


class Made(NamedTuple):
    """New vectors for texts that the vault did not know, by content hash: those of `node.embedding`.

    `vectors` (dim,) float32; `tokens` (tokens, token dim) int8, empty where late interaction is off.
    """

    vectors: dict[bytes, np.ndarray]
    tokens: dict[bytes, np.ndarray]

    def of(self, hashes: Collection[bytes]) -> Made:
        """Return those of these texts."""
        return Made(*({key: one for key, one in part.items() if key in hashes} for part in self))


def keep_vectors(store: NodeStore, embedder: TextEmbedder, tokens: TokenEmbedder | None, made: Made) -> None:
    """Store new vectors in the vault, after their nodes."""
    store.put_vectors(embedder.fingerprint, made.vectors)
    if tokens is not None:
        store.put_tokens(tokens.token_fingerprint, made.tokens)


class Pipeline:
    """The steps from pages of documents to nodes with vectors: a LlamaIndex `IngestionPipeline` of two components.

    Run it over successive batches of pages in page order. Vectors that the vault holds already are not made again.
    """

    def __init__(
        self,
        documents: Sequence[DocumentInfo],
        nodes: NodeStore,
        embedder: TextEmbedder,
        tokens: TokenEmbedder | None = None,
    ) -> None:
        """Build the pipeline; `tokens` is the same model, where its token vectors are stored too."""
        self._store, self._embedder, self._tokens = nodes, embedder, tokens
        self.known: Counter[str] = Counter()
        """How many passages of each document had a vector that was there already, since the pipeline was built."""

        self._about = {
            info.doc_id: {"doc_id": info.doc_id, "document": info.document, "title": info.title, "kind": info.kind}
            for info in documents
        }
        self._embed = StoredEmbedding(embedder=embedder, tokens=tokens, store=nodes)
        self._pipeline = IngestionPipeline(
            transformations=[WindowParser(embedder, include_prev_next_rel=False), self._embed],
            disable_cache=True,
            docstore=None,
        )
        self._cut = IngestionPipeline(
            transformations=[WindowParser(embedder, include_prev_next_rel=False)], disable_cache=True, docstore=None
        )

    def run(self, pages: Sequence[PageRecord], *, later: bool = False) -> tuple[list[NodeRecord], Made]:
        """Return the nodes of these pages, and the vectors made for those that the vault does not hold yet.

        Windows of pages that are embedded later get none (`docmind.ingest.later`), with `later` those on all sheets.
        """

        def is_put_off(page: PageRecord) -> bool:
            return page.is_embedded_later or (later and page.is_sheet)

        nodes = self._nodes_of(self._pipeline, [page for page in pages if not is_put_off(page)])
        tokens = self._embed.take()
        by_hash = {_hash_of(node): node for node in nodes}
        vectors = {key: np.array(by_hash[key].embedding, np.float32) for key in tokens}
        new = set(tokens)
        for node in nodes:
            if (key := _hash_of(node)) in new:
                new.remove(key)
            else:
                self.known[node.metadata["doc_id"]] += 1
        nodes += self._nodes_of(self._cut, [page for page in pages if is_put_off(page)])
        return [record_of(node) for node in nodes], Made(vectors, tokens)

    def _nodes_of(self, pipeline: IngestionPipeline, pages: Sequence[PageRecord]) -> list[BaseNode]:
        documents = [
            Document(
                id_=page.page_id,
                text=page.text,
                metadata={
                    **self._about[page.doc_id],
                    "page_no": page.page_no,
                    "language": page.language,
                    "blocks": page.blocks.hex(),
                    "figures": [[one.start, one.end, figure_words(one, page.text)] for one in page.figures],
                },
            )
            for page in pages
            if page.text.strip() or page.figures
        ]
        return list(pipeline.run(documents=documents, show_progress=False)) if documents else []

    def keep(self, made: Made) -> None:
        """Store new vectors in the vault, after their nodes."""
        keep_vectors(self._store, self._embedder, self._tokens, made)
