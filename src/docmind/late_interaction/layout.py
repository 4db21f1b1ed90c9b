"""The multivectors of one model and their places in the file, as recorded in the vault's table `late_pages`."""

from __future__ import annotations

import hashlib
import secrets
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from docmind.errors import VisualModelError
from docmind.late_interaction.row_file import Blocks
from docmind.late_interaction.token_pooling import DIGEST
from docmind.storage import Database

_NOTHING = np.empty((0, 1), np.int8)
_COLUMNS = "late_id, image, file, start, tokens, dim, step, checksum, slot"


class PageTokens(NamedTuple):
    """One row: the place of a page's tokens, the value of one step, a CRC-32, and the digest's slot."""

    late_id: int
    image: str
    file: str
    start: int
    tokens: int
    dim: int
    step: float
    checksum: int
    slot: int | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The readable pages, in file order; immutable while others write.

    `rows` is the mapped file, `(all, dim)` int8; the arrays are parallel to `places`; `at` gives the number of an
    image. `digests` is the mapped digests file, and `slots` the slot of each page in it, -1 for a page without a
    digest.
    """

    places: tuple[PageTokens, ...]
    rows: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    steps: np.ndarray
    at: dict[str, int] = field(repr=False)
    digests: np.ndarray
    slots: np.ndarray

    def tokens(self, number: int) -> np.ndarray:
        """Return `(tokens, dim)` int8 of one page."""
        place = self.places[number]
        return self.rows[place.start : place.start + place.tokens]

    def is_sound(self, number: int) -> bool:
        """Return whether the bytes of a page match their checksum."""
        return zlib.crc32(self.tokens(number).data) == self.places[number].checksum


class Shelf:
    """The rows of one model in memory, and their file. Not thread-safe: the owner allows one call at a time."""

    def __init__(self, folder: Path, database: Database, fingerprint: str, *, min_free: int) -> None:
        self._folder, self._db, self._min_free = folder, database, min_free
        self.fingerprint = fingerprint
        self._known: dict[int, PageTokens] = {}
        self._seen = -1, 0, 0  # changes of the database, rows, newest row
        self._end = self._digests_end = self._files = 0  # where the last page ends; how many files rows name
        self._snapshot: Snapshot | None = None
        self.blocks: Blocks | None = None
        self.digests: Blocks | None = None
        self.free: list[tuple[int, int]] = []  # zeroed extents, as (start, length)
        self.free_slots: list[int] = []  # zeroed as well

    def __len__(self) -> int:
        """Return how many rows the table has."""
        self._refresh()
        return len(self._known)

    def without_slot(self) -> int:
        """Return how many rows have no digest."""
        return sum(place.slot is None for place in self._known.values())

    def snapshot(self) -> Snapshot:
        """Return the pages that can be read now, without rows beyond the end of their file or of a missing file."""
        self._refresh()
        rows = self.blocks.rows(self._end) if self.blocks else _NOTHING
        digests = self.digests.rows(self._digests_end) if self.digests else _NOTHING
        found = self._snapshot
        if found is None or found.rows is not rows or found.digests is not digests:
            self._snapshot = found = _arranged(self._readable(rows), rows, digests)
        return found

    def lost(self) -> list[int]:
        """Return the numbers of rows that point to no data."""
        self._refresh()
        if self._files <= 1 and self._end <= len(self.blocks or ()):
            return []
        readable = {place.late_id for place in self.snapshot().places}
        return [late_id for late_id in self._known if late_id not in readable]

    def open_for(self, dim: int) -> Blocks:
        """Return the file for pages of this dimension, a new one where there is none. Raises `VisualModelError`."""
        self._refresh()
        if self.blocks is None or not len(self.blocks):
            self.blocks, self.digests = self.fresh(dim), self._digests(dim)
            self.free = []
        if self.blocks.dim != dim:
            raise VisualModelError(f"A model gave vectors of {dim} numbers, and {self.blocks.dim} before.")
        return self.blocks

    def fresh(self, dim: int) -> Blocks:
        """Return a file that does not exist yet, with a name that no row has."""
        return Blocks(self._folder / f"{secrets.token_hex(8)}.i8", dim, min_free=self._min_free)

    def take(self, tokens: int) -> int:
        """Return a place for this many rows: in the first free extent that is long enough, or at the end."""
        for number, (start, length) in enumerate(self.free):
            if length >= tokens:
                rest = [(start + tokens, length - tokens)] if length > tokens else []
                self.free[number : number + 1] = rest
                return start
        return len(self.blocks or ())

    def take_slots(self, count: int) -> list[int]:
        """Return slots for this many digests: free slots first, then slots at the end."""
        taken, self.free_slots = self.free_slots[:count], self.free_slots[count:]
        end = len(self.digests or ()) // DIGEST
        return [*taken, *range(end, end + count - len(taken))]

    def note_slots(self, slots: Mapping[int, int]) -> None:
        """Record the slot of each row; any other row that had one of these slots loses it."""
        given = set(slots.values())
        for late_id, place in self._known.items():
            if late_id in slots or place.slot in given:
                self._known[late_id] = place._replace(slot=slots.get(late_id))
        self._snapshot = None
        self._follow()

    def unused_slots(self) -> list[int]:
        """Return the slots that no row names."""
        used = {place.slot for place in self._known.values()}
        return [slot for slot in range(len(self.digests or ()) // DIGEST) if slot not in used]

    def gaps(self) -> list[tuple[int, int]]:
        """Return the extents that no row names, as (start, length)."""
        found, end = [], 0
        for place in self.snapshot().places:
            if place.start > end:
                found.append((end, place.start - end))
            end = max(end, place.start + place.tokens)
        size = len(self.blocks or ())
        return [*found, (end, size - end)] if size > end else found

    def drop(self, late_ids: Iterable[int]) -> None:
        """Delete rows: their pages are missing again."""
        with self._db.transaction() as db:
            db.executemany("DELETE FROM late_pages WHERE late_id = ?", [(late_id,) for late_id in late_ids])

    def reload(self) -> None:
        """Discard everything known, so that the table is read again."""
        self._known, self._seen, self._snapshot = {}, (-1, 0, 0), None

    def _refresh(self) -> None:
        """Read the rows that were added to the table, and drop those that were deleted."""
        with self._db.reading() as db:
            changes = db.total_changes
            if changes == self._seen[0]:
                return
            query = "SELECT count(*), coalesce(max(late_id), 0) FROM late_pages WHERE fingerprint = ?"
            count, newest = db.execute(query, (self.fingerprint,)).fetchone()
            if (count, newest) == self._seen[1:]:
                self._seen = changes, count, newest
                return
            more = db.execute(
                f"SELECT {_COLUMNS} FROM late_pages WHERE fingerprint = ? AND late_id > ? ORDER BY late_id",
                (self.fingerprint, max(self._known, default=0)),
            )
            self._known.update((row[0], PageTokens(*row)) for row in more)
            if len(self._known) != count:
                query = "SELECT late_id FROM late_pages WHERE fingerprint = ?"
                left = {late_id for (late_id,) in db.execute(query, (self.fingerprint,))}
                self._known = {late_id: place for late_id, place in self._known.items() if late_id in left}
            self._seen = changes, count, newest
        self._snapshot = None
        self._follow()

    def _follow(self) -> None:
        """Open the file that the newest row names."""
        if self._known:
            newest = self._known[max(self._known)]
            if self.blocks is None or self.blocks.path.name != newest.file:
                self.blocks = Blocks(self._folder / Path(newest.file).name, newest.dim, min_free=self._min_free)
                self.digests = self._digests(newest.dim)
                self.free = []
        slots = (place.slot for place in self._known.values() if place.slot is not None)
        self._digests_end = (max(slots, default=-1) + 1) * DIGEST
        self._files = len({place.file for place in self._known.values()})
        self._end = max((place.start + place.tokens for place in self._known.values()), default=0)

    def _digests(self, dim: int) -> Blocks:
        return Blocks(self._folder / digest_name(self.fingerprint), dim, min_free=self._min_free)

    def _readable(self, rows: np.ndarray) -> list[PageTokens]:
        if self.blocks is None:
            return []
        name, dim, end = self.blocks.path.name, self.blocks.dim, len(rows)
        return [
            place
            for place in self._known.values()
            if place.file == name and place.dim == dim and place.start >= 0 and 0 < place.tokens <= end - place.start
        ]


def digest_name(fingerprint: str) -> str:
    """Return the name of a model's digests file: it stays the same when the pages move to a new file."""
    return f"{hashlib.blake2b(fingerprint.encode(), digest_size=8).hexdigest()}.p8"


