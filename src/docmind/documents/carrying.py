"""The rows of one document, as they are carried from one vault to another.

Ids are keyed, so that they differ between vaults: `renamed` gives a document the ids of the vault that takes it.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from docmind.blocks import unpack
from docmind.documents.columns import NOT_IN_BUNDLES, check_stored
from docmind.documents.corrections import check_corrections, check_uncorrected
from docmind.documents.figures import check_figure
from docmind.documents.stored import artifact_of
from docmind.documents.words import Words
from docmind.errors import DamagedError
from docmind.records.documents import ArtifactRef, page_id_of
from docmind.storage import Connection, Database, Row, dbapi2
from docmind.wording import _

TABLES = (
    "documents", "pages", "nodes", "vectors", "tokens", "looks", "page_vectors", "web_pages", "corrections", "figures",
)  # fmt: skip
"""The tables with rows of documents, in the order in which they are written."""

_OF_DOCUMENT = "SELECT {columns} FROM {table} WHERE doc_id = ?1"
_OF_TEXT = "SELECT {columns} FROM {table} WHERE content_hash IN (SELECT content_hash FROM nodes WHERE doc_id = ?1)"
_OF_IMAGE = "SELECT {columns} FROM {table} WHERE image IN (SELECT image FROM pages WHERE doc_id = ?1)"
_WHERE = {
    "documents": _OF_DOCUMENT,
    "pages": _OF_DOCUMENT,
    "nodes": _OF_DOCUMENT,
    "vectors": _OF_TEXT,
    "tokens": _OF_TEXT,
    "looks": _OF_IMAGE,
    "page_vectors": _OF_IMAGE,
    "web_pages": _OF_DOCUMENT,
    "corrections": _OF_DOCUMENT,
    "figures": _OF_DOCUMENT,
}
_NOT_CARRIED = {"looks": frozenset({"look_id"})}  # numbers that each vault gives by itself
_DOC_ID = re.compile(r"[0-9a-f]{32}")
_LARGEST_SIDE = 65_535
_PLACE = ("page_no", "ordinal", "start", "end")
_NAMED = ("original", "image", "thumbnail", "node_id")  # columns with ids that differ between vaults
_ARTIFACTS = (("original", "original_suffix"), ("image", "image_suffix"), ("thumbnail", "thumbnail_suffix"))


@dataclass(frozen=True, slots=True)
class CarriedDocument:
    """All rows of one document by table, each row as a dict by column."""

    doc_id: str
    rows: dict[str, list[dict[str, object]]] = field(repr=False)

    @property
    def name(self) -> str:
        """The document's file name."""
        return str(self.rows["documents"][0]["document"])

    def artifacts(self) -> list[ArtifactRef]:
        """Return the sealed files that the rows name: original, images of pages and figures. Raises `DamagedError`."""
        return [
            artifact_of(str(row[name]), str(row[suffix]))
            for table in ("documents", "pages", "figures")
            for row in self.rows[table]
            for name, suffix in _ARTIFACTS
            if name in row
        ]

    def is_embedded(self, fingerprint: str) -> bool:
        """Return whether every node has a vector of the model with this fingerprint."""
        made = {row["content_hash"] for row in self.rows["vectors"] if row["fingerprint"] == fingerprint}
        return all(row["content_hash"] in made for row in self.rows["nodes"])

    def renamed(self, ids: Mapping[str, str], doc_id: str) -> CarriedDocument:
        """Return the rows under other ids: of sealed files and nodes as in `ids`, and of the document."""
        return CarriedDocument(
            doc_id, {table: [_renamed(table, row, ids, doc_id) for row in rows] for table, rows in self.rows.items()}
        )


def doc_id_of(original: ArtifactRef) -> str:
    """Return the id of the document with this original: the first half of its keyed content hash."""
    return original.sha256[:32]


def carried_document(database: Database, doc_id: str) -> CarriedDocument:
    """Return the rows of a document. Raises `DamagedError` where they cannot be read."""
    left_out = {"documents": NOT_IN_BUNDLES}
    found = {table: rows_of(database, table, _WHERE[table], (doc_id,), left_out.get(table, ())) for table in TABLES}
    return CarriedDocument(doc_id, found)


