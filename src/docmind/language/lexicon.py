"""Words that are logic and not vocabulary, by language: `lexicon/<language>.toml`, the same keys in each."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from docmind.language.forms import LANGUAGES, folded_word


@cache
def lexicon(key: str) -> frozenset[str]:
    """Return the folded words of a key in all `LANGUAGES`. Raises `KeyError` where there is no such key."""
    return frozenset(folded_word(word) for language in LANGUAGES for word in entries(language)[key])


@cache
def entries(language: str) -> dict[str, list[str]]:
    """Return the words of a language by their keys, as they are written."""
    place = files("docmind.language") / "lexicon" / f"{language}.toml"
    return tomllib.loads(place.read_text("utf-8"))
