"""Nodes of the vault, and the vectors of their embedded texts.

Token vectors are stored as `u8 version=1 ‖ u8 dim ‖ u16 count, little-endian ‖ zlib of (count, dim) int8`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from docmind.documents.catalog import EMBEDDED_AT_ONCE
from docmind.errors import DamagedError
from docmind.records.documents import Modality
from docmind.storage import Connection, Database, Preferences, Row
from docmind.wording import _

_TOKENS = struct.Struct("<BBH")
_VERSION = 1
_AT_ONCE = 256  # rows of one query
_IS_LATER = f"p.image = p.thumbnail AND p.page_no > {EMBEDDED_AT_ONCE}"  # a page that `is_embedded_later`
_AWAITING = "awaiting_vectors"  # the preference that counts documents whose last vectors are still to be made

# Both in the order of their joins: rows of pages and vectors are long.
_OF_LONG = "pages p CROSS JOIN documents d ON d.doc_id = p.doc_id CROSS JOIN nodes n ON n.doc_id = p.doc_id"
_OF_ALL = "nodes n CROSS JOIN documents d ON d.doc_id = n.doc_id CROSS JOIN pages p ON p.doc_id = n.doc_id"


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One node: `text[start:end]` of its page.

    `context` is what it needs from elsewhere to be understood, and is embedded before it: the headings above, and the
    caption and the names of the columns of a table. `content_hash` names what was embedded, and so its vector.
    """

    node_id: str
    doc_id: str
    page_no: int
    ordinal: int
    start: int
    end: int
    modality: Modality
    language: str
    content_hash: bytes
    context: str = ""


_NODE_COLUMNS = 'node_id, doc_id, page_no, ordinal, start, "end", modality, language, content_hash, context'


def _drop_unused(db: Connection, hashes: Sequence[Row]) -> None:
    """Delete the vectors, of all models, that no node uses any more.

    `hashes` are rows of one content hash.
    """
    db.executemany(
        "DELETE FROM vectors WHERE content_hash = ?1 AND NOT EXISTS (SELECT 1 FROM nodes WHERE content_hash = ?1)",
        hashes,
    )


def pack(tokens: np.ndarray) -> bytes:
    """Pack token vectors `(count, dim)` int8 for storage; dim at most 255, count at most 65,535."""
    count, dim = tokens.shape
    return _TOKENS.pack(_VERSION, dim, count) + zlib.compress(tokens.tobytes(), 1)


def unpack_tokens(data: bytes) -> np.ndarray:
    """Unpack token vectors to `(count, dim)` int8. Raises `DamagedError`."""
    try:
        version, dim, count = _TOKENS.unpack_from(data)
        raw = zlib.decompressobj().decompress(data[_TOKENS.size :], count * dim + 1)
        if version != _VERSION or len(raw) != count * dim:
            raise ValueError("not token vectors")
    except (struct.error, zlib.error, ValueError) as error:
        raise DamagedError(_("The search data of a page is damaged.")) from error
    return np.frombuffer(raw, np.int8).reshape(count, dim)


