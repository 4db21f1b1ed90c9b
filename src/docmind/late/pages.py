"""Multivectors of page images: int8 in files beside the vault, scored by MaxSim.

    data/late/<generation>.i8     rows of one model's dimension, page behind page; which page lies where is in vault.db
    data/late/<model>.p8          digests of the pages, where there are many

Vectors are turned by a key of the vault before they are kept, and so are questions: products stay what they were, and
the files say nothing to who has not the key. They are derived from page images. A page whose bytes are gone, cut off or
not those that were put is missing again.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from docmind.database import Database
from docmind.embed.visual import PagePatches
from docmind.errors import NotFoundError, VaultError, VisualModelError
from docmind.late import grid, prefetch
from docmind.late.int8 import finite, page_int8, query_int8
from docmind.late.kernels import Kernel, NumpyKernel, choose
from docmind.late.shelf import Shelf, Snapshot
from docmind.late.sweep import sweep

EXACT_PAGES = 20_000  # up to here every page is scored; above, those whose digests fit best
SHARE = 50  # one page of so many is scored as it is then
RESCORED = 20  # the first pages are scored again by the question as it is, not as int8
FEW_TOKENS = 300_000  # numpy scores these in 30 ms: no other kernel is loaded for them
_INSERT = """INSERT OR REPLACE INTO late_pages
    (image, fingerprint, file, start, tokens, dim, step, checksum, rows, cols, patches)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 WHERE EXISTS (SELECT 1 FROM pages WHERE image = ?1)"""


class LatePages:
    """Keeps and scores them. Any thread may call anything: writers wait for each other, and searches for none of them.

    `turn` is a keyed rotation of `(n, dim)` float32. `min_free_mb` is the room that must stay free on the disk. What
    writes is not called inside a transaction of the vault.
    """

    def __init__(
        self,
        folder: Path,
        database: Database,
        turn: Callable[[np.ndarray], np.ndarray],
        *,
        min_free_mb: int = 200,
    ) -> None:
        self._folder, self._db, self._turn = folder, database, turn
        self._min_free = min_free_mb << 20
        self._shelves: dict[str, Shelf] = {}
        self._writing = threading.RLock()  # held while files change; then the database's lock, and then:
        self._lock = threading.RLock()  # guards the shelves, for moments
        self._sound: set[int] = set()  # rows whose bytes were checked

    def put(self, fingerprint: str, image: str, patches: PagePatches) -> None:
        """Keep one page, in place of what was kept of it; on the disk when this returns.

        Nothing is kept of an image that no page shows. Raises `VisualModelError`, `DiskFullError`, `VaultError`.
        """
        self.put_many(fingerprint, {image: patches})

    def put_many(self, fingerprint: str, pages: Mapping[str, PagePatches]) -> None:
        """Keep several pages of one model, all or none. Raises as `put` does."""
        cells = {image: grid.packed(patches) for image, patches in pages.items()}
        made = {image: page_int8(self._turn(finite(patches.vectors))) for image, patches in pages.items()}
        if not made:
            return
        dim = next(iter(made.values()))[0].shape[1]
        if any(not len(rows) or rows.shape[1] != dim for rows, _ in made.values()):
            raise VisualModelError("A model gave no vectors for a page, or vectors of another length than before.")
        with self._writing:
            self._make_folder()
            with self._db.reading(), self._lock:
                shelf = self._shelf(fingerprint)
                lost = [(late_id,) for late_id in shelf.lost()]
            values = []
            for image, (rows, step) in made.items():
                with self._db.reading(), self._lock:
                    blocks = shelf.open_for(dim)
                    start = shelf.take(len(rows))
                blocks.write(start, rows)
                place = (blocks.path.name, start, *rows.shape, step, zlib.crc32(rows.data))
                values.append((image, fingerprint, *place, pages[image].rows, pages[image].cols, cells[image]))
            with self._db.transaction() as db:
                # Rows that pointed beyond the file would now point into what was written there.
                db.executemany("DELETE FROM late_pages WHERE late_id = ?", lost)
                db.executemany(_INSERT, values)
            prefetch.keep_up(shelf, self._db, self._lock)

    def count(self, fingerprint: str) -> int:
        """How many pages of a model can be searched."""
        return len(self._snapshot(fingerprint).places)

    def missing(self, fingerprint: str, images: Iterable[str]) -> list[str]:
        """Those of `images` that a model has not seen, or of which what it saw is gone; each once, in order."""
        at = self._snapshot(fingerprint).at
        return [image for image in dict.fromkeys(images) if image not in at]

    def fingerprints(self) -> dict[str, int]:
        """The models that have seen pages, and how many of them can be searched."""
        names = self._db.all("SELECT DISTINCT fingerprint FROM late_pages ORDER BY fingerprint")
        return {name: self.count(name) for (name,) in names}

    def drop(self, fingerprint: str) -> None:
        """Forget what a model saw, and take its file away."""
        with self._writing:
            with self._db.transaction() as db, self._lock:
                db.execute("DELETE FROM late_pages WHERE fingerprint = ?", (fingerprint,))
                self._shelves.pop(fingerprint, None)
            self.sweep()

    def sweep(self) -> int:
        """Zero what no page needs any more, so that it is used again; move pages together where most is free.

        Returns how many bytes are free or were given back. Raises `DiskFullError`, `VaultError`; nothing is lost then.
        """
        with self._writing:
            with self._db.reading() as db, self._lock:
                names = [name for (name,) in db.execute("SELECT DISTINCT fingerprint FROM late_pages").fetchall()]
                shelves = [self._shelf(name) for name in dict.fromkeys([*names, *self._shelves])]
            return sweep(self._folder, self._db, shelves, self._lock)

    def bytes(self) -> int:
        """The size of all files."""
        return sum(path.stat().st_size for path in self._folder.glob("*.[ip]8"))

    def search(
        self, fingerprint: str, query: np.ndarray, limit: int, allowed: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Images with their MaxSim, best first: the sum over the question's vectors `(n, dim)` of the best product.

        Only those of `allowed`, where that is given. Raises `VisualModelError` where the vectors are of another length.
        """
        while True:
            snapshot = self._snapshot(fingerprint)
            wanted = _wanted(snapshot, allowed)
            if limit < 1 or not len(wanted) or not len(query):
                return []
            turned = self._turned(query, snapshot)
            rows, steps = query_int8(turned)
            if len(wanted) > EXACT_PAGES:
                kernel, count = choose(rows.shape[1]).kernel, max(len(wanted) // SHARE, 10 * limit)
                wanted = prefetch.candidates(snapshot, wanted, rows, steps, kernel, count)
            scores = _scores(snapshot, wanted, rows, steps)
            first = _best(scores, max(limit, RESCORED))
            scores[first[:RESCORED]] = _rescored(snapshot, wanted[first[:RESCORED]], turned)
            best = first[_best(scores[first], limit)]
            found = wanted[best].tolist()
            if self._are_sound(fingerprint, snapshot, found):
                pairs = zip(found, scores[best].tolist(), strict=True)
                return [(snapshot.places[number].image, score) for number, score in pairs]

    def score(self, fingerprint: str, query: np.ndarray, images: Collection[str]) -> dict[str, float]:
        """MaxSim of these images, by the question as it is; those that the model has not seen are left out.

        Raises as `search` does.
        """
        while True:
            snapshot = self._snapshot(fingerprint)
            wanted = _wanted(snapshot, images)
            if not len(wanted) or not len(query):
                return {}
            turned, found = self._turned(query, snapshot), wanted.tolist()
            if self._are_sound(fingerprint, snapshot, found):
                pairs = zip(found, _rescored(snapshot, wanted, turned).tolist(), strict=True)
                return {snapshot.places[number].image: score for number, score in pairs}

    def similarity(self, fingerprint: str, query: np.ndarray, image: str) -> np.ndarray:
        """How like each patch of a page each of the question's vectors is: `(n, rows, cols)` float32.

        Raises `NotFoundError` where the model has not seen the page, `VisualModelError`.
        """
        vectors, cells, rows, cols = self._page(fingerprint, image)
        turned = self._turn(finite(query))
        if turned.shape[1] != vectors.shape[1]:
            raise _other_length(turned.shape[1], vectors.shape[1])
        return grid.over(turned @ vectors.T, cells, rows, cols)

    def pooled(self, fingerprint: str, image: str) -> tuple[np.ndarray, np.ndarray]:
        """Means of the patches of each row `(rows, dim)` and of each column `(cols, dim)`, float32, as they are turned.

        Tokens that look at no patch are left out. Raises `NotFoundError`.
        """
        vectors, cells, rows, cols = self._page(fingerprint, image)
        seen = cells >= 0
        by_row, by_col = np.where(seen, cells // cols, -1), np.where(seen, cells % cols, -1)
        return grid.means(vectors, by_row, rows), grid.means(vectors, by_col, cols)

    def originals(self, fingerprint: str, image: str) -> np.ndarray:
        """`(tokens, dim)` float32, turned, as exactly as they are kept. Raises `NotFoundError`."""
        return self._page(fingerprint, image)[0]

    def warm(self) -> None:
        """Do what the first search would do: read the table, choose a kernel, map the files."""
        for fingerprint in self.fingerprints():
            snapshot = self._snapshot(fingerprint)
            if len(snapshot.places):
                _kernel(snapshot, snapshot.lengths)

    def close(self) -> None:
        """Let go of the files. What is called later opens them again, as long as the vault is open."""
        with self._writing, self._lock:
            self._shelves.clear()

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise VaultError(f"{self._folder.name} cannot be used as a folder: {error.strerror}.") from error

    def _turned(self, query: np.ndarray, snapshot: Snapshot) -> np.ndarray:
        turned = self._turn(finite(query))
        if turned.shape[1] != snapshot.rows.shape[1]:
            raise _other_length(turned.shape[1], snapshot.rows.shape[1])
        return turned

    def _shelf(self, fingerprint: str) -> Shelf:
        if fingerprint not in self._shelves:
            self._shelves[fingerprint] = Shelf(self._folder, self._db, fingerprint, min_free=self._min_free)
        return self._shelves[fingerprint]

    def _snapshot(self, fingerprint: str) -> Snapshot:
        with self._db.reading(), self._lock:
            return self._shelf(fingerprint).snapshot()

    def _are_sound(self, fingerprint: str, snapshot: Snapshot, numbers: Sequence[int]) -> bool:
        """Whether these pages hold what was put; those that do not are missing from now on."""
        rotten = []
        for number in numbers:
            late_id = snapshot.places[number].late_id
            if late_id not in self._sound:
                if snapshot.is_sound(number):
                    self._sound.add(late_id)
                else:
                    rotten.append(late_id)
        if rotten:
            with self._db.reading(), self._lock:
                self._shelf(fingerprint).forget(rotten)
        return not rotten

    def _page(self, fingerprint: str, image: str) -> tuple[np.ndarray, np.ndarray, int, int]:
        """Its vectors, the cell of each, and the grid."""
        snapshot = self._snapshot(fingerprint)
        number = snapshot.at.get(image)
        if number is not None and self._are_sound(fingerprint, snapshot, [number]):
            place = snapshot.places[number]
            row = self._db.one("SELECT patches, rows, cols FROM late_pages WHERE late_id = ?", (place.late_id,))
            if row:
                return snapshot.tokens(number) * np.float32(place.step), grid.unpacked(row[0]), row[1], row[2]
        raise NotFoundError("The model has not looked at this page yet.", hint="Run `docmind embed --model NAME DOC`.")


def _wanted(snapshot: Snapshot, allowed: Collection[str] | None) -> np.ndarray:
    """Numbers of pages, in the order in which they lie."""
    if allowed is None:
        return np.arange(len(snapshot.places))
    return np.array(sorted({snapshot.at[image] for image in allowed if image in snapshot.at}), np.int64)


def _scores(snapshot: Snapshot, wanted: np.ndarray, rows: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """`(len(wanted),)` float64: MaxSim by the question as int8."""
    lengths = snapshot.lengths[wanted]
    best = _kernel(snapshot, lengths).best(rows, snapshot.rows, snapshot.starts[wanted], lengths)
    return (best * steps).sum(axis=1) * snapshot.steps[wanted]


def _rescored(snapshot: Snapshot, numbers: np.ndarray, turned: np.ndarray) -> np.ndarray:
    """`(len(numbers),)` float64: MaxSim by the question as it is.

    Not by a matrix product: threads of BLAS would wait busily for the next one, and the next search for a core.
    """
    found = []
    for number in numbers.tolist():
        products = np.einsum("td,qd->qt", snapshot.tokens(number).astype(np.float32), turned)
        found.append(products.max(axis=1).sum(dtype=np.float64))
    return np.array(found) * snapshot.steps[numbers]


def _best(scores: np.ndarray, count: int) -> np.ndarray:
    """Where the highest are, best first; equals in the order in which they stand."""
    return np.argsort(-scores, kind="stable")[:count]


def _kernel(snapshot: Snapshot, lengths: np.ndarray) -> Kernel:
    few = int(lengths.sum()) <= FEW_TOKENS
    return NumpyKernel() if few else choose(snapshot.rows.shape[1]).kernel


def _other_length(given: int, kept: int) -> VisualModelError:
    return VisualModelError(f"The question's vectors have {given} numbers, those of the pages {kept}.")
