"""One generation of the embedded index: a folder with its shards and its state, and the process that serves it.

    <generation>/state.json       format, vault epoch, model fingerprint, dimension of the text vectors
    <generation>/{text,pages}     Qdrant Edge shards, made when their first points come

The process may die at any time: of a full disk (its files are memory-mapped, so no room is a SIGBUS), of memory, of
`kill`. Every request is one that can be sent again, so it is started anew and asked once more. Shards that kill or
refuse it when they are opened raise `GenerationLostError`; those that fail it twice over one request are doubted from
then on: they serve what they can, and contain no epoch.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from docmind.errors import DiskFullError, IndexEngineError, VaultBusyError, WorkerFailedError
from docmind.index.collection import Collection
from docmind.index.engine import NO_EPOCH
from docmind.worker import Worker

FORMAT = 1
ENTRY = "docmind.index.edge_serve:serve"
OPEN_TIMEOUT_S = 120.0
_PIPE = 32 * 1024
_DEATHBED_ROOM = 16 * 1024 * 1024  # a process that died with less room than this died of it


class GenerationLostError(IndexEngineError):
    """The shards of a generation cannot be opened any more: it must be rebuilt from the vault."""


@dataclass(frozen=True, slots=True)
class State:
    """What is known about a generation without opening it."""

    epoch: int
    fingerprint: str
    dim: int
    is_doubted: bool = False
    format: int = FORMAT

    @property
    def contained(self) -> int:
        """The epoch, where the shards can be relied on."""
        return NO_EPOCH if self.is_doubted else self.epoch


class Generation:
    """A generation on disk and its process. Calls lock: one request is under way at a time.

    The process is started in the constructor and waited for at the first request.
    """

    def __init__(
        self, directory: Path, state: State, collections: Mapping[str, Collection], *, min_free: int, timeout_s: float
    ) -> None:
        self.directory = directory
        self.state = state
        self._collections = {
            name: {"role": one.role, "vectors": {key: asdict(named) for key, named in one.vectors.items()}}
            for name, one in collections.items()
        }
        self._min_free = min_free
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._is_open = False
        self._is_flushed = True
        self.is_closed = False
        self._worker: Worker | None = self._start()

    @classmethod
    def create(cls, directory: Path, state: State) -> None:
        """Make the folder of a new generation. Raises `FileExistsError` where there is one."""
        directory.mkdir(parents=True)
        _write_state(directory, state)

    def ready(self) -> None:
        """Wait until the shards are open. Raises `GenerationLostError`, `DiskFullError` or `VaultBusyError`."""
        with self._lock:
            self._opened()

    def read(self, header: dict[str, Any], blobs: Sequence[bytes] = ()) -> dict[str, Any]:
        """Ask; where the process dies over it, once more."""
        with self._lock:
            return self._ask(header, blobs, self._timeout_s)

    def write(self, header: dict[str, Any], blobs: Sequence[bytes] = (), *, timeout_s: float = 60.0) -> dict[str, Any]:
        """Apply; where the process dies over it, once more: writes are repeatable.

        What adds data looks at the free space first; a deletion is let through, for it may be what makes room.
        """
        with self._lock:
            if header["do"] != "delete":
                check_room(self.directory, self._min_free + sum(len(blob) for blob in blobs))
            self._is_flushed = header["do"] == "flush"
            return self._ask(header, blobs, max(timeout_s, self._timeout_s))

    def commit(self, epoch: int) -> None:
        """Flush, then record the epoch."""
        self.write({"do": "flush"})
        self._record(replace(self.state, epoch=epoch))

    def close(self) -> None:
        with self._lock:
            self.is_closed = True
            if self._worker is not None and self._is_flushed:
                self._worker.kill()  # nothing is unwritten, so nobody has to wait for the engine to end
            elif self._worker is not None:
                self._worker.close()
            self._worker = None

    @property
    def pid(self) -> int | None:
        """The process that serves now, for the status page and for tests."""
        return self._worker.pid if self._worker is not None else None

    def _record(self, state: State) -> None:
        _write_state(self.directory, state)
        self.state = state

    def _ask(self, header: dict[str, Any], blobs: Sequence[bytes], timeout_s: float) -> dict[str, Any]:
        trouble = ""
        for _attempt in (1, 2):
            worker = self._opened()
            try:
                reply = _call(worker, header, blobs, timeout_s)
            except WorkerFailedError as error:
                reply = {"error": "full" if self._died_of_room() else "dead", "message": str(error)}
            if "error" not in reply:
                return reply
            # What failed half-way may have left the engine in a state that only opening anew clears.
            self._bury()
            if reply["error"] == "full":
                raise DiskFullError("The disk filled up while the index was writing.")
            trouble = reply["message"]
        # Requests are checked before they come here. Shards that open and then fail over a sound one twice must not be
        # trusted by the next owner either.
        self._record(replace(self.state, is_doubted=True))
        raise IndexEngineError(f"The index engine failed twice at one request: {trouble}.")

    def _opened(self) -> Worker:
        if self.is_closed:
            raise IndexEngineError("The index is closed.")
        for attempt in (1, 2):
            worker = self._worker if self._worker is not None and self._worker.is_alive else self._start()
            self._worker = worker
            if self._is_open:
                return worker
            greeted = False
            try:
                worker.receive(OPEN_TIMEOUT_S)
                greeted = True
                reply, _ = worker.receive(OPEN_TIMEOUT_S)
            except WorkerFailedError as error:
                self._bury()
                if self._died_of_room():
                    raise DiskFullError("The disk is too full to open the index.") from error
                if attempt == 2:
                    kind = GenerationLostError if greeted else IndexEngineError
                    raise kind(f"The index cannot be opened: {error}.") from error
                continue
            if "error" not in reply:
                self._is_open = True
                return worker
            self._bury()
            if reply["error"] == "busy":
                raise VaultBusyError("Another process has the index open.")
            if reply["error"] == "full":
                raise DiskFullError("The disk is too full to open the index.")
            raise GenerationLostError(f"The index cannot be opened: {reply['message']}.")
        raise AssertionError("unreachable")

    def _start(self) -> Worker:
        self._is_open = False
        worker = Worker(ENTRY)
        # A process that is gone already is found out, and started again, by whoever waits for its answer.
        with contextlib.suppress(WorkerFailedError):
            worker.send({"do": "open", "directory": str(self.directory), "collections": self._collections})
        return worker

    def _bury(self) -> None:
        if self._worker is not None:
            self._worker.kill()
        self._worker = None
        self._is_open = False

    def _died_of_room(self) -> bool:
        return shutil.disk_usage(self.directory).free < max(self._min_free, _DEATHBED_ROOM)


def check_room(directory: Path, needed: int) -> None:
    """Raise `DiskFullError` where less than `needed` bytes are free."""
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise DiskFullError(f"The disk of the index has {free >> 20} MB free and needs {(needed >> 20) + 1} MB.")


def write_durably(path: Path, data: bytes) -> None:
    """Replace a small file whole: after a power cut it holds the old bytes or the new ones."""
    beside = path.with_name(path.name + ".new")
    try:
        with open(beside, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, path)
        sync_directory(path.parent)
    except OSError as error:
        kind = DiskFullError if error.errno in (errno.ENOSPC, errno.EDQUOT) else IndexEngineError
        raise kind(f"{path.name} of the index could not be written: {error.strerror}.") from error


def sync_directory(directory: Path) -> None:
    """Make renames in it durable, where the system can (Windows cannot open a folder)."""
    if os.name == "nt":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _call(worker: Worker, header: dict[str, Any], blobs: Sequence[bytes], timeout_s: float) -> dict[str, Any]:
    """One request. What is longer than a pipe can hold blocks on a process that hangs, so a timer ends that."""
    timer = threading.Timer(timeout_s, worker.kill) if sum(map(len, blobs)) > _PIPE or "points" in header else None
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        worker.send(header, blobs)
    finally:
        if timer is not None:
            timer.cancel()
    return worker.receive(timeout_s)[0]


def _write_state(directory: Path, state: State) -> None:
    write_durably(directory / "state.json", json.dumps(asdict(state)).encode())


def read_state(directory: Path) -> State:
    """Raises `GenerationLostError` where it is missing, torn or of another version."""
    try:
        state = State(**json.loads((directory / "state.json").read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise GenerationLostError("The state of the index cannot be read.") from error
    if (
        state.format != FORMAT
        or not all(isinstance(n, int) for n in (state.epoch, state.dim))
        or state.epoch < NO_EPOCH
    ):
        raise GenerationLostError("The index was written by another version.")
    return state
