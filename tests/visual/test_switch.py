"""A switch to another model, during which files may disappear; the checkpoints are tiny and real."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from docmind.application import DocMind
from docmind.errors import ConfigError, DocMindError, IndexEngineError, IndexMismatchError, VisualModelError
from docmind.index.edge import EdgeIndex
from docmind.records.query import Query
from docmind.records.search import PageHits
from libraries import Library
from looking import album, coloured, looking, looking_in
from tinymodels import tiny_siglip, tiny_siglip2

AUTO = {"image_model": "auto", "late_model": "off", "device": "cpu", "precision": "float32"}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models of one kind, under known names."""
    folder = tmp_path_factory.mktemp("models")
    tiny_siglip(folder / "siglip")
    tiny_siglip2(folder / "siglip2")
    return folder


@pytest.fixture
def folder(tmp_path: Path, checkpoints: Path) -> Path:
    """Make a vault whose models folder holds the first of them, and three pages that it has embedded."""
    shutil.copytree(checkpoints / "siglip", tmp_path / "models" / "siglip")
    albums = [album("warm", "red", "brown"), album("cold", "blue")]
    Library("brown and cold albums", albums, settings=looking_in).copy_to(tmp_path)
    return tmp_path


def nearest(found: PageHits) -> tuple[str, int, float]:
    hit = found.hits[0]
    return hit.document, hit.page_no, round(hit.score, 2)


def fingerprints(docmind: DocMind) -> set[str]:
    return {name for (name,) in docmind.vault.database.all("SELECT DISTINCT fingerprint FROM page_vectors")}


@pytest.mark.slow
def test_from_one_model_to_another_and_to_none(folder: Path, checkpoints: Path) -> None:
    with looking(folder, **AUTO) as docmind:
        visual = docmind.visual
        assert visual.is_on("image")  # it is here, and nobody has said no
        assert visual.embed("siglip").pages_added == 3
        assert nearest(docmind.page_search.search_images(picture=coloured("brown"))) == ("warm.tiff", 2, 1.0)
        assert len(docmind.page_search.search_images("the total revenue").hits) == 3
        (old,) = fingerprints(docmind)

        shutil.copytree(checkpoints / "siglip2", folder / "models" / "siglip2")
        new = visual.enable("siglip2").fingerprint
        with pytest.raises(IndexMismatchError) as mismatch:
            docmind.page_search.search_images("table")
        assert old in str(mismatch.value)
        assert new in str(mismatch.value)
        assert "docmind embed --model siglip2" in mismatch.value.hint
        assert "docmind embed --model siglip2" in [part.hint for part in visual.capabilities()]

        warm = docmind.documents.find("warm.tiff").doc_id
        assert visual.embed("siglip2", [warm]).pages_added == 2
        beside = docmind.page_search.search_images(picture=coloured("brown"))
        assert nearest(beside) == ("warm.tiff", 2, 1.0)
        assert [part.stage for part in beside.degraded] == ["image"]
        assert "2 page images are prepared for siglip2; until all are, siglip is used" in beside.degraded[0].reason
        assert fingerprints(docmind) == {old, new}

        done = visual.embed("siglip2")
        assert (done.pages_added, done.pages_skipped) == (1, 2)
        after = docmind.page_search.search_images(picture=coloured("brown"))
        assert (nearest(after), after.degraded) == (("warm.tiff", 2, 1.0), ())
        assert len(after.hits) == 3
        assert fingerprints(docmind) == {new}

    with looking(folder, **AUTO) as docmind:
        visual = docmind.visual
        assert nearest(docmind.page_search.search_images(picture=coloured("blue"))) == ("cold.tiff", 1, 1.0)
        shutil.rmtree(folder / "models" / "siglip2")  # under the running vault
        assert visual.is_on("image")
        for _ in range(2):
            with pytest.raises(VisualModelError, match="siglip2 cannot be used"):
                docmind.page_search.search_images("table")
        told = next(part for part in docmind.status().capabilities if part.name == "image model")
        assert (told.state, told.hint) == ("missing", "Run: docmind models pull siglip2")
        assert docmind.search(Query("anything at all", lists=("text",))).degraded == ()
        shutil.copytree(checkpoints / "siglip2", folder / "models" / "siglip2")
        assert nearest(docmind.page_search.search_images(picture=coloured("blue"))) == ("cold.tiff", 1, 1.0)


class Dying(EdgeIndex):
    """The real engine, which fails at the last step of a switch."""

    def activate(self) -> None:
        raise IndexEngineError("The disk broke.")


@pytest.mark.slow
def test_a_switch_that_is_cut_off_is_finished_at_the_next_start(
    tmp_path: Path, checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every page has been embedded and the choice is stored, but the index still has the old vectors."""
    settings = {"image_model": "auto", "late_model": "off"}
    shutil.copytree(checkpoints / "siglip", tmp_path / "models" / "siglip")
    with looking(tmp_path, **settings) as docmind:
        docmind.add([album("warm", "red", "brown"), album("cold", "blue")])
        docmind.visual.enable("fake-image")
        docmind.visual.embed("fake-image")
        index, mirror = docmind.index.ready().index, docmind.index.ready().mirror
        monkeypatch.setattr(index, "__class__", Dying)
        with pytest.raises(IndexEngineError):
            docmind.visual.embed("siglip")
        monkeypatch.undo()
        (old,), (new,) = (
            {name for name in fingerprints(docmind) if name.startswith(kind)} for kind in ("fake", "siglip")
        )
        assert mirror.image_model() == old  # which answers until the index has come to the new vectors
        assert nearest(docmind.page_search.search_images("brown")) == ("warm.tiff", 2, 1.0)
        index.close()  # as a crash would
    with looking(tmp_path, **settings) as docmind:
        assert nearest(docmind.page_search.search_images(picture=coloured("blue"))) == ("cold.tiff", 1, 1.0)
        assert docmind.index.ready().mirror.image_model() == new
        assert docmind.visual.embed("siglip").pages_skipped == 3
        assert fingerprints(docmind) == {new}


@pytest.mark.slow
def test_a_model_failing_in_the_background_is_named_and_retried(folder: Path) -> None:
    weights = folder / "models" / "siglip" / "model.safetensors"
    whole = weights.read_bytes()
    with looking(folder, **AUTO) as docmind:
        docmind.visual.embed("siglip", [docmind.documents.find("cold.tiff").doc_id])
        weights.write_bytes(whole[: len(whole) // 2])
        with pytest.raises((VisualModelError, ConfigError)):
            docmind.visual.embed("siglip")
        docmind.visual.follow()
        told = next(part for part in docmind.visual.capabilities() if part.name == "image model")
        assert told.state == "missing"
        assert docmind.search(Query("anything", lists=("text",))).degraded == ()
        weights.write_bytes(whole)
        done = docmind.visual.embed("siglip")
        assert done.pages_added + done.pages_skipped == 3
        assert len(docmind.page_search.search_images("table").hits) == 3


def test_what_does_not_fit_is_refused_before_a_page_is_seen(tmp_path: Path, checkpoints: Path) -> None:
    with looking(tmp_path, **AUTO) as docmind:
        for name in (str(tmp_path), "siglip-384", str(checkpoints / "nowhere")):
            with pytest.raises(DocMindError):
                docmind.visual.embed(name)
    with looking(tmp_path, **{**AUTO, "late_model": str(checkpoints / "siglip")}) as docmind:
        with pytest.raises(ConfigError, match="isn't a model of the kind late"):
            docmind.page_search.search_late("red")
        assert [part.state for part in docmind.visual.capabilities()] == ["missing", "missing"]
