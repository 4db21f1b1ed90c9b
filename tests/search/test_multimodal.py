"""One question to every list: equal to the text search where nothing else exists, and robust against failures."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from desks import opened, settings_in, text_pdf
from docmind.application import DocMind
from docmind.config import ReadingSettings, RetrieveSettings, VisualSettings
from docmind.embedding.vector_cache import VectorCache
from docmind.errors import ConfigError, CorruptFileError, IndexEngineError, UnsupportedFileError, VisualModelError
from docmind.records.documents import Upload, page_id_of
from docmind.records.models import ModelKind
from docmind.records.query import Query
from docmind.records.search import (
    Degraded,
    Filters,
    ListName,
    MergeStrategy,
    MultimodalHit,
    MultimodalResult,
    PageHit,
    PageHits,
    PageScores,
    Rerank,
    SearchResult,
)
from docmind.search.fusion import WEIGHTS, DedupKey
from docmind.search.multimodal import MultimodalSearch
from looking import coloured
from papers import print_of
from sheets import jpeg, png, sheet

CODE = b"def nest_height(poplar):\n    # herons nest high\n    return poplar.metres * 0.9\n"
DOCUMENTS = [
    Upload("herons.pdf", text_pdf(["Herons nest in tall poplar trees", "Their eggs are pale blue"]), tags=("birds",)),
    Upload("lei.pdf", text_pdf(["O controlador deve reparar o dano causado ao titular dos dados pessoais"])),
    Upload("bread.txt", b"Bake the rye bread slowly for ninety minutes.\n" * 60),
    Upload("counts.csv", b"bird,nests\nheron,12\nstork,7\n"),
    Upload("nests.py", CODE),
    Upload("photo.png", coloured("red")),
]
QUESTION = "Where do herons nest?"
LOW = [("bread.txt", number, 0.0499 - number * 1e-4) for number in range(101, 113)]
"""The tail of a list of page images, from which its first pages stand apart; these pages are none of a vault."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with opened(tmp_path_factory.mktemp("modalities")) as mind:
        assert [result.status for result in mind.add(DOCUMENTS)] == ["added"] * len(DOCUMENTS)
        yield mind


class VisualSearch:
    """Models that give the answers of a test: pages with scores, an exception, or nothing until a gate opens."""

    def __init__(self, **answers: Any) -> None:
        """Set up; `image` and `late` are lists of (document, page, score), errors, or events to wait for."""
        self.answers, self.asked = answers, list[Any]()
        self.started = threading.Event()
        self.started.set()
        self.desk: DocMind | None = None

    def is_on(self, kind: ModelKind) -> bool:
        return kind in self.answers

    def is_ready(self, kind: ModelKind) -> bool:
        return self.started.is_set()

    def start(self, kind: ModelKind, limit_s: float) -> bool:
        return self.started.wait(limit_s)

    def search_images(
        self, question: str | None = None, *, picture: bytes | None = None, k: int = 20, filters: Filters = Filters()
    ) -> PageHits:
        return self._answer("image", "image", question or picture, k)

    def search_late(self, question: str, *, k: int = 20, filters: Filters = Filters()) -> PageHits:
        return self._answer("late", "visual", question, k)

    def score_pages(
        self, kind: ModelKind, places: Sequence[tuple[str, int]], question: str | None, picture: bytes | None = None
    ) -> PageScores:
        self.asked.append((kind, question))
        return PageScores((*[0.0] * (len(places) - 1), 1.0))  # the last page is it

    def _answer(self, kind: str, source: ListName, asked: object, k: int) -> PageHits:
        self.asked.append(asked)
        answer = self.answers[kind]
        if isinstance(answer, threading.Event):
            assert answer.wait(60)
            return PageHits(())
        if isinstance(answer, Exception):
            raise answer
        hits = []
        for rank, (document, page_no, score) in enumerate(answer[:k], 1):
            assert self.desk is not None
            doc_id = self.desk.documents.find(document).doc_id
            hits.append(
                PageHit(
                    rank=rank, score=score, document=document, doc_id=doc_id, page_no=page_no,
                    page_id=page_id_of(doc_id, page_no), page_width=400, page_height=566,
                )
            )  # fmt: skip
        return PageHits(tuple(hits), (Degraded(source, "some pages have no vectors yet"),) if hits else ())


