"""From a picture to pages: marks, votes, then the likeliest pages laid over one by one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from docmind.artifacts import Artifacts
from docmind.catalog import Catalog
from docmind.config import ReadingSettings
from docmind.database import Database
from docmind.errors import CancelledError, DiskFullError, NotFoundError, ReadingError, VaultError
from docmind.lookalike.cover import Cover, are_apart, cover_of
from docmind.lookalike.judge import FOUND, probability
from docmind.lookalike.marks import Marks
from docmind.lookalike.sight import Sight
from docmind.lookalike.sighting import Comparison, Sighting, Sightings
from docmind.lookalike.store import LookStore
from docmind.lookalike.votes import Candidate, Index
from docmind.schema import ArtifactRef, Degraded, Filters

_SUFFIX = ".webp.enc"
_COMPARED = 8  # candidates that are laid over the picture at most
_CERTAIN, _BEHIND = 0.99, 0.4  # nobody is asked any more who has this share of the votes of a page that is certain
_CANDIDATES = 40
_ALIKE = 0.95  # of the likeness of the best page: one of the same template that is less like it was not shown there
_MODALITY = "pdf_page_image"
_NOT_COMPARED = Comparison(0.0, 0, 0, ())


@dataclass(slots=True)
class _Known:
    """The index, the images that its pages are, and the state of the table that both were made from."""

    index: Index = field(default_factory=Index)
    images: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    state: tuple[int, int] = (0, 0)


class Lookalike:
    """Finds pages by a picture. Safe from any thread: searches wait for each other, and not for `catch_up`.

    The index lives in memory, from the first search on or as soon as somebody follows; the vault holds what it is made
    of.
    """

    def __init__(self, settings: ReadingSettings, database: Database, catalog: Catalog, artifacts: Artifacts) -> None:
        self._catalog, self._artifacts, self._store = catalog, artifacts, LookStore(database)
        self._sight, self._reading = Sight(settings), Sight(settings)
        self._lock = threading.Lock()
        self._catching_up = threading.Lock()
        self._known = _Known()
        self._follower: threading.Thread | None = None
        self._news, self._closed = threading.Event(), threading.Event()

    def search(
        self, picture: bytes, *, k: int = 8, filters: Filters = Filters(), name: str = "The picture"
    ) -> Sightings:
        """The pages that `picture` may be of, at most `k`. `name` is what errors call it.

        Raises `EmptyFileError`, `UnsupportedFileError`, `CorruptFileError`, `TooLargeError`, `ReaderFailedError`.
        """
        started = at = time.perf_counter()
        timings: list[tuple[str, float]] = []

        def told(stage: str) -> None:
            nonlocal at
            now = time.perf_counter()
            timings.append((stage, (now - at) * 1000))
            at = now

        with self._sight.lock:
            query, size = self._sight.look(picture, name)
            told("marks")
            known = self._current()
            told("index")
            candidates = known.index.candidates(query, size, max(_CANDIDATES, k), self._allowed(known, filters))
            told("votes")
            ranked = self._compare(candidates, known)
            told("compare")
        hits = self._hits(ranked, filters, k)
        missing = len(self._store.missing())
        degraded = (Degraded("lookalike", f"{missing} page images have not been looked at yet"),) if missing else ()
        timings.append(("total", (time.perf_counter() - started) * 1000))
        return Sightings(hits, any(hit.found for hit in hits), degraded, tuple(timings))

    def missing(self) -> int:
        """How many page images have not been looked at yet."""
        return len(self._store.missing())

    def catch_up(
        self, report: Callable[[int, int], None] | None = None, check: Callable[[], None] = lambda: None
    ) -> int:
        """Look at the page images that have no marks yet; returns how many there were. `check` may raise to stop it.

        A page whose image cannot be opened or read is left out, and tried again next time.
        """
        with self._catching_up:
            images = self._store.missing()
            for done, image in enumerate(images, 1):
                check()
                try:
                    self._store.put(image, self._reading.page(self._artifacts.get(ArtifactRef(image, _SUFFIX))))
                except (NotFoundError, ReadingError, VaultError) as error:
                    if isinstance(error, DiskFullError):
                        raise
                if report:
                    report(done, len(images))
            return len(images)

    def warm(self) -> None:
        """Load the index and start the process that looks at pictures."""
        self._current()
        if self._known.images and not self._closed.is_set():
            self._sight.warm()

    def follow(self) -> None:
        """Catch up in the background from now on, now and whenever `wake` is called. Harmless twice.

        The index is loaded first, and the process that looks at pictures is started: no search waits for them then.
        """
        with self._lock:
            if self._follower is None and not self._closed.is_set():
                self._follower = threading.Thread(target=self._follow, name="lookalike", daemon=True)
                self._follower.start()

    def wake(self) -> None:
        """Pages have come: who follows looks at them."""
        self._news.set()

    def renew(self) -> None:
        """Catch up: in the background where that goes on anyway, else here and now."""
        self.wake()
        if self._follower is None:
            self.catch_up()

    def close(self) -> None:
        """End the processes and the background work. Harmless twice."""
        self._closed.set()
        self._news.set()
        self._sight.close()
        self._reading.close()
        if self._follower is not None:
            self._follower.join()
            self._sight.close()  # which it may have started again in this moment
            self._reading.close()

    def _follow(self) -> None:
        with suppress(VaultError):
            self.warm()
        while not self._closed.is_set():
            self._news.clear()
            # A full disk, or a vault that is being closed: what is missing stays so, and every search says it.
            with suppress(VaultError, CancelledError):
                self.catch_up(check=self._check_open)
                self._current()
            self._news.wait()

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise CancelledError("Looking at pages was ended.")

    def _current(self) -> _Known:
        """The index with what has come and gone since the last time."""
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
        index = old.index.with_pages([Marks.unpack(marks) for marks in packed.values()], np.array(gone, int))
        images = [*(image for image in old.images if image in stayed), *packed]
        return _Known(index, images, {image: numbers[image] for image in images}, state)

    def _allowed(self, known: _Known, filters: Filters) -> np.ndarray | None:
        """Which pages of the index may be found; None where all may."""
        if not (filters.doc_ids or filters.languages or filters.tags or filters.modalities):
            return None
        if filters.modalities and _MODALITY not in filters.modalities:
            return np.zeros(known.index.pages, bool)
        images = self._store.images_of(self._documents(filters), filters.languages)
        return np.array([image in images for image in known.images], bool)

    def _documents(self, filters: Filters) -> dict[str, str]:
        """Names of the documents that are ready and pass the filters, by id."""
        return {
            info.doc_id: info.document
            for info in self._catalog.documents()
            if info.status == "ready"
            and (not filters.doc_ids or info.doc_id in filters.doc_ids)
            and (not filters.tags or not set(filters.tags).isdisjoint(info.tags))
        }

    def _compare(self, candidates: list[Candidate], known: _Known) -> list[tuple[float, str, Comparison]]:
        """Candidates with their probability and image, the likeliest first; behind them those not worth comparing."""
        ranked: list[tuple[float, str, Comparison]] = []
        best, votes = 0.0, 0.0
        for place, candidate in enumerate(candidates):
            image, compared = known.images[candidate.page], _NOT_COMPARED
            if place < _COMPARED and not (best >= _CERTAIN and candidate.votes < _BEHIND * votes):
                with suppress(NotFoundError, VaultError):  # deleted meanwhile, or damaged: there is no image to show
                    page = self._artifacts.get(ArtifactRef(image, _SUFFIX))
                    compared = self._sight.compare(page, candidate.pairs)
            chance = probability(compared)
            if chance > best:
                best, votes = chance, candidate.votes
            ranked.append((chance, image, compared))
        return sorted(ranked, key=lambda one: (-round(one[0], 2), -one[2].likeness))

    def _hits(self, ranked: list[tuple[float, str, Comparison]], filters: Filters, k: int) -> tuple[Sighting, ...]:
        names = self._documents(filters)
        hits: list[Sighting] = []
        covers: list[Cover | None] = []
        likest = ranked[0][2].likeness if ranked else 0.0
        for chance, image, compared in ranked:
            places = [place for place in self._store.places_of(image) if place[0] in names]
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
                        quad=compared.quad,
                        inliers=compared.inliers,
                    )
                )
            if len(hits) >= k:
                break
        return tuple(hits[:k])
