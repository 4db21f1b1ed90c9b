"""The words on a query picture, and the most distinctive ones among many."""

from __future__ import annotations

import math
import threading

from docmind.config import ReadingSettings
from docmind.errors import VaultError
from docmind.reading.ocr.engine import Ocr
from docmind.records.search import Quad
from docmind.wording import _

WORDS = 120
"""Words of a longer text that are searched for: far fewer than 500 identify a page."""
_IDLE_S = 120.0  # the process holds some 300 MB, and pictures come in bursts
_CROOKED = 8.0  # degrees: the engine reads smaller angles as they are


class PictureText:
    """OCR of one query picture at a time, separate from that of documents, so that it never waits for them.

    Thread-safe. The process starts with the first picture, ends after two idle minutes, and restarts when needed.
    """

    def __init__(self, settings: ReadingSettings) -> None:
        self._ocr = Ocr(settings.model_copy(update={"workers": 1}), idle_s=_IDLE_S)
        self._turn = threading.Lock()
        self._is_closed = False

    @property
    def missing(self) -> str:
        """Return why no picture can be read; empty where it is possible."""
        if self._ocr.engine:
            return ""
        why = self._ocr.capabilities()[0]
        state = _("switched off") if why.state == "off" else _("not installed")
        return _("what reads text from pictures is {state}. {hint}").format(state=state, hint=why.hint)

    def read(self, picture: bytes, turn: float = 0.0) -> str:
        """Return the text on a picture of any kind, turned clockwise by `turn` degrees before it is read.

        Raises `ReaderFailedError`, also where there is no engine, and `VaultError` once `close` was called.
        """
        with self._turn:
            if self._is_closed:  # a caller that waited for the lock would start a process that is never ended
                raise VaultError(_("The library is closed."))
            return self._ocr.recognise_picture(picture, turn).text

    def close(self) -> None:
        """End the process, also in the middle of a picture. Idempotent."""
        self._is_closed = True
        self._ocr.close()


def turn_of(quad: Quad) -> float:
    """Return by how many degrees clockwise a picture has to be turned to match its page.

    Returns 0 for small angles.

    `quad` are the picture's corners on the page, clockwise from its top left.
    """
    if len(quad) != 4:
        return 0.0
    (x0, y0), (x1, y1) = quad[:2]
    turn = math.degrees(math.atan2(y1 - y0, x1 - x0))
    return turn if abs(turn) > _CROOKED else 0.0


def telling(text: str, count: int = WORDS) -> str:
    """Return a short text as it is, else its `count` most distinctive words in their order.

    Long words and those with digits are rare in any language; each is taken once.
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
