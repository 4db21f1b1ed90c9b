"""Accents that a program has drawn beside or over their letter, as TeX does with its own fonts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_COMBINING = {
    "\u00a8": "\u0308",
    "\u00b4": "\u0301",
    "`": "\u0300",
    "\u02c6": "\u0302",
    "\u02dc": "\u0303",
    "\u00b8": "\u0327",
    "\u02c7": "\u030c",
    "\u02d8": "\u0306",
    "\u02d9": "\u0307",
    "\u02da": "\u030a",
    "\u02dd": "\u030b",
    "\u00af": "\u0304",
    "\u02db": "\u0328",
}
_DOTLESS = {"\u0131": "i", "\u0237": "j"}
_ACCENT = re.compile(f"[{''.join(_COMBINING)}]")
_NOTHING = "\u200b"  # is removed with the other invisible characters
_WITHIN = 0.2  # of a letter's width: a space before it that is narrower was left by the pen as it went back


def composed(raw: str, box: Callable[[int], tuple[float, float]]) -> str:
    """Return the text of a page, as long as before, with each accent on the letter over which it is drawn.

    `box` returns left and right of a character. The place of an accent becomes a character without width.
    """
    if not _ACCENT.search(raw):
        return raw
    out = list(raw)
    for match in _ACCENT.finditer(raw):
        at = match.start()
        left, right = box(at)
        place = _letter_under(out, at, (left + right) / 2, box) if right > left else None
        if place is None:
            continue
        letter = _whole(out[place], raw[at])
        out[min(at, place) : max(at, place) + 1] = [_NOTHING] * (abs(at - place) + 1)
        out[place] = letter
        if place > at > 1 and raw[at - 1] == " ":
            begun, ended = box(place)
            if begun - box(at - 2)[1] < _WITHIN * (ended - begun):
                out[at - 1] = _NOTHING
    return "".join(out)


def _letter_under(out: list[str], at: int, middle: float, box: Callable[[int], tuple[float, float]]) -> int | None:
    """Return the place of the letter that the accent can stand on, and whose box its middle is in."""
    for place in (at + 1, at - 1, at + 2, at - 2):
        if not 0 <= place < len(out) or not out[place].isalpha() or not _whole(out[place], out[at]):
            continue
        between = "".join(out[min(at, place) + 1 : max(at, place)])
        begun, ended = box(place)
        if begun <= middle <= ended and not between.strip():
            return place
    return None


def _whole(letter: str, accent: str) -> str:
    """Return a letter with an accent as one character; empty where there is none."""
    whole = unicodedata.normalize("NFC", _DOTLESS.get(letter, letter) + _COMBINING.get(accent, ""))
    return whole if len(whole) == 1 and accent in _COMBINING else ""
