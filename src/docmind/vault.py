"""The files of an open library: its lock, keys, database, sealed files, reserve and clock, opened and closed as one."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from docmind.config import Settings
from docmind.documents import Catalog, NodeStore, PassageVectors
from docmind.errors import BehindError, DocMindError, NotFoundError, VaultError
from docmind.runtime import start_children
from docmind.storage import (
    OPENING,
    ORIGINAL,
    Artifacts,
    AskPassphrase,
    Database,
    Keyset,
    Mark,
    OpenedKeys,
    OwnClock,
    OwnerLock,
    Reserve,
    change_passphrase,
    check_folder,
    check_whole,
    keep_database,
    keep_private,
    key_that_opens,
    open_keys,
    protect,
    remove_former_key,
    remove_strays,
    unprotect,
)
from docmind.wording import _

_log = logging.getLogger(__name__)
_NAMED = 5  # lost documents that an error names
_PLACE = "Check the folder and its permissions, or choose another with DOCMIND_DATA_DIR."


@dataclass(frozen=True, slots=True)
class IndexKey:
    """The key of the index; where it `is_new`, the index on the disk still has the key before."""

    key: bytes = field(repr=False)
    is_new: bool = False


class Vault:
    """A library as it lies on the disk, open. Its parts are thread-safe.

    `settings` are those given, without a recovery code, which opens once. With `is_read_only` nothing is written.
    `keys` changes with the passphrase and with a rotation, while `keys_lock` is held.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        ask_passphrase: AskPassphrase | None = None,
        read_only: bool = False,
        accept: bool = False,
        keys: OpenedKeys | None = None,
    ) -> None:
        """Open the library in `settings.data_dir`, or create one where there is none; with `keys` nobody is asked.

        A folder that cannot be written and `storage.read_only` have the effect of `read_only`. Where `vault.db` lacks
        acknowledged changes, that is a `BehindError`, unless `accept` continues with what is there. Raises `VaultError`
        and its kinds, `ConfigError`; nothing is open then.
        """
        self._asked_read_only, self._accept = read_only, accept
        keep_private()
        start_children(settings.processes.start)
        data_dir = settings.data_dir
        _make(data_dir)
        self.is_read_only = read_only or settings.storage.read_only or not _is_writable(data_dir)
        if self.is_read_only:
            _check_readable(settings)
        check_folder(data_dir, repairs=not self.is_read_only)
        self.keys_lock = threading.RLock()  # held while `vault.json` is written
        with ExitStack() as opened:  # what was opened is closed again where a later part fails
            self._lock = OwnerLock(data_dir, read_only=self.is_read_only)
            opened.callback(self._lock.release)
            self.reserve = Reserve(data_dir)
            if not self.is_read_only:
                remove_strays(data_dir)
                self.reserve.make_room(OPENING)
            self.keys = keys or open_keys(data_dir, settings.keys, ask_passphrase)
            self.settings = settings if settings.keys.recovery_code is None else _without_code(settings)
            check_whole(data_dir)
            self.database = self._opened_database(accept=accept)
            opened.callback(self.database.close)
            self.artifacts = Artifacts(data_dir / "artifacts", self.keys.keyset, read_only=self.is_read_only)
            opened.callback(self.artifacts.close)
            self.catalog, self.nodes = Catalog(self.database), NodeStore(self.database)
            self.passage_vectors = PassageVectors(self.database)
            self.clock = OwnClock(self.database)
            if not self.is_read_only:
                self.remove_former_key()
            opened.pop_all()

    def reopened(self) -> Vault:
        """Open the library again, as it was opened before and with the same keys; call it after `close`."""
        return Vault(self.settings, keys=self.keys, read_only=self._asked_read_only, accept=self._accept)

    def close(self) -> None:
        """Close the stores and release the lock, each of them even where another fails. Idempotent."""
        with ExitStack() as closing:
            closing.callback(self._lock.release)
            if not self.is_read_only:
                closing.callback(self.reserve.close)
            closing.callback(self.database.close)
            closing.callback(self.artifacts.close)

    def change_passphrase(self, now: str, new: str) -> None:
        """Exchange the passphrase, and the recovery code with it; raises as `storage.change_passphrase`."""
        with self.keys_lock:
            self.keys = change_passphrase(self.settings.data_dir, self.keys, now, new)

    def protect(self, new: str, *, keeps_file: bool) -> None:
        """Let a passphrase open the library from now on; raises as `storage.protect`. The key before is removed."""
        with self.keys_lock:
            self.keys = protect(self.settings.data_dir, self.keys, new, keeps_file=keeps_file)
            self.remove_former_key()

    def unprotect(self, now: str) -> None:
        """Let a key in the keyring or in a file open the library from now on; raises as `storage.unprotect`."""
        with self.keys_lock:
            self.keys = unprotect(self.settings.data_dir, self.settings.keys, self.keys, now)

    def remove_former_key(self) -> None:
        """Remove a key that no longer opens the library; where that fails, the next opening tries again."""
        with self.keys_lock:
            try:
                remove_former_key(self.settings.data_dir, self.settings.keys, self.keys)
            except DocMindError as error:
                _log.warning(
                    "The key before the passphrase could not be removed; the next start tries again: %s", error
                )

    def begin_rotation(self) -> None:
        """Make new keys beside those in use; what is sealed from now on has the new one."""
        with self.keys_lock:
            self.keys.recovery.begin_rotation()
            self.artifacts.use(self.keys.keyset)

    def change_keys(self, change: Callable[[Keyset], Keyset]) -> None:
        """Write the keys that `change` returns for those of a rotation; nothing where no rotation is left.

        The rotation ends with the change after which no key is left to exchange.
        """
        with self.keys_lock:
            if self.keys.keyset.next is None:  # another thread made the last change meanwhile
                return
            self.keys.recovery.change_keys(lambda keyset: _settled(change(keyset)))
            self.artifacts.use(self.keys.keyset)

    def note_index_key(self) -> None:
        """Note that the index was built with the new key of a rotation."""
        self.change_keys(
            lambda keyset: replace(keyset, own_index_key=keyset.next.index_key) if keyset.next is not None else keyset
        )

    def _opened_database(self, *, accept: bool) -> Database:
        """Open `vault.db` and check it against its mark.

        A `BehindError` names the lost documents, by their files.
        """
        data_dir = self.settings.data_dir
        path = data_dir / "vault.db"
        key, other = self._database_keys()
        if self.is_read_only:
            return Database(path, key, read_only=True)
        mark = Mark(data_dir / "mark", key, self.keys.vault_id, other)
        try:
            return Database(path, key, mark=mark, accept=accept, before_migrating=self._keep_database)
        except BehindError as error:
            names: list[str] = []
            with suppress(VaultError):  # what cannot be read adds no names to the message
                names = self._lost_names()
            if not names:
                raise
            raise BehindError(
                _("{error} Files of lost documents are still here: {names}.").format(
                    error=error, names=", ".join(names)
                )
            ) from error

    def _keep_database(self, schema: int) -> None:
        """Keep a copy of `vault.db` before its schema is changed, unless the settings say not to."""
        if self.settings.snapshots.before_migration == "on":
            keep_database(self.settings.data_dir, schema)
        else:
            _log.warning("No copy of vault.db is kept before its schema changes: DOCMIND_SNAPSHOTS__BEFORE_MIGRATION.")

    def _database_keys(self) -> tuple[bytes, bytes | None]:
        """Return the key of `vault.db`, and the other key that its mark may have during a rotation."""
        keyset = self.keys.keyset
        if keyset.next is None or keyset.next.db_key == keyset.db_key:
            return keyset.db_key, None
        keys = (keyset.db_key, keyset.next.db_key)
        key = key_that_opens(self.settings.data_dir / "vault.db", keys)
        return key, keys[1] if key == keys[0] else keys[0]

    def _lost_names(self) -> list[str]:
        """Return names of sealed originals that `vault.db` does not mention; at most five."""
        names = list[str]()
        with ExitStack() as opened:
            database = Database(self.settings.data_dir / "vault.db", self._database_keys()[0], read_only=True)
            opened.callback(database.close)
            artifacts = Artifacts(self.settings.data_dir / "artifacts", self.keys.keyset, read_only=True)
            opened.callback(artifacts.close)
            for ref in artifacts.unreferenced(Catalog(database).artifact_ids()):
                if ref.suffix == ORIGINAL:
                    with suppress(VaultError, NotFoundError):
                        names.append(str((artifacts.label(ref) or {}).get("name", "")))
        named = sorted(filter(None, names))
        return named if len(named) <= _NAMED else [*named[:_NAMED], f"and {len(named) - _NAMED} more"]


