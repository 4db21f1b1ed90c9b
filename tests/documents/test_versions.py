"""Versions of a document: which files are one, what adding says, and which of them answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from desks import opened
from docmind.application import DocMind
from docmind.documents.versions import name_of_series
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters
from each import each_of
from mails import mail

LEASE = "Whoever lives here pays.\n\nThe rent of the mill house is {rent} crowns a month. It is due on the third day.\n"
QUESTION = "What is the rent of the mill house?"


def lease(rent: int, name: str = "lease.txt", more: str = "") -> Upload:
    return Upload(name, (LEASE.format(rent=rent) + more).encode())


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[DocMind]:
    with opened(tmp_path) as docmind:
        yield docmind


def series_of(desk: DocMind) -> list[str]:
    return [info.series for info in desk.documents.all()]


@each_of(
    "document, name",
    [
        ("Lease.docx", "lease"),
        ("lease (2).docx", "lease"),
        ("lease_v2.pdf", "lease"),
        ("Lease - final copy.pdf", "lease"),
        ("lease rev 3.1.txt", "lease"),
        ("invoice-2025-01.pdf", "invoice-2025-01"),
        ("report 2021.pdf", "report 2021"),
        ("v2", "v2"),
        (".env", ".env"),
    ],
)
def test_what_marks_a_version_is_no_part_of_the_name(document: str, name: str) -> None:
    assert name_of_series(document) == name


def test_adding_says_that_there_is_an_earlier_version(desk: DocMind) -> None:
    first, second = desk.add([lease(900)])[0], desk.add([lease(950, "lease (2).txt")])[0]
    assert "version" not in first.message
    assert "new version of lease.txt" in second.message
    assert series_of(desk) == [first.doc_id, first.doc_id]
    third = desk.add([lease(975)])[0]
    assert "new version of lease" in third.message
    assert series_of(desk) == [first.doc_id] * 3


def test_both_of_two_that_are_added_at_once_are_versions(desk: DocMind) -> None:
    results = desk.add([lease(900), lease(950)])
    assert [("new version" in one.message) for one in results] == [False, True]


@each_of(
    "name, text",
    [
        ("lease.txt", "Herons nest in tall trees beside the water. They eat fish, frogs and now and then a vole."),
        ("march.txt", LEASE.format(rent=950)),
    ],
)
def test_another_text_or_another_name_is_no_version(
    tmp_path_factory: pytest.TempPathFactory, name: str, text: str
) -> None:
    with opened(tmp_path_factory.mktemp("desk")) as desk:
        desk.add([Upload("lease.txt", LEASE.format(rent=900).encode()), Upload(name, text.encode())])
        assert series_of(desk) == ["", ""]


def test_mails_that_are_alike_are_no_versions(desk: DocMind) -> None:
    bills = [Upload("bill.eml", mail(LEASE.format(rent=rent), {"Subject": "Your monthly bill"})) for rent in (900, 950)]
    assert not any("version" in one.message for one in desk.add(bills))
    assert series_of(desk) == ["", ""]


def test_a_document_of_the_bin_is_no_earlier_version(desk: DocMind) -> None:
    (first,) = desk.add([lease(900)])
    desk.documents.bin([first.doc_id or ""])
    (second,) = desk.add([lease(950)])
    assert "version" not in second.message


def test_the_newest_version_answers_and_the_earlier_one_is_told(desk: DocMind) -> None:
    desk.add([lease(900)])
    (newer,) = desk.add([lease(950)])
    answer = desk.ask(QUESTION)
    assert answer.outcome == "answer"
    assert answer.sources[0].doc_id == newer.doc_id
    assert "950" in answer.sources[0].quote
    assert "An earlier version, lease.txt of" in (answer.answer or "")
    assert [sentence.sources for sentence in answer.sentences if "900" in sentence.text] == [(2,)]
    assert "900" in answer.sources[1].quote
    assert answer.sources[1].boxes


def test_versions_that_say_the_same_are_quoted_once(desk: DocMind) -> None:
    desk.add([lease(900)])
    desk.add([lease(900, more="\nThe cellar is dry.\n")])
    answer = desk.ask(QUESTION)
    assert "earlier version" not in (answer.answer or "")


def test_what_only_an_earlier_version_says_is_quoted_from_it(desk: DocMind) -> None:
    (older,) = desk.add([lease(900, more="\nThe boat of the house may be used on Sundays.\n")])
    desk.add([lease(950)])
    answer = desk.ask("When may the boat of the house be used?")
    assert answer.sources[0].doc_id == older.doc_id
    assert "Sundays" in answer.sources[0].quote


def test_an_earlier_version_that_is_asked_alone_answers(desk: DocMind) -> None:
    (older,) = desk.add([lease(900)])
    desk.add([lease(950)])
    answer = desk.ask(Query(QUESTION, filters=Filters(doc_ids=(older.doc_id or "",))))
    assert "900" in answer.sources[0].quote


def test_a_day_that_they_are_about_tells_which_is_newer(desk: DocMind) -> None:
    (newer,) = desk.add([lease(950, "lease.md", more="\n")])
    (older,) = desk.add([lease(900, "lease.txt")])
    desk.documents.edit(newer.doc_id or "", dated="2026-03-01")
    desk.documents.edit(older.doc_id or "", dated="2025-03-01")
    answer = desk.ask(QUESTION)
    assert answer.sources[0].doc_id == newer.doc_id
    assert "lease.txt of 1 Mar 2025, says" in (answer.answer or "")


def test_a_conversation_prefers_the_newest_version_too(desk: DocMind) -> None:
    desk.add([lease(900)])
    desk.add([lease(950)])
    answer = desk.conversations.ask(QUESTION).answer
    assert answer is not None
    assert "950" in answer.sources[0].quote
    assert "An earlier version" in (answer.answer or "")


PRICES = "Item,Price\nLamp,{lamp}\nDesk,{desk}\nChair,{chair}\nStool,35\n"


def test_a_short_table_with_other_numbers_is_a_version(desk: DocMind) -> None:
    (first,) = desk.add([Upload("prices.csv", PRICES.format(lamp=19, desk=210, chair=85).encode())])
    (second,) = desk.add([Upload("prices.csv", PRICES.format(lamp=24, desk=235, chair=90).encode())])
    assert "new version" in second.message
    assert series_of(desk) == [first.doc_id, first.doc_id]


def test_what_replaces_takes_over_what_a_person_set(desk: DocMind) -> None:
    (first,) = desk.add([lease(900)])
    doc_id = first.doc_id or ""
    desk.documents.tag([doc_id], add=["home"])
    desk.documents.edit(doc_id, title="Our lease")
    collection = desk.documents.new_collection("Contracts", [doc_id])
    newer = desk.add([lease(950)])[0].doc_id or ""
    assert [info.doc_id for info in desk.documents.earlier_versions(newer)] == [doc_id]
    assert [info.doc_id for info in desk.documents.replace(newer)] == [doc_id]
    (info,) = desk.documents.all()
    assert (info.doc_id, info.title, info.tags, info.collections) == (
        newer, "Our lease", ("home",), (collection.collection_id,)
    )  # fmt: skip
    assert desk.documents.earlier_versions(newer) == ()
    desk.documents.restore([doc_id])
    assert [info.doc_id for info in desk.documents.earlier_versions(newer)] == [doc_id]


def test_a_title_set_by_hand_is_kept(desk: DocMind) -> None:
    (first,) = desk.add([lease(900)])
    desk.documents.edit(first.doc_id or "", title="Our lease")
    newer = desk.add([lease(950)])[0].doc_id or ""
    desk.documents.edit(newer, title="The new lease")
    desk.documents.replace(newer)
    assert desk.documents.get(newer).title == "The new lease"


def test_the_earlier_version_replaces_nothing(desk: DocMind) -> None:
    (first,) = desk.add([lease(900)])
    desk.add([lease(950)])
    assert desk.documents.replace(first.doc_id or "") == ()
    assert len(desk.documents.all()) == 2


def test_a_query_over_tables_takes_the_newest_version_and_tells_the_earlier_one(desk: DocMind) -> None:
    desk.add([Upload("prices.csv", PRICES.format(lamp=19, desk=210, chair=85).encode())])
    (newer,) = desk.add([Upload("prices v2.csv", PRICES.format(lamp=24, desk=235, chair=90).encode())])
    answer = desk.ask("What is the price of the lamp?")
    assert (answer.sources[0].doc_id, answer.sources[0].quote) == (newer.doc_id, "Lamp | 24")
    assert "An earlier version, prices.csv of" in (answer.answer or "")
    assert [one.quote for one in answer.sources] == ["Lamp | 24", "Lamp | 19"]
    total = desk.ask("What is the sum of all prices?")
    assert total.sources[0].doc_id == newer.doc_id
    assert "384" in (total.answer or "")
    assert "349" in (total.answer or "")
    same = desk.ask("What is the price of the stool?")
    assert "earlier version" not in (same.answer or "")
