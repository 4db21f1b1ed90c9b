"""`docmind_store_vec`: a copy of the stored vectors, as a sqlite-vec table for nearest-neighbour search.

The column `vector` of `docmind_store_items` is authoritative; the table is rebuilt from it wherever the two differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from docmind.records.search import Degraded
from docmind.storage import Connection, Database, Row, dbapi2
from docmind.wording import _

_TABLE = "docmind_store_vec"
_SHADOWS = tuple(f"{_TABLE}_{name}" for name in ("info", "chunks", "rowids", "vector_chunks00"))
_CHUNK = 16  # vectors; each namespace has its own chunks, so a conversation with one memory costs one of 24 KB
MOST_PARTS = 4096  # vectors of one item: an id here is `item_id * MOST_PARTS + part`
_MOST = 4096  # the most neighbours that sqlite-vec returns
_NEAR = 1e-5  # two distances closer than this may change places when they are computed again
_INSTALL = "pip install sqlite-vec"


class Nearest:
    """The table of vectors. Used inside a transaction of `Database`, and as thread-safe as that.

    Where sqlite-vec is switched off, missing or cannot be loaded, `is_on` is false, `degraded` says why, and the table
    is emptied, so that deleted items leave no vector in it.
    """

    def __init__(self, database: Database, dim: int, fingerprint: str, *, wanted: bool) -> None:
        """Set up for vectors of one model; those of other models are not in the table."""
        self._dim, self._fingerprint = dim, fingerprint
        self.is_on = self._is_broken = False
        self.degraded: tuple[Degraded, ...] = ()
        if database.is_read_only:
            self.degraded = (Degraded("sqlite-vec", _("memories are compared one by one: the library is only read")),)
            return
        reason = _load(database) if wanted else "DOCMIND_MEMORY__VECTORS is off"
        with database.transaction() as db:
            if reason:
                self._go_without(db, reason)
                return
            self.is_on = True
            if not self._is_whole(db):
                self.rebuild(db)

    def put(self, db: Connection, item_id: int, namespace: str, vectors: np.ndarray) -> None:
        """Store the vectors of one item, `(n, dim)` float32, that has none in the table."""
        rows = [(item_id * MOST_PARTS + part, namespace, vector.tobytes()) for part, vector in enumerate(vectors)]
        self._write(db, f"INSERT INTO {_TABLE} (id, namespace, embedding) VALUES (?, ?, ?)", rows)

    def drop(self, db: Connection, item_id: int, parts: int) -> None:
        """Delete the `parts` vectors of one item; sqlite-vec overwrites them with zeros."""
        rows = [(item_id * MOST_PARTS + part,) for part in range(parts)]
        self._write(db, f"DELETE FROM {_TABLE} WHERE id = ?", rows)

    def settle(self, db: Connection) -> None:
        """Rebuild the table after puts and drops, if one of them failed."""
        if self._is_broken:
            self.rebuild(db)

    def items(self, db: Connection, namespaces: Iterable[str], vector: np.ndarray, wanted: int) -> list[int] | None:
        """Return the items with the `wanted` nearest vectors, and those that are as near as the last; unordered.

        None where the table cannot be used: sqlite-vec is missing, or too many are wanted.
        """
        if not self.is_on or wanted > _MOST // 2:
            return None
        try:
            return self._items(db, list(namespaces), vector, wanted)
        except dbapi2.Error:  # a part of the table is missing or damaged
            self.rebuild(db)
        return self._items(db, list(namespaces), vector, wanted) if self.is_on else None

    def rebuild(self, db: Connection) -> None:
        """Rebuild the table from the stored vectors; continue without it where that fails."""
        self._is_broken = False
        try:
            self._make(db)
        except dbapi2.Error as error:
            self._go_without(db, f"its table cannot be made ({error})")
            return
        if self._is_broken:
            self._go_without(db, "its table takes no vectors")

    def _write(self, db: Connection, sql: str, rows: Sequence[Row]) -> None:
        if not self.is_on or self._is_broken:
            return
        try:
            db.executemany(sql, rows)
        except dbapi2.Error:  # a part of the table is missing or damaged
            self._is_broken = True

    def _make(self, db: Connection) -> None:
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (_TABLE,)).fetchone():
            for shadow in _SHADOWS:  # sqlite-vec cannot drop a table if a part of it is missing
                db.execute(f"CREATE TABLE IF NOT EXISTS {shadow} (x)")
            db.execute(f"DROP TABLE {_TABLE}")
        db.execute(
            f"CREATE VIRTUAL TABLE {_TABLE} USING vec0(id INTEGER PRIMARY KEY, namespace TEXT PARTITION KEY,"
            f" embedding FLOAT[{self._dim}] DISTANCE_METRIC=cosine, CHUNK_SIZE={_CHUNK})"
        )
        for item_id, namespace, stored in db.execute(
            "SELECT item_id, namespace, vector FROM docmind_store_items WHERE vector IS NOT NULL AND fingerprint = ?",
            (self._fingerprint,),
        ).fetchall():
            self.put(db, item_id, namespace, np.frombuffer(stored, "<f4").reshape(-1, self._dim))

    def _is_whole(self, db: Connection) -> bool:
        """Return whether the table exists, for vectors of this length, and has as many as are stored."""
        made = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (_TABLE,)).fetchone()
        # sqlite-vec may end the process if one of its own tables is missing.
        if made is None or f"FLOAT[{self._dim}]" not in made[0] or len(_shadows(db)) < len(_SHADOWS):
            return False
        (here,) = db.execute(f"SELECT count(*) FROM {_TABLE}_rowids").fetchone()
        (stored,) = db.execute(
            "SELECT coalesce(sum(length(vector)), 0) FROM docmind_store_items WHERE fingerprint = ?",
            (self._fingerprint,),
        ).fetchone()
        return bool(here * self._dim * 4 == stored)

    def _go_without(self, db: Connection, reason: str) -> None:
        self.is_on = False
        self.degraded = (Degraded("sqlite-vec", _("memories are compared one by one: {reason}").format(reason=reason)),)
        for shadow in _shadows(db):
            if not shadow.endswith("_info"):
                db.execute(f"DELETE FROM {shadow}")

    def _items(self, db: Connection, namespaces: Sequence[str], vector: np.ndarray, wanted: int) -> list[int] | None:
        found: list[int] = []
        for namespace in namespaces:
            near = self._of(db, namespace, vector, wanted)
            if near is None:
                return None
            found += near
        return found

    def _of(self, db: Connection, namespace: str, vector: np.ndarray, wanted: int) -> list[int] | None:
        """Return the nearest items of one namespace; asks for more until no item as near as the last is left out."""
        k = wanted + 8
        while k <= _MOST:
            rows = db.execute(
                f"SELECT id, distance FROM {_TABLE} WHERE embedding MATCH ? AND k = ? AND namespace = ?",
                (vector.tobytes(), k, namespace),
            ).fetchall()
            firsts: dict[int, float] = {}
            for row_id, distance in rows:
                firsts.setdefault(row_id // MOST_PARTS, distance)
            distances = list(firsts.values())
            is_cut = len(rows) == k and (len(firsts) < wanted or distances[-1] - distances[wanted - 1] < _NEAR)
            if not is_cut:
                return list(firsts)
            k *= 4
        return None


def _shadows(db: Connection) -> list[str]:
    """Return the existing tables in which sqlite-vec stores the contents of ours."""
    marks = ", ".join("?" * len(_SHADOWS))
    return [name for (name,) in db.execute(f"SELECT name FROM sqlite_master WHERE name IN ({marks})", _SHADOWS)]


def _load(database: Database) -> str:
    """Load sqlite-vec into the connection; return the reason where that fails."""
    try:
        import sqlite_vec
    except ImportError:
        return f"sqlite-vec is not installed ({_INSTALL})"
    try:
        database.load_extension(sqlite_vec.loadable_path())
    except (dbapi2.Error, AttributeError, OSError) as error:
        return f"sqlite-vec cannot be loaded: {error} ({_INSTALL})"
    return ""
