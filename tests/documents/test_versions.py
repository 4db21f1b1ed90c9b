"""Versions of a document: which files are one, what adding says, and which of them answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import papers
from desks import opened
from docmind.application import DocMind
from docmind.config import AnswerSettings
from docmind.documents.versions import name_of_series, numbered_apart
from docmind.errors import ConfigError
from docmind.ingest.library import _VERSIONS
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters
from docmind.storage import Preferences
from each import each_of
from mails import mail

LEASE = "Whoever lives here pays.\n\nThe rent of the mill house is {rent} crowns a month. It is due on the third day.\n"
QUESTION = "What is the rent of the mill house?"


def lease(rent: int, name: str = "lease.txt", more: str = "") -> Upload:
    return Upload(name, (LEASE.format(rent=rent) + more).encode())


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[DocMind]:
    with opened(tmp_path, answer=AnswerSettings(passage_reader=False, sure=0.5)) as docmind:  # it is about versions
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


@each_of(
    "document, other, are_apart",
    [
        ("minutes 3.md", "minutes 4.md", True), ("Abrechnung_01.pdf", "Abrechnung_02.pdf", True),
        ("cv_2024.md", "cv_2026.md", False), ("plan 2026-01-12.md", "plan 2026-02-09.md", False),
        ("lease (2).txt", "lease (3).txt", False), ("lease_v2.txt", "lease.txt", False), ("a 1.md", "b 2.md", False),
    ],
)  # fmt: skip
def test_a_number_in_the_name_tells_a_series(document: str, other: str, are_apart: bool) -> None:
    assert numbered_apart(document, other) == are_apart


BILL = """Northern Power Invoice

Customer: Ada Marsh

Invoice number: NP-{number}

Billing period: {month} 2026

