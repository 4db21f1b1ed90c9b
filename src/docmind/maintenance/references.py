"""The quick checks: every reference leads to something, nothing is left over, the files are there and whole in size.

Page rows are long, so the queries read indexes wherever one holds what is asked for: 10,000 pages take some tenths of a
second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from docmind.conversations import stored_states
from docmind.documents import DECODED, is_readable, readable_artifacts, texts_of, unreadable_erasures
from docmind.errors import DamagedError, NotFoundError, TamperedError, VaultFormatError, WrongKeyError
from docmind.maintenance.kinds import Problem
from docmind.records.documents import ArtifactRef
from docmind.storage import ORIGINAL, Artifacts, Connection, Database

_UNREADABLE = (DamagedError, NotFoundError, TamperedError, VaultFormatError, WrongKeyError)


@dataclass(frozen=True, slots=True)
class Document:
    """What the checks need of a document's row."""

    name: str
    status: str
    pages: int
    original: str
    """The id of the sealed original, and `suffix` that of its file; as they stand in the row."""
    suffix: str
    is_binned: bool


@dataclass(slots=True)
class Rows:
    """The ids in all tables and the files, as of one moment."""

    documents: dict[str, Document]
    pages: dict[tuple[str, int], str]
    """The image of each page, by document and number."""

    passages: set[tuple[str, int]]
    files: dict[str, int]
    """The sizes of sealed files by name, without those set aside."""

    aside: set[str]
    named: set[str]
    """Ids of sealed files that a row names, or that are being deleted."""

    problems: list[Problem] = field(default_factory=list)

    def with_name(self, problem: Problem) -> Problem:
        """Return a problem with the name of its document."""
        known = self.documents.get(problem.doc_id)
        return problem if known is None or problem.document else problem._replace(document=known.name)


_HOLDING = (
    "SELECT snapshot_id FROM snapshots JOIN snapshot_members USING (snapshot_no) JOIN segment_files USING (segment_no)"
    " WHERE sha256 = ?"
)


def look_at(database: Database, artifacts: Artifacts) -> Rows:
    """Read all references; the caller holds `Catalog.naming`, so that no file is between its seal and its row.

    Raises `DamagedError` where a table cannot be read.
    """
    with database.reading() as db:
        documents = {
            doc_id: Document(name, status, pages, original, suffix, deleted is not None)
            for doc_id, name, status, pages, original, suffix, deleted in db.execute(
                "SELECT doc_id, document, status, pages, original, original_suffix, deleted_at_ms FROM documents"
            ).fetchall()
        }
        rows = db.execute("SELECT doc_id, page_no, image FROM pages").fetchall()
        pages = {(doc_id, page_no): image for doc_id, page_no, image in rows}
        passages = set(db.execute("SELECT DISTINCT doc_id, page_no FROM nodes").fetchall())
        named = {document.original for document in documents.values()} | set(pages.values())
        named |= _first(db, "SELECT thumbnail FROM pages") | _first(db, "SELECT image FROM figures")
        named |= _first(db, "SELECT artifact FROM uploads WHERE state <> 'done'")
        named |= _first(db, "SELECT sha256 FROM doomed")
        named |= _first(db, "SELECT sha256 FROM segment_files")
        vault = Rows(documents, pages, passages, artifacts.listed(), artifacts.put_aside(), named)
        vault.problems += [*_rows(db), *_documents(db, vault), *_search_rows(db, vault)]
        vault.problems += [*_lists(db), *_conversations(db)]
        vault.problems += _files(db, vault, artifacts)
    for name, size in vault.files.items():
        if name[:64] in vault.named and not artifacts.is_plausible(name, size):
            vault.problems += damaged_file(database, vault, name)
    vault.problems = [vault.with_name(problem) for problem in vault.problems]
    return vault


def _first(db: Connection, sql: str) -> set[str]:
    return {row[0] for row in db.execute(sql).fetchall()}


