"""Stores of page vectors: one interface for both kinds of models, so that one run can fill either."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Protocol

import numpy as np

from docmind.config import Settings
from docmind.documents import Catalog, PageList, PageVectors
from docmind.errors import NotFoundError
from docmind.index import COLPALI_DIM, MOST_TOKENS, SearchIndex
from docmind.model_files import default_cache_dir
from docmind.records.models import Description
from docmind.storage import Database
from docmind.visual.open_models import Opened

if TYPE_CHECKING:
    from docmind.embedding import PagePatches
    from docmind.index import IndexSync
    from docmind.late_interaction import LatePages


class Store(Protocol):
    """A store of vectors of one kind of model."""

    batch: int
    """Pages stored together: the most that a crash may lose."""

    def missing(self, fingerprint: str, images: Sequence[str]) -> list[str]:
        """Return those of `images`, each once, without vectors of this model."""
        ...

    def counts(self) -> dict[str, int]:
        """Return how many images each model has embedded, by fingerprint."""
        ...

    def load(self, description: Description) -> None:
        """Load the model, where it is not loaded. Raises the errors of models."""
        ...

    def make(self, description: Description, image: bytes) -> object:
        """Embed an encoded page image. Raises the errors of models."""
        ...

    def put(self, fingerprint: str, made: Mapping[str, object], note: Callable[[], None]) -> None:
        """Store results of `make`, by image; `note` writes to the vault in the same step. Raises `DiskFullError`."""
        ...

    def finish(self) -> None:
        """Make the stored vectors searchable."""
        ...

    def drop(self, fingerprint: str) -> None:
        """Delete the vectors of a model."""
        ...

    def warm(self, description: Description) -> None:
        """Prepare the first search. Raises the errors of models."""
        ...


class ImageStore:
    """One vector per page, in the vault and, through the mirror, in the index."""

    batch = 16

    def __init__(
        self,
        database: Database,
        catalog: Catalog,
        pages: PageList,
        vectors: PageVectors,
        opened: Opened,
        mirror: Callable[[], IndexSync],
    ) -> None:
        self._db, self._catalog, self._pages, self._vectors = database, catalog, pages, vectors
        self._opened, self._mirror = opened, mirror

    def missing(self, fingerprint: str, images: Sequence[str]) -> list[str]:
        return self._vectors.missing(fingerprint, images)

    def counts(self) -> dict[str, int]:
        return self._vectors.fingerprints()

    def load(self, description: Description) -> None:
        self._opened.image(description).warm()

    def make(self, description: Description, image: bytes) -> object:
        return self._opened.image(description).embed_images([image])[0]

    def put(self, fingerprint: str, made: Mapping[str, object], note: Callable[[], None]) -> None:
        """Store the vectors and a change of their documents in one step, so that the index gets them after a crash."""
        changed: dict[str, tuple[int, int]] = {}
        shown: dict[str, set[int]] = {}
        mirror = self._mirror()
        with self._db.transaction():
            self._vectors.put(fingerprint, {image: np.asarray(vector) for image, vector in made.items()})
            note()
            if mirror.image_model() == fingerprint:  # vectors of a model that is not in use do not change the index
                shown = places_by_document(self._pages, made)
                changed = {doc_id: self._catalog.touch(doc_id) for doc_id in shown}
        for doc_id, (before, epoch) in changed.items():
            mirror.put_images(doc_id, before, epoch, shown[doc_id])

    def finish(self) -> None:
        self._mirror().commit()

    def drop(self, fingerprint: str) -> None:
        self._vectors.drop(fingerprint)

    def warm(self, description: Description) -> None:
        self.load(description)


class LateStore:
    """Many vectors per page, in files beside the vault, and through the mirror in an index that holds originals."""

    batch = 1

    def __init__(
        self,
        settings: Settings,
        database: Database,
        catalog: Catalog,
        pages: PageList,
        opened: Opened,
        index: SearchIndex,
    ) -> None:
        self._folder, self._min_free_mb = settings.data_dir / "late", settings.storage.min_free_mb
        self._cache_dir = settings.cache_dir or default_cache_dir()
        self._db, self._catalog, self._pages, self._opened = database, catalog, pages, opened
        self._turn, self._mirror = index.blind.dense, index.mirror
        self._is_indexed = index.holds_multivectors
        self._lock = Lock()
        self._late: LatePages | None = None

    def pages(self) -> LatePages:
        """Return the multivector files, opened at first use."""
        with self._lock:
            if self._late is None:
                from docmind.late_interaction import LatePages

                self._late = LatePages(
                    self._folder, self._db, self._turn, min_free_mb=self._min_free_mb, cache_dir=self._cache_dir
                )
            return self._late

    def has(self, fingerprint: str, image: str) -> bool:
        """Return whether a model has embedded an image; reads no file."""
        row = self._db.one("SELECT 1 FROM late_pages WHERE image = ? AND fingerprint = ?", (image, fingerprint))
        return row is not None

    def shown(self, fingerprint: str) -> int:
        """Return of how many pages of ready documents this model has embedded the images; reads no file."""
        row = self._db.one(
            "SELECT count(*) FROM late_pages l JOIN pages p ON p.image = l.image"
            " JOIN documents d ON d.doc_id = p.doc_id WHERE l.fingerprint = ? AND d.status = 'ready'"
            " AND d.deleted_at_ms IS NULL",
            (fingerprint,),
        )
        return int(row[0]) if row else 0

    def multivectors(self, fingerprint: str, images: Sequence[str]) -> dict[str, dict[str, np.ndarray]]:
        """Return the named vectors, by image, for an index that holds originals, of images with vectors.

        Vectors of another length than 128 do not fit the index, and are left out.
        """
        found: dict[str, dict[str, np.ndarray]] = {}
        for image in dict.fromkeys(images):
            if not self.has(fingerprint, image):
                continue
            with suppress(NotFoundError):  # its bytes are damaged: it will be embedded again
                every = self.pages().originals(fingerprint, image)
                if every.shape[1] == COLPALI_DIM and len(every) < MOST_TOKENS:
                    rows, cols = self.pages().pooled(fingerprint, image)
                    found[image] = {"colpali_rows": rows, "colpali_cols": cols, "colpali": every}
        return found

    def missing(self, fingerprint: str, images: Sequence[str]) -> list[str]:
        return self.pages().missing(fingerprint, images)

    def counts(self) -> dict[str, int]:
        is_used = self._db.one("SELECT 1 FROM late_pages LIMIT 1") is not None
        return self.pages().fingerprints() if is_used else {}

    def load(self, description: Description) -> None:
        self._opened.late(description).warm()

    def make(self, description: Description, image: bytes) -> object:
        return self._opened.late(description).embed_images([image])[0]

    def put(self, fingerprint: str, made: Mapping[str, object], note: Callable[[], None]) -> None:
        """Store the vectors, with a change of their documents before and after, so that a crash loses none."""
        mirror = self._mirror() if self._is_indexed and all(map(_fits_index, made.values())) else None
        shown: dict[str, set[int]] = {}
        if mirror is not None and mirror.late_model() == fingerprint:
            shown = places_by_document(self._pages, made)
        with self._db.transaction():
            meant = {doc_id: self._catalog.touch(doc_id) for doc_id in shown}
        for image, patches in made.items():
            self.pages().put(fingerprint, image, _patches(patches))
        with self._db.transaction():
            note()
            changed = {doc_id: self._catalog.touch(doc_id) for doc_id in shown}
        for doc_id, (last, epoch) in changed.items():
            before, own = meant[doc_id]
            assert mirror is not None
            mirror.put_images(doc_id, before if last == own else last, epoch, shown[doc_id])

    def finish(self) -> None:
        """Commit the mirror: a server finds the vectors once they are durable, and every index follows a switch."""
        self._mirror().commit()

    def drop(self, fingerprint: str) -> None:
        self.pages().drop(fingerprint)

    def warm(self, description: Description) -> None:
        """Prepare the pages only: these models are too large to be loaded before they are needed."""
        self.pages().warm()

    def sweep(self) -> None:
        """Remove deleted pages from the files; does nothing where no model has embedded a page."""
        if self._folder.exists():
            self.pages().sweep()

    def close(self) -> None:
        with self._lock:
            late, self._late = self._late, None
        if late is not None:
            late.close()


def places_by_document(pages: PageList, images: Iterable[str]) -> dict[str, set[int]]:
    """Return the pages that show any of these images."""
    shown: dict[str, set[int]] = {}
    for image in images:
        for doc_id, page_no in pages.places_of(image):
            shown.setdefault(doc_id, set()).add(page_no)
    return shown


def old_left(store: Store, old: str, new: str, images: Iterable[str]) -> list[str]:
    """Return the images that the model `old` has embedded and `new` has not."""
    wanted = list(dict.fromkeys(images))
    unseen = set(store.missing(old, wanted))
    return store.missing(new, [image for image in wanted if image not in unseen])


def _fits_index(made: object) -> bool:
    return _patches(made).vectors.shape[1] == COLPALI_DIM


def _patches(made: object) -> PagePatches:
    from docmind.embedding import PagePatches

    assert isinstance(made, PagePatches)
    return made
