"""A vault asked by stock LlamaIndex programs: query engines, fusion and indices over a fake language model."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core import SimpleDirectoryReader, VectorStoreIndex
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import MetadataMode, QueryBundle

from conftest import ROOT
from desks import environment_of, opened, text_pdf
from docmind.api.llama_index import (
    FileReader,
    MultimodalRetriever,
    PictureRetriever,
    TextEmbedding,
    TextRetriever,
    WindowParser,
)
from docmind.application import DocMind
from docmind.config import ReadingSettings
from docmind.errors import ConfigError, CorruptFileError, NotFoundError, UnsupportedFileError, VaultError
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters
from docmind_testkit import FakeEmbedder
from loops import run_async
from sheets import jpeg, png, sheet

HERONS = Upload("herons.pdf", text_pdf(["Herons nest in tall poplar trees", "Their eggs are pale blue"]))
BREAD = Upload("bread.txt", b"Bake the rye bread slowly for ninety minutes.\n" * 3)
SHEET = Upload("sheet.png", png(sheet(1)))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with opened(tmp_path_factory.mktemp("llama"), reading=ReadingSettings(ocr="off", workers=1)) as desk:
        assert [result.status for result in desk.add([HERONS, BREAD, SHEET])] == ["added", "added", "added"]
        desk.lookalike.catch_up()
        yield desk


# --- retrievers -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_stock_query_engine_answers_from_the_vault(desk: DocMind) -> None:
    engine = RetrieverQueryEngine.from_args(TextRetriever(desk, k=2), llm=MockLLM())
    response = engine.query("pale blue eggs")
    hits = desk.search(Query("pale blue eggs", k=2)).hits
    assert [node.node_id for node in response.source_nodes] == [hit.node_id for hit in hits]
    assert [node.score for node in response.source_nodes] == [hit.score for hit in hits]
    first = response.source_nodes[0]
    assert first.text == "Their eggs are pale blue"
    assert (first.metadata["document"], first.metadata["page_no"]) == ("herons.pdf", 2)
    assert first.metadata["doc_id"] == desk.documents.find("herons.pdf").doc_id
    # MockLLM repeats its prompt: the passage was read with its document and page, and without the rest.
    assert "document: herons.pdf\npage_no: 2\n\nTheir eggs are pale blue" in str(response)
    assert "page_width" not in str(response)


@pytest.mark.slow
def test_a_box_encloses_the_boxes_of_the_passage(desk: DocMind) -> None:
    [first] = TextRetriever(desk, k=1).retrieve("pale blue eggs")
    x, y, w, h = first.metadata["box"]
    assert first.metadata["boxes"]
    for left, top, width, height in first.metadata["boxes"]:
        assert x <= left < left + width <= x + w + 1e-6
        assert y <= top < top + height <= y + h + 1e-6
    assert x + w <= first.metadata["page_width"]
    assert y + h <= first.metadata["page_height"]
    assert first.metadata["degraded"] == []


@pytest.mark.slow
def test_filters_and_keys_reach_the_search(desk: DocMind) -> None:
    only = Filters(doc_ids=(desk.documents.find("bread.txt").doc_id,))
    assert {node.metadata["document"] for node in TextRetriever(desk, filters=only).retrieve("eggs")} == {"bread.txt"}
    documents = [node.metadata["document"] for node in TextRetriever(desk, dedup_key="doc_id").retrieve("eggs bread")]
    assert len(documents) == len(set(documents)) >= 2


def test_asynchronous_retrieval_gives_the_same(desk: DocMind) -> None:
    for retriever in (TextRetriever(desk), MultimodalRetriever(desk)):
        found = run_async(retriever.aretrieve("pale blue eggs"))
        assert [node.node_id for node in found] == [node.node_id for node in retriever.retrieve("pale blue eggs")]
        assert found


def test_stock_fusion_combines_retrievers(desk: DocMind) -> None:
    fused = QueryFusionRetriever(
        [TextRetriever(desk), MultimodalRetriever(desk)], llm=MockLLM(), num_queries=1, similarity_top_k=3,
        use_async=True,
    )  # fmt: skip
    assert fused.retrieve("pale blue eggs")[0].text == "Their eggs are pale blue"


def test_multimodal_nodes_are_the_hits_of_the_search(desk: DocMind) -> None:
    nodes = MultimodalRetriever(desk, k=3, lists=["text"]).retrieve("pale blue eggs")
    hits = desk.search(Query("pale blue eggs", k=3, lists=("text",))).hits
    assert [(node.node_id, node.score) for node in nodes] == [(hit.node_id, hit.score) for hit in hits]
    assert nodes[0].metadata["source"] == "text"
    assert nodes[0].metadata["found"] is None


@pytest.mark.slow
@pytest.mark.parametrize("retriever", [PictureRetriever, MultimodalRetriever])
def test_a_picture_finds_its_page(tmp_path: Path, desk: DocMind, retriever: type[PictureRetriever]) -> None:
    shot = tmp_path / "shot.jpg"
    shot.write_bytes(jpeg(sheet(1).crop((100, 100, 700, 800))))
    engine = RetrieverQueryEngine.from_args(retriever(desk, k=2, read_picture=False), llm=MockLLM())
    first = engine.query(QueryBundle("", image_path=str(shot))).source_nodes[0]
    assert (first.metadata["document"], first.metadata["page_no"]) == ("sheet.png", 1)
    assert first.metadata["found"] is True
    assert first.metadata["source"] == "lookalike"
    assert len(first.metadata["quad"]) == 4
    assert first.node_id == first.metadata["page_id"]  # it was found by its image: the page has no words


def test_errors_are_those_of_docmind(tmp_path: Path, desk: DocMind) -> None:
    with pytest.raises(ConfigError, match="nothing to search for"):
        TextRetriever(desk).retrieve(" ")
    with pytest.raises(ConfigError, match="no picture"):
        PictureRetriever(desk).retrieve("words alone")
    with pytest.raises(NotFoundError, match="gone"):
        PictureRetriever(desk).retrieve(QueryBundle("", image_path=str(tmp_path / "gone.png")))
    (tmp_path / "noise.png").write_bytes(bytes(range(256)))
    with pytest.raises((CorruptFileError, UnsupportedFileError)):
        run_async(PictureRetriever(desk).aretrieve(QueryBundle("", image_path=str(tmp_path / "noise.png"))))
    closed = opened(tmp_path)
    closed.close()
    with pytest.raises(VaultError, match="closed"):
        TextRetriever(closed).retrieve("eggs")


# --- reader, node parser and embedding together -----------------------------------------------------------------------


@pytest.mark.slow
def test_a_stock_index_over_files_finds_the_page(tmp_path: Path) -> None:
    (tmp_path / "herons.pdf").write_bytes(HERONS.data)
    (tmp_path / "bread.txt").write_bytes(BREAD.data)
    embedding = TextEmbedding(FakeEmbedder())
    with FileReader(ReadingSettings(ocr="off", workers=1)) as reader:
        pages = SimpleDirectoryReader(str(tmp_path), file_extractor={".pdf": reader, ".txt": reader}).load_data()
    index = VectorStoreIndex.from_documents(
        pages, transformations=[WindowParser(FakeEmbedder())], embed_model=embedding
    )
    response = index.as_query_engine(llm=MockLLM(), similarity_top_k=1).query("pale blue eggs")
    [first] = response.source_nodes
    assert first.text == "Their eggs are pale blue"
    assert (first.metadata["document"], first.metadata["page_no"]) == ("herons.pdf", 2)


@pytest.mark.slow
def test_nodes_made_outside_have_the_vectors_of_the_vault(tmp_path: Path, desk: DocMind) -> None:
    (tmp_path / "herons.pdf").write_bytes(HERONS.data)
    with FileReader(ReadingSettings(ocr="off", workers=1)) as reader:
        pages = reader.load_data(tmp_path / "herons.pdf")
    embedder = FakeEmbedder()
    pipeline = IngestionPipeline(transformations=[WindowParser(embedder), TextEmbedding(embedder)])
    nodes = pipeline.run(documents=pages)
    rows = desk.vault.nodes.nodes_of(desk.documents.find("herons.pdf").doc_id)
    assert [node.get_content(MetadataMode.NONE) for node in nodes] == [page.text for page in pages]
    assert [node.metadata["content_hash"] for node in nodes] == [row.content_hash.hex() for row in rows]
    stored = desk.vault.nodes.vectors(embedder.fingerprint, [row.content_hash for row in rows])
    for node, row in zip(nodes, rows, strict=True):
        assert node.embedding == pytest.approx(stored[row.content_hash].tolist(), abs=1e-3)  # stored as float16
    again = pipeline.run(documents=pages)  # from the cache of the pipeline
    assert [(node.node_id, node.embedding) for node in again] == [(node.node_id, node.embedding) for node in nodes]


# --- light and documented ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_nothing_loads_llama_index_before_it_is_needed() -> None:
    code = (
        "import docmind, docmind.application, docmind.cli, sys;"
        "sys.exit(any(name.startswith('llama_index') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


@pytest.mark.slow
def test_the_example_of_the_user_guide_runs(tmp_path: Path) -> None:
    section = (ROOT / "docs" / "user-guide.md").read_text("utf-8").partition("## From a LlamaIndex program")[2]
    examples = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len(examples) == 2
    with opened(tmp_path) as desk:
        desk.add([HERONS])
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "herons.pdf").write_bytes(HERONS.data)
    environment = {**os.environ, **environment_of(tmp_path)}
    for example in examples:
        ended = subprocess.run(
            [sys.executable, "-c", example], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=150
        )
        assert ended.returncode == 0, ended.stderr
        assert "herons.pdf 2" in ended.stdout
