"""The two collections, their named vectors, and the checks of every point and query before it is sent.

Engines apply a rejected batch partly, and some accept NaN silently.

The payload of a point has ids and labels, never text, images or paths: index files are not encrypted and retain deleted
data, so a payload with human-readable content is rejected here.
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from docmind.config import DatabaseSettings
from docmind.errors import ConfigError, IndexMismatchError
from docmind.index.engine import Point, Sparse, Vector, VectorQuery
from docmind.records.documents import Modality
from docmind.records.values import MOST_TAGS
from docmind.wording import _

LONGEST = 256

_ID = re.compile(rf"[A-Za-z0-9_.:@-]{{1,{LONGEST}}}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SUFFIX = re.compile(r"(\.[a-z0-9]{1,8}){1,2}")
_PHASH = re.compile(r"[0-9a-f]{1,64}")
_LANGUAGE = re.compile(r"([A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2})?")
_PATH = re.compile(r"^(/|\\|~|\.{1,2}[/\\]|[A-Za-z]:[/\\]|file:)|[/\\].*[/\\]|[/\\][^/\\]*\.[A-Za-z0-9]{1,5}$")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{64,}={0,2}")
_HEX = re.compile(r"[0-9a-f]+")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_label(value: object) -> bool:
    if not isinstance(value, str) or not value or len(value) > LONGEST or _PATH.search(value):
        return False
    return not any(not _HEX.fullmatch(run.group()) for run in _BASE64.finditer(value))


def _matches(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None and _is_label(value)


def _is_page_no(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_box(value: object) -> bool:
    return isinstance(value, Sequence) and len(value) == 4 and all(_is_number(side) for side in value)


def _are_tags(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) <= MOST_TAGS and all(map(_is_label, value))


CHECKS: Mapping[str, Callable[[object], bool]] = {
    "doc_id": _is_id,
    "page_no": _is_page_no,
    "page_id": _is_id,
    "modality": lambda value: value in get_args(Modality),
    "node_id": _is_id,
    "image_artifact_id": _matches(_SHA256),
    "image_artifact_suffix": _matches(_SUFFIX),
    "thumbnail_artifact_id": _matches(_SHA256),
    "thumbnail_artifact_suffix": _matches(_SUFFIX),
    "phash": _matches(_PHASH),
    "bbox": _is_box,
    "language": _matches(_LANGUAGE),
    "tags": _are_tags,
}
"""Every key that a payload may have, and the check of its value."""

KEYWORDS = ("doc_id", "modality", "language", "tags")
"""The keys that filters use; engines keep an index of each."""


def check_payload(payload: Mapping[str, object]) -> None:
    """Raise `ValueError` where a key is unknown, a value is invalid, or `doc_id` is missing.

    The message names the key and never repeats the value.
    """
    if "doc_id" not in payload:
        raise ValueError("a payload needs a doc_id")
    for key, value in payload.items():
        check = CHECKS.get(key)
        if check is None:
            raise ValueError(f"a payload has no key {key[:40]!r}; it may have {', '.join(CHECKS)}")
        if not check(value):
            raise ValueError(f"the payload's {key} is not what it must be: thin, short, no path, no encoded bytes")


Shape = Literal["dense", "sparse", "multi"]

SIGLIP_DIM = 768
COLPALI_DIM = 128
MOST_TOKENS = 8_192
LONGEST_LIST = 100_000


@dataclass(frozen=True, slots=True)
class NamedVector:
    """The type of a vector: dense is compared by cosine, multi by MaxSim of dot products, sparse by dot with IDF."""

    shape: Shape
    dim: int = 0


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection: `name` is configured by the user, `role` is fixed and names its folder."""

    name: str
    role: Literal["text", "pages"]
    vectors: Mapping[str, NamedVector]

    def check_points(self, points: Sequence[Point]) -> list[Point]:
        """Return the points to send: ids canonical, arrays contiguous float32, empty sparse vectors left out.

        Of two points with one id the later is kept. Raises `ValueError` at the first that cannot be stored.
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

    def check_query(self, query: VectorQuery) -> VectorQuery:
        """Return the query to send. Raises like `check_points`."""
        for length in (query.limit, query.depth):
            if isinstance(length, bool) or not 1 <= length <= LONGEST_LIST:
                raise ValueError(f"a ranked list holds 1 to {LONGEST_LIST} entries")
        for name in query.prefetch:
            self._check_vector(name, query.vector)
        vector = self._check_vector(query.using, query.vector)
        return replace(query, vector=vector, limit=int(query.limit), depth=int(query.depth))

    def check_name(self, name: str) -> None:
        """Raise `ValueError` where there is no vector with that name."""
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
    """Return the collections by name. `dim` is the text model's; `originals` adds `colpali`, only for servers."""
    multi = NamedVector("multi", COLPALI_DIM)
    pages = {"siglip": NamedVector("dense", SIGLIP_DIM), "colpali_rows": multi, "colpali_cols": multi}
    if originals:
        pages["colpali"] = multi
    text = {"text-dense": NamedVector("dense", dim), "text-sparse": NamedVector("sparse")}
    if database.qdrant_text_collection == database.qdrant_image_collection:
        raise ConfigError(_("The text collection and the image collection need different names."))
    return {
        database.qdrant_text_collection: Collection(database.qdrant_text_collection, "text", text),
        database.qdrant_image_collection: Collection(database.qdrant_image_collection, "pages", pages),
    }


def find_collection(known: Mapping[str, Collection], name: str) -> Collection:
    """Return the collection with that name. Raises `ValueError`, which lists the known names."""
    try:
        return known[name]
    except KeyError:
        raise ValueError(f"there is no collection {name!r}; there are {', '.join(known)}") from None


def check_dim(stored: int, wanted: int) -> None:
    """Raise `IndexMismatchError` where the index holds text vectors of another length."""
    if stored != wanted:
        raise IndexMismatchError(
            _("The index holds text vectors of {stored} dimensions; the model in use makes {wanted}.").format(
                stored=stored, wanted=wanted
            ),
            hint=_(
                "Choose the model that built the index, or run `docmind reindex` to embed again beside the old index."
            ),
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
