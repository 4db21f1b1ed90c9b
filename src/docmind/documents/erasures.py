"""Erasures: the rows that say which documents are being erased, what is left to do, and the receipts.

A row is written in the transaction that deletes the document's rows, so that an interrupted erasure is known. What is
needed later to check that nothing is left (the ids of its files, a few sequences of its text) is in the row until the
receipt is written.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from docmind.documents.catalog import Catalog
from docmind.documents.columns import NAMES
from docmind.documents.enclosed import forget_document, hand_over
from docmind.documents.segments import destroy_segments
from docmind.errors import DamagedError, NotFoundError
from docmind.records.documents import ArtifactRef, readable_name
from docmind.runtime import log_mistake
from docmind.storage import Connection, Database, Row

TRACES = 8
"""The most sequences of a document's text that the files are searched for; its name and title come on top."""

LEAST_NAME = 6
"""Characters of a document's name that is looked for in other texts; a shorter one stands there by chance."""

LEAST, LONGEST = 16, 48  # characters of a sequence of the text
_LOOKED_AT = 24  # pages that sequences are taken from
_BLOCK = 256  # pages read at once


@dataclass(frozen=True, slots=True)
class ErasurePlan:
    """What to erase beside the document itself: its quotes in conversations, these memories, by id, and snapshots."""

    conversations: bool = True
    memories: tuple[str, ...] = ()
    snapshots: bool = False


@dataclass(frozen=True, slots=True)
class Erasure:
    """One erased document. `receipt` is empty until the erasure is finished.

    `counts` are the numbers of deleted rows by kind, `refs` the files that only this document had, and `traces` the
    sequences of its text, its name and its title that stand in no other document; the last two are empty in the end.
    """

    erasure_id: int
    doc_id: str
    begun_at_ms: int
    counts: Mapping[str, int]
    plan: ErasurePlan = field(default_factory=ErasurePlan)
    refs: tuple[ArtifactRef, ...] = ()
    traces: tuple[str, ...] = field(default=(), repr=False)
    receipt: str = field(default="", repr=False)


# What is counted of a document: by its id, by the content of its passages, by its page images.
_OF_DOCUMENT = {
    "pages": "pages",
    "figures": "figures",
    "passages": "nodes",
    "passage_vectors": "passage_vectors",
    "uploads": "uploads",
    "corrections": "corrections",
}
_OF_CONTENT = {"text_vectors": "vectors", "token_vectors": "tokens"}
_OF_IMAGES = {"picture_marks": "looks", "page_vectors": "page_vectors", "late_interaction_rows": "late_pages"}
_COLUMNS = "erasure_id, doc_id, begun_at_ms, counts, plan, traces, receipt"


_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, zlib.error)


