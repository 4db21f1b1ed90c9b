"""Files inside documents: attachments of mails, members of archives.

Each file that can be read is a document of its own, added after the one that it lies in. `documents.parent_id` is the
document by which a file came into the library, empty for one that was added by itself. A file with the same content in
several documents is one document, whose parent is the first of them; it goes to another one when its parent goes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from docmind.errors import DamagedError
from docmind.records.documents import EnclosedFile, readable_name
from docmind.records.search import Filters
from docmind.storage import Connection, Database
from docmind.wording import N_, _

DEEPEST = 3
"""How many documents a file may lie in, one inside the other."""

MOST_INSIDE = 10_000
"""The most files inside one document, those inside its files counted too."""

ERASED, _GONE = N_("It was erased."), N_("It is not in the library.")

_BELOW = (
    "WITH RECURSIVE below (doc_id) AS (SELECT value FROM json_each(?1) UNION"
    " SELECT {column} FROM {table} JOIN below ON {table}.parent_id = below.doc_id{where}) "
)
_HAS_PARENT = " WHERE documents.parent_id <> ''"  # as the index has it
_CHILDREN = _BELOW.format(column="documents.doc_id", table="documents", where=_HAS_PARENT)
_CHILDREN_SHOWN = _BELOW.format(
    column="documents.doc_id", table="documents", where=f"{_HAS_PARENT} AND documents.deleted_at_ms IS NULL"
)
_FILES = _BELOW.format(column="enclosed.doc_id", table="enclosed", where="")
_ABOVE = (
    "WITH RECURSIVE above (doc_id, height) AS (SELECT ?1, 0 UNION SELECT d.parent_id, height + 1 FROM documents d"
    f" JOIN above ON d.doc_id = above.doc_id WHERE d.parent_id <> '' AND height <= {2 * DEEPEST}) "
)


class EnclosedFiles:
    """The table `enclosed`, and the parents of documents. Thread-safe as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def of(self, doc_id: str) -> tuple[EnclosedFile, ...]:
        """Return the files inside a document in their order, each with what became of it."""
        rows = self._db.all(
            "SELECT e.name, e.bytes, e.message, coalesce(d.doc_id, ''), coalesce(d.document, ''),"
            " coalesce(CASE d.title WHEN '' THEN d.heading ELSE d.title END, ''), coalesce(d.status, ''),"
            " EXISTS (SELECT 1 FROM uploads u WHERE u.doc_id = e.doc_id"
            " AND u.state IN ('waiting', 'reading', 'paused'))"
            " FROM enclosed e LEFT JOIN documents d ON d.doc_id = e.doc_id AND d.deleted_at_ms IS NULL"
            " WHERE e.parent_id = ? ORDER BY e.place",
            (doc_id,),
        )
        return tuple(_file_of(*row) for row in rows)

    def above(self, doc_id: str) -> tuple[str, ...]:
        """Return a document and those that it lies in, the innermost first."""
        rows = self._db.all(f"{_ABOVE} SELECT doc_id FROM above ORDER BY height", (doc_id,))
        return tuple(found for (found,) in rows)

    def below(self, doc_ids: Iterable[str], *, in_bin: bool = True) -> tuple[str, ...]:
        """Return these documents, then those that came with them; without `in_bin` those outside the bin."""
        given = tuple(dict.fromkeys(doc_ids))
        query = _CHILDREN if in_bin else _CHILDREN_SHOWN
        found = {doc_id for (doc_id,) in self._db.all(f"{query} SELECT doc_id FROM below", (_json(given),))}
        return (*given, *sorted(found.difference(given)))

    def going_with(self, doc_ids: Iterable[str]) -> tuple[str, ...]:
        """Return what goes to the bin, or is erased, together with these documents: what lies in no other one."""
        given = tuple(dict.fromkeys(doc_ids))
        going = _json(self.below(given))
        others = self._db.all(
            "SELECT DISTINCT e.doc_id FROM enclosed e JOIN documents p ON p.doc_id = e.parent_id"
            " WHERE e.doc_id IN (SELECT value FROM json_each(?1)) AND p.deleted_at_ms IS NULL"
            " AND e.parent_id <> e.doc_id AND e.parent_id NOT IN (SELECT value FROM json_each(?1))",
            (going,),
        )
        staying = self.below(doc_id for (doc_id,) in others if doc_id not in given)
        return tuple(doc_id for doc_id in self.below(given) if doc_id not in {*given, *staying})

    def asked_with(self, doc_ids: Iterable[str]) -> tuple[str, ...]:
        """Return these documents, then all that lie in them, even those that were added by themselves too."""
        given = tuple(dict.fromkeys(doc_ids))
        found = {doc_id for (doc_id,) in self._db.all(f"{_FILES} SELECT doc_id FROM below", (_json(given),))}
        return (*given, *sorted(found.difference(given, ("",))))

    def widened(self, filters: Filters) -> Filters:
        """Return filters by which what lies in a document is asked with it."""
        return replace(filters, doc_ids=self.asked_with(filters.doc_ids)) if filters.doc_ids else filters

    def inside(self, doc_id: str) -> tuple[int, int]:
        """Return the number of files inside a document, at any depth, and their bytes."""
        row = self._db.one(
            f"{_FILES} SELECT count(*), coalesce(sum(e.bytes), 0) FROM enclosed e WHERE e.parent_id IN"
            " (SELECT doc_id FROM below)",
            (_json([doc_id]),),
        )
        return (row[0], row[1]) if row else (0, 0)

    def restored_with(self, doc_ids: Iterable[str]) -> tuple[str, ...]:
        """Return these documents, then those that went to the bin together with the one that they lie in."""
        found = list(dict.fromkeys(doc_ids))
        for doc_id in found:  # it grows
            rows = self._db.all(
                "SELECT c.doc_id FROM documents c JOIN documents p ON p.doc_id = c.parent_id"
                " WHERE p.doc_id = ? AND c.deleted_at_ms = p.deleted_at_ms",
                (doc_id,),
            )
            found += [child for (child,) in rows if child not in found]
        return tuple(found)


