"""Forms of words: whether two words are one (`ging` and `gehen`, `Verträge` and `Vertrag`), by dictionaries.

`data/<language>.marisa` has the words of a language in alphabetical order, each with a rule that makes its base form:
`went 4go` cuts four letters and adds `go`, `go 0` changes nothing. `scripts/language_forms.py` makes these files from
the dictionaries of simplemma and of spaCy. They are mapped into memory when a word of a language is first looked up.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import as_file, files
from typing import Literal, get_args

import marisa_trie

from docmind.language.folding import fold

Language = Literal["en", "de", "es", "fr", "pt", "it"]
"""A language in which questions are asked and answered, as its ISO 639-1 code."""
LANGUAGES: tuple[Language, ...] = get_args(Language)
_LONGEST = 64  # letters of a word that is looked up
_LEAST_TAIL = 4  # letters of a word that ends a longer one
_LETTERS = str.maketrans({"ß": "ss", "œ": "oe", "æ": "ae"})


def is_form(one: str, other: str, language: str = "") -> bool:
    """Return whether two words are forms of one word, in any of `LANGUAGES` where none of these is told.

    Case and accents do not matter. `inspect` and `inspection` are two words, `inspected` and `inspects` forms of one.
    """
    one, other = folded_word(one), folded_word(other)
    return one == other or (max(len(one), len(other)) <= _LONGEST and _are_forms(one, other, language))


def folded_word(word: str) -> str:
    """Return a word as the dictionaries have it: in lower case, without accents and joined letters."""
    return fold(word.lower().translate(_LETTERS))


def forget_words() -> None:
    """Drop the words that are kept because they were looked up, because a document is erased."""
    _are_forms.cache_clear()
    _bases.cache_clear()


def kept_words() -> int:
    """Return how many words and pairs of words are kept because they were looked up."""
    return _are_forms.cache_info().currsize + _bases.cache_info().currsize


@lru_cache(maxsize=1 << 15)
def _are_forms(one: str, other: str, language: str) -> bool:
    told = (language,) if language in LANGUAGES else LANGUAGES
    return any(not _bases(one, name).isdisjoint(_bases(other, name)) for name in told)


@lru_cache(maxsize=1 << 15)
def _bases(word: str, language: str) -> frozenset[str]:
    """Return the base forms of a folded word in one language: those of its end where the dictionary lacks the whole.

    So `Nebenkostenabrechnungen` is a form of `Nebenkostenabrechnung` as `Abrechnungen` is one of `Abrechnung`.
    """
    if not word.isalpha():
        return frozenset({word})
    if found := _known(word, language):
        return found
    for at in range(1, len(word) - _LEAST_TAIL + 1):
        if found := _known(word[at:], language):
            return frozenset(word[:at] + base for base in found)
    return frozenset({word})


def _known(word: str, language: str) -> frozenset[str]:
    rules = [key[len(word) + 1 :] for key in _dictionary(language).keys(f"{word} ")]
    return frozenset(_applied(word, rule) for rule in rules)


def _applied(word: str, rule: str) -> str:
    ending = rule.lstrip("0123456789")
    return word[: len(word) - int(rule.removesuffix(ending))] + ending


@cache
def _dictionary(language: str) -> marisa_trie.Trie:
    with as_file(files("docmind.language") / "data" / f"{language}.marisa") as path:
        return marisa_trie.Trie().mmap(str(path))
