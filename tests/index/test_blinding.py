"""Blinding: one to one, score-preserving, and stable across versions."""

from __future__ import annotations

import numpy as np
import pytest

from docmind.index.blinding import Blinder

BLIND = Blinder(b"k" * 32)


def test_ids_are_a_permutation() -> None:
    ids = np.concatenate([np.arange(200_000), 2**32 - 1 - np.arange(200_000)]).astype(np.uint32)
    blinded = BLIND.sparse(ids)
    assert blinded.dtype == np.uint32
    assert len(np.unique(blinded)) == len(ids)
    assert np.array_equal(blinded, BLIND.sparse(ids))
    assert np.mean(blinded == ids) < 1e-4
    assert np.mean(blinded == Blinder(b"l" * 32).sparse(ids)) < 1e-4
    assert BLIND.sparse(np.array([], np.uint32)).shape == (0,)


def test_ids_and_tags_are_the_same_for_ever() -> None:
    """Golden values: another version must find what this one stored."""
    assert BLIND.sparse(np.array([0, 1, 2, 2**32 - 1], np.uint32)).tolist() == [
        80490752,
        1212275101,
        116800668,
        3314322815,
    ]
    assert BLIND.tag("a") == "07f9a526cc1323d30bbe0db9c9200238"
    assert BLIND.tag("größe") != BLIND.tag("große")


def test_a_tag_of_any_bytes_is_a_tag() -> None:
    assert BLIND.tag("caf\udcff") == BLIND.tag("caf?")


def test_rotations_are_the_same_for_ever() -> None:
    assert BLIND.dense(np.eye(4, dtype=np.float32))[0] == pytest.approx(
        [0.39424232, -0.30868372, -0.84589577, 0.18370542], abs=1e-6
    )


@pytest.mark.parametrize("dim", [1, 3, 64, 128, 384, 768, 1024])
@pytest.mark.parametrize("rows", [5, 100])
def test_rotations_keep_dot_products(dim: int, rows: int) -> None:
    rng = np.random.default_rng(dim)
    vectors = rng.standard_normal((rows, dim)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rotated = BLIND.dense(vectors)
    assert rotated.dtype == np.float32
    assert rotated.shape == vectors.shape
    assert np.abs(rotated @ rotated.T - vectors @ vectors.T).max() < 1e-5
    assert np.abs(rotated[0] - BLIND.dense(vectors[0])).max() < 1e-5, "one query meets a batch"


def test_a_rotation_leaves_no_axis_where_it_was() -> None:
    """A uniform rotation of 384 axes has entries like N(0, 1/384): kurtosis 3, none beyond about six deviations."""
    matrix = BLIND.dense(np.eye(384, dtype=np.float32)) * np.sqrt(384)
    assert np.mean(matrix**4) == pytest.approx(3, abs=0.1)
    assert np.abs(matrix).max() < 6.5
    assert abs(float(np.mean(matrix))) < 0.01
    other = Blinder(b"l" * 32).dense(np.eye(384, dtype=np.float32)) * np.sqrt(384)
    assert abs(float(np.mean(matrix * other))) < 0.02


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        Blinder(b"short")
