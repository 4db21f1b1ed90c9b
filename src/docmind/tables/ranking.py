"""Which of the queries that a question may mean is meant, with its probability, by weights that are fitted.

What is asked for is told from the vector of the question; heads and sets of conditions are chosen by what speaks for
each (a softmax of linear scores), and their pairs, over all tables, by a small network that sees both, how well they
account for the words of the question, what they find, and what the rules say. That no table is meant is one of the
choices. `scripts/eval fit-tables` writes the weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import as_file, files
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load_file

from docmind.tables.candidates import COMPUTED, EACH, EXTREMES, Candidate, Computed, Head, candidates_of, heads_of
from docmind.tables.composing import name_beside
from docmind.tables.conditions import KINDS, SIGNS, Conditions, ConditionsMeant, Signs, filters_of
from docmind.tables.evidence import Evidence, QuestionMeaning
from docmind.tables.loading import Table
from docmind.tables.query import Filter, TableQuery
from docmind.tables.shapes import Shape
from docmind.tables.understanding import read_by_rules, understand
from docmind.tables.values import ColumnType
from docmind.tables.wordlists import CURRENCIES

HEADS, SETS = 20, 10  # of a table whose pairs are weighed
OPEN = 0.7  # of a word that nothing accounts for
TOLD = 10  # queries that are told, the likeliest first
_VECTOR = 4.0  # what the vector of a question is multiplied by beside its phrases, which are 0 or 1
_TYPES: tuple[ColumnType, ...] = ("text", "number", "date", "duration", "bool")
_COLUMN = 22  # features of a column
ONE_CELL = frozenset({"lookup", "sum", "mean", "median"})
"""What says the same of one row."""


@dataclass(frozen=True, slots=True)
class Prior:
    """How far a table is meant before it is read, beside the others that a question may be about.

    `like` is the cosine of the question with its titles and headers, `words` the share of the words of the question
    that it has, `found` the score of its document in the search, of the best one's. The ranks count those before it,
    in fifths; margins are to the best other.
    """

    like: float
    like_rank: float
    like_margin: float
    words: float
    words_rank: float
    found: float
    found_rank: float
    found_margin: float


class Hints(NamedTuple):
    """What the words of a question tell before a table is looked at.

    `chances` are the logarithms of how likely each is asked to be computed, `none` that of how likely no table is
    meant, `signs` what its numbers may be in conditions.
    """

    chances: dict[Computed, float]
    none: float
    signs: Signs


@dataclass(frozen=True, slots=True)
class Ranked:
    """A query for tables of a shape, the probability that it is meant, and the words that nothing accounts for."""

    shape: Shape
    query: TableQuery
    probability: float
    leftover: tuple[str, ...]

    def is_of(self, query: TableQuery, tables: Sequence[Table]) -> bool:
        """Return whether it says the same as another query of these tables."""
        is_there = tuple(tables) == self.shape.names.tables
        return is_there and _said_of(self.shape, self.query) == _said_of(self.shape, query)


class Weights:
    """The fitted weights."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._arrays = arrays

    def hints(self, question: QuestionMeaning) -> Hints:
        """Return what the words of a question tell."""
        logs = _logs(self._arrays["asked"] @ asked_features(question) + self._arrays["asked_bias"])
        likely = [_logs(self._arrays["signs"] @ one + self._arrays["signs_bias"]) for one in sign_features(question)]
        signs = [dict(zip(SIGNS, map(float, np.exp(one)), strict=True)) for one in likely]
        return Hints(dict(zip(COMPUTED, map(float, logs), strict=False)), float(logs[-1]), signs)

    def heads(self, features: np.ndarray) -> np.ndarray:
        return features @ self._arrays["heads"]

    def sets(self, features: np.ndarray) -> np.ndarray:
        return features @ self._arrays["sets"]

    def pairs(self, features: np.ndarray) -> np.ndarray:
        """Return the scores `(n,)` of candidates by their features `(n, features)`."""
        a = self._arrays
        x = np.clip((features - a["mean"]) / a["scale"], -6.0, 6.0)
        return np.maximum(x @ a["inner"] + a["inner_bias"], 0.0) @ a["outer"] + x @ a["direct"]

    def none(self, features: np.ndarray) -> float:
        """Return the score of that no table is meant."""
        return float(features @ self._arrays["none"] + self._arrays["none_bias"][0])


