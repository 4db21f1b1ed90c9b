"""The table `passage_vectors` of the vault: the vectors of all passages of a page, one row a page and text model.

Answers compare a question with the passages of the pages that were found, and searches with the best passage of each.
Vectors are derived: they go with their page and with its text, are in no snapshot and no bundle, and are made again
where they lack. A row is

    u8 version=1 ‖ u16 dim ‖ u16 count ‖ count × u64 digest, little-endian ‖ zlib of (count, dim) int8

An int8 is a component of a unit vector times 127, rounded: a cosine is off by 0.0023 (1 / sqrt(12) / 127) on average,
where those of one page differ by tenths. Such numbers are mostly small, so the Huffman code of zlib halves them.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from docmind.documents.catalog import EMBEDDED_AT_ONCE
from docmind.errors import DamagedError
from docmind.storage import Database
from docmind.wording import _

_HEAD = struct.Struct("<BHH")
_VERSION = 1
_SCALE = 127  # the largest int8: a component of a unit vector is at most 1
_DIGEST_BYTES = 8


def digest_of(text: str) -> int:
    """Return the number, below 2**64, that names an embedded text; how its words are spaced makes no difference."""
    joined = " ".join(text.split()).encode()
    return int.from_bytes(hashlib.blake2b(joined, digest_size=_DIGEST_BYTES).digest(), "little")


@dataclass(frozen=True, slots=True)
class PassageRows:
    """The passages of one page: `digests` `(n,)` uint64 and `vectors` `(n, dim)` float32 of length 1.

    `n` is 0 for a page that has no passages.
    """

    digests: np.ndarray
    vectors: np.ndarray

    def rows_of(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return which of `m` texts are passages of the page, `(m,)` bool, and their vectors `(m, dim)` float32.

        Those of the others are zeros.
        """
        places = {int(digest): at for at, digest in enumerate(self.digests)}
        at = np.array([places.get(digest_of(text), -1) for text in texts], np.int64)
        found = at >= 0
        vectors = np.zeros((len(texts), self.vectors.shape[1]), np.float32)
        vectors[found] = self.vectors[at[found]]
        return found, vectors


def pack_passages(digests: Sequence[int], vectors: np.ndarray) -> bytes:
    """Pack vectors `(n, dim)` of any length but 0; n and dim at most 65,535. Raises `ValueError`."""
    count, dim = vectors.shape
    if count != len(digests) or not np.isfinite(vectors).all():
        raise ValueError("each passage has one vector of finite numbers")
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    small = np.rint(unit * _SCALE).astype(np.int8)
    packer = zlib.compressobj(1, strategy=zlib.Z_HUFFMAN_ONLY)
    packed = packer.compress(small.tobytes()) + packer.flush()
    return _HEAD.pack(_VERSION, dim, count) + np.array(digests, "<u8").tobytes() + packed


def unpack_passages(data: bytes) -> PassageRows:
    """Unpack what `pack_passages` made. Raises `DamagedError`."""
    try:
        version, dim, count = _HEAD.unpack_from(data)
        begin = _HEAD.size + count * _DIGEST_BYTES
        raw = zlib.decompressobj().decompress(data[begin:], count * dim + 1)
        if version != _VERSION or len(raw) != count * dim:
            raise ValueError("not vectors of passages")
        digests = np.frombuffer(data, "<u8", count, _HEAD.size)
    except (struct.error, zlib.error, ValueError) as error:
        raise DamagedError(_("The search data of a page is damaged.")) from error
    vectors = np.frombuffer(raw, np.int8).reshape(count, dim).astype(np.float32)
    vectors /= np.sqrt(np.maximum(np.einsum("ij,ij->i", vectors, vectors), 1e-9))[:, None]  # half the time of `norm`
    return PassageRows(digests, vectors)


def hash_of_text(text: str) -> bytes:
    """Return the hash of a page's text that its vectors are kept with, 8 bytes."""
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest()


class PassageVectors:
    """The table of vectors of passages. Thread-safe as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(
        self,
        fingerprint: str,
        doc_id: str,
        page_no: int,
        texts: Sequence[str],
        vectors: np.ndarray,
        *,
        of: str | None = None,
    ) -> bool:
        """Store the vectors `(n, dim)` float32 of a page's passages, replacing older ones; return whether it did.

        Nothing is stored where there is no such page, or where its text is not `of` any more: a vector reveals much of
        its text. Raises `ValueError` where a text has no vector of finite numbers.
        """
        data = pack_passages([digest_of(text) for text in texts], vectors)
        with self._db.transaction() as db:
            row = db.execute("SELECT text FROM pages WHERE doc_id = ? AND page_no = ?", (doc_id, page_no)).fetchone()
            if row is None or of not in (None, row[0]):
                return False
            db.execute(
                "INSERT OR REPLACE INTO passage_vectors (doc_id, page_no, fingerprint, made_from, vectors)"
                " VALUES (?, ?, ?, ?, ?)",
                (doc_id, page_no, fingerprint, hash_of_text(row[0]), data),
            )
        return True

    def of_pages(self, fingerprint: str, pages: Iterable[tuple[str, int]]) -> dict[tuple[str, int], PassageRows]:
        """Return the passages of pages, by document id and number, without missing and damaged ones."""
        found = {}
        for page in dict.fromkeys(pages):
            try:
                row = self._db.one(
                    "SELECT vectors FROM passage_vectors WHERE doc_id = ? AND page_no = ? AND fingerprint = ?",
                    (*page, fingerprint),
                )
                if row is not None:
                    found[page] = unpack_passages(row[0])
            except DamagedError:  # they can be made again, as the doctor does
                continue
        return found

    def missing(self, fingerprint: str, most: int) -> list[tuple[str, int]]:
        """Return at most `most` pages without a row of this model, those of the newest documents first.

        Pages of ready documents outside the bin count, without those that are `is_embedded_later`. Reads indexes alone:
        0.1 s for 100,000 pages that all have one.
        """
        return self._db.all(
            "SELECT p.doc_id, p.page_no FROM documents d CROSS JOIN pages p ON p.doc_id = d.doc_id"
            " WHERE d.status = 'ready' AND d.deleted_at_ms IS NULL"
            " AND NOT EXISTS (SELECT 1 FROM passage_vectors v"
            "  WHERE v.doc_id = p.doc_id AND v.page_no = p.page_no AND v.fingerprint = ?)"
            " AND NOT EXISTS (SELECT 1 FROM pages s INDEXED BY pages_later WHERE s.doc_id = p.doc_id"
            f"  AND s.page_no = p.page_no AND s.image = s.thumbnail AND s.page_no > {EMBEDDED_AT_ONCE})"
            " ORDER BY d.added_at_ms DESC, d.doc_id, p.page_no LIMIT ?",
            (fingerprint, most),
        )  # type: ignore[return-value]

    def size(self) -> int:
        """Return the bytes of all rows."""
        row = self._db.one("SELECT coalesce(sum(length(vectors)), 0) FROM passage_vectors")
        return int(row[0]) if row else 0

    def keep(self, fingerprint: str) -> None:
        """Drop the vectors of all models but this one."""
        others = "FROM passage_vectors WHERE fingerprint <> ?"
        if self._db.one(f"SELECT 1 {others} LIMIT 1", (fingerprint,)):
            with self._db.transaction() as db:
                db.execute(f"DELETE {others}", (fingerprint,))
