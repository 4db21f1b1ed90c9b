"""Records of the removal of stored files that nothing refers to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

GarbageKind = Literal["unreferenced", "set aside", "log"]
"""A stored file that no row refers to, one that was set aside, or a log of the database that was set aside."""


@dataclass(frozen=True, slots=True)
class GarbageFile:
    """One file that nothing refers to.

    `age_ms` is for how long that has been known, by the library's own clock.
    """

    name: str
    kind: GarbageKind
    bytes: int
    age_ms: int


@dataclass(frozen=True, slots=True)
class PruneReport:
    """What was removed, or with `is_dry_run` what would be, the oldest first; sizes are in bytes.

    `waiting` files are not referred to either, and stay because they are too young or because all files take no more
    than was asked for. `failed` could not be removed, and `total_bytes` is what the stored files take afterwards.
    """

    files: tuple[GarbageFile, ...] = ()
    total_bytes: int = 0
    waiting: int = 0
    waiting_bytes: int = 0
    failed: int = 0
    min_age_ms: int = 0
    is_dry_run: bool = False

    @property
    def freed_bytes(self) -> int:
        """The size of the files that were removed or would be."""
        return sum(file.bytes for file in self.files)
