"""The contract of every index, for the embedded engine and for a server (in memory)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest

from docmind.errors import IndexEngineError, IndexMismatchError
from docmind.index.engine import NO_EPOCH, IndexEngine, Point, Sparse
from docmind.records.search import Filters
from index.points import DIM, axis, id_of, names, near, point, terms

HALF = 2e-3  # float16 storage


# --- a golden toy -----------------------------------------------------------------------------------------------------


def test_dense_scores_are_cosines(index: IndexEngine) -> None:
    """(1,0,0,0), (1,1,0,0) and (0,1,0,0) against (2,0,0,0): cosines 1, 1/sqrt(2) and 0."""
    index.upsert(
        "text",
        [
            point("same", {"text-dense": axis(0)}),
            point("half", {"text-dense": axis(0) + axis(1)}),
            point("none", {"text-dense": axis(1)}),
        ],
    )
    [found] = index.search([near(2 * axis(0))])
    assert names(found) == ["same", "half", "none"]
    assert [one.score for one in found] == pytest.approx([1, math.sqrt(0.5), 0], abs=HALF)
    assert found[0].id == id_of("same")
    assert found[0].payload == point("same").payload


def test_sparse_scores_weigh_rare_terms(index: IndexEngine) -> None:
    """Three points, term 7 in all and term 9 in one: idf = ln(1 + (N - n + 0.5) / (n + 0.5)) with N = 3."""
    index.upsert(
        "text",
        [
            point("both", {"text-sparse": terms({7: 1.0, 9: 2.0})}),
            point("common", {"text-sparse": terms({7: 3.0})}),
            point("common-too", {"text-sparse": terms({7: 1.0, 4_294_967_295: 1.0})}),
        ],
    )
    common, rare = math.log(1 + 0.5 / 3.5), math.log(1 + 2.5 / 1.5)
    [found] = index.search([near(terms({7: 1.0, 9: 1.0}), "text-sparse")])
    assert names(found) == ["both", "common", "common-too"]
    assert [one.score for one in found] == pytest.approx([common + 2 * rare, 3 * common, common], rel=1e-3)
    [highest] = index.search([near(terms({4_294_967_295: 1.0}), "text-sparse")])
    assert names(highest) == ["common-too"]


def test_maxsim_sums_the_best_of_each_query_token(index: IndexEngine) -> None:
    """Query tokens e0, e1. Rows {e0, e1}: 1 + 1. Rows {e0, 0.5 e1}: 1.5. Rows {e2}: 0."""
    rows = {"two": [axis(0, 128), axis(1, 128)], "less": [axis(0, 128), 0.5 * axis(1, 128)], "zero": [axis(2, 128)]}
    index.upsert("pages", [point(name, {"colpali_rows": np.stack(tokens)}) for name, tokens in rows.items()])
    [found] = index.search([near(np.stack([axis(0, 128), axis(1, 128)]), "colpali_rows", "pages")])
    assert names(found) == ["two", "less", "zero"]
    assert [one.score for one in found] == pytest.approx([2, 1.5, 0], abs=HALF)


def test_prefetches_choose_what_is_scored(index: IndexEngine) -> None:
    """The best by its rows is the worst by its columns, and so is no candidate of theirs; scores are of the rows."""
    rows, cols = {"best": 1.0, "first": 0.9, "second": 0.8, "third": 0.2}, {"best": 0.0, "second": 0.9, "third": 0.8}
    points = [
        point(
            name,
            {"colpali_rows": height * axis(0, 128)[None], "colpali_cols": cols.get(name, 0.1) * axis(0, 128)[None]},
            language="en" if name != "second" else "pt",
        )
        for name, height in rows.items()
    ]
    index.upsert("pages", points)
    asked = dataclasses.replace(near(axis(0, 128)[None], "colpali_rows", "pages"), prefetch=("colpali_cols",), depth=2)
    [found] = index.search([asked])
    assert names(found) == ["second", "third"]
    assert [one.score for one in found] == pytest.approx([0.8, 0.2], abs=HALF)
    both = dataclasses.replace(asked, prefetch=("colpali_cols", "colpali_rows"), depth=1)
    assert [names(found) for found in index.search([both])] == [["best", "second"]]
    [narrowed] = index.search([dataclasses.replace(asked, filters=Filters(languages=("en",)))])
    assert names(narrowed) == ["first", "third"]
    [short] = index.search([dataclasses.replace(both, limit=1)])
    assert names(short) == ["best"]


def test_points_that_have_a_vector_are_counted(index: IndexEngine) -> None:
    index.upsert("pages", [point("seen", {"colpali_rows": axis(0, 128)[None]}), point("plain", {}, doc_id="doc-b")])
    assert (index.count("pages"), index.count("pages", having="colpali_rows")) == (2, 1)
    assert index.count("pages", Filters(doc_ids=("doc-b",)), having="colpali_rows") == 0
    with pytest.raises(ValueError, match="'colpaly'"):
        index.count("pages", having="colpaly")


def test_several_lists_come_in_the_order_asked(index: IndexEngine) -> None:
    index.upsert("text", [point("a", {"text-dense": axis(0), "text-sparse": terms({1: 1.0})}), point("b")])
    index.upsert("pages", [point("page", {"siglip": axis(3, 768)}, modality="pdf_page_image")])
    lists = index.search(
        [
            near(terms({1: 1.0}), "text-sparse"),
            near(axis(3, 768), "siglip", "pages"),
            near(axis(0), limit=1),
            near(terms({}), "text-sparse"),
            near(terms({99: 1.0}), "text-sparse"),
        ]
    )
    assert [names(found) for found in lists[:2]] == [["a"], ["page"]]
    assert [len(found) for found in lists] == [1, 1, 1, 0, 0]
    assert index.search([]) == []


def test_equal_scores_are_ordered_by_id(index: IndexEngine) -> None:
    index.upsert("text", [point(f"n{n}") for n in range(20)])
    [found] = index.search([near(axis(0), limit=20)])
    assert [one.id for one in found] == sorted(one.id for one in found)


# --- writing ----------------------------------------------------------------------------------------------------------


def test_upsert_twice_is_upsert_once(index: IndexEngine) -> None:
    points = [point(f"n{n}", {"text-dense": axis(n % DIM), "text-sparse": terms({n: 1.0})}) for n in range(10)]
    index.upsert("text", points)
    before = index.search([near(axis(1)), near(terms({3: 1.0}), "text-sparse")])
    index.upsert("text", points)
    assert index.count("text") == 10
    assert index.search([near(axis(1)), near(terms({3: 1.0}), "text-sparse")]) == before


def test_upsert_replaces_a_point_whole(index: IndexEngine) -> None:
    index.upsert("text", [point("a", {"text-dense": axis(0), "text-sparse": terms({1: 1.0})}, language="en")])
    index.upsert("text", [point("a", {"text-dense": axis(1)}, tags=["new"])])
    [dense, sparse] = index.search([near(axis(1)), near(terms({1: 1.0}), "text-sparse")])
    assert dense[0].score == pytest.approx(1, abs=HALF)
    assert sparse == []
    assert dense[0].payload["tags"] == ["new"]
    assert "language" not in dense[0].payload


def test_of_two_points_with_one_id_the_later_wins(index: IndexEngine) -> None:
    index.upsert("text", [point("a"), point("b"), point("a", {"text-dense": axis(2)})])
    [found] = index.search([near(axis(2), limit=1)])
    assert names(found) == ["a"]
    assert index.count("text") == 2


def test_more_points_than_one_batch(index: IndexEngine) -> None:
    index.upsert("text", [point(f"n{n}", {"text-dense": axis(n % DIM)}) for n in range(600)])
    assert index.count("text") == 600
    index.upsert("text", [])
    assert index.count("text") == 600


def test_delete_takes_one_document(index: IndexEngine) -> None:
    index.upsert("text", [point("a1", doc_id="doc-a"), point("a2", doc_id="doc-a"), point("b1", doc_id="doc-b")])
    index.delete("text", "doc-a")
    index.delete("text", "nobody")
    index.delete("pages", "doc-a")
    assert index.count("text") == 1
    assert names(index.search([near(axis(0))])[0]) == ["b1"]


def test_absent_vectors_are_unset(index: IndexEngine) -> None:
    index.upsert("text", [point("dense"), point("sparse", {"text-sparse": terms({1: 1.0})}), point("bare", {})])
    index.upsert("text", [point("empty", {"text-sparse": terms({})})])
    assert index.count("text") == 4
    [dense, sparse] = index.search([near(axis(0)), near(terms({1: 1.0}), "text-sparse")])
    assert names(dense) == ["dense"]
    assert names(sparse) == ["sparse"]


# --- filters ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def filled(index: IndexEngine) -> IndexEngine:
    index.upsert(
        "text",
        [
            point("en", doc_id="d1", language="en", tags=["tax", "2024"]),
            point("pt", doc_id="d1", language="pt-BR", modality="table", tags=["imposto não pago"]),
            point("zh", doc_id="d2", language="zh-Hant", tags=["稅務", "2024"]),
            point("ar", doc_id="d3", language="ar", modality="code", tags=["ضريبة"]),
            point("plain", doc_id="d3"),
        ],
    )
    return index


NARROWED: list[tuple[Filters, set[str]]] = [
    (Filters(), {"en", "pt", "zh", "ar", "plain"}),
    (Filters(doc_ids=("d1",)), {"en", "pt"}),
    (Filters(doc_ids=("d1", "d2")), {"en", "pt", "zh"}),
    (Filters(doc_ids=("d1",), modalities=("table",)), {"pt"}),
    (Filters(modalities=("table", "code")), {"pt", "ar"}),
    (Filters(languages=("zh-Hant", "ar")), {"zh", "ar"}),
    (Filters(tags=("2024",)), {"en", "zh"}),
    (Filters(tags=("稅務", "ضريبة", "imposto não pago")), {"zh", "ar", "pt"}),
    (Filters(tags=("2024",), languages=("en",), doc_ids=("d1", "d3"), modalities=("text",)), {"en"}),
    (Filters(doc_ids=("nobody",)), set()),
]


def test_filters_narrow_searches_and_counts(filled: IndexEngine) -> None:
    for filters, expected in NARROWED:
        [found] = filled.search([dataclasses.replace(near(axis(0)), filters=filters)])
        assert set(names(found)) == expected, filters
        assert filled.count("text", filters) == len(expected), filters


# --- refusals ---------------------------------------------------------------------------------------------------------

NAN, INF = np.array([np.nan, 0, 0, 0], np.float32), np.array([0, np.inf, 0, 0], np.float32)
SHA = "ab" * 32
BAD_POINTS: dict[str, Callable[[], Point]] = {
    "nan": lambda: point("x", {"text-dense": NAN}),
    "inf": lambda: point("x", {"text-dense": INF}),
    "dim": lambda: point("x", {"text-dense": axis(0, 5)}),
    "two dense": lambda: point("x", {"text-dense": np.stack([axis(0), axis(1)])}),
    "unknown name": lambda: point("x", {"text_dense": axis(0)}),
    "dense as sparse": lambda: point("x", {"text-sparse": axis(0)}),
    "sparse as dense": lambda: point("x", {"text-dense": terms({1: 1.0})}),
    "sparse nan": lambda: point("x", {"text-sparse": terms({1: math.nan})}),
    "sparse twice": lambda: point("x", {"text-sparse": Sparse(np.array([1, 1]), np.ones(2, np.float32))}),
    "sparse ragged": lambda: point("x", {"text-sparse": Sparse(np.array([1, 2]), np.ones(1, np.float32))}),
    "sparse negative": lambda: point("x", {"text-sparse": Sparse(np.array([-1]), np.ones(1, np.float32))}),
    "sparse 33 bits": lambda: point("x", {"text-sparse": Sparse(np.array([2**32]), np.ones(1, np.float32))}),
    "sparse floats": lambda: point("x", {"text-sparse": Sparse(np.array([1.5]), np.ones(1, np.float32))}),
    "id": lambda: dataclasses.replace(point("x"), id="not-a-uuid"),
    "no doc_id": lambda: dataclasses.replace(point("x"), payload={"page_no": 1}),
    "text": lambda: point("x", text="the whole page"),
    "long": lambda: point("x", tags=["word " * 60]),
    "path": lambda: point("x", tags=["/home/ana/tax.pdf"]),
    "windows path": lambda: point("x", tags=["C:\\Users\\ana"]),
    "path as id": lambda: point("x", node_id="../../etc/passwd"),
    "base64": lambda: point("x", tags=["aGVsbG8gd29ybGQ" * 6]),
    "artifact": lambda: point("x", image_artifact_id=SHA[:-1]),
    "suffix": lambda: point("x", image_artifact_suffix="/../x"),
    "modality": lambda: point("x", modality="audio"),
    "page": lambda: point("x", page_no=0),
    "page bool": lambda: point("x", page_no=True),
    "bbox": lambda: point("x", bbox=[1.0, 2.0, math.nan, 3.0]),
    "language": lambda: point("x", language="the English language"),
    "nested": lambda: point("x", phash={"a": 1}),
}


def test_a_bad_point_refuses_its_batch_whole(index: IndexEngine) -> None:
    accepted = []
    for case, make in BAD_POINTS.items():
        try:
            index.upsert("text", [point("good"), make(), point("good too")])
        except ValueError:
            continue
        accepted.append(case)
    assert accepted == []
    assert index.count("text") == 0


@pytest.mark.parametrize("tokens", [np.zeros((0, 128)), np.zeros((2, 127)), axis(0, 128), np.full((1, 128), np.nan)])
def test_a_bad_multivector_is_refused(index: IndexEngine, tokens: np.ndarray) -> None:
    with pytest.raises(ValueError, match="colpali_cols"):
        index.upsert("pages", [point("x", {"colpali_cols": tokens})])


def test_a_bad_batch_leaves_nothing_even_far_behind(index: IndexEngine) -> None:
    with pytest.raises(ValueError, match="not finite"):
        index.upsert("text", [point(f"n{n}") for n in range(700)] + [point("bad", {"text-dense": NAN})])
    assert index.count("text") == 0


def test_a_full_payload_is_accepted(index: IndexEngine) -> None:
    payload = {
        "image_artifact_id": SHA,
        "image_artifact_suffix": ".webp.enc",
        "thumbnail_artifact_id": SHA,
        "thumbnail_artifact_suffix": ".webp.enc",
        "phash": "00ff" * 4,
        "bbox": [1.0, 2.5, 30.0, 4.0],
        "language": "en",
        "tags": ["R&D", "2024/05", "größe", "ab" * 16],
    }
    index.upsert("text", [point("x", doc_id=SHA, **payload)])
    [[found]] = index.search([near(axis(0))])
    assert dict(found.payload) == point("x", doc_id=SHA, **payload).payload


def test_a_bad_query_is_refused(index: IndexEngine) -> None:
    for query in (
        near(NAN),
        near(axis(0, 3)),
        near(axis(0), "siglip"),
        near(axis(0), collection="nowhere"),
        near(axis(0), limit=0),
        near(axis(0), "text-sparse"),
        dataclasses.replace(near(axis(0)), prefetch=("siglip",)),
        dataclasses.replace(near(axis(0, 768), "siglip", "pages"), prefetch=("colpali_rows",)),
        dataclasses.replace(near(axis(0)), prefetch=("text-dense",), depth=0),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            index.search([near(axis(0)), query])
    for call in (lambda: index.count("x"), lambda: index.delete("x", "y"), lambda: index.upsert("x", [])):
        with pytest.raises(ValueError, match="there is no collection 'x'; there are text, pages"):
            call()


# --- epochs and generations -------------------------------------------------------------------------------------------


def test_a_new_index_is_empty_and_waits_for_rebuild(open_engine: Callable[..., IndexEngine]) -> None:
    index = open_engine()
    assert index.epoch() == NO_EPOCH
    assert index.fingerprint() == ""
    assert index.count("text") == 0
    assert index.search([near(axis(0))]) == [[]]
    index.delete("text", "doc-a")
    for call in (lambda: index.upsert("text", [point("a")]), lambda: index.commit(1), index.activate):
        with pytest.raises(IndexEngineError, match="rebuilt"):
            call()


@pytest.mark.slow
def test_commit_lasts(open_engine: Callable[..., IndexEngine]) -> None:
    index = open_engine()
    index.rebuild("model-1")
    index.upsert("text", [point("a")])
    assert index.epoch() == NO_EPOCH
    index.commit(41)
    index.upsert("text", [point("b")])
    assert index.epoch() == 41
    again = open_engine()
    assert again.epoch() == 41
    assert again.fingerprint() == "model-1"
    assert again.count("text") == 2


@pytest.mark.slow
def test_rebuild_stands_beside_until_activate(index: IndexEngine) -> None:
    index.upsert("text", [point("old"), point("gone", doc_id="doc-gone")])
    index.commit(7)
    index.rebuild("model-2")
    index.upsert("text", [point("new", {"text-dense": axis(1)}), point("gone", doc_id="doc-gone")])
    assert names(index.search([near(axis(0))])[0]) in (["old", "gone"], ["gone", "old"])
    index.delete("text", "doc-gone")
    assert names(index.search([near(axis(0))])[0]) == ["old"], "a deletion reaches the active generation"
    index.commit(9)
    assert (index.epoch(), index.fingerprint()) == (7, "model-1")
    index.activate()
    assert (index.epoch(), index.fingerprint()) == (9, "model-2")
    assert names(index.search([near(axis(1))])[0]) == ["new"], "and the one beside it"
    index.activate()
    assert index.count("text") == 1


@pytest.mark.slow
def test_an_unfinished_rebuild_is_dropped(open_engine: Callable[..., IndexEngine]) -> None:
    index = open_engine()
    index.rebuild("model-1")
    index.upsert("text", [point("old")])
    index.commit(7)
    index.rebuild("model-2")
    index.upsert("text", [point("half")])
    again = open_engine()
    assert (again.epoch(), again.fingerprint(), again.count("text")) == (7, "model-1", 1)
    again.rebuild("model-3")
    again.activate()
    assert (again.epoch(), again.fingerprint(), again.count("text")) == (NO_EPOCH, "model-3", 0)


@pytest.mark.slow
def test_another_dimension_is_a_mismatch_and_heals_by_rebuild(open_engine: Callable[..., IndexEngine]) -> None:
    index = open_engine()
    index.rebuild("model-1")
    index.upsert("text", [point("old")])
    index.commit(7)
    other = open_engine(6)
    assert (other.epoch(), other.fingerprint(), other.count("text")) == (7, "model-1", 1)
    with pytest.raises(IndexMismatchError, match=r"4 dimensions.*6"):
        other.search([near(axis(0, 6))])
    with pytest.raises(IndexMismatchError, match=r"4 dimensions.*6"):
        other.upsert("text", [point("new", {"text-dense": axis(0, 6)})])
    other.rebuild("model-2")
    other.upsert("text", [point("new", {"text-dense": axis(5, 6)})])
    other.commit(7)
    other.activate()
    assert names(other.search([near(axis(5, 6))])[0]) == ["new"]


def test_a_small_index_is_not_optimized(index: IndexEngine) -> None:
    index.upsert("text", [point("a")])
    assert index.optimize_if_large() is False


def test_close_twice(index: IndexEngine) -> None:
    index.close()
    index.close()


def test_an_embedded_engine_tells_what_its_files_take(index: IndexEngine) -> None:
    before = index.size_bytes()
    index.upsert("text", [point("one", {"text-dense": axis(0)})])
    index.commit(1)
    is_embedded = index.name != "server"
    assert (index.size_bytes() > 0) == is_embedded
    assert index.size_bytes() >= before
