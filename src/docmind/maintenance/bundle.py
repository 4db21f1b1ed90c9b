"""Bundles: one sealed file that carries documents, conversations and memories to another vault.

A bundle holds the documents that are ready, with their originals, page images, texts, words, vectors and marks, the
conversations and the memories. It lacks what belongs to one computer: followed folders, settings, the index, and the
vectors of page parts, which are made again.

Whatever is read from a bundle is checked before anything of it is written outside the folder `staging`: the file's
HMAC, every sealed file, the schema of its database, and the rows. Ids are keyed, so each vault has its own: what is
read gets the ids of the vault that reads it, in conversations too.
"""

from __future__ import annotations

import json
import re
import secrets
import tempfile
import time
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO

from docmind.conversations import Conversations, adopt_states, carried_states, make_state_tables
from docmind.documents import (
    LEAST_NAME,
    TABLES,
    CarriedDocument,
    Erasures,
    adopt_document,
    adopt_enclosed,
    carried_document,
    check_carried,
    doc_id_of,
    rows_of,
)
from docmind.embedding import TextEmbedder, node_id_of
from docmind.errors import (
    ConfigError,
    DamagedError,
    NotFoundError,
    TamperedError,
    VaultError,
    VaultFormatError,
    WrongKeyError,
)
from docmind.ingest import Library
from docmind.memory import Memories
from docmind.reading import is_sheet
from docmind.records.bundles import BundleInfo, BundleReport
from docmind.records.documents import ArtifactRef
from docmind.storage import (
    DATABASE,
    KEYSET,
    MANIFEST,
    MIGRATIONS,
    SHORTEST_PASSPHRASE,
    STAGED,
    BundleReader,
    BundleWriter,
    Connection,
    Database,
    Keyset,
    Label,
    Report,
    Sealable,
    check_room,
    disk_error,
    own_files,
    replacing,
    schema_of,
    unseal_labelled,
)
from docmind.vault import Vault
from docmind.wording import N_, _

_BATCH = 64  # sealed files that are written together
_IS_CARRIED = "status = 'ready' AND deleted_at_ms IS NULL"
_IDS = re.compile(r"[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}")
_DOCUMENT_ID = re.compile(r"[0-9a-f]{32}")
_NO_ROOM = N_("The disk is too full for this: {needed} MB are needed, {free} MB are free.")
_LOST = (NotFoundError, DamagedError, TamperedError, WrongKeyError, VaultFormatError)
_WEBP = (b"RIFF", b"WEBP")


def check_passphrase(passphrase: str) -> None:
    """Raise `ConfigError` where a passphrase is too short for a bundle."""
    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise ConfigError(
            _("A passphrase has at least {shortest_passphrase} characters.").format(
                shortest_passphrase=SHORTEST_PASSPHRASE
            ),
            hint=_("Choose a longer one."),
        )


