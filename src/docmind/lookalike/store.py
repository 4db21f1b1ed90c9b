"""The table `looks` of the vault: packed marks by the id of the page image, and which pages show that image."""

from __future__ import annotations

from collections.abc import Iterable

from docmind.database import Database
from docmind.lookalike.marks import VERSION

_CHUNK = 500


class LookStore:
    """Reads and writes what page images look like. As safe between threads as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def missing(self) -> list[str]:
        """Ids of page images without marks of this version, in no order."""
        rows = self._db.all(
            "SELECT DISTINCT image FROM pages WHERE image NOT IN (SELECT image FROM looks WHERE version = ?)",
            (VERSION,),
        )
        return [image for (image,) in rows]

    def put(self, image: str, marks: bytes) -> None:
        """Keep the marks of one image; nothing is kept of one that no page has any more."""
        with self._db.transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO looks (image, version, marks) SELECT ?1, ?2, ?3"
                " WHERE EXISTS (SELECT 1 FROM pages WHERE image = ?1)",
                (image, VERSION, marks),
            )

    def state(self) -> tuple[int, int]:
        """Differs whenever the table does: how many rows, and the newest number ever given."""
        row = self._db.one("SELECT (SELECT count(*) FROM looks), (SELECT max(look_id) FROM looks)")
        return (int(row[0]), int(row[1] or 0)) if row else (0, 0)

    def numbers(self) -> dict[str, int]:
        """Every image that has marks of this version, with the number of its row."""
        return dict(self._db.all("SELECT image, look_id FROM looks WHERE version = ?", (VERSION,)))

    def marks(self, images: Iterable[str]) -> dict[str, bytes]:
        """Packed marks of several images; missing ones are left out."""
        wanted, found = list(images), {}
        for at in range(0, len(wanted), _CHUNK):
            part = wanted[at : at + _CHUNK]
            rows = self._db.all(
                f"SELECT image, marks FROM looks WHERE version = ? AND image IN ({', '.join('?' * len(part))})",
                (VERSION, *part),
            )
            found.update(rows)
        return found

    def images_of(self, doc_ids: Iterable[str], languages: Iterable[str] = ()) -> set[str]:
        """The images of these documents' pages; of pages in one of `languages` only, where any are named."""
        found: set[str] = set()
        spoken = tuple(languages)
        where = f" AND language IN ({', '.join('?' * len(spoken))})" if spoken else ""
        for doc_id in doc_ids:
            rows = self._db.all(f"SELECT image FROM pages WHERE doc_id = ?{where}", (doc_id, *spoken))
            found.update(image for (image,) in rows)
        return found

    def places_of(self, image: str) -> list[tuple[str, int]]:
        """The pages that show an image, as document id and page number."""
        return self._db.all("SELECT doc_id, page_no FROM pages WHERE image = ? ORDER BY doc_id, page_no", (image,))
