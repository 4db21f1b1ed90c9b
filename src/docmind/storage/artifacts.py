"""Sealed files in format DMA1: page images, thumbnails and originals, named by a keyed hash.

    off size  DMA1, big-endian                    AAD = bytes 0..51 ‖ u8 len(id) ‖ id ‖ u8 len(suffix) ‖ suffix
    0   4     magic "DMA1"                        per-file key = HKDF-SHA256(data_key, salt, info="DMA1 file")
    4   3     version=1, alg=1 (AES-256-GCM), flags: bit 0 = labelled (unknown ones are refused)
    7   1     reserved 0
    8   8     key_id    16 16 salt    32 12 nonce    44 8 plaintext_len
    52  n     ciphertext   52+n 16 GCM tag   68+n 32 SHA-256 of all bytes before (finds rot without the key)

The id is HMAC-SHA256(id_key, "DMA1" ‖ plaintext): equal bytes are stored once, the id survives a change of data key,
and nobody without the key can check whether the vault holds a known file.

A labelled artifact holds a label, its plaintext and padding; the id covers the plaintext only. Equal bytes are stored
once, with their first label. It says what a file belongs to, so that a lost document can be recovered.

    labelled plaintext = u32 label bytes ‖ u64 payload bytes ‖ label (JSON, UTF-8) ‖ payload ‖ zeros to the padded size

The padded size follows PADME (Nikitin et al. 2019, "Reducing Metadata Leakage from Encrypted Files"): at most about
12% more bytes, and the size then shows only its magnitude and does not identify a known file.

It is above 500 lines because sealing files again must know of every write and removal in the folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import stat
import struct
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from docmind.errors import (
    DamagedError,
    DiskFullError,
    DocMindError,
    NotFoundError,
    TamperedError,
    VaultError,
    VaultFormatError,
    WrongKeyError,
)
from docmind.records.documents import ArtifactRef
from docmind.storage.aside import AsideFolder
from docmind.storage.files import disk_error, is_regular, open_own, reading, replacing, sync_folder
from docmind.storage.keys import Keyset, derive
from docmind.wording import _

Label = Mapping[str, object]
_LENGTHS = struct.Struct(">IQ")


def padded_length(length: int) -> int:
    """Return the next size of the PADME series, which keeps only the highest bits of `length`."""
    if length < 2:
        return length
    exponent = length.bit_length() - 1
    mask = (1 << (exponent - exponent.bit_length())) - 1
    return (length + mask) & ~mask


def pack_label(label: Label, payload: bytes) -> bytes:
    """Return the padded plaintext of a labelled artifact."""
    text = json.dumps(label, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    length = _LENGTHS.size + len(text) + len(payload)
    padding = bytes(padded_length(length) - length)
    return b"".join((_LENGTHS.pack(len(text), len(payload)), text, payload, padding))


def unpack_label(plaintext: bytes) -> tuple[Label, bytes]:
    """Return the label and the payload. Raises `DamagedError`."""
    try:
        label_size, payload_size = _LENGTHS.unpack_from(plaintext)
        start = _LENGTHS.size + label_size
        if start + payload_size > len(plaintext):
            raise ValueError("longer than what holds it")
        label = json.loads(plaintext[_LENGTHS.size : start])
        if not isinstance(label, dict):
            raise ValueError("not a label")
    except (struct.error, ValueError) as error:
        raise DamagedError(_("The label of a stored file is damaged.")) from error
    return label, plaintext[start : start + payload_size]


_HEADER = struct.Struct(">4sBBBB8s16s12sQ")
_TAG, _CHECKSUM = 16, 32
_OVERHEAD = _HEADER.size + _TAG + _CHECKSUM
ORIGINAL = ".original.enc"  # one suffix for originals of all kinds: the name of a file does not show its kind
_LABELLED = 1
_LARGE = 1 << 20  # bytes of a ciphertext that is written in parts: smaller ones cost less as one write
_READING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_STRAY = re.compile(r"\.new-[0-9a-f]{16}")  # a file that is being written
_OURS = re.compile(r"([0-9a-f]{64})(?:\.[a-z0-9]{1,8}){1,2}")


class StoredFile(NamedTuple):
    """A file of our own form, in the folder of artifacts or set aside.

    `name` is its name as an artifact, or `vault.db-wal` for a log that was set aside. `bytes` is its size. `seen` names
    this file as it was found: a file that was moved or put again has another.
    """

    path: Path
    name: str
    bytes: int
    is_aside: bool
    seen: str

    @property
    def artifact_id(self) -> str:
        """The id of the artifact; empty for a log."""
        return self.name[:64] if _OURS.fullmatch(self.name) else ""


@dataclass(frozen=True, slots=True)
class SealedUnder:
    """Sealed files of a folder by the key that their headers name: their paths, by the key's id."""

    paths: Mapping[bytes, Sequence[Path]]
    total: int

    def outdated(self, primary: bytes) -> list[Path]:
        """Return the files that are not sealed under this key."""
        return [path for key_id, paths in self.paths.items() if key_id != primary for path in paths]


