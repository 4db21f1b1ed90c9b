"""The full and the deep checks: contents recompute, decode, and hold nothing that they must not.

User text may look like anything: a question about C:\\Users, a memory with a path, a document made of base64. Only
fields that DocMind fills itself are searched for paths, encoded bytes and text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from docmind.documents import Words, check_uncorrected, hash_of_text, readable_texts
from docmind.embedding import embedded_text, name_of, node_id_of, prefix_of, without_leaders
from docmind.errors import DamagedError, NotFoundError, TamperedError, VaultFormatError, WrongKeyError
from docmind.maintenance.kinds import Problem
from docmind.maintenance.references import Rows, damaged_file
from docmind.picture_marks import VERSION, PictureMarks
from docmind.records.documents import ArtifactRef, page_id_of
from docmind.storage import Artifacts, Database, Row

Tick = Callable[[], None]
_UNREADABLE = (DamagedError, NotFoundError, TamperedError, VaultFormatError, WrongKeyError)
_AT_ONCE = 256  # rows of one query
_LABEL = re.compile(r"[A-Za-z0-9_.:-]{0,128}")
_TEXT_FIELD = "text"
"""The field of a memory that holds what the user accepted; all others are made by DocMind."""


def check_documents(database: Database, vault: Rows, tick: Tick) -> Iterator[Problem]:
    """Recompute ids of documents, pages and passages, and decode words; `tick` is called for each document."""
    for doc_id, document in vault.documents.items():
        tick()
        if doc_id != document.original[:32]:
            yield Problem("id-wrong", doc_id, doc_id)
        try:
            yield from _document(database, doc_id, is_ready=document.status == "ready")
        except DamagedError:
            yield Problem("database-damaged", doc_id, doc_id)


def _document(database: Database, doc_id: str, *, is_ready: bool) -> Iterator[Problem]:
    with database.reading() as db:
        row = db.execute("SELECT document, title, read_as FROM documents WHERE doc_id = ?", (doc_id,)).fetchone()
        pages = db.execute(
            "SELECT page_no, page_id, text, words, text_source, uncorrected FROM pages WHERE doc_id = ?"
            " ORDER BY page_no",
            (doc_id,),
        ).fetchall()
        nodes = db.execute(
            'SELECT page_no, ordinal, node_id, start, "end", content_hash, context FROM nodes WHERE doc_id = ?'
            " ORDER BY page_no, ordinal",
            (doc_id,),
        ).fetchall()
        sql = "SELECT page_no, row_no, made_from FROM passage_vectors WHERE doc_id = ?"
        of_passages = db.execute(sql, (doc_id,)).fetchall()
    if row is None:  # deleted meanwhile
        return
    by_page: dict[int, list[Row]] = {}
    for node in nodes:
        by_page.setdefault(node[0], []).append(node)
    texts = {page_no: text for page_no, _page_id, text, *_unused in pages}
    for page_no, row_no, made_from in of_passages:
        if page_no in texts and made_from != hash_of_text(texts[page_no]):
            yield Problem("passage-vectors-damaged", doc_id, doc_id, page_no, key=row_no)
    label = Label(name_of(*(readable_texts(row[2]) or row[:2])))
    for page_no, page_id, text, words, source, uncorrected in pages:
        if page_id != page_id_of(doc_id, page_no):
            yield Problem("id-wrong", page_id, doc_id, page_no)
        if not _are_words(words, text, uncorrected):
            yield Problem("words-damaged", page_id, doc_id, page_no, can_repair=source == "layer")
        found = by_page.get(page_no, [])
        if is_ready and not found and without_leaders(text).strip():
            yield Problem("passages-missing", page_id, doc_id, page_no)
        for number, node in enumerate(found):
            if is_ready and not _is_passage(label, doc_id, text, number, node):
                yield Problem("passage-wrong", node[2], doc_id, page_no)


class Label:
    """The label of a document as its passages were embedded with it: a beginning of its name.

    Its length depends on the text model, so it is found from the first passage, and checked with the others.
    """

    def __init__(self, name: str) -> None:
        self._candidates = [name, *(name[:length] for length in range(len(name) - 1, -1, -1))]

    def fits(self, context: str, window: str, content: bytes) -> bool:
        """Return whether a window with this label and context has this content hash."""
        for label in self._candidates:
            if hashlib.sha256(embedded_text(prefix_of(label, context), window).encode()).digest()[:16] == content:
                self._candidates = [label]
                return True
        return False


def _is_passage(label: Label, doc_id: str, text: str, number: int, node: Row) -> bool:
    page_no, ordinal, node_id, start, end, content, context = node
    if ordinal != number or not 0 <= start <= end <= len(text) or not (start < end or context):
        return False
    return node_id == node_id_of(doc_id, page_no, ordinal, start, end) and label.fits(context, text[start:end], content)


def _are_words(packed: bytes, text: str, uncorrected: bytes) -> bool:
    try:
        words = Words.unpack(packed)
        check_uncorrected(uncorrected, text)
    except DamagedError:
        return False
    return not len(words) or int(words.ends.max()) <= len(text)


def check_vectors(database: Database, tick: Tick) -> Iterator[Problem]:
    """Decode every vector; those of one model have one length. `tick` is called for each block of rows."""
    from docmind.documents import unpack_passages, unpack_tokens

    lengths: dict[str, int] = {}
    for content, fingerprint, data in _rows(database, "vectors", "content_hash, fingerprint, vector", tick):
        if not _is_vector(data, lengths.setdefault(fingerprint, len(data))):
            yield Problem("vector-damaged", bytes(content).hex(), key=content)
    for image, fingerprint, data in _rows(database, "page_vectors", "image, fingerprint, vector", tick):
        if not _is_vector(data, lengths.setdefault(f"page {fingerprint}", len(data))):
            yield Problem("page-vector-damaged", image, key=image)
    for image, fingerprint, data in _rows(database, "figure_vectors", "image, fingerprint, vector", tick):
        if not _is_vector(data, lengths.setdefault(f"figure {fingerprint}", len(data))):
            yield Problem("figure-vector-damaged", image, key=image)
    for row_no, doc_id, page_no, data in _rows(database, "passage_vectors", "row_no, doc_id, page_no, vectors", tick):
        try:
            unpack_passages(data)
        except DamagedError:
            yield Problem("passage-vectors-damaged", doc_id, doc_id, page_no, key=row_no)
    for content, _fingerprint, data in _rows(database, "tokens", "content_hash, fingerprint, tokens", tick):
        try:
            unpack_tokens(data)
        except DamagedError:
            yield Problem("tokens-damaged", bytes(content).hex(), key=content)


def check_marks(database: Database, tick: Tick) -> Iterator[Problem]:
    """Decode the marks of all page images."""
    for image, version, data in _rows(database, "looks", "image, version, marks", tick):
        try:
            if version == VERSION:
                PictureMarks.unpack(data)
        except DamagedError:
            yield Problem("marks-damaged", image, key=image)


def _rows(database: Database, table: str, columns: str, tick: Tick) -> Iterator[Row]:
    """Yield the rows of a table in blocks, so that other threads wait only for one of them."""
    first, second = columns.split(", ")[:2]
    last: tuple[Any, Any] | None = None
    while True:
        tick()
        after, parameters = ("", ()) if last is None else (f"WHERE ({first}, {second}) > (?, ?)", last)
        rows = database.all(
            f"SELECT {columns} FROM {table} {after} ORDER BY {first}, {second} LIMIT {_AT_ONCE}", parameters
        )
        yield from rows
        if len(rows) < _AT_ONCE:
            return
        last = rows[-1][:2]


def _is_vector(data: object, length: int) -> bool:
    if not isinstance(data, bytes) or not data or len(data) != length or len(data) % 2:
        return False
    vector = np.frombuffer(data, "<f2")
    return bool(np.isfinite(vector).all() and vector.any())


def check_memories(database: Database, tick: Tick) -> Iterator[Problem]:
    """Search memories for paths, encoded bytes and text outside the text that the user accepted."""
    for item_id, namespace, key, value, fields, fingerprint in database.all(
        "SELECT item_id, namespace, key, value, fields, fingerprint FROM docmind_store_items"
    ):
        tick()
        try:
            told: dict[str, object] = json.loads(value)
            names = [*json.loads(namespace), *json.loads(fields), key, *told]
            names += [one for name, one in told.items() if name != _TEXT_FIELD]
            is_plain = all(_is_label(name) for name in names) and len(fingerprint) <= 512
            is_plain = is_plain and isinstance(told.get(_TEXT_FIELD), str)
        except (ValueError, TypeError, RecursionError):
            is_plain = False
        if not is_plain:
            yield Problem("memory-foreign", str(item_id), key=item_id)


def _is_label(value: object) -> bool:
    return isinstance(value, int | float | bool | None) or (isinstance(value, str) and bool(_LABEL.fullmatch(value)))


def check_files(
    database: Database, vault: Rows, artifacts: Artifacts, tick: Tick, *, is_opened: bool
) -> Iterator[Problem]:
    """Check every sealed file: by its checksum, which needs no key, or with `is_opened` by opening it.

    An opened file must give the id that its name says. `tick` is called for each.
    """
    for name in vault.files:
        tick()
        if name[:64] not in vault.named:
            continue
        ref = ArtifactRef(name[:64], name[64:])
        try:
            if is_opened:
                artifacts.get(ref)
            else:
                artifacts.check(ref)
        except NotFoundError:  # deleted meanwhile
            continue
        except _UNREADABLE:
            for problem in damaged_file(database, vault, name):
                yield vault.with_name(problem)
