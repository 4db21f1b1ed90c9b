"""A claim held against pages: the units of a page that say it, and whether they say all of it.

Alike is not enough: every number and name of the claim must stand there, and nothing may be denied. Those are gates
(`docmind.agent.gates`); behind them a score of words, neighbouring words and the cosine of the text model decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import log

import numpy as np

from docmind.agent import naming
from docmind.agent.figures import Figure, figures, table_scales
from docmind.agent.polarity import language_of_words, tokens
from docmind.agent.sentences import units
from docmind.catalog import PageRecord
from docmind.embed.bm25 import prefix, words

AKIN = 0.8  # a word met only by its first letters
IN_WINDOW = 0.03  # preference for the retrieved windows where pages say the same
LONGEST_PAGE = 60_000  # characters of one page that are read
CANDIDATES = 6  # units looked at for one claim
_ADDS = 0.12  # share of a claim that a further unit must add to belong to the span
_MOST_UNITS = 3
_LINK = re.compile(r"\]\([^)\n]{0,400}\)")
_LEAD_IN = re.compile(
    r"[\s*_>\"“]{0,4}(?:(?:according to|as (?:stated|noted|reported|described|per)|based on|per|in summary|in short|overall|"
    r"in addition|additionally|furthermore|moreover|specifically|notably|however|therefore|thus|also|finally|"
    r"yes|no|segundo|conforme|de acordo com|em resumo|al[ée]m disso|sim|n[ãa]o|seg[úu]n|de acuerdo con|en resumen|"
    r"adem[áa]s|s[íi])"
    r"\b[^,.:;\n]{0,70}[,:]|(?:the|this|these) (?:report|document|filing|paper|page|text|passage|contract|source)s?\s"
    r"(?:also\s)?(?:states?|says?|notes?|reports?|mentions?|shows?|explains?|indicates?)\s(?:that\s)?)\s{0,3}",
    re.IGNORECASE,
)


class Unit:
    """A unit of a page's text: what it holds is found when it is first asked for."""

    def __init__(self, text: str, start: int, end: int, language: str) -> None:
        self.start, self.end, self.text, self._language = start, end, text[start:end], language
        self.content = content(self.text)

    @cached_property
    def figures(self) -> list[Figure]:
        return figures(self.text, self._language)

    @cached_property
    def names(self) -> set[str]:
        return naming.words_of(self.text)


class Leaf:
    """A retrieved page, ready to be compared. `windows` are the spans of it that were retrieved."""

    def __init__(self, record: PageRecord, label: str, windows: Sequence[tuple[int, int]]) -> None:
        self.record, self.label, self.windows = record, label, tuple(windows)
        text = record.text[:LONGEST_PAGE]
        self.units = [Unit(text, start, end, record.language) for start, end in units(text)]

    @cached_property
    def scales(self) -> tuple[float, ...]:
        return table_scales(self.record.text[:LONGEST_PAGE])

    @cached_property
    def label_names(self) -> set[str]:
        return naming.words_of(self.label)

    @cached_property
    def label_figures(self) -> list[Figure]:
        return figures(self.label, self.record.language)

    @cached_property
    def names(self) -> set[str]:
        return set().union(*(unit.names for unit in self.units))

    def text(self, first: int, last: int) -> str:
        """The page's text from one unit to another, both included."""
        return self.record.text[self.units[first].start : self.units[last].end]

    def is_retrieved(self, unit: Unit) -> bool:
        return any(unit.start < end and unit.end > start for start, end in self.windows)