_LISTS_IN = (
    ("uploads", "upload_id", "doc_id, name", ("tags",)),
    ("folders", "folder_id", "'', ''", ("include", "exclude")),
    ("embedding_jobs", "job_id", "'', ''", ("doc_ids",)),
)
"""Tables with columns that hold an array of texts: the table, its key, the document and its name, the columns."""
_FILES_IN = (
    ("documents", "doc_id", "doc_id, document", ("original, original_suffix",)),
    ("pages", "page_id", "doc_id, ''", ("image, '.webp.enc'", "thumbnail, '.webp.enc'")),
    ("figures", "image", "doc_id, ''", ("image, image_suffix",)),
    ("uploads", "upload_id", "doc_id, name", ("artifact, artifact_suffix",)),
)
"""Tables with columns that name a sealed file."""


def _rows(db: Connection) -> Iterator[Problem]:
    """Yield the rows with a column that cannot be read: lists, names of files, plans of erasures."""
    named = ", ".join(column.name for column in DECODED)
    for doc_id, name, *values in db.execute(f"SELECT doc_id, document, {named} FROM documents"):
        if not all(map(is_readable, DECODED, values)):
            yield Problem("row-damaged", f"documents {doc_id}", doc_id, document=name)
    for table, key, about, columns in _LISTS_IN:
        for row_id, doc_id, name, *lists in db.execute(f"SELECT {key}, {about}, {', '.join(columns)} FROM {table}"):
            if not all(map(_is_list, lists)):
                yield Problem("row-damaged", f"{table} {row_id}", doc_id, document=name)
    for table, key, about, pairs in _FILES_IN:
        for columns in pairs:
            for row_id, doc_id, name, *pair in db.execute(f"SELECT {key}, {about}, {columns} FROM {table}"):
                if not readable_artifacts([pair]):
                    yield Problem("row-damaged", f"{table} {row_id}", doc_id, document=name)
    for erasure_id in unreadable_erasures(db):
        yield Problem("row-damaged", f"erasures {erasure_id}")


def _is_list(raw: str) -> bool:
    try:
        texts_of(raw)
    except DamagedError:
        return False
    return True


def _documents(db: Connection, vault: Rows) -> Iterator[Problem]:
    there: dict[str, list[int]] = {}
    for doc_id, page_no in vault.pages:
        there.setdefault(doc_id, []).append(page_no)
    for doc_id, document in vault.documents.items():
        if document.status != "ready":
            continue
        numbers, can_read = set(there.get(doc_id, ())), _can_read(vault, document)
        for page_no in range(1, document.pages + 1):
            if page_no not in numbers:
                yield Problem("pages-missing", doc_id, doc_id, page_no, can_repair=can_read)
        for page_no in sorted(numbers - set(range(1, document.pages + 1))):
            yield Problem("pages-missing", doc_id, doc_id, page_no, can_repair=can_read)
    for doc_id in sorted(there.keys() - vault.documents.keys()):
        for page_no in sorted(there[doc_id]):
            yield Problem("page-without-document", doc_id, doc_id, page_no)
    for doc_id, page_no in sorted(vault.passages - vault.pages.keys()):
        yield Problem("passage-without-page", doc_id, doc_id, page_no)


def _can_read(vault: Rows, document: Document) -> bool:
    """Return whether a document can be read again: its original is there, and it is not in the bin."""
    name = f"{document.original}{document.suffix}"
    return not document.is_binned and (name in vault.files or name in vault.aside)


_ON_SHEETS = (
    "SELECT n.content_hash FROM pages p CROSS JOIN nodes n ON p.doc_id = n.doc_id AND p.page_no = n.page_no"
    " WHERE p.image = p.thumbnail"
)


