"""The keys of a vault: a root key opens the keyset in `vault.json`.

The root key comes from the OS keyring, a key file outside the data directory, or a passphrase. The keyring and the key
file (mode 0600) hold 32 random bytes; from a passphrase the key is derived by Argon2id (RFC 9106, second recommended
option: t=3, p=4, 64 MiB).

`vault.json` holds no secret in plaintext. Its sealed parts (AES-256-GCM):

    keyset         the keyset, under a key derived from the root key
    recovery       the keyset, under a key derived from the recovery code
    unconfirmed    the recovery code, under another key derived from the root key; there until the code is confirmed

The other fields are bound as associated data: a changed one is refused. `keyset` is also bound to the other two parts,
so that neither can be removed or exchanged without the root key, and `unconfirmed` to `recovery`.

A change of the source writes the new root key, where one is kept, then `vault.json` with the field `former`, which
names the key before; then that key is removed, and the field. A process that is killed in between leaves a library that
opens in the old way or in the new one, and the next opening removes what is left. `keyset` alone binds `former`: the
field goes at a time when the recovery code may not be known any more.

The module is long because all of this has one format, and the parts of it hold each other.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import logging
import os
import re
import secrets
import sys
import threading
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from docmind.config import KeySettings
from docmind.errors import ConfigError, KeyUnavailableError, TamperedError, VaultError, VaultFormatError, WrongKeyError
from docmind.storage.data_folder import own_files
from docmind.storage.files import erase_file, read_own, reading, unfinished, write_private
from docmind.storage.passphrases import SHORTEST_PASSPHRASE
from docmind.wording import _

_log = logging.getLogger(__name__)
SOURCES = {"file": "key file", "keyring": "key in the keyring", "passphrase": "passphrase"}
LARGEST_KEY_FILE = 256  # bytes that may be a key with white space around it
_SERVICE = "docmind"
_ARGON2 = {"iterations": 3, "lanes": 4, "memory_kib": 65_536}

AskPassphrase = Callable[[], str]


def choose_source(settings: KeySettings) -> str:
    """Return where a new root key is kept: as set, else a working keyring, else a file."""
    if settings.source != "auto":
        return settings.source
    if settings.passphrase is not None:
        return "passphrase"
    if settings.file is not None:
        return "file"
    return "keyring" if _keyring_answers() else "file"


def new_cost() -> dict[str, Any]:
    """Return the Argon2id parameters of a new passphrase: a fresh salt and the costs."""
    return {"salt": secrets.token_hex(16), **_ARGON2}


def make_root(
    source: str, cost: Any, data_dir: Path, vault_id: str, settings: KeySettings, ask: AskPassphrase | None
) -> bytes:
    """Make a root key and keep it in `source`. Raises as `read_root` does, and `DiskFullError`."""
    if source == "passphrase":
        return _from_passphrase(cost, settings, ask)
    root = secrets.token_bytes(32)
    if source == "keyring":
        _keep_in_keyring(vault_id, root)
        return root
    path = key_file(data_dir, vault_id, settings)
    kept = _make_key_file(path, root)
    _remove_strays(path)
    return kept


def _remove_strays(path: Path) -> None:
    """Erase what a killed process left while it wrote or erased a key file; it may hold the key."""
    with contextlib.suppress(OSError, VaultError):
        for stray in own_files(path.parent, unfinished(path)):
            erase_file(stray)


def _erase_key_file(path: Path) -> None:
    """Erase a key file. It gets a temporary name first, so that a kill leaves nothing that looks like a key."""
    aside = path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}.new")  # as `unfinished` knows it
    try:
        path.replace(aside)
    except FileNotFoundError:
        return
    except OSError as error:
        told = _("{path} can't be removed: {strerror}.").format(path=path, strerror=error.strerror)
        raise VaultError(told) from error
    erase_file(aside)


def read_root(
    source: str, cost: Any, data_dir: Path, vault_id: str, settings: KeySettings, ask: AskPassphrase | None
) -> bytes:
    """Return the root key of a vault.

    Raises `KeyUnavailableError`, `WrongKeyError`, `VaultFormatError`, `ConfigError`.
    """
    if source == "passphrase":
        return _from_passphrase(cost, settings, ask)
    if source == "keyring":
        try:
            stored = _keyring().get_password(_SERVICE, vault_id)
        except Exception as error:  # each keyring backend raises its own kinds
            raise KeyUnavailableError(_("The keyring didn't answer.")) from error
        if stored is None:
            raise KeyUnavailableError(
                _("The keyring has no key for this library ({vault_id}).").format(vault_id=vault_id)
            )
        return _root_from(stored, _("What the keyring holds for this library"))
    return _read_key_file(key_file(data_dir, vault_id, settings))


def default_key_folder() -> Path:
    """Return the folder of key files without a path of their own: the user's configuration folder for DocMind."""
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA", Path.home() / "AppData" / "Roaming"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base / "docmind"


