"""Multivectors of page images: int8 in files beside the vault, scored by MaxSim.

    data/late/<generation>.i8     rows of one model's dimension, page after page; the place of each page is in vault.db
    data/late/<model>.p8          digests of the pages, where there are many

Vectors are rotated by a key of the vault before they are stored, and so are questions: products do not change, and the
files reveal nothing without the key. They are derived from page images. A page whose bytes are missing, truncated or
do not match their checksum counts as missing.

The patches of a page form a grid: each token has a cell, and rows and columns have means.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from docmind.embedding import PagePatches
from docmind.errors import NotFoundError, VaultError, VisualModelError
from docmind.late_interaction import prefetch
from docmind.late_interaction.compaction import sweep
from docmind.late_interaction.known_kernels import KnownKernels
from docmind.late_interaction.layout import Shelf, Snapshot, digest_name
from docmind.late_interaction.maxsim import Kernel, NumpyKernel, choose
from docmind.late_interaction.quantize import finite, page_int8, query_int8
from docmind.storage import LATE, Database, own_files
from docmind.wording import _

_SIDE = 4_096  # cells: far more than any model has


def packed(patches: PagePatches) -> bytes:
    """Pack the cells of the tokens. Raises `VisualModelError` where they do not fit the vectors or the grid.

    Neighbours in a row are consecutive, so that nearly all differences are one.
    """
    cells = np.asarray(patches.patches, np.int32)
    rows, cols = int(patches.rows), int(patches.cols)
    fits = 0 < rows <= _SIDE and 0 < cols <= _SIDE and cells.shape == (len(patches.vectors),)
    if not fits or (len(cells) and not -1 <= cells.min() <= cells.max() < rows * cols):
        raise VisualModelError(_("A model gave patches that do not fit its grid."))
    return zlib.compress(np.diff(cells, prepend=0).astype("<i4").tobytes())


def unpacked(data: bytes) -> np.ndarray:
    """Return `(tokens,)` int32: the cell of each token, -1 where it has none."""
    return np.cumsum(np.frombuffer(zlib.decompress(data), "<i4"), dtype=np.int32)


def over(values: np.ndarray, cells: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """Map `(n, tokens)` values to the grid: `(n, rows, cols)` float32.

    A cell without a token has the smallest of all values.
    """
    seen = cells >= 0
    found = np.full((len(values), rows * cols), values.min(initial=0.0), np.float32)
    found[:, cells[seen]] = values[:, seen]
    return found.reshape(len(values), rows, cols)


def means(vectors: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    """Return the mean of the `(tokens, dim)` vectors of each group: `(count, dim)` float32; zeros for empty groups.

    `groups` `(tokens,)` gives the number of a token's group, -1 for none.
    """
    member = (groups == np.arange(count)[:, None]).astype(np.float32)
    return member @ vectors / np.maximum(member.sum(axis=1, keepdims=True), 1.0)


EXACT_PAGES = 20_000  # up to here every page is scored; above, those whose digests fit best
SHARE = 50  # above, one page of this many is scored directly
RESCORED = 20  # the best pages are scored again with the float32 question instead of int8
FEW_TOKENS = 300_000  # numpy scores these in 30 ms, so no other kernel is loaded for them
_INSERT = """INSERT OR REPLACE INTO late_pages
    (image, fingerprint, file, start, tokens, dim, step, checksum, rows, cols, patches)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 WHERE EXISTS (SELECT 1 FROM pages WHERE image = ?1)"""


class LatePages:
    """The stored multivectors and their search. Thread-safe: writers wait for each other, searches for no writer.

    `turn` is a keyed rotation of `(n, dim)` float32. `min_free_mb` is the space that must stay free on the disk. In
    `cache_dir`, where it is given, the fastest kernel of this machine is kept.
    Methods that write must not be called inside a transaction of the vault.
    """

    def __init__(
        self,
        folder: Path,
        database: Database,
        turn: Callable[[np.ndarray], np.ndarray],
        *,
        min_free_mb: int = 200,
        cache_dir: Path | None = None,
    ) -> None:
        self._folder, self._db, self._turn = folder, database, turn
        self._known = None if cache_dir is None else KnownKernels(cache_dir / "kernels.json")
        self._min_free = min_free_mb << 20
        self._shelves: dict[str, Shelf] = {}
        self._writing = threading.RLock()  # held while files change; then the database's lock, and then:
        self._lock = threading.RLock()  # guards the shelves, held briefly
        self._sound: set[int] = set()  # rows whose checksums were verified

    def put(self, fingerprint: str, image: str, patches: PagePatches) -> None:
        """Store one page, replacing an earlier version; it is on the disk when this returns.

        Images that no page shows are not stored. Raises `VisualModelError`, `DiskFullError`, `VaultError`.
        """
        self.put_many(fingerprint, {image: patches})

    def put_many(self, fingerprint: str, pages: Mapping[str, PagePatches]) -> None:
        """Store several pages of one model, all or none. Raises as `put` does."""
        cells = {image: packed(patches) for image, patches in pages.items()}
        made = {image: page_int8(self._turn(finite(patches.vectors))) for image, patches in pages.items()}
        if not made:
            return
        dim = next(iter(made.values()))[0].shape[1]
        if any(not len(rows) or rows.shape[1] != dim for rows, _step in made.values()):
            raise VisualModelError(_("A model gave no vectors for a page, or vectors of another length than before."))
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
                # Rows that pointed beyond the end of the file would now point into the new rows.
                db.executemany("DELETE FROM late_pages WHERE late_id = ?", lost)
                db.executemany(_INSERT, values)
            prefetch.keep_up(shelf, self._db, self._lock)

    def count(self, fingerprint: str) -> int:
        """Return how many pages of a model can be searched."""
        return len(self._snapshot(fingerprint).places)

    def missing(self, fingerprint: str, images: Iterable[str]) -> list[str]:
        """Return the `images` without readable vectors of this model; each once, in order."""
        at = self._snapshot(fingerprint).at
        return [image for image in dict.fromkeys(images) if image not in at]

    def fingerprints(self) -> dict[str, int]:
        """Return the models that have embedded pages, and how many of them can be searched."""
        names = self._db.all("SELECT DISTINCT fingerprint FROM late_pages ORDER BY fingerprint")
        return {name: self.count(name) for (name,) in names}

    def drop(self, fingerprint: str) -> None:
        """Delete the vectors of a model, and its file."""
        with self._writing:
            with self._db.transaction() as db, self._lock:
                db.execute("DELETE FROM late_pages WHERE fingerprint = ?", (fingerprint,))
                self._shelves.pop(fingerprint, None)
            self.sweep()

    def unsound(self, fingerprint: str, *, is_read: bool = False) -> list[str]:
        """Return the images whose vectors cannot be read; with `is_read`, also those that fail their checksum."""
        snapshot = self._snapshot(fingerprint)
        rows = self._db.all("SELECT image FROM late_pages WHERE fingerprint = ?", (fingerprint,))
        lost = {image for (image,) in rows if image not in snapshot.at}
        if is_read:
            lost |= {place.image for at, place in enumerate(snapshot.places) if not snapshot.is_sound(at)}
        return sorted(lost)

    def drop_pages(self, fingerprint: str, images: Iterable[str]) -> None:
        """Delete the vectors of these images: they are missing again."""
        with self._writing, self._db.transaction() as db, self._lock:
            db.executemany(
                "DELETE FROM late_pages WHERE fingerprint = ? AND image = ?", [(fingerprint, image) for image in images]
            )
            self._shelves.pop(fingerprint, None)

    def files(self) -> set[str]:
        """Return the names of the files that hold vectors of pages or their digests."""
        rows = self._db.all("SELECT DISTINCT file, fingerprint FROM late_pages")
        return {file for file, _fingerprint in rows} | {digest_name(fingerprint) for _file, fingerprint in rows}

    def sweep(self) -> int:
        """Zero unused space so that it is reused; rewrite files where most is unused.

        Returns how many bytes are free or were released. Raises `DiskFullError`, `VaultError`; nothing is lost then.
        """
        with self._writing:
            with self._db.reading() as db, self._lock:
                names = [name for (name,) in db.execute("SELECT DISTINCT fingerprint FROM late_pages").fetchall()]
                shelves = [self._shelf(name) for name in dict.fromkeys([*names, *self._shelves])]
            return sweep(self._folder, self._db, shelves, self._lock)

    def bytes(self) -> int:
        """Return the size of all files in bytes."""
        return sum(path.stat().st_size for path in own_files(self._folder, LATE))

    def search(
        self, fingerprint: str, query: np.ndarray, limit: int, allowed: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return images with their MaxSim, best first: the sum over the vectors `(n, dim)` of the best product.

        Only those of `allowed`, where it is given. Raises `VisualModelError` where the vectors are of another length.
        """
        while True:
            snapshot = self._snapshot(fingerprint)
            wanted = _wanted(snapshot, allowed)
            if limit < 1 or not len(wanted) or not len(query):
                return []
            turned = self._turned(query, snapshot)
            rows, steps = query_int8(turned)
            if len(wanted) > EXACT_PAGES:
                kernel, count = choose(rows.shape[1], self._known).kernel, max(len(wanted) // SHARE, 10 * limit)
                wanted = prefetch.candidates(snapshot, wanted, rows, steps, kernel, count)
            scores = self._scores(snapshot, wanted, rows, steps)
            first = _best(scores, max(limit, RESCORED))
            scores[first[:RESCORED]] = _rescored(snapshot, wanted[first[:RESCORED]], turned)
            best = first[_best(scores[first], limit)]
            found = wanted[best].tolist()
            if self._are_sound(fingerprint, snapshot, found):
                pairs = zip(found, scores[best].tolist(), strict=True)
                return [(snapshot.places[number].image, score) for number, score in pairs]

    def _scores(self, snapshot: Snapshot, wanted: np.ndarray, rows: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return `(len(wanted),)` float64: MaxSim with the question as int8."""
        lengths = snapshot.lengths[wanted]
        best = self._kernel(snapshot, lengths).best(rows, snapshot.rows, snapshot.starts[wanted], lengths)
        return (best * steps).sum(axis=1) * snapshot.steps[wanted]

    def _kernel(self, snapshot: Snapshot, lengths: np.ndarray) -> Kernel:
        few = int(lengths.sum()) <= FEW_TOKENS
        return NumpyKernel() if few else choose(snapshot.rows.shape[1], self._known).kernel

    def score(self, fingerprint: str, query: np.ndarray, images: Collection[str]) -> dict[str, float]:
        """Return MaxSim of these images, with the float32 question; images without vectors are left out.

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
        """Return the similarity of each patch of a page to each of the question's vectors: `(n, rows, cols)` float32.

        Raises `NotFoundError` where the model has not embedded the page, `VisualModelError`.
        """
        vectors, cells, rows, cols = self._page(fingerprint, image)
        turned = self._turn(finite(query))
        if turned.shape[1] != vectors.shape[1]:
            raise _other_length(turned.shape[1], vectors.shape[1])
        return over(turned @ vectors.T, cells, rows, cols)

    def pooled(self, fingerprint: str, image: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the means of the patches of each row `(rows, dim)` and of each column `(cols, dim)`, float32, rotated.

        Tokens without a patch are left out. Raises `NotFoundError`.
        """
        vectors, cells, rows, cols = self._page(fingerprint, image)
        seen = cells >= 0
        by_row, by_col = np.where(seen, cells // cols, -1), np.where(seen, cells % cols, -1)
        return means(vectors, by_row, rows), means(vectors, by_col, cols)

    def originals(self, fingerprint: str, image: str) -> np.ndarray:
        """Return `(tokens, dim)` float32, rotated, as exactly as they are stored. Raises `NotFoundError`."""
        return self._page(fingerprint, image)[0]

    def warm(self) -> None:
        """Prepare the first search: read the table, choose a kernel, map the files."""
        for fingerprint in self.fingerprints():
            snapshot = self._snapshot(fingerprint)
            if len(snapshot.places):
                self._kernel(snapshot, snapshot.lengths)

    def close(self) -> None:
        """Release the files. Later calls open them again, as long as the vault is open."""
        with self._writing, self._lock:
            self._shelves.clear()

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise VaultError(
                _("{name} cannot be used as a folder: {reason}.").format(name=self._folder.name, reason=error.strerror)
            ) from error

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
        """Return whether these pages match their checksums; those that do not are deleted, and so missing."""
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
                self._shelf(fingerprint).drop(rotten)
        return not rotten

    def _page(self, fingerprint: str, image: str) -> tuple[np.ndarray, np.ndarray, int, int]:
        """Return a page's vectors, the cell of each, and the numbers of rows and columns."""
        snapshot = self._snapshot(fingerprint)
        number = snapshot.at.get(image)
        if number is not None and self._are_sound(fingerprint, snapshot, [number]):
            place = snapshot.places[number]
            row = self._db.one("SELECT patches, rows, cols FROM late_pages WHERE late_id = ?", (place.late_id,))
            if row:
                return snapshot.tokens(number) * np.float32(place.step), unpacked(row[0]), row[1], row[2]
        raise NotFoundError(
            _("The model has not looked at this page yet."), hint=_("Run `docmind embed --model NAME DOC`.")
        )


def _wanted(snapshot: Snapshot, allowed: Collection[str] | None) -> np.ndarray:
    """Return numbers of pages, in file order."""
    if allowed is None:
        return np.arange(len(snapshot.places))
    return np.array(sorted({snapshot.at[image] for image in allowed if image in snapshot.at}), np.int64)


def _rescored(snapshot: Snapshot, numbers: np.ndarray, turned: np.ndarray) -> np.ndarray:
    """Return `(len(numbers),)` float64: MaxSim with the float32 question.

    A matrix product is not used: BLAS threads would busily wait for the next one and take a core from the next search.
    """
    found = []
    for number in numbers.tolist():
        products = np.einsum("td,qd->qt", snapshot.tokens(number).astype(np.float32), turned)
        found.append(products.max(axis=1).sum(dtype=np.float64))
    return np.array(found) * snapshot.steps[numbers]


def _best(scores: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of the highest scores, best first; equal scores in their order."""
    return np.argsort(-scores, kind="stable")[:count]


def _other_length(given: int, kept: int) -> VisualModelError:
    return VisualModelError(
        _("The question's vectors have {given} numbers, those of the pages {kept}.").format(given=given, kept=kept)
    )
