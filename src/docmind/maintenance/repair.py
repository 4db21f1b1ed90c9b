"""The repair of what a check found, where the truth is still there.

    1 documents   whose rows are lost are handed in again from their originals, with the names and tags of their labels
    2 pages       that are missing are read again, lost pictures drawn again, passages made again
    3 left-overs  rows that belong to nothing are deleted, files set aside; files of erased documents are deleted
    4 index       built again, which also makes missing vectors

What a step changes is looked at again before the next one: a document that comes back needs its files and vectors.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from docmind.conversations import stored_states
from docmind.documents import fitting_tags
from docmind.errors import CancelledError, DiskFullError, NotFoundError, ReadingError, VaultError
from docmind.maintenance.kinds import Problem
from docmind.maintenance.references import look_at, remove_orphans
from docmind.records.documents import ArtifactRef, Upload
from docmind.storage import Connection, Report
from docmind.vault import Vault
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.image_match import ImageMatcher
    from docmind.ingest import Ingest, IngestQueue
    from docmind.maintenance.reindexing import Reindexing
    from docmind.visual import Visual

_READ = ("pages-missing", "words-damaged", "passage-wrong", "passages-missing")
_PAGES_READ = ("pages-missing", "words-damaged")
_DRAWN = ("image-lost", "image-damaged")
_INDEXED = (
    "vector-missing", "vector-damaged", "tokens-damaged", "index-behind", "index-ahead", "index-damaged",
    "index-differs", "document-refused",
)  # fmt: skip
_ROWS = {
    "passage-without-page": "DELETE FROM nodes WHERE (doc_id, page_no) NOT IN (SELECT doc_id, page_no FROM pages)",
    "vector-unused": "DELETE FROM vectors WHERE content_hash NOT IN (SELECT content_hash FROM nodes)",
    "tokens-unused": "DELETE FROM tokens WHERE content_hash NOT IN (SELECT content_hash FROM nodes)",
    "marks-unused": "DELETE FROM looks WHERE image NOT IN (SELECT image FROM pages)",
    "page-vector-unused": "DELETE FROM page_vectors WHERE image NOT IN (SELECT image FROM pages)",
    "figure-vector-unused": "DELETE FROM figure_vectors WHERE image NOT IN (SELECT image FROM figures)",
    "passage-vectors-unused": "DELETE FROM passage_vectors"
    " WHERE (doc_id, page_no) NOT IN (SELECT doc_id, page_no FROM pages)",
    "late-unused": "DELETE FROM late_pages WHERE image NOT IN (SELECT image FROM pages)",
}
"""Rows of kinds that belong to nothing; each statement deletes no other."""

_DAMAGED_ROWS = {
    "vector-damaged": ("vectors", "content_hash"),
    "tokens-damaged": ("tokens", "content_hash"),
    "marks-damaged": ("looks", "image"),
    "page-vector-damaged": ("page_vectors", "image"),
    "figure-vector-damaged": ("figure_vectors", "image"),
    "passage-vectors-damaged": ("passage_vectors", "row_no"),
}
"""Rows that are made again from what is in the vault: their tables and keys."""


class Repairs:
    """Mends problems of an open library that is writable. One repair runs at a time."""

    def __init__(
        self,
        *,
        vault: Vault,
        queue: IngestQueue,
        ingest: Ingest,
        lookalike: ImageMatcher,
        visual: Visual,
        reindexing: Reindexing,
    ) -> None:
        self._vault, self._db, self._catalog, self._artifacts = vault, vault.database, vault.catalog, vault.artifacts
        self._queue, self._ingest, self._lookalike, self._visual = queue, ingest, lookalike, visual
        self._reindexing = reindexing
        self._turn = threading.Lock()

    def mend(self, problems: Sequence[Problem], report: Report) -> list[str]:
        """Mend what can be mended, and return a sentence for each document that could not be read.

        Raises `DiskFullError`, `VaultError`, `CancelledError`; what was mended until then stays.
        """
        with self._turn:
            return self._mend(problems, report)

    def _mend(self, problems: Sequence[Problem], report: Report) -> list[str]:
        notes: list[str] = []
        kinds = {problem.kind for problem in problems}
        if "description-damaged" in kinds:
            self._vault.keys.recovery.describe()
        lost = [problem for problem in problems if problem.kind == "document-lost" and problem.is_repairable]
        for number, problem in enumerate(lost):
            report(number, len(lost))
            self._bring_back(problem, notes)
        seen = self._seen(problems)
        by_document: dict[str, list[Problem]] = {}
        for problem in seen:
            if problem.kind in (*_READ, *_DRAWN) and problem.is_repairable:
                by_document.setdefault(problem.doc_id, []).append(problem)
        for number, (doc_id, found) in enumerate(by_document.items()):
            report(number, len(by_document))
            self._mend_document(doc_id, found, notes)
        self._remove(self._seen(problems))
        if kinds & set(_INDEXED) or lost or by_document:
            self._reindexing.run()
        self._lookalike.renew()
        self._visual.wake()
        self._db.settle()
        return notes

    def _seen(self, problems: Sequence[Problem]) -> list[Problem]:
        """Return the problems of references as they are now, with the others as they were found."""
        with self._catalog.naming:
            now = look_at(self._db, self._artifacts).problems
        kinds = {problem.kind for problem in now}
        return [*now, *(one for one in problems if one.kind not in kinds and one.kind not in _OF_REFERENCES)]

    def _bring_back(self, problem: Problem, notes: list[str]) -> None:
        """Read a document again whose rows are lost; a file that cannot be read stays in the queue, which says why."""
        name = str(problem.key)
        data, label = self._artifacts.look(ArtifactRef(name[:64], name[64:]))
        label = label or {}
        tags = label.get("tags")
        upload = Upload(
            str(label.get("name") or problem.doc_id),
            data,
            tags=fitting_tags(tags) if isinstance(tags, list) else (),
        )
        ids = self._queue.hold([upload])
        read: list[int] = []
        try:
            for upload_id in ids:
                result = self._queue.read(upload_id)
                if result.status == "refused":
                    notes.append(result.message)
                else:
                    read.append(upload_id)
        finally:
            self._queue.release(ids, read)

    def _mend_document(self, doc_id: str, problems: Sequence[Problem], notes: list[str]) -> None:
        drawn = {problem.page_no for problem in problems if problem.kind in _DRAWN}
        read = {problem.page_no for problem in problems if problem.kind in _PAGES_READ}
        try:
            left = drawn - read
            if left:
                left -= self._ingest.draw_again(doc_id, left)
                # Pages are drawn in another size now. A text layer is read the same again; OCR may not be.
                read |= {page_no for page_no in left if self._catalog.page(doc_id, page_no).text_source == "layer"}
            if read or any(problem.kind in _READ for problem in problems):
                self._ingest.read_again(doc_id, read)
        except (CancelledError, DiskFullError):
            raise
        except (NotFoundError, ReadingError, VaultError) as error:
            notes.append(str(error))

    def _remove(self, problems: Sequence[Problem]) -> None:
        """Delete rows and files that belong to nothing, and rows that are made again."""
        by_kind: dict[str, list[Problem]] = {}
        for problem in problems:
            by_kind.setdefault(problem.kind, []).append(problem)
        with self._db.transaction() as db:
            self._db.recount()
            for kind, sql in _ROWS.items():
                if kind in by_kind:
                    db.execute(sql)
            for kind, (table, key) in _DAMAGED_ROWS.items():
                db.executemany(f"DELETE FROM {table} WHERE {key} = ?", [(one.key,) for one in by_kind.get(kind, ())])
            for kind in ("collection-broken", "address-unused", "folder-file-unused"):
                if kind in by_kind:
                    remove_orphans(db, kind)
            for problem in by_kind.get("conversation-lost", ()):
                _list_again(db, problem.place)
            for problem in by_kind.get("conversation-broken", ()):
                db.execute(
                    "UPDATE chat_session SET last_checkpoint_id = ? WHERE thread_id = ?",
                    (_newest_state(db, problem.place), problem.place),
                )
        for problem in by_kind.get("late-lost", ()):
            self._visual.late_store.pages().drop_pages(str(problem.key), [problem.place])
        if {"late-lost", "late-unused", "late-unnamed"} & by_kind.keys():
            self._visual.sweep()
        with self._catalog.naming:
            names = [problem.place for problem in by_kind.get("file-erased", ())]
            refs = [ArtifactRef(name[:64], name[64:]) for name in names]
            self._artifacts.remove(self._catalog.unreferenced(refs))
            if "file-unnamed" in by_kind:
                self._artifacts.set_aside(self._catalog.artifact_ids())


_OF_REFERENCES = frozenset(
    (*_ROWS, "document-lost", "pages-missing", "page-without-document", "original-lost", "image-lost", "upload-lost",
     "vector-missing", "marks-missing", "conversation-lost", "conversation-broken", "collection-broken",
     "address-unused", "folder-file-unused", "file-unnamed", "file-erased")
)  # fmt: skip
"""The kinds that a look at the references finds, whole."""


def _list_again(db: Connection, thread_id: str) -> None:
    """Put a conversation back into the list, from its states."""
    now = time.time_ns() // 1_000_000
    db.execute(
        "INSERT OR IGNORE INTO chat_session (thread_id, title, created_at_ms, updated_at_ms, last_checkpoint_id)"
        " VALUES (?1, ?2, ?3, ?3, ?4)",
        (thread_id, _("Conversation that was lost"), now, _newest_state(db, thread_id)),
    )


def _newest_state(db: Connection, thread_id: str) -> str | None:
    """Return the id of the newest state of a conversation; ids begin with the time."""
    return max((state for thread, state in stored_states(db) if thread == thread_id), default=None)
