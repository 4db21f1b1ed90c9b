"""The one open vault of this process, shared by every tab."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from docmind import telemetry
from docmind.config import Settings
from docmind.errors import DocMindError, KeyUnavailableError
from docmind.ui.trouble import attempt

if TYPE_CHECKING:
    from docmind.application import DocMind


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """A look at the index being built anew. `error` is set where it ended badly."""

    done: int = 0
    total: int = 0
    is_over: bool = False
    error: DocMindError | None = None


class Desk:
    """Opens the vault once and closes it once. Safe from any thread; the vault itself is too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._mind: DocMind | None = None
        self.wants_passphrase = False
        self.is_new = False
        self.is_recovering = False
        self.max_file_mb = 0
        self.settings: Settings | None = None
        self.recovery_code: str | None = None
        self.rebuilding: Rebuilding | None = None

    def open(self, passphrase: str | None = None) -> DocMind:
        """The vault, opened at the first call. Raises `VaultError` and its kinds, `ConfigError`.

        Where it fails for want of a passphrase, `wants_passphrase` is set; call again with one. The passphrase is one
        to be chosen where `is_new` or, with a recovery code, `is_recovering`.
        """
        with self._lock:
            if self._mind is None:
                self._mind = self._opened(passphrase)
                self.wants_passphrase = False
                self.recovery_code = self._mind.take_recovery_code()
                self._mind.submit_unfinished()
                threading.Thread(target=attempt, args=(self._mind.warm,), name="warm", daemon=True).start()
            return self._mind

    def rebuild(self) -> None:
        """Start building the index anew, unless that is going on; `rebuilding` tells how far it is."""
        mind = self.open()
        with self._lock:
            if self.rebuilding is not None and not self.rebuilding.is_over:
                return
            self.rebuilding = Rebuilding()
        threading.Thread(target=self._rebuild, args=(mind,), name="rebuild", daemon=True).start()

    def close(self) -> None:
        """Give the vault back. Harmless twice."""
        with self._lock:
            if self._mind is not None:
                self._mind.close()
            self._mind = None

    def _opened(self, passphrase: str | None) -> DocMind:
        from docmind.application import DocMind

        def ask() -> str:
            self.wants_passphrase = True
            if passphrase is None:
                raise KeyUnavailableError("The vault is locked.", hint="Give its passphrase.")
            return passphrase

        settings = Settings.load()
        telemetry.start(settings.log_level)
        self.settings, self.max_file_mb = settings, settings.reading.max_file_mb
        self.is_new = not (settings.data_dir / "vault.json").exists()
        self.is_recovering = not self.is_new and settings.keys.recovery_code is not None  # which brings a new key
        return DocMind(settings, ask_passphrase=ask)

    def _rebuild(self, mind: DocMind) -> None:
        def progress(done: int, total: int) -> None:
            self.rebuilding = Rebuilding(done, total)

        outcome = attempt(lambda: mind.reindex(progress))
        self.rebuilding = Rebuilding(is_over=True, error=outcome if isinstance(outcome, DocMindError) else None)


@st.cache_resource(show_spinner=False, on_release=Desk.close)
def desk() -> Desk:
    """The desk of this process; closed when the app ends, or by `desk.clear()`."""
    return Desk()
