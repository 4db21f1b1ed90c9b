"""Late interaction on a Qdrant server: what it is sent, what it finds, and what happens where it cannot."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from docmind.application import DocMind
from docmind.config import QdrantSettings
from docmind.embedding.base import PagePatches
from docmind.errors import IndexEngineError
from docmind.index.engine import Point, VectorQuery
from docmind.index.server import ServerIndex
from docmind.late_interaction.store import EXACT_PAGES
from docmind.records.models import Description
from docmind.records.search import Filters, PageHits
from docmind.search.server_late_interaction import FROM_PAGES
from index.points import id_of
from libraries import Library
from looking import album, looking_in
from multivectors import BLIND, MODEL, Coherent, Shown, patches

FEW = 2  # pages above which these tests ask the server
VECTORS = ("colpali_rows", "colpali_cols", "colpali")


class Lasting(QdrantClient):
    """A server in memory that survives reopening of the vault, and records its requests."""

    prefetched: list[list[str]]
    written: list[tuple[str, int]]

    def close(self, *_args: object, **_more: object) -> None:
        """Leave the server as it is: only the connection is closed."""

    def query_batch_points(self, *args: Any, **more: Any) -> Any:
        self.prefetched += [[first.using for first in request.prefetch or []] for request in args[1]]
        return super().query_batch_points(*args, **more)

    def upsert(self, *args: Any, **more: Any) -> Any:
        self.written += [(args[0].partition("-")[0], len(args[1]))]
        return super().upsert(*args, **more)


Open = Callable[..., DocMind]


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Lasting:
    client = Lasting(":memory:")
    client.prefetched, client.written = [], []
    monkeypatch.setattr("docmind.index.server._client", lambda *_: client)
    monkeypatch.setattr("docmind.search.server_late_interaction.FROM_PAGES", FEW)
    return client


@pytest.fixture
def opened(tmp_path: Path, client: Lasting) -> Iterator[Open]:
    """Return a function that opens the vault with its index on that server; a second call is a restart."""
    desks: list[DocMind] = []

    def open_it(*, multivectors: bool = True) -> DocMind:
        for docmind in desks:
            docmind.close()
        server = QdrantSettings(url="http://127.0.0.1:6333", multivectors=multivectors)
        settings = looking_in(tmp_path).model_copy(update={"qdrant": server})
        desks.append(DocMind(settings))
        return desks[-1]

    yield open_it
    for docmind in desks:
        docmind.close()


ALBUMS = [album("warm", "red", "blue"), album("cold", "blue", "green", tags=("winter",))]


@pytest.fixture
def docmind(tmp_path: Path, opened: Open) -> DocMind:
    """Four pages of three colours, all embedded by the late model."""
    Library("warm and cold albums", ALBUMS, settings=looking_in).copy_to(tmp_path)
    docmind = opened()
    assert docmind.visual.embed("fake-late").pages_added == 4
    return docmind


def held(docmind: DocMind) -> list[int]:
    index = docmind.index.started().index
    return [index.count("pages", having=name) for name in VECTORS]


def ranked(found: PageHits) -> list[tuple[str, int, float]]:
    return [(hit.document, hit.page_no, round(hit.score, 2)) for hit in found.hits]


def here(docmind: DocMind, question: str) -> list[tuple[str, int, float]]:
    """Return the results of this machine."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(docmind.page_search._server, "is_for", lambda _: False)
        return ranked(docmind.page_search.search_late(question))


def test_the_limit_is_that_of_exact_scoring() -> None:
    assert FROM_PAGES == EXACT_PAGES


@pytest.mark.slow
def test_a_server_finds_what_this_machine_finds(docmind: DocMind, client: Lasting) -> None:
    assert held(docmind) == [4, 4, 4]
    found = docmind.page_search.search_late("red or blue", k=5)
    assert client.prefetched == [["colpali_rows", "colpali_cols"]]
    assert found.degraded == ()
    assert sorted(ranked(found)) == sorted(here(docmind, "red or blue"))
    assert [hit.rank for hit in found.hits] == [1, 2, 3, 4]
    assert len(docmind.page_search.search_late("red or blue", k=1).hits) == 1
    docmind.page_search.search_late("blue", filters=Filters(tags=("winter",)))  # two pages: few enough for here
    assert len(client.prefetched) == 2


