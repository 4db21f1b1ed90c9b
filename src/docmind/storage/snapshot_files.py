"""The files of snapshots: signed manifests, sealed states, and sealed segments, which hold the documents.

    snapshots/<id>/manifest.jsonl    one JSON object a line:
        {"format": "DocMind snapshot 1", "vault_id": …, "snapshot_id": …, "created_at_ms": …, "reason": …,
         "documents": …, "pages": …, "corpus": …, "config": …}
        {"name": "state-<16 hex>", "size": …, "sha256": …}
        {"name": "<64 hex>.segment", "size": …, "sha256": …}                  one for each document
        {"name": "<64 hex>.segment", "erased_at_ms": …}                       one that was erased from it
        {"signature": HMAC-SHA256 of all lines before}
    snapshots/<id>/state-<16 hex>                                           names, tags, collections, settings
    snapshots/segments/<64 hex>.segment                                     one state of the text of a document

    off  size  DMS1                                        key    of a segment: its document's; of a state: the vault's
    0    4     magic "DMS1"                                AAD  = "DMS1" ‖ what it is (ASCII)
    4    12    nonce
    16   n     AES-256-GCM of: u64 length ‖ zlib stream ‖ zeros to the padded size (PADME, as sealed files have)

A manifest has names of members and no paths: each lies in the snapshot's own folder or among the segments. A segment
is named by a keyed hash of what it holds, so that equal states are stored once and the name tells nothing without the
key. What a manifest shows without the key are dates, counts and sizes.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from docmind.errors import DamagedError, DocMindError, TamperedError, VaultError, VaultFormatError
from docmind.storage.artifacts import padded_length
from docmind.storage.data_folder import SEGMENT, SNAPSHOT, SNAPSHOT_FILE, STATE, UNFINISHED, own_files
from docmind.storage.files import disk_error, is_folder, read_own, replacing, sync_folder
from docmind.storage.keys import derive
from docmind.wording import _

FORMAT = "DocMind snapshot 1"
_MANIFEST = "manifest.jsonl"
_MAGIC, _NONCE = b"DMS1", 12
_LENGTH = struct.Struct(">Q")
_LARGEST = 1 << 32  # bytes that a sealed part may unpack to
_LEVEL = 6  # of zlib
_HEX = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Member:
    """A file of a snapshot by its name, size in bytes, and SHA-256."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a snapshot consists of. `erased` are the names of segments that were erased from it, with the time."""

    header: Mapping[str, Any]
    members: tuple[Member, ...]
    erased: Mapping[str, int] = field(default_factory=dict)


