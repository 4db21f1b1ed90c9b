"""Blinding: an index only gets token ids and vectors that are useless without the vault's key.

Index files are not encrypted and retain deleted data. Unblinded, the id of a token is a public hash that a
dictionary turns back into the word, and a dense vector can be turned back into much of its text. So both are blinded
before they reach any engine, and queries are blinded in the same way; scores do not change.

It protects against somebody who has the index files (a stolen disk, a rented server) and neither the key nor pairs of
plain and blinded values. It does not protect against:

* known pairs: an attacker with as many independent plain vectors and their blinded ones as there are dimensions can
  solve for the rotation, and a known token stays known;
* frequencies: the most frequent blinded id is likely the most frequent word, and ids that occur together still do;
* geometry: distances between vectors are unchanged, so near-duplicates and clusters are visible, and a known corpus of
  the same texts can be aligned with them;
* the amount of data, its modalities and languages: payloads contain these.
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
TURNS = 32
MANY = 64
_HALF = 1 << 16

Turn = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # axes, their partners, cosines, sines


class Blinder:
    """Blinding of ids, vectors and tags with one key. Thread-safe; tables are made at first use.

    The algorithms are specified down to the bit stream, because data blinded years ago must still match queries: each
    stream is AES-256-CTR from counter 0 under HKDF-SHA256(key, salt = none, info = "docmind blind v1 <what>").
    """

    def __init__(self, key: bytes) -> None:
        if len(key) < 16:
            raise ValueError("a blinding key has at least 16 bytes")
        self._key = key
        self._lock = threading.Lock()
        self._tables: np.ndarray | None = None
        self._rotations: dict[int, list[Turn]] = {}
        self._matrices: dict[int, np.ndarray] = {}
        self._tag_key = self._derive("tags")

    def sparse(self, indices: np.ndarray) -> np.ndarray:
        """Return keyed ids for token ids: uint32 to uint32, one to one, any shape.

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
        """Rotate vectors: (n, dim) or (dim,) float32 to the same shape; dot products and lengths stay within 1e-5.

        The rotation is 32 steps after Kac: each pairs all axes at random and rotates every pair by a random angle. The
        first vector is cheap, where a dense matrix would cost a QR decomposition at every start, and the result depends
        on no linear algebra library. Many rows are multiplied by the product of the steps, which is computed at first
        use.
        """
        array = np.asarray(vectors, dtype=np.float32)
        rows = array.reshape(-1, array.shape[-1])
        rotated = _turn(rows, self._turns(rows.shape[1])) if len(rows) < MANY else rows @ self._matrix(rows.shape[1])
        return np.ascontiguousarray(rotated).reshape(array.shape)

    def from_other(self, other: Blinder, vectors: np.ndarray) -> np.ndarray:
        """Return what `dense` gives for the vectors that another key rotated to these: `(n, dim)` float32."""
        rows = np.asarray(vectors, dtype=np.float32)
        change = other._matrix(rows.shape[1]).T.astype(np.float64) @ self._matrix(rows.shape[1]).astype(np.float64)
        return rows @ change.astype(np.float32)

    def tag(self, text: str) -> str:
        """Return a keyed name of a tag, 32 hex digits: equal tags have equal names, and nothing else is revealed."""
        # A shell may pass a tag with any bytes, as lone surrogates: it is stored under the name that is displayed.
        return hmac.digest(self._tag_key, text.encode("utf-8", "replace"), hashlib.sha256)[:16].hex()

    def _feistel(self) -> np.ndarray:
        with self._lock:
            if self._tables is None:
                stream = self._stream("sparse", ROUNDS * _HALF * 2)
                self._tables = np.frombuffer(stream, dtype="<u2").astype(np.uint16).reshape(ROUNDS, _HALF)
            return self._tables

    def _turns(self, dim: int) -> list[Turn]:
        with self._lock:
            if dim not in self._rotations:
                self._rotations[dim] = _draw_turns(self._stream(f"dense {dim}", TURNS * 2 * dim * 8), dim)
            return self._rotations[dim]

    def _matrix(self, dim: int) -> np.ndarray:
        with self._lock:
            matrix = self._matrices.get(dim)
        if matrix is None:
            matrix = _turn(np.eye(dim, dtype=np.float32), self._turns(dim))
            with self._lock:
                self._matrices[dim] = matrix
        return matrix

    def _stream(self, what: str, size: int) -> bytes:
        return Cipher(algorithms.AES256(self._derive(what)), modes.CTR(bytes(16))).encryptor().update(bytes(size))

    def _derive(self, what: str) -> bytes:
        return HKDF(SHA256(), 32, salt=None, info=f"docmind blind v1 {what}".encode()).derive(self._key)


def _turn(rows: np.ndarray, turns: list[Turn]) -> np.ndarray:
    """Rotate (n, dim) float32 rows, computed in float64."""
    axes = np.array(rows.T, dtype=np.float64, order="C")
    for first, second, cosine, sine in turns:
        x, y = axes[first], axes[second]
        axes[first] = cosine * x - sine * y
        axes[second] = sine * x + cosine * y
    return axes.T.astype(np.float32)


def _draw_turns(stream: bytes, dim: int) -> list[Turn]:
    """Make the rotations from `2 * dim` little-endian u64 each: the order of the first `dim` pairs axes, then angles.

    With an odd dimension, each rotation leaves one axis unchanged.
    """
    words = np.frombuffer(stream, dtype="<u8").reshape(TURNS, 2, dim)
    half = dim // 2
    turns = []
    for keys, angles in words:
        order = np.argsort(keys, kind="stable")
        angle = (angles[:half] >> np.uint64(11)) * (2.0**-53 * 2.0 * np.pi)
        turns.append((order[:half], order[half : 2 * half], np.cos(angle)[:, None], np.sin(angle)[:, None]))
    return turns