@pytest.mark.slow
def test_the_server_gets_and_serves_them_only_where_wanted(docmind: DocMind, opened: Open, client: Lasting) -> None:
    found = ranked(docmind.page_search.search_late("red or blue"))
    asked = len(client.prefetched)
    docmind = opened(multivectors=False)
    of_files = docmind.page_search.search_late("red or blue")
    assert of_files.degraded == ()
    assert sorted(ranked(of_files)) == sorted(found)
    docmind.reindex()
    assert held(docmind) == [0, 0, 0]
    docmind = opened()
    assert docmind.page_search.search_late("red or blue").degraded, "the server has nothing yet"
    assert len(client.prefetched) == asked
    docmind.reindex()
    assert held(docmind) == [4, 4, 4]
    assert sorted(ranked(docmind.page_search.search_late("red or blue"))) == sorted(found)


@pytest.mark.slow
def test_a_page_that_is_seen_is_written_alone(docmind: DocMind, client: Lasting) -> None:
    client.written.clear()
    docmind.visual.embed("fake-late", force=True)
    assert client.written == [("pages", 1)] * 4
    docmind.index.ready().mirror.commit()
    assert len(client.written) == 4, "and is in the index with that"


@pytest.mark.slow
def test_filters_narrow_what_is_asked_of_a_server(docmind: DocMind, client: Lasting) -> None:
    docmind.add([album("snow", "white", "blue", "black", tags=("winter",))])
    docmind.visual.embed("fake-late")
    client.prefetched.clear()
    found = docmind.page_search.search_late("red", filters=Filters(tags=("winter",)))
    assert len(client.prefetched) == 1
    assert sorted({hit.document for hit in found.hits}) == ["cold.tiff", "snow.tiff"]
    assert len(found.hits) == 5
    assert docmind.page_search.search_late("red", filters=Filters(modalities=("code",))).hits == ()


@pytest.mark.slow
def test_what_is_sent_is_what_is_kept(docmind: DocMind, client: Lasting) -> None:
    image = docmind.vault.catalog.page(docmind.documents.find("warm.tiff").doc_id, 1).image.sha256
    late = docmind.visual.late_store.pages()
    (model,) = late.fingerprints()
    (point,) = [
        one
        for one in client.scroll("pages", with_vectors=True, limit=10)[0]
        if one.payload and one.payload["image_artifact_id"] == image
    ]
    assert isinstance(point.vector, dict)
    for name, wanted in zip(VECTORS, (*late.pooled(model, image), late.originals(model, image)), strict=True):
        assert np.array(point.vector[name]) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.slow
def test_vectors_follow_their_pages(docmind: DocMind, opened: Open) -> None:
    docmind.visual.embed("fake-image")  # writes the same points again
    assert held(docmind) == [4, 4, 4]
    docmind.erasures.erase([docmind.documents.find("cold.tiff").doc_id])
    assert held(docmind) == [2, 2, 2]
    docmind.reindex()
    assert held(docmind) == [2, 2, 2]
    docmind.add([album("snow", "white", "black")])
    found = docmind.page_search.search_late("white")
    assert (len(found.hits), found.degraded) == (2, ())  # what no model has seen is no vector that is lacking
    docmind = opened()
    docmind.visual.embed("fake-late", force=True)
    assert held(docmind) == [4, 4, 4]
    assert ranked(docmind.page_search.search_late("white"))[0][:2] == ("snow.tiff", 1)


