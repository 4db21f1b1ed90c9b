"""A generation of the index as one encrypted file, so that opening a vault does not rebuild the index.

    0   4   magic "DMXS"
    4   4   version 1, three zeros
    8   16  salt
    24      chunks: up to 1 MiB of AES-256-GCM ciphertext and its 16-byte tag; all but the last are full

The key is HKDF-SHA256(index key, salt, info = "docmind sealed index v1"). The nonce of a chunk is its number (u64) and
1 for the last or 0 (u32), big-endian, and the associated data are the 24 bytes before the chunks: chunks cannot be
moved, removed, added or taken from another copy (the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár,
2015). The plaintext is a list of records, each a u32 length, JSON of that length, and for files the non-zero bytes.

The length of the file is visible, and so approximately how much text the vault holds.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import struct
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import IO, Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from docmind.errors import DamagedError, DiskFullError, IndexEngineError
from docmind.index.edge_generation import TOO_FULL, GenerationLostError, State, read_state
from docmind.index.sparse_files import extents, files_of, folders_of
from docmind.storage import check_room, disk_error, replacing
from docmind.wording import _

NAME = "index.sealed"
CHUNK = 1 << 20
_MAGIC = b"DMXS\x01\0\0\0"
_SALT, _TAG = 16, 16
_HEAD = len(_MAGIC) + _SALT
_LONGEST_RECORD = 64 << 20
_PART = re.compile(r"[A-Za-z0-9_.+@-]{1,200}")
_LEFT_OUT = ("lock", "state.json.new")


class SealedCopy:
    """The sealed copy of one index, in its folder. Not thread-safe."""

    def __init__(self, directory: Path, key: bytes) -> None:
        self.path = directory / NAME
        self._key = key

    @property
    def size(self) -> int:
        """The size of the copy in bytes; 0 where there is none."""
        try:
            found = os.lstat(self.path)
        except OSError:
            return 0
        return found.st_size if stat.S_ISREG(found.st_mode) else 0

    def write(self, generation: Path, state: State, *, min_free: int) -> None:
        """Seal a generation that no process has open. The previous copy stays until the new one is complete.

        Raises `DiskFullError` or `IndexEngineError`.
        """
        check_room(self.path.parent, min_free + _bytes_of(generation), TOO_FULL)
        try:
            with replacing(self.path, beside=self.path.with_name(NAME + ".new")) as stream:
                sealing = _Sealing(stream, self._key)
                for part in _records(generation, state):
                    sealing.write(part)
                sealing.finish()
        except OSError as error:
            failure = IndexEngineError(
                _("The encrypted copy of the index could not be written: {strerror}.").format(strerror=error.strerror)
            )
            raise disk_error(error, failure) from error

    def read(self, target: Path | None) -> State:
        """Decrypt into `target`, a folder that is made here; None only verifies. Returns the state of the generation.

        Raises `DamagedError` where the copy is missing, damaged or of another key, `DiskFullError` where `target` has
        no space; then the contents of `target` must not be used.
        """
        try:
            handle = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0))
            with os.fdopen(handle, "rb") as stream:
                return self._unseal(_Unsealing(stream, self._key), target)
        except InvalidTag as error:
            raise DamagedError(_("The encrypted copy of the index is damaged, or has another key.")) from error
        except (ValueError, KeyError, TypeError, struct.error, GenerationLostError) as error:
            raise DamagedError(_("The encrypted copy of the index can't be read.")) from error
        except OSError as error:
            raise disk_error(
                error,
                DamagedError(
                    _("The encrypted copy of the index can't be read: {strerror}.").format(strerror=error.strerror)
                ),
                DiskFullError(_("The disk is too full to open the index.")),
            ) from error

    def drop(self) -> None:
        """Delete the copy, if the file has its format. Raises `OSError`."""
        for path in (self.path, self.path.with_name(NAME + ".new")):
            try:
                handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0))
            except OSError:
                continue
            with os.fdopen(handle, "rb") as stream:
                is_ours = stat.S_ISREG(os.fstat(handle).st_mode) and stream.read(len(_MAGIC)) == _MAGIC
            if is_ours:
                path.unlink(missing_ok=True)

    def _unseal(self, source: _Unsealing, target: Path | None) -> State:
        told = State(**source.record()["state"])
        if target is not None:
            target.mkdir(mode=0o700)
        while "end" not in (record := source.record()):
            if "folder" in record:
                path = _below(target, record["folder"])
                if path is not None:
                    path.mkdir(mode=0o700)
                continue
            path = _below(target, record["file"])
            written = open(path, "xb") if path is not None else None  # noqa: SIM115 - closed below, on every way
            try:
                for offset, length in record["extents"]:
                    data = source.take(length)
                    if written is not None:
                        written.seek(offset)
                        written.write(data)
                if written is not None:
                    written.truncate(record["size"])
            finally:
                if written is not None:
                    written.close()
        source.finish()
        if target is not None and read_state(target) != told:
            raise ValueError("the state inside is another")
        return told


def _records(generation: Path, state: State) -> Iterator[bytes]:
    yield _record({"state": asdict(state)})
    for folder in folders_of(generation):
        yield _record({"folder": folder.relative_to(generation).as_posix()})
    for path in files_of(generation):
        if path.name in _LEFT_OUT and path.parent == generation:
            continue
        with open(path, "rb") as stream:
            parts = list(extents(stream.fileno()))
            size = os.fstat(stream.fileno()).st_size
        spans = [[offset, len(data)] for offset, data in parts]
        yield _record({"file": path.relative_to(generation).as_posix(), "size": size, "extents": spans})
        for _unused, data in parts:
            yield data
    yield _record({"end": True})


def _record(value: dict[str, Any]) -> bytes:
    data = json.dumps(value, separators=(",", ":")).encode()
    return struct.pack(">I", len(data)) + data


def _below(target: Path | None, name: str) -> Path | None:
    """Return a path of a record below `target`. Raises `ValueError` where it would be outside."""
    parts = PurePosixPath(name).parts
    if not parts or any(not _PART.fullmatch(part) or set(part) == {"."} for part in parts):
        raise ValueError("a path that no generation has")
    return target.joinpath(*parts) if target is not None else None


def _bytes_of(folder: Path) -> int:
    sizes = (os.lstat(path) for path in files_of(folder))
    return sum(min(getattr(size, "st_blocks", 0) * 512 or size.st_size, size.st_size) for size in sizes)


def _cipher(key: bytes, salt: bytes) -> AESGCM:
    return AESGCM(HKDF(SHA256(), 32, salt=salt, info=b"docmind sealed index v1").derive(key))


class _Sealing:
    """An encrypting writer of chunks."""

    def __init__(self, stream: IO[bytes], key: bytes) -> None:
        salt = secrets.token_bytes(_SALT)
        self._stream, self._head, self._cipher = stream, _MAGIC + salt, _cipher(key, salt)
        self._waiting, self._number = bytearray(), 0
        stream.write(self._head)

    def write(self, data: bytes) -> None:
        self._waiting += data
        while len(self._waiting) > CHUNK:  # the last chunk is known only at the end
            self._put(bytes(self._waiting[:CHUNK]), is_last=False)
            del self._waiting[:CHUNK]

    def finish(self) -> None:
        self._put(bytes(self._waiting), is_last=True)

    def _put(self, data: bytes, *, is_last: bool) -> None:
        nonce = struct.pack(">QI", self._number, is_last)
        self._stream.write(self._cipher.encrypt(nonce, data, self._head))
        self._number += 1


class _Unsealing:
    """A reader of `_Sealing`'s format; it returns only authenticated data."""

    def __init__(self, stream: IO[bytes], key: bytes) -> None:
        head = stream.read(_HEAD)
        if len(head) != _HEAD or not head.startswith(_MAGIC):
            raise ValueError("not a sealed index")
        self._stream, self._head, self._cipher = stream, head, _cipher(key, head[len(_MAGIC) :])
        self._number, self._is_over = 0, False
        self._plain, self._at = b"", 0
        self._next = stream.read(CHUNK + _TAG)

    def record(self) -> dict[str, Any]:
        size = struct.unpack(">I", self.take(4))[0]
        if size > _LONGEST_RECORD:
            raise ValueError("a record that is too long")
        return json.loads(self.take(size))

    def take(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            if self._at == len(self._plain):
                self._advance()
            part = self._plain[self._at : self._at + size]
            self._at += len(part)
            size -= len(part)
            parts.append(part)
        return b"".join(parts)

    def finish(self) -> None:
        if not self._is_over or self._at != len(self._plain):
            raise ValueError("more than the records say")

    def _advance(self) -> None:
        if self._is_over:
            raise ValueError("less than the records say")
        chunk, self._next = self._next, self._stream.read(CHUNK + _TAG)
        self._is_over = not self._next
        nonce = struct.pack(">QI", self._number, self._is_over)
        self._plain, self._at = self._cipher.decrypt(nonce, chunk, self._head), 0
        self._number += 1
