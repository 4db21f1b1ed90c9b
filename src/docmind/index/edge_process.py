"""The engine's process: the only importer of qdrant_edge, which may crash on a full disk and holds the GIL.

One request, one reply. Heavy packages are not imported here, not even numpy: a cold search waits for this process. A
request that fails is answered with `{"error": kind, "message": ...}`: `busy` (another process holds the shard),
`broken` (the shard cannot be opened), `full` (no space) or `engine`. If this process dies, its caller gets a closed
pipe.
"""

from __future__ import annotations

import shutil
import time
from array import array
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, BinaryIO

import qdrant_edge as edge

from docmind.runtime import Frame, read_request, serve_requests, write_frame
from docmind.storage import hold

FLUSH_EVERY = 16
"""Batches between flushes: replaying a long log makes opening slow."""

LARGE = 10_000
"""Points from which a collection is worth optimizing."""

PACK_ABOVE_KB = 1_000
BUSY_WAIT_S = 10.0
_KEYS = {"doc_ids": "doc_id", "modalities": "modality", "languages": "language", "tags": "tags"}

Row = dict[str, Any]


class BusyError(Exception):
    """Another process holds the generation."""


class Shards:
    """The shards of one generation, opened together; a collection's shard is created with its first points."""

    def __init__(self, directory: str, collections: dict[str, Row]) -> None:
        self._collections = collections
        self._root = Path(directory)
        self._lock = _own(self._root)
        self._shards: dict[str, edge.EdgeShard] = {}
        self._unflushed: dict[str, int] = {}
        for name in collections:
            if self._path(name).exists():
                self._shards[name] = edge.EdgeShard.load(str(self._path(name)))

    def upsert(self, request: Row, blobs: list[bytes]) -> Row:
        floats, words = _numbers(blobs)
        points = [
            edge.Point(row["id"], {k: _vector(v, floats, words) for k, v in row["vectors"].items()}, row["payload"])
            for row in request["points"]
        ]
        name = request["collection"]
        shard = self._shards.get(name) or self._create(name)
        shard.update(edge.UpdateOperation.upsert_points(points))
        self._written(name)
        return {}

    def delete(self, request: Row, _blobs: list[bytes]) -> Row:
        name = request["collection"]
        if name in self._shards:
            match = edge.FieldCondition("doc_id", match=edge.MatchValue(request["doc_id"]))
            self._shards[name].update(edge.UpdateOperation.delete_points_by_filter(edge.Filter(must=[match])))
            self._written(name)
        return {}

    def search(self, request: Row, blobs: list[bytes]) -> Row:
        floats, words = _numbers(blobs)
        lists: list[list[list[Any]]] = [[] for _ in request["queries"]]
        by_shard: dict[str, list[int]] = {}
        for number, row in enumerate(request["queries"]):
            if row["collection"] in self._shards:
                by_shard.setdefault(row["collection"], []).append(number)
        for name, numbers in by_shard.items():
            wanted = [_query(request["queries"][number], floats, words) for number in numbers]
            found = self._shards[name].query_batch(edge.QueryBatchRequest(wanted))
            for number, points in zip(numbers, found, strict=True):
                lists[number] = [[str(point.id), point.score, point.payload] for point in points]
        return {"lists": lists}

    def count(self, request: Row, _blobs: list[bytes]) -> Row:
        shard, wanted = self._shards.get(request["collection"]), _filter(request["filters"], request["having"])
        return {"count": shard.count(edge.CountRequest(filter=wanted)) if shard else 0}

    def scroll(self, request: Row, _blobs: list[bytes]) -> Row:
        shard = self._shards.get(request["collection"])
        if shard is None:
            return {"points": [], "next": None}
        wanted = edge.ScrollRequest(request["after"], request["limit"], with_payload=True, with_vector=False)
        points, following = shard.scroll(wanted)
        return {
            "points": [[str(point.id), point.payload or {}] for point in points],
            "next": None if following is None else str(following),
        }

    def flush(self, _request: Row, _blobs: list[bytes]) -> Row:
        for name in self._shards:
            if self._unflushed.get(name, 1):
                self._flush(name)
        return {}

    def optimize(self, _request: Row, _blobs: list[bytes]) -> Row:
        """Pack large shards into read-only segments, without a graph: exact as before, and mapped instead of loaded.

        100,000 nodes: 4.4 s of packing, then 0.08 s of CPU to open instead of 0.63 s, and searches in half the time.
        """
        done = False
        for shard in self._shards.values():
            done |= shard.info().points_count >= LARGE and shard.optimize()
        return {"done": done}

    def close(self) -> None:
        """Close the shards, while the generation is still locked: dropping them closes them too, but after the lock."""
        with ExitStack() as closing:  # each of them, even where another fails
            for shard in self._shards.values():
                closing.callback(shard.close)

    def _path(self, name: str) -> Path:
        return self._root / self._collections[name]["role"]

    def _create(self, name: str) -> edge.EdgeShard:
        """Create the shard in a temporary folder and move it when complete: a partial one cannot be opened."""
        path = self._path(name)
        beside = path.with_name(path.name + ".new")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir()
        shard = edge.EdgeShard.create(str(beside), _config(self._collections[name]["vectors"]))
        for key in _KEYS.values():
            parameters = edge.KeywordIndexParams(is_tenant=key == "doc_id")
            shard.update(edge.UpdateOperation.create_field_index(key, parameters))
        shard.close()
        beside.rename(path)
        self._shards[name] = edge.EdgeShard.load(str(path))
        return self._shards[name]

    def _written(self, name: str) -> None:
        self._unflushed[name] = self._unflushed.get(name, 0) + 1
        if self._unflushed[name] >= FLUSH_EVERY:
            self._flush(name)

    def _flush(self, name: str) -> None:
        self._shards[name].flush()
        self._unflushed[name] = 0


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Greet, then answer requests until the pipe closes. The first must be `open`; if it fails the process ends.

    The greeting distinguishes a process that cannot run at all from shards that crash it.
    """
    write_frame(outgoing, {"hello": True})
    first = read_request(incoming)
    if first is None:
        return
    try:
        shards = Shards(first[0]["directory"], first[0]["collections"])
    except BaseException as error:
        if not _is_engines(error):
            raise
        write_frame(outgoing, _failure(error, "broken"))
        return
    write_frame(outgoing, {})

    def answer(request: Row, blobs: list[bytes]) -> Frame:
        try:
            return getattr(shards, request["do"])(request, blobs), []
        except BaseException as error:
            if not _is_engines(error):
                raise
            return _failure(error, "engine"), []

    try:
        serve_requests(incoming, outgoing, answer)
    finally:  # also where the owner died and an answer could not be sent
        shards.close()


def _is_engines(error: BaseException) -> bool:
    """Return whether the engine raised it: as a bare `Exception`, or as a panic that is no `Exception`."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _failure(error: BaseException, kind: str) -> Row:
    text = str(error)
    if isinstance(error, BusyError) or "WouldBlock" in text:
        kind = "busy"
    elif "No space left" in text or "StorageFull" in text or "not enough disk space" in text.lower():
        kind = "full"
    return {"error": kind, "message": f"{type(error).__name__}: {text}"[:500]}


