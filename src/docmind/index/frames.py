"""How points and queries travel to the engine's process: JSON beside two blobs, one of float32, one of uint32.

In the JSON a vector is a list: `["dense", start, dim]`, `["multi", start, tokens, dim]` or
`["sparse", start, start in the uint32 blob, count]`, where a start counts numbers, not bytes. Both sides run on one
machine, so the byte order is the machine's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from docmind.index.engine import Point, Query, Sparse, Vector


class Blobs:
    """Collects the numbers of one frame."""

    def __init__(self) -> None:
        self._floats: list[np.ndarray] = []
        self._words: list[np.ndarray] = []
        self._floats_taken = self._words_taken = 0

    def put(self, vector: Vector) -> list[str | int]:
        """Take a checked vector; where it will stand."""
        start = self._floats_taken
        if isinstance(vector, Sparse):
            words_start, count = self._words_taken, len(vector.indices)
            self._words.append(vector.indices)
            self._floats.append(vector.values)
            self._words_taken += count
            self._floats_taken += count
            return ["sparse", start, words_start, count]
        self._floats.append(vector.reshape(-1))
        self._floats_taken += vector.size
        return ["dense" if vector.ndim == 1 else "multi", start, *vector.shape]

    def take(self) -> list[bytes]:
        """The two blobs."""
        return [_joined(self._floats, np.float32), _joined(self._words, np.uint32)]


def frame_points(collection: str, points: Sequence[Point]) -> tuple[dict[str, Any], list[bytes]]:
    """An `upsert` request of checked points."""
    blobs = Blobs()
    rows = [
        {
            "id": point.id,
            "payload": dict(point.payload),
            "vectors": {name: blobs.put(vector) for name, vector in point.vectors.items()},
        }
        for point in points
    ]
    return {"do": "upsert", "collection": collection, "points": rows}, blobs.take()


def frame_queries(queries: Sequence[Query]) -> tuple[dict[str, Any], list[bytes]]:
    """A `search` request of checked queries."""
    blobs = Blobs()
    rows = [
        {
            "collection": query.collection,
            "using": query.using,
            "vector": blobs.put(query.vector),
            "limit": query.limit,
            "filters": asdict(query.filters),
            "prefetch": list(query.prefetch),
            "depth": query.depth,
        }
        for query in queries
    ]
    return {"do": "search", "queries": rows}, blobs.take()


def _joined(arrays: list[np.ndarray], dtype: type) -> bytes:
    return np.concatenate(arrays).astype(dtype, copy=False).tobytes() if arrays else b""
