"""Two questions in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from desks import opened
from docmind.answers.compound import parts_of
from docmind.records.documents import Upload
from each import each_of


@each_of(
    "question, parts",
    [
        ("How much is the deposit and when is it returned?", ("How much is the deposit?", "when is deposit returned?")),
        ("Quanto é a caução e quando é devolvida?", ("Quanto é a caução?", "quando é devolvida caução?")),
        ("Who is the landlord and who is the tenant?", ("Who is the landlord?", "who is the tenant?")),
        ("Quem é o senhorio e quem é o inquilino?", ("Quem é o senhorio?", "quem é o inquilino?")),
        ("Who is Jo Lind and what is his address?", ("Who is Jo Lind?", "what is Jo Lind address?")),
        ("Wie hoch ist die Miete und wann ist sie fällig?", ("Wie hoch ist die Miete?", "wann ist Miete fällig?")),
        ("How many men and women are there?", None),
        ("Where and when was Anna born?", None),
        ("How do the rent and the deposit differ?", None),
        ("What is the rent and what is the deposit and when is it due?", None),
        ("Tell me the rent and when it is due", None),
        ("The rent and the deposit", None),
        ("", None),
    ],
)
def test_the_parts_of_a_question(question: str, parts: tuple[str, str] | None) -> None:
    assert parts_of(question) == parts


LEASE = (
    "The monthly rent of the flat is 650 euros.\n\n"
    "The deposit of the flat is 1,800 euros.\n\n"
    "The deposit of the flat is returned within 30 days after the keys.\n\n"
    "The flat has three rooms and a balcony, and the deposit box of the bank is near.\n"
)


@pytest.mark.slow
def test_two_answers_stand_alone_until_more_is_asked_for(tmp_path: Path) -> None:
    question = "How much is the deposit of the flat and when is the deposit of the flat returned?"
    with opened(tmp_path) as desk:
        desk.add([Upload("lease.txt", LEASE.encode()), Upload("box.txt", b"The deposit box of the flat is red.")])
        answer = desk.ask(question)
        assert [source.quote for source in answer.sources] == [
            "The deposit of the flat is 1,800 euros.",
            "The deposit of the flat is returned within 30 days after the keys.",
        ]
        assert answer.further == ()
        found = desk.search(question)
        more = desk.answerer.direct.extractive.extract(question, found, led=("Something that was quoted.",))
        assert len(more.sources) > 2, "more is shown where more is asked for"