Questions about this invoice are answered by our office on working days.
"""


def bill(month: str, number: int, name: str = "invoice.txt") -> Upload:
    return Upload(name, BILL.format(month=month, number=number).encode())


@pytest.mark.slow
def test_the_bills_of_two_months_are_no_versions(desk: DocMind) -> None:
    results = desk.add([bill("March", 3107), bill("April", 3318, "invoice (1).txt")])
    assert [one.message for one in results] == ["", ""]
    assert series_of(desk) == ["", ""]


@pytest.mark.slow
def test_a_person_says_what_is_a_version_and_what_is_not(desk: DocMind) -> None:
    first, second, third = (one.doc_id or "" for one in desk.add([lease(900), lease(950), bill("May", 1)]))
    assert desk.documents.set_no_version(second).series == ""
    assert set(series_of(desk)) == {""}
    assert desk.documents.set_version_of(third, first).series == first
    assert [one.doc_id for one in desk.documents.earlier_versions(third)] == [first]
    (again,) = desk.add([lease(975)])
    assert "new version of lease.txt" in again.message
    assert desk.documents.get(second).series != first
    with pytest.raises(ConfigError):
        desk.documents.set_version_of(first, first)


@pytest.mark.slow
def test_what_a_person_said_holds_when_the_versions_are_looked_for_again(desk: DocMind) -> None:
    first, second, third, fourth = (
        one.doc_id or "" for one in desk.add([lease(900), lease(950), bill("May", 1), bill("June", 2)])
    )
    desk.documents.set_version_of(third, first)
    with desk.documents._db.transaction() as db:  # as it was found before
        db.execute("UPDATE documents SET series = ?", (first,))
    Preferences(desk.documents._db).remove(_VERSIONS)
    desk.documents.check_versions()
    found = {info.doc_id: info.series for info in desk.documents.all()}
    assert found == {first: first, second: first, third: first, fourth: ""}
    with desk.documents._db.transaction() as db:
        db.execute("UPDATE documents SET series = ?", (first,))
    desk.documents.check_versions()
    assert set(series_of(desk)) == {first}, "once for each library"


@pytest.mark.slow
def test_the_policy_of_this_year_answers_whatever_was_printed_last(desk: DocMind) -> None:
    text = "Travel policy\nValid from 1 January {}\nMeals of a journey are refunded up to {} euros a day."
    sheets = [papers.line(text.format(year, euros), size=8) for year, euros in ((2026, 31), (2025, 28))]
    stamps = ("D:20260105120000Z", "D:20260310120000Z")
    pdfs = [
        papers.pdf([sheet], title=f"Travel policy) /CreationDate ({at}")
        for sheet, at in zip(sheets, stamps, strict=True)
    ]
    newer, older = desk.add([Upload("policy-2026.pdf", pdfs[0]), Upload("policy-2025.pdf", pdfs[1])])
    days = {info.document: (info.dated, info.stamped) for info in desk.documents.all()}
    assert days == {"policy-2026.pdf": ("2026-01-01", "2026-01-05"), "policy-2025.pdf": ("2025-01-01", "2026-03-10")}
    assert "new version" in older.message
    answer = desk.ask("Up to how many euros a day are meals of a journey refunded?")
    assert answer.sources[0].doc_id == newer.doc_id


@pytest.mark.slow
def test_adding_says_that_there_is_an_earlier_version(desk: DocMind) -> None:
    first, second = desk.add([lease(900)])[0], desk.add([lease(950, "lease (2).txt")])[0]
    assert "version" not in first.message
    assert "new version of lease.txt" in second.message
    assert series_of(desk) == [first.doc_id, first.doc_id]
    third = desk.add([lease(975)])[0]
    assert "new version of lease" in third.message
    assert series_of(desk) == [first.doc_id] * 3


@pytest.mark.slow
def test_both_of_two_that_are_added_at_once_are_versions(desk: DocMind) -> None:
    results = desk.add([lease(900), lease(950)])
    assert [("new version" in one.message) for one in results] == [False, True]


@pytest.mark.slow
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


@pytest.mark.slow
def test_mails_that_are_alike_are_no_versions(desk: DocMind) -> None:
    bills = [Upload("bill.eml", mail(LEASE.format(rent=rent), {"Subject": "Your monthly bill"})) for rent in (900, 950)]
    assert not any("version" in one.message for one in desk.add(bills))
    assert series_of(desk) == ["", ""]


@pytest.mark.slow
def test_a_document_of_the_bin_is_no_earlier_version(desk: DocMind) -> None:
    (first,) = desk.add([lease(900)])
    desk.documents.bin([first.doc_id or ""])
    (second,) = desk.add([lease(950)])
    assert "version" not in second.message


@pytest.mark.slow
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


@pytest.mark.slow
def test_versions_that_say_the_same_are_quoted_once(desk: DocMind) -> None:
    desk.add([lease(900)])
    desk.add([lease(900, more="\nThe cellar is dry.\n")])
    answer = desk.ask(QUESTION)
    assert "earlier version" not in (answer.answer or "")


@pytest.mark.slow
def test_what_only_an_earlier_version_says_is_quoted_from_it(desk: DocMind) -> None:
    (older,) = desk.add([lease(900, more="\nThe boat of the house may be used on Sundays.\n")])
    desk.add([lease(950)])
    answer = desk.ask("When may the boat of the house be used?")
    assert answer.sources[0].doc_id == older.doc_id
    assert "Sundays" in answer.sources[0].quote


@pytest.mark.slow
def test_an_earlier_version_that_is_asked_alone_answers(desk: DocMind) -> None:
    (older,) = desk.add([lease(900)])
    desk.add([lease(950)])
    answer = desk.ask(Query(QUESTION, filters=Filters(doc_ids=(older.doc_id or "",))))
    assert "900" in answer.sources[0].quote


@pytest.mark.slow
def test_a_day_that_they_are_about_tells_which_is_newer(desk: DocMind) -> None:
    (newer,) = desk.add([lease(950, "lease.md", more="\n")])
    (older,) = desk.add([lease(900, "lease.txt")])
    desk.documents.edit(newer.doc_id or "", dated="2026-03-01")
    desk.documents.edit(older.doc_id or "", dated="2025-03-01")
    answer = desk.ask(QUESTION)
    assert answer.sources[0].doc_id == newer.doc_id
    assert "lease.txt of 1 Mar 2025, says" in (answer.answer or "")


@pytest.mark.slow
def test_a_conversation_prefers_the_newest_version_too(desk: DocMind) -> None:
    desk.add([lease(900)])
    desk.add([lease(950)])
    answer = desk.conversations.ask(QUESTION).answer
    assert answer is not None
    assert "950" in answer.sources[0].quote
    assert "An earlier version" in (answer.answer or "")


PRICES = "Item,Price\nLamp,{lamp}\nDesk,{desk}\nChair,{chair}\nStool,35\n"


@pytest.mark.slow
def test_a_short_table_with_other_numbers_is_a_version(desk: DocMind) -> None:
    (first,) = desk.add([Upload("prices.csv", PRICES.format(lamp=19, desk=210, chair=85).encode())])
    (second,) = desk.add([Upload("prices.csv", PRICES.format(lamp=24, desk=235, chair=90).encode())])
    assert "new version" in second.message
    assert series_of(desk) == [first.doc_id, first.doc_id]


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_title_set_by_hand_is_kept(desk: DocMind) -> None:
    (first,) = desk.add([lease(900)])
    desk.documents.edit(first.doc_id or "", title="Our lease")
    newer = desk.add([lease(950)])[0].doc_id or ""
    desk.documents.edit(newer, title="The new lease")
    desk.documents.replace(newer)
    assert desk.documents.get(newer).title == "The new lease"


@pytest.mark.slow
def test_the_earlier_version_replaces_nothing(desk: DocMind) -> None:
    (first,) = desk.add([lease(900)])
    desk.add([lease(950)])
    assert desk.documents.replace(first.doc_id or "") == ()
    assert len(desk.documents.all()) == 2


@pytest.mark.slow
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