def is_key_file(data: bytes) -> bool:
    """Return whether these are the contents of a key file, of any library."""
    return bool(re.fullmatch(rb"[0-9a-fA-F]{64}", data.strip()))


def _from_passphrase(cost: Any, settings: KeySettings, ask: AskPassphrase | None) -> bytes:
    if settings.passphrase is not None:
        passphrase = settings.passphrase.get_secret_value()
    elif ask is not None:
        passphrase = ask()
    else:
        raise KeyUnavailableError(_("This library needs a passphrase."))
    if not passphrase:
        raise KeyUnavailableError(_("The passphrase is empty."))
    try:
        return passphrase_key(passphrase, cost)
    except ValueError as error:
        raise VaultFormatError(_("vault.json doesn't say how to derive the key from a passphrase.")) from error


def passphrase_key(passphrase: str, cost: Any) -> bytes:
    """Derive 32 bytes from a passphrase by Argon2id with the parameters of `new_cost`.

    Raises `ValueError` where the parameters are missing, or would take more than 1 GiB of memory.
    """
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    try:
        iterations, lanes, memory = (int(cost[name]) for name in _ARGON2)
        if not (1 <= iterations <= 64 and 1 <= lanes <= 64 and 8_192 <= memory <= 1 << 20):
            raise ValueError("cost out of range")
        salt = bytes.fromhex(cost["salt"])
        if len(salt) != 16:
            raise ValueError("not the salt that was made")
    except (KeyError, TypeError, OverflowError) as error:
        raise ValueError("not the parameters of a passphrase") from error
    kdf = Argon2id(salt=salt, length=32, iterations=iterations, lanes=lanes, memory_cost=memory)
    # Keyboards encode é in two ways; both are the same passphrase.
    return kdf.derive(unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass"))


def key_file(data_dir: Path, vault_id: str, settings: KeySettings) -> Path:
    """Return the path of the key file with links resolved, as one may lead to a removable medium.

    Raises `ConfigError` where it lies in the data folder.
    """
    path = (settings.file or default_key_folder() / f"{vault_id}.key").expanduser().resolve()
    if path.is_relative_to(data_dir.resolve()):
        raise ConfigError(
            _("The key file {path} is inside the data folder that it protects. Choose a place outside.").format(
                path=path
            )
        )
    return path


def _make_key_file(path: Path, root: bytes) -> bytes:
    """Write a new key file, or read an existing one (one key file may serve several vaults)."""
    if not path.exists():
        with contextlib.suppress(FileExistsError):  # made for another vault meanwhile
            write_private(path, root.hex().encode() + b"\n", replace=False)
            return root
    return _read_key_file(path)


def _read_key_file(path: Path) -> bytes:
    try:
        with reading(path) as file:
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                hint = f"Run: chmod 600 {path}"
                raise KeyUnavailableError(
                    _("The key file {path} can be read by other users.").format(path=path), hint=hint
                )
            return _root_from(file.read().decode("ascii"), str(path))
    except FileNotFoundError as error:
        raise KeyUnavailableError(_("The key file {path} is missing.").format(path=path)) from error
    except OSError as error:
        raise KeyUnavailableError(
            _("The key file {path} cannot be read: {strerror}.").format(path=path, strerror=error.strerror)
        ) from error
    except UnicodeDecodeError as error:
        raise WrongKeyError(_("{path} isn't a DocMind key.").format(path=path)) from error


def _root_from(text: str, where: str) -> bytes:
    if not re.fullmatch("[0-9a-fA-F]{64}", text.strip()):
        raise WrongKeyError(
            _("{where} isn't a DocMind key.").format(where=where),
            hint=_("Move it away, and open with the recovery code."),
        )
    return bytes.fromhex(text.strip())


def _keyring() -> Any:
    import keyring

    return keyring


def _keep_in_keyring(vault_id: str, root: bytes) -> None:
    """Store the key in the keyring and read it back, because some keyring backends discard what they are given."""
    try:
        _keyring().set_password(_SERVICE, vault_id, root.hex())
        kept = _keyring().get_password(_SERVICE, vault_id) == root.hex()
    except Exception as error:  # each keyring backend raises its own kinds
        raise KeyUnavailableError(_("The keyring didn't accept the key.")) from error
    if not kept:
        raise KeyUnavailableError(
            _("This system has no keyring that can keep a key."), hint=_("Set DOCMIND_KEYS__SOURCE=file.")
        )


def _remove_from_keyring(vault_id: str) -> None:
    try:
        if _keyring().get_password(_SERVICE, vault_id) is not None:
            _keyring().delete_password(_SERVICE, vault_id)
    except Exception as error:  # each keyring backend raises its own kinds
        raise KeyUnavailableError(_("The keyring did not answer.")) from error


def write_secret(vault_id: str, name: str, secret: str) -> None:
    """Keep a secret of a vault in the keyring. Raises `KeyUnavailableError`."""
    try:
        _keyring().set_password(_SERVICE, f"{vault_id} {name}", secret)
        kept = _keyring().get_password(_SERVICE, f"{vault_id} {name}") == secret
    except Exception as error:  # each keyring backend raises its own kinds
        raise KeyUnavailableError(_("The keyring did not take the key.")) from error
    if not kept:
        raise KeyUnavailableError(_("There is no keyring here that keeps a key."))


def read_secret(vault_id: str, name: str) -> str | None:
    """Return a secret of a vault from the keyring, None where it holds none. Raises `KeyUnavailableError`."""
    try:
        return _keyring().get_password(_SERVICE, f"{vault_id} {name}")
    except Exception as error:  # each keyring backend raises its own kinds
        raise KeyUnavailableError(_("The keyring did not answer.")) from error


def remove_secret(vault_id: str, name: str) -> None:
    """Delete a secret of a vault from the keyring, where it holds one. Raises `KeyUnavailableError`."""
    if read_secret(vault_id, name) is None:
        return
    try:
        _keyring().delete_password(_SERVICE, f"{vault_id} {name}")
    except Exception as error:  # each keyring backend raises its own kinds
        raise KeyUnavailableError(_("The keyring did not answer.")) from error


def _keyring_answers() -> bool:
    """Return whether a real keyring keeps a probe value (headless machines have only a backend that refuses)."""
    try:
        backend = _keyring().get_keyring()
        if backend.priority < 1:
            return False
        _keyring().set_password(_SERVICE, "probe", "1")
        answers = _keyring().get_password(_SERVICE, "probe") == "1"
        _keyring().delete_password(_SERVICE, "probe")
        return answers
    except Exception:  # noqa: BLE001 - any failure means that there is no keyring: the key file is used and named
        return False


FORMAT = 1
_CODE_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford base32: no I, L, O, U
_CODE_LENGTH, _GROUP = 30, 5  # 150 bits
_CODE = "recovery code"


@dataclass(frozen=True, slots=True)
class NextKeys:
    """The keys that a rotation changes to, kept in the keyset until it has finished.

    `code_key` is derived from the recovery code: a rotation writes the keyset several times, and the code may have been
    confirmed, and so forgotten, meanwhile. `is_sealed` tells that every file has been sealed with the new data key.
    """

    db_key: bytes = field(repr=False)
    index_key: bytes = field(repr=False)
    code_key: bytes = field(repr=False)
    is_sealed: bool = False

    def pack(self) -> dict[str, Any]:
        """Return the keys as JSON of a keyset."""
        keys = {"db": self.db_key, "index": self.index_key, "code": self.code_key}
        return {name: key.hex() for name, key in keys.items()} | {"sealed": self.is_sealed}

    @classmethod
    def unpack(cls, raw: dict[str, Any]) -> NextKeys:
        """Return the keys of `pack`. Raises as `Keyset.unpack` does."""
        db, index, code = (bytes.fromhex(raw[name]) for name in ("db", "index", "code"))
        return cls(db, index, code, bool(raw["sealed"]))


@dataclass(frozen=True, slots=True)
class Keyset:
    """The working keys. `data_keys` maps an 8-byte key id to its key.

    `primary` is the id of the key for new data. `own_index_key` is the key of the index once it was rotated. `next` is
    there while a rotation is unfinished: until its last step `vault.db` has the key `db_key` or `next.db_key`.
    """

    id_key: bytes = field(repr=False)
    db_key: bytes = field(repr=False)
    data_keys: dict[bytes, bytes] = field(repr=False)
    primary: bytes = field(repr=False)
    own_index_key: bytes | None = field(default=None, repr=False)
    next: NextKeys | None = field(default=None, repr=False)

    @classmethod
    def generate(cls) -> Keyset:
        primary = secrets.token_bytes(8)
        return cls(secrets.token_bytes(32), secrets.token_bytes(32), {primary: secrets.token_bytes(32)}, primary)

    def index_key(self) -> bytes:
        """Return the key that blinds the index: derived from `id_key` until the first rotation."""
        return self.own_index_key or derive(self.id_key, b"", b"docmind index")

    def rotated(self) -> Keyset:
        """Return the keyset at the start of a rotation: a new primary data key beside the old ones, and next keys.

        The id key stays, as names of files and receipts depend on it.
        """
        primary = secrets.token_bytes(8)
        new = NextKeys(secrets.token_bytes(32), secrets.token_bytes(32), code_key=b"")
        return replace(self, data_keys={**self.data_keys, primary: secrets.token_bytes(32)}, primary=primary, next=new)

    def pack(self) -> bytes:
        """Return the keys as one byte string, to be sealed."""
        data_keys = {key_id.hex(): key.hex() for key_id, key in self.data_keys.items()}
        packed: dict[str, Any] = {
            "id": self.id_key.hex(), "db": self.db_key.hex(), "data": data_keys, "primary": self.primary.hex()
        }  # fmt: skip
        if self.own_index_key is not None:
            packed["index"] = self.own_index_key.hex()
        if self.next is not None:
            packed["next"] = self.next.pack()
        return json.dumps(packed).encode()

    @classmethod
    def unpack(cls, data: bytes) -> Keyset:
        """Return the keys of `pack`. Raises `ValueError`, `KeyError` and `TypeError` for anything else."""
        raw = json.loads(data)
        data_keys = {bytes.fromhex(key_id): bytes.fromhex(key) for key_id, key in raw["data"].items()}
        index = bytes.fromhex(raw["index"]) if "index" in raw else None
        new = NextKeys.unpack(raw["next"]) if "next" in raw else None
        return cls(
            bytes.fromhex(raw["id"]), bytes.fromhex(raw["db"]), data_keys, bytes.fromhex(raw["primary"]), index, new
        )


class RecoveryCode:
    """The recovery code of an open vault.

    Thread-safe; only the owner of the vault may call methods that write.

    The write that makes the code valid also stores it, sealed, in `vault.json`, where it stays until `confirm`: nothing
    is lost if the process dies before the user has seen or written down the code.

    It also has the keyset, which `vault.json` holds twice: a rotation of keys writes both.
    """

    def __init__(self, path: Path, raw: dict[str, Any], root: bytes, keyset: Keyset) -> None:
        vault_id = raw["vault_id"].encode()
        self._path, self._raw, self._keyset = path, raw, keyset
        self._wrapping = _wrapping_key(root, raw["vault_id"])
        self._holding = derive(root, vault_id, b"docmind unconfirmed recovery code")
        self._lock = threading.Lock()

    def code(self) -> str | None:
        """Return the code in its displayed form, or None once it was confirmed.

        Raises `TamperedError`.
        """
        with self._lock:
            return self._code()

    def confirm(self, written: str) -> None:
        """Remove the code from `vault.json`.

        `written` is the whole code or its last group, as proof of knowing it.

        Does nothing where the code was confirmed before. Raises `WrongKeyError`, `DiskFullError`, `VaultError`; the
        code can still be read then.
        """
        with self._lock:
            code = self._code()
            if code is None:
                return
            known, given = _letters(code), _letters(written)
            if not any(hmac.compare_digest(given.encode(), part.encode()) for part in (known, known[-_GROUP:])):
                raise WrongKeyError(
                    _("This isn't the recovery code of this library, nor its last five characters."),
                    hint=_("`docmind keys code` shows the code until it is confirmed."),
                )
            raw = {name: self._raw[name] for name in self._raw if name not in ("keyset", "unconfirmed")}
            self._write(raw, self._keyset)

    def is_described(self) -> bool:
        """Return whether `vault.json` is as it was read or written last."""
        with self._lock:
            try:
                return _read_description(self._path) == self._raw
            except VaultError:
                return False

    @property
    def former(self) -> dict[str, str] | None:
        """The key that no longer opens the vault and is still to be removed, its `source` and its `name`; or None."""
        return self._raw.get("former")

    def named(self) -> str:
        """Return a name of the root key that tells nothing about it."""
        return _named(self._wrapping)

    def forget_former(self) -> None:
        """Note that the key of the source before is removed. Raises `DiskFullError`, `VaultError`."""
        with self._lock:
            self._write({name: self._raw[name] for name in self._raw if name not in ("keyset", "former")}, self._keyset)

    def describe(self) -> None:
        """Write `vault.json` again as it was read or written last. Raises `DiskFullError`, `VaultError`."""
        with self._lock:
            self._write({name: self._raw[name] for name in self._raw if name != "keyset"}, self._keyset)

    def renew(self) -> str:
        """Replace the code by a new, unconfirmed one and return it; the old code becomes invalid.

        Raises `DiskFullError`, `VaultError`; the old one is still valid then.
        """
        with self._lock:
            return self._renewed(self._keyset)

    @property
    def keyset(self) -> Keyset:
        """The keyset in `vault.json`."""
        return self._keyset

    def begin_rotation(self) -> None:
        """Write a keyset with the keys of a rotation, and a new, unconfirmed recovery code.

        A confirmed code is not kept, so the new keys cannot be sealed with it: they are sealed with a new code. Does
        nothing where a rotation is unfinished. Raises `DiskFullError`, `VaultError`; nothing is changed then.
        """
        with self._lock:
            if self._keyset.next is None:
                self._renewed(self._keyset.rotated())

    def change_keys(self, change: Callable[[Keyset], Keyset]) -> None:
        """Write what `change` makes of the keyset during a rotation; the recovery code stays as it is.

        Raises `DiskFullError`, `VaultError`; nothing is changed then.
        """
        with self._lock:
            if self._keyset.next is None:
                raise ValueError("keys change only during a rotation")
            keyset, code = change(self._keyset), self._code()
            self._write_all(keyset, self._keyset.next.code_key, code)

    def _renewed(self, keyset: Keyset) -> str:
        code = _new_code()
        code_key = _code_key(code, self._raw["vault_id"])
        if keyset.next is not None:
            keyset = replace(keyset, next=replace(keyset.next, code_key=code_key))
        self._write_all(keyset, code_key, code)
        return code

    def _write_all(self, keyset: Keyset, code_key: bytes, code: str | None) -> None:
        """Write the keyset in both parts, and the code where it is unconfirmed."""
        raw = {name: self._raw[name] for name in self._raw if name not in ("keyset", "recovery", "unconfirmed")}
        raw["recovery"] = _sealed(code_key, keyset.pack(), _associated(raw, "recovery"))
        if code is not None:
            raw["unconfirmed"] = _sealed(self._holding, code.encode(), _associated(raw, "unconfirmed"))
        self._write(raw, keyset)

    def _code(self) -> str | None:
        if "unconfirmed" not in self._raw:
            return None
        try:
            return _unsealed(self._holding, self._raw, "unconfirmed").decode("ascii")
        except (InvalidTag, UnicodeDecodeError) as error:
            raise TamperedError(_("The unconfirmed recovery code in vault.json is incomplete.")) from error

    def _write(self, raw: dict[str, Any], keyset: Keyset) -> None:
        raw["keyset"] = _sealed(self._wrapping, keyset.pack(), _associated(raw, "keyset"))
        write_private(self._path, json.dumps(raw, indent=1).encode() + b"\n", replace=True)
        self._raw, self._keyset = raw, keyset


@dataclass(frozen=True, slots=True)
class OpenedKeys:
    """Result of `open_keys`: the vault id, the source of the root key, the recovery code and the keyset."""

    vault_id: str
    source: str
    recovery: RecoveryCode = field(repr=False, compare=False)

    @property
    def keyset(self) -> Keyset:
        """The keyset, which a rotation changes."""
        return self.recovery.keyset


def derive(key: bytes, salt: bytes, info: bytes) -> bytes:
    """Derive 32 bytes by HKDF-SHA256 (RFC 5869)."""
    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=info).derive(key)


