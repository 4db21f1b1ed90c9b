"""Fusing ranked lists, on numbers that can be checked by hand."""

from __future__ import annotations

import pytest

from docmind.fuse import (
    LATE_NOT_ENGLISH,
    LATE_WEIGHT,
    NOT_ENGLISH,
    SPARSE_WEIGHT,
    best_per_page,
    lift,
    rank_pages,
    rrf,
    standardise,
    weighted_sum,
)


def test_rrf_of_three_lists_by_hand() -> None:
    fused = rrf([["a", "b", "c"], ["b", "a"], ["d", "b"]], k=60)
    assert fused == [
        ("b", pytest.approx(1 / 62 + 1 / 61 + 1 / 62)),
        ("a", pytest.approx(1 / 61 + 1 / 62)),
        ("d", pytest.approx(1 / 61)),
        ("c", pytest.approx(1 / 63)),
    ]


def test_rrf_with_small_k_lets_first_places_win() -> None:
    lists = [["a", "b"], ["c", "b"], ["d", "b"]]
    assert next(page for page, _ in rrf(lists, k=60)) == "b"
    assert dict(rrf(lists, k=1)) == pytest.approx({"a": 1 / 2, "b": 1, "c": 1 / 2, "d": 1 / 2})


def test_no_lists_and_empty_lists_give_nothing() -> None:
    assert rrf([]) == rrf([[], []]) == []
    assert weighted_sum([]) == weighted_sum([({}, 1.0)]) == []
    assert rank_pages([], {}, english=True) == []


def test_ties_go_by_name_not_by_chance() -> None:
    assert [page for page, _ in rrf([["b"], ["a"], ["c"]])] == ["a", "b", "c"]
    assert [page for page, _ in weighted_sum([({"b": 1.0, "a": 1.0, "c": 1.0}, 1.0)])] == ["a", "b", "c"]


def test_a_page_scores_as_its_best_window() -> None:
    assert best_per_page([("p", 0.2), ("q", -1.0), ("p", 0.9), ("p", 0.4)]) == {"p": 0.9, "q": -1.0}


def test_standard_scores_by_hand() -> None:
    assert standardise({"a": 1.0, "b": 2.0, "c": 3.0}) == pytest.approx({"a": -1.2247449, "b": 0.0, "c": 1.2247449})
    assert standardise({"a": 5.0, "b": 5.0}) == {"a": 0.0, "b": 0.0}
    assert standardise({"a": 5.0}) == {"a": 0.0}
    assert standardise({}) == {}


def test_the_weighted_sum_by_hand() -> None:
    """List one: a=+1, b=-1. List two: b=+1, c=-1; a, which it does not hold, gets its lowest, -1."""
    fused = dict(weighted_sum([({"a": 2.0, "b": 0.0}, 1.0), ({"b": 9.0, "c": 7.0}, 0.5)]))
    assert fused == pytest.approx({"a": 1 - 0.5, "b": -1 + 0.5, "c": -1 - 0.5})


def test_the_sum_does_not_care_for_the_scale_of_a_list() -> None:
    small = weighted_sum([({"a": 0.1, "b": 0.3, "c": 0.2}, 1.0)])
    large = weighted_sum([({"a": 100.0, "b": 300.0, "c": 200.0}, 1.0)])
    assert [page for page, _ in small] == [page for page, _ in large] == ["b", "c", "a"]
    assert dict(small) == pytest.approx(dict(large))


def test_words_count_for_more_where_the_model_reads_another_language() -> None:
    dense = [("a", 1.0), ("b", 0.0)]
    sparse = {"b": 1.0, "a": 0.0}
    assert SPARSE_WEIGHT < 1 < SPARSE_WEIGHT * NOT_ENGLISH
    assert [page for page, _ in rank_pages(dense, sparse, english=True)] == ["a", "b"]
    assert [page for page, _ in rank_pages(dense, sparse, english=False)] == ["b", "a"]


def test_late_interaction_is_added_on_the_scale_of_the_ranking_by_hand() -> None:
    """Of the three pages that it holds the scores spread by 1; c, b, a are -1, 0, +1 of its own spread."""
    spread = (8 / 3) ** 0.5
    ranked = [("c", 6.0), ("b", 4.0), ("a", 2.0), ("z", 1.0)]
    lifted = lift(ranked, {"c": 0.1, "b": 0.2, "a": 0.3}, english=True)
    step = LATE_WEIGHT * spread * 1.2247449
    assert dict(lifted) == pytest.approx({"c": 6 - step, "b": 4.0, "a": 2 + step, "z": 1.0})
    foreign = dict(lift(ranked, {"c": 0.1, "b": 0.2, "a": 0.3}, english=False))
    assert foreign["a"] == pytest.approx(2 + step * LATE_NOT_ENGLISH)


def test_late_interaction_changes_places_and_sorts_again() -> None:
    lifted = lift([("a", 1.01), ("b", 1.0), ("c", 0.0)], {"a": 0.1, "b": 0.9, "c": 0.1}, english=True)
    assert [page for page, _ in lifted] == ["b", "a", "c"]
    assert [score for _, score in lifted] == sorted((score for _, score in lifted), reverse=True)


def test_without_late_interaction_nothing_changes() -> None:
    ranked = [("a", 1.0), ("b", 0.5)]
    assert lift(ranked, {}, english=True) == ranked
    assert lift(ranked, {"a": 0.3, "b": 0.3}, english=True) == ranked
    assert lift([], {}, english=True) == []
