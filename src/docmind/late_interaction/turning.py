"""Stored vectors under another key: each file is written again with its vectors rotated from one key to the other.

Pages are quantized again, so their scores change by about as much as quantization changed them before.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from docmind.late_interaction.compaction import unlink
from docmind.late_interaction.layout import Shelf
from docmind.late_interaction.quantize import page_int8
from docmind.late_interaction.row_file import Blocks
from docmind.storage import Database

_BLOCK = 1 << 16  # rows

_Row = tuple[str, int, float, int, int]  # file, start, step, checksum, and the number of the row in the table


def turn_pages(
    folder: Path,
    database: Database,
    change: Callable[[np.ndarray], np.ndarray],
    note: Callable[[], None],
    *,
    min_free_mb: int = 200,
) -> int:
    """Rotate every stored vector, and return how many pages that was.

    `change` rotates `(n, dim)` float32 from the old key to the new one; `note` writes to the vault in the same
    transaction that switches to the new files, so that both are done or neither. Pages with damaged bytes are dropped
    and then missing. No `LatePages` of this folder may be open. Raises `DiskFullError`, `VaultError`; nothing is
    changed then.
    """
    names = [name for (name,) in database.all("SELECT DISTINCT fingerprint FROM late_pages")]
    shelves = [Shelf(folder, database, name, min_free=min_free_mb << 20) for name in names]
    turned: list[_Row] = []
    made: list[Blocks] = []
    old: list[Blocks] = []
    try:
        for shelf in shelves:
            with database.reading():
                snapshot = shelf.snapshot()
            if shelf.blocks is None or not snapshot.places:
                continue
            new = shelf.fresh(shelf.blocks.dim)
            made.append(new)
            turned += _written(new, shelf, change)
            old += [blocks for blocks in (shelf.blocks, shelf.digests) if blocks is not None]
        with database.transaction() as db:
            db.execute("CREATE TEMP TABLE turned (late_id INTEGER PRIMARY KEY)")
            db.executemany("INSERT INTO turned (late_id) VALUES (?)", [(row[-1],) for row in turned])
            db.execute("DELETE FROM late_pages WHERE late_id NOT IN (SELECT late_id FROM turned)")
            db.execute("DROP TABLE turned")
            db.executemany(
                "UPDATE late_pages SET file = ?, start = ?, step = ?, checksum = ?, slot = NULL WHERE late_id = ?",
                turned,
            )
            note()
    except BaseException:
        for blocks in made:
            unlink(blocks.path)
        raise
    for blocks in old:
        blocks.remove()
    return len(turned)


def _written(new: Blocks, shelf: Shelf, change: Callable[[np.ndarray], np.ndarray]) -> list[_Row]:
    """Write the rotated pages of a model to a new file, and return their rows of the table."""
    snapshot = shelf.snapshot()
    rows: list[_Row] = []
    held: list[np.ndarray] = []
    end = written = 0
    for number, place in enumerate(snapshot.places):
        if not snapshot.is_sound(number):
            continue
        vectors, step = page_int8(change(snapshot.tokens(number) * np.float32(place.step)))
        rows.append((new.path.name, end, step, zlib.crc32(vectors.data), place.late_id))
        held.append(vectors)
        end += len(vectors)
        if end - written >= _BLOCK:
            new.write(written, np.concatenate(held))
            held, written = [], end
    if held:
        new.write(written, np.concatenate(held))
    return rows
