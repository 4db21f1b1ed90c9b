"""Figures found by their look: vectors of their pictures, made, searched, dropped and made again."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from desks import settings_in
from docmind.application import DocMind
from docmind.config import VisualSettings
from docmind.documents import FigureVectors
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters, Hit
from figured import drawing
from libraries import Library
from looking import coloured, looking_in, wait_for
from tinymodels import tiny_siglip

PROSE = "The gardens of the town are described here in some words that say nothing of what the pictures show."


def page(name: str, *colours: str, said: str = "") -> Upload:
    """Return a page with pictures of one colour each, large enough to be figures."""
    shown = "".join(
        f'<img src="data:image/png;base64,{base64.b64encode(coloured(one, (300, 240))).decode()}" alt="{said}">'
        for one in colours
    )
    return Upload(f"{name}.html", f"<h1>{name.title()}</h1><p>{PROSE}</p>{shown}<p>{PROSE}</p>".encode())


FILES = [page("roses", "red"), page("lawns", "green"), page("ponds", "blue", said="A pond"), page("notes")]
LIBRARY = Library("gardens with pictures", FILES, settings=looking_in)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[DocMind]:
    with LIBRARY.opened(tmp_path) as desk:
        desk.visual.embed("fake-image")
        yield desk


def rows(desk: DocMind) -> int:
    found = desk.vault.database.one("SELECT count(*) FROM figure_vectors")
    assert found is not None
    return found[0]


def only_figures(question: str, **more: object) -> Query:
    return Query(question, filters=Filters(modalities=("image_caption",), **more))  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_figure_without_a_word_is_found_by_a_question_in_words(desk: DocMind) -> None:
    found = desk.search(only_figures("red"))
    assert {(hit.figure, hit.modality) for hit in found.hits} == {(1, "image_caption")}
    red = next(hit for hit in found.hits if hit.document == "roses.html")
    assert red.rank < next(hit.rank for hit in found.hits if hit.document == "lawns.html")
    assert red.boxes == (desk.documents.figures(red.doc_id)[0].box,)
    assert {one.list: one.state for one in found.lists}["image"] == "ran"
    (hit,) = desk.page_search.search_images("show the figure with blue", k=1).hits
    assert isinstance(hit, Hit)
    assert (hit.document, hit.figure, hit.text) == ("ponds.html", 1, "A pond")
    plain = desk.page_search.search_images("blue").hits
    assert not any(isinstance(hit, Hit) for hit in plain), "a question that asks for no figure is answered by pages"


@pytest.mark.slow
def test_a_picture_finds_figures_that_look_like_it(desk: DocMind) -> None:
    hits = desk.page_search.search_images(picture=coloured("green", kind="JPEG")).hits
    assert isinstance(hits[0], Hit)
    assert (hits[0].document, hits[0].figure) == ("lawns.html", 1)
    assert hits[0].score == pytest.approx(1, abs=0.02)
    assert len({hit.page_id for hit in hits}) == len(hits) == 4
    assert [hit.rank for hit in hits] == [1, 2, 3, 4]
    merged = desk.search(Query(picture=coloured("green"), read_picture=False, lists=("image",)))
    assert (merged.hits[0].document, merged.hits[0].figure) == ("lawns.html", 1)


@pytest.mark.slow
def test_filters_hold_for_figures_found_by_their_look(desk: DocMind) -> None:
    ponds = desk.documents.find("ponds.html").doc_id
    assert [hit.document for hit in desk.search(only_figures("red", doc_ids=(ponds,))).hits] == ["ponds.html"]
    assert not desk.search(only_figures("red", figure_sizes=("large",))).hits
    assert desk.search(only_figures("red", figure_sizes=("small",))).hits
    text = Filters(modalities=("text",))
    assert not any(hit.figure for hit in desk.search(Query("red", filters=text)).hits)


@pytest.mark.slow
def test_vectors_go_with_their_figure_and_are_made_again(desk: DocMind) -> None:
    assert rows(desk) == 3
    roses = desk.documents.find("roses.html").doc_id
    desk.documents.bin([roses])
    assert not any(hit.doc_id == roses for hit in desk.search(only_figures("red")).hits)
    desk.erasures.erase([roses])
    assert rows(desk) == 2
    with desk.vault.database.transaction() as db:
        db.execute("DELETE FROM figure_vectors")
    desk.visual.embed("fake-image")
    assert rows(desk) == 2


@pytest.mark.slow
def test_new_documents_are_looked_at_in_the_background(tmp_path: Path) -> None:
    with LIBRARY.opened(tmp_path) as desk:
        desk.visual.follow()
        wait_for(lambda: rows(desk) == 3)
        desk.add([page("beds", "white")])
        desk.visual.wake()
        wait_for(lambda: rows(desk) == 4)


@pytest.mark.slow
def test_vectors_of_another_model_are_dropped(desk: DocMind) -> None:
    vectors = FigureVectors(desk.vault.database)
    image = desk.documents.figures(desk.documents.find("roses.html").doc_id)[0].image.sha256
    vectors.put("another", {image: np.ones(8, np.float32), "0" * 64: np.ones(8, np.float32)})
    assert vectors.all("another").images == [image]
    with pytest.raises(ValueError, match="one vector of finite numbers"):
        vectors.put("another", {image: np.array([np.nan])})
    assert len(vectors.missing("another")) == 2
    desk.visual.embed("fake-image")
    assert vectors.state("another") == (0, 0)


@pytest.mark.slow
def test_a_siglip_of_random_weights_looks_at_figures(tmp_path: Path) -> None:
    tiny_siglip(tmp_path / "models" / "siglip")
    settings = settings_in(tmp_path, visual=VisualSettings(models_dir=tmp_path / "models", image_model="siglip"))
    with DocMind(settings) as desk:
        seen = drawing("wheat", "pump")
        shown = f'<img src="data:image/png;base64,{base64.b64encode(seen).decode()}">'
        desk.add([Upload("pump.html", f"<h1>Pump</h1><p>{PROSE}</p>{shown}".encode()), page("roses", "red")])
        desk.visual.embed("siglip")
        hits = desk.page_search.search_images(picture=seen).hits
        assert isinstance(hits[0], Hit)
        assert (hits[0].document, hits[0].figure) == ("pump.html", 1)
        assert hits[0].score == pytest.approx(1, abs=0.01)
        assert desk.search(Query("which picture shows a pump?")).hits
