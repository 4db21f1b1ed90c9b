"""What a person types into a conversation, one entry at a time; or lines from a pipe."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterable
from typing import Any

from docmind.cli.opening import is_asking

_PASTE_S = 0.03  # what follows a line so soon was pasted with it


class Lines:
    """Entries from standard input: on a terminal with editing, a history that is nowhere but in memory, and pasted
    lines as one entry; from a pipe one line each, without a prompt."""

    def __init__(self, prompt: str) -> None:
        self.is_asking = is_asking()
        self._prompt = prompt if self.is_asking else ""
        self._editing: Any = None
        if self.is_asking:
            _take_any_bytes()
            self._editing = _editing()

    def read(self) -> str | None:
        """The next entry that is not empty, trimmed; None at the end. Ctrl-C is a `KeyboardInterrupt`."""
        while True:
            try:
                entry = self._typed() if self.is_asking else _piped()
            except EOFError:
                return None
            # Questions begin with a slash where a space stands before it: only the end is trimmed.
            if entry.strip():
                return entry.rstrip()

    def recall(self, entries: Iterable[str]) -> None:
        """Put these in place of the history, the oldest first."""
        if self._editing is not None:
            self._editing.clear_history()
            for entry in entries:
                self._editing.add_history(entry)

    def _typed(self) -> str:
        entry = input(self._prompt)
        if self._editing is None or _is_libedit(self._editing):
            while _is_more():
                entry += "\n" + input()
        return entry


def _piped() -> str:
    line = sys.stdin.buffer.readline() if sys.stdin is not None else b""
    if not line:
        raise EOFError
    return line.decode("utf-8", "replace").removeprefix("\ufeff").rstrip("\r\n")


def _editing() -> Any:
    """The `readline` module where this system has it."""
    try:
        import readline
    except ImportError:  # Windows; its console edits lines by itself
        return None
    if not _is_libedit(readline):
        readline.parse_and_bind("set enable-bracketed-paste on")  # Python turns it off
        readline.parse_and_bind("tab: tab-insert")  # names of files are of no use here
    return readline


def _is_libedit(readline: Any) -> bool:
    return "libedit" in (readline.__doc__ or "")


def _is_more() -> bool:
    return os.name == "posix" and bool(select.select([sys.stdin], [], [], _PASTE_S)[0])


def _take_any_bytes() -> None:
    """A byte that is no text is typed as a question mark, and is no error."""
    reconfigure = getattr(sys.stdin, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
