"""The passage reader: the same network as transformers' classifier of pairs, and what it tells apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from docmind.embedding import passage_reader
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


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.mark.slow
def test_the_passage_that_answers_is_first() -> None:
    scores = MiniLMReader(default_cache_dir()).scores(QUESTION, [*OTHERS, ANSWER])
    assert scores.dtype == np.float32
    assert scores.shape == (4,)
    assert int(scores.argmax()) == 3


@pytest.mark.slow
def test_a_score_does_not_depend_on_the_passages_beside_it() -> None:
    model = MiniLMReader(default_cache_dir())
    alone = np.concatenate([model.scores(QUESTION, [one]) for one in [*OTHERS, ANSWER]])
    assert np.abs(model.scores(QUESTION, [*OTHERS, ANSWER]) - alone).max() < 1e-4


@pytest.mark.slow
def test_no_passages_have_no_scores() -> None:
    assert MiniLMReader(default_cache_dir()).scores(QUESTION, []).shape == (0,)


@pytest.mark.slow
@pytest.mark.parametrize("passage", ["", " ", "\n", "[SEP]", "\x00", "日本" * 400, "word " * 4_000])
def test_any_text_has_a_score(passage: str) -> None:
    assert np.isfinite(MiniLMReader(default_cache_dir()).scores("why " * 400, [passage])).all()


def test_question_and_passage_are_cut_and_know_their_side() -> None:
    ids = joined(tokenizer(), "why " * 100, "word " * 1_000)
    types = given_of(np.array([ids]), np.ones((1, len(ids)), np.int64))["token_type_ids"][0].tolist()
    assert types == [0] * (MOST_QUESTION + 2) + [1] * (MOST_PASSAGE + 1)
    assert [at for at, one in enumerate(ids) if one == END] == [MOST_QUESTION + 1, len(ids) - 1]


def test_a_special_piece_in_a_text_is_no_end() -> None:
    """What a document writes must not change where the reader takes the passage to begin."""
    assert joined(tokenizer(), "why", "a [SEP] b").count(END) == 2


def test_a_changed_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = tmp_path / WEIGHTS.name
    damaged.write_bytes(WEIGHTS.read_bytes()[:-1] + b"\x01")
    monkeypatch.setattr(passage_reader, "WEIGHTS", damaged)
    with pytest.raises(DamagedError, match="The data of the passage reader is not the one that DocMind ships"):
        MiniLMReader(tmp_path).scores(QUESTION, [ANSWER])
    assert not list(tmp_path.glob("*.onnx"))


def test_weights_are_kept_within_half_a_step_of_their_row() -> None:
    weights = {"a": np.random.default_rng(1).standard_normal((5, 7)).astype(np.float32), "b": np.ones(3, np.float32)}
    kept = packed_weights(weights)
    assert kept["a"].dtype == np.int8
    found = unpacked_weights(kept)
    assert found["b"].tolist() == [1, 1, 1]
    assert (np.abs(found["a"] - weights["a"]) <= np.abs(weights["a"]).max(axis=1, keepdims=True) / 254 + 1e-6).all()


@pytest.mark.slow
def test_float32_is_the_same_network_as_that_of_transformers_and_int8_is_close(cache: Path) -> None:
    passages = [*OTHERS, ANSWER]
    expected = _transformers(QUESTION, passages)
    exact = MiniLMReader(cache, precision="float32").scores(QUESTION, passages)
    assert np.abs(exact - expected).max() < 1e-3
    close = MiniLMReader(cache, precision="int8").scores(QUESTION, passages)
    assert np.abs(close - expected).max() < 0.1 * np.ptp(expected)
    assert np.argsort(close).tolist() == np.argsort(expected).tolist()


def _transformers(question: str, passages: Sequence[str]) -> np.ndarray:
    """Return the logits of transformers' classifier of pairs."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    weights = unpacked_weights(shipped_arrays(WEIGHTS, WEIGHTS_SHA256, DamagedError))
    config = BertConfig(hidden_size=384, intermediate_size=1_536, num_hidden_layers=12, num_attention_heads=12)
    config.num_labels = 1
    model = BertForSequenceClassification(config).eval()
    state = {name if name.startswith("classifier") else f"bert.{name}": one for name, one in weights.items()}
    told = model.load_state_dict({name: torch.from_numpy(one) for name, one in state.items()}, strict=False)
    assert not told.unexpected_keys
    assert set(told.missing_keys) <= {"bert.embeddings.position_ids"}
    found = []
    with torch.no_grad():
        for passage in passages:
            ids = np.array([joined(tokenizer(), question, passage)])
            given = given_of(ids, np.ones_like(ids))
            found.append(model(**{name: torch.from_numpy(one) for name, one in given.items()}).logits[0, 0].item())
    return np.array(found)
