"""Rotation: everything in the library is encrypted again with new keys, while it is in use.

    1 keys      new keys are written to `vault.json`, beside the old ones; what is written from here on has a new key
    2 files     every sealed file, also those set aside, is sealed again under its name
    3 old keys  once no file's header names an old data key, these are removed from `vault.json`
    4 library   `vault.db` is written again with a new key, then its mark; copies of earlier versions are removed, which
                the old key alone would open
    5 index     at the next opening: vectors of page patches are rotated to the new index key, and the index is built
                again from the vault; nothing is embedded again

The id key stays: names of files, document ids and receipts depend on it.

Every step can be repeated, and until its end `vault.json` has both the old and the new keys. A process killed at any
point leaves a library that opens; the next opening goes on. A file that cannot be read keeps its old key, and the key
stays with it.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np

from docmind.documents import Catalog
from docmind.errors import CancelledError, DocMindError
from docmind.records.rotation import RotationProgress, RotationReport
from docmind.runtime import Background, log_mistake
from docmind.storage import (
    Artifacts,
    Database,
    Keyset,
    Mark,
    OpenedKeys,
    Preferences,
    kept_databases,
    remove_database,
)
from docmind.wording import N_, _

STEPS = (N_("New keys"), N_("Pages and files"), N_("Texts and conversations"))
Progress = Callable[[RotationProgress], None]

_BATCH = 256  # files that are synced and renamed together: about 20 MB
_TURNED = "late.key"  # the preference that tells with which index key the vectors of page patches are rotated


class Rotation:
    """Changes the keys of an open vault. Thread-safe: one rotation runs at a time."""

    def __init__(
        self,
        data_dir: Path,
        database: Database,
        artifacts: Artifacts,
        catalog: Catalog,
        keys: Callable[[], OpenedKeys],
        guard: AbstractContextManager[object],
        *,
        min_free_mb: int = 200,
    ) -> None:
        """`keys` returns the vault's keys; `guard` is held while they change."""
        self._data_dir, self._db, self._artifacts, self._catalog = data_dir, database, artifacts, catalog
        self._keys, self._guard, self._min_free_mb = keys, guard, min_free_mb
        self._turn = threading.Lock()
        self._pausing = threading.Event()
        self._work = Background("rotation", "The rotation of keys goes on at the next start.")
        self._has_new_index_key = False
        self.progress: RotationProgress | None = None
        self.report: RotationReport | None = None
        self.error: DocMindError | None = None

    @property
    def is_running(self) -> bool:
        """Whether it is running, in the background or in a caller's thread."""
        return self._turn.locked()

    @property
    def is_unfinished(self) -> bool:
        """Whether keys are left to change, now or at the next opening."""
        return self._keyset.next is not None

    @property
    def needs_opening(self) -> bool:
        """Whether all is done but the index, and the vault must be opened again for that."""
        return self.is_index_left and not self._has_new_index_key and not self._db.is_read_only

    @property
    def is_index_left(self) -> bool:
        """Whether all is done but the index."""
        new = self._keyset.next
        return new is not None and new.is_sealed and self._keyset.db_key == new.db_key

    def run(self, progress: Progress | None = None) -> RotationReport:
        """Begin a rotation, or go on with one, up to the index; return what was done.

        Raises `CancelledError` where it was paused, `DiskFullError`, `VaultError`. The library is whole then, and
        `run` goes on.
        """
        self._db.check_writable()
        with self._turn:
            began = time.monotonic()
            self._pausing.clear()
            self.report = self.error = None

            def tell(step: str, done: int, total: int) -> None:
                self.progress = RotationProgress(step, done, total)
                if progress is not None:
                    progress(self.progress)

            try:
                files, unreadable = self._rotate(tell)
                self.report = self._reported(files, time.monotonic() - began, unreadable)
            except DocMindError as error:
                self.error = error
                raise
            finally:
                self.progress = None
            return self.report

    def start(self) -> None:
        """Do what `run` does, in the background. `progress`, then `report` or `error` tell how it goes."""
        self._db.check_writable()
        self._work.start(self._run_quietly)

    def pause(self) -> None:
        """Ask what runs to stop after the files at hand; `start`, `run` or the next opening goes on."""
        self._pausing.set()

    def follow(self) -> None:
        """Go on in the background with a rotation that was interrupted. Idempotent."""
        if not self._db.is_read_only and self.is_unfinished and not self.is_index_left:
            self.start()

    def close(self) -> None:
        """Pause, and wait until the files at hand are done. Idempotent."""
        self._work.close()
        self._work.join(60.0)

    def index_key(self) -> tuple[bytes, Callable[[], None] | None]:
        """Return the key of the index, and what to call once the index was built with it.

        During a rotation that is the new key: the vectors of page patches are rotated to it here, which takes a second
        for about 1,000 pages. Call it before anything opens these vectors. Raises `DiskFullError`, `VaultError`.
        """
        keyset = self._keyset
        if keyset.next is None or keyset.own_index_key == keyset.next.index_key:
            return keyset.index_key(), None
        old, new = keyset.index_key(), keyset.next.index_key
        if self._db.is_read_only:
            return (new if self._turned_with() == _named(new) else old), None
        if self._turned_with() != _named(new):
            self._turn_vectors(old, new)
        self._has_new_index_key = True
        return new, self._note_index

    @property
    def _keyset(self) -> Keyset:
        return self._keys().keyset

    def _run_quietly(self) -> None:
        try:
            self.run()
        except CancelledError:
            return
        except DocMindError as error:  # `error` has it for the interface, and the next opening tries again
            log_mistake("docmind.rotation", "a rotation of keys was not finished", error)

    def _rotate(self, tell: Callable[[str, int, int], None]) -> tuple[int, list[Path]]:
        tell(STEPS[0], 0, 0)
        with self._guard:
            self._keys().recovery.begin_rotation()
            self._artifacts.use(self._keyset)
        files, unreadable = self._seal_again(tell)
        tell(STEPS[2], 0, 0)
        new = self._keyset.next
        if new is not None and self._keyset.db_key != new.db_key:
            self._db.change_key(new.db_key, Mark(self._data_dir / "mark", new.db_key, self._keys().vault_id))
            for kept in kept_databases(self._data_dir):  # the key that opens them is about to be forgotten
                remove_database(self._data_dir, kept.name)
            self._change(lambda keyset: replace(keyset, db_key=new.db_key))
        return files, unreadable

    def _seal_again(self, tell: Callable[[str, int, int], None]) -> tuple[int, list[Path]]:
        """Seal all files with the primary key, and remove the keys that none needs; return how many, and the rest."""
        primary, files = self._keyset.primary, 0
        unreadable: dict[Path, None] = {}
        while True:
            there = self._artifacts.sealed_under()
            left = [path for path in there.outdated(primary) if path not in unreadable]
            if not left:
                break
            done = there.total - len(left) - len(unreadable)
            for start in range(0, len(left), _BATCH):
                batch = left[start : start + _BATCH]
                tell(STEPS[1], done, there.total)
                self._check()
                failed = self._artifacts.reseal(batch)
                unreadable.update(dict.fromkeys(failed))
                files += len(batch) - len(failed)
                done += len(batch)
        needed = {primary, *there.paths}
        self._change(
            lambda keyset: replace(
                keyset,
                data_keys={key_id: key for key_id, key in keyset.data_keys.items() if key_id in needed},
                next=replace(keyset.next, is_sealed=True) if keyset.next is not None else None,
            )
        )
        return files, list(unreadable)

    def _check(self) -> None:
        self._work.check()
        if self._pausing.is_set():
            raise CancelledError(
                _("The change of keys is paused."),
                hint=_("It goes on where it stopped, at the latest at the next start."),
            )

    def _change(self, change: Callable[[Keyset], Keyset]) -> None:
        with self._guard:
            if self._keyset.next is None:  # the index was the last to change, meanwhile
                return
            self._keys().recovery.change_keys(lambda keyset: _settled(change(keyset)))
            self._artifacts.use(self._keyset)

    def _note_index(self) -> None:
        """Note that the index was built with its new key."""
        self._change(
            lambda keyset: replace(keyset, own_index_key=keyset.next.index_key) if keyset.next is not None else keyset
        )

    def _turned_with(self) -> str | None:
        return Preferences(self._db).get(_TURNED)

    def _turn_vectors(self, old: bytes, new: bytes) -> None:
        preferences = Preferences(self._db)
        if self._db.one("SELECT 1 FROM late_pages LIMIT 1") is None:
            preferences.put(_TURNED, _named(new))
            return
        from docmind.index import Blinder
        from docmind.late_interaction import turn_pages

        before, after = Blinder(old), Blinder(new)

        def change(vectors: np.ndarray) -> np.ndarray:
            return after.from_other(before, vectors)

        turn_pages(
            self._data_dir / "late", self._db, change, lambda: preferences.put(_TURNED, _named(new)),
            min_free_mb=self._min_free_mb,
        )  # fmt: skip

    def _reported(self, files: int, seconds: float, unreadable: Sequence[Path]) -> RotationReport:
        ids = {path.name.rpartition("-")[2][:64] for path in unreadable}
        names = self._catalog.names_with(ids)
        return RotationReport(files, seconds, tuple(names), len(unreadable))


def _settled(keyset: Keyset) -> Keyset:
    """Return the keyset without the keys to come, where nothing is left to change."""
    new = keyset.next
    if new is None or not new.is_sealed or keyset.db_key != new.db_key or keyset.own_index_key != new.index_key:
        return keyset
    return replace(keyset, next=None)


def _named(key: bytes) -> str:
    """Return a name of an index key that says nothing about it."""
    return hashlib.blake2b(key, digest_size=8, person=b"docmind late").hexdigest()
