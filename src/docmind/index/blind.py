"""What an index is allowed to see: token ids and vectors that are of no use without the vault's key.

Index files are not encrypted and keep what was deleted. Left plain, the id of a token is a public hash that a
dictionary turns back into the word, and a dense vector can be turned back into much of its text. So both are blinded
before they reach any engine, and queries are blinded alike; scores stay what they were.

It protects against somebody who has the index files (a stolen disk, a rented server) and neither the key nor pairs of
plain and blinded values. It does not protect against:

* known pairs: who has as many independent plain vectors with their blinded ones as there are dimensions solves for the
  rotation, and one known token stays known;
* frequencies: the most frequent blinded id is likely the most frequent word, and ids that occur together still do;
* geometry: distances between vectors are untouched, so near-duplicates and clusters show, and a known corpus of the
  same texts can be aligned with them;
* how much there is, in which modality and language: payloads say so.
"""

from __future__ import annotations

import hashlib
import hmac
import threading

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

ROUNDS = 8
_HALF = 1 << 16


class Blind:
    """Blinds ids, vectors and tags with one key. Safe to share between threads; tables are made at first use.

    Everything is specified down to the bit stream, for what was blinded years ago must still meet its queries: each
    stream is AES-256-CTR from counter 0 under HKDF-SHA256(key, salt = none, info = "docmind blind v1 <what>").
    """

    def __init__(self, key: bytes) -> None:
        if len(key) < 16:
            raise ValueError("a blinding key has at least 16 bytes")
        self._key = key
        self._lock = threading.Lock()
        self._tables: np.ndarray | None = None
        self._rotations: dict[int, np.ndarray] = {}
        self._tag_key = self._derive("tags")

    def sparse(self, indices: np.ndarray) -> np.ndarray:
        """Keyed ids for token ids: uint32 to uint32, one to one, any shape.

        A Feistel network of 8 rounds over 16-bit halves. Each round function is a random table of 65,536 words, so a
        round is one look-up.
        """
        tables = self._feistel()
        words = np.asarray(indices, dtype=np.uint32)
        left, right = (words >> 16).astype(np.uint16), (words & 0xFFFF).astype(np.uint16)
        for table in tables:
            left, right = right, left ^ table[right]
        return (left.astype(np.uint32) << np.uint32(16)) | right

    def dense(self, vectors: np.ndarray) -> np.ndarray:
        """Rotated vectors: (n, dim) or (dim,) float32 to the same shape; dot products and lengths stay within 1e-5."""
        array = np.asarray(vectors, dtype=np.float32)
        return np.ascontiguousarray(array @ self._rotation(array.shape[-1]))

    def tag(self, text: str) -> str:
        """A keyed name of a tag, 32 hex digits: equal tags stay equal, and that is all that shows."""
        return hmac.digest(self._tag_key, text.encode(), hashlib.sha256)[:16].hex()

    def _feistel(self) -> np.ndarray:
        with self._lock:
            if self._tables is None:
                stream = self._stream("sparse", ROUNDS * _HALF * 2)
                self._tables = np.frombuffer(stream, dtype="<u2").astype(np.uint16).reshape(ROUNDS, _HALF)
            return self._tables

    def _rotation(self, dim: int) -> np.ndarray:
        with self._lock:
            if dim not in self._rotations:
                self._rotations[dim] = _orthogonal(self._stream(f"dense {dim}", 16 * _pairs(dim)), dim)
            return self._rotations[dim]

    def _stream(self, what: str, size: int) -> bytes:
        return Cipher(algorithms.AES256(self._derive(what)), modes.CTR(bytes(16))).encryptor().update(bytes(size))

    def _derive(self, what: str) -> bytes:
        return HKDF(SHA256(), 32, salt=None, info=f"docmind blind v1 {what}".encode()).derive(self._key)


def _pairs(dim: int) -> int:
    return (dim * dim + 1) // 2


def _orthogonal(stream: bytes, dim: int) -> np.ndarray:
    """A random rotation or reflection, uniform among them: the Q of a Gaussian matrix, signs fixed by R (Mezzadri 2007).

    Gaussians by Box-Muller from pairs of little-endian u64, their top 53 bits as fractions, cosines first: numpy's own
    distributions may change between versions.
    """
    bits = np.frombuffer(stream, dtype="<u8").reshape(-1, 2) >> np.uint64(11)
    radius = np.sqrt(-2.0 * np.log((bits[:, 0] + 1.0) * 2.0**-53))
    angle = bits[:, 1] * (2.0**-53 * 2.0 * np.pi)
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[: dim * dim].reshape(dim, dim)
    q, r = np.linalg.qr(normal)
    signs = np.where(np.diagonal(r) < 0, -1.0, 1.0)
    return np.ascontiguousarray(q * signs, dtype=np.float32)