def _own(directory: Path) -> IO[bytes]:
    """Lock the generation until this process ends.

    The engine's own lock is not enough: it is released before the last files are written, and a shard that was opened
    at that moment had lost acknowledged points. An owner that has just died leaves a process that is still closing.
    """
    deadline = time.monotonic() + BUSY_WAIT_S
    while (held := hold(directory / "lock")) is None:
        if time.monotonic() > deadline:
            raise BusyError("the generation is held by another process")
        time.sleep(0.02)
    return held


def _config(vectors: dict[str, Row]) -> edge.EdgeConfig:
    """Return the storage configuration of a collection.

    Vectors are `Cold`: read when they are needed, not all at opening. In memory (tmpfs) reading all of them made pages
    of the engine's 33 MB of preallocated holes, for each vector of a collection; searches take the same time either
    way.
    """
    half, cold, dense, sparse = edge.VectorStorageDatatype.Float16, edge.Memory.Cold, {}, {}
    for name, named in vectors.items():
        if named["shape"] == "sparse":
            sparse[name] = edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf, memory=edge.Memory.Cached)
        elif named["shape"] == "dense":
            dense[name] = edge.EdgeVectorParams(named["dim"], edge.Distance.Cosine, datatype=half, memory=cold)
        else:
            comparator = edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim)
            dense[name] = edge.EdgeVectorParams(
                named["dim"], edge.Distance.Dot, multivector_config=comparator, datatype=half, memory=cold
            )
    no_graph = edge.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000)
    optimizers = edge.EdgeOptimizersConfig(indexing_threshold=PACK_ABOVE_KB)
    return edge.EdgeConfig(vectors=dense, sparse_vectors=sparse, hnsw_config=no_graph, optimizers=optimizers)


def _numbers(blobs: list[bytes]) -> tuple[array[float], array[int]]:
    floats, words = array("f"), array("I")
    floats.frombytes(blobs[0])
    words.frombytes(blobs[1])
    return floats, words


def _vector(where: list[Any], floats: array[float], words: array[int]) -> Any:
    """Return the vector in the engine's form: slices of arrays, which it reads without a list in between."""
    shape, start = where[0], where[1]
    if shape == "dense":
        return floats[start : start + where[2]]
    if shape == "multi":
        _, _, tokens, dim = where
        return [floats[start + row * dim : start + (row + 1) * dim] for row in range(tokens)]
    _, _, words_start, count = where
    return edge.SparseVector(words[words_start : words_start + count], floats[start : start + count])  # pyright: ignore[reportArgumentType]


def _query(row: Row, floats: array[float], words: array[int]) -> edge.QueryRequest:
    vector, narrowed = _vector(row["vector"], floats, words), _filter(row["filters"])
    first = [
        edge.Prefetch(row["depth"], query=edge.Query.Nearest(vector, using=name), filter=narrowed)
        for name in row["prefetch"]
    ]
    nearest = edge.Query.Nearest(vector, using=row["using"])
    return edge.QueryRequest(
        limit=row["limit"], query=nearest, prefetches=first or None, filter=narrowed, with_payload=True
    )


def _filter(filters: dict[str, list[str]], having: str | None = None) -> edge.Filter | None:
    must: list[Any] = [
        edge.FieldCondition(_KEYS[name], match=edge.MatchAny(list(values)))
        for name, values in filters.items()
        if values
    ]
    if having is not None:
        must.append(edge.HasVectorCondition(having))
    return edge.Filter(must=must) if must else None
