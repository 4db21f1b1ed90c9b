"""Small points for the tests of the index: four dimensions, scores that a reader can check by hand."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import numpy as np

from docmind.index.engine import Point, Sparse, Vector, VectorQuery
from docmind.records.documents import page_id_of
from docmind.records.search import Filters

DIM = 4


def axis(n: int, dim: int = DIM) -> np.ndarray:
    """Return the unit vector along one axis."""
    return np.eye(dim, dtype=np.float32)[n]


def terms(weights: Mapping[int, float]) -> Sparse:
    return Sparse(np.array(list(weights), dtype=np.uint32), np.array(list(weights.values()), dtype=np.float32))


def id_of(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def point(name: str, vectors: Mapping[str, Vector] | None = None, doc_id: str = "doc-a", **payload: Any) -> Point:
    thin = {"doc_id": doc_id, "page_no": 1, "page_id": page_id_of(doc_id, 1), "modality": "text", "node_id": name}
    return Point(id_of(name), {"text-dense": axis(0)} if vectors is None else vectors, thin | payload)


def near(
    vector: Vector, using: str = "text-dense", collection: str = "text", limit: int = 10, **only: Any
) -> VectorQuery:
    return VectorQuery(collection, using, vector, limit, Filters(**only))


def names(scored: list[Any]) -> list[str]:
    return [one.payload["node_id"] for one in scored]
