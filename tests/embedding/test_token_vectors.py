"""The projection of token states: its file, its vectors and the weights of word pieces."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from docmind.embedding.token_vectors import Projection
from docmind.errors import DamagedError

DIM = 3


def written(path: Path, **more: np.ndarray) -> Projection:
    """Return a projection of 5 numbers to 3, with weights for pieces 0 to 3."""
    axes = np.eye(5, DIM, dtype=np.float16)
    data = save({"projection": axes, "weights": np.array([0, 16, 40, 1], np.uint8), **more})
    path.write_bytes(data)
    return Projection(path, hashlib.sha256(data).hexdigest(), DIM)


def test_its_fingerprint_is_known_without_the_file(tmp_path: Path) -> None:
    assert Projection(tmp_path / "nothing", "0123456789abcdef01", 32).fingerprint == "pca32:0123456789abcdef"


@pytest.mark.parametrize("data", [None, b"", b"other"])
def test_a_missing_or_changed_file_is_refused(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "tokens.safetensors"
    projection = written(path)
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(DamagedError, match="fine ranking"):
        projection.weights([1])


def test_vectors_have_length_127_and_pieces_without_weight_have_none(tmp_path: Path) -> None:
    projection = written(tmp_path / "tokens.safetensors")
    states = np.array([[9, 9, 9, 9, 9], [3, 4, 0, 7, 7], [0, 0, 2, 0, 0], [1, 1, 1, 1, 1]], np.float32)
    vectors = projection.vectors([0, 1, 2], states)
    assert (vectors.dtype, vectors.tolist()) == (np.int8, [[76, 102, 0], [0, 0, 127]])
    assert projection.weights([2, 0, 1]).tolist() == [2.5, 1.0]
    assert projection.vectors([], states).shape == (0, DIM)


def test_a_mean_is_subtracted_first(tmp_path: Path) -> None:
    projection = written(tmp_path / "tokens.safetensors", mean=np.array([3, 0, 0, 5, 0], np.float16))
    assert projection.vectors([1], np.array([[3, 4, 0, 1, 1]], np.float32)).tolist() == [[0, 127, 0]]
