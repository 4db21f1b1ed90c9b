"""The ordinals that a question names, and passages that have them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from desks import settings_in
from docmind.answers.ordinals import Ordinal, has_ordinals, ordinals_asked, ordinals_in
from docmind.application import DocMind
from docmind.records.documents import Upload
from each import each_of


@each_of(
    "question, asked",
    [
        ("Who lives on the second floor?", (Ordinal(2, "floor"),)),
        ("Who came in 3rd place?", (Ordinal(3, "place"),)),
        ("Quem mora no 5.º andar?", (Ordinal(5, "andar"),)),
        ("Quando o primeiro portão foi trocado?", (Ordinal(1, "portao"),)),
        ("¿De quién es el 4.º A?", (Ordinal(4, "a"),)),
        ("Wer wohnt im zweiten Stock?", (Ordinal(2, "stock"),)),
        ("Qui habite au troisième étage ?", (Ordinal(3, "etage"),)),
        ("Who was the first to arrive?", ()),
        ("When did she come for the first time?", ()),
        ("O quarto tem janela?", ()),
        ("O que há na segunda-feira?", ()),
        ("What happens on the 3rd of May?", ()),
        ("How many seconds does it take?", ()),
    ],
)
def test_ordinals_that_pick_one_of_several(question: str, asked: tuple[Ordinal, ...]) -> None:
    assert ordinals_asked(question) == asked


@each_of(
    "text, held",
    [
        ("2.º | Rosa Brand | 14", {2}),
        ("the third gate", {3}),
        ("no 5º andar", {5}),
        ("the 1st and the 2nd prize", {1, 2}),
        ("am Montag, segunda-feira, on 3 May, section 3.1", set[int]()),
    ],
)
def test_ordinals_of_a_passage(text: str, held: set[int]) -> None:
    assert ordinals_in(text) == held


def test_a_number_behind_the_noun_is_its_ordinal() -> None:
    asked = ordinals_asked("What happens in the second phase?")
    assert has_ordinals(asked, "Phase 2: paint the fence")
    assert has_ordinals(asked, "Phase II: paint the fence")
    assert not has_ordinals(asked, "Phase 3 takes 2 weeks")


FLOORS = """# Marlow House

| Floor | Tenant | Bell |
|---|---|---|
| 2nd | Rosa Brand | 14 |
| 3rd | Hugo Lindqvist | 15 |
| 4th | Mei Tanaka | 16 |

The second lift was repaired in May.
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with DocMind(settings_in(tmp_path_factory.mktemp("house"))) as docmind:
        list(docmind.add([Upload("house.md", FLOORS.encode())]))
        yield docmind


def test_the_row_of_the_ordinal_is_quoted(house: DocMind) -> None:
    answer = house.ask("Who is the tenant on the third floor?")
    assert answer.outcome != "not found"
    assert "Hugo Lindqvist" in answer.sources[0].quote


@each_of("question", ["Who is the tenant on the first floor?", "When was the first lift repaired in May?"])
def test_what_is_counted_without_the_one_that_is_asked_for_is_not_found(house: DocMind, question: str) -> None:
    assert house.ask(question).outcome == "not found"
