"""How long a model takes here: measured in a thread of its own, one model at a time, while the pages look on."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.seeing import ModelBench
from docmind.ui.trouble import attempt

if TYPE_CHECKING:
    from docmind.application import DocMind


@dataclass(frozen=True, slots=True)
class Measured:
    """A look at a measurement: `bench` or `error` are there when it is over."""

    name: str
    bench: ModelBench | None = None
    error: DocMindError | None = None

    @property
    def is_over(self) -> bool:
        return self.bench is not None or self.error is not None


class Measuring:
    """Keeps the last measurement. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now: Measured | None = None

    def begin(self, mind: DocMind, name: str) -> None:
        """Measure this model, unless one is being measured."""
        with self._lock:
            if self.now is not None and not self.now.is_over:
                return
            self.now = Measured(name)
        threading.Thread(target=self._run, args=(mind, name), name="measure", daemon=True).start()

    def _run(self, mind: DocMind, name: str) -> None:
        outcome = attempt(lambda: mind.visual.bench(name))
        error = outcome if isinstance(outcome, DocMindError) else None
        self.now = Measured(name, None if isinstance(outcome, DocMindError) else outcome, error)


@st.cache_resource(show_spinner=False)
def measuring() -> Measuring:
    """The one of this process."""
    return Measuring()
