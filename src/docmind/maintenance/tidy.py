"""What is done first when a library opens for writing: interrupted erasures, and the bin."""

from __future__ import annotations

from contextlib import suppress

from docmind.documents import Edits, ErasurePlan, Erasures
from docmind.errors import DiskFullError, VaultError
from docmind.runtime import log_mistake
from docmind.storage import Ages
from docmind.vault import Vault


def tidy(vault: Vault, bin_days: float) -> None:
    """Unlink what an interrupted erasure left, and empty the bin of what lies there for more than `bin_days`.

    The erasures that are begun here are finished in the background, once the vault is open. Stored files that
    nothing refers to are removed later, by `GarbageCollection`.

    Where the user accepted a vault that lacks acknowledged changes, the bin is not emptied, because a document may have
    been taken out of it since, and all ages begin again.
    """
    database, catalog = vault.database, vault.catalog
    if database.was_behind:
        Ages(database, vault.clock).drop()
    with suppress(DiskFullError):  # it is finished at the next start
        for doc_id in [] if database.was_behind else Edits(database, catalog).expired(bin_days, vault.clock.now_ms()):
            erasures = Erasures(database, catalog)
            erasures.begin(doc_id, ErasurePlan(), erasures.traces_of(doc_id))
        if doomed := catalog.doomed():
            try:
                vault.artifacts.remove(doomed)
            except VaultError as error:  # a file is in use, or the disk reports an error: again at the next start
                log_mistake("docmind.vault", "files of erased documents could not be deleted", error)
            else:
                catalog.buried()
        vault.clock.keep(seldom=True)