class NodeStore:
    """The node and vector tables of `vault.db`. Thread-safe as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @property
    def is_read_only(self) -> bool:
        """Whether the vault is open for reading only."""
        return self._db.is_read_only

    def replace(self, doc_id: str, nodes: Sequence[NodeRecord]) -> None:
        """Replace all nodes of a document by these, keeping the vectors that they share."""
        with self._db.transaction() as db:
            old = db.execute("SELECT DISTINCT content_hash FROM nodes WHERE doc_id = ?", (doc_id,)).fetchall()
            db.execute("DELETE FROM nodes WHERE doc_id = ?", (doc_id,))
            self.put(nodes)
            _drop_unused(db, old)

    def replace_page(self, doc_id: str, page_no: int, nodes: Sequence[NodeRecord]) -> None:
        """Replace the nodes of one page by these, keeping the vectors that they share."""
        with self._db.transaction() as db:
            page = doc_id, page_no
            old = db.execute(
                "SELECT DISTINCT content_hash FROM nodes WHERE doc_id = ? AND page_no = ?", page
            ).fetchall()
            db.execute("DELETE FROM nodes WHERE doc_id = ? AND page_no = ?", page)
            self.put(nodes)
            _drop_unused(db, old)

    def drop(self, doc_id: str) -> None:
        """Delete all nodes and pages of a document that is read again.

        The next start sets their artifacts aside.
        """
        with self._db.transaction() as db:
            self.replace(doc_id, [])
            db.execute("DELETE FROM pages WHERE doc_id = ?", (doc_id,))

    def replace_on(self, doc_id: str, page_nos: Sequence[int], nodes: Sequence[NodeRecord]) -> None:
        """Replace the nodes on these pages of a document by these, keeping the vectors that they share."""
        with self._db.transaction() as db:
            old: list[Row] = []
            for page_no in page_nos:
                where = "WHERE doc_id = ? AND page_no = ?"
                old += db.execute(f"SELECT DISTINCT content_hash FROM nodes {where}", (doc_id, page_no)).fetchall()
                db.execute(f"DELETE FROM nodes {where}", (doc_id, page_no))
            self.put(nodes)
            _drop_unused(db, old)

    def put(self, nodes: Sequence[NodeRecord]) -> None:
        """Store nodes, replacing existing ones."""
        with self._db.transaction() as db:
            db.executemany(
                f"INSERT OR REPLACE INTO nodes ({_NODE_COLUMNS}) VALUES ({', '.join('?' * 10)})",
                [
                    (
                        *(node.node_id, node.doc_id, node.page_no, node.ordinal, node.start, node.end),
                        *(node.modality, node.language, node.content_hash, node.context),
                    )
                    for node in nodes
                ],
            )

    def nodes_of(self, doc_id: str) -> list[NodeRecord]:
        """Return all nodes of one document in page order."""
        rows = self._db.all(f"SELECT {_NODE_COLUMNS} FROM nodes WHERE doc_id = ? ORDER BY page_no, ordinal", (doc_id,))
        return [NodeRecord(*row) for row in rows]

    def count(self, doc_id: str) -> int:
        """Return the number of nodes of one document."""
        row = self._db.one("SELECT count(*) FROM nodes WHERE doc_id = ?", (doc_id,))
        return 0 if row is None else row[0]

    def of_page(self, doc_id: str, page_no: int) -> list[NodeRecord]:
        """Return the nodes of one page in reading order."""
        rows = self._db.all(
            f"SELECT {_NODE_COLUMNS} FROM nodes WHERE doc_id = ? AND page_no = ? ORDER BY ordinal", (doc_id, page_no)
        )
        return [NodeRecord(*row) for row in rows]

    def nodes(self, node_ids: Iterable[str]) -> dict[str, NodeRecord]:
        """Return nodes by id, without missing ones."""
        found = {}
        for node_id in node_ids:
            row = self._db.one(f"SELECT {_NODE_COLUMNS} FROM nodes WHERE node_id = ?", (node_id,))
            if row is not None:
                found[node_id] = NodeRecord(*row)
        return found

    def find_awaiting(self, fingerprint: str) -> list[str]:
        """Return the documents with passages that have no vector of this model yet, and note how many.

        Passages on all sheets are looked at where documents are awaited, which takes 10 µs each; otherwise those of
        pages that are `is_embedded_later`, for others get theirs while they are read.
        """
        before = self.awaiting()
        tables, pages = (_OF_ALL, "p.image = p.thumbnail") if before else (_OF_LONG, _IS_LATER)
        rows = self._db.all(
            f"SELECT DISTINCT d.doc_id FROM {tables} AND n.page_no = p.page_no"
            f" WHERE d.status = 'ready' AND d.deleted_at_ms IS NULL AND {pages} AND NOT EXISTS"
            " (SELECT 1 FROM vectors v WHERE v.content_hash = n.content_hash AND v.fingerprint = ?)"
            " ORDER BY d.doc_id",
            (fingerprint,),
        )
        if len(rows) != before:
            with self._db.transaction():
                if self.awaiting() == before:  # none was added meanwhile
                    Preferences(self._db).put(_AWAITING, len(rows))
        return [doc_id for (doc_id,) in rows]

    def expect(self, more: int) -> None:
        """Note that so many more documents await vectors; of those that have got theirs, less than 0.

        While any is awaited, the index takes every passage on a sheet without a vector. Only `find_awaiting` says that
        there is none any more.
        """
        with self._db.transaction():
            Preferences(self._db).put(_AWAITING, max(1, self.awaiting() + more))

    def is_embedded_later(self, doc_id: str) -> bool:
        """Return whether passages of a document get their vectors once nothing is being read."""
        return self._db.one(f"SELECT 1 FROM pages p WHERE p.doc_id = ? AND {_IS_LATER} LIMIT 1", (doc_id,)) is not None

    def without_vectors(self, fingerprint: str, pages: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """Return those of these pages, by document id and number, of which a passage has no vector of this model."""
        with self._db.reading() as db:
            return {
                page
                for page in pages
                if db.execute(
                    "SELECT 1 FROM nodes n WHERE n.doc_id = ?1 AND n.page_no = ?2 AND NOT EXISTS"
                    " (SELECT 1 FROM vectors v WHERE v.content_hash = n.content_hash AND v.fingerprint = ?3)",
                    (*page, fingerprint),
                ).fetchone()
            }

    def awaiting(self) -> int:
        """Return how many documents await vectors, as `find_awaiting` and `expect` noted; reads one row."""
        try:
            count = Preferences(self._db).get(_AWAITING)
        except DamagedError:  # there may be some: counted again by the next call
            return 1
        return count if isinstance(count, int) else 0

    def put_vectors(self, fingerprint: str, vectors: Mapping[bytes, np.ndarray]) -> None:
        """Store vectors as float16 by content hash and model fingerprint, if a node with that content exists.

        A vector reveals much of its text, so none is stored for a node that was deleted meanwhile.
        """
        with self._db.transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO vectors SELECT ?1, ?2, ?3"
                " WHERE EXISTS (SELECT 1 FROM nodes WHERE content_hash = ?1)",
                [(key, fingerprint, vector.astype("<f2").tobytes()) for key, vector in vectors.items()],
            )

    def has_vectors(self) -> bool:
        """Return whether any node was embedded, by any model."""
        return self._db.one("SELECT 1 FROM vectors LIMIT 1") is not None

    def vectors(self, fingerprint: str, hashes: Iterable[bytes]) -> dict[bytes, np.ndarray]:
        """Return vectors of one model as float32 `(dim,)`, without missing and damaged ones: both can be made again."""
        found = {}
        wanted = list(dict.fromkeys(hashes))
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            try:
                kept = self._kept_vectors(fingerprint, some)
            except DamagedError:  # one at a time: the others are whole
                kept = {}
                for key in some:
                    with suppress(DamagedError):
                        kept |= self._kept_vectors(fingerprint, [key])
            found.update((key, np.frombuffer(kept[key], "<f2").astype(np.float32)) for key in some if key in kept)
        return found

    def _kept_vectors(self, fingerprint: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return stored vectors of one model. Raises `DamagedError` where one of them is damaged."""
        return dict(
            self._db.all(
                "SELECT content_hash, vector FROM vectors WHERE fingerprint = ?"
                f" AND content_hash IN ({', '.join('?' * len(hashes))})",
                (fingerprint, *hashes),
            )
        )

    def put_tokens(self, fingerprint: str, tokens: Mapping[bytes, np.ndarray]) -> None:
        """Store token vectors `(count, dim)` int8 by content hash and fingerprint, if a node and its vector exist.

        They are deleted with the vector, because both reveal the same text.
        """
        with self._db.transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO tokens SELECT ?1, ?2, ?3"
                " WHERE EXISTS (SELECT 1 FROM nodes WHERE content_hash = ?1)"
                " AND EXISTS (SELECT 1 FROM vectors WHERE content_hash = ?1)",
                [(key, fingerprint, pack(rows)) for key, rows in tokens.items()],
            )

    def tokens(self, fingerprint: str, hashes: Iterable[bytes]) -> dict[bytes, np.ndarray]:
        """Return token vectors `(count, dim)` int8, without missing ones. Raises `DamagedError`."""
        found: dict[bytes, bytes] = {}
        with self._db.reading() as db:
            for key in dict.fromkeys(hashes):
                row = db.execute(
                    "SELECT tokens FROM tokens WHERE content_hash = ? AND fingerprint = ?", (key, fingerprint)
                ).fetchone()
                if row is not None:
                    found[key] = row[0]
        return {key: unpack_tokens(data) for key, data in found.items()}

    def without_tokens(self, fingerprint: str, hashes: Iterable[bytes]) -> set[bytes]:
        """Return those of these contents that have no token vectors."""
        with self._db.reading() as db:
            return {
                key
                for key in dict.fromkeys(hashes)
                if not db.execute(
                    "SELECT 1 FROM tokens WHERE content_hash = ? AND fingerprint = ?", (key, fingerprint)
                ).fetchone()
            }
