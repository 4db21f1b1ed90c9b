"""The kernel that was the fastest here, kept in the user's cache folder: a test takes seconds, and imports torch.

The file holds names of kernels, seconds, and a checksum of what the speed depends on; nothing of a library.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from docmind.errors import VaultError
from docmind.storage import reading, write_private

_DAYS = 30
_DAY_S = 86_400
_MOST_BYTES = 16_384
_LIBRARIES = ("torch", "onnxruntime", "numpy")


class KnownKernels:
    """The file of known kernels. What is missing, damaged, old or of another processor is not known."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, dim: int) -> tuple[str, float] | None:
        """Return the name of the fastest kernel for vectors of this dimension and its seconds, if it is known."""
        entry = self._entries().get(str(dim))
        if not isinstance(entry, dict):
            return None
        name, seconds, at_s = entry.get("kernel"), entry.get("seconds"), entry.get("at_s")
        if not (isinstance(name, str) and isinstance(seconds, float) and isinstance(at_s, int)):
            return None
        return (name, seconds) if 0 <= time.time() - at_s < _DAYS * _DAY_S else None

    def put(self, dim: int, name: str, seconds: float) -> None:
        """Keep the fastest kernel for a dimension; where the file cannot be written, nothing is kept."""
        entries = self._entries() | {str(dim): {"kernel": name, "seconds": seconds, "at_s": int(time.time())}}
        with suppress(VaultError):
            write_private(
                self._path, json.dumps({"machine": _machine(), "kernels": entries}).encode("ascii"), replace=True
            )

    def _entries(self) -> dict[str, Any]:
        with suppress(OSError, ValueError, RecursionError):
            with reading(self._path) as file:
                kept = json.loads(file.read(_MOST_BYTES))
            if isinstance(kept, dict) and kept.get("machine") == _machine() and isinstance(kept.get("kernels"), dict):
                return kept["kernels"]
        return {}


def _machine() -> str:
    """Return a checksum of what the order of speeds depends on: processor, number of its threads, and libraries."""
    parts = [platform.machine(), platform.processor(), str(os.cpu_count())]
    with suppress(OSError):  # only Linux has this file
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
        starts = ("model name", "flags", "Features")
        parts += [next((line for line in lines if line.startswith(start)), "") for start in starts]
    for name in _LIBRARIES:
        try:
            parts.append(metadata.version(name))
        except metadata.PackageNotFoundError:
            parts.append("")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
