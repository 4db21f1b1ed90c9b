r"""A LangGraph store in `vault.db`: values by namespace and key, searched by meaning.

A namespace is stored as a JSON array, so one label is never read as two: `("a", "b")` is `["a","b"]` and
`('a","b',)` is `["a\",\"b"]`. All namespaces under a prefix are one range of that order.

Values are small JSON objects, stored with their searchable texts and their vectors. Items are ranked by meaning, or by
the words of the question where the text model cannot be used.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    tokenize_path,
)

from docmind.embedding import TextEmbedder
from docmind.errors import DocMindError, IndexEngineError, StateRefusedError
from docmind.memory.vector_table import MOST_PARTS, Nearest
from docmind.records.search import Degraded
from docmind.storage import Connection, Database, Row
from docmind.wording import N_, _, number_text

Namespace = tuple[str, ...]


def encode(namespace: Namespace) -> str:
    """Return one namespace as ASCII text."""
    return json.dumps(list(namespace), separators=(",", ":"))


def decode(text: str) -> Namespace:
    """Return the namespace of a text made by `encode`."""
    return tuple(json.loads(text))


def under(prefix: Namespace) -> tuple[str, tuple[str, ...]]:
    """Return the SQL condition on `namespace`, and its parameters, for a prefix and everything below it."""
    if not prefix:
        return "1", ()
    exact = encode(prefix)
    return "(namespace = ? OR (namespace > ? AND namespace < ?))", (exact, f"{exact[:-1]},", f"{exact[:-1]}-")


def meets(namespace: Namespace, condition: MatchCondition) -> bool:
    """Return whether a namespace begins, or ends, with a path in which `*` matches any label."""
    path = condition.path
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"namespaces are matched by prefix or suffix, not by {condition.match_type}")
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


def passes(value: dict[str, Any], wanted: dict[str, Any] | None) -> bool:
    """Return whether a stored value passes a filter: each named field equal, or as its operators say."""
    return all(_equals(value.get(name), expected) for name, expected in (wanted or {}).items())


def _equals(value: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        if any(str(name).startswith("$") for name in expected):
            return all(_compares(value, name, operand) for name, operand in expected.items())
        return isinstance(value, dict) and all(_equals(value.get(name), inner) for name, inner in expected.items())
    if isinstance(expected, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(expected)
            and all(_equals(mine, theirs) for mine, theirs in zip(value, expected, strict=True))
        )
    return bool(value == expected)


def _compares(value: Any, operator: str, operand: Any) -> bool:
    if operator == "$eq":
        return bool(value == operand)
    if operator == "$ne":
        return bool(value != operand)
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise ValueError(f"a filter has no operator {operator}; there are $eq, $ne, $gt, $gte, $lt, $lte")
    try:
        left, right = float(value), float(operand)
    except (TypeError, ValueError):
        return False  # a missing value, or one that is no number, is neither more nor less
    if operator == "$gt":
        return left > right
    if operator == "$gte":
        return left >= right
    return left < right if operator == "$lt" else left <= right


Order = list[tuple[int, float | None]]
"""Positions in the input, the best first, each with its score."""

_WORD = re.compile(r"\w+")


def by_meaning(stored: Sequence[bytes | None], vector: np.ndarray) -> Order:
    """Rank by cosine with a unit vector `(dim,)`, the best of an item's vectors; items without vectors come last.

    `stored` are unit vectors, float32, one after another.
    """
    scored = [(at, data) for at, data in enumerate(stored) if data]
    order: Order = []
    if scored:
        lengths = [len(data) // vector.nbytes for _, data in scored]
        cosines = np.frombuffer(b"".join(data for _, data in scored), "<f4").reshape(-1, vector.size) @ vector
        best = np.maximum.reduceat(cosines, np.cumsum([0, *lengths[:-1]]))
        order += [(scored[at][0], float(best[at])) for at in np.argsort(-best, kind="stable")]
    return order + [(at, None) for at, data in enumerate(stored) if not data]


def by_words(texts: Sequence[str], question: str) -> Order:
    """Rank by the share of the question's words in a text; texts without any are left out."""
    asked = set(_WORD.findall(question.casefold()))
    shares = [len(asked.intersection(_WORD.findall(text.casefold()))) / max(1, len(asked)) for text in texts]
    return [(at, shares[at]) for at in sorted(range(len(texts)), key=lambda at: -shares[at]) if shares[at]]


MOST_BYTES = 16 * 1024
_PLAIN = N_("Keep one fact, in a few sentences.")


def facts(row: Row) -> dict[str, Any]:
    """Return the fields of LangGraph's items; a row begins with item_id, namespace, key, value, and its two times."""
    namespace, key, value, created_at_ms, updated_at_ms = row[1:6]
    return {
        "namespace": decode(namespace),
        "key": key,
        "value": json.loads(value),
        "created_at": datetime.fromtimestamp(created_at_ms / 1000, UTC),
        "updated_at": datetime.fromtimestamp(updated_at_ms / 1000, UTC),
    }