def _make(data_dir: Path) -> None:
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise VaultError(
            _("The data folder {data_dir} can't be created: {strerror}.").format(
                data_dir=data_dir, strerror=error.strerror
            ),
            hint=_PLACE,
        ) from error


def _check_readable(settings: Settings) -> None:
    """Raise `VaultError` where nothing can be opened for reading only."""
    if not (settings.data_dir / "vault.json").exists():
        raise VaultError(
            _("The data folder {data_dir} has no library, and none can be created there.").format(
                data_dir=settings.data_dir
            ),
            hint=_PLACE,
        )
    if settings.keys.recovery_code is not None:
        raise VaultError(
            _("A recovery code gives the library a new key, so it can't be used for reading only."),
            hint=_("Open the library once for writing, or unset DOCMIND_KEYS__RECOVERY_CODE."),
        )


def _is_writable(data_dir: Path) -> bool:
    """Tell whether the folder, and the database in it, can be written."""
    database = data_dir / "vault.db"
    return os.access(data_dir, os.W_OK) and (not database.exists() or os.access(database, os.W_OK))


def _without_code(settings: Settings) -> Settings:
    keys = settings.keys.model_copy(update={"recovery_code": None})
    return settings.model_copy(update={"keys": keys})


def _settled(keyset: Keyset) -> Keyset:
    """Return the keyset without the keys to come, where nothing is left to change."""
    new = keyset.next
    if new is None or not new.is_sealed or keyset.db_key != new.db_key or keyset.own_index_key != new.index_key:
        return keyset
    return replace(keyset, next=None)