class SnapshotFiles:
    """The folder `snapshots` of a vault. Thread-safe where no two threads change one snapshot."""

    def __init__(self, folder: Path, id_key: bytes, vault_id: str) -> None:
        """Make nothing yet. No rotation changes `id_key`, so signatures and names stay valid."""
        self._folder, self._segments, self._vault_id = folder, folder / "segments", vault_id
        self._signing = derive(id_key, vault_id.encode(), b"docmind snapshot")
        self._naming = derive(id_key, vault_id.encode(), b"docmind segment")
        self._state_key = derive(id_key, vault_id.encode(), b"docmind snapshot state")

    def hash_of(self, data: bytes) -> str:
        """Return the keyed hash of some bytes in hex, which names segments and compares states."""
        return hmac.digest(self._naming, data, "sha256").hex()

    # segments

    def put_segments(self, segments: Mapping[str, bytes]) -> None:
        """Write files of segments by address; durable when this returns. Raises `DiskFullError`, `VaultError`."""
        if segments:
            self._make(self._segments)
            for address, data in segments.items():
                self._write(self._segments / f"{address}.segment", data, is_rename_synced=False)
            sync_folder(self._segments)

    def has_segment(self, address: str, size: int) -> bool:
        """Return whether a segment's file is there with this size."""
        try:
            path = self._segments / f"{address}.segment"
            return not path.is_symlink() and path.is_file() and path.stat().st_size == size
        except OSError:
            return False

    def segment(self, member: Member, key: bytes) -> bytes:
        """Return what a segment holds. Raises `DamagedError`, `TamperedError`."""
        address = member.name[:64]
        return open_part(key, address, self.checked(member), member.name)

    def remove_segments(self, addresses: Iterable[str]) -> int:
        """Unlink files of segments; return how many there were. Raises `VaultError`."""
        return self._unlink([self._segments / f"{address}.segment" for address in addresses])

    # snapshots

    def put_state(self, snapshot_id: str, state: bytes) -> Member:
        """Seal and write the state of a snapshot, beside one that its manifest may name.

        Raises `DiskFullError`, `VaultError`.
        """
        folder = self._place(snapshot_id)
        self._make(folder)
        data = seal_part(self._state_key, snapshot_id, state)
        digest = hashlib.sha256(data).hexdigest()
        self._write(folder / f"state-{digest[:16]}", data)
        return Member(f"state-{digest[:16]}", len(data), digest)

    def state(self, snapshot_id: str, member: Member) -> bytes:
        """Return the state of a snapshot. Raises `DamagedError`, `TamperedError`."""
        return open_part(self._state_key, snapshot_id, self.checked(member, snapshot_id), "state")

    def put_manifest(self, manifest: Manifest) -> None:
        """Sign and write a manifest, and remove states that it does not name. Raises `DiskFullError`, `VaultError`."""
        header = {"format": FORMAT, "vault_id": self._vault_id, **manifest.header}
        lines: list[Mapping[str, object]] = [header]
        lines += [{"name": one.name, "size": one.size, "sha256": one.sha256} for one in manifest.members]
        lines += [{"name": name, "erased_at_ms": at} for name, at in manifest.erased.items()]
        body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        signature = json.dumps({"signature": self._signature(body)}).encode() + b"\n"
        folder = self._place(str(manifest.header["snapshot_id"]))
        self._make(folder)
        self._write(folder / _MANIFEST, body + signature)
        named = {one.name for one in manifest.members}
        self._unlink([path for path in own_files(folder, STATE) if path.name not in named])

    def manifest(self, snapshot_id: str) -> Manifest:
        """Return a manifest whose signature holds.

        Raises `DamagedError` where it cannot be read, `TamperedError` where it was changed or belongs elsewhere, and
        `VaultFormatError` where a newer DocMind wrote it.
        """
        data = self._read(self._place(snapshot_id) / _MANIFEST)
        body, _newline, last = data.rstrip(b"\n").rpartition(b"\n")
        body += b"\n"
        try:
            signature = json.loads(last)["signature"]
            header, *lines = [json.loads(line) for line in body.splitlines()]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise _changed(_MANIFEST) from error
        if not isinstance(signature, str) or not hmac.compare_digest(
            signature.encode("utf-8", "replace"), self._signature(body).encode()
        ):
            raise _changed(_MANIFEST)
        if header.get("format") != FORMAT:
            raise VaultFormatError(_("This snapshot was written by a newer DocMind."))
        if (header.get("vault_id"), header.get("snapshot_id")) != (self._vault_id, snapshot_id):
            raise _changed(_MANIFEST)
        try:
            members = tuple(Member(line["name"], line["size"], line["sha256"]) for line in lines if "size" in line)
            erased = {line["name"]: line["erased_at_ms"] for line in lines if "size" not in line}
            if not all(_is_member(one) for one in members):
                raise ValueError("no member of ours")
        except (ValueError, TypeError, KeyError) as error:
            raise _changed(_MANIFEST) from error
        del header["format"], header["vault_id"]
        return Manifest(header, members, erased)

    def checked(self, member: Member, snapshot_id: str = "") -> bytes:
        """Return the bytes of a member. Raises `DamagedError` where they are missing or others."""
        folder = self._segments if SEGMENT.fullmatch(member.name) else self._place(snapshot_id)
        data = self._read(folder / member.name)
        if len(data) != member.size or hashlib.sha256(data).hexdigest() != member.sha256:
            raise DamagedError(_("The file {name} of the snapshot is damaged.").format(name=member.name[:12]))
        return data

    def size(self, snapshot_id: str) -> int:
        """Return the bytes of a snapshot's own folder; 0 where it is missing."""
        folder = self._place(snapshot_id)
        return sum(path.stat().st_size for path in own_files(folder, SNAPSHOT_FILE))

    def remove(self, snapshot_id: str) -> None:
        """Remove the folder of a snapshot; files in it that are not DocMind's stay. Idempotent. Raises `VaultError`."""
        folder = self._place(snapshot_id)
        if is_folder(folder):
            self._unlink([*own_files(folder, SNAPSHOT_FILE), *own_files(folder, UNFINISHED)])
            try:
                folder.rmdir()
            except OSError:  # something foreign lies in it
                return

    def _signature(self, body: bytes) -> str:
        return hmac.digest(self._signing, body, "sha256").hex()

    def _place(self, snapshot_id: str) -> Path:
        if not SNAPSHOT.fullmatch(snapshot_id):
            raise ValueError("a snapshot is named by 16 hex digits")
        return self._folder / snapshot_id

    def _make(self, folder: Path) -> None:
        try:
            for one in (self._folder, folder):
                one.mkdir(mode=0o700, exist_ok=True)
                if one.is_symlink():
                    raise OSError(0, "it is a symbolic link")
        except OSError as error:
            raise self._unwritten(folder, error) from error

    def _write(self, path: Path, data: bytes, *, is_rename_synced: bool = True) -> None:
        beside = path.with_name(f".new-{secrets.token_hex(8)}")
        try:
            with replacing(path, beside=beside, is_rename_synced=is_rename_synced) as file:
                file.write(data)
        except OSError as error:
            raise self._unwritten(path, error) from error

    def _read(self, path: Path) -> bytes:
        try:
            return read_own(path)
        except OSError as error:
            raise DamagedError(
                _("The file {name} of the snapshot can't be read: {strerror}.").format(
                    name=path.name[:14], strerror=error.strerror
                )
            ) from error

    def _unlink(self, paths: Iterable[Path]) -> int:
        gone, folders = 0, set[Path]()
        for path in paths:
            try:
                os.unlink(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise VaultError(
                    _("{path} can't be removed: {strerror}.").format(path=path, strerror=error.strerror)
                ) from error
            gone += 1
            folders.add(path.parent)
        for folder in folders:
            sync_folder(folder)
        return gone

    def _unwritten(self, path: Path, error: OSError) -> DocMindError:
        why = VaultError(_("{path} cannot be written: {strerror}.").format(path=path, strerror=error.strerror))
        return disk_error(error, why)


def seal_part(key: bytes, what: str, data: bytes) -> bytes:
    """Compress, pad and seal; `what` is bound to it."""
    packed = zlib.compress(data, _LEVEL)
    plain = _LENGTH.pack(len(packed)) + packed
    plain += bytes(padded_length(len(plain)) - len(plain))
    nonce = secrets.token_bytes(_NONCE)
    return _MAGIC + nonce + AESGCM(key).encrypt(nonce, plain, _MAGIC + what.encode("ascii"))


def open_part(key: bytes, what: str, data: bytes, name: str) -> bytes:
    """Return what `seal_part` was given. Raises `TamperedError`, `DamagedError`."""
    start = len(_MAGIC) + _NONCE
    if data[: len(_MAGIC)] != _MAGIC:
        raise _changed(name)
    try:
        plain = AESGCM(key).decrypt(data[len(_MAGIC) : start], data[start:], _MAGIC + what.encode("ascii"))
    except (InvalidTag, ValueError) as error:
        raise _changed(name) from error
    try:
        (length,) = _LENGTH.unpack_from(plain)
        unpacking = zlib.decompressobj()
        found = unpacking.decompress(plain[_LENGTH.size : _LENGTH.size + length], _LARGEST)
        if not unpacking.eof:
            raise ValueError("cut short, or too large")
    except (struct.error, zlib.error, ValueError) as error:
        raise DamagedError(_("The file {name} of the snapshot is damaged.").format(name=name[:12])) from error
    return found


def _is_member(member: Member) -> bool:
    is_named = STATE.fullmatch(member.name) is not None or SEGMENT.fullmatch(member.name) is not None
    return is_named and type(member.size) is int and member.size >= 0 and _HEX.fullmatch(member.sha256) is not None


def _changed(name: str) -> TamperedError:
    return TamperedError(
        _("The file {name} of the snapshot is damaged, or was changed after it was written.").format(name=name[:14]),
        hint=_("Delete the snapshot, or bring back its files from a copy."),
    )