def open_keys(data_dir: Path, settings: KeySettings, ask_passphrase: AskPassphrase | None = None) -> OpenedKeys:
    """Open the vault's keys, or make a new vault where the folder holds none.

    Raises `KeyUnavailableError`, `WrongKeyError`, `TamperedError`, `VaultFormatError`, `ConfigError`.
    """
    path = data_dir / "vault.json"
    if not os.path.lexists(path):
        if (data_dir / "vault.db").exists() or any((data_dir / "artifacts").glob("*.enc")):
            raise KeyUnavailableError(
                _("The library in {data_dir} can't be opened: its vault.json is missing.").format(data_dir=data_dir)
            )
        if settings.recovery_code is not None:
            raise KeyUnavailableError(
                _("{data_dir} has no library that a recovery code could open.").format(data_dir=data_dir)
            )
        return _seal(data_dir, path, settings, ask_passphrase, secrets.token_hex(8), Keyset.generate())
    raw = _read_description(path)
    vault_id, source = raw["vault_id"], raw["source"]
    if settings.recovery_code is not None:
        keyset = _unwrap(_code_key(settings.recovery_code.get_secret_value(), vault_id), raw, "recovery", _CODE)
        # A new root key, and a new code, for the old one has been used.
        return _seal(data_dir, path, settings, ask_passphrase, vault_id, keyset, raw.get("former"))
    if settings.source not in ("auto", source):
        _log.warning(
            "DOCMIND_KEYS__SOURCE is %s, but this library opens with a %s; the variable is not used.",
            settings.source,
            SOURCES[source],
        )
    root = read_root(source, raw.get("argon2id"), data_dir, vault_id, settings, ask_passphrase)
    keyset = _unwrap(_wrapping_key(root, vault_id), raw, "keyset", SOURCES[source])
    return OpenedKeys(vault_id, source, RecoveryCode(path, raw, root, keyset))


