"""Folders that the library follows, and which file of them is which document.

A file is known by a keyed hash of its path, by its time and size, and by the document that its bytes are. Neither its
path nor its name is stored; the path of the folder itself is, in `vault.db`, because it must be found again.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from docmind.config import Settings
from docmind.documents import texts_of
from docmind.errors import DamagedError, DocMindError, FolderError, NotFoundError
from docmind.ingest.jobs import IngestQueue
from docmind.ingest.library import Library
from docmind.ingest.replacing import Replacements
from docmind.ingest.tree import Seen, Tree
from docmind.ingest.withheld import own_places
from docmind.reading import has_known_name, reads_more
from docmind.records.documents import FolderInfo, GoneFile, SyncResult, Upload
from docmind.runtime import Background, log_mistake
from docmind.storage import Row
from docmind.vault import Vault
from docmind.wording import N_, _, number_text

Report = Callable[[int, int], None]
"""Gets the files compared so far, and all of them."""

_NO_FILTERS = N_("Which files of this folder are wanted can't be read: vault.db is damaged there.")
_WATCH_S = 15.0  # between two looks at a watched folder
_SETTLED_NS = 2_000_000_000  # a file that changed less than this ago may still be being written
_TOGETHER, _TOGETHER_BYTES = 64, 64 << 20  # files whose rows share a commit


@dataclass(frozen=True)
class _Row:
    """A file as it was at the last sync. `before` is the document of its earlier version, until that is deleted."""

    place: bytes
    file_id: int
    mtime_ns: int
    size: int
    doc_id: str
    before: str
    is_ours: bool
    is_gone: bool

    @property
    def look(self) -> tuple[int, int, int]:
        return self.file_id, self.mtime_ns, self.size


def _info(row: Row) -> FolderInfo:
    """Return the record of a row; a folder whose filters cannot be read is not watched, and its message says so."""
    message, is_watched = row[6], bool(row[4])
    try:
        include, exclude = texts_of(row[2]), texts_of(row[3])
    except DamagedError:
        include = exclude = ()
        message, is_watched = _(_NO_FILTERS), False
    return FolderInfo(
        folder_id=row[0],
        path=row[1],
        include=include,
        exclude=exclude,
        is_watched=is_watched,
        synced_at_ms=row[5],
        message=message,
        files=row[7],
        gone=row[8],
    )


class Folders:
    """The tables `folders` and `folder_files`. Thread-safe: one sync runs at a time."""

    def __init__(
        self,
        settings: Settings,
        *,
        vault: Vault,
        queue: IngestQueue,
        library: Library,
        replacements: Replacements,
    ) -> None:
        self._limit_bytes = settings.reading.max_file_mb << 20
        self._more_endings = reads_more(settings.reading)
        self._settings = settings
        self._db, self._catalog = vault.database, vault.catalog
        self._queue, self._library, self._replacements = queue, library, replacements
        self._syncing = threading.Lock()
        self._watching = Background("folders", "The folders are not followed any more.")

    # the list

    def all(self) -> tuple[FolderInfo, ...]:
        """Return the folders in the order in which they were added."""
        rows = self._db.all(
            "SELECT f.folder_id, f.path, f.include, f.exclude, f.is_watched, f.synced_at_ms, f.message,"
            " (SELECT count(*) FROM folder_files s WHERE s.folder_id = f.folder_id AND NOT s.is_gone),"
            " (SELECT count(*) FROM folder_files s WHERE s.folder_id = f.folder_id AND s.is_gone)"
            " FROM folders f ORDER BY f.folder_id"
        )
        return tuple(map(_info, rows))

    def get(self, folder_id: int) -> FolderInfo:
        """Return one folder. Raises `NotFoundError`."""
        for info in self.all():
            if info.folder_id == folder_id:
                return info
        raise NotFoundError(
            _("There is no folder {folder_id}.").format(folder_id=folder_id),
            hint=_("docmind sync list shows the folders."),
        )

    def add(
        self, path: Path, *, include: Sequence[str] = (), exclude: Sequence[str] = (), is_watched: bool = True
    ) -> FolderInfo:
        """Follow a folder from now on; nothing of it is read before `sync`. Raises `FolderError`."""
        self._db.check_writable()
        try:
            folder = path.expanduser().resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise FolderError(
                _("The folder {path} is not there.").format(path=path), hint=_("Check its path.")
            ) from error
        scanned = _text(str(folder))
        if not folder.is_dir():
            raise FolderError(
                _("{path} is not a folder.").format(path=path), hint=_("Add single files with docmind add FILE.")
            )
        if scanned != str(folder):
            raise FolderError(
                _("The path of {scanned} is not valid text.").format(scanned=scanned), hint=_("Rename the folder.")
            )
        data = self._settings.data_dir.resolve()
        if folder == data or data in folder.parents or folder in data.parents:
            raise FolderError(
                _("{folder} and the data folder of DocMind lie within each other.").format(folder=folder),
                hint=_("Choose another folder."),
            )
        for known in self.all():
            other = Path(known.path)
            if folder == other or other in folder.parents or folder in other.parents:
                told = (
                    _("{folder} is followed already, as {path}.")
                    if folder == other
                    else _("{folder} and {path}, which is followed already, lie within each other.")
                )
                raise FolderError(
                    told.format(folder=folder, path=known.path), hint=_("docmind sync list shows the folders.")
                )
        with self._db.transaction() as db:
            cursor = db.execute(
                "INSERT INTO folders (path, salt, include, exclude, is_watched, added_at_ms) VALUES (?, ?, ?, ?, ?, ?)",
                (scanned, secrets.token_bytes(32), json.dumps(list(include)), json.dumps(list(exclude)), is_watched,
                 _now_ms()),
            )  # fmt: skip
            folder_id = cursor.lastrowid
        self._watching.wake()
        return self.get(folder_id)

    def watch(self, folder_id: int, *, is_watched: bool) -> None:
        """Switch watching of one folder on or off. Raises `NotFoundError`."""
        self.get(folder_id)
        with self._db.transaction() as db:
            db.execute("UPDATE folders SET is_watched = ? WHERE folder_id = ?", (is_watched, folder_id))
        self._watching.wake()

    def remove(self, folder_id: int) -> FolderInfo:
        """Follow a folder no longer. Its documents stay. Raises `NotFoundError`."""
        info = self.get(folder_id)
        with self._syncing, self._db.transaction() as db:
            db.execute("DELETE FROM folder_files WHERE folder_id = ?", (folder_id,))
            db.execute("DELETE FROM folders WHERE folder_id = ?", (folder_id,))
        return info

    # files that are gone

    def gone(self) -> tuple[GoneFile, ...]:
        """Return the documents whose file is not in its folder any more, and that wait for a decision."""
        rows = self._db.all(
            "SELECT DISTINCT s.doc_id, d.document, f.path FROM folder_files s JOIN folders f USING (folder_id)"
            " JOIN documents d ON d.doc_id = s.doc_id WHERE s.is_gone ORDER BY d.document"
        )
        return tuple(GoneFile(*row) for row in rows)

    def keep(self, doc_ids: Sequence[str]) -> None:
        """Keep documents whose file is gone; they are as if uploaded by hand from now on."""
        with self._db.transaction() as db:
            db.executemany("DELETE FROM folder_files WHERE doc_id = ? AND is_gone", [(one,) for one in doc_ids])

    def bin_gone(self, doc_ids: Sequence[str]) -> int:
        """Delete documents whose file is gone, and return how many. Others are not touched."""
        wanted = {gone.doc_id for gone in self.gone()} & set(doc_ids)
        for doc_id in sorted(wanted):
            if not self._replacements.is_used(doc_id):
                try:
                    self._library.bin([doc_id])
                except NotFoundError:
                    continue
        self.keep(sorted(wanted))
        return len(wanted)

    # syncing

    def sync(
        self, folder_id: int, report: Report = lambda done, total: None, *, is_patient: bool = False
    ) -> SyncResult:
        """Compare a folder with what is known of it, and hand in new and changed files.

        They wait in the queue then: `queue.start` reads them in the background, `queue.finish` here. With `is_patient`,
        files that changed a moment ago are left for the next time. Raises `NotFoundError`, `FolderError`,
        `DiskFullError`.
        """
        self._db.check_writable()
        info = self.get(folder_id)
        with self._syncing:
            try:
                self._check_filters(folder_id)
                result = self._sync(info, report, is_patient=is_patient)
            except FolderError as error:
                self._note(folder_id, str(error))
                raise
            self._note(folder_id, result.message)
            self._replacements.settle()
        return result

    def follow(self) -> None:
        """Look at the watched folders every 15 seconds in the background, from now on. Idempotent."""
        self._watching.start(self._watch)

    def close(self) -> None:
        """End watching. Idempotent."""
        self._watching.close()
        self._watching.join(30.0)

    # inside

    def _watch(self) -> None:
        while not self._watching.is_closed:
            try:
                for info in self.all():
                    if info.is_watched and not self._watching.is_closed:
                        self._watch_one(info.folder_id)
            except DocMindError as error:  # the vault is being closed, or the disk is full: the next look says so again
                log_mistake("docmind.folders", "watching ended", error)
            self._watching.sleep(_WATCH_S)

    def _watch_one(self, folder_id: int) -> None:
        try:
            result = self.sync(folder_id, is_patient=True)
        except (FolderError, NotFoundError):  # its row has the message
            return
        if result.added or result.changed:
            self._queue.start()

    def _check_filters(self, folder_id: int) -> None:
        """Raise `FolderError` where it is not known which files of a folder are wanted."""
        for row in self._db.all("SELECT include, exclude FROM folders WHERE folder_id = ?", (folder_id,)):
            try:
                list(map(texts_of, row))
            except DamagedError as error:
                raise FolderError(_(_NO_FILTERS), hint=_("Remove it from the list, and follow it again.")) from error

    def _sync(self, info: FolderInfo, report: Report, *, is_patient: bool) -> SyncResult:
        root = Path(info.path)
        tree = Tree(root, own_places(self._settings))
        found = tree.scan(info.include, info.exclude)
        salt, rows = self._rows(info.folder_id)
        known = {row.place: row for row in rows}
        if known and not found.files and any(not row.is_gone for row in rows):
            # An empty place to mount a disk looks like this: nothing is called gone for it.
            raise FolderError(
                _("The folder {root} is empty.").format(root=root),
                hint=_("Connect its disk, or remove it from the list."),
            )
        now = time.time_ns()
        unchanged = skipped = waiting = 0
        fresh: list[tuple[bytes, Seen]] = []
        there: set[bytes] = set()
        back: list[_Row] = []
        for number, seen in enumerate(found.files, 1):
            place = _place(salt, seen.path)
            there.add(place)
            row = known.get(place)
            if row is not None and (row.mtime_ns, row.size) == (seen.mtime_ns, seen.size):
                unchanged += 1
                if row.is_gone:
                    back.append(replace(row, is_gone=False))
            elif (
                not (info.include or has_known_name(seen.name, self._more_endings))
                or not 0 < seen.size <= self._limit_bytes
            ):
                skipped += 1
            elif is_patient and now - seen.mtime_ns < _SETTLED_NS:
                waiting += 1
            else:
                fresh.append((place, seen))
            if number % 500 == 0:
                report(number, len(found.files))
        vanished = {row.place: row for row in rows if row.place not in there}
        names: list[tuple[_Row, str]] = []
        renamed, fresh = self._moved(info.folder_id, vanished, fresh, known, names)
        self._put(info.folder_id, back)
        added, changed, again, unread = self._hand_in(info.folder_id, tree, fresh, known, vanished, names)
        folders = {"", *(seen.path.rpartition("/")[0] for seen in found.files)}
        for row, name in names:
            self._follow_name(row, name, salt, folders)
        gone = [] if found.unreadable or waiting else [row for row in vanished.values() if not row.is_gone]
        self._bury(info.folder_id, gone)
        message = (
            _("{unreadable} folders in it could not be opened.").format(unreadable=number_text(found.unreadable))
            if found.unreadable
            else ""
        )
        report(len(found.files), len(found.files))
        return SyncResult(
            files=len(found.files),
            added=added,
            changed=changed,
            renamed=renamed + again,
            gone=sum(row.is_ours for row in gone),
            unchanged=unchanged,
            skipped=skipped,
            unread=unread,
            message=message,
        )

    def _follow_name(self, row: _Row, name: str, salt: bytes, folders: Collection[str]) -> None:
        """Give the document of a renamed file the file's new name, unless the user has given it another one.

        The old name of the file is not stored. The document has it where nobody has renamed the document, and where its
        name in one of `folders` is the file's old place.
        """
        with suppress(NotFoundError):  # in the bin, or not read yet
            info = self._catalog.document(row.doc_id)
            is_as_read = not info.read_as or info.document == info.read_as[0]
            if not row.is_ours or info.document == _text(name):
                return
            places = (_place(salt, f"{folder}/{info.document}".lstrip("/")) for folder in folders)
            if is_as_read or row.place in places:
                self._library.edit(row.doc_id, document=_text(name))

    def _moved(
        self,
        folder_id: int,
        vanished: dict[bytes, _Row],
        fresh: list[tuple[bytes, Seen]],
        known: dict[bytes, _Row],
        names: list[tuple[_Row, str]],
    ) -> tuple[int, list[tuple[bytes, Seen]]]:
        """Recognise files that were renamed without a change, by their number on the disk, time and size.

        Their former rows and new names are added to `names`.
        """
        by_look = {row.look: row for row in vanished.values() if row.file_id}
        left, moved = [], []
        for place, seen in fresh:
            row = by_look.pop(seen[1:], None) if place not in known else None
            if row is None:
                left.append((place, seen))
            else:
                del vanished[row.place]
                names.append((row, seen.name))
                moved.append((row.place, replace(row, place=place, is_gone=False)))
        if moved:
            with self._db.transaction() as db:
                db.executemany(
                    "DELETE FROM folder_files WHERE folder_id = ? AND place = ?", [(folder_id, old) for old, _ in moved]
                )
                self._put(folder_id, [row for _, row in moved])
        return len(moved), left

    def _hand_in(
        self,
        folder_id: int,
        tree: Tree,
        fresh: Sequence[tuple[bytes, Seen]],
        known: dict[bytes, _Row],
        vanished: dict[bytes, _Row],
        names: list[tuple[_Row, str]],
    ) -> tuple[int, int, int, int]:
        """Queue new and changed files; return counts: added, changed, renamed (by content), could not be read.

        The former rows and the new names of renamed files are added to `names`.
        """
        added = changed = renamed = unread = 0
        by_document = {row.doc_id: row for row in vanished.values()}
        for few in self._few(fresh):
            taken: list[tuple[bytes, Seen]] = []

            ids = list(self._queue.hold(self._uploads(tree, few, taken)))
            unread += len(few) - len(taken)
            rows: list[_Row] = []
            needless: list[int] = []
            with self._db.transaction() as db:
                for upload_id, (place, seen) in zip(ids, taken, strict=True):
                    doc_id, is_there = self._queue.document_of(upload_id)
                    old, same = known.get(place), by_document.pop(doc_id, None)
                    row = _Row(place, seen.file_id, seen.mtime_ns, seen.size, doc_id, "", not is_there, is_gone=False)
                    if old is not None and old.doc_id == doc_id:  # touched, not changed
                        row, is_needless = replace(row, before=old.before, is_ours=old.is_ours), True
                    elif same is not None and old is None:
                        row, is_needless = replace(row, is_ours=same.is_ours, before=same.before), True
                        del vanished[same.place]
                        db.execute(
                            "DELETE FROM folder_files WHERE folder_id = ? AND place = ?", (folder_id, same.place)
                        )
                        names.append((same, seen.name))
                        renamed += 1
                    elif old is not None:
                        row, is_needless = replace(row, before=self._replaced(old, needless)), False
                        changed += 1
                    else:
                        added, is_needless = added + 1, False
                    rows.append(row)
                    if is_needless and is_there:
                        needless.append(upload_id)
                self._put(folder_id, rows)
            self._queue.release(ids)
            self._queue.remove(needless)
        return added, changed, renamed, unread

    def _uploads(
        self, tree: Tree, few: Sequence[tuple[bytes, Seen]], taken: list[tuple[bytes, Seen]]
    ) -> Iterator[Upload]:
        """Yield the files that can be read, and note each in `taken` as it was then."""
        for place, seen in few:
            got = tree.read(seen, self._limit_bytes)
            if got is not None:
                taken.append((place, got[0]))
                yield Upload(_text(seen.name), got[1])

    def _replaced(self, old: _Row, needless: list[int]) -> str:
        """Return the document that a new version of a file replaces; a version that was never read is not wanted."""
        if self._is_known(old.doc_id):
            return old.doc_id if old.is_ours else ""
        unread = self._queue.uploads("waiting", "paused", "failed", "locked", "cancelled")
        needless += [info.upload_id for info in unread if info.doc_id == old.doc_id]
        return old.before

    def _few(self, fresh: Sequence[tuple[bytes, Seen]]) -> Iterator[list[tuple[bytes, Seen]]]:
        few: list[tuple[bytes, Seen]] = []
        for one in fresh:
            few.append(one)
            if len(few) >= _TOGETHER or sum(seen.size for _, seen in few) >= _TOGETHER_BYTES:
                yield few
                few = []
        if few:
            yield few

    def _bury(self, folder_id: int, gone: Sequence[_Row]) -> None:
        """Mark files as gone; one whose document was uploaded by hand, or is deleted, is only forgotten."""
        marked = [row for row in gone if row.is_ours and self._is_known(row.doc_id)]
        forgotten = [row for row in gone if row not in marked]
        with self._db.transaction() as db:
            db.executemany(
                "DELETE FROM folder_files WHERE folder_id = ? AND place = ?",
                [(folder_id, row.place) for row in forgotten],
            )
            self._put(folder_id, [replace(row, is_gone=True) for row in marked])

    def _is_known(self, doc_id: str) -> bool:
        return not self._catalog.gone([doc_id])

    def _rows(self, folder_id: int) -> tuple[bytes, list[_Row]]:
        salt = self._db.one("SELECT salt FROM folders WHERE folder_id = ?", (folder_id,))
        if salt is None:
            raise NotFoundError(_("There is no folder {folder_id}.").format(folder_id=folder_id))
        rows = self._db.all(
            "SELECT place, file_id, mtime_ns, size, doc_id, before, is_ours, is_gone FROM folder_files"
            " WHERE folder_id = ?",
            (folder_id,),
        )
        return bytes(salt[0]), [
            _Row(bytes(row[0]), *row[1:6], is_ours=bool(row[6]), is_gone=bool(row[7])) for row in rows
        ]

    def _put(self, folder_id: int, rows: Sequence[_Row]) -> None:
        if not rows:
            return
        with self._db.transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO folder_files (folder_id, place, file_id, mtime_ns, size, doc_id, before,"
                " is_ours, is_gone) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (folder_id, row.place, row.file_id, row.mtime_ns, row.size, row.doc_id, row.before,
                     row.is_ours, row.is_gone)
                    for row in rows
                ],
            )  # fmt: skip

    def _note(self, folder_id: int, message: str) -> None:
        with self._db.transaction() as db:
            db.execute(
                "UPDATE folders SET synced_at_ms = ?, message = ? WHERE folder_id = ?", (_now_ms(), message, folder_id)
            )


def _place(salt: bytes, path: str) -> bytes:
    """Return what a path below a folder is known by: a hash that nobody without the vault can compute."""
    return blake2b(path.encode("utf-8", "surrogateescape"), digest_size=16, key=salt).digest()


def _text(name: str) -> str:
    """Return a name as valid text: bytes that are none become question marks."""
    return name.encode("utf-8", "replace").decode()


def _now_ms() -> int:
    return int(time.time() * 1000)
