"""Nodes, and the vectors that live as long as a node has their content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from docmind.documents.catalog import Catalog
from docmind.documents.chunk_store import NodeRecord, NodeStore, pack, unpack_tokens
from docmind.errors import DamagedError
from docmind.records.documents import ArtifactRef, DocumentInfo
from docmind.storage.database import Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "vault.db", bytes(32))
    for doc_id in ("one", "two"):
        info = DocumentInfo(doc_id, f"{doc_id}.pdf", "", "pdf", "reading", 1, 0, 0, "", 1, 1)
        Catalog(database).begin_document(info, ArtifactRef("1" * 64, ".pdf.enc"))
    yield database
    database.close()


@pytest.fixture
def store(database: Database) -> NodeStore:
    return NodeStore(database)


def node(name: str, doc_id: str = "one", page_no: int = 1, ordinal: int = 0, content: bytes = b"x") -> NodeRecord:
    return NodeRecord(name, doc_id, page_no, ordinal, 0, 5, "text", "en", content)


def vectors_in(database: Database) -> int:
    row = database.one("SELECT count(*) FROM vectors")
    return row[0] if row else -1


def test_nodes_come_back_as_they_were_in_page_order(store: NodeStore) -> None:
    nodes = [node("c", page_no=2), node("b", ordinal=1), node("a"), node("d", "two")]
    store.put(nodes)
    assert [found.node_id for found in store.nodes_of("one")] == ["a", "b", "c"]
    assert [found.node_id for found in store.of_page("one", 1)] == ["a", "b"]
    assert store.nodes(["d", "none", "a"]) == {"d": nodes[3], "a": nodes[2]}
    assert list(store.nodes(["d", "a"])) == ["d", "a"]


def test_putting_twice_is_putting_once(store: NodeStore) -> None:
    store.put([node("a")])
    store.put([node("a", ordinal=3)])
    assert [found.ordinal for found in store.nodes_of("one")] == [3]


def test_vectors_are_kept_by_content_and_model(store: NodeStore) -> None:
    store.put([node("a", content=b"x"), node("b", content=b"y")])
    vector = np.linspace(-1, 1, 384, dtype=np.float32)
    store.put_vectors("model:1", {b"x": vector})
    store.put_vectors("model:2", {b"x": -vector})
    found = store.vectors("model:1", [b"x", b"y", b"x"])
    assert list(found) == [b"x"]
    assert found[b"x"].dtype == np.float32
    np.testing.assert_allclose(found[b"x"], vector, atol=5e-4)  # float16 keeps three digits
    np.testing.assert_allclose(store.vectors("model:2", [b"x"])[b"x"], -vector, atol=5e-4)
    assert store.vectors("model:3", [b"x"]) == {}


def test_no_vector_is_kept_for_a_node_that_is_not_here(store: NodeStore, database: Database) -> None:
    store.put_vectors("model", {b"x": np.ones(3, np.float32)})
    assert vectors_in(database) == 0


def test_replacing_keeps_shared_vectors_and_drops_unused_ones(store: NodeStore, database: Database) -> None:
    store.put([node("a", content=b"x"), node("b", content=b"y"), node("c", "two", content=b"z")])
    store.put_vectors("model", {key: np.ones(3, np.float32) for key in (b"x", b"y", b"z")})
    store.replace("one", [node("d", content=b"y"), node("e", content=b"w")])
    assert [found.node_id for found in store.nodes_of("one")] == ["d", "e"]
    assert set(store.vectors("model", [b"x", b"y", b"z"])) == {b"y", b"z"}


def test_deleting_a_document_takes_its_vectors_of_every_model(store: NodeStore, database: Database) -> None:
    store.put([node("a", content=b"x"), node("b", content=b"y"), node("c", "two", content=b"y")])
    for model in ("model:1", "model:2"):
        store.put_vectors(model, {key: np.ones(3, np.float32) for key in (b"x", b"y")})
    Catalog(database).erase_document("one")
    assert store.nodes_of("one") == []
    assert vectors_in(database) == 2
    assert set(store.vectors("model:1", [b"x", b"y"])) == {b"y"}
    Catalog(database).erase_document("two")
    assert vectors_in(database) == 0


# --- token vectors ----------------------------------------------------------------------------------------------------

ROWS = np.arange(-96, 96, dtype=np.int8).reshape(6, 32)


def tokens_in(database: Database) -> int:
    row = database.one("SELECT count(*) FROM tokens")
    return row[0] if row else -1


@pytest.mark.parametrize("count", [0, 1, 6])
def test_packed_token_vectors_come_back(count: int) -> None:
    packed = pack(ROWS[:count])
    assert packed[:4] == bytes([1, 32, count, 0])
    found = unpack_tokens(packed)
    assert (found.dtype, found.shape) == (np.dtype(np.int8), (count, 32))
    assert np.array_equal(found, ROWS[:count])


@pytest.mark.parametrize(
    "data",
    [b"", b"\x01\x20", pack(ROWS)[:-7], b"\x02" + pack(ROWS)[1:], b"\x01\x20\x05\x00" + pack(ROWS)[4:], bytes(40)],
)
def test_damaged_token_vectors_are_refused(data: bytes) -> None:
    with pytest.raises(DamagedError):
        unpack_tokens(data)


def test_token_vectors_live_beside_the_vectors(store: NodeStore) -> None:
    store.put([node("a", content=b"x"), node("b", content=b"y")])
    store.put_vectors("model", {b"x": np.ones(3, np.float32)})
    store.put_tokens("model:t", {b"x": ROWS, b"y": ROWS, b"z": ROWS})
    found = store.tokens("model:t", [b"x", b"y", b"z"])
    assert list(found) == [b"x"], "none without a node and a vector"
    assert np.array_equal(found[b"x"], ROWS)
    assert store.tokens("other:t", [b"x"]) == {}
    assert store.without_tokens("model:t", [b"x", b"y", b"x"]) == {b"y"}


def test_token_vectors_go_with_the_vectors_that_nobody_has(store: NodeStore, database: Database) -> None:
    store.put([node("a", content=b"x"), node("b", content=b"y"), node("c", "two", content=b"y")])
    for model in ("model:1", "model:2"):
        store.put_vectors(model, {key: np.ones(3, np.float32) for key in (b"x", b"y")})
        store.put_tokens(model, {b"x": ROWS, b"y": ROWS})
    store.put_vectors("model:1", {b"x": np.zeros(3, np.float32)})  # replaced, not dropped
    assert tokens_in(database) == 4
    store.replace("one", [node("d", content=b"y")])
    assert store.tokens("model:1", [b"x", b"y"]).keys() == {b"y"}
    Catalog(database).erase_document("one")
    assert tokens_in(database) == 2
    Catalog(database).erase_document("two")
    assert tokens_in(database) == 0
