"""Which multivectors of one model there are and where they lie, as the table `late_pages` of the vault says."""

from __future__ import annotations

import hashlib
import secrets
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from docmind.database import Database
from docmind.errors import VisualModelError
from docmind.late.blocks import Blocks
from docmind.late.digest import DIGEST

_NOTHING = np.empty((0, 1), np.int8)
_COLUMNS = "late_id, image, file, start, tokens, dim, step, checksum, slot"


class Place(NamedTuple):
    """One row: where the tokens of a page lie, what one step of theirs is worth, the CRC-32 of their bytes, and which
    place among the digests the page has."""

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
    """The pages that can be read, in the order in which they lie; it stays as it is while others write.

    `rows` is the map, `(all, dim)` int8; the arrays are parallel to `places`; `at` says where an image stands.
    `digests` is the map of the pages' digests, and `slots` which of them are whose, -1 for a page that has none.
    """

    places: tuple[Place, ...]
    rows: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    steps: np.ndarray
    at: dict[str, int] = field(repr=False)
    digests: np.ndarray
    slots: np.ndarray

    def tokens(self, number: int) -> np.ndarray:
        """`(tokens, dim)` int8 of one page."""
        place = self.places[number]
        return self.rows[place.start : place.start + place.tokens]

    def is_sound(self, number: int) -> bool:
        """Whether its bytes are those that were put."""
        return zlib.crc32(self.tokens(number).data) == self.places[number].checksum


class Shelf:
    """The rows of one model in memory, and their file. Whoever holds it sees to it that one thread calls at a time."""

    def __init__(self, folder: Path, database: Database, fingerprint: str, *, min_free: int) -> None:
        self._folder, self._db, self._min_free = folder, database, min_free
        self.fingerprint = fingerprint
        self._known: dict[int, Place] = {}
        self._seen = -1, 0, 0  # changes of the database, rows, newest row
        self._end = self._digests_end = self._files = 0  # where the last page ends; how many files rows name
        self._snapshot: Snapshot | None = None
        self.blocks: Blocks | None = None
        self.digests: Blocks | None = None
        self.free: list[tuple[int, int]] = []  # zeroed extents, as (start, length)
        self.free_slots: list[int] = []  # zeroed too

    def __len__(self) -> int:
        """How many rows the table has."""
        self._refresh()
        return len(self._known)

    def without_slot(self) -> int:
        """How many of them have no digest."""
        return sum(place.slot is None for place in self._known.values())

    def snapshot(self) -> Snapshot:
        """What can be read now. A row that points beyond its file, or to a file that is gone, is as if it were not."""
        self._refresh()
        rows = self.blocks.rows(self._end) if self.blocks else _NOTHING
        digests = self.digests.rows(self._digests_end) if self.digests else _NOTHING
        found = self._snapshot
        if found is None or found.rows is not rows or found.digests is not digests:
            self._snapshot = found = _arranged(self._readable(rows), rows, digests)
        return found

    def lost(self) -> list[int]:
        """Numbers of rows that point to nothing."""
        self._refresh()
        if self._files <= 1 and self._end <= len(self.blocks or ()):
            return []
        readable = {place.late_id for place in self.snapshot().places}
        return [late_id for late_id in self._known if late_id not in readable]

    def open_for(self, dim: int) -> Blocks:
        """The file that takes pages of this dimension, a new one where there is none. Raises `VisualModelError`."""
        self._refresh()
        if self.blocks is None or not len(self.blocks):
            self.blocks, self.digests = self.fresh(dim), self._digests(dim)
            self.free = []
        if self.blocks.dim != dim:
            raise VisualModelError(f"A model gave vectors of {dim} numbers, and {self.blocks.dim} before.")
        return self.blocks

    def fresh(self, dim: int) -> Blocks:
        """A file that is not there yet, of a name that no row has."""
        return Blocks(self._folder / f"{secrets.token_hex(8)}.i8", dim, min_free=self._min_free)

    def take(self, tokens: int) -> int:
        """Where so many rows may go: into the first free extent that is long enough, or behind everything."""
        for number, (start, length) in enumerate(self.free):
            if length >= tokens:
                rest = [(start + tokens, length - tokens)] if length > tokens else []
                self.free[number : number + 1] = rest
                return start
        return len(self.blocks or ())

    def take_slots(self, count: int) -> list[int]:
        """Where so many digests may go: free slots first, then those behind everything."""
        taken, self.free_slots = self.free_slots[:count], self.free_slots[count:]
        end = len(self.digests or ()) // DIGEST
        return [*taken, *range(end, end + count - len(taken))]

    def note_slots(self, slots: Mapping[int, int]) -> None:
        """Which slot each row has now; no other row has it any more."""
        given = set(slots.values())
        for late_id, place in self._known.items():
            if late_id in slots or place.slot in given:
                self._known[late_id] = place._replace(slot=slots.get(late_id))
        self._snapshot = None
        self._follow()

    def unused_slots(self) -> list[int]:
        """What no row names."""
        used = {place.slot for place in self._known.values()}
        return [slot for slot in range(len(self.digests or ()) // DIGEST) if slot not in used]

    def gaps(self) -> list[tuple[int, int]]:
        """What no row names, as (start, length)."""
        found, end = [], 0
        for place in self.snapshot().places:
            if place.start > end:
                found.append((end, place.start - end))
            end = max(end, place.start + place.tokens)
        size = len(self.blocks or ())
        return [*found, (end, size - end)] if size > end else found

    def forget(self, late_ids: Iterable[int]) -> None:
        """Drop rows: their pages are missing again."""
        with self._db.transaction() as db:
            db.executemany("DELETE FROM late_pages WHERE late_id = ?", [(late_id,) for late_id in late_ids])

    def reload(self) -> None:
        """Believe nothing that is known."""
        self._known, self._seen, self._snapshot = {}, (-1, 0, 0), None

    def _refresh(self) -> None:
        """Read what the table has more or less than before."""
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
            self._known.update((row[0], Place(*row)) for row in more)
            if len(self._known) != count:
                query = "SELECT late_id FROM late_pages WHERE fingerprint = ?"
                left = {late_id for (late_id,) in db.execute(query, (self.fingerprint,))}
                self._known = {late_id: place for late_id, place in self._known.items() if late_id in left}
            self._seen = changes, count, newest
        self._snapshot = None
        self._follow()

    def _follow(self) -> None:
        """The file is the one that the newest row names."""
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

    def _readable(self, rows: np.ndarray) -> list[Place]:
        if self.blocks is None:
            return []
        name, dim, end = self.blocks.path.name, self.blocks.dim, len(rows)
        return [
            place
            for place in self._known.values()
            if place.file == name and place.dim == dim and place.start >= 0 and 0 < place.tokens <= end - place.start
        ]


def digest_name(fingerprint: str) -> str:
    """The file of a model's digests: it outlives that of its pages."""
    return f"{hashlib.blake2b(fingerprint.encode(), digest_size=8).hexdigest()}.p8"


def _arranged(places: list[Place], rows: np.ndarray, digests: np.ndarray) -> Snapshot:
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
