"""Words of grammar, which say nothing of what a text is about: `lexicon/stop_words.toml`."""

from __future__ import annotations

from docmind.language.lexicon import table

_TABLE = table("stop_words")


def stop_words(*languages: str) -> frozenset[str]:
    """Return the stop words of some languages, of all where none is named; in lower case without accents."""
    return frozenset(word for language in languages or _TABLE for word in _TABLE[language].split())


STOP_WORDS = stop_words("en", "pt", "es")
"""The stop words that are in no index of words."""
