"""Fusing ranked lists, on numbers that can be checked by hand.

Three short lists merged in every way, with scores that can be checked by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from docmind.records.documents import Modality, page_id_of
from docmind.records.search import ListName, MergeStrategy, MultimodalHit
from docmind.search.fusion import (
    LATE_WEIGHTS,
    SPARSE_WEIGHTS,
    WEIGHTS,
    Lists,
    apart,
    best_per_page,
    lift,
    lift_first,
    looking_alike,
    merged,
    rank_pages,
    rrf,
    standardise,
    standing_apart,
    standing_out,
    weighted_sum,
)

EQUAL = dict.fromkeys(WEIGHTS, 1.0)


def hit(source: ListName, page: str, score: float, node: str = "", **more: Any) -> MultimodalHit:
    """Make a hit of one list; page `b2` is page 2 of document b."""
    doc_id, page_no = page[0], int(page[1:])
    modality: Modality = {"text": "text", "code": "code"}.get(source, "pdf_page_image")  # type: ignore[assignment]
    told = {"text": f"{page}{node}" if source in ("text", "code") else "", "node_id": node, **more}
    return MultimodalHit(
        rank=0, score=score, source=source, origins=(), document=f"{doc_id}.pdf", doc_id=doc_id, page_no=page_no,
        page_id=page_id_of(doc_id, page_no), modality=modality, boxes=(), language="en", page_width=100,
        page_height=200, **told,
    )  # fmt: skip


def listed(source: ListName, *scored: tuple[str, float], **more: Any) -> list[MultimodalHit]:
    return [hit(source, page, score, **more) for page, score in scored]


TOY: Lists = {
    "text": listed("text", ("a1", 3.0), ("b1", 2.0), ("c1", 1.0)),
    "image": listed("image", ("b1", 0.4), ("d1", 0.2)),
    "visual": listed("visual", ("d1", 30.0), ("b1", 20.0), ("a1", 10.0)),
}


def pages(hits: Sequence[MultimodalHit]) -> list[str]:
    return [f"{found.doc_id}{found.page_no}" for found in hits]


def scores(hits: Sequence[MultimodalHit]) -> dict[str, float]:
    return {f"{found.doc_id}{found.page_no}": round(found.score, 9) for found in hits}


def test_rrf_is_the_sum_of_reciprocal_ranks() -> None:
    found = merged(TOY, "rrf", weights=EQUAL)
    assert pages(found) == ["b1", "d1", "a1", "c1"]
    assert scores(found) == {
        "b1": round(1 / 62 + 1 / 61 + 1 / 62, 9),
        "d1": round(1 / 62 + 1 / 61, 9),
        "a1": round(1 / 61 + 1 / 63, 9),
        "c1": round(1 / 63, 9),
    }
    assert [one.rank for one in found] == [1, 2, 3, 4]
    assert scores(merged(TOY, rrf_k=1, weights=EQUAL))["a1"] == round(1 / 2 + 1 / 4, 9)


def test_a_weight_multiplies_the_ranks_of_a_list() -> None:
    assert scores(merged(TOY))["d1"] == round(WEIGHTS["image"] / 62 + 1 / 61, 9)


def test_where_a_hit_came_from_is_told_best_first() -> None:
    [b1, d1, *_] = merged(TOY, weights=EQUAL)
    assert [(one.list, one.rank, one.score, one.normalised) for one in b1.origins] == [
        ("image", 1, 0.4, 1.0),
        ("text", 2, 2.0, 0.5),
        ("visual", 2, 20.0, 0.5),
    ]
    assert (b1.source, b1.modality, b1.text) == ("image", "text", "b1")
    assert (d1.source, d1.modality, d1.text) == ("visual", "pdf_page_image", "")


def test_scores_are_brought_to_one_scale_and_the_originals_kept() -> None:
    found = merged(TOY, "score", weights=EQUAL)
    assert scores(found) == {"b1": 0.5 + 1.0 + 0.5, "a1": 1.0 + 0.0, "d1": 0.0 + 1.0, "c1": 0.0}
    assert pages(found) == ["b1", "a1", "d1", "c1"]  # a1 and d1 are equal: by id
    assert {one.list: one.score for one in found[0].origins} == {"text": 2.0, "image": 0.4, "visual": 20.0}


def test_a_list_whose_scores_do_not_differ_counts_in_full() -> None:
    flat: Lists = {"text": listed("text", ("a1", 7.0), ("b1", 7.0)), "image": listed("image", ("c1", 0.1))}
    assert scores(merged(flat, "score", weights=EQUAL)) == {"a1": 1.0, "b1": 1.0, "c1": 1.0}


def test_interleaved_takes_one_of_each_in_turn() -> None:
    found = merged(TOY, "interleaved")
    # text a1; visual d1; image b1; then text's next, c1, since b1 is taken: nothing is left of the others
    assert pages(found) == ["a1", "d1", "b1", "c1"]
    assert scores(found) == {"a1": 1.0, "d1": 0.5, "b1": round(1 / 3, 9), "c1": 0.25}


def test_grouped_shows_a_page_s_words_and_then_its_image() -> None:
    found = merged(TOY, "grouped", weights=EQUAL)
    assert [(page, one.modality) for page, one in zip(pages(found), found, strict=True)] == [
        ("b1", "text"),
        ("b1", "pdf_page_image"),
        ("d1", "pdf_page_image"),
        ("a1", "text"),
        ("a1", "pdf_page_image"),
        ("c1", "text"),
    ]
    assert found[0].score == found[1].score
    assert [[one.list for one in each.origins] for each in found[:2]] == [["text"], ["image", "visual"]]


def test_grouped_keeps_all_passages_of_a_page_together() -> None:
    lists: Lists = {
        "text": [hit("text", "a1", 3.0, "n1"), hit("text", "b1", 2.0, "n2"), hit("text", "a1", 1.0, "n3")],
        "visual": listed("visual", ("a1", 9.0)),
    }
    found = merged(lists, "grouped", dedup_key="node_id")
    assert [(page, one.node_id) for page, one in zip(pages(found), found, strict=True)] == [
        ("a1", "n1"), ("a1", "n3"), ("a1", ""), ("b1", "n2"),
    ]  # fmt: skip


@pytest.mark.parametrize("strategy", ["rrf", "score", "interleaved", "grouped"])
def test_a_list_alone_keeps_its_order_and_its_scores(strategy: MergeStrategy) -> None:
    alone = merged({**TOY, "image": [], "visual": []}, strategy)
    assert scores(alone) == {"a1": 3.0, "b1": 2.0, "c1": 1.0}
    assert [(one.rank, one.source, one.origins[0].rank) for one in alone] == [
        (1, "text", 1), (2, "text", 2), (3, "text", 3),
    ]  # fmt: skip
    assert merged({}, strategy) == ()


def test_one_hit_a_document() -> None:
    lists: Lists = {
        "text": listed("text", ("a1", 3.0), ("b1", 2.0)),
        "visual": listed("visual", ("b2", 9.0), ("b1", 8.0), ("c1", 7.0)),
    }
    found = merged(lists, dedup_key="doc_id")
    assert pages(found) == ["b2", "a1", "c1"]  # b: 2nd of the words and 1st of the images, by its second page
    assert (found[0].modality, found[0].origins[1].rank) == ("pdf_page_image", 2)
    assert scores(found)["c1"] == round(1 / 62, 9)  # its rank among documents


def test_passages_are_hits_of_their_own_where_that_is_asked() -> None:
    lists: Lists = {
        "text": [hit("text", "a1", 3.0, "n1"), hit("text", "a1", 3.0, "n2"), hit("text", "b1", 2.0, "n3")],
        "visual": listed("visual", ("b1", 9.0), ("c1", 8.0)),
    }
    found = merged(lists, dedup_key="node_id")
    assert [(page, one.node_id) for page, one in zip(pages(found), found, strict=True)] == [
        ("b1", "n3"), ("a1", "n1"), ("a1", "n2"), ("c1", ""),
    ]  # fmt: skip


def test_words_and_code_are_one_search_and_count_once() -> None:
    lists: Lists = {
        "text": [hit("text", "a1", 3.0, "n1"), hit("text", "b1", 2.0, "n2")],
        "code": [hit("code", "b1", 2.0, "n2"), hit("code", "c1", 1.0, "n3")],
    }
    found = merged(lists)
    assert scores(found) == {"a1": round(1 / 61, 9), "b1": round(1 / 62, 9), "c1": round(0.9 / 62, 9)}
    assert [one.list for one in found[1].origins] == ["code", "text"]


def test_a_page_that_a_picture_was_found_to_be_of_stands_first() -> None:
    corners = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))
    lists: Lists = {
        "lookalike": [
            hit("lookalike", "c1", 0.9, quad=corners, found=True),
            hit("lookalike", "b1", 0.2, quad=(), found=False),
        ],
        "text": [hit("text", "a1", 3.0, "n1"), hit("text", "b1", 2.0, "n2"), hit("text", "c1", 1.0, "n3")],
        "image": listed("image", ("a1", 0.9), ("b1", 0.8)),
    }
    for strategy in ("rrf", "score", "interleaved", "grouped"):
        [first, *others] = merged(lists, strategy)
        assert (first.doc_id, first.quad if strategy != "grouped" else corners) == ("c", corners)
        assert not any(other.found for other in others if other.doc_id != "c")
    [first, *_] = merged(lists)
    assert (first.text, first.found) == ("c1n3", True)


def test_only_what_stands_out_of_a_list_of_everything_counts() -> None:
    assert pages(standing_out(listed("image", ("a1", 0.9), ("b1", 0.2), ("c1", 0.2), ("d1", 0.1)))) == ["a1"]
    assert standing_out(listed("image", ("a1", 0.5), ("b1", 0.5), ("c1", 0.5))) == []
    assert len(standing_out(listed("image", ("a1", 0.5), ("b1", 0.1)))) == 2


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
    assert rank_pages([], {}, weight=0.8) == []


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


def test_words_count_more_in_a_language_unknown_to_the_model() -> None:
    dense = [("a", 1.0), ("b", 0.0)]
    sparse = {"b": 1.0, "a": 0.0}
    assert SPARSE_WEIGHTS["many languages"] < SPARSE_WEIGHTS["the language"] < 1 < SPARSE_WEIGHTS["other languages"]
    assert [page for page, _ in rank_pages(dense, sparse, weight=SPARSE_WEIGHTS["the language"])] == ["a", "b"]
    assert [page for page, _ in rank_pages(dense, sparse, weight=SPARSE_WEIGHTS["other languages"])] == ["b", "a"]


def test_late_interaction_is_added_on_the_scale_of_the_ranking() -> None:
    """Of the three pages that it holds the scores spread by 1; c, b, a are -1, 0, +1 of its own spread."""
    spread = (8 / 3) ** 0.5
    ranked = [("c", 6.0), ("b", 4.0), ("a", 2.0), ("z", 1.0)]
    lifted = lift(ranked, [({"c": 0.1, "b": 0.2, "a": 0.3}, 0.5)])
    step = 0.5 * spread * 1.2247449
    assert dict(lifted) == pytest.approx({"c": 6 - step, "b": 4.0, "a": 2 + step, "z": 1.0})
    assert LATE_WEIGHTS["other languages"] < LATE_WEIGHTS["the language"] < LATE_WEIGHTS["many languages"] < 1


def test_late_interaction_changes_places_and_sorts_again() -> None:
    lifted = lift([("a", 1.01), ("b", 1.0), ("c", 0.0)], [({"a": 0.1, "b": 0.9, "c": 0.1}, 0.5)])
    assert [page for page, _ in lifted] == ["b", "a", "c"]
    assert [score for _, score in lifted] == sorted((score for _, score in lifted), reverse=True)


def test_without_late_interaction_nothing_changes() -> None:
    ranked = [("a", 1.0), ("b", 0.5)]
    assert lift(ranked, [({}, 0.5)]) == ranked
    assert lift(ranked, [({"a": 0.3, "b": 0.3}, 0.5)]) == ranked
    assert lift([], [({}, 0.5)]) == []


def test_two_lists_are_added_on_the_scale_of_the_ranking_before_either() -> None:
    ranked = [("b", 3.0), ("a", 1.0)]
    late, passages = ({"a": 0.9, "b": 0.1}, 0.5), ({"a": 0.8, "b": 0.2}, 2.0)
    assert dict(lift(ranked, [late, passages])) == pytest.approx({"a": 1 + 0.5 + 2, "b": 3 - 0.5 - 2})
    assert lift(ranked, [late, passages]) == lift(ranked, [passages, late])


def test_best_passages_lift_their_pages_and_leave_those_without_as_they_were() -> None:
    ranked = [("c", 3.0), ("b", 2.0), ("a", 1.0)]
    all_known = lift_first(ranked, {}, {"a": 0.9, "b": 0.5, "c": 0.1}, knows="many languages", first=3)
    assert dict(all_known) == pytest.approx({"a": 1.75, "b": 2.0, "c": 2.25}), "each is moved by 0.75 of the spread"
    some_known = dict(lift_first(ranked, {}, {"a": 0.9, "b": 0.5}, knows="many languages", first=3))
    assert some_known["c"] == 3.0
    assert some_known["a"] > 1.0
    assert lift_first(ranked, {}, {"a": 0.9}, knows="many languages", first=3) == ranked
    assert lift_first(ranked, {}, {"a": 0.9, "b": 0.5}, knows="other languages", first=3) == ranked


def test_best_passages_count_less_the_fewer_pages_have_them() -> None:
    ranked = [("b", 3.0), ("a", 1.0), *((f"z{n}", 0.0) for n in range(6))]
    added = {
        first: dict(lift_first(ranked, {}, {"a": 0.9, "b": 0.5}, knows="the language", first=first))["a"] - 1.0
        for first in (2, 8)
    }
    assert added[2] == pytest.approx(4 * added[8])
    assert added[8] > 0


# --- pages that stand apart by their look -----------------------------------------------------------------------------


def noise(pages: int, seed: int) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).normal(size=pages))[::-1]


def topped(pages: int, seed: int, *above: float) -> list[float]:
    """Return the best 20 of a list of noise below scores that lie so far above its best."""
    rest = noise(pages, seed)
    return [*(float(rest[0]) + more for more in above), *map(float, rest)][:20]


@pytest.mark.parametrize("pages", [5, 8, 11, 12, 20, 100, 10_000])
def test_noise_seldom_stands_apart_and_a_clear_page_does(pages: int) -> None:
    seeds = range(100)
    assert sum(apart(list(noise(pages, seed)[:20]), 3) > 0 for seed in seeds) <= 25
    assert sum(apart(topped(pages, seed, 12.0), 3) == 1 for seed in seeds) >= 75


def test_what_stands_apart_for_every_question_is_no_answer() -> None:
    """Page p0 is near any question: its score for the neutral one stands apart in the same way."""

    def ranked(usual: Sequence[float] | None) -> list[MultimodalHit]:
        scores = [9.0, *np.linspace(1.0, 0.5, 19)]
        hits = listed("visual", *((f"p{number}", score) for number, score in enumerate(scores)))
        return hits if usual is None else [replace(one, usual=u) for one, u in zip(hits, usual, strict=True)]

    noise = list(np.random.default_rng(3).normal(size=20))
    assert pages(standing_apart(ranked(None), 3)) == ["p0"]
    assert pages(standing_apart(ranked(noise), 3)) == ["p0"]
    assert pages(standing_apart(ranked([5.0] * 20), 3, surely=True)) == ["p0"]
    assert standing_apart(ranked([19.0, *np.linspace(1.0, 0.5, 19)]), 3) == []


@pytest.mark.parametrize("pages", [4, 5, 8, 11, 12, 20, 100, 10_000])
def test_what_surely_stands_apart_is_rarer(pages: int) -> None:
    seeds = range(200)
    assert sum(apart(list(noise(pages, seed)[:20]), 3, surely=True) > 0 for seed in seeds) <= 6
    assert apart([300.0, *noise(pages, 1)[:19]], 1, surely=True) == 1


def test_several_pages_can_stand_apart_together() -> None:
    assert apart([0.9, 0.89, *np.linspace(0.2, 0.1, 18)], 3) == 2
    assert apart([0.9, 0.89, *np.linspace(0.2, 0.1, 18)], 1) == 0  # the second is as good: the first alone is not apart
    assert apart([0.9, 0.2, 0.19, 0.18, 0.17], 3) == 1


def test_few_or_equal_scores_say_nothing() -> None:
    assert [apart([1.0, 0.0, 0.0][:count], 3) for count in range(4)] == [0, 0, 0, 0]
    assert apart([0.5] * 6, 3) == apart([0.5] * 20, 3) == 0
    assert apart([0.9, *[0.5] * 19], 3) == apart([0.9, *[0.5] * 5], 3) == 1


def test_pages_found_by_their_look_come_from_the_lists_of_images_alone() -> None:
    low = [(f"x{number}", 0.1 - number / 1000) for number in range(1, 9)]
    lists: Lists = {
        "text": listed("text", ("t1", 9.0), ("t2", 1.0), ("t3", 1.0), ("t4", 1.0), ("t5", 1.0)),
        "image": listed("image", ("b1", 0.9), *low),
        "visual": listed("visual", ("d1", 30.0), ("b1", 29.9), *((page, score * 10) for page, score in low)),
    }
    found = looking_alike(lists, 3)
    assert pages(found) == ["d1", "b1"]
    assert [one.rank for one in found] == [1, 2]
    assert {origin.list: origin.rank for origin in found[1].origins} == {"image": 1, "visual": 2}
    assert pages(looking_alike(lists, 1)) == ["b1"]
    assert looking_alike({"text": lists["text"]}, 3) == ()
    assert looking_alike(lists, 0) == ()


@pytest.mark.parametrize("awaiting", [("table",), ()])
def test_a_page_that_awaits_its_vectors_counts_as_near_as_its_words_say(awaiting: tuple[str, ...]) -> None:
    """Without this rule it stands behind the pages that have vectors, which the test can see."""
    dense = [("near", 0.62), ("other", 0.6), ("third", 0.3), ("fourth", 0.2)]
    words = {"table": 9.0, "near": 2.0, "other": 1.9, "weak": 0.5}
    ranked = [page for page, _score in rank_pages(dense, words, weight=0.5, awaiting=awaiting)]
    assert (ranked[0] == "table") is bool(awaiting)
    both = rank_pages(dense, words, weight=0.5, awaiting=("near", "not found"))
    assert both == rank_pages(dense, words, weight=0.5), "a page that has vectors keeps its cosine"
