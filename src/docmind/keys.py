"""The keys of a vault: a root key from outside, which opens the keyset kept in `vault.json`.

The root key is 32 random bytes in the OS keyring or in a 0600 file outside the data directory, or is derived from a
passphrase by Argon2id (RFC 9106, second recommended option: t=3, p=4, 64 MiB). `vault.json` holds nothing secret in
clear: the keyset is sealed with AES-256-GCM under a key derived from the root key, and once more under the recovery
code. Its other fields are bound in as associated data, so a changed field is refused.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from docmind.config import KeySettings
from docmind.errors import ConfigError, KeyUnavailableError, TamperedError, VaultFormatError, WrongKeyError

FORMAT = 1
_SERVICE = "docmind"
_ARGON2 = {"iterations": 3, "lanes": 4, "memory_kib": 65_536}
_CODE_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford base32: no I, L, O, U
_CODE_LENGTH = 30  # 150 bits

AskPassphrase = Callable[[], str]


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
        if (data_dir / "vault.db").exists():
            raise KeyUnavailableError(f"{data_dir} holds a vault whose vault.json is missing, so it cannot be opened.")
        return _create(data_dir, path, settings, ask_passphrase)
    try:
        raw = json.loads(path.read_text("utf-8"))
        if raw["format"] != FORMAT:
            raise VaultFormatError(f"This vault has format {raw['format']}; this DocMind reads format {FORMAT}.")
        vault_id, source = str(raw["vault_id"]), str(raw["source"])
        sealed, recovery = bytes.fromhex(raw["keyset"]), bytes.fromhex(raw["recovery"])
    except (ValueError, KeyError, TypeError) as error:
        raise VaultFormatError(f"{path} is not a vault description, or it is damaged.") from error
    if settings.recovery_code is not None:
        keyset = _unwrap(_code_key(settings.recovery_code.get_secret_value(), vault_id), recovery, raw, "recovery code")
        return _reroot(data_dir, path, settings, ask_passphrase, vault_id, keyset)
    root = _root_key(data_dir, raw, settings, ask_passphrase)
    what = {"file": "key file", "keyring": "key in the keyring"}.get(source, "passphrase")
    return OpenedKeys(vault_id, source, _unwrap(_wrapping_key(root, vault_id), sealed, raw, what))


def default_key_file(vault_id: str) -> Path:
    """Where the key file lies where no keyring answers: the user's configuration folder, never the data directory."""
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA", Path.home() / "AppData" / "Roaming"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base / "docmind" / f"{vault_id}.key"


def _create(data_dir: Path, path: Path, settings: KeySettings, ask: AskPassphrase | None) -> OpenedKeys:
    return _seal_new(data_dir, path, settings, ask, secrets.token_hex(8), Keyset.generate())


def _reroot(
    data_dir: Path, path: Path, settings: KeySettings, ask: AskPassphrase | None, vault_id: str, keyset: Keyset
) -> OpenedKeys:
    """The recovery code opened the vault: give it a new root key, and a new code, for the old one has been used."""
    return _seal_new(data_dir, path, settings, ask, vault_id, keyset)


def _seal_new(
    data_dir: Path, path: Path, settings: KeySettings, ask: AskPassphrase | None, vault_id: str, keyset: Keyset
) -> OpenedKeys:
    source = _choose_source(settings)
    raw: dict[str, Any] = {"format": FORMAT, "vault_id": vault_id, "source": source}
    if source == "passphrase":
        raw["argon2id"] = {"salt": secrets.token_hex(16), **_ARGON2}
        root = _from_passphrase(raw, settings, ask)
    else:
        root = secrets.token_bytes(32)
        if source == "keyring":
            _keyring().set_password(_SERVICE, vault_id, root.hex())
        else:
            root = _make_key_file(_key_file(data_dir, vault_id, settings), root)
    code = "".join(secrets.choice(_CODE_ALPHABET) for _ in range(_CODE_LENGTH))
    raw["keyset"] = _wrap(_wrapping_key(root, vault_id), keyset, raw).hex()
    raw["recovery"] = _wrap(_code_key(code, vault_id), keyset, raw).hex()
    _write_private(path, json.dumps(raw, indent=1).encode() + b"\n", replace=True)
    shown = "-".join(code[start : start + 5] for start in range(0, _CODE_LENGTH, 5))
    return OpenedKeys(vault_id, source, keyset, recovery_code=shown)


def _choose_source(settings: KeySettings) -> str:
    if settings.source != "auto":
        return settings.source
    if settings.passphrase is not None:
        return "passphrase"
    if settings.file is not None:
        return "file"
    return "keyring" if _keyring_answers() else "file"


