"""Small vectors of a text model's tokens, for late interaction: a projection of its token states.

A file of the package has the data of a model, fitted once on texts in many languages (`scripts/eval FOLDER fit-late`):
`projection` `(dim, small)` float16, the first principal axes of unit token states; where the states share a direction,
its `mean` `(dim,)` float16, which is subtracted first; and `weights` `(pieces,)` uint8, the idf of each word piece in
steps of 1/16. Weight 0 marks pieces of which no vector is kept: punctuation and special tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from docmind.embedding.shipped import shipped_arrays
from docmind.errors import DamagedError
from docmind.wording import _

WEIGHT_STEP = 1 / 16
SCALE = 127  # int8 for a component of 1.0
_ROWS = 16  # per product: BLAS starts threads for larger ones, which compete with the model's threads


class Projection:
    """A shipped file, read and verified at first use. Thread-safe: concurrent first reads give the same result."""

    def __init__(self, path: Path, sha256: str, dim: int) -> None:
        """Set up; `dim` is the length of a token vector."""
        self._path, self._sha256, self.dim = path, sha256, dim

    @property
    def fingerprint(self) -> str:
        """The identity that, with the text model's, must be equal to compare token vectors. Reads nothing."""
        return f"pca{self.dim}:{self._sha256[:16]}"

    def vectors(self, ids: Sequence[int], states: np.ndarray) -> np.ndarray:
        """Return token vectors `(kept, dim)` int8, unit length times 127.

        `states` are `(n, model dim)`; `ids` may be shorter than n. Raises `DamagedError`.
        """
        kept = np.flatnonzero(self.kept(ids))
        axes, shift = self._file["projection"], self._file["shift"]
        batches = (states[kept[at : at + _ROWS]] @ axes - shift for at in range(0, len(kept), _ROWS))
        projected = np.concatenate([states[:0] @ axes, *batches])
        norms = np.maximum(np.linalg.norm(projected, axis=1, keepdims=True), 1e-9)
        return np.rint(projected / norms * SCALE).astype(np.int8)

    def kept(self, ids: Sequence[int]) -> np.ndarray:
        """Return `(n,)` bool: for which word pieces a vector is kept."""
        return self._file["weights"][np.asarray(ids, np.int64)] > 0

    def weights(self, ids: Sequence[int]) -> np.ndarray:
        """Return `(kept,)` float32: the idf of the kept word pieces, a multiple of 1/16."""
        found = self._file["weights"][np.asarray(ids, np.int64)]
        return found[found > 0].astype(np.float32) * np.float32(WEIGHT_STEP)

    @cached_property
    def _file(self) -> dict[str, np.ndarray]:
        found = shipped_arrays(self._path, self._sha256, _damaged)
        axes = found["projection"].astype(np.float32)
        mean = found["mean"].astype(np.float32) if "mean" in found else np.zeros(len(axes), np.float32)
        return {"projection": axes, "shift": mean @ axes, "weights": found["weights"]}


def _damaged(what: str) -> DamagedError:
    return DamagedError(_("The data of the fine ranking {what}.").format(what=what), hint=_("Reinstall DocMind."))