class Erasures:
    """The `erasures` table, and the deletion of rows that it records. Thread-safe as `Database` is."""

    def __init__(self, database: Database, catalog: Catalog) -> None:
        self._db, self._catalog = database, catalog

    def begin(self, doc_id: str, plan: ErasurePlan, traces: Sequence[str]) -> tuple[Erasure, list[ArtifactRef]]:
        """Delete the rows of a document, in the bin or not, and record its erasure, in one transaction.

        Returns the erasure and the files to unlink, which are in `Catalog.doomed` too. The caller holds
        `Catalog.naming`. Raises `DiskFullError`.
        """
        with self._db.transaction() as db:
            contents = [
                row[0] for row in db.execute("SELECT DISTINCT content_hash FROM nodes WHERE doc_id = ?", (doc_id,))
            ]
            images = [row[0] for row in db.execute("SELECT DISTINCT image FROM pages WHERE doc_id = ?", (doc_id,))]
            before = _counted(db, doc_id, contents, images)
            hand_over(db, [doc_id])
            forget_document(db, doc_id)
            held, refs = destroy_segments(db, doc_id) if plan.snapshots else (0, [])
            _, unreferenced = self._catalog.erase_document(doc_id)
            unreferenced += [ref for ref in self._catalog.doom(refs) if ref not in unreferenced]
            after = _counted(db, doc_id, contents, images)
            counts = {name: number - after[name] for name, number in before.items()}
            counts |= {"files": len(unreferenced), "snapshots": held}
            kept = {
                "conversations": plan.conversations,
                "memories": list(plan.memories),
                "snapshots": plan.snapshots,
                "files": [[ref.sha256, ref.suffix] for ref in unreferenced],
            }
            made = db.execute(
                "INSERT INTO erasures (doc_id, begun_at_ms, counts, plan, traces) VALUES (?, ?, ?, ?, ?)",
                (doc_id, time.time_ns() // 1_000_000, json.dumps(counts), json.dumps(kept), _packed(traces)),
            )
            row = db.execute(f"SELECT {_COLUMNS} FROM erasures WHERE erasure_id = ?", (made.lastrowid,)).fetchone()
        return _erasure(row), unreferenced

    def pending(self) -> list[Erasure]:
        """Return the erasures without a receipt, the oldest first."""
        rows = self._db.all(f"SELECT {_COLUMNS} FROM erasures WHERE receipt = '' ORDER BY erasure_id")
        return _readable(rows)

    def finished(self) -> list[Erasure]:
        """Return the erasures with a receipt, the newest first."""
        rows = self._db.all(f"SELECT {_COLUMNS} FROM erasures WHERE receipt <> '' ORDER BY erasure_id DESC")
        return _readable(rows)

    def erased(self) -> dict[str, bool]:
        """Return the ids of all erased documents, each with whether its quotes in conversations were erased too.

        Documents that were added again since are not among them.
        """
        found = {}
        for erasure in (*reversed(self.finished()), *self.pending()):
            is_quoted = json.loads(erasure.receipt)["conversations"] if erasure.receipt else erasure.plan.conversations
            found[erasure.doc_id] = bool(is_quoted)
        return {doc_id: quotes for doc_id, quotes in found.items() if not self.is_back(doc_id)}

    def finish(self, erasure_id: int, receipt: str) -> None:
        """Keep the receipt, and forget the traces and the files."""
        with self._db.transaction() as db:
            db.execute(
                "UPDATE erasures SET receipt = ?, plan = '{}', traces = x'' WHERE erasure_id = ?", (receipt, erasure_id)
            )

    def remove(self, erasure_id: int) -> None:
        """Forget an erasure whose document was added again before it was finished."""
        with self._db.transaction() as db:
            db.execute("DELETE FROM erasures WHERE erasure_id = ?", (erasure_id,))

    def is_back(self, doc_id: str) -> bool:
        """Return whether a document is in the library, or waits to be read."""
        tables = ("documents", "uploads")
        return any(self._db.one(f"SELECT 1 FROM {table} WHERE doc_id = ?", (doc_id,)) for table in tables)

    def left(self, erasure: Erasure) -> dict[str, int]:
        """Return how many rows still name the document or the files that only it had, by kind; all 0 when erased."""
        images = [ref.sha256 for ref in erasure.refs]
        with self._db.reading() as db:
            # A virtual table needs its extension to be asked; those of memories have no documents.
            sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
            tables = [name for (name,) in db.execute(sql).fetchall()]
            rows = 0
            for table in tables:
                columns = {row[1] for row in db.execute(f"PRAGMA table_info({table})").fetchall()}
                if "doc_id" in columns and table not in _KEEP_IDS:
                    sql = f"SELECT count(*) FROM {table} WHERE doc_id = ?"
                    rows += int(db.execute(sql, (erasure.doc_id,)).fetchone()[0])
            found = _counted(db, erasure.doc_id, (), images)
            return {"rows": rows} | {name: found[name] for name in _OF_IMAGES}

    def traces_of(self, doc_id: str) -> tuple[str, ...]:
        """Return sequences of a document's text that stand in no other document, with its name and title.

        Each is a part of one line of a page, of 16 to 48 characters. Reads the text of every page.
        """
        try:
            info = self._catalog.document_or_binned(doc_id)
        except NotFoundError:
            return ()
        return self._traces(doc_id, [getattr(info, name) for name in NAMES], self._candidates(doc_id))

    def traces_among(self, doc_id: str, names: Sequence[str], texts: Sequence[str]) -> tuple[str, ...]:
        """Do what `traces_of` does, of names and texts of pages, for a document that is not in the library."""
        step = max(1, len(texts) // _LOOKED_AT)
        return self._traces(doc_id, names, filter(None, map(_longest_line, texts[::step][:_LOOKED_AT])))

    def _traces(self, doc_id: str, named: Sequence[str], candidates: Iterable[str]) -> tuple[str, ...]:
        spoken = [readable_name(name) for name in named if name]  # as answers name a document without a title
        names = [name for name in dict.fromkeys((*named, *spoken)) if len(name) >= LEAST_NAME]
        wanted = dict.fromkeys([*names, *candidates])
        others = self._db.all(f"SELECT {', '.join(NAMES)} FROM documents WHERE doc_id <> ?", (doc_id,))
        for name in [*wanted]:
            if any(name in text for row in others for text in row):
                del wanted[name]
        for text in self._texts_beside(doc_id):
            for trace in [trace for trace in wanted if trace in text]:
                del wanted[trace]
            if not wanted:
                break
        kept = [name for name in names if name in wanted]
        return (*kept, *[trace for trace in wanted if trace not in kept][:TRACES])

    def _candidates(self, doc_id: str) -> Iterator[str]:
        numbers = [n for (n,) in self._db.all("SELECT page_no FROM pages WHERE doc_id = ? ORDER BY page_no", (doc_id,))]
        for page_no in numbers[:: max(1, len(numbers) // _LOOKED_AT)][:_LOOKED_AT]:
            row = None
            with suppress(DamagedError):
                row = self._db.one("SELECT text FROM pages WHERE doc_id = ? AND page_no = ?", (doc_id, page_no))
            if row and (line := _longest_line(row[0])):
                yield line

    def _texts_beside(self, doc_id: str) -> Iterator[str]:
        last = 0
        while True:
            rows: list[Row] = []
            with suppress(DamagedError):  # deleting must work beside damage; then it may stand elsewhere too
                sql = "SELECT rowid, doc_id, text FROM pages WHERE rowid > ? ORDER BY rowid LIMIT ?"
                rows = self._db.all(sql, (last, _BLOCK))
            if not rows:
                return
            last = rows[-1][0]
            yield from (text for _, of, text in rows if of != doc_id)


_KEEP_IDS = ("changes", "erasures", "folder_files", "segments", "segment_keys")
"""Tables that keep the id of an erased document.

The index follows the first, a followed folder names its files, and the last two are of snapshots, which are asked
by themselves.
"""


def _counted(db: Connection, doc_id: str, contents: Sequence[bytes], images: Sequence[str]) -> dict[str, int]:
    def number(sql: str, value: object) -> int:
        return int(db.execute(sql, (value,)).fetchone()[0])

    return {
        **{
            name: number(f"SELECT count(*) FROM {table} WHERE doc_id = ?", doc_id)
            for name, table in _OF_DOCUMENT.items()
        },
        **{
            name: sum(number(f"SELECT count(*) FROM {table} WHERE content_hash = ?", one) for one in contents)
            for name, table in _OF_CONTENT.items()
        },
        **{
            name: sum(number(f"SELECT count(*) FROM {table} WHERE image = ?", one) for one in images)
            for name, table in _OF_IMAGES.items()
        },
    }


def _longest_line(text: str) -> str:
    """Return the beginning of the longest line of a page; empty where that is too short to be a trace."""
    line = max((line.strip() for line in text.splitlines()), key=len, default="")
    return line[:LONGEST].strip() if len(line) >= LEAST else ""


def _packed(traces: Sequence[str]) -> bytes:
    return zlib.compress(json.dumps(list(traces)).encode())


def unreadable_erasures(db: Connection) -> list[int]:
    """Return the ids of the erasures whose rows cannot be read."""
    found = []
    for row in db.execute(f"SELECT {_COLUMNS} FROM erasures").fetchall():
        try:
            _erasure(row)
        except _UNREADABLE:
            found.append(row[0])
    return found


def _readable(rows: Sequence[Row]) -> list[Erasure]:
    """Return the erasures of these rows, without those that cannot be read, which the check of the library names."""
    found = []
    for row in rows:
        try:
            found.append(_erasure(row))
        except _UNREADABLE as error:
            log_mistake("docmind.erasures", "an erasure can't be read", error)
    return found


def _erasure(row: Row) -> Erasure:
    erasure_id, doc_id, begun_at_ms, counts, plan, traces, receipt = row
    kept = json.loads(plan)
    if receipt and not isinstance(json.loads(receipt)["conversations"], bool):
        raise ValueError("not a receipt")
    return Erasure(
        erasure_id,
        doc_id,
        begun_at_ms,
        json.loads(counts),
        ErasurePlan(kept.get("conversations", True), tuple(kept.get("memories", ())), kept.get("snapshots", False)),
        tuple(ArtifactRef(*ref) for ref in kept.get("files", ())),
        tuple(json.loads(zlib.decompress(traces))) if traces else (),
        receipt,
    )