class Sealable(NamedTuple):
    """Bytes to seal, the suffix of their file, and an optional label (`docmind.storage.artifacts`)."""

    plaintext: bytes
    suffix: str
    label: Label | None = None


def seal(
    plaintext: bytes, keys: Keyset, ref: ArtifactRef, *, salt: bytes, nonce: bytes, label: Label | None = None
) -> bytes:
    """Return the bytes of one DMA1 file.

    `salt` (16 bytes) and `nonce` (12 bytes) must be fresh; they are arguments for test vectors.
    """
    return b"".join(_sealed_parts(plaintext, keys, ref, salt=salt, nonce=nonce, label=label))


def _sealed_parts(
    plaintext: bytes, keys: Keyset, ref: ArtifactRef, *, salt: bytes, nonce: bytes, label: Label | None = None
) -> tuple[bytes, bytes, bytes]:
    """Return header, ciphertext and checksum of `seal`; joining them would need the memory of a large file again."""
    flags = 0 if label is None else _LABELLED
    if label is not None:
        plaintext = pack_label(label, plaintext)
    header = _HEADER.pack(b"DMA1", 1, 1, flags, 0, keys.primary, salt, nonce, len(plaintext))
    file_key = derive(keys.data_keys[keys.primary], salt, b"DMA1 file")
    sealed = AESGCM(file_key).encrypt(nonce, plaintext, _associated(header, ref))
    checksum = hashlib.sha256(header)
    checksum.update(sealed)
    return header, sealed, checksum.digest()


def unseal(data: bytes, keys: Keyset, ref: ArtifactRef) -> bytes:
    """Return the plaintext.

    Raises `DamagedError` (rot), `WrongKeyError` (a key we do not hold), `TamperedError` (changed) and
    `VaultFormatError` (a newer format).
    """
    return unseal_labelled(data, keys, ref)[0]


def unseal_labelled(data: bytes, keys: Keyset, ref: ArtifactRef) -> tuple[bytes, Label | None]:
    """Return the plaintext and its label, None where it has none. Raises as `unseal` does."""
    check(data, ref)
    header = data[: _HEADER.size]
    _unused, version, algorithm, flags, reserved, key_id, salt, nonce, _unused = _HEADER.unpack(header)
    if (version, algorithm, flags & ~_LABELLED, reserved) != (1, 1, 0, 0):
        raise VaultFormatError(
            _("The stored file {sha256} was written by a newer DocMind.").format(sha256=ref.sha256[:12])
        )
    if key_id not in keys.data_keys:
        raise WrongKeyError(
            _("The stored file {sha256} was encrypted with a key that isn't in this library.").format(
                sha256=ref.sha256[:12]
            )
        )
    file_key = derive(keys.data_keys[key_id], salt, b"DMA1 file")
    try:
        plaintext = AESGCM(file_key).decrypt(nonce, data[_HEADER.size : -_CHECKSUM], _associated(header, ref))
    except InvalidTag as error:
        raise TamperedError(
            _("The stored file {sha256} was changed by someone without the key.").format(sha256=ref.sha256[:12])
        ) from error
    label, plaintext = unpack_label(plaintext) if flags & _LABELLED else (None, plaintext)
    if not hmac.compare_digest(id_of(plaintext, keys), ref.sha256):
        raise TamperedError(_("The stored file {sha256} isn't what its name says.").format(sha256=ref.sha256[:12]))
    return plaintext, label


