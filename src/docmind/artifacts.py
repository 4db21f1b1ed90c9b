"""Sealed files, format DMA1: page images, thumbnails and originals, named by a keyed hash of what they hold.

    off size  DMA1, big-endian                    AAD = bytes 0..51 ‖ u8 len(id) ‖ id ‖ u8 len(suffix) ‖ suffix
    0   4     magic "DMA1"                        per-file key = HKDF-SHA256(data_key, salt, info="DMA1 file")
    4   3     version=1, alg=1 (AES-256-GCM), flags=0
    7   1     reserved 0
    8   8     key_id    16 16 salt    32 12 nonce    44 8 plaintext_len
    52  n     ciphertext   52+n 16 GCM tag   68+n 32 SHA-256 of all bytes before (finds rot without the key)

The id is HMAC-SHA256(id_key, "DMA1" ‖ plaintext): equal bytes are kept once, the id survives a change of data key, and
nobody without the key can confirm that a known file is here.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import os
import secrets
import struct
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from docmind.errors import (
    DamagedError,
    DiskFullError,
    NotFoundError,
    TamperedError,
    VaultError,
    VaultFormatError,
    WrongKeyError,
)
from docmind.keys import Keyset, derive
from docmind.schema import ArtifactRef

_HEADER = struct.Struct(">4sBBBB8s16s12sQ")
_TAG, _CHECKSUM = 16, 32
_OVERHEAD = _HEADER.size + _TAG + _CHECKSUM
_UNFINISHED = ".new-"


@dataclass(frozen=True, slots=True)
class PruneReport:
    """What `prune` took away, and what it could not."""

    removed: int
    freed_bytes: int
    total_bytes: int
    failed: int


def seal(plaintext: bytes, keys: Keyset, ref: ArtifactRef, *, salt: bytes, nonce: bytes) -> bytes:
    """One DMA1 file. `salt` (16 bytes) and `nonce` (12 bytes) must be fresh; they are arguments for test vectors."""
    header = _HEADER.pack(b"DMA1", 1, 1, 0, 0, keys.primary, salt, nonce, len(plaintext))
    file_key = derive(keys.data_keys[keys.primary], salt, b"DMA1 file")
    sealed = header + AESGCM(file_key).encrypt(nonce, plaintext, _associated(header, ref))
    return sealed + hashlib.sha256(sealed).digest()


def unseal(data: bytes, keys: Keyset, ref: ArtifactRef) -> bytes:
    """The plaintext. Raises `DamagedError` (rot), `WrongKeyError` (a key we do not hold), `TamperedError` (changed)."""
    check(data, ref)
    header = data[: _HEADER.size]
    _, version, algorithm, flags, reserved, key_id, salt, nonce, _ = _HEADER.unpack(header)
    if (version, algorithm, flags, reserved) != (1, 1, 0, 0):
        raise VaultFormatError(f"Artifact {ref.sha256[:12]} was written by a newer DocMind.")
    if key_id not in keys.data_keys:
        raise WrongKeyError(f"Artifact {ref.sha256[:12]} was sealed with a key that is not in this vault.")
    file_key = derive(keys.data_keys[key_id], salt, b"DMA1 file")
    try:
        plaintext = AESGCM(file_key).decrypt(nonce, data[_HEADER.size : -_CHECKSUM], _associated(header, ref))
    except InvalidTag as error:
        raise TamperedError(f"Artifact {ref.sha256[:12]} was changed by somebody without the key.") from error
    if not hmac.compare_digest(id_of(plaintext, keys), ref.sha256):
        raise TamperedError(f"Artifact {ref.sha256[:12]} holds something else than its name says.")
    return plaintext


def check(data: bytes, ref: ArtifactRef) -> None:
    """Find rot without any key: magic, length and checksum. Raises `DamagedError`."""
    whole = len(data) >= _OVERHEAD and data[:4] == b"DMA1"
    if not whole or len(data) != _OVERHEAD + _HEADER.unpack_from(data)[-1]:
        raise DamagedError(f"Artifact {ref.sha256[:12]} is cut short or is not an artifact.")
    if hashlib.sha256(memoryview(data)[:-_CHECKSUM]).digest() != data[-_CHECKSUM:]:
        raise DamagedError(f"Artifact {ref.sha256[:12]} has rotted: its checksum does not hold.")


def id_of(plaintext: bytes, keys: Keyset) -> str:
    """HMAC-SHA256(id_key, "DMA1" ‖ plaintext) in hex."""
    mac = hmac.new(keys.id_key, b"DMA1", hashlib.sha256)
    mac.update(plaintext)
    return mac.hexdigest()


def _associated(header: bytes, ref: ArtifactRef) -> bytes:
    name, suffix = ref.sha256.encode(), ref.suffix.encode()
    return header + bytes([len(name)]) + name + bytes([len(suffix)]) + suffix


class Artifacts:
    """The folder of sealed files. Safe from any thread: every file is written whole, then renamed into place."""

    def __init__(self, root: Path, keys: Keyset) -> None:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._root = root.resolve()
        self._keys = keys
        self._pool = ThreadPoolExecutor(4, thread_name_prefix="artifacts")
        for stray in self._root.glob(f"{_UNFINISHED}*"):  # what a kill left half-written
            stray.unlink(missing_ok=True)

    def close(self) -> None:
        """Wait for writes under way."""
        self._pool.shutdown()

    def ref_of(self, plaintext: bytes, suffix: str) -> ArtifactRef:
        """The name these bytes have here, whether or not they are kept."""
        return ArtifactRef(id_of(plaintext, self._keys), suffix)

    def put(self, plaintext: bytes, suffix: str) -> ArtifactRef:
        """Seal and keep; on the disk when this returns. Raises `DiskFullError`, `VaultError`."""
        return self.put_many([(plaintext, suffix)])[0]

    def put_many(self, items: Sequence[tuple[bytes, str]]) -> list[ArtifactRef]:
        """Seal and keep several; the waits for the disk overlap. All are on the disk when this returns.

        Where it raises, nothing is being written any more, and some of them may be kept.
        """
        writes = [self._pool.submit(self._write, item) for item in items]
        wait(writes)
        refs = [write.result() for write in writes]
        self._sync_folder()
        return refs

    def get(self, ref: ArtifactRef) -> bytes:
        """The plaintext. Raises `NotFoundError`, `DamagedError`, `WrongKeyError`, `TamperedError`."""
        return unseal(self._read(ref), self._keys, ref)

    def exists(self, ref: ArtifactRef) -> bool:
        return self._path(ref).is_file()

    def verify(self, ref: ArtifactRef) -> None:
        """Open it as `get` does, and drop the plaintext. Raises as `get` does."""
        self.get(ref)

    def delete(self, refs: Iterable[ArtifactRef]) -> int:
        """Unlink; returns how many files were there."""
        gone = 0
        for ref in refs:
            with contextlib.suppress(FileNotFoundError):
                self._path(ref).unlink()
                gone += 1
        self._sync_folder()
        return gone

    def total_bytes(self) -> int:
        """The size of all sealed files."""
        return sum(entry.stat().st_size for entry in os.scandir(self._root) if entry.is_file())

    def prune(
        self, is_referenced: Callable[[str], bool], *, max_total_bytes: int, min_age_seconds: float
    ) -> PruneReport:
        """Unlink the oldest files nobody refers to until the folder holds `max_total_bytes`; what cannot be is counted.

        A `put` makes the file it finds young again, so `min_age_seconds` covers what is sealed and not yet referred to.
        """
        files: list[tuple[float, int, str]] = []
        removed = freed = failed = 0
        for path in self._root.iterdir():
            if path.name.startswith(_UNFINISHED):  # being written now
                continue
            try:
                stat = path.lstat()
            except OSError:
                failed += 1
                continue
            files.append((stat.st_mtime, stat.st_size, path.name))
        total = sum(size for _, size, _ in files)
        newest = time.time() - min_age_seconds
        for modified, size, name in sorted(files):
            if total <= max_total_bytes or modified > newest:
                break
            if is_referenced(name):
                continue
            try:
                (self._root / name).unlink()
            except OSError:
                failed += 1
                continue
            removed, freed, total = removed + 1, freed + size, total - size
        return PruneReport(removed, freed, total, failed)

    def _path(self, ref: ArtifactRef) -> Path:
        path = self._root / ref.file_name
        if path.parent != self._root or path.is_symlink():
            raise NotFoundError("An artifact lies in its folder and nowhere else.")
        return path

    def _read(self, ref: ArtifactRef) -> bytes:
        try:
            return self._path(ref).read_bytes()
        except FileNotFoundError as error:
            raise NotFoundError(f"Artifact {ref.sha256[:12]} is missing from the vault.") from error
        except OSError as error:
            raise DamagedError(f"Artifact {ref.sha256[:12]} cannot be read: {error.strerror}.") from error

    def _write(self, item: tuple[bytes, str]) -> ArtifactRef:
        plaintext, suffix = item
        ref = self.ref_of(plaintext, suffix)
        path = self._path(ref)
        if self._is_kept(path, ref):
            return ref
        temporary = self._root / f".new-{secrets.token_hex(8)}"
        sealed = seal(plaintext, self._keys, ref, salt=secrets.token_bytes(16), nonce=secrets.token_bytes(12))
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(sealed)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFullError("The disk is full: a page could not be sealed.") from error
            raise VaultError(f"A page could not be sealed: {error.strerror}.") from error
        return ref

    def _is_kept(self, path: Path, ref: ArtifactRef) -> bool:
        """A kept file that does not open any more is written again: adding the document once more heals it."""
        try:
            self.get(ref)
            os.utime(path)
        except (NotFoundError, DamagedError, TamperedError, WrongKeyError, VaultFormatError, OSError):
            return False
        return True

    def _sync_folder(self) -> None:
        if os.name == "nt":  # a folder cannot be opened there; renames are journalled by NTFS
            return
        descriptor = os.open(self._root, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
