"""One search by picture: it goes on in a thread of its own, and the page looks at how far it is."""

from __future__ import annotations

import logging
import threading
import traceback
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from docmind.errors import CancelledError, DocMindError
from docmind.seeing import MultimodalResult
from docmind.ui import trouble

if TYPE_CHECKING:
    from docmind.application import DocMind

_PAGES = 8
_BROKE_OFF = "Looking for this picture broke off: this is a mistake in DocMind; the log has the details."


@dataclass(frozen=True, slots=True)
class Look:
    """An immutable look at a search. `result` is not final while the words on the picture are being read.

    `error` is why there is no result, or none better. `is_stopped`: the user did not wait for the words.
    """

    result: MultimodalResult | None = None
    error: DocMindError | None = None
    is_over: bool = False
    is_stopped: bool = False


class PictureSearch:
    """Begins at once. Safe from any thread. A search that nobody looks at any more ends by itself, unheard."""

    def __init__(self, mind: DocMind, picture: bytes, *, name: str, words: str = "") -> None:
        """`name` is what the file is called; `words` are searched for along with it."""
        self.picture, self.name, self.words = picture, name, words
        self._look = Look()
        self._changed = threading.Condition()
        threading.Thread(target=self._run, args=(mind,), name="picture", daemon=True).start()

    @property
    def now(self) -> Look:
        return self._look

    def first(self, seconds: float) -> Look:
        """What there is to see, as soon as there is anything, or after so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._look.is_over or self._look.result is not None, seconds)
            return self._look

    def stop(self) -> None:
        """What was found by then stays. Harmless twice, and afterwards."""
        with self._changed:
            if not self._look.is_over:
                self._show(replace(self._look, is_over=True, is_stopped=True))

    def _run(self, mind: DocMind) -> None:
        over = Look(error=DocMindError(_BROKE_OFF), is_over=True)
        try:
            found = trouble.attempt(
                lambda: mind.see(
                    self.picture,
                    question=self.words,
                    k=_PAGES,
                    name=self.name or "The picture",
                    on_first=self._first,
                )
            )
            over = Look(error=found, is_over=True) if isinstance(found, DocMindError) else Look(found, is_over=True)
        except Exception as error:  # noqa: BLE001 - a mistake of ours: the page says so instead of waiting for ever
            # Where, and not what: the message of an exception may repeat document text.
            where = "".join(traceback.format_tb(error.__traceback__))
            logging.getLogger("docmind.ui").error("a picture failed with %s\n%s", type(error).__name__, where)
        with self._changed:
            if not self._look.is_over:
                self._show(over if over.result else replace(over, result=self._look.result))

    def _first(self, found: MultimodalResult) -> None:
        with self._changed:
            if self._look.is_over:
                raise CancelledError("The search by picture was stopped.")
            self._show(Look(found))

    def _show(self, look: Look) -> None:
        self._look = look
        self._changed.notify_all()
