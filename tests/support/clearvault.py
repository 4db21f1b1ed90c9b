"""A vault whose stores write what they are given: the test double for what encryption would hide.

`clear` gives SQLite no key, and replaces AES-GCM of the sealed files and of the sealed index by a cipher that returns
its input, with 16 zeros for the tag.
"""

from __future__ import annotations

from typing import Any

import pytest

from docmind.storage.database import Database


class IdentityCipher:
    """The interface of `AESGCM`, without encryption."""

    def __init__(self, key: bytes) -> None:
        assert key

    def encrypt(self, nonce: bytes, data: bytes, associated: bytes | None) -> bytes:
        return bytes(data) + bytes(16)

    def decrypt(self, nonce: bytes, data: bytes, associated: bytes | None) -> bytes:
        return bytes(data[:-16])


class ClearDatabase(Database):
    """`vault.db` as plain SQLite."""

    def _unlock(self, db: Any, key: bytes) -> None:
        pass


def clear(patch: pytest.MonkeyPatch) -> None:
    """Have vaults that are opened from now on write in clear."""
    patch.setattr("docmind.vault.Database", ClearDatabase)
    patch.setattr("docmind.storage.database._is_whole", lambda db: True)  # there are no page HMACs
    patch.setattr("docmind.storage.artifacts.AESGCM", IdentityCipher)
    patch.setattr("docmind.index.sealed_copy.AESGCM", IdentityCipher)