def _root_key(data_dir: Path, raw: dict[str, Any], settings: KeySettings, ask: AskPassphrase | None) -> bytes:
    source, vault_id = raw["source"], raw["vault_id"]
    if source == "passphrase":
        return _from_passphrase(raw, settings, ask)
    if source == "keyring":
        try:
            stored = _keyring().get_password(_SERVICE, vault_id)
        except Exception as error:  # each keyring backend raises its own kinds
            raise KeyUnavailableError("The keyring did not answer.") from error
        if stored is None:
            raise KeyUnavailableError(f"The keyring holds no key for this vault ({vault_id}).")
        return bytes.fromhex(stored)
    return _read_key_file(_key_file(data_dir, vault_id, settings))


def _from_passphrase(raw: dict[str, Any], settings: KeySettings, ask: AskPassphrase | None) -> bytes:
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    if settings.passphrase is not None:
        passphrase = settings.passphrase.get_secret_value()
    elif ask is not None:
        passphrase = ask()
    else:
        raise KeyUnavailableError("This vault opens with a passphrase, and none was given.")
    if not passphrase:
        raise KeyUnavailableError("The passphrase is empty.")
    try:
        given = raw["argon2id"]
        cost = {name: int(given[name]) for name in _ARGON2}
        if not (1 <= cost["iterations"] <= 64 and 1 <= cost["lanes"] <= 64 and 8_192 <= cost["memory_kib"] <= 4 << 20):
            raise ValueError("cost out of range")
        salt = bytes.fromhex(given["salt"])
    except (KeyError, TypeError, ValueError) as error:
        raise VaultFormatError("vault.json does not say how to derive the key from a passphrase.") from error
    kdf = Argon2id(
        salt=salt, length=32, iterations=cost["iterations"], lanes=cost["lanes"], memory_cost=cost["memory_kib"]
    )
    return kdf.derive(passphrase.encode("utf-8"))


def _key_file(data_dir: Path, vault_id: str, settings: KeySettings) -> Path:
    path = (settings.file or default_key_file(vault_id)).expanduser().resolve()
    if path.is_relative_to(data_dir.resolve()):
        raise ConfigError(f"The key file {path} lies inside the data directory it protects; choose a place outside.")
    return path


def _make_key_file(path: Path, root: bytes) -> bytes:
    """Write a new key file, or take the key of one that is there already (one key file may serve several vaults)."""
    if path.exists():
        return _read_key_file(path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write_private(path, root.hex().encode() + b"\n", replace=False)
    return root


def _read_key_file(path: Path) -> bytes:
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise KeyUnavailableError(f"The key file {path} can be read by other users.", hint=f"Run: chmod 600 {path}")
        root = bytes.fromhex(path.read_text("ascii").strip())
    except FileNotFoundError as error:
        raise KeyUnavailableError(f"The key file {path} is missing.") from error
    except OSError as error:
        raise KeyUnavailableError(f"The key file {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise WrongKeyError(f"{path} is not a DocMind key file.") from error
    if len(root) != 32:
        raise WrongKeyError(f"{path} is not a DocMind key file.")
    return root


def _write_private(path: Path, data: bytes, *, replace: bool) -> None:
    """Write 0600, whole or not at all, and on the disk before it is called done."""
    target = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new") if replace else path
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if replace:
        os.replace(target, path)


def _associated(raw: dict[str, Any]) -> bytes:
    return json.dumps({name: raw[name] for name in sorted(raw) if name not in ("keyset", "recovery")}).encode()


def _wrap(key: bytes, keyset: Keyset, raw: dict[str, Any]) -> bytes:
    nonce = secrets.token_bytes(12)
    return nonce + AESGCM(key).encrypt(nonce, keyset._pack(), _associated(raw))


def _unwrap(key: bytes, sealed: bytes, raw: dict[str, Any], what: str) -> Keyset:
    try:
        return Keyset._unpack(AESGCM(key).decrypt(sealed[:12], sealed[12:], _associated(raw)))
    except InvalidTag as error:
        raise WrongKeyError(f"The {what} does not open this vault ({raw['vault_id']}).") from error
    except (ValueError, KeyError) as error:
        raise TamperedError("The keyset in vault.json is not whole.") from error


def _wrapping_key(root: bytes, vault_id: str) -> bytes:
    return derive(root, vault_id.encode(), b"docmind keyset")


def _code_key(code: str, vault_id: str) -> bytes:
    letters = code.upper().replace("-", "").replace(" ", "").replace("O", "0").replace("I", "1").replace("L", "1")
    return derive(letters.encode(), vault_id.encode(), b"docmind recovery")


def _keyring() -> Any:
    import keyring

    return keyring


def _keyring_answers() -> bool:
    """True where a real keyring keeps what it is given (headless machines have only a refusing stand-in)."""
    try:
        backend = _keyring().get_keyring()
        if backend.priority < 1:
            return False
        _keyring().set_password(_SERVICE, "probe", "1")
        answers = _keyring().get_password(_SERVICE, "probe") == "1"
        _keyring().delete_password(_SERVICE, "probe")
        return answers
    except Exception:  # noqa: BLE001 - any refusal means: no keyring here, and the key file is used and named
        return False