def asking(
    desk: DocMind,
    eyes: VisualSearch | None = None,
    words: Callable[[Query], SearchResult] | None = None,
    limit_s: float = 60.0,
    **settings: Any,
) -> MultimodalSearch:
    """Return the searches of a vault, with other eyes or other words."""
    if eyes is not None:
        eyes.desk = desk
    changed = desk.configured.model_copy(update={"visual": VisualSettings(list_timeout_s=limit_s), **settings})
    text: Any = SimpleNamespace(search=words) if words else desk.text_search
    return MultimodalSearch(changed, desk.vault.catalog, desk.vault.nodes, text, desk.lookalike, eyes, VectorCache())


def essence(hits: Sequence[Any]) -> list[tuple[object, ...]]:
    return [
        (hit.rank, hit.score, hit.page_id, hit.node_id, hit.text, hit.boxes, hit.modality, hit.language) for hit in hits
    ]


def states(found: MultimodalResult) -> dict[str, str]:
    return {report.list: report.state for report in found.lists}


BLIND: list[Callable[[], VisualSearch | None]] = [
    lambda: None,
    lambda: VisualSearch(image=[], late=[]),
    lambda: VisualSearch(image=VisualModelError("Its files are gone."), late=RuntimeError("boom")),
]


@pytest.mark.slow
@pytest.mark.parametrize("eyes", BLIND, ids=["off", "empty", "failing"])
@pytest.mark.parametrize("merge", ["rrf", "score", "interleaved", "grouped"])
def test_with_nothing_to_see_it_is_the_search_for_words(
    desk: DocMind, eyes: Callable[[], VisualSearch | None], merge: MergeStrategy
) -> None:
    searches = asking(desk, eyes(), limit_s=60)
    lists: list[ListName] = ["text", "image", "visual"]
    dedup_keys: tuple[DedupKey, ...] = ("page_id", "node_id", "doc_id")
    narrowed = (
        Filters(),
        Filters(languages=("pt",)),
        Filters(tags=("birds",)),
        Filters(modalities=("table", "code")),
        Filters(doc_ids=(desk.documents.find("bread.txt").doc_id,)),
        Filters(doc_ids=("0" * 32,)),
    )
    for filters in narrowed:
        for dedup_key in dedup_keys:
            for k in (None, 1, 3, 50):
                want = desk.search(Query(QUESTION, k=k, filters=filters, dedup_key=dedup_key))
                found = searches.search(
                    Query(QUESTION, k=k, filters=filters, dedup_key=dedup_key, merge=merge, lists=tuple(lists))
                )
                assert essence(found.hits) == essence(want.hits)
                assert all([origin.list for origin in hit.origins] == ["text"] for hit in found.hits)


@pytest.mark.slow
def test_by_default_all_lists_are_told_of_and_the_facade_agrees(desk: DocMind) -> None:
    found = desk.search(Query(f"  {QUESTION}  ", k=3))
    assert essence(found.hits) == essence(desk.search(Query(QUESTION, k=3)).hits)
    assert states(found) == {"text": "ran", "code": "off", "image": "off", "visual": "off"}
    assert all(report.reason for report in found.lists if report.state == "off")
    assert (found.query, found.found, found.is_final, found.merge) == (QUESTION, None, True, "rrf")
    assert dict(found.timings_ms).keys() == {"text", "merge", "total"}
    again = desk.search(QUESTION).cache_hit_rate
    assert again is not None
    assert again > 0
    with pytest.raises(ConfigError, match="nothing to search for"):
        desk.search(" ")


@pytest.mark.slow
def test_lists_are_merged_and_each_hit_says_where_it_came_from(desk: DocMind) -> None:
    eyes = VisualSearch(late=[("herons.pdf", 2, 31.0), ("lei.pdf", 1, 30.9), *LOW], image=[("lei.pdf", 1, 0.92), *LOW])
    found = asking(desk, eyes).search(Query(QUESTION))
    assert states(found) == {"text": "ran", "code": "ran", "image": "ran", "visual": "ran"}
    assert {report.list: report.count for report in found.lists}["visual"] == 14
    text = {hit.page_id: hit.rank for hit in desk.search(Query(QUESTION, k=20)).hits}
    code = {
        hit.page_id: hit.rank for hit in desk.search(Query(QUESTION, k=20, filters=Filters(modalities=("code",)))).hits
    }
    for hit in found.hits:
        ranks = {origin.list: origin.rank for origin in hit.origins}
        words = max(1 / (60 + ranks.get("text", 1e9)), WEIGHTS["code"] / (60 + ranks.get("code", 1e9)))
        looks = sum(WEIGHTS[name] / (60 + ranks[name]) for name in ("image", "visual") if name in ranks)
        assert hit.score == pytest.approx(words + looks, rel=1e-6)
        assert (ranks.get("text"), ranks.get("code")) == (text.get(hit.page_id), code.get(hit.page_id))
    assert [hit.rank for hit in found.hits] == list(range(1, len(found.hits) + 1))
    assert [each.stage for each in found.degraded] == ["image", "visual"]
    assert set(eyes.asked) == {QUESTION}


