"""A vault with visual models: found by words, pictures and patches, filtered, deleted, measured."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from docmind.application import DocMind
from docmind.errors import ConfigError, NotFoundError, TooLargeError, VisualModelError
from docmind.records.documents import Upload
from docmind.records.search import Filters, PageHits
from docmind_testkit import COLOURS
from libraries import Library
from looking import album, coloured, looking, looking_in, wait_for


@pytest.fixture
def docmind(tmp_path: Path) -> Iterator[DocMind]:
    """Four pages of three colours: blue is on a page of both albums."""
    albums = [album("warm", "red", "blue"), album("cold", "blue", "green", tags=("winter",))]
    with Library("warm and cold albums", albums, settings=looking_in).opened(tmp_path) as docmind:
        yield docmind


def pages(found: PageHits) -> list[tuple[str, int]]:
    return [(hit.document, hit.page_no) for hit in found.hits]


def doc_of(docmind: DocMind, name: str) -> str:
    return docmind.documents.find(f"{name}.tiff").doc_id


@pytest.mark.slow
def test_words_and_pictures_find_pages(docmind: DocMind) -> None:
    done = docmind.visual.embed("fake-image")
    assert (done.pages_added, done.pages_skipped, done.pages_failed) == (4, 0, 0)  # the shared image counts twice
    found = docmind.page_search.search_images("  a red\n thing ")
    assert pages(found)[0] == ("warm.tiff", 1)
    assert [hit.rank for hit in found.hits] == [1, 2, 3, 4]
    assert found.hits[0].score > found.hits[1].score
    assert (found.hits[0].rank, found.degraded) == (1, ())
    assert {stage for stage, _ in found.timings_ms} >= {"embed", "search", "total"}
    alike = docmind.page_search.search_images(picture=coloured("blue", kind="JPEG"), k=2)
    assert sorted(pages(alike)) == [("cold.tiff", 1), ("warm.tiff", 2)]
    assert alike.hits[0].score == pytest.approx(1, abs=0.01)
    assert all(
        hit.page_width and hit.page_height and hit.page_id.endswith(f"::page::{hit.page_no}") for hit in alike.hits
    )


@pytest.mark.slow
def test_patches_find_pages_and_a_map_says_where(tmp_path: Path) -> None:
    half = Image.new("RGB", (320, 320), COLOURS["white"])
    half.paste(COLOURS["red"], (0, 160, 320, 320))
    packed = io.BytesIO()
    half.save(packed, "PNG")
    with looking(tmp_path) as docmind:
        docmind.add([Upload("half.png", packed.getvalue()), album("cold", "blue")])
        assert docmind.page_search.search_late("red").hits == ()
        half_id, cold_id = (docmind.documents.find(name).doc_id for name in ("half.png", "cold.tiff"))
        assert not docmind.page_search.has_heat(half_id, 1)
        with pytest.raises(NotFoundError, match="This page isn't prepared for"):
            docmind.page_search.heat_map("red", half_id, 1)
        assert docmind.visual.embed("fake-late", [half_id]).pages_added == 1
        found = docmind.page_search.search_late("red or white", k=5)
        assert [hit.document for hit in found.hits] == ["half.png"]
        assert found.hits[0].score > 1.5  # a sum over the words, unbounded
        heat = docmind.page_search.heat_map("red white", half_id, 1)
        values = np.frombuffer(heat.values, np.uint8).reshape(len(heat.tokens), heat.rows, heat.cols)
        assert heat.tokens == ("red", "white")
        assert (values[0, heat.rows // 2 :] == 255).all()
        assert (values[0, : heat.rows // 2] == 0).all()
        assert (values[1, : heat.rows // 2] == 255).all()
        assert docmind.page_search.has_heat(half_id, 1)
        assert not docmind.page_search.has_heat(cold_id, 1)
        assert not docmind.page_search.has_heat("nobody", 1)


@pytest.mark.slow
def test_filters_narrow_both_lists(docmind: DocMind) -> None:
    for name in ("fake-image", "fake-late"):
        docmind.visual.embed(name)
    for search in (docmind.page_search.search_images, docmind.page_search.search_late):
        cold = [("cold.tiff", 1), ("cold.tiff", 2)]
        assert sorted(pages(search("blue", filters=Filters(tags=("winter",))))) == cold
        assert sorted(pages(search("blue", filters=Filters(doc_ids=(doc_of(docmind, "cold"),))))) == cold
        assert search("blue", filters=Filters(tags=("summer",))).hits == ()
        assert search("blue", filters=Filters(languages=("pt",))).hits == ()
        assert search("blue", filters=Filters(modalities=("code",))).hits == ()
        assert len(search("blue", filters=Filters(modalities=("code", "pdf_page_image"))).hits) == 4
        assert len(search("blue", k=1).hits) == 1


@pytest.mark.slow
def test_what_is_asked_wrongly_is_one_sentence(docmind: DocMind) -> None:
    visual = docmind.visual
    visual.embed("fake-image")
    for ask in (
        lambda: docmind.page_search.search_images(" \n"),
        lambda: docmind.page_search.search_late(""),
        lambda: docmind.page_search.search_images(),
        lambda: docmind.page_search.search_images("red", picture=coloured("red")),
        lambda: docmind.page_search.search_images("red", k=0),
        lambda: visual.embed("no-such-model"),
        lambda: visual.enable("no-such-model"),
    ):
        with pytest.raises(ConfigError):
            ask()
    for picture in (b"", b"not a picture", coloured("red")[:-200], b"\x89PNG\r\n\x1a\n" + bytes(64)):
        with pytest.raises(VisualModelError):
            docmind.page_search.search_images(picture=picture)
    with pytest.raises(NotFoundError):
        visual.embed("fake-image", ["nobody"])
    with pytest.raises(NotFoundError):
        docmind.page_search.heat_map("red", "nobody", 1)
    assert pages(docmind.page_search.search_images("red"))[0] == ("warm.tiff", 1)


def test_a_picture_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    settings = looking_in(tmp_path)
    small = settings.model_copy(update={"reading": settings.reading.model_copy(update={"max_file_mb": 1})})
    with DocMind(small) as docmind, pytest.raises(TooLargeError):
        docmind.page_search.search_images(picture=bytes(2 << 20))


@pytest.mark.slow
def test_twice_is_once_and_force_is_again(docmind: DocMind) -> None:
    for name in ("fake-image", "fake-late"):
        assert docmind.visual.estimate(name) == (3, None)
        docmind.visual.embed(name)
        again = docmind.visual.embed(name)
        assert (again.pages_added, again.pages_skipped) == (0, 4)
        forced = docmind.visual.embed(name, [doc_of(docmind, "cold")], force=True)
        assert (forced.pages_added, forced.pages_skipped) == (2, 0)
        assert docmind.visual.estimate(name)[0] == 0
        assert (
            len(
                docmind.page_search.search_images("red").hits
                if name == "fake-image"
                else docmind.page_search.search_late("red").hits
            )
            == 4
        )


@pytest.mark.slow
def test_a_deleted_document_leaves_nothing(docmind: DocMind, tmp_path: Path) -> None:
    for name in ("fake-image", "fake-late"):
        docmind.visual.embed(name)
    late = tmp_path / "data" / "late"
    before = [path.read_bytes() for path in late.glob("*.i8")]
    assert any(any(data) for data in before)
    docmind.erasures.erase([doc_of(docmind, "warm")])
    assert sorted(pages(docmind.page_search.search_images("red"))) == [("cold.tiff", 1), ("cold.tiff", 2)]
    assert sorted(pages(docmind.page_search.search_late("red"))) == [("cold.tiff", 1), ("cold.tiff", 2)]
    docmind.erasures.erase([doc_of(docmind, "cold")])
    assert docmind.page_search.search_images("red").hits == ()
    assert not any(any(path.read_bytes()) for path in late.glob("*.i8"))
    database = docmind.vault.database
    assert database.all("SELECT * FROM page_vectors") == database.all("SELECT * FROM late_pages") == []


@pytest.mark.slow
def test_vectors_are_never_embedded_twice_for_the_index(tmp_path: Path) -> None:
    """A new index, or a new process, takes them from the vault."""
    with looking(tmp_path) as docmind:
        docmind.add([album("warm", "red", "green")])
        docmind.visual.embed("fake-image")
        before = docmind.page_search.search_images("green").hits
        docmind.reindex()
        assert docmind.page_search.search_images("green").hits == before
    with looking(tmp_path) as docmind:
        assert docmind.page_search.search_images("green").hits == before
        docmind.add([album("copy", "green")])  # its image has been seen already
        assert ("copy.tiff", 1) in pages(docmind.page_search.search_images("green"))[:2]
        assert docmind.visual.estimate("fake-image") == (0, None)


@pytest.mark.slow
def test_new_pages_are_seen_in_the_background(tmp_path: Path) -> None:
    with looking(tmp_path, late_model="off") as docmind:
        docmind.add([album("warm", "red")])
        assert docmind.page_search.search_images("red").hits == ()
        assert [part.stage for part in docmind.page_search.search_images("red").degraded] == ["image"]
        docmind.visual.follow()
        wait_for(lambda: docmind.page_search.search_images("red").hits)
        docmind.add([album("cold", "blue")])
        wait_for(lambda: ("cold.tiff", 1) in pages(docmind.page_search.search_images("blue"))[:1])
    assert not [thread for thread in threading.enumerate() if thread.name in ("visual", "embedding", "pull")]


@pytest.mark.slow
def test_late_interaction_waits_to_be_asked_unless_it_is_set(tmp_path: Path) -> None:
    with looking(tmp_path) as docmind:
        docmind.add([album("warm", "red")])
        docmind.visual.follow()
        wait_for(lambda: docmind.page_search.search_images("red").hits)
        assert docmind.page_search.search_late("red").hits == ()
    with looking(tmp_path, late_on_ingest=True) as docmind:
        docmind.visual.follow()
        wait_for(lambda: docmind.page_search.search_late("red").hits)


@pytest.mark.slow
def test_off_costs_nothing_and_says_so(tmp_path: Path) -> None:
    with looking(tmp_path, image_model="off", late_model="auto") as docmind:
        docmind.add([album("warm", "red")])
        docmind.visual.follow()
        visual = docmind.visual
        assert not visual.is_on("image")
        assert not visual.is_on("late")
        assert [part.state for part in visual.capabilities()] == ["off", "missing"]
        assert [part.hint for part in visual.capabilities()] == [
            "unset DOCMIND_VISUAL__IMAGE_MODEL",
            "docmind models pull colmodernvbert",
        ]
        for search in (docmind.page_search.search_images, docmind.page_search.search_late):
            with pytest.raises(ConfigError, match=r"No .* model is in use"):
                search("red")
        with pytest.raises(ConfigError, match="DOCMIND_VISUAL__IMAGE_MODEL is set to off"):
            visual.embed("fake-image")
        with pytest.raises(VisualModelError, match="siglip cannot be used"):
            visual.enable("siglip")
        assert not docmind.page_search.has_heat(docmind.documents.all()[0].doc_id, 1)
    assert not (tmp_path / "data" / "late").exists()


@pytest.mark.slow
def test_choices_are_kept(tmp_path: Path) -> None:
    with looking(tmp_path, image_model="auto", late_model="auto") as docmind:
        docmind.add([album("warm", "red")])
        assert not docmind.visual.is_on("image")
        card = docmind.visual.enable("fake-image")
        assert (card.in_use, card.pages, card.pages_total) == (True, 0, 1)
        docmind.visual.embed("fake-image")
        docmind.visual.disable("image")
        assert not docmind.visual.is_on("image")
    with looking(tmp_path, image_model="auto", late_model="auto") as docmind:
        assert not docmind.visual.is_on("image")
        docmind.visual.enable("fake-image")
        assert docmind.page_search.search_images("red").hits  # nothing had to be embedded again
    with (
        looking(tmp_path, image_model="off") as docmind,
        pytest.raises(ConfigError, match="is set to off, and decides"),
    ):
        docmind.visual.enable("fake-image")


@pytest.mark.slow
def test_measured_once_said_everywhere(docmind: DocMind) -> None:
    bench = docmind.visual.bench("fake-image", pages=2)
    assert (bench.pages, bench.device) == (2, "cpu")
    assert bench.seconds_per_page > 0
    pages_left, seconds = docmind.visual.estimate("fake-image")
    assert pages_left == 3
    assert seconds == pytest.approx(3 * bench.seconds_per_page)
    card = next(card for card in docmind.visual.models() if card.name == "fake-image")
    assert card.seconds_per_page == bench.seconds_per_page
    told = next(part for part in docmind.status().capabilities if part.name == "image model")
    assert (told.state, "s a page here" in told.detail) == ("present", True)
    assert docmind.visual.estimate("fake-late") == (3, None)


def test_an_empty_vault_is_measured_on_a_drawn_page(tmp_path: Path) -> None:
    with looking(tmp_path) as docmind:
        assert docmind.visual.bench("fake-late").pages == 1
        assert docmind.page_search.search_images("red").hits == ()
        assert docmind.visual.embed("fake-image").pages_added == 0


@pytest.mark.slow
def test_a_page_that_cannot_be_opened_fails_alone(docmind: DocMind, tmp_path: Path) -> None:
    """Its artifact is damaged; the others are embedded, and the counts report it."""
    image = docmind.vault.catalog.page(doc_of(docmind, "warm"), 1).image
    path = tmp_path / "data" / "artifacts" / image.file_name
    path.write_bytes(path.read_bytes()[:-1])
    done = docmind.visual.embed("fake-late")
    assert (done.pages_added, done.pages_skipped, done.pages_failed) == (3, 0, 1)
    docmind.visual.follow()  # neither spins on it
    wait_for(lambda: len(docmind.page_search.search_images("blue").hits) == 3)
    (left,) = docmind.page_search.search_images("blue").degraded
    assert left.reason == "1 of 3 page images aren't prepared yet"