def _file_of(
    name: str, size: int, message: str, doc_id: str, document: str, title: str, status: str, is_awaited: int
) -> EnclosedFile:
    told = message or _GONE
    return EnclosedFile(
        name=name,
        bytes=size,
        doc_id=doc_id,
        label=(title or readable_name(document)) if doc_id else "",
        message="" if status == "ready" or is_awaited else _(told),
        is_awaited=bool(is_awaited) and status != "ready",
    )


def note_enclosed(db: Connection, parent_id: str, place: int, name: str, doc_id: str, size: int, message: str) -> None:
    """Note a file inside a document, in the caller's transaction."""
    db.execute(
        "INSERT OR REPLACE INTO enclosed (parent_id, place, name, doc_id, bytes, message) VALUES (?, ?, ?, ?, ?, ?)",
        (parent_id, place, name, doc_id, size, message),
    )


def check_enclosed(row: Mapping[str, object]) -> None:
    """Check a row of `enclosed` that comes from another vault. Raises `DamagedError`."""
    numbers, texts = ("place", "bytes"), ("parent_id", "doc_id", "name", "message")
    is_sound = all(type(value := row[name]) is int and value >= 0 for name in numbers)
    if not is_sound or not all(type(row[name]) is str for name in texts):
        raise DamagedError(_("What the bundle says of the files inside documents is damaged."))


def adopt_enclosed(
    db: Connection, rows: Iterable[Mapping[str, object]], parents: Mapping[str, str], ids: Mapping[str, str]
) -> None:
    """Write what another vault knows of the files inside documents, in the caller's transaction.

    `rows` are those of its table, `parents` has the parent of each document that came in one, and `ids` the ids here of
    the documents that were taken over, all by their ids there. Raises `DamagedError`.
    """
    for row in rows:
        check_enclosed(row)
        if (parent_id := ids.get(str(row["parent_id"]))) is not None:
            doc_id = ids.get(str(row["doc_id"]), "")
            place, size = int(str(row["place"])), int(str(row["bytes"]))
            note_enclosed(db, parent_id, place, str(row["name"]), doc_id, size, str(row["message"]))
    found = [(ids[above], ids[doc_id]) for doc_id, above in parents.items() if doc_id in ids and above in ids]
    db.executemany("UPDATE documents SET parent_id = ? WHERE doc_id = ?", found)


def note_children(db: Connection) -> None:
    """Note documents that name a parent which does not know them, as one that was brought back, in the transaction."""
    lacking = db.execute(
        "SELECT d.parent_id, d.document, d.doc_id, d.bytes FROM documents d JOIN documents p ON p.doc_id = d.parent_id"
        " WHERE d.parent_id <> '' AND NOT EXISTS"
        " (SELECT 1 FROM enclosed e WHERE e.parent_id = d.parent_id AND e.doc_id = d.doc_id)"
        " ORDER BY d.document"
    ).fetchall()
    for parent_id, name, doc_id, size in lacking:
        query = "SELECT coalesce(max(place), 0) + 1 FROM enclosed WHERE parent_id = ?"
        note_enclosed(db, parent_id, db.execute(query, (parent_id,)).fetchone()[0], name, doc_id, size, "")


def hand_over(db: Connection, doc_ids: Collection[str]) -> None:
    """Give files of documents that go to another document that has them too, in the caller's transaction.

    A file of which the others are in the bin, or go as well, stays.
    """
    going = _json(doc_ids)
    db.execute(
        "UPDATE documents SET parent_id = (SELECT e.parent_id FROM enclosed e JOIN documents p ON p.doc_id ="
        " e.parent_id WHERE e.doc_id = documents.doc_id AND p.deleted_at_ms IS NULL AND e.parent_id <> e.doc_id"
        " AND e.parent_id NOT IN (SELECT value FROM json_each(?1)) ORDER BY p.added_at_ms LIMIT 1)"
        " WHERE parent_id <> '' AND parent_id IN (SELECT value FROM json_each(?1))"
        " AND EXISTS (SELECT 1 FROM enclosed e JOIN documents p ON p.doc_id = e.parent_id"
        " WHERE e.doc_id = documents.doc_id AND p.deleted_at_ms IS NULL"
        " AND e.parent_id <> e.doc_id AND e.parent_id NOT IN (SELECT value FROM json_each(?1)))",
        (going,),
    )


def follow_parent(db: Connection, doc_id: str) -> None:
    """Give a document that is ready now the collections of its parent, and its place in the bin where that is there."""
    db.execute(
        "INSERT OR IGNORE INTO collected (collection_id, doc_id) SELECT c.collection_id, d.doc_id FROM documents d"
        " JOIN collected c ON c.doc_id = d.parent_id WHERE d.doc_id = ?",
        (doc_id,),
    )
    db.execute(
        "UPDATE documents SET deleted_at_ms = (SELECT p.deleted_at_ms FROM documents p"
        " WHERE p.doc_id = documents.parent_id) WHERE doc_id = ? AND parent_id <> ''",
        (doc_id,),
    )


def forget_document(db: Connection, doc_id: str) -> None:
    """Note that a document was erased in what is known of the files inside others, in the caller's transaction."""
    db.execute("UPDATE enclosed SET doc_id = '', message = ? WHERE doc_id = ?", (ERASED, doc_id))


def _json(values: Iterable[str]) -> str:
    return json.dumps(list(values))