def encoded(value: Mapping[str, Any]) -> str:
    """Return the stored form of a value. Raises `StateRefusedError`."""
    try:
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:  # a lone surrogate, in UTF-8, is a ValueError
        raise StateRefusedError(
            _("A memory holds plain text and numbers only: {error}.").format(error=error), hint=_(_PLAIN)
        ) from error
    if size > MOST_BYTES:
        raise StateRefusedError(
            _("A memory holds at most {most_bytes} KB, not {size}.").format(
                most_bytes=MOST_BYTES // 1024, size=number_text(size / 1024, 0)
            ),
            hint=_(_PLAIN),
        )
    return text


def texts_at(value: dict[str, Any], paths: Iterable[str]) -> list[str]:
    """Return the texts of a value to embed: one or more at each path."""
    texts = [text for path in paths for text in get_text_at_path(value, path if path == "$" else tokenize_path(path))]
    if len(texts) > MOST_PARTS:
        raise StateRefusedError(
            _("A memory has at most {most_parts} texts to search by.").format(most_parts=number_text(MOST_PARTS)),
            hint=_(_PLAIN),
        )
    return texts


def packed(vectors: np.ndarray) -> bytes | None:
    """Return vectors `(n, dim)` float32 as little-endian bytes; None where there are none."""
    return vectors.astype("<f4").tobytes() if len(vectors) else None


_FACTS = "item_id, namespace, key, value, created_at_ms, updated_at_ms"
_SELECT = f"SELECT {_FACTS}, vector FROM docmind_store_items"
_SELECT_FACTS = f"SELECT {_FACTS} FROM docmind_store_items"  # without vectors, which are most of a row
_INDEXED = ("same", "kind")  # fields by which `memories` looks items up, found by an index
_NEWEST = "ORDER BY updated_at_ms DESC, item_id DESC"
_SORTED = "ORDER BY +updated_at_ms DESC, item_id DESC"  # the same without the index, which would read every row
_BATCH = 64


