"""What the user does with the keys of an open library: the recovery code and the passphrase."""

from __future__ import annotations

from docmind.errors import ConfigError
from docmind.vault import Vault
from docmind.wording import _


class Keys:
    """The recovery code and the passphrase of a library. Thread-safe."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

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
        self._vault.keys.recovery.confirm(written)

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
        self._vault.database.check_writable()
        if self._vault.settings.keys.passphrase is not None:
            raise ConfigError(
                _("The passphrase is set by DOCMIND_KEYS__PASSPHRASE."),
                hint=_("Unset that variable, then change it here."),
            )
        self._vault.change_passphrase(now, new)
