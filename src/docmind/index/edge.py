"""The embedded index: Qdrant Edge, the real engine, in a process of its own.

<directory>/lock              held while an EdgeIndex is open: one owner
<directory>/current           the name of the active generation, replaced whole
<directory>/g000001           a generation, see `docmind.index.generation`
<directory>/g000001.broken    one that could not be opened: set aside, dropped at the next open or rebuild
"""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, TypeVar

from docmind.config import DatabaseSettings
from docmind.errors import DiskFullError, IndexEngineError, VaultBusyError
from docmind.index.collection import check_dim, collections, find_collection
from docmind.index.engine import BATCH, EVERYTHING, NO_EPOCH, IndexEngine, Point, Query, Scored, Sparse
from docmind.index.frames import frame_points, frame_queries
from docmind.index.generation import Generation, GenerationLostError, State, check_room, read_state, write_durably
from docmind.index.hold import hold
from docmind.schema import Filters

OPTIMIZE_TIMEOUT_S = 3_600.0
T = TypeVar("T")
_NAME = re.compile(r"g\d{6}")


class EdgeIndex(IndexEngine):
    """An index in a directory. May be shared between threads: each generation has a lock, and one request at a time.

    The constructor returns before the engine is up; the first call waits for it. `dim` is the length of the text
    vectors that will be stored and asked for. `min_free_mb` is the room that must stay free for writing.
    `timeout_s` is the longest silence to a search; a process that says nothing for longer is killed.
    Raises `VaultBusyError` where the directory is open already.
    """

    name = "edge"
    holds_originals = False

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
        self._owner = _own(directory)
        self._active: Generation | None = None
        try:
            self._active = self._open_current()
            self._sweep()
        except BaseException:  # the lock and the process go back with it
            self.close()
            raise

    def epoch(self) -> int:
        def contained(generation: Generation) -> int:
            generation.ready()
            return generation.state.contained

        try:
            return self._read(contained, NO_EPOCH)
        except (IndexEngineError, DiskFullError):
            return NO_EPOCH

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

    def search(self, queries: Sequence[Query]) -> list[list[Scored]]:
        checked = [find_collection(self._known, query.collection).check_query(query) for query in queries]
        # An empty sparse vector is near nothing: the engine is not asked.
        asked = [n for n, query in enumerate(checked) if not _is_empty(query)]
        header, blobs = frame_queries([checked[n] for n in asked])

        def nearest(generation: Generation) -> list[Any]:
            check_dim(generation.state.dim, self._dim)
            return generation.read(header, blobs)["lists"]

        lists: list[list[Scored]] = [[] for _ in queries]
        for n, found in zip(asked, self._read(nearest, [[] for _ in asked]), strict=True):
            scored = [Scored(point_id, score, payload) for point_id, score, payload in found]
            lists[n] = sorted(scored, key=lambda one: (-one.score, one.id))
        return lists

    def count(self, collection: str, filters: Filters = EVERYTHING, *, having: str | None = None) -> int:
        known = find_collection(self._known, collection)
        if having is not None:
            known.check_name(having)
        header = {"do": "count", "collection": collection, "filters": asdict(filters), "having": having}
        return self._read(lambda generation: int(generation.read(header)["count"]), 0)

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
            numbers = [int(path.name[1:7]) for path in self._directory.glob("g[0-9]*")]
            directory = self._directory / f"g{max(numbers, default=0) + 1:06d}"
            check_room(self._directory, self._min_free)
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

    def optimize_if_large(self) -> bool:
        target = self._target()
        check_room(target.directory, self._min_free + _used(target.directory))
        return bool(self._write(target, {"do": "optimize"}, timeout_s=OPTIMIZE_TIMEOUT_S)["done"])

    def close(self) -> None:
        with self._switch:
            for generation in (self._active, self._next):
                if generation is not None:
                    generation.close()
            self._owner.close()

    @property
    def pid(self) -> int | None:
        """The process of the active generation."""
        return self._active.pid if self._active is not None else None

    def _read(self, ask: Callable[[Generation], T], otherwise: T) -> T:
        """Ask the active generation, or the one that took its place meanwhile; `otherwise` where there is none yet."""
        while True:
            active = self._active
            if active is None:
                if self._lost:
                    raise IndexEngineError("The index was damaged and set aside; it has to be rebuilt.")
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
            raise IndexEngineError("The index is new or was set aside: it has to be rebuilt before it is written to.")
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
            lost.directory.replace(broken)

    def _open(self, directory: Path) -> Generation:
        state = read_state(directory)
        known = collections(self._database, state.dim)
        return Generation(directory, state, known, min_free=self._min_free, timeout_s=self._timeout_s)

    def _open_current(self) -> Generation | None:
        """The generation that `current` names; None where it names none that can be read: then the index is new."""
        try:
            name = (self._directory / "current").read_text("ascii")
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        if not _NAME.fullmatch(name):
            return None
        try:
            return self._open(self._directory / name)
        except GenerationLostError:
            return None

    def _mark(self, directory: Path) -> None:
        write_durably(self._directory / "current", directory.name.encode())

    def _sweep(self) -> None:
        """Drop every generation that is not open: old, unfinished, set aside."""
        kept = {generation.directory for generation in (self._active, self._next) if generation is not None}
        for path in self._directory.glob("g[0-9]*"):
            if path not in kept and path.is_dir():
                try:
                    shutil.rmtree(path)
                except OSError as error:
                    raise IndexEngineError(f"An old index could not be removed: {error.strerror}.") from error


def _own(directory: Path) -> IO[bytes]:
    """Take the lock of the directory; closing what is returned lets go of it."""
    held = hold(directory / "lock")
    if held is None:
        raise VaultBusyError("The index is open already, in this process or in another.")
    return held


def _is_empty(query: Query) -> bool:
    return isinstance(query.vector, Sparse) and len(query.vector.indices) == 0


def _used(directory: Path) -> int:
    """Bytes on the disk, not lengths: the engine's files are preallocated and sparse."""
    sizes = (path.stat() for path in directory.rglob("*") if path.is_file())
    return sum(getattr(size, "st_blocks", 0) * 512 or size.st_size for size in sizes)
