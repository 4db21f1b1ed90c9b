"""Pages by the image that they show: which are asked for, where an image stands, which pass a filter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from docmind.database import Database
from docmind.lookalike.store import LookStore
from docmind.schema import ArtifactRef, Filters

_SUFFIX = ".webp.enc"
MODALITY = "pdf_page_image"


class Place(NamedTuple):
    """One page and the id of its image."""

    doc_id: str
    page_no: int
    image: str

    @property
    def ref(self) -> ArtifactRef:
        return ArtifactRef(self.image, _SUFFIX)


class PageList:
    """Reads which pages there are. As safe between threads as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db, self._looks = database, LookStore(database)

    def asked(self, doc_ids: Sequence[str] = ()) -> list[Place]:
        """The pages of those of these documents that are ready, or of all, in a fixed order."""
        sql = (
            "SELECT p.doc_id, p.page_no, p.image FROM pages p JOIN documents d ON d.doc_id = p.doc_id"
            " WHERE d.status = 'ready'"
        )
        if not doc_ids:
            rows = self._db.all(f"{sql} ORDER BY p.doc_id, p.page_no")
        else:
            rows = [
                row
                for doc_id in sorted(set(doc_ids))
                for row in self._db.all(f"{sql} AND p.doc_id = ? ORDER BY p.page_no", (doc_id,))
            ]
        return [Place(*row) for row in rows]

    def images(self) -> int:
        """How many different page images there are."""
        row = self._db.one("SELECT count(DISTINCT image) FROM pages")
        return int(row[0]) if row else 0

    def image_at(self, doc_id: str, page_no: int) -> str | None:
        """The id of a page's image; None where there is no such page."""
        row = self._db.one("SELECT image FROM pages WHERE doc_id = ? AND page_no = ?", (doc_id, page_no))
        return row[0] if row else None

    def places_of(self, image: str) -> list[tuple[str, int]]:
        """The pages that show an image, as document id and page number."""
        return self._looks.places_of(image)

    def names(self, filters: Filters) -> dict[str, str]:
        """Names of the documents that are ready and pass the filters, by id."""
        rows = self._db.all("SELECT doc_id, document, tags FROM documents WHERE status = 'ready'")
        return {
            doc_id: document
            for doc_id, document, tags in rows
            if (not filters.doc_ids or doc_id in filters.doc_ids)
            and (not filters.tags or not set(filters.tags).isdisjoint(json.loads(tags)))
        }

    def allowed(self, filters: Filters, names: dict[str, str]) -> set[str] | None:
        """The images that may be found; None where all may. `names` is what `names` gave for these filters."""
        if filters.modalities and MODALITY not in filters.modalities:
            return set()
        if not (filters.doc_ids or filters.languages or filters.tags):
            return None
        return self._looks.images_of(names, filters.languages)
