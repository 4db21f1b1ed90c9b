"""Keyrings for tests: one in memory, and one that answers nothing."""

from __future__ import annotations

import keyring.backend


class Memory(keyring.backend.KeyringBackend):
    """A keyring that lives as long as the test."""

    priority = 5  # pyright: ignore[reportAssignmentType]

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.held[service, username]


class Refusing(Memory):
    """One that is there and answers nothing."""

    def get_password(self, service: str, username: str) -> str | None:
        raise RuntimeError("locked")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise RuntimeError("locked")
