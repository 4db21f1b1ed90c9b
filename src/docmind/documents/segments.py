"""Documents in snapshots: segments with the text of a document, the tables that name them, and bringing them back.

A segment holds the rows of `pages`, `nodes`, `corrections` and `figures` of a document. What a person sets on it (its
name, tags, collections) is a `HeldDocument`, so that a change of it makes no new segment. A segment has no vectors and
no marks: a document in the library has them in its own rows, and one that is brought back after its erasure gets new
ones.

    segment = u32 length ‖ JSON ‖ bytes of the values that are no JSON, in their order; {"bytes": n} stands for each
"""

from __future__ import annotations

import json
import secrets
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from docmind.documents.carrying import TABLES, CarriedDocument, adopt_document, columns_of, rows_of
from docmind.documents.catalog import Catalog
from docmind.documents.columns import IN_INDEX, NOT_IN_SNAPSHOTS, OF_MAILS
from docmind.documents.enclosed import note_children
from docmind.documents.stored import artifact_of, readable_artifacts
from docmind.errors import ConfigError, DamagedError, NotFoundError
from docmind.records.documents import ArtifactRef
from docmind.storage import Connection, Database, Row
from docmind.wording import _

_LENGTH = struct.Struct(">I")
_HELD = {
    "pages": "page_no",
    "nodes": "page_no, ordinal, node_id",
    "corrections": "page_no, number",
    "figures": "page_no, number",
}
"""The tables of a segment, and the order of their rows."""
_LATER: dict[str, dict[str, object]] = {
    "pages": {"blocks": b"", "uncorrected": b"", "ocr": ""}, "nodes": {"context": ""}, "figures": {"kind": ""},
}  # fmt: skip
"""Columns that tables of a segment got later, with the value of rows that do not use them."""
_LATER_TABLES = ("corrections", "figures")
"""Tables that a segment has only where they have rows: it is the same bytes as before there were these tables."""
_NO_ROWS: dict[str, list[Any]] = {"columns": [], "rows": []}

_OF_DOCUMENT = "SELECT {columns} FROM {table} WHERE doc_id = ?1"
_IS_HELD = "status = 'ready' AND deleted_at_ms IS NULL"

Rows = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class HeldDocument:
    """What a snapshot knows of a document beside its text: its row, its web address, the ids of its collections."""

    doc_id: str
    row: Mapping[str, Any] = field(repr=False)
    web_page: Mapping[str, Any] | None = field(default=None, repr=False)
    collections: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return str(self.row["document"])

    @property
    def original(self) -> ArtifactRef:
        """The sealed original."""
        return artifact_of(str(self.row["original"]), str(self.row["original_suffix"]))

    def plain(self) -> dict[str, Any]:
        """Return it as JSON can represent it."""
        web_page = None if self.web_page is None else dict(self.web_page)
        return {"row": dict(self.row), "web_page": web_page, "collections": list(self.collections)}


def held_of(plain: Mapping[str, Any]) -> HeldDocument:
    """Return what `HeldDocument.plain` made. Raises `DamagedError`."""
    try:
        return HeldDocument(plain["row"]["doc_id"], plain["row"], plain["web_page"], tuple(plain["collections"]))
    except (KeyError, TypeError) as error:
        raise DamagedError(_("The state of the snapshot is damaged.")) from error


def held_documents(database: Database) -> tuple[list[HeldDocument], list[dict[str, Any]]]:
    """Return the ready documents outside the bin, and all collections, as of one moment."""
    with database.reading():
        query = f"SELECT {{columns}} FROM {{table}} WHERE {_IS_HELD} ORDER BY doc_id"
        rows = rows_of(database, "documents", query, left_out=NOT_IN_SNAPSHOTS)
        pages = {str(row["doc_id"]): row for row in rows_of(database, "web_pages")}
        collections = rows_of(database, "collections", "SELECT {columns} FROM {table} ORDER BY collection_id")
        collected: dict[str, list[str]] = {}
        for row in rows_of(database, "collected"):
            collected.setdefault(str(row["doc_id"]), []).append(str(row["collection_id"]))
    found = []
    for row in rows:
        doc_id = str(row["doc_id"])
        for later in ("parent_id", *OF_MAILS):  # a snapshot of before there were such columns is the same
            if not row[later]:
                del row[later]
        found.append(HeldDocument(doc_id, row, pages.get(doc_id), tuple(sorted(collected.get(doc_id, ())))))
    return found, collections


