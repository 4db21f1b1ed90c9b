"""The library for a process that runs for days and needs it for moments: that of whoever has it open, else its own.

While nobody asks, the library is closed, so that the app and the commands can open it. While it is open here, other
processes of the user are answered from here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from docmind.access import find_owner, find_running, is_alive
from docmind.api.sharing import Sharing
from docmind.config import Settings
from docmind.errors import AppNotOpenError, ConfigError, VaultBusyError, VaultError
from docmind.storage import check_library
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client

IDLE_S = 60.0
"""The library is closed after this time without a call; opening it again takes about a second."""

_LOOK_S = 1.0


class OnDemand:
    """Reaches the library for each call. Thread-safe.

    A library that was opened here is closed when it is idle, and as soon as the app wants it: a thread looks for
    `app.json` each second, and closes it between two calls. Files in the queue are read to their end, unless the app
    takes them over.
    """

    def __init__(self, settings: Settings, *, idle_s: float = IDLE_S) -> None:
        self._settings, self._idle_s = settings, idle_s
        self._changed = threading.Condition()
        self._ours: DocMind | None = None
        self._sharing: Sharing | None = None
        self._users, self._used_at, self._is_closed = 0, 0.0, False
        self._watching: threading.Thread | None = None

    @contextmanager
    def library(self) -> Iterator[DocMind | Client]:
        """Yield the library for one call.

        Raises `VaultError` and its kinds where it cannot be opened, and where there is none: it is created in the app
        or by a command, which show its recovery code. An app that was closed since is an `AppNotOpenError`; the next
        call opens the library here.
        """
        with self._changed:
            ours = self._ours
            client = None if ours is not None else self._client()
            if ours is None and client is None:
                ours = self._opened()
            if ours is not None:
                self._users += 1
        try:
            yield ours if ours is not None else self._checked(client)
        except AppNotOpenError as error:
            raise AppNotOpenError(
                _("DocMind was closed."), hint=_("Call the tool again: the library is then opened without the app.")
            ) from error
        finally:
            if ours is not None:
                with self._changed:
                    self._users -= 1
                    self._used_at = time.monotonic()
                    self._changed.notify_all()

    def close(self) -> None:
        """Close the library if it is open here, and end the thread. Idempotent."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            watching = self._watching
        if watching is not None:
            watching.join()
        with self._changed:
            if self._ours is not None:  # the thread failed
                self._give_back(self._ours)

    def _checked(self, client: Client | None) -> Client:
        assert client is not None
        return client

    def _client(self) -> Client | None:
        owner = find_owner(self._settings.data_dir)
        if owner is None:
            return None
        from docmind.client import Client

        return Client(owner)

    def _opened(self) -> DocMind:
        from docmind.application import DocMind

        if self._is_closed:
            raise VaultError(_("The library is closed."))
        check_library(self._settings.data_dir)
        try:
            ours = DocMind(self._settings)
        except VaultBusyError as error:
            raise VaultBusyError(
                _("Another DocMind has the library open at the moment."),
                hint=_("Call the tool again in a few seconds. While the app is open, it answers for it."),
            ) from error
        if not ours.is_read_only:
            ours.queue.start()
        ours.start_models()
        self._ours, self._used_at = ours, time.monotonic()
        self._sharing = None if ours.is_read_only else Sharing(self._settings.data_dir, ours, after_s=0)
        self._watching = threading.Thread(target=self._watch, name="on demand", daemon=True)
        self._watching.start()
        return ours

    def _watch(self) -> None:
        """Close the library when it is idle, wanted by the app, or no longer needed; then end."""
        with self._changed:
            while self._ours is not None:
                self._changed.wait(0 if self._is_closed else _LOOK_S)
                if self._users == 0 and (self._is_closed or self._is_idle(self._ours) or self._is_wanted()):
                    self._give_back(self._ours)

    def _give_back(self, ours: DocMind) -> None:
        if self._sharing is not None:
            self._sharing.close()
            self._sharing = None
        ours.close()
        self._ours = None

    def _is_idle(self, ours: DocMind) -> bool:
        others_s = self._sharing.idle_s if self._sharing is not None else self._idle_s
        if min(time.monotonic() - self._used_at, others_s) < self._idle_s:
            return False
        embedding = any(job.state in ("queued", "running") for job in ours.visual.embeddings())
        return not (embedding or ours.queue.progress().is_busy or ours.conversations.is_busy)

    def _is_wanted(self) -> bool:
        """Tell whether an app has started over the same library: it announces itself before it opens it."""
        try:
            running = find_running(self._settings.data_dir)
        except ConfigError:  # another user's file: no app of ours
            return False
        return running is not None and is_alive(running)
