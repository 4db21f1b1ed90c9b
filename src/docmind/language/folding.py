"""Letters without their accents, and without case."""

from __future__ import annotations

import unicodedata

_PIECE = 512  # characters that are folded at once: a run of marks takes the square of its length to be put in order


def fold(text: str) -> str:
    """Remove accents: `proteção` -> `protecao`."""
    if text.isascii():
        return text
    if len(text) > _PIECE:  # what a character becomes without its marks does not depend on others
        return "".join(fold(text[at : at + _PIECE]) for at in range(0, len(text), _PIECE))
    apart = unicodedata.normalize("NFKD", text)
    for char in set(apart):
        if unicodedata.combining(char):
            apart = apart.replace(char, "")
    return apart


def folded(text: str) -> str:
    """Return the text without accents and case, as names are compared: `Müller` and `MULLER` are `muller`."""
    return fold(text).casefold()


def lowered_alike(text: str) -> str:
    """Return lower case without accents, every character at its offset."""
    if text.isascii():
        return text.lower()
    return "".join(char.lower() if char.isascii() else (fold(char.lower()) or " ")[:1] for char in text)
