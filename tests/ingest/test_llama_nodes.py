"""The windows of pages as LlamaIndex nodes: exact spans, stable ids, rows and vectors of the vault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from llama_index.core.schema import Document, MetadataMode, NodeRelationship, TextNode

from desks import opened, report
from docmind.application import DocMind
from docmind.embedding.chunking import embedded_text, label_of, nodes_of_page
from docmind.ingest.llama_nodes import Pipeline, WindowParser, record_of
from docmind_testkit import FakeEmbedder

FAKE = FakeEmbedder()
ABOUT = {"doc_id": "d" * 32, "document": "notes_2022.pdf", "title": "A title of real words", "kind": "pdf"}


def page_of(text: str, page_no: int = 1, **more: object) -> Document:
    return Document(id_=f"page-{page_no}", text=text, metadata={**ABOUT, "page_no": page_no, "language": "en", **more})


def parsed(*pages: Document, **fields: object) -> list[TextNode]:
    nodes = WindowParser(FAKE, **fields).get_nodes_from_documents(pages)
    return [node for node in nodes if isinstance(node, TextNode)]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[DocMind]:
    with opened(tmp_path) as desk:
        yield desk


def test_no_window_crosses_a_page_and_all_words_are_kept() -> None:
    texts = [" ".join(f"p{page}w{number}" for number in range(500)) for page in (1, 2)]
    nodes = parsed(*(page_of(text, number) for number, text in enumerate(texts, 1)))
    for number, text in enumerate(texts, 1):
        windows = [node.text for node in nodes if node.metadata["page_no"] == number]
        assert len(windows) == 3
        assert " ".join(windows) == text


def test_spans_are_exact_where_the_page_repeats_itself() -> None:
    """LlamaIndex searches for each node's text and would find the second window one word after the first."""
    text = "again " * 440
    nodes = parsed(page_of(text))
    assert [(node.start_char_idx, node.end_char_idx) for node in nodes] == [(0, 1319), (1320, 2639)]
    assert all(node.text == text[node.start_char_idx : node.end_char_idx] for node in nodes)


def test_nodes_know_their_page_and_their_neighbours() -> None:
    first, second, other = parsed(page_of(" ".join(f"w{n}" for n in range(300))), page_of("another page", 2))
    assert first.ref_doc_id == second.ref_doc_id == "page-1"
    assert other.ref_doc_id == "page-2"
    assert first.next_node is not None
    assert first.next_node.node_id == second.node_id
    assert NodeRelationship.NEXT not in second.relationships
    alone = parsed(page_of("w " * 300), include_prev_next_rel=False)
    assert all(list(node.relationships) == [NodeRelationship.SOURCE] for node in alone)


def test_only_the_embedded_text_begins_with_the_label() -> None:
    [node] = parsed(page_of("Net  sales\nrose"))
    assert node.get_content(MetadataMode.NONE) == "Net  sales\nrose"
    assert node.get_content(MetadataMode.EMBED) == "notes 2022. A title of real words. Net  sales\nrose"
    assert node.get_content(MetadataMode.LLM) == "notes_2022.pdf, 1. Net  sales\nrose"


@pytest.mark.slow
def test_a_node_is_the_row_of_the_vault(desk: DocMind) -> None:
    (result,) = desk.add([report("heron", 2)])
    assert result.doc_id
    info = desk.documents.get(result.doc_id)
    text = " ".join(f"w{number}" for number in range(400))
    about = {"doc_id": info.doc_id, "document": info.document, "title": info.title, "kind": info.kind}
    rows = [record_of(node) for node in parsed(page_of(text, 2, **about))]
    wanted = list(nodes_of_page(info, label_of(info, FAKE), FAKE, 2, "en", text))
    assert rows == [record for record, _ in wanted]
    assert [node.metadata["content_hash"] for node in parsed(page_of(text, 2, **about))] == [
        record.content_hash.hex() for record, _ in wanted
    ]


def test_pages_of_other_readers_are_split_too() -> None:
    plain = Document(id_="x", text="Herons nest", metadata={"file_name": "a_b.txt", "page_label": "7"})
    [node] = parsed(plain)
    assert node.text == "Herons nest"
    assert node.metadata["label"] == "a b"
    assert node.metadata["page_label"] == "7"
    assert "page_label" not in node.get_content(MetadataMode.EMBED)
    [bare] = parsed(Document(id_="y", text="Herons nest"))
    assert bare.node_id != node.node_id
    assert parsed(Document(text=" \n ")) == []


@pytest.mark.slow
def test_the_vault_stores_the_embeddings_of_the_nodes(desk: DocMind) -> None:
    (result,) = desk.add([report("heron", 2)])
    assert result.doc_id
    info, pages = desk.documents.get(result.doc_id), desk.vault.catalog.pages_of(result.doc_id)
    rows = desk.vault.nodes.nodes_of(result.doc_id)
    stored = desk.vault.nodes.vectors(FAKE.fingerprint, [row.content_hash for row in rows])
    with desk.vault.database.transaction():
        desk.vault.nodes.replace(result.doc_id, [])  # and their vectors
    pipeline = Pipeline([info], desk.vault.nodes, FAKE, FAKE)
    again, made = pipeline.run(pages)
    assert again == rows
    assert made.vectors.keys() == made.tokens.keys() == stored.keys()
    for row in rows:
        embedded = FAKE.embed_documents([embedded_text(label_of(info, FAKE), _text_of(desk, row.page_no))])[0]
        assert np.array_equal(made.vectors[row.content_hash], embedded)
        assert np.array_equal(embedded.astype("<f2").astype(np.float32), stored[row.content_hash])
    with desk.vault.database.transaction():
        desk.vault.nodes.put(again)
        pipeline.keep(made)
    assert not pipeline.run(pages)[1].vectors  # those that are stored are not made again


def _text_of(desk: DocMind, page_no: int) -> str:
    return desk.documents.page(desk.documents.all()[0].doc_id, page_no).text
