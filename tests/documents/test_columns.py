"""Each attribute of a document is carried by every store and face that its declaration says."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from docmind.api.openapi import document as openapi
from docmind.client import CALLS, encode
from docmind.documents import (
    CHANGES,
    DRAWN,
    EDITED,
    FACTS,
    FIELDS,
    MENUS,
    Catalog,
    Column,
    Edits,
    Segments,
    adopt_document,
    carried_document,
    carried_in,
    check_carried,
    found_facts,
    held_documents,
    held_of,
    rows_in,
    segment_of,
    texts_to_find,
)
from docmind.documents.columns import COLUMNS
from docmind.errors import ConfigError, DamagedError
from docmind.records.documents import ArtifactRef, DocumentInfo, Ingestion, readable_name
from docmind.storage import Database
from docmind.ui.documents.served import _NAMES, _row

ID = "1" * 32
INGESTION = Ingestion("pypdfium2", "rapidocr", (("docmind", "1.0"), ("pypdfium2", "5.1")), 2, 3.5, 4, 1, 9)
MARKED: dict[str, Any] = {
    "document": "marked name.pdf", "title": "Marked title", "kind": "pdf", "language": "pt", "is_language_set": 1,
    "bytes": 77, "added_at_ms": 12, "message": "Marked message.", "tags": ("marked tag",), "heading": "Marked heading",
    "read_as": ("before.pdf", "Before"), "author": "Ada Marked", "dated": "2001-02-03", "updated_at_ms": 13,
    "ingestion": INGESTION, "sender": "Bea Marked <bea@marked.example>",
    "recipients": "Cy Marked; Di <di@marked.example>", "sent_at": "2001-02-03T04:05:06Z", "thread": "marked@thread",
    "message_id": "marked@id", "refers_to": "marked@thread", "topic": "re: marked topic",
    "stamped": "2001-02-04",
}  # fmt: skip
STORED = {column.name: column for column in COLUMNS if column.is_stored}


def marked(folder: Path, name: str = "vault.db") -> tuple[Database, Catalog]:
    """Return a vault with one document without pages, of which every attribute that can be has a value of its own."""
    database = Database(folder / name, bytes(32))
    catalog = Catalog(database)
    begun = DocumentInfo(ID, "a", "", "txt", "reading", 0, 0, 0, "", 1, 1)
    catalog.begin_document(begun, ArtifactRef("1" * 64, ".pdf.enc"), "2" * 32)
    catalog.finish_document(ID, language="")
    with database.transaction() as db:
        catalog.set(db, ID, MARKED)
        db.execute("UPDATE documents SET updated_at_ms = ?", (MARKED["updated_at_ms"],))
    return database, catalog


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[tuple[Database, Catalog]]:
    database, catalog = marked(tmp_path)
    yield database, catalog
    database.close()


def stored_row(database: Database) -> dict[str, Any]:
    names = ", ".join(STORED)
    row = database.one(f"SELECT {names} FROM documents WHERE doc_id = ?", (ID,))
    assert row is not None
    return dict(zip(STORED, row, strict=True))


def lacking(carried: Mapping[str, Any], wanted: Mapping[str, Any], columns: Iterable[Column]) -> set[str]:
    """Return which of these columns are not carried as they are."""
    return {one.name for one in columns if one.name not in carried or carried[one.name] != wanted[one.name]}


def stored_but(left_out: Collection[str]) -> list[Column]:
    return [column for name, column in STORED.items() if name not in left_out]


def test_the_table_and_the_record_have_what_is_declared(vault: tuple[Database, Catalog]) -> None:
    there = {row[1] for row in vault[0].all("PRAGMA table_info(documents)")}
    assert there == STORED.keys()
    assert [column.name for column in FIELDS] == [one.name for one in dataclasses.fields(DocumentInfo)]
    assert {*MARKED} >= {column.name for column in (*FACTS, *EDITED)}
    assert len({column.name for column in COLUMNS}) == len(COLUMNS)


def test_a_row_becomes_the_record_that_made_it(vault: tuple[Database, Catalog]) -> None:
    info = vault[1].document(ID)
    assert {name: getattr(info, name) for name in MARKED if name != "is_language_set"} == {
        name: value for name, value in MARKED.items() if name != "is_language_set"
    }


def test_beginning_again_keeps_what_a_person_set(vault: tuple[Database, Catalog]) -> None:
    database, catalog = vault
    begun = DocumentInfo(ID, "b.txt", "B", "txt", "reading", 0, 0, 0, "", 9, 9, author="Other", dated="1999-01-01")
    catalog.begin_document(begun, ArtifactRef("1" * 64, ".pdf.enc"))
    again = catalog.document(ID)
    kept = ("document", "title", "author", "dated", "tags", "added_at_ms")
    assert {name: getattr(again, name) for name in kept} == {name: MARKED[name] for name in kept}
    assert (again.kind, again.message, again.ingestion) == ("txt", "", None)
    with database.transaction() as db:
        catalog.set(db, ID, {"author": "", "dated": ""})
    catalog.begin_document(begun, ArtifactRef("1" * 64, ".pdf.enc"))
    assert (catalog.document(ID).author, catalog.document(ID).dated) == ("Other", "1999-01-01")


def test_a_bundle_carries_what_is_declared(vault: tuple[Database, Catalog], tmp_path: Path) -> None:
    carried = carried_document(vault[0], ID)
    check_carried(carried)
    (row,) = carried.rows["documents"]
    there = [column for column in STORED.values() if column.in_bundles]
    assert lacking(row, stored_row(vault[0]), there) == set()
    assert row.keys() == {column.name for column in there}
    other = Database(tmp_path / "other.db", bytes(32))
    with other.transaction() as db:
        adopt_document(db, carried)
    assert lacking(stored_row(other), stored_row(vault[0]), there) == set()
    del row["author"]
    assert lacking(row, stored_row(vault[0]), there) == {"author"}, "the control: what is lost is seen"
    other.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("author", "x" * 301), ("author", 7), ("author", "\ud800"), ("dated", "2001-02-30"), ("dated", "soon"),
        ("ingestion", json.dumps({"engine": "the text of a page, which is none"})), ("ingestion", "{"),
        ("ingestion", json.dumps({"engine": "a", "ocr_engine": "", "versions": [], "tries": "two"})), ("tags", "{}"),
    ],
)  # fmt: skip
def test_a_hostile_row_of_a_bundle_is_refused(vault: tuple[Database, Catalog], name: str, value: Any) -> None:
    carried = carried_document(vault[0], ID)
    carried.rows["documents"][0][name] = value
    with pytest.raises(DamagedError):
        check_carried(carried)


def test_a_snapshot_carries_what_is_declared_and_brings_it_back(
    vault: tuple[Database, Catalog], tmp_path: Path
) -> None:
    database, catalog = vault
    (held,), _collections = held_documents(database)
    held = held_of(json.loads(json.dumps(held.plain())))
    there = [column for column in STORED.values() if column.in_snapshots]
    before = stored_row(database)
    assert lacking(held.row, before, there) == set()
    assert held.row.keys() == {column.name for column in there}
    assert {"updated_at_ms", "ingestion"}.isdisjoint(held.row), "the control: what is not declared is not carried"
    segment, _images = segment_of(database, ID)
    Edits(database, catalog).edit(ID, {"author": "Somebody else", "dated": ""})
    assert lacking(held.row, stored_row(database), there) == {"author", "dated"}
    with database.transaction() as db:
        Segments(database, catalog).put_back(db, {ID: ("a", held)}, {ID: "a"}, (), lambda _one: rows_in(segment), 1)
    assert lacking(stored_row(database), before, there) == set()
    other = Database(tmp_path / "other.db", bytes(32))
    with other.transaction() as db:
        adopt_document(db, carried_in(held, rows_in(segment)))
    assert lacking(stored_row(other), before, there) == set()
    other.close()


def test_a_document_that_came_by_itself_is_held_as_before_there_were_parents(
    vault: tuple[Database, Catalog],
) -> None:
    database, catalog = vault
    catalog.stand_alone(ID)
    (held,), _collections = held_documents(database)
    assert "parent_id" not in held.row


def test_a_difference_names_each_column_that_a_person_sets() -> None:
    stored = {name for name, column in STORED.items() if column.is_edited}
    assert stored <= {name for names in CHANGES.values() for name in names}


def test_an_erasure_leaves_no_attribute_and_looks_for_the_names(vault: tuple[Database, Catalog]) -> None:
    from docmind.documents import Erasures

    database, catalog = vault
    wanted = {str(MARKED[column.name]) for column in COLUMNS if column.is_trace}
    wanted.add(readable_name(str(MARKED["document"])))  # what answers call it
    assert wanted == set(Erasures(database, catalog).traces_of(ID))
    assert "Ada Marked" in wanted

    def everything() -> str:
        tables = [name for (name,) in database.all("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return repr([database.all(f"SELECT * FROM {table}") for table in tables])

    assert all(text in everything() for text in ("Ada Marked", "2001-02-03", "pypdfium2")), "the control"
    catalog.erase_document(ID)
    assert not any(text in everything() for text in ("Ada Marked", "2001-02-03", "pypdfium2", "marked"))


def test_programs_get_each_field_and_set_what_a_person_sets(vault: tuple[Database, Catalog]) -> None:
    info = vault[1].document(ID)
    told = encode(DocumentInfo, info)
    assert told.keys() == {column.name for column in FIELDS}
    assert (told["author"], told["dated"], told["ingestion"]["engine"]) == ("Ada Marked", "2001-02-03", "pypdfium2")
    schema = openapi()["components"]["schemas"]["DocumentInfo"]["properties"]
    assert schema.keys() == told.keys()
    (call,) = [one for one in CALLS if one.name == "documents.edit"]
    assert {*(call.params or {})} == {"doc_id", *(column.name for column in EDITED)}


def test_the_table_in_the_browser_gets_each_column_that_is_drawn(vault: tuple[Database, Catalog]) -> None:
    info = vault[1].document(ID)
    row = dict(zip(_NAMES, _row(info, "", 0, 0), strict=True))
    assert {column.name for column in (*DRAWN, *MENUS)} <= row.keys()
    assert (row["title"], row["author"], row["dated"], row["tags"]) == (
        "Marked title", "Ada Marked", "2001-02-03", ["marked tag"],
    )  # fmt: skip
    assert "heading" not in row, "the control: what is not drawn is not sent"
    assert (
        texts_to_find(info) == "marked name.pdf\nMarked title\nmarked tag\nAda Marked\nBea Marked <bea@marked.example>"
    )


def test_facts_are_held_to_their_bounds() -> None:
    hostile = {
        "title": "A\ttitle\x00 \u202eof\n two lines", "author": "y" * 10_000, "dated": "D:20240231", "unknown": "x",
        "heading": "no fact",
    }  # fmt: skip
    found = found_facts(hostile)
    assert found.keys() == {column.name for column in FACTS}
    assert found["title"] == "A title\ufffd of two lines"
    assert (len(found["author"]), found["dated"]) == (300, "")
    assert found_facts({"author": 7, "title": None, "dated": ["2024-01-01"]}) == dict.fromkeys(found, "")
    for tool in ("python-docx", "Microsoft Office User", "admin", "7"):
        assert found_facts({"author": tool})["author"] == ""


def test_what_a_person_gives_is_checked(vault: tuple[Database, Catalog]) -> None:
    edits = Edits(*vault)
    epoch = vault[1].epoch()
    assert edits.edit(ID, {"author": " New\n author ", "dated": None}).author == "New author"
    assert (vault[1].document(ID).dated, vault[1].epoch()) == ("2001-02-03", epoch), "the index does not follow it"
    assert vault[1].document(ID).updated_at_ms > MARKED["updated_at_ms"]
    for wrong in ("2024-02-30", "31.03.2024", "2024-3-1", "yesterday"):
        with pytest.raises(ConfigError):
            edits.edit(ID, {"dated": wrong})
    with pytest.raises(TypeError):
        edits.edit(ID, {"heading": "x"})
