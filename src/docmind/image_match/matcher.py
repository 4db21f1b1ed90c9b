"""The search of pages by a picture: marks, votes, then comparison with the most likely pages.

How well a picture and a page agree gives the probability that it shows the page. Two pages that cover different parts
of a picture are both in it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from docmind.config import ReadingSettings
from docmind.documents import IMAGE_SUFFIX, Catalog, PageList, artifact_of
from docmind.errors import CancelledError, DiskFullError, NotFoundError, ReadingError, VaultError
from docmind.image_match.client import Sight
from docmind.image_match.store import LookStore
from docmind.image_match.voting import Candidate, Index
from docmind.reading import PagePictures
from docmind.records.search import Comparison, Degraded, Filters, Quad, Sighting, Sightings
from docmind.runtime import Background, Clock
from docmind.storage import Database
from docmind.wording import _

FOUND = 0.5
# The threshold between a page and pages of other documents: 300 pictures of pages that are in the vault had a likeness
# of at least 0.54 with 15 or more agreeing marks; 300 of pages that are not, at most 0.59 with 12.
_LIKENESS, _SLOPE = 0.58, 14.0
_INLIERS, _WEIGHT = 13, 2.2
_FEW_BLOCKS = 4


def probability(compared: Comparison) -> float:
    """Return 0..1. It is limited for a picture with hardly any ink to compare, however well it agrees."""
    if not compared.quad:
        return 0.0
    evidence = _SLOPE * (compared.likeness - _LIKENESS)
    evidence += _WEIGHT * (math.log1p(compared.inliers) - math.log1p(_INLIERS))
    chance = 1.0 / (1.0 + math.exp(-evidence))
    return round(min(chance, 0.4) if compared.blocks < _FEW_BLOCKS else chance, 4)


Cover = tuple[float, float, float, float]
"""Left, top, right and bottom on the picture, 0..1 each way."""

_SHARED = 0.2  # of the smaller cover: boxes of adjacent pages on a crooked photograph overlap at a corner
_LEAST = 0.02  # of the picture; a smaller part is no page


def cover_of(quad: Quad, page_size: tuple[int, int]) -> Cover | None:
    """Return the box on the picture that the page covers; `quad` is the picture on the page. None if there is none."""
    if len(quad) != 4:
        return None
    rows, sums = [], []
    for (u, v), (x, y) in zip(
        ((0, 0), (1, 0), (1, 1), (0, 1)), quad, strict=True
    ):  # the picture's corners, by its sides
        rows += [[u, v, 1, 0, 0, 0, -u * x, -v * x], [0, 0, 0, u, v, 1, -u * y, -v * y]]
        sums += [x, y]
    try:
        matrix = np.append(np.linalg.solve(np.array(rows, float), np.array(sums, float)), 1.0).reshape(3, 3)
        width, height = page_size
        page = np.array([[0, 0, 1], [width, 0, 1], [width, height, 1], [0, height, 1]], float)
        seen = page @ np.linalg.inv(matrix).T
    except np.linalg.LinAlgError:  # corners on one line
        return None
    if not np.isfinite(seen).all() or (np.sign(seen[:, 2]) != np.sign(seen[0, 2])).any() or not seen[:, 2].all():
        return None  # a page that reaches beyond the horizon
    corners = np.clip(seen[:, :2] / seen[:, 2:], 0.0, 1.0)
    (left, top), (right, bottom) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    return (left, top, right, bottom) if (right - left) * (bottom - top) >= _LEAST else None


def are_apart(one: Cover, other: Cover) -> bool:
    """Return whether two covers share almost nothing of the picture."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    least = min((each[2] - each[0]) * (each[3] - each[1]) for each in (one, other))
    return max(across, 0.0) * max(down, 0.0) <= _SHARED * least


_COMPARED = 8  # candidates that are compared with the picture at most
_CERTAIN, _BEHIND = 0.99, 0.4  # with a certain page, candidates below this share of its votes are not compared
_CANDIDATES = 40
_ALIKE = 0.95  # of the best page's likeness: a less similar page of the same template is not reported for its place
_NOT_COMPARED = Comparison(0.0, 0, 0, ())