@pytest.mark.slow
def test_a_stored_page_not_yet_sent_is_sent_at_the_next_start(
    docmind: DocMind, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends after the vectors were stored, before the index has them."""
    docmind.add([album("snow", "white")])
    keep = docmind.visual.late_store.pages().put

    def keep_and_die(fingerprint: str, image: str, made: PagePatches) -> None:
        keep(fingerprint, image, made)
        raise KeyboardInterrupt

    monkeypatch.setattr(docmind.visual.late_store.pages(), "put", keep_and_die)
    with pytest.raises(KeyboardInterrupt):
        docmind.visual.embed("fake-late")
    assert held(docmind) == [4, 4, 4]
    found = docmind.page_search.search_late("white")
    assert ranked(found)[0][:2] == ("snow.tiff", 1)
    assert "lacks the vectors of 1 pages" in found.degraded[0].reason
    monkeypatch.setattr(docmind.index.started().mirror, "commit", lambda **_: None)
    docmind = opened()
    found = docmind.page_search.search_late("white")
    assert (ranked(found)[0][:2], found.degraded) == (("snow.tiff", 1), ())
    assert held(docmind) == [5, 5, 5]


@pytest.mark.slow
def test_a_switch_of_models_writes_the_vectors_of_the_new_one(docmind: DocMind) -> None:
    """Nothing is sent beside the old ones; with the switch all are, and the old model's vectors are dropped."""
    embedding, late = docmind.visual.by_kind["late"], docmind.visual.late_store
    old, source = embedding.serving.now().fingerprint, np.random.default_rng(1)
    other = Description("other-late", "late", "", None, "present", 128, "fake-late", fingerprint="other:1")
    for place in embedding.pages.asked():
        late.put(other.fingerprint, {place.image: patches(source, dim=128)}, lambda: None)
    mirror = docmind.index.ready().mirror
    assert mirror.late_model() == old
    assert docmind.page_search.search_late("red").degraded == ()
    embedding.serving.switch(other)
    assert mirror.late_model() == old  # until the index has come to it
    embedding.settle(lambda: None)
    assert mirror.late_model() == other.fingerprint
    assert late.counts() == {other.fingerprint: 3}
    assert held(docmind) == [4, 4, 4]
    server = docmind.page_search._server
    query = patches(source, dim=128).vectors
    found = server.search(other, late, query, 4, Filters(), 4, [])
    assert found is not None
    wanted = dict(late.pages().search(other.fingerprint, query, 4))
    images = {place: docmind.vault.catalog.page(*place).image.sha256 for place, _ in found}
    assert {images[place]: score for place, score in found} == pytest.approx(wanted, abs=0.05)


@pytest.mark.slow
def test_removed_files_leave_no_vectors_to_the_next_model(docmind: DocMind) -> None:
    embedding = docmind.visual.by_kind["late"]
    docmind.visual.late_store.drop(embedding.serving.now().fingerprint)
    embedding.serving.adopt(Description("other", "late", "", None, "present", 128, "fake-late", fingerprint="other:1"))
    assert docmind.index.ready().mirror.late_model() == ""
    embedding.store.finish()
    assert (held(docmind), docmind.index.ready().mirror.late_model()) == ([0, 0, 0], "other:1")


@pytest.mark.slow
def test_this_machine_answers_where_the_server_cannot(
    docmind: DocMind, opened: Open, client: Lasting, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = here(docmind, "red or blue")
    everything = models.Filter(must=[])
    client.delete_vectors("pages", ["colpali"], everything)
    docmind = opened()
    lacking = docmind.page_search.search_late("red or blue")
    assert ranked(lacking) == wanted
    assert [part.stage for part in lacking.degraded] == ["visual"]
    assert "lacks the vectors of 4 pages: `docmind reindex`" in lacking.degraded[0].reason
    docmind.reindex()
    assert docmind.page_search.search_late("red or blue").degraded == ()

    def fail(*_args: object) -> None:
        raise IndexEngineError("The Qdrant server did not do what was asked: refused")

    monkeypatch.setattr(ServerIndex, "search", fail)
    failed = docmind.page_search.search_late("red or blue")
    assert ranked(failed) == wanted
    reason = "The Qdrant server did not do what was asked: refused Pages were scored on this computer."
    assert failed.degraded[0].reason == reason


@pytest.mark.slow
def test_vectors_of_another_length_stay_here_and_are_named(docmind: DocMind) -> None:
    embedding, late, source = docmind.visual.by_kind["late"], docmind.visual.late_store, np.random.default_rng(1)
    small = Description("small-late", "late", "", None, "present", 64, "fake-late", fingerprint="small:1")
    for place in embedding.pages.asked():
        late.put(small.fingerprint, {place.image: patches(source, dim=64)}, lambda: None)
    embedding.serving.switch(small)
    embedding.settle(lambda: None)
    assert held(docmind) == [0, 0, 0]
    late.put(small.fingerprint, {embedding.pages.asked()[0].image: patches(source, dim=64)}, lambda: None)
    assert held(docmind) == [0, 0, 0]
    told: list = []
    query = patches(source, dim=64).vectors
    assert docmind.page_search._server.search(small, late, query, 4, Filters(), 4, told) is None
    assert "takes vectors of 128 numbers; those of small-late have 64." in told[0].reason


@pytest.mark.slow
def test_the_embedded_index_hears_nothing_of_multivectors(tmp_path: Path) -> None:
    with DocMind(looking_in(tmp_path)) as docmind:
        docmind.add([album("warm", "red", "blue", "green")])
        before = docmind.vault.catalog.epoch()
        docmind.visual.embed("fake-late")
        assert docmind.vault.catalog.epoch() == before
        assert docmind.index.started().index.count("pages", having="colpali_rows") == 0
        assert not docmind.page_search._server.is_for(10**6)
        embedding = docmind.visual.by_kind["late"]
        embedding.serving.switch(
            Description("other", "late", "", None, "present", 128, "fake-late", fingerprint="other:1")
        )
        embedding.settle(lambda: None)
        status = docmind.status()
        assert status.index_epoch == status.vault_epoch > before


@pytest.mark.slow
def test_a_tenth_of_the_pages_by_means_holds_nearly_all_best(tmp_path: Path) -> None:
    """Compared with exact scores of every page: 200 coherent pages, 20 questions."""
    corpus, shown, index = Coherent(), Shown(tmp_path), ServerIndex(QdrantClient(":memory:"), 4)
    images = [f"{number:064x}" for number in range(200)]
    shown.show(images)
    shown.late.put_many(MODEL, {image: corpus.page(number)[0] for number, image in enumerate(images)})
    index.rebuild("model-1")
    payload = {"page_no": 1, "page_id": "d::page::1", "modality": "pdf_page_image"}
    points = []
    for image in images:
        rows, cols = shown.late.pooled(MODEL, image)
        vectors = {"colpali_rows": rows, "colpali_cols": cols, "colpali": shown.late.originals(MODEL, image)}
        points.append(Point(id_of(image), vectors, {"doc_id": "d", "image_artifact_id": image, **payload}))
    index.upsert("pages", points)
    asked = VectorQuery("pages", "colpali", np.zeros((1, 128)), 10, prefetch=("colpali_rows", "colpali_cols"), depth=20)
    questions = [corpus.question(number, number * 9) for number in range(20)]
    lists = index.search([dataclasses.replace(asked, vector=BLIND.dense(question)) for question in questions])
    recalls, firsts = [], 0
    for question, found in zip(questions, lists, strict=True):
        exact = dict(shown.late.search(MODEL, question, 10))
        got = {str(one.payload["image_artifact_id"]): one.score for one in found}
        recalls.append(len(exact.keys() & got.keys()) / 10)
        firsts += next(iter(exact)) == next(iter(got))
        assert all(score == pytest.approx(exact[image], abs=0.05) for image, score in got.items() if image in exact)
    assert np.mean(recalls) >= 0.88, np.mean(recalls)
    assert firsts == 20
    index.close()
    shown.close()
