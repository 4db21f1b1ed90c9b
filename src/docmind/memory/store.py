"""A LangGraph store in `vault.db`: values by namespace and key, searched by what they mean."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from docmind.database import Connection, Database, Row
from docmind.embed.contract import TextEmbedder
from docmind.errors import DocMindError, IndexEngineError
from docmind.memory.matching import Namespace, decode, encode, meets, passes, under
from docmind.memory.nearest import Nearest
from docmind.memory.ranking import Order, by_meaning, by_words
from docmind.memory.values import encoded, facts, packed, texts_at
from docmind.schema import Degraded

_FACTS = "item_id, namespace, key, value, created_at_ms, updated_at_ms"
_SELECT = f"SELECT {_FACTS}, vector FROM docmind_store_items"
_SELECT_FACTS = f"SELECT {_FACTS} FROM docmind_store_items"  # vectors are most of a row
_INDEXED = ("same", "kind")  # fields of values by which `memories` looks items up: found without reading the others
_NEWEST = "ORDER BY updated_at_ms DESC, item_id DESC"
_SORTED = "ORDER BY +updated_at_ms DESC, item_id DESC"  # the same, not by the index, which would read every row
_BATCH = 64


class MemoryStore(BaseStore):
    """Values are JSON objects of at most 16 KB. Safe from any thread, like the `Database` below it.

    One batch is one transaction: what it reads is what stood before it, and of several puts on one key the last holds.
    Texts are embedded before it, so a text model that fails, or gives what is no vector, changes nothing.
    """

    __slots__ = ("_db", "_embedder", "_embedding", "_fields", "_is_stale", "_missed", "_nearest", "_trouble")

    def __init__(
        self, database: Database, embedder: TextEmbedder, *, fields: Sequence[str] = ("text",), vectors: bool = True
    ) -> None:
        """`fields` are the paths of what is embedded where a put does not say; without `vectors`, by brute force."""
        self._db, self._embedder, self._fields = database, embedder, list(fields)
        self._nearest = Nearest(database, embedder.dim, embedder.fingerprint, wanted=vectors)
        with database.transaction() as db:
            db.execute("CREATE INDEX IF NOT EXISTS docmind_store_newest ON docmind_store_items (updated_at_ms)")
            for name in _INDEXED:
                db.execute(f"CREATE INDEX IF NOT EXISTS docmind_store_{name} ON docmind_store_items ({_at(name)})")
        self._is_stale = True  # something may be stored that this model has not embedded
        self._missed = 0  # how often something was put that it could not embed
        self._embedding = threading.Lock()
        self._trouble: tuple[Degraded, ...] = ()

    @property
    def degraded(self) -> tuple[Degraded, ...]:
        """What searches have to do without, as far as is known: sqlite-vec, the text model."""
        return self._nearest.degraded + self._trouble

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """One result for each operation, in their order.

        Raises `StateRefusedError` for a value that is no JSON or too large, `IndexEngineError` for what is no vector.
        """
        listed = list(ops)
        puts = {(op.namespace, op.key): op for op in listed if isinstance(op, PutOp)}
        values = {place: encoded(op.value) for place, op in puts.items() if op.value is not None}
        vectors = self._embed([self._texts(op) for op in puts.values()])
        queries = {op.query: None for op in listed if isinstance(op, SearchOp) and op.query}
        asked: dict[str, np.ndarray | None] = {query: self._query(query) for query in queries}
        with self._db.transaction() as db:
            results = [self._read(db, op, asked) for op in listed]
            for (place, op), embedded in zip(puts.items(), vectors, strict=True):
                self._put(db, op, values.get(place), embedded)
            self._nearest.settle(db)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same as `batch`, in a thread of its own."""
        return await asyncio.to_thread(self.batch, list(ops))

    def change(self, puts: Iterable[tuple[Namespace, str, dict[str, Any] | None]]) -> None:
        """Write several values by namespace and key, all or none; None deletes."""
        self.batch([PutOp(*put) for put in puts])

    def best(self, namespaces: Iterable[Namespace], query: str, limit: int) -> list[SearchItem]:
        """The best of several namespaces; `limit` of each. What has no score comes last."""
        found = [item for space in namespaces for item in self.search(space, query=query, limit=limit)]
        return sorted(found, key=lambda item: -2.0 if item.score is None else item.score, reverse=True)

    def places(self, beginning: str) -> list[tuple[Namespace, str]]:
        """Namespace and key of every item whose key begins so."""
        rows = self._db.all(
            "SELECT namespace, key FROM docmind_store_items WHERE substr(key, 1, ?) = ? ORDER BY namespace, key",
            (len(beginning), beginning),
        )
        return [(decode(namespace), key) for namespace, key in rows]

    def _read(self, db: Connection, op: Op, asked: Mapping[str, np.ndarray | None]) -> Result:
        if isinstance(op, GetOp):
            row = db.execute(
                f"{_SELECT_FACTS} WHERE namespace = ? AND key = ?", (encode(op.namespace), op.key)
            ).fetchone()
            return None if row is None else Item(**facts(row))
        if isinstance(op, SearchOp):
            return self._search(db, op, asked.get(op.query or ""))
        if isinstance(op, ListNamespacesOp):
            rows = db.execute("SELECT DISTINCT namespace FROM docmind_store_items").fetchall()
            found = [decode(namespace) for (namespace,) in rows]
            kept = {
                namespace[: op.max_depth]
                for namespace in found
                if all(meets(namespace, condition) for condition in op.match_conditions or ())
            }
            return sorted(kept)[op.offset : op.offset + op.limit]
        if isinstance(op, PutOp):
            return None
        raise ValueError(f"a store has no operation {type(op).__name__}")

    def _search(self, db: Connection, op: SearchOp, vector: np.ndarray | None) -> list[SearchItem]:
        if op.limit < 0 or op.offset < 0:
            raise ValueError("limit and offset count from 0")
        rows = self._candidates(db, op, vector)
        if op.filter:
            rows = [row for row in rows if passes(json.loads(row[3]), op.filter)]
        order: Order = [(at, None) for at in range(len(rows))]
        if op.query and vector is not None:
            order = by_meaning([row[-1] for row in rows], vector)
        elif op.query:
            order = by_words([" ".join(texts_at(json.loads(row[3]), self._fields)) for row in rows], op.query)
        return [SearchItem(**facts(rows[at]), score=score) for at, score in order[op.offset : op.offset + op.limit]]

    def _candidates(self, db: Connection, op: SearchOp, vector: np.ndarray | None) -> list[Row]:
        """Rows among which those are that a search gives, the newest first."""
        where, under_it = under(op.namespace_prefix)
        wanted = op.offset + op.limit
        for name, exactly in (op.filter or {}).items():
            if name in _INDEXED and isinstance(exactly, str):
                where, under_it = f"{where} AND {_at(name)} = ?", (*under_it, exactly)
        if not op.filter and not op.query:
            order = _SORTED if op.namespace_prefix else _NEWEST
            return db.execute(f"{_SELECT_FACTS} WHERE {where} {order} LIMIT ?", (*under_it, wanted)).fetchall()
        if not op.filter and vector is not None:
            rows = self._near(db, where, under_it, vector, wanted)
            if rows is not None:
                return rows
        select = _SELECT if op.query and vector is not None else _SELECT_FACTS
        return db.execute(f"{select} WHERE {where} {_SORTED}", under_it).fetchall()

    def _near(
        self, db: Connection, where: str, under_it: Sequence[str], vector: np.ndarray, wanted: int
    ) -> list[Row] | None:
        """The rows among which the `wanted` best are, and those without a vector where they are too few."""
        spaces = db.execute(f"SELECT DISTINCT namespace FROM docmind_store_items WHERE {where}", under_it).fetchall()
        items = self._nearest.items(db, [namespace for (namespace,) in spaces], vector, wanted)
        if items is None:
            return None
        chosen, parameters = "item_id IN (SELECT value FROM json_each(?))", [json.dumps(items), *under_it]
        if len(items) < wanted:
            chosen += f" OR ({where} AND vector IS NULL)"
        else:
            del parameters[1:]
        return db.execute(f"{_SELECT} WHERE {chosen} {_SORTED}", parameters).fetchall()

    def _put(self, db: Connection, op: PutOp, value: str | None, vectors: np.ndarray | None) -> None:
        """Write or delete one item. `vectors` is None where it should have some and the model could not be used."""
        place = (encode(op.namespace), op.key)
        old = db.execute(
            "SELECT item_id, fingerprint, vector FROM docmind_store_items WHERE namespace = ? AND key = ?", place
        ).fetchone()
        if old is not None:
            self._forget_vectors(db, *old)
        if value is None:
            db.execute("DELETE FROM docmind_store_items WHERE namespace = ? AND key = ?", place)
            return
        now = time.time_ns() // 1_000_000
        fingerprint, stored = ("", None) if vectors is None else (self._embedder.fingerprint, packed(vectors))
        ((item_id,),) = db.execute(
            "INSERT INTO docmind_store_items"
            " (namespace, key, value, created_at_ms, updated_at_ms, fields, fingerprint, vector)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value,"
            " updated_at_ms = excluded.updated_at_ms, fields = excluded.fields, fingerprint = excluded.fingerprint,"
            " vector = excluded.vector RETURNING item_id",
            (*place, value, now, now, json.dumps(self._paths(op)), fingerprint, stored),
        ).fetchall()
        if vectors is None:
            self._is_stale = True
            self._missed += 1
        else:
            self._nearest.put(db, item_id, place[0], vectors)

    def _paths(self, op: PutOp) -> list[str]:
        return [] if op.index is False else self._fields if op.index is None else list(op.index)

    def _texts(self, op: PutOp) -> list[str]:
        return [] if op.value is None else texts_at(dict(op.value), self._paths(op))

    def _query(self, query: str) -> np.ndarray | None:
        """The unit vector `(dim,)` of a question; None where the text model cannot be used for all there is."""
        with self._embedding:  # who asks meanwhile waits, for vectors of two models do not compare
            if self._is_stale:
                self._embed_again()
            if self._is_stale:
                return None
        (vectors,) = self._embed([[query]], is_query=True)
        return None if vectors is None else vectors[0]

    def _embed(self, texts: Sequence[list[str]], *, is_query: bool = False) -> list[np.ndarray | None]:
        """Unit vectors `(n, dim)` float32 for each list of texts; None where the text model cannot be used."""
        flat = [text for of_one in texts for text in of_one]
        if not flat:
            return [np.zeros((0, self._embedder.dim), np.float32) for _ in texts]
        try:
            made = self._embedder.embed_query(flat[0])[None] if is_query else self._embedder.embed_documents(flat)
        except (DocMindError, OSError, RuntimeError) as error:
            self._trouble = (Degraded("memory", f"compared by words, for the text model cannot be used: {error}"),)
            return [None if of_one else np.zeros((0, self._embedder.dim), np.float32) for of_one in texts]
        self._trouble = ()
        vectors = self._checked(made, len(flat))
        ends = np.cumsum([len(of_one) for of_one in texts])
        return [vectors[end - len(of_one) : end] for of_one, end in zip(texts, ends, strict=True)]

    def _checked(self, made: np.ndarray, count: int) -> np.ndarray:
        """Finite and of the model's length, made exactly unit vectors; raises `IndexEngineError`."""
        vectors = np.ascontiguousarray(made, "<f4")
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True) if vectors.ndim == 2 else np.zeros(0)
        if vectors.shape != (count, self._embedder.dim) or not np.isfinite(lengths).all() or not lengths.all():
            raise IndexEngineError(
                f"The text model {self._embedder.name} gave what is no vector of {self._embedder.dim} numbers;"
                " nothing was saved.",
                hint="Choose another text model with DOCMIND_EMBEDDING__MODEL, or install this one anew.",
            )
        return vectors / lengths

    def _embed_again(self) -> None:
        """Embed what another model embedded, or none; a batch at a time, so that what is done stays done."""
        last, missed = -1, self._missed
        while rows := self._db.all(
            "SELECT item_id, namespace, value, fields FROM docmind_store_items"
            " WHERE item_id > ? AND fingerprint <> ? ORDER BY item_id LIMIT ?",
            (last, self._embedder.fingerprint, _BATCH),
        ):
            last = rows[-1][0]
            texts = [texts_at(json.loads(value), json.loads(fields)) for _, _, value, fields in rows]
            for row, vectors in zip(rows, self._embed(texts), strict=True):
                if vectors is None:
                    return
                with self._db.transaction() as db:
                    self._replace(db, row, vectors)
        self._is_stale = self._missed != missed

    def _replace(self, db: Connection, row: Row, vectors: np.ndarray) -> None:
        """Put new vectors in place of an item's old ones, unless it was changed or deleted meanwhile."""
        item_id, namespace, value, fields = row
        old = db.execute(
            "SELECT fingerprint, vector FROM docmind_store_items WHERE item_id = ? AND value = ? AND fields = ?",
            (item_id, value, fields),
        ).fetchone()
        if old is None:
            return
        self._forget_vectors(db, item_id, *old)
        db.execute(
            "UPDATE docmind_store_items SET vector = ?, fingerprint = ? WHERE item_id = ?",
            (packed(vectors), self._embedder.fingerprint, item_id),
        )
        self._nearest.put(db, item_id, namespace, vectors)
        self._nearest.settle(db)

    def _forget_vectors(self, db: Connection, item_id: int, fingerprint: str, stored: bytes | None) -> None:
        if stored and fingerprint == self._embedder.fingerprint:  # another model's are not in the table
            self._nearest.drop(db, item_id, len(stored) // (4 * self._embedder.dim))


def _at(name: str) -> str:
    return f"json_extract(value, '$.{name}')"
