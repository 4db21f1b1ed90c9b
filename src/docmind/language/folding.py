"""Letters without their accents, and without case."""

from __future__ import annotations

import unicodedata


def fold(text: str) -> str:
    """Remove accents: `proteção` -> `protecao`."""
    if text.isascii():
        return text
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def folded(text: str) -> str:
    """Return the text without accents and case, as names are compared: `Müller` and `MULLER` are `muller`."""
    return fold(text.casefold())
