"""The interface of every vector index.

An index is a derived cache: the vault is authoritative, and an index that is new, lost or of another model is filled
from it again. The owner's part is always the same:

    if index.epoch() != vault_epoch or index.fingerprint() != model_fingerprint:
        index.rebuild(model_fingerprint)
        for batch in vault: index.upsert("text", batch)
        index.commit(vault_epoch)
        index.activate()

A new index has no generation to write to: `upsert` raises until `rebuild` was called once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from docmind.records.search import Filters

JSON = str | int | float | list[str] | list[float] | list[int]

BATCH = 256
"""Most points per request: it limits how much a full disk can lose."""

NO_EPOCH = -1
"""The epoch of an index that is new, empty, lost or possibly incomplete."""

EVERYTHING = Filters()


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """A sparse vector: `indices` (n,) uint32, each once; `values` (n,) float32."""

    indices: np.ndarray
    values: np.ndarray


Vector = np.ndarray | Sparse


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """The vectors and payload stored under one id (a UUID). A named vector that is absent is unset.

    Shapes: dense `(dim,)`, multivector `(tokens, dim)`, both float32. The payload is small: see
    `docmind.index.schema`.
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
class VectorQuery:
    """A request for one ranked list: the nearest of `collection` to `vector` by its named vector `using`.

    With `prefetch` only candidates are scored: the `depth` nearest by each of those named vectors, which have the
    shape and length of `using`. The filters limit the candidates.
    """

    collection: str
    using: str
    vector: Vector
    limit: int = 150
    filters: Filters = EVERYTHING
    prefetch: tuple[str, ...] = ()
    depth: int = 300


class IndexEngine(ABC):
    """Points with named vectors in collections, searched by similarity.

    Thread-safe: an instance locks for itself, and calls to one generation run one after the other. Errors: `ValueError`
    for a wrong argument (nothing was applied), `IndexMismatchError` where the index was built with other dimensions,
    `DiskFullError` where there is no space (nothing acknowledged was lost), `VaultBusyError` where another process
    holds it, `IndexEngineError` for the rest.
    """

    name: str
    holds_originals: bool
    """Whether every multivector of a page is kept here, as `colpali`: only a server has the space for them."""

    is_clear_at_rest = False
    """Whether deleted points stay readable in files on the disk until the index is built again."""

    @abstractmethod
    def at_rest(self) -> str:
        """Describe in a few words where the index is stored and how it is protected there."""

    @abstractmethod
    def epoch(self) -> int:
        """Return the vault epoch that is durably stored; -1 when new, empty, lost or unknown. Waits for the engine.

        Raises `DiskFullError` or `IndexEngineError` where the index exists and cannot be opened now, which is no reason
        to build another.
        """

    @abstractmethod
    def fingerprint(self) -> str:
        """Return the fingerprint of the model that made the vectors; "" when new."""

    @abstractmethod
    def upsert(self, collection: str, points: Sequence[Point]) -> None:
        """Store points, replacing those with the same ids completely. All are checked before the first is sent.

        Where it raises anything but `ValueError` some of them may be stored: repeat the call to complete it.
        Writes to the generation that `rebuild` started, or else to the active one.
        """

    @abstractmethod
    def delete(self, collection: str, doc_id: str) -> None:
        """Delete all points of one document from every generation. Unknown documents are no error."""

    @abstractmethod
    def search(self, queries: Sequence[VectorQuery]) -> list[list[Scored]]:
        """Return one ranked list per query, best first, equal scores by id; one round trip for all of them."""

    @abstractmethod
    def count(self, collection: str, filters: Filters = EVERYTHING, *, having: str | None = None) -> int:
        """Count the matching points of the active generation; with `having`, those that have that named vector."""

    @abstractmethod
    def scroll(
        self, collection: str, after: str | None = None
    ) -> tuple[Sequence[tuple[str, Mapping[str, object]]], str | None]:
        """Return ids and payloads of the next points of the active generation, at most `BATCH`, in the order of ids.

        With them, the id to go on from, to be given as `after`; None at the end.
        """

    @abstractmethod
    def commit(self, epoch: int) -> None:
        """Make everything acknowledged so far durable, then record `epoch` durably."""

    @abstractmethod
    def rebuild(self, fingerprint: str) -> None:
        """Start an empty generation beside the active one, which searches use until `activate`.

        An earlier unfinished one is dropped. Where nothing is active the new generation is active at once.
        """

    @abstractmethod
    def activate(self) -> None:
        """Switch to the generation that `rebuild` started and drop the old one from the disk."""

    def abandon(self) -> None:  # noqa: B027 - an engine that overwrites in place has nothing to drop
        """Drop the generation that `rebuild` started: later writes go to the active one again."""

    def is_wasteful(self) -> bool:
        """Return whether replaced and deleted points take more space than live points.

        Deleted points stay in the files of the embedded engine until the index is rebuilt.
        """
        return False

    def size_bytes(self) -> int:
        """Return the space that the files of an embedded engine take now; 0 where a server has them."""
        return 0

    @abstractmethod
    def optimize_if_large(self) -> bool:
        """Optimize collections of 10,000 points or more for opening and searching; return whether any was.

        Results stay exact. Takes seconds (100,000 points: 5 s), in which searches of that generation wait: call it
        after a large ingest, or between `rebuild` and `activate`.
        """

    @abstractmethod
    def close(self) -> None:
        """Release the engine. Idempotent; nothing acknowledged is lost without it."""
