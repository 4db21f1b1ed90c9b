"""The table `page_vectors` of the vault: one vector per page image and model, float16.

An image is named by its artifact id: pages that look the same share it, and its vectors are deleted with the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from docmind.errors import DamagedError
from docmind.storage import Database
from docmind.wording import _

_CHUNK = 500


def half_bytes(vector: np.ndarray, owner: str) -> bytes:
    """Return a vector `(dim,)` as float16 bytes, little-endian. Raises `ValueError`, which names its `owner`."""
    with np.errstate(over="ignore"):  # a value out of range becomes infinite, and is refused
        half = np.asarray(vector, np.float32).astype("<f2")
    if half.ndim != 1 or not len(half) or not np.isfinite(half).all():
        raise ValueError(f"a {owner} has one vector of finite numbers")
    return half.tobytes()


class PageVectors:
    """The table of vectors of page images. Thread-safe as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(self, fingerprint: str, vectors: Mapping[str, np.ndarray]) -> None:
        """Store `(dim,)` float32 vectors by image, replacing older ones.

        Images that no page shows are skipped.

        Raises `ValueError` where a vector is not one row of finite numbers.
        """
        rows = [(image, fingerprint, half_bytes(vector, "page")) for image, vector in vectors.items()]
        with self._db.transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO page_vectors (image, fingerprint, vector) SELECT ?1, ?2, ?3"
                " WHERE EXISTS (SELECT 1 FROM pages WHERE image = ?1)",
                rows,
            )

    def get(self, fingerprint: str, images: Iterable[str]) -> dict[str, np.ndarray]:
        """Return `(dim,)` float32 vectors by image, without missing ones. Raises `DamagedError`."""
        wanted, found = list(dict.fromkeys(images)), {}
        for at in range(0, len(wanted), _CHUNK):
            part = wanted[at : at + _CHUNK]
            rows = self._db.all(
                f"SELECT image, vector FROM page_vectors WHERE fingerprint = ? AND image IN"
                f" ({', '.join('?' * len(part))})",
                (fingerprint, *part),
            )
            for image, data in rows:
                if len(data) % 2:
                    raise DamagedError(
                        _("The search data of a page image is damaged."),
                        hint=_("Prepare its document again with docmind embed --force."),
                    )
                found[image] = np.frombuffer(data, "<f2").astype(np.float32)
        return found

    def images(self, fingerprint: str) -> set[str]:
        """Return every image that has a vector of this model."""
        rows = self._db.all("SELECT image FROM page_vectors WHERE fingerprint = ?", (fingerprint,))
        return {image for (image,) in rows}

    def missing(self, fingerprint: str, images: Iterable[str]) -> list[str]:
        """Return those of `images` that have no vector of this model, each once and in their order."""
        wanted, there = list(dict.fromkeys(images)), set()
        for at in range(0, len(wanted), _CHUNK):
            part = wanted[at : at + _CHUNK]
            rows = self._db.all(
                f"SELECT image FROM page_vectors WHERE fingerprint = ? AND image IN ({', '.join('?' * len(part))})",
                (fingerprint, *part),
            )
            there.update(image for (image,) in rows)
        return [image for image in wanted if image not in there]

    def fingerprints(self) -> dict[str, int]:
        """Return how many images have vectors, by the fingerprint of the model that made them."""
        return dict(self._db.all("SELECT fingerprint, count(*) FROM page_vectors GROUP BY fingerprint"))

    def drop(self, fingerprint: str) -> None:
        """Delete all vectors of one model."""
        with self._db.transaction() as db:
            db.execute("DELETE FROM page_vectors WHERE fingerprint = ?", (fingerprint,))
