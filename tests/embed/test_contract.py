"""One suite for every text model: the fake, MiniLM as int8 and as float32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from docmind.config import Settings
from docmind.embed.contract import TextEmbedder, TokenEmbedder, token_embedder
from docmind.embed.fake import FakeEmbedder
from docmind.embed.minilm import MiniLM, default_cache_dir
from docmind.embed.registry import TEXT_MODELS, open_text_model
from docmind.errors import ConfigError


@pytest.fixture(params=["fake", "int8", "float32"])
def embedder(request: pytest.FixtureRequest) -> TokenEmbedder:
    if request.param == "fake":
        return FakeEmbedder()
    return MiniLM(default_cache_dir(), precision=request.param)


def test_facts_are_known_before_anything_is_loaded(tmp_path: Path) -> None:
    model = MiniLM(tmp_path / "nothing is written here")
    assert (model.dim, model.fingerprint.split(":")[0]) == (384, "minilm")
    assert list(tmp_path.iterdir()) == []


def test_precisions_never_mix(tmp_path: Path) -> None:
    assert MiniLM(tmp_path, precision="int8").fingerprint != MiniLM(tmp_path, precision="float32").fingerprint
    assert MiniLM(tmp_path, precision="auto").fingerprint == MiniLM(tmp_path, precision="int8").fingerprint


def test_batch_in_unit_vectors_out(embedder: TextEmbedder) -> None:
    texts = ["A cat sat on the mat.", "The annual report of 2022", "x " * 700, ""]
    vectors = embedder.embed_documents(texts)
    assert vectors.shape == (4, embedder.dim)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4), abs=1e-4)
    assert np.isfinite(vectors).all()


def test_no_texts_give_no_rows(embedder: TextEmbedder) -> None:
    assert embedder.embed_documents([]).shape == (0, embedder.dim)


def test_a_text_has_one_vector_whatever_stands_beside_it(embedder: TextEmbedder) -> None:
    alone = embedder.embed_query("Who signs the verification?")
    among = embedder.embed_documents(["short", "Who signs the verification?", "a much longer text " * 12])[1]
    assert float(alone @ among) == pytest.approx(1.0, abs=0.02)  # int8 scales depend on what shares the batch


def test_like_meets_like(embedder: TextEmbedder) -> None:
    question = embedder.embed_query("maximum fine for the infringement")
    near, far = embedder.embed_documents(
        ["The maximum fine for an infringement is 50 million.", "Bake the bread slowly."]
    )
    assert float(question @ near) > float(question @ far) + 0.2


def test_pieces_cover_the_words(embedder: TextEmbedder) -> None:
    text = "Proteção de dados, artigo 52: multa de R$ 50.000.000,00"
    pieces = embedder.pieces(text)
    assert pieces.dtype == np.int64
    assert (pieces[:, 0] < pieces[:, 1]).all()
    assert (np.diff(pieces[:, 0]) > 0).all()
    assert set("".join(text[start:end] for start, end in pieces)) >= set("Proteçãodedados")
    assert len(embedder.pieces("word " * 1000)) >= 1000
    assert embedder.pieces("").shape == (0, 2)


def test_token_vectors_come_with_the_same_vectors(embedder: TokenEmbedder) -> None:
    texts = ["A cat sat on the mat.", "The annual report of 2022", "word " * 700, "", "?!"]
    vectors, tokens = embedder.embed_with_tokens(texts)
    assert np.array_equal(vectors, embedder.embed_documents(texts))
    assert [len(rows) for rows in tokens[3:]] == [0, 0]
    for rows, text in zip(tokens, texts, strict=True):
        assert rows.dtype == np.int8
        assert rows.shape == (len(embedder.token_spans(text)), rows.shape[1])
        if len(rows):
            assert np.linalg.norm(rows.astype(np.float32), axis=1) == pytest.approx(np.full(len(rows), 127), abs=3)


def test_a_question_has_token_vectors_with_weights(embedder: TokenEmbedder) -> None:
    vector, tokens = embedder.embed_query_with_tokens("What is the maximum fine?")
    assert np.array_equal(vector, embedder.embed_query("What is the maximum fine?"))
    assert len(tokens.vectors) == len(tokens.weights) == 5
    assert (tokens.weights > 0).all()
    assert embedder.embed_query_with_tokens("?")[1].vectors.shape == (0, tokens.vectors.shape[1])


def test_token_spans_are_words_in_order(embedder: TokenEmbedder) -> None:
    text = "Fines, penalties: 50 (fifty)."
    assert [text[start:end] for start, end in embedder.token_spans(text)] == ["Fines", "penalties", "50", "fifty"]


def test_token_vectors_of_another_model_never_mix(embedder: TokenEmbedder) -> None:
    assert embedder.token_fingerprint.startswith(embedder.fingerprint + ":")
    assert token_embedder(embedder, "late") is embedder
    assert token_embedder(embedder, "off") is None


def test_an_unknown_model_is_refused_with_the_names_there_are() -> None:
    settings = Settings.model_validate({"embedding": {"model": "nonesuch"}})
    with pytest.raises(ConfigError) as caught:
        open_text_model(settings)
    assert all(name in str(caught.value) for name in TEXT_MODELS)