def test_a_page_found_by_its_image_has_the_beginning_of_its_text(desk: DocMind) -> None:
    eyes = VisualSearch(image=[("herons.pdf", 2, 0.3)])
    [hit] = asking(desk, eyes).search(Query(QUESTION, lists=("image",))).hits
    assert (hit.text, hit.modality, hit.boxes) == ("Their eggs are pale blue", "pdf_page_image", ())
    assert (hit.score, hit.source) == (0.3, "image")


def test_a_page_deleted_meanwhile_is_no_hit(desk: DocMind) -> None:
    class Late(VisualSearch):
        def _answer(self, kind: str, source: ListName, asked: object, k: int) -> PageHits:
            found = super()._answer(kind, source, asked, k)
            gone = replace(found.hits[0], doc_id="0" * 32, page_id=page_id_of("0" * 32, 1))
            return PageHits((gone, *found.hits))

    found = asking(desk, Late(image=[("herons.pdf", 2, 0.3)])).search(Query(QUESTION, lists=("image",)))
    assert [(hit.document, hit.rank) for hit in found.hits] == [("herons.pdf", 1)]


@pytest.mark.parametrize("name", ["image", "visual"])
def test_page_images_reorder_only_what_stands_apart(desk: DocMind, name: ListName) -> None:
    pages = [("lei.pdf", 1, 0.051), ("bread.txt", 1, 0.050), ("herons.pdf", 2, 0.050), ("herons.pdf", 1, 0.049)]
    kind = "late" if name == "visual" else "image"
    found = asking(desk, VisualSearch(**{kind: pages})).search(Query(QUESTION, lists=("text", name)))
    assert essence(found.hits) == essence(desk.search(QUESTION).hits)
    assert found.by_words == ()
    found = asking(desk, VisualSearch(**{kind: [("lei.pdf", 1, 0.2), *pages[1:], *LOW]})).search(
        Query(QUESTION, lists=("text", name))
    )
    assert [hit.document for hit in found.hits if name in {origin.list for origin in hit.origins}] == ["lei.pdf"]
    assert essence(found.by_words) == essence(desk.search(QUESTION).hits)
    assert found.ranked_by_words == found.by_words


def test_a_page_that_words_do_not_find_counts_where_it_has_none(desk: DocMind) -> None:
    """Words that were not found on a page say that it is about something else; a photograph has none to find."""
    only = Filters(doc_ids=(desk.documents.find("herons.pdf").doc_id,))

    def hits_of(document: str) -> list[MultimodalHit]:
        eyes = VisualSearch(late=[(document, 1, 31.0), *LOW])
        return [
            hit for hit in asking(desk, eyes).search(Query(QUESTION, filters=only)).hits if hit.document == document
        ]

    assert not hits_of("lei.pdf")  # outside of the filter, as a page far down the list of words
    assert [hit.source for hit in hits_of("photo.png")] == ["visual"]


def test_a_list_that_fails_is_told_of_and_the_others_stand(desk: DocMind) -> None:
    gone = VisualModelError("Its files are gone.", hint="Fetch them again.")
    eyes = VisualSearch(image=gone, late=[("herons.pdf", 2, 9.0), *LOW])
    found = asking(desk, eyes).search(Query(QUESTION))
    assert states(found)["image"] == "failed"
    assert [each for each in found.degraded if each.stage == "image"] == [
        Degraded("image", "Its files are gone. Fetch them again.")
    ]
    assert {origin.list for hit in found.hits for origin in hit.origins} >= {"text", "visual"}


def test_a_mistake_of_ours_goes_through(desk: DocMind) -> None:
    with pytest.raises(KeyError):
        asking(desk, VisualSearch(image=KeyError("a mistake"))).search(Query(QUESTION))