class Bundles:
    """Writes and reads bundles of an open vault. Thread-safe."""

    def __init__(
        self,
        version: str,
        *,
        vault: Vault,
        memories: Memories,
        embedder: TextEmbedder,
        library: Library,
        conversations: Conversations,
    ) -> None:
        """Set up; bundles name the `version` of DocMind that wrote them."""
        self._staging, self._version = vault.settings.data_dir / "staging", version
        self._database, self._catalog, self._artifacts = vault.database, vault.catalog, vault.artifacts
        self._memories, self._embedder, self._library = memories, embedder, library
        self._conversations = conversations

    def write(self, path: Path, passphrase: str, report: Report) -> BundleInfo:
        """Write the vault's contents into a new file; `report` gets the documents that were written, and all.

        Documents whose files are damaged are left out and named. Raises `ConfigError` where the passphrase is too
        short, the file exists already or the vault is in the same folder, `DiskFullError`, `VaultError`; no file is
        left then.
        """
        check_passphrase(passphrase)
        if path.resolve().is_relative_to(self._staging.parent.resolve()):
            raise ConfigError(
                _("{path} is inside the data folder.").format(path=path), hint=_("Choose a place outside of it.")
            )
        try:
            with replacing(path, replace=False) as file:
                return self._write(file, passphrase, report)
        except FileExistsError as error:
            raise ConfigError(
                _("{target} exists already.").format(target=path), hint=_("Choose another name, or remove it first.")
            ) from error
        except OSError as error:
            why = VaultError(_("{path} cannot be written: {strerror}.").format(path=path, strerror=error.strerror))
            raise disk_error(error, why) from error

    def read(self, path: Path, passphrase: str, report: Report, *, with_erased: bool = False) -> BundleReport:
        """Take what a bundle holds and this vault lacks; `report` gets the documents that were checked, and all.

        Documents, conversations and memories appear together, or not at all. Documents that were erased here are left
        out, with their quotes in the bundle's conversations, unless `with_erased`. Raises `WrongKeyError` for another
        passphrase, `VaultFormatError` for a file that is no bundle, `TamperedError` and `DamagedError` where anything
        in it is not as it was written, `StateRefusedError`, `DiskFullError`, `VaultError`.
        """
        self._database.check_writable()
        with _Opened(path, passphrase, self._staging, report) as opened, self._catalog.naming:
            ids, taken, known = dict[str, str](), dict[str, str](), 0
            erased, left_out = {} if with_erased else Erasures(self._database, self._catalog).erased(), dict[str, str]()
            for document in opened.documents(report):
                doc_id = self._name(opened, document, ids)
                if doc_id in taken.values() or doc_id in left_out:
                    raise DamagedError(_("The bundle has one document twice."))
                if self._catalog.is_known(doc_id):
                    known += 1
                elif doc_id in erased:
                    left_out[doc_id] = str(document.rows["documents"][0]["document"])
                else:
                    taken[document.doc_id] = doc_id
            opened.check_conversations()
            for old in taken:
                self._put(opened, carried_document(opened.database, old), ids)
            pages, is_embedded = 0, True
            make_state_tables(self._database)
            with self._database.transaction() as db:
                self._database.recount()
                for old, doc_id in taken.items():
                    document = carried_document(opened.database, old).renamed(ids, doc_id)
                    adopt_document(db, document)
                    self._catalog.touch(doc_id)
                    pages += len(document.rows["pages"])
                    is_embedded = is_embedded and document.is_embedded(self._embedder.fingerprint)
                parents = dict(opened.database.all("SELECT doc_id, parent_id FROM documents WHERE parent_id <> ''"))
                adopt_enclosed(db, rows_of(opened.database, "enclosed"), parents, taken)
                collections = _adopt_collections(db, opened.database, ids, left_out)
                threads = _adopt_threads(db, opened.database, ids)
                _adopt_bindings(db, opened.database, ids, collections, left_out)
                memories = self._memories.adopt(rows_of(opened.database, "docmind_store_items"))
        for doc_id, name in left_out.items():
            if erased[doc_id]:
                self._conversations.erase_quotes(doc_id, [name] if len(name) >= LEAST_NAME else [])
        self._database.settle()
        self._library.follow_changes()
        return BundleReport(
            opened.info, len(taken), pages, threads, memories, known, is_embedded, tuple(left_out.values())
        )

    def _write(self, file: IO[bytes], passphrase: str, report: Report) -> BundleInfo:
        bundle, keys = BundleWriter(file, passphrase), self._artifacts.keys_for_carrying()
        bundle.add_sealed(KEYSET, keys.pack())
        carried, left_out = self._write_files(bundle, keys, report)
        with _staged(self._staging) as path:
            _blank(path, keys.db_key)
            self._database.copy_rows(path, keys.db_key, _selections(carried))
            Database(path, keys.db_key).close()  # folds its log into the file
            bundle.add_file(DATABASE, path)
            counts = _counts(path, keys.db_key)
        info = BundleInfo(
            version=self._version,
            created_at_ms=time.time_ns() // 1_000_000,
            bytes=file.tell(),
            text_model=self._embedder.name,
            left_out=tuple(left_out),
            **counts,
        )
        bundle.add_sealed(MANIFEST, json.dumps(asdict(info), ensure_ascii=False).encode("utf-8", "replace"))
        bundle.finish()
        return info

    def _write_files(self, bundle: BundleWriter, keys: Keyset, report: Report) -> tuple[list[str], list[str]]:
        """Write the sealed files of all documents; return the ids of the documents, and the names of damaged ones."""
        found = self._database.all(f"SELECT doc_id, document FROM documents WHERE {_IS_CARRIED} ORDER BY doc_id")
        carried, left_out, written = list[str](), list[str](), set[str]()
        for number, (doc_id, name) in enumerate(found):
            report(number, len(found))
            try:
                for ref in carried_document(self._database, doc_id).artifacts():
                    if ref.file_name not in written:
                        bundle.add(ref.file_name, self._artifacts.sealed_for(ref, keys))
                        written.add(ref.file_name)
            except _LOST:
                left_out.append(name)
            else:
                carried.append(doc_id)
        report(len(found), len(found))
        return carried, left_out

    def _name(self, opened: _Opened, document: CarriedDocument, ids: dict[str, str]) -> str:
        """Add the ids in this vault of a document and all that it has to `ids`, and return the document's."""
        for ref in document.artifacts():
            if ref.sha256 not in ids:
                ids[ref.sha256] = self._artifacts.ref_of(opened.artifact(ref)[0], ref.suffix).sha256
        (row,) = document.rows["documents"]
        doc_id = doc_id_of(ArtifactRef(ids[str(row["original"])], str(row["original_suffix"])))
        ids[document.doc_id] = doc_id
        for node in document.rows["nodes"]:
            place = (int(str(node[name])) for name in ("page_no", "ordinal", "start", "end"))
            ids[str(node["node_id"])] = node_id_of(doc_id, *place)
        return doc_id

    def _put(self, opened: _Opened, document: CarriedDocument, ids: Mapping[str, str]) -> None:
        """Seal the files of a document under the keys of this vault."""
        waiting: list[Sealable] = []
        for ref in document.artifacts():
            plaintext, label = opened.artifact(ref)
            if label is not None and "doc_id" in label:
                label = {**label, "doc_id": ids[document.doc_id]}
            waiting.append(Sealable(plaintext, ref.suffix, label))
            if len(waiting) >= _BATCH:
                self._artifacts.put_many(waiting)
                waiting.clear()
        self._artifacts.put_many(waiting)