@cache
def weights() -> Weights:
    """Return the weights that come with DocMind."""
    with as_file(files("docmind.tables") / "ranking.safetensors") as path:
        return Weights(load_file(path))


def asked_features(question: QuestionMeaning) -> np.ndarray:
    """Return what tells what is asked for: the vector, and which phrases of the rules there are."""
    phrased = {task for task, _start, _end in question.asked.tasks}
    return np.concatenate(
        [_VECTOR * question.vector, [float(one in phrased) for one in COMPUTED], [float(question.asked.is_how_much)]]
    )


def sign_features(question: QuestionMeaning) -> np.ndarray:
    """Return what tells what numbers and dates limit `(limits, d + 1)`: the words around each, and that one follows."""
    follows = np.arange(len(question.limits)) < len(question.limits) - 1
    return np.column_stack([_VECTOR * question.around, follows])


def _logs(scores: np.ndarray) -> np.ndarray:
    """Return the logarithms of the shares of scores."""
    return scores - scores.max() - math.log(float(np.exp(scores - scores.max()).sum()))


def none_features(question: QuestionMeaning, chance: float) -> np.ndarray:
    """Return what speaks for that no table is meant."""
    return np.array([max(chance, -6.0) / 3, float(bool(question.asked.tasks))])


class Meant:
    """What a question may mean for tables of one shape, with the features of each candidate."""

    def __init__(
        self,
        question: QuestionMeaning,
        shape: Shape,
        prior: Prior,
        hints: Hints,
        fitted: Weights | None,
    ) -> None:
        """Set up; without fitted weights all heads and sets are kept."""
        self._question, self.shape, self._prior, self._chances = question, shape, prior, hints.chances
        reading, self._is_titled = read_by_rules(question.asked, shape.names)
        self.evidence = Evidence(question, shape, reading)
        self.conditions = ConditionsMeant(self.evidence, hints.signs)
        self._rules = understand(question.asked, shape.names)
        self._phrased = {task for task, _start, _end in question.asked.tasks}
        self._has_each = bool(EACH & set(reading.texts))
        self._is_denied = bool({"negation", "negation?"} & set(reading.by))
        self.heads = heads_of(self.evidence, hints.chances)
        words = question.asked.words
        self._has_percent = any(words[one.end].root in _PERCENT for one in question.limits if one.end < len(words))
        self.sets: list[Conditions] = self.conditions.sets
        if fitted is not None:
            best = np.argsort(-fitted.heads(self.head_features))[:HEADS]
            self.heads = [self.heads[at] for at in best]
            del self.head_features
            best = np.argsort(-fitted.sets(self.set_features))[:SETS]
            self.sets = [self.sets[at] for at in best]
            self.sets += [()] if all(self.sets) else []
            del self.set_features
        self.candidates = list(candidates_of(self.heads, self.conditions, self.sets))

    @cached_property
    def head_features(self) -> np.ndarray:
        """The features of each head `(heads, features)`."""
        return np.array([self._head(head) for head in self.heads])

    @cached_property
    def set_features(self) -> np.ndarray:
        """The features of each set of conditions `(sets, features)`."""
        return np.array([[*self._set(one), *self._accounts(one)] for one in self.sets])

    @cached_property
    def features(self) -> np.ndarray:
        """The features of each candidate `(candidates, features)`."""
        question, shape = self._question, self.shape
        weight = np.where(question.content, 1.0, 0.15)
        covered = np.array([self._covered(head) for head in self.heads])
        table = self._table()
        known: dict[tuple[int, ...], tuple[list[float], np.ndarray, np.ndarray]] = {}
        found: list[np.ndarray] = []
        for head_no, conditions, query in self.candidates:
            key = tuple(map(id, conditions)) if query.less else (id(conditions),)
            if key not in known:
                mask = shape.kept(query.filters if query.less else filters_of(conditions))
                known[key] = self._set(conditions), self.conditions.covered(conditions), mask
            of_set, covers, mask = known[key]
            open_ = (1 - np.clip(np.maximum(covered[head_no], covers), 0, 1)) * weight
            fit = [
                open_.sum(), open_.max(initial=0.0), (open_ * question.names).sum(), open_.sum() / weight.sum(),
                float((open_ > OPEN).sum()),
            ]  # fmt: skip
            joint = [*fit, *self._result(self.heads[head_no], query, mask), *self._agrees(query)]
            found.append(np.concatenate([self.head_features[head_no], of_set, table, joint]))
        return np.array(found)

    def ranked(self, one: Candidate, probability: float) -> Ranked:
        """Return a query with its probability, and with the column that tells more where its label is a code."""
        named = replace(one.query, name=name_beside(self.evidence.reading, one.query))
        covers = np.maximum(self._covered(self.heads[one.head]), self.conditions.covered(one.conditions))
        is_open = self._question.content & (covers < 1 - OPEN)
        leftover = tuple(word.raw for word, is_left in zip(self.evidence.words, is_open, strict=True) if is_left)
        return Ranked(self.shape, named, probability, leftover)

    def _head(self, head: Head) -> list[float]:
        """Return the features of a head: what is asked for, its column, its group, and what names its rows."""
        e, r = self.evidence, self.evidence.reading
        column, group, label, own = head.column, head.group, head.label, {head.task, head.best}
        kind = e.columns[column].type if column is not None else ""
        how_much = self._question.asked.is_how_much
        target = column if head.computed == "lookup" else group if group is not None else label
        is_extreme = head.computed in EXTREMES
        return [
            self._chances[head.asked], self._chances[head.computed],
            *(float(head.asked == one) for one in COMPUTED),
            float(bool(own & self._phrased)), float(bool(self._phrased - own)),
            float(not self._phrased), float(how_much), float(how_much and head.computed in ("sum", "lookup")),
            float(r.is_check), float(r.is_check and head.computed == "check"),
            *self._column(column), *(float(kind == one) for one in _TYPES),
            float(column is not None and r.is_money and column == e.money),
            float(column is not None and column == e.measured),
            float(kind == "number" and r.is_rate(column or 0)), float(column in e.shape.years),
            *self._column(group), float(group is not None), float(group is not None and not head.best),
            float(bool(head.unit)), float(self._has_each),
            float(self._has_each and group is not None and not head.best),
            float(bool(e.asked)), float(target in e.asked), float(e.which is not None),
            float(e.which is not None and e.which == target),
            *self._column(label if is_extreme else None), float(label is not None and label == e.label),
            float(head.computed in ("first", "last") or (is_extreme and column in e.shape.years)),
            float(head.other is not None), *self._quantity(column),
            float(self._has_percent), float(self._has_percent and head.computed == "share"),
        ]  # fmt: skip

    def _quantity(self, at: int | None) -> list[float]:
        """Return what the numbers of a column are, and whether such are counted: whole ones, without a unit."""
        if at is None or at not in self.evidence.numbers:
            return [0.0] * 5
        column = self.evidence.columns[at]
        is_whole = column.type == "number" and column.places == 0
        is_money = column.unit in CURRENCIES or any(word.text in CURRENCIES for word in self.shape.header_words[at])
        has_unit = bool(column.unit) or is_money or "(" in column.name
        is_counted = "count" in self._phrased
        return [
            float(is_whole), float(has_unit), float(is_money), float(is_counted and is_whole and not has_unit),
            float(is_counted and not (is_whole and not has_unit)),
        ]  # fmt: skip

    def _column(self, at: int | None) -> list[float]:
        """Return the features of a column: words and meanings that it shares, and how it stands to the others."""
        if at is None:
            return [0.0] * _COLUMN
        e = self.evidence
        header = e.shape.header_words[at]
        rest, words, phrase, cells = (e.standing[one] for one in ("rest", "words", "phrase", "cells"))
        others = [e.score[n] for n, one in enumerate(e.columns) if n != at and one.type == e.columns[at].type]
        return [
            e.word_like[at], e.shared[:, at].sum() / max(1, len(header)), e.phrase_like[at], e.question_like[at],
            e.rest_like[at], e.free_like[at], e.cells_like[at], e.score[at] - max(others, default=0.0),
            float(not others), float(e.shape.is_unique[at]), float(at == e.money), float(at in e.keys), at / 10,
            rest.distance[at], rest.rank[at], rest.margin[at], words.distance[at], words.margin[at],
            phrase.distance[at], phrase.margin[at], cells.distance[at], e.standing["question"].distance[at],
        ]  # fmt: skip

    def _set(self, conditions: Conditions) -> list[float]:
        """Return the features of a set of conditions: what found them, how sure they are, and what they say."""
        kinds = [one.kind for one in conditions]

        def least(*of: str) -> float:
            return min((one.likeness for one in conditions if one.kind in of), default=1.0)

        is_empty = any(_is_of_nothing(one.filter) for one in conditions)
        return [
            *(float(kinds.count(kind)) for kind in KINDS),
            least("meaning"), least("letters"), least("flag", "empty", "zero"), least("number"),
            min((one.likely for one in conditions), default=1.0),
            float(len(self.conditions.ruled) - kinds.count("rule")),
            float(is_empty), float(self._is_denied), float(is_empty and self._is_denied), float(not conditions),
            float(any(one.filter.operator in _COMPARES for one in conditions)),
            float(any(one.filter.column in self.evidence.asked for one in conditions)),
            float(any(one.filter.column == self.evidence.which for one in conditions)),
            float(any(one.filter.operator == "in" and len(one.filter.values) > 1 for one in conditions)),
        ]  # fmt: skip

    def _accounts(self, conditions: Conditions) -> list[float]:
        """Return how far a set of conditions accounts for the words of the question, and how many rows it keeps."""
        content, names = self._question.content, self._question.names
        each = [one.covers * content for one in conditions]
        covers = self.conditions.covered(conditions) * content
        left = (1 - np.maximum(covers, self.evidence.stands)) * content
        rows, every = int(self.shape.kept(filters_of(conditions)).sum()), max(1, len(self.shape.rows))
        widest = max((float(self.shape.kept([one.filter]).mean()) for one in conditions), default=0.0)
        return [
            covers.sum(), left.sum(), (left * names).sum(), sum(one.sum() for one in each) - covers.sum(),
            min((float(one.max(initial=0.0)) for one in each), default=1.0),
            float(rows == 0), float(rows == 1), math.log1p(rows) / 5, rows / every, widest,
            float(sum(one.kind == "rule" for one in conditions) == len(self.conditions.ruled)),
            float(len(conditions)), float(len(conditions) > 2),
        ]  # fmt: skip

    def _covered(self, head: Head) -> np.ndarray:
        """Return how far a head accounts for each word `(words,)`."""
        e, r = self.evidence, self.evidence.reading
        covers = e.stands.copy()
        for column in (head.column, head.group, head.other):
            if column is not None:
                covers = np.maximum(covers, e.covers[:, column])
        if head.label is not None and (head.computed in EXTREMES or head.computed == "lookup"):
            covers = np.maximum(covers, 0.8 * e.covers[:, head.label])
        for task, start, end in self._question.asked.tasks:
            is_own = task in (head.task, head.best)
            covers[start:end] = 1.0 if is_own else np.maximum(covers[start:end], 0.3)
        if head.column is not None and e.columns[head.column].type == "number":
            covers[[at for at, by in enumerate(r.by) if by == "money"]] = 1.0
        return covers

    def _table(self) -> list[float]:
        p = self._prior
        return [
            float((self.evidence.titled * self._question.content).sum()), p.like, p.like_rank, p.like_margin, p.words,
            p.words_rank, p.found, p.found_rank, p.found_margin, math.log1p(len(self.shape.rows)),
            float(self._is_titled), len(self.evidence.words) / 20,
        ]  # fmt: skip

    def _result(self, head: Head, query: TableQuery, mask: np.ndarray) -> list[float]:
        """Return the features of what a query finds: rows, and different and empty cells of the column."""
        rows, conditions = int(mask.sum()), {one.column for one in (*query.filters, *query.part, *query.less)}
        cells = self.shape.cells[head.column] if head.column is not None else []
        held = [cells[at] for at in np.flatnonzero(mask)[:200]] if cells else []
        different, empty = len({cell for cell in held if cell is not None}), sum(cell is None for cell in held)
        is_lookup = head.computed == "lookup"
        return [
            float(rows == 0), float(rows == 1), math.log1p(rows) / 5, float(rows == len(self.shape.rows)),
            float(is_lookup and different > 1), float(is_lookup and different > 12),
            float(is_lookup and different == 1), float(is_lookup and different == 0),
            float(head.computed == "sum" and rows == 1), float(head.computed in EXTREMES and rows == 1),
            empty / max(1, len(held)), float(head.column in conditions), float(head.group in conditions),
            float(head.label in conditions and head.computed in EXTREMES),
            float(head.computed == "count" and rows == len(self.shape.rows)),
        ]  # fmt: skip

    def _agrees(self, query: TableQuery) -> list[float]:
        """Return how far a query is that of the rules."""
        if self._rules is None:
            return [0.0] * 6
        own, is_sure = self._rules.query, self._rules.is_sure and not self._rules.leftover
        is_head = _head_of(own) == _head_of(query)
        is_under = _conditions_of(own) == _conditions_of(query)
        is_same = is_head and is_under
        return [float(one) for one in (is_same and is_sure, is_same and not is_sure, is_sure, True, is_head, is_under)]


