"""Logs of this process: lines of text, or one JSON object for each event and each other line (ADR 0123)."""

from __future__ import annotations

import logging

from docmind.config import Settings
from docmind.observability.events import Event, IndexFailed, IngestionFailed, OcrFailed, add_sink
from docmind.observability.fields import NAMES, fields_of
from docmind.runtime import start_logging

_FAILURES = (IngestionFailed, OcrFailed, IndexFailed)

_log = logging.getLogger("docmind.events")


def start_logs(settings: Settings, *, is_command: bool = False) -> None:
    """Log as the settings say: at `log_level`, in `log_format`; as JSON also every event. Idempotent.

    `is_command`: whoever runs a command reads text as sentences (`docmind.runtime.start_logging`).
    """
    is_json = settings.log_format == "json"
    start_logging(settings.log_level, is_command=is_command, is_json=is_json)
    if is_json:
        add_sink(log_event)


def log_event(event: Event) -> None:
    """Log an event with the fields that may be told: failures as warnings, all others at level info."""
    level = logging.WARNING if isinstance(event, _FAILURES) else logging.INFO
    if _log.isEnabledFor(level):
        name = NAMES[type(event)]
        _log.log(level, name, extra={"event_fields": {"event": name, **fields_of(event)}})
