"""Words that are logic and not vocabulary, by language: `lexicon/<language>.toml`, the same keys in each."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from docmind.language.forms import LANGUAGES


@cache
def lexicon(key: str) -> tuple[str, ...]:
    """Return the words and phrases of a key in all `LANGUAGES`, as they are written, the longest first.

    Accents tell words apart: French `ou` joins, `où` asks. Raises `KeyError` where there is no such key.
    """
    held = {word for language in LANGUAGES for word in entries(language)[key]}
    return tuple(sorted(held, key=lambda word: (-len(word), word)))


@cache
def entries(language: str) -> dict[str, list[str]]:
    """Return the words of a language by their keys, as they are written."""
    place = files("docmind.language") / "lexicon" / f"{language}.toml"
    return tomllib.loads(place.read_text("utf-8"))
