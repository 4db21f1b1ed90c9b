"""A vault with pages that show images, and multivectors for them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from docmind.database import Database
from docmind.embed.visual import PagePatches
from docmind.index.blind import Blind
from docmind.late.pages import LatePages

MODEL = "model:0123456789abcdef"
BLIND = Blind(bytes(range(32)))


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def patches(source: np.random.Generator, *, rows: int = 4, cols: int = 3, dim: int = 16, more: int = 2) -> PagePatches:
    """A page of random unit vectors, with `more` tokens that look at no patch, the first of them in front."""
    vectors = unit(source.standard_normal((rows * cols + more, dim)))
    cells = np.concatenate([[-1] * min(more, 1), np.arange(rows * cols), [-1] * (more - 1)]).astype(np.int32)
    return PagePatches(vectors, rows, cols, cells)


def maxsim(query: np.ndarray, page: PagePatches) -> float:
    """What the score is, in float32."""
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
        """As after a restart."""
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
                "INSERT OR IGNORE INTO pages SELECT ?1, 'd', coalesce(max(page_no), 0) + 1, 9, 9, '', x'', 'layer',"
                " 1.0, 'en', ?1, '.webp', ?1, '' FROM pages",
                [(image,) for image in images],
            )

    def hide(self, images: Iterable[str]) -> None:
        """Delete the pages; what hangs on them goes by trigger."""
        with self.database.transaction() as db:
            db.executemany("DELETE FROM pages WHERE image = ?", [(image,) for image in images])

    def close(self) -> None:
        self.late.close()
        self.database.close()
