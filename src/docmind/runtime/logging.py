"""Logging to stderr, as text or JSON, one line a minute for one error, and no core dumps after a crash."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import sys
import threading
import time
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal

_AGAIN_S = 60.0
_KNOWN = 256  # errors of which the time is kept
_COMPARED = 500  # characters of a message by which errors are told apart
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")
_LOGGER = re.compile(r"[A-Za-z0-9_.]{1,80}")
_OURS = "docmind"
_SERVERS = ("uvicorn.error", "streamlit")  # loggers that have handlers of their own


def _message_of(record: logging.LogRecord) -> str:
    """Return what a line says; its text alone where the values do not fit it, as in some libraries."""
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        return str(record.msg)


class Rarely(logging.Filter):
    """Lets each warning and error through once a minute, then with the number of those that were left out.

    Messages that differ only in numbers are one error: a failure that comes back with each request would fill the disk.
    Events are let through: each is one of its own. Thread-safe.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._last: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING or hasattr(record, "event_fields"):
            return True
        key = (record.name, record.levelno, _NUMBERS.sub("#", _message_of(record)[:_COMPARED]))
        now = time.monotonic()
        with self._lock:
            told_at, left_out = self._last.get(key, (now - _AGAIN_S, 0))
            if now - told_at < _AGAIN_S:
                self._last[key] = told_at, left_out + 1
                return False
            if key not in self._last and len(self._last) >= _KNOWN:
                del self._last[min(self._last, key=lambda one: self._last[one][0])]
            self._last[key] = now, 0
        if left_out:
            record.left_out, record.said = left_out, (record.msg, record.args)
            record.msg, record.args = f"{_message_of(record)} ({left_out} more of these since the last one)", ()
        return True


class Lines(logging.Formatter):
    """Lines of a program that runs for long: level, part, message, and where in the source a mistake was made."""

    def __init__(self) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        where = getattr(record, "where", "")  # `log_mistake` gives it
        return super().format(record) + (f"\n{where}" if where else "")


class Sentences(logging.Formatter):
    """One line a message for who runs a command: no level, no part, no place in the source."""

    def format(self, record: logging.LogRecord) -> str:
        said = " ".join(record.getMessage().split())
        return f"{said[:1].upper()}{said[1:]}{'' if said.endswith(('.', '!', '?')) else '.'}"


class JsonLines(logging.Formatter):
    """A JSON object a line, which can hold no text of a document, no question, no name and no path.

    An event (`docmind.observability`) has its own fields. Any other line is the event `log`. Of a line of DocMind its
    constant text is written, without what is put into it, and the classes of errors among that; of a library's line the
    level and the logger alone. Both tell the class of an error, and DocMind's also the lines of source that it passed.
    """

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line: dict[str, Any] = {"time": at, "level": record.levelname.lower()}
        line |= getattr(record, "event_fields", None) or _line_of(record)
        return json.dumps(line, separators=(",", ":"))


def _line_of(record: logging.LogRecord) -> dict[str, Any]:
    line: dict[str, Any] = {"event": "log", "logger": record.name if _LOGGER.fullmatch(record.name) else "other"}
    if record.name.partition(".")[0] == _OURS:
        text, values = getattr(record, "said", (record.msg, record.args))
        line["message"] = getattr(record, "what", text)
        mistake = next((one for one in values or () if isinstance(one, BaseException)), None)
        if mistake is not None:
            line["error"] = type(mistake).__name__
        line |= {name: getattr(record, name) for name in ("error", "frames", "left_out") if hasattr(record, name)}
    if record.exc_info and record.exc_info[0] is not None:
        line["error"] = record.exc_info[0].__name__
    return line


def frames_of(trace: TracebackType | None) -> list[str]:
    """Return where in the source an error passed, as `module:line`, the innermost last; no path and no line of text."""
    return [f"{frame.f_globals.get('__name__', '?')}:{line}" for frame, line in traceback.walk_tb(trace)]


class _Passing(logging.Logger):
    """A logger whose lines go to the handlers of the root alone: those that a library gave it would write its text."""

    def callHandlers(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name in `logging`
        for handler in logging.getLogger().handlers:
            if record.levelno >= handler.level:
                handler.handle(record)


def _write_json() -> None:
    """Write as JSON what is logged in this process: by libraries, by warnings, and of errors that nothing catches."""
    root = logging.getLogger()
    for handler in root.handlers:
        if type(handler) is logging.StreamHandler:
            handler.setFormatter(JsonLines())
    logging.setLoggerClass(_Passing)
    for known in root.manager.loggerDict.values():
        if type(known) is logging.Logger:
            known.__class__ = _Passing
    logging.captureWarnings(True)
    threading.excepthook = lambda failed: _failed("a thread ended", failed.exc_value)
    sys.excepthook = lambda _kind, error, _trace: _failed("the program ended", error)
    sys.unraisablehook = lambda failed: _failed("an error could not be raised", failed.exc_value)
    logging.raiseExceptions = False  # a line that can't be written would be written to stderr, with its values


def _failed(what: str, error: BaseException | None) -> None:
    if isinstance(error, Exception):
        log_mistake(_OURS, what, error)


def log_mistake(logger: str, what: str, error: Exception) -> None:
    """Log where an error was raised, without its message, which may repeat document text; `what` is a constant."""
    where, kind = "".join(traceback.format_tb(error.__traceback__)), type(error).__name__
    told = {"where": where, "what": what, "error": kind, "frames": frames_of(error.__traceback__)}
    logging.getLogger(logger).error("%s with %s", what, kind, extra=told)


_rarely = Rarely()


def start_logging(
    level: Literal["debug", "info", "warning", "error"], *, is_command: bool = False, is_json: bool = False
) -> None:
    """Log DocMind at `level` and libraries at error level, each error once a minute, and disable core dumps.

    A command (`is_command`) writes `Sentences` where the level is warning or error; all else writes `Lines`. With
    `is_json` everything is `JsonLines`.

    A core dump would leave keys and text on the disk; systems without such a limit are left as they are. Call it first
    at an entry point. The variables that disable reports of libraries are set when `docmind` is imported
    (`docmind.runtime.quiet`).
    """
    logging.basicConfig(level=logging.ERROR)
    logging.getLogger("docmind").setLevel(level.upper())
    ours = [handler for handler in logging.getLogger().handlers if type(handler) is logging.StreamHandler]
    for handler in ours:
        handler.setFormatter(Sentences() if is_command and level in ("warning", "error") else Lines())
    if is_json:
        _write_json()
    for filtered in (*ours, *map(logging.getLogger, _SERVERS)):  # what a program adds to collect records gets them all
        filtered.addFilter(_rarely)  # adding it again does nothing
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows writes no core files by itself
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
