"""A program on a terminal of its own: what it shows is read, keys are typed. Needs a system with pseudo-terminals."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Self

from forked import Started, can_fork, popen

ENTER, CTRL_C, CTRL_D, UP = "\r", "\x03", "\x04", "\x1b[A"
PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"


class Terminal:
    """One child process whose standard streams are a terminal of 80 x 24. `shown` is all that it wrote."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

        def take_terminal() -> None:
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # what runs in the background of a shell has it ignored

        variables = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", **environment}
        self._process: Started
        if can_fork() and command[0] == sys.executable:
            self._process = popen(
                command, stdin=theirs, stdout=theirs, stderr=theirs, env=variables, start_new_session=True
            )
        else:
            self._process = subprocess.Popen(
                command, stdin=theirs, stdout=theirs, stderr=theirs, env=variables, preexec_fn=take_terminal
            )
        os.close(theirs)
        self.shown = ""
        self._raw = b""
        self._read = 0

    def type(self, keys: str) -> Self:
        os.write(self._ours, keys.encode())
        return self

    def paste(self, text: str) -> Self:
        """As a terminal does it where the program has asked for marks around what is pasted."""
        assert "\x1b[?2004h" in self.shown, "the program has not asked for marks"
        return self.type(f"{PASTE_BEGINS}{text}{PASTE_ENDS}")

    def wait_for(self, text: str, within_s: float = 60.0) -> str:
        """Wait for `text` and return what was shown since the last wait, up to and including it."""
        until = time.monotonic() + within_s
        while (at := self.shown.find(text, self._read)) < 0:
            assert self._more(until - time.monotonic()), f"{text!r} was not shown: {self.shown[self._read :]!r}"
        start, self._read = self._read, at + len(text)
        return self.shown[start : self._read]

    def settle(self) -> Self:
        """Wait until the program has been quiet for a moment: a line editor that shows its prompt is not yet where
        Ctrl-C reaches it."""
        while self._more(0.3):
            pass
        return self

    def end(self, within_s: float = 60.0) -> int:
        """Wait until the program has ended; its exit code."""
        until = time.monotonic() + within_s
        while self._more(until - time.monotonic()):
            pass
        return self._process.wait(max(0.1, until - time.monotonic()))

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(10)
        os.close(self._ours)

    def _more(self, seconds: float) -> bool:
        """Whether more came within that time."""
        if seconds <= 0 or not select.select([self._ours], [], [], seconds)[0]:
            return False
        try:
            piece = os.read(self._ours, 65_536)
        except OSError:  # Linux says so where the other side is closed
            return False
        self._raw += piece
        self.shown = self._raw.decode("utf-8", "replace")
        return bool(piece)


@contextmanager
def terminal(words: Sequence[str], environment: Mapping[str, str]) -> Iterator[Terminal]:
    """`docmind` with these words on a terminal; killed if it is still there at the end."""
    made = Terminal([sys.executable, "-m", "docmind", *words], environment)
    try:
        yield made
    finally:
        made.close()
