"""The catalogue: the documents and pages of the vault, and the order of their changes.

Above 500 lines: every change of a document or page is counted here, in the transaction that makes it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from docmind.blocks import PageBlock, unpack
from docmind.documents.columns import (
    BEGIN,
    OCR_PAGES,
    PAGES_DONE,
    PARENT,
    SELECTED,
    begun_values,
    info_of,
    parent_of,
    stored,
)
from docmind.documents.dates import chosen_day, has_days, is_of_rows, stated_day, year_in_name
from docmind.documents.enclosed import EnclosedFiles, follow_parent
from docmind.documents.figures import Figures, images_of_figures, put_figures
from docmind.documents.filtered import allowed_documents, held_in
from docmind.documents.language import language_of
from docmind.documents.stored import artifact_of, ocr_of, readable_artifacts, stored_ocr
from docmind.documents.threads import join_thread
from docmind.documents.titles import FRONT_PAGES, FrontPage, title_of
from docmind.documents.words import Words
from docmind.errors import DamagedError, NotFoundError
from docmind.records.answers import Gone
from docmind.records.documents import (
    ArtifactRef,
    Box,
    Cited,
    DocumentInfo,
    Figure,
    Ingestion,
    Loss,
    PageText,
    PageView,
    Provenance,
    page_id_of,
    placed,
    readable_name,
    with_provenance,
)
from docmind.records.search import Degraded, Filters
from docmind.storage import Connection, Database, Row
from docmind.wording import _, ngettext

EMBEDDED_AT_ONCE = 16
"""The first pages of a document, whose passages get their vectors while it is read, whatever its kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRecord(PageText):
    """One stored page. `words` is packed (`docmind.documents.words`), and so are `blocks` (`docmind.blocks`)."""

    doc_id: str
    words: bytes = field(repr=False)
    language: str
    image: ArtifactRef
    thumbnail: ArtifactRef
    marks: bytes = field(default=b"", repr=False)
    """The marks that were made of the image while it was read; not read again from the vault."""
    blocks: bytes = field(default=b"", repr=False)
    uncorrected: bytes = field(default=b"", repr=False)
    """What was read, where corrections by hand changed it, packed (`docmind.documents.corrections`)."""
    figures: tuple[Figure, ...] = ()
    """Those that were found while it was read; not read again from the vault (`Catalog.figures`)."""

    @property
    def page_id(self) -> str:
        return page_id_of(self.doc_id, self.page_no)

    def structure(self) -> tuple[PageBlock, ...]:
        """Return what the text is made of; nothing where it is not known. Raises `DamagedError`."""
        return unpack(self.blocks, len(self.text))

    def own_text(self) -> str:
        """Return the text without the words on its pictures, which stand behind it.

        A scan is the document itself, so its words are its own. Raises `DamagedError`.
        """
        if not self.is_sheet or self.ocr is None:
            return self.text
        words = Words.unpack(self.words)
        pictures = (one.start for one in self.structure() if words.certainty_of(one.start, one.end) < 1)
        return self.text[: next(pictures, len(self.text))].rstrip()

    def with_language(self) -> PageRecord:
        """Return the page in the language of its own text; where it has none, of the words on its pictures."""
        return replace(self, language=language_of(self.own_text() or self.text))

    @property
    def own_language(self) -> str:
        """The language of the page; "" where all of its words stand on pictures. Raises `DamagedError`."""
        return self.language if self.own_text() else ""

    @property
    def is_sheet(self) -> bool:
        """Whether it was laid out and not drawn: picture and thumbnail are one artifact.

        A small picture whose thumbnail is equal may be among such pages.
        """
        return self.image == self.thumbnail

    @property
    def is_embedded_later(self) -> bool:
        """Whether its passages get their vectors once nothing is being read, as those of all long texts and tables do.

        These are sheets behind the first `EMBEDDED_AT_ONCE`.
        """
        return self.is_sheet and self.page_no > EMBEDDED_AT_ONCE


@dataclass(frozen=True, slots=True)
class Version:
    """What tells a version from others: its series, the day it is about ("" for none), and when it was added."""

    doc_id: str
    document: str
    series: str
    dated: str
    added_at_ms: int

    @property
    def time(self) -> str:
        """The day that it is about, else the year in its name, "" for none."""
        return self.dated or year_in_name(self.document)

    def is_after(self, other: Version) -> bool:
        """Return whether this version is newer than another; a year alone tells nothing of the days in it."""
        length = min(len(self.time), len(other.time))
        if self.time[:length] != other.time[:length]:
            return self.time > other.time
        return self.added_at_ms > other.added_at_ms


def _lost_pages(db: Connection, doc_id: str) -> list[Loss]:
    """Return the pages in letters that OCR does not know as a loss; none where there are none."""
    rows = db.execute("SELECT page_no, ocr FROM pages WHERE doc_id = ? AND ocr <> '' ORDER BY page_no", (doc_id,))
    lost = [page_no for page_no, ocr in rows.fetchall() if (how := ocr_of(ocr)) is not None and how.is_lost]
    if not lost:
        return []
    named = ", ".join(map(str, lost[:_LOST_NAMED])) + (", …" if len(lost) > _LOST_NAMED else "")
    return [Loss("script", len(lost), f"page {named}" if len(lost) == 1 else f"pages {named}")]