def change_passphrase(data_dir: Path, keys: OpenedKeys, now: str, new: str) -> OpenedKeys:
    """Give a vault that opens with a passphrase another one, and a new, unconfirmed recovery code.

    Raises `ConfigError` where the vault opens with another kind of key or `new` is too short, `WrongKeyError` where
    `now` is not its passphrase, `DiskFullError`, `VaultError`; nothing is changed then.
    """
    _check_length(new)
    _check_passphrase(data_dir, keys.vault_id, now)
    return _sealed_again(data_dir, keys, KeySettings(source="passphrase"), lambda: new)


def protect(data_dir: Path, keys: OpenedKeys, new: str, *, keeps_file: bool) -> OpenedKeys:
    """Let a passphrase open a vault that opens with a key in a file or in the keyring; the recovery code is new too.

    The key before opens nothing from then on; `remove_former_key` removes it, but for a file that `keeps_file` leaves
    to other vaults. Raises `ConfigError` where the vault opens with a passphrase already or `new` is too short,
    `DiskFullError`, `VaultError`; nothing is changed then.
    """
    if keys.source == "passphrase":
        raise ConfigError(
            _("This library opens with a passphrase already."), hint=_("`docmind keys passphrase` changes it.")
        )
    _check_length(new)
    is_kept = keys.source == "file" and keeps_file
    former = None if is_kept else {"source": keys.source, "name": keys.recovery.named()}
    return _sealed_again(data_dir, keys, KeySettings(source="passphrase"), lambda: new, former)


