"""The words that are logic: every language has the same keys, and few words."""

from __future__ import annotations

import pytest

from docmind.language import LANGUAGES, entries, folded_word, lexicon

MOST = 400  # words of a language


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_keys(language: str) -> None:
    assert entries(language).keys() == entries("en").keys()
    assert all(entries(language).values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_few_words_each_once(language: str) -> None:
    words = [(key, folded_word(word)) for key, held in entries(language).items() for word in held]
    assert len(words) == len(set(words)) <= MOST


def test_accents_tell_words_apart() -> None:
    assert {"and", "und", "también", "ou"} <= set(lexicon("joining"))
    assert "où" in lexicon("questions")
    assert "où" not in lexicon("joining")
