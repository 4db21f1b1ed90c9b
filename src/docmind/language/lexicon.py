"""Words that are logic and not vocabulary, by language: `lexicon/<language>.toml`, the same keys in each.

Words with a value and stop words stand beside them, read by `calendar`, `numbers` and `stop_words`.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

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
    return table(language)


def table(name: str) -> dict[str, Any]:
    """Return a file of words, `lexicon/<name>.toml`, as it stands."""
    return tomllib.loads((files("docmind.language") / "lexicon" / f"{name}.toml").read_text("utf-8"))