def _search_rows(db: Connection, vault: Rows) -> Iterator[Problem]:
    texts = {row[0] for row in db.execute("SELECT DISTINCT content_hash FROM nodes").fetchall()}
    vectors = {row[0] for row in db.execute("SELECT DISTINCT content_hash FROM vectors").fetchall()}
    tokens = {row[0] for row in db.execute("SELECT DISTINCT content_hash FROM tokens").fetchall()}
    later = {row[0] for row in db.execute(_ON_SHEETS).fetchall()}  # work that DocMind does by itself is no damage
    for content in sorted(texts - vectors - later):
        row = db.execute("SELECT doc_id, page_no FROM nodes WHERE content_hash = ?", (content,)).fetchone()
        if row[0] in vault.documents:
            can = not vault.documents[row[0]].is_binned
            yield Problem("vector-missing", content.hex(), row[0], row[1], key=content, can_repair=can)
    for content in sorted(vectors - texts):
        yield Problem("vector-unused", content.hex(), key=content)
    for content in sorted(tokens - texts):
        yield Problem("tokens-unused", content.hex(), key=content)
    images = set(vault.pages.values())
    marked = _first(db, "SELECT image FROM looks")
    for kind, found in (
        ("marks-unused", marked),
        ("page-vector-unused", _first(db, "SELECT DISTINCT image FROM page_vectors")),
        ("late-unused", _first(db, "SELECT DISTINCT image FROM late_pages")),
    ):
        for image in sorted(found - images):
            yield Problem(kind, image, key=image)
    shown = _first(db, "SELECT DISTINCT image FROM figures")
    for image in sorted(_first(db, "SELECT DISTINCT image FROM figure_vectors") - shown):
        yield Problem("figure-vector-unused", image, key=image)
    for doc_id, page_no in db.execute("SELECT DISTINCT doc_id, page_no FROM passage_vectors").fetchall():
        if (doc_id, page_no) not in vault.pages:
            yield Problem("passage-vectors-unused", doc_id, doc_id, page_no)
    marked |= _first(db, "SELECT image FROM pages WHERE image = thumbnail")  # a sheet, whose marks are made later
    for (doc_id, page_no), image in vault.pages.items():
        if image not in marked and doc_id in vault.documents:
            yield Problem("marks-missing", image, doc_id, page_no, key=image)


_ORPHANS = {
    "collection-broken": (
        ("collected", "collection_id, doc_id", "collection_id NOT IN (SELECT collection_id FROM collections)"),
        ("collected", "collection_id, doc_id", "doc_id NOT IN (SELECT doc_id FROM documents)"),
        ("bound_collections", "thread_id, collection_id", "thread_id NOT IN (SELECT thread_id FROM chat_session)"),
        ("bound_collections", "thread_id, collection_id",
         "collection_id NOT IN (SELECT collection_id FROM collections)"),
        ("bound_documents", "thread_id, doc_id", "thread_id NOT IN (SELECT thread_id FROM chat_session)"),
        ("bound_documents", "thread_id, doc_id", "doc_id NOT IN (SELECT doc_id FROM documents)"),
    ),
    "address-unused": (
        ("web_pages", "doc_id, ''", "doc_id NOT IN (SELECT doc_id FROM documents UNION SELECT doc_id FROM uploads)"),
    ),
    "folder-file-unused": (
        ("folder_files", "folder_id, hex(place)", "folder_id NOT IN (SELECT folder_id FROM folders)"),
    ),
}  # fmt: skip
"""Rows of lists that name what is not there: table, its two keys, and the condition that finds them."""


def _lists(db: Connection) -> Iterator[Problem]:
    for kind, tables in _ORPHANS.items():
        for table, keys, where in tables:
            for first, second in db.execute(f"SELECT {keys} FROM {table} WHERE {where}").fetchall():
                yield Problem(kind, str(first), key=str(second))


def remove_orphans(db: Connection, kind: str) -> None:
    """Delete the rows of lists that name what is not there, in the caller's transaction."""
    for table, _keys, where in _ORPHANS[kind]:
        db.execute(f"DELETE FROM {table} WHERE {where}")


def _conversations(db: Connection) -> Iterator[Problem]:
    known = dict(db.execute("SELECT thread_id, last_checkpoint_id FROM chat_session").fetchall())
    states = stored_states(db)
    for thread_id in sorted({thread_id for thread_id, _ in states} - known.keys()):
        yield Problem("conversation-lost", thread_id, key=thread_id)
    for thread_id, last in known.items():
        if last is not None and (thread_id, last) not in states:
            yield Problem("conversation-broken", thread_id, key=thread_id)


