"""The newest of what answers equally well, by words of the question or by a wish."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from desks import opened
from docmind.answers.newest import day_in, newest_hits, wishes_newest, without_wish
from docmind.application import DocMind
from docmind.records.documents import Upload
from docmind.records.query import Query
from each import each_of

_WORDS = {2021: ("Harbour", "crossed"), 2022: ("Ferry", "moved"), 2023: ("Quay", "carried over")}


def _report(year: int, day: str, passengers: str) -> Upload:
    where, said = _WORDS[year]
    text = (
        f"# {where} report\n\nPublished on {day}.\n\n"
        f"The ferry carried {passengers} passengers in the whole year.\n\n"
        f"## {where} works\n\nNew {where.lower()} planks were laid, and goods {said} by night.\n"
    )
    return Upload(f"{where.lower()}-{year}.md", text.encode())


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with opened(tmp_path_factory.mktemp("newest")) as docmind:
        docmind.add(
            [
                _report(2022, "12 March 2023", "5,210"),
                _report(2023, "9 April 2024", "6,118"),
                _report(2021, "3 May 2022", "4,907"),
                Upload("ducks.txt", b"Ducks swim on the river in spring. Published on 1 January 2026."),
            ]
        )
        yield docmind


@each_of(
    "question, is_wish",
    [
        ("What is the latest number of passengers?", True),
        ("What does the newest report say?", True),
        ("What was the most recent price?", True),
        ("Was ist der aktuelle Preis?", True),
        ("Wie hoch ist die neueste Miete?", True),
        ("¿Cuál es el precio más reciente?", True),
        ("Quel est le dernier rapport ?", True),
        ("Qual é o relatório mais recente?", True),
        ("How many passengers did the ferry carry?", False),
        ("Who is the oldest tenant?", False),
        ("", False),
    ],
)
def test_words_that_ask_for_the_newest(question: str, *, is_wish: bool) -> None:
    assert wishes_newest(question) == is_wish


def test_words_of_a_wish_need_not_be_on_a_page() -> None:
    assert without_wish(["latest", "price"]) == ["price"]
    assert without_wish(["latest"]) == ["latest"]


@each_of(
    "text, day",
    [
        ("12 March 2022 | 400", "2022-03-12"),
        ("In 2019 and 2021", "2021"),
        ("From 3 May 2020 to 4 May 2021", "2021-05-04"),
        ("400 euros", ""),
        ("", ""),
    ],
)
def test_the_latest_day_of_a_text(text: str, day: str) -> None:
    assert day_in(text) == day


@each_of(
    "worth, days, order",
    [
        ([1.0, 0.99, 0.98], ["2021", "2022-03-01", "2023"], [2, 1, 0]),
        ([1.0, 0.99, 0.2], ["2021", "2022", "2026"], [1, 0, 2]),
        ([1.0, 0.99, 0.98], ["", "2022", ""], [1, 0, 2]),
        ([0.5, 1.0, 0.4], ["2020", "2021", "2022"], [1, 0, 2]),
        ([None, 1.0, None, 1.0], ["2020", "2021", "2026", "2022"], [0, 3, 1, 2]),
        ([], [], []),
    ],
)
def test_only_hits_that_answer_equally_well_change_places(
    worth: list[float | None], days: list[str], order: list[int]
) -> None:
    assert newest_hits(worth, days) == order


@pytest.mark.slow
def test_the_newest_of_several_years_answers_where_it_is_wished_for(desk: DocMind) -> None:
    wished = desk.ask("What is the latest number of passengers that the ferry carried?")
    assert "6,118" in wished.sources[0].quote
    asked = desk.ask(Query("How many passengers did the ferry carry in the whole year?", newest_first=True))
    assert "6,118" in asked.sources[0].quote
    assert [source.dated for source in asked.sources] == sorted((one.dated for one in asked.sources), reverse=True)


def test_quotes_of_several_years_have_their_days(desk: DocMind) -> None:
    answer = desk.ask(Query("How many passengers did the ferry carry in the whole year?", newest_first=True))
    assert len(answer.sources) > 1
    assert answer.sources[0].dated == "2024-04-09"
    assert answer.sources[0].placed.endswith(" · 9 Apr 2024")


def test_the_days_of_one_document_are_not_told(desk: DocMind) -> None:
    answer = desk.ask("Where do ducks swim in spring?")
    assert answer.sources
    assert not answer.sources[0].dated


def test_the_newest_does_not_answer_another_question(desk: DocMind) -> None:
    answer = desk.ask(Query("How many passengers did the ferry carry in the whole year?", newest_first=True))
    assert all("Ducks" not in source.quote for source in answer.sources[:1])
    found = desk.search(Query("ferry passengers whole year", newest_first=True))
    assert found.hits[0].dated == "2024-04-09"
    ducks = [hit.rank for hit in found.hits if hit.document == "ducks.txt"]
    assert not ducks or ducks == [len(found.hits)]


def test_without_a_wish_days_change_no_order(desk: DocMind) -> None:
    plain = desk.search("Harbour report planks")
    assert plain.hits[0].document == "harbour-2021.md"
    assert desk.search(Query("Harbour report planks", newest_first=True)).hits[0].document == "harbour-2021.md"
