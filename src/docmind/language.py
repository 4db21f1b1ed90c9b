"""The language of a page and of a document, as ISO 639-1 codes; an empty string where it cannot be told."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

_ENOUGH = 40  # letters; below that the guess is a coin toss
_MUCH = 4_000  # characters that settle it; more only cost time

_ORDINAL_LANGUAGES = frozenset({"pt", "es", "gl"})
_DEGREE = re.compile(r"(?<=\d)°(?!\s?[CFK\d'’′])")


def language_of(text: str) -> str:
    """The language of one page's text; "" where it has too few letters to tell or the guess is unsure."""
    letters = "".join(char if char.isalpha() else " " for char in text[:_MUCH])
    letters = " ".join(letters.split())
    if len(letters) < _ENOUGH or len(letters) < 0.4 * len(text[:_MUCH].strip()):
        return ""
    code, probability = _identifier().classify(letters)
    return str(code) if probability > 0.8 and len(code) == 2 else ""


def with_ordinals(text: str, language: str) -> str:
    """Text from OCR with `5º` where it was read as `5°`: in Portuguese and Spanish a number has no degrees, but a rank.

    Degrees of temperature and angles, which are followed by their unit, stay. The length stays too.
    """
    return _DEGREE.sub("º", text) if language in _ORDINAL_LANGUAGES else text


def majority(languages: Iterable[str]) -> str:
    """The most common language, pages without one left out; "" where there is none."""
    counts = Counter(language for language in languages if language)
    return counts.most_common(1)[0][0] if counts else ""


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
