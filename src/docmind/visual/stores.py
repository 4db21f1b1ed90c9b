"""Where vectors of page images are kept: one shape for both kinds of models, so that one run fills either."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Protocol

import numpy as np

from docmind.catalog import Catalog
from docmind.config import Settings
from docmind.database import Database
from docmind.errors import NotFoundError
from docmind.index.collection import COLPALI_DIM, MOST_TOKENS
from docmind.pagevectors import PageVectors
from docmind.visual.finder import Finder
from docmind.visual.opened import Opened
from docmind.visual.pages import PageList
from docmind.weights import Description

if TYPE_CHECKING:
    from docmind.embed.visual import PagePatches
    from docmind.late.pages import LatePages
    from docmind.mirror import Mirror


class Store(Protocol):
    """Vectors of one kind of model."""

    batch: int
    """Pages that are kept at once: what a crash may cost."""

    def missing(self, fingerprint: str, images: Sequence[str]) -> list[str]:
        """Those of `images`, each once, that this model has not seen."""
        ...

    def counts(self) -> dict[str, int]:
        """How many images each model has seen, by fingerprint."""
        ...

    def load(self, description: Description) -> None:
        """Load the model, where it is not loaded. Raises what models raise."""
        ...

    def make(self, description: Description, image: bytes) -> object:
        """What the model makes of an encoded page image. Raises what models raise."""
        ...

    def put(self, fingerprint: str, made: Mapping[str, object], note: Callable[[], None]) -> None:
        """Keep what `make` gave, by image; `note` writes into the vault in the same step. Raises `DiskFullError`."""
        ...

    def finish(self) -> None:
        """What was kept can be found from now on."""
        ...

    def drop(self, fingerprint: str) -> None:
        """Forget what a model made."""
        ...

    def warm(self, description: Description) -> None:
        """Do what would hold up the first search. Raises what models raise."""
        ...


class ImageStore:
    """One vector a page, in the vault and through the mirror in the index."""

    batch = 16

    def __init__(
        self,
        database: Database,
        catalog: Catalog,
        pages: PageList,
        vectors: PageVectors,
        opened: Opened,
        mirror: Callable[[], Mirror],
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
        """The documents get a change of their own in the same step, so that no crash leaves the index without them."""
        changed: dict[str, tuple[int, int]] = {}
        shown: dict[str, set[int]] = {}
        mirror = self._mirror()
        with self._db.transaction():
            self._vectors.put(fingerprint, {image: np.asarray(vector) for image, vector in made.items()})
            note()
            if mirror.image_model() == fingerprint:  # vectors beside those in use are no change of the index
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
    """Many vectors a page, in files beside the vault, and through the mirror in an index that holds originals."""

    batch = 1

    def __init__(
        self,
        settings: Settings,
        database: Database,
        catalog: Catalog,
        pages: PageList,
        opened: Opened,
        finder: Finder,
    ) -> None:
        self._folder, self._min_free_mb = settings.data_dir / "late", settings.storage.min_free_mb
        self._db, self._catalog, self._pages, self._opened = database, catalog, pages, opened
        self._turn, self._mirror = finder.blind.dense, finder.mirror
        self._is_indexed = finder.late_above is not None
        self._lock = Lock()
        self._late: LatePages | None = None

    def pages(self) -> LatePages:
        """Opened at first use."""
        with self._lock:
            if self._late is None:
                from docmind.late.pages import LatePages

                self._late = LatePages(self._folder, self._db, self._turn, min_free_mb=self._min_free_mb)
            return self._late

    def has(self, fingerprint: str, image: str) -> bool:
        """Whether a model has seen an image; no file is looked at."""
        row = self._db.one("SELECT 1 FROM late_pages WHERE image = ? AND fingerprint = ?", (image, fingerprint))
        return row is not None

    def shown(self, fingerprint: str) -> int:
        """How many pages of ready documents this model has seen the images of; no file is looked at."""
        row = self._db.one(
            "SELECT count(*) FROM late_pages l JOIN pages p ON p.image = l.image"
            " JOIN documents d ON d.doc_id = p.doc_id WHERE l.fingerprint = ? AND d.status = 'ready'",
            (fingerprint,),
        )
        return int(row[0]) if row else 0

    def multivectors(self, fingerprint: str, images: Sequence[str]) -> dict[str, dict[str, np.ndarray]]:
        """What an index that holds originals takes of those images that the model has seen, by named vector.

        Vectors of another length than 128 have no place in it, and are left out.
        """
        found: dict[str, dict[str, np.ndarray]] = {}
        for image in dict.fromkeys(images):
            if not self.has(fingerprint, image):
                continue
            with suppress(NotFoundError):  # its bytes are gone: it will be shown to the model again
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
        """The documents get a change before and after, so that no crash leaves an index without what is kept here."""
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
        """What is put is found here at once, on a server once it is durable there. Every index hears of a switch."""
        self._mirror().commit()

    def drop(self, fingerprint: str) -> None:
        self.pages().drop(fingerprint)

    def warm(self, description: Description) -> None:
        """The pages only: these models are too large to be loaded before somebody asks."""
        self.pages().warm()

    def sweep(self) -> None:
        """Leave nothing of pages that were deleted; costs nothing where no model has ever seen a page."""
        if self._folder.exists():
            self.pages().sweep()

    def close(self) -> None:
        with self._lock:
            late, self._late = self._late, None
        if late is not None:
            late.close()


def places_by_document(pages: PageList, images: Iterable[str]) -> dict[str, set[int]]:
    """The pages that show any of these images."""
    shown: dict[str, set[int]] = {}
    for image in images:
        for doc_id, page_no in pages.places_of(image):
            shown.setdefault(doc_id, set()).add(page_no)
    return shown


def old_left(store: Store, old: str, new: str, images: Iterable[str]) -> list[str]:
    """The images that the model `old` has seen and `new` has not."""
    wanted = list(dict.fromkeys(images))
    unseen = set(store.missing(old, wanted))
    return store.missing(new, [image for image in wanted if image not in unseen])


def _fits_index(made: object) -> bool:
    return _patches(made).vectors.shape[1] == COLPALI_DIM


def _patches(made: object) -> PagePatches:
    from docmind.embed.visual import PagePatches

    assert isinstance(made, PagePatches)
    return made
