"""The queue of uploaded files: one row each in `vault.db`.

Its bytes are sealed before the row is written.

    waiting -> reading -> done          a file with a row is read, also after the process was killed
       |          |-----> failed, locked    with the sentence that says why; `retry` and a password put it back
       |----------|-----> paused, cancelled by the user; `resume` and `retry` put it back

A row that is not done refers to its artifact. Rows that are done are kept until the next batch begins, so that any tab
can show the outcome of the last one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from docmind.config import Settings
from docmind.documents.carrying import doc_id_of
from docmind.documents.catalog import Catalog
from docmind.documents.enclosed import note_enclosed
from docmind.documents.stored import artifact_of, readable_artifacts, readable_texts, texts_of
from docmind.documents.tags import tags_of
from docmind.errors import DocMindError, NotFoundError
from docmind.records.documents import AddResult, AddStatus, ArtifactRef, Enclosed, Upload, UploadInfo, UploadState
from docmind.storage import ORIGINAL, Artifacts, Connection, Database, Label, Row, Sealable, check_room
from docmind.wording import N_, _

_TOGETHER, _TOGETHER_BYTES = 8, 32 << 20  # files sealed in parallel: the waits for the disk overlap
_REMOVABLE: tuple[UploadState, ...] = ("waiting", "paused", "failed", "locked", "done", "cancelled")
_TOO_FULL = N_("The disk holding {folder} has {free} MB free; {needed} MB are needed to add this.")
_COLUMNS = (
    "u.upload_id, u.name, u.state, u.bytes, u.doc_id, u.tags, u.result, u.error, u.message, u.hint, u.added_at_ms,"
    " u.changed_at_ms, coalesce(d.pages, 0), (SELECT count(*) FROM pages p WHERE p.doc_id = u.doc_id),"
    " (SELECT count(*) FROM pages p WHERE p.doc_id = u.doc_id AND p.text_source = 'ocr')"
)
_FROM = "FROM uploads u LEFT JOIN documents d ON d.doc_id = u.doc_id"


@dataclass(frozen=True, slots=True)
class QueuedFile:
    """One row as reading needs it: the artifact of its bytes, and the document's id, name and tags.

    `parent_id` is the document in which the file lies; empty for one that was added by itself. `replaces` is that of
    `Upload`.
    """

    upload_id: int
    doc_id: str
    name: str
    tags: tuple[str, ...]
    original: ArtifactRef
    parent_id: str = ""
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Counts of the files that were handed in since the queue was last empty.

    `waiting` includes one that is being read; `bytes` is the size of all of those.
    """

    total: int = 0
    settled: int = 0
    waiting: int = 0
    paused: int = 0
    bytes: int = 0


