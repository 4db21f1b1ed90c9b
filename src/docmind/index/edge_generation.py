"""One generation of the embedded index: a folder with its shards and its state, and the process that serves it.

    <generation>/state.json       format, vault epoch, model fingerprint, dimension of the text vectors
    <generation>/{text,pages}     Qdrant Edge shards, created with their first points

The process may die at any time: of a full disk (its files are memory-mapped, so a lack of space is a SIGBUS), of lack
of memory, of `kill`. Every request is repeatable, so the process is restarted and the request is sent once more.

Only errors that the shards can have caused count against them: an error message of the engine, or a crash signal
(SIGSEGV, SIGBUS, SIGABRT). Shards that fail so at opening, in `FAULTS` fresh processes in a row, raise
`GenerationLostError`; those that fail twice at one request are marked as doubted: they still answer requests, but
report no epoch. A process that was ended from outside (SIGKILL, SIGTERM, the death of the parent), or that did not
answer in time at opening, is no evidence against the shards: opening is retried until `PATIENCE` deaths in a row; then
the call fails and the shards stay as they are.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from docmind.errors import DiskFullError, IndexEngineError, VaultBusyError, WorkerFailedError
from docmind.index.engine import NO_EPOCH
from docmind.index.private_folder import is_in_memory, read_small
from docmind.index.schema import Collection
from docmind.runtime import Worker
from docmind.storage import check_room, disk_error, free_bytes, is_folder, replacing
from docmind.wording import _

FORMAT = 2
ENTRY = "docmind.index.edge_process:serve"
OPEN_TIMEOUT_S = 120.0
TOO_FULL = "The disk of the index has {free} MB free and needs {needed} MB."
FAULTS = 3
"""Failed openings in fresh processes in a row, caused by the shards, after which the shards are set aside."""

PATIENCE = 8
"""Deaths from outside in a row after which a call fails and leaves the shards as they are."""

_DEATHBED_ROOM = 16 * 1024 * 1024  # a crash with less free space than this was caused by the full disk
_FROM_OUTSIDE = frozenset(
    -number
    for name in ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGXCPU")
    if (number := getattr(signal, name, None)) is not None
)
_LOG = logging.getLogger("docmind.index")

# Messages of the engine where the system, not the shard, lacks a resource.
_SHORTAGES = ("Cannot allocate memory", "os error 12", "Too many open files", "os error 24", "os error 11")
_POPULATED = 4 << 20  # files up to this length are read completely when a shard is opened
_MARGIN = 8 << 20


class GenerationLostError(IndexEngineError):
    """The shards of a generation cannot be opened any more: it must be rebuilt from the vault."""


@dataclass(frozen=True, slots=True)
class State:
    """What is known about a generation without opening it."""

    epoch: int
    fingerprint: str
    dim: int
    is_doubted: bool = False
    written: int = 0
    """Points written since the generation was created: replaced and deleted points still take space."""

    format: int = FORMAT

    @property
    def contained(self) -> int:
        """The epoch if the shards can be trusted, else `NO_EPOCH`."""
        return NO_EPOCH if self.is_doubted else self.epoch


class Generation:
    """A generation on disk and its process. Thread-safe: calls lock, so one request runs at a time.

    The process is started in the constructor; the first request waits for it.
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
        self._written = state.written
        self._worker: Worker | None = None
        with contextlib.suppress(DiskFullError):  # the first request raises it
            self._worker = self._start()

    @classmethod
    def create(cls, directory: Path, state: State) -> None:
        """Create the folder of a new generation. Raises `FileExistsError` where it exists."""
        directory.mkdir(parents=True)
        _write_state(directory, state)

    def ready(self) -> None:
        """Wait until the shards are open. Raises `GenerationLostError`, `DiskFullError` or `VaultBusyError`."""
        with self._lock:
            self._opened()

    def read(self, header: dict[str, Any], blobs: Sequence[bytes] = ()) -> dict[str, Any]:
        """Send a read request; if the process dies, send it once more."""
        with self._lock:
            return self._ask(header, blobs, self._timeout_s)

    def write(self, header: dict[str, Any], blobs: Sequence[bytes] = (), *, timeout_s: float = 60.0) -> dict[str, Any]:
        """Send a write request; if the process dies, send it once more: writes are idempotent.

        Requests that add data check the free space first; a deletion does not, because it may free space.
        """
        with self._lock:
            if header["do"] != "delete":
                check_room(self.directory, self._min_free + sum(len(blob) for blob in blobs), TOO_FULL)
            self._is_flushed = header["do"] == "flush"
            self._written += len(header.get("points", ()))
            return self._ask(header, blobs, max(timeout_s, self._timeout_s))

    def commit(self, epoch: int) -> None:
        """Flush, then record the epoch."""
        self.write({"do": "flush"})
        self._record(replace(self.state, epoch=epoch, written=self._written))

    @property
    def written(self) -> int:
        """Points written since the generation was made, those replaced or deleted later included."""
        return self._written

    def close(self) -> None:
        with self._lock:
            self.is_closed = True
            if self._worker is not None and self._is_flushed:
                self._worker.kill()  # everything is written, so there is no need to wait for the engine to end
            elif self._worker is not None:
                self._worker.close()
            self._worker = None

    @property
    def pid(self) -> int | None:
        """The id of the process that serves now, for the status page and for tests."""
        return self._worker.pid if self._worker is not None else None

    def _record(self, state: State) -> None:
        _write_state(self.directory, state)
        self.state = state

    def _ask(self, header: dict[str, Any], blobs: Sequence[bytes], timeout_s: float) -> dict[str, Any]:
        faults = interruptions = 0
        while True:
            worker = self._opened()
            began = time.monotonic()
            try:
                reply = worker.call(header, blobs, timeout_s=timeout_s)[0]
            except WorkerFailedError as error:
                is_silent = time.monotonic() - began >= timeout_s
                reply = self._obituary(worker, str(error), is_silent=is_silent)
            if "error" not in reply:
                return reply
            # A request that failed half-way may have left the engine in a state that only a fresh process clears.
            self._bury()
            if reply["error"] == "full":
                raise DiskFullError(_("The disk filled up while the index was writing."))
            if reply["error"] == "killed" or _is_shortage(reply["message"]):
                interruptions += 1
                if interruptions >= PATIENCE:
                    raise _interrupted(reply["message"])
                time.sleep(min(0.4, 0.05 * interruptions))
                continue
            faults += 1
            if faults >= 2:
                # Requests are checked before they are sent. Shards that open and then fail twice at a valid request
                # must not be trusted by the next owner either.
                self._record(replace(self.state, is_doubted=True))
                _LOG.info("the engine of the index: %s", reply["message"])
                raise IndexEngineError(_("The index engine failed twice at one request."))

    def _opened(self) -> Worker:
        """Return the process with its shards open.

        Raises `GenerationLostError` where the shards fail repeatedly, `DiskFullError` and `VaultBusyError`, and
        `IndexEngineError` where the process cannot be kept running, which is no evidence against the shards.
        """
        if self.is_closed:
            raise IndexEngineError(_("The index is closed."))
        faults = interruptions = 0
        while True:
            worker = self._worker if self._worker is not None and self._worker.is_alive else self._start()
            self._worker = worker
            if self._is_open:
                return worker
            reply = self._greet(worker)
            if "error" not in reply:
                self._is_open = True
                return worker
            self._bury()
            trouble = reply["message"]
            if reply["error"] == "busy":
                raise VaultBusyError("Another process has the index open.")
            if reply["error"] == "full":
                raise DiskFullError(_("The disk is too full to open the index."))
            if reply["error"] in ("killed", "silent") or _is_shortage(trouble):
                # A timeout has taken two minutes already.
                interruptions += 1 if reply["error"] != "silent" else PATIENCE // 2
            else:
                faults += 1
            if faults >= FAULTS:
                _LOG.info("the engine of the index: %s", trouble)
                raise GenerationLostError(_("The index can't be opened."))
            if interruptions >= PATIENCE:
                raise _interrupted(trouble)
            time.sleep(min(0.4, 0.05 * interruptions))

    def _greet(self, worker: Worker) -> dict[str, Any]:
        """Return the process's report on its shards, or how the process ended."""
        began, greeted = time.monotonic(), False
        try:
            worker.receive(OPEN_TIMEOUT_S)
            greeted = True
            return worker.receive(OPEN_TIMEOUT_S)[0]
        except WorkerFailedError as error:
            if not greeted:  # it ended before it opened the shards
                return {"error": "killed", "message": str(error)}
            reply = self._obituary(worker, str(error), is_silent=False)
            if time.monotonic() - began >= OPEN_TIMEOUT_S:
                return {"error": "silent", "message": str(error)}
            return reply

    def _obituary(self, worker: Worker, message: str, *, is_silent: bool) -> dict[str, Any]:
        """Return why a process ended: `killed` from outside, `full` disk, or `dead` by its own fault."""
        self._bury()
        code = worker.exit_code
        if code in _FROM_OUTSIDE or code == 0 or (os.name == "nt" and code == 1):
            return {"error": "dead" if is_silent else "killed", "message": message}
        if free_bytes(self.directory) < max(self._min_free, _DEATHBED_ROOM):
            return {"error": "full", "message": message}
        return {"error": "dead", "message": message}

    def _start(self) -> Worker:
        """Start the process. Raises `DiskFullError` where opening the shards needs more space than is free."""
        self._is_open = False
        if is_in_memory(self.directory):
            check_room(self.directory, room_to_open(self.directory), TOO_FULL)
        worker = Worker(ENTRY)
        # A process that has ended already is detected and restarted by the call that waits for its answer.
        with contextlib.suppress(WorkerFailedError):
            worker.send({"do": "open", "directory": str(self.directory), "collections": self._collections})
        return worker

    def _bury(self) -> None:
        if self._worker is not None:
            self._worker.kill()
        self._worker = None
        self._is_open = False