def _as_front(page: PageRecord) -> FrontPage:
    """Return what of a page may tell a title: nothing that stands on a picture."""
    own = page.own_text()
    structure = [one for one in page.structure() if one.end <= len(own)]
    return own, Words.unpack(page.words), structure


_LOST_NAMED = 10  # pages in letters that OCR does not know that a loss names
_DAMAGED_NAMED = 5  # damaged pages that one search names

_PLAIN = ("doc_id", "page_no", "width", "height", "text", "words", "text_source", "confidence", "language")
_OF_PAGE = (*_PLAIN, "image", "image_suffix", "thumbnail", "thumbnail_suffix", "blocks", "uncorrected", "ocr")
_PAGE_COLUMNS = ", ".join(_OF_PAGE)

# A document of the bin that a snapshot holds: only questions as of a snapshot find it, and its pages can be opened.
_IS_KEPT = "d.deleted_at_ms IS NOT NULL AND EXISTS (SELECT 1 FROM segments g WHERE g.doc_id = d.doc_id)"
_IS_READABLE = f"(d.deleted_at_ms IS NULL OR ({_IS_KEPT}))"

# A condition on rows of `pages`, with the document's id as first parameter: its pages can be opened.
_IS_SHOWN = f"EXISTS (SELECT 1 FROM documents d WHERE d.doc_id = ?1 AND {_IS_READABLE})"


