"""The conditions on rows that a question may mean: those of the rules, and others by letters, meaning and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from docmind.language import MONTHS, SHORT_MONTHS, is_form
from docmind.tables.asking import COMPARED, TIMED
from docmind.tables.evidence import Evidence, Limit, likeness
from docmind.tables.periods import end_of
from docmind.tables.query import Filter, Operator
from docmind.tables.shapes import letters_shared, plain
from docmind.tables.values import is_year
from docmind.tables.words import words_of

Kind = Literal["rule", "letters", "meaning", "number", "flag", "empty", "zero"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Sign = Literal["", "=", ">", ">=", "<", "<=", "between"]
SIGNS: tuple[Sign, ...] = get_args(Sign)
"""What a number of a question may be in a condition; "" where it limits nothing."""
Signs = Sequence[Mapping[Sign, float]]
"""How likely each is, 0..1, for the numbers and dates of a question (`QuestionMeaning.limits`)."""
_Compares = Literal[">", "<", ">=", "<="]
_COMPARISONS: tuple[tuple[_Compares, _Compares], ...] = ((">", ">="), ("<", "<="), (">=", ">"), ("<=", "<"))
"""Each with what it is the same as where no row has the very number."""
Conditions = tuple["Condition", ...]
_MOST: dict[Kind, int] = {"letters": 5, "meaning": 6, "number": 12, "flag": 4, "empty": 4, "zero": 4}
_PAIRED: dict[Kind, int] = {"letters": 4, "meaning": 4, "number": 5, "flag": 2, "empty": 2, "zero": 1}
"""How many conditions of a kind are tried alone, and in pairs."""
_PAIRS = 6  # of conditions that a difference compares
_SHARED = 0.55  # of the letters of two words
_ALIKE = 0.4  # cosine of a phrase and a cell
_BY_MEANING = 3  # cells of a column
_LEAST = 4  # letters of a word that is compared
_APART = 2  # words between two numbers of which one limits from below and one from above, at most
_BESIDE = 2  # words before and behind numbers that may compare


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A condition, how far it accounts for each word `(words,)`, what found it, and how sure its likeness is, 0..1.

    `likely` is the probability that a number or a date compares so.
    """

    filter: Filter
    covers: np.ndarray
    kind: Kind
    likeness: float = 1.0
    likely: float = 1.0


