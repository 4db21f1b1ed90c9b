"""From MiniLM's token states to small token vectors, and what each word piece weighs in a question.

A file of the package holds both, fitted once on texts in eight languages (`scripts/fit_late.py`): `projection`
(384, 32) float16, the first principal axes of unit token states, not centred; `weights` (30522,) uint8, the idf of each
word piece in steps of 1/16. Weight 0 marks pieces of which no vector is kept: punctuation and the special ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from docmind.errors import DamagedError

TOKEN_DIM = 32
WEIGHT_STEP = 1 / 16
SCALE = 127  # int8 for a component of 1.0
_ROWS = 16  # at a time: BLAS starts threads for larger products, which then fight the model's for the processor
SHA256 = "9be5bc66394d3299e42d73dbef6502c9208cb47f131423dcfc681b3de8ab7bca"
_PATH = Path(__file__).with_name("minilm_tokens.safetensors")


class Projection:
    """The shipped file, read and verified at first use. Safe from any thread: two that read it read the same."""

    def __init__(self, path: Path = _PATH) -> None:
        self._path = path

    @property
    def fingerprint(self) -> str:
        """What must be equal, beside the text model, for two token vectors to be comparable. Reads nothing."""
        return f"pca{TOKEN_DIM}:{SHA256[:16]}"

    def vectors(self, ids: Sequence[int], states: np.ndarray) -> np.ndarray:
        """Token vectors `(kept, 32)` int8, unit length times 127, of states `(n, 384)`; `ids` may be shorter than n.

        Raises `DamagedError`.
        """
        kept = np.flatnonzero(self.kept(ids))
        projected = np.concatenate(
            [
                states[:0] @ self._axes,
                *(states[kept[at : at + _ROWS]] @ self._axes for at in range(0, len(kept), _ROWS)),
            ]
        )
        norms = np.maximum(np.linalg.norm(projected, axis=1, keepdims=True), 1e-9)
        return np.rint(projected / norms * SCALE).astype(np.int8)

    def kept(self, ids: Sequence[int]) -> np.ndarray:
        """`(n,)` bool: of which word pieces a vector is kept."""
        return self._weights[np.asarray(ids, np.int64)] > 0

    def weights(self, ids: Sequence[int]) -> np.ndarray:
        """`(kept,)` float32: the idf of the kept word pieces, a multiple of 1/16."""
        found = self._weights[np.asarray(ids, np.int64)]
        return found[found > 0].astype(np.float32) * np.float32(WEIGHT_STEP)

    @property
    def _axes(self) -> np.ndarray:
        return self._file["projection"]

    @property
    def _weights(self) -> np.ndarray:
        return self._file["weights"]

    @cached_property
    def _file(self) -> dict[str, np.ndarray]:
        from safetensors.numpy import load

        try:
            data = self._path.read_bytes()
        except OSError as error:
            raise _damaged("cannot be read") from error
        if hashlib.sha256(data).hexdigest() != SHA256:
            raise _damaged("is not the one that DocMind ships")
        found = load(data)
        return {"projection": found["projection"].astype(np.float32), "weights": found["weights"]}


def _damaged(what: str) -> DamagedError:
    return DamagedError(f"The projection for late interaction {what}.", hint="Install DocMind again.")
