"""Web pages that are added by their address."""

from __future__ import annotations

from docmind.ingest.jobs import IngestQueue
from docmind.records.documents import HandedIn, Upload
from docmind.storage import UserSettings
from docmind.vault import Vault


class WebPages:
    """Fetches pages that a user names, one request each, where the settings allow it. Thread-safe."""

    def __init__(self, settings: UserSettings, *, vault: Vault, queue: IngestQueue) -> None:
        self._settings, self._vault, self._queue = settings, vault, queue

    def fetch(self, address: str, *, tags: tuple[str, ...] = (), replaces: bool = False) -> Upload:
        """Fetch a web page or PDF, to be added like a file; only where the settings allow it.

        One request for the page alone. Raises `ConfigError` where it is not allowed or this is no address,
        `WebPageError` where it cannot be fetched, `VaultError` where the vault is read-only.
        """
        from docmind.network import fetch_page

        self._vault.database.check_writable()
        page = fetch_page(self._settings.now.web, address)
        return Upload(
            page.name, page.data, tags=tags, address=page.address, fetched_at_ms=page.fetched_at_ms, replaces=replaces
        )

    def hand_in(self, address: str, *, tags: tuple[str, ...] = (), replaces: bool = False) -> HandedIn:
        """Fetch a web page and queue it as `IngestQueue.hand_in` does. Raises as `fetch`."""
        return self._queue.hand_in(self.fetch(address, tags=tags, replaces=replaces))
