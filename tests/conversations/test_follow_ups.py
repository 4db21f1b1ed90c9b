"""Follow-ups: what led the previous answer may answer again, and the newest version of a document answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from docmind import DocMind
from docmind.records.answers import Answer
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters
from libraries import Library

_LEASE = """Lease of the mill house.

Whoever lives here pays, and nobody else does in any month.

{terms}

It is due on the third day of each month. The garden has two hectares, and the tenant mows it in June.
"""
_OLD = "The rent is 900 euros a month.\n\nA deposit of 1,800 euros is due. The boat may be used on Sundays."
_NEW = "The rent is 950 euros a month and the deposit is 1,900 euros."


def _added(docmind: DocMind) -> None:
    for name, terms in (("lease.txt", _OLD), ("lease (2).txt", _NEW)):
        docmind.add([Upload(name, _LEASE.format(terms=terms).encode())])


@pytest.fixture(scope="module")
def library() -> Library:
    return Library("two leases", then=_added)


@pytest.fixture(scope="module")
def desk(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with library.opened(tmp_path_factory.mktemp("leases")) as docmind:
        yield docmind


def asked(desk: DocMind, *questions: str | Query) -> list[Answer]:
    thread_id = desk.conversations.create().thread_id
    answers = [desk.conversations.ask(question, thread_id=thread_id).answer for question in questions]
    return [answer for answer in answers if answer is not None]


@pytest.mark.slow
def test_a_quote_that_led_the_previous_answer_may_lead_again(desk: DocMind) -> None:
    rent, deposit = asked(desk, "What is the rent?", "And the deposit?")
    assert [one.sources[0].document for one in (rent, deposit)] == ["lease (2).txt"] * 2
    assert (deposit.outcome, "1,900" in deposit.sources[0].quote) == ("answer", True)


@pytest.mark.slow
def test_what_answers_as_well_comes_before_what_led(desk: DocMind) -> None:
    found = desk.search("What is in the garden?")
    rank = desk.answerer.direct.extractive.rank
    before = rank("Is the lease due?", found)
    assert before is not None
    after = rank("Is the lease due?", found, led=[before.quotes[0][1].text])
    assert after is not None
    assert after.shares[0] < before.shares[0]


def test_after_an_earlier_version_was_cited_the_newest_answers(desk: DocMind) -> None:
    older = desk.documents.find("lease.txt").doc_id
    boat, rent = asked(
        desk, Query("When may the boat be used?", filters=Filters(doc_ids=(older,))), "And what is the rent there?"
    )
    assert [source.doc_id for source in boat.sources[:1]] == [older]
    assert (rent.sources[0].document, "950" in rent.sources[0].quote) == ("lease (2).txt", True)


@pytest.mark.slow
def test_what_a_term_stood_for_is_not_carried_on_once_forgotten(desk: DocMind) -> None:
    thread_id = desk.conversations.create().thread_id
    memory = desk.memories.add("By the fee I mean the rent of Doctor Miller")
    first = desk.conversations.ask("What is the fee?", thread_id=thread_id)
    desk.memories.remove(memory.memory_id)
    second = desk.conversations.ask("Why?", thread_id=thread_id)
    assert "Miller" in first.asked_as
    assert "Miller" not in second.asked_as