_PERCENT = frozenset({"%", "prozent", "porcento", "pourcent"})
_COMPARES = frozenset({">", "<", ">=", "<=", "between"})


def _is_of_nothing(one: Filter) -> bool:
    """Return whether a condition speaks of what is not there, or of 0."""
    return one.operator in ("not in", "is null") or (one.operator == "=" and one.values == (0.0,))


def _head_of(query: TableQuery) -> tuple[object, ...]:
    return query.task, query.column, query.group, query.is_distinct, query.best, query.minus


def _conditions_of(query: TableQuery) -> frozenset[Filter]:
    return frozenset((*query.filters, *query.part, *query.less))


def rank(
    question: QuestionMeaning,
    shapes: Sequence[tuple[Shape, Prior]],
    fitted: Weights,
    hints: Hints,
) -> list[Ranked]:
    """Return what a question may mean for tables, the likeliest first; empty where it means none of them.

    Raises what the text model raises.
    """
    found: list[tuple[Meant, Candidate]] = []
    scores: list[np.ndarray] = []
    for shape, prior in shapes:
        meant = Meant(question, shape, prior, hints, fitted)
        if meant.candidates:
            found += [(meant, one) for one in meant.candidates]
            scores.append(fitted.pairs(meant.features))
    if not scores:
        return []
    weighed = np.concatenate([*scores, [fitted.none(none_features(question, hints.none))]])
    shares = np.exp(weighed - weighed.max())
    shares /= shares.sum()
    summed: dict[tuple[object, ...], float] = {}
    first: dict[tuple[object, ...], int] = {}
    for at in np.argsort(-shares[:-1]):
        meant, one = found[at]
        key = (id(meant), *_said_of(meant.shape, one.query))
        first.setdefault(key, int(at))
        summed[key] = summed.get(key, 0.0) + float(shares[at])
    best = sorted(summed, key=lambda key: -summed[key])[:TOLD]
    if summed[best[0]] <= shares[-1]:
        return []
    return [found[first[key]][0].ranked(found[first[key]][1], summed[key]) for key in best]


def _said_of(shape: Shape, query: TableQuery) -> tuple[object, ...]:
    """Return what a query says, by the rows that it keeps: one cell is its own sum, and names that differ are rows."""
    rows, column = shape.kept(query.filters), query.column
    kept = tuple(shape.kept((*query.filters, *more)).tobytes() for more in (query.part, query.less) if more)
    if query.task in ONE_CELL and query.group is None and int(rows.sum()) == 1:
        return "cell", rows.tobytes(), column
    is_distinct = query.is_distinct
    if is_distinct and column is not None and len(shape.different[column]) == len(shape.rows):
        is_distinct, column = False, None
    return (
        query.task, is_distinct, rows.tobytes(), kept, column, query.group, query.unit, query.best, query.minus,
        query.rank, query.top, query.plus,
    )  # fmt: skip
