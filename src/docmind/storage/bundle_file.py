"""The file that carries a vault: a keyset, sealed files and a database, authenticated as a whole.

    off  size  DMB1, big-endian                        root     = Argon2id(passphrase, salt and costs of the header)
    0    4     magic "DMB1"                            proof    = HKDF(root, "DMB1 proof"), shows a wrong passphrase
    4    4     version=1 ‖ three zero bytes            mac key  = HKDF(root, "DMB1 mac")
    8    4     length of the header, at most 4096      seal key = HKDF(root, "DMB1 seal"), of the two sealed members
    12   n     header: JSON with the salt, the costs and the proof
         32    HMAC-SHA256 of all other bytes of the file
               members: u16 length of the name ‖ name (ASCII) ‖ u64 size ‖ bytes, to the end of the file

The members are `keyset` and `manifest` (AES-256-GCM), `vault.db` (SQLCipher) and sealed files by their names. A reader
checks the HMAC of the whole file before it looks at a member; a member has no path, and is never a link.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import stat
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from docmind.errors import TamperedError, VaultError, VaultFormatError, WrongKeyError
from docmind.storage.data_folder import ARTIFACT
from docmind.storage.keys import Keyset, derive, new_cost, passphrase_key
from docmind.wording import _

KEYSET, MANIFEST, DATABASE = "keyset", "manifest", "vault.db"
_MAGIC, _VERSION = b"DMB1", 1
_FIRST = struct.Struct(">4sB3xI")
_SIZE = struct.Struct(">Q")
_MAC, _NONCE = 32, 12
_LONGEST_HEADER, _LONGEST_SEALED = 4096, 16 << 20
_AT_ONCE = 1 << 20
_NAME = re.compile(rf"{KEYSET}|{MANIFEST}|vault\.db|{ARTIFACT.pattern}")

Report = Callable[[int, int], None]
"""Called with what is done and the whole; it stops the work by raising an error."""


class BundleWriter:
    """Writes one bundle into a new file; the HMAC is written by `finish`."""

    def __init__(self, file: IO[bytes], passphrase: str) -> None:
        cost = new_cost()
        root = passphrase_key(passphrase, cost)
        header = json.dumps({"argon2id": cost, "proof": derive(root, b"", b"DMB1 proof").hex()}).encode()
        first = _FIRST.pack(_MAGIC, _VERSION, len(header)) + header
        self._file, self._place = file, len(first)
        self._mac = hmac.new(derive(root, b"", b"DMB1 mac"), first, hashlib.sha256)
        self._sealer = AESGCM(derive(root, b"", b"DMB1 seal"))
        file.write(first + bytes(_MAC))

    def add(self, name: str, data: bytes) -> None:
        """Write one member. Raises `OSError`."""
        self._begin(name, len(data))
        self._write(data)

    def add_file(self, name: str, path: Path) -> None:
        """Write a file as one member. Raises `OSError`."""
        with open(path, "rb") as source:
            left = os.fstat(source.fileno()).st_size
            self._begin(name, left)
            while left:
                part = source.read(min(left, _AT_ONCE))
                if not part:
                    raise OSError(f"{name} became shorter")
                self._write(part)
                left -= len(part)

    def add_sealed(self, name: str, data: bytes) -> None:
        """Seal and write one member. Raises `OSError`."""
        nonce = secrets.token_bytes(_NONCE)
        self.add(name, nonce + self._sealer.encrypt(nonce, data, name.encode()))

    def finish(self) -> None:
        """Write the HMAC; the bundle is complete. Raises `OSError`."""
        self._file.seek(self._place)
        self._file.write(self._mac.digest())
        self._file.seek(0, os.SEEK_END)

    def _begin(self, name: str, size: int) -> None:
        assert _NAME.fullmatch(name), name
        self._write(struct.pack(">H", len(name)) + name.encode("ascii") + _SIZE.pack(size))

    def _write(self, data: bytes) -> None:
        self._mac.update(data)
        self._file.write(data)


class BundleReader:
    """Reads a bundle whose HMAC holds. A context manager. Not thread-safe."""

    def __init__(self, path: Path, passphrase: str, report: Report | None = None) -> None:
        """Open a bundle and check its HMAC; `report` gets the bytes that were checked, and all.

        Raises `VaultError` where it cannot be read, `VaultFormatError` where it is no bundle or of a newer DocMind,
        `WrongKeyError` for another passphrase, and `TamperedError` where any byte differs.
        """
        self._path = path
        try:
            self._file = open(path, "rb")  # noqa: SIM115 - closed with the reader
        except OSError as error:
            raise VaultError(
                _("{path} can't be read: {strerror}.").format(path=path, strerror=error.strerror),
                hint=_("Give the path of a file that `docmind bundle write` made."),
            ) from error
        try:
            about = os.fstat(self._file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise self._foreign()
            self._bytes = about.st_size
            root, first = self._opened_header(passphrase)
            self._sealer = AESGCM(derive(root, b"", b"DMB1 seal"))
            self._check(derive(root, b"", b"DMB1 mac"), first, report)
            self._places = self._found_members(len(first) + _MAC)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> BundleReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def artifacts(self) -> frozenset[str]:
        """The names of the sealed files in it."""
        return frozenset(self._places) - {KEYSET, MANIFEST, DATABASE}

    def size(self, name: str) -> int:
        """Return the size of a member in bytes. Raises `TamperedError` where there is none of this name."""
        return self._place(name)[1]

    def member(self, name: str) -> bytes:
        """Return the bytes of a member. Raises `TamperedError`, `VaultError`."""
        return b"".join(self._parts(name))

    def sealed(self, name: str) -> bytes:
        """Return the plaintext of a sealed member. Raises `TamperedError`, `VaultError`."""
        if self.size(name) > _LONGEST_SEALED:
            raise self._changed()
        data = self.member(name)
        try:
            return self._sealer.decrypt(data[:_NONCE], data[_NONCE:], name.encode())
        except (InvalidTag, ValueError) as error:
            raise self._changed() from error

    def keyset(self) -> Keyset:
        """Return the keys of the members. Raises `TamperedError`."""
        try:
            return Keyset.unpack(self.sealed(KEYSET))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._changed() from error

    def copy(self, name: str, target: IO[bytes]) -> None:
        """Copy a member into a file. Raises `TamperedError`, `VaultError`, and `OSError` of the target."""
        for part in self._parts(name):
            target.write(part)

    def _opened_header(self, passphrase: str) -> tuple[bytes, bytes]:
        first = self._read(_FIRST.size)
        if len(first) != _FIRST.size or first[:4] != _MAGIC:
            raise self._foreign()
        _unused, version, length = _FIRST.unpack(first)
        if version != _VERSION:
            raise VaultFormatError(
                _("{path} was written by a newer DocMind.").format(path=self._path), hint=_("Update DocMind.")
            )
        raw = self._read(min(length, _LONGEST_HEADER + 1))
        try:
            header: dict[str, Any] = json.loads(raw)
            proof = bytes.fromhex(header["proof"])
            cost = header["argon2id"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._foreign() from error
        if length > _LONGEST_HEADER:
            raise self._foreign()
        root = passphrase_key(passphrase, cost)
        if not hmac.compare_digest(proof, derive(root, b"", b"DMB1 proof")):
            raise WrongKeyError(
                _("This passphrase doesn't open {path}.").format(path=self._path),
                hint=_("Give the passphrase that was chosen when the bundle was written."),
            )
        return root, first + raw

    def _check(self, key: bytes, first: bytes, report: Report | None) -> None:
        told = self._read(_MAC)
        mac, done = hmac.new(key, first, hashlib.sha256), len(first) + _MAC
        while part := self._read(_AT_ONCE):
            mac.update(part)
            done += len(part)
            if report is not None:
                report(done, self._bytes)
        if done != self._bytes or not hmac.compare_digest(told, mac.digest()):
            raise self._changed()

    def _found_members(self, start: int) -> dict[str, tuple[int, int]]:
        """Return where each member lies. What follows from the HMAC alone is not trusted: sizes, names, doubles."""
        places: dict[str, tuple[int, int]] = {}
        at = start
        while at < self._bytes:
            self._file.seek(at)
            length = int.from_bytes(self._read(2), "big")
            head = self._read(length + _SIZE.size)
            if len(head) != length + _SIZE.size:
                raise self._changed()
            name = head[:length].decode("ascii", "replace")
            (size,) = _SIZE.unpack(head[length:])
            at += 2 + len(head)
            if not _NAME.fullmatch(name) or name in places or at + size > self._bytes:
                raise self._changed()
            places[name] = at, size
            at += size
        if not {KEYSET, MANIFEST, DATABASE} <= places.keys():
            raise self._changed()
        return places

    def _place(self, name: str) -> tuple[int, int]:
        if name not in self._places:
            raise self._changed()
        return self._places[name]

    def _parts(self, name: str) -> Iterator[bytes]:
        at, left = self._place(name)
        self._file.seek(at)
        while left:
            part = self._read(min(left, _AT_ONCE))
            if not part:
                raise self._changed()
            yield part
            left -= len(part)

    def _read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except OSError as error:
            raise VaultError(
                _("{path} can't be read: {strerror}.").format(path=self._path, strerror=error.strerror)
            ) from error

    def _foreign(self) -> VaultFormatError:
        return VaultFormatError(
            _("{path} isn't a DocMind bundle.").format(path=self._path),
            hint=_("Give the path of a file that `docmind bundle write` made."),
        )

    def _changed(self) -> TamperedError:
        return TamperedError(
            _("{path} is damaged, or was changed after it was written.").format(path=self._path),
            hint=_("Nothing was taken from it. Copy the file again, or write a new bundle."),
        )
