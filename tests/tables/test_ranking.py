"""Questions in words that a table lacks, by the text models that come with DocMind: likely, never silently wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from desks import plain_in
from docmind.application import DocMind
from docmind.embedding import Meanings, TextEmbedder
from docmind.errors import DocMindError
from docmind.records.documents import Upload
from docmind.records.search import Filters
from docmind.tables.asking import asked_of
from docmind.tables.candidates import COMPUTED
from docmind.tables.evidence import QuestionMeaning
from docmind.tables.query import Filter, TableQuery
from docmind.tables.ranking import Hints, Meant, Prior, Ranked, rank, weights
from docmind.tables.service import TableAnswers
from meanings import Toy
from tables.test_candidates import POWER, shape_of

SURE = "How many libraries are there?"
BATHING = """Site,Sampled,Bathers,Water temp (C),Verdict,Lab
Cobble Bay,2023-07-04,84,18.2,good,Marlow
Cobble Bay,2023-08-01,112,19.4,good,Marlow
Pier Sands,2023-07-04,240,18.9,poor,Tennet
Pier Sands,2023-08-01,310,19.9,good,Marlow
Gull Rock,2023-07-05,31,17.1,poor,Tennet
Gull Rock,2023-08-02,,17.6,good,
"""
LIBRARIES = """Library name,Year opened,Year closed,Postcode
Estover,1989,,PL6 8UN
Ham,1971,2017,PL2 2AB
Laira,1966,2017,PL3 6AA
St Budeaux,1963,,PL5 1RL
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with DocMind(plain_in(tmp_path_factory.mktemp("desk"))) as docmind:
        docmind.add([Upload("bathing.csv", BATHING.encode()), Upload("libraries.csv", LIBRARIES.encode())])
        yield docmind


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "said", "query"),
    [
        ("How many libraries were shut down in 2017?", "2 rows", 'count(*) FROM "libraries.csv"'),
        ("How many people went swimming at Pier Sands altogether?", "550", 'sum("Bathers")'),
        ("Which of the libraries has been around the longest?", "St Budeaux", 'min("Year opened")'),
    ],
)
def test_a_question_in_other_words_is_answered_with_its_query(
    desk: DocMind, question: str, said: str, query: str
) -> None:
    answer = desk.ask(question)
    assert answer.computed is not None
    assert said in answer.answer
    assert query in answer.computed.query
    assert answer.sources


@pytest.mark.slow
@pytest.mark.parametrize("question", ["Who wrote the minutes of the meeting?", "May I keep a dog in the flat?"])
def test_what_no_table_tells_is_not_computed(desk: DocMind, question: str) -> None:
    assert desk.ask(question).computed is None


@pytest.mark.slow
def test_a_query_by_rules_is_sure_only_where_it_is_likely(desk: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    def outcome() -> str:
        answer = TableAnswers(desk.vault.catalog, Meanings(desk.embedder)).answer(SURE, Filters())
        return answer.outcome if answer is not None else ""

    assert outcome() == "answer"
    monkeypatch.setattr("docmind.tables.service.DOUBTED", 2.0)
    assert outcome() == "maybe"


def test_a_query_is_compared_by_what_it_computes_of_which_tables() -> None:
    shape = shape_of(POWER)
    one = Ranked(shape, TableQuery("sum", (Filter(3, "=", (1.0,)),), 2, label=0), 0.5, ())
    assert one.is_of(TableQuery("sum", (Filter(3, "=", (1.0,)),), 2), shape.names.tables)
    assert not one.is_of(TableQuery("sum", (), 2), shape.names.tables)
    assert not one.is_of(TableQuery("mean", (Filter(3, "=", (1.0,)),), 2), shape.names.tables)
    assert not one.is_of(replace(one.query, rank=2), shape.names.tables)
    assert not one.is_of(replace(one.query, top=2), shape.names.tables)
    assert not one.is_of(replace(one.query, plus=(1,)), shape.names.tables)
    assert not one.is_of(one.query, [])
    wider = shape_of("a,b,c,d,e,f\n1,2,3,4,5,6\n")  # another table of the same document
    assert not one.is_of(TableQuery("sum", (), 5), wider.names.tables)


class Broken(Toy):
    def embed_documents(self, texts: object) -> np.ndarray:
        raise DocMindError("The model is gone.")


@pytest.mark.slow
@pytest.mark.parametrize(("question", "is_answered"), [(SURE, True), ("who shut", False)])
def test_without_the_text_model_the_rules_answer(desk: DocMind, question: str, is_answered: bool) -> None:
    tables = TableAnswers(desk.vault.catalog, Meanings(Broken()))
    assert (tables.answer(question, Filters()) is not None) == is_answered


def meaning(question: str, embedder: TextEmbedder | None = None) -> QuestionMeaning:
    asked = asked_of(question)
    assert asked is not None
    return QuestionMeaning(asked, Meanings(embedder or Toy()))


def test_every_candidate_has_the_features_that_are_weighed() -> None:
    question = meaning("how much came from atoms in 2010, more than in 2009?")
    hints = Hints(dict.fromkeys(COMPUTED, -1.0), -9.0, [{}] * len(question.limits))
    meant = Meant(question, shape_of(POWER), Prior(*[0.0] * 8), hints, None)
    arrays = weights()
    assert arrays.pairs(meant.features).shape == (len(meant.candidates),)
    assert arrays.heads(meant.head_features).shape == (len(meant.heads),)
    assert arrays.sets(meant.set_features).shape == (len(meant.sets),)
    assert np.isfinite(meant.features).all()


def test_probabilities_are_of_different_answers_and_at_most_one() -> None:
    question = meaning("the largest output of atoms")
    shapes = [(shape_of(POWER), Prior(*[0.5] * 8))]
    ranked = rank(question, shapes, weights(), Hints(dict.fromkeys(COMPUTED, -1.0), -20.0, []))
    shares = [one.probability for one in ranked]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1 + 1e-9
    assert len({(one.query.task, one.query.column, one.query.filters, one.query.best) for one in ranked}) == len(ranked)
