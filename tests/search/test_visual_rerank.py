"""Reranking of merged hits: by hand, with models that fail or hang, and over pages with known colours."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from docmind.application import DocMind
from docmind.config import Settings, VisualSettings
from docmind.errors import VisualModelError
from docmind.records.documents import Upload
from docmind.records.models import ModelKind
from docmind.records.query import Query
from docmind.records.search import Degraded, Filters, MultimodalHit, MultimodalResult, PageHits, PageScores
from docmind.search.lists import CollectedLists
from docmind.search.visual_rerank import PAGES, VisualReranker
from docmind_testkit import COLOURS, FakeLateModel
from looking import looking
from papers import pdf
from search.test_fusion import listed, pages


class VisualSearch:
    """A scorer that does as a test says: scores by name, raises, or waits until a gate opens."""

    def __init__(self, answer: Any, on: Sequence[ModelKind] = ("image", "late")) -> None:
        self.answer, self.on, self.asked = answer, on, list[Any]()

    def is_ready(self, kind: ModelKind) -> bool:
        return True

    def start(self, kind: ModelKind, limit_s: float) -> bool:
        return True

    def is_on(self, kind: ModelKind) -> bool:
        return kind in self.on

    def search_images(
        self, question: str | None = None, *, picture: bytes | None = None, k: int = 20, filters: Filters = Filters()
    ) -> PageHits:
        raise AssertionError

    def search_late(self, question: str, *, k: int = 20, filters: Filters = Filters()) -> PageHits:
        raise AssertionError

    def score_pages(
        self, kind: ModelKind, places: Sequence[tuple[str, int]], question: str | None, picture: bytes | None = None
    ) -> PageScores:
        self.asked.append((kind, [f"{doc_id}{page_no}" for doc_id, page_no in places], question, picture))
        if isinstance(self.answer, threading.Event):
            assert self.answer.wait(60)
            return PageScores((1.0,) * len(places))
        if isinstance(self.answer, Exception):
            raise self.answer
        return PageScores(tuple(self.answer.get(f"{doc_id}{page_no}") for doc_id, page_no in places))


def seeing(**visual: Any) -> Settings:
    return Settings(visual=VisualSettings(**visual))


def over(
    hits: Sequence[MultimodalHit], answer: Any, kind: ModelKind = "late", limit_s: float = 60.0, **asked: Any
) -> tuple[list[str], CollectedLists]:
    collected, asked = CollectedLists(), asked or {"question": "red"}
    looks = VisualReranker(seeing(list_timeout_s=limit_s), VisualSearch(answer))
    return pages(looks.over(hits, kind, collected, **asked)), collected


TOY = listed("text", ("a1", 4.0), ("b1", 3.0), ("c1", 2.0), ("d1", 1.0))  # spread 1.118
ORDER = ["a1", "b1", "c1", "d1"]


def test_what_is_added_can_be_checked_by_hand() -> None:
    """d1 is sqrt(3) above the mean, the others 1/sqrt(3) below it: half of the spread makes 3.68 2.68 1.68 1.97."""
    answer = {"a1": 10.0, "b1": 10.0, "c1": 10.0, "d1": 30.0}
    assert over(TOY, answer)[0] == ["a1", "b1", "d1", "c1"]
    assert over(TOY, answer, "image")[0] == ORDER  # a quarter: 3.84 2.84 1.84 1.48
    assert over(TOY, {"a1": 0.0, "b1": 0.0, "c1": 0.0, "d1": 0.0})[0] == ORDER
    moved = VisualReranker(seeing(), VisualSearch(answer)).over(TOY, "late", CollectedLists(), question="red")
    assert {hit.page_id: hit.score for hit in moved} == {hit.page_id: hit.score for hit in TOY}


def test_a_page_that_was_found_is_neither_scored_nor_moved() -> None:
    found = listed("lookalike", ("f1", 0.1), found=True)
    order, collected = over([*found, *TOY], {"a1": 0.0, "b1": 0.0, "c1": 9.0, "f1": -99.0, "d1": 9.0})
    assert order[0] == "f1"
    assert order[1:] != ORDER
    assert "rerank" in collected.stages


def test_pages_without_a_score_keep_their_places() -> None:
    close = listed("text", ("a1", 4.0), ("b1", 3.9), ("c1", 3.8), ("d1", 1.0))
    assert over(close, {"b1": 1.0, "c1": 2.0})[0] == ORDER  # two alone say too little to change places
    assert over(close, {"a1": 1.0, "c1": 2.0, "d1": 1.0})[0] == ["c1", "b1", "a1", "d1"]
    assert over(close, {"a1": 1.0, "b1": float("nan"), "c1": 2.0, "d1": 1.0})[0] == ["c1", "b1", "a1", "d1"]
    assert over(close, {})[0] == ORDER


def test_what_stands_behind_the_first_pages_stays_behind_them() -> None:
    many = listed("text", *((f"p{number}", 100.0 - number) for number in range(PAGES + 5)))
    eyes = VisualSearch({f"p{number}": float(number) for number in range(PAGES + 5)})
    moved = pages(VisualReranker(seeing(), eyes).over(many, "late", CollectedLists(), question="red"))
    assert eyes.asked == [("late", pages(many)[:PAGES], "red", None)]
    assert moved[PAGES:] == pages(many)[PAGES:]
    assert sorted(moved) == sorted(pages(many))


def test_hits_of_one_page_move_together() -> None:
    two = [*listed("text", ("a1", 4.0)), *listed("text", ("b1", 3.9), node="1"), *listed("text", ("b1", 3.9), node="2")]
    eyes = VisualSearch({"a1": 1.0, "b1": 5.0, "c1": 1.0})
    moved = VisualReranker(seeing(), eyes).over(
        [*two, *listed("text", ("c1", 1.0))], "late", CollectedLists(), question="red"
    )
    assert [(hit.doc_id, hit.node_id) for hit in moved] == [("b", "1"), ("b", "2"), ("a", ""), ("c", "")]


def test_a_picture_is_compared_by_one_vector_and_words_by_many() -> None:
    cases: list[tuple[ModelKind, dict[str, Any], list[Any]]] = [
        ("image", {"question": "red", "picture": b"x"}, [("image", ORDER, None, b"x")]),
        ("late", {"question": "red", "picture": b"x"}, [("late", ORDER, "red", None)]),
        ("late", {"picture": b"x"}, []),
    ]
    for kind, asked, want in cases:
        eyes, collected = VisualSearch({}), CollectedLists()
        VisualReranker(seeing(), eyes).over(TOY, kind, collected, **asked)
        assert eyes.asked == want
        assert bool(collected.degraded) == (not want)


def test_a_model_that_fails_leaves_the_order_and_is_named() -> None:
    for failure in (VisualModelError("Its files are gone.", hint="Fetch them."), RuntimeError("boom")):
        order, collected = over(TOY, failure)
        assert order == ORDER
        [degraded] = collected.degraded
        assert (degraded.stage, str(failure) in degraded.reason) == ("rerank", True)
    with pytest.raises(KeyError):
        over(TOY, KeyError("a mistake of ours"))


def test_a_model_that_hangs_costs_its_limit_once() -> None:
    gate = threading.Event()
    looks, collected = VisualReranker(seeing(list_timeout_s=0.2), VisualSearch(gate)), CollectedLists()
    assert pages(looks.over(TOY, "late", collected, question="red")) == ORDER
    assert collected.degraded == [Degraded("rerank", "It took longer than 0.2 s.")]
    again = CollectedLists()
    assert pages(looks.over(TOY, "late", again, question="red")) == ORDER
    assert [each.reason for each in again.degraded] == ["It is not back from an earlier search yet."]
    gate.set()


def test_who_looks_is_asked_for_or_set() -> None:
    collected = CollectedLists()
    assert VisualReranker(seeing(), VisualSearch({})).kind(None, collected) is None
    looks = VisualReranker(seeing(rerank="late"), VisualSearch({}, on=["late"]))
    assert [looks.kind(each, collected) for each in (None, "off", "late")] == ["late", None, "late"]
    assert not collected.degraded
    assert looks.kind("image", collected) is None
    assert [each.stage for each in collected.degraded] == ["rerank"]


# Over real pages

RED = 5
QUESTION = "red herons"


def page_of(colour: str, herons: int) -> str:
    red, green, blue = (value / 255 for value in COLOURS[colour])
    said = " ".join(["herons"] * herons + ["poplar"] * (9 - herons))
    return f"{red:.2f} {green:.2f} {blue:.2f} rg 0 0 612 792 re f 0 g BT /F1 9 Tf 72 700 Td ({said}) Tj ET"


BOOK = Upload("book.pdf", pdf([page_of("red" if number == RED else "white", 8 - number) for number in range(1, 8)]))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[DocMind]:
    """Make a book of seven pages, the fifth of them red; by words, the first ones are the best for herons."""
    with looking(tmp_path) as desk:
        desk.add([BOOK])
        yield desk


def numbers(found: MultimodalResult) -> list[int]:
    return [hit.page_no for hit in found.hits]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["image", "late"])
def test_a_second_look_lifts_the_red_page(desk: DocMind, kind: Any) -> None:
    desk.visual.embed(f"fake-{kind}")
    plain = desk.search(Query(QUESTION, lists=("text",), k=7))
    seen = desk.search(Query(QUESTION, lists=("text",), k=7, rerank=kind))
    assert numbers(seen).index(RED) < numbers(plain).index(RED)
    assert [number for number in numbers(seen) if number != RED] == [n for n in numbers(plain) if n != RED]
    assert {hit.page_id: hit.score for hit in seen.hits} == {hit.page_id: hit.score for hit in plain.hits}
    assert [hit.rank for hit in seen.hits] == [1, 2, 3, 4, 5, 6, 7]
    assert seen.degraded == ()
    assert "rerank" in dict(seen.timings_ms)
    assert "rerank" not in dict(plain.timings_ms)
    first = desk.search(Query(QUESTION, lists=("text",), k=numbers(seen).index(RED) + 1, rerank=kind))
    assert numbers(first)[-1] == RED  # it comes from below what is asked for


@pytest.mark.slow
def test_without_a_model_or_vectors_words_stay_as_they_are(tmp_path: Path) -> None:
    with looking(tmp_path, image_model="off") as desk:
        desk.add([BOOK])
        plain = desk.search(QUESTION)
        for kind in ("image", "late"):
            found = desk.search(Query(QUESTION, rerank=kind))
            assert found.hits == plain.hits
            assert [each.stage for each in found.degraded] == ["rerank"]
        assert not (tmp_path / "data" / "late").exists()


@pytest.mark.slow
def test_pages_it_has_not_seen_are_counted(desk: DocMind) -> None:
    desk.add([Upload("more.pdf", pdf([page_of("white", 8), page_of("blue", 1)]))])
    desk.visual.embed("fake-late", [desk.documents.find("book.pdf").doc_id])
    found = desk.search(Query(QUESTION, lists=("text",), rerank="late"))
    assert [each.reason for each in found.degraded] == [
        "2 of the first 9 pages keep their places: fake-late has not seen them"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget_s", "limit_s", "page_s", "fits"),
    [(2.5, 60.0, 1.0, 2), (100.0, 60.0, 1.0, 7), (100.0, 8.0, 3.0, 2), (0.0, 60.0, 1.0, 0), (5.0, 60.0, 6.0, 0)],
)
def test_as_many_pages_are_shown_as_fit(
    tmp_path: Path, budget_s: float, limit_s: float, page_s: float, fits: int
) -> None:
    with looking(tmp_path, rerank="late", rerank_budget_s=budget_s, list_timeout_s=limit_s) as desk:
        desk.add([BOOK])
        visual = desk.visual
        unmeasured = desk.search(Query(QUESTION, lists=("text",)))
        assert visual.estimate("fake-late")[0] == 7  # what a page takes is not known: none is begun
        if budget_s:
            assert "never measured" in unmeasured.degraded[0].reason
        visual.benches.note(visual._runs.present("fake-late"), page_s)
        first = numbers(unmeasured)
        found = desk.search(Query(QUESTION, lists=("text",)))
        assert visual.estimate("fake-late")[0] == 7 - fits
        document = desk.documents.all()[0].doc_id
        assert [desk.page_search.has_heat(document, number) for number in first] == [True] * fits + [False] * (7 - fits)
        left = [each for each in found.degraded if each.stage == "rerank"]
        assert [each.reason.split(" keep")[0] for each in left] == [f"{7 - fits} of the first 7 pages"] * (fits < 7)
        if 0 < fits < 7:
            desk.search(Query(QUESTION, lists=("text",)))  # those are kept, the next ones follow
            assert visual.estimate("fake-late")[0] == max(0, 7 - 2 * fits)


@pytest.mark.slow
def test_a_failure_at_new_pages_still_scores_the_known_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise VisualModelError("It has run out of memory.", hint="")

    with looking(tmp_path, rerank="late", rerank_budget_s=9.0, list_timeout_s=60.0) as desk:
        desk.add([BOOK])
        desk.visual.embed("fake-late")
        desk.add([Upload("more.pdf", pdf([page_of("white", 8)]))])
        desk.visual.benches.note(desk.visual._runs.present("fake-late"), 1.0)
        monkeypatch.setattr(FakeLateModel, "embed_images", fail)
        plain, found = (desk.search(Query(QUESTION, lists=("text",), rerank=each)) for each in ("off", None))
        [degraded] = found.degraded
        assert "1 of the first 8 pages" in degraded.reason
        assert "(It has run out of memory.)" in degraded.reason
        assert _place_of_red(found) < _place_of_red(plain)


def _place_of_red(found: MultimodalResult) -> int:
    return [(hit.document, hit.page_no) for hit in found.hits].index(("book.pdf", RED))