def _arranged(places: list[PageTokens], rows: np.ndarray, digests: np.ndarray) -> Snapshot:
    ordered = tuple(sorted(places, key=lambda place: place.start))
    end = len(digests) // DIGEST
    slots = [-1 if place.slot is None or place.slot >= end else place.slot for place in ordered]
    return Snapshot(
        ordered,
        rows,
        np.array([place.start for place in ordered], np.int64),
        np.array([place.tokens for place in ordered], np.int64),
        np.array([place.step for place in ordered], np.float64),
        {place.image: number for number, place in enumerate(ordered)},
        digests,
        np.array(slots, np.int64),
    )


def runs(starts: np.ndarray, lengths: np.ndarray, most: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield adjacent pages of equal length, as (first page, pages, first token, length).

    A run has at most `most` tokens, or is one page.
    """
    if not len(starts):
        return
    breaks = (starts[1:] != starts[:-1] + lengths[:-1]) | (lengths[1:] != lengths[:-1])
    edges = [0, *(np.flatnonzero(breaks) + 1).tolist(), len(starts)]
    for first, end in pairwise(edges):
        start, length = int(starts[first]), int(lengths[first])
        step = max(1, most // length)
        for at in range(first, end, step):
            yield at, min(step, end - at), start + (at - first) * length, length