def _files(db: Connection, vault: Rows, artifacts: Artifacts) -> Iterator[Problem]:
    there = {name[:64] for name in vault.files} | {name[:64] for name in vault.aside}
    for doc_id, document in vault.documents.items():
        if document.original not in there and document.status == "ready":
            yield Problem("original-lost", document.original, doc_id)
    lost = {image for image in vault.pages.values() if image not in there}
    lost |= (_first(db, "SELECT thumbnail FROM pages") | _first(db, "SELECT image FROM figures")) - there
    for sha256 in sorted(lost):
        yield from _image_problems(db, vault, "image-lost", sha256)
    waiting = "SELECT upload_id, artifact, name FROM uploads WHERE state <> 'done'"
    for upload_id, sha256, name in db.execute(waiting).fetchall():
        if sha256 not in there:
            yield Problem("upload-lost", str(upload_id), key=sha256, document=name)
    for sha256 in sorted(_first(db, "SELECT sha256 FROM segment_files") - there):
        for (snapshot_id,) in db.execute(_HOLDING, (sha256,)).fetchall():
            yield Problem("snapshot-damaged", sha256, key=snapshot_id, document=snapshot_id)
    erased = _first(db, "SELECT doc_id FROM erasures")
    for name in sorted({*vault.files, *vault.aside}):
        if name[:64] not in vault.named:
            yield from _unnamed(vault, artifacts, ArtifactRef(name[:64], name[64:]), erased)


def _unnamed(vault: Rows, artifacts: Artifacts, ref: ArtifactRef, erased: set[str]) -> Iterator[Problem]:
    """Yield what a file is that no row names: a lost document, a file of an erased one, or a left-over."""
    doc_id = ref.sha256[:32]
    if ref.suffix == ORIGINAL and doc_id in erased and doc_id not in vault.documents:
        yield Problem("file-erased", ref.file_name, doc_id, key=ref.file_name)
    elif ref.suffix == ORIGINAL and doc_id not in vault.documents:
        name, is_readable = "", True
        try:
            label = artifacts.look(ref)[1] or {}
            name = str(label.get("name", ""))
        except _UNREADABLE:
            is_readable = False
        yield Problem("document-lost", ref.file_name, doc_id, key=ref.file_name, document=name, can_repair=is_readable)
    elif ref.file_name in vault.files:
        yield Problem("file-unnamed", ref.file_name, key=ref.file_name)


def _image_problems(db: Connection, vault: Rows, kind: str, sha256: str) -> Iterator[Problem]:
    rows = db.execute(
        "SELECT doc_id, page_no FROM pages WHERE image = ?1"
        " UNION SELECT doc_id, page_no FROM pages WHERE thumbnail = ?1"
        " UNION SELECT doc_id, page_no FROM figures WHERE image = ?1",
        (sha256,),
    ).fetchall()
    for doc_id, page_no in sorted(rows):
        document = vault.documents.get(doc_id)
        can = document is not None and _can_read(vault, document)
        yield Problem(kind, sha256, doc_id, page_no, key=sha256, can_repair=can)


def damaged_file(database: Database, vault: Rows, name: str) -> list[Problem]:
    """Return the problems that a damaged file makes: of the page, the document or the queue that it belongs to."""
    sha256 = name[:64]
    with database.reading() as db:
        found = list(_image_problems(db, vault, "image-damaged", sha256))
        rows = db.execute("SELECT upload_id, name FROM uploads WHERE artifact = ? AND state <> 'done'", (sha256,))
        found += [Problem("upload-lost", str(row[0]), key=sha256, document=row[1]) for row in rows.fetchall()]
    found += [
        Problem("original-damaged", sha256, doc_id)
        for doc_id, document in vault.documents.items()
        if document.original == sha256 and document.status == "ready"
    ]
    return found or [Problem("file-damaged", name, key=name)]