def unprotect(data_dir: Path, settings: KeySettings, keys: OpenedKeys, now: str) -> OpenedKeys:
    """Let a new key in the keyring or in a file open a vault in place of its passphrase `now`.

    `settings` choose between the two, and name the file; one that they name and that exists already is used. The
    recovery code is new too. Raises `ConfigError` where the vault has no passphrase, `WrongKeyError` where `now` is not
    it, `KeyUnavailableError` where the key cannot be kept, `DiskFullError`, `VaultError`; nothing is changed then.
    """
    _check_passphrase(data_dir, keys.vault_id, now)
    if choose_source(settings) == "file" and settings.file is None:
        # Nothing opens with what lies there: it was left by a change that was interrupted.
        _erase_key_file(key_file(data_dir, keys.vault_id, settings))
    return _sealed_again(data_dir, keys, settings, None)


def remove_former_key(data_dir: Path, settings: KeySettings, keys: OpenedKeys) -> None:
    """Remove the key that opened the vault before its source was changed: the keyring's entry, or the file.

    The file is overwritten first. Does nothing where none is left. Raises `KeyUnavailableError`, `ConfigError`,
    `VaultError`, `DiskFullError`; call it again then.
    """
    former = keys.recovery.former
    if former is None:
        return
    if former["source"] == "keyring":
        _remove_from_keyring(keys.vault_id)
    else:
        path = key_file(data_dir, keys.vault_id, settings)
        if _is_key(path, keys.vault_id, former["name"]):  # the settings may name the file of other vaults by now
            _erase_key_file(path)
        _remove_strays(path)
    keys.recovery.forget_former()


