"""Reader of a SQLCipher 4 database with nothing but its key: page by page, including deleted data.

Independent of the product and of the sqlcipher3 package: AES-256-CBC of 4,096-byte pages, of which the last 80 are the
IV (16) and an HMAC (64); the first page begins with the 16 bytes of salt. Frames of a log are pages behind 24 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

PAGE, RESERVED, SALT = 4096, 80, 16
LOG_HEADER, FRAME_HEADER = 32, 24


def pages(path: Path, key: bytes) -> Iterator[bytes]:
    """Return every page of the database file, decrypted."""
    data = path.read_bytes()
    assert len(data) % PAGE == 0
    for at in range(0, len(data), PAGE):
        yield opened(data[at : at + PAGE], key, is_first=at == 0)


def frames(path: Path, key: bytes) -> Iterator[bytes]:
    """Return every page in the log beside it, decrypted; none where there is no log."""
    log = path.with_name(path.name + "-wal")
    data = log.read_bytes() if log.exists() else b""
    for at in range(LOG_HEADER, len(data), FRAME_HEADER + PAGE):
        number = int.from_bytes(data[at : at + 4], "big")
        page = data[at + FRAME_HEADER : at + FRAME_HEADER + PAGE]
        if len(page) == PAGE:
            yield opened(page, key, is_first=number == 1)


def opened(page: bytes, key: bytes, *, is_first: bool) -> bytes:
    iv = page[PAGE - RESERVED : PAGE - RESERVED + 16]
    sealed = page[SALT if is_first else 0 : PAGE - RESERVED]
    cipher = Cipher(algorithms.AES(key), modes.CBC(iv)).decryptor()
    return cipher.update(sealed) + cipher.finalize()


def count(path: Path, key: bytes, canary: str) -> tuple[int, int]:
    """Count a word in the pages of the database, and in those of its log."""
    word = canary.encode()
    return sum(p.count(word) for p in pages(path, key)), sum(p.count(word) for p in frames(path, key))
