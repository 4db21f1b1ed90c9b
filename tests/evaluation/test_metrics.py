"""Metrics against `ir_measures`, toys scored by hand, and how often intervals hold the true mean."""

from __future__ import annotations

import math

import ir_measures
import numpy as np
import pytest
from ir_measures import RR, P, R, nDCG

from docmind.evaluation import difference_of, figure_of, metrics, scored
from each import each_of

K = 5


def test_a_toy_by_hand() -> None:
    """The best page is second, one of two is missing: gains 0, 2 of an ideal of 2, 1."""
    one = scored([0, 2, 0], [2, 1], 3)
    assert one.ndcg == pytest.approx((2 / math.log2(3)) / (2 + 1 / math.log2(3)))
    assert (one.recall, one.precision, one.mrr) == (0.5, pytest.approx(1 / 3), 0.5)
    assert one.f1 == pytest.approx(2 * 0.5 * (1 / 3) / (0.5 + 1 / 3))
    assert scored([1], [1], 1) == scored([2], [2], 1)
    assert scored([0, 0], [], 2).ndcg == 0.0


def test_random_rankings_score_as_ir_measures_does() -> None:
    random = np.random.default_rng(3)
    qrels, run, untied, ours = [], [], [], {}
    for number in range(1_000):
        query = f"q{number}"
        labelled = {f"d{one}": int(random.integers(0, 3)) for one in range(int(random.integers(1, 12)))}
        if not number % 10:
            labelled = dict.fromkeys(labelled, 0)  # nothing is relevant
        found = random.permutation(15)[: int(random.integers(1, 12))]
        scores = {f"d{one}": float(random.integers(0, 4)) for one in found}  # with ties
        qrels += [ir_measures.Qrel(query, name, grade) for name, grade in labelled.items()]
        run += [ir_measures.ScoredDoc(query, name, score) for name, score in scores.items()]
        ranked = sorted(scores, key=lambda name: (scores[name], name), reverse=True)  # ties as trec_eval has them
        ours[query] = scored([labelled.get(name, 0) for name in ranked], list(labelled.values()), K)
        untied += [ir_measures.ScoredDoc(query, name, -rank) for rank, name in enumerate(ranked)]
    measures = {nDCG @ K: "ndcg", R @ K: "recall", P @ K: "precision", RR @ K: "mrr"}
    theirs = list(ir_measures.iter_calc([nDCG @ K, R @ K, P @ K], qrels, run))
    theirs += ir_measures.iter_calc([RR @ K], qrels, untied)  # its own code, which orders ties the other way round
    assert len(theirs) == 4 * 1_000
    for one in theirs:
        assert getattr(ours[one.query_id], measures[one.measure]) == pytest.approx(one.value, abs=1e-9), one


@pytest.mark.slow
def test_an_interval_holds_the_true_mean_in_93_to_97_of_100_sets() -> None:
    """Of nDCG as it is: most queries are at 1, some find nothing. 1,000 sets of 170 queries, and of 60."""
    random = np.random.default_rng(11)
    middle = 1 / np.log2(np.arange(3, 12))
    for queries in (60, 170):
        held = 0
        for _ in range(1_000):
            kind = random.random(queries)
            values = np.where(kind < 0.12, 0.0, np.where(kind < 0.65, 1.0, random.choice(middle, queries)))
            truth = 0.53 + 0.35 * middle.mean()
            figure = figure_of(values.tolist())
            held += figure.low <= truth <= figure.high
        assert 930 <= held <= 970, (queries, held)


@pytest.mark.slow
@each_of("queries, changed", [(60, 0.2), (170, 0.2), (170, 0.1)])
def test_an_interval_of_differences_holds_the_true_one(queries: int, changed: float) -> None:
    """A change of a setting moves few queries, and more of them down than up. 1,000 sets."""
    random = np.random.default_rng(12)
    moves, odds = np.array([-0.5, -0.37, -0.13, 0.13, 0.37, 0.5]), np.array([0.7, 0.7, 0.7, 0.3, 0.3, 0.3]) / 3
    held = 0
    for _ in range(1_000):
        values = np.where(random.random(queries) < changed, random.choice(moves, queries, p=odds), 0.0)
        figure = figure_of(values.tolist())
        held += figure.low <= changed * float(moves @ odds) <= figure.high
    assert 930 <= held <= 975, held


def test_the_quantile_of_student() -> None:
    table = {1: 12.706, 2: 4.303, 5: 2.571, 6: 2.447, 9: 2.262, 30: 2.042, 169: 1.974, 5_000: 1.960}
    assert {freedom: metrics._student(freedom) for freedom in table} == pytest.approx(table, abs=2e-3)


def test_differences_are_paired() -> None:
    """Queries differ much from each other, and all gain the same: the difference is certain."""
    before = {f"q{number}": number / 50 for number in range(40)}
    after = {name: value + 0.1 for name, value in before.items()}
    told = difference_of(before, after | {"other": 0.0})
    assert (told.mean, told.low, told.high) == pytest.approx((0.1, 0.1, 0.1))
    assert figure_of(list(before.values())).high - figure_of(list(before.values())).low > 0.1


def test_few_values_have_a_figure_too() -> None:
    assert (figure_of([]).mean, figure_of([0.5]).low, figure_of([1.0, 1.0]).high) == (0.0, 0.5, 1.0)
    two = figure_of([0.0, 1.0])
    assert 0.0 <= two.low <= two.mean <= two.high <= 1.0
