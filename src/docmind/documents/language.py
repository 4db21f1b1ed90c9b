"""The language of a page and of a document, as ISO 639-1 codes.

A language is an empty string where it is unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

_ENOUGH = 40  # letters; below that the guess is unreliable
_MUCH = 4_000  # characters that are enough; more only cost time

_ORDINAL_LANGUAGES = frozenset({"pt", "es", "gl"})
_DEGREE = re.compile(
    r"(?<=\d)°(?!\s?[CFK\d'’′])|(?<=\b[nN])°(?=\s?\d)|(?<=§ \d)%|(?<=\b[Aa]rt\. \d)%|(?<=\b1)%(?=/\d{1,2}/\d{4})"
)


def language_of(text: str) -> str:
    """Return the language of one page's text.

    Returns "" where it has too few letters or the guess is uncertain.
    """
    return _language_of(text[:_MUCH])


@lru_cache(maxsize=8)  # equal pages follow each other, for example in a file of one repeated line
def _language_of(text: str) -> str:
    letters = "".join(char if char.isalpha() else " " for char in text)
    letters = " ".join(letters.split())
    if len(letters) < _ENOUGH or len(letters) < 0.4 * len(text.strip()):
        return ""
    code, probability = _identifier().classify(letters)
    return str(code) if probability > 0.8 and len(code) == 2 else ""


@lru_cache(maxsize=256)
def likely_languages(text: str, among: tuple[str, ...]) -> Mapping[str, float]:
    """Return the probability of each of some languages for a text of any length, as a question is."""
    if not any(map(str.isalpha, text)):
        return dict.fromkeys(among, 1 / len(among))
    return {str(code): float(probability) for code, probability in _identifier(among).rank(text)}


def with_ordinals(text: str, language: str) -> str:
    """Replace what OCR reads for ordinal signs in Portuguese and Spanish text: `5°` for `5º`, `1%/12/2006` for a date.

    Degrees of temperature and angles, which are followed by their unit, stay, and so do shares. The length does not
    change.
    """
    return _DEGREE.sub("º", text) if language in _ORDINAL_LANGUAGES else text


def majority(languages: Iterable[str]) -> str:
    """Return the most common language, ignoring pages without one; "" where there is none."""
    counts = Counter(language for language in languages if language)
    return counts.most_common(1)[0][0] if counts else ""


@cache
def _identifier(among: tuple[str, ...] = ()) -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    found = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    if among:
        found.set_languages(list(among))
    return found
