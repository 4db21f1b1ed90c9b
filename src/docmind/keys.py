"""The keys of a vault: a root key from outside (`docmind.rootkey`), which opens the keyset kept in `vault.json`.

`vault.json` holds nothing secret in clear: the keyset is sealed with AES-256-GCM under a key derived from the root key,
and once more under the recovery code. All other fields are bound in as associated data, for the root key the recovery
part too: a changed one is refused.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from docmind.config import KeySettings
from docmind.errors import KeyUnavailableError, TamperedError, VaultError, VaultFormatError, WrongKeyError
from docmind.rootkey import SOURCES, AskPassphrase, choose_source, make_root, new_cost, read_root, write_private

FORMAT = 1
_CODE_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford base32: no I, L, O, U
_CODE_LENGTH = 30  # 150 bits
_CODE = "recovery code"


@dataclass(frozen=True, slots=True)
class Keyset:
    """The working keys. `data_keys` maps an 8-byte key id to its key; `primary` seals what is new."""

    id_key: bytes = field(repr=False)
    db_key: bytes = field(repr=False)
    data_keys: dict[bytes, bytes] = field(repr=False)
    primary: bytes = field(repr=False)

    @classmethod
    def generate(cls) -> Keyset:
        primary = secrets.token_bytes(8)
        return cls(secrets.token_bytes(32), secrets.token_bytes(32), {primary: secrets.token_bytes(32)}, primary)

    def index_key(self) -> bytes:
        """The key that blinds what the index sees; derived, so that it lives as long as `id_key`."""
        return derive(self.id_key, b"", b"docmind index")

    def _pack(self) -> bytes:
        data_keys = {key_id.hex(): key.hex() for key_id, key in self.data_keys.items()}
        return json.dumps(
            {"id": self.id_key.hex(), "db": self.db_key.hex(), "data": data_keys, "primary": self.primary.hex()}
        ).encode()

    @classmethod
    def _unpack(cls, data: bytes) -> Keyset:
        raw = json.loads(data)
        data_keys = {bytes.fromhex(key_id): bytes.fromhex(key) for key_id, key in raw["data"].items()}
        return cls(bytes.fromhex(raw["id"]), bytes.fromhex(raw["db"]), data_keys, bytes.fromhex(raw["primary"]))


@dataclass(frozen=True, slots=True)
class OpenedKeys:
    """What opening gives. `recovery_code` is set once, by the opening that made the vault (or a new root key)."""

    vault_id: str
    source: str
    keyset: Keyset = field(repr=False)
    recovery_code: str | None = field(default=None, repr=False)


def derive(key: bytes, salt: bytes, info: bytes) -> bytes:
    """HKDF-SHA256 to 32 bytes (RFC 5869)."""
    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=info).derive(key)


def open_keys(data_dir: Path, settings: KeySettings, ask_passphrase: AskPassphrase | None = None) -> OpenedKeys:
    """Open the vault's keys, or make a new vault where `vault.json` is missing and the folder holds no vault.

    Raises `KeyUnavailableError`, `WrongKeyError`, `TamperedError`, `VaultFormatError`, `ConfigError`.
    """
    path = data_dir / "vault.json"
    if not path.exists():
        if (data_dir / "vault.db").exists() or any((data_dir / "artifacts").glob("*.enc")):
            raise KeyUnavailableError(f"{data_dir} holds a vault whose vault.json is missing, so it cannot be opened.")
        if settings.recovery_code is not None:
            raise KeyUnavailableError(f"{data_dir} holds no vault that a recovery code could open.")
        return _seal(data_dir, path, settings, ask_passphrase, secrets.token_hex(8), Keyset.generate())
    raw = _read_description(path)
    vault_id, source = raw["vault_id"], raw["source"]
    if settings.recovery_code is not None:
        keyset = _unwrap(_code_key(settings.recovery_code.get_secret_value(), vault_id), "recovery", raw, _CODE)
        # A new root key, and a new code, for the old one has been used.
        return _seal(data_dir, path, settings, ask_passphrase, vault_id, keyset)
    root = read_root(source, raw.get("argon2id"), data_dir, vault_id, settings, ask_passphrase)
    return OpenedKeys(vault_id, source, _unwrap(_wrapping_key(root, vault_id), "keyset", raw, SOURCES[source]))


def _read_description(path: Path) -> dict[str, Any]:
    """What `vault.json` says, with every field of its form; whether it is true is for `_unwrap` to find out."""
    try:
        raw = json.loads(path.read_text("utf-8"))
        if raw["format"] != FORMAT:
            raise VaultFormatError(f"This vault has format {raw['format']!r}; this DocMind reads format {FORMAT}.")
        if not re.fullmatch("[0-9a-f]{16}", raw["vault_id"]) or raw["source"] not in SOURCES:
            raise ValueError("not a vault id, or no such source")
        if not all(re.fullmatch("(?:[0-9a-f]{2})+", raw[part]) for part in ("keyset", "recovery")):
            raise ValueError("not sealed")
    except OSError as error:
        raise VaultError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise VaultFormatError(f"{path} is not a vault description, or it is damaged.") from error
    return raw


def _seal(
    data_dir: Path, path: Path, settings: KeySettings, ask: AskPassphrase | None, vault_id: str, keyset: Keyset
) -> OpenedKeys:
    """Write `vault.json` with a root key and a recovery code of its own."""
    source = choose_source(settings)
    raw: dict[str, Any] = {"format": FORMAT, "vault_id": vault_id, "source": source}
    if source == "passphrase":
        raw["argon2id"] = new_cost()
    root = make_root(source, raw.get("argon2id"), data_dir, vault_id, settings, ask)
    code = "".join(secrets.choice(_CODE_ALPHABET) for _ in range(_CODE_LENGTH))
    raw["recovery"] = _wrap(_code_key(code, vault_id), keyset, _associated(raw, "recovery")).hex()
    raw["keyset"] = _wrap(_wrapping_key(root, vault_id), keyset, _associated(raw, "keyset")).hex()
    write_private(path, json.dumps(raw, indent=1).encode() + b"\n", replace=True)
    shown = "-".join(code[start : start + 5] for start in range(0, _CODE_LENGTH, 5))
    return OpenedKeys(vault_id, source, keyset, recovery_code=shown)


def _associated(raw: dict[str, Any], part: str) -> bytes:
    """All that is said beside a sealed part. The part under the root key vouches for the recovery part as well."""
    sealed = ("keyset",) if part == "keyset" else ("keyset", "recovery")
    return json.dumps({name: raw[name] for name in raw if name not in sealed}, sort_keys=True).encode()


def _wrap(key: bytes, keyset: Keyset, associated: bytes) -> bytes:
    nonce = secrets.token_bytes(12)
    return nonce + AESGCM(key).encrypt(nonce, keyset._pack(), associated)


def _unwrap(key: bytes, part: str, raw: dict[str, Any], what: str) -> Keyset:
    sealed = bytes.fromhex(raw[part])
    try:
        return Keyset._unpack(AESGCM(key).decrypt(sealed[:12], sealed[12:], _associated(raw, part)))
    except InvalidTag as error:
        hint = "A code opens once: unset DOCMIND_KEYS__RECOVERY_CODE where it has been used." if what == _CODE else None
        raise WrongKeyError(
            f"The {what} does not open this vault ({raw['vault_id']}), or vault.json was changed.", hint=hint
        ) from error
    except (ValueError, KeyError) as error:
        raise TamperedError("The keyset in vault.json is not whole.") from error


def _wrapping_key(root: bytes, vault_id: str) -> bytes:
    return derive(root, vault_id.encode(), b"docmind keyset")


def _code_key(code: str, vault_id: str) -> bytes:
    letters = code.upper().replace("-", "").replace(" ", "").replace("O", "0").replace("I", "1").replace("L", "1")
    return derive(letters.encode(), vault_id.encode(), b"docmind recovery")
