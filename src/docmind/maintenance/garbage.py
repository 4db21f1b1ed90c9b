"""Garbage collection: stored files that nothing refers to are removed once that has been known for days.

Files lose their last reference where a process is killed between writing them and their row, and where `vault.db` lacks
rows that it had. So nothing is removed in a vault that was opened although it lacks acknowledged changes, and ages are
measured by the vault's own clock (`docmind.storage.OwnClock`).

    note     files without a reference get an age; one that is referred to again, moved or put again loses it
    remove   the oldest first, a few at a time; each is asked for again under `Catalog.naming` right before
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from docmind.documents import Catalog, Edits
from docmind.errors import CancelledError, ConfigError, DiskFullError, DocMindError, VaultError
from docmind.records.storage import GarbageFile, GarbageKind, PruneReport
from docmind.runtime import Background, log_mistake
from docmind.storage import Ages, Artifacts, Database, OwnClock, StoredFile
from docmind.wording import _

DAY_S = 24 * 60 * 60
LEAST_AGE_S = DAY_S
"""The youngest age at which a file may be removed: a day, the most that a changed clock can add."""

_STATE = "unreferenced"
_FEW = 32  # files removed while others wait for `Catalog.naming`
_FIRST_S, _EVERY_S, _POLL_S = 60.0, 3600.0, 5.0

Sources = Sequence[Callable[[], Collection[str]]]
"""Each returns ids of artifacts that something refers to."""


@dataclass(frozen=True, slots=True)
class _Swept:
    """What became of the files that were to be removed; `named` are referred to again."""

    removed: list[StoredFile] = field(default_factory=list)
    failed: list[StoredFile] = field(default_factory=list)
    named: list[StoredFile] = field(default_factory=list)


class GarbageCollection:
    """Removes stored files that nothing refers to. Thread-safe: of two collections at once, each does what is left."""

    def __init__(
        self,
        database: Database,
        catalog: Catalog,
        artifacts: Artifacts,
        clock: OwnClock,
        keep_days: float,
        referenced: Sources,
    ) -> None:
        """`keep_days` is the least age of what is removed by itself; a file in any of `referenced` stays."""
        self._db, self._catalog, self._artifacts = database, catalog, artifacts
        self._clock, self._keep_s, self._referenced = clock, keep_days * DAY_S, referenced
        self._ages, self._edits = Ages(database, clock), Edits(database, catalog)
        self._work = Background("garbage", "The collection goes on at the next start.")

    def prune(
        self, max_total_bytes: int = 0, min_age_seconds: float | None = None, *, dry_run: bool = False
    ) -> PruneReport:
        """Remove the oldest files that nothing refers to until all files take at most `max_total_bytes`.

        Files younger than `min_age_seconds` stay; by default those of less than `storage.keep_aside_days`. The age
        of a file begins when a collection first finds it without a reference. With `dry_run` nothing is changed.

        Raises `ConfigError` for a negative size or an age below a day, `VaultError` where the vault is read-only or
        was opened although changes are missing, `DamagedError` where not all references can be read.
        """
        return self._prune(max_total_bytes, min_age_seconds, dry_run, lambda: None)

    def follow(
        self,
        is_busy: Callable[[], bool],
        *,
        first_s: float = _FIRST_S,
        every_s: float = _EVERY_S,
        poll_s: float = _POLL_S,
    ) -> None:
        """Collect in the background, at first after `first_s` and then every `every_s`. Idempotent.

        It waits while `is_busy`, also between two small steps, and asks again every `poll_s`.
        """
        if self._db.is_read_only or self._db.was_behind:
            return

        def give_way() -> None:
            while is_busy() and not self._work.is_closed:
                self._work.rest(poll_s)
            self._work.check()

        def run() -> None:
            with suppress(CancelledError):  # the vault is being closed
                self._work.rest(first_s)
                while True:
                    give_way()
                    self._collect(give_way)
                    self._work.rest(every_s)

        self._work.start(run)

    def close(self) -> None:
        """End the collection in the background, and keep the clock's time. Idempotent."""
        self._work.close()
        self._work.join(60.0)
        with suppress(DiskFullError):
            self._clock.keep(seldom=True)

    def _collect(self, give_way: Callable[[], None]) -> None:
        """Collect once; a failure is logged and tried again next time, because nobody asked for this."""
        try:
            self._clock.keep(seldom=True)
            self._edits.note_bin(self._clock.now_ms())
            self._prune(0, None, False, give_way)
        except CancelledError:
            raise
        except (DocMindError, OSError) as error:
            log_mistake("docmind.garbage", "stored files were not collected", error)

    def _prune(
        self, max_total_bytes: int, min_age_seconds: float | None, dry_run: bool, give_way: Callable[[], None]
    ) -> PruneReport:
        least_s = self._keep_s if min_age_seconds is None else min_age_seconds
        if max_total_bytes < 0 or not least_s >= LEAST_AGE_S:
            raise ConfigError(
                _("Stored files can be removed after a day at the earliest, and their size is not negative."),
                hint=_("Give an age of at least one day, and a size of 0 or more."),
            )
        if not dry_run:
            self._check()
        found = self._artifacts.stored()
        named = self._named()
        loose = [file for file in found if file.artifact_id not in named]
        ages = self._ages.of(_STATE)
        garbage = {file: _described(file, ages.get(file.seen, 0)) for file in loose}
        old = [file for file in loose if garbage[file].age_ms >= least_s * 1000]
        old.sort(key=lambda file: (-garbage[file].age_ms, file.seen))
        total = sum(file.bytes for file in found)
        swept = self._sweep(old, total - max_total_bytes, dry_run, give_way)
        done = {*swept.removed, *swept.named}
        kept = [file for file in loose if file not in done]
        if not dry_run:
            self._note(kept)
        waiting = [file for file in kept if file not in swept.failed]
        return PruneReport(
            files=tuple(garbage[file] for file in swept.removed),
            total_bytes=total - sum(file.bytes for file in swept.removed),
            waiting=len(waiting),
            waiting_bytes=sum(file.bytes for file in waiting),
            failed=len(swept.failed),
            min_age_ms=int(least_s * 1000),
            is_dry_run=dry_run,
        )

    def _check(self) -> None:
        self._db.check_writable()
        if self._db.was_behind:
            raise VaultError(
                _("Changes are missing from this library, so no stored file is removed."),
                hint=_("Put back a newer copy of vault.db, or close DocMind and open the library again."),
            )

    def _named(self) -> set[str]:
        """Return the ids of all artifacts that something refers to. Raises `DamagedError`."""
        return {artifact_id for source in self._referenced for artifact_id in source()}

    def _sweep(self, files: Sequence[StoredFile], excess: int, dry_run: bool, give_way: Callable[[], None]) -> _Swept:
        """Remove files in their order, a few at a time, until `excess` bytes are freed."""
        swept, freed = _Swept(), 0
        for at in range(0, len(files), _FEW):
            if freed >= excess:
                break
            give_way()
            with self._catalog.naming:
                named = self._named()
                for file in files[at : at + _FEW]:
                    if freed >= excess:
                        break
                    if file.artifact_id in named:
                        swept.named.append(file)
                        continue
                    try:
                        is_removed = dry_run or self._artifacts.unlink(file)
                    except OSError:  # in use: it is tried again next time
                        swept.failed.append(file)
                        continue
                    if is_removed:
                        swept.removed.append(file)
                        freed += file.bytes
        return swept

    def _note(self, files: Sequence[StoredFile]) -> None:
        with suppress(DiskFullError):  # they are noted next time
            self._ages.note(_STATE, [file.seen for file in files])
            self._clock.keep(seldom=True)


def _described(file: StoredFile, age_ms: int) -> GarbageFile:
    kind: GarbageKind = "set aside" if file.is_aside else "unreferenced"
    return GarbageFile(file.name, kind if file.artifact_id else "log", file.bytes, max(age_ms, 0))
