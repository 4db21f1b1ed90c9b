"""One suite over LangGraph's store in memory and ours, with sqlite-vec and by brute force; then our additions."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from docmind.errors import ConfigError, DocMindError, IndexEngineError, StateRefusedError
from docmind.memory.store import MemoryStore
from docmind.storage.database import Database
from docmind_testkit import FakeEmbedder
from each import each_of
from loops import run_async

KEY = bytes(range(32))
Open = Callable[..., MemoryStore]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "vault.db", KEY)
    yield opened
    opened.close()


def reference(embedder: FakeEmbedder) -> InMemoryStore:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[float(number) for number in row] for row in embedder.embed_documents(texts)]

    return InMemoryStore(index={"dims": embedder.dim, "embed": embed, "fields": ["text"]})


@pytest.fixture(params=["LangGraph's", "sqlite-vec", "brute force"])
def store(request: pytest.FixtureRequest, database: Database) -> BaseStore:
    if request.param == "LangGraph's":
        return reference(FakeEmbedder())
    made = MemoryStore(database, FakeEmbedder(), vectors=request.param == "sqlite-vec")
    assert [one.stage for one in made.degraded] == ([] if request.param == "sqlite-vec" else ["sqlite-vec"])
    return made


# --- the contract -----------------------------------------------------------------------------------------------------


def test_what_is_put_is_got_until_it_is_deleted(store: BaseStore) -> None:
    store.put(("vault",), "a", {"text": "The budget is 12,000 €", "n": 1, "deep": {"list": [1, None, True]}})
    item = store.get(("vault",), "a")
    assert item is not None
    assert (item.namespace, item.key) == (("vault",), "a")
    assert item.value == {"text": "The budget is 12,000 €", "n": 1, "deep": {"list": [1, None, True]}}
    assert item.updated_at >= item.created_at
    assert store.get(("vault",), "b") is None
    assert store.get(("vault", "a"), "a") is None
    store.put(("vault",), "a", {"text": "another"})
    changed = store.get(("vault",), "a")
    assert changed is not None
    assert changed.value == {"text": "another"}
    store.delete(("vault",), "a")
    store.delete(("vault",), "never there")
    assert store.get(("vault",), "a") is None
    assert store.search(("vault",), query="another") == []


def test_a_batch_reads_the_state_before_it_and_the_last_put_wins(store: BaseStore) -> None:
    store.put(("vault",), "a", {"text": "old"})
    results = store.batch(
        [
            PutOp(("vault",), "a", {"text": "lost"}),
            GetOp(("vault",), "a"),
            PutOp(("vault",), "a", {"text": "new"}),
            SearchOp(("vault",), query="old"),
            PutOp(("vault",), "b", {"text": "gone"}),
            PutOp(("vault",), "b", None),
        ]
    )
    assert results[0] is results[2] is results[4] is results[5] is None
    assert results[1].value == {"text": "old"}  # type: ignore[union-attr]
    assert [item.value for item in results[3]] == [{"text": "old"}]  # type: ignore[union-attr]
    assert store.get(("vault",), "a").value == {"text": "new"}  # type: ignore[union-attr]
    assert store.get(("vault",), "b") is None


def test_a_prefix_is_of_labels_and_not_of_letters(store: BaseStore) -> None:
    for namespace in (("t", "1"), ("t", "1", "x"), ("t", "11"), ("t",), ("t,1",), ('t","1',), ("T", "1"), ("t]",)):
        store.put(namespace, "k", {"text": "word", "at": list(namespace)})
    for prefix, wanted in [
        (("t", "1"), {("t", "1"), ("t", "1", "x")}),
        (("t",), {("t", "1"), ("t", "1", "x"), ("t", "11"), ("t",)}),
        (('t","1',), {('t","1',)}),
        (("t", "2"), set()),
    ]:
        for query in (None, "word"):
            assert {item.namespace for item in store.search(prefix, query=query, limit=50)} == wanted
    assert len(store.search((), limit=50)) == 8


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"kind": "note"}, {"a", "b"}),
    ({"kind": "note", "n": 2}, {"b"}),
    ({"n": {"$gt": 1}}, {"b", "c"}),
    ({"n": {"$gte": 2, "$lt": 3}}, {"b"}),
    ({"n": {"$lte": 1.0}}, {"a"}),
    ({"n": {"$eq": 3}}, {"c"}),
    ({"kind": {"$ne": "note"}}, {"c"}),
    ({"deep": {"x": 1}}, {"a"}),
    ({"list": [1, 2]}, {"a", "c"}),
    ({"list": [1]}, set()),
    ({"missing": None}, {"a", "b", "c"}),
]


@each_of("wanted, keys", FILTERS)
def test_filters(store: BaseStore, wanted: dict[str, Any], keys: set[str]) -> None:
    store.put(("v",), "a", {"text": "one", "kind": "note", "n": 1, "deep": {"x": 1, "y": 2}, "list": [1, 2]})
    store.put(("v",), "b", {"text": "one", "kind": "note", "n": 2, "deep": {"x": 2}, "list": []})
    store.put(("v",), "c", {"text": "one", "kind": "task", "n": 3, "deep": 1, "list": [1, 2]})
    assert {item.key for item in store.search(("v",), filter=wanted)} == keys
    assert {item.key for item in store.search(("v",), filter=wanted, query="one")} == keys


def test_an_unknown_operator_is_refused(store: BaseStore) -> None:
    store.put(("v",), "a", {"text": "one", "n": 1})
    with pytest.raises(ValueError, match=r"\$near"):
        store.search(("v",), filter={"n": {"$near": 1}})


def test_namespaces_are_listed(store: BaseStore) -> None:
    for namespace in (("docs", "a", "v1"), ("docs", "b", "v1"), ("docs", "b", "v2"), ("users", "b"), ("users",)):
        store.put(namespace, "k", {"text": "x"})
    everything = [("docs", "a", "v1"), ("docs", "b", "v1"), ("docs", "b", "v2"), ("users",), ("users", "b")]
    assert store.list_namespaces() == everything
    assert store.list_namespaces(limit=2, offset=1) == everything[1:3]
    assert store.list_namespaces(prefix=("docs",)) == everything[:3]
    assert store.list_namespaces(suffix=("v1",)) == everything[:2]
    assert store.list_namespaces(prefix=("docs", "*", "v2")) == [("docs", "b", "v2")]
    assert store.list_namespaces(suffix=("b", "*")) == everything[1:3]
    assert store.list_namespaces(prefix=("docs",), suffix=("b", "v1")) == [("docs", "b", "v1")]
    assert store.list_namespaces(max_depth=1) == [("docs",), ("users",)]
    assert store.list_namespaces(max_depth=2) == [("docs", "a"), ("docs", "b"), ("users",), ("users", "b")]
    with pytest.raises(ValueError, match="middle"):
        store.batch([ListNamespacesOp((MatchCondition("middle", ("docs",)),))])  # type: ignore[arg-type]


def test_names_that_langgraph_refuses_are_refused(store: BaseStore) -> None:
    for namespace in ((), ("a.b",), ("",), ("langgraph",), ("a\x00b",)):
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {"text": "x"})
    with pytest.raises(NotImplementedError):
        store.put(("v",), "k", {"text": "x"}, ttl=1.0)


def test_the_same_in_a_loop(store: BaseStore) -> None:
    async def all_of_it() -> list[str]:
        await store.aput(("v",), "a", {"text": "red apple"})
        await store.aput(("v",), "b", {"text": "green pear"})
        await store.adelete(("v",), "b")
        assert await store.aget(("v",), "b") is None
        assert await store.alist_namespaces() == [("v",)]
        return [item.key for item in await store.asearch(("v",), query="apple")]

    assert run_async(all_of_it()) == ["a"]


def test_what_is_not_embedded_comes_last_and_without_a_score(store: BaseStore) -> None:
    store.put(("v",), "named", {"text": "x", "title": "apple pie"}, index=["title"])
    store.put(("v",), "not", {"text": "apple"}, index=False)
    store.put(("v",), "none", {"other": "apple"})
    store.put(("v",), "text", {"text": "apple"})
    found = store.search(("v",), query="apple")
    assert [item.key for item in found[:2]] == ["text", "named"]
    assert {item.key for item in found[2:]} == {"not", "none"}
    assert [item.score is None for item in found] == [False, False, True, True]


def test_an_item_counts_by_its_nearest_text_and_once(store: BaseStore) -> None:
    store.put(
        ("v",), "many", {"lines": [{"of": "alpha beta"}, {"of": "gamma"}, {"of": "delta"}]}, index=["lines[*].of"]
    )
    store.put(("v",), "one", {"text": "gamma ray"})
    for query, first in (("gamma", "many"), ("ray", "one"), ("delta", "many"), ("alpha beta", "many")):
        found = store.search(("v",), query=query)
        assert sorted(item.key for item in found) == ["many", "one"]
        assert found[0].key == first
    assert store.search(("v",), query="gamma")[0].score == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("vectors", [True, False])
def test_a_text_that_an_item_lost_finds_it_no_more(database: Database, vectors: bool) -> None:
    """LangGraph's own store in memory keeps the vectors of a list that became shorter."""
    store = MemoryStore(database, FakeEmbedder(), vectors=vectors)
    store.put(("v",), "many", {"lines": [{"of": "alpha beta"}, {"of": "gamma"}]}, index=["lines[*].of"])
    store.put(("v",), "one", {"text": "gamma ray"})
    store.put(("v",), "many", {"lines": [{"of": "alpha beta"}]}, index=["lines[*].of"])
    assert store.search(("v",), query="gamma")[0].key == "one"
    store.delete(("v",), "many")
    assert [item.key for item in store.search(("v",), query="delta")] == ["one"]