class MemoryStore(BaseStore):
    """The store. Values are JSON objects of at most 16 KB. Thread-safe, like `Database`.

    One batch is one transaction: its reads see the state before it, and of several puts on one key the last remains.
    Texts are embedded before it, so a text model that fails, or returns an invalid vector, changes nothing.
    """

    __slots__ = ("_db", "_embedder", "_embedding", "_fields", "_is_stale", "_missed", "_nearest", "_trouble")

    def __init__(
        self, database: Database, embedder: TextEmbedder, *, fields: Sequence[str] = ("text",), vectors: bool = True
    ) -> None:
        """Set up; `fields` are the default paths to embed; without `vectors`, searches compare all vectors."""
        self._db, self._embedder, self._fields = database, embedder, list(fields)
        self._nearest = Nearest(database, embedder.dim, embedder.fingerprint, wanted=vectors)
        if not database.is_read_only:
            with database.transaction() as db:
                db.execute("CREATE INDEX IF NOT EXISTS docmind_store_newest ON docmind_store_items (updated_at_ms)")
                for name in _INDEXED:
                    db.execute(f"CREATE INDEX IF NOT EXISTS docmind_store_{name} ON docmind_store_items ({_at(name)})")
        self._is_stale = True  # there may be items without embeddings of this model
        self._missed = 0  # how many items were stored without an embedding
        self._embedding = threading.Lock()
        self._trouble: tuple[Degraded, ...] = ()

    @property
    def degraded(self) -> tuple[Degraded, ...]:
        """What searches have to do without, as far as is known: sqlite-vec, the text model."""
        return self._nearest.degraded + self._trouble

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Return one result for each operation, in order.

        Raises `StateRefusedError` for a value that is no JSON or too large, `IndexEngineError` for an invalid vector.
        """
        listed = list(ops)
        puts = {(op.namespace, op.key): op for op in listed if isinstance(op, PutOp)}
        values = {place: encoded(op.value) for place, op in puts.items() if op.value is not None}
        vectors = self._embed([self._texts(op) for op in puts.values()])
        queries = {op.query: None for op in listed if isinstance(op, SearchOp) and op.query}
        asked: dict[str, np.ndarray | None] = {query: self._query(query) for query in queries}
        with self._db.transaction() as db:
            if puts:
                self._db.recount()
            results = [self._read(db, op, asked) for op in listed]
            for (place, op), embedded in zip(puts.items(), vectors, strict=True):
                self._put(db, op, values.get(place), embedded)
            self._nearest.settle(db)
        if puts:
            self._db.settle()
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run `batch` in a separate thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def change(self, puts: Iterable[tuple[Namespace, str, dict[str, Any] | None]]) -> None:
        """Write several values by namespace and key, all or none; None deletes."""
        self.batch([PutOp(*put) for put in puts])

    def adopt(self, rows: Iterable[Mapping[str, object]]) -> int:
        """Write items of another vault, with their vectors, unless their keys are taken; return how many were written.

        Raises `StateRefusedError` for a value that is no JSON object or too large.
        """
        written = 0
        with self._db.transaction() as db:
            self._db.recount()
            for row in rows:
                value = json.loads(str(row["value"]))
                given = {**row, "value": encoded(value)}
                if not self._is_vector(given["vector"]):
                    given |= {"vector": None, "fingerprint": ""}  # it is embedded again
                names = [name for name in given if name != "item_id"]
                written += db.execute(
                    f"INSERT OR IGNORE INTO docmind_store_items ({', '.join(names)})"
                    f" VALUES ({', '.join('?' * len(names))})",
                    [given[name] for name in names],
                ).rowcount
            if written:
                self._nearest.rebuild(db)
        self._is_stale = True
        return written

    def best(self, namespaces: Iterable[Namespace], query: str, limit: int) -> list[SearchItem]:
        """Return the best of several namespaces; `limit` of each. Items without a score come last."""
        found = [item for space in namespaces for item in self.search(space, query=query, limit=limit)]
        return sorted(found, key=lambda item: -2.0 if item.score is None else item.score, reverse=True)

    def places(self, beginning: str) -> list[tuple[Namespace, str]]:
        """Return namespace and key of every item whose key begins so."""
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
        """Return rows that include all results of a search, the newest first."""
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
        """Return rows that include the `wanted` best, and those without a vector where these are too few."""
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
        """Write or delete one item. `vectors` is None where the text model was needed and could not be used."""
        place = (encode(op.namespace), op.key)
        old = db.execute(
            "SELECT item_id, fingerprint, vector FROM docmind_store_items WHERE namespace = ? AND key = ?", place
        ).fetchone()
        if old is not None:
            self._drop_vectors(db, *old)
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
        """Return the unit vector `(dim,)` of a question; None where the text model cannot be used for all items."""
        with self._embedding:  # concurrent searches wait, because vectors of two models are not comparable
            if self._is_stale and not self._db.is_read_only:
                self._embed_again()
            if self._is_stale:
                return None
        (vectors,) = self._embed([[query]], is_query=True)
        return None if vectors is None else vectors[0]

    def _embed(self, texts: Sequence[list[str]], *, is_query: bool = False) -> list[np.ndarray | None]:
        """Return unit vectors `(n, dim)` float32 for each list of texts; None where the text model cannot be used."""
        flat = [text for of_one in texts for text in of_one]
        if not flat:
            return [np.zeros((0, self._embedder.dim), np.float32) for _one in texts]
        try:
            made = self._embedder.embed_query(flat[0])[None] if is_query else self._embedder.embed_documents(flat)
        except (DocMindError, OSError, RuntimeError) as error:
            self._trouble = (
                Degraded(
                    "memory", _("compared by words, for the text model cannot be used: {error}").format(error=error)
                ),
            )
            return [None if of_one else np.zeros((0, self._embedder.dim), np.float32) for of_one in texts]
        self._trouble = ()
        vectors = self._checked(made, len(flat))
        ends = np.cumsum([len(of_one) for of_one in texts])
        return [vectors[end - len(of_one) : end] for of_one, end in zip(texts, ends, strict=True)]

    def _checked(self, made: np.ndarray, count: int) -> np.ndarray:
        """Return finite vectors of the model's length, normalised to length 1. Raises `IndexEngineError`."""
        vectors = np.ascontiguousarray(made, "<f4")
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True) if vectors.ndim == 2 else np.zeros(0)
        if vectors.shape != (count, self._embedder.dim) or not np.isfinite(lengths).all() or not lengths.all():
            raise IndexEngineError(
                _("The text model {name} gave what is no vector of {dim} numbers; nothing was saved.").format(
                    name=self._embedder.name, dim=self._embedder.dim
                ),
                hint=_("Choose another text model with DOCMIND_EMBEDDING__MODEL, or install this one again."),
            )
        return vectors / lengths

    def _is_vector(self, stored: object) -> bool:
        """Return whether bytes of another vault are vectors of this model's length, or of none."""
        if type(stored) is not bytes or len(stored) % (4 * self._embedder.dim):
            return stored is None
        return bool(np.isfinite(np.frombuffer(stored, "<f4")).all())

    def _embed_again(self) -> None:
        """Embed items without embeddings of this model, in batches, so that completed work is kept."""
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
        """Replace an item's vectors, unless the item was changed or deleted meanwhile."""
        item_id, namespace, value, fields = row
        old = db.execute(
            "SELECT fingerprint, vector FROM docmind_store_items WHERE item_id = ? AND value = ? AND fields = ?",
            (item_id, value, fields),
        ).fetchone()
        if old is None:
            return
        self._drop_vectors(db, item_id, *old)
        db.execute(
            "UPDATE docmind_store_items SET vector = ?, fingerprint = ? WHERE item_id = ?",
            (packed(vectors), self._embedder.fingerprint, item_id),
        )
        self._nearest.put(db, item_id, namespace, vectors)
        self._nearest.settle(db)

    def _drop_vectors(self, db: Connection, item_id: int, fingerprint: str, stored: bytes | None) -> None:
        if stored and fingerprint == self._embedder.fingerprint:  # vectors of another model are not in the table
            self._nearest.drop(db, item_id, len(stored) // (4 * self._embedder.dim))


def _at(name: str) -> str:
    return f"json_extract(value, '$.{name}')"
