"""Alignment of a claim with pages: the units of a page that state it, and how much of it they state.

Similarity is not sufficient: every number and name of the claim must be there, and nothing may be negated. Those are
checked first (`docmind.answers.support`); then a score of words, word pairs and the cosine of the text model
decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from math import log

import numpy as np

from docmind.answers.names import compact, named, words_of
from docmind.answers.negation import language_of_words, tokens
from docmind.answers.sentences import units
from docmind.answers.statements import Statement, statements_of
from docmind.documents import PageRecord
from docmind.embedding import prefix, words
from docmind.language import UNIT_WORDS, Figure, agree, figures, table_scales

AKIN = 0.8  # a word matched only by its first letters
IN_WINDOW = 0.03  # preference for the retrieved windows where pages state the same
LONGEST_PAGE = 60_000  # characters of one page that are read
CANDIDATES = 6  # units considered for one claim
_ADDS = 0.12  # share of a claim that a further unit must add to belong to the span
_HELD = 0.3  # weight of the claim's numbers in the choice of units
_SKIPPED = 0.03  # cost of each unit in between
_ANCHOR = 0.15  # weight of a number or name of the claim that only the further unit has
_MOST_UNITS, _FARTHEST, _LONGEST = 8, 3, 700  # units of a span, units between two that count, characters
_LINK = re.compile(r"\]\([^)\n]{0,400}\)")
_LEAD_IN = re.compile(
    r"[\s*_>\"“]{0,4}(?:(?:according to|as (?:stated|noted|reported|described|per)|based on|per|segundo|conforme|"
    r"de acordo com|seg[úu]n|de acuerdo con)\b(?:[^,.:;\n]|\.(?=\w)){0,70}[,:]|(?:in summary|in short|overall|"
    r"in addition|additionally|furthermore|moreover|specifically|notably|however|therefore|thus|also|finally|yes|no|"
    r"em resumo|al[ée]m disso|sim|n[ãa]o|en resumen|adem[áa]s|s[íi])[,:]|(?:the|this|these) "
    r"(?:report|document|filing|paper|page|text|passage|contract|source)s?\s(?:also\s)?"
    r"(?:states?|says?|notes?|reports?|mentions?|shows?|explains?|indicates?)\s(?:that\s)?)\s{0,3}",
    re.IGNORECASE,
)
_CUTS = re.compile(  # in a text whose words stand one space apart
    " ?; |,? (?:and|while|whereas|but|although|which|e|enquanto|mas|y|mientras|pero) |, ", re.IGNORECASE
)
_MOST_CUTS = 12
_PART = 4  # content words of a clause that can be checked alone


class Unit:
    """A unit of a page's text; its figures and names are found at first use."""

    def __init__(self, text: str, start: int, end: int, language: str) -> None:
        self.start, self.end, self.text, self._language = start, end, text[start:end], language
        self.content = content(self.text)

    @cached_property
    def figures(self) -> list[Figure]:
        return figures(self.text, self._language)

    @cached_property
    def names(self) -> set[str]:
        return words_of(self.text)


class Leaf:
    """A retrieved page, prepared for comparison. `windows` are its retrieved spans."""

    def __init__(self, record: PageRecord, label: str, windows: Sequence[tuple[int, int]]) -> None:
        self.record, self.label, self.windows = record, label, tuple(windows)
        text = record.text[:LONGEST_PAGE]
        self.units = [Unit(text, start, end, record.language) for start, end in units(text)]

    @cached_property
    def scales(self) -> tuple[float, ...]:
        return table_scales(self.record.text[:LONGEST_PAGE])

    @cached_property
    def said(self) -> tuple[str, list[int]]:
        """The words of the page, one space apart, and where each unit begins among them."""
        text, starts = " ", list[int]()
        for unit in self.units:
            starts.append(len(text) - 1)
            text += "".join(f"{word} " for word in tokens(unit.text))
        return text, starts

    @cached_property
    def statements(self) -> list[Statement]:
        """The statements of the page: labels with values, rows, clauses."""
        text = self.record.text[:LONGEST_PAGE]
        bounds = [(unit.start, unit.end) for unit in self.units]
        return statements_of(text, bounds, self.record.language, self.label)

    @cached_property
    def label_names(self) -> set[str]:
        return words_of(self.label)

    @cached_property
    def label_figures(self) -> list[Figure]:
        return figures(self.label, self.record.language)

    @cached_property
    def names(self) -> set[str]:
        return set().union(*(unit.names for unit in self.units))

    @cached_property
    def sure_names(self) -> set[str]:
        """The words with a capital inside sentences."""
        return {name.key for unit in self.units for name in named(unit.text) if name.is_sure}

    @cached_property
    def only_names(self) -> set[str]:
        """Those of them that the page never writes with a small letter."""
        return self.sure_names - {compact(word) for word in re.findall(r"\b[^\W\d_A-ZÀ-Þ]\w*", self.record.text)}

    def text(self, first: int, last: int) -> str:
        """Return the page's text from one unit to another, both included."""
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
        self.names = named(self.text)

    @cached_property
    def clauses(self) -> list[list[str]]:
        """The content words of each clause that has several."""
        clauses = [content(part) for part in _CUTS.split(self.core, maxsplit=_MOST_CUTS)]
        return [words for words in clauses if len(words) >= _PART]

    def halves(self) -> list[tuple[str, str]]:
        """Return ways to split the sentence into two statements, the most even split first."""
        found = []
        for cut in islice(_CUTS.finditer(self.core), _MOST_CUTS):
            parts = self.core[: cut.start()], self.core[cut.end() :]
            if all(len(part.split()) >= _PART for part in parts):
                found.append((abs(len(parts[0]) - len(parts[1])), parts))
        return [parts for _, parts in sorted(found)[:3]]


