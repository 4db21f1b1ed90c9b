"""Figures of documents: kept beside their pages, found by their words and their look, and gone with their document."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from desks import opened, settings_in
from docmind.application import DocMind
from docmind.errors import NotFoundError
from docmind.records.documents import Box, FigureSize, Upload
from docmind.records.query import Query
from docmind.records.search import Filters
from figured import ALT, CAPTION, NAME, SHOWN, drawing, handbook, photos
from libraries import Library

LIBRARY = Library("figures", [handbook()])
ASKED = "Show the figure about the wiring of the boiler"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[DocMind]:
    with LIBRARY.opened(tmp_path) as desk:
        yield desk


def doc_id_of(desk: DocMind) -> str:
    return desk.documents.find(NAME).doc_id


def rows(desk: DocMind) -> int:
    found = desk.vault.database.one("SELECT count(*) FROM figures")
    assert found is not None
    return found[0]


@pytest.mark.slow
def test_figures_have_their_words_their_place_and_their_picture(desk: DocMind) -> None:
    first, second = desk.documents.figures(doc_id_of(desk))
    assert (first.page_no, first.number, first.caption, first.label) == (1, 1, CAPTION, CAPTION)
    assert (second.page_no, second.number, second.alt, second.label) == (2, 1, ALT, ALT)
    for figure in (first, second):
        page = desk.documents.page(figure.doc_id, figure.page_no)
        assert page.text[figure.start : figure.end] == figure.label
        assert 0 < figure.box.x + figure.box.w <= page.width
        assert 0 < figure.box.y + figure.box.h <= page.height
        assert (figure.width, figure.height) == (640, 400)
        assert re.fullmatch("[0-9a-f]{16}", figure.phash)
        picture = Image.open(io.BytesIO(desk.documents.figure_image(figure.doc_id, figure.page_no, figure.number)))
        assert (picture.format, picture.size) == ("WEBP", (640, 400))


@pytest.mark.slow
def test_a_page_that_is_laid_out_is_drawn_with_its_figures(desk: DocMind) -> None:
    figure = desk.documents.figures(doc_id_of(desk))[0]
    page = desk.documents.page(figure.doc_id, 1)
    drawn = Image.open(io.BytesIO(desk.documents.page_image(figure.doc_id, 1))).convert("RGB")
    assert drawn.size == (page.width, page.height)
    x, y, w, h = figure.box
    red, green, blue = drawn.getpixel((round(x + w / 2), round(y + h / 2)))  # type: ignore[misc]
    assert red > 200 > blue
    assert green > 150


def test_a_figure_that_is_asked_for_is_found_by_its_words(desk: DocMind) -> None:
    hit = desk.search(Query(ASKED)).hits[0]
    figure = desk.documents.figures(doc_id_of(desk))[0]
    assert (hit.modality, hit.figure, hit.page_no, hit.text) == ("image_caption", 1, 1, CAPTION)
    assert hit.boxes[0] == figure.box
    words = Box.around(hit.boxes[1:])
    assert words is not None
    assert words.y >= figure.box.y + figure.box.h - 2  # the caption below it


def test_a_question_that_asks_for_no_figure_is_answered_by_its_page(desk: DocMind) -> None:
    hits = desk.search(Query("When is the boiler of the house checked before the heating season?")).hits
    assert (hits[0].modality, hits[0].figure) == ("text", 0)
    assert [hit.page_no for hit in hits].count(1) == 1


def test_only_figures_are_found_where_only_they_are_asked_for(desk: DocMind) -> None:
    hits = desk.search(Query("the hive in winter", filters=Filters(modalities=("image_caption",)))).hits
    assert {(hit.modality, hit.page_no) for hit in hits} == {("image_caption", 1), ("image_caption", 2)}


PHOTOS = Library("figures of three sizes", [photos()])


@pytest.mark.slow
def test_figures_of_a_size_are_found_where_it_is_asked_for(tmp_path: Path) -> None:
    with PHOTOS.opened(tmp_path) as desk:
        doc_id = desk.documents.all()[0].doc_id
        assert [one.size_name for one in desk.documents.figures(doc_id)] == ["small", "medium", "large"]

        def found(asked: str, *sizes: FigureSize, **more: Any) -> set[str]:
            filters = Filters(figure_sizes=sizes, **more)
            return {one.text.split()[1] for one in desk.search(Query(asked, filters=filters, dedup_key="node_id")).hits}

        assert found("the boiler", "small", "large") == {"valve", "pump"}
        assert found("the boiler", "large") == found("the valve", "large") == {"pump"}
        assert found("the boiler", "small") == {"valve"}
        assert found("the boiler", figure_kinds=("photo",)) == {"pump"}
        assert found("the boiler", figure_kinds=("graphic",)) == {"valve", "boiler"}
        assert found("the boiler", "small", "large", figure_kinds=("graphic", "drawing")) == {"valve"}
        assert found("the boiler", figure_kinds=("drawing",)) == set()
        assert found("the boiler", "large", kinds=("pdf",)) == set()
        assert found("the boiler", "large", languages=("pt",)) == set()
        desk.lookalike.catch_up()
        seen = Query(picture=drawing(*SHOWN[2]), read_picture=False, filters=Filters(figure_sizes=("large",)))
        assert [one.text for one in desk.search(seen).hits] == ["The pump of the boiler"]
        assert not desk.search(replace(seen, filters=Filters(figure_sizes=("small",)))).hits


@pytest.mark.slow
def test_a_picture_of_a_figure_finds_the_figure_where_only_figures_are_asked_for(desk: DocMind) -> None:
    desk.lookalike.catch_up()
    seen = Query(picture=drawing("lightgreen", "hive"), read_picture=False)
    hits = desk.search(replace(seen, filters=Filters(modalities=("image_caption",)))).hits
    assert (hits[0].page_no, hits[0].figure, hits[0].modality) == (2, 1, "image_caption")
    assert all(hit.figure for hit in hits)


@pytest.mark.slow
def test_a_picture_of_a_figure_finds_the_figure(desk: DocMind) -> None:
    desk.lookalike.catch_up()
    found = desk.search(Query(picture=drawing("lightgreen", "hive"), read_picture=False))
    assert found.found
    assert (found.hits[0].page_no, found.hits[0].figure, found.hits[0].text) == (2, 1, ALT)


def test_an_unknown_figure_is_named_in_the_error(desk: DocMind) -> None:
    with pytest.raises(NotFoundError, match="Page 1 has no figure 7"):
        desk.documents.figure_image(doc_id_of(desk), 1, 7)


def test_an_erased_document_leaves_no_figure(desk: DocMind) -> None:
    doc_id = doc_id_of(desk)
    images = [figure.image for figure in desk.documents.figures(doc_id)]
    assert all(map(desk.vault.artifacts.exists, images))
    (receipt,) = desk.erasures.erase([doc_id])
    assert receipt.is_clean
    assert dict(receipt.erased)["figures"] == 2
    assert rows(desk) == 0
    assert not any(map(desk.vault.artifacts.exists, images))
    with pytest.raises(NotFoundError):
        desk.documents.figures(doc_id)


@pytest.mark.slow
def test_reading_again_keeps_figures_and_their_passages(desk: DocMind) -> None:
    doc_id = doc_id_of(desk)
    before, nodes = desk.documents.figures(doc_id), desk.vault.nodes.nodes_of(doc_id)
    assert [node.modality for node in nodes].count("image_caption") == 2
    with desk.vault.database.transaction() as db:
        db.execute("DELETE FROM nodes WHERE doc_id = ?", (doc_id,))
    desk.doctor.repair("full")
    assert desk.documents.figures(doc_id) == before
    assert desk.vault.nodes.nodes_of(doc_id) == nodes


@pytest.mark.slow
def test_the_check_of_the_library_knows_figures_and_brings_a_lost_one_back(desk: DocMind) -> None:
    assert not [one.kind for one in desk.doctor.examine("deep").findings if not one.is_pending]
    figure = desk.documents.figures(doc_id_of(desk))[1]
    shown = desk.documents.figure_image(figure.doc_id, figure.page_no, figure.number)
    desk.vault.artifacts.remove([figure.image])
    assert ("image-lost", 2) in [(one.kind, one.page_no) for one in desk.doctor.examine("quick").findings]
    desk.doctor.repair("quick")
    assert desk.documents.figure_image(figure.doc_id, figure.page_no, figure.number) == shown


def test_figures_come_back_from_a_snapshot(desk: DocMind) -> None:
    before = desk.documents.figures(doc_id_of(desk))
    taken = desk.snapshots.create("with figures")
    desk.erasures.erase([doc_id_of(desk)])
    assert rows(desk) == 0
    desk.snapshots.activate(taken.snapshot_id)
    assert desk.documents.figures(doc_id_of(desk)) == before
    assert desk.documents.figure_image(before[0].doc_id, 1, 1)[8:12] == b"WEBP"
    assert desk.search(Query(ASKED)).hits[0].figure == 1


def test_figures_are_carried_in_a_bundle(desk: DocMind, tmp_path: Path) -> None:
    desk.bundles.write(tmp_path / "library.docmind", "a long passphrase", lambda done, total: None)
    before = desk.documents.figures(doc_id_of(desk))
    with DocMind(settings_in(tmp_path / "other")) as other:
        other.bundles.read(tmp_path / "library.docmind", "a long passphrase", lambda done, total: None)
        after = other.documents.figures(doc_id_of(other))
        assert [(one.label, one.box, one.phash) for one in after] == [(one.label, one.box, one.phash) for one in before]
        assert after[0].image != before[0].image  # the ids are keyed
        assert other.documents.figure_image(after[0].doc_id, 1, 1) == desk.documents.figure_image(
            before[0].doc_id, 1, 1
        )


@pytest.mark.slow
def test_a_document_without_pictures_has_no_figures(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        desk.add([Upload("plain.txt", b"The boiler is checked every autumn.")])
        assert desk.documents.figures(desk.documents.find("plain.txt").doc_id) == ()