class Claim:
    """A sentence of an answer, or a part of one."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(_LINK.sub("]", text).split())
        lead = _LEAD_IN.match(self.text)
        self.core = self.text[lead.end() :] if lead and len(self.text) - lead.end() > 15 else self.text
        self.tokens = tokens(self.core)
        self.language = language_of_words(self.tokens)
        self.words = content(self.core)
        self.pairs = set(pairwise(self.words))
        self.figures = figures(self.text, self.language)
        self.names = naming.named(self.text)


@dataclass(slots=True)
class Span:
    """Units `first` to `last` of a leaf, held against a claim. `cosine` is None where the text model was not asked."""

    leaf: Leaf
    first: int
    last: int
    coverage: float
    order: float
    cosine: float | None = None
    bonus: float = 0.0

    @property
    def text(self) -> str:
        return self.leaf.text(self.first, self.last)

    @property
    def bounds(self) -> tuple[int, int]:
        return self.leaf.units[self.first].start, self.leaf.units[self.last].end


class Library:
    """All units of the retrieved pages, by the words they hold. Read by one thread."""

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self.leaves = list(leaves)
        self._places = [(leaf, at) for leaf in self.leaves for at in range(len(leaf.units))]
        self._by_word: dict[str, list[int]] = {}
        self._by_stem: dict[str, list[int]] = {}
        for number, (leaf, at) in enumerate(self._places):
            held = set(leaf.units[at].content)
            for word in held:
                self._by_word.setdefault(word, []).append(number)
            for stem in {prefix(word) or word for word in held}:
                self._by_stem.setdefault(stem, []).append(number)
        self._bonus = np.array([IN_WINDOW * leaf.is_retrieved(leaf.units[at]) for leaf, at in self._places])

    def spans(self, claim: Claim) -> list[Span]:
        """The spans that hold most of a claim's words, best first."""
        distinct = list(dict.fromkeys(claim.words))
        if not distinct or not self._places:
            return []
        meets = np.zeros((len(self._places), len(distinct)), np.float32)
        for column, word in enumerate(distinct):
            meets[self._by_stem.get(prefix(word) or word, []), column] = AKIN
            meets[self._by_word.get(word, []), column] = 1.0
        count = len(self._places)
        held = (meets > 0).sum(axis=0)
        weights = np.array([log(1 + (count - n + 0.5) / (n + 0.5)) for n in held])
        weights /= weights.sum() or 1.0
        worth = meets @ weights + self._bonus
        best = np.argsort(-worth, kind="stable")[:CANDIDATES]
        found: dict[tuple[int, int, int], Span] = {}
        for number in best:
            if worth[number] - self._bonus[number] <= 0:
                continue
            leaf, at = self._places[number]
            first, last, coverage = self._widened(meets, weights, int(number), leaf, at)
            order = _order(claim, [w for unit in leaf.units[first : last + 1] for w in unit.content])
            span = Span(leaf, first, last, coverage, order, bonus=float(self._bonus[number]))
            found.setdefault((id(leaf), first, last), span)
        return sorted(found.values(), key=lambda span: -(span.coverage + 0.3 * span.order + span.bonus))

    def _widened(
        self, meets: np.ndarray, weights: np.ndarray, number: int, leaf: Leaf, at: int
    ) -> tuple[int, int, float]:
        """The unit with those of its neighbours that add to what it covers."""
        first = last = at
        held = meets[number]
        while last - first + 1 < _MOST_UNITS:
            options = []
            for neighbour in (first - 1, last + 1):
                if 0 <= neighbour < len(leaf.units):
                    more = np.maximum(held, meets[number + neighbour - at])
                    options.append((float((more - held) @ weights), neighbour, more))
            if not options:
                break
            gain, neighbour, more = max(options, key=lambda option: option[0])
            if gain < _ADDS:
                break
            first, last, held = min(first, neighbour), max(last, neighbour), more
        return first, last, float(held @ weights)


def content(text: str) -> list[str]:
    """The telling words in reading order: numbers are compared by value, elsewhere."""
    return [word for word in words(text) if not word[0].isdigit()]


def _order(claim: Claim, held: Sequence[str]) -> float:
    """Share of the claim's neighbouring words that are neighbours there too."""
    if not claim.pairs:
        return 0.0
    return len(claim.pairs & set(pairwise(held))) / len(claim.pairs)
