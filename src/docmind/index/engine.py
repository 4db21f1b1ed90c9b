"""What every vector index can do, whichever engine is behind it.

An index is a derived cache: the vault holds the truth, and an index that is new, lost or of another model is filled
again from it. The owner's part is always the same:

    if index.epoch() != vault_epoch or index.fingerprint() != model_fingerprint:
        index.rebuild(model_fingerprint)
        for batch in vault: index.upsert("text", batch)
        index.commit(vault_epoch)
        index.activate()

A new index has no generation to write to: `upsert` refuses until `rebuild` was called once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from docmind.schema import Filters

JSON = str | int | float | list[str] | list[float] | list[int]

BATCH = 256
"""Most points that travel at once: what a full disk can tear is bounded by it."""

NO_EPOCH = -1
"""The epoch of an index that is new, empty, lost or not known to be whole."""

EVERYTHING = Filters()


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """A sparse vector: `indices` (n,) uint32, each once; `values` (n,) float32."""

    indices: np.ndarray
    values: np.ndarray


Vector = np.ndarray | Sparse


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """What is stored under one id (a UUID). A named vector that is absent is simply unset.

    Shapes: dense `(dim,)`, multivector `(tokens, dim)`, both float32. The payload is thin: see `docmind.index.payload`.
    """

    id: str
    vectors: Mapping[str, Vector]
    payload: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Scored:
    """One entry of a ranked list. Scores compare within one list only."""

    id: str
    score: float
    payload: Mapping[str, JSON]


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """One ranked list that is wanted: the nearest of `collection` to `vector` by its named vector `using`.

    With `prefetch` only candidates are scored by it: the `depth` nearest by each of those named vectors, which have the
    shape and length of `using`. The filters narrow what the candidates are taken from.
    """

    collection: str
    using: str
    vector: Vector
    limit: int = 150
    filters: Filters = EVERYTHING
    prefetch: tuple[str, ...] = ()
    depth: int = 300


class IndexEngine(ABC):
    """Points with named vectors in collections, searched by nearness.

    One instance may be used from several threads: it locks for itself, and calls to one generation run one after the
    other. Errors: `ValueError` for a wrong argument (nothing was applied), `IndexMismatchError` where the index was
    built with other dimensions, `DiskFullError` where there is no room (nothing acknowledged was lost),
    `VaultBusyError` where another process holds it, `IndexEngineError` for the rest.
    """

    name: str
    holds_originals: bool
    """Whether every multivector of a page is kept here, as `colpali`: what a server has the room for."""

    @abstractmethod
    def epoch(self) -> int:
        """The vault epoch that is durably contained; -1 when new, empty, lost or unknown. Waits for the engine."""

    @abstractmethod
    def fingerprint(self) -> str:
        """The fingerprint of the model that made the vectors; "" when new."""

    @abstractmethod
    def upsert(self, collection: str, points: Sequence[Point]) -> None:
        """Store points, replacing those of the same id whole. All are checked before the first is sent.

        Where it raises anything but `ValueError` some of them may be stored: the same call again heals that.
        Goes to the generation that `rebuild` started, or else to the active one.
        """

    @abstractmethod
    def delete(self, collection: str, doc_id: str) -> None:
        """Take all points of one document out of every generation. Unknown documents are no error."""

    @abstractmethod
    def search(self, queries: Sequence[Query]) -> list[list[Scored]]:
        """One ranked list per query, best first, equal scores by id; one round trip for all of them."""

    @abstractmethod
    def count(self, collection: str, filters: Filters = EVERYTHING, *, having: str | None = None) -> int:
        """How many points of the active generation match; with `having`, of those that have that named vector."""

    @abstractmethod
    def commit(self, epoch: int) -> None:
        """Make everything acknowledged so far durable, then record `epoch` durably."""

    @abstractmethod
    def rebuild(self, fingerprint: str) -> None:
        """Start an empty generation beside the active one, which searches see until `activate`.

        An unfinished one of before is dropped. Where nothing is active the new generation is active at once.
        """

    @abstractmethod
    def activate(self) -> None:
        """Switch to the generation that `rebuild` started and drop the old one from the disk."""

    @abstractmethod
    def optimize_if_large(self) -> bool:
        """Pack collections of 10,000 points or more for fast opening and searching; whether anything was done.

        Results stay exact. Takes seconds (100,000 points: 5 s), in which searches of that generation wait: the time
        for it is after a large ingest, and between `rebuild` and `activate`.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the engine. Harmless when done twice; nothing acknowledged is lost by leaving it out."""
