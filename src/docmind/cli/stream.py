"""An answer on a terminal while it is being written: pieces as they come, then the checked text in their place."""

from __future__ import annotations

import os
import shutil
import sys

from docmind.cli.telling import inert
from docmind.cli.turns import marked, tell_turn
from docmind.conversation import RunProgress, Turn

_TAB = "    "


class Stream:
    """Shows one answer. Of one thread only.

    What was written is inert: every control character is replaced by itself, so a sequence that is split over two
    pieces is as harmless as a whole one. On a terminal that can, the text is wiped once it is checked and stands
    there again with its markers; where it is taller than the screen, the checked text follows it.
    """

    def __init__(self, *, is_live: bool | None = None) -> None:
        self._is_live = sys.stdout.isatty() if is_live is None else is_live
        self._can_wipe = self._is_live and os.name == "posix" and os.environ.get("TERM", "dumb") != "dumb"
        self._text = ""  # as it came
        self._shown = ""  # as it stands on the screen
        self._stage = ""

    def show(self, now: RunProgress) -> None:
        """Write what is new since the last call."""
        if not self._is_live:
            return
        if now.text == self._text:
            if not now.text and now.stage != self._stage and self._can_wipe:
                self._stage = now.stage
                self._write(f"\r\x1b[K{inert(now.stage)}…" if now.stage else "\r\x1b[K")
            return
        if not self._text or not now.text.startswith(self._text):  # it begins, or begins anew in other words
            self._clear()
        piece = _on_screen(now.text[len(self._text) :])
        self._text = now.text
        self._shown += piece
        self._write(piece)

    def end(self, turn: Turn) -> None:
        """Write the answer as it was checked, and its sources."""
        written = self._shown
        if self._clear():
            tell_turn(turn)
            return
        checked = _on_screen(marked(turn.answer)) if turn.answer is not None else ""
        is_new = checked.strip() != written.strip()
        if is_new and checked:
            self._write("\nWith its sources:\n")
        tell_turn(turn, text=is_new)

    def break_off(self) -> None:
        """Leave what was written, and go to a line of its own."""
        if self._shown:
            self._write("\n")
        else:
            self._clear()

    def _clear(self) -> bool:
        """Take away what was written; where that cannot be done, go to a line of its own, and False."""
        width, height = shutil.get_terminal_size()
        rows = rows_of(self._shown, width) if self._shown else 1
        is_clear = not self._shown or (self._can_wipe and rows < height)
        if not is_clear:
            self._write("\n")
        elif self._can_wipe:
            self._write("\r" + (f"\x1b[{rows - 1}A" if rows > 1 else "") + "\x1b[J")
        self._shown = self._text = self._stage = ""
        return is_clear

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def rows_of(text: str, width: int) -> int:
    """How many rows of a terminal `width` cells wide this takes."""
    from rich.cells import cell_len

    rows = 1
    column = 0
    for char in text:
        if char == "\n":
            rows, column = rows + 1, 0
            continue
        cells = cell_len(char)
        if column + cells > width:
            rows, column = rows + 1, 0
        column += cells
    return rows


def _on_screen(text: str) -> str:
    return inert(text, keep_lines=True).replace("\t", _TAB)
