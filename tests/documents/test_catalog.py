"""Which documents and pages there are, and in which order they changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from docmind.blocks import PageBlock, pack
from docmind.documents.catalog import Catalog, PageRecord
from docmind.documents.enclosed import EnclosedFiles
from docmind.documents.words import Words
from docmind.errors import NotFoundError
from docmind.records.documents import ArtifactRef, Box, DocumentInfo, OcrReading, PageView
from docmind.storage.database import Database, Row
from each import each_of


def ref(digit: str, suffix: str = ".webp.enc") -> ArtifactRef:
    return ArtifactRef(digit * 64, suffix)


def info(doc_id: str, **changes: object) -> DocumentInfo:
    made = DocumentInfo(
        doc_id=doc_id,
        document=f"{doc_id}.pdf",
        title="",
        kind="pdf",
        status="reading",
        pages=2,
        pages_done=0,
        ocr_pages=0,
        language="",
        bytes=10,
        added_at_ms=1,
    )
    return replace(made, **changes)  # pyright: ignore[reportArgumentType]


def page(doc_id: str, page_no: int, image: str = "a", **changes: object) -> PageRecord:
    words = Words.of([(0, 5), (6, 10)], [(1, 2, 30, 9), (40, 2, 20, 9)])
    made = PageRecord(
        doc_id=doc_id, page_no=page_no, width=100, height=200, text="heron nest", words=words.pack(),
        text_source="layer", confidence=1.0, language="en", image=ref(image), thumbnail=ref("f"),
    )  # fmt: skip
    return replace(made, **changes)  # pyright: ignore[reportArgumentType]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "vault.db", bytes(32))
    yield database
    database.close()


@pytest.fixture
def catalog(database: Database) -> Catalog:
    return Catalog(database)


def test_a_document_is_begun_read_and_finished(catalog: Catalog) -> None:
    catalog.begin_document(info("one", tags=("a", "b")), ref("1", ".pdf.enc"))
    assert catalog.state_of("one") == (False, ref("1", ".pdf.enc"))
    assert catalog.epoch() == 0
    catalog.put_pages([page("one", 2), page("one", 1, text_source="ocr")])
    assert catalog.finish_document("one", language="en") == 1
    told = catalog.document("one")
    assert (told.status, told.language, told.pages, told.pages_done, told.ocr_pages) == ("ready", "en", 2, 2, 1)
    assert told.tags == ("a", "b")
    assert catalog.state_of("one") == (True, ref("1", ".pdf.enc"))
    assert catalog.state_of("two") == (False, None)
    assert catalog.original("one") == ref("1", ".pdf.enc")
    assert [record.page_no for record in catalog.pages_of("one")] == [1, 2]
    assert catalog.counts() == (1, 2, 0)


PLATE = "Serial number ZK-4471\nIssued on 12 March 2019 for the company of the mill by the river, in one piece"
OWN = "O proprietário da casa guarda estas páginas sobre a caldeira e a sua manutenção anual."


def pictured(own: str, **changes: object) -> PageRecord:
    """Return a page laid out by DocMind of a text of its own, and with `PLATE` read on a picture in large print."""
    text = f"{own}\n\n{PLATE}" if own else PLATE
    spans = [found.span() for found in re.finditer(r"\S+", text)]
    large = range(len(text) - len(PLATE), len(text) - len(PLATE) + PLATE.index("\n"))
    boxes = [(100.0 * at, 20.0, 90.0, 60.0 if start in large else 12.0) for at, (start, _) in enumerate(spans)]
    words = Words.of(spans, boxes, [1.0 if start < len(own) else 0.97 for start, _ in spans])
    places = [(0, len(own))] if own else []
    blocks = pack(PageBlock("paragraph", *place) for place in [*places, (len(text) - len(PLATE), len(text))])
    return replace(
        page("one", 1, image="f", text=text, words=words.pack(), blocks=blocks, ocr=OcrReading("rapidocr")),
        **changes,  # pyright: ignore[reportArgumentType]
    ).with_language()


@each_of("own, of_page, language", [(OWN, "pt", "pt"), ("", "en", ""), ("Um.", "", "")])
def test_words_on_pictures_are_no_title_day_or_language_of_the_document_around_them(
    own: str, of_page: str, language: str, catalog: Catalog
) -> None:
    catalog.begin_document(info("one"), ref("1", ".docx.enc"))
    catalog.put_pages([pictured(own)])
    (told,) = catalog.pages_of("one")
    assert (told.own_text(), told.language, told.own_language) == (own, of_page, language)
    catalog.finish_document("one", language=told.own_language)
    assert (catalog.document("one").heading, catalog.document("one").dated) == ("", "")


def test_words_on_a_scan_are_its_own(catalog: Catalog) -> None:
    catalog.begin_document(info("one"), ref("1", ".pdf.enc"))
    catalog.put_pages([pictured("", image=ref("c"), text_source="ocr", blocks=b"")])
    catalog.finish_document("one", language="en")
    assert (catalog.document("one").heading, catalog.document("one").dated) == ("Serial number ZK-4471", "2019-03-12")


def test_what_is_not_there_is_said(catalog: Catalog) -> None:
    for ask in (
        lambda: catalog.document("none"),
        lambda: catalog.original("none"),
        lambda: catalog.page("none", 1),
        lambda: catalog.page_view("none", 1),
        lambda: catalog.finish_document("none", language=""),
    ):
        with pytest.raises(NotFoundError):
            ask()
    assert catalog.pages([("none", 1)]) == {}
    assert (catalog.documents(), catalog.epoch(), catalog.changes_since(-1)) == ([], 0, {})


def test_a_document_begun_again_takes_what_is_said_now(catalog: Catalog) -> None:
    catalog.begin_document(info("one"), ref("1", ".pdf.enc"))
    catalog.put_pages([page("one", 1)])
    catalog.fail_document("one", "It broke off.")
    assert (catalog.document("one").status, catalog.document("one").message) == ("failed", "It broke off.")
    catalog.begin_document(info("one", document="new.pdf", title="New", added_at_ms=9), ref("1", ".pdf.enc"))
    told = catalog.document("one")
    assert (told.status, told.message, told.document, told.title) == ("reading", "", "new.pdf", "New")
    assert (told.added_at_ms, told.pages_done, told.tags) == (1, 1, ())
    for given, kept in ((("a", "b"), ("a", "b")), ((), ("a", "b")), (("c",), ("c",))):
        catalog.begin_document(info("one", tags=given), ref("1", ".pdf.enc"))
        assert catalog.document("one").tags == kept


def test_a_page_of_no_document_cannot_be_kept(catalog: Catalog) -> None:
    with pytest.raises(Exception, match="FOREIGN KEY"):
        catalog.put_pages([page("none", 1)])


def test_documents_come_newest_first(catalog: Catalog) -> None:
    for n, name in enumerate("bca"):
        catalog.begin_document(info(name, added_at_ms=n), ref(str(n)))
    assert [told.doc_id for told in catalog.documents()] == ["a", "c", "b"]


def test_a_page_is_seen_with_its_words(catalog: Catalog) -> None:
    catalog.begin_document(info("one"), ref("1"))
    catalog.put_pages([page("one", 1)])
    assert catalog.page_view("one", 1) == PageView(
        doc_id="one",
        document="one.pdf",
        page_no=1,
        pages=2,
        page_id="one::page::1",
        width=100,
        height=200,
        text="heron nest",
        text_source="layer",
        confidence=1.0,
        language="en",
        words=(("heron", Box(1, 2, 30, 9)), ("nest", Box(40, 2, 20, 9))),
    )


def test_deleting_gives_back_what_nobody_else_refers_to(catalog: Catalog, database: Database) -> None:
    for name, original in (("one", "1"), ("two", "2")):
        catalog.begin_document(info(name), ref(original, ".pdf.enc"))
    catalog.put_pages([page("one", 1, "a"), page("one", 2, "b"), page("two", 1, "b"), page("two", 2, "c")])
    assert catalog.artifact_ids() == {ref(digit).sha256 for digit in "12abcf"}
    _, unreferenced = catalog.erase_document("one")
    assert set(unreferenced) == {ref("1", ".pdf.enc"), ref("a")}  # b and the thumbnail f are two's as well
    assert catalog.counts() == (1, 2, 0)
    _, unreferenced = catalog.erase_document("two")
    assert set(unreferenced) == {ref("2", ".pdf.enc"), ref("b"), ref("c"), ref("f")}
    assert catalog.artifact_ids() == set()
    assert database.one("SELECT (SELECT count(*) FROM pages) + (SELECT count(*) FROM documents)") == (0,)


def test_every_change_has_an_epoch_and_only_the_last_counts(catalog: Catalog) -> None:
    for name in ("one", "two", "three"):
        catalog.begin_document(info(name), ref("1"))
        catalog.finish_document(name, language="")
    assert catalog.changes_since(0) == {"one": 1, "two": 2, "three": 3}
    catalog.finish_document("one", language="")
    catalog.erase_document("two")
    assert list(catalog.changes_since(0).items()) == [("three", 3), ("one", 4), ("two", 5)]
    assert catalog.changes_since(4) == {"two": 5}
    assert (catalog.epoch(), catalog.changed_at("one"), catalog.changed_at("two"), catalog.changed_at("none")) == (
        *(5, 4, 5, 0),
    )


def test_epochs_never_come_back(catalog: Catalog, database: Database, tmp_path: Path) -> None:
    catalog.begin_document(info("one"), ref("1"))
    catalog.finish_document("one", language="")
    catalog.erase_document("one")
    with database.transaction() as db:
        db.execute("DELETE FROM changes")
    database.close()
    again = Catalog(Database(tmp_path / "vault.db", bytes(32)))
    again.begin_document(info("two"), ref("1"))
    assert again.finish_document("two", language="") == 3


@dataclass
class Heard:
    """A database of one method."""

    all: Callable[..., list[Row]]


def test_ids_of_artifacts_are_read_without_the_pages(catalog: Catalog, database: Database) -> None:
    """Every start that writes asks for them: rows hold the text and words of whole pages, indexes do not."""
    asked: list[str] = []
    all_rows = database.all

    def heard(sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        asked.append(sql)
        return all_rows(sql, parameters)

    assert Catalog(Heard(heard)).artifact_ids() == set()  # pyright: ignore[reportArgumentType]
    plan = " ".join(row[-1] for row in database.all(f"EXPLAIN QUERY PLAN {asked[0]}"))
    assert plan.count("SCAN pages USING COVERING INDEX") == 2


def test_what_lies_in_a_document_is_found_by_an_index(database: Database) -> None:
    """A library of 10,000 documents is shown at once: none of them is compared with all others."""
    plans: list[list[str]] = []

    def heard(sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        plans.append([str(row[-1]) for row in database.all(f"EXPLAIN QUERY PLAN {sql}", parameters)])
        return []

    Catalog(Heard(heard)).documents()  # pyright: ignore[reportArgumentType]
    inside = EnclosedFiles(Heard(heard))  # pyright: ignore[reportArgumentType]
    inside.below(["one"])
    inside.below(["one"], in_bin=False)
    assert len(plans) == 3
    for plan in plans:
        assert any("INDEX documents_parent (parent_id=?)" in step for step in plan), plan
        assert not {"SCAN c", "SCAN documents"} & set(plan), plan
