"""What the user does with the keys of an open library: the recovery code, and what opens it."""

from __future__ import annotations

from pathlib import Path

from docmind.errors import ConfigError
from docmind.storage import Preferences, UserSettings
from docmind.vault import Vault
from docmind.wording import _

_PUT_OFF = "recovery_reminder_put_off"


class Keys:
    """The recovery code of a library, and what opens it. Thread-safe."""

    def __init__(self, vault: Vault, settings: UserSettings) -> None:
        self._vault, self._settings = vault, settings
        self._preferences = Preferences(vault.database)

    @property
    def vault_id(self) -> str:
        """The vault's id: 16 hexadecimal digits, created with the vault."""
        return self._vault.keys.vault_id

    @property
    def source(self) -> str:
        """Where the key comes from that opens the library: "keyring", "passphrase" or "file"."""
        return self._vault.keys.source

    @property
    def asks_passphrase(self) -> bool:
        """Whether the library opens with a passphrase that the user types; the environment may give it instead."""
        return self.source == "passphrase" and self._vault.settings.keys.passphrase is None

    def recovery_code(self) -> str | None:
        """Return the recovery code until it is confirmed, to be written down; None afterwards."""
        return self._vault.keys.recovery.code()

    def confirm_recovery_code(self, written: str) -> None:
        """Forget the recovery code; `written` is its last group, or all of it.

        Raises `WrongKeyError` where it does not match, `DiskFullError`, `VaultError`; then the code is kept.
        """
        with self._vault.keys_lock:
            self._vault.keys.recovery.confirm(written)
        if self.is_reminder_put_off:
            self._preferences.remove(_PUT_OFF)

    @property
    def is_reminder_put_off(self) -> bool:
        """Whether the user was reminded to write the recovery code down, and did not want to yet."""
        return self._preferences.get(_PUT_OFF) is True

    def put_off_reminder(self) -> None:
        """Keep that the user did not want to write the recovery code down yet; confirming it forgets that.

        Raises `DiskFullError`, `VaultError`.
        """
        self._preferences.put(_PUT_OFF, True)

    def new_recovery_code(self) -> str:
        """Create another recovery code, unconfirmed; the previous one stops working.

        Raises `DiskFullError`, `VaultError`; then the previous one still works.
        """
        with self._vault.keys_lock:
            return self._vault.keys.recovery.renew()

    def change_passphrase(self, now: str, new: str) -> None:
        """Exchange the passphrase of the vault; the recovery code is exchanged with it, and is unconfirmed then.

        Raises `ConfigError` where the vault has no passphrase, the environment sets one, or the new one is too short;
        `WrongKeyError` where `now` is another one; `DiskFullError`, `VaultError`. Nothing is changed then.
        """
        self._check(is_passphrase=True)
        self._vault.change_passphrase(now, new)

    @property
    def fixed_by(self) -> str:
        """The variable with its value that forbids to change what opens the library; empty where none does."""
        return self._forbidden(is_passphrase=self.source != "passphrase")

    @property
    def shared_file(self) -> Path | None:
        """The key file where a setting names it: other libraries may open with the same one."""
        return self._vault.settings.keys.file if self.source == "file" else None

    @property
    def is_former_left(self) -> bool:
        """Whether a key that opens nothing any more could not be removed yet; the next opening tries again."""
        return self._vault.keys.recovery.former is not None

    def protect(self, new: str, *, removes_shared: bool = False) -> None:
        """Let a passphrase open the library in place of a key file or the keyring.

        The key before is removed; a file that a setting names only with `removes_shared`. The recovery code is
        exchanged too, and is unconfirmed then. Keys of other services move from the keyring into the library.

        Raises `ConfigError` where the library has a passphrase already, the environment forbids it, or `new` is too
        short; `DiskFullError`, `VaultError`. Nothing is changed then.
        """
        self._check(is_passphrase=True)
        self._vault.protect(new, keeps_file=self.shared_file is not None and not removes_shared)
        self._settings.move_secrets(self.source)

    def unprotect(self, now: str) -> None:
        """Let a new key open the library in place of the passphrase `now`.

        It lies in the keyring where one answers, else in a file that only the user can read. The recovery code is
        exchanged too, and is unconfirmed then.

        Raises `ConfigError` where the library has no passphrase or the environment forbids it, `WrongKeyError` where
        `now` is another passphrase, `KeyUnavailableError` where the key cannot be kept, `DiskFullError`, `VaultError`.
        Nothing is changed then.
        """
        self._check(is_passphrase=False)
        self._vault.unprotect(now)
        self._settings.move_secrets(self.source)

    def _check(self, *, is_passphrase: bool) -> None:
        """Raise `ConfigError` where the environment says what is to open the library, or it is read-only."""
        self._vault.database.check_writable()
        if fixed_by := self._forbidden(is_passphrase=is_passphrase):
            raise ConfigError(
                _("What opens the library is set by {variable}.").format(variable=fixed_by),
                hint=_("Unset that variable, then change it here."),
            )

    def _forbidden(self, *, is_passphrase: bool) -> str:
        keys = self._vault.settings.keys
        if keys.passphrase is not None:
            return "DOCMIND_KEYS__PASSPHRASE"
        if keys.source == "auto" or (keys.source == "passphrase") == is_passphrase:
            return ""
        return f"DOCMIND_KEYS__SOURCE={keys.source}"
