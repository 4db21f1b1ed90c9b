"""The root key of a vault: from the OS keyring, from a 0600 file outside the data directory, or from a passphrase.

In the keyring and in the file it is 32 random bytes; from a passphrase it is derived by Argon2id (RFC 9106, second
recommended option: t=3, p=4, 64 MiB).
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docmind.config import KeySettings
from docmind.errors import (
    ConfigError,
    DiskFullError,
    KeyUnavailableError,
    VaultError,
    VaultFormatError,
    WrongKeyError,
)

SOURCES = {"file": "key file", "keyring": "key in the keyring", "passphrase": "passphrase"}
_SERVICE = "docmind"
_ARGON2 = {"iterations": 3, "lanes": 4, "memory_kib": 65_536}

AskPassphrase = Callable[[], str]


def choose_source(settings: KeySettings) -> str:
    """Where a new root key will be kept: as the settings say, else a keyring that answers, else a file."""
    if settings.source != "auto":
        return settings.source
    if settings.passphrase is not None:
        return "passphrase"
    if settings.file is not None:
        return "file"
    return "keyring" if _keyring_answers() else "file"


def new_cost() -> dict[str, Any]:
    """How a new passphrase is turned into a key: a salt, and what it costs."""
    return {"salt": secrets.token_hex(16), **_ARGON2}


def make_root(
    source: str, cost: Any, data_dir: Path, vault_id: str, settings: KeySettings, ask: AskPassphrase | None
) -> bytes:
    """A root key for a vault, kept where `source` says. Raises as `read_root` does, and `DiskFullError`."""
    if source == "passphrase":
        return _from_passphrase(cost, settings, ask)
    root = secrets.token_bytes(32)
    if source == "keyring":
        _keep_in_keyring(vault_id, root)
        return root
    return _make_key_file(_key_file(data_dir, vault_id, settings), root)


def read_root(
    source: str, cost: Any, data_dir: Path, vault_id: str, settings: KeySettings, ask: AskPassphrase | None
) -> bytes:
    """The root key of a vault. Raises `KeyUnavailableError`, `WrongKeyError`, `VaultFormatError`, `ConfigError`."""
    if source == "passphrase":
        return _from_passphrase(cost, settings, ask)
    if source == "keyring":
        try:
            stored = _keyring().get_password(_SERVICE, vault_id)
        except Exception as error:  # each keyring backend raises its own kinds
            raise KeyUnavailableError("The keyring did not answer.") from error
        if stored is None:
            raise KeyUnavailableError(f"The keyring holds no key for this vault ({vault_id}).")
        return _root_from(stored, "What the keyring holds for this vault")
    return _read_key_file(_key_file(data_dir, vault_id, settings))


def default_key_file(vault_id: str) -> Path:
    """Where the key file lies where no keyring answers: the user's configuration folder, never the data directory."""
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA", Path.home() / "AppData" / "Roaming"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base / "docmind" / f"{vault_id}.key"


def _from_passphrase(cost: Any, settings: KeySettings, ask: AskPassphrase | None) -> bytes:
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
        iterations, lanes, memory = (int(cost[name]) for name in _ARGON2)
        if not (1 <= iterations <= 64 and 1 <= lanes <= 64 and 8_192 <= memory <= 1 << 20):
            raise ValueError("cost out of range")
        salt = bytes.fromhex(cost["salt"])
        if len(salt) != 16:
            raise ValueError("not the salt that was made")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise VaultFormatError("vault.json does not say how to derive the key from a passphrase.") from error
    kdf = Argon2id(salt=salt, length=32, iterations=iterations, lanes=lanes, memory_cost=memory)
    # One person's keyboards write é in two ways; both are the same passphrase.
    return kdf.derive(unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass"))


def _key_file(data_dir: Path, vault_id: str, settings: KeySettings) -> Path:
    path = (settings.file or default_key_file(vault_id)).expanduser().resolve()
    if path.is_relative_to(data_dir.resolve()):
        raise ConfigError(f"The key file {path} lies inside the data directory it protects; choose a place outside.")
    return path


def _make_key_file(path: Path, root: bytes) -> bytes:
    """Write a new key file, or take the key of one that is there already (one key file may serve several vaults)."""
    if not path.exists():
        with contextlib.suppress(FileExistsError):  # made for another vault in this moment
            write_private(path, root.hex().encode() + b"\n", replace=False)
            return root
    return _read_key_file(path)


def _read_key_file(path: Path) -> bytes:
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise KeyUnavailableError(f"The key file {path} can be read by other users.", hint=f"Run: chmod 600 {path}")
        return _root_from(path.read_text("ascii"), str(path))
    except FileNotFoundError as error:
        raise KeyUnavailableError(f"The key file {path} is missing.") from error
    except OSError as error:
        raise KeyUnavailableError(f"The key file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise WrongKeyError(f"{path} is no DocMind key.") from error


def _root_from(text: str, where: str) -> bytes:
    if not re.fullmatch("[0-9a-fA-F]{64}", text.strip()):
        raise WrongKeyError(f"{where} is no DocMind key.", hint="Move it away, and open with the recovery code.")
    return bytes.fromhex(text.strip())


def write_private(path: Path, data: bytes, *, replace: bool) -> None:
    """Write 0600, whole or not at all, and on the disk before it is called done.

    Raises `DiskFullError` or `VaultError`; without `replace`, `FileExistsError` where the file is there already.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            (os.replace if replace else _give_name)(beside, path)
        finally:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)
        if os.name == "posix":  # the name too must outlive a power cut
            folder = os.open(path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
    except FileExistsError:
        raise
    except OSError as error:
        kind = DiskFullError if error.errno in (errno.ENOSPC, errno.EDQUOT) else VaultError
        raise kind(f"{path} cannot be written: {error.strerror}.") from error


def _give_name(beside: Path, path: Path) -> None:
    """Rename without replacing. Raises `FileExistsError`."""
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if path.exists():
            raise FileExistsError(path) from None
        os.rename(beside, path)


def _keyring() -> Any:
    import keyring

    return keyring


def _keep_in_keyring(vault_id: str, root: bytes) -> None:
    """Some stand-ins take everything and keep nothing: what was given is read back before it is relied on."""
    try:
        _keyring().set_password(_SERVICE, vault_id, root.hex())
        kept = _keyring().get_password(_SERVICE, vault_id) == root.hex()
    except Exception as error:  # each keyring backend raises its own kinds
        raise KeyUnavailableError("The keyring did not take the key.") from error
    if not kept:
        raise KeyUnavailableError("There is no keyring here that keeps a key.", hint="Set DOCMIND_KEYS__SOURCE=file.")


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
