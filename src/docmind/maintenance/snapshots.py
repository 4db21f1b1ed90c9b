"""Snapshots: states of the documents, of what is set on them, and of the settings, to look at, ask and bring back.

A snapshot holds the documents that are read and outside the bin, with their names, tags and collections, the settings
made in the app without secrets, and the text model. It holds no conversations and no memories.

The text of a document lies in a segment (`docmind.documents.segments`), which all snapshots with this text share;
originals and page images stay where they are, and are referred to as long as a snapshot holds them. Segments, and names
in the state of a snapshot, are sealed with the key of their document: once that is destroyed, no copy can be read.

    taking      rows (`making`), segments, state, signed manifest, rows (`whole`)
    removing    rows (`going`), files, rows deleted, then sealed files that nothing refers to any more

A process killed in between leaves a row that is not `whole`; the next opening removes what belongs to it. Activating
changes documents, collections and settings in one transaction.

It is above 500 lines because all of this changes together with the form of the state.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docmind.config import SnapshotSettings
from docmind.documents import (
    Catalog,
    HeldDocument,
    NewSegment,
    Segment,
    Segments,
    carried_in,
    check_carried,
    held_documents,
    held_of,
    new_key,
    rows_in,
    segment_of,
)
from docmind.errors import (
    ConfigError,
    DamagedError,
    DiskFullError,
    NotFoundError,
    TamperedError,
    VaultError,
    VaultFormatError,
)
from docmind.ingest import Library
from docmind.records.snapshots import (
    Activation,
    ChangedDocument,
    DocumentChange,
    KeptDatabase,
    SettingChange,
    SnapshotCheck,
    SnapshotDifference,
    SnapshotDocument,
    SnapshotInfo,
    SnapshotReason,
)
from docmind.runtime import log_mistake
from docmind.storage import (
    STATE,
    Ages,
    Artifacts,
    Database,
    Keyset,
    Manifest,
    Member,
    Report,
    Row,
    SnapshotFiles,
    UserSettings,
    expire_databases,
    find_kept,
    holds_document,
    kept_databases,
    open_part,
    remove_database,
    seal_part,
)
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.index import SearchIndex

NOW = "now"
"""Names the present state where two states are compared."""

Rows = dict[str, list[dict[str, Any]]]

_TOGETHER, _TOGETHER_BYTES = 64, 8 << 20  # segments that are added in one transaction
_LONGEST_TITLE = 120
_DAY_MS = 86_400_000
_SHORTEST = 4  # characters of an id that name a snapshot
_PROBLEMS = 20  # that a check names
_TITLES: Mapping[SnapshotReason, str] = {
    "activating": N_("Before another snapshot was activated"),
    "text model": N_("Before another text model is used"),
}
_FIELDS: tuple[tuple[DocumentChange, tuple[str, ...]], ...] = (
    ("name", ("document",)),
    ("title", ("title",)),
    ("tags", ("tags",)),
    ("language", ("language", "is_language_set")),
)


@dataclass(frozen=True, slots=True)
class _State:
    """What the state of a snapshot holds; `documents` have their addresses, by id."""

    documents: Mapping[str, tuple[str, HeldDocument]] = field(repr=False)
    collections: Sequence[Mapping[str, Any]]
    settings: Mapping[str, Any]
    text_model: Mapping[str, str]

    def corpus(self) -> bytes:
        """Return what two states with the same documents and collections have in common."""
        documents = {doc_id: [address, held.plain()] for doc_id, (address, held) in self.documents.items()}
        return _json({"documents": documents, "collections": list(self.collections)})

    def config(self) -> bytes:
        """Return what two states with the same settings and text model have in common."""
        return _json({"settings": dict(self.settings), "text_model": dict(self.text_model)})


class Snapshots:
    """The snapshots of an open vault. Thread-safe: one is taken, activated or removed at a time."""

    def __init__(
        self,
        data_dir: Path,
        limits: SnapshotSettings,
        keys: Callable[[], Keyset],
        vault_id: str,
        database: Database,
        catalog: Catalog,
        artifacts: Artifacts,
        settings: UserSettings,
        library: Library,
        index: SearchIndex,
        text_model: tuple[str, str],
        ages: Ages,
    ) -> None:
        """`keys` returns the keys as they are now; `text_model` is the name and the fingerprint of the model in use."""
        self._data_dir, self._limits, self._keys, self._ages = data_dir, limits, keys, ages
        self._db, self._catalog, self._artifacts = database, catalog, artifacts
        self._settings, self._library, self._index, self._text_model = settings, library, index, text_model
        self._rows = Segments(database, catalog)
        self._files = SnapshotFiles(data_dir / "snapshots", keys().id_key, vault_id)
        self._turn = threading.RLock()

    # looking

    def list(self) -> tuple[SnapshotInfo, ...]:
        """Return the snapshots, the newest first."""
        return tuple(self._info(row) for row in self._rows.snapshots())

    def names(self) -> dict[str, tuple[str, int]]:
        """Return titles and times of the snapshots by id, the newest first; faster than `list`."""
        return self._rows.names()

    def databases(self) -> tuple[KeptDatabase, ...]:
        """Return the copies of the database from before its schema changed, the newest first."""
        return tuple(kept_databases(self._data_dir))

    def find(self, name: str) -> SnapshotInfo:
        """Return the one snapshot with this id, start of an id of at least four letters, or title.

        Raises `NotFoundError`.
        """
        known = self.list()
        for match in (
            [one for one in known if one.snapshot_id == name],
            [one for one in known if one.title and one.title.casefold() == name.strip().casefold()],
            [one for one in known if len(name) >= _SHORTEST and one.snapshot_id.startswith(name)],
        ):
            if len(match) == 1:
                return match[0]
            if match:
                raise NotFoundError(
                    _("{count} snapshots are called {name}.").format(count=len(match), name=f"{name!r}"),
                    hint=_("Use an id; `docmind snapshot list` shows them."),
                )
        raise NotFoundError(
            _("There is no snapshot {name}.").format(name=f"{name!r}"),
            hint=_("Run `docmind snapshot list` to see the snapshots."),
        )

    def documents(self, snapshot_id: str) -> tuple[SnapshotDocument, ...]:
        """Return the documents of a snapshot by name. Raises `NotFoundError`, `DamagedError`, `TamperedError`."""
        self._known(snapshot_id)
        here = {info.doc_id for info in self._catalog.documents()}
        found = [
            SnapshotDocument(
                doc_id, held.name, str(held.row["title"] or held.row["heading"]), int(held.row["pages"]),
                tuple(json.loads(held.row["tags"])), doc_id in here,
            )
            for doc_id, (_address, held) in self._state(self._files.manifest(snapshot_id)).documents.items()
        ]  # fmt: skip
        return tuple(sorted(found, key=lambda one: one.document.casefold()))

    def holding(self, doc_id: str) -> tuple[SnapshotInfo, ...]:
        """Return the snapshots that hold a document, the newest first."""
        holding = set(self._rows.holding(doc_id))
        return tuple(one for one in self.list() if one.snapshot_id in holding)

    def kept_in(self, doc_id: str) -> tuple[str, ...]:
        """Return the ids of the snapshots, and the names of the kept databases, that hold a document."""
        return self.kept_in_any([doc_id])

    def kept_in_any(self, doc_ids: Collection[str]) -> tuple[str, ...]:
        """Do what `kept_in` does for any of some documents."""
        held = dict.fromkeys(one for doc_id in doc_ids for one in self._rows.holding(doc_id))
        return (*held, *(one.name for one in self.databases() if self._is_in(one, doc_ids)))

    def texts_of(self, doc_id: str) -> tuple[tuple[str, ...], list[str]]:
        """Return names of a document of any snapshot, and the texts of its pages; empty where none can be read."""
        for snapshot_id in self._rows.holding(doc_id):
            with suppress(DamagedError, TamperedError, VaultFormatError):  # another one may be whole
                manifest = self._files.manifest(snapshot_id)
                known = self._state(manifest).documents
                if doc_id not in known:
                    continue
                address, held = known[doc_id]
                rows = self._loaded({one.name: one for one in manifest.members}, address, doc_id)
                names = tuple(str(held.row[name]) for name in ("document", "title", "heading"))
                return names, [str(page["text"]) for page in rows["pages"]]
        return (), []

    def _is_in(self, kept: KeptDatabase, doc_ids: Collection[str]) -> bool:
        return holds_document(self._data_dir, kept.name, self._keys().db_key, doc_ids)

    def find_document(self, name: str) -> tuple[str, str]:
        """Return id and name of the one document of any snapshot with this id, start of an id, or name.

        Raises `NotFoundError`.
        """
        found: dict[str, str] = {}
        for info in self.list():
            with suppress(DamagedError, TamperedError, VaultFormatError):  # its documents are looked for in the others
                for one in self.documents(info.snapshot_id):
                    is_begun = len(name) >= _SHORTEST and one.doc_id.startswith(name)
                    if one.document == name or is_begun:
                        found.setdefault(one.doc_id, one.document)
        if len(found) != 1:
            raise NotFoundError(
                _("No document of the snapshots is {name}, or several are.").format(name=f"{name!r}"),
                hint=_("Use an id; `docmind snapshot show` lists the documents of a snapshot."),
            )
        return next(iter(found.items()))

    def compare(self, snapshot_id: str, other: str = NOW) -> SnapshotDifference:
        """Return what became of a snapshot in another, or until now.

        Raises `NotFoundError`, `DamagedError`, `TamperedError`.
        """
        before = self._state_of(snapshot_id)
        return _difference(before, self._present() if other == NOW else self._state_of(other))

    def verify(self, snapshot_id: str, *, deep: bool = False, report: Report | None = None) -> SnapshotCheck:
        """Check signature and hashes of a snapshot, open all that it holds, and look for the files that it names.

        With `deep` these are opened too. What is wrong is in the result. Raises `NotFoundError`.
        """
        info = self._known(snapshot_id)
        files = size = 0
        problems: list[str] = []
        try:
            manifest = self._files.manifest(snapshot_id)
            state = self._state(manifest)
            if not info.erased and self._files.hash_of(state.corpus()) != manifest.header["corpus"]:
                raise TamperedError(_("The manifest and the state of the snapshot don't agree."))
        except VaultError as error:
            return SnapshotCheck(snapshot_id, 0, 0, 0, (str(error),))
        members = {one.name: one for one in manifest.members}
        size += sum(one.size for one in manifest.members)
        for number, (doc_id, (address, held)) in enumerate(state.documents.items()):
            if report is not None:
                report(number, len(state.documents))
            try:
                check_carried(carried_in(held, self._loaded(members, address, doc_id)))
            except VaultError as error:
                problems.append(f"{held.name}: {error}")
            for ref in self._rows.files(address):
                files += 1
                try:
                    if deep:
                        self._artifacts.verify(ref)
                    elif not self._artifacts.exists(ref):
                        raise NotFoundError(_("The stored file {sha256} is missing from the library.").format(
                            sha256=ref.sha256[:12]
                        ))  # fmt: skip
                except (NotFoundError, VaultError) as error:
                    problems.append(f"{held.name}: {error}")
        if report is not None:
            report(len(state.documents), len(state.documents))
        return SnapshotCheck(snapshot_id, len(state.documents), files, size, tuple(problems[:_PROBLEMS]))

    # taking

    def create(
        self, title: str = "", *, reason: SnapshotReason = "asked", text_model: str = "", report: Report | None = None
    ) -> SnapshotInfo:
        """Take a snapshot of the present state; `report` gets the documents that are done, and all.

        Documents that cannot be read are left out and named in the result. `text_model` is the fingerprint of the model
        that made the index, where that is another one than the one in use. Automatic ones above their number are
        removed. Raises `DiskFullError`, `VaultError`; no snapshot is left then.
        """
        self._db.check_writable()
        with self._turn:
            info = self._create(title, reason, text_model, report or (lambda done, total: None))
            if info.is_automatic:
                for old in self._surplus(self.list(), but=(info.snapshot_id,)):
                    self._remove(old.snapshot_id)
        return info

    def _create(self, title: str, reason: SnapshotReason, text_model: str, report: Report) -> SnapshotInfo:
        title = " ".join(title.split())[:_LONGEST_TITLE]
        if not title and reason != "asked":
            title = _(_TITLES[reason])
        snapshot_id, at_ms = secrets.token_hex(8), time.time_ns() // 1_000_000
        self._rows.begin(snapshot_id, title, reason, at_ms)
        try:
            documents, collections = held_documents(self._db)
            state = _State({}, collections, self._set(), self._model(text_model))
            held, left_out = self._add_segments(snapshot_id, documents, report)
            with self._catalog.naming:  # what was erased meanwhile is left out, and nothing is erased until it is whole
                there = {one.doc_id for one in self._rows.members(snapshot_id)}
                state = replace(state, documents={doc_id: one for doc_id, one in held.items() if doc_id in there})
                self._finish(snapshot_id, state, {"created_at_ms": at_ms, "reason": reason})
        except BaseException:
            with suppress(VaultError):  # on a full disk it is removed at the next opening
                self._remove(snapshot_id)
            raise
        return replace(self._known(snapshot_id), left_out=tuple(left_out))

    def _finish(self, snapshot_id: str, state: _State, about: Mapping[str, Any]) -> None:
        """Write state and manifest of a snapshot whose segments are there, and mark it whole."""
        corpus, config = (self._files.hash_of(part) for part in (state.corpus(), state.config()))
        pages = sum(int(held.row["pages"]) for _address, held in state.documents.values())
        header = {
            "snapshot_id": snapshot_id, **about, "documents": len(state.documents), "pages": pages, "corpus": corpus,
            "config": config,
        }  # fmt: skip
        self._write(Manifest(header, ()), state)
        model = state.text_model["name"]
        self._rows.finish(snapshot_id, pages=pages, corpus=corpus, config=config, text_model=model)

    def _add_segments(
        self, snapshot_id: str, documents: Sequence[HeldDocument], report: Report
    ) -> tuple[dict[str, tuple[str, HeldDocument]], list[str]]:
        """Write the segments that are not there, have the snapshot hold all, and return them with what is left out."""
        held: dict[str, tuple[str, HeldDocument]] = {}
        left_out: list[str] = []
        at = 0
        while at < len(documents):
            new: list[NewSegment] = []
            data: dict[str, bytes] = {}
            addresses: list[str] = []
            with self._catalog.naming:  # nobody erases what is being referred to
                while (
                    at < len(documents)
                    and len(addresses) < _TOGETHER
                    and sum(map(len, data.values())) < _TOGETHER_BYTES
                ):
                    one = documents[at]
                    report(at, len(documents))
                    at += 1
                    try:
                        segment, images = segment_of(self._db, one.doc_id)
                    except NotFoundError:  # deleted meanwhile
                        continue
                    except DamagedError:
                        left_out.append(one.name)
                        continue
                    address = self._files.hash_of(one.doc_id.encode() + segment)
                    known = self._rows.known(address)
                    if known is None or not self._files.has_segment(address, known.bytes):
                        key = self._rows.key(one.doc_id) or new_key()
                        made = data[address] = seal_part(key, address, segment)
                        row = Segment(address, one.doc_id, len(made), hashlib.sha256(made).hexdigest())
                        new.append(NewSegment(row, key, (one.original, *images)))
                    addresses.append(address)
                    held[one.doc_id] = (address, one)
                self._rows.join(snapshot_id, new, addresses)
            self._files.put_segments(data)
        report(len(documents), len(documents))
        return held, left_out

    def _write(self, manifest: Manifest, state: _State) -> None:
        """Seal the state of a snapshot, and sign its manifest, whose members are those that its rows name."""
        snapshot_id = str(manifest.header["snapshot_id"])
        documents = []
        for doc_id, (address, held) in state.documents.items():
            part = seal_part(self._key(doc_id), f"{snapshot_id} {doc_id}", _json(held.plain()))
            documents.append([doc_id, address, base64.b64encode(part).decode()])
        plain = {
            "documents": documents, "collections": list(state.collections), "settings": dict(state.settings),
            "text_model": dict(state.text_model),
        }  # fmt: skip
        members = [self._files.put_state(snapshot_id, _json(plain))]
        members += [Member(f"{one.address}.segment", one.bytes, one.sha256) for one in self._rows.members(snapshot_id)]
        self._files.put_manifest(replace(manifest, members=tuple(members)))

    def _set(self) -> dict[str, Any]:
        """Return the settings that were made in the app, without secrets."""
        return {one.name: one.value for one in self._settings.list() if one.source == "app" and one.kind != "secret"}

    def _model(self, built_by: str) -> dict[str, str]:
        name, fingerprint = self._text_model
        if built_by and built_by != fingerprint:
            return {"name": built_by, "fingerprint": built_by}
        return {"name": name, "fingerprint": fingerprint}

    # activating

    def activate(
        self, snapshot_id: str, *, settings: bool = False, reindex: bool = False, report: Report | None = None
    ) -> Activation:
        """Make the documents, what is set on them and the collections those of a snapshot.

        The snapshot is checked first, and one of the present state taken. Documents that came since are moved to the
        bin, documents that are gone come back. With `settings` the settings made in the app become those of the
        snapshot, from the next opening on. All of it happens at once or not at all. The index follows, and is built
        again from the documents with `reindex`.

        Raises `NotFoundError`, `DamagedError` where the snapshot is not whole, `ConfigError` where one of its documents
        is being read, `DiskFullError`, `VaultError`; nothing is changed then.
        """
        self._db.check_writable()
        with self._turn:
            info = self._known(snapshot_id)
            check = self.verify(snapshot_id, report=report)
            if check.problems:
                raise DamagedError(
                    _("The snapshot isn't whole, so nothing was changed: {problem}").format(problem=check.problems[0]),
                    hint=_("Activate another snapshot; `docmind snapshot verify` names all problems of this one."),
                )
            before = self._create("", "activating", "", lambda done, total: None)
            told = self._put_back(info, before, settings=settings)
            for old in self._surplus(self.list(), but=(before.snapshot_id, snapshot_id)):
                self._remove(old.snapshot_id)
        self._db.settle()
        self._library.drop_outlines()
        self._library.follow_changes()
        if reindex:
            self._index.rebuild(report)
        return told

    def _put_back(self, info: SnapshotInfo, before: SnapshotInfo, *, settings: bool) -> Activation:
        manifest = self._files.manifest(info.snapshot_id)
        target = self._state(manifest)
        present = {one.doc_id: one.address for one in self._rows.members(before.snapshot_id)}
        members = {one.name: one for one in manifest.members}

        def load(doc_id: str) -> Rows:
            return self._loaded(members, target.documents[doc_id][0], doc_id)

        now_ms = time.time_ns() // 1_000_000
        put: list[str] = []
        left: list[str] = []
        try:
            with self._catalog.naming, self._db.transaction() as db:
                self._db.recount()
                counts = self._rows.put_back(db, target.documents, present, target.collections, load, now_ms)
                if settings:
                    self._put_settings(target.settings, put, left)
        except BaseException:
            self._settings.unset(())  # has the settings in memory read again
            raise
        return Activation(before.snapshot_id, *counts, settings=tuple(put), left=tuple(left))

    def _put_settings(self, wanted: Mapping[str, Any], put: list[str], left: list[str]) -> None:
        """Set what was set then, and unset what was not; note what was changed, and what the environment fixes."""
        for one in self._settings.list():
            if one.kind == "secret" or (one.source != "app" and one.name not in wanted):
                continue
            try:
                put += self._settings.put({one.name: wanted.get(one.name)})
            except ConfigError:
                left.append(one.name)

    # removing

    def pin(self, snapshot_id: str, *, pinned: bool = True) -> SnapshotInfo:
        """Set whether a snapshot is kept when others are pruned. Raises `NotFoundError`."""
        self._db.check_writable()
        self._known(snapshot_id)
        self._rows.pin(snapshot_id, is_pinned=pinned)
        return self._known(snapshot_id)

    def remove(self, snapshot_id: str) -> SnapshotInfo:
        """Remove a snapshot, with what only it holds, and return it; the library stays as it is.

        Raises `NotFoundError`, `VaultError`.
        """
        self._db.check_writable()
        with self._turn:
            info = self._known(snapshot_id)
            self._remove(snapshot_id)
        self._library.follow_changes()
        return info

    def remove_database(self, name: str) -> KeptDatabase:
        """Remove a copy of the database from before its schema changed. Raises `NotFoundError`, `VaultError`."""
        self._db.check_writable()
        found = find_kept(self._data_dir, name)
        remove_database(self._data_dir, name)
        return found

    def prune(
        self, *, keep: int | None = None, days: float | None = None, dry_run: bool = False
    ) -> tuple[SnapshotInfo, ...]:
        """Remove old snapshots, and return them: neither pinned, nor among the newest `keep`, nor younger than `days`.

        Of those that DocMind took by itself, as many stay as the settings say. What is None is as configured.
        """
        self._db.check_writable()
        with self._turn:
            known = self.list()
            limit = time.time_ns() // 1_000_000 - (self._limits.keep_days if days is None else days) * _DAY_MS
            newest = known[: self._limits.keep if keep is None else keep]
            kept = {one.snapshot_id for one in known if one in newest or one.is_pinned or one.created_at_ms > limit}
            kept -= {one.snapshot_id for one in self._surplus(known)}
            old = tuple(one for one in known if one.snapshot_id not in kept)
            for one in () if dry_run else old:
                self._remove(one.snapshot_id)
        if old and not dry_run:
            self._library.follow_changes()
        return old

    def tidy(self) -> None:
        """Remove what an interrupted process left, and copies of the database that are old. For the owner's opening."""
        with suppress(DiskFullError):  # tried again at the next opening
            expire_databases(self._data_dir, self._limits.migration_days, self._ages)
        for snapshot_id in self._rows.unfinished():
            try:
                self._remove(snapshot_id)
            except VaultError as error:  # tried again at the next opening
                log_mistake("docmind.snapshots", "a snapshot was not removed", error)

    def follow_erasure(self, doc_ids: Collection[str]) -> None:
        """Have files and manifests follow the rows of documents that were erased from all snapshots. Idempotent.

        Their segments are removed, and so are kept databases that hold one of them.
        """
        with self._turn:
            for info in self.list():
                self._follow_rows(info)
            for kept in self.databases():
                if self._is_in(kept, doc_ids):
                    remove_database(self._data_dir, kept.name)

    def _follow_rows(self, info: SnapshotInfo) -> None:
        """Write a snapshot again without the documents that its rows do not name any more.

        Where it is damaged it stays as it is: the keys of these documents are gone, and it shows only their hashes.
        """
        try:
            manifest = self._files.manifest(info.snapshot_id)
            there = {f"{one.address}.segment" for one in self._rows.members(info.snapshot_id)}
            gone = [one.name for one in manifest.members if not STATE.fullmatch(one.name) and one.name not in there]
            if gone:
                self._files.remove_segments(name[:64] for name in gone)
                now_ms = time.time_ns() // 1_000_000
                state = self._state(manifest)
                self._write(replace(manifest, erased={**manifest.erased, **dict.fromkeys(gone, now_ms)}), state)
        except (DamagedError, TamperedError, VaultFormatError) as error:
            log_mistake("docmind.snapshots", "a snapshot was not written again", error)

    def _surplus(self, known: Sequence[SnapshotInfo], but: Collection[str] = ()) -> list[SnapshotInfo]:
        """Return the automatic snapshots above their number, the oldest ones."""
        automatic = [one for one in known if one.is_automatic and not one.is_pinned]
        return [one for one in automatic[self._limits.automatic :] if one.snapshot_id not in but]

    def _remove(self, snapshot_id: str) -> None:
        with self._catalog.naming:
            self._rows.going(snapshot_id)
            self._files.remove(snapshot_id)
            self._files.remove_segments(self._rows.alone(snapshot_id))
            self._artifacts.remove(self._rows.remove(snapshot_id))
            self._catalog.buried()
        self._db.settle()

    # parts

    def _known(self, snapshot_id: str) -> SnapshotInfo:
        for one in self.list():
            if one.snapshot_id == snapshot_id:
                return one
        raise NotFoundError(
            _("There is no snapshot {name}.").format(name=f"{snapshot_id!r}"),
            hint=_("Run `docmind snapshot list` to see the snapshots."),
        )

    def _info(self, row: Row) -> SnapshotInfo:
        snapshot_id, title, reason, at_ms, then, now, pages, corpus, config, model, pinned, size, own = row
        folder = self._files.size(snapshot_id)
        return SnapshotInfo(
            snapshot_id, title, reason, at_ms, now, pages, size + folder, own + folder, corpus, config, model,
            bool(pinned), then - now,
        )  # fmt: skip

    def _key(self, doc_id: str) -> bytes:
        key = self._rows.key(doc_id)
        if key is None:
            raise DamagedError(_("The key of a document of the snapshot is missing."))
        return key

    def _loaded(self, members: Mapping[str, Member], address: str, doc_id: str) -> Rows:
        """Return the rows of a document of a snapshot. Raises `DamagedError`, `TamperedError`."""
        member = members.get(f"{address}.segment")
        if member is None:
            raise TamperedError(_("The manifest and the state of the snapshot don't agree."))
        return rows_in(self._files.segment(member, self._key(doc_id)))

    def _state_of(self, snapshot_id: str) -> _State:
        self._known(snapshot_id)
        return self._state(self._files.manifest(snapshot_id))

    def _state(self, manifest: Manifest) -> _State:
        """Return the state of a snapshot, without documents that were erased from it.

        Raises `DamagedError`, `TamperedError`.
        """
        snapshot_id = str(manifest.header["snapshot_id"])
        member = next((one for one in manifest.members if STATE.fullmatch(one.name)), None)
        if member is None:
            raise TamperedError(_("The manifest and the state of the snapshot don't agree."))
        there = {one.doc_id for one in self._rows.members(snapshot_id)}
        try:
            plain = json.loads(self._files.state(snapshot_id, member))
            documents: dict[str, tuple[str, HeldDocument]] = {}
            for doc_id, address, sealed in plain["documents"]:
                if doc_id in there:
                    part = open_part(self._key(doc_id), f"{snapshot_id} {doc_id}", base64.b64decode(sealed), "state")
                    documents[doc_id] = (address, held_of(json.loads(part)))
            return _State(documents, plain["collections"], plain["settings"], plain["text_model"])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise DamagedError(_("The state of the snapshot is damaged.")) from error

    def _present(self) -> _State:
        """Return the present state; documents that cannot be read have no address."""
        documents, collections = held_documents(self._db)
        found: dict[str, tuple[str, HeldDocument]] = {}
        for one in documents:
            address = ""
            with suppress(NotFoundError, DamagedError):
                segment, _images = segment_of(self._db, one.doc_id)
                address = self._files.hash_of(one.doc_id.encode() + segment)
            found[one.doc_id] = (address, one)
        return _State(found, collections, self._set(), self._model(""))