def segment_of(database: Database, doc_id: str) -> tuple[bytes, list[ArtifactRef]]:
    """Return the segment of a document, the same bytes for the same rows, and the images that it names.

    Raises `NotFoundError` where there is no such document, `DamagedError`.
    """
    with database.reading():
        if not database.one(f"SELECT 1 FROM documents WHERE doc_id = ? AND {_IS_HELD}", (doc_id,)):
            raise NotFoundError(_("There is no such document: {doc_id}.").format(doc_id=doc_id))
        rows: Rows = {
            table: rows_of(database, table, f"{_OF_DOCUMENT} ORDER BY {order}", (doc_id,))
            for table, order in _HELD.items()
        }
    return _packed(rows), _images(rows)


def rows_in(segment: bytes) -> Rows:
    """Return the rows of a segment by table. Raises `DamagedError`."""
    try:
        (length,) = _LENGTH.unpack_from(segment)
        at = _LENGTH.size + length
        plain = json.loads(segment[_LENGTH.size : at])
        rows: Rows = {}
        for table in _HELD:
            rows[table] = []
            packed = plain.get(table, _NO_ROWS) if table in _LATER_TABLES else plain[table]
            for values in packed["rows"]:
                row = dict(zip(packed["columns"], values, strict=True))
                for name, value in row.items():
                    if isinstance(value, dict):
                        row[name] = segment[at : at + value["bytes"]]
                        at += value["bytes"]
                rows[table].append(row)
        if at != len(segment):
            raise ValueError("bytes are left, or missing")
    except (struct.error, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedError(_("A document of the snapshot is damaged.")) from error
    return rows


def carried_in(held: HeldDocument, rows: Rows) -> CarriedDocument:
    """Return a document of a snapshot as rows of all tables, those of vectors and marks empty."""
    web_pages = [] if held.web_page is None else [dict(held.web_page)]
    filled = {"documents": [dict(held.row)], "web_pages": web_pages, **rows}
    return CarriedDocument(held.doc_id, {table: filled.get(table, []) for table in TABLES})


def _packed(rows: Rows) -> bytes:
    rows = {table: _without_later(table, found) for table, found in rows.items()}
    blobs: list[bytes] = []

    def value(one: object) -> object:
        if isinstance(one, bytes):
            blobs.append(one)
            return {"bytes": len(one)}
        return one

    plain = {
        table: {
            "columns": list(found[0]) if found else [],
            "rows": [[value(one) for one in row.values()] for row in found],
        }
        for table, found in rows.items()
        if found or table not in _LATER_TABLES
    }
    text = json.dumps(plain, separators=(",", ":")).encode()
    return b"".join((_LENGTH.pack(len(text)), text, *blobs))


def _without_later(table: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows without columns that came later, where no row uses them: their segment is the one of before."""
    unused = [
        name for name, empty in _LATER.get(table, {}).items() if all(row.get(name, empty) == empty for row in rows)
    ]
    return [{name: value for name, value in row.items() if name not in unused} for row in rows] if unused else rows


def _images(rows: Rows) -> list[ArtifactRef]:
    named = [(row, name) for row in rows["pages"] for name in ("image", "thumbnail")]
    named += [(row, "image") for row in rows["figures"]]
    return [artifact_of(str(row[name]), str(row[f"{name}_suffix"])) for row, name in named]


class Segment(NamedTuple):
    """A row of `segments`: a state of the text of a document, in a file of so many bytes."""

    address: str
    doc_id: str
    bytes: int
    sha256: str


class NewSegment(NamedTuple):
    """A segment that is not there yet, the key of its document, and the sealed files that it names."""

    segment: Segment
    key: bytes
    refs: tuple[ArtifactRef, ...]


class Segments:
    """The tables of snapshots, segments and their keys. Thread-safe as `Database` is."""

    def __init__(self, database: Database, catalog: Catalog) -> None:
        self._db, self._catalog = database, catalog

    # snapshots

    def begin(self, snapshot_id: str, title: str, reason: str, created_at_ms: int) -> None:
        """Note a snapshot that is being made; until `finish` it is removed at the next opening."""
        with self._db.transaction() as db:
            db.execute(
                "INSERT INTO snapshots (snapshot_id, title, reason, created_at_ms, state)"
                " VALUES (?, ?, ?, ?, 'making')",
                (snapshot_id, title, reason, created_at_ms),
            )

    def finish(self, snapshot_id: str, *, pages: int, corpus: str, config: str, text_model: str) -> None:
        """Mark a snapshot whole: its files are durable."""
        with self._db.transaction() as db:
            db.execute(
                "UPDATE snapshots SET state = 'whole', pages = ?, corpus = ?, config = ?, text_model = ?, documents ="
                " (SELECT count(*) FROM snapshot_members m WHERE m.snapshot_no = snapshots.snapshot_no)"
                " WHERE snapshot_id = ?",
                (pages, corpus, config, text_model, snapshot_id),
            )

    def going(self, snapshot_id: str) -> None:
        """Mark a snapshot that is being removed."""
        with self._db.transaction() as db:
            db.execute("UPDATE snapshots SET state = 'going' WHERE snapshot_id = ?", (snapshot_id,))

    def unfinished(self) -> list[str]:
        """Return the snapshots that were being made or removed when the process ended."""
        return [name for (name,) in self._db.all("SELECT snapshot_id FROM snapshots WHERE state <> 'whole'")]

    def pin(self, snapshot_id: str, *, is_pinned: bool) -> None:
        """Set whether a snapshot is kept when others are pruned."""
        with self._db.transaction() as db:
            db.execute("UPDATE snapshots SET is_pinned = ? WHERE snapshot_id = ?", (is_pinned, snapshot_id))

    def snapshots(self) -> list[Row]:
        """Return whole snapshots, the newest first.

        Each with id, title, reason, time, documents then and now, pages, corpus, config, text model, pin, bytes of its
        segments, and bytes of those that only it has.
        """
        return self._db.all(
            "SELECT s.snapshot_id, s.title, s.reason, s.created_at_ms, s.documents, count(g.segment_no), s.pages,"
            " s.corpus, s.config, s.text_model, s.is_pinned, coalesce(sum(g.bytes), 0), coalesce(sum(CASE WHEN NOT"
            " EXISTS (SELECT 1 FROM snapshot_members o WHERE o.segment_no = g.segment_no"
            " AND o.snapshot_no <> s.snapshot_no) THEN g.bytes ELSE 0 END), 0)"
            " FROM snapshots s LEFT JOIN snapshot_members m ON m.snapshot_no = s.snapshot_no"
            " LEFT JOIN segments g ON g.segment_no = m.segment_no WHERE s.state = 'whole'"
            " GROUP BY s.snapshot_no ORDER BY s.created_at_ms DESC, s.snapshot_no DESC"
        )

    def names(self) -> dict[str, tuple[str, int]]:
        """Return titles and times of whole snapshots by id, the newest first."""
        rows = self._db.all(
            "SELECT snapshot_id, title, created_at_ms FROM snapshots WHERE state = 'whole'"
            " ORDER BY created_at_ms DESC, snapshot_no DESC"
        )
        return {snapshot_id: (title, at_ms) for snapshot_id, title, at_ms in rows}

    def remove(self, snapshot_id: str) -> list[ArtifactRef]:
        """Delete the rows of a snapshot, of segments that no other has, and of keys that open none any more.

        Returns the sealed files that nothing refers to now, which are in `Catalog.doomed` too. The caller holds
        `Catalog.naming`.
        """
        with self._db.transaction() as db:
            alone = _alone(db, snapshot_id)
            refs = _files_of(db, [number for number, _address in alone])
            db.execute("DELETE FROM snapshots WHERE snapshot_id = ?", (snapshot_id,))
            db.executemany("DELETE FROM segments WHERE segment_no = ?", [(number,) for number, _address in alone])
            left = db.execute(
                "SELECT d.doc_id FROM documents d JOIN segment_keys k ON k.doc_id = d.doc_id"
                " WHERE d.deleted_at_ms IS NOT NULL AND d.doc_id NOT IN (SELECT doc_id FROM segments)"
            )
            for (doc_id,) in left.fetchall():
                self._catalog.touch(doc_id)  # the index drops it
            db.execute("DELETE FROM segment_keys WHERE doc_id NOT IN (SELECT doc_id FROM segments)")
            return self._catalog.doom(refs)

    def alone(self, snapshot_id: str) -> list[str]:
        """Return the addresses of segments that only this snapshot has."""
        with self._db.reading() as db:
            return [address for _number, address in _alone(db, snapshot_id)]

    # segments

    def known(self, address: str) -> Segment | None:
        """Return the segment with this address, or None."""
        row = self._db.one("SELECT address, doc_id, bytes, sha256 FROM segments WHERE address = ?", (address,))
        return Segment(*row) if row else None

    def key(self, doc_id: str) -> bytes | None:
        """Return the key of a document's segments, or None where it has none or they were erased."""
        row = self._db.one("SELECT key FROM segment_keys WHERE doc_id = ?", (doc_id,))
        return row[0] if row else None

    def join(self, snapshot_id: str, new: Iterable[NewSegment], addresses: Iterable[str]) -> None:
        """Add segments, their keys and what they name, and have a snapshot hold these addresses."""
        with self._db.transaction() as db:
            for segment, key, refs in new:
                db.execute("INSERT OR IGNORE INTO segment_keys (doc_id, key) VALUES (?, ?)", (segment.doc_id, key))
                made = db.execute(
                    "INSERT INTO segments (address, doc_id, bytes, sha256) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (address) DO UPDATE SET bytes = excluded.bytes, sha256 = excluded.sha256"
                    " RETURNING segment_no",
                    segment,
                )
                (number,) = made.fetchone()
                db.executemany(
                    "INSERT OR IGNORE INTO segment_files (sha256, segment_no, suffix) VALUES (?, ?, ?)",
                    [(ref.sha256, number, ref.suffix) for ref in refs],
                )
            db.executemany(
                "INSERT OR IGNORE INTO snapshot_members (snapshot_no, segment_no) SELECT s.snapshot_no, g.segment_no"
                " FROM snapshots s, segments g WHERE s.snapshot_id = ? AND g.address = ?",
                [(snapshot_id, address) for address in addresses],
            )

    def members(self, snapshot_id: str) -> list[Segment]:
        """Return the segments that a snapshot holds now."""
        rows = self._db.all(
            "SELECT g.address, g.doc_id, g.bytes, g.sha256 FROM segments g JOIN snapshot_members m"
            " ON m.segment_no = g.segment_no JOIN snapshots s ON s.snapshot_no = m.snapshot_no"
            " WHERE s.snapshot_id = ? ORDER BY g.doc_id",
            (snapshot_id,),
        )
        return [Segment(*row) for row in rows]

    def files(self, address: str) -> list[ArtifactRef]:
        """Return the sealed files that a segment names."""
        rows = self._db.all(
            "SELECT f.sha256, f.suffix FROM segment_files f JOIN segments g ON g.segment_no = f.segment_no"
            " WHERE g.address = ? ORDER BY f.sha256",
            (address,),
        )
        return readable_artifacts(rows)

    def holding(self, doc_id: str) -> list[str]:
        """Return the ids of the snapshots that hold a document, the newest first."""
        rows = self._db.all(
            "SELECT DISTINCT s.snapshot_id, s.created_at_ms FROM snapshots s JOIN snapshot_members m"
            " ON m.snapshot_no = s.snapshot_no JOIN segments g ON g.segment_no = m.segment_no"
            " WHERE g.doc_id = ? ORDER BY s.created_at_ms DESC",
            (doc_id,),
        )
        return [snapshot_id for snapshot_id, _at in rows]

    # bringing back

    def put_back(
        self, db: Connection, target: Mapping[str, tuple[str, HeldDocument]], present: Mapping[str, str],
        collections: Sequence[Mapping[str, Any]], load: Callable[[str], Rows], now_ms: int,
    ) -> tuple[int, int, int, int]:  # fmt: skip
        """Make documents, what is set on them, and collections those of a snapshot, in the caller's transaction.

        `target` has address and row of each of its documents by id, `present` the addresses of those that are in the
        library, `load` returns the rows of one. Documents that came since are moved to the bin. A collection that came
        since stays where a conversation is bound to it.

        Returns how many were brought back, moved to the bin, changed, and left. Raises `ConfigError` where one of them
        is being read now.
        """
        rows: dict[str, dict[str, Any]] = {str(row["doc_id"]): row for row in rows_of(self._db, "documents")}
        restored = binned = changed = unchanged = 0
        for doc_id, (address, held) in target.items():
            row = rows.get(doc_id)
            if row is None:
                adopt_document(db, carried_in(held, load(doc_id)))
                self._catalog.set(db, doc_id, {})
                restored += 1
            elif row["status"] != "ready":
                raise ConfigError(
                    _("{document} is being read now.").format(document=held.name),
                    hint=_("Wait until it is read, or remove it from the queue; then try again."),
                )
            else:
                wanted = {
                    name: value for name, value in held.row.items() if name in row and name not in NOT_IN_SNAPSHOTS
                }
                # That of a document in the bin is not known: it may have been changed before it was deleted.
                is_other_text = present.get(doc_id) != address
                if is_other_text:
                    _replace(db, doc_id, load(doc_id))
                is_as_set = all(row.get(name) == value for name, value in wanted.items())
                if not is_as_set:
                    self._catalog.set(db, doc_id, wanted)
                is_same = not is_other_text and all(row[name] == wanted[name] for name in IN_INDEX if name in wanted)
                if is_same and is_as_set:
                    unchanged += 1
                    continue
                restored += row["deleted_at_ms"] is not None
                changed += row["deleted_at_ms"] is None
                if is_same:
                    continue
            self._catalog.touch(doc_id)
        for doc_id, row in rows.items():
            if row["status"] == "ready" and row["deleted_at_ms"] is None and doc_id not in target:
                self._catalog.set(db, doc_id, {"deleted_at_ms": now_ms})
                self._catalog.touch(doc_id)
                binned += 1
        _put_back_collections(db, target, collections)
        note_children(db)
        return restored, binned, changed, unchanged


def destroy_segments(db: Connection, doc_id: str) -> tuple[int, list[ArtifactRef]]:
    """Destroy the key of a document and delete its segments from all snapshots, in the caller's transaction.

    Returns how many snapshots held it, and the sealed files that the segments named. From here on no copy of a segment
    can be read. Files and manifests follow (`docmind.maintenance`).
    """
    numbers = [number for (number,) in db.execute("SELECT segment_no FROM segments WHERE doc_id = ?", (doc_id,))]
    refs = _files_of(db, numbers)
    (snapshots,) = db.execute(
        "SELECT count(DISTINCT m.snapshot_no) FROM snapshot_members m JOIN segments g ON g.segment_no = m.segment_no"
        " WHERE g.doc_id = ?",
        (doc_id,),
    ).fetchone()
    db.execute("DELETE FROM segments WHERE doc_id = ?", (doc_id,))
    db.execute("DELETE FROM segment_keys WHERE doc_id = ?", (doc_id,))
    return snapshots, refs


def new_key() -> bytes:
    """Return a key for the segments of one document."""
    return secrets.token_bytes(32)


def _alone(db: Connection, snapshot_id: str) -> list[tuple[int, str]]:
    return db.execute(
        "SELECT g.segment_no, g.address FROM segments g JOIN snapshot_members m ON m.segment_no = g.segment_no"
        " JOIN snapshots s ON s.snapshot_no = m.snapshot_no WHERE s.snapshot_id = ? AND NOT EXISTS"
        " (SELECT 1 FROM snapshot_members o WHERE o.segment_no = g.segment_no AND o.snapshot_no <> s.snapshot_no)",
        (snapshot_id,),
    ).fetchall()


def _files_of(db: Connection, numbers: Iterable[int]) -> list[ArtifactRef]:
    sql = "SELECT sha256, suffix FROM segment_files WHERE segment_no = ?"
    return readable_artifacts(row for number in numbers for row in db.execute(sql, (number,)))


def _replace(db: Connection, doc_id: str, rows: Rows) -> None:
    """Replace pages, nodes, corrections and figures of a document; marks and vectors of its page images stay."""
    last = max((row["page_no"] for row in rows["pages"]), default=0)
    db.execute("DELETE FROM pages WHERE doc_id = ? AND page_no > ?", (doc_id, last))
    for table in ("nodes", *_LATER_TABLES):
        db.execute(f"DELETE FROM {table} WHERE doc_id = ?", (doc_id,))
    for table in _HELD:
        known = columns_of(db, table)
        for row in rows[table]:
            columns = [column for column in row if column in known]
            named = ", ".join(f'"{column}"' for column in columns)
            db.execute(
                f"INSERT OR REPLACE INTO {table} ({named}) VALUES ({', '.join('?' * len(columns))})",
                [row[column] for column in columns],
            )


def _put_back_collections(
    db: Connection, target: Mapping[str, tuple[str, HeldDocument]], collections: Sequence[Mapping[str, Any]]
) -> None:
    kept = [str(row["collection_id"]) for row in collections]
    marks = ", ".join("?" * len(kept))
    db.execute(
        f"DELETE FROM collections WHERE collection_id NOT IN ({marks}) AND NOT EXISTS"
        " (SELECT 1 FROM bound_collections b WHERE b.collection_id = collections.collection_id)",
        kept,
    )
    for row in collections:
        db.execute(
            "INSERT INTO collections (collection_id, name, created_at_ms) VALUES (:collection_id, :name,"
            " :created_at_ms) ON CONFLICT (collection_id) DO UPDATE SET name = excluded.name",
            dict(row),
        )
        db.execute("DELETE FROM collected WHERE collection_id = ?", (row["collection_id"],))
    pairs = [(one, doc_id) for doc_id, (_address, held) in target.items() for one in held.collections if one in kept]
    db.executemany("INSERT OR IGNORE INTO collected (collection_id, doc_id) VALUES (?, ?)", pairs)