@dataclass(slots=True)
class Span:
    """Units `first` to `last` of a leaf, aligned with a claim; `core` is the one that covers most of it.

    `coverage` is the share of the claim's words by weight, `order` that of its word pairs, `held` of its numbers.
    `cosine` is None where the text model was not used.
    """

    leaf: Leaf
    core: int
    first: int
    last: int
    coverage: float
    order: float
    held: float
    cosine: float | None = None
    bonus: float = 0.0

    @property
    def text(self) -> str:
        return self.leaf.text(self.first, self.last)

    @property
    def likeness(self) -> float:
        """How much of the claim the span states, by words alone."""
        return self.coverage + 0.3 * self.order + 0.3 * self.held + self.bonus

    @property
    def bounds(self) -> tuple[int, int]:
        return self.leaf.units[self.first].start, self.leaf.units[self.last].end


class Library:
    """All units of the retrieved pages, indexed by their words. Used by one thread."""

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self.leaves = list(leaves)
        self._places = [(leaf, at) for leaf in self.leaves for at in range(len(leaf.units))]
        ends = np.cumsum([0, *(len(leaf.units) for leaf in self.leaves)])
        self._bounds = list(pairwise(int(end) for end in ends))
        self._by_word: dict[str, list[int]] = {}
        self._by_stem: dict[str, list[int]] = {}
        for number, (leaf, at) in enumerate(self._places):
            held = set(leaf.units[at].content)
            for word in held:
                self._by_word.setdefault(word, []).append(number)
            for stem in {prefix(word) or word for word in held}:
                self._by_stem.setdefault(stem, []).append(number)
        self._values: dict[float | str, set[int]] | None = None
        self._bonus = np.array([IN_WINDOW * leaf.is_retrieved(leaf.units[at]) for leaf, at in self._places])

    def spans(self, claim: Claim, *, with_cores: bool = False) -> list[Span]:
        """Return the spans that contain most of a claim's words and numbers, best first.

        With `with_cores` also the best unit of each alone.
        """
        distinct = list(dict.fromkeys(claim.words))
        if not distinct or not self._places:
            return []
        meets = np.zeros((len(self._places), len(distinct)), np.float32)
        for column, word in enumerate(distinct):
            meets[self._by_stem.get(prefix(word) or word, []), column] = AKIN
            meets[self._by_word.get(word, []), column] = 1.0
            for leaf, (low, high) in zip(self.leaves, self._bounds, strict=True):
                if word in leaf.label_names:
                    meets[low:high, column] = np.maximum(meets[low:high, column], AKIN)
        count = len(self._places)
        weights = np.array([log(1 + (count - n + 0.5) / (n + 0.5)) for n in (meets > 0).sum(axis=0)])
        weights /= weights.sum() or 1.0
        worth = meets @ weights + self._bonus + _HELD * self._holding(claim)
        best = np.argsort(-worth, kind="stable")[:CANDIDATES]
        found: dict[tuple[int, int, int], Span] = {}
        for number in best:
            if not meets[number].any():
                continue
            leaf, at = self._places[number]
            bounds = [self._widened(claim, meets, weights, int(number), leaf, at)]
            if with_cores and bounds[0][:2] != (at, at):
                bounds.append((at, at, float(meets[number] @ weights)))
            for first, last, coverage in bounds:
                order = _order(claim, [w for unit in leaf.units[first : last + 1] for w in unit.content])
                wanted = [figure for figure in claim.figures if figure.is_required]
                met = sum(any(_has(unit, one, leaf) for unit in leaf.units[first : last + 1]) for one in wanted)
                held = met / len(wanted) if wanted else 1.0
                span = Span(leaf, at, first, last, coverage, order, held, bonus=float(self._bonus[number]))
                found.setdefault((id(leaf), first, last), span)
        return sorted(found.values(), key=lambda span: -span.likeness)

    def _holding(self, claim: Claim) -> np.ndarray:
        """Return for each unit the share of the claim's numbers that it contains."""
        held = np.zeros(len(self._places), np.float32)
        wanted = [figure for figure in claim.figures if figure.is_required]
        for figure in wanted:
            for number in self._by_value(figure):
                held[number] += 1 / len(wanted)
        return held

    def _by_value(self, wanted: Figure) -> set[int]:
        if self._values is None:
            self._values = {}
            for number, (leaf, at) in enumerate(self._places):
                for figure in leaf.units[at].figures:
                    scales = () if figure.is_scaled or figure.unit == "%" else leaf.scales
                    for value in figure.values:
                        for scale in (1.0, *scales):
                            reading = value if isinstance(value, str) else value * scale
                            self._values.setdefault(_rounded(reading), set()).add(number)
        return set().union(*(self._values.get(_rounded(value), ()) for value in wanted.values))

    def _widened(
        self, claim: Claim, meets: np.ndarray, weights: np.ndarray, number: int, leaf: Leaf, at: int
    ) -> tuple[int, int, float]:
        """Extend a unit by nearby units that add coverage: words, or a number that it lacks."""
        units = leaf.units
        first = last = at
        held = meets[number]
        lacking = [figure for figure in claim.figures if not _has(units[at], figure, leaf)]
        while True:
            options = []
            for step in (-1, 1):
                for far in range(1, _FARTHEST + 1):
                    to = first - far if step < 0 else last + far
                    low, high = min(first, to), max(last, to)
                    if not 0 <= to < len(units) or high - low >= _MOST_UNITS:
                        break
                    if units[high].end - units[low].start > _LONGEST:
                        break
                    more = np.maximum(held, meets[number + to - at])
                    anchors = sum(_has(units[to], figure, leaf) for figure in lacking)
                    gain = float((more - held) @ weights) + _ANCHOR * anchors - _SKIPPED * (far - 1)
                    options.append((gain, -to, low, high, more))
            if not options:
                break
            gain, to, low, high, more = max(options, key=lambda option: option[:2])
            if gain < _ADDS:
                break
            first, last, held = low, high, more
            lacking = [figure for figure in lacking if not _has(units[-to], figure, leaf)]
        between = meets[number + first - at : number + last - at + 1].max(axis=0)
        return first, last, float(between @ weights)