def room_to_open(directory: Path) -> int:
    """Return the bytes that opening a generation takes on a file system in memory, where read holes become pages.

    The engine reads its small files completely. Measured on tmpfs, for a collection that holds 0.9 MB: 21 MB more.
    """
    found = 0
    for place, _folders, names in os.walk(directory):
        for name in names:
            size = os.lstat(os.path.join(place, name))
            if size.st_size <= _POPULATED:
                found += max(0, size.st_size - getattr(size, "st_blocks", 0) * 512)
    return found + _MARGIN


def _is_shortage(message: str) -> bool:
    """Return whether a message of the engine says that the system lacks memory, threads or descriptors."""
    return any(one in message for one in _SHORTAGES)


def _interrupted(message: str) -> IndexEngineError:
    """Return the error; the engine's own words are for the log, since they say nothing to who asks."""
    _LOG.info("the engine of the index: %s", message)
    return IndexEngineError(
        _("The process of the index cannot be kept running."),
        hint=_(
            "Something on this computer ends it, or it lacks memory or threads. The index is left as it is: "
            "close other programs and try again."
        ),
    )


def write_durably(path: Path, data: bytes) -> None:
    """Replace a small file atomically: after a power cut it has the old contents or the new ones."""
    try:
        with replacing(path, beside=path.with_name(path.name + ".new")) as stream:
            stream.write(data)
    except OSError as error:
        failure = IndexEngineError(
            _("{name} of the index could not be written: {reason}.").format(name=path.name, reason=error.strerror)
        )
        raise disk_error(error, failure) from error


def _write_state(directory: Path, state: State) -> None:
    data = json.dumps(asdict(state)).encode()
    write_durably(directory / "state.json", data + b"\n" + _checksum(data))


def _checksum(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()


def read_state(directory: Path) -> State:
    """Read the state of a generation.

    Raises `GenerationLostError` where it is missing, torn, changed or of another version: its epoch is not trusted.
    """
    if not is_folder(directory):
        raise GenerationLostError("The index has no generation of that name.")
    try:
        data, _, checksum = read_small(directory / "state.json").partition(b"\n")
        if checksum != _checksum(data):
            raise ValueError("the checksum is another")
        state = State(**json.loads(data))
    except (OSError, ValueError, TypeError) as error:
        raise GenerationLostError("The state of the index cannot be read.") from error
    if (
        state.format != FORMAT
        or not all(isinstance(n, int) for n in (state.epoch, state.dim, state.written))
        or state.epoch < NO_EPOCH
    ):
        raise GenerationLostError("The index was written by another version.")
    return state
