"""Vectors of the pictures of figures by the image model that answers: made behind those of pages, and compared."""

from __future__ import annotations

import threading

import numpy as np

from docmind.documents import FigureVectors
from docmind.errors import DiskFullError, NotFoundError, VaultError, VisualModelError
from docmind.reading import PagePictures
from docmind.records.models import Description
from docmind.runtime import Check, Interactive
from docmind.visual.open_models import Opened

_BATCH = 16  # vectors that are stored together
_PATIENCE = 3  # failures in a row after which the model is considered broken, and not the pictures
_ROWS = 4_096  # vectors that are compared at a time


class FigureLooks:
    """The look of figures. Thread-safe: concurrent runs wait for each other."""

    def __init__(
        self, vectors: FigureVectors, pictures: PagePictures, opened: Opened, interactive: Interactive
    ) -> None:
        self._vectors, self._pictures, self._opened, self._interactive = vectors, pictures, opened, interactive
        self._turn, self._lock = threading.Lock(), threading.Lock()
        self._given_up: set[tuple[str, str]] = set()  # fingerprint and picture: what cannot be embedded
        self._loaded = ("", (0, 0)), vectors.all("")

    def follow(self, description: Description, check: Check) -> int:
        """Embed the figures that have no vector of this model, and drop those of others; return how many were made.

        `check` may raise to stop; completed work stays. Raises `VisualModelError` where the model fails,
        `DiskFullError`.
        """
        fingerprint, made = description.fingerprint, dict[str, np.ndarray]()
        count, failures = 0, 0
        with self._turn:
            self._vectors.keep(fingerprint)
            try:
                for ref in self._vectors.missing(fingerprint):
                    check()
                    if (fingerprint, ref.sha256) in self._given_up:
                        continue
                    self._interactive.give_way(check)
                    try:
                        picture = self._pictures.get(ref)
                        made[ref.sha256] = self._opened.image(description).embed_images([picture])[0]
                        count, failures = count + 1, 0
                    except (DiskFullError, VisualModelError) as error:
                        check()  # a model that was closed fails too
                        failures += 1
                        if isinstance(error, DiskFullError) or failures >= _PATIENCE:
                            raise
                        self._given_up.add((fingerprint, ref.sha256))
                    except (
                        NotFoundError,
                        VaultError,
                    ):  # deleted meanwhile, or damaged: the check of the library says so
                        self._given_up.add((fingerprint, ref.sha256))
                    if len(made) >= _BATCH:
                        self._put(fingerprint, made)
            finally:
                self._put(fingerprint, made)
        return count

    def has_any(self, fingerprint: str) -> bool:
        """Return whether any figure has a vector of this model."""
        return self._vectors.state(fingerprint)[0] > 0

    def cosines(self, fingerprint: str, wanted: np.ndarray) -> dict[str, float]:
        """Return the cosine of each picture that has a vector with `wanted` `(dim,)`, by artifact id."""
        images, vectors = self._now(fingerprint)
        if not images or vectors.shape[1] != len(wanted):
            return {}
        wanted = wanted.astype(np.float32) / max(float(np.linalg.norm(wanted)), 1e-12)
        found: dict[str, float] = {}
        for at in range(0, len(images), _ROWS):
            part = vectors[at : at + _ROWS].astype(np.float32)
            scores = part @ wanted / np.maximum(np.linalg.norm(part, axis=1), 1e-12)
            found |= dict(zip(images[at : at + _ROWS], map(float, scores), strict=True))
        return found

    def _now(self, fingerprint: str) -> tuple[list[str], np.ndarray]:
        with self._lock:
            state = fingerprint, self._vectors.state(fingerprint)
            if self._loaded[0] != state:
                self._loaded = state, self._vectors.all(fingerprint)
            return self._loaded[1]

    def _put(self, fingerprint: str, made: dict[str, np.ndarray]) -> None:
        if made:
            self._vectors.put(fingerprint, made)
            made.clear()