def _is_key(path: Path, vault_id: str, name: str) -> bool:
    """Return whether the file holds the root key of this name. Raises `KeyUnavailableError` where it cannot be read."""
    try:
        root = _read_key_file(path)
    except WrongKeyError:
        return False
    except KeyUnavailableError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return False
        raise
    return hmac.compare_digest(_named(_wrapping_key(root, vault_id)), name)


def _named(wrapping: bytes) -> str:
    return derive(wrapping, b"", b"docmind former key").hex()[:32]


def _check_length(new: str) -> None:
    if len(new) < SHORTEST_PASSPHRASE:
        raise ConfigError(
            _("A passphrase has at least {shortest_passphrase} characters.").format(
                shortest_passphrase=SHORTEST_PASSPHRASE
            ),
            hint=_("Choose a longer one."),
        )


def _check_passphrase(data_dir: Path, vault_id: str, now: str) -> None:
    """Raise `ConfigError` where the vault opens with another kind of key, `WrongKeyError` for another passphrase."""
    raw = _read_description(data_dir / "vault.json")
    if raw["source"] != "passphrase":
        raise ConfigError(
            _("This library opens with a {sources}, not with a passphrase.").format(sources=SOURCES[raw["source"]])
        )
    settings = KeySettings(source="passphrase")
    root = read_root("passphrase", raw.get("argon2id"), data_dir, vault_id, settings, lambda: now)
    _unwrap(_wrapping_key(root, vault_id), raw, "keyset", SOURCES["passphrase"])