def check(data: bytes, ref: ArtifactRef) -> None:
    """Check magic, length and checksum, which needs no key. Raises `DamagedError`."""
    whole = len(data) >= _OVERHEAD and data[:4] == b"DMA1"
    if not whole or len(data) != _OVERHEAD + _HEADER.unpack_from(data)[-1]:
        raise DamagedError(
            _("The stored file {sha256} is cut short or isn't one of DocMind's.").format(sha256=ref.sha256[:12])
        )
    if hashlib.sha256(memoryview(data)[:-_CHECKSUM]).digest() != data[-_CHECKSUM:]:
        raise DamagedError(
            _("The stored file {sha256} is damaged: its checksum is wrong.").format(sha256=ref.sha256[:12])
        )


def check_sealed(path: Path, ref: ArtifactRef, *, is_read: bool) -> None:
    """Check a sealed file without a key: its header and size, and with `is_read` its checksum.

    Raises `DamagedError`, and `NotFoundError` where it is gone.
    """
    try:
        size = path.stat().st_size
        with open(path, "rb", buffering=0) as file:
            data = file.read(-1 if is_read else _HEADER.size)
    except OSError as error:
        raise _not_read(error, ref) from error
    if is_read:
        check(data, ref)
    elif len(data) < _HEADER.size or data[:4] != b"DMA1" or size != _OVERHEAD + _HEADER.unpack(data)[-1]:
        raise DamagedError(
            _("The stored file {sha256} is cut short or isn't one of DocMind's.").format(sha256=ref.sha256[:12])
        )


def id_of(plaintext: bytes, keys: Keyset) -> str:
    """Return HMAC-SHA256(id_key, "DMA1" ‖ plaintext) in hex."""
    mac = hmac.new(keys.id_key, b"DMA1", hashlib.sha256)
    mac.update(plaintext)
    return mac.hexdigest()


def _stored(name: str, path: Path, is_aside: bool) -> StoredFile | None:
    """Return a regular file as it is now, None where there is none."""
    try:
        found = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return StoredFile(path, name, found.st_size, is_aside, path.name if is_aside else f"{name} {found.st_mtime_ns}")


def _associated(header: bytes, ref: ArtifactRef) -> bytes:
    name, suffix = ref.sha256.encode(), ref.suffix.encode()
    return header + bytes([len(name)]) + name + bytes([len(suffix)]) + suffix


