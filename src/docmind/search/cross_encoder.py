"""A cross-encoder over the first pages of the text search: it reads the question together with each page's passage."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from docmind.config import Settings
from docmind.embedding import CrossEncoder, open_cross_encoder
from docmind.errors import DocMindError
from docmind.records.search import STARTING, Degraded
from docmind.runtime import Starts, TimedCall, TimedCalls
from docmind.wording import _

STAGE = "cross-encoder"


class Judge:
    """The cross-encoder that the settings name, opened at first use. Thread-safe.

    A search waits no longer than the settings say, for its start and for its scores; else it goes on without it.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._timed_calls = TimedCalls()
        self._starts = Starts()
        self._lock = threading.Lock()
        self._opened: CrossEncoder | None = None
        self._is_closed = False

    def scores(self, question: str, texts: Sequence[str], degraded: list[Degraded]) -> Sequence[float] | None:
        """Return a score of each text, higher where it answers better; None, with the reason, where it cannot."""
        retrieve = self._settings.retrieve
        try:
            if not (self._is_ready or self._starts.wait(STAGE, self._start, retrieve.start_timeout_s)):
                degraded.append(Degraded(STAGE, _(STARTING), is_starting=True))
                return None
            timed_call = TimedCall(
                lambda: self._model().scores(question, texts).tolist(), retrieve.cross_encoder_budget_s
            )
            outcome = self._timed_calls.run({STAGE: timed_call})[STAGE]
            if not outcome.late:
                return outcome.result()
            degraded.append(Degraded(STAGE, outcome.late))
        except (DocMindError, OSError, RuntimeError) as error:
            degraded.append(Degraded(STAGE, str(error)))
        return None

    def warm(self) -> None:
        """Load the model in the background, where it is not ready; what fails is reported by the next search."""
        if not self._is_ready:
            self._starts.begin(STAGE, self._start)

    def _start(self) -> None:
        self._model().warm()

    @property
    def _is_ready(self) -> bool:
        return self._opened is not None and self._opened.is_ready

    def close(self) -> None:
        """End its process. Idempotent."""
        with self._lock:
            self._is_closed = True
            if self._opened is not None:
                self._opened.close()

    def _model(self) -> CrossEncoder:
        with self._lock:
            if self._opened is None:
                self._opened = open_cross_encoder(self._settings, self._settings.retrieve.cross_encoder)
                if self._is_closed:  # while a search ran
                    self._opened.close()
            return self._opened
