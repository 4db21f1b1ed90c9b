"""The passage reader: it reads an English question and a passage together and judges whether the passage answers.

A cosine compares two texts that were read apart; this model sees which words of the passage stand for which words of
the question. It is cross-encoder/ms-marco-MiniLM-L12-v2 (`LICENSE-Apache-2.0.txt`), changed: taught further by
`scripts/reader` on the questions of `scripts/eval/papers`, `papers_more` and `papers_twins`, whose neighbouring
passages only sound like the answer. The package has its weights in int8, a scale for each row; they become float32 and
go into DocMind's own graph (`bert_onnx`), converted once into the user's cache folder. See ADR 0144.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from docmind.embedding.activations import Activation, Activations
from docmind.embedding.bert_session import BertModel, scored
from docmind.embedding.minilm_weights import tokenizer
from docmind.embedding.shipped import shipped_arrays
from docmind.errors import DamagedError
from docmind.model_files import default_cache_dir
from docmind.wording import _

if TYPE_CHECKING:
    import onnx
    import onnxruntime

__all__ = [
    "MOST_CHARACTERS", "MOST_PASSAGE", "MOST_QUESTION", "MiniLMReader", "damaged", "default_cache_dir",
    "packed_weights", "unpacked_weights",
]  # fmt: skip

MOST_QUESTION, MOST_PASSAGE = 32, 96
"""Word pieces of a question and of a passage that are read, as in teaching; 1 of 100 passages is longer."""
LAYERS, HEADS, EPS = 12, 12, 1e-12
BEGIN, END = 101, 102  # [CLS] and [SEP] among the word pieces of bert-base-uncased
WEIGHTS_SHA256 = "7e7e7e465e38f4f4b730a76c05a6e548c2b458792970383c81e41460dde1db88"
WEIGHTS = Path(__file__).with_name("passage_reader.safetensors")
ACTIVATIONS_SHA256 = "9096d264ec41335a19afcf57c8474db2b92f10d54a6f3377f557e16629c943ff"
ACTIVATIONS = Path(__file__).with_name("passage_reader_activations.safetensors")
_SCALE = ".scale"
MOST_CHARACTERS = 2_000  # far more than as many pieces have
_INT8 = 127


class MiniLMReader(BertModel):
    """The passage reader. Loaded at first use; thread-safe, as onnxruntime sessions are."""

    def __init__(
        self, cache_dir: Path, *, precision: Literal["auto", "int8", "float32"] = "auto", threads: int = 0
    ) -> None:
        """Load nothing."""
        activations = Activations(ACTIVATIONS, ACTIVATIONS_SHA256)
        super().__init__(cache_dir, precision=precision, threads=threads, activations=activations)
        self._loaded: tuple[Any, onnxruntime.InferenceSession] | None = None

    @property
    def fingerprint(self) -> str:
        """Weights and precision: must be equal for two scores to be comparable."""
        return f"passage-reader:{WEIGHTS_SHA256[:16]}:{self.precision}"

    def graph(self, activations: Mapping[str, Activation] | None = None) -> onnx.ModelProto:
        """Return the graph in float32, or with `activations` in int8. Raises `DamagedError`."""
        from docmind.embedding.bert_onnx import build_of_pairs

        weights = unpacked_weights(shipped_arrays(WEIGHTS, WEIGHTS_SHA256, damaged))
        return build_of_pairs(weights, layers=LAYERS, heads=HEADS, eps=EPS, activations=activations)

    def scores(self, question: str, passages: Sequence[str]) -> np.ndarray:
        """Return `(n,)` float32: how well each passage answers, as a logit.

        Longer texts are cut after `MOST_QUESTION` and `MOST_PASSAGE` word pieces. Raises `DamagedError`, `ConfigError`,
        `DiskFullError`.
        """
        made, session = self._load()
        pairs = [joined(made, question, passage) for passage in passages]

        def run(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
            return np.asarray(session.run(["scores"], given_of(ids, mask))[0])

        return scored(pairs, run, threads=self._threads, name="passage-reader")

    def warm(self) -> None:
        """Load the session now."""
        self._load()

    def _load(self) -> tuple[Any, onnxruntime.InferenceSession]:
        with self._lock:
            if self._loaded is None:
                self._loaded = tokenizer(), self._open_session(f"passage-reader-{WEIGHTS_SHA256[:16]}")
            return self._loaded


def joined(made: Any, question: str, passage: str) -> list[int]:
    """Return the pieces of both, cut, with the special ones before, between and behind them, by this tokenizer."""
    asked, told = (
        [one for one in made.encode(text[:MOST_CHARACTERS], add_special_tokens=False).ids if one not in (BEGIN, END)]
        for text in (question, passage)  # a hostile one may be endless, and write of an end
    )
    return [BEGIN, *asked[:MOST_QUESTION], END, *told[:MOST_PASSAGE], END]


def given_of(ids: np.ndarray, mask: np.ndarray) -> dict[str, np.ndarray]:
    """Return the inputs of the graph of ids and mask `(b, tokens)`: the second text stands behind the first end."""
    ends = (ids == END).astype(np.int64)
    types = ((ends.cumsum(axis=1) - ends) > 0).astype(np.int64) * mask
    return {"input_ids": ids, "token_type_ids": types, "attention_mask": mask}


def packed_weights(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of a file: matrices in int8 with a scale for each row, all others as they are."""
    arrays = dict[str, np.ndarray]()
    for name, weight in weights.items():
        if weight.ndim != 2:
            arrays[name] = weight.astype(np.float32)
            continue
        scales = np.maximum(np.abs(weight).max(axis=1), 1e-12).astype(np.float32) / np.float32(_INT8)
        arrays[name] = np.rint(weight / scales[:, None]).astype(np.int8)
        arrays[name + _SCALE] = scales
    return arrays


def unpacked_weights(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return float32 weights of what `packed_weights` returned."""
    weights = {name: array for name, array in arrays.items() if not name.endswith(_SCALE)}
    return {
        name: array if array.dtype == np.float32 else array.astype(np.float32) * arrays[name + _SCALE][:, None]
        for name, array in weights.items()
    }


def damaged(what: str) -> DamagedError:
    """Return the error of a file of the package, of the end of a sentence about it."""
    return DamagedError(_("The data of the passage reader {what}.").format(what=what), hint=_("Reinstall DocMind."))
