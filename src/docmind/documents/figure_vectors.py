"""The table `figure_vectors` of the vault: one vector per picture of a figure and model, float16.

A picture is named by its artifact id, so that figures that show the same one share it. Vectors are derived: they go
with the last figure that shows their picture, are in no snapshot and no bundle, and are made again where they lack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from docmind.documents.page_vectors import half_bytes
from docmind.documents.stored import readable_artifacts
from docmind.records.documents import ArtifactRef
from docmind.storage import Database


class VectorsOfFigures(NamedTuple):
    """Pictures by artifact id, and their vectors `(n, dim)` float16, a row for each."""

    images: list[str]
    vectors: np.ndarray


class FigureVectors:
    """The table of vectors of figures. Thread-safe as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(self, fingerprint: str, vectors: Mapping[str, np.ndarray]) -> None:
        """Store `(dim,)` float32 vectors by picture; those that no figure shows are skipped.

        Raises `ValueError` where a vector is not one row of finite numbers.
        """
        rows = [(image, fingerprint, half_bytes(vector, "figure")) for image, vector in vectors.items()]
        with self._db.transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO figure_vectors (image, fingerprint, vector) SELECT ?1, ?2, ?3"
                " WHERE EXISTS (SELECT 1 FROM figures WHERE image = ?1)",
                rows,
            )

    def missing(self, fingerprint: str) -> list[ArtifactRef]:
        """Return the pictures of figures of ready documents that have no vector of this model, each once."""
        return readable_artifacts(
            self._db.all(
                "SELECT DISTINCT f.image, f.image_suffix FROM figures f JOIN documents d ON d.doc_id = f.doc_id"
                " WHERE d.status = 'ready' AND d.deleted_at_ms IS NULL AND NOT EXISTS"
                " (SELECT 1 FROM figure_vectors v WHERE v.image = f.image AND v.fingerprint = ?) ORDER BY f.image",
                (fingerprint,),
            )
        )

    def state(self, fingerprint: str) -> tuple[int, int]:
        """Return two numbers of which one is another after any change of the vectors of a model; (0, 0) for none."""
        row = self._db.one(
            "SELECT count(*), coalesce(sum(vector_no), 0) FROM figure_vectors WHERE fingerprint = ?", (fingerprint,)
        )
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def all(self, fingerprint: str) -> VectorsOfFigures:
        """Return the vectors of a model; those of another length than most are damaged, and left out."""
        rows = self._db.all("SELECT image, vector FROM figure_vectors WHERE fingerprint = ?", (fingerprint,))
        lengths = [len(data) for _image, data in rows]
        usual = max(set(lengths), key=lengths.count, default=0)
        sound = [(image, data) for image, data in rows if len(data) == usual and usual % 2 == 0]
        whole = np.frombuffer(b"".join(data for _image, data in sound), "<f2").reshape(len(sound), usual // 2)
        return VectorsOfFigures([image for image, _data in sound], whole)

    def keep(self, fingerprint: str) -> None:
        """Drop the vectors of all models but this one."""
        with self._db.transaction() as db:
            db.execute("DELETE FROM figure_vectors WHERE fingerprint <> ?", (fingerprint,))