@pytest.mark.slow
def test_a_list_that_hangs_costs_its_limit_once(desk: DocMind) -> None:
    gate = threading.Event()
    eyes = VisualSearch(image=gate, late=[("herons.pdf", 2, 9.0)])
    searches = asking(desk, eyes, limit_s=3.0)
    before = threading.active_count()
    found = searches.search(Query(QUESTION))
    assert states(found) == {"text": "ran", "code": "ran", "image": "timed out", "visual": "ran"}
    assert any(each.stage == "image" and "longer than 3 s" in each.reason for each in found.degraded)
    with ThreadPoolExecutor(8) as pool:
        again = list(pool.map(lambda _: searches.search(Query(QUESTION)), range(24)))
    assert {states(each)["image"] for each in again} == {"timed out"}
    assert {report.reason for each in again for report in each.lists if report.list == "image"} == {
        "It is not back from an earlier search yet."
    }
    assert threading.active_count() <= before + 1
    assert all(essence(each.hits) == essence(found.hits) for each in again)
    gate.set()
    while searches._lists._timed_calls.busy():
        time.sleep(0.01)
    assert states(searches.search(Query(QUESTION)))["image"] == "empty"


@pytest.mark.slow
def test_a_model_that_is_starting_is_said_to_be_and_blocks_no_later_search(desk: DocMind) -> None:
    """Its own limit ends the wait, the limit of a list does not run meanwhile, and nothing is left under way."""
    eyes = VisualSearch(late=[("herons.pdf", 2, 9.0)])
    eyes.started.clear()
    retrieve = RetrieveSettings(start_timeout_s=2.3)
    searches = asking(desk, eyes, limit_s=2.0, retrieve=retrieve)
    for _ in range(2):
        found = searches.search(Query(QUESTION, lists=("text", "visual")))
        assert states(found) == {"text": "ran", "visual": "starting"}
        assert [one.reason for one in found.degraded] == ["Its model is still being started; ask again in a moment."]
        reranked = searches.search(Query(QUESTION, lists=("text",), rerank="late"))
        assert [(one.stage, one.reason) for one in reranked.degraded] == [("rerank", found.degraded[0].reason)]
    threading.Timer(2.7, eyes.started.set).start()
    assert states(searches.search(Query(QUESTION, lists=("visual",)))) == {"visual": "ran"}  # alone, it is waited for
    assert states(searches.search(Query(QUESTION, lists=("text", "visual")))) == {"text": "ran", "visual": "ran"}


@pytest.mark.slow
@pytest.mark.parametrize("picture", [None, png(sheet(1))], ids=["words", "words with a picture"])
def test_words_are_waited_for_longer_than_page_images(desk: DocMind, picture: bytes | None) -> None:
    """A model of page images that is being started takes the processor from the search of words."""

    def slow(query: Query) -> SearchResult:
        time.sleep(0.2)
        return desk.text_search.search(query)

    eyes = VisualSearch(image=[("herons.pdf", 2, 9.0)])
    searches = asking(desk, eyes, slow, limit_s=0.05)
    found = searches.search(Query(QUESTION, picture=picture, read_picture=picture is None))
    assert states(found)["text"] == "ran"
    assert not {"text", "code"} & {each.stage for each in found.degraded}
    assert "herons.pdf" in {hit.document for hit in found.hits}


def failing(query: Query) -> SearchResult:
    raise IndexEngineError("The index cannot be reached.")


def test_failing_words_are_an_error_only_without_other_lists(desk: DocMind) -> None:
    found = asking(desk, VisualSearch(late=[("herons.pdf", 2, 9.0)]), failing).search(Query(QUESTION))
    assert (states(found)["text"], [hit.document for hit in found.hits]) == ("failed", ["herons.pdf"])
    for eyes in (None, VisualSearch(late=VisualModelError("Gone."))):
        with pytest.raises(IndexEngineError, match="cannot be reached"):
            asking(desk, eyes, failing).search(Query(QUESTION))


@pytest.mark.slow
def test_many_threads_get_the_same(desk: DocMind) -> None:
    searches = asking(desk, VisualSearch(late=[("herons.pdf", 2, 9.0)], image=[("lei.pdf", 1, 0.3)]))
    want = essence(searches.search(Query(QUESTION)).hits)
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: searches.search(Query(QUESTION)), range(64)))
    assert all(essence(each.hits) == want for each in found)