@dataclass(slots=True)
class _Known:
    """The index, the images of its pages, and the state of the table from which both were made."""

    index: Index = field(default_factory=Index)
    images: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    state: tuple[int, int] = (0, 0)
    damaged: int = 0


def _unprepared(missing: int) -> str:
    pages = "1 page" if missing == 1 else f"{missing:,} pages"
    return _("Still preparing {pages} for picture search; this may be among them.").format(pages=pages)


class ImageMatcher:
    """Search of pages by a picture. Thread-safe: searches wait for each other, but not for `catch_up`.

    The index is in memory, from the first search or `follow` on; the vault holds the data it is built from.
    """

    def __init__(self, settings: ReadingSettings, database: Database, catalog: Catalog, pictures: PagePictures) -> None:
        self._catalog, self._pictures = catalog, pictures
        self._store, self._pages = LookStore(database), PageList(database)
        self._sight, self._reading = Sight(settings), Sight(settings)
        self._lock = threading.Lock()
        self._catching_up = threading.Lock()
        self._known = _Known()
        self._follower = Background("lookalike", "Looking at pages was ended.")

    def search(
        self, picture: bytes, *, k: int = 8, filters: Filters = Filters(), name: str = "The picture"
    ) -> Sightings:
        """Return the pages that `picture` may show, at most `k`. `name` is its name in error messages.

        Raises `EmptyFileError`, `UnsupportedFileError`, `CorruptFileError`, `TooLargeError`, `ReaderFailedError`.
        """
        clock = Clock()
        with self._sight.lock, ThreadPoolExecutor(1, "lookalike-index") as loader:
            loading = loader.submit(self._current)  # at the first search it takes as long as the start of the process
            query, size = self._sight.look(picture, name)
            clock.lap("marks")
            known = loading.result()
            clock.lap("index")
            names = self._pages.names(filters)
            allowed = self._allowed(known, filters, names)
            candidates = known.index.candidates(query, size, max(_CANDIDATES, k), allowed)
            clock.lap("votes")
            ranked = self._compare(candidates, known)
            clock.lap("compare")
        hits = self._hits(ranked, filters, names, k)
        missing = self._store.count_missing()
        degraded = (Degraded("unprepared", _unprepared(missing)),) if missing else ()
        if known.damaged:
            degraded += (
                Degraded(
                    "lookalike",
                    _("{damaged} pages are left out, because what was prepared of them is damaged.").format(
                        damaged=known.damaged
                    ),
                ),
            )
        return Sightings(hits, any(hit.found for hit in hits), degraded, clock.timings())

    def keep(self, marks: Mapping[str, bytes]) -> None:
        """Store the marks that were made of page images while they were read, by image; empty ones are made later.

        Call it in the transaction that stores the pages.
        """
        self._store.put_all({image: packed for image, packed in marks.items() if packed})

    def check_image(self, image: bytes) -> None:
        """Decode a page image in the process of marks. Raises `ReadingError` where that fails."""
        self._reading.page(image)

    def missing(self) -> int:
        """Return how many page images have no marks yet."""
        return self._store.count_missing()

    def catch_up(
        self, report: Callable[[int, int], None] | None = None, check: Callable[[], None] = lambda: None
    ) -> int:
        """Extract marks of the page images that have none; return their number. `check` may raise to stop it.

        A page whose image cannot be opened or read is skipped, and tried again next time.
        """
        with self._catching_up:
            images = self._store.missing()
            for done, image in enumerate(images, 1):
                check()
                try:
                    page = self._pictures.to_look_at(artifact_of(image, IMAGE_SUFFIX))
                    self._store.put(image, self._reading.page(page))
                except (NotFoundError, ReadingError, VaultError) as error:
                    if isinstance(error, DiskFullError):
                        raise
                if report:
                    report(done, len(images))
            return len(images)

    def warm(self) -> None:
        """Load the index and start the process that reads pictures."""
        self._current()
        if self._known.images and not self._follower.is_closed:
            self._sight.warm()

    def follow(self) -> None:
        """Start catching up in the background, now and at each call of `wake`. Idempotent.

        The index is loaded first, and the process that reads pictures is started, so that no search waits for them.
        """
        self._follower.start(self._follow)

    def wake(self) -> None:
        """Tell the background thread that there are new pages."""
        self._follower.wake()

    def renew(self) -> None:
        """Catch up: in the background if `follow` was called, else in this thread."""
        self.wake()
        if not self._follower.is_started:
            self.catch_up()

    def close(self) -> None:
        """End the processes and the background thread. Idempotent."""
        self._follower.close()
        self._sight.close()
        self._reading.close()
        if self._follower.is_started:
            self._follower.join()
            self._sight.close()  # the thread may just have started it again
            self._reading.close()

    def _follow(self) -> None:
        with suppress(VaultError):
            self.warm()
        while not self._follower.is_closed:
            # A full disk, or a vault that is being closed: missing marks stay missing, and every search reports them.
            with suppress(VaultError, CancelledError):
                self.catch_up(check=self._follower.check)
                self._current()
            self._follower.sleep()

    def _current(self) -> _Known:
        """Return the index, updated with added and deleted pages."""
        with self._lock:
            state = self._store.state()
            if state != self._known.state:
                self._known = self._renewed(self._known, state)
            return self._known

    def _renewed(self, old: _Known, state: tuple[int, int]) -> _Known:
        numbers = self._store.numbers()
        gone = [at for at, image in enumerate(old.images) if old.numbers[image] != numbers.get(image)]
        stayed = {image for image in old.images if old.numbers[image] == numbers.get(image)}
        packed = self._store.marks(image for image in numbers if image not in stayed)
        index = old.index.with_pages(list(packed.values()), np.array(gone, int))
        images = [*(image for image in old.images if image in stayed), *packed]
        damaged = len(numbers) - len(images)
        return _Known(index, images, {image: numbers[image] for image in images}, state, damaged)

    def _allowed(self, known: _Known, filters: Filters, names: dict[str, str]) -> np.ndarray | None:
        """Return which pages of the index may be found; None where all may."""
        images = self._pages.allowed(filters, names)
        return None if images is None else np.array([image in images for image in known.images], bool)

    def _compare(self, candidates: list[Candidate], known: _Known) -> list[tuple[float, str, Comparison]]:
        """Return candidates with their probability and image, best first; after them those that were not compared."""
        ranked: list[tuple[float, str, Comparison]] = []
        best, votes = 0.0, 0.0
        for place, candidate in enumerate(candidates):
            image, compared = known.images[candidate.page], _NOT_COMPARED
            if place < _COMPARED and not (best >= _CERTAIN and candidate.votes < _BEHIND * votes):
                with suppress(NotFoundError, VaultError):  # deleted meanwhile, or damaged: there is no image to compare
                    page = self._pictures.to_look_at(artifact_of(image, IMAGE_SUFFIX))
                    compared = self._sight.compare(page, candidate.pairs)
            chance = probability(compared)
            if chance > best:
                best, votes = chance, candidate.votes
            ranked.append((chance, image, compared))
        return sorted(ranked, key=lambda one: (-round(one[0], 2), -one[2].likeness))

    def _hits(
        self, ranked: list[tuple[float, str, Comparison]], filters: Filters, names: dict[str, str], k: int
    ) -> tuple[Sighting, ...]:
        hits: list[Sighting] = []
        covers: list[Cover | None] = []
        likest = ranked[0][2].likeness if ranked else 0.0
        for chance, image, compared in ranked:
            places = [place for place in self._pages.places_of(image) if place[0] in names]
            for page in self._catalog.pages(places).values():
                if filters.languages and page.language not in filters.languages:
                    continue
                found = chance >= FOUND
                if found and compared.likeness < _ALIKE * likest:
                    cover = cover_of(compared.quad, (page.width, page.height))
                    found = cover is not None and all(other is not None and are_apart(cover, other) for other in covers)
                if found:
                    covers.append(cover_of(compared.quad, (page.width, page.height)))
                hits.append(
                    Sighting(
                        rank=len(hits) + 1,
                        score=chance,
                        found=found,
                        document=names[page.doc_id],
                        doc_id=page.doc_id,
                        page_no=page.page_no,
                        page_id=page.page_id,
                        page_width=page.width,
                        page_height=page.height,
                        image=page.image,
                        thumbnail=page.thumbnail,
                        quad=compared.quad,
                        inliers=compared.inliers,
                    )
                )
            if len(hits) >= k:
                break
        return tuple(hits[:k])
