"""The two collections, their named vectors, and the check that every point and query passes before it is sent.

Engines apply a rejected batch partly, and some accept NaN without a word: nothing reaches them unchecked.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from docmind.config import DatabaseSettings
from docmind.errors import ConfigError, IndexMismatchError
from docmind.index.engine import Point, Query, Sparse, Vector
from docmind.index.payload import check_payload

Shape = Literal["dense", "sparse", "multi"]

SIGLIP_DIM = 768
COLPALI_DIM = 128
MOST_TOKENS = 8_192
LONGEST_LIST = 100_000


@dataclass(frozen=True, slots=True)
class NamedVector:
    """Dense vectors are compared by cosine, multivectors by MaxSim of dot products, sparse ones by dot with IDF."""

    shape: Shape
    dim: int = 0


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection: `name` is the user's, `role` is ours and names its folder."""

    name: str
    role: Literal["text", "pages"]
    vectors: Mapping[str, NamedVector]

    def check_points(self, points: Sequence[Point]) -> list[Point]:
        """The points as they may be sent: ids canonical, arrays contiguous float32, empty sparse vectors left out.

        Of two points with one id the later wins. Raises `ValueError` at the first that cannot be stored.
        """
        checked: dict[str, Point] = {}
        for point in points:
            point_id = _uuid(point.id)
            check_payload(point.payload)
            vectors: dict[str, Vector] = {}
            for name, vector in point.vectors.items():
                sound = self._check_vector(name, vector)
                if not (isinstance(sound, Sparse) and len(sound.indices) == 0):
                    vectors[name] = sound
            checked.pop(point_id, None)
            checked[point_id] = Point(point_id, vectors, point.payload)
        return list(checked.values())

    def check_query(self, query: Query) -> Query:
        """The query as it may be sent. Raises like `check_points`."""
        for length in (query.limit, query.depth):
            if isinstance(length, bool) or not 1 <= length <= LONGEST_LIST:
                raise ValueError(f"a ranked list holds 1 to {LONGEST_LIST} entries")
        for name in query.prefetch:
            self._check_vector(name, query.vector)
        vector = self._check_vector(query.using, query.vector)
        return replace(query, vector=vector, limit=int(query.limit), depth=int(query.depth))

    def check_name(self, name: str) -> None:
        """Raise `ValueError` where there is no vector of that name."""
        if name not in self.vectors:
            raise ValueError(f"{self.name} has no vector {name!r}; it has {', '.join(self.vectors)}")

    def _check_vector(self, name: str, vector: Vector) -> Vector:
        self.check_name(name)
        named = self.vectors[name]
        if isinstance(vector, Sparse):
            if named.shape != "sparse":
                raise ValueError(f"{name} is not sparse")
            return _check_sparse(name, vector)
        if named.shape == "sparse":
            raise ValueError(f"{name} is sparse")
        array = np.ascontiguousarray(vector, dtype=np.float32)
        if named.shape == "dense":
            if array.ndim != 1:
                raise ValueError(f"{name} needs one vector of {named.dim} numbers")
        elif array.ndim != 2 or not 1 <= array.shape[0] <= MOST_TOKENS:
            raise ValueError(f"{name} needs 1 to {MOST_TOKENS} vectors of {named.dim} numbers")
        if array.shape[-1] != named.dim:
            raise ValueError(f"{name} has {named.dim} dimensions, not {array.shape[-1]}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds a number that is not finite")
        return array


def collections(database: DatabaseSettings, dim: int, *, originals: bool = False) -> dict[str, Collection]:
    """The collections by name. `dim` is the text model's; `originals` adds `colpali`, which only a server holds."""
    multi = NamedVector("multi", COLPALI_DIM)
    pages = {"siglip": NamedVector("dense", SIGLIP_DIM), "colpali_rows": multi, "colpali_cols": multi}
    if originals:
        pages["colpali"] = multi
    text = {"text-dense": NamedVector("dense", dim), "text-sparse": NamedVector("sparse")}
    if database.qdrant_text_collection == database.qdrant_image_collection:
        raise ConfigError("The text collection and the image collection need different names.")
    return {
        database.qdrant_text_collection: Collection(database.qdrant_text_collection, "text", text),
        database.qdrant_image_collection: Collection(database.qdrant_image_collection, "pages", pages),
    }


def find_collection(known: Mapping[str, Collection], name: str) -> Collection:
    """The collection of that name. Raises `ValueError` listing the names there are."""
    try:
        return known[name]
    except KeyError:
        raise ValueError(f"there is no collection {name!r}; there are {', '.join(known)}") from None


def check_dim(stored: int, wanted: int) -> None:
    """Raise `IndexMismatchError` where the index holds text vectors of another length."""
    if stored != wanted:
        raise IndexMismatchError(
            f"The index holds text vectors of {stored} dimensions; the model in use makes {wanted}.",
            hint="Choose the model that built the index, or run `docmind reindex` to embed again beside the old index.",
        )


def _check_sparse(name: str, vector: Sparse) -> Sparse:
    raw, values = np.asarray(vector.indices), np.ascontiguousarray(vector.values, dtype=np.float32)
    if raw.ndim != 1 or values.ndim != 1 or raw.shape != values.shape:
        raise ValueError(f"{name} needs one value for each index")
    if not np.issubdtype(raw.dtype, np.integer) and raw.size:
        raise ValueError(f"{name} needs whole numbers as indices")
    if raw.size and (int(raw.min()) < 0 or int(raw.max()) > 0xFFFF_FFFF):
        raise ValueError(f"{name} needs indices of 32 bits")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} holds a number that is not finite")
    indices = np.ascontiguousarray(raw, dtype=np.uint32)
    order = np.argsort(indices, kind="stable")
    indices, values = indices[order], values[order]
    if (indices[1:] == indices[:-1]).any():
        raise ValueError(f"{name} names an index twice")
    return Sparse(indices, values)


def _uuid(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except (ValueError, AttributeError, TypeError):
        raise ValueError("a point's id must be a UUID") from None