def test_source_code_is_a_list_of_its_own(desk: DocMind) -> None:
    assert desk.documents.find("nests.py").kind == "code"
    found = desk.search(Query("nest height of a poplar", lists=("code",)))
    [hit] = found.hits
    assert (hit.document, hit.modality, hit.source) == ("nests.py", "code", "code")
    assert hit.text == CODE.decode().strip()
    both = desk.search(Query("nest height of a poplar", lists=("text", "code")))
    assert [origin.list for origin in both.hits[0].origins] == ["text", "code"]
    assert states(desk.search(Query("eggs", lists=("code",), filters=Filters(modalities=("text",)))))["code"] == "off"


def test_a_list_is_looked_at_as_far_down_as_its_limit(desk: DocMind) -> None:
    searches = asking(
        desk, VisualSearch(late=[("herons.pdf", 2, 9.0), ("lei.pdf", 1, 8.0)], image=[("lei.pdf", 1, 8.0)])
    )
    found = searches.search(Query(QUESTION, lists=("image", "visual"), limits={"image": 1, "visual": 1}))
    assert {report.list: report.count for report in found.lists} == {"image": 1, "visual": 1}
    assert len(found.hits) == 2


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"lists": ("pictures",)}, "lists[0] has a wrong value; expected: text | code | image | lookalike | visual."),
        ({"lists": ("lookalike",)}, "lists has a wrong value; expected: text | code | image | visual."),
        ({"limits": {"text": 0}}, "limits.text is 0; it must be 1 to 1,000."),
        ({"limits": {"lookalike": 2}}, "limits has a wrong value; expected: text | code | image | visual."),
        ({"merge": "best"}, "merge has a wrong value; expected: rrf | score | interleaved | grouped."),
        ({"rerank": "best"}, "rerank has a wrong value; expected: off | image | late."),
    ],
)
def test_what_there_is_not_is_refused_in_a_sentence(desk: DocMind, how: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        desk.search(Query(QUESTION, **how))
    assert str(caught.value) == sentence
    assert caught.value.hint


# pictures


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    """Three sheets of invented words, and a page of print that a picture can be read by."""
    reading = ReadingSettings(ocr="off", workers=1)
    pages = {f"sheet-{seed}.png": png(sheet(seed)) for seed in (1, 2, 3)}
    said = "\n".join(LINES).encode()
    with DocMind(settings_in(tmp_path_factory.mktemp("pictures"), reading=reading)) as mind:
        mind.add([*(Upload(name, data) for name, data in pages.items()), Upload("rules.txt", said), *DOCUMENTS[:2]])
        mind.lookalike.catch_up()
        yield mind


LINES = ["Internal rules of the harbour office", "Boats longer than twelve metres pay", "a berth fee of 48 crowns"]


def places(hits: Sequence[MultimodalHit]) -> list[tuple[str, int]]:
    return [(hit.document, hit.page_no) for hit in hits]


@pytest.mark.slow
def test_a_picture_without_reading_is_what_its_look_found(pictures: DocMind) -> None:
    shot = jpeg(sheet(2).crop((80, 300, 800, 900)))
    first: list[MultimodalResult] = []
    found = pictures.search(Query(picture=shot, read_picture=False), on_first=first.append)
    looked = pictures.lookalike.search(shot)
    assert [(hit.page_id, hit.score, hit.quad, hit.found) for hit in found.hits] == [
        (hit.page_id, hit.score, hit.quad, hit.found) for hit in looked.hits
    ]
    assert (found.found, found.is_final, found.picture_text, found.query) == (True, True, "", "")
    assert [(one.is_final, places(one.hits)) for one in first] == [(False, places(found.hits))]
    assert states(found) == {"lookalike": "ran", "text": "off", "image": "off"}


@pytest.mark.slow
def test_a_found_page_stays_first_whatever_words_and_models_say(pictures: DocMind) -> None:
    eyes = VisualSearch(image=[("herons.pdf", 1, 0.9), ("herons.pdf", 2, 0.1)])
    shot = jpeg(sheet(2).crop((80, 300, 800, 900)))
    for merge in ("rrf", "score", "interleaved", "grouped"):
        found = asking(pictures, eyes).search(Query("herons eggs", picture=shot, read_picture=False, merge=merge))
        assert places(found.hits)[0] == ("sheet-2.png", 1)
        assert found.hits[0].found is True
        assert not any(hit.found for hit in found.hits[1:])
        assert {"text", "image"} <= {origin.list for hit in found.hits for origin in hit.origins}
    assert eyes.asked == [shot] * 4


@pytest.mark.slow
def test_reranking_comes_last_and_keeps_a_found_page_first(pictures: DocMind) -> None:
    eyes, first = VisualSearch(image=[], late=[]), list[MultimodalResult]()
    searches = asking(pictures, eyes)
    shot = jpeg(sheet(2).crop((80, 300, 800, 900)))

    def look(rerank: Rerank) -> MultimodalResult:
        return searches.search(
            Query("herons eggs", picture=shot, read_picture=False, rerank=rerank), on_first=first.append
        )

    plain, seen, read = look("off"), look("image"), look("late")
    assert [each for each in eyes.asked if isinstance(each, tuple)] == [("image", None), ("late", "herons eggs")]
    assert places(seen.hits)[0] == places(plain.hits)[0] == ("sheet-2.png", 1)
    assert places(read.hits) != places(plain.hits)
    assert sorted(places(seen.hits)) == sorted(places(read.hits)) == sorted(places(plain.hits))
    assert [places(each.hits) for each in first] == [places(plain.hits)] * 3
    assert ["rerank" in dict(each.timings_ms) for each in (plain, seen, read)] == [False, True, True]


@pytest.mark.slow
def test_pages_that_only_came_nearest_follow_words_and_have_no_outline(pictures: DocMind) -> None:
    stranger = jpeg(sheet(9))
    nearest = pictures.search(Query(picture=stranger, read_picture=False))
    assert nearest.hits
    assert not nearest.found
    found = pictures.search(Query("berth fee for boats", picture=stranger, read_picture=False))
    assert places(found.hits)[0] == ("rules.txt", 1)
    assert {*places(nearest.hits)[:3]} <= {*places(found.hits)[:6]}
    assert any(hit.quad for hit in pictures.lookalike.search(stranger).hits)
    assert not any(hit.quad for hit in (*nearest.hits, *found.hits))


@pytest.mark.slow
def test_where_nothing_reads_it_is_said_and_the_look_stands(pictures: DocMind) -> None:
    found = pictures.search(Query(picture=jpeg(sheet(9))))
    assert not found.found
    [degraded] = found.degraded
    assert (degraded.stage, "switched off" in degraded.reason) == ("ocr", True)
    assert found.is_final


@pytest.mark.slow
def test_a_sure_match_needs_no_words(pictures: DocMind) -> None:
    found = pictures.search(Query(picture=jpeg(sheet(1))))
    assert places(found.hits)[0] == ("sheet-1.png", 1)
    assert (found.found, found.is_final, found.picture_text, found.degraded) == (True, True, "", ())
    assert states(found)["text"] == "off"


@pytest.mark.slow
def test_words_on_a_picture_find_a_page_of_another_look(pictures: DocMind) -> None:
    """The picture shows the words in another shape, rotated: image matching finds nothing, the read words do."""
    words = " ".join(LINES).split()
    shot = png(print_of([" ".join(words[at : at + 3]) for at in range(0, len(words), 3)]).rotate(90, expand=True))
    searches = asking(pictures, reading=ReadingSettings(workers=1))
    first: list[MultimodalResult] = []
    try:
        found = searches.search(Query(picture=shot), on_first=first.append)
    finally:
        searches.close()
    assert (found.found, places(found.hits)[0]) == (False, ("rules.txt", 1))
    assert "twelve metres" in found.picture_text
    assert found.hits[0].found is False
    assert states(found)["text"] == "ran"
    assert [(one.is_final, one.picture_text) for one in first] == [(False, "")]


@pytest.mark.slow
def test_stray_letters_read_on_a_picture_are_no_words(pictures: DocMind) -> None:
    shot = png(print_of(["a b"]))
    searches = asking(pictures, reading=ReadingSettings(workers=1))
    try:
        found = searches.search(Query(picture=shot))
    finally:
        searches.close()
    assert found.picture_text == "a b"
    assert states(found)["text"] == "empty"
    assert places(found.hits) == places(pictures.search(Query(picture=shot, read_picture=False)).hits)


@pytest.mark.slow
def test_what_ends_the_wait_ends_the_search(pictures: DocMind) -> None:
    def stop(_: MultimodalResult) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pictures.search(Query(picture=jpeg(sheet(1))), on_first=stop)


@pytest.mark.slow
def test_what_is_no_picture_is_refused(pictures: DocMind) -> None:
    with pytest.raises(UnsupportedFileError, match="notes is not a picture"):
        pictures.search(Query(picture=b"only words", picture_name="notes"))
    with pytest.raises(CorruptFileError):
        pictures.search(Query(picture=jpeg(sheet(1))[:300]))