def rows_of(
    database: Database, table: str, query: str = "SELECT {columns} FROM {table}", parameters: Row = (),
    left_out: Collection[str] = (),
) -> list[dict[str, object]]:  # fmt: skip
    """Return rows of a table as dicts by column, all or those of a query, without the columns that are left out.

    A database from before there was such a table has no rows of it. Raises `DamagedError` for broken text.
    """
    with database.reading() as db:
        columns = [column for column in columns_of(db, table) if column not in left_out]
        if not columns:
            return []
        try:
            found = db.execute(query.format(columns=_quoted(columns), table=table), parameters).fetchall()
        except dbapi2.OperationalError as error:
            raise DamagedError(_("Rows of the table {table} can't be read.").format(table=table)) from error
    return [dict(zip(columns, row, strict=True)) for row in found]


def check_carried(carried: CarriedDocument) -> None:
    """Check rows that come from another vault: ids, numbers, packed words, vectors. Raises `DamagedError`."""
    try:
        _check(carried)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise DamagedError(_("The rows of {doc_id} are damaged.").format(doc_id=carried.doc_id)) from error


def adopt_document(db: Connection, carried: CarriedDocument) -> None:
    """Write the rows of a document that is not there, in the caller's transaction.

    Vectors and marks that are there already stay as they are.
    """
    for table in TABLES:
        known = columns_of(db, table)
        for row in carried.rows[table]:
            columns = [column for column in row if column in known]
            db.execute(
                f"INSERT OR {'ABORT' if table in TABLES[:3] else 'IGNORE'} INTO {table} ({_quoted(columns)})"
                f" VALUES ({', '.join('?' * len(columns))})",
                [row[column] for column in columns],
            )


def columns_of(db: Connection, table: str) -> list[str]:
    """Return the columns of a table that are carried."""
    found: list[Row] = db.execute(f"PRAGMA table_info({table})").fetchall()
    return [row[1] for row in found if row[1] not in _NOT_CARRIED.get(table, ())]


def _quoted(columns: list[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _check(carried: CarriedDocument) -> None:
    (document,) = carried.rows["documents"]
    pages = {_number(row["page_no"]): row for row in carried.rows["pages"]}
    if not _DOC_ID.fullmatch(carried.doc_id) or document["status"] != "ready" or document["deleted_at_ms"] is not None:
        raise ValueError("not a document that is ready")
    if _number(document["pages"]) != len(pages) or sorted(pages) != list(range(1, len(pages) + 1)):
        raise ValueError("not all pages, or one twice")
    check_stored(document)
    carried.artifacts()
    for page_no, page in pages.items():
        if page["page_id"] != page_id_of(carried.doc_id, page_no):
            raise ValueError("not the id of its page")
        if not all(0 < _number(page[side]) <= _LARGEST_SIDE for side in ("width", "height")):
            raise ValueError("not the size of a page")
        words, text = Words.unpack(_bytes(page["words"])), _text(page["text"])
        if len(words) and (int(words.ends.max()) > len(text) or int(words.starts.min()) < 0):
            raise ValueError("words outside the text")
        unpack(_bytes(page.get("blocks", b"")), len(text))
        check_uncorrected(_bytes(page.get("uncorrected", b"")), text)
    check_corrections(carried.rows["corrections"])
    places = {tuple(node[name] for name in _PLACE) for node in carried.rows["nodes"]}
    if len(places) != len(carried.rows["nodes"]):
        raise ValueError("two nodes in one place")
    for node in carried.rows["nodes"]:
        start, end = _number(node["start"]), _number(node["end"])
        if not 0 <= start <= end <= len(_text(pages[_number(node["page_no"])]["text"])):
            raise ValueError("a node outside its page")
        uuid.UUID(_text(node["node_id"]))
        _text(node.get("context", ""))
    for figure in carried.rows["figures"]:
        check_figure(figure, len(_text(pages[_number(figure["page_no"])]["text"])))
    for table, dtype in (("vectors", "<f2"), ("page_vectors", "<f2")):
        for row in carried.rows[table]:
            if not np.isfinite(np.frombuffer(_bytes(row["vector"]), dtype)).all():
                raise ValueError("not a finite vector")


def _number(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("not a number")
    return value


def _text(value: object) -> str:
    if type(value) is not str:
        raise ValueError("not text")
    return value


def _bytes(value: object) -> bytes:
    if type(value) is not bytes:
        raise ValueError("not bytes")
    return value


def _renamed(table: str, row: dict[str, object], ids: Mapping[str, str], doc_id: str) -> dict[str, object]:
    changed = {**row, **{name: ids[str(row[name])] for name in _NAMED if name in row}}
    if "doc_id" in row:
        changed["doc_id"] = doc_id
    if table == "pages":
        changed["page_id"] = page_id_of(doc_id, int(str(row["page_no"])))
    return changed
