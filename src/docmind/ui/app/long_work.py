"""Work of minutes that a page starts: its progress, a button to stop it, and its outcome.

It runs in a thread and belongs to the app, not to a tab: every tab shows it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from docmind.errors import CancelledError, DocMindError
from docmind.ui.app import errors
from docmind.wording import _

_LOOK_S = 0.7
Report = Callable[[int, int], None]


@dataclass(slots=True)
class LongWork:
    """One piece of work: what is done of the whole, then its result or its error.

    The thread of the work writes it, pages read it; a page may see a `done` that is one report old.
    """

    done: int = 0
    total: int = 0
    is_over: bool = False
    is_stopping: bool = False
    result: Any = None
    error: DocMindError | None = None
    can_stop: bool = True
    has_texts: bool = False
    """Whether its result has texts of documents, which an erasure drops."""
    ends: threading.Event = field(default_factory=threading.Event)

    def report(self, done: int, total: int) -> None:
        """Note the progress. Raises `CancelledError` once it is to stop."""
        if self.is_stopping:
            raise CancelledError(_("Stopped."), hint=_("Nothing was changed. Start it again at any time."))
        self.done, self.total = done, total

    def stop(self) -> None:
        """Ask it to stop at its next report."""
        self.is_stopping = True

    def run(self, work: Callable[[Report], Any]) -> None:
        """Do the work in this thread."""
        outcome = errors.attempt(lambda: work(self.report))
        if isinstance(outcome, DocMindError):
            self.error = outcome
        else:
            self.result = outcome
        self.is_over = True
        self.ends.set()


def draw(work: LongWork, told: Callable[[LongWork], str], *, key: str, can_stop: bool = True) -> None:
    """Draw a running piece of work; the page is drawn again when it is over. `told` says how far it is."""
    st.fragment(_draw, run_every=_LOOK_S)(work, told, key, can_stop)


def _draw(work: LongWork, told: Callable[[LongWork], str], key: str, can_stop: bool) -> None:
    if work.is_over:
        st.rerun()
    done = min(1.0, work.done / work.total) if work.total else 0.0
    st.progress(done, text=told(work) if work.total else _("Getting ready…"))
    if can_stop and work.can_stop:
        words = _("Stopping…") if work.is_stopping else _("Stop")
        st.button(words, key=f"{key}-stop", icon=":material/stop:", on_click=work.stop, disabled=work.is_stopping)