def _sealed_again(
    data_dir: Path, keys: OpenedKeys, settings: KeySettings, ask: AskPassphrase | None,
    former: dict[str, str] | None = None,
) -> OpenedKeys:  # fmt: skip
    """Seal an open vault under a new root key; a key that an earlier change has left is still to be removed."""
    former = former or keys.recovery.former
    return _seal(data_dir, data_dir / "vault.json", settings, ask, keys.vault_id, keys.keyset, former)


def _read_description(path: Path) -> dict[str, Any]:
    """Return the contents of `vault.json` with the form of every field checked.

    `_unwrap` verifies the values.
    """
    try:
        raw = json.loads(read_own(path).decode("utf-8"))
        if raw["format"] != FORMAT:
            raise VaultFormatError(
                _("This library has format {raw!r}; this DocMind reads format {format}.").format(
                    raw=raw["format"], format=FORMAT
                )
            )
        if not re.fullmatch("[0-9a-f]{16}", raw["vault_id"]) or raw["source"] not in SOURCES:
            raise ValueError("not a vault id, or no such source")
        former = raw.get("former", {"source": "file", "name": "0" * 32})
        if former.keys() != {"source", "name"} or former["source"] not in ("file", "keyring"):
            raise ValueError("no key that could be removed")
        if not re.fullmatch("[0-9a-f]{32}", former["name"]):
            raise ValueError("no name of a key")
        parts = ("keyset", "recovery", *(("unconfirmed",) if "unconfirmed" in raw else ()))
        if not all(re.fullmatch("(?:[0-9a-f]{2})+", raw[part]) for part in parts):
            raise ValueError("not sealed")
    except OSError as error:
        raise VaultError(_("{path} cannot be read: {strerror}.").format(path=path, strerror=error.strerror)) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise VaultFormatError(_("{path} doesn't describe a library, or is damaged.").format(path=path)) from error
    return raw