class Artifacts:
    """The folder of sealed files.

    Thread-safe: every file is written to a temporary name, then renamed into place.

    While the data key changes, writes that began under the old key are waited for (`use`), and a file that is removed
    or moved while it is sealed again is not brought back (`reseal`).
    """

    def __init__(self, root: Path, keys: Keyset, *, read_only: bool = False) -> None:
        """Open the folder, and remove files that a killed process left half-written.

        The folder `aside` next to it holds files that were set aside. With `read_only` nothing is made, moved or
        removed.
        """
        if not read_only:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._root = root.resolve()
        self._keys, self._is_read_only = keys, read_only
        self._writing: Counter[bytes] = Counter()  # writes under way, by the key that they began with
        self._written = threading.Condition()
        self._moving = threading.Lock()  # held while a file is removed or moved, or replaced by `reseal`
        self._aside = AsideFolder(self._root.parent / "aside")
        self._pool = ThreadPoolExecutor(4, thread_name_prefix="artifacts")
        for stray in () if read_only else list(self._files(_STRAY)):  # left half-written by a killed process
            with contextlib.suppress(OSError):  # its write was never acknowledged
                stray.unlink(missing_ok=True)

    def close(self) -> None:
        """Wait for pending writes."""
        self._pool.shutdown()

    def ref_of(self, plaintext: bytes, suffix: str) -> ArtifactRef:
        """Return the name of these bytes in this folder, whether or not they are stored."""
        return ArtifactRef(id_of(plaintext, self._keys), suffix)

    def put(self, plaintext: bytes, suffix: str, label: Label | None = None) -> ArtifactRef:
        """Seal and store; durable when this returns. Raises `DiskFullError`, `VaultError`."""
        return self.put_many([Sealable(plaintext, suffix, label)])[0]

    def put_many(self, items: Sequence[Sealable]) -> list[ArtifactRef]:
        """Seal and store several items in parallel; all are durable when this returns.

        Where it raises, no write is pending any more, and some of the items may be stored.
        """
        writes = [self._pool.submit(self._write, item) for item in items]
        wait(writes)
        refs = [write.result() for write in writes]
        try:
            sync_folder(self._root)
        except OSError as error:
            raise _not_stored(error) from error
        return refs

    def get(self, ref: ArtifactRef) -> bytes:
        """Return the plaintext.

        Raises `NotFoundError`, `DamagedError`, `WrongKeyError`, `TamperedError`.
        """
        return self._unsealed(ref)[0]

    def use(self, keys: Keyset) -> None:
        """Seal under the primary key of another keyset from now on, which has the same `id_key`.

        When this returns, no write under another key is under way.
        """
        with self._written:
            self._keys = keys
            self._written.wait_for(lambda: not any(n for key_id, n in self._writing.items() if key_id != keys.primary))

    def sealed_under(self) -> SealedUnder:
        """Return all files, also those set aside, by the key that their headers name; reads 16 bytes of each.

        Files whose header cannot be read are under the empty id.
        """
        found: dict[bytes, list[Path]] = {}
        total = 0
        with self._moving:  # a file that moves from one folder to the other meanwhile would be missed
            for path in (*self._files(_OURS), *self._aside.paths(_OURS)):
                head = b""
                with contextlib.suppress(OSError), reading(path) as file:
                    head = file.read(_HEADER.size)
                is_whole = len(head) == _HEADER.size and head.startswith(b"DMA1")
                found.setdefault(head[8:16] if is_whole else b"", []).append(path)
                total += 1
        return SealedUnder(found, total)

    def reseal(self, paths: Sequence[Path]) -> list[Path]:
        """Seal files again under the primary key, all in one group; return those that could not be read.

        They keep their names, each is replaced as a whole, and all are durable when this returns: their contents are
        synced before the renames, and each folder once after them. Raises `DiskFullError`, `VaultError`; every file is
        then as before or sealed again.
        """
        new = {path: self._root / f".new-{secrets.token_hex(8)}" for path in paths}
        try:
            results = [self._pool.submit(self._sealed_again, path, at) for path, at in new.items()]
            wait(results)
            made = [path for path, result in zip(paths, results, strict=True) if result.result()]
            list(self._pool.map(_sync, [new[path] for path in made]))
            with self._moving:
                for path in made:
                    if is_regular(path):  # else it was removed, or moved out of the folder `aside`
                        os.replace(new[path], path)
            for folder in {path.parent for path in made}:
                sync_folder(folder)
        except OSError as error:
            raise _not_stored(error) from error
        finally:
            for at in new.values():
                with contextlib.suppress(OSError):  # it is removed at the next opening
                    at.unlink(missing_ok=True)
        return [path for path in paths if path not in made and is_regular(path)]

    def _sealed_again(self, path: Path, at: Path) -> bool:
        """Write a file again under the primary key, to another name; return False where it cannot be opened."""
        name = path.name.rpartition("-")[2]  # without the time of one that was set aside
        ref = ArtifactRef(name[:64], name[64:])
        try:
            plaintext, label = unseal_labelled(path.read_bytes(), self._keys, ref)
        except (DamagedError, WrongKeyError, TamperedError, VaultFormatError, OSError):
            return False
        salt, nonce = secrets.token_bytes(16), secrets.token_bytes(12)
        sealed = seal(plaintext, self._keys, ref, salt=salt, nonce=nonce, label=label)
        with os.fdopen(open_own(at, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(sealed)
        return True

    def sealed_for(self, ref: ArtifactRef, keys: Keyset) -> bytes:
        """Return the file of an artifact under the primary key of another keyset, which has the same `id_key`.

        Raises as `get` does.
        """
        plaintext, label = self._unsealed(ref)
        return seal(plaintext, keys, ref, salt=secrets.token_bytes(16), nonce=secrets.token_bytes(12), label=label)

    def keys_for_carrying(self) -> Keyset:
        """Return new keys, under which artifacts keep their names."""
        return replace(Keyset.generate(), id_key=self._keys.id_key)

    def label(self, ref: ArtifactRef) -> Label | None:
        """Return the label of an artifact; None for those of an older DocMind. Raises as `get` does."""
        return self._unsealed(ref)[1]

    def unreferenced(self, named: Collection[str]) -> list[ArtifactRef]:
        """Return the artifacts whose ids are not in `named`, including those set aside."""
        names = {path.name for path in self._files(_OURS)} | {n for n in self._aside.names() if _OURS.fullmatch(n)}
        return [ArtifactRef(n[:64], n[64:]) for n in sorted(names) if n[:64] not in named]

    def listed(self) -> dict[str, int]:
        """Return the sizes in bytes of the sealed files by their names, without those set aside."""
        sizes: dict[str, int] = {}
        if not self._root.is_dir():
            return sizes
        with os.scandir(self._root) as entries:
            for entry in entries:
                if _OURS.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    with contextlib.suppress(OSError):  # deleted meanwhile
                        sizes[entry.name] = entry.stat(follow_symlinks=False).st_size
        return sizes

    def put_aside(self) -> set[str]:
        """Return the names of sealed files that are set aside."""
        return {name for name in self._aside.names() if _OURS.fullmatch(name)}

    def is_plausible(self, name: str, size: int) -> bool:
        """Return whether a file of this name and size begins as one that has it; reads its first 52 bytes.

        Called for every file of a library, so it takes names from `listed` and makes no paths. True where it is gone.
        """
        try:
            descriptor = os.open(f"{self._root}{os.sep}{name}", _READING)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        try:
            head = os.read(descriptor, _HEADER.size)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return len(head) == _HEADER.size and head[:4] == b"DMA1" and size == _OVERHEAD + _HEADER.unpack(head)[-1]

    def check(self, ref: ArtifactRef) -> None:
        """Check length and checksum of a file, as `check_sealed` does, and raises."""
        check_sealed(self._path(ref), ref, is_read=True)

    def look(self, ref: ArtifactRef) -> tuple[bytes, Label | None]:
        """Return plaintext and label of an artifact, and leave one that is set aside where it is. Raises as `get`."""
        path = self._path(ref)
        found = path if path.is_file() else self._aside.find(ref.file_name)
        if found is None:
            raise NotFoundError(
                _("The stored file {sha256} is missing from the library.").format(sha256=ref.sha256[:12])
            )
        try:
            data = found.read_bytes()
        except OSError as error:
            raise DamagedError(
                _("The stored file {sha256} can't be read: {strerror}.").format(
                    sha256=ref.sha256[:12], strerror=error.strerror
                )
            ) from error
        return unseal_labelled(data, self._keys, ref)

    def set_aside(self, named: Collection[str]) -> int:
        """Move artifacts whose ids are not in `named` to the folder `aside`, and return how many.

        `get` moves them back. Nothing is deleted, because the database that lacks the id may be at fault. A file that
        cannot be moved stays where it is.
        """
        moved = 0
        for path in list(self._files(_OURS)):
            if path.name[:64] not in named:
                with contextlib.suppress(OSError), self._moving:  # a full disk or a file in use: tried again next time
                    self._aside.take(path)
                    moved += 1
        return moved

    def stored(self) -> list[StoredFile]:
        """Return all files of exactly our form, in the folder and set aside; symbolic links are none."""
        here = [(path.name, path, False) for path in self._files(_OURS)]
        aside = [(name, path, True) for name, path in self._aside.files()]
        return [file for found in (*here, *aside) if (file := _stored(*found)) is not None]

    def unlink(self, file: StoredFile) -> bool:
        """Remove one file that `stored` returned; False where it has changed, moved or gone since. Raises `OSError`.

        The caller holds what keeps others from referring to it meanwhile.
        """
        with self._moving:
            if _stored(file.name, file.path, file.is_aside) != file:
                return False
            file.path.unlink()
        return True

    def exists(self, ref: ArtifactRef) -> bool:
        return self._path(ref).is_file() or self._aside.find(ref.file_name) is not None

    def verify(self, ref: ArtifactRef) -> None:
        """Open an artifact as `get` does, and discard the plaintext. Raises as `get` does."""
        self.get(ref)

    def opens(self, ref: ArtifactRef) -> bool:
        """Return whether an artifact is there and opens."""
        try:
            self.get(ref)
        except (NotFoundError, DamagedError, TamperedError, WrongKeyError, VaultFormatError):
            return False
        return True

    def remove(self, refs: Iterable[ArtifactRef]) -> int:
        """Unlink artifacts, including copies set aside, and return how many existed.

        Raises `VaultError` where the system refuses some of them, or does not note it, `DiskFullError` where that is
        for lack of room; all others are gone then.
        """
        gone, refused = 0, None
        for ref in refs:
            there = 0
            try:
                with self._moving:
                    there = self._aside.remove(ref.file_name)
                    with contextlib.suppress(FileNotFoundError):
                        self._path(ref).unlink()
                        there += 1
            except OSError as error:
                refused = error
            gone += there > 0
        try:
            sync_folder(self._root)
        except OSError as error:
            refused = error
        if refused is not None:
            why = VaultError(_("A stored file can't be deleted: {strerror}.").format(strerror=refused.strerror))
            raise disk_error(refused, why) from refused
        return gone

    def _files(self, form: re.Pattern[str]) -> Iterator[Path]:
        """Yield the regular files in the folder whose whole name matches `form`."""
        if not self._root.is_dir():
            return
        with os.scandir(self._root) as entries:
            for entry in entries:
                if form.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    yield self._root / entry.name

    def _path(self, ref: ArtifactRef) -> Path:
        path = self._root / ref.file_name
        if path.parent != self._root or path.is_symlink():
            raise NotFoundError(_("A stored file must be in its own folder."))
        return path

    def _unsealed(self, ref: ArtifactRef) -> tuple[bytes, Label | None]:
        while True:
            keys = self._keys
            try:
                return unseal_labelled(self._read(ref), keys, ref)
            except WrongKeyError:
                if keys is self._keys:
                    raise  # else the file was sealed again, or the keys changed, between the two lines above

    def _read(self, ref: ArtifactRef) -> bytes:
        path = self._path(ref)
        try:
            with contextlib.suppress(FileNotFoundError):
                return path.read_bytes()
            found = self._aside.find(ref.file_name)
            if found is None:
                raise NotFoundError(
                    _("The stored file {sha256} is missing from the library.").format(sha256=ref.sha256[:12])
                )
            data = found.read_bytes()
            if not self._is_read_only:
                with contextlib.suppress(FileNotFoundError), self._moving:  # another thread has moved it
                    os.replace(found, path)
            return data
        except OSError as error:  # it may have moved between the two checks
            raise _not_read(error, ref) from error

    def _write(self, item: Sealable) -> ArtifactRef:
        with self._written:
            keys = self._keys
            self._writing[keys.primary] += 1
        try:
            return self._write_under(keys, item)
        finally:
            with self._written:
                self._writing[keys.primary] -= 1
                self._written.notify_all()

    def _write_under(self, keys: Keyset, item: Sealable) -> ArtifactRef:
        plaintext, suffix, label = item
        ref = self.ref_of(plaintext, suffix)
        path = self._path(ref)
        if self._is_kept(path, ref):
            return ref
        temporary = self._root / f".new-{secrets.token_hex(8)}"
        salt, nonce = secrets.token_bytes(16), secrets.token_bytes(12)
        parts = _sealed_parts(plaintext, keys, ref, salt=salt, nonce=nonce, label=label)
        try:
            with replacing(path, beside=temporary, is_rename_synced=False) as file:
                file.writelines(parts if len(parts[1]) > _LARGE else (b"".join(parts),))
        except OSError as error:
            raise _not_stored(error) from error
        return ref

    def _is_kept(self, path: Path, ref: ArtifactRef) -> bool:
        """Return whether the file exists and opens.

        A file that no longer opens is written again, so adding the document again repairs it.
        """
        if not self.opens(ref):
            return False
        try:
            os.utime(path)
        except OSError:
            return False
        return True


def _not_read(error: OSError, ref: ArtifactRef) -> DocMindError:
    if isinstance(error, FileNotFoundError):
        return NotFoundError(_("The stored file {sha256} is missing from the library.").format(sha256=ref.sha256[:12]))
    return DamagedError(
        _("The stored file {sha256} can't be read: {strerror}.").format(sha256=ref.sha256[:12], strerror=error.strerror)
    )


def _not_stored(error: OSError) -> DocMindError:
    return disk_error(
        error,
        VaultError(_("A page could not be stored: {strerror}.").format(strerror=error.strerror)),
        DiskFullError(_("The disk is full: a page could not be stored.")),
    )


def _sync(path: Path) -> None:
    with os.fdopen(open_own(path, os.O_RDWR), "rb+", buffering=0) as file:
        os.fsync(file.fileno())