def _rounded(value: float | str) -> float | str:
    """Round to three digits, so that `$17.6 billion` matches 17,606 million."""
    return value if isinstance(value, str) else float(f"{value:.3g}")


def _has(unit: Unit, wanted: Figure, leaf: Leaf) -> bool:
    return any(agree(wanted, figure, leaf.scales) for figure in unit.figures)


def weakest(claim: Claim, span: Span) -> float:
    """Return the share of a clause's words that are in the span, for the claim's least covered clause."""
    held = {word for unit in span.leaf.units[span.first : span.last + 1] for word in unit.content}
    held |= {prefix(word) or word for word in held} | span.leaf.label_names
    shares = [sum(w in held or (prefix(w) or w) in held for w in clause) / len(clause) for clause in claim.clauses]
    return min(shares, default=1.0)


def neighbours(span: Span) -> list[Unit]:
    """Return the unit before a span and the one after it."""
    units = span.leaf.units
    return [*units[max(0, span.first - 1) : span.first], *units[span.last + 1 : span.last + 2]]


def content(text: str) -> list[str]:
    """Return the content words in reading order: numbers and their units are compared by value elsewhere."""
    return [word for word in words(text) if not word[0].isdigit() and word not in UNIT_WORDS]


def _order(claim: Claim, held: Sequence[str]) -> float:
    """Return the share of the claim's word pairs that are adjacent there too."""
    if not claim.pairs:
        return 0.0
    return len(claim.pairs & set(pairwise(held))) / len(claim.pairs)
