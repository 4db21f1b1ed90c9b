"""Going back to the database from before its schema changed, while the library is closed.

Short, and alone: it must work where the library cannot be opened.
"""

from __future__ import annotations

from docmind.config import Settings
from docmind.records.snapshots import KeptDatabase
from docmind.storage import AskPassphrase, OwnerLock, go_back, open_keys


def roll_back(settings: Settings, name: str, ask_passphrase: AskPassphrase | None = None) -> KeptDatabase:
    """Put a kept database in place of `vault.db`, and return the copy that is kept of what was replaced.

    The library is not opened: this DocMind would change the schema again. Raises `VaultBusyError` where it is open,
    `NotFoundError`, `DamagedError` where the copy is not whole, `DiskFullError`, and what opening the keys raises.
    """
    lock = OwnerLock(settings.data_dir)
    try:
        keys = open_keys(settings.data_dir, settings.keys, ask_passphrase)
        return go_back(settings.data_dir, name, keys.keyset.db_key)
    finally:
        lock.release()