def verify_bundle(path: Path, passphrase: str, report: Report) -> BundleInfo:
    """Check a bundle as `Bundles.read` does, and return what it holds; needs no vault, and takes nothing from it.

    Raises what `Bundles.read` raises.
    """
    with (
        tempfile.TemporaryDirectory(prefix="docmind-bundle-") as folder,
        _Opened(path, passphrase, Path(folder) / "staging", report) as opened,
    ):
        for _unused in opened.documents(report):
            pass
        opened.check_conversations()
        return opened.info


class _Opened:
    """A bundle that is being read: its file, and its database in the folder `staging`. A context manager."""

    info: BundleInfo
    database: Database

    def __init__(self, path: Path, passphrase: str, staging: Path, report: Report) -> None:
        self._path, self._passphrase, self._staging, self._report = path, passphrase, staging, report

    def __enter__(self) -> _Opened:
        self._reader = BundleReader(self._path, self._passphrase, self._report)
        self._staged = _staged(self._staging)
        try:
            self._keys = self._reader.keyset()
            self.info = self._manifest()
            check_room(self._staging.parent, 2 * self._reader.size(DATABASE), _(_NO_ROOM))
            path = self._staged.__enter__()
        except BaseException:
            self._reader.__exit__()
            raise
        try:
            self.database = self._opened_database(path)
        except BaseException:
            self._staged.__exit__(None, None, None)
            self._reader.__exit__()
            raise
        return self

    def __exit__(self, *_unused: object) -> None:
        try:
            self.database.close()
        finally:
            self._staged.__exit__(None, None, None)
            self._reader.__exit__()

    def documents(self, report: Report) -> Iterator[CarriedDocument]:
        """Yield every document once its rows and its sealed files are checked."""
        rows = self.database.all("SELECT doc_id FROM documents ORDER BY doc_id")
        for number, (doc_id,) in enumerate(rows):
            report(number, len(rows))
            if not isinstance(doc_id, str) or not _DOCUMENT_ID.fullmatch(doc_id):
                raise DamagedError(_("The bundle's database has an impossible id."))
            document = carried_document(self.database, doc_id)
            check_carried(document)
            for ref in document.artifacts():
                plaintext, _label = self.artifact(ref)
                is_picture = (plaintext[:4], plaintext[8:12]) == _WEBP or is_sheet(plaintext)
                if ref.suffix.startswith(".webp") and not is_picture:
                    raise DamagedError(_("A page image of {doc_id} isn't an image.").format(doc_id=doc_id))
            yield document
        report(len(rows), len(rows))

    def artifact(self, ref: ArtifactRef) -> tuple[bytes, Label | None]:
        """Return the plaintext of a sealed file and its label.

        Raises `DamagedError`, `TamperedError`, also where its id does not recompute.
        """
        return unseal_labelled(self._reader.member(ref.file_name), self._keys, ref)

    def check_conversations(self) -> None:
        """Decode every state of every conversation, and read what belongs to them.

        Raises `StateRefusedError`, `DamagedError`.
        """
        for (thread_id,) in self.database.all("SELECT thread_id FROM chat_session"):
            carried_states(self.database, thread_id, str)
        for table in ("chat_session", "collections", "collected", "bound_documents", "bound_collections"):
            rows_of(self.database, table)

    def _manifest(self) -> BundleInfo:
        try:
            raw = json.loads(self._reader.sealed(MANIFEST))
            info = BundleInfo(**{**raw, "left_out": tuple(map(str, raw["left_out"]))})
            counts = (info.documents, info.pages, info.conversations, info.memories, info.files, info.created_at_ms)
            if not all(type(count) is int and count >= 0 for count in counts):
                raise ValueError("not counts")
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise TamperedError(_("What {path} says it holds is damaged.").format(path=self._path)) from error
        return info

    def _opened_database(self, path: Path) -> Database:
        """Copy the database out, and open it once its schema is known to be exactly ours."""
        try:
            with open(path, "xb") as file:
                self._reader.copy(DATABASE, file)
        except OSError as error:
            why = VaultError(_("{path} cannot be written: {strerror}.").format(path=path, strerror=error.strerror))
            raise disk_error(error, why) from error
        found = schema_of(path, self._keys.db_key)
        for count in range(len(MIGRATIONS), _OLDEST - 1, -1):
            if found == _schema_after(count, self._staging):
                return Database(path, self._keys.db_key, read_only=True)
        raise VaultFormatError(
            _("The database in {path} isn't one that this DocMind wrote.").format(path=self._path),
            hint=_("Update DocMind, if the bundle was written by a newer one."),
        )


