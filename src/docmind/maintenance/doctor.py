"""The check of the whole library, in three levels, and its repair.

    quick   every reference leads to something, counts agree, sizes and headers of files, the mark, foreign files
    full    and every id and hash recomputes, every page of `vault.db` has its HMAC and every file its checksum, every
            state and vector decodes, the index holds exactly the points of the vault, no path and no encoded bytes
            stand where none may be
    deep    and every file is opened and its id recomputed, every page image decodes, every row of page parts has its
            checksum

Nothing is changed by a check, so it also works on a library that is open for reading only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from docmind.conversations import check_states
from docmind.errors import (
    DamagedError,
    DiskFullError,
    ExtraMissingError,
    IndexEngineError,
    IndexMismatchError,
    NotFoundError,
    ReadingError,
    TextModelError,
    VaultError,
)
from docmind.index import check_payload
from docmind.index import foreign_files as foreign_index_files
from docmind.maintenance import contents
from docmind.maintenance.kinds import Problem, counted, listed
from docmind.maintenance.references import Rows, damaged_file, look_at
from docmind.network import network_guard
from docmind.reading import isolation_capability, pandoc_capability, reader_capabilities
from docmind.records.checks import CheckReport, Level, RepairReport
from docmind.records.documents import ArtifactRef, DocumentInfo
from docmind.storage import (
    LATE,
    Mark,
    Report,
    foreign_files,
    outside_files,
    own_files,
)
from docmind.vault import Vault
from docmind.wording import N_

if TYPE_CHECKING:
    from docmind.config import Settings
    from docmind.image_match import ImageMatcher
    from docmind.index import SearchIndex
    from docmind.maintenance.repair import Repairs
    from docmind.maintenance.snapshots import Snapshots
    from docmind.visual import Visual

LEVELS: tuple[Level, ...] = ("quick", "full", "deep")
_OPENING = 4
"""Steps of the quick level, which a report counts like one document or file each."""

_INDEX = N_("index")


class Pace:
    """Counts of the work that is done and of all; each step may be where the user stops it."""

    def __init__(self, report: Report) -> None:
        self._report, self._done, self.total = report, 0, _OPENING

    def tick(self) -> None:
        """Count one step. Raises what `report` raises to stop the work."""
        self._done += 1
        self.heed()

    def heed(self) -> None:
        """Report again what is done, so that the work can be stopped here."""
        self._report(min(self._done, self.total), self.total)


class Doctor:
    """Checks and repairs an open library. Thread-safe; a check waits for nobody, and holds the database briefly."""

    def __init__(
        self,
        settings: Settings,
        *,
        vault: Vault,
        index: SearchIndex,
        lookalike: ImageMatcher,
        visual: Visual,
        snapshots: Snapshots,
        repairs: Repairs,
    ) -> None:
        """Set up; `repairs` mends what is found."""
        self._settings, self._vault, self._database = settings, vault, vault.database
        self._catalog, self._artifacts = vault.catalog, vault.artifacts
        self._index, self._lookalike, self._visual = index, lookalike, visual
        self._snapshots, self._repairs = snapshots, repairs

    def examine(self, level: Level = "quick", report: Report = lambda done, total: None) -> CheckReport:
        """Check the library; `report` gets the steps that are done and all, and may raise `CancelledError` to stop.

        Damage that is found is in the result. Raises `VaultError` where the library is closed.
        """
        return self._examined(Check(level), report)

    def _examined(self, check: Check, report: Report) -> CheckReport:
        began = time.monotonic()
        self._run(check, report)
        guard = network_guard().state()
        return CheckReport(
            check.level, listed(check.problems), counted(check.problems), tuple(check.looked_at.items()),
            tuple(check.unchecked), (time.monotonic() - began) * 1000, guard.refused, guard.is_held,
            (isolation_capability(), pandoc_capability(self._settings.reading),
             *reader_capabilities(self._settings.reading)),
        )  # fmt: skip

    def repair(self, level: Level = "quick", report: Report = lambda done, total: None) -> RepairReport:
        """Check the library, mend what can be mended, and check it again.

        Lost rows, pages and pictures are read again from the originals; what is made from documents is made again; what
        belongs to nothing is removed or set aside. Nothing that may be the only copy is deleted, and no erased document
        comes back. Raises `VaultError` where the library is open for reading only, `DiskFullError`, `CancelledError`;
        what was mended until then stays.
        """
        self._database.check_writable()
        check = Check(level)
        before = self._examined(check, report)
        if not before.is_repairable:
            return RepairReport(before, before)
        notes = self._repairs.mend(check.problems, report)
        after = self.examine(level, report)
        left = dict(after.counts)
        mended = [(kind, number - left.get(kind, 0)) for kind, number in before.counts if number > left.get(kind, 0)]
        return RepairReport(before, after, tuple(mended), tuple(notes))

    def _run(self, check: Check, report: Report) -> None:
        """Do the checks of a level."""
        pace = Pace(report)
        self._check_keys(check)
        pace.tick()
        vault = self._look(check)
        pace.tick()
        if vault is not None:
            self._check_late(check, is_read=check.level == "deep")
        check.add(Problem("file-foreign", name, key=name) for name in self._foreign())
        pace.tick()
        if check.level != "quick":
            states = self._number_of("checkpoints") + self._number_of("writes")
            pace.total += states + (len(vault.documents) + len(vault.files) if vault is not None else 0)
            pace.total += len(vault.files) if vault is not None and check.level == "deep" else 0
            self._check_database(check)
            if vault is not None:
                self._check_contents(check, vault, pace)
        self._check_index(check, vault)
        pace.tick()

    def _look(self, check: Check) -> Rows | None:
        """Do the checks of references, and return what they found; None where a table cannot be read."""
        try:
            with self._catalog.naming:
                vault = look_at(self._database, self._artifacts)
        except DamagedError as error:
            check.add([Problem("database-damaged", str(error))])
            return None
        check.add(vault.problems)
        check.add(
            Problem("document-refused", doc_id, doc_id, document=name)
            for doc_id, name in self._catalog.refused().items()
        )
        check.looked_at |= {
            "documents": len(vault.documents), "pages": len(vault.pages), "files": len(vault.files)
        }  # fmt: skip
        return vault

    def _check_keys(self, check: Check) -> None:
        keys, data_dir = self._vault.keys, self._settings.data_dir
        if not keys.recovery.is_described():
            check.add([Problem("description-damaged", "vault.json", can_repair=not self._database.is_read_only)])
        try:
            lacking = self._database.lacking(Mark(data_dir / "mark", keys.keyset.db_key, keys.vault_id))
        except DamagedError:
            check.add([Problem("mark-damaged", "mark")])
        else:
            check.add([Problem("behind", lacking)] if lacking else [])

    def _foreign(self) -> Iterator[str]:
        data_dir = self._settings.data_dir
        yield from foreign_files(data_dir)
        yield from (f"index/{name}" for name in foreign_index_files(data_dir / "index"))

    def _check_late(self, check: Check, *, is_read: bool) -> None:
        folder = self._settings.data_dir / "late"
        pages = self._visual.late_store.pages()
        named = pages.files()
        for fingerprint in pages.fingerprints():
            for image in pages.unsound(fingerprint, is_read=is_read):
                check.add([Problem("late-lost", image, key=fingerprint)])
        names = sorted(path.name for path in own_files(folder, LATE))
        check.add(Problem("late-unnamed", name, key=name) for name in names if name not in named)

    def _number_of(self, table: str) -> int:
        if self._database.one("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)) is None:
            return 0
        row = self._database.one(f"SELECT count(*) FROM {table}")
        return int(row[0]) if row else 0

    def _check_database(self, check: Check) -> None:
        try:
            self._database.check_pages()
        except DamagedError as error:
            check.add([Problem("database-damaged", str(error))])

    def _check_contents(self, check: Check, vault: Rows, pace: Pace) -> None:
        database, is_deep = self._database, check.level == "deep"
        parts: tuple[Iterator[Problem], ...] = (
            contents.check_documents(database, vault, pace.tick),
            contents.check_vectors(database, pace.heed),
            contents.check_marks(database, pace.heed),
            contents.check_memories(database, pace.heed),
            self._states(pace.tick),
            contents.check_files(database, vault, self._artifacts, pace.tick, is_opened=is_deep),
        )
        for problems in parts:
            try:
                check.add(map(vault.with_name, problems))
            except DamagedError as error:
                check.add([Problem("database-damaged", str(error))])
        check.add(self._snapshots_damaged(pace.heed, is_deep=is_deep))
        if is_deep:
            check.add(map(vault.with_name, self._undecoded(vault, pace.tick)))
        check.add(Problem("file-outside", name, key=name) for name in self._outside())

    def _states(self, tick: Callable[[], None]) -> Iterator[Problem]:
        for fault in check_states(self._database, tick):
            yield Problem(f"state-{fault.fault}", fault.thread_id, key=fault.thread_id)

    def _snapshots_damaged(self, heed: Callable[[], None], *, is_deep: bool) -> Iterator[Problem]:
        for info in self._snapshots.list():
            found = self._snapshots.verify(info.snapshot_id, deep=is_deep, report=lambda done, total: heed())
            for problem in found.problems:
                yield Problem("snapshot-damaged", problem, key=info.snapshot_id, document=info.snapshot_id)

    def _undecoded(self, vault: Rows, tick: Callable[[], None]) -> Iterator[Problem]:
        """Yield the page images and thumbnails that do not decode, in a process of its own."""
        originals = {document.original for document in vault.documents.values()}
        for name in vault.files:
            tick()
            if name[:64] in vault.named and name[:64] not in originals and name.endswith(".webp.enc"):
                with suppress(NotFoundError, VaultError):  # told already by the check of files
                    image = self._artifacts.get(ArtifactRef(name[:64], name[64:]))
                    try:
                        self._lookalike.check_image(image)
                    except ReadingError:
                        yield from damaged_file(self._database, vault, name)

    def _outside(self) -> Iterator[str]:
        from docmind.model_files import default_cache_dir

        data_dir = self._settings.data_dir.resolve()
        for folder in dict.fromkeys((self._settings.cache_dir or default_cache_dir(), data_dir.parent)):
            for name in outside_files(folder):
                if not (folder / name).resolve().is_relative_to(data_dir):
                    yield str(Path(folder.name) / name)

    def _check_index(self, check: Check, vault: Rows | None) -> None:
        """Compare epoch and counts, from the full level on every point."""
        try:
            opened = self._index.ready() if check.level != "quick" else self._index.started()
            epoch = opened.index.epoch()
        except DiskFullError:
            check.unchecked.append(_INDEX)
            return
        except IndexMismatchError:
            check.add([Problem("index-behind")])
            return
        except IndexEngineError as error:
            check.add([Problem("index-damaged", str(error))])
            return
        except (TextModelError, ExtraMissingError):
            check.unchecked.append(_INDEX)
            return
        now = self._catalog.epoch()
        if epoch < 0 and not now:  # a new library, whose index is made with the first document
            return
        if epoch != now:
            check.add([Problem("index-ahead" if epoch > now else "index-behind")] if vault is not None else [])
            return
        if vault is None:
            return
        names = self._index.names
        counts = [opened.index.count(name) for name in (names.qdrant_text_collection, names.qdrant_image_collection)]
        if check.level == "quick":
            wanted = self._catalog.index_counts()
            if tuple(counts) != wanted and self._catalog.epoch() == now:
                check.add([Problem("index-differs")])
            return
        differing = list(self._points(vault))
        if self._catalog.epoch() == now:  # otherwise a document was changed meanwhile
            check.add(differing)

    def _points(self, vault: Rows) -> Iterator[Problem]:
        """Yield the points that differ from the vault: other payloads, and those that are missing or too many."""
        opened, names = self._index.ready(), self._index.names
        wanted: tuple[dict[str, object], dict[str, object]] = ({}, {})
        for info in self._indexed(vault):
            for part, payloads in zip(wanted, opened.mirror.payloads(info), strict=True):
                part.update((point_id, _followed(payload)) for point_id, payload in payloads.items())
        for part, collection in zip(wanted, (names.qdrant_text_collection, names.qdrant_image_collection), strict=True):
            after: str | None = None
            while True:
                points, after = opened.index.scroll(collection, after)
                for point_id, payload in points:
                    if part.pop(point_id, None) != _followed(payload) or not _is_thin(payload):
                        yield Problem("index-differs", point_id)
                if after is None:
                    break
            for point_id in part:
                yield Problem("index-differs", point_id)

    def _indexed(self, vault: Rows) -> Iterator[DocumentInfo]:
        """Yield the documents that the index must hold."""
        refused = self._catalog.refused()
        for doc_id, document in vault.documents.items():
            if document.status == "ready" and doc_id not in refused:
                with suppress(NotFoundError):  # deleted meanwhile, or in the bin and of no snapshot
                    yield self._catalog.readable(doc_id)


class Check:
    """What one check has found so far."""

    def __init__(self, level: Level) -> None:
        self.level: Level = level
        self.problems: list[Problem] = []
        self.looked_at: dict[str, int] = {}
        self.unchecked: list[str] = []

    def add(self, problems: Iterable[Problem]) -> None:
        """Add problems, each of which counts once."""
        known = set(self.problems)
        for problem in problems:
            if problem not in known:
                known.add(problem)
                self.problems.append(problem)


def _followed(payload: Mapping[str, object]) -> dict[str, object]:
    """Return a payload without its tags: the index keeps those of a document's last writing, and searches by none."""
    return {key: value for key, value in payload.items() if key != "tags"}


def _is_thin(payload: Mapping[str, object]) -> bool:
    try:
        check_payload(payload)
    except ValueError:
        return False
    return True