class Uploads:
    """The table `uploads`. Thread-safe as `Database` is."""

    def __init__(self, settings: Settings, database: Database, catalog: Catalog, artifacts: Artifacts) -> None:
        self._settings, self._db, self._catalog, self._artifacts = settings, database, catalog, artifacts

    # handing in

    def hand_in(self, uploads: Iterable[Upload], *, total_bytes: int = 0, held: set[int] | None = None) -> list[int]:
        """Seal files and write their rows, a few at a time; return their ids in order.

        All are durable then.

        `total_bytes` is the size of all files, where it is known before they are in memory. Each id is added to `held`
        before its row is visible to other threads. A file that failed before replaces its row in the list.

        Raises `DiskFullError` before anything is written where there is no room for `total_bytes`, and `ConfigError`
        for tags that no document may have. On any exception, the files of this call that are not being read yet are
        removed again.
        """
        need_room(self._settings, total_bytes)
        handed_in: list[int] = []
        few: list[Upload] = []
        try:
            for upload in uploads:
                few.append(replace(upload, tags=tags_of(upload.tags)))
                if len(few) >= _TOGETHER or sum(len(one.data) for one in few) >= _TOGETHER_BYTES:
                    handed_in += self._hand_in(few, held)
                    few = []
            if few:
                handed_in += self._hand_in(few, held)
        except BaseException:
            self.remove(handed_in, states=("waiting", "paused"))
            raise
        self._db.settle()
        return handed_in

    def enclose(self, parent_id: str, place: int, file: Enclosed, message: str = "") -> None:
        """Note a file inside a document and, unless `message` says why not, put it into the queue.

        It waits until the document is ready: then both are durable, or neither. Raises `DiskFullError`.
        """
        if message:
            with self._db.transaction() as db:
                note_enclosed(db, parent_id, place, _text(file.name), "", len(file.data), message)
            return
        upload = Upload(file.name.rpartition("/")[2], file.data)
        need_room(self._settings, len(file.data))
        with self._catalog.naming:
            (ref,) = self._seal([upload])
            with self._db.transaction() as db:
                note_enclosed(db, parent_id, place, _text(file.name), doc_id_of(ref), len(file.data), "")
                is_queued = "SELECT 1 FROM uploads WHERE doc_id = ? AND state IN ('waiting', 'reading', 'paused')"
                if not db.execute(is_queued, (doc_id_of(ref),)).fetchone():
                    self._insert(db, self._batch(db), upload, ref, parent_id)

    def id_of(self, file: Enclosed) -> str:
        """Return the id of the document that a file inside another one would be."""
        return doc_id_of(self._artifacts.ref_of(file.data, ORIGINAL))

    def enclosed(self, parent_id: str) -> list[int]:
        """Return the ids of the waiting files that lie in a document, in their order."""
        rows = self._db.all(
            "SELECT upload_id FROM uploads WHERE parent_id = ? AND parent_id <> '' AND state = 'waiting'"
            " ORDER BY upload_id",
            (parent_id,),
        )
        return [upload_id for (upload_id,) in rows]

    def drop_enclosed(self, parent_id: str) -> None:
        """Remove the files that lie in a document that could not be read to its end."""
        self.remove(self.enclosed(parent_id))

    def adopt(self) -> None:
        """Put back files that an ended process left half read, and add rows for documents of older vaults.

        Files inside a document that was left half read are taken out of it again.
        """
        half = "SELECT upload_id FROM uploads u WHERE u.parent_id <> '' AND u.state <> 'done' AND NOT EXISTS (SELECT 1"
        half += " FROM documents d WHERE d.doc_id = u.parent_id AND d.status = 'ready')"
        self.remove([upload_id for (upload_id,) in self._db.all(half)], (*_REMOVABLE, "reading"))
        with self._db.transaction() as db:
            db.execute("UPDATE uploads SET state = 'waiting' WHERE state = 'reading'")
            db.execute(
                "INSERT INTO uploads (batch, name, tags, doc_id, artifact, artifact_suffix, bytes, state, error,"
                " message, added_at_ms, changed_at_ms, parent_id)"
                " SELECT 0, document, tags, doc_id, original, original_suffix, bytes,"
                " CASE status WHEN 'reading' THEN 'waiting' ELSE 'failed' END, '', message, added_at_ms, added_at_ms,"
                " parent_id"
                " FROM documents d WHERE status <> 'ready'"
                " AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.doc_id = d.doc_id AND u.state <> 'done')"
                " ORDER BY added_at_ms"
            )

    # looking

    def all(self, *states: UploadState, newest: int = 0) -> list[UploadInfo]:
        """Return rows in these states (all where none is named) in order.

        With `newest`, it returns only the last so many.
        """
        marks = f"WHERE u.state IN ({_marks(states)})" if states else ""
        order = f"u.changed_at_ms DESC, u.upload_id DESC LIMIT {newest:d}" if newest else "u.upload_id"
        found = [_info(row) for row in self._db.all(f"SELECT {_COLUMNS} {_FROM} {marks} ORDER BY {order}", states)]
        return sorted(found, key=lambda info: info.upload_id)

    def get(self, upload_id: int) -> UploadInfo:
        """Return one row. Raises `NotFoundError`."""
        row = self._db.one(f"SELECT {_COLUMNS} {_FROM} WHERE u.upload_id = ?", (upload_id,))
        if row is None:
            raise _unknown(upload_id)
        return _info(row)

    def document_of(self, upload_id: int) -> tuple[str, bool]:
        """Return the id of the document that a file will be, and whether that is here, or awaited, without it.

        Raises `NotFoundError`.
        """
        row = self._db.one(
            "SELECT u.doc_id, EXISTS (SELECT 1 FROM documents d WHERE d.doc_id = u.doc_id)"
            " OR EXISTS (SELECT 1 FROM uploads o WHERE o.doc_id = u.doc_id AND o.upload_id <> u.upload_id)"
            " FROM uploads u WHERE u.upload_id = ?",
            (upload_id,),
        )
        if row is None:
            raise _unknown(upload_id)
        return row[0], bool(row[1])

    def has(self, upload_id: int) -> bool:
        """Return whether there is such a row."""
        return self._db.one("SELECT 1 FROM uploads WHERE upload_id = ?", (upload_id,)) is not None

    def larger_than(self, size: int) -> set[int]:
        """Return the ids of the files above so many bytes that are not done."""
        rows = self._db.all("SELECT upload_id FROM uploads WHERE bytes > ? AND state <> 'done'", (size,))
        return {upload_id for (upload_id,) in rows}

    def waiting(self, skip: Collection[int] = ()) -> list[int]:
        """Return the ids of the waiting files in their order: those inside documents that are ready come first."""
        rows = self._db.all(
            "SELECT upload_id FROM uploads u WHERE state = 'waiting' AND (parent_id = '' OR EXISTS (SELECT 1 FROM"
            " documents d WHERE d.doc_id = u.parent_id AND d.status = 'ready')) ORDER BY parent_id = '', upload_id"
        )
        return [upload_id for (upload_id,) in rows if upload_id not in skip]

    def batch(self) -> Batch:
        """Return the counts of the newest batch."""
        row = self._db.one(
            "SELECT count(*), total(state IN ('done', 'failed', 'locked')), total(state IN ('waiting', 'reading')),"
            " total(state = 'paused'), total(CASE WHEN state IN ('waiting', 'reading') THEN bytes ELSE 0 END)"
            " FROM uploads"
            " WHERE state <> 'cancelled' AND (batch = (SELECT max(batch) FROM uploads)"
            " OR state IN ('waiting', 'reading', 'paused'))"
        )
        return Batch(*map(int, row)) if row is not None else Batch()

    def counts(self) -> dict[UploadState, int]:
        """Return the number of rows by state, without states that no row has."""
        return dict(self._db.all("SELECT state, count(*) FROM uploads GROUP BY state"))  # type: ignore[arg-type]

    # what becomes of a row

    def handed_in(self, upload_id: int) -> QueuedFile:
        """Return one row as reading needs it. Raises `NotFoundError`, `DamagedError`."""
        row = self._db.one(
            "SELECT upload_id, doc_id, name, tags, artifact, artifact_suffix, parent_id, replaces FROM uploads"
            " WHERE upload_id = ?",
            (upload_id,),
        )
        if row is None:
            raise _unknown(upload_id)
        return QueuedFile(row[0], row[1], row[2], texts_of(row[3]), artifact_of(row[4], row[5]), row[6], bool(row[7]))

    def begin(self, upload_id: int) -> None:
        """Note that its document has a row now.

        Raises `NotFoundError` where it was deleted meanwhile.
        """
        with self._db.transaction() as db:
            if not db.execute("SELECT 1 FROM uploads WHERE upload_id = ?", (upload_id,)).fetchone():
                raise _unknown(upload_id)
            db.execute("UPDATE uploads SET state = 'reading' WHERE upload_id = ? AND state = 'waiting'", (upload_id,))

    def settle(self, upload_id: int, result: AddResult, *, is_kept: bool = True) -> None:
        """Record the outcome of a file; does nothing where its row was removed meanwhile.

        Without `is_kept` a file that lies in a document leaves the queue, where only that document tells its outcome.
        """
        state: UploadState = "done"
        if result.status == "refused":
            state = "locked" if result.error == "PasswordNeededError" else "failed"
        with self._db.transaction() as db:
            db.execute(
                "UPDATE uploads SET state = ?, result = ?, error = ?, message = ?, hint = ?, changed_at_ms = ?"
                " WHERE upload_id = ?",
                (state, result.status, result.error, result.message, result.hint, _now_ms(), upload_id),
            )
            db.execute(
                "UPDATE enclosed SET message = ? WHERE doc_id IN (SELECT doc_id FROM uploads WHERE upload_id = ?)",
                (result.message if result.status == "refused" else "", upload_id),
            )
            is_inside = db.execute("SELECT parent_id <> '' FROM uploads WHERE upload_id = ?", (upload_id,)).fetchone()
        if is_inside and is_inside[0] and not is_kept:
            self.remove([upload_id])

    def move(
        self, upload_ids: Sequence[int] | None, states: Sequence[UploadState], to: UploadState, message: str = ""
    ) -> list[int]:
        """Move rows that are in one of these states to another, and return their ids.

        None means all rows.

        Rows that come back to `waiting` join the newest batch.
        """
        with self._db.transaction() as db:
            rows = db.execute(f"SELECT upload_id FROM uploads WHERE state IN ({_marks(states)})", states).fetchall()
            asked = None if upload_ids is None else set(upload_ids)
            moved = [upload_id for (upload_id,) in rows if asked is None or upload_id in asked]
            joins = self._batch(db) if moved and to == "waiting" else None
            db.executemany(
                "UPDATE uploads SET state = ?, error = '', message = ?, hint = '', changed_at_ms = ?,"
                " batch = coalesce(?, batch) WHERE upload_id = ?",
                [(to, message, _now_ms(), joins, upload_id) for upload_id in moved],
            )
        return sorted(moved)

    def remove(self, upload_ids: Sequence[int], states: Sequence[UploadState] = _REMOVABLE) -> list[UploadInfo]:
        """Remove rows and the sealed bytes that nothing else refers to; return the removed rows.

        A file that is being read stays.
        """
        wanted = set(upload_ids)
        if not wanted:
            return []
        with self._catalog.naming:
            with self._db.transaction() as db:
                removed = [info for info in self.all(*states) if info.upload_id in wanted]
                ids = [(info.upload_id,) for info in removed]
                named = [
                    db.execute("SELECT artifact, artifact_suffix FROM uploads WHERE upload_id = ?", one).fetchone()
                    for one in ids
                ]
                refs = readable_artifacts(named)
                db.executemany("DELETE FROM uploads WHERE upload_id = ?", ids)
                unreferenced = self._catalog.unreferenced(refs)
            self._artifacts.remove(unreferenced)
        return removed

    def _hand_in(self, uploads: Sequence[Upload], held: set[int] | None) -> list[int]:
        need_room(self._settings, sum(len(upload.data) for upload in uploads))
        with self._catalog.naming:
            refs = self._seal(uploads)
            with self._db.transaction() as db:
                batch = self._batch(db)
                ids = [self._insert(db, batch, upload, ref) for upload, ref in zip(uploads, refs, strict=True)]
                if held is not None:
                    held.update(ids)
        return ids

    def _seal(self, uploads: Sequence[Upload]) -> list[ArtifactRef]:
        """Seal each file and return its artifact.

        The original of an existing document is sealed already, unless it is lost or damaged.
        """
        refs, missing = [], []
        for upload in uploads:
            ref = self._artifacts.ref_of(upload.data, ORIGINAL)
            is_ready, original = self._catalog.state_of(doc_id_of(ref))
            refs.append(original or ref)
            if not is_ready or not self._artifacts.opens(refs[-1]):
                missing.append(Sealable(upload.data, refs[-1].suffix, _label(upload, doc_id_of(ref))))
        self._artifacts.put_many(missing)
        return refs

    def _insert(self, db: Connection, batch: int, upload: Upload, ref: ArtifactRef, parent_id: str = "") -> int:
        doc_id, now = doc_id_of(ref), _now_ms()
        db.execute(
            "DELETE FROM uploads WHERE doc_id = ? AND state IN ('failed', 'locked', 'cancelled', 'done')", (doc_id,)
        )
        if upload.address:  # a page of the same content keeps the address that it came from first
            db.execute(
                "INSERT INTO web_pages (doc_id, address, fetched_at_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (doc_id, _text(upload.address), upload.fetched_at_ms),
            )
        name, tags = _text(upload.name), json.dumps(upload.tags)
        cursor = db.execute(
            "INSERT INTO uploads (batch, name, tags, doc_id, artifact, artifact_suffix, bytes, state, added_at_ms,"
            " changed_at_ms, parent_id, replaces) VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', ?, ?, ?, ?)",
            (batch, name, tags, doc_id, ref.sha256, ref.suffix, len(upload.data), now, now, parent_id, upload.replaces),
        )
        return cursor.lastrowid

    def _batch(self, db: Connection) -> int:
        """Return the current batch, or begin a new one, which deletes the rows that are done."""
        under_way = "state IN ('waiting', 'reading', 'paused')"
        newest, is_under_way = db.execute(
            f"SELECT coalesce(max(batch), 0), coalesce(max({under_way}), 0) FROM uploads"
        ).fetchone()
        if is_under_way:
            return newest
        db.execute("DELETE FROM uploads WHERE state = 'done'")
        return newest + 1


