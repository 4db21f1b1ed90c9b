"""The catalogue: which documents and pages the vault holds, and in which order they changed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from docmind.database import Connection, Database, Row
from docmind.errors import NotFoundError
from docmind.schema import (
    ArtifactRef,
    Box,
    DocumentInfo,
    DocumentStatus,
    PageView,
    TextSource,
    page_id_of,
)
from docmind.words import Words


@dataclass(frozen=True, slots=True)
class PageRecord:
    """One stored page. `words` is packed (`docmind.words`)."""

    doc_id: str
    page_no: int
    width: int
    height: int
    text: str
    words: bytes = field(repr=False)
    text_source: TextSource
    confidence: float
    language: str
    image: ArtifactRef
    thumbnail: ArtifactRef

    @property
    def page_id(self) -> str:
        return page_id_of(self.doc_id, self.page_no)


_PAGE_COLUMNS = (
    "doc_id, page_no, width, height, text, words, text_source, confidence, language,"
    " image, image_suffix, thumbnail, thumbnail_suffix"
)


class Catalog:
    """Reads and writes the document tables of `vault.db`. As safe between threads as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    # documents

    def begin_document(self, info: DocumentInfo, original: ArtifactRef) -> None:
        """Acknowledge a document: from now on a restart finishes it.

        One that is here already is begun anew, and keeps its tags where none are given now.
        """
        with self._db.transaction() as db:
            db.execute(
                "INSERT INTO documents (doc_id, document, title, kind, status, pages, bytes, tags, original,"
                " original_suffix, added_at_ms) VALUES (?, ?, ?, ?, 'reading', ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (doc_id) DO UPDATE SET status = 'reading', message = '', document = excluded.document,"
                " title = excluded.title, kind = excluded.kind, pages = excluded.pages, original = excluded.original,"
                " original_suffix = excluded.original_suffix,"
                " tags = CASE excluded.tags WHEN '[]' THEN tags ELSE excluded.tags END",
                (
                    info.doc_id,
                    info.document,
                    info.title,
                    info.kind,
                    info.pages,
                    info.bytes,
                    json.dumps(info.tags),
                    original.sha256,
                    original.suffix,
                    info.added_at_ms,
                ),
            )

    def finish_document(self, doc_id: str, *, language: str) -> int:
        """Mark it ready and give the change its epoch, which is returned. Raises `NotFoundError`."""
        with self._db.transaction() as db:
            marked = db.execute(
                "UPDATE documents SET status = 'ready', language = ?, message = '' WHERE doc_id = ?", (language, doc_id)
            )
            if not marked.rowcount:
                raise NotFoundError(f"There is no document {doc_id}.")
            return self._changed(db, doc_id)

    def fail_document(self, doc_id: str, message: str) -> None:
        """Keep the document with the sentence that says why it is not ready."""
        with self._db.transaction() as db:
            db.execute("UPDATE documents SET status = 'failed', message = ? WHERE doc_id = ?", (message, doc_id))

    def delete_document(self, doc_id: str) -> tuple[int, list[ArtifactRef]]:
        """Drop rows of one document; returns the epoch and the artifacts that nobody refers to any more."""
        with self._db.transaction() as db:
            refs = {
                ArtifactRef(*pair)
                for row in db.execute(
                    "SELECT image, image_suffix, thumbnail, thumbnail_suffix FROM pages WHERE doc_id = ?", (doc_id,)
                )
                for pair in (row[:2], row[2:])
            }
            refs |= {
                ArtifactRef(*row)
                for row in db.execute("SELECT original, original_suffix FROM documents WHERE doc_id = ?", (doc_id,))
            }
            hashes = db.execute("SELECT DISTINCT content_hash FROM nodes WHERE doc_id = ?", (doc_id,)).fetchall()
            db.execute("DELETE FROM documents WHERE doc_id = ?", (doc_id,))
            db.executemany(
                "DELETE FROM vectors WHERE content_hash = ?1 AND NOT EXISTS"
                " (SELECT 1 FROM nodes WHERE content_hash = ?1)",
                hashes,
            )
            epoch = self._changed(db, doc_id)
            return epoch, [ref for ref in refs if not self._is_referenced(db, ref.sha256)]

    def document(self, doc_id: str) -> DocumentInfo:
        """One document. Raises `NotFoundError`."""
        found = self._documents("WHERE d.doc_id = ?", (doc_id,))
        if not found:
            raise NotFoundError(f"There is no document {doc_id}.")
        return found[0]

    def name_and_title(self, doc_id: str) -> tuple[str, str] | None:
        """File name and title of one document, without a look at its pages; None where there is none."""
        row = self._db.one("SELECT document, title FROM documents WHERE doc_id = ?", (doc_id,))
        return (row[0], row[1]) if row else None

    def documents(self) -> list[DocumentInfo]:
        """All documents, the newest first."""
        return self._documents("ORDER BY d.added_at_ms DESC, d.document", ())

    def holds(self, kind: str) -> bool:
        """Whether any document is of this kind."""
        return self._db.one("SELECT 1 FROM documents WHERE kind = ?", (kind,)) is not None

    def unfinished(self) -> list[str]:
        """Ids of documents whose reading was cut off."""
        return [doc_id for (doc_id,) in self._db.all("SELECT doc_id FROM documents WHERE status = 'reading'")]

    def original(self, doc_id: str) -> ArtifactRef:
        """The sealed original. Raises `NotFoundError`."""
        row = self._db.one("SELECT original, original_suffix FROM documents WHERE doc_id = ?", (doc_id,))
        if row is None:
            raise NotFoundError(f"There is no document {doc_id}.")
        return ArtifactRef(*row)

    # pages

    def put_pages(self, pages: Sequence[PageRecord]) -> None:
        """Keep pages (and replace those that are there)."""
        with self._db.transaction() as db:
            db.executemany(
                f"INSERT OR REPLACE INTO pages (page_id, {_PAGE_COLUMNS}) VALUES ({', '.join('?' * 14)})",
                [
                    (
                        *(page.page_id, page.doc_id, page.page_no, page.width, page.height, page.text, page.words),
                        *(page.text_source, page.confidence, page.language),
                        *(page.image.sha256, page.image.suffix, page.thumbnail.sha256, page.thumbnail.suffix),
                    )
                    for page in pages
                ],
            )

    def page(self, doc_id: str, page_no: int) -> PageRecord:
        """One page. Raises `NotFoundError`."""
        found = self.pages([(doc_id, page_no)])
        if not found:
            raise NotFoundError(f"There is no page {page_no} in document {doc_id}.")
        return next(iter(found.values()))

    def pages(self, keys: Iterable[tuple[str, int]]) -> dict[tuple[str, int], PageRecord]:
        """Several pages by (doc_id, page_no); missing ones are left out."""
        found = {}
        for key in dict.fromkeys(keys):
            row = self._db.one(f"SELECT {_PAGE_COLUMNS} FROM pages WHERE doc_id = ? AND page_no = ?", key)
            if row is not None:
                found[key] = _page(row)
        return found

    def pages_of(self, doc_id: str) -> list[PageRecord]:
        """All pages of one document in order."""
        rows = self._db.all(f"SELECT {_PAGE_COLUMNS} FROM pages WHERE doc_id = ? ORDER BY page_no", (doc_id,))
        return [_page(row) for row in rows]

    def page_view(self, doc_id: str, page_no: int) -> PageView:
        """One page with its words, as a person opens it. Raises `NotFoundError`."""
        info, page = self.document(doc_id), self.page(doc_id, page_no)
        words = Words.unpack(page.words)
        return PageView(
            doc_id=doc_id,
            document=info.document,
            page_no=page_no,
            pages=info.pages,
            page_id=page.page_id,
            width=page.width,
            height=page.height,
            text=page.text,
            text_source=page.text_source,
            confidence=page.confidence,
            language=page.language,
            words=tuple(
                (page.text[start:end], Box(*map(float, box)))
                for start, end, box in zip(words.starts, words.ends, words.boxes, strict=True)
            ),
        )

    # epochs and counts

    def epoch(self) -> int:
        """The number of the newest change; 0 for an empty vault."""
        row = self._db.one("SELECT max(epoch) FROM changes")
        return row[0] or 0 if row else 0

    def changes_since(self, epoch: int) -> dict[str, int]:
        """Documents changed after `epoch`, with the epoch of their last change, in its order."""
        rows = self._db.all("SELECT doc_id, epoch FROM changes WHERE epoch > ? ORDER BY epoch", (epoch,))
        return dict(rows)

    def changed_at(self, doc_id: str) -> int:
        """The epoch of a document's last change; 0 where there was none."""
        row = self._db.one("SELECT max(epoch) FROM changes WHERE doc_id = ?", (doc_id,))
        return row[0] or 0 if row else 0

    def touch(self, doc_id: str) -> tuple[int, int]:
        """Give a change that these tables do not show its epoch: the epoch of the change before it, and its own."""
        with self._db.transaction() as db:
            return self.changed_at(doc_id), self._changed(db, doc_id)

    def counts(self) -> tuple[int, int, int]:
        """Documents, pages, nodes."""
        row = self._db.one(
            "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM pages), (SELECT count(*) FROM nodes)"
        )
        return row if row is not None else (0, 0, 0)  # type: ignore[return-value]

    def artifact_ids(self) -> set[str]:
        """The ids of all artifacts that a row refers to: from the indexes alone, for pages hold much else."""
        rows = self._db.all(
            "SELECT image FROM pages UNION ALL SELECT thumbnail FROM pages UNION ALL SELECT original FROM documents"
        )
        return {sha256 for (sha256,) in rows}

    def _is_referenced(self, db: Connection, sha256: str) -> bool:
        row = db.execute(
            "SELECT EXISTS (SELECT 1 FROM pages WHERE image = ?1) OR EXISTS (SELECT 1 FROM pages WHERE thumbnail = ?1)"
            " OR EXISTS (SELECT 1 FROM documents WHERE original = ?1)",
            (sha256,),
        ).fetchone()
        return bool(row[0])

    def _changed(self, db: Connection, doc_id: str) -> int:
        cursor = db.execute("INSERT INTO changes (doc_id, at_ms) VALUES (?, ?)", (doc_id, int(time.time() * 1000)))
        db.execute("DELETE FROM changes WHERE doc_id = ? AND epoch < ?", (doc_id, cursor.lastrowid))
        return cursor.lastrowid

    def _documents(self, where: str, parameters: tuple[object, ...]) -> list[DocumentInfo]:
        rows = self._db.all(
            "SELECT d.doc_id, d.document, d.title, d.kind, d.status, d.pages, d.language, d.bytes, d.added_at_ms,"
            " d.message, d.tags, (SELECT count(*) FROM pages p WHERE p.doc_id = d.doc_id),"
            " (SELECT count(*) FROM pages p WHERE p.doc_id = d.doc_id AND p.text_source = 'ocr')"
            f" FROM documents d {where}",
            parameters,
        )
        return [_document(row) for row in rows]


def _document(row: Row) -> DocumentInfo:
    doc_id, document, title, kind, status, pages, language, size, added, message, tags, done, ocr = row
    status_: DocumentStatus = status
    return DocumentInfo(
        doc_id,
        document,
        title,
        kind,
        status_,
        pages,
        done,
        ocr,
        language,
        size,
        added,
        message,
        tuple(json.loads(tags)),
    )


def _page(row: Row) -> PageRecord:
    image, thumbnail = ArtifactRef(row[9], row[10]), ArtifactRef(row[11], row[12])
    return PageRecord(*row[:9], image=image, thumbnail=thumbnail)