_OLDEST = 14
"""The first schema with which a bundle was written."""


def _schema_after(migrations: int, staging: Path) -> frozenset[tuple[object, ...]]:
    """Return the schema of a new database after so many migrations."""
    key = secrets.token_bytes(32)
    with _staged(staging) as path:
        _blank(path, key, migrations)
        return schema_of(path, key)


def _blank(path: Path, key: bytes, migrations: int = len(MIGRATIONS)) -> None:
    """Make a database with the tables of a vault and no rows."""
    database = Database(path, key, MIGRATIONS[:migrations])
    try:
        make_state_tables(database)
    finally:
        database.close()


@contextmanager
def _staged(staging: Path) -> Iterator[Path]:
    """Yield the path of a database in the folder `staging`, and remove it afterwards."""
    staging.mkdir(mode=0o700, exist_ok=True)
    path = staging / f"{secrets.token_hex(8)}.db"
    try:
        yield path
    finally:
        for own in own_files(staging, STAGED):
            if own.name.startswith(path.name):
                with suppress(OSError):  # removed at the next opening
                    own.unlink(missing_ok=True)


def _selections(doc_ids: list[str]) -> list[tuple[str, str]]:
    """Return which rows of each table are carried, for `Database.copy_rows`."""
    listed = ", ".join(f"'{doc_id}'" for doc_id in doc_ids)
    of_document = f"WHERE doc_id IN ({listed})"
    of_text = "WHERE content_hash IN (SELECT content_hash FROM other.nodes)"
    of_image = "WHERE image IN (SELECT image FROM other.pages)"
    of_thread = "WHERE thread_id IN (SELECT thread_id FROM other.chat_session)"
    texts, images = ("vectors", "tokens"), ("looks", "page_vectors")
    where = {table: of_text if table in texts else of_image if table in images else of_document for table in TABLES}
    return [
        *where.items(),
        ("collections", ""),
        ("collected", of_document),
        ("enclosed", f"WHERE parent_id IN ({listed})"),
        ("chat_session", "WHERE deleted_at_ms IS NULL"),
        ("bound_collections", of_thread),
        ("bound_documents", f"{of_thread} AND doc_id IN ({listed})"),
        ("checkpoints", of_thread),
        ("writes", of_thread),
        ("docmind_store_items", ""),
    ]


