"""The table `looks` of the vault: packed marks by the id of the page image."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from docmind.errors import DamagedError
from docmind.picture_marks import VERSION
from docmind.storage import Database

_CHUNK = 500


class LookStore:
    """Storage of the marks of page images. As thread-safe as `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def missing(self) -> list[str]:
        """Return the ids of page images without marks of this version, unordered."""
        rows = self._db.all(
            "SELECT DISTINCT image FROM pages WHERE image NOT IN (SELECT image FROM looks WHERE version = ?)",
            (VERSION,),
        )
        return [image for (image,) in rows]

    def count_missing(self) -> int:
        """Return the number of page images without marks of this version; reads indexes alone."""
        row = self._db.one(
            "SELECT count(*) FROM (SELECT DISTINCT image FROM pages) p"
            " WHERE NOT EXISTS (SELECT 1 FROM looks l WHERE l.version = ? AND l.image = p.image)",
            (VERSION,),
        )
        return int(row[0]) if row else 0

    def put(self, image: str, marks: bytes) -> None:
        """Store the marks of one image; those of an image that no page has any more are not stored."""
        with self._db.transaction(is_step=True) as db:
            db.execute(
                "INSERT OR REPLACE INTO looks (image, version, marks) SELECT ?1, ?2, ?3"
                " WHERE EXISTS (SELECT 1 FROM pages WHERE image = ?1)",
                (image, VERSION, marks),
            )

    def put_all(self, marks: Mapping[str, bytes]) -> None:
        """Store the marks of several images of pages, in the transaction of the caller where there is one."""
        with self._db.transaction(is_step=True) as db:
            db.executemany(
                "INSERT OR REPLACE INTO looks (image, version, marks) VALUES (?, ?, ?)",
                [(image, VERSION, packed) for image, packed in marks.items()],
            )

    def state(self) -> tuple[int, int]:
        """Return a value that changes whenever the table does: the number of rows, and the highest row number."""
        row = self._db.one("SELECT (SELECT count(*) FROM looks), (SELECT max(look_id) FROM looks)")
        return (int(row[0]), int(row[1] or 0)) if row else (0, 0)

    def numbers(self) -> dict[str, int]:
        """Return every image that has marks of this version, with the number of its row."""
        return dict(self._db.all("SELECT image, look_id FROM looks WHERE version = ?", (VERSION,)))

    def marks(self, images: Iterable[str]) -> dict[str, bytes]:
        """Return packed marks of several images; missing and damaged ones are left out."""
        wanted, found = list(images), {}
        for at in range(0, len(wanted), _CHUNK):
            part = wanted[at : at + _CHUNK]
            try:
                found.update(self._marks(part))
            except DamagedError:  # row by row, so that one damaged page of the vault does not hide the others
                for image in part:
                    with suppress(DamagedError):
                        found.update(self._marks([image]))
        return found

    def _marks(self, images: Sequence[str]) -> list[tuple[str, bytes]]:
        return self._db.all(
            f"SELECT image, marks FROM looks WHERE version = ? AND image IN ({', '.join('?' * len(images))})",
            (VERSION, *images),
        )
