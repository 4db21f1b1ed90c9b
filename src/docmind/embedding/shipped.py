"""Arrays that the package ships in safetensors files, verified by their checksums."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from docmind.errors import DamagedError


def shipped_arrays(path: Path, sha256: str, damaged: Callable[[str], DamagedError]) -> dict[str, np.ndarray]:
    """Return the arrays of a file by name. Raises what `damaged` makes of the end of a sentence about the file."""
    from safetensors.numpy import load

    try:
        data = path.read_bytes()
    except OSError as error:
        raise damaged("cannot be read") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise damaged("is not the one that DocMind ships")
    return load(data)
