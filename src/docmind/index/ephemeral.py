"""The embedded index without readable files at rest.

While the vault is open the index is in a private folder (`docmind.index.private_folder`), blinded as well. At a
clean close it is encrypted into one file in the vault's index folder (`docmind.index.sealed_copy`), and the private
folder is removed. The next opening decrypts that copy and follows the vault by epochs; where the copy is missing,
damaged or of another key, the index is rebuilt from the vault. So a crash, a full disk or a lost copy costs time but
no data.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

from docmind.config import DatabaseSettings
from docmind.errors import DamagedError, DiskFullError, IndexEngineError
from docmind.index.edge import EdgeIndex, own
from docmind.index.edge_generation import Generation, State, write_durably
from docmind.index.engine import NO_EPOCH, Point
from docmind.index.private_folder import GENERATION, PrivateFolder, generations, read_small, remove_leftovers
from docmind.index.sealed_copy import SealedCopy
from docmind.index.sparse_files import copy_tree
from docmind.wording import _

FRESH = 256 << 20
"""Bytes required where the size of the index is unknown; a new one takes 60 MB in memory."""

LARGE, CATCH_UP = 16 << 20, 500
"""A copy of this many bytes is sealed again only if it lacks this many points, or holds deleted documents. Fewer are
written again at the next opening, in a fraction of a second, so that adding one document does not copy everything."""

T = TypeVar("T")
_LOG = logging.getLogger("docmind.index")


class EphemeralIndex(EdgeIndex):
    """An `EdgeIndex` in a private folder, with a sealed copy in `home`. Thread-safe like `EdgeIndex`.

    `key` is the vault's index key. With `is_writable` False nothing is written to `home`, not even a lock: for a vault
    in a folder that cannot be written. Raises `VaultBusyError` where another process has `home` open for writing.
    """

    is_clear_at_rest = False

    def __init__(
        self,
        home: Path,
        dim: int,
        *,
        key: bytes,
        is_writable: bool = True,
        database: DatabaseSettings | None = None,
        min_free_mb: int = 200,
        timeout_s: float = 30.0,
    ) -> None:
        self._home, self._copy = home, SealedCopy(home, key)
        self._home_lock: IO[bytes] | None = None
        if is_writable:
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._home_lock = own(home)
        self._sealed: State | None = None
        self._is_closed = False
        self._written = 0  # points that the copy lacks
        self._gone: set[str] = set()  # documents that the copy holds although they were deleted
        try:
            remove_leftovers()
            self._private = PrivateFolder.make(max(FRESH, 3 * self._copy.size) + (min_free_mb << 20))
            try:
                self._sealed = self._unseal()
                super().__init__(
                    self._private.path, dim, database=database, min_free_mb=min_free_mb, timeout_s=timeout_s
                )
            except BaseException:
                self._private.remove()
                raise
        except BaseException:
            if self._home_lock is not None:
                self._home_lock.close()
            raise

    def at_rest(self) -> str:
        where = "in memory" if self._private.is_in_memory else "in a temporary folder on the disk"
        return f"ephemeral: {where} ({self._private.path.parent}) while open, sealed in the vault when closed"

    @property
    def private_folder(self) -> Path:
        """The folder where the index is now."""
        return self._private.path

    def upsert(self, collection: str, points: Sequence[Point]) -> None:
        super().upsert(collection, points)
        self._written += len(points)
        self._gone.difference_update(str(point.payload["doc_id"]) for point in points)

    def delete(self, collection: str, doc_id: str) -> None:
        super().delete(collection, doc_id)
        self._gone.add(doc_id)

    def epoch(self) -> int:
        return self._with_room(super().epoch)

    def rebuild(self, fingerprint: str) -> None:
        self._with_room(lambda: super(EphemeralIndex, self).rebuild(fingerprint))

    def commit(self, epoch: int) -> None:
        self._with_room(lambda: super(EphemeralIndex, self).commit(epoch))

    def optimize_if_large(self) -> bool:
        return self._with_room(super().optimize_if_large)

    def close(self) -> None:
        """End the processes, seal a changed index, remove the private folder. Errors of sealing are only logged."""
        with self._switch:
            self._is_closed = True
            if self._private.path.exists():
                active = self._active
                super().close()
                try:
                    if active is not None and self._home_lock is not None:
                        self._seal(active)
                except (DamagedError, DiskFullError, IndexEngineError, OSError) as error:
                    # The previous copy stays, if there is one; the next opening follows the vault or rebuilds the
                    # index.
                    _LOG.warning("the index could not be sealed: %s", error)
                finally:
                    self._private.remove()
            if self._home_lock is not None:
                self._home_lock.close()

    def _write(
        self, target: Generation, header: dict[str, Any], blobs: Sequence[bytes] = (), *, timeout_s: float = 60.0
    ) -> dict[str, Any]:
        is_next = target is self._next

        def write() -> dict[str, Any]:
            there = self._next if is_next else self._active
            return super(EphemeralIndex, self)._write(there or target, header, blobs, timeout_s=timeout_s)

        return self._with_room(write)

    def _with_room(self, call: Callable[[], T]) -> T:
        """Run `call`; where memory has no space for it, move the index to the disk and run it once more.

        Raises `IndexEngineError` once the index is closed.
        """
        if self._is_closed:
            raise IndexEngineError(_("The index is closed."))
        try:
            return call()
        except DiskFullError:
            if not self._move():
                raise
            return call()

    def _move(self) -> bool:
        """Move the index to the disk; return False if it is there already or the disk has no space either."""
        with self._switch:
            if not self._private.is_in_memory:
                return False
            moving = PrivateFolder.make(0, in_memory=False)
            try:
                if moving.is_in_memory:
                    raise DiskFullError(_("There is no temporary folder outside the memory."))
                opened: dict[str, Generation] = {}
                for role, generation in (("active", self._active), ("next", self._next)):
                    if generation is not None:
                        # No write runs meanwhile: this is the writer. Reads change nothing.
                        copy_tree(generation.directory, moving.path / generation.directory.name)
                        opened[role] = self._open(moving.path / generation.directory.name)
                lock = own(moving.path)
                if self._active is not None:
                    write_durably(moving.path / "current", self._active.directory.name.encode())
            except (OSError, DiskFullError, IndexEngineError) as error:
                _LOG.warning("the index could not be moved out of memory: %s", type(error).__name__)
                moving.remove()
                return False
            old = (self._active, self._next)
            self._active, self._next = opened.get("active"), opened.get("next")
            self._directory = moving.path
            for generation in old:
                if generation is not None:
                    generation.close()
            self._owner.close()
            self._owner = lock
            self._private.remove()
            self._private = moving
            return True

    def _unseal(self) -> State | None:
        """Decrypt the sealed copy into the private folder; return None where there is no usable copy."""
        if not self._copy.size:
            return None
        generation = self._private.path / "g000001"
        try:
            state = self._copy.read(generation)
            write_durably(self._private.path / "current", generation.name.encode())
        except (DamagedError, DiskFullError, IndexEngineError) as error:
            _LOG.warning("the index is built again: %s", error)
            shutil.rmtree(generation, ignore_errors=True)
            return None
        return state

    def _seal(self, generation: Generation) -> None:
        state = generation.state
        if state.contained == NO_EPOCH:
            return
        if state != self._sealed and not self._is_near(state):
            self._copy.write(generation.directory, state, min_free=self._min_free)
            self._sealed = state
        self._drop_blinded()

    def _is_near(self, state: State) -> bool:
        """Return whether the copy lacks so little that the next opening can add it."""
        copy = self._sealed
        return (
            copy is not None
            and (copy.fingerprint, copy.dim) == (state.fingerprint, state.dim)
            and self._copy.size >= LARGE
            and self._written < CATCH_UP
            and not self._gone
        )

    def _drop_blinded(self) -> None:
        """Remove the files of the blinded mode from `home`, once the sealed copy has been verified completely."""
        old = generations(self._home)
        if not old or self._copy.read(None) != self._sealed:
            return
        for path in old:
            shutil.rmtree(path)
        for name in ("current", "current.new"):
            with contextlib.suppress(FileNotFoundError):
                if GENERATION.fullmatch(read_small(self._home / name).decode("ascii", "replace")):
                    (self._home / name).unlink()
