"""A cross-encoder over the first pages of the text search: it reads the question together with each page's passage."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress

from docmind.config import Settings
from docmind.embedding import CrossEncoder, open_cross_encoder
from docmind.errors import DocMindError
from docmind.records.search import Degraded
from docmind.runtime import Errand, Errands

STAGE = "cross-encoder"


class Judge:
    """The cross-encoder that the settings name, opened at first use. Thread-safe.

    A search waits for it no longer than the settings say; while it is loaded, searches go on without it.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._errands = Errands()
        self._lock = threading.Lock()
        self._opened: CrossEncoder | None = None
        self._is_closed = False

    def scores(self, question: str, texts: Sequence[str], degraded: list[Degraded]) -> Sequence[float] | None:
        """Return a score of each text, higher where it answers better; None, with the reason, where it cannot."""
        limit_s = self._settings.retrieve.cross_encoder_budget_s
        errand = Errand(lambda: self._model().scores(question, texts).tolist(), limit_s)
        outcome = self._errands.run({STAGE: errand})[STAGE]
        if outcome.late:
            degraded.append(Degraded(STAGE, outcome.late))
            return None
        try:
            return outcome.result()
        except (DocMindError, OSError, RuntimeError) as error:
            degraded.append(Degraded(STAGE, str(error)))
            return None

    def warm(self) -> None:
        """Load the model in the background; what fails is reported by the first search."""

        def load() -> None:
            with suppress(DocMindError, OSError, RuntimeError):
                self._model().warm()

        threading.Thread(target=load, name=STAGE, daemon=True).start()

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
