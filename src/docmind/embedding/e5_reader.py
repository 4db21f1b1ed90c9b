"""The passage reader of other languages than English: it reads question and passage together, as `passage_reader` does.

It is multilingual-e5-small (`LICENSE-MIT.txt`), changed: its last layers were taught by `scripts/reader` on the
questions of `scripts/eval/papers`, `papers_more` and `papers_twins` in five languages. The package has how these layers
differ from those of the text model, 4 bits a weight, and what judges the first token; word embeddings and the first
layers are those of the text model (`e5`), without which there is no such reader. See ADR 0145.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from docmind.embedding.activations import Activation, Activations
from docmind.embedding.bert_session import BertModel, scored
from docmind.embedding.e5 import E5
from docmind.embedding.passage_reader import (
    MOST_CHARACTERS,
    MOST_PASSAGE,
    MOST_QUESTION,
    damaged,
    packed_weights,
    unpacked_weights,
)
from docmind.embedding.shipped import shipped_arrays

if TYPE_CHECKING:
    import onnx
    import onnxruntime

__all__ = ["E5Reader", "changed", "joined", "packed_changes"]

WEIGHTS_SHA256 = "c143cf899b8edf65cd8310685bac069e20d34d5f08853cda70f1a833d98c913c"
WEIGHTS = Path(__file__).with_name("e5_reader.safetensors")
ACTIVATIONS_SHA256 = "f1ac22c9087a4750587757831cad37c0357d228f9edea3a82ca4c9059c02ab54"
ACTIVATIONS = Path(__file__).with_name("e5_reader_activations.safetensors")
_CHANGE, _STEP = ".change", ".step"
_LEVEL = 7  # steps of a change either way, in 4 bits


class E5Reader(BertModel):
    """The passage reader of other languages. Loaded at first use; thread-safe, as onnxruntime sessions are."""

    def __init__(
        self,
        open_e5: Callable[[], E5],
        cache_dir: Path,
        *,
        precision: Literal["auto", "int8", "float32"] = "auto",
        threads: int = 0,
    ) -> None:
        """Load nothing; `open_e5` returns the text model that it is made of, when it is first used."""
        activations = Activations(ACTIVATIONS, ACTIVATIONS_SHA256)
        super().__init__(cache_dir, precision=precision, threads=threads, activations=activations)
        self._open_e5 = open_e5
        self._session: onnxruntime.InferenceSession | None = None

    @cached_property
    def _e5(self) -> E5:
        return self._open_e5()

    @property
    def fingerprint(self) -> str:
        """Weights and precision: must be equal for two scores to be comparable. Raises `DamagedError`."""
        return f"passage-reader:{WEIGHTS_SHA256[:16]}:{self._e5.weights}:{self.precision}"

    def graph(self, activations: Mapping[str, Activation] | None = None) -> onnx.ModelProto:
        """Return the graph in float32, or with `activations` in int8. Raises `DamagedError`, `ExtraMissingError`."""
        from docmind.embedding.bert_onnx import build_on_vectors

        shape, given = self._e5.encoder()
        weights = changed(given, shipped_arrays(WEIGHTS, WEIGHTS_SHA256, damaged))
        return build_on_vectors(
            weights, layers=shape.layers, heads=shape.heads, eps=shape.eps, activations=activations, is_of_pairs=True
        )

    def scores(self, question: str, passages: Sequence[str]) -> np.ndarray:
        """Return `(n,)` float32: how well each passage answers, as a logit.

        Longer texts are cut after `MOST_QUESTION` and `MOST_PASSAGE` word pieces. Raises `DamagedError`, `ConfigError`,
        `DiskFullError`, and `ExtraMissingError` where the text model is not installed.
        """
        session = self._load()
        pairs = [joined(self._e5, question, passage) for passage in passages]

        def run(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
            given = {"embeddings": self._e5.embedded(ids), "attention_mask": mask}
            return np.asarray(session.run(["scores"], given)[0])

        return scored(pairs, run, threads=self._threads, name="passage-reader")

    def warm(self) -> None:
        """Load the session now."""
        self._load()

    def _load(self) -> onnxruntime.InferenceSession:
        with self._lock:
            if self._session is None:
                self._session = self._open_session(f"e5-reader-{WEIGHTS_SHA256[:16]}-{self._e5.weights}")
            return self._session


def joined(e5: E5, question: str, passage: str) -> list[int]:
    """Return the pieces of both, cut, with the special ones around and between them; a hostile text may be endless."""
    return e5.pair(question[:MOST_CHARACTERS], passage[:MOST_CHARACTERS], (MOST_QUESTION, MOST_PASSAGE))


def packed_changes(given: Mapping[str, np.ndarray], taught: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of a file: of matrices that are `given`, how `taught` ones differ, two 4-bit numbers a byte.

    Those that are equal are left out; of other names the file has the whole.
    """
    whole = {name: one for name, one in taught.items() if name not in given}
    arrays = packed_weights(whole)
    for name, weight in taught.items():
        if name not in given or np.array_equal(weight, given[name]):
            continue
        if weight.ndim != 2:
            arrays[name] = weight.astype(np.float32)
            continue
        change = weight - given[name]
        step = np.maximum(np.abs(change).max(axis=1), 1e-12).astype(np.float32) / np.float32(_LEVEL)
        levels = (np.rint(change / step[:, None]) + _LEVEL).astype(np.uint8)
        arrays[name + _CHANGE] = levels[:, 0::2] | (levels[:, 1::2] << 4)
        arrays[name + _STEP] = step
    return arrays


def changed(given: Mapping[str, np.ndarray], arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return float32 weights: those that are `given` with what `packed_changes` returned."""
    changes = {name.removesuffix(_CHANGE) for name in arrays if name.endswith(_CHANGE)}
    ends = tuple(name + end for name in changes for end in (_CHANGE, _STEP))
    weights = {**given, **unpacked_weights({name: one for name, one in arrays.items() if name not in ends})}
    for name in changes:
        both = arrays[name + _CHANGE]
        levels = np.stack([both & 15, both >> 4], axis=-1).reshape(len(both), -1).astype(np.float32) - _LEVEL
        weights[name] = given[name] + levels * arrays[name + _STEP][:, None]
    return weights
