"""Three short lists merged in every way, with scores that can be checked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from docmind.errors import ConfigError
from docmind.merge import WEIGHTS, Lists, merged, standing_out, strategy_of
from docmind.schema import Modality, page_id_of
from docmind.seeing import ListName, MergeStrategy, MultimodalHit

EQUAL = dict.fromkeys(WEIGHTS, 1.0)


def hit(source: ListName, page: str, score: float, node: str = "", **more: Any) -> MultimodalHit:
    """A hit of one list; page `b2` is page 2 of document b."""
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


def test_an_unknown_way_of_merging_lists_those_there_are() -> None:
    assert strategy_of("grouped") == "grouped"
    with pytest.raises(ConfigError, match="called 'best'") as caught:
        strategy_of("best")
    assert "rrf, score, interleaved, grouped" in caught.value.hint
