"""Logging to stderr, one line a minute for one error, and no core dumps after a crash."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time
from typing import Literal

_AGAIN_S = 60.0
_KNOWN = 256  # errors of which the time is kept
_COMPARED = 500  # characters of a message by which errors are told apart
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")
_SERVERS = ("uvicorn.error", "streamlit")  # loggers that have handlers of their own


class Rarely(logging.Filter):
    """Lets each warning and error through once a minute, then with the number of those that were left out.

    Messages that differ only in numbers are one error: a failure that comes back with each request would fill the disk.
    Thread-safe.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._last: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        key = (record.name, record.levelno, _NUMBERS.sub("#", record.getMessage()[:_COMPARED]))
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
            record.msg, record.args = f"{record.getMessage()} ({left_out} more of these since the last one)", ()
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


_rarely = Rarely()


def start_logging(level: Literal["debug", "info", "warning", "error"], *, is_command: bool = False) -> None:
    """Log DocMind at `level` and libraries at error level, each error once a minute, and disable core dumps.

    A command (`is_command`) writes `Sentences` where the level is warning or error; all else writes `Lines`.

    A core dump would leave keys and text on the disk; systems without such a limit are left as they are. Call it first
    at an entry point. The variables that disable reports of libraries are set when `docmind` is imported
    (`docmind.runtime.quiet`).
    """
    logging.basicConfig(level=logging.ERROR)
    logging.getLogger("docmind").setLevel(level.upper())
    ours = [handler for handler in logging.getLogger().handlers if type(handler) is logging.StreamHandler]
    for handler in ours:
        handler.setFormatter(Sentences() if is_command and level in ("warning", "error") else Lines())
    for filtered in (*ours, *map(logging.getLogger, _SERVERS)):  # what a program adds to collect records gets them all
        filtered.addFilter(_rarely)  # adding it again does nothing
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows writes no core files by itself
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