def need_room(settings: Settings, size: int) -> None:
    """Raise `DiskFullError` unless `size` bytes fit and the free space that must remain is kept."""
    needed = settings.storage.min_free_mb * 1024 * 1024 + size
    check_room(settings.data_dir, needed, _(_TOO_FULL))


def refused(name: str, error: DocMindError) -> AddResult:
    """Return the result for a file that could not be read."""
    kind = type(error).__name__
    return AddResult(name, "refused", error=kind, message=str(error), hint=error.hint, exit_code=error.exit_code)


def _info(row: Row) -> UploadInfo:
    result: AddStatus | None = row[6] or None
    return UploadInfo(
        upload_id=row[0],
        document=row[1],
        state=row[2],
        bytes=row[3],
        doc_id=row[4],
        tags=readable_texts(row[5]),
        result=result,
        error=row[7],
        message=row[8],
        hint=row[9],
        added_at_ms=row[10],
        changed_at_ms=row[11],
        pages=row[12],
        pages_done=row[13],
        ocr_pages=row[14],
    )


def _label(upload: Upload, doc_id: str) -> Label:
    """Return the label of an original, from which a document without rows can be recovered."""
    return {
        "kind": "original",
        "doc_id": doc_id,
        "name": _text(upload.name),
        "tags": list(upload.tags),
        "added_at_ms": _now_ms(),
    }


def _text(name: str) -> str:
    """Return a name as valid text: bytes that are none become question marks."""
    return name.encode("utf-8", "replace").decode()


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _now_ms() -> int:
    return int(time.time() * 1000)


def _unknown(upload_id: int) -> NotFoundError:
    return NotFoundError(
        _("The queue has no file {upload_id}.").format(upload_id=upload_id),
        hint=_("Run `docmind queue list` to see what is in it."),
    )