class Catalog:
    """The document tables of `vault.db`. Thread-safe as `Database` is.

    Sealing a file and writing the row that names it must be one step, and so must deleting both, because another thread
    may write or delete a row that shares the file. Hold the lock `naming` for each such step, and take it before a
    transaction begins, never inside one.
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        self.enclosed, self.figures = EnclosedFiles(database), Figures(database)
        self.naming = threading.RLock()
        self._damaged: dict[tuple[str, int], str] = {}  # pages that could not be read since the vault was opened
        self._unsound: dict[str, str] = {}  # documents of whose rows a part could not be read, with their names
        self._refused: dict[str, str] | None = None  # kept until a document changes; replaced as a whole

    # documents

    def begin_document(self, info: DocumentInfo, original: ArtifactRef, parent_id: str = "") -> None:
        """Acknowledge a document: from now on a restart continues its ingestion.

        `parent_id` is the document in which its file lies; one that is added by itself has no parent any more.

        An existing document is begun again. It keeps its tags where none are given, and a name set by hand.
        """
        with self._db.transaction() as db:
            self._db.recount()
            begun = replace(info, status="reading", message="")
            named = {"original": original.sha256, "original_suffix": original.suffix, "parent_id": parent_id}
            db.execute(BEGIN, begun_values(begun, **named, updated_at_ms=_now_ms()))
            if not parent_id:
                self.stand_alone(info.doc_id)

    def begin_anew(self, info: DocumentInfo) -> None:
        """Note what a ready document is now that all of it is read in another way; it stays ready.

        Rows of pages beyond its last one are deleted, and a name set by hand is kept. Raises `NotFoundError`.
        """
        with self._db.transaction() as db:
            self._db.recount()
            original = self.original(info.doc_id)
            ready = replace(info, status="ready", message="")
            named = {"original": original.sha256, "original_suffix": original.suffix, "parent_id": ""}
            db.execute(BEGIN, begun_values(ready, **named, updated_at_ms=_now_ms()))
            self.set_pages(info.doc_id, info.pages)

    def stand_alone(self, doc_id: str) -> None:
        """Note that a document was added by itself too: it stays where the one in which it came goes."""
        with self._db.transaction() as db:
            db.execute("UPDATE documents SET parent_id = '' WHERE doc_id = ? AND parent_id <> ''", (doc_id,))

    def finish_document(self, doc_id: str, *, language: str, ingestion: Ingestion | None = None) -> int:
        """Mark a document ready, with what its first page tells, and return the epoch of this change.

        That is a title and, where a person or the metadata give none, a day (`dates.chosen_day`). `ingestion` is how
        it was read, without the counts. Raises `NotFoundError`.
        """
        first = self.pages([(doc_id, 1)]).get((doc_id, 1))
        heading = title_of(self._front(doc_id))
        with self._db.transaction() as db:
            self._db.recount()
            row = db.execute(
                "SELECT document, title, dated, stamped, added_at_ms, language, is_language_set, (SELECT count(*)"
                f" FROM nodes n WHERE n.doc_id = d.doc_id), {PAGES_DONE}, {OCR_PAGES}"
                " FROM documents d WHERE doc_id = ?",
                (doc_id,),
            ).fetchone()
            if row is None:
                raise NotFoundError(_("There is no such document: {doc_id}.").format(doc_id=doc_id))
            document, title, dated, stamped, added, known, is_set, passages, pages, ocr_pages = row
            written = known if is_set else language
            if dated in ("", stamped):  # by no word of a person or of the file
                text = first.own_text() if first is not None else ""
                is_sheet = first is not None and is_of_rows(first.text, first.structure())
                stated = stated_day(text, title or heading, written, is_sheet=is_sheet)
                is_of_days = is_sheet and has_days(text, written)
                dated = chosen_day(stated, document, "" if is_of_days else stamped, added)
            values: dict[str, object] = {
                "status": "ready",
                "message": "",
                "heading": heading,
                "language": written,
                "dated": dated,
            }
            if ingestion is not None:
                engine = ingestion.ocr_engine if ocr_pages else ""
                counts = {"passages": passages, "pages": pages, "ocr_pages": ocr_pages}
                losses = (*(one for one in ingestion.losses if one.kind != "script"), *_lost_pages(db, doc_id))
                values["ingestion"] = replace(ingestion, ocr_engine=engine, losses=losses, **counts)
            self.set(db, doc_id, values)
            follow_parent(db, doc_id)
            join_thread(db, doc_id)
            return self._changed(db, doc_id)

    def find_headings(self, after: str, most: int) -> str | None:
        """Find the titles on the first pages of documents again, of at most so many, in one transaction.

        `after` is the id that the previous call returned, at first "". Returns None once all documents were looked at.
        """
        rows = self._db.all(
            "SELECT doc_id, heading FROM documents WHERE doc_id > ? AND status = 'ready' ORDER BY doc_id LIMIT ?",
            (after, most),
        )
        doc_ids = [doc_id for doc_id, _heading in rows]
        found = []
        for doc_id, before in rows:
            with suppress(DamagedError):  # its words cannot be read: it is shown as before
                found.append((title_of(self._front(doc_id)), doc_id, before))
        changed = [one for one in found if one[0] != one[2]]
        if changed:
            with self._db.transaction() as db:
                db.executemany("UPDATE documents SET heading = ? WHERE doc_id = ? AND heading = ?", changed)
        return doc_ids[-1] if len(doc_ids) == most else None

    def _front(self, doc_id: str) -> list[FrontPage]:
        """Return the pages that may tell a title, as far as they are there; none where the first is not."""
        pages = self.pages((doc_id, number) for number in range(1, FRONT_PAGES + 1))
        if (doc_id, 1) not in pages:
            return []
        return [_as_front(page) for _key, page in sorted(pages.items())]

    def label(self, doc_id: str, document: str) -> str:
        """Return what a document is called now: its title, else its file name in words, and in which one it came.

        `document` is the file name that it had, for one that was erased; empty where that is not kept.
        """
        query = f"SELECT title, heading, document, {PARENT} FROM documents d WHERE doc_id = ?"
        title, heading, name, parent = self._db.one(query, (doc_id,)) or ("", "", document, None)
        return placed(title or heading or (readable_name(name) if name else ""), parent_of(parent))

    def set(self, db: Connection, doc_id: str, values: Mapping[str, object]) -> None:
        """Set columns of a document's row, by name, in the caller's transaction, and note the time of the change."""
        new = {**values, "updated_at_ms": _now_ms()}
        names = ", ".join(f'"{name}" = ?' for name in new)
        db.execute(f"UPDATE documents SET {names} WHERE doc_id = ?", [*map(stored, new.values()), doc_id])

    def fail_document(self, doc_id: str, message: str) -> None:
        """Keep the document as failed, with the sentence that says why."""
        with self._db.transaction() as db:
            db.execute("UPDATE documents SET status = 'failed', message = ? WHERE doc_id = ?", (message, doc_id))

    def erase_document(self, doc_id: str, *, keep_uploads: bool = False) -> tuple[int, list[ArtifactRef]]:
        """Delete the rows of one document.

        Returns the epoch and the artifacts that are no longer referred to.

        Its files in the queue are deleted too, unless `keep_uploads` is set: then it can still be read from there. The
        artifacts are listed in `doomed` until `buried` is called: so a process killed in between leaves no orphans.
        """
        for place in [place for place in self._damaged if place[0] == doc_id]:
            del self._damaged[place]
        self._unsound.pop(doc_id, None)
        with self._db.transaction() as db:
            self._db.recount()
            named = [
                pair
                for row in db.execute(
                    "SELECT image, image_suffix, thumbnail, thumbnail_suffix FROM pages WHERE doc_id = ?", (doc_id,)
                )
                for pair in (row[:2], row[2:])
            ]
            named += images_of_figures(db, doc_id)
            named += db.execute("SELECT original, original_suffix FROM documents WHERE doc_id = ?", (doc_id,))
            inside = "FROM uploads WHERE parent_id = ? AND parent_id <> ''"
            for (child,) in db.execute(f"SELECT doc_id {inside}", (doc_id,)).fetchall():
                named += db.execute("SELECT artifact, artifact_suffix FROM uploads WHERE doc_id = ?", (child,))
            db.execute(f"DELETE {inside}", (doc_id,))
            if not keep_uploads:
                named += db.execute("SELECT artifact, artifact_suffix FROM uploads WHERE doc_id = ?", (doc_id,))
                db.execute("DELETE FROM uploads WHERE doc_id = ?", (doc_id,))
            hashes = db.execute("SELECT DISTINCT content_hash FROM nodes WHERE doc_id = ?", (doc_id,)).fetchall()
            db.execute("DELETE FROM documents WHERE doc_id = ?", (doc_id,))
            db.executemany(
                "DELETE FROM vectors WHERE content_hash = ?1 AND NOT EXISTS"
                " (SELECT 1 FROM nodes WHERE content_hash = ?1)",
                hashes,
            )
            epoch = self._changed(db, doc_id)
            return epoch, self.doom(readable_artifacts(named))

    def doom(self, refs: Iterable[ArtifactRef]) -> list[ArtifactRef]:
        """Return those of these artifacts that no row refers to any more, and list them in `doomed`."""
        with self._db.transaction() as db:
            unreferenced = [ref for ref in refs if not self._is_referenced(db, ref.sha256)]
            db.executemany(
                "INSERT OR IGNORE INTO doomed (sha256, suffix) VALUES (?, ?)",
                [(ref.sha256, ref.suffix) for ref in unreferenced],
            )
            return unreferenced

    def doomed(self) -> list[ArtifactRef]:
        """Return artifacts that an interrupted deletion left to unlink, except those referred to again."""
        with self._db.reading() as db:
            rows = db.execute("SELECT sha256, suffix FROM doomed").fetchall()
            return [ref for ref in readable_artifacts(rows) if not self._is_referenced(db, ref.sha256)]

    def buried(self) -> None:
        """Note that everything doomed was unlinked.

        The caller must prevent another deletion meanwhile.
        """
        if self._db.one("SELECT 1 FROM doomed LIMIT 1") is not None:
            with self._db.transaction(is_step=True) as db:
                db.execute("DELETE FROM doomed")

    def images_of(self, doc_id: str) -> list[ArtifactRef]:
        """Return the images of a document that no other one shows and no snapshot holds: of pages and of figures."""
        rows = self._db.all(
            "SELECT image, image_suffix, thumbnail, thumbnail_suffix FROM pages p WHERE doc_id = ?1"
            " AND NOT EXISTS (SELECT 1 FROM pages q WHERE q.image = p.image AND q.doc_id != ?1)"
            " AND NOT EXISTS (SELECT 1 FROM pages q WHERE q.thumbnail = p.thumbnail AND q.doc_id != ?1)"
            " AND NOT EXISTS (SELECT 1 FROM segment_files s WHERE s.sha256 IN (p.image, p.thumbnail))",
            (doc_id,),
        )
        figures = self._db.all(
            "SELECT image, image_suffix FROM figures f WHERE doc_id = ?1"
            " AND NOT EXISTS (SELECT 1 FROM figures g WHERE g.image = f.image AND g.doc_id != ?1)"
            " AND NOT EXISTS (SELECT 1 FROM segment_files s WHERE s.sha256 = f.image)",
            (doc_id,),
        )
        return readable_artifacts([*(pair for row in rows for pair in (row[:2], row[2:])), *figures])

    def document(self, doc_id: str) -> DocumentInfo:
        """Return one document outside the bin. Raises `NotFoundError`."""
        info = self.document_or_binned(doc_id)
        if info.deleted_at_ms is not None:
            raise NotFoundError(
                _("The document {doc_id} is in the bin.").format(doc_id=doc_id),
                hint=_("Run `docmind bin restore` to take it out of the bin."),
            )
        return info

    def document_or_binned(self, doc_id: str) -> DocumentInfo:
        """Return one document, even from the bin. Raises `NotFoundError`."""
        found = self._documents("WHERE d.doc_id = ?", (doc_id,))
        if not found:
            raise NotFoundError(_("There is no such document: {doc_id}.").format(doc_id=doc_id))
        return found[0]

    def readable(self, doc_id: str) -> DocumentInfo:
        """Return one document outside the bin, or one in the bin that a snapshot holds. Raises `NotFoundError`."""
        found = self._documents(f"WHERE d.doc_id = ? AND {_IS_READABLE}", (doc_id,))
        return found[0] if found else self.document(doc_id)

    def name_and_title(self, doc_id: str) -> tuple[str, str] | None:
        """Return file name and title of one document without reading its pages.

        Returns None where there is none, or where it is in the bin and no snapshot holds it.
        """
        row = self._db.one(f"SELECT document, title FROM documents d WHERE doc_id = ? AND {_IS_READABLE}", (doc_id,))
        return (row[0], row[1]) if row else None

    def texts_of(self, doc_id: str) -> list[str]:
        """Return the texts of the pages of a document, in the bin or not."""
        return [text for (text,) in self._db.all("SELECT text FROM pages WHERE doc_id = ? ORDER BY page_no", (doc_id,))]

    def gone(self, doc_ids: Collection[str]) -> dict[str, Gone]:
        """Return which of these documents are in the bin, and which are not there at all; the others are left out."""
        marks = ", ".join("?" * len(doc_ids))
        sql = f"SELECT doc_id, deleted_at_ms IS NOT NULL FROM documents WHERE doc_id IN ({marks})"
        found = dict(self._db.all(sql, tuple(doc_ids)))
        states: dict[str, Gone] = {doc_id: "binned" if found.get(doc_id) else "erased" for doc_id in doc_ids}
        return {doc_id: state for doc_id, state in states.items() if found.get(doc_id) != 0}

    def provenance_of(self, doc_ids: Collection[str]) -> dict[str, Provenance]:
        """Return in which other document each of these came, as words behind a name, and the day that it is about."""
        marks = ", ".join("?" * len(doc_ids))
        query = f"SELECT doc_id, dated, {PARENT} FROM documents d WHERE doc_id IN ({marks})"
        found = ((doc_id, dated, parent_of(raw)) for doc_id, dated, raw in self._db.all(query, tuple(doc_ids)))
        return {
            doc_id: Provenance(parent.place if parent is not None else "", dated) for doc_id, dated, parent in found
        }

    def with_provenance(self, cited: Iterable[Cited]) -> tuple[Cited, ...]:
        """Return sources or hits with the `place` and `dated` of their documents."""
        cited = tuple(cited)
        return with_provenance(cited, self.provenance_of({one.doc_id for one in cited})) if cited else ()

    def documents(self) -> list[DocumentInfo]:
        """Return all documents outside the bin, the newest first."""
        return self._documents("WHERE d.deleted_at_ms IS NULL ORDER BY d.added_at_ms DESC, d.document", ())

    def in_series(self, series: str) -> list[DocumentInfo]:
        """Return the versions of a document outside the bin, the last added first."""
        return self._documents("WHERE d.series = ? AND d.deleted_at_ms IS NULL ORDER BY d.added_at_ms DESC", (series,))

    def in_thread(self, thread: str) -> list[DocumentInfo]:
        """Return the ready mails of an exchange outside the bin, the first sent first."""
        where = "WHERE d.thread = ? AND d.thread <> '' AND d.deleted_at_ms IS NULL AND d.status = 'ready'"
        return self._documents(f"{where} ORDER BY d.sent_at, d.added_at_ms", (thread,))

    def thread_of(self, doc_id: str) -> str:
        """Return the exchange to which a mail belongs; "" for what is no mail."""
        row = self._db.one("SELECT thread FROM documents WHERE doc_id = ?", (doc_id,))
        return row[0] if row else ""

    def mails(self) -> list[DocumentInfo]:
        """Return the ready mails outside the bin, the last sent first."""
        where = "WHERE d.kind = 'mail' AND d.deleted_at_ms IS NULL AND d.status = 'ready'"
        return self._documents(f"{where} ORDER BY d.sent_at DESC, d.added_at_ms DESC", ())

    def binned(self) -> list[DocumentInfo]:
        """Return the documents in the bin, the last deleted first."""
        return self._documents("WHERE d.deleted_at_ms IS NOT NULL ORDER BY d.deleted_at_ms DESC, d.document", ())

    def indexed(self) -> list[DocumentInfo]:
        """Return the documents that the index holds: the ready ones outside the bin, and in the bin of a snapshot."""
        return self._documents(f"WHERE d.status = 'ready' AND {_IS_READABLE} ORDER BY d.added_at_ms DESC", ())

    def index_counts(self) -> tuple[int, int]:
        """Return how many nodes and pages the index must hold, those of documents that it refuses left out."""
        held = f"JOIN documents d ON d.doc_id = t.doc_id WHERE d.status = 'ready' AND d.message = '' AND {_IS_READABLE}"
        there = "AND EXISTS (SELECT 1 FROM pages p WHERE p.doc_id = t.doc_id AND p.page_no = t.page_no)"
        row = self._db.one(
            f"SELECT (SELECT count(*) FROM nodes t {held} {there}), (SELECT count(*) FROM pages t {held})"
        )
        return (row[0], row[1]) if row is not None else (0, 0)

    def is_bin_indexed(self) -> bool:
        """Return whether the index holds documents of the bin, which a search must leave out."""
        return self._db.one(f"SELECT 1 FROM documents d WHERE {_IS_KEPT} LIMIT 1") is not None

    def asked(self, snapshots: Collection[str]) -> list[DocumentInfo]:
        """Return the ready documents that are asked, the newest first.

        They are those outside the bin; as of snapshots, those that any of these holds, in the bin or not.
        """
        held = self.held_in(snapshots)
        if held is None:
            return [info for info in self.documents() if info.status == "ready"]
        return [info for info in self.indexed() if info.doc_id in held]

    def allowed(self, filters: Filters) -> list[str]:
        """Return the ids of the documents that the filters allow: by all filters but those of single pages.

        Documents in the bin are allowed only as of a snapshot that holds them.
        """
        return list(allowed_documents(self._db, filters))

    def matching(self, filters: Filters) -> list[DocumentInfo]:
        """Return the documents that the filters allow, whatever their state, the newest first.

        A language is that of most pages of a document.
        """
        allowed = set(self.allowed(filters))
        there = self.documents() if not filters.snapshots else self.indexed()
        return [
            info for info in there
            if info.doc_id in allowed and (not filters.languages or info.language in filters.languages)
        ]  # fmt: skip

    def held_in(self, snapshots: Collection[str]) -> set[str] | None:
        """Return the documents that any of these snapshots holds; None for no snapshots."""
        return held_in(self._db, snapshots) if snapshots else None

    def lacking(self, filters: Filters) -> tuple[Degraded, ...]:
        """Return what a search as of a snapshot cannot find: documents that are neither in the library nor the bin."""
        held = self.held_in(filters.snapshots)
        if held is None:
            return ()
        marks = ", ".join("?" * len(filters.snapshots))
        there = self._db.all(f"SELECT snapshot_id FROM snapshots WHERE snapshot_id IN ({marks})", filters.snapshots)
        told = []
        if len(there) < len(filters.snapshots):
            told.append(_("The snapshot that was asked isn't there any more."))
        rows = self._db.all("SELECT doc_id FROM documents WHERE status = 'ready'")
        if gone := len(held.difference(doc_id for (doc_id,) in rows)):
            told.append(
                ngettext(
                    "{n} document of the snapshot isn't in the library now. Activating the snapshot brings it back.",
                    "{n} documents of the snapshot aren't in the library now. Activating it brings them back.",
                    gone,
                ).format(n=gone)
            )
        return tuple(Degraded("snapshot", one) for one in told)

    def holds(self, kind: str) -> bool:
        """Return whether any document outside the bin is of this kind."""
        sql = "SELECT 1 FROM documents WHERE kind = ? AND deleted_at_ms IS NULL"
        return self._db.one(sql, (kind,)) is not None

    def state_of(self, doc_id: str) -> tuple[bool, ArtifactRef | None]:
        """Return whether a document is ready, and its sealed original.

        The result is False and None where there is none. Raises `DamagedError`.
        """
        row = self._db.one("SELECT status, original, original_suffix FROM documents WHERE doc_id = ?", (doc_id,))
        return (row[0] == "ready", artifact_of(row[1], row[2])) if row else (False, None)

    def is_known(self, doc_id: str) -> bool:
        """Return whether there is a document of this id, in the bin or outside."""
        return self._db.one("SELECT 1 FROM documents WHERE doc_id = ?", (doc_id,)) is not None

    def original(self, doc_id: str) -> ArtifactRef:
        """Return the sealed original of a document. Raises `NotFoundError`, `DamagedError`."""
        row = self._db.one("SELECT original, original_suffix FROM documents WHERE doc_id = ?", (doc_id,))
        if row is None:
            raise NotFoundError(_("There is no such document: {doc_id}.").format(doc_id=doc_id))
        return artifact_of(*row)

    # pages

    def put_pages(self, pages: Sequence[PageRecord]) -> None:
        """Store pages, replacing existing ones."""
        for page in pages:
            self._damaged.pop((page.doc_id, page.page_no), None)
        with self._db.transaction() as db:
            db.executemany(
                f"INSERT OR REPLACE INTO pages (page_id, {_PAGE_COLUMNS}) VALUES (?{', ?' * len(_OF_PAGE)})",
                [
                    (
                        *(page.page_id, page.doc_id, page.page_no, page.width, page.height, page.text, page.words),
                        *(page.text_source, page.confidence, page.language),
                        *(page.image.sha256, page.image.suffix, page.thumbnail.sha256, page.thumbnail.suffix),
                        *(page.blocks, page.uncorrected, stored_ocr(page.ocr)),
                    )
                    for page in pages
                ],
            )
            figures = [figure for page in pages for figure in page.figures]
            put_figures(db, [(page.doc_id, page.page_no) for page in pages], figures)

    def set_pages(self, doc_id: str, pages: int) -> None:
        """Set how many pages a document has, and delete rows of pages beyond them."""
        with self._db.transaction() as db:
            self._db.recount()
            db.execute("UPDATE documents SET pages = ? WHERE doc_id = ?", (pages, doc_id))
            db.execute("DELETE FROM pages WHERE doc_id = ? AND page_no NOT BETWEEN 1 AND ?", (doc_id, pages))

    def set_images(self, page: PageRecord) -> int:
        """Set image, thumbnail, marks and the images of figures of a stored page; return the epoch of this change."""
        with self._db.transaction() as db:
            before = db.execute("SELECT image FROM pages WHERE page_id = ?", (page.page_id,)).fetchone()
            db.execute(
                "UPDATE pages SET image = ?, image_suffix = ?, thumbnail = ?, thumbnail_suffix = ? WHERE page_id = ?",
                (page.image.sha256, page.image.suffix, page.thumbnail.sha256, page.thumbnail.suffix, page.page_id),
            )
            db.executemany(
                "UPDATE figures SET image = ?, image_suffix = ? WHERE doc_id = ? AND page_no = ? AND number = ?",
                [(one.image.sha256, one.image.suffix, page.doc_id, page.page_no, one.number) for one in page.figures],
            )
            for table in ("looks", "page_vectors", "late_pages") if before else ():
                db.execute(
                    f"DELETE FROM {table} WHERE image = ?1 AND NOT EXISTS (SELECT 1 FROM pages WHERE image = ?1)",
                    before,
                )
            return self._changed(db, page.doc_id)

    def page(self, doc_id: str, page_no: int) -> PageRecord:
        """Return one page of a `readable` document. Raises `NotFoundError`, `DamagedError`."""
        sql = f"SELECT {_PAGE_COLUMNS} FROM pages WHERE doc_id = ?1 AND page_no = ?2 AND {_IS_SHOWN}"
        row = self._db.one(sql, (doc_id, page_no))
        if row is None:
            pages = self.readable(doc_id).pages
            told = ngettext("This document has {n} page.", "This document has {n} pages.", pages).format(n=pages)
            raise NotFoundError(told, hint=_("Choose a page from 1 to {n}.").format(n=pages) if pages > 1 else None)
        return _page(row)

    def pages(self, keys: Iterable[tuple[str, int]]) -> dict[tuple[str, int], PageRecord]:
        """Return pages by (doc_id, page_no) without missing and damaged ones.

        `damage` names the damaged.
        """
        found = {}
        for key in dict.fromkeys(keys):
            try:
                found[key] = self.page(*key)
            except NotFoundError:
                continue
            except DamagedError:
                self.note_damage(*key)
        return found

    def pages_of(self, doc_id: str) -> list[PageRecord]:
        """Return the pages of a `readable` document, in order, without damaged ones, which `damage` names."""
        try:
            sql = f"SELECT {_PAGE_COLUMNS} FROM pages WHERE doc_id = ?1 AND {_IS_SHOWN} ORDER BY page_no"
            return [_page(row) for row in self._db.all(sql, (doc_id,))]
        except DamagedError:
            numbers = self._db.all("SELECT page_no FROM pages WHERE doc_id = ? ORDER BY page_no", (doc_id,))
            return list(self.pages((doc_id, number) for (number,) in numbers).values())

    def structures_of(self, doc_id: str) -> list[tuple[int, str, bytes]]:
        """Return number, text and packed blocks of the pages that `pages_of` returns."""
        try:
            sql = f"SELECT page_no, text, blocks FROM pages WHERE doc_id = ?1 AND {_IS_SHOWN} ORDER BY page_no"
            return self._db.all(sql, (doc_id,))
        except DamagedError:
            return [(page.page_no, page.text, page.blocks) for page in self.pages_of(doc_id)]

    def note_damage(self, doc_id: str, page_no: int = 0) -> None:
        """Record that a page, or with 0 a whole document, was left out because it could not be read."""
        if (doc_id, page_no) not in self._damaged:
            try:
                named = self.name_and_title(doc_id)
            except DamagedError:
                named = None
            self._damaged[(doc_id, page_no)] = named[0] if named else f"document {doc_id[:12]}"

    def note_refusal(self, doc_id: str, *, is_refused: bool) -> None:
        """Record on a document that is ready whether the index refuses what it holds, until it is written again."""
        message = _("Search doesn't find this document: the index refuses what it holds.") if is_refused else ""
        if self._db.is_read_only:
            named = self.name_and_title(doc_id) or (doc_id,)
            others = {one: name for one, name in self.refused().items() if one != doc_id}
            self._refused = others | ({doc_id: named[0]} if is_refused else {})
            return
        with self._db.transaction() as db:
            db.execute("UPDATE documents SET message = ? WHERE doc_id = ? AND status = 'ready'", (message, doc_id))
        self._refused = None

    def refused(self) -> dict[str, str]:
        """Return the documents outside the bin that the index refuses, by id with their names."""
        found = self._refused
        if found is None:
            found = self._refused = dict(
                self._db.all(
                    "SELECT doc_id, document FROM documents"
                    " WHERE status = 'ready' AND message <> '' AND deleted_at_ms IS NULL"
                )
            )
        return found

    def damage(self) -> tuple[Degraded, ...]:
        """Return what was found damaged since the opening, and what the index refuses, for the results of searches."""
        known = sorted((name, page_no) for (_unused, page_no), name in self._damaged.items())
        listed = [f"page {page_no} of {name}" if page_no else name for name, page_no in known]
        told = []
        if listed:
            told.append(
                _("{told}{more} can't be read and is left out: vault.db is damaged there").format(**_some(listed))
            )
        if unsound := sorted(self._unsound.values()):
            told.append(_("{told}{more} can be read in part only: vault.db is damaged there").format(**_some(unsound)))
        if refused := sorted(self.refused().values()):
            told.append(_("{told}{more} can't be found: the index refuses what it holds").format(**_some(refused)))
        return tuple(Degraded("damaged", one) for one in told)

    def versions(self, doc_ids: Collection[str]) -> dict[str, Version]:
        """Return the documents among these that belong to a series of versions, by id."""
        some = ", ".join("?" * len(doc_ids))
        rows = self._db.all(
            "SELECT doc_id, document, series, dated, added_at_ms FROM documents"
            f" WHERE series <> '' AND doc_id IN ({some})",
            tuple(doc_ids),
        )
        return {row[0]: Version(*row) for row in rows}

    def page_view(self, doc_id: str, page_no: int) -> PageView:
        """Return one page with its words, as shown to a person. Raises `NotFoundError`."""
        info, page = self.readable(doc_id), self.page(doc_id, page_no)
        words = Words.unpack(page.words)
        return PageView(
            **page.said(),
            doc_id=doc_id,
            document=info.document,
            pages=info.pages,
            page_id=page.page_id,
            language=page.language,
            words=tuple(
                (page.text[start:end], Box(*map(float, box)))
                for start, end, box in zip(words.starts, words.ends, words.boxes, strict=True)
            ),
        )

    # epochs and counts

    def epoch(self) -> int:
        """Return the number of the newest change; 0 for an empty vault."""
        row = self._db.one("SELECT max(epoch) FROM changes")
        return row[0] or 0 if row else 0

    def changes_since(self, epoch: int) -> dict[str, int]:
        """Return documents changed after `epoch`, with and in order of the epoch of their last change."""
        rows = self._db.all("SELECT doc_id, epoch FROM changes WHERE epoch > ? ORDER BY epoch", (epoch,))
        return dict(rows)

    def changed_at(self, doc_id: str) -> int:
        """Return the epoch of a document's last change; 0 where there was none."""
        row = self._db.one("SELECT max(epoch) FROM changes WHERE doc_id = ?", (doc_id,))
        return row[0] or 0 if row else 0

    def touch(self, doc_id: str) -> tuple[int, int]:
        """Record a change of a document outside these tables.

        Returns the epoch of its last change, and the new one.
        """
        with self._db.transaction() as db:
            return self.changed_at(doc_id), self._changed(db, doc_id)

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of documents, pages and nodes outside the bin."""
        binned = "WHERE doc_id IN (SELECT doc_id FROM documents WHERE deleted_at_ms IS NOT NULL)"
        numbers = [
            f"(SELECT count(*) FROM {table}) - (SELECT count(*) FROM {table} {binned})"
            for table in ("documents", "pages", "nodes")
        ]
        row = self._db.one(f"SELECT {', '.join(numbers)}")
        return row if row is not None else (0, 0, 0)  # type: ignore[return-value]

    def artifact_ids(self) -> set[str]:
        """Return the ids of all artifacts that rows refer to, read from indexes only because page rows are long."""
        rows = self._db.all(
            "SELECT image FROM pages UNION ALL SELECT thumbnail FROM pages UNION ALL SELECT original FROM documents"
            " UNION ALL SELECT artifact FROM uploads WHERE state <> 'done' UNION ALL SELECT sha256 FROM segment_files"
            " UNION ALL SELECT image FROM figures"
        )
        return {sha256 for (sha256,) in rows}

    def thumbnail_ids(self) -> set[str]:
        """Return the ids of all artifacts that are thumbnails of pages, not page images too, as a sheet is."""
        return {sha256 for (sha256,) in self._db.all("SELECT thumbnail FROM pages WHERE thumbnail <> image")}

    def names_with(self, artifact_ids: Collection[str]) -> list[str]:
        """Return the names of the documents that any of these artifacts belongs to, each once."""
        query = (
            "SELECT document FROM documents WHERE original = ?1 OR doc_id IN"
            " (SELECT doc_id FROM pages WHERE image = ?1 OR thumbnail = ?1 UNION SELECT doc_id FROM figures"
            " WHERE image = ?1)"
        )
        with self._db.reading() as db:
            return sorted({name for one in artifact_ids for (name,) in db.execute(query, (one,)).fetchall()})

    def unreferenced(self, refs: Iterable[ArtifactRef]) -> list[ArtifactRef]:
        """Return those of these artifacts that no row refers to."""
        with self._db.reading() as db:
            return [ref for ref in refs if not self._is_referenced(db, ref.sha256)]

    def _is_referenced(self, db: Connection, sha256: str) -> bool:
        row = db.execute(
            "SELECT EXISTS (SELECT 1 FROM pages WHERE image = ?1) OR EXISTS (SELECT 1 FROM pages WHERE thumbnail = ?1)"
            " OR EXISTS (SELECT 1 FROM documents WHERE original = ?1)"
            " OR EXISTS (SELECT 1 FROM uploads WHERE artifact = ?1 AND state <> 'done')"
            " OR EXISTS (SELECT 1 FROM segment_files WHERE sha256 = ?1)"
            " OR EXISTS (SELECT 1 FROM figures WHERE image = ?1)",
            (sha256,),
        ).fetchone()
        return bool(row[0])

    def _changed(self, db: Connection, doc_id: str) -> int:
        self._refused = None
        cursor = db.execute("INSERT INTO changes (doc_id, at_ms) VALUES (?, ?)", (doc_id, _now_ms()))
        db.execute("DELETE FROM changes WHERE doc_id = ? AND epoch < ?", (doc_id, cursor.lastrowid))
        return cursor.lastrowid

    def _documents(self, where: str, parameters: tuple[object, ...]) -> list[DocumentInfo]:
        rows = self._db.all(
            f"SELECT {SELECTED} FROM documents d LEFT JOIN web_pages w ON w.doc_id = d.doc_id {where}", parameters
        )
        return [self._document(row) for row in rows]

    def _document(self, row: Row) -> DocumentInfo:
        """Return the record of a row; what cannot be read of it is left out, and told by `message` and `damage`."""
        try:
            return info_of(row)
        except DamagedError:
            info = info_of(row, lenient=True)
            self._unsound[info.doc_id] = info.document
            return replace(info, message=_("A part of what is known of it can't be read: vault.db is damaged there."))


def _now_ms() -> int:
    return int(time.time() * 1000)


def _some(names: Sequence[str]) -> dict[str, str]:
    """Return the first names for a sentence, and how many more there are."""
    more = f" and {len(names) - _DAMAGED_NAMED} more" if len(names) > _DAMAGED_NAMED else ""
    return {"told": "; ".join(names[:_DAMAGED_NAMED]), "more": more}


def _page(row: Row) -> PageRecord:
    *plain, image, image_suffix, thumbnail, thumbnail_suffix, blocks, uncorrected, ocr = row
    return PageRecord(
        **dict(zip(_PLAIN, plain, strict=True)),
        image=artifact_of(image, image_suffix),
        thumbnail=artifact_of(thumbnail, thumbnail_suffix),
        blocks=blocks,
        uncorrected=uncorrected,
        ocr=ocr_of(ocr),
    )
