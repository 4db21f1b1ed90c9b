"""The shipped projection: verified, and of the promised shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from docmind.embed.minilm import MiniLM, default_cache_dir
from docmind.embed.projection import SHA256, TOKEN_DIM, Projection
from docmind.errors import DamagedError


def test_its_fingerprint_is_known_without_the_file(tmp_path: Path) -> None:
    assert Projection(tmp_path / "nothing").fingerprint == f"pca{TOKEN_DIM}:{SHA256[:16]}"


@pytest.mark.parametrize("data", [None, b"", b"other"])
def test_a_missing_or_changed_file_is_refused(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "minilm_tokens.safetensors"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(DamagedError):
        Projection(path).weights([2_054])


def test_axes_are_orthogonal_and_of_length_one() -> None:
    axes = Projection()._axes
    assert axes.shape == (384, TOKEN_DIM)
    assert np.abs(axes.T @ axes - np.eye(TOKEN_DIM)).max() < 2e-3  # stored as float16


def test_vectors_are_unit_length_times_127_and_punctuation_has_none() -> None:
    model = MiniLM(default_cache_dir())
    ids = model._ids(["Fines, penalties."])[0]  # [CLS] fines , penalties . [SEP]
    states = np.random.default_rng(5).standard_normal((len(ids) + 3, 384)).astype(np.float32)  # padded
    projection = Projection()
    assert projection.kept(ids).tolist() == [False, True, False, True, False, False]
    vectors = projection.vectors(ids, states)
    assert vectors.dtype == np.int8
    assert np.linalg.norm(vectors.astype(np.float32), axis=1) == pytest.approx([127, 127], abs=2)
    plain = states[1] @ projection._axes
    assert vectors[0].astype(np.float32) == pytest.approx(plain / np.linalg.norm(plain) * 127, abs=0.51)


def test_rare_words_weigh_more_than_common_ones() -> None:
    model = MiniLM(default_cache_dir())
    projection = Projection()
    weights = projection.weights(model._ids(["the of penguin"])[0])
    assert len(weights) == 3
    assert weights[2] > 2 * max(weights[:2])
    assert (weights * 16 == np.rint(weights * 16)).all()
