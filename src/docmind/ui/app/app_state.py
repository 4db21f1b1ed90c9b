"""The open library of this process and the long work on it, shared by all tabs."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st
from pydantic import SecretStr

from docmind.config import Settings
from docmind.errors import BehindError, DocMindError, KeyUnavailableError
from docmind.network import network_guard
from docmind.observability import RecentTimes, add_sink, remove_sink, start_logs, start_traces
from docmind.runtime import Background, start_thread
from docmind.storage import once_free
from docmind.ui.app.activity import Activity
from docmind.ui.app.errors import attempt
from docmind.ui.app.long_work import LongWork, Report
from docmind.wording import _, speak

if TYPE_CHECKING:
    from docmind.application import DocMind


REBUILD = "rebuild"
_FIRST_PAGE_S = 3.0  # longest wait of what is loaded in the background
_IDLE_LOOK_S = 2.0  # between two looks at whether nothing was asked for long enough
_GIVES_WAY_S = 3.0  # longest wait for a vault that another process, such as `docmind mcp`, is about to close


class AppState:
    """Opens the vault once and closes it once. Thread-safe, as the vault itself is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._docmind: DocMind | None = None
        self._passphrase: str | None = None  # kept from a vault that is behind until the user's choice
        self.wants_passphrase = False
        self.is_new = False
        self.is_recovering = False
        self._given: Settings | None = None
        self._is_drawn = threading.Event()  # a page was drawn: what is loaded in the background may take time now
        self._is_stale = False  # something was changed that takes effect once the vault was opened again
        self._unapplied: tuple[str, ...] = ()  # the settings among it
        self._works: dict[str, LongWork] = {}
        self.activity = Activity()
        self.times = RecentTimes()
        add_sink(self.times)
        self._locking = Background("lock")
        self._is_lock_wanted = False

    def open(self, passphrase: str | None = None, *, read_only: bool = False, accept: bool = False) -> DocMind:
        """Return the vault, opened at the first call.

        Raises `VaultError` and its kinds, `ConfigError`.

        `read_only` and `accept` are as in `DocMind`. Where a passphrase is missing, `wants_passphrase` is set; call
        again with one. The user chooses a new passphrase where `is_new` or, with a recovery code, `is_recovering`.
        """
        with self._lock:
            if self._docmind is None:
                self._docmind = self._opened(passphrase, read_only=read_only, accept=accept)
                self._begin(self._docmind)
            elif self._is_stale or self._docmind.rotation.needs_opening:
                self._apply(self._docmind)
            return self._docmind

    def recover(self, code: str, passphrase: str) -> DocMind:
        """Open a locked vault with its recovery code, and give it a new passphrase.

        It has a new recovery code then. Raises what `open` raises; nothing is changed then.
        """
        with self._lock:
            if self._docmind is None:
                self._docmind = self._opened(passphrase, recovery_code=code)
                self._begin(self._docmind)
            return self._docmind

    def _begin(self, docmind: DocMind) -> None:
        """Start what runs while the vault is open."""
        self.wants_passphrase = self._is_lock_wanted = False
        self.activity.note()
        if not docmind.is_read_only:
            docmind.queue.start()
        docmind.caches.join(self)
        self._warm(docmind)
        self.watch_use()

    def watch_use(self) -> None:
        """Lock the library by itself from now on, where it opens with a passphrase that the user types. Idempotent."""
        if self.is_lockable:
            self._locking.start(self._lock_when_idle)

    def opened(self) -> DocMind:
        """Return the vault where it is open. Raises `KeyUnavailableError` where it is not: this opens nothing."""
        docmind = self._docmind
        if docmind is None:
            raise KeyUnavailableError(_("The library is locked."), hint=_("Give its passphrase."))
        return docmind

    @property
    def is_open(self) -> bool:
        """Tell whether the vault is open."""
        return self._docmind is not None

    @property
    def is_lockable(self) -> bool:
        """Tell whether the vault is open, and opens again only with a passphrase that the user types."""
        docmind = self._docmind
        return docmind is not None and docmind.keys.asks_passphrase

    def lock(self, *, waits: bool = False) -> bool:
        """Close the vault, end its processes and drop its keys; return False where something runs, or it has none.

        With `waits` it is locked as soon as nothing runs any more. Python does not overwrite memory that it frees, so
        parts of the keys may stay in the process until it ends.
        """
        with self._lock:
            docmind = self._docmind
            if docmind is None or not docmind.keys.asks_passphrase:
                return False
            if self._is_at_work(docmind):
                self._is_lock_wanted |= waits
                return False
            self._is_lock_wanted = False
            docmind.close()
            self._docmind, self._works = None, {}
            self.wants_passphrase, self.is_new, self.is_recovering = True, False, False
        del docmind
        gc.collect()
        return True

    def _is_at_work(self, docmind: DocMind) -> bool:
        """Tell whether something runs that locking would break off."""
        return (
            any(not work.is_over for work in self._works.values())
            or _is_busy(docmind)
            or docmind.queue.progress().is_busy
            or any(embedding.state in ("waiting", "running") for embedding in docmind.visual.embeddings())
        )

    def _lock_when_idle(self) -> None:
        while not self._locking.is_closed:
            self._locking.sleep(_IDLE_LOOK_S)
            self._lock_if_idle()

    def _lock_if_idle(self) -> None:
        after_s = 60 * self.settings.keys.lock_after_min if self.is_open and self.settings is not None else 0
        if self._is_lock_wanted or (after_s and self.activity.idle_s() >= after_s):
            self.lock()

    @property
    def settings(self) -> Settings | None:
        """The settings as they are now; None before the first try to open the vault."""
        docmind = self._docmind
        return docmind.settings.now if docmind is not None else self._given

    def theme(self) -> str:
        """Return the theme of the pages; empty until the vault is open, which has it."""
        docmind = self._docmind
        return docmind.settings.now.app.theme if docmind is not None else ""

    @property
    def max_file_mb(self) -> int:
        """The largest file that is read, in MB; 0 before the first try to open the vault."""
        return self.settings.reading.max_file_mb if self.settings is not None else 0

    @property
    def is_waiting(self) -> bool:
        """Tell whether a changed setting waits for a question or a download to end."""
        return self._is_stale

    def change(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Set these in DocMind, None to unset; return the names of those that changed.

        A value in force is left as it is: a control may send it by itself, and it would count as set by the user.
        Where they need the vault to be opened again, that is done here, or as soon as no question is being answered and
        nothing is fetched. Raises `ConfigError`, and what opening raises; the change is taken back then.
        """
        docmind = self.open()
        with self._lock:
            settings = docmind.settings
            changed = settings.put(
                {
                    name: value
                    for name, value in values.items()
                    if value is None or not settings.is_in_force(name, value)
                }
            )
            speak(docmind.settings.now.app.language)
            needed = tuple(name for name in changed if docmind.settings.info(name).effect == "reopen")
            if needed:
                self._unapplied = tuple(dict.fromkeys((*self._unapplied, *needed)))
                self._is_stale = True
                self._apply(docmind)
            return changed

    def reopen(self) -> None:
        """Close the vault and open it again, as soon as no question is being answered and nothing is fetched.

        Raises what opening raises.
        """
        docmind = self.open()
        with self._lock:
            self._is_stale = True
            self._apply(docmind)

    def apply_changes(self) -> None:
        """Open the vault again where a change waits for it and nothing runs. Raises what opening raises."""
        with self._lock:
            docmind = self._docmind
            if docmind is not None and (self._is_stale or docmind.rotation.needs_opening):
                self._apply(docmind)

    def _apply(self, docmind: DocMind) -> None:
        """Open the vault again under changed settings, unless something runs that this would break off."""
        if any(not work.is_over for work in self._works.values()) or _is_busy(docmind):
            return
        unapplied, self._unapplied, self._is_stale = self._unapplied, (), False
        try:
            docmind.reopen()
        except DocMindError:
            docmind.reopen(unset=unapplied)  # as it was before
            raise
        finally:
            if not docmind.is_read_only:
                docmind.queue.start()
            docmind.caches.join(self)
            self._warm(docmind)

    def _warm(self, docmind: DocMind) -> None:
        """Load in the background what the first question needs, once the first page is there."""

        def work() -> None:
            self._is_drawn.wait(_FIRST_PAGE_S)
            attempt(docmind.warm)

        start_thread(work, name="warm")

    def drawn(self) -> None:
        """Note that a page was drawn."""
        self._is_drawn.set()

    @property
    def is_drawn(self) -> bool:
        """Tell whether a page was drawn: what takes time in the background no longer delays the first one."""
        return self._is_drawn.is_set()

    def work(self, name: str) -> LongWork | None:
        """Return the work of this name that runs, or ran last."""
        return self._works.get(name)

    def forget(self, name: str) -> None:
        """Let go of work that is over, with its result."""
        with self._lock:
            if name in self._works and self._works[name].is_over:
                del self._works[name]

    def drop(self) -> None:
        """Let go of work that has texts of documents, because one is erased."""
        for name, work in list(self._works.items()):  # without the lock: who closes the vault holds it and waits for us
            if work.has_texts:
                work.stop()
                self._works.pop(name, None)

    def start(
        self, name: str, work: Callable[[DocMind, Report], object], *, can_stop: bool = True, has_texts: bool = False
    ) -> LongWork:
        """Start work of minutes on the vault, unless one of this name is running; return what runs.

        `has_texts` says that its result has texts of documents: it is kept until the next such work, or an erasure.
        """
        docmind = self.open()
        with self._lock:
            going = self._works.get(name)
            if going is not None and not going.is_over:
                return going
            for other, one in list(self._works.items()) if has_texts else ():
                if one.has_texts and one.is_over:
                    del self._works[other]
            begun = self._works[name] = LongWork(can_stop=can_stop, has_texts=has_texts)
        start_thread(lambda: begun.run(lambda report: work(docmind, report)), name=name, stop=begun.stop)
        return begun

    def rebuild(self) -> LongWork:
        """Start to rebuild the index, unless that is running."""
        return self.start(REBUILD, lambda docmind, report: docmind.reindex(report))

    def close(self) -> None:
        """Release the vault. Idempotent."""
        self._locking.close()
        remove_sink(self.times)
        with self._lock:
            if self._docmind is not None:
                self._docmind.close()
            self._docmind = None

    def _opened(
        self, passphrase: str | None, *, read_only: bool = False, accept: bool = False, recovery_code: str = ""
    ) -> DocMind:
        from docmind.application import DocMind

        def ask() -> str:
            self.wants_passphrase = True
            if passphrase is None:
                raise KeyUnavailableError(_("The library is locked."), hint=_("Give its passphrase."))
            return passphrase

        settings = Settings.load()
        start_logs(settings)
        network_guard().hold(settings.network.strict)  # the browser was started before: it must not be restricted
        start_traces(settings)
        passphrase = passphrase if passphrase is not None else self._passphrase
        self._given = settings
        if recovery_code:
            given = {"recovery_code": SecretStr(recovery_code), "source": "passphrase", "passphrase": None}
            settings = settings.model_copy(update={"keys": settings.keys.model_copy(update=given)})
        self.is_new = not (settings.data_dir / "vault.json").exists()
        is_recovering = not self.is_new and settings.keys.recovery_code is not None  # the code brings a new key
        self.is_recovering = is_recovering and not recovery_code
        try:
            opened = once_free(
                lambda: DocMind(settings, ask_passphrase=ask, read_only=read_only, accept=accept), _GIVES_WAY_S
            )
        except BehindError:  # the key was right: the next choice does not ask for it again
            self._passphrase, self.wants_passphrase = passphrase, False
            raise
        self._passphrase = None
        speak(opened.settings.now.app.language)
        return opened


def _is_busy(docmind: DocMind) -> bool:
    pulls = (*docmind.visual.pulls(), *docmind.language_files.all())
    is_asked = docmind.conversations.is_busy or docmind.rotation.is_running
    return is_asked or any(not pull.is_over for pull in pulls)


@st.cache_resource(show_spinner=False, on_release=AppState.close)
def app_state() -> AppState:
    """Return the one state of this process; it is closed when the app ends, or by `app_state.clear()`."""
    return AppState()
