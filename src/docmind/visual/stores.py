"""Where vectors of page images are kept: one shape for both kinds of models, so that one run fills either."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol

import numpy as np

from docmind.catalog import Catalog
from docmind.database import Database
from docmind.pagevectors import PageVectors
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
                for image in made:
                    for doc_id, page_no in self._pages.places_of(image):
                        shown.setdefault(doc_id, set()).add(page_no)
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
    """Many vectors a page, in files beside the vault."""

    batch = 1

    def __init__(
        self,
        folder: Path,
        database: Database,
        turn: Callable[[np.ndarray], np.ndarray],
        opened: Opened,
        min_free_mb: int,
    ) -> None:
        self._folder, self._db, self._turn, self._opened = folder, database, turn, opened
        self._min_free_mb = min_free_mb
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
        for image, patches in made.items():
            self.pages().put(fingerprint, image, _patches(patches))
        note()

    def finish(self) -> None:
        """Nothing is left to do: what is put is found."""

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


def old_left(store: Store, old: str, new: str, images: Iterable[str]) -> list[str]:
    """The images that the model `old` has seen and `new` has not."""
    wanted = list(dict.fromkeys(images))
    unseen = set(store.missing(old, wanted))
    return store.missing(new, [image for image in wanted if image not in unseen])


def _patches(made: object) -> PagePatches:
    from docmind.embed.visual import PagePatches

    assert isinstance(made, PagePatches)
    return made
