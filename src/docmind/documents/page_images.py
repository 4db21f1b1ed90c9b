"""Pages by their image: pages of documents, pages that show an image, images that pass a filter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from docmind.documents.figures import Figures
from docmind.documents.filtered import allowed_documents
from docmind.documents.stored import artifact_of
from docmind.records.documents import FIGURE, PAGE_IMAGE, ArtifactRef
from docmind.records.search import Filters
from docmind.storage import Database

IMAGE_SUFFIX = ".webp.enc"
"""The suffix of every sealed page image: a WebP, or the sheet that it is drawn from (`docmind.reading.drawing`)."""


class PageImageRef(NamedTuple):
    """One page and the id of its image."""

    doc_id: str
    page_no: int
    image: str

    @property
    def ref(self) -> ArtifactRef:
        """The sealed image. Raises `DamagedError` where the id is none."""
        return artifact_of(self.image, IMAGE_SUFFIX)


class PageList:
    """Queries of page images. Thread-safe as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def asked(self, doc_ids: Sequence[str] = ()) -> list[PageImageRef]:
        """Return the pages of the ready ones among these documents, or of all ready documents, in a fixed order."""
        sql = (
            "SELECT p.doc_id, p.page_no, p.image FROM pages p JOIN documents d ON d.doc_id = p.doc_id"
            " WHERE d.status = 'ready' AND d.deleted_at_ms IS NULL"
        )
        if not doc_ids:
            rows = self._db.all(f"{sql} ORDER BY p.doc_id, p.page_no")
        else:
            rows = [
                row
                for doc_id in sorted(set(doc_ids))
                for row in self._db.all(f"{sql} AND p.doc_id = ? ORDER BY p.page_no", (doc_id,))
            ]
        return [PageImageRef(*row) for row in rows]

    def images(self) -> int:
        """Return the number of different page images."""
        row = self._db.one("SELECT count(DISTINCT image) FROM pages")
        return int(row[0]) if row else 0

    def image_at(self, doc_id: str, page_no: int) -> str | None:
        """Return the id of a page's image; None where there is no such page."""
        row = self._db.one("SELECT image FROM pages WHERE doc_id = ? AND page_no = ?", (doc_id, page_no))
        return row[0] if row else None

    def images_of(self, doc_ids: Iterable[str], languages: Iterable[str] = ()) -> set[str]:
        """Return the images of these documents' pages, only of pages in one of `languages` where any are named."""
        found: set[str] = set()
        spoken = tuple(languages)
        where = f" AND language IN ({', '.join('?' * len(spoken))})" if spoken else ""
        for doc_id in doc_ids:
            rows = self._db.all(f"SELECT image FROM pages WHERE doc_id = ?{where}", (doc_id, *spoken))
            found.update(image for (image,) in rows)
        return found

    def names(self, filters: Filters) -> dict[str, str]:
        """Return the names, by id, of the documents that are ready and pass the filters.

        Documents in the bin are among them only as of a snapshot that holds them.
        """
        return allowed_documents(self._db, filters, ready=True)

    def places_of(self, image: str) -> list[tuple[str, int]]:
        """Return the pages that show an image, as document id and page number."""
        return self._db.all("SELECT doc_id, page_no FROM pages WHERE image = ? ORDER BY doc_id, page_no", (image,))

    def allowed(self, filters: Filters, names: dict[str, str]) -> set[str] | None:
        """Return the images that pass the filters; None where all do.

        `names` is the result of `names` for them. Images that only documents in the bin show do not pass.
        """
        if filters.is_of_some_figures or (FIGURE in filters.modalities and PAGE_IMAGE not in filters.modalities):
            with_figures = Figures(self._db).pages_with(filters)
            return {
                image
                for doc_id, page_no, image, language in self._db.all(
                    "SELECT doc_id, page_no, image, language FROM pages"
                )
                if doc_id in names
                and (doc_id, page_no) in with_figures
                and (not filters.languages or language in filters.languages)
            }
        if filters.modalities and PAGE_IMAGE not in filters.modalities:
            return set()
        is_limited = filters.doc_ids or filters.languages or filters.is_of_documents
        if not is_limited and self._db.one("SELECT 1 FROM documents WHERE deleted_at_ms IS NOT NULL") is None:
            return None
        return self.images_of(names, filters.languages)
