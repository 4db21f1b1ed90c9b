"""The high-water mark, a sealed file next to `vault.db` that names the last acknowledged commit.

    off   size   mark, big-endian                 slot = "DMM1" ‖ 12 nonce ‖ AES-256-GCM of 960 bytes of padded JSON
    0     4096   slot 0                           key  = HKDF-SHA256(database key, salt = vault id, "docmind mark")
    4096  4096   slot 1                           AAD  = "DMM1" ‖ vault id

The database alone cannot show that it is current: SQLite ends its log at the first bad frame, and an older `vault.db`
is as well formed as the newest. The two slots are written alternately and in place: one write to blocks that exist
already and one sync, so that it also works on a full disk, and an interrupted write leaves the other slot valid.

The ledger is what the mark is compared with: numbers and chain values of the last commits, written to the database
inside their transactions. Each value is HMAC-SHA256(key, previous value ‖ number ‖ 16 random bytes), cut to 16 bytes.
Because of the random bytes, two histories that branch from one state differ from their first commit on.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from docmind.errors import DamagedError, DiskFullError, DocMindError, VaultError
from docmind.storage.files import disk_error, replacing
from docmind.storage.keys import derive
from docmind.wording import _

_MAGIC = b"DMM1"
_BLOCK = 4096
_NONCE, _TAG, _TEXT = 12, 16, 960
_SLOT = len(_MAGIC) + _NONCE + _TEXT + _TAG
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_datasync = getattr(os, "fdatasync", os.fsync)  # macOS and Windows have only fsync


@dataclass(frozen=True, slots=True)
class MarkState:
    """The last acknowledged commit: its number, chain value, time (ms), and the counts of the vault at that time."""

    seq: int
    chain: bytes = field(repr=False)
    at_ms: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)


class Mark:
    """One mark file. Not thread-safe: `Database` uses it under its own lock."""

    def __init__(self, path: Path, database_key: bytes, vault_id: str, other_key: bytes | None = None) -> None:
        """Open nothing yet. `other_key` also opens slots, while the database changes from one key to the other."""
        self.path = path
        keys = [database_key] if other_key is None else [database_key, other_key]
        self._sealers = [AESGCM(derive(key, vault_id.encode(), b"docmind mark")) for key in keys]
        self._associated = _MAGIC + vault_id.encode()
        self._descriptor: int | None = None
        self._next_slot = 0

    def read(self) -> MarkState | None:
        """Return the newest state in a slot; None without a file.

        Raises `DamagedError` where no slot opens.
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY | _FLAGS)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DamagedError(
                _("The file {path} can't be read: {strerror}.").format(path=self.path, strerror=error.strerror)
            ) from error
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(2 * _BLOCK)
        slots = [self._opened(data[at * _BLOCK : at * _BLOCK + _SLOT]) for at in (0, 1)]
        found = [(state.seq, at, state) for at, state in enumerate(slots) if state is not None]
        if not found:
            raise DamagedError(
                _("The file {path} is damaged: neither of its two copies can be opened.").format(path=self.path)
            )
        _unused, at, newest = max(found, key=lambda one: one[0])
        self._next_slot = 1 - at
        return newest

    def create(self, state: MarkState) -> None:
        """Create the file or replace it as a whole, durably. Raises `DiskFullError`, `VaultError`."""
        self.close()
        try:
            with replacing(self.path) as file:
                file.write(self._sealed(state).ljust(2 * _BLOCK, b"\0"))
        except OSError as error:
            raise _told(error) from error
        self._next_slot = 1

    def write(self, state: MarkState) -> None:
        """Write the older slot in place; durable when it returns.

        Raises `DiskFullError`, `VaultError`.
        """
        try:
            if self._descriptor is None:
                self._descriptor = os.open(self.path, os.O_WRONLY | _FLAGS)
            os.lseek(self._descriptor, self._next_slot * _BLOCK, os.SEEK_SET)
            os.write(self._descriptor, self._sealed(state))
            _datasync(self._descriptor)
        except OSError as error:
            raise _told(error) from error
        self._next_slot = 1 - self._next_slot

    def close(self) -> None:
        """Close the file. Idempotent; `write` opens it again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None

    def _sealed(self, state: MarkState) -> bytes:
        text = json.dumps(
            {"seq": state.seq, "chain": state.chain.hex(), "at_ms": state.at_ms, "counts": dict(state.counts)}
        ).encode()
        nonce = secrets.token_bytes(_NONCE)
        return _MAGIC + nonce + self._sealers[0].encrypt(nonce, text.ljust(_TEXT), self._associated)

    def _opened(self, slot: bytes) -> MarkState | None:
        if len(slot) != _SLOT or not slot.startswith(_MAGIC):
            return None
        nonce, sealed = slot[len(_MAGIC) : len(_MAGIC) + _NONCE], slot[len(_MAGIC) + _NONCE :]
        for sealer in self._sealers:
            with suppress(InvalidTag):
                raw = json.loads(sealer.decrypt(nonce, sealed, self._associated))
                return MarkState(raw["seq"], bytes.fromhex(raw["chain"]), raw["at_ms"], raw["counts"])
        return None


def _told(error: OSError) -> DocMindError:
    return disk_error(
        error,
        VaultError(_("The library's newest state could not be noted: {strerror}.").format(strerror=error.strerror)),
        DiskFullError(_("The disk is full: the library's newest state could not be noted.")),
    )


KEPT = 64  # commits: more than the mark can lag behind, and they fit into one page of the database
_BYTES = 16
_COUNTS = {
    "documents": "SELECT count(*) FROM documents",
    "pages": "SELECT count(*) FROM pages",
    "conversations": "SELECT count(*) FROM chat_session",
    "memories": "SELECT count(*) FROM docmind_store_items",
}
_ONE = {"documents": "document", "pages": "page", "conversations": "conversation", "memories": "memory"}


@dataclass(frozen=True, slots=True)
class Head:
    """The newest commit that a database knows of; number 0 before the first."""

    seq: int = 0
    chain: bytes = field(default=bytes(_BYTES), repr=False)


class Ledger:
    """Reads and advances the `ledger` table on a connection that the caller holds."""

    def __init__(self, database_key: bytes) -> None:
        self._key = derive(database_key, b"", b"docmind ledger")

    def is_there(self, db: Any) -> bool:
        """Return whether this database has the table; those written before migration 8 do not."""
        return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'ledger'").fetchone() is not None

    def head(self, db: Any) -> Head:
        """Return the newest commit."""
        row = db.execute("SELECT seq, chain FROM ledger ORDER BY seq DESC LIMIT 1").fetchone()
        return Head(row[0], bytes(row[1])) if row else Head()

    def advance(self, db: Any, least: int = 0) -> Head:
        """Record a new commit inside its transaction.

        Its number is above `least` and all earlier numbers.
        """
        before = self.head(db)
        seq = max(before.seq, least) + 1
        content = before.chain + seq.to_bytes(8, "big") + secrets.token_bytes(_BYTES)
        head = Head(seq, hmac.digest(self._key, content, "sha256")[:_BYTES])
        db.execute("INSERT OR REPLACE INTO ledger (slot, seq, chain) VALUES (?, ?, ?)", (seq % KEPT, seq, head.chain))
        return head

    def state(self, db: Any, head: Head) -> MarkState:
        """Return the mark's record of this commit, with the current counts."""
        return MarkState(head.seq, head.chain, time.time_ns() // 1_000_000, self.counts(db))

    def counts(self, db: Any) -> dict[str, int]:
        """Return how many of each kind the vault holds; kinds without a table yet count 0."""
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()}
        return {
            name: db.execute(sql).fetchone()[0] if sql.rpartition(" ")[2] in tables else 0
            for name, sql in _COUNTS.items()
        }

    def missing(self, db: Any, mark: MarkState) -> str:
        """Return what the mark covers and this database lacks, as a phrase.

        Returns "" where it lacks nothing.
        """
        head = self.head(db) if self.is_there(db) else Head()
        row = db.execute("SELECT chain FROM ledger WHERE seq = ?", (mark.seq,)).fetchone() if head.seq else None
        if mark.seq == 0 or (row is not None and hmac.compare_digest(bytes(row[0]), mark.chain)):
            return ""
        here = self.counts(db)
        lacking = [
            f"{count - here[name]:,} {_ONE[name] if count - here[name] == 1 else name}"
            for name, count in mark.counts.items()
            if count > here.get(name, 0)
        ]
        if lacking:
            return lacking[0] if len(lacking) == 1 else f"{', '.join(lacking[:-1])} and {lacking[-1]}"
        behind = mark.seq - head.seq
        return f"the last {behind:,} changes" if behind > 1 else "the last changes"
