"""Prefetch over many pages: their digests, in a file beside the pages, select the pages that are worth scoring.

A slot of that file holds one digest; the table records which page has which. Pages without one are scored directly, so
a truncated or missing file costs time and does not change the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import pairwise

import numpy as np

from docmind.late_interaction.layout import Shelf, Snapshot
from docmind.late_interaction.maxsim import Kernel
from docmind.late_interaction.token_pooling import DIGEST, digest
from docmind.storage import Database

FROM_PAGES = 15_000  # digests are made from this number on, so that all exist when they are needed
_TOGETHER, _BEFORE = 64, 256  # new pages without a digest that start a build, and older pages added to it


def candidates(
    snapshot: Snapshot, wanted: np.ndarray, rows: np.ndarray, steps: np.ndarray, kernel: Kernel, count: int
) -> np.ndarray:
    """Return, in order, the `count` of `wanted` whose digests fit the question best, and all without a digest."""
    slots = snapshot.slots[wanted]
    known, unknown = wanted[slots >= 0], wanted[slots < 0]
    if len(known) > count:
        order = np.argsort(snapshot.slots[known], kind="stable")  # so that adjacent slots are scored together
        owner, slots = known[order], snapshot.slots[known][order]
        best = kernel.best(rows, snapshot.digests, slots * DIGEST, np.full(len(slots), DIGEST))
        scores = best.astype(np.float32) @ steps.astype(np.float32)
        known = owner[np.argpartition(-scores, count)[:count]]
    return np.sort(np.concatenate([known, unknown]))


def keep_up(shelf: Shelf, database: Database, guard: AbstractContextManager[object]) -> None:
    """Make digests of new pages and of some older ones, if there are enough pages. Raises as `build` does."""
    with database.reading(), guard:
        waiting = shelf.without_slot() if len(shelf) >= FROM_PAGES else 0
    if waiting >= _TOGETHER:
        build(shelf, database, guard, _TOGETHER + _BEFORE)


def build(shelf: Shelf, database: Database, guard: AbstractContextManager[object], most: int) -> int:
    """Make digests of up to `most` pages that have none; return their number. No other writer may run.

    Raises `DiskFullError`, `VaultError`.
    """
    with database.reading(), guard:
        snapshot, blocks = shelf.snapshot(), shelf.digests
        slots = shelf.take_slots(min(most, int((snapshot.slots < 0).sum())))
    if blocks is None or not slots:
        return 0
    numbers = np.flatnonzero(snapshot.slots < 0)[-len(slots) :].tolist()
    made = [digest(snapshot.tokens(at) * np.float32(snapshot.places[at].step)) for at in numbers]
    for first, last in _together(slots):
        blocks.write(slots[first] * DIGEST, np.concatenate(made[first:last]))
    ids = [snapshot.places[at].late_id for at in numbers]
    with database.transaction() as db:
        # Where the file was truncated, slots beyond its end are assigned again.
        db.executemany("UPDATE late_pages SET slot = NULL WHERE fingerprint = ? AND slot = ?", _each(shelf, slots))
        db.executemany("UPDATE late_pages SET slot = ? WHERE late_id = ?", zip(slots, ids, strict=True))
    with database.reading(), guard:
        shelf.note_slots(dict(zip(ids, slots, strict=True)))
    return len(slots)


def _each(shelf: Shelf, slots: Sequence[int]) -> list[tuple[str, int]]:
    return [(shelf.fingerprint, slot) for slot in slots]


def _together(slots: Sequence[int]) -> list[tuple[int, int]]:
    """Return runs of consecutive slots, as (first, end)."""
    edges = [0, *(np.flatnonzero(np.diff(slots) != 1) + 1).tolist(), len(slots)]
    return list(pairwise(edges))
