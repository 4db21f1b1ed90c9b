"""What goes into the matrix products of an encoder: ranges and outlying channels, for its int8 form (`bert_onnx`).

A file of the package has the data of a model, fitted once on texts in many languages (`scripts/eval FOLDER fit-int8`)
or on questions with passages (`scripts/reader`), for each input of a product, by its name in the graph: `NAME.few`
`(n,)` int16, the channels that reach far beyond all others; `NAME.range` `(2,)` float32, the least and the most that
the others reach.

The ranges are data and not measured where a model is converted, so that a conversion gives the same bytes everywhere,
and because a fixed range must hold for texts of every language and kind.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from docmind.embedding.shipped import shipped_arrays
from docmind.errors import DamagedError
from docmind.wording import _

LEVELS = 255  # steps of an activation in uint8


class Activation(NamedTuple):
    """An input of a product: `few` `(n,)` int64 outlying channels, and the range of all others."""

    few: np.ndarray
    low: float
    high: float

    def steps(self) -> tuple[np.ndarray, np.ndarray]:
        """Return scale (float32) and zero (uint8), both of shape (): 0.0 is a whole number of steps."""
        low, high = min(np.float32(self.low), np.float32(0)), max(np.float32(self.high), np.float32(0))
        scale = max((high - low) / np.float32(LEVELS), np.float32(1e-9))
        return np.array(scale, np.float32), np.array(np.rint(-low / scale), np.uint8)


class Activations:
    """A shipped file. `fingerprint` is known without reading it; `read` verifies it."""

    def __init__(self, path: Path, sha256: str) -> None:
        self._path, self._sha256 = path, sha256

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits: part of the names of converted files."""
        return self._sha256[:16]

    def read(self) -> dict[str, Activation]:
        """Return the inputs of products by name. Raises `DamagedError`."""
        return unpacked(shipped_arrays(self._path, self._sha256, _damaged))


def packed(activations: dict[str, Activation]) -> dict[str, np.ndarray]:
    """Return the arrays of a file."""
    few = {f"{name}.few": one.few.astype(np.int16) for name, one in activations.items()}
    return few | {f"{name}.range": np.array([one.low, one.high], np.float32) for name, one in activations.items()}


def unpacked(arrays: dict[str, np.ndarray]) -> dict[str, Activation]:
    """Return what `packed` was given."""
    names = [name.removesuffix(".range") for name in arrays if name.endswith(".range")]
    few = [arrays[f"{name}.few"].astype(np.int64) for name in names]
    ranges = [arrays[f"{name}.range"].tolist() for name in names]
    return {name: Activation(some, low, high) for name, some, (low, high) in zip(names, few, ranges, strict=True)}


def _damaged(what: str) -> DamagedError:
    return DamagedError(_("The int8 data of a model {what}.").format(what=what), hint=_("Reinstall DocMind."))
