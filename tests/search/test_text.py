"""Questions to hits, on a real engine and small documents; the text model without weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from desks import opened, text_pdf
from docmind.application import DocMind
from docmind.config import EmbeddingSettings, RetrieveSettings
from docmind.embedding.base import QueryTokens
from docmind.embedding.registry import TEXT_MODELS
from docmind.errors import ConfigError, DamagedError, ExtraMissingError
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters
from docmind.search.text import TextSearch
from docmind_testkit import FakeEmbedder
from libraries import Library

HERONS = Upload(
    "herons.pdf", text_pdf(["Herons nest in tall poplar trees", "Their eggs are pale blue"]), tags=("birds",)
)
LAW = Upload(
    "lei_dados.pdf",
    text_pdf(["O controlador deve reparar o dano causado ao titular dos dados pessoais em qualquer tratamento"]),
    tags=("law",),
)
BREAD = Upload("bread.txt", b"Bake the rye bread slowly for ninety minutes.\n" * 3)
THREE = Library("herons, law, bread", [HERONS, LAW, BREAD])
HERONS_AND_BREAD = Library("herons and bread", [HERONS, BREAD])


@pytest.fixture(scope="module")
def docmind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with THREE.opened(tmp_path_factory.mktemp("retrieve")) as docmind:
        yield docmind


def doc_id(docmind: DocMind, name: str) -> str:
    return docmind.documents.find(name).doc_id


@pytest.mark.slow
def test_the_page_that_says_it_comes_first(docmind: DocMind) -> None:
    [first, *_] = docmind.search("pale blue eggs").hits
    assert (first.document, first.page_no, first.rank) == ("herons.pdf", 2, 1)
    assert first.text == "Their eggs are pale blue"
    assert first.page_id == f"{first.doc_id}::page::2"


@pytest.mark.slow
def test_boxes_cover_the_text_on_the_page_image(docmind: DocMind) -> None:
    [first, *_] = docmind.search("pale blue eggs").hits
    assert first.boxes
    for box in first.boxes:
        assert 0 <= box.x < box.x + box.w <= first.page_width
        assert 0 <= box.y < box.y + box.h <= first.page_height


@pytest.mark.slow
def test_one_hit_a_page_and_ranks_in_order(docmind: DocMind) -> None:
    hits = docmind.search("herons eggs bread dados").hits
    assert len({hit.page_id for hit in hits}) == len(hits)
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_hit_says_how_it_was_found(docmind: DocMind) -> None:
    [first, *_] = docmind.search("pale blue eggs").hits
    ranks = {rank.ranking: rank for rank in first.ranks}
    assert list(ranks) == ["dense", "sparse", "fused", "rerank"]
    assert [rank.rank for rank in first.ranks] == [1, 1, 1, 1]
    assert -1 <= ranks["dense"].score <= 1 < ranks["sparse"].score
    assert (first.text_source, first.ocr_confidence, first.chunk_index) == ("layer", None, 0)
    assert first.image
    assert first.thumbnail
    assert first.image.suffix.endswith(".enc")


def test_a_page_without_a_word_of_the_question_has_no_place_among_words(docmind: DocMind) -> None:
    hits = {(hit.document, hit.page_no): hit for hit in docmind.search("poplar").hits}
    told = [rank.ranking for rank in hits["bread.txt", 1].ranks]
    assert told == ["dense", "fused", "rerank"]


def test_pages_below_the_cutoff_are_left_out(docmind: DocMind, tmp_path: Path) -> None:
    everything = docmind.search("pale blue eggs").hits
    cosines = sorted(rank.score for hit in everything for rank in hit.ranks if rank.ranking == "dense")
    between = (cosines[0] + cosines[1]) / 2
    with THREE.opened(tmp_path, retrieve=RetrieveSettings(similarity_cutoff=between)) as strict:
        hits = strict.search("pale blue eggs").hits
        assert len(hits) == len(everything) - 1
        assert all(rank.score >= between for hit in hits for rank in hit.ranks if rank.ranking == "dense")


def test_k_is_a_limit(docmind: DocMind) -> None:
    assert len(docmind.search(Query("herons", k=2)).hits) == 2


def test_one_hit_a_document_where_that_is_asked(docmind: DocMind) -> None:
    hits = docmind.search(Query("herons eggs", dedup_key="doc_id")).hits
    assert sorted(hit.document for hit in hits) == ["bread.txt", "herons.pdf", "lei_dados.pdf"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"languages": ("pt",)}, {"lei_dados.pdf"}),
        ({"tags": ("birds",)}, {"herons.pdf"}),
        ({"tags": ("birds", "law")}, {"herons.pdf", "lei_dados.pdf"}),
        ({"tags": ("birds",), "languages": ("pt",)}, set()),
        ({"modalities": ("table",)}, set()),
        ({"doc_ids": ("0" * 32,)}, set()),
    ],
)
def test_filters_narrow(docmind: DocMind, filters: dict[str, Any], expected: set[str]) -> None:
    assert {
        hit.document for hit in docmind.search(Query("herons dados bread", filters=Filters(**filters))).hits
    } == expected


def test_a_document_filter_leaves_that_document(docmind: DocMind) -> None:
    only = Filters(doc_ids=(doc_id(docmind, "herons.pdf"),))
    assert {hit.document for hit in docmind.search(Query("bread", filters=only)).hits} == {"herons.pdf"}


def test_timings_name_the_stages(docmind: DocMind) -> None:
    stages = [name for name, _ in docmind.text_search.search(Query("eggs")).timings_ms]
    assert stages == ["embed", "search", "fuse", "rerank", "hits", "total"]


def test_an_empty_vault_finds_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as docmind:
        assert docmind.search("anything").hits == ()
        assert docmind.ask("anything?").found is False


@pytest.mark.slow
@pytest.mark.parametrize("fusion", ["sum", "rrf", "dense", "sparse"])
def test_every_way_of_fusing_finds_it(tmp_path: Path, fusion: str) -> None:
    with HERONS_AND_BREAD.opened(tmp_path, retrieve=RetrieveSettings.model_validate({"fusion": fusion})) as docmind:
        [first, *_] = docmind.search("pale blue eggs").hits
        assert (first.document, first.page_no) == ("herons.pdf", 2)


class Missing(FakeEmbedder):
    """A text model whose package is missing."""

    def embed_query(self, text: str) -> np.ndarray:
        raise ExtraMissingError("The text model is not installed.", hint="Install it.")


def test_without_the_text_model_words_are_found_and_it_is_said(docmind: DocMind) -> None:
    whole = docmind.text_search
    lame = TextSearch(whole._settings, whole._catalog, whole._nodes, whole._index, Missing(), whole._passages)
    found = lame.search(Query("pale blue eggs"))
    assert (found.hits[0].document, found.hits[0].page_no) == ("herons.pdf", 2)
    [degraded] = found.degraded
    assert degraded.stage == "dense"
    assert "not installed" in degraded.reason
    assert found.nearest_cosine is None


class Unwritable(FakeEmbedder):
    """The same model in a cache folder that cannot be written to."""

    def warm(self) -> None:
        raise ConfigError("The text model cannot be converted.")

    def embed_query(self, text: str) -> np.ndarray:
        raise ConfigError("The text model cannot be converted.")


@pytest.mark.slow
def test_a_text_model_that_cannot_start_ends_no_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as docmind:
        docmind.add([HERONS])
    monkeypatch.setitem(TEXT_MODELS, "unwritable", lambda _settings: Unwritable())
    with opened(tmp_path, embedding=EmbeddingSettings(model="unwritable")) as docmind:
        found = docmind.search("pale blue eggs")
        assert found.hits[0].document == "herons.pdf"
        assert ["converted" in degraded.reason for degraded in found.degraded] == [True]


def test_a_question_of_stop_words_still_has_meaning(docmind: DocMind) -> None:
    assert docmind.search("what is it").degraded == ()


@pytest.mark.slow
def test_what_was_deleted_is_not_found(tmp_path: Path) -> None:
    with HERONS_AND_BREAD.opened(tmp_path) as docmind:
        docmind.erasures.erase([doc_id(docmind, "herons.pdf")])
        assert {hit.document for hit in docmind.search("herons nest eggs").hits} == {"bread.txt"}


@pytest.mark.slow
def test_a_lost_index_is_built_anew_under_a_search(tmp_path: Path) -> None:
    HERONS_AND_BREAD.copy_to(tmp_path)
    for shard in (tmp_path / "data" / "index").rglob("*"):
        if shard.is_file():
            shard.write_bytes(b"")
    with opened(tmp_path) as docmind:
        [first, *_] = docmind.search("pale blue eggs").hits
        assert (first.document, first.page_no) == ("herons.pdf", 2)


TWINS = [  # the same words on both pages, in windows that late interaction tells apart
    Upload("plain.txt", ("pale walls and blue doors " + "painted house " * 150 + " eggs in the kitchen").encode()),
    Upload("birds.txt", ("painted house " * 150 + " walls doors kitchen pale blue eggs").encode()),
]


@pytest.mark.slow
def test_late_interaction_reranks_by_default(tmp_path: Path) -> None:
    orders = {}
    for rerank in ("late", "off"):
        settings = RetrieveSettings.model_validate({"rerank": rerank})
        with Library("twins", TWINS).opened(tmp_path / rerank, retrieve=settings) as docmind:
            found = docmind.search("pale blue eggs")
            orders[rerank] = {hit.document: hit.score for hit in found.hits}
            assert found.degraded == ()
    gained = {name: orders["late"][name] - orders["off"][name] for name in ("birds.txt", "plain.txt")}
    assert gained["birds.txt"] > 0 > gained["plain.txt"]


@pytest.mark.slow
def test_the_window_of_a_hit_is_the_one_that_says_it(tmp_path: Path) -> None:
    with Library("twins", TWINS).opened(tmp_path) as docmind:
        texts = {hit.document: hit.text for hit in docmind.search("pale blue eggs").hits}
        assert "pale blue eggs" in texts["birds.txt"]


@pytest.mark.slow
@pytest.mark.parametrize("fusion", ["dense", "sparse"])
def test_a_list_alone_is_left_as_it_is(tmp_path: Path, fusion: str) -> None:
    with HERONS_AND_BREAD.opened(tmp_path, retrieve=RetrieveSettings.model_validate({"fusion": fusion})) as docmind:
        assert docmind.text_search._tokens is None
        assert docmind.search("pale blue eggs").hits[0].document == "herons.pdf"


class Tokenless(FakeEmbedder):
    """The same model, its projection damaged."""

    def embed_query_with_tokens(self, text: str) -> tuple[np.ndarray, QueryTokens]:
        raise DamagedError("The projection is not the one that DocMind ships.")


def test_late_interaction_that_fails_ends_no_search(docmind: DocMind) -> None:
    whole = docmind.text_search
    lame = TextSearch(whole._settings, whole._catalog, whole._nodes, whole._index, Tokenless(), whole._passages)
    found = lame.search(Query("pale blue eggs"))
    assert (found.hits[0].document, found.hits[0].page_no) == ("herons.pdf", 2)
    assert [(one.stage, "not the one" in one.reason) for one in found.degraded] == [("late interaction", True)]
    assert found.nearest_cosine is not None


@pytest.mark.slow
def test_damaged_token_vectors_end_no_search(tmp_path: Path) -> None:
    with HERONS_AND_BREAD.opened(tmp_path) as docmind:
        with docmind.vault.database.transaction() as db:
            db.execute("UPDATE tokens SET tokens = X'00'")
        found = docmind.search("pale blue eggs")
        assert found.hits[0].page_no == 2
        assert [one.stage for one in found.degraded] == ["late interaction"]


@pytest.mark.slow
def test_pages_without_token_vectors_keep_their_place(tmp_path: Path) -> None:
    with HERONS_AND_BREAD.opened(tmp_path) as docmind:
        before = [hit.page_id for hit in docmind.search("pale blue eggs").hits]
        with docmind.vault.database.transaction() as db:
            db.execute("DELETE FROM tokens")
        found = docmind.search("pale blue eggs")
        assert [hit.page_id for hit in found.hits][:1] == before[:1]
        [degraded] = found.degraded
        assert "3 of the first pages" in degraded.reason