# --- the same answers, whichever way ----------------------------------------------------------------------------------

WORDS = [
    *("harbour", "crane", "budget", "tender", "bridge", "ferry", "turbine"),
    *("valve", "lease", "notary", "orchard", "saddle", "violin", "copper"),
]


@pytest.mark.slow
def test_answers_and_scores_are_the_same_in_all_three(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    databases = [Database(tmp_path / name, KEY) for name in ("vec.db", "brute.db")]
    stores: list[BaseStore] = [
        reference(FakeEmbedder()),
        MemoryStore(databases[0], FakeEmbedder(), vectors=True),
        MemoryStore(databases[1], FakeEmbedder(), vectors=False),
    ]
    spaces = [("vault",), ("thread", "a"), ("thread", "b"), ("thread", "b", "deep")]
    texts: set[str] = set()
    while len(texts) < 300:
        texts.add(" ".join(rng.choice(WORDS, rng.integers(2, 7))))
    for number, text in enumerate(sorted(texts)):
        for one in stores:
            one.put(spaces[number % 4], f"k{number}", {"text": text, "n": number})
    for number in map(int, rng.choice(300, 60, replace=False)):
        for one in stores:
            one.delete(spaces[number % 4], f"k{number}")
    for number in map(int, rng.choice(300, 40, replace=False)):
        for one in stores:
            one.put(spaces[number % 4], f"k{number}", {"text": f"{WORDS[number % 14]} changed {number}", "n": -number})
    asked = 0
    for prefix in (*spaces, (), ("thread",), ("nobody",)):
        for wanted in (None, {"n": {"$gt": 100}}):
            for limit, offset in ((1, 0), (10, 0), (7, 5), (500, 0)):
                query = " ".join(rng.choice(WORDS, 3))
                expected, *ours = [
                    one.search(prefix, query=query, filter=wanted, limit=limit, offset=offset) for one in stores
                ]
                for found in ours:
                    scores = [item.score for item in found]
                    assert scores == pytest.approx([item.score for item in expected], abs=1e-5)
                    # Items that are equally near may come in any order.
                    places = {(item.namespace, item.key): item.score for item in expected}
                    lowest = scores[-1] if scores else 0.0
                    assert all(
                        (item.namespace, item.key) in places
                        or item.score == pytest.approx(lowest, abs=1e-5)
                        or (offset and item.score == pytest.approx(scores[0], abs=1e-5))
                        for item in found
                    )
                assert [item.key for item in ours[0]] == [item.key for item in ours[1]]
                asked += len(expected)
    assert asked > 1000
    for database in databases:
        database.close()


@pytest.mark.slow
def test_a_crowded_namespace_does_not_hide_what_is_in_another(database: Database) -> None:
    store = MemoryStore(database, FakeEmbedder())
    store.batch([PutOp(("vault",), f"k{n}", {"text": "violin lesson"}) for n in range(3000)])
    store.put(("thread", "t"), "mine", {"text": "copper kettle"})
    assert [item.key for item in store.search(("thread", "t"), query="violin lesson")] == ["mine"]
    assert len(store.search(("vault",), query="violin lesson", limit=2500)) == 2500  # more than sqlite-vec gives
    assert len({item.key for item in store.search(("vault",), query="violin lesson", limit=500, offset=1800)}) == 500


def test_of_many_that_are_equally_near_both_ways_give_the_same(database: Database, tmp_path: Path) -> None:
    other = Database(tmp_path / "other.db", KEY)
    stores = MemoryStore(database, FakeEmbedder()), MemoryStore(other, FakeEmbedder(), vectors=False)
    for store in stores:
        for n in range(60):
            store.put(("v",), f"k{n:02}", {"text": "violin lesson"})
    found = [[item.key for item in store.search(("v",), query="violin", limit=3)] for store in stores]
    assert found[0] == found[1] == ["k59", "k58", "k57"]
    other.close()


# --- what is refused --------------------------------------------------------------------------------------------------


class Broken(FakeEmbedder):
    """A model that returns given vectors."""

    def __init__(self, made: Callable[[int], np.ndarray]) -> None:
        super().__init__(8)
        self._made = made

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return self._made(len(texts))

    def embed_query(self, text: str) -> np.ndarray:
        return self._made(1)[0]


BAD = {
    "NaN": lambda n: np.full((n, 8), np.nan, np.float32),
    "infinity": lambda n: np.full((n, 8), -np.inf, np.float32),
    "too short": lambda n: np.ones((n, 7), np.float32),
    "too few": lambda n: np.ones((n - 1, 8), np.float32) if n > 1 else np.ones((2, 8), np.float32),
    "no direction": lambda n: np.zeros((n, 8), np.float32),
    "one number": lambda n: np.ones(8 * n, np.float32),
}


@pytest.mark.parametrize("vectors", [True, False])
@pytest.mark.parametrize("name", BAD)
def test_what_is_no_vector_is_refused_before_anything_is_written(database: Database, name: str, vectors: bool) -> None:
    MemoryStore(database, FakeEmbedder(8), vectors=vectors).put(("v",), "kept", {"text": "kept"})
    before = database.all("SELECT * FROM docmind_store_items")
    store = MemoryStore(database, Broken(BAD[name]), vectors=vectors)
    with pytest.raises(IndexEngineError, match="no vector of 8 numbers"):
        store.batch([PutOp(("v",), "a", {"text": "a"}), PutOp(("v",), "kept", None), PutOp(("v",), "b", {"text": "b"})])
    assert database.all("SELECT * FROM docmind_store_items") == before
    assert store.get(("v",), "kept") is not None
    if name != "too few":  # of one question there are not too few
        with pytest.raises(IndexEngineError):
            store.search(("v",), query="kept")


@pytest.mark.parametrize(
    "value",
    [
        {"text": b"bytes"},
        {"text": Path("x")},
        {"text": np.ones(2)},
        {"n": float("nan")},
        {"n": float("inf")},
        {"text": "\ud800"},
        {"text": "x" * 16_400},
        {"text": "€" * 5_500},
    ],
)
def test_a_value_that_is_no_small_json_is_refused_whole(database: Database, value: dict[str, Any]) -> None:
    store = MemoryStore(database, FakeEmbedder())
    with pytest.raises(StateRefusedError):
        store.batch([PutOp(("v",), "good", {"text": "good"}), PutOp(("v",), "bad", value)])
    assert store.search(()) == []


# --- vectors follow their items ---------------------------------------------------------------------------------------


def rows_of_vec(database: Database) -> int:
    return database.all("SELECT count(*) FROM docmind_store_vec_rowids")[0][0]


def test_deleting_an_item_deletes_its_vectors(database: Database) -> None:
    embedder = FakeEmbedder()
    store = MemoryStore(database, embedder)
    store.put(("v",), "a", {"text": "the secret of the orchard"})
    store.put(("v",), "b", {"text": "violin"})
    trace = embedder.embed_query("the secret of the orchard").tobytes()[:64]
    held = "SELECT vectors FROM docmind_store_vec_vector_chunks00"
    assert any(trace in chunk for (chunk,) in database.all(held))
    store.delete(("v",), "a")
    assert rows_of_vec(database) == 1
    assert not any(trace in chunk for (chunk,) in database.all(held))
    store.put(("v",), "b", {"text": "violin, changed"})
    assert rows_of_vec(database) == 1


def test_changes_without_sqlite_vec_are_found_when_it_is_back(tmp_path: Path) -> None:
    def opened(vectors: bool) -> tuple[Database, MemoryStore]:
        database = Database(tmp_path / "vault.db", KEY)
        return database, MemoryStore(database, FakeEmbedder(), vectors=vectors)

    database, store = opened(True)
    store.put(("v",), "a", {"text": "orchard"})
    store.put(("v",), "b", {"text": "violin"})
    database.close()
    database, store = opened(False)
    store.delete(("v",), "a")
    store.put(("v",), "b", {"text": "copper"})
    store.put(("v",), "c", {"text": "ferry"})
    assert database.all("SELECT * FROM docmind_store_vec_vector_chunks00") == []
    database.close()
    database, store = opened(True)
    assert store.degraded == ()
    assert rows_of_vec(database) == 2
    assert [item.key for item in store.search(("v",), query="ferry")] == ["c", "b"]
    database.close()


@pytest.mark.parametrize("shadow", ["vector_chunks00", "rowids", "chunks", "info"])
def test_a_vector_table_that_lost_a_part_is_made_anew(tmp_path: Path, shadow: str) -> None:
    database = Database(tmp_path / "vault.db", KEY)
    store = MemoryStore(database, FakeEmbedder())
    for text in WORDS:
        store.put(("v",), text, {"text": text})
    with database.transaction() as db:
        db.execute(f"DROP TABLE docmind_store_vec_{shadow}")
    database.close()
    database = Database(tmp_path / "vault.db", KEY)
    store = MemoryStore(database, FakeEmbedder())
    assert rows_of_vec(database) == len(WORDS)
    assert store.search(("v",), query="ferry", limit=1)[0].key == "ferry"
    assert store.degraded == ()
    database.close()


def test_an_emptied_vector_table_is_rebuilt_while_in_use(database: Database) -> None:
    store = MemoryStore(database, FakeEmbedder())
    for text in WORDS:
        store.put(("v",), text, {"text": text})

    def lose() -> None:
        with database.transaction() as db:
            db.execute("DELETE FROM docmind_store_vec_vector_chunks00")

    lose()
    assert store.search(("v",), query="ferry", limit=1)[0].key == "ferry"
    lose()
    store.put(("v",), "new", {"text": "kettle"})
    assert store.search(("v",), query="kettle", limit=1)[0].key == "new"
    assert rows_of_vec(database) == len(WORDS) + 1
    lose()
    store.delete(("v",), "valve")
    assert rows_of_vec(database) == len(WORDS)
    assert store.degraded == ()


@pytest.mark.parametrize("vectors", [True, False])
def test_another_model_embeds_everything_again(database: Database, vectors: bool) -> None:
    small = MemoryStore(database, FakeEmbedder(16), vectors=vectors)
    for text in WORDS * 10:
        small.put(("v",), text, {"text": text})
    small.put(("v",), "titled", {"title": "saddle maker"}, index=["title"])
    small.put(("v",), "silent", {"text": "saddle"}, index=False)
    large = MemoryStore(database, FakeEmbedder(32), vectors=vectors)
    assert large.get(("v",), "ferry") is not None
    found = large.search(("v",), query="saddle maker", limit=20)
    assert [item.key for item in found[:2]] == ["titled", "saddle"]
    assert found[0].score == pytest.approx(1.0, abs=1e-5)
    assert found[-1].key == "silent"
    assert {len(vector) for (vector,) in database.all("SELECT vector FROM docmind_store_items") if vector} == {32 * 4}
    if vectors:
        assert rows_of_vec(database) == len(WORDS) + 1


# --- without its parts ------------------------------------------------------------------------------------------------


def test_without_sqlite_vec_the_install_line_is_named_once(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "sqlite_vec", None)  # what Python itself does where an import is blocked
    store = MemoryStore(database, FakeEmbedder())
    store.put(("v",), "a", {"text": "ferry"})
    assert [item.key for item in store.search(("v",), query="ferry")] == ["a"]
    (only,) = store.degraded
    assert only.stage == "sqlite-vec"
    assert "pip install sqlite-vec" in only.reason


def test_a_sqlite_vec_that_does_not_load_is_gone_without(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import sqlite_vec

    (tmp_path / "vec0.so").write_bytes(b"not a library")
    monkeypatch.setattr(sqlite_vec, "loadable_path", lambda: str(tmp_path / "vec0"))
    store = MemoryStore(database, FakeEmbedder())
    store.put(("v",), "a", {"text": "ferry"})
    assert [item.key for item in store.search(("v",), query="ferry")] == ["a"]
    assert "cannot be loaded" in store.degraded[0].reason


class Asleep(FakeEmbedder):
    """A text model that cannot be used until it is enabled."""

    is_asleep = True

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        if self.is_asleep:
            raise ConfigError("its file is gone.")
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> np.ndarray:
        if self.is_asleep:
            raise ConfigError("its file is gone.")
        return super().embed_query(text)


@pytest.mark.parametrize("vectors", [True, False])
def test_without_a_text_model_words_are_still_searched(database: Database, vectors: bool) -> None:
    model = Asleep()
    store = MemoryStore(database, model, vectors=vectors)
    store.put(("v",), "a", {"text": "The ferry leaves at nine"})
    store.put(("v",), "b", {"text": "The turbine is old"})
    found = store.search(("v",), query="When does the ferry leave")
    assert [item.key for item in found] == ["a", "b"]
    assert found[0].score == pytest.approx(2 / 5)
    assert [item.key for item in store.search(("v",), query="ferry")] == ["a"]
    assert any("its file is gone" in one.reason for one in store.degraded)
    assert len(store.search(("v",))) == 2
    store.delete(("v",), "b")
    model.is_asleep = False
    found = store.search(("v",), query="ferry nine")
    assert found[0].score == pytest.approx(
        float(model.embed_query("The ferry leaves at nine") @ model.embed_query("ferry nine")), abs=1e-5
    )
    assert not any("its file is gone" in one.reason for one in store.degraded)


def test_items_stored_without_the_model_are_embedded_later(database: Database) -> None:
    model = Asleep()
    store = MemoryStore(database, model)
    model.is_asleep = False
    store.put(("v",), "a", {"text": "The turbine is old"})
    assert store.search(("v",), query="ferry")[0].key == "a"
    model.is_asleep = True
    store.put(("v",), "b", {"text": "The ferry leaves at nine"})
    model.is_asleep = False
    found = store.search(("v",), query="ferry")
    assert [item.key for item in found] == ["b", "a"]
    assert None not in [item.score for item in found]


class HalfAsleep(FakeEmbedder):
    """A text model that still embeds questions, but no documents."""

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        raise ConfigError("its memory is full.")


@pytest.mark.parametrize("dim", [16, 48, 64])
@pytest.mark.parametrize("vectors", [True, False])
def test_vectors_of_another_model_are_never_compared(database: Database, vectors: bool, dim: int) -> None:
    MemoryStore(database, FakeEmbedder(32), vectors=vectors).put(("v",), "a", {"text": "ferry"})
    store = MemoryStore(database, HalfAsleep(dim), vectors=vectors)
    assert [(item.key, item.score) for item in store.search(("v",), query="ferry leaves")] == [("a", 0.5)]  # by words
    assert any("its memory is full" in one.reason for one in store.degraded)


# --- shared between threads, and kept ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_eight_threads_lose_nothing(database: Database) -> None:
    store = MemoryStore(database, FakeEmbedder())
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for n in range(25):
                store.put(("thread", str(number)), f"k{n}", {"text": f"{WORDS[n % 14]} {n}"})
                assert store.search(("thread", str(number)), query=WORDS[n % 14])[0].score is not None
                if n % 5 == 4:
                    store.delete(("thread", str(number)), f"k{n}")
        except (DocMindError, AssertionError, ValueError) as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []  # and whatever else went wrong is missing below
    assert len(store.search((), limit=1000)) == 8 * 20
    assert rows_of_vec(database) == 8 * 20


def test_everything_is_there_after_reopening(tmp_path: Path) -> None:
    assert importlib.util.find_spec("sqlite_vec") is not None
    database = Database(tmp_path / "vault.db", KEY)
    MemoryStore(database, FakeEmbedder()).put(("thread", "t"), "a", {"text": "ferry"})
    database.close()
    database = Database(tmp_path / "vault.db", KEY)
    store = MemoryStore(database, FakeEmbedder())
    item = store.get(("thread", "t"), "a")
    assert item is not None
    assert [found.key for found in store.search(("thread",), query="ferry")] == ["a"]
    store.put(("thread", "t"), "a", {"text": "crane"})
    changed = store.get(("thread", "t"), "a")
    assert changed is not None
    assert changed.created_at == item.created_at
    assert store.places("a") == [(("thread", "t"), "a")]
    database.close()
    assert b"ferry" not in (tmp_path / "vault.db").read_bytes()
