"""New versions that take the place of earlier ones once they are read: files handed in so, and those of folders."""

from __future__ import annotations

import threading

from docmind.errors import NotFoundError
from docmind.ingest.library import Library
from docmind.storage import Database


class Replacements:
    """Moves earlier versions to the bin, as `Library.replace` does. Thread-safe: one call at a time looks.

    What is to be replaced is noted with the file in the queue (`uploads.replaces`) or in its folder
    (`folder_files.before`), so a process that ends between reading and replacing leaves it to the next one.
    """

    def __init__(self, database: Database, library: Library) -> None:
        self._db, self._library = database, library
        self._looking = threading.Lock()

    def settle(self) -> None:
        """Replace what the files that are read now replace. Idempotent."""
        with self._looking:
            self._settle_uploads()
            self._settle_folders()

    def is_used(self, doc_id: str) -> bool:
        """Return whether a document is that of a file which is in its folder, or is still to be replaced there."""
        row = self._db.one(
            "SELECT 1 FROM folder_files WHERE (doc_id = ?1 AND NOT is_gone) OR before = ?1 LIMIT 1", (doc_id,)
        )
        return row is not None

    def _settle_uploads(self) -> None:
        rows = self._db.all(
            "SELECT u.upload_id, u.doc_id FROM uploads u JOIN documents d ON d.doc_id = u.doc_id"
            " WHERE u.replaces AND u.state = 'done' AND d.status = 'ready'"
        )
        for upload_id, doc_id in rows:
            self._replace(doc_id)
            with self._db.transaction() as db:
                db.execute("UPDATE uploads SET replaces = 0 WHERE upload_id = ?", (upload_id,))

    def _settle_folders(self) -> None:
        rows = self._db.all(
            "SELECT s.folder_id, s.place, s.before, s.doc_id FROM folder_files s"
            " JOIN documents d ON d.doc_id = s.doc_id WHERE s.before <> '' AND d.status = 'ready'"
        )
        for folder_id, place, before, doc_id in rows:
            with self._db.transaction() as db:
                db.execute("UPDATE folder_files SET before = '' WHERE folder_id = ? AND place = ?", (folder_id, place))
            if not self.is_used(before):
                self._replace(doc_id, before)

    def _replace(self, doc_id: str, earlier: str = "") -> None:
        try:
            self._library.replace(doc_id, earlier=earlier)
        except NotFoundError:  # one of them was erased meanwhile
            return