def _counts(path: Path, key: bytes) -> dict[str, int]:
    database = Database(path, key, read_only=True)
    try:
        tables = {"documents": "documents", "pages": "pages", "conversations": "chat_session"}
        tables["memories"] = "docmind_store_items"
        counted = {name: database.all(f"SELECT count(*) FROM {table}")[0][0] for name, table in tables.items()}
        images = (
            "SELECT image FROM pages UNION SELECT thumbnail FROM pages UNION SELECT original FROM documents"
            " UNION SELECT image FROM figures"
        )
        return counted | {"files": database.all(f"SELECT count(*) FROM ({images})")[0][0]}
    finally:
        database.close()


def _adopt_collections(
    db: Connection, source: Database, ids: Mapping[str, str], left_out: Container[str]
) -> dict[str, str]:
    """Write collections and what is in them; return the id here of each, which is that of one of the same name."""
    here = {name.casefold(): number for number, name in db.execute("SELECT collection_id, name FROM collections")}
    found: dict[str, str] = {}
    for row in rows_of(source, "collections"):
        number, name = str(row["collection_id"]), str(row["name"])
        found[number] = here.setdefault(name.casefold(), number)
        db.execute(
            "INSERT OR IGNORE INTO collections (collection_id, name, created_at_ms) VALUES (?, ?, ?)",
            (found[number], name, row["created_at_ms"]),
        )
    for row in rows_of(source, "collected"):
        if (doc_id := ids[str(row["doc_id"])]) not in left_out:
            db.execute(
                "INSERT OR IGNORE INTO collected (collection_id, doc_id) VALUES (?, ?)",
                (found[str(row["collection_id"])], doc_id),
            )
    return found


def _adopt_threads(db: Connection, source: Database, ids: Mapping[str, str]) -> int:
    """Write conversations that are not there, and the later states of those that are; return how many were new."""

    def renamed(text: str) -> str:
        return _IDS.sub(lambda found: ids.get(found[0], found[0]), text)

    new = 0
    for row in rows_of(source, "chat_session"):
        thread_id = str(row["thread_id"])
        there = db.execute("SELECT updated_at_ms FROM chat_session WHERE thread_id = ?", (thread_id,)).fetchone()
        if there is None:
            listed = ", ".join(row)
            db.execute(f"INSERT INTO chat_session ({listed}) VALUES ({', '.join('?' * len(row))})", [*row.values()])
            new += 1
        elif int(str(row["updated_at_ms"])) > there[0]:
            db.execute(
                "UPDATE chat_session SET title = ?, updated_at_ms = ?, last_checkpoint_id = ? WHERE thread_id = ?",
                (row["title"], row["updated_at_ms"], row["last_checkpoint_id"], thread_id),
            )
        adopt_states(db, carried_states(source, thread_id, renamed))
    return new


def _adopt_bindings(
    db: Connection,
    source: Database,
    ids: Mapping[str, str],
    collections: Mapping[str, str],
    left_out: Container[str],
) -> None:
    """Write what conversations are bound to."""
    for table, column, known in (("documents", "doc_id", ids), ("collections", "collection_id", collections)):
        for row in rows_of(source, f"bound_{table}"):
            if (name := known[str(row[column])]) not in left_out:
                db.execute(
                    f"INSERT OR IGNORE INTO bound_{table} (thread_id, {column}) VALUES (?, ?)",
                    (row["thread_id"], name),
                )
