"""A vault with pages that show images, and multivectors for them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from docmind.embedding.base import PagePatches
from docmind.index.blinding import Blinder
from docmind.late_interaction.store import LatePages
from docmind.storage.database import Database

MODEL = "model:0123456789abcdef"
BLIND = Blinder(bytes(range(32)))


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def patches(source: np.random.Generator, *, rows: int = 4, cols: int = 3, dim: int = 16, more: int = 2) -> PagePatches:
    """Return a page of random unit vectors, with `more` tokens without a patch, the first of them in front."""
    vectors = unit(source.standard_normal((rows * cols + more, dim)))
    cells = np.concatenate([[-1] * min(more, 1), np.arange(rows * cols), [-1] * (more - 1)]).astype(np.int32)
    return PagePatches(vectors, rows, cols, cells)


def maxsim(query: np.ndarray, page: PagePatches) -> float:
    """Return the exact score in float32."""
    return float((query @ page.vectors.T).max(axis=1).sum())


class Shown:
    """A database whose pages show images, and `LatePages` beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.key = folder, secrets.token_bytes(32)
        self.database = Database(folder / "vault.db", self.key)
        self.late = self.fresh()

    @property
    def files(self) -> list[Path]:
        return sorted((self.folder / "late").glob("*"))

    def fresh(self, min_free_mb: int = 0) -> LatePages:
        return LatePages(self.folder / "late", self.database, BLIND.dense, min_free_mb=min_free_mb)

    def reopen(self) -> None:
        """Open it again, as after a restart."""
        self.late.close()
        self.database.close()
        self.database = Database(self.folder / "vault.db", self.key)
        self.late = self.fresh()

    def show(self, images: Iterable[str]) -> None:
        with self.database.transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO documents (doc_id, document, kind, status, pages, bytes, original,"
                " original_suffix, added_at_ms) VALUES ('d', 'd', 'pdf', 'ready', 1, 1, '', '', 0)"
            )
            db.executemany(
                "INSERT OR IGNORE INTO pages (page_id, doc_id, page_no, width, height, text, words, text_source,"
                " confidence, language, image, image_suffix, thumbnail, thumbnail_suffix)"
                " SELECT ?1, 'd', coalesce(max(page_no), 0) + 1, 9, 9, '', x'', 'layer', 1.0, 'en', ?1, '.webp', ?1, ''"
                " FROM pages",
                [(image,) for image in images],
            )

    def hide(self, images: Iterable[str]) -> None:
        """Delete the pages; triggers delete dependent rows."""
        with self.database.transaction() as db:
            db.executemany("DELETE FROM pages WHERE image = ?", [(image,) for image in images])

    def close(self) -> None:
        self.late.close()
        self.database.close()


class Coherent:
    """Pages as pages are, always the same ones: a field that changes slowly, words along the rows, and noise.

    Ten pages are a document, which shares a topic and a third of the words.
    """

    def __init__(self, side: int = 16) -> None:
        source = np.random.default_rng(0)
        self._side = side
        self._common = unit(source.standard_normal(128))
        self._words, self._topics = (unit(source.standard_normal((count, 128))) for count in (4_000, 60))
        weights = np.maximum(0, 1 - np.abs(np.linspace(0, 4, side)[:, None] - np.arange(5)))
        self._up = np.einsum("ia,jb->ijab", weights, weights).reshape(side * side, 25)

    def page(self, number: int) -> tuple[PagePatches, np.ndarray]:
        """Return a page, and the words on it."""
        topic, own = self._document(number)
        source = np.random.default_rng((2, number))
        knots = 0.7 * self._common + 0.35 * topic + 0.5 * unit(source.standard_normal((25, 128)))
        cells = self._side**2
        run = np.repeat(np.arange(cells), source.integers(1, 5, cells))[:cells]
        words = np.concatenate([own, source.integers(0, 4_000, 60)])
        word = words[source.integers(0, 90, cells)][run]
        has_word = (source.random(cells) < 0.65)[run]
        vectors = self._up @ knots + source.standard_normal((cells, 128)) * 0.35 / 128**0.5
        vectors[has_word] += 0.75 * self._words[word[has_word]]
        patches = PagePatches(unit(vectors), self._side, self._side, np.arange(cells, dtype=np.int32))
        return patches, np.unique(word[has_word])

    def question(self, number: int, target: int) -> np.ndarray:
        """`(20, 128)` float32 unit rows: nine words of one page, blurred, and vectors near their mean."""
        source = np.random.default_rng((3, number))
        words = self._words[source.choice(self.page(target)[1], 9, replace=False)]
        said = 0.35 * self._common + 0.8 * words + 0.25 * unit(source.standard_normal((9, 128)))
        mean = 0.5 * self._common + 0.25 * self._document(target)[0] + 0.6 * unit(words.mean(axis=0))
        return unit(np.concatenate([said, mean + 0.4 * unit(source.standard_normal((11, 128)))]))

    def _document(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        source = np.random.default_rng((1, number // 10))
        return self._topics[source.integers(60)], source.integers(0, 4_000, 30)