class ConditionsMeant:
    """The conditions that a question may mean for tables of one shape.

    `ruled` are those that the rules found, `sets` those that may hold together, `pairs` two whose rows may be compared,
    with what holds for both.
    """

    def __init__(self, evidence: Evidence, signs: Signs) -> None:
        self._e, self._r, self._signs = evidence, evidence.reading, signs
        self._count = len(evidence.words)
        self.ruled: Conditions = tuple(self._ruled())
        self._narrow = tuple(one for one in self.ruled if not evidence.shape.kept([one.filter]).all())
        known = {one.filter for one in self.ruled}
        found: dict[Filter, Condition] = {}
        for one in self._others():
            if one.filter not in known:
                found.setdefault(one.filter, one)
        content = evidence.question.content
        self._best: dict[Kind, list[Condition]] = {
            kind: sorted(
                (one for one in found.values() if one.kind == kind),
                key=lambda one: -(one.covers[content].sum() + 0.3 * one.likeness),
            )
            for kind in KINDS[1:]
        }
        self.pairs = list(self._pairs())[:_PAIRS]
        self.sets = self._sets()

    def covered(self, conditions: Conditions) -> np.ndarray:
        """Return how far conditions together account for each word `(words,)`."""
        return np.max([np.zeros(self._count), *(one.covers for one in conditions)], axis=0)

    def _top(self, most: dict[Kind, int]) -> list[Condition]:
        return [one for kind, count in most.items() for one in self._best[kind][:count]]

    def _ruled(self) -> Iterator[Condition]:
        r, words = self._r, self._e.words
        for key, values in r.values.items():
            column, is_negated = key
            own = {word.root for value in values for word in words_of(str(value))}
            others = {
                word.root for k, held in r.values.items() if k != key for one in held for word in words_of(str(one))
            }
            covers = np.array(
                [
                    float(by == "value" and (word.root in own or word.root not in others))
                    for word, by in zip(words, r.by, strict=True)
                ]
            )
            operator: Operator = "not in" if is_negated else "in"
            yield Condition(Filter(column, operator, tuple(sorted(values, key=str))), covers, "rule")
        for one in r.filters:
            is_text = r.columns[one.column].type == "text"
            by_number = [by in ("date", "number", "negation") or (by == "value" and not is_text) for by in r.by]
            covers = by_number if any(by_number) else [by == "value" for by in r.by]
            yield Condition(one, np.array(covers, float), "rule")

    def _others(self) -> Iterator[Condition]:
        for column, one in enumerate(self._e.columns):
            sure = float(self._e.sure[column])
            covers = self._e.covers[:, column]
            if one.type == "text":
                yield from self._by_letters(column)
                yield from self._by_meaning(column)
            elif one.type == "bool":
                for said in (1.0, 0.0):
                    yield Condition(Filter(column, "=", (said,)), covers, "flag", sure)
            elif column in self._e.numbers and column not in self._e.keys and 0.0 in self._r.names.numbers[column]:
                yield Condition(Filter(column, "=", (0.0,)), covers, "zero", sure)
                yield Condition(Filter(column, ">", (0.0,)), covers, "zero", sure)
            if one.type not in ("bool", "empty") and self._e.shape.has_gaps[column]:
                yield Condition(Filter(column, "is null"), covers, "empty", sure)
                yield Condition(Filter(column, "is not null"), covers, "empty", sure)
        yield from self._limits()

    def _by_letters(self, column: int) -> Iterator[Condition]:
        """Yield conditions on cells of which a word is alike: in another form, misspelt, or cut short."""
        held, different = self._e.shape.words[column], len(self._e.shape.different[column])
        for at, word in enumerate(self._e.words):
            is_free = self._e.question.content[at] and self._r.by[at] not in _TAKEN
            if not is_free or len(word.text) < _LEAST:
                continue
            found: dict[float, set[str]] = {}
            for other, cells in held.items():
                shared = _letters(word.text, other, self._e.question.asked.language, is_name=word.raw[:1].isupper())
                if shared >= _SHARED and len(cells) <= max(8, different // 2):
                    found.setdefault(round(shared, 1), set()).update(cells)
            for shared, cells in sorted(found.items(), reverse=True)[:2]:
                covers = self._over(at, at + 1, shared)
                yield Condition(Filter(column, "in", tuple(sorted(cells))), covers, "letters", shared)

    def _by_meaning(self, column: int) -> Iterator[Condition]:
        """Yield conditions on the cells that are most alike in meaning to a phrase."""
        question, (texts, vectors) = self._e.question, self._e.shape.values[column]
        if not texts or not question.spans:
            return
        cosines, count = question.phrases @ vectors.T, 0
        for best in np.argsort(-cosines, axis=None)[: 4 * _BY_MEANING]:
            phrase, cell = divmod(int(best), len(texts))
            start, end = question.spans[phrase]
            if cosines[phrase, cell] < _ALIKE or count == _BY_MEANING:
                return
            if not any(by in ("date", "number") for by in self._r.by[start:end]):
                sure = float(likeness(cosines[phrase, cell]))
                count += 1
                yield Condition(Filter(column, "in", (texts[cell],)), self._over(start, end, sure), "meaning", sure)

    def _limits(self) -> Iterator[Condition]:
        """Yield conditions by a number or a date, or by two of which one limits from below."""
        limits, texts = self._e.question.limits, [word.text for word in self._e.words]
        for n, one in enumerate(limits):
            if "rank" in self._r.by[one.start : one.end]:
                continue
            said, start = _compared(texts, one.start)
            signs: Mapping[Sign, float] = {said: 1.0} if said else self._signs[n]
            covers = self._over(start, one.end, 1.0)
            beside = np.maximum(covers, self._over(max(0, start - _BESIDE), one.end + _BESIDE, 0.5))
            if one.number is not None:
                yield from self._by_number(one, one.number, signs, covers, beside)
            if one.day:
                yield from self._by_day(one.day, signs, beside)
            if n + 1 < len(limits) and limits[n + 1].start - one.end <= _APART:
                likely = min(held.get("between", 0.0) for held in self._signs[n : n + 2])
                yield from self._between(one, limits[n + 1], likely)

    def _by_number(
        self, one: Limit, number: float, signs: Mapping[Sign, float], covers: np.ndarray, beside: np.ndarray
    ) -> Iterator[Condition]:
        """Yield comparisons of each column with a number; a column without it is the same from it on and above it."""
        for column in self._e.numbers:
            is_held = number in self._r.names.numbers[column]
            compared = (_COMPARISONS if is_held else _COMPARISONS[:2]) if self._is_of(one, column) else ()
            for sign, same in compared:
                likely = signs.get(sign, 0.0) + (0.0 if is_held else signs.get(same, 0.0))
                yield self._limited(Filter(column, sign, (number,)), beside, likely)
            if is_held:
                yield self._limited(Filter(column, "=", (number,)), covers, signs.get("=", 0.0))

    def _by_day(self, day: str, signs: Mapping[Sign, float], covers: np.ndarray) -> Iterator[Condition]:
        """Yield comparisons of each column of dates with a date."""
        for column, one in enumerate(self._e.columns):
            if one.type == "date":
                first = self._with_year(column, day)
                held = Filter(column, "between", (first, end_of(first)))
                yield self._limited(held, covers, signs.get("=", 0.0))
                for sign, _same in _COMPARISONS:
                    value = end_of(first) if sign in (">", "<=") else first
                    yield self._limited(Filter(column, sign, (value,)), covers, signs.get(sign, 0.0))

    def _between(self, lower: Limit, upper: Limit, likely: float) -> Iterator[Condition]:
        """Yield that a column is from one number or date to another."""
        covers = self._over(max(0, lower.start - 1), upper.end, 1.0)
        for column, one in enumerate(self._e.columns):
            if one.type == "date" and lower.day and upper.day:
                first, last = (self._with_year(column, day) for day in (lower.day, upper.day))
                if first <= end_of(last):
                    yield self._limited(Filter(column, "between", (first, end_of(last))), covers, likely)
            elif lower.number is None or upper.number is None or column not in self._e.numbers:
                continue
            elif self._is_of(lower, column) and lower.number < upper.number:
                yield self._limited(Filter(column, "between", (lower.number, upper.number)), covers, likely)

    def _is_of(self, one: Limit, column: int) -> bool:
        """Return whether a number may limit a column: a year one of years, and any but a written year another."""
        is_of_years = column in self._e.shape.years
        return is_year(one.number or 0.0) if is_of_years else not one.day

    def _with_year(self, column: int, day: str) -> str:
        """Return a date; a day without its year is of the last year that has it, else of the last of the column."""
        if len(day) != len("03-02"):
            return day
        held = [str(cell) for cell in self._e.shape.different[column]]
        years = [one[:4] for one in held if one[5:] == day] or [one[:4] for one in held]
        return f"{max(years, default='')}-{day}"

    def _limited(self, one: Filter, covers: np.ndarray, likely: float) -> Condition:
        sure = (0.3 + 0.7 * likely) * (0.3 + 0.7 * float(self._e.sure[one.column]))
        return Condition(one, covers, "number", sure, likely)

    def _over(self, start: int, end: int, sure: float) -> np.ndarray:
        covers = np.zeros(self._count)
        covers[start:end] = sure
        return covers

    def _pairs(self) -> Iterator[tuple[Conditions, Condition, Condition]]:
        """Yield two months, years, or cells of one column, with the conditions of the rules on other columns."""
        words = self._e.words
        months = [
            (at, Filter(0, "month", (f"{MONTHS[word.text]:02}",)))
            for at, word in enumerate(words)
            if word.text in MONTHS and (word.text not in SHORT_MONTHS or self._r.by[at] == "date")
        ]
        years = [
            (at, Filter(0, "between", (word.text, f"{word.text}-12-31")))
            for at, word in enumerate(words)
            if len(word.text) == 4 and word.text.isdigit() and is_year(float(word.text))
        ]
        dates = [at for at, one in enumerate(self._e.columns) if one.type == "date"][:2]
        for named in (months, years):
            for column in dates if len(named) == 2 else ():
                first, second = (
                    Condition(Filter(column, one.operator, one.values), self._over(at, at + 1, 1.0), "rule")
                    for at, one in named
                )
                yield self._beside(column), first, second
        valued = np.array([float(by == "value") for by in self._r.by])
        cells = [
            Condition(Filter(column, "in", tuple(sorted(held))), valued, "rule")
            for column, held in dict.fromkeys((one, held) for one, held, is_negated in self._r.runs if not is_negated)
        ]
        cells += [*self._best["letters"][:4], *self._best["meaning"][:5]]
        for one, other in combinations(cells, 2):
            is_apart = one.kind == other.kind == "rule" or not (one.covers * other.covers).any()
            is_of_one = one.filter.column == other.filter.column
            if is_of_one and is_apart and set(one.filter.values).isdisjoint(other.filter.values):
                yield self._beside(one.filter.column), one, other

    def _beside(self, column: int) -> Conditions:
        return tuple(one for one in self._narrow if one.filter.column != column)

    def _sets(self) -> list[Conditions]:
        """Return what may hold together: the rules', some of them, and others beside or in place of them."""
        narrow = self._narrow
        plain_sets = [narrow, *(tuple(x for x in narrow if x is not one) for one in narrow), ()]
        sets = [*([self.ruled] if narrow != self.ruled else []), *plain_sets]
        for base in plain_sets[:3]:
            for one in self._top(_MOST):
                kept = (x for x in base if x.filter.column != one.filter.column and not _overlap(x, one))
                sets.append((*kept, one))
        taken = {one.filter.column for one in narrow}
        for one, other in combinations(self._top(_PAIRED), 2):
            columns = {one.filter.column, other.filter.column}
            if len(columns) == 2 and columns.isdisjoint(taken) and not _overlap(one, other):
                sets.append((*narrow, one, other))
        for beside, one, other in self.pairs:
            if one.filter.operator == "in":  # either of two cells
                either = Filter(
                    one.filter.column, "in", tuple(sorted({*one.filter.values, *other.filter.values}, key=str))
                )
                covers = np.maximum(one.covers, other.covers)
                sets.append((*beside, Condition(either, covers, one.kind, min(one.likeness, other.likeness))))
        by_filters: dict[frozenset[Filter], Conditions] = {}
        for one in sets:
            by_filters.setdefault(frozenset(condition.filter for condition in one), one)
        return list(by_filters.values())


_TAKEN = frozenset({"value", "date", "number", "task", "light", "asked"})
"""What a word is taken for that needs no cell."""


def filters_of(conditions: Sequence[Condition]) -> tuple[Filter, ...]:
    """Return the conditions of a query."""
    return tuple(one.filter for one in conditions)


def _overlap(one: Condition, other: Condition) -> bool:
    """Return whether two conditions account for one word."""
    return bool((one.covers * other.covers > 0.5).any())


def _letters(word: str, other: str, language: str, *, is_name: bool) -> float:
    """Return how sure two words are one by what they are written with, 0..1."""
    if plain(word) == plain(other):
        return 1.0
    if word[0] == other[0] and is_form(word, other, language):
        return 0.9
    shared = letters_shared(word, other) if abs(len(word) - len(other)) < 4 else 0.0
    if min(len(word), len(other)) > _LEAST and (word.startswith(other) or other.startswith(word)):
        return max(shared, 0.75)
    if min(len(word), len(other)) > _LEAST and (word in other or other in word):
        return max(shared, 0.65)
    return max(shared, _SHARED) if is_name and word[:3] == other[:3] else shared


def _compared(texts: Sequence[str], at: int) -> tuple[_Compares | Literal[""], int]:
    """Return the comparison that stands before a number, and its first word; "" and the number where there is none."""
    signs: dict[str, _Compares] = {">": ">", ">=": ">=", "<": "<", "<=": "<=", "after": ">", "before": "<"}
    for size in (3, 2, 1):
        before = tuple(texts[max(0, at - size) : at])
        found = COMPARED.get(before) or TIMED.get(before)
        if len(before) == size and found in signs:
            return signs[found], at - size
    return "", at
