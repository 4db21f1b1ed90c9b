"""Compaction of the vector files: space of deleted pages is zeroed and reused; a mostly unused file is rewritten.

The table is authoritative. A new file is written beside the old one and switched to in one transaction: a crash leaves
a file that no row names, and the next sweep deletes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

from docmind.errors import DiskFullError
from docmind.late_interaction import prefetch
from docmind.late_interaction.layout import Shelf
from docmind.late_interaction.token_pooling import DIGEST
from docmind.storage import LATE, Database, is_regular, own_files

COMPACT_BYTES = 16 << 20  # files that waste less are not rewritten
_BLOCK = 1 << 16  # rows
_DIGESTS = 2_000  # most missing digests made by one sweep: ten seconds


def sweep(folder: Path, database: Database, shelves: Sequence[Shelf], guard: AbstractContextManager[object]) -> int:
    """Sweep every model's file, and files of no model; return the bytes freed. No other writer may run.

    `guard` is held while a shelf is read or switched. Raises `DiskFullError`, `VaultError`.
    """
    with database.reading(), guard:
        for shelf in shelves:  # from here on, the files that it names are known
            shelf.snapshot()
    given = _strays(folder, database, shelves)
    for shelf in shelves:
        with database.reading(), guard:
            shelf.drop(shelf.lost())
            gaps = shelf.gaps()
            blocks = shelf.blocks
            empty = not shelf.snapshot().places
            digests = shelf.digests
            if empty:
                shelf.blocks = shelf.digests = None
        if blocks is None:
            continue
        if empty:
            given += len(blocks) * blocks.dim
            for one in (blocks, digests):
                if one is not None:
                    one.remove()
            continue
        _sweep_digests(database, shelf, guard)
        for start, length in gaps:
            blocks.zero(start, length)
        wasted = sum(length for _, length in gaps)
        given += wasted * blocks.dim
        if wasted * blocks.dim >= COMPACT_BYTES and wasted * 2 >= len(blocks):
            try:
                _move(database, shelf, guard)
                continue
            except DiskFullError:  # the free space inside the file is reused anyway
                pass
        with database.reading(), guard:
            shelf.free = gaps
    return given


def _strays(folder: Path, database: Database, shelves: Sequence[Shelf]) -> int:
    named = {name for (name,) in database.all("SELECT DISTINCT file FROM late_pages")}
    for shelf in shelves:
        named |= {blocks.path.name for blocks in (shelf.blocks, shelf.digests) if blocks}
    given = 0
    for path in own_files(folder, LATE):
        if path.name not in named:
            given += path.stat().st_size
            unlink(path)
    return given


def _sweep_digests(database: Database, shelf: Shelf, guard: AbstractContextManager[object]) -> None:
    """Zero the slots of deleted pages; where too few pages are left to need digests, delete the file."""
    with database.reading(), guard:
        unused, digests, pages = shelf.unused_slots(), shelf.digests, len(shelf.snapshot().places)
    if digests is None or not len(digests):
        return
    if pages < prefetch.FROM_PAGES // 2:
        with database.transaction() as db, guard:
            db.execute("UPDATE late_pages SET slot = NULL WHERE fingerprint = ?", (shelf.fingerprint,))
            shelf.reload()
        digests.remove()
        return
    for slot in unused:
        digests.zero(slot * DIGEST, DIGEST)
    with database.reading(), guard:
        shelf.free_slots = unused
    prefetch.build(shelf, database, guard, _DIGESTS)


def _move(database: Database, shelf: Shelf, guard: AbstractContextManager[object]) -> None:
    """Copy the pages to a new file, one after another; a page with damaged bytes is dropped and then missing."""
    with database.reading(), guard:
        snapshot = shelf.snapshot()
    old = shelf.blocks
    assert old is not None
    new = shelf.fresh(old.dim)
    moved: list[tuple[str, int, int]] = []
    rotten: list[int] = []
    end = written = 0
    held: list[np.ndarray] = []
    try:
        for number, place in enumerate(snapshot.places):
            if not snapshot.is_sound(number):
                rotten.append(place.late_id)
                continue
            moved.append((new.path.name, end, place.late_id))
            held.append(snapshot.tokens(number))
            end += place.tokens
            if end - written >= _BLOCK:
                new.write(written, np.concatenate(held))
                held, written = [], end
        if held:
            new.write(written, np.concatenate(held))
    except BaseException:
        unlink(new.path)
        raise
    with database.transaction() as db, guard:
        db.executemany("DELETE FROM late_pages WHERE late_id = ?", [(late_id,) for late_id in rotten])
        db.executemany("UPDATE late_pages SET file = ?, start = ? WHERE late_id = ?", moved)
    with database.reading(), guard:
        shelf.reload()
        shelf.blocks = new
        shelf.free = []
    old.remove()


def unlink(path: Path) -> None:
    """Delete a file of vectors; where the system keeps it because it is being read, a later sweep deletes it."""
    if not is_regular(path):  # gone, or not DocMind's
        return
    try:
        path.unlink(missing_ok=True)
    except PermissionError:  # Windows, while a search reads it
        return
