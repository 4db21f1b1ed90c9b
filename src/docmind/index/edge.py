"""The embedded index: Qdrant Edge in a child process.

<directory>/lock              held while an EdgeIndex is open: one owner
<directory>/current           the name of the active generation, replaced whole
<directory>/g000001           a generation, see `docmind.index.edge_generation`
<directory>/g000001.broken    one that could not be opened: set aside, deleted at the next open or rebuild

Only files of exactly this form are read or deleted (`docmind.index.private_folder`): other files in the folder stay.

Points and queries are sent to that process as frames: JSON beside two blobs, one of float32, one of uint32. In the JSON
a vector is a list: `["dense", start, dim]`, `["multi", start, tokens, dim]` or
`["sparse", start, start in the uint32 blob, count]`, where a start counts numbers, not bytes. Both processes run on one
machine, so the byte order is the machine's.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from docmind.config import DatabaseSettings
from docmind.errors import IndexEngineError, VaultBusyError
from docmind.index.edge_generation import TOO_FULL, Generation, GenerationLostError, State, read_state, write_durably
from docmind.index.engine import BATCH, EVERYTHING, NO_EPOCH, IndexEngine, Point, Scored, Sparse, Vector, VectorQuery
from docmind.index.private_folder import GENERATION, free_name, generations, read_small
from docmind.index.schema import check_dim, collections, find_collection
from docmind.records.search import Filters
from docmind.storage import check_room, hold, is_folder
from docmind.wording import _


class Blobs:
    """The numbers of one frame, collected into blobs."""

    def __init__(self) -> None:
        self._floats: list[np.ndarray] = []
        self._words: list[np.ndarray] = []
        self._floats_taken = self._words_taken = 0

    def put(self, vector: Vector) -> list[str | int]:
        """Add a checked vector and return its location."""
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
        """Return the two blobs."""
        return [_joined(self._floats, np.float32), _joined(self._words, np.uint32)]


def frame_points(collection: str, points: Sequence[Point]) -> tuple[dict[str, Any], list[bytes]]:
    """Return an `upsert` request of checked points."""
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


def frame_queries(queries: Sequence[VectorQuery]) -> tuple[dict[str, Any], list[bytes]]:
    """Return a `search` request of checked queries."""
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


OPTIMIZE_TIMEOUT_S = 3_600.0
DEAD = 2_000
"""Points that were replaced or deleted; above this number, they are compared with the points that are alive."""

T = TypeVar("T")
_LOG = logging.getLogger("docmind.index")


class EdgeIndex(IndexEngine):
    """An index in a directory. Thread-safe: each generation has a lock and handles one request at a time.

    The constructor returns before the engine is ready; the first call waits for it. `dim` is the length of the text
    vectors to store and to search. `min_free_mb` is the space that must stay free when writing. `timeout_s` is the
    longest time without an answer to a search; a process that takes longer is killed. Raises `VaultBusyError` where the
    directory is open already.
    """

    name = "edge"
    holds_originals = False
    is_clear_at_rest = True

    def __init__(
        self,
        directory: Path,
        dim: int,
        *,
        database: DatabaseSettings | None = None,
        min_free_mb: int = 200,
        timeout_s: float = 30.0,
    ) -> None:
        self._directory = directory
        self._dim = dim
        self._database = database or DatabaseSettings()
        self._min_free = min_free_mb << 20
        self._timeout_s = timeout_s
        self._known = collections(self._database, dim)
        self._switch = threading.RLock()
        self._next: Generation | None = None
        self._lost = False
        directory.mkdir(parents=True, exist_ok=True)
        self._owner = own(directory)
        self._active: Generation | None = None
        try:
            self._active = self._open_current()
            self._sweep()
        except BaseException:  # release the lock and the process
            self.close()
            raise

    def at_rest(self) -> str:
        return "blinded: in the vault's index folder, not encrypted"

    def epoch(self) -> int:
        def contained(generation: Generation) -> int:
            generation.ready()
            return generation.state.contained

        try:
            return self._read(contained, NO_EPOCH)
        except IndexEngineError:
            if self._active is None:  # set aside now or earlier
                return NO_EPOCH
            raise

    def fingerprint(self) -> str:
        active = self._active
        return active.state.fingerprint if active is not None else ""

    def upsert(self, collection: str, points: Sequence[Point]) -> None:
        checked = find_collection(self._known, collection).check_points(points)
        target = self._target()
        check_dim(target.state.dim, self._dim)
        for start in range(0, len(checked), BATCH):
            self._write(target, *frame_points(collection, checked[start : start + BATCH]))

    def delete(self, collection: str, doc_id: str) -> None:
        find_collection(self._known, collection)
        for generation in (self._active, self._next):
            if generation is not None:
                self._write(generation, {"do": "delete", "collection": collection, "doc_id": doc_id})

    def search(self, queries: Sequence[VectorQuery]) -> list[list[Scored]]:
        checked = [find_collection(self._known, query.collection).check_query(query) for query in queries]
        # An empty sparse vector matches nothing, so the engine is not asked.
        asked = [n for n, query in enumerate(checked) if not _is_empty(query)]
        header, blobs = frame_queries([checked[n] for n in asked])

        def nearest(generation: Generation) -> list[Any]:
            check_dim(generation.state.dim, self._dim)
            return generation.read(header, blobs)["lists"]

        lists: list[list[Scored]] = [[] for _query in queries]
        for n, found in zip(asked, self._read(nearest, [[] for _query in asked]), strict=True):
            scored = [Scored(point_id, score, payload) for point_id, score, payload in found]
            lists[n] = sorted(scored, key=lambda one: (-one.score, one.id))
        return lists

    def count(self, collection: str, filters: Filters = EVERYTHING, *, having: str | None = None) -> int:
        known = find_collection(self._known, collection)
        if having is not None:
            known.check_name(having)
        header = {"do": "count", "collection": collection, "filters": asdict(filters), "having": having}
        return self._read(lambda generation: int(generation.read(header)["count"]), 0)

    def scroll(
        self, collection: str, after: str | None = None
    ) -> tuple[Sequence[tuple[str, Mapping[str, object]]], str | None]:
        find_collection(self._known, collection)
        header = {"do": "scroll", "collection": collection, "after": after, "limit": BATCH}

        def next_of(generation: Generation) -> tuple[Sequence[tuple[str, Mapping[str, object]]], str | None]:
            reply = generation.read(header)
            return [(point_id, payload) for point_id, payload in reply["points"]], reply["next"]

        return self._read(next_of, ([], None))

    def commit(self, epoch: int) -> None:
        target = self._target()
        try:
            target.commit(epoch)
        except GenerationLostError:
            self._set_aside(target)
            raise

    def rebuild(self, fingerprint: str) -> None:
        with self._switch:
            if self._next is not None:
                self._next.close()
                self._next = None
            self._sweep()
            directory = self._directory / free_name(self._directory)
            check_room(self._directory, self._min_free, TOO_FULL)
            Generation.create(directory, State(NO_EPOCH, fingerprint, self._dim))
            if self._active is None:
                self._mark(directory)
                self._active = self._open(directory)
                self._lost = False
            else:
                self._next = self._open(directory)

    def activate(self) -> None:
        with self._switch:
            if self._next is None:
                self._target()
                return
            self._next.ready()
            self._mark(self._next.directory)
            old, self._active, self._next = self._active, self._next, None
            if old is not None:
                old.close()
            self._sweep()

    def abandon(self) -> None:
        with self._switch:
            if self._next is not None:
                self._next.close()
                self._next = None
                self._sweep()

    def is_wasteful(self) -> bool:
        active = self._active
        if active is None or self._next is not None or active.written <= DEAD:
            return False
        alive = sum(self.count(name) for name in self._known)
        return active.written - alive > max(DEAD, alive)

    def size_bytes(self) -> int:
        return _used(self._directory)

    def optimize_if_large(self) -> bool:
        target = self._target()
        check_room(target.directory, self._min_free + _used(target.directory), TOO_FULL)
        return bool(self._write(target, {"do": "optimize"}, timeout_s=OPTIMIZE_TIMEOUT_S)["done"])

    def close(self) -> None:
        with self._switch:
            for generation in (self._active, self._next):
                if generation is not None:
                    generation.close()
            if not self._owner.closed:
                self._sweep()
            self._owner.close()

    @property
    def pid(self) -> int | None:
        """The process of the active generation."""
        return self._active.pid if self._active is not None else None

    def _read(self, ask: Callable[[Generation], T], otherwise: T) -> T:
        """Ask the active generation, or its replacement; return `otherwise` where there is none yet."""
        while True:
            active = self._active
            if active is None:
                if self._lost:
                    raise IndexEngineError(_("The index was damaged and set aside; it has to be rebuilt."))
                return otherwise
            try:
                return ask(active)
            except GenerationLostError:
                self._set_aside(active)
                raise
            except IndexEngineError:
                if active is self._active:
                    raise

    def _write(
        self, target: Generation, header: dict[str, Any], blobs: Sequence[bytes] = (), *, timeout_s: float = 60.0
    ) -> dict[str, Any]:
        try:
            return target.write(header, blobs, timeout_s=timeout_s)
        except GenerationLostError:
            self._set_aside(target)
            raise

    def _target(self) -> Generation:
        target = self._next or self._active
        if target is None:
            raise IndexEngineError(
                _("The index is new or was set aside: it has to be rebuilt before it is written to.")
            )
        return target

    def _set_aside(self, lost: Generation) -> None:
        with self._switch:
            lost.close()
            if lost is self._next:
                self._next = None
            elif lost is self._active:
                self._active = None
                self._lost = True
                (self._directory / "current").unlink(missing_ok=True)
            else:
                return
            broken = lost.directory.with_name(lost.directory.name + ".broken")
            try:
                lost.directory.replace(broken)
            except OSError as error:  # nothing refers to it; the next sweep deletes it
                _LOG.warning("a damaged index could not be renamed: %s", error.strerror)

    def _open(self, directory: Path) -> Generation:
        state = read_state(directory)
        known = collections(self._database, state.dim)
        return Generation(directory, state, known, min_free=self._min_free, timeout_s=self._timeout_s)

    def _open_current(self) -> Generation | None:
        """Open the generation that `current` names; None where it cannot be read: then the index is new."""
        try:
            name = read_small(self._directory / "current").decode("ascii")
        except (OSError, UnicodeDecodeError):
            return None
        if not GENERATION.fullmatch(name) or not is_folder(self._directory / name):
            return None
        try:
            return self._open(self._directory / name)
        except GenerationLostError:
            return None

    def _mark(self, directory: Path) -> None:
        write_durably(self._directory / "current", directory.name.encode())

    def _sweep(self) -> None:
        """Delete every generation that is not open: old, unfinished or set aside.

        A generation that cannot be deleted now is kept until the next sweep: a killed process may still be writing to
        it.
        """
        kept = {generation.directory for generation in (self._active, self._next) if generation is not None}
        for path in generations(self._directory):
            if path in kept:
                continue
            try:
                shutil.rmtree(path)
            except OSError as error:
                _LOG.warning("an old index could not be removed now: %s", error.strerror or type(error).__name__)


def own(directory: Path) -> IO[bytes]:
    """Lock the directory; closing the returned file unlocks it. Raises `VaultBusyError` or `IndexEngineError`."""
    try:
        held = hold(directory / "lock")
    except OSError as error:
        raise IndexEngineError(
            _("The lock of the index cannot be opened: {reason}.").format(reason=error.strerror)
        ) from error
    if held is None:
        raise VaultBusyError("The index is open already, in this process or in another.")
    return held


def _is_empty(query: VectorQuery) -> bool:
    return isinstance(query.vector, Sparse) and len(query.vector.indices) == 0


def _used(directory: Path) -> int:
    """Return the bytes used on disk, not file lengths: the engine's files are preallocated and sparse."""
    used = 0
    for path in directory.rglob("*"):
        with suppress(FileNotFoundError):  # a file of a segment that has just been merged
            if path.is_file():
                size = path.stat()
                used += getattr(size, "st_blocks", 0) * 512 or size.st_size
    return used
