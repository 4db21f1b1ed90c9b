"""An index in memory of the marks of all pages, and votes for the pages on which the marks of a picture agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from docmind.picture_marks import KEY_BITS, KINDS, RUN, SHEET, SPOT, PackedMarks, PictureMarks, keys_of, probes_of

_FARTHEST = 13  # bits of 64 in which two codes of one place may differ
_BUCKET = 3_000  # marks under one key that are compared: more add no information
_AT_ONCE = 120_000  # comparisons in one pass: 1 MB of codes
_PAGES = 80  # whose matches are checked for agreement
_MATCHES = 200  # of one page
_TABLE = 30_000_000  # marks times pages that are counted in a table; for more, it would be too large
# The weight of a match of each kind, and the tolerance of its size, angle and place.
_WEIGHT = {RUN: 1.0, SPOT: 0.5, SHEET: 1.0}
_SIZE, _ANGLE, _PLACE = 0.22, 0.13, 0.08  # natural logarithm; radians; of the picture's diagonal


@dataclass(frozen=True, slots=True)
class Candidate:
    """A page as a number of the index, its votes, and the matches: float32 `(n, 8)`, picture ends then page ends."""

    page: int
    votes: float
    pairs: np.ndarray


class Index:
    """Marks ordered by their keys. Immutable: `with_pages` makes another index. 20 bytes per mark.

    Pages are numbered in the order in which they were added.
    """

    def __init__(self, pages: Sequence[bytes] = ()) -> None:
        """Build the index of these pages' packed marks. Raises `DamagedError`."""
        marks = PackedMarks.of(pages)
        self.pages = len(pages)
        numbers = np.repeat(np.arange(self.pages, dtype=np.int32), marks.counts.sum(axis=1))
        self._build(marks.codes, numbers, marks.places, marks.kinds)

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def nbytes(self) -> int:
        """The size in memory, in bytes."""
        return sum(one.nbytes for one in (self._codes, self._page, self._places, self._kinds, self._starts))

    def with_pages(self, pages: Sequence[bytes], without: np.ndarray) -> Index:
        """Return another index without the pages numbered `without`, and with new ones at the end.

        The remaining pages keep their order and are renumbered without gaps.
        """
        if not self.pages:
            return Index(pages)
        stays = np.ones(self.pages, bool)
        stays[without] = False
        numbers = (np.cumsum(stays) - 1).astype(np.int32)
        old, new = stays[self._page], Index(pages)
        made = Index()
        made.pages = int(stays.sum()) + new.pages
        made._build(
            np.concatenate([self._codes[old], new._codes]),
            np.concatenate([numbers[self._page[old]], new._page + np.int32(stays.sum())]),
            np.concatenate([self._places[old], new._places]),
            np.concatenate([self._kinds[old], new._kinds]),
        )
        return made

    def _build(self, found: np.ndarray, page: np.ndarray, places: np.ndarray, kinds: np.ndarray) -> None:
        keys = keys_of(found)
        members = [np.nonzero(kinds == kind)[0] for kind in range(KINDS)]
        # Keys of 16 bits are sorted in a few passes; together with the kind they would not be.
        order = np.concatenate([some[np.argsort(keys[some], kind="stable")] for some in members])
        self._codes, self._page, self._places, self._kinds = found[order], page[order], places[order], kinds[order]
        counts = np.concatenate([np.bincount(keys[some], minlength=1 << KEY_BITS) for some in members])
        self._starts = np.concatenate([[0], np.cumsum(counts)])

    def candidates(
        self, query: PictureMarks, size: tuple[int, int], most: int, allowed: np.ndarray | None
    ) -> list[Candidate]:
        """Return the pages that agree best with a picture of `size` (width, height), by votes.

        `allowed` says for each page whether it may be found; None allows all.
        """
        mine, theirs, bits = self._matches(query, allowed)
        if not len(mine):
            return []
        each = np.array([_WEIGHT[kind] for kind in range(KINDS)])[query.kinds]
        each /= np.sqrt(np.maximum(np.bincount(mine, minlength=len(query)), 1))  # frequent marks tell little
        weight = each[mine] * (_FARTHEST + 1 - bits)
        page = self._page[theirs]
        total = self._total(mine, page, weight, len(query))
        chosen = np.argsort(-total)[:_PAGES]
        # Of millions of matches, only a few are on the chosen pages.
        is_chosen = np.zeros(self.pages, bool)
        is_chosen[chosen] = True
        kept = np.nonzero(is_chosen[page])[0]
        mine, page, weight = mine[kept], page[kept], weight[kept]
        pairs = np.hstack([query.places[mine], self._places[theirs[kept]].astype(np.float32) / 8])
        order = np.argsort(page, kind="stable")
        starts = np.searchsorted(page[order], np.arange(self.pages + 1))
        found = []
        for number in chosen[total[chosen] > 0]:
            members = order[starts[number] : starts[number + 1]]
            if len(members) > _MATCHES:
                members = members[np.argsort(-weight[members], kind="stable")[:_MATCHES]]
            agreeing = members[_agreeing(pairs[members], weight[members], size)]
            once = agreeing[np.unique(mine[agreeing], return_index=True)[1]]
            found.append(Candidate(int(number), float(weight[once].sum()), pairs[once]))
        return sorted(found, key=lambda one: -one.votes)[:most]

    def _total(self, mine: np.ndarray, page: np.ndarray, weight: np.ndarray, marks: int) -> np.ndarray:
        """Return the votes of each page: one per mark, because a row of dots matches every other row of dots on it."""
        votes = mine * np.int64(self.pages) + page
        if marks * self.pages > _TABLE:
            single = np.unique(votes, return_index=True)[1]
            return np.bincount(page[single], weight[single], self.pages)
        table = np.zeros(marks * self.pages, np.float32)
        table[votes[::-1]] = weight[::-1]  # of several, the first one remains
        return table.reshape(marks, self.pages).sum(axis=0, dtype=np.float64)

    def _matches(self, query: PictureMarks, allowed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the numbers of similar marks of the query and of the index, and by how many bits they differ.

        Three arrays of one length: int32, int32, uint8.
        """
        assert query.numbers is not None
        found = []
        for kind in range(KINDS):
            members = np.nonzero(query.kinds == kind)[0].astype(np.int32)
            probes = probes_of(query.numbers[members]) + (kind << KEY_BITS)
            first = self._starts[probes].astype(np.int32)
            count = np.minimum(self._starts[probes + 1] - first, _BUCKET).astype(np.int32)
            # A few marks of the query at a time: what is compared stays in the processor's cache.
            parts = np.cumsum(count.sum(axis=1)) // _AT_ONCE
            cuts = [0, *(np.nonzero(np.diff(parts))[0] + 1), len(members)]
            for start, end in pairwise(cuts):
                found.append(self._similar(query, members[start:end], first[start:end], count[start:end], allowed))
        mine, theirs, bits = zip(*found, strict=True)
        return np.concatenate(mine), np.concatenate(theirs), np.concatenate(bits)

    def _similar(
        self, query: PictureMarks, members: np.ndarray, first: np.ndarray, count: np.ndarray, allowed: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compare marks of the query with those of the index from `first` on, `count` of them: int32 `(n, probes)`."""
        each, before = count.sum(axis=1), np.cumsum(count) - count.ravel()
        where = np.arange(each.sum(), dtype=np.int32) + np.repeat(
            first.ravel() - before.astype(np.int32), count.ravel()
        )
        differ = np.bitwise_count(self._codes[where] ^ np.repeat(query.codes[members], each))
        near = np.nonzero(differ <= _FARTHEST)[0]
        if allowed is not None:
            near = near[allowed[self._page[where[near]]]]
        who = np.searchsorted(np.cumsum(each), near, side="right")
        return members[who], where[near], differ[near]


def _agreeing(pairs: np.ndarray, weight: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Return the heaviest set of one page's matches that agree on place, size and direction of the picture.

    Each match alone determines where the centre of the picture would be on the page.
    """
    start, end = pairs[:, 0] + 1j * pairs[:, 1], pairs[:, 2] + 1j * pairs[:, 3]
    there, there_end = pairs[:, 4] + 1j * pairs[:, 5], pairs[:, 6] + 1j * pairs[:, 7]
    along = np.where(end == start, 1.0, end - start)
    turn = np.where(there_end == there, 1e-6, there_end - there) / along
    middle = there + turn * (size[0] / 2 + 1j * size[1] / 2 - start)
    scale, angle = np.log(np.abs(turn)), np.angle(turn)
    near = np.abs(scale[:, None] - scale) < _SIZE
    apart = np.abs(angle[:, None] - angle)
    near &= np.minimum(apart, 2 * np.pi - apart) < _ANGLE
    near &= np.abs(middle[:, None] - middle) < _PLACE * np.abs(turn) * np.hypot(*size)
    best = int((near * weight).sum(axis=1).argmax())
    return np.nonzero(near[best])[0]
