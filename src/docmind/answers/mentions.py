"""Where a page mentions words: in order, whatever their case, accents, inflection, line breaks and hyphenation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from docmind.answers.sentences import units
from docmind.blocks import PageBlock
from docmind.language import fold, is_form, lowered_alike

_HYPHENS = "-\u2010\u00ad"
_BREAK = re.compile(rf"(?<=\w)[{_HYPHENS}][^\S\n]*+\n\s*+(?=[^\W\d_])|\u00ad")
_WORD = re.compile(r"[^\W_]+")
_JOINED = re.compile(rf"(?<![^\W_])[^\W_]+(?:(?:[{_HYPHENS}][^\S\n]*+\n\s*+|\u00ad)[^\W\d_]+)+")
_SHORTEST = 4  # letters of a word that has other forms
_STEM = 3  # letters that its forms share, at least
_KEPT = 100  # characters between two words of a phrase, such as a line break with its indent


class Mention(NamedTuple):
    """A passage of a page with the wanted words: its span, and how often they stand in it."""

    start: int
    end: int
    times: int


class Wanted:
    """Words to be found in their order. A capital makes a word a name, which has no other form but a genitive."""

    def __init__(self, words: str, *, is_exact: bool = False) -> None:
        """Set up; `is_exact` takes no other form of any word."""
        found = [word.group() for word in _WORD.finditer(words)]
        self._words = [fold(word.lower()) for word in found]
        self._are_names = [is_exact or word[:1].isupper() or not word.isalpha() for word in found]
        self._is_exact = is_exact
        self._root = max((_root(word) for word in self._words), key=len, default="")

    def __bool__(self) -> bool:
        return bool(self._words)

    def mentions(self, text: str, language: str, structure: Sequence[PageBlock] = ()) -> list[Mention]:
        """Return the sentences, items and rows that have the words, in the order of the page, each once."""
        plain = fold(text.lower())
        if self._root not in plain and (not _has_hyphen(text) or self._root not in _BREAK.sub("", plain)):
            return []
        spans = sorted(set(self._spans(text, language)))
        if not spans:
            return []
        holders = _holders(text, structure)
        found: dict[tuple[int, int], int] = {}
        for start, end in spans:
            holder = _holder(holders, start, end)
            found[holder] = found.get(holder, 0) + 1
        return [Mention(*span, times) for span, times in sorted(found.items())]

    def _spans(self, text: str, language: str) -> Iterator[tuple[int, int]]:
        lowered = lowered_alike(text)
        split = [(one.start(), one.end(), one.group()) for one in _WORD.finditer(lowered)]
        yield from self._runs(text, split, language)
        joined = {one.start(): one for one in _JOINED.finditer(lowered)}
        if joined:
            covered = [one.span() for one in joined.values()]
            whole = [one for one in split if not any(a <= one[0] < b for a, b in covered)]
            whole += [(one.start(), one.end(), _BREAK.sub("", one.group())) for one in joined.values()]
            yield from self._runs(text, sorted(whole), language)

    def _runs(self, text: str, tokens: list[tuple[int, int, str]], language: str) -> Iterator[tuple[int, int]]:
        size, at = len(self._words), 0
        while at + size <= len(tokens):
            if all(self._is_met(n, tokens[at + n][2], language) for n in range(size)) and all(
                _is_near(text[tokens[at + n][1] : tokens[at + n + 1][0]]) for n in range(size - 1)
            ):
                yield tokens[at][0], tokens[at + size - 1][1]
                at += size
            else:
                at += 1

    def _is_met(self, at: int, word: str, language: str) -> bool:
        wanted = self._words[at]
        if wanted == word:
            return True
        if self._is_exact or not word.startswith(_root(wanted)):
            return False
        if self._are_names[at] and language != "de":
            return word == f"{wanted}s" or wanted == f"{word}s"
        return is_form(wanted, word, language)


def _has_hyphen(text: str) -> bool:
    return any(hyphen in text for hyphen in _HYPHENS)


def _root(word: str) -> str:
    """Return letters that the forms of a word which are looked for begin with; `ging` is not found by `gehen`."""
    return word if len(word) < _SHORTEST else word[: max(_STEM, len(word) - 3)]


def _is_near(between: str) -> bool:
    """Return whether two words of a phrase follow each other: within a sentence and a line, or over a line break."""
    return len(between) <= _KEPT and not re.search(r"[.!?;:|]\s|[|@]", between)


def _holders(text: str, structure: Sequence[PageBlock]) -> list[tuple[int, int]]:
    """Return the passages of a page: rows as they stand, and the sentences of each other block, and of all else."""
    found = list[tuple[int, int]]()
    at = 0
    for block in structure:
        found += _sentences(text, at, block.start)
        is_row = block.kind in ("row", "header_row")
        found += [(block.start, block.end)] if is_row else _sentences(text, block.start, block.end)
        at = block.end
    return found + _sentences(text, at, len(text))


def _sentences(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return [(start + a, start + b) for a, b in units(text[start:end])] if text[start:end].strip() else []


def _holder(holders: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """Return the passages that words stand in, as one span; the words alone where none has them."""
    held = [one for one in holders if one[0] < end and start < one[1]]
    if not held:
        return start, end
    return min(a for a, _b in held), max(b for _a, b in held)