def _difference(before: _State, after: _State) -> SnapshotDifference:
    """Return what became of one state in another."""
    old, new = before.documents, after.documents
    settings = [
        SettingChange(name, before.settings.get(name), after.settings.get(name))
        for name in sorted({*before.settings, *after.settings})
        if before.settings.get(name) != after.settings.get(name)
    ]
    if before.text_model["fingerprint"] != after.text_model["fingerprint"]:
        settings.append(SettingChange("text model", before.text_model["name"], after.text_model["name"]))
    changed = []
    for doc_id in sorted(old.keys() & new.keys()):
        changes = _changes(before, after, doc_id)
        if changes:
            changed.append(ChangedDocument(doc_id, new[doc_id][1].name, changes))
    return SnapshotDifference(
        tuple(sorted(((one, new[one][1].name) for one in new.keys() - old.keys()), key=_by_name)),
        tuple(sorted(((one, old[one][1].name) for one in old.keys() - new.keys()), key=_by_name)),
        tuple(changed),
        tuple(settings),
    )


def _changes(before: _State, after: _State, doc_id: str) -> tuple[DocumentChange, ...]:
    (old_address, old), (new_address, new) = before.documents[doc_id], after.documents[doc_id]
    found: list[DocumentChange] = [
        change for change, names in _FIELDS if any(old.row.get(name) != new.row.get(name) for name in names)
    ]
    if _collected(before, old) != _collected(after, new):
        found.append("collections")
    if old_address != new_address and "language" not in found:
        found.append("text")
    return tuple(found)


def _collected(state: _State, held: HeldDocument) -> set[str]:
    """Return the names of a document's collections."""
    names = {str(row["collection_id"]): str(row["name"]) for row in state.collections}
    return {names[one] for one in held.collections if one in names}


def _by_name(one: tuple[str, str]) -> str:
    return one[1].casefold()


def _json(plain: Mapping[str, Any]) -> bytes:
    return json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()
