"""Nodes of the vault, and the vectors of what was embedded for them.

Token vectors are stored as `u8 version=1 ‖ u8 dim ‖ u16 count, little-endian ‖ zlib of (count, dim) int8`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from docmind.database import Connection, Database, Row
from docmind.errors import DamagedError
from docmind.schema import Modality

_TOKENS = struct.Struct("<BBH")
_VERSION = 1


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One node: `text[start:end]` of its page. `content_hash` names what was embedded, and so its vector."""

    node_id: str
    doc_id: str
    page_no: int
    ordinal: int
    start: int
    end: int
    modality: Modality
    language: str
    content_hash: bytes


_NODE_COLUMNS = 'node_id, doc_id, page_no, ordinal, start, "end", modality, language, content_hash'


def _drop_unused(db: Connection, hashes: Sequence[Row]) -> None:
    """Delete those vectors, of all models, that no node has any more. `hashes` are rows of one content hash."""
    db.executemany(
        "DELETE FROM vectors WHERE content_hash = ?1 AND NOT EXISTS (SELECT 1 FROM nodes WHERE content_hash = ?1)",
        hashes,
    )


def pack(tokens: np.ndarray) -> bytes:
    """Token vectors `(count, dim)` int8 as stored; dim at most 255, count at most 65,535."""
    count, dim = tokens.shape
    return _TOKENS.pack(_VERSION, dim, count) + zlib.compress(tokens.tobytes(), 1)


def unpack(data: bytes) -> np.ndarray:
    """The inverse of `pack`. Raises `DamagedError`."""
    try:
        version, dim, count = _TOKENS.unpack_from(data)
        raw = zlib.decompressobj().decompress(data[_TOKENS.size :], count * dim + 1)
        if version != _VERSION or len(raw) != count * dim:
            raise ValueError("not token vectors")
    except (struct.error, zlib.error, ValueError) as error:
        raise DamagedError("The token vectors of a passage are damaged.") from error
    return np.frombuffer(raw, np.int8).reshape(count, dim)


class NodeStore:
    """Reads and writes the node and vector tables of `vault.db`. As safe between threads as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def replace(self, doc_id: str, nodes: Sequence[NodeRecord]) -> None:
        """Forget all nodes of a document and keep these, and with them the vectors that they share."""
        with self._db.transaction() as db:
            old = db.execute("SELECT DISTINCT content_hash FROM nodes WHERE doc_id = ?", (doc_id,)).fetchall()
            db.execute("DELETE FROM nodes WHERE doc_id = ?", (doc_id,))
            self.put(nodes)
            _drop_unused(db, old)

    def forget(self, doc_id: str) -> None:
        """Drop all nodes and pages of a document that is read anew; the next start drops what they named."""
        with self._db.transaction() as db:
            self.replace(doc_id, [])
            db.execute("DELETE FROM pages WHERE doc_id = ?", (doc_id,))

    def put(self, nodes: Sequence[NodeRecord]) -> None:
        """Keep nodes (and replace those that are there)."""
        with self._db.transaction() as db:
            db.executemany(
                f"INSERT OR REPLACE INTO nodes ({_NODE_COLUMNS}) VALUES ({', '.join('?' * 9)})",
                [
                    (
                        *(node.node_id, node.doc_id, node.page_no, node.ordinal, node.start, node.end),
                        *(node.modality, node.language, node.content_hash),
                    )
                    for node in nodes
                ],
            )

    def nodes_of(self, doc_id: str) -> list[NodeRecord]:
        """All nodes of one document in page order."""
        rows = self._db.all(f"SELECT {_NODE_COLUMNS} FROM nodes WHERE doc_id = ? ORDER BY page_no, ordinal", (doc_id,))
        return [NodeRecord(*row) for row in rows]

    def of_page(self, doc_id: str, page_no: int) -> list[NodeRecord]:
        """The nodes of one page in reading order."""
        rows = self._db.all(
            f"SELECT {_NODE_COLUMNS} FROM nodes WHERE doc_id = ? AND page_no = ? ORDER BY ordinal", (doc_id, page_no)
        )
        return [NodeRecord(*row) for row in rows]

    def nodes(self, node_ids: Iterable[str]) -> dict[str, NodeRecord]:
        """Several nodes by id; missing ones are left out."""
        found = {}
        for node_id in node_ids:
            row = self._db.one(f"SELECT {_NODE_COLUMNS} FROM nodes WHERE node_id = ?", (node_id,))
            if row is not None:
                found[node_id] = NodeRecord(*row)
        return found

    def put_vectors(self, fingerprint: str, vectors: Mapping[bytes, np.ndarray]) -> None:
        """Keep vectors as float16 by content hash and model fingerprint, those of nodes that are here.

        A vector tells much of its text: none is kept for a node that was deleted meanwhile.
        """
        with self._db.transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO vectors SELECT ?1, ?2, ?3"
                " WHERE EXISTS (SELECT 1 FROM nodes WHERE content_hash = ?1)",
                [(key, fingerprint, vector.astype("<f2").tobytes()) for key, vector in vectors.items()],
            )

    def vectors(self, fingerprint: str, hashes: Iterable[bytes]) -> dict[bytes, np.ndarray]:
        """Vectors of one model as float32 `(dim,)`; missing ones are left out."""
        found = {}
        for key in dict.fromkeys(hashes):
            row = self._db.one(
                "SELECT vector FROM vectors WHERE content_hash = ? AND fingerprint = ?", (key, fingerprint)
            )
            if row is not None:
                found[key] = np.frombuffer(row[0], "<f2").astype(np.float32)
        return found

    def put_tokens(self, fingerprint: str, tokens: Mapping[bytes, np.ndarray]) -> None:
        """Keep token vectors `(count, dim)` int8 by content hash and fingerprint, where a node and its vector are here.

        They go when the vector goes: both tell of the same text.
        """
        with self._db.transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO tokens SELECT ?1, ?2, ?3"
                " WHERE EXISTS (SELECT 1 FROM nodes WHERE content_hash = ?1)"
                " AND EXISTS (SELECT 1 FROM vectors WHERE content_hash = ?1)",
                [(key, fingerprint, pack(rows)) for key, rows in tokens.items()],
            )

    def tokens(self, fingerprint: str, hashes: Iterable[bytes]) -> dict[bytes, np.ndarray]:
        """Token vectors `(count, dim)` int8; missing ones are left out. Raises `DamagedError`."""
        found: dict[bytes, bytes] = {}
        with self._db.reading() as db:
            for key in dict.fromkeys(hashes):
                row = db.execute(
                    "SELECT tokens FROM tokens WHERE content_hash = ? AND fingerprint = ?", (key, fingerprint)
                ).fetchone()
                if row is not None:
                    found[key] = row[0]
        return {key: unpack(data) for key, data in found.items()}

    def without_tokens(self, fingerprint: str, hashes: Iterable[bytes]) -> set[bytes]:
        """Those of these contents that have no token vectors."""
        with self._db.reading() as db:
            return {
                key
                for key in dict.fromkeys(hashes)
                if not db.execute(
                    "SELECT 1 FROM tokens WHERE content_hash = ? AND fingerprint = ?", (key, fingerprint)
                ).fetchone()
            }
