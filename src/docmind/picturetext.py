"""The words on a picture that is searched for: read in a process of its own, and cut down to those that tell."""

from __future__ import annotations

import math
import threading

from docmind.config import ReadingSettings
from docmind.errors import VaultError
from docmind.ocr import Ocr
from docmind.seeing import Quad

WORDS = 120
"""Of a longer text so many are searched for: a page of 500 words is told from others by far fewer."""
_IDLE_S = 120.0  # the process holds some 300 MB, and pictures come in bursts
_CROOKED = 8.0  # degrees: what is less the engine reads as it is


class PictureText:
    """Reads one picture at a time, beside what reads documents: a picture does not wait for a library.

    Safe from any thread. The process starts with the first picture, ends after two idle minutes, and starts again.
    """

    def __init__(self, settings: ReadingSettings) -> None:
        self._ocr = Ocr(settings.model_copy(update={"workers": 1}))
        self._turn = threading.Lock()
        self._idle: threading.Timer | None = None
        self._is_closed = False

    @property
    def missing(self) -> str:
        """Why no picture can be read; empty where one can."""
        if self._ocr.engine:
            return ""
        why = self._ocr.capabilities()[0]
        state = "switched off" if why.state == "off" else "not installed"
        return f"what reads text from pictures is {state}. {why.hint}"

    def read(self, picture: bytes, turn: float = 0.0) -> str:
        """The text on a picture of any kind, turned clockwise by `turn` degrees before it is read.

        Raises `ReaderFailedError`, also where there is no engine, and `VaultError` once `close` was called.
        """
        with self._turn:
            if self._is_closed:  # who waited for this moment would start a process that nobody ends
                raise VaultError("The vault is closed.")
            if self._idle is not None:
                self._idle.cancel()
            try:
                return self._ocr.recognise_picture(picture, turn).text
            finally:
                self._idle = threading.Timer(_IDLE_S, self._rest)
                self._idle.daemon = True
                self._idle.start()

    def close(self) -> None:
        """End the process, also in the middle of a picture. Harmless twice."""
        self._is_closed = True
        if self._idle is not None:
            self._idle.cancel()
        self._ocr.close()

    def _rest(self) -> None:
        if self._turn.acquire(blocking=False):  # else a picture has come, and sets a new timer
            try:
                self._ocr.close()
            finally:
                self._turn.release()


def turn_of(quad: Quad) -> float:
    """By how many degrees a picture has to be turned clockwise to stand as its page does; 0 where that is little.

    `quad` are the picture's corners on the page, clockwise from its top left.
    """
    if len(quad) != 4:
        return 0.0
    (x0, y0), (x1, y1) = quad[:2]
    turn = math.degrees(math.atan2(y1 - y0, x1 - x0))
    return turn if abs(turn) > _CROOKED else 0.0


def telling(text: str, count: int = WORDS) -> str:
    """The text as it is where it is short; else its `count` most telling words, in their order.

    Long words and those with digits are rare ones, whatever the language; each is taken once.
    """
    words = text.split()
    if len(words) <= count:
        return " ".join(words)
    first = {word.lower(): at for at, word in reversed(list(enumerate(words)))}
    ranked = sorted(first.values(), key=lambda at: (-_weight(words[at]), at))
    return " ".join(words[at] for at in sorted(ranked[:count]))


def _weight(word: str) -> int:
    letters = sum(char.isalnum() for char in word)
    return min(letters, 12) + 4 * any(char.isdigit() for char in word) if letters > 2 else 0