def _seal(
    data_dir: Path, path: Path, settings: KeySettings, ask: AskPassphrase | None, vault_id: str, keyset: Keyset,
    former: dict[str, str] | None = None,
) -> OpenedKeys:  # fmt: skip
    """Write `vault.json` with a root key and a new, unconfirmed recovery code.

    The key `former` is to be removed then, unless the new one has taken its place.
    """
    source = choose_source(settings)
    raw: dict[str, Any] = {"format": FORMAT, "vault_id": vault_id, "source": source}
    if source == "passphrase":
        raw["argon2id"] = new_cost()
    if former is not None and former["source"] != source:
        raw["former"] = former
    root = make_root(source, raw.get("argon2id"), data_dir, vault_id, settings, ask)
    recovery = RecoveryCode(path, raw, root, keyset)
    recovery.renew()
    return OpenedKeys(vault_id, source, recovery)


def _associated(raw: dict[str, Any], part: str) -> bytes:
    """Return the associated data of a sealed part: the plain fields and the parts that it authenticates."""
    unbound = {
        "keyset": ("keyset",),
        "recovery": ("keyset", "recovery", "unconfirmed", "former"),  # it does not change when the code is confirmed
        "unconfirmed": ("keyset", "unconfirmed", "former"),
    }[part]
    return json.dumps({name: raw[name] for name in raw if name not in unbound}, sort_keys=True).encode()


def _sealed(key: bytes, data: bytes, associated: bytes) -> str:
    nonce = secrets.token_bytes(12)
    return (nonce + AESGCM(key).encrypt(nonce, data, associated)).hex()


def _unsealed(key: bytes, raw: dict[str, Any], part: str) -> bytes:
    """Return the plaintext of a sealed part of `vault.json`. Raises `InvalidTag`."""
    sealed = bytes.fromhex(raw[part])
    return AESGCM(key).decrypt(sealed[:12], sealed[12:], _associated(raw, part))


def _unwrap(key: bytes, raw: dict[str, Any], part: str, what: str) -> Keyset:
    try:
        return Keyset.unpack(_unsealed(key, raw, part))
    except InvalidTag as error:
        hint = (
            _("A code opens once: unset DOCMIND_KEYS__RECOVERY_CODE where it has been used.") if what == _CODE else None
        )
        raise WrongKeyError(
            _("The {what} doesn't open this library ({raw}), or vault.json was changed.").format(
                what=what, raw=raw["vault_id"]
            ),
            hint=hint,
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise TamperedError(_("The keys in vault.json are incomplete.")) from error


def _wrapping_key(root: bytes, vault_id: str) -> bytes:
    return derive(root, vault_id.encode(), b"docmind keyset")


def _code_key(code: str, vault_id: str) -> bytes:
    return derive(_letters(code).encode(), vault_id.encode(), b"docmind recovery")


def _new_code() -> str:
    """Return 150 random bits as six groups of five letters and digits."""
    letters = "".join(secrets.choice(_CODE_ALPHABET) for _unused in range(_CODE_LENGTH))
    return "-".join(letters[start : start + _GROUP] for start in range(0, _CODE_LENGTH, _GROUP))


def _letters(code: str) -> str:
    """Normalize a typed code to the letters of its alphabet."""
    return code.upper().replace("-", "").replace(" ", "").replace("O", "0").replace("I", "1").replace("L", "1")
