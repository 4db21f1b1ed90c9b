"""Logs of this process: lines of text, or one JSON object for each event and each other line (ADR 0123)."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import deque

from docmind.config import Settings
from docmind.observability.events import Event, IndexFailed, IngestionFailed, OcrFailed, add_sink
from docmind.observability.fields import NAMES, fields_of
from docmind.runtime import start_logging

_FAILURES = (IngestionFailed, OcrFailed, IndexFailed)

_LATER_S = 0.5  # written at once, an event costs a search ten times as much: nothing of it is in the processor's caches

_log = logging.getLogger("docmind.events")


def start_logs(settings: Settings, *, is_command: bool = False) -> None:
    """Log as the settings say: at `log_level`, in `log_format`; as JSON also every event. Idempotent.

    `is_command`: whoever runs a command reads text as sentences (`docmind.runtime.start_logging`).
    """
    is_json = settings.log_format == "json"
    start_logging(settings.log_level, is_command=is_command, is_json=is_json)
    if is_json:
        add_sink(_event_log.take)


class EventLog:
    """Logs events with the fields that may be told: failures as warnings, all others at level info. Thread-safe.

    They are written by a thread, half a second after the first of them at the latest, or by `flush`; each has the time
    at which it happened.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[float, int, Event]] = deque()
        self._news, self._starting = threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None

    def take(self, event: Event) -> None:
        """Keep an event for the thread that writes."""
        level = logging.WARNING if isinstance(event, _FAILURES) else logging.INFO
        if not _log.isEnabledFor(level):
            return
        self._waiting.append((time.time(), level, event))
        if self._thread is None:
            self._start()
        if not self._news.is_set():
            self._news.set()

    def flush(self) -> None:
        """Write what waits, in this thread."""
        while self._waiting:
            try:
                at, level, event = self._waiting.popleft()
            except IndexError:  # the thread had it first
                return
            name = NAMES[type(event)]
            told = {"event_fields": {"event": name, **fields_of(event)}}
            record = _log.makeRecord(_log.name, level, "", 0, name, (), None, extra=told)
            record.created, record.msecs = at, at % 1 * 1000
            _log.handle(record)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                atexit.register(self.flush)
                self._thread = threading.Thread(target=self._write, name="event log", daemon=True)
                self._thread.start()

    def _write(self) -> None:
        while True:
            self._news.wait()
            time.sleep(_LATER_S)
            self._news.clear()
            self.flush()


_event_log = EventLog()
