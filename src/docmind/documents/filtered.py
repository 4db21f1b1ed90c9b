"""The documents that filters allow: one query for lists of passages and for lists of page images."""

from __future__ import annotations

from collections.abc import Collection

from docmind.documents.enclosed import EnclosedFiles
from docmind.documents.stored import readable_texts
from docmind.records.search import Filters, StoredFacts
from docmind.storage import Database

# The day of a document and the people of a mail, which are those of the files attached to it too.
_OF_MAILS = "dated, " + ", ".join(
    f"CASE sender WHEN '' THEN coalesce((SELECT p.{one} FROM documents p WHERE p.doc_id = d.parent_id), '')"
    f" ELSE {one} END"
    for one in ("sender", "recipients")
)
_STATES = {True: "status = 'ready'", False: "1"}


def allowed_documents(database: Database, filters: Filters, *, ready: bool = False) -> dict[str, str]:
    """Return the names, by id, of the documents that pass the filters: all filters but those of single pages.

    With `ready` only documents that were read to their end. Those in the bin are among them only as of a snapshot that
    holds them.
    """
    filters = EnclosedFiles(database).widened(filters)
    held = held_in(database, filters.snapshots) if filters.snapshots else None
    shown = "1" if held is not None else "deleted_at_ms IS NULL"
    of_mails = _OF_MAILS if _is_of_mails(filters) else "'', '', ''"
    rows = database.all(
        f"SELECT doc_id, kind, added_at_ms, tags, document, {of_mails} FROM documents d"
        f" WHERE {shown} AND {_STATES[ready]}"
    )
    collected: dict[str, set[str]] = {}
    for collection_id in filters.collections:
        for (doc_id,) in database.all("SELECT doc_id FROM collected WHERE collection_id = ?", (collection_id,)):
            collected.setdefault(doc_id, set()).add(collection_id)
    return {
        doc_id: document
        for doc_id, kind, added_at_ms, tags, document, *more in rows
        if (held is None or doc_id in held)
        and filters.allow(
            StoredFacts(doc_id, kind, added_at_ms, readable_texts(tags), collected.get(doc_id, ()), document, *more)
        )
    }


def held_in(database: Database, snapshots: Collection[str]) -> set[str]:
    """Return the documents that any of these snapshots holds."""
    marks = ", ".join("?" * len(snapshots))
    rows = database.all(
        "SELECT g.doc_id FROM segments g JOIN snapshot_members m ON m.segment_no = g.segment_no JOIN snapshots s"
        f" ON s.snapshot_no = m.snapshot_no WHERE s.snapshot_id IN ({marks})",
        tuple(snapshots),
    )
    return {doc_id for (doc_id,) in rows}


def _is_of_mails(filters: Filters) -> bool:
    return bool(filters.senders or filters.recipients or filters.after or filters.before)
